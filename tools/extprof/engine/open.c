/* SPDX-License-Identifier: BSD-2-Clause */
/* A recording from its settings to its session, and its end. */
#include "engine/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "engine/figures.h"
#include "engine/state.h"
#include "parser/helper.h"
#include "process/section_search.h"
#include "profile/idle.h"
#include "remote/session.h"
#include "remote/walker.h"

/* For the stacks of threads that wait at the end: 10,000 take 2 s of CPU time, and others may have the CPUs. */
#define WAITS_TIME (15 * SECOND)
/*
 * The kernel tells that a process was freed some 20 ms after its end.  For about one of a thousand processes it does not: neither
 * BPF programs nor perf see the tracepoint (`perf record -a -e sched:sched_process_exit -e sched:sched_process_free`, Linux 6.18).
 */
#define FREED_TIME (10 * SECOND)

/* Threads that were not asked for: so many are told apart.  Each makes the tree larger. */
#define IDLE_THREADS_MAX 256u

/* Events of processes that wait to be handled, bytes. */
#define LIFECYCLE_MAX (64u << 20)

static int wait_for(struct engine *e, int fd, struct diag *d)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, fd, &event))
		return diag__set(d, DIAG_INTERNAL, errno, "cannot wait: %s", strerror(errno));
	return 0;
}

/* Can the caller's process have more than one row? */
static bool has_many(const struct selection *sel)
{
	return sel->all || sel->subprocesses || sel->pid_count > 1;
}

/* A wrong pid is told before missing permissions for BPF are. */
static int check_pids(const struct settings *s, struct diag *d)
{
	for (uint32_t i = 0; i < s->selection.pid_count; i++) {
		struct search *search = search__new(0, s->selection.pids[i], NULL);
		int err;

		if (!search)
			return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
		err = target__open(&search->target, search->pid, &search->diag);
		if (!err && !s->command) {
			err = target__find_section(&search->target, &search->diag);
			/* Its children may be what is wanted. */
			if (err && (search->diag.code == DIAG_NOT_READY ||
				    (s->all_native && (search->diag.code == DIAG_NOT_RUBY || search->diag.code == DIAG_NO_INTERFACE)) ||
				    (s->selection.subprocesses && search->diag.code != DIAG_PERMISSION &&
				     search->diag.code != DIAG_NO_PROCESS)))
				err = 0;
		}
		if (err)
			*d = search->diag;
		search__free(search);
		if (err)
			return err;
	}
	return 0;
}

/* Which threads are idle is told from the waits of each, whatever is shown of it. */
static void group_for_idle(struct engine *e)
{
	const bool asked = groups__has(&e->resolver.groups, GROUP_THREAD) || groups__has(&e->resolver.groups, GROUP_THREAD_PATTERN);

	if (!asked)
		e->resolver.threads_max = IDLE_THREADS_MAX;
	groups__add_mask(&e->resolver.groups, 1u << GROUP_PROCESS | 1u << GROUP_THREAD);
}

