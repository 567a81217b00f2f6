/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/states.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profile/group_names.h"
#include "profile/wait_details.h"
#include "source/sched.h"

void states__free(struct states *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free(s->rows[i].name);
	for (uint32_t i = 0; i < s->stack_count; i++)
		free(s->stacks[i].event);
	free(s->rows);
	free(s->stacks);
	free(s->bases);
	map64__free(&s->base_map);
	map64__free(&s->living);
	map64__free(&s->shared);
	free(s->all_details);
	holders__free(&s->holders);
	free(s->second);
	map64__free(&s->stack_map);
	memset(s, 0, sizeof(*s));
}

int states__copy_rows(const struct states *s, struct thread_rows *to)
{
	struct thread_rows rows = {
		.rows = s->rows, .count = s->count, .others = s->others, .other_count = s->other_count, .lost = s->lost,
	};

	return thread_rows__copy(to, &rows);
}

/* Places of stacks.  Each is of a thread that lives, or lived a short time ago. */
#define STACKS_TIDY (4 * SCHED_THREADS_MAX)

/* -- stacks that wait ------------------------------------------------------------------------- */

static uint64_t key_of(uint32_t process, uint32_t tid)
{
	return hash__mix((uint64_t)process << 32 | tid);
}

/* Forget the places that are free: threads come and go. */
static int tidy(struct states *s)
{
	uint32_t count = 0;

	map64__clear(&s->stack_map);
	for (uint32_t i = 0; i < s->stack_count; i++)
		if (s->stacks[i].event)
			s->stacks[count++] = s->stacks[i];
	s->stack_count = count;
	for (uint32_t i = 0; i < count; i++)
		if (map64__add(&s->stack_map, key_of(s->stacks[i].event->process, s->stacks[i].event->tid), i))
			return -ENOMEM;
	return count > STACKS_TIDY / 2 ? -ENOMEM : 0;
}

static struct waiting_stack *place_of(struct states *s, uint32_t process, uint32_t tid, bool make)
{
	uint64_t key = key_of(process, tid);
	uint32_t place = map64__get(&s->stack_map, key);

	if (place != MAP64_NONE)
		return &s->stacks[place];
	if (make && s->stack_count >= STACKS_TIDY && tidy(s))
		return NULL;
	if (!make || array__reserve(&s->stacks, s->stack_count, 1, &s->stack_room, MAP64_NONE, sizeof(*s->stacks)) ||
	    map64__add(&s->stack_map, key, s->stack_count))
		return NULL;
	s->stacks[s->stack_count] = (struct waiting_stack){ 0 };
	return &s->stacks[s->stack_count++];
}

static void lose(struct resolver *c, struct waiting_stack *w, enum loss_reason reason)
{
	if (w->event)
		resolve__lose(c, w->event, w->size, reason);
	free(w->event);
	w->event = NULL;
}

static void keep(struct states *s, struct resolver *c, const struct sample_event *e, size_t size)
{
	struct waiting_stack *w = place_of(s, e->process, e->tid, true);
	struct sample_event *copy = w ? malloc(size) : NULL;

	if (!copy) {
		resolve__lose(c, e, size, LOSS_NO_MEMORY);
		return;
	}
	/* One that waits already has not been told to have gone on. */
	lose(c, w, LOSS_NOT_RESUMED);
	memcpy(copy, e, size);
	w->event = copy;
	w->size = size;
}

/* The stack stands for `ns` in that state. */
static void add(struct resolver *c, struct waiting_stack *w, uint32_t state, uint64_t ns)
{
	w->event->state = state;
	w->event->value = ns;
	w->event->count = 1;
	w->event->detail = 0;
	resolve__event(c, w->event, w->size);
}

/* The sample of a second state, which has no stack of its own. */
static void lose_second(struct resolver *c, const struct sample_event *e, enum loss_reason reason)
{
	struct sample_event sample = *e;

	sample.kind = SAMPLE_NATIVE;
	sample.nr_frames = 0;
	resolve__lose(c, &sample, sizeof(sample), reason);
}

static void resumed(struct states *s, struct resolver *c, const struct sample_event *e)
{
	struct waiting_stack *w = place_of(s, e->process, e->tid, false);

	if (!w || !w->event || w->event->detail != e->detail) {
		/* The kernel has counted a second sample. */
		if (e->count)
			lose_second(c, e, LOSS_NOT_RESUMED);
		return;
	}
	add(c, w, e->state, e->value);
	if (e->count)
		add(c, w, STATE_RUNNABLE, e->count);
	free(w->event);
	w->event = NULL;
}

