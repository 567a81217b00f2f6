/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/deadline.h"
#include "remote/snapshot_parts.h"

/* ECs of one thread that are read between two looks at the thread: the time between the looks is short. */
#define BATCH 64u
#define COPIES_MAX (SNAPSHOT_TRIES * SNAPSHOT_COPIES)

bool reading__is_fatal(int err)
{
	return err == -ENOMEM || err == -ESRCH || err == -EINTR || err == -EPERM || err == -EACCES;
}

static void drop(struct reading *r, struct snapshot_ec *ec)
{
	if (ec->event)
		r->s->bytes -= ec->size;
	free(ec->event);
	ec->event = NULL;
	ec->size = 0;
	ec->lost = 0;
}

/* Keep the copy that the walker has. */
static int keep(struct reading *r, const struct snapshot_thread *thread, struct snapshot_ec *ec)
{
	const struct sample_event *e = walker__event(r->walker);
	size_t bytes = sizeof(*e) + e->nr_frames * sizeof(struct sample_frame) + walker__machine_size(r->walker);

	if (r->s->bytes + bytes > SNAPSHOT_BYTES_MAX) {
		ec->lost = LOSS_NO_MEMORY;
		return 0;
	}
	ec->event = malloc(bytes);
	if (!ec->event)
		return -ENOMEM;
	memcpy(ec->event, e, sizeof(*e));
	memcpy(ec->event + 1, walker__frames(r->walker), bytes - sizeof(*e));
	ec->size = (uint32_t)bytes;
	ec->event->time = deadline__now();
	/* The instruction pointer is that of the native thread, which runs no parked fiber. */
	ec->event->ip = ec->current ? thread->task.ip : 0;
	if (!ec->current)
		ec->event->gc_phase = 0;
	r->s->bytes += bytes;
	return 0;
}

static int walk(struct reading *r, const struct memory *memory, const struct snapshot_thread *thread,
		const struct snapshot_ec *ec)
{
	return walker__walk(r->walker, memory, &r->config, ec->e.ec, thread->t.tid);
}

/* The memory for one copy of stacks that do not change meanwhile. */
static const struct memory *memory_for_copy(struct reading *r)
{
	if (!r->cache)
		return r->source->memory;
	page_cache__forget(r->cache);
	return &r->cache->memory;
}

/* Which fiber has resumed this one?  The words are the VM's: what cannot be read is not known. */
static void find_resumer(struct reading *r, struct snapshot_ec *ec)
{
	const struct rb_debug_ext_section *s = &r->source->layout->section;
	const struct memory *memory = r->source->memory;
	uint64_t fiber, other;

	ec->resumed_by = 0;
	if (!s->ec_fiber || !s->fiber_prev || memory__read(memory, ec->e.ec + s->ec_fiber, &fiber, 8) || !fiber ||
	    memory__read(memory, fiber + s->fiber_prev, &other, 8) || !other)
		return;
	ec->resumed_by = other + s->fiber_ec;
}

int reading__copy(struct reading *r, struct part *p)
{
	const struct memory *memory = memory_for_copy(r);
	int err = 0;

	for (uint32_t i = 0; i < p->count && !err; i++) {
		struct snapshot_ec *ec = &p->ecs[i];

		drop(r, ec);
		find_resumer(r, ec);
		ec->lost = (uint8_t)walk(r, memory, p->thread, ec);
		if (!ec->lost && r->cache && ec->current)
			reading__unwind(r, p->thread, ec, memory);
		if (!ec->lost)
			err = keep(r, p->thread, ec);
	}
	return err;
}

int reading__find_current(struct reading *r, struct part *p)
{
	uint64_t current;
	int err = tables__current_ec(r->source->layout, r->source->memory, &p->thread->t, &current);

	for (uint32_t i = 0; i < p->count && !err; i++)
		p->ecs[i].current = p->ecs[i].e.ec == current;
	return err;
}

int reading__look_at_slot(struct reading *r, struct snapshot_thread *thread)
{
	struct rb_debug_ext_thread now;
	int err = tables__read_thread(r->source->layout, r->source->memory, thread->slot, &now);

	if (err)
		return err;
	if (now.serial != thread->t.serial || !now.thread || now.state == RB_DEBUG_EXT_THREAD_DEAD)
		return -ENOENT;
	thread->t = now;
	return 0;
}

void part__set_proof(struct part *p, enum snapshot_proof proof)
{
	for (uint32_t i = 0; i < p->count; i++)
		p->ecs[i].proof = p->ecs[i].lost ? PROOF_NONE : (uint8_t)proof;
}