int engine__create(struct engine **engine, const struct settings *settings, struct diag *d)
{
	struct engine *e;
	int err;

	*engine = NULL;
	if (settings->size != sizeof(*settings))
		return diag__set(d, DIAG_INTERNAL, EINVAL, "wrong size of settings");
	e = calloc(1, sizeof(*e));
	if (!e)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	helpers__hold();
	e->settings = *settings;
	e->epoll_fd = -1;
	e->first_row = PROCESS_NONE;
	e->paused = settings->delay || settings->start_paused;
	event_queue__init(&e->lifecycle, LIFECYCLE_MAX);
	process_set__init(&e->set, &e->rows);
	e->resolver.frames = &e->frames;
	e->resolver.vm_of = engine__vm_of;
	e->resolver.turn = engine__turn;
	e->resolver.context = e;
	aside__init(&e->aside);
	e->waits_time = WAITS_TIME;
	e->freed_time = FREED_TIME;
	e->resolver.processes = &e->rows;
	e->resolver.pauses = true;
	e->resolver.groups = settings->groups;
	e->resolver.events = e->settings.events;
	e->resolver.event_count = e->settings.event_count;
	e->resolver.states = settings->states;
	e->resolver.details_wanted = settings->details;
	if (settings->kernel)
		e->resolver.kernel = &e->kernel_frames;
	groups__add_mask(&e->resolver.groups, settings->labels);
	if (has_many(&settings->selection) && settings->group_by_default)
		groups__add(&e->resolver.groups, GROUP_PROCESS);
	for (uint32_t i = 0; i < settings->mode_count; i++)
		if (idle__concerns(settings->modes[i]))
			group_for_idle(e);
	for (uint32_t i = 0; i < settings->mode_count; i++)
		e->mode_sources |= settings->modes[i]->sources | settings->modes[i]->beside;
	e->sources = e->mode_sources;
	tree_sink__init(&e->tree_sink, &e->tree);
	pause_sink__init(&e->pause_sink, &e->pauses);
	if (engine__figures_create(e) || engine__open_heap(e) || tree__init(&e->tree) || frame_table__init(&e->frames) ||
	    sinks__add(&e->resolver.sinks, &e->tree_sink.sink) || sinks__add(&e->resolver.sinks, &e->pause_sink.sink) ||
	    resolve__set_modes(&e->resolver, e->settings.modes, settings->mode_count)) {
		err = diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
		goto cleanup;
	}
	err = engine__open_triggers(e, d);
	if (!err)
		err = check_pids(settings, d);
	if (!err && settings->selection.cgroup)
		err = cgroup__find(&e->cgroup, "/proc/self/mountinfo", settings->selection.cgroup, d);
	if (err)
		goto cleanup;
	e->places = places__new();
	if (!e->places) {
		err = diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
		goto cleanup;
	}
	err = searcher__create(&e->searcher, &settings->executor);
	e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (err || e->epoll_fd < 0)
		err = diag__set(d, DIAG_INTERNAL, err ? -err : errno, "cannot wait: %s",
				strerror(err ? -err : errno));
cleanup:
	if (err)
		engine__destroy(e);
	else
		*engine = e;
	return err;
}

/* A user who asks for waits wants each wait.  Among all that threads do, short waits are a small part. */
static bool each_wait(const struct engine *e)
{
	if (e->settings.waits)
		return e->settings.waits == WAITS_EACH;
	for (uint32_t i = 0; i < e->settings.mode_count; i++)
		if (e->settings.modes[i]->each_wait)
			return true;
	return false;
}

/* States that the modes show, and --state lets through; 0: all. */
static uint32_t states_shown(const struct engine *e)
{
	uint32_t of_modes = 0, shown = e->settings.states;

	for (uint32_t i = 0; i < e->settings.mode_count; i++)
		if (e->settings.modes[i]->has_states)
			of_modes |= e->settings.modes[i]->states ? e->settings.modes[i]->states : ~0u;
	return shown && of_modes ? shown & of_modes : shown | of_modes;
}

/* Memory of malloc is in mode alloc alone. */
static bool shows_malloc(const struct engine *e)
{
	for (uint32_t i = 0; i < e->settings.mode_count; i++)
		if (e->settings.modes[i] == &mode_alloc)
			return true;
	return e->settings.figures;
}

/* After the BPF programs: they are functions of the kernel, too. */
static void load_kernel_symbols(struct engine *e)
{
	kernel_frames__load(&e->kernel_frames);
	if (e->kernel_frames.err)
		log_to__line(&e->settings.log, "functions of the kernel: no names from /proc/kallsyms: %s",
			     strerror(-e->kernel_frames.err));
	else
		log_to__line(&e->settings.log, "functions of the kernel: %" PRIu32, e->kernel_frames.symbols.count);
}

