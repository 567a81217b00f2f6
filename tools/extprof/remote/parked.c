/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/parked.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/deadline.h"
#include "ruby/threads.h"

/* Bytes of frames that are read at a look, of all fibers and of one.  Of one with more the innermost ones count, and a stack
 * that differs only further out is taken for the same. */
#define FRAMES_BUDGET (16u << 20)
#define FRAMES_MAX (128u << 10)
#define FRAMES_LEAST 512u
/* Read at once: most stacks are not longer. */
#define FRAMES_PART 8192u

static bool can_park(const struct rb_debug_ext_ec *e)
{
	return e->flags & RB_DEBUG_EXT_EC_NONBLOCKING && !(e->flags & RB_DEBUG_EXT_EC_ROOT) && e->ec && e->serial;
}

int parked__has_fibers(struct tables *tables, const struct layout *layout, const struct memory *memory)
{
	int err = tables__read(tables, layout, memory);

	for (uint32_t i = 0; !err && i < tables->ec_count; i++)
		if (can_park(&tables->ecs[i].e))
			return 1;
	return err;
}

/* -- sending --------------------------------------------------------------------------------------- */

/* time: when it was seen parked last, as the time of a wait is its end. */
static void send(struct parked *p, struct parked_fiber *f, uint64_t time)
{
	if (!f->ns)
		return;
	if (f->stack) {
		f->stack->value = f->ns;
		f->stack->time = time;
		event_queue__put_sample(p->queue, f->stack, p->counters);
	} else {
		p->counters->taken++;
		p->counters->lost[f->lost ? f->lost : LOSS_NO_STACK]++;
	}
	f->ns = 0;
}

static void send_accounts(struct parked *p, bool lives)
{
	for (uint32_t i = 0; i < p->account_count; i++) {
		struct account_event event = { .account = p->accounts[i] };

		event.e = (struct sample_event){
			.kind = SAMPLE_ACCOUNT, .source = SOURCE_SCHED, .process = p->process, .vm = p->vm,
			.flags = (lives ? SAMPLE_LIVES : 0) | SAMPLE_SHARED, .time = event.account.until,
		};
		event_queue__put(p->queue, &event, sizeof(event));
	}
}

void parked__flush(struct parked *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		send(p, &p->list[i], p->looked_at);
	send_accounts(p, true);
}

void parked__free(struct parked *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		send(p, &p->list[i], p->looked_at);
		free(p->list[i].stack);
	}
	send_accounts(p, false);
	free(p->list);
	free(p->accounts);
	map64__free(&p->map);
	map64__free(&p->threads);
	map64__free(&p->running);
	map64__free(&p->account_map);
	tables__free(&p->tables);
}

/* The parked fibers of the thread have waited for so much longer. */
static int account(struct parked *p, const struct rb_debug_ext_ec *ec, uint64_t ns, bool anew)
{
	uint32_t number = map64__get(&p->account_map, ec->thread_serial);
	struct thread_account *a;

	if (number == MAP64_NONE) {
		if (array__reserve(&p->accounts, p->account_count, 1, &p->account_room, MAP64_NONE, sizeof(*p->accounts)) ||
		    map64__add(&p->account_map, ec->thread_serial, p->account_count))
			return -ENOMEM;
		number = p->account_count++;
		p->accounts[number] = (struct thread_account){
			.process = p->process, .vm = p->vm, .thread = ec->thread_serial | THREAD_FIBERS,
			.thread_slot = ec->thread_slot, .first = p->looked_at, .until = p->looked_at,
		};
	}
	a = &p->accounts[number];
	a->time[STATE_PARKED] += ns;
	a->waits[STATE_PARKED] += anew;
	a->until += ns;
	return 0;
}

/* -- looks ----------------------------------------------------------------------------------------- */

/* The labels and their marks, for a fiber that waits in one place for one request after the other.  One read, where both are
 * neighbours.  0 or -errno. */
static int read_labels(const struct parked *p, uint64_t ec, struct parked_mark *mark)
{
	const struct rb_debug_ext_section *s = &p->layout->section;
	const size_t label = sizeof(uint32_t), marks = RB_DEBUG_EXT_LABEL_MARKS * sizeof(uint16_t);
	char both[64];
	int err;

	if (!s->ec_label)
		return 0;
	if (s->ec_label_marks >= s->ec_label + label && s->ec_label_marks - s->ec_label + marks <= sizeof(both)) {
		err = memory__read(p->memory, ec + s->ec_label, both, s->ec_label_marks - s->ec_label + marks);
		if (!err) {
			memcpy(&mark->label, both, label);
			memcpy(&mark->label_marks, both + s->ec_label_marks - s->ec_label, marks);
		}
		return err;
	}
	err = memory__read(p->memory, ec + s->ec_label, &mark->label, label);
	return !err && s->ec_label_marks ? memory__read(p->memory, ec + s->ec_label_marks, &mark->label_marks, marks) : err;
}