/* Read the stacks of a thread that cannot run. */
static int read_frozen(struct reading *r, struct part *p)
{
	const struct snapshot_source *source = r->source;
	struct snapshot_thread *thread = p->thread;
	int err;

	memset(&thread->task, 0, sizeof(thread->task));
	thread->task.call = thread->task.cpu = -1;
	if (source->task_of && thread->t.tid && !source->task_of(source->context, thread->t.tid, &thread->task))
		thread->task.tid = 0;
	err = reading__find_current(r, p);
	if (!reading__is_fatal(err))
		err = reading__copy(r, p);
	part__set_proof(p, source->frozen);
	return err;
}

/*
 * One try to read while the thread does not run.  1: it is proven.  0: it is not: try again, on the CPU
 * p->thread->task.cpu.  -ENOTSUP: that cannot be proven here.  Or another -errno.
 */
static int try_off_cpu(struct reading *r, struct part *p)
{
	const struct tasks *tasks = r->source->tasks;
	struct snapshot_thread *thread = p->thread;
	uint64_t before, after;
	pid_t tid;
	int err;

	tid = tasks__tid(r->source->tasks, thread->t.tid);
	if (!tid)
		return thread->t.tid ? 0 : -ENOTSUP;
	err = tasks__runs(tasks, tid, &before);
	if (err == -ENOTSUP)
		return err;
	if (err || tasks__look(tasks, tid, &thread->task))
		return 0;
	thread->task.runs = before;
	if (!thread->task.off_cpu && (r->own.cpu < 0 || thread->task.cpu != r->own.cpu))
		return 0;
	err = reading__look_at_slot(r, thread);
	if (err)
		return err;
	/* The thread goes on in another native thread. */
	if (tasks__tid(r->source->tasks, thread->t.tid) != tid)
		return 0;
	err = reading__find_current(r, p);
	if (!reading__is_fatal(err))
		err = reading__copy(r, p);
	if (reading__is_fatal(err))
		return err;
	if (tasks__runs(tasks, tid, &after) || before != after) {
		r->s->retried++;
		return 0;
	}
	part__set_proof(p, PROOF_OFF_CPU);
	return 1;
}

/* How many of the outermost frames of two copies are the same. */
static uint32_t common_frames(const struct sample_event *a, const struct sample_frame *frames_a,
			      const struct sample_event *b, const struct sample_frame *frames_b)
{
	uint32_t n = 0;

	/* Where outer frames are missing, the places of the others are not known. */
	if (a->truncated || b->truncated)
		return 0;
	while (n < a->nr_frames && n < b->nr_frames) {
		const struct sample_frame *f = &frames_a[a->nr_frames - 1 - n], *g = &frames_b[b->nr_frames - 1 - n];

		if (f->id != g->id || f->pc != g->pc || f->flags != g->flags)
			break;
		n++;
	}
	return n;
}

static bool has_same_context(const struct sample_event *a, const struct sample_event *b)
{
	return a->trace_state == b->trace_state && !memcmp(&a->context, &b->context, sizeof(a->context));
}

/* It can be that of another moment than the frames. */
static void clear_context(struct sample_event *e)
{
	if (e->trace_state != TRACE_SET)
		return;
	memset(&e->context, 0, sizeof(e->context));
	e->trace_state = TRACE_NOT_VALID;
}

/* Read one stack until several copies are equal.  If it always changes, keep the outermost frames that all copies
 * have. */
static int read_equal(struct reading *r, const struct snapshot_thread *thread, struct snapshot_ec *ec)
{
	const struct sample_event *now = walker__event(r->walker);
	uint32_t common = UINT32_MAX, equal = 0;
	uint64_t cfp = 0;
	int err;

	drop(r, ec);
	find_resumer(r, ec);
	for (int i = 0; i < COPIES_MAX; i++) {
		int reason = walk(r, r->source->memory, thread, ec);
		uint32_t same;

		if (reason) {
			ec->lost = (uint8_t)reason;
			equal = 0;
			continue;
		}
		same = ec->event ? common_frames(ec->event, (const struct sample_frame *)(ec->event + 1), now,
						 walker__frames(r->walker)) : UINT32_MAX;
		if (same < common)
			common = same;
		if (ec->event && cfp == walker__cfp(r->walker) && same == now->nr_frames &&
		    same == ec->event->nr_frames && has_same_context(ec->event, now)) {
			equal++;
		} else {
			equal = 1;
			drop(r, ec);
			err = keep(r, thread, ec);
			if (err || ec->lost)
				return err;
			cfp = walker__cfp(r->walker);
		}
		if (equal == SNAPSHOT_COPIES) {
			ec->lost = 0;
			ec->proof = PROOF_EQUAL;
			return 0;
		}
	}
	/* Unreadable each time. */
	if (!ec->event)
		return 0;
	/* The last copy that could be read is the one that is kept: cut it. */
	if (common > ec->event->nr_frames)
		common = 0;
	ec->changing = ec->event->nr_frames - common;
	memmove(ec->event + 1, (const struct sample_frame *)(ec->event + 1) + ec->changing,
		common * sizeof(struct sample_frame));
	r->s->bytes -= ec->changing * sizeof(struct sample_frame);
	ec->size -= ec->changing * (uint32_t)sizeof(struct sample_frame);
	ec->event->nr_frames = (uint16_t)common;
	ec->event->ip = 0;
	clear_context(ec->event);
	ec->lost = 0;
	ec->torn = true;
	return 0;
}