void states__end_wait(struct states *s, struct resolver *c, const struct sched_thread *t, uint64_t now)
{
	struct waiting_stack *w = place_of(s, t->account.process, t->account.tid, false);

	if (!w || !w->event || t->off == OFF_NOT || !t->sent || w->event->detail != t->sent)
		return;
	add(c, w, t->out == OUT_RUNNABLE ? STATE_RUNNABLE : t->out == OUT_STOPPED ? STATE_STOPPED : STATE_FAULT,
	    now > t->since ? now - t->since : 0);
	free(w->event);
	w->event = NULL;
}

void states__end(struct states *s, struct resolver *c)
{
	for (uint32_t i = 0; i < s->stack_count; i++)
		lose(c, &s->stacks[i], LOSS_NOT_RESUMED);
}

/* -- more of waits ------------------------------------------------------------------------------- */

/* The kernel has no more CPUs than that. */
#define CPUS_MAX 8192u

/* Keep the details of a wait.  Details without room are not known later. */
static void keep_details(struct states *s, const struct wait_details *details)
{
	uint32_t cpu = details->e.cpu;

	if (cpu >= CPUS_MAX)
		return;
	if (cpu >= s->details_count) {
		if (array__reserve(&s->all_details, s->details_count, cpu + 1 - s->details_count, &s->details_room, CPUS_MAX,
				   sizeof(*s->all_details)))
			return;
		memset(s->all_details + s->details_count, 0, (cpu + 1 - s->details_count) * sizeof(*s->all_details));
		s->details_count = cpu + 1;
	}
	s->all_details[cpu] = *details;
}

/* Names are read now: the thread may end before a wait does. */
static void take_hold(struct states *s, struct resolver *c, const struct hold_event *hold)
{
	uint32_t row = PROCESS_NONE;
	struct vm *vm = c->vm_of(c->context, &hold->e, &row);

	holders__add(&s->holders, hold);
	c->holders = &s->holders;
	if (vm)
		details__read_names(vm, &hold->peer);
}

static const struct wait_details *details_of(const struct states *s, const struct sample_event *e)
{
	const struct wait_details *details = e->cpu < s->details_count ? &s->all_details[e->cpu] : NULL;

	return details && e->flags & SAMPLE_HAS_DETAILS && details->e.tid == e->tid && details->e.process == e->process &&
	       details->e.vm == e->vm ? details : NULL;
}

/* -- accounts ---------------------------------------------------------------------------------- */

/* Note the thread, so that its name can be read.  Returns the pid of its process; 0: unknown. */
static int note_thread(struct resolver *c, const struct thread_account *account)
{
	struct sample_event e = { .vm = account->vm, .process = account->process };
	uint32_t row = PROCESS_NONE;
	struct vm *vm = c->vm_of(c->context, &e, &row);

	if (vm && account->thread)
		threads__note(&vm->threads, account->thread, account->thread_slot, account->tid);
	return c->processes && row < c->processes->count ? c->processes->rows[row].pid : 0;
}

/* A Ruby thread that shares native threads has no tid. */
static uint64_t thread_key(uint32_t process, uint32_t tid, uint64_t thread)
{
	return tid ? key_of(process, tid) : hash__mix(key_of(process, 0) + thread);
}

int states__share(struct states *s, uint32_t process, uint32_t tid)
{
	return states__is_shared(s, process, tid) ? 0 : map64__add(&s->shared, key_of(process, tid), 0);
}

bool states__is_shared(const struct states *s, uint32_t process, uint32_t tid)
{
	return s->shared.count && map64__get(&s->shared, key_of(process, tid)) != MAP64_NONE;
}

static const struct account_base *base_of(const struct states *s, const struct thread_account *a)
{
	uint32_t number = s->base_count ? map64__get(&s->base_map, thread_key(a->process, a->tid, a->thread)) :
			  MAP64_NONE;
	const struct account_base *b = number == MAP64_NONE ? NULL : &s->bases[number];

	/* Its tid may be that of another thread now, which began later or has done less. */
	if (!b || b->process != a->process || b->tid != a->tid || (!b->tid && b->thread != a->thread) ||
	    a->first >= b->until || a->until - a->first < b->life)
		return NULL;
	for (int i = 0; i < STATE_ROOM; i++)
		if (a->time[i] < b->time[i] || a->waits[i] < b->waits[i])
			return NULL;
	return b;
}