/* Where the frames of the fiber end.  0 or -errno. */
static int read_bounds(const struct parked *p, uint64_t ec, uint64_t *cfp, uint64_t *end)
{
	const struct rb_debug_ext_section *s = &p->layout->section;
	uint64_t stack, words;
	int err = memory__read(p->memory, ec + s->ec_cfp, cfp, sizeof(*cfp));

	if (!err)
		err = memory__read(p->memory, ec + s->ec_vm_stack, &stack, sizeof(stack));
	if (!err)
		err = memory__read(p->memory, ec + s->ec_vm_stack_size, &words, sizeof(words));
	if (err)
		return err;
	*end = stack + 8 * words;
	return *cfp >= stack && *cfp < *end && words < UINT64_MAX / 16 ? 0 : -EFAULT;
}

/* Where is a fiber, in what, and for what does it work?  0 or -errno. */
static int read_mark(const struct parked *p, uint64_t ec, struct parked_mark *mark)
{
	uint64_t end, part[FRAMES_PART / sizeof(uint64_t)];
	int err;

	memset(mark, 0, sizeof(*mark));
	err = read_bounds(p, ec, &mark->cfp, &end);
	if (err)
		return err;
	if (end - mark->cfp > p->frames_max)
		end = mark->cfp + p->frames_max;
	for (uint64_t at = mark->cfp; at < end; at += sizeof(part)) {
		size_t length = end - at < sizeof(part) ? end - at : sizeof(part);

		err = memory__read(p->memory, at, part, length);
		if (err)
			return err;
		mark->frames = hash__bytes(part, length, mark->frames);
	}
	return read_labels(p, ec, mark);
}

static int note(struct map64 *map, uint64_t key, uint32_t value)
{
	return map64__get(map, key) == MAP64_NONE ? map64__add(map, key, value) : 0;
}

/* The fiber that a thread runs, and those that have resumed one after the other. */
static int note_running(struct parked *p, const struct rb_debug_ext_thread *t)
{
	const struct rb_debug_ext_section *s = &p->layout->section;
	uint64_t ec, fiber, other;
	int err = tables__current_ec(p->layout, p->memory, t, &ec);

	if (err)
		return 0;	/* it has ended meanwhile */
	for (uint32_t i = 0; i <= p->tables.ec_count && ec; i++) {
		if (map64__get(&p->running, ec) != MAP64_NONE)
			break;
		err = map64__add(&p->running, ec, 0);
		if (err || !s->ec_fiber || !s->fiber_prev || memory__read(p->memory, ec + s->ec_fiber, &fiber, 8) ||
		    !fiber || memory__read(p->memory, fiber + s->fiber_prev, &other, 8))
			break;
		ec = other ? other + s->fiber_ec : 0;
	}
	return err;
}

static int note_threads(struct parked *p)
{
	int err = 0;

	map64__clear(&p->threads);
	map64__clear(&p->running);
	for (uint32_t i = 0; i < p->tables.thread_count && !err; i++) {
		err = note(&p->threads, p->tables.threads[i].t.serial, i);
		if (!err)
			err = note_running(p, &p->tables.threads[i].t);
	}
	return err;
}

/* It still waits there, and its thread runs another one. */
static bool is_still_parked(const struct parked *p, const struct parked_fiber *f, const struct rb_debug_ext_ec *ec)
{
	uint32_t number = map64__get(&p->threads, ec->thread_serial);
	struct parked_mark mark;
	uint64_t current;

	return number != MAP64_NONE && !read_mark(p, ec->ec, &mark) && !memcmp(&mark, &f->mark, sizeof(mark)) &&
	       !tables__current_ec(p->layout, p->memory, &p->tables.threads[number].t, &current) && current != ec->ec;
}

