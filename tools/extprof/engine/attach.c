/* SPDX-License-Identifier: BSD-2-Clause */
/* From a process to its VM: searches, and what is done with what they found. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/text.h"
#include "engine/state.h"

/* How long a ruby may be starting, or between fork and its adaptation. */
#define READY_TIMEOUT (10 * SECOND)
/* A ruby without the interface may be about to execute another one. */
#define WRONG_RUBY_TIMEOUT (3 * SECOND)
/* A program that is no ruby may load one later: it is looked at again, ever more seldom. */
#define OTHER_WAIT_MAX (5 * SECOND)
/* A command that has not become a ruby by then is no longer traced. */
#define HOLD_TIMEOUT (3 * SECOND)
#define PROBE_SOURCES (1u << SOURCE_ALLOC | 1u << SOURCE_GC | 1u << SOURCE_EVENT)
/* With all processes of the machine, one that is no ruby after so long is left alone. */
#define STRANGER_TIMEOUT (2 * SECOND)

/* How long a step may attach to what was found. */
#define ATTACH_TIME (SECOND / 20)

/* -- a VM that was found ----------------------------------------------------------- */

int engine__start(struct engine *e, struct diag *d)
{
	uint64_t began;
	int err;

	if (e->started || e->paused)
		return 0;
	err = session__start(e->session, &began, d);
	if (err)
		return err;
	e->started = true;
	e->started_at = e->from = began;
	e->started_wall = time(NULL);
	return 0;
}

static int read_vm(const void *engine, uint32_t number, uint64_t address, void *to, size_t size)
{
	const struct engine *e = engine;
	const struct vm *vm = process_set__vm(&e->set, number);
	struct deadline *deadline;
	int err;

	if (!vm || !vm->space)
		return -ESRCH;
	deadline = address_space__lift_deadline(vm->space);
	err = memory__read(&vm->memory, address, to, size);
	vm->space->deadline = deadline;
	return err;
}

static bool is_file_used(const void *engine, uint32_t file)
{
	const struct engine *e = engine;

	for (uint32_t i = 0; i < e->set.count; i++)
		if (e->set.list[i] && e->set.list[i]->state == PROCESS_SAMPLED && e->set.list[i]->file == file)
			return true;
	return false;
}

/* Add the ruby to the sources that attach to it.  If a source cannot attach, this process has no samples of it; the
 * report says so. */
static int add_ruby(struct engine *e, struct process *p, const struct vm *vm, const struct ruby_file *file,
		    struct diag *d)
{
	struct source_target target = {
		.process = p->number, .vm = vm->number, .pid = p->pid, .section = vm->layout.address,
		.contract = &vm->layout.section, .file = file, .places = e->places, .read = read_vm,
		.uses = is_file_used, .engine = e,
	};
	uint32_t failed = 0;
	int err;

	err = session__add_ruby(e->session, &target, &failed, d);
	if (!vm->plain)
		engine__figures_attach(e, p, vm, failed, d);
	if (err && !e->not_added++)
		e->why_not_added = *d;
	/* Without BPF nothing else samples it. */
	return p->wanted && e->reader != READER_EBPF && e->settings.selection.pid_count == 1 ? err : 0;
}

static int attach(struct engine *e, struct process *p, struct vm *vm, const struct ruby_file *file, struct diag *d)
{
	struct target_config config = { .flags = TARGET_PLAIN, .pid = p->key.pid };
	bool first = !e->started;
	int err, not_started;

	if (!vm->plain)
		layout__config(&vm->layout, &config);
	config.process = p->number;
	config.file = p->file = vm->plain ? 0 : ruby_file__number(file);
	config.vm = session__new_number(e->session);
	config.started = p->started;
	config.user = aside__place_of(&e->aside, vm);
	if (engine__describe(e, p, vm) || process_set__add_vm(&e->set, config.vm, vm))
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	vm__set_deadline(vm, &e->reads);
	vm__set_gone(vm, engine__vm_gone, e);
	vm->frames.of = &e->frames.shares;
	engine__ask_ruby(e, vm);
	/* The CPU time until now was not sampled. */
	engine__read_cpu_time(e, p);
	err = session__set_target(e->session, &p->key, &config);
	/* Nobody checks what such a program runs when it is sampled: if it has executed another one meanwhile, the kernel is not
	 * to take that for this one.  Its exec will be told. */
	if (!err && vm->plain && !address_space__lives(vm->space)) {
		config = (struct target_config){ .process = p->number, .started = p->started };
		err = session__set_target(e->session, &p->key, &config);
	}
	/* From the first VM on.  The kernel knows it by now: each of its events from the start on has a stack. */
	not_started = first ? engine__start(e, d) : 0;
	if (first) {
		engine__read_cpu_time(e, p);
		engine__begin_row(e, p);
	}
	/* It has ended, which will be told. */
	if (err == -ENOENT)
		err = 0;
	if (not_started)
		err = not_started;
	else if (err)
		diag__set(d, DIAG_INTERNAL, -err, "cannot sample process %d: %s", p->pid, strerror(-err));
	else
		err = add_ruby(e, p, vm, file, d);
	if (vm->plain)
		log_to__line(&e->settings.log, "process %d: it runs no ruby; its native code is measured", p->pid);
	else
		log_to__line(&e->settings.log, "process %d: found the interface at %#" PRIx64 "; it is measured", p->pid,
			     vm->layout.address);
	e->new_at = deadline__now();
	engine__add_natives(e, p, vm);
	p->vm = vm;
	p->state = PROCESS_SAMPLED;
	engine__look_for_context(e, p);
	p->search_until = 0;
	e->set.sampled++;
	return err;
}

