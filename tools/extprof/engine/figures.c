/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/figures_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "engine/state.h"
#include "process/proc.h"

/* How often to read what the kernel counts of a process whose end is not told with it. */
#define AMOUNTS_INTERVAL (50 * MS)

/* -- what the kernel tells of processes ---------------------------------------------------------- */

/* The whole process, with its threads that have ended.  0 or -errno. */
static int read_amounts(const struct process *p, struct process_amounts *to)
{
	uint64_t used = proc__cpu_time(p->pid);
	struct proc_stat stat;

	if (!used)
		return -ESRCH;
	if (proc_stat__read(&stat, p->pid, 0) || !stat.state)
		return -ESRCH;
	if (p->target.pidfd >= 0 && !target__has_pid(&p->target))
		return -ESRCH;
	to->cpu = used;
	to->user = stat.user * (SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
	if (to->user > to->cpu)
		to->user = to->cpu;
	to->minor_faults = stat.minor_faults;
	to->major_faults = stat.major_faults;
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
	if (times <= 0 && e->figures->looks_only && read_amounts(p, &amounts)) {
		amounts = f->amounts;
		amounts.cpu = ev->cpu_time;
	}
	figures__set_amounts(f, &amounts);
}

static void take_looks(const struct engine *e, struct figures_process *f)
{
	struct session_looks looks;

	session__looks(e->session, f->number, &looks);
	figures__set_thread_looks(f, looks.count, looks.doubts);
}

/* A process can end before it is looked at again, and somebody waits for it at once. */
void figures_parts__keep_amounts(struct engine *e, uint64_t now)
{
	struct process_amounts amounts;

	if (!e->figures->looks_only || now < e->figures->next_amounts)
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

/* -- the beginning ---------------------------------------------------------------------------------- */

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
	figures_parts__look_at_memory(p, f);
	if (p->born || !read_amounts(p, &amounts))
		figures__set_amounts(f, &amounts);
	if (e->figures->looks_only) {
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
	if (!s->malloc_semaphore || failed & 1u << SOURCE_ALLOC)
		figures__miss(f, FIGURE_MALLOC, s->malloc_semaphore ? d->text : no_probe);
}

/* Mark the figures that only a program in the kernel sees as missing. */
static void miss_without_bpf(struct figures_process *f)
{
	static const char no_probe[] = "the probe that tells it needs eBPF";

	figures__miss(f, FIGURE_GVL_WAITS, "without eBPF only waits are seen that a look meets");
	figures__miss(f, FIGURE_GC_PAUSES, no_probe);
	figures__miss(f, FIGURE_GC_REASONS, no_probe);
	figures__miss(f, FIGURE_ALLOC, no_probe);
	figures__miss(f, FIGURE_MALLOC, no_probe);
}

void engine__figures_attach(struct engine *e, struct process *p, const struct vm *vm, uint32_t failed, const struct diag *d)
{
	const struct rb_debug_ext_section *s = &vm->layout.section;
	struct figures_process *f = process_of(e, p);

	if (!f)
		return;
	f->is_ruby = true;
	snprintf(f->interface, sizeof(f->interface), "%u.%u", s->abi_major, s->abi_minor);
	if (!s->heap.pools)
		figures__miss(f, FIGURE_HEAP, "this ruby does not tell how full its heap is");
	if (e->figures->looks_only)
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
	if (!f || !p->vm || p->vm->plain || p->shares_vm)
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

	if (f->missing[FIGURE_GVL_WAITS] || !session__gvl_waits(e->session, f->number, &h))
		return 0;
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
	if (!p->freed)
		figures_parts__look_at_memory(p, f);
	figures_parts__look_at_heap(p, f);
	if (e->figures->looks_only)
		take_looks(e, f);
	if (process__is_readable(p)) {
		figures_parts__look_at_vm(e, p);
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
}

static void on_call(void *context, const struct syscall_key *key, const struct syscall_sum *sum)
{
	struct engine_figures *f = context;
	struct call_sum *c = NULL;

	for (uint32_t i = 0; i < f->call_count && !c; i++)
		if (f->calls[i].number == key->number)
			c = &f->calls[i];
	if (!c && array__reserve(&f->calls, f->call_count, 1, &f->call_room, CALL_SUMS_MAX, sizeof(*f->calls))) {
		f->calls_without_row += sum->count;
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
	struct engine_figures *f = e->figures;

	for (uint32_t i = 0; i < f->call_count; i++)
		f->calls[i].now = (struct syscall_sum){ 0 };
	f->calls_without_row = 0;
	f->has_calls = session__calls(e->session, on_call, f);
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
		engine__update_vms(e, true);
	} while ((e->behind || e->aside.count) && !deadline__over(&e->deadline));
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
	session__losses(e->session, &f->losses);
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
	err = figures_parts__look_at_threads(e, &now);
	for (uint32_t i = 0; i < f->sums.count && !err; i++)
		if (!f->sums.list[i]->freed)
			err = read_waits(e, f->sums.list[i]);
	drain(e);
	figures_parts__add_living(e);
	for (uint32_t i = 0; i < e->set.count; i++)
		if (e->set.list[i])
			look_at_process(e, e->set.list[i]);
	look_at_calls(e);
	count_losses(e);
	f->at = now;
	return err;
}

void engine__figures_leave(struct engine *e, struct process *p)
{
	struct figures_process *f = e->figures ? figures__find(&e->figures->sums, p->number) : NULL;

	if (!f || e->figures->sums.frozen)
		return;
	look(e);
	sums__add(&f->sums, &f->living);
	memset(&f->living, 0, sizeof(f->living));
	f->threads = f->waiting = 0;
	f->ended = true;
}

int engine__figures_next(struct engine *e, struct diag *d)
{
	struct engine_figures *f = e->figures;
	int err;

	for (uint32_t i = 0; i < f->call_count; i++)
		f->calls[i].before = f->calls[i].now;
	f->at_before = f->at;
	err = figures__next_interval(&f->sums);
	engine__tidy(e);
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
	/* The look at the end belongs to the last interval. */
	if (f->sums.frozen) {
		count_losses(e);
		return 0;
	}
	/* From here on the kernel notes the longest waits of the next interval: those of this one stay for the look. */
	session__begin_interval(e->session, f->sums.interval + 1);
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
	free(e->figures->ractor_slots);
	free(e->figures);
	e->figures = NULL;
}