/* Two copies have to be equal: it can be resumed at any moment. */
static void read_stack(struct parked *p, struct parked_fiber *f, const struct rb_debug_ext_ec *ec)
{
	struct target_config config;
	struct sample_event *copy, *again;
	int reason;

	free(f->stack);
	f->stack = NULL;
	layout__config(p->layout, &config);
	config.pid = p->layout->section.pid;
	reason = walker__walk(p->walker, p->memory, &config, ec->ec, 0);
	if (reason) {
		f->lost = (uint8_t)reason;
		return;
	}
	copy = malloc(event_queue__sample_size(walker__event(p->walker)));
	if (!copy) {
		f->lost = LOSS_NO_MEMORY;
		return;
	}
	memcpy(copy, walker__event(p->walker), event_queue__sample_size(walker__event(p->walker)));
	reason = walker__walk(p->walker, p->memory, &config, ec->ec, 0);
	again = walker__event(p->walker);
	if (reason || again->nr_frames != copy->nr_frames || again->trace_state != copy->trace_state ||
	    memcmp(&again->context, &copy->context, sizeof(copy->context)) ||
	    memcmp(again + 1, copy + 1, copy->nr_frames * sizeof(struct sample_frame)) || !is_still_parked(p, f, ec)) {
		free(copy);
		f->lost = LOSS_TORN;
		return;
	}
	copy->time = deadline__now();
	copy->source = SOURCE_SCHED;
	copy->state = STATE_PARKED;
	copy->count = 1;
	copy->process = p->process;
	copy->vm = p->vm;
	copy->tid = 0;
	copy->ip = 0;
	copy->thread = ec->thread_serial | THREAD_FIBERS;
	copy->thread_slot = ec->thread_slot;
	/* The collector and the compiler are at another fiber. */
	copy->gc_phase = 0;
	copy->flags = SAMPLE_IN_KERNEL;
	f->stack = copy;
}

static bool has_code(const struct sample_event *e)
{
	const struct sample_frame *frames = (const struct sample_frame *)(e + 1);

	for (uint32_t i = 0; i < e->nr_frames; i++)
		if (frames[i].id != RB_DEBUG_EXT_ID_INTERNAL && frames[i].id != RB_DEBUG_EXT_ID_NONE)
			return true;
	return e->truncated;
}

static struct parked_fiber *find(struct parked *p, const struct rb_debug_ext_ec *ec)
{
	uint32_t number = map64__get(&p->map, ec->serial);

	if (number != MAP64_NONE)
		return &p->list[number];
	if (array__reserve(&p->list, p->count, 1, &p->room, TABLES_ECS_MAX, sizeof(*p->list)) ||
	    map64__add(&p->map, ec->serial, p->count))
		return NULL;
	p->list[p->count] = (struct parked_fiber){ .serial = ec->serial };
	return &p->list[p->count++];
}

static int look_at(struct parked *p, const struct rb_debug_ext_ec *ec, uint64_t now)
{
	struct parked_fiber *f = find(p, ec);
	struct parked_mark mark;
	/* All time since the last look counts for what this look finds: looks come at random moments. */
	uint64_t ns = now - p->looked_at;
	bool anew;

	if (!f)
		return -ENOMEM;
	/* Never resumed: it waits for nothing. */
	if (read_mark(p, ec->ec, &mark))
		return 0;
	anew = !f->look || memcmp(&mark, &f->mark, sizeof(mark)) || !f->stack;
	f->look = p->look;
	if (anew) {
		send(p, f, p->looked_at);
		f->mark = mark;
		read_stack(p, f, ec);
	}
	/* It has ended after a transfer: it waits for nothing. */
	if (f->stack && !has_code(f->stack))
		return 0;
	f->ns += ns;
	/* From this look on it is known to wait there, and for what: so a request is as long as its waits were seen.  The time
	 * before is a sample of its own. */
	if (anew && f->stack && mark.label)
		send(p, f, now);
	return account(p, ec, ns, anew);
}

/* Those that are not parked any more. */
static int forget_others(struct parked *p)
{
	uint32_t kept = 0;
	int err = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		if (p->list[i].look == p->look) {
			p->list[kept++] = p->list[i];
			continue;
		}
		send(p, &p->list[i], p->looked_at);
		free(p->list[i].stack);
	}
	if (kept == p->count)
		return 0;
	p->count = kept;
	map64__clear(&p->map);
	for (uint32_t i = 0; i < kept && !err; i++)
		err = map64__add(&p->map, p->list[i].serial, i);
	return err;
}

/* A power of two: it changes seldom, and with it all marks do. */
static uint64_t frames_max(uint32_t fibers)
{
	uint64_t max = FRAMES_MAX;

	while (max > FRAMES_LEAST && max * fibers > FRAMES_BUDGET)
		max /= 2;
	return max;
}

int parked__look(struct parked *p, uint64_t now)
{
	int err = parked__has_fibers(&p->tables, p->layout, p->memory);

	if (!err && !p->count) {
		p->looked_at = now;
		return 0;
	}
	err = err < 0 ? err : note_threads(p);
	p->look++;
	p->frames_max = frames_max(p->tables.ec_count);
	for (uint32_t i = 0; i < p->tables.ec_count && !err; i++) {
		const struct rb_debug_ext_ec *ec = &p->tables.ecs[i].e;

		if (can_park(ec) && map64__get(&p->running, ec->ec) == MAP64_NONE)
			err = look_at(p, ec, now);
	}
	if (!err)
		err = forget_others(p);
	p->looked_at = now;
	return err;
}