/* It may become a ruby: by the library that it loads. */
static bool is_plain(const struct process *p)
{
	return p->state == PROCESS_SAMPLED && p->vm && p->vm->plain && !p->shares_vm;
}

/* -- the command ------------------------------------------------------------------- */

int engine__hold_command(struct engine *e, struct diag *d)
{
	struct epoll_event event = { .events = EPOLLIN };
	int err;

	/* Timers of CPUs need no ruby.  Probes do, and they tell of each event. */
	if (!e->settings.hold_command || e->reader != READER_EBPF || !(e->sources & PROBE_SOURCES))
		return 0;
	err = gate__open(&e->gate, e->settings.selection.pids[0], d);
	if (err)
		return err;
	e->gate_until = deadline__now() + HOLD_TIMEOUT;
	event.data.fd = gate__fd(e->gate);
	if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, event.data.fd, &event))
		return diag__set(d, DIAG_INTERNAL, errno, "cannot wait: %s", strerror(errno));
	return 0;
}

void engine__release_command(struct engine *e, uint64_t now)
{
	struct process *p = e->gate ? process_set__by_pid(&e->set, e->settings.selection.pids[0]) : NULL;

	if (!e->gate)
		return;
	if (p && (p->state == PROCESS_LOOKED_FOR || is_plain(p)) && !p->given_up && now < e->gate_until) {
		/* It stands still until it is found. */
		if (gate__holds(e->gate))
			p->backoff.next = now;
		return;
	}
	gate__close(e->gate);
	e->gate = NULL;
}

/* -- searches ------------------------------------------------------------------------ */

static bool is_searched(const struct process *p)
{
	return (p->state == PROCESS_LOOKED_FOR || is_plain(p)) && !p->search && !p->given_up && !p->refused;
}

uint64_t engine__search_wait(const struct engine *e, uint64_t now)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < e->set.count; i++) {
		const struct process *p = e->set.list[i];

		if (!p || !is_searched(p))
			continue;
		if (p->backoff.next <= now)
			return 0;
		if (p->backoff.next - now < least)
			least = p->backoff.next - now;
	}
	return least;
}

static void begin_search(struct engine *e, struct process *p)
{
	struct search *search = search__new(p->number, p->pid, &e->table);

	if (search) {
		if (places__any(e->places))
			search->places = places__hold(e->places);
		search->plain = e->settings.all_native && !p->vm;
		search->target = p->target;
		memset(&p->target, 0, sizeof(p->target));
		p->target.pidfd = -1;
		p->search = search;
		p->search_is_old = false;
		if (!search__submit(e->searcher, search))
			return;
		p->target = search->target;
		search->target.pidfd = -1;
		search->target.space = NULL;
		search__free(search);
		p->search = NULL;
	}
	backoff__failed(&p->backoff, deadline__now(), false);
}

static bool is_stranger(const struct process *p)
{
	return !p->wanted && !p->followed;
}

static void give_up(struct engine *e, struct process *p)
{
	if (is_plain(p)) {
		p->given_up = true;
		return;
	}
	if (is_stranger(p)) {
		session__remove_target(e->session, &p->key);
		process_set__remove(&e->set, p);
		return;
	}
	p->given_up = true;
	if (p->wanted && !e->why.text[0])
		e->why = p->why;
}