static void take_away(struct thread_account *a, const struct account_base *b)
{
	if (!b)
		return;
	a->first += b->life;
	for (int i = 0; i < STATE_ROOM; i++) {
		a->time[i] -= b->time[i];
		a->waits[i] -= b->waits[i];
	}
}

int states__restart(struct states *s)
{
	struct account_base *bases = calloc(s->count + 1u, sizeof(*bases));
	struct map64 map = { 0 };
	uint32_t count = 0;

	if (!bases)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct thread_account *a = &s->rows[i].account;
		uint32_t number = s->rows[i].ended || !s->base_count ? MAP64_NONE :
				  map64__get(&s->base_map, thread_key(a->process, a->tid, a->thread));
		/* Taken away from the row when it was added, if it was of the same thread. */
		const struct account_base *old = s->rows[i].based && number != MAP64_NONE ? &s->bases[number] : NULL;
		struct account_base *b = &bases[count];

		if (s->rows[i].ended)
			continue;
		b->process = a->process;
		b->tid = a->tid;
		b->thread = a->thread;
		b->until = a->until;
		b->life = a->until - a->first + (old ? old->life : 0);
		for (int j = 0; j < STATE_ROOM; j++) {
			b->time[j] = a->time[j] + (old ? old->time[j] : 0);
			b->waits[j] = a->waits[j] + (old ? old->waits[j] : 0);
		}
		if (map64__add(&map, thread_key(b->process, b->tid, b->thread), count)) {
			free(bases);
			map64__free(&map);
			return -ENOMEM;
		}
		count++;
	}
	for (uint32_t i = 0; i < s->count; i++)
		free(s->rows[i].name);
	s->count = s->other_count = 0;
	map64__clear(&s->living);
	memset(&s->others, 0, sizeof(s->others));
	free(s->bases);
	map64__free(&s->base_map);
	s->bases = bases;
	s->base_count = count;
	s->base_map = map;
	return 0;
}

static uint64_t serial_key(uint32_t process, uint64_t thread)
{
	return hash__mix(key_of(process, UINT32_MAX) + thread);
}

/* The row that has an older account of the thread.  A tid can be that of another thread now. */
static uint32_t place_in_rows(const struct states *s, const struct thread_account *a)
{
	uint32_t by_serial = a->thread && s->living.count ? map64__get(&s->living, serial_key(a->process, a->thread)) :
			     MAP64_NONE;
	uint32_t place = by_serial != MAP64_NONE ? by_serial :
			 a->tid && s->living.count ? map64__get(&s->living, key_of(a->process, a->tid)) : MAP64_NONE;
	const struct thread_row *row = place < s->count ? &s->rows[place] : NULL;
	const struct thread_account *old = row ? &row->account : NULL;

	if (!row || !row->old || old->process != a->process)
		return MAP64_NONE;
	if (by_serial != MAP64_NONE)
		return old->thread == a->thread ? place : MAP64_NONE;
	return old->tid == a->tid && (!old->thread || !a->thread) && a->first < old->until + s->moved ? place : MAP64_NONE;
}

int states__add_account(struct states *s, struct resolver *c, const struct thread_account *account, bool ended)
{
	struct thread_account own = *account, *sum = &s->others;
	const struct account_base *base = base_of(s, account);
	int pid = note_thread(c, account);
	uint32_t place;

	take_away(&own, base);
	place = place_in_rows(s, account);
	if (place != MAP64_NONE) {
		free(s->rows[place].name);
		s->rows[place] = (struct thread_row){ .account = own, .pid = pid, .ended = ended, .based = base };
		return 0;
	}
	if (s->count < STATES_THREADS_MAX) {
		if (array__reserve(&s->rows, s->count, 1, &s->room, STATES_THREADS_MAX, sizeof(*s->rows)))
			return -ENOMEM;
		s->rows[s->count++] = (struct thread_row){ .account = own, .pid = pid, .ended = ended, .based = base };
		return 0;
	}
	s->other_count++;
	sum->until += own.until - own.first;
	for (int i = 0; i < STATE_ROOM; i++) {
		sum->time[i] += own.time[i];
		sum->waits[i] += own.waits[i];
	}
	return 0;
}

static void take_account(struct states *s, struct resolver *c, const struct account_event *a)
{
	if (a->e.flags & SAMPLE_SHARED || !states__is_shared(s, a->account.process, a->account.tid))
		states__add_account(s, c, &a->account, !(a->e.flags & SAMPLE_LIVES));
}

