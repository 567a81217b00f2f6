/* SPDX-License-Identifier: BSD-2-Clause */
/* An engine on a session without a kernel, for tests that include this. */
#ifndef ENGINE_FIXTURE_H
#define ENGINE_FIXTURE_H

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/figures.h"
#include "engine/state.h"
#include "fake.h"
#include "fake_session.h"
#include "source/mode.h"
#include "test.h"

static struct rb_debug_ext_section section;
static struct fake ruby;
static struct settings settings;
static struct engine *e;
static struct diag diag;
static pid_t pid, pids[1];
static uint32_t method;

/* A child with a VM, which waits to be killed. */
static pid_t make_ruby(void)
{
	int ready[2];
	char byte;
	pid_t child;

	if (pipe(ready))
		return 0;
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fake__init(&ruby, &section);
		/* The same id as that in the parent. */
		method = fake__record(&ruby, RB_DEBUG_EXT_BODY, "<main>", 0, 0);
		if (write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	if (read(ready[0], &byte, 1) != 1)
		child = 0;
	close(ready[0]);
	close(ready[1]);
	return child;
}

static void kill_ruby(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static inline void set_up(bool figures)
{
	fake__init(&ruby, &section);
	method = fake__record(&ruby, RB_DEBUG_EXT_BODY, "<main>", 0, 0);
	fake_session__init();
	pids[0] = pid = make_ruby();
	settings = (struct settings){
		.size = sizeof(settings), .selection = { .pids = pids, .pid_count = 1, .subprocesses = true }, .command = true,
		.modes = { &mode_cpu }, .mode_count = 1, .reader = READER_EBPF, .rate = 99, .figures = figures,
		.interrupt_fd = -1,
	};
	fake_session.has_figures = figures;
	diag.text[0] = '\0';
	if (engine__create(&e, &settings, &diag) || engine__open(e, &diag))
		e = NULL;
}

static inline void tear_down(void)
{
	engine__destroy(e);
	kill_ruby(pid);
}

/* As engine/attach.c does it with what a search has found. */
static struct vm *attach(struct process *p, uint32_t number)
{
	struct target t;
	struct vm *vm;
	int err;

	if (target__open(&t, p->pid, &diag))
		return NULL;
	t.section = (uintptr_t)&section;
	t.space = address_space__open(p->pid, &err);
	if (!t.space || vm__open(&vm, &t, &e->table, &diag))
		return NULL;
	target__close(&t);
	process_set__add_vm(&e->set, number, vm);
	vm__set_deadline(vm, &e->reads);
	vm->touched = true;
	p->vm = vm;
	p->state = PROCESS_SAMPLED;
	e->set.sampled++;
	e->started = true;
	e->started_at = e->from = deadline__now();
	engine__describe(e, p, vm);
	engine__figures_attach(e, p, vm, 0, &diag);
	return vm;
}

static struct process *first(void)
{
	return process_set__by_pid(&e->set, pid);
}

#endif /* ENGINE_FIXTURE_H */