/* It is no ruby, as far as one can see now.  When is it to be looked at again? */
static void not_found(struct engine *e, struct process *p)
{
	uint64_t now = deadline__now();
	bool starting = p->why.code == DIAG_NOT_READY;

	if (is_plain(p)) {
		/* Its memory is open already. */
		address_space__close(p->target.space);
		p->target.space = NULL;
	} else {
		log_to__line(&e->settings.log, "process %d: %s", p->pid, p->why.text);
	}
	backoff__failed(&p->backoff, now, starting);
	if (!starting && (!p->wanted || p->executed) && now - p->backoff.since > BACKOFF_STARTING)
		p->backoff.next = now + ((now - p->backoff.since) / 8 < OTHER_WAIT_MAX ?
					 (now - p->backoff.since) / 8 : OTHER_WAIT_MAX);
	if (p->why.code == DIAG_VERSION || p->why.code == DIAG_PERMISSION) {
		give_up(e, p);
		return;
	}
	if (p->why.code == DIAG_NO_PROCESS && target__exited(&p->target)) {
		engine__process_ended(e, p, deadline__now(), "ended");
		return;
	}
	if (!p->wanted) {
		if (is_stranger(p) && now - p->backoff.since > STRANGER_TIMEOUT && !starting)
			give_up(e, p);
		return;
	}
	if (p->executed && p->row != PROCESS_NONE)
		return;	/* it was a ruby, and is something else now */
	if (p->why.code == DIAG_NO_INTERFACE) {
		if (!p->search_until)
			p->search_until = now + WRONG_RUBY_TIMEOUT;
	} else if (!p->no_files && (e->settings.selection.subprocesses || e->settings.command)) {
		p->search_until = 0;	/* it may make rubies */
	} else if (!p->search_until) {
		p->search_until = now + READY_TIMEOUT;
	}
	if (p->search_until && now > p->search_until)
		give_up(e, p);
}

/* Take the result of a search for the process.  *search is freed by the caller. */
static int take_found(struct engine *e, struct process *p, struct search *search, struct diag *d)
{
	struct vm *vm = search->vm;
	int err = search->err;

	p->search = NULL;
	target__close(&p->target);
	p->target = search->target;
	search->target.pidfd = -1;
	search->target.space = NULL;
	search->vm = NULL;
	p->why = search->diag;
	if (p->state != PROCESS_LOOKED_FOR && !is_plain(p)) {
		vm__close(vm);
		return 0;
	}
	if (p->search_is_old || (vm && !address_space__lives(vm->space))) {
		vm__close(vm);
		/* Its arguments are those of the program before. */
		if (p->target.pidfd >= 0)
			target__refresh(&p->target);
		backoff__reset(&p->backoff, deadline__now());
		return 0;
	}
	if (err && !vm) {
		if (p->row < PROCESS_ROWS_MAX && p->target.command[0])
			snprintf(e->rows.rows[p->row].command, sizeof(e->rows.rows->command), "%s",
				 p->target.command);
		if ((err == -EMFILE || err == -ENFILE) && !p->no_files && !is_plain(p)) {
			p->no_files = true;
			if (!e->not_added++)
				e->why_not_added = p->why;
		}
		not_found(e, p);
		return 0;
	}
	if (!p->wanted && !engine__accepts(e, p->pid)) {
		vm__close(vm);
		p->refused = true;
		return 0;
	}
	if (is_plain(p)) {
		engine__leave_vm(e, p);
		p->state = PROCESS_LOOKED_FOR;
		e->set.sampled--;
	}
	if (vm->plain)
		backoff__failed(&p->backoff, deadline__now(), false);
	err = attach(e, p, vm, &search->file, d);
	if (err && p->vm != vm)
		vm__close(vm);
	return err;
}

static int on_found(struct engine *e, struct search *search, struct diag *d)
{
	struct process *p = process_set__find(&e->set, search->process);
	int err = 0;

	if (p && search->context)
		engine__take_context(e, p, search->context);
	/* Else it is gone, or this is the search of another life. */
	else if (p && p->search == search)
		err = take_found(e, p, search, d);
	search__free(search);
	return err;
}

int engine__search(struct engine *e, struct diag *d)
{
	uint64_t now = deadline__now();
	struct search *search;

	/* To attach to a file takes the kernel some milliseconds for each place in it.  Searches that are left are
	 * taken in the next step, unless the recording ends before. */
	while (deadline__now() - now < ATTACH_TIME && (search = search__next(e->searcher))) {
		int err = on_found(e, search, d);

		if (err)
			return err;
	}
	for (uint32_t i = 0; i < e->set.count; i++)
		if (e->set.list[i] && is_searched(e->set.list[i]) && now >= e->set.list[i]->backoff.next)
			begin_search(e, e->set.list[i]);
	return 0;
}