static bool waits(const struct rb_debug_ext_thread *t)
{
	return t->state == RB_DEBUG_EXT_THREAD_BLOCKED || t->state == RB_DEBUG_EXT_THREAD_SLEEPING;
}

/* Read while the thread waits.  1: it has waited all the time; 0: it has not, or does not tell; or -errno.
 * The current fiber only: another one of the thread is changed by nobody else either. */
static int try_wait(struct reading *r, struct part *p)
{
	struct snapshot_thread *thread = p->thread;
	uint64_t seq = thread->t.state_seq;
	int err;

	if (!waits(&thread->t))
		return 0;
	err = reading__find_current(r, p);
	if (!reading__is_fatal(err))
		err = reading__copy(r, p);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!reading__is_fatal(err))
		err = reading__look_at_slot(r, thread);
	if (err)
		return err;
	if (!waits(&thread->t) || thread->t.state_seq != seq)
		return 0;
	part__set_proof(p, PROOF_WAIT);
	return 1;
}

/* Where it cannot be proven that the thread does not run. */
static int read_running(struct reading *r, struct part *p)
{
	int err = reading__look_at_slot(r, p->thread);
	pid_t tid;

	if (err)
		return err;
	memset(&p->thread->task, 0, sizeof(p->thread->task));
	p->thread->task.call = p->thread->task.cpu = -1;
	tid = tasks__tid(r->source->tasks, p->thread->t.tid);
	if (tid && tasks__look(r->source->tasks, tid, &p->thread->task))
		p->thread->task.tid = 0;
	p->thread->task.ip = 0;
	for (int i = 0; i < SNAPSHOT_TRIES && !p->thread->t.tid; i++) {
		err = try_wait(r, p);
		if (err == 1)
			return 0;
		if (err)
			return err;
	}
	err = reading__find_current(r, p);
	for (uint32_t i = 0; i < p->count && !reading__is_fatal(err); i++)
		err = read_equal(r, p->thread, &p->ecs[i]);
	return err;
}

static bool is_settled(const struct snapshot_ec *ec)
{
	return ec->proof || ec->lost || ec->torn;
}

static bool is_read(const struct part *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (!is_settled(&p->ecs[i]))
			return false;
	return true;
}

/* There will be no further try: a stack that is not known to be right is lost. */
static int give_up(struct reading *r, struct part *p, int err)
{
	for (uint32_t i = 0; i < p->count; i++) {
		if (is_settled(&p->ecs[i]))
			continue;
		drop(r, &p->ecs[i]);
		p->ecs[i].lost = err == -EAGAIN ? LOSS_TORN : LOSS_EC_READ;
	}
	return 1;
}

/* 1: done, 0: to be tried again where the thread is, or -errno. */
static int read_part(struct reading *r, struct part *p, bool last)
{
	int err, stopped;

	part__judge_anew(p);
	if (r->source->frozen) {
		err = read_frozen(r, p);
		return reading__is_fatal(err) ? err : give_up(r, p, err);
	}
	err = try_off_cpu(r, p);
	if (reading__is_fatal(err) || err == -ENOENT)
		return err;
	stopped = reading__stop_for_native(r, p, err == 1);
	if (stopped)
		return stopped;
	if (err == 1)
		return err;
	/* -EAGAIN: the thread lost its CPU while it wrote its slot. */
	if ((!err || err == -EAGAIN) && !last && !p->thread->task.realtime)
		return 0;
	err = read_running(r, p);
	return reading__is_fatal(err) || err == -ENOENT ? err : give_up(r, p, err);
}

