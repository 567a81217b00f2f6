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
/* Fields of an EC, read at once. */
#define EC_BYTES 1024u

bool parked__can_park(const struct rb_debug_ext_ec *e)
{
	return e->flags & RB_DEBUG_EXT_EC_NONBLOCKING && !(e->flags & RB_DEBUG_EXT_EC_ROOT) && e->ec && e->serial;
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
		send(p, &p->list[i], p->list[i].seen);
	send_accounts(p, true);
}

void parked__free(struct parked *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		send(p, &p->list[i], p->list[i].seen);
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
static int account(struct parked *p, const struct rb_debug_ext_ec *ec, uint64_t now, uint64_t ns, bool anew)
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
			.thread_slot = ec->thread_slot, .first = now - ns, .until = now - ns,
		};
	}
	a = &p->accounts[number];
	a->time[STATE_PARKED] += ns;
	a->waits[STATE_PARKED] += anew;
	a->until += ns;
	return 0;
}

/* -- looks ----------------------------------------------------------------------------------------- */

/* A part of an EC, by its offset in it; size 0: it is not published. */
struct ec_part {
	uint64_t at;
	size_t size;
	void *to;
};

/* One read where all parts are near each other, as a read of another user's memory takes long. */
static int read_parts(const struct memory *memory, uint64_t ec, const struct ec_part *parts, size_t count)
{
	uint64_t from = UINT64_MAX, until = 0;
	char all[EC_BYTES];
	int err = 0;

	for (size_t i = 0; i < count; i++) {
		from = parts[i].size && parts[i].at < from ? parts[i].at : from;
		until = parts[i].size && parts[i].at + parts[i].size > until ? parts[i].at + parts[i].size : until;
	}
	if (until > from && until - from <= sizeof(all)) {
		err = memory__read(memory, ec + from, all, until - from);
		for (size_t i = 0; !err && i < count; i++)
			if (parts[i].size)
				memcpy(parts[i].to, all + (parts[i].at - from), parts[i].size);
		return err;
	}
	for (size_t i = 0; !err && i < count; i++)
		if (parts[i].size)
			err = memory__read(memory, ec + parts[i].at, parts[i].to, parts[i].size);
	return err;
}

/* Where is a fiber, in what, and for what does it work?  0 or -errno. */
static int read_mark(const struct parked *p, uint64_t ec, struct parked_mark *mark)
{
	const struct rb_debug_ext_section *s = &p->layout->section;
	uint64_t stack = 0, words = 0, end, part[FRAMES_PART / sizeof(uint64_t)];
	const struct ec_part parts[] = {
		{ s->ec_cfp, sizeof(mark->cfp), &mark->cfp }, { s->ec_vm_stack, sizeof(stack), &stack },
		{ s->ec_vm_stack_size, sizeof(words), &words }, { s->ec_label, s->ec_label ? sizeof(uint32_t) : 0, &mark->label },
		{ s->ec_label_marks, s->ec_label && s->ec_label_marks ? RB_DEBUG_EXT_LABEL_MARKS * sizeof(uint16_t) : 0,
		  &mark->label_marks },
	};
	int err;

	memset(mark, 0, sizeof(*mark));
	err = read_parts(p->memory, ec, parts, sizeof(parts) / sizeof(parts[0]));
	if (err)
		return err;
	end = stack + 8 * words;
	if (mark->cfp < stack || mark->cfp >= end || words >= UINT64_MAX / 16)
		return -EFAULT;
	if (end - mark->cfp > p->frames_max)
		end = mark->cfp + p->frames_max;
	for (uint64_t at = mark->cfp; at < end; at += sizeof(part)) {
		size_t length = end - at < sizeof(part) ? end - at : sizeof(part);

		err = memory__read(p->memory, at, part, length);
		if (err)
			return err;
		mark->frames = hash__bytes(part, length, mark->frames);
	}
	return 0;
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

/* When the pass before was at that EC. */
static uint64_t passed_at(const struct parked *p, uint32_t number)
{
	return p->before + (uint64_t)((double)(p->until - p->before) * number / p->tables.ec_count);
}

/* Nothing more can be read now. */
static bool is_over(int err)
{
	return err == -EINTR || err == -ETIMEDOUT || err == -ESRCH || err == -ENOMEM;
}

static int look_at(struct parked *p, uint32_t number, uint64_t now)
{
	const struct rb_debug_ext_ec *ec = &p->tables.ecs[number].e;
	struct parked_fiber *f;
	struct parked_mark mark;
	uint64_t from, ns;
	bool anew;
	int err = read_mark(p, ec->ec, &mark);

	/* Else it was never resumed: it waits for nothing. */
	if (err)
		return is_over(err) ? err : 0;
	f = find(p, ec);
	if (!f)
		return -ENOMEM;
	/* All time since the last look counts for what this look finds: looks come at random moments. */
	from = f->pass ? f->seen : passed_at(p, number);
	if (from < p->looked_at)
		from = p->looked_at;
	ns = now > from ? now - from : 0;
	anew = !f->pass || memcmp(&mark, &f->mark, sizeof(mark)) || !f->stack;
	f->pass = p->pass;
	if (anew) {
		send(p, f, f->seen ? f->seen : from);
		f->mark = mark;
		read_stack(p, f, ec);
	}
	f->seen = now;
	/* It has ended after a transfer: it waits for nothing. */
	if (f->stack && !has_code(f->stack))
		return 0;
	f->ns += ns;
	/* From this look on it is known to wait there, and for what: so a request is as long as its waits were seen.  The time
	 * before is a sample of its own. */
	if (anew && f->stack && mark.label)
		send(p, f, now);
	return account(p, ec, now, ns, anew);
}

/* Those that are not parked any more. */
static int forget_others(struct parked *p)
{
	uint32_t kept = 0;
	int err = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		if (p->list[i].pass == p->pass) {
			p->list[kept++] = p->list[i];
			continue;
		}
		send(p, &p->list[i], p->list[i].seen);
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

static void begin_pass(struct parked *p, uint64_t now)
{
	p->pass++;
	p->began = now;
	p->frames_max = frames_max(p->tables.ec_count);
}

static int end_pass(struct parked *p, uint64_t now)
{
	p->next = 0;
	p->before = p->began;
	p->until = now;
	return forget_others(p);
}

int parked__look(struct parked *p, uint64_t now)
{
	int err = tables__read(&p->tables, p->layout, p->memory);
	bool can = false;

	for (uint32_t i = 0; !err && !can && i < p->tables.ec_count; i++)
		can = parked__can_park(&p->tables.ecs[i].e);
	if (!err && !can && !p->count) {
		p->looked_at = now;
		p->next = 0;
		return 0;
	}
	err = err ? err : note_threads(p);
	if (err)
		return err;
	if (!p->next)
		begin_pass(p, now);
	while (p->next < p->tables.ec_count) {
		const struct rb_debug_ext_ec *ec = &p->tables.ecs[p->next].e;

		if (parked__can_park(ec) && map64__get(&p->running, ec->ec) == MAP64_NONE)
			err = look_at(p, p->next, deadline__now());
		if (err)
			return err == -EINTR || err == -ETIMEDOUT ? 0 : err;
		p->next++;
	}
	return end_pass(p, deadline__now());
}