void states__settle(struct states *s)
{
	map64__clear(&s->living);
	s->moved = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		struct thread_row *row = &s->rows[i];
		const struct thread_account *a = &row->account;

		row->ended |= row->old;
		row->old = !row->ended;
		/* Without memory it is there twice, which is seen. */
		if (row->old && a->tid)
			map64__add(&s->living, key_of(a->process, a->tid), i);
		if (row->old && a->thread)
			map64__add(&s->living, serial_key(a->process, a->thread), i);
	}
}

void states__moved(struct states *s, uint64_t ns)
{
	s->moved += ns;
	for (uint32_t i = 0; i < s->base_count; i++)
		s->bases[i].until += ns;
}

int states__name_threads(struct states *s, const struct vm *vm)
{
	struct text name = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < s->count && !err; i++) {
		struct thread_row *row = &s->rows[i];
		uint32_t number;

		if (row->account.vm != vm->number)
			continue;
		text__clear(&name);
		number = row->account.thread ? map64__get(&vm->threads.map, row->account.thread) : MAP64_NONE;
		if (number != MAP64_NONE) {
			thread__add_label(&vm->threads.list[number], &name);
		} else {
			text__adds(&name, "[");
			group_names__add_native(row->account.comm, TASK_COMM_SIZE, row->account.tid, &name);
			text__adds(&name, "]");
		}
		free(row->name);
		row->name = name.failed ? NULL : strdup(name.data);
		err = row->name ? 0 : -ENOMEM;
	}
	text__free(&name);
	return err;
}

static void resolve_one(struct states *s, struct resolver *c, const struct sample_event *e, size_t size)
{
	c->details = details_of(s, e);
	resolve__event(c, e, size);
	c->details = NULL;
}

/* The event can stand for two samples: after the wait the thread could go on, and had no CPU. */
static void resolve_both(struct states *s, struct resolver *c, const struct sample_event *e, size_t size)
{
	resolve_one(s, c, e, size);
	if (!e->more)
		return;
	if (array__reserve(&s->second, 0, size, &s->second_room, UINT32_MAX, 1)) {
		resolve__lose(c, e, size, LOSS_NO_MEMORY);
		return;
	}
	memcpy(s->second, e, size);
	s->second->state = STATE_RUNNABLE;
	s->second->value = e->more;
	s->second->count = e->extra;
	resolve_one(s, c, s->second, size);
}

void states__event(struct states *s, struct resolver *c, const void *data, size_t size)
{
	const struct sample_event *e = data;
	const struct account_event *account = data;

	if (size < sizeof(*e) || e->source != SOURCE_SCHED) {
		resolve__event(c, data, size);
		return;
	}
	if (e->kind == SAMPLE_RESUMED)
		resumed(s, c, e);
	else if (e->kind == SAMPLE_ACCOUNT && size >= sizeof(*account))
		take_account(s, c, account);
	else if (e->kind == SAMPLE_DETAILS && size >= sizeof(struct wait_details))
		keep_details(s, data);
	else if (e->kind == SAMPLE_HOLD && size >= sizeof(struct hold_event))
		take_hold(s, c, data);
	else if (e->flags & SAMPLE_WAITS)
		keep(s, c, e, size);
	else
		resolve_both(s, c, e, size);
}

void states__skip(struct states *s, struct resolver *c, const void *data, size_t size)
{
	const struct sample_event *e = data;
	const struct account_event *account = data;
	struct waiting_stack *w;

	if (size >= sizeof(*e) && e->source == SOURCE_SCHED && e->kind == SAMPLE_DETAILS) {
		/* No sample.  Details that were told before belong to another wait. */
		if (e->cpu < s->details_count)
			s->all_details[e->cpu].e.tid = 0;
		return;
	}
	if (size >= sizeof(struct hold_event) && e->source == SOURCE_SCHED && e->kind == SAMPLE_HOLD) {
		holders__add(&s->holders, data);
		return;
	}
	if (size < sizeof(*e) || e->source != SOURCE_SCHED ||
	    (e->kind != SAMPLE_RESUMED && e->kind != SAMPLE_ACCOUNT)) {
		resolve__skip(c, data, size);
		if (size >= sizeof(*e) && e->source == SOURCE_SCHED && e->more)
			resolve__skip(c, data, size);
		return;
	}
	if (e->kind == SAMPLE_ACCOUNT && size >= sizeof(*account))
		take_account(s, c, account);
	if (e->kind == SAMPLE_ACCOUNT)
		return;
	w = place_of(s, e->process, e->tid, false);
	if (w && w->event && w->event->detail == e->detail)
		lose(c, w, LOSS_NOT_READ);
	if (e->count)
		lose_second(c, e, LOSS_NOT_READ);
}
