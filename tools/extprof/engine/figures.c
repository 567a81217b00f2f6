/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/figures.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "engine/state.h"
#include "process/proc.h"
#include "remote/tables.h"
#include "remote/task.h"
#include "source/figures.h"
#include "source/sched.h"

/*
 * Who has the GVL is looked at so often, on average: 1,000 looks in 5 s tell a share within 3.1 points, in 95 %
 * of all cases.  A look at one process takes about 3 us, so many processes are looked at less often.
 */
#define LOOK_PERIOD (5 * MS)
#define LOOKS_PER_SECOND_MAX 4000u

/* How often to read what the kernel counts of a process whose end is not told with it. */
#define AMOUNTS_INTERVAL (50 * MS)

/* Ractors that are looked at. */
#define RACTORS_MAX 1024u
/* Bound of the distance of two slots, in bytes. */
#define RACTOR_STRIDE_MAX 4096u

/* A thread that lived at the look. */
struct looked {
	uint32_t tid;		/* as seen from here */
	struct sched_thread thread;
};

/* -- what the kernel tells of processes ---------------------------------------------------------- */

/* The whole process, with its threads that have ended.  0 or -errno. */
static int read_amounts(const struct process *p, struct process_amounts *to)
{
	unsigned long minor, major, user;
	char path[PROC_PATH_MAX], line[1024], *rest;
	struct timespec t;
	clockid_t clock;
	FILE *f;

	if (clock_getcpuclockid(p->pid, &clock) || clock_gettime(clock, &t))
		return -ESRCH;
	proc__path(path, p->pid, 0, "stat");
	f = fopen(path, "re");
	if (!f)
		return -ESRCH;
	/* The name of the program can contain anything, but it ends at the last ')'. */
	rest = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	/* state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime */
	if (!rest || sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %lu %*u %lu %*u %lu", &minor, &major, &user) != 3)
		return -EINVAL;
	if (p->target.pidfd >= 0 && !target__has_pid(&p->target))
		return -ESRCH;
	to->cpu = (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
	to->user = user * (SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
	if (to->user > to->cpu)
		to->user = to->cpu;
	to->minor_faults = minor;
	to->major_faults = major;
	return 0;
}

void engine__figures_of_end(struct engine *e, const struct process *p, const struct process_event *ev)
{
	struct figures_process *f = e->figures && !e->figures->sums.frozen ?
				    figures__find(&e->figures->sums, p->number) : NULL;
	double times = (double)ev->user_time + (double)ev->system_time;
	struct process_amounts amounts = {
		.cpu = ev->cpu_time, .minor_faults = ev->minor_faults, .major_faults = ev->major_faults,
		.user = times > 0 ? (uint64_t)((double)ev->cpu_time * (double)ev->user_time / times) : ev->cpu_time,
	};

	if (!f)
		return;
	f->ended = true;
	/* Without BPF only its CPU time is told.  The rest can be read until somebody has waited for it. */
	if (times <= 0 && session__looks_only(e->session) && read_amounts(p, &amounts)) {
		amounts = f->amounts;
		amounts.cpu = ev->cpu_time;
	}
	figures__set_amounts(f, &amounts);
}

/* -- the beginning ---------------------------------------------------------------------------------- */

/* Since when is it counted? */
static bool begins_with_us(const struct engine *e, const struct process *p)
{
	return (e->settings.command && p->wanted) || p->parent;
}

static struct figures_process *process_of(struct engine *e, const struct process *p)
{
	struct process_amounts amounts = { 0 };
	struct figures_process *f;

	if (!e->figures || e->figures->sums.frozen)
		return NULL;
	f = figures__process(&e->figures->sums, p->number);
	if (!f || f->pid)
		return f;
	f->pid = p->pid;
	if (begins_with_us(e, p) || !read_amounts(p, &amounts))
		figures__set_amounts(f, &amounts);
	if (session__looks_only(e->session)) {
		struct session_looks looks;

		session__looks(e->session, p->number, &looks);
		f->thread_looks = looks.count;
	}
	return f;
}

static void miss_probes(struct figures_process *f, const struct rb_debug_ext_section *s, uint32_t failed,
			const struct diag *d)
{
	static const char no_probe[] = "this ruby has no probe for it";

	if (!s->gc_semaphore || failed & 1u << SOURCE_GC) {
		figures__miss(f, FIGURE_GC_PAUSES, s->gc_semaphore ? d->text : no_probe);
		figures__miss(f, FIGURE_GC_REASONS, s->gc_semaphore ? d->text : no_probe);
	}
	if (!s->alloc_semaphore || failed & 1u << SOURCE_ALLOC)
		figures__miss(f, FIGURE_ALLOC, s->alloc_semaphore ? d->text : no_probe);
}

/* What version 1.0 of the interface does not tell. */
static void miss_by_version(struct figures_process *f, const struct rb_debug_ext_section *s)
{
	static const enum figure new[] = { FIGURE_CONTENTION, FIGURE_GVL_WAITS, FIGURE_GC_CYCLES, FIGURE_GC_REASONS };

	for (size_t i = 0; s->abi_major == 1 && s->abi_minor < 1 && i < sizeof(new) / sizeof(new[0]); i++)
		figures__miss(f, new[i], "version 1.0 of the debugging interface does not tell it");
}

/* What only a program in the kernel sees. */
static void miss_without_bpf(struct figures_process *f)
{
	static const char no_probe[] = "the probe that tells it needs eBPF";

	figures__miss(f, FIGURE_GVL_WAITS, "without eBPF only waits are seen that a look meets");
	figures__miss(f, FIGURE_GC_PAUSES, no_probe);
	figures__miss(f, FIGURE_GC_REASONS, no_probe);
	figures__miss(f, FIGURE_ALLOC, no_probe);
}

void engine__figures_attach(struct engine *e, struct process *p, const struct vm *vm, uint32_t failed, const struct diag *d)
{
	const struct rb_debug_ext_section *s = &vm->layout.section;
	struct figures_process *f = process_of(e, p);

	if (!f)
		return;
	f->is_ruby = true;
	snprintf(f->interface, sizeof(f->interface), "%u.%u", s->abi_major, s->abi_minor);
	miss_by_version(f, s);
	if (session__looks_only(e->session))
		miss_without_bpf(f);
	else
		miss_probes(f, s, failed, d);
	/* A VM that began with the recording has begun to count at 0. */
	if (p->executed || (e->settings.command && p->wanted))
		figures__set_cycles(f, vm->number, 0, 0);
	if (!e->figures->begun)
		e->figures->begun = e->figures->at_before = e->started_at;
}

void engine__figures_fork(struct engine *e, struct process *p)
{
	struct figures_process *f = process_of(e, p), *parent;

	parent = e->figures ? figures__find(&e->figures->sums, p->parent) : NULL;
	if (!f || !p->vm || p->shares_vm)
		return;
	f->is_ruby = true;
	if (!parent)
		return;
	snprintf(f->interface, sizeof(f->interface), "%s", parent->interface);
	for (uint32_t i = 0; i < FIGURES; i++)
		if (parent->missing[i])
			figures__miss(f, i, parent->missing[i]);
	/* The child goes on with its parent's count. */
	if (parent->cycles_vm)
		figures__set_cycles(f, p->vm->number, parent->cycles, parent->major_cycles);
}

/* -- events ---------------------------------------------------------------------------------------- */

static uint64_t thread_key(const struct thread_account *a)
{
	return hash__mix(hash__mix((uint64_t)a->process << 32 | a->tid) ^ a->first);
}

static void take_account(struct engine *e, const struct account_event *ev)
{
	struct figures_process *f = figures__find(&e->figures->sums, ev->account.process);

	if (!f)
		return;
	figures__add_account(&f->sums, &ev->account);
	figures__note_longest(&e->figures->sums, f, &ev->account);
	map64__add(&e->figures->ended_now, thread_key(&ev->account), 0);
}

/* Names are read while the thread lives. */
static void note_thread(struct engine *e, const struct sample_event *s)
{
	struct vm *vm = s->thread ? process_set__vm(&e->set, s->vm) : NULL;

	if (vm)
		threads__note(&vm->threads, s->thread, s->thread_slot, s->tid);
}

bool engine__take_figure(struct engine *e, const void *data, size_t size)
{
	const struct sample_event *s = data;
	struct figures_process *f;
	struct received *received;

	if (!e->figures || size < sizeof(*s) ||
	    (s->source != SOURCE_SCHED && s->source != SOURCE_GC && s->source != SOURCE_ALLOC))
		return false;
	received = &e->resolver.received[s->source];
	if (s->source == SOURCE_SCHED) {
		/* Of a thread that lives the account is asked for. */
		if (s->kind == SAMPLE_ACCOUNT && !(s->flags & SAMPLE_LIVES) && size >= sizeof(struct account_event) && !e->figures->sums.frozen)
			take_account(e, data);
		return true;
	}
	if (s->truncated && s->truncated < TRUNC_MAX)
		received->truncated[s->truncated]++;
	else
		received->whole++;
	f = figures__find(&e->figures->sums, s->process);
	if (!f || e->figures->sums.frozen)
		return true;
	if (s->source == SOURCE_ALLOC) {
		figures__add_allocation(f, s);
		return true;
	}
	note_thread(e, s);
	figures__add_pause(f, s);
	/* A process can end before it is looked at again. */
	if (!f->missing[FIGURE_GC_CYCLES] && s->ip)
		figures__set_cycles(f, s->vm, s->ip & 0xffffffffu, s->ip >> 32);
	return true;
}

/* -- who has the GVL ------------------------------------------------------------------------------- */

static int read_section(const struct vm *vm, struct rb_debug_ext_section *s)
{
	uint32_t size = vm->layout.section.section_size;
	int err;

	memset(s, 0, sizeof(*s));
	err = memory__read(&vm->memory, vm->layout.address, s, size < sizeof(*s) ? size : sizeof(*s));
	if (err)
		return err;
	return s->state == RB_DEBUG_EXT_READY && s->pid == vm->layout.section.pid ? 0 : -EAGAIN;
}

struct gvl_look {
	uint32_t held, contended;
};

static void note_holder(struct figures_process *f, struct vm *vm, uint32_t slot)
{
	struct rb_debug_ext_thread thread;
	struct holder *h;

	if (tables__read_thread(&vm->layout, &vm->memory, slot, &thread) || !thread.serial)
		return;
	h = figures__add_holder(f, thread.serial);
	if (!h || h->thread != thread.serial)
		return;
	h->slot = slot;
	h->tid = thread.tid;
	threads__note(&vm->threads, thread.serial, slot, thread.tid);
}

static void look_at_ractor(struct figures_process *f, struct vm *vm, const void *slot, struct gvl_look *look)
{
	struct rb_debug_ext_ractor r;

	memcpy(&r, slot, sizeof(r));
	if (r.generation & 1 || !r.id)
		return;
	look->held += r.gvl_thread_slot != 0;
	if (!r.gvl_thread_slot || !r.ready_count)
		return;
	look->contended++;
	note_holder(f, vm, r.gvl_thread_slot);
}

/* 0 or -errno. */
static int look_at_ractors(struct figures_process *f, struct vm *vm, const struct rb_debug_ext_section *s,
			   struct gvl_look *look)
{
	static uint8_t slots[RB_DEBUG_EXT_SLOTS_PER_CHUNK * RACTOR_STRIDE_MAX];
	uint32_t stride = s->ractor_slot_size, end = s->ractor_slots_end, chunk = RB_DEBUG_EXT_SLOTS_PER_CHUNK;
	uint64_t address;

	if (stride < sizeof(struct rb_debug_ext_ractor) || stride > RACTOR_STRIDE_MAX)
		return -EINVAL;
	for (uint32_t first = 0; first < end && first < RACTORS_MAX; first += chunk) {
		uint32_t count = end - first < chunk ? end - first : chunk;
		int err = memory__read(&vm->memory, s->ractor_dir + 8ull * (first / chunk), &address, sizeof(address));

		if (!err)
			err = memory__read(&vm->memory, address, slots, (size_t)count * stride);
		if (err)
			return err;
		for (uint32_t i = first ? 0 : 1; i < count; i++)
			look_at_ractor(f, vm, slots + (size_t)i * stride, look);
	}
	return 0;
}

static void look_at_vm(struct engine *e, const struct process *p)
{
	struct figures_process *f = figures__find(&e->figures->sums, p->number);
	struct rb_debug_ext_section s;
	struct gvl_look look = { 0 };
	struct vm *vm = p->vm;

	if (!f || read_section(vm, &s))
		return;
	if (!f->missing[FIGURE_GC_CYCLES])
		figures__set_cycles(f, vm->number, s.gc_cycles, s.gc_major_cycles);
	if (f->missing[FIGURE_CONTENTION])
		look.held = s.gvl_thread_slot != 0;	/* of the main ractor */
	else if (look_at_ractors(f, vm, &s, &look))
		return;
	figures__add_look(f, look.held, look.contended);
	figures__add_gc_look(f, s.gc_phase, f->missing[FIGURE_CONTENTION] ? 0 : s.gc_cause, s.gc_flags);
}

static bool can_be_looked_at(const struct process *p)
{
	return p && p->state == PROCESS_SAMPLED && p->vm && !p->shares_vm && p->vm->space && !p->vm->exited;
}

uint64_t engine__figures_wait(const struct engine *e, uint64_t now)
{
	if (!e->figures || !e->started || e->figures->sums.frozen)
		return UINT64_MAX;
	return e->figures->next_look > now ? e->figures->next_look - now : 0;
}

/* The distance to the next look is drawn at random, so that the looks do not fall into step with the program. */
static uint64_t next_distance(struct engine_figures *f, uint32_t processes)
{
	uint64_t mean = LOOK_PERIOD, least = processes * (SECOND / LOOKS_PER_SECOND_MAX);

	if (mean < least)
		mean = least;
	f->random = f->random * 1664525u + 1013904223u;
	return mean / 2 + ((mean * (f->random >> 16)) >> 16);
}

static void take_looks(const struct engine *e, struct figures_process *f)
{
	struct session_looks looks;

	session__looks(e->session, f->number, &looks);
	figures__set_thread_looks(f, looks.count, looks.doubts);
}

/* A process can end before it is looked at again, and somebody waits for it at once. */
static void keep_amounts(struct engine *e, uint64_t now)
{
	struct process_amounts amounts;

	if (!session__looks_only(e->session) || now < e->figures->next_amounts)
		return;
	for (uint32_t i = 0; i < e->set.count; i++) {
		const struct process *p = e->set.list[i];
		struct figures_process *f = p ? figures__find(&e->figures->sums, p->number) : NULL;

		if (f && !p->freed && !read_amounts(p, &amounts))
			figures__set_amounts(f, &amounts);
		if (f)
			take_looks(e, f);
	}
	e->figures->next_amounts = now + AMOUNTS_INTERVAL;
}

void engine__figures_step(struct engine *e, uint64_t now)
{
	uint32_t count = 0;

	if (engine__figures_wait(e, now))
		return;
	for (uint32_t i = 0; i < e->set.count; i++) {
		if (!can_be_looked_at(e->set.list[i]))
			continue;
		look_at_vm(e, e->set.list[i]);
		count++;
	}
	keep_amounts(e, now);
	e->figures->next_look = deadline__now() + next_distance(e->figures, count);
}

/* -- the look at all threads ------------------------------------------------------------------------- */

/* Of the process that is looked at. */
struct process_look {
	const struct process *p;
	struct figures_process *f;
	uint64_t now;
	struct tables tables;
	struct tasks tasks;
	bool has_tables, has_tasks;
	uint8_t kinds[CALLS_MAX];
};

static const struct rb_debug_ext_thread *ruby_thread(const struct process_look *l, uint32_t tid)
{
	for (uint32_t i = 0; l->has_tables && i < l->tables.thread_count; i++)
		if (l->tables.threads[i].t.tid == tid)
			return &l->tables.threads[i].t;
	return NULL;
}

/* A thread of which nothing was seen: it has been there all the time. */
static void find_unknown(const struct process_look *l, uint32_t tid, struct sched_thread *t)
{
	struct task task;

	t->off = OFF_NOT;
	if (!l->has_tasks || tasks__look(&l->tasks, (pid_t)tid, &task) || task.state == 'R')
		return;
	t->off = OFF_YES;
	t->in_call = task.call >= 0;
	t->call = (uint32_t)task.call;
	t->out = task.state == 'T' || task.state == 't' ? OUT_STOPPED : OUT_BLOCKED;
}

/* It has been blocked in its system call so far: waiting for what?  As bpf/sched.bpf.c has it. */
static void add_blocked(const struct process_look *l, struct sched_thread *t)
{
	uint32_t kind = t->call < CALLS_MAX ? l->kinds[t->call] : CALL_OTHER, state = state_of_call(kind);
	const struct rb_debug_ext_thread *thread = ruby_thread(l, t->account.tid);
	struct thread_head head;
	uint64_t gvl = 0;

	if (thread) {
		memcpy(&head, thread, sizeof(head));
		t->coarse = !head.ready_at && !head.state_seq;
		if (head.state != RB_DEBUG_EXT_THREAD_RUNNING && state_of_wait(head.wait_kind) != STATE_MAX)
			state = state_of_wait(head.wait_kind);
		else if (kind == CALL_FUTEX && (head.state == RB_DEBUG_EXT_THREAD_SLEEPING ||
						head.state == RB_DEBUG_EXT_THREAD_READY))
			state = STATE_SLEEP;
		if (head.state == RB_DEBUG_EXT_THREAD_READY && kind == CALL_FUTEX)
			gvl = gvl_part(t, &head);
		if (!t->account.thread) {
			t->account.thread = head.serial;
			t->account.thread_slot = 0;
		}
	}
	t->account.time[state] += t->blocked - gvl;
	t->account.time[STATE_GVL] += gvl;
}

/* Put what it does now, since t->since, into its account. */
static void settle(const struct process_look *l, uint32_t tid, struct sched_thread *t)
{
	uint64_t ns = l->now > t->since ? l->now - t->since : 0, blocked = 0;

	if (t->off == OFF_UNKNOWN)
		find_unknown(l, tid, t);
	if (t->off == OFF_NOT) {
		t->account.time[STATE_RUNNING] += ns;
	} else {
		if (t->out != OUT_RUNNABLE)
			blocked = t->woken > t->since && t->woken - t->since < ns ? t->woken - t->since : ns;
		if (t->in_call) {
			add_to_call(t, blocked, ns - blocked);
		} else {
			t->account.time[t->out == OUT_STOPPED ? STATE_STOPPED : STATE_FAULT] += blocked;
			t->account.time[STATE_RUNNABLE] += ns - blocked;
		}
	}
	if (t->blocked)
		add_blocked(l, t);
	t->account.time[STATE_STOPPED] += t->stopped;
	t->account.time[STATE_RUNNABLE] += t->runnable;
	t->account.until = t->since + ns;
}

/* Threads that wait for the GVL at this moment. */
static void count_waiting(const struct process_look *l)
{
	for (uint32_t i = 0; l->has_tables && i < l->tables.thread_count; i++) {
		const struct rb_debug_ext_thread *t = &l->tables.threads[i].t;
		uint64_t ns = l->now > t->ready_at ? l->now - t->ready_at : 0;

		if (t->state != RB_DEBUG_EXT_THREAD_READY || !t->ready_at)
			continue;
		l->f->waiting++;
		if (ns > l->f->waiting_longest)
			l->f->waiting_longest = ns;
	}
}

static void note_name(struct process_look *l, const struct thread_account *a)
{
	struct vm *vm = l->p ? l->p->vm : NULL;

	/* What has the longest wait is to have its name. */
	if (vm && a->thread && a->thread_slot && !vm->exited &&
	    (l->f->gvl_longest.thread == a->thread || l->f->gvl_longest_interval.thread == a->thread))
		threads__note(&vm->threads, a->thread, a->thread_slot, a->tid);
}

static void open_process(struct engine *e, struct process_look *l, uint32_t number)
{
	struct vm *vm;

	l->p = process_set__find(&e->set, number);
	l->f = figures__find(&e->figures->sums, number);
	if (!l->p || !l->f || l->p->state == PROCESS_ENDED)
		return;
	l->has_tasks = !tasks__open(&l->tasks, l->p->pid, true);
	vm = can_be_looked_at(l->p) ? l->p->vm : NULL;
	if (vm && !layout__refresh(&vm->layout, &vm->memory))
		l->has_tables = !tables__read(&l->tables, &vm->layout, &vm->memory);
	if (l->f->missing[FIGURE_GVL_WAITS])
		return;
	count_waiting(l);
}

static void close_process(struct process_look *l)
{
	if (l->has_tasks)
		tasks__close(&l->tasks);
	l->has_tasks = l->has_tables = false;
	l->p = NULL;
	l->f = NULL;
}

static void on_thread(void *context, uint32_t tid, const struct sched_thread *thread)
{
	struct engine_figures *f = context;

	if (array__reserve(&f->looked, f->looked_count, 1, &f->looked_room, SCHED_THREADS_MAX, sizeof(*f->looked))) {
		f->threads_lost++;
		return;
	}
	f->looked[f->looked_count++] = (struct looked){ .tid = tid, .thread = *thread };
}

/* Without BPF the account is whole. */
static void on_account(void *context, const struct thread_account *account)
{
	const struct sched_thread thread = { .account = *account };

	on_thread(context, account->tid, &thread);
}

static int by_process(const void *a, const void *b)
{
	uint32_t x = ((const struct looked *)a)->thread.account.process, y = ((const struct looked *)b)->thread.account.process;

	return x < y ? -1 : x > y;
}

/* Copies of all threads, with what they do now.  0 or -ENOMEM. */
static int look_at_threads(struct engine *e, uint64_t *now)
{
	struct engine_figures *f = e->figures;
	struct process_look l = { 0 };
	int err;

	f->looked_count = 0;
	if (session__looks_only(e->session)) {
		session__accounts(e->session, f->sums.interval + 1, on_account, f);
		*now = deadline__now();
		return 0;
	}
	err = sched__each_now(session__source(e->session, SOURCE_SCHED), on_thread, f);
	l.now = *now = deadline__now();
	sched_calls__kinds(l.kinds);
	qsort(f->looked, f->looked_count, sizeof(*f->looked), by_process);
	for (uint32_t i = 0; i < f->looked_count && !err; i++) {
		struct looked *t = &f->looked[i];

		if (!i || t->thread.account.process != t[-1].thread.account.process) {
			close_process(&l);
			open_process(e, &l, t->thread.account.process);
		}
		settle(&l, t->tid, &t->thread);
	}
	close_process(&l);
	tables__free(&l.tables);
	return err;
}

/* They live, unless their end has been told meanwhile. */
static void add_living(struct engine *e)
{
	struct engine_figures *f = e->figures;
	struct process_look l = { 0 };

	for (uint32_t i = 0; i < f->looked_count; i++) {
		const struct thread_account *a = &f->looked[i].thread.account;

		l.f = figures__find(&f->sums, a->process);
		l.p = process_set__find(&e->set, a->process);
		if (!l.f || map64__get(&f->ended_now, thread_key(a)) != MAP64_NONE)
			continue;
		figures__add_account(&l.f->living, a);
		figures__note_longest(&f->sums, l.f, a);
		note_name(&l, a);
		l.f->threads++;
	}
}

/* -- the look at everything --------------------------------------------------------------------------- */

static void name_thread(const struct vm *vm, struct longest *l)
{
	uint32_t number = l->thread ? map64__get(&vm->threads.map, l->thread) : MAP64_NONE;
	struct text name = { 0 };

	if (number == MAP64_NONE || (!vm->threads.list[number].known && l->name[0]))
		return;
	thread__add_label(&vm->threads.list[number], &name);
	snprintf(l->name, sizeof(l->name), "%s", text__string(&name));
	text__free(&name);
}

static void name_holder(const struct vm *vm, struct holder *h)
{
	uint32_t number = h->thread ? map64__get(&vm->threads.map, h->thread) : MAP64_NONE;
	struct text name = { 0 };

	if (number == MAP64_NONE)
		return;
	thread__add_label(&vm->threads.list[number], &name);
	free(h->name);
	h->name = name.failed ? NULL : strdup(text__string(&name));
	text__free(&name);
}

void engine__figures_name(struct engine *e, const struct process *p, const struct vm *vm)
{
	struct figures_process *f = e->figures ? figures__find(&e->figures->sums, p->number) : NULL;

	if (!f)
		return;
	name_thread(vm, &f->gvl_longest);
	name_thread(vm, &f->gvl_longest_interval);
	name_thread(vm, &f->gc_longest);
	name_thread(vm, &f->gc_longest_interval);
	for (uint32_t i = 0; i < f->holder_count; i++)
		name_holder(vm, &f->holders[i]);
}

static void describe(struct engine *e, struct process *p, struct figures_process *f)
{
	const struct process_row *row = p->row < e->rows.count ? &e->rows.rows[p->row] : NULL;

	if (!row)
		return;
	snprintf(f->command, sizeof(f->command), "%s", row->command);
	snprintf(f->ruby_version, sizeof(f->ruby_version), "%s", row->ruby_version);
}

static int read_waits(struct engine *e, struct figures_process *f)
{
	struct histogram h;

	if (f->missing[FIGURE_GVL_WAITS] || session__looks_only(e->session))
		return 0;
	sched__gvl_waits(session__source(e->session, SOURCE_SCHED), f->number, &h);
	if (!f->gvl && !histogram__count(&h))
		return 0;
	if (!f->gvl)
		f->gvl = calloc(1, sizeof(*f->gvl));
	if (!f->gvl)
		return -ENOMEM;
	/* The kernel has forgotten those of a process that is gone. */
	if (histogram__count(&h) >= histogram__count(f->gvl))
		*f->gvl = h;
	return 0;
}

static void look_at_process(struct engine *e, struct process *p)
{
	struct figures_process *f = figures__find(&e->figures->sums, p->number);
	struct process_amounts amounts;

	if (!f)
		return;
	if (!p->freed && !read_amounts(p, &amounts))
		figures__set_amounts(f, &amounts);
	if (session__looks_only(e->session))
		take_looks(e, f);
	if (can_be_looked_at(p)) {
		look_at_vm(e, p);
		threads__refresh(&p->vm->threads, false);
		engine__figures_name(e, p, p->vm);
	}
	describe(e, p, f);
}

void engine__figures_freed(struct engine *e, struct process *p)
{
	struct figures_process *f = e->figures ? figures__find(&e->figures->sums, p->number) : NULL;

	if (!f)
		return;
	describe(e, p, f);
	if (!e->figures->sums.frozen)
		read_waits(e, f);
	f->freed = true;
	if (!session__looks_only(e->session))
		sched__forget_gvl_waits(session__source(e->session, SOURCE_SCHED), p->number);
}

static void on_call(void *context, const struct syscall_key *key, const struct syscall_sum *sum)
{
	struct engine_figures *f = context;
	struct call_sum *c = NULL;

	for (uint32_t i = 0; i < f->call_count && !c; i++)
		if (f->calls[i].number == key->number)
			c = &f->calls[i];
	if (!c && array__reserve(&f->calls, f->call_count, 1, &f->call_room, CALL_SUMS_MAX, sizeof(*f->calls))) {
		f->calls_lost += sum->count;
		return;
	}
	if (!c) {
		c = &f->calls[f->call_count++];
		*c = (struct call_sum){ .number = key->number };
	}
	c->now.count += sum->count;
	c->now.ns += sum->ns;
}

static void look_at_calls(struct engine *e)
{
	struct source *source = session__source(e->session, SOURCE_SYSCALL);
	struct engine_figures *f = e->figures;

	f->has_calls = source != NULL;
	if (!source)
		return;
	for (uint32_t i = 0; i < f->call_count; i++)
		f->calls[i].now = (struct syscall_sum){ 0 };
	f->calls_lost = syscall__sums_lost(source);
	f->calls_not_returned = syscall__not_returned(source);
	syscall__each_sum(source, on_call, f);
}

/* All that has been sent until now.  -ECANCELED: there was no time for all. */
static void drain(struct engine *e)
{
	uint64_t now = deadline__now();

	deadline__start(&e->deadline, e->settings.interrupt_fd, now + SECOND);
	deadline__start(&e->reads, -1, now + READS_TIMEOUT);
	e->drain_until = now + SECOND;
	do {
		engine__drain_lifecycle(e);
		e->behind = engine__drain(e) == -ECANCELED;
		engine__update_vms(e, false);
	} while (e->behind && !deadline__over(&e->deadline));
}

static void count_losses(struct engine *e)
{
	struct engine_figures *f = e->figures;

	for (uint32_t i = 0; i < e->set.count; i++)
		if (e->set.list[i])
			engine__take_counters(e, e->set.list[i]);
	engine__total(e, 1u << SOURCE_ALLOC, &f->alloc, &f->alloc_received);
	engine__total(e, 1u << SOURCE_GC, &f->gc, &f->gc_received);
	f->alloc_interval = e->settings.alloc_interval;
	f->looks_only = session__looks_only(e->session);
	if (f->looks_only)
		return;
	f->gvl_waits_lost = sched__gvl_waits_lost(session__source(e->session, SOURCE_SCHED));
	f->threads_lost = sched__lost(session__source(e->session, SOURCE_SCHED));
}

static int look(struct engine *e)
{
	struct engine_figures *f = e->figures;
	uint64_t now = deadline__now();
	int err;

	for (uint32_t i = 0; i < f->sums.count; i++) {
		struct figures_process *p = f->sums.list[i];

		memset(&p->living, 0, sizeof(p->living));
		p->waiting = p->threads = 0;
		p->waiting_longest = 0;
	}
	map64__clear(&f->ended_now);
	err = look_at_threads(e, &now);
	for (uint32_t i = 0; i < f->sums.count && !err; i++)
		if (!f->sums.list[i]->freed)
			err = read_waits(e, f->sums.list[i]);
	drain(e);
	add_living(e);
	for (uint32_t i = 0; i < e->set.count; i++)
		if (e->set.list[i])
			look_at_process(e, e->set.list[i]);
	look_at_calls(e);
	count_losses(e);
	f->at = now;
	return err;
}

int engine__figures_next(struct engine *e, struct diag *d)
{
	struct engine_figures *f = e->figures;
	int err;

	for (uint32_t i = 0; i < f->call_count; i++)
		f->calls[i].before = f->calls[i].now;
	f->at_before = f->at;
	err = figures__next_interval(&f->sums);
	return err ? diag__set(d, DIAG_INTERNAL, -err, "out of memory for the figures") : 0;
}

int engine__figures(struct engine *e, const struct engine_figures **figures, struct diag *d)
{
	struct engine_figures *f = e->figures;
	int err = 0;

	*figures = f;
	if (!f)
		return diag__set(d, DIAG_USAGE, EINVAL, "the recording was not asked for figures");
	if (!e->started)
		return diag__set(d, DIAG_NOT_READY, EAGAIN, "no ruby was found so far");
	/* What was looked at in the end belongs to the last interval. */
	if (f->sums.frozen) {
		count_losses(e);
		return 0;
	}
	/* From here on the kernel notes the longest waits of the next interval: those of this one stay for the look. */
	if (!session__looks_only(e->session))
		sched__set_interval(session__source(e->session, SOURCE_SCHED), f->sums.interval + 1);
	err = look(e);
	f->sums.interval++;
	return err ? diag__set(d, DIAG_INTERNAL, -err, "out of memory for the figures") : 0;
}

void engine__figures_end(struct engine *e)
{
	const struct engine_figures *f;
	struct diag d;

	if (!e->figures || e->figures->sums.frozen)
		return;
	engine__figures(e, &f, &d);
	e->figures->sums.frozen = true;
}

int engine__figures_create(struct engine *e)
{
	if (!e->settings.figures)
		return 0;
	e->figures = calloc(1, sizeof(*e->figures));
	if (!e->figures)
		return -ENOMEM;
	e->figures->random = (uint32_t)deadline__now();
	e->sources |= 1u << SOURCE_SCHED | 1u << SOURCE_GC | 1u << SOURCE_ALLOC;
	if (e->settings.syscall_figures)
		e->sources |= 1u << SOURCE_SYSCALL;
	return 0;
}

void engine__figures_free(struct engine *e)
{
	if (!e->figures)
		return;
	figures__free(&e->figures->sums);
	free(e->figures->calls);
	map64__free(&e->figures->ended_now);
	free(e->figures->looked);
	free(e->figures);
	e->figures = NULL;
}