static struct part part_of(struct reading *r, struct snapshot_thread *thread, uint32_t begin)
{
	uint32_t left = thread->ec_count - begin;

	return (struct part){
		.thread = thread, .ecs = r->s->ecs + thread->first_ec + begin,
		.count = left < BATCH ? left : BATCH,
	};
}

static bool runs_elsewhere(const struct snapshot_thread *thread)
{
	return !thread->task.off_cpu && thread->task.tid && !thread->task.realtime;
}

/* One round over what has not been read yet.  *again: there is more to do.  0 or -errno. */
static int read_round(struct reading *r, int round, bool *again)
{
	struct snapshot *s = r->s;
	bool moved = false;

	*again = false;
	for (uint32_t i = 0; i < s->thread_count; i++) {
		struct snapshot_thread *thread = &s->threads[i];
		uint32_t begin = 0;

		do {
			struct part p = part_of(r, thread, begin);
			bool counts = false;
			int err;

			begin += p.count;
			/* One that has stopped too late waits for this. */
			if (r->later.count)
				stop_later__poll(&r->later);
			/* A thread without a stack has a state all the same. */
			if (p.count ? is_read(&p) : round > 0)
				continue;
			/* The first one in a round that runs elsewhere says where to go.  The
			 * others on that CPU are read there, too. */
			if (round && !moved && !r->source->frozen && runs_elsewhere(thread)) {
				own_cpu__go(&r->own, thread->task.cpu);
				moved = counts = true;
			}
			err = read_part(r, &p, p.count && p.ecs[0].tries >= SNAPSHOT_TRIES - 1);
			counts |= !runs_elsewhere(thread) || thread->task.cpu == r->own.cpu;
			for (uint32_t k = 0; k < p.count; k++)
				p.ecs[k].tries += counts;
			if (err == -ENOENT) {
				thread->t.thread = 0;	/* it has ended */
				break;
			}
			if (err < 0)
				return err;
			if (!err && p.count)
				*again = true;
		} while (begin < thread->ec_count);
	}
	return 0;
}

static int by_thread_serial(const void *a, const void *b)
{
	const struct snapshot_thread *x = a, *y = b;

	return x->t.serial < y->t.serial ? -1 : x->t.serial > y->t.serial;
}

static int by_owner(const void *a, const void *b)
{
	const struct snapshot_ec *x = a, *y = b;

	if (x->e.thread_serial != y->e.thread_serial)
		return x->e.thread_serial < y->e.thread_serial ? -1 : 1;
	return x->e.serial < y->e.serial ? -1 : x->e.serial > y->e.serial;
}

/* Take over what the tables have, and find the ECs of each thread. */
static int arrange(struct snapshot *s, const struct tables *tables)
{
	uint32_t ec = 0;

	s->threads = calloc(tables->thread_count + 1u, sizeof(*s->threads));
	s->ecs = calloc(tables->ec_count + 1u, sizeof(*s->ecs));
	if (!s->threads || !s->ecs)
		return -ENOMEM;
	s->thread_count = tables->thread_count;
	s->ec_count = tables->ec_count;
	s->left_out = tables->left_out + tables->torn;
	for (uint32_t i = 0; i < s->thread_count; i++) {
		s->threads[i].t = tables->threads[i].t;
		s->threads[i].slot = tables->threads[i].slot;
		s->threads[i].task.call = s->threads[i].task.cpu = -1;
	}
	for (uint32_t i = 0; i < s->ec_count; i++) {
		s->ecs[i].e = tables->ecs[i].e;
		s->ecs[i].slot = tables->ecs[i].slot;
	}
	qsort(s->threads, s->thread_count, sizeof(*s->threads), by_thread_serial);
	qsort(s->ecs, s->ec_count, sizeof(*s->ecs), by_owner);
	for (uint32_t i = 0; i < s->thread_count; i++) {
		struct snapshot_thread *thread = &s->threads[i];

		/* An EC without a thread is of one that has ended since. */
		while (ec < s->ec_count && s->ecs[ec].e.thread_serial < thread->t.serial)
			ec++;
		thread->first_ec = ec;
		while (ec < s->ec_count && s->ecs[ec].e.thread_serial == thread->t.serial)
			ec++;
		thread->ec_count = ec - thread->first_ec;
	}
	return 0;
}

static int by_current(const void *a, const void *b)
{
	const struct snapshot_ec *x = a, *y = b;

	if (x->current != y->current)
		return x->current ? -1 : 1;
	return x->e.serial < y->e.serial ? -1 : x->e.serial > y->e.serial;
}