int engine__open(struct engine *e, struct diag *d)
{
	struct session_options options = {
		.size = sizeof(options),
		.sources = e->sources,
		.source_options = { .size = sizeof(options.source_options), .places = e->places, .rate = e->settings.rate,
				    .timer = e->settings.timer, .alloc_interval = e->settings.alloc_interval,
				    .slots_only = !shows_malloc(e),
				    .syscalls = &e->settings.syscalls,
				    .syscall_latency = e->settings.syscall_latency,
				    .events = e->settings.events, .event_count = e->settings.event_count,
				    .event_period = e->settings.event_period,
				    .figures = e->settings.figures, .call_figures = e->settings.syscall_figures, .details = e->settings.details, .each_wait = each_wait(e),
				    .states = states_shown(e), .native = e->settings.native,
				    .plain = e->settings.all_native, .kernel = e->settings.kernel },
		.follow_children = e->settings.selection.subprocesses || e->settings.selection.all,
		.tell_all = e->settings.selection.all,
		.log = e->settings.log,
	};
	struct process *p;
	int err;

	e->reader = e->settings.reader;
	err = reader__open(&e->session, &options, &e->reader, &e->why_reader, d);
	if (err)
		return err;
	log_to__line(&e->settings.log, "reader: %s", reader_names[e->reader]);
	err = engine__check_triggers(e, d);
	if (err)
		return err;
	if (e->paused)
		session__rest(e->session);
	if (e->settings.kernel)
		load_kernel_symbols(e);
	err = engine__open_natives(e, d);
	if (err)
		return err;
	if (session__looks_only(e->session)) {
		e->sources &= REMOTE_SOURCES;
		if (e->figures)
			e->figures->looks_only = true;
	}
	if ((err = wait_for(e, session__fd(e->session), d)) ||
	    (err = wait_for(e, searcher__fd(e->searcher), d)))
		return err;
	if (engine__natives_fd(e) >= 0 && (err = wait_for(e, engine__natives_fd(e), d)))
		return err;
	for (uint32_t i = 0; i < e->settings.selection.pid_count; i++) {
		err = engine__follow_pid(e, e->settings.selection.pids[i], true, &p, d);
		if (err && e->settings.command && d->code == DIAG_NO_PROCESS)
			return diag__set(d, DIAG_NO_PROCESS, ESRCH, "the command was ended before it began");
		if (err && err != -EEXIST)	/* the same pid twice */
			return err;
		if (!err)
			p->born = e->settings.command;
	}
	if (e->settings.command && (err = engine__hold_command(e, d)))
		return err;
	if (!e->settings.command)
		engine__discover_children(e, 0);
	if (e->settings.selection.all)
		engine__discover_all(e);
	return 0;
}

void engine__destroy(struct engine *e)
{
	if (!e)
		return;
	gate__close(e->gate);
	searcher__destroy(e->searcher);
	searcher__destroy(e->native_searcher);
	session__close(e->session);
	places__release(e->places);
	context_files__release(e->context_files);
	engine__restore_intervals(e);
	engine__free_recording(e);
	triggers__free(&e->triggers);
	event_queue__free(&e->lifecycle);
	aside__free(&e->aside);
	process_set__free(&e->set);
	symbol_table__free(&e->table);
	helpers__release();
	frame_table__free(&e->frames);
	processes__free(&e->rows);
	engine__free_heap(e);
	tree__free(&e->tree);
	states__free(&e->states);
	kernel_frames__free(&e->kernel_frames);
	native_frames__free(&e->native_frames);
	native_lines__free(&e->native_lines);
	cgroup__free(&e->cgroup);
	gc_pauses__free(&e->pauses);
	for (uint32_t i = 0; i < MODES_MAX; i++)
		idle_history__free(&e->idle_histories[i]);
	engine__figures_free(e);
	engine__free_shared(e);
	map64__free(&e->ahead_seen);
	walker__free(e->ahead_walker);
	free(e->old_vms.list);
	free(e->old_processes.list);
	free(e->new_vms.list);
	if (e->epoll_fd >= 0)
		close(e->epoll_fd);
	free(e);
}