/* Leave out threads that have ended meanwhile, and count. */
static void settle(struct snapshot *s, bool native, bool mapped)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->thread_count; i++) {
		struct snapshot_thread *thread = &s->threads[i];

		if (!thread->t.thread)
			continue;
		qsort(s->ecs + thread->first_ec, thread->ec_count, sizeof(*s->ecs), by_current);
		/* It runs one that was not there when the tables were read, or that is not known.  Where nothing could be
		 * read, that is counted below. */
		if (thread->ec_count && !s->ecs[thread->first_ec].current && !s->ecs[thread->first_ec].lost)
			s->left_out++;
		if (native && thread->ec_count && s->ecs[thread->first_ec].current)
			snapshot_ec__settle_native(thread, &s->ecs[thread->first_ec], mapped);
		for (uint32_t k = 0; k < thread->ec_count; k++) {
			s->torn += s->ecs[thread->first_ec + k].torn;
			s->lost += s->ecs[thread->first_ec + k].lost != 0;
		}
		s->threads[kept++] = *thread;
	}
	s->thread_count = kept;
}

int snapshot__take(struct snapshot *s, const struct snapshot_source *source)
{
	struct reading r = { .s = s, .source = source, .own = OWN_CPU_INIT };
	struct tables tables = { 0 };
	bool again = true, native = source->native && source->native->mapping_count;
	size_t size;
	int err;

	memset(s, 0, sizeof(*s));
	s->began = deadline__now();
	err = layout__refresh(source->layout, source->memory);
	if (err)
		return err;
	/* Fields that the section of the process does not have are 0. */
	size = source->layout->section.section_size;
	err = memory__read(source->memory, source->layout->address, &s->section,
			   size < sizeof(s->section) ? size : sizeof(s->section));
	if (err)
		return err;
	layout__config(source->layout, &r.config);
	r.walker = walker__new();
	r.cache = native ? page_cache__new(source->memory) : NULL;
	if (!r.walker || (native && !r.cache)) {
		err = -ENOMEM;
		goto cleanup;
	}
	walker__want_kinds(r.walker, native);
	err = tables__read(&tables, source->layout, source->memory);
	if (!err)
		err = arrange(s, &tables);
	/* Each round is a try for one thread at least. */
	for (int round = 0; again && !err; round++)
		err = read_round(&r, round, &again);
	own_cpu__leave(&r.own);
	s->ended = deadline__now();
	if (!err)
		settle(s, source->native != NULL, native);
	tables__free(&tables);
	stop_later__poll(&r.later);
	s->stops += r.later.stops;
	if (r.later.longest > s->longest_stop)
		s->longest_stop = r.later.longest;
	stop_later__free(&r.later);
cleanup:
	walker__free(r.walker);
	free(r.cache);
	return err;
}

void snapshot__free(struct snapshot *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->ec_count; i++)
		free(s->ecs[i].event);
	free(s->ecs);
	free(s->threads);
	memset(s, 0, sizeof(*s));
}

int snapshot__thread(const struct snapshot_source *source, struct walker *walker, struct snapshot_thread *thread,
		     struct snapshot_ec *ec)
{
	struct snapshot s = { 0 };
	struct reading r = { .s = &s, .source = source, .walker = walker, .own = OWN_CPU_INIT };
	struct part p = { .thread = thread, .ecs = ec, .count = 1 };
	int err;

	memset(ec, 0, sizeof(*ec));
	layout__config(source->layout, &r.config);
	if (source->native && source->native->mapping_count)
		r.cache = source->cache;
	if (r.cache)
		page_cache__use(r.cache, source->memory);
	walker__want_kinds(walker, r.cache);
	err = tables__read_thread(source->layout, source->memory, thread->slot, &thread->t);
	if (err)
		return err == -EINVAL ? -ENOENT : err;
	if (!thread->t.thread)
		return -ENOENT;
	for (int round = 0; round < SNAPSHOT_TRIES; round++) {
		err = tables__current_ec(source->layout, source->memory, &thread->t, &ec->e.ec);
		if (err || !ec->e.ec) {
			err = err ? err : -ENOENT;
			break;
		}
		if (round && !thread->task.off_cpu && thread->task.tid && !source->frozen && !thread->task.realtime)
			own_cpu__go(&r.own, thread->task.cpu);
		err = read_part(&r, &p, round == SNAPSHOT_TRIES - 1);
		ec->tries++;
		/* It may have changed to another fiber. */
		if (err < 0 || (err && ec->current))
			break;
	}
	own_cpu__leave(&r.own);
	return err < 0 ? err : 0;
}
