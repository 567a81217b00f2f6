/* SPDX-License-Identifier: BSD-2-Clause */
/* A dump of what all threads of a process do now: finds the ruby, takes snapshots of it, names their frames. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/deadline.h"
#include "library/dump_native.h"
#include "library/dump_result.h"
#include "library/error.h"
#include "parser/helper.h"
#include "process/proc.h"
#include "process/section_search.h"
#include "process/target.h"
#include "remote/core_file.h"
#include "remote/locks.h"
#include "remote/page_cache.h"
#include "remote/snapshot.h"
#include "remote/stop.h"
#include "remote/task.h"
#include "ruby/vm.h"

/* A process decides how long a search in its memory lasts, and a read of it. */
#define OPEN_TIMEOUT 10000000000ull
#define TAKE_TIMEOUT 10000000000ull

struct extprof_dump {
	struct extprof_dump_options options;
	struct target target;
	struct tasks tasks;
	struct core *core;		/* NULL: a process is read */
	struct vm *vm;
	struct symbol_table table;
	struct deadline deadline;
	int interrupt_fd;		/* -1: none */
	struct dump_native *native;	/* NULL: native functions are not wanted */
	struct dump_result *result;
};

static int open_process(struct extprof_dump *dump, struct diag *d)
{
	struct target *t = &dump->target;
	int err = target__open(t, dump->options.pid, d);

	if (err) {
		t->pidfd = -1;
		return err;
	}
	t->deadline = &dump->deadline;
	if ((err = target__find_section(t, d)) || (err = vm__open(&dump->vm, t, &dump->table, d)))
		return err;
	/* Its files in /proc are named by the numbers that are seen from here. */
	err = tasks__open(&dump->tasks, t->pid, t->key.pid == (uint32_t)t->pid);
	if (err)
		return target__read_error(t, err, "the threads", d);
	return 0;
}

/* A process loses its memory some time before its end is told. */
static bool is_ending(pid_t pid)
{
	return proc__is_exiting(pid, 0) && !proc__other_thread(pid);
}

static int read_failed(const struct extprof_dump *dump, int err, struct diag *d)
{
	if (dump->core && err == -EINTR)
		return diag__set(d, DIAG_NOT_READY, EINTR, "there was no time to read the core file");
	if (dump->core && err != -ENOMEM && core__missing(dump->core))
		return core__tell_missing(dump->core, d);
	if (dump->core && err != -ENOMEM)
		return diag__set(d, DIAG_NOT_RUBY, -err, "the core file does not have the memory that is needed: "
				 "it was written without the private memory of the process");
	switch (err) {
	case -ESRCH:
	case -ENODATA:
		if (dump->target.pidfd >= 0 && !target__exited(&dump->target) && !is_ending(dump->target.pid)) {
			diag__set(d, DIAG_NOT_READY, -err, "process %d executes another program, or ends",
				  dump->target.pid);
			diag__hint(d, "try again in a moment");
			return err;
		}
		return diag__set(d, DIAG_NO_PROCESS, ESRCH, "process %d has ended", dump->target.pid);
	case -EINTR:
		diag__set(d, DIAG_NOT_READY, EINTR, "there was no time to read process %d", dump->target.pid);
		return err;
	case -ENOMEM:
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	default:
		return target__read_error(&dump->target, err, "the memory", d);
	}
}

static int open_core(struct extprof_dump *dump, struct diag *d)
{
	struct target *t = &dump->target;
	int err = core__open(&dump->core, dump->options.core, &dump->deadline, d);

	if (err)
		return err;
	err = core__find_section(dump->core, dump->options.exe, &t->section, d);
	if (err)
		return err;
	/* Memory that no process has. */
	t->space = calloc(1, sizeof(*t->space));
	if (!t->space)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	t->space->memory = *core__memory(dump->core);
	t->space->mem = t->space->maps = -1;
	t->space->trusted = true;
	/* gcore(1) gives the number that the process has where gcore runs. */
	err = memory__read(&t->space->memory, t->section + offsetof(struct rb_debug_ext_section, pid), &t->key.pid,
			   sizeof(t->key.pid));
	if (err)
		return read_failed(dump, err, d);
	err = vm__open(&dump->vm, t, &dump->table, d);
	if (err == -ESRCH)
		diag__set(d, DIAG_NO_PROCESS, ESRCH, "this ruby was ending when the core file was written");
	else if (err && err != -ENOMEM && core__missing(dump->core))
		core__tell_missing(dump->core, d);
	return err;
}

static int check_native(const struct extprof_dump_options *o, struct extprof_error *error)
{
	if (o->native_vm && !o->native)
		return error__set(error, DIAG_USAGE, EINVAL, "--native-vm needs --native");
	if (o->no_demangle && !o->native)
		return error__set(error, DIAG_USAGE, EINVAL, "--no-demangle needs --native");
	return 0;
}

int extprof_dump_open(struct extprof_dump **result, const struct extprof_dump_options *options,
		      struct extprof_error *error)
{
	struct extprof_dump *dump = calloc(1, sizeof(*dump));
	struct diag d = { 0 };
	int err;

	*result = NULL;
	if (!dump)
		return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory");
	helpers__hold();
	dump->target.pidfd = dump->tasks.dir = -1;
	err = OPTIONS_TAKE(&dump->options, options, error);
	if (err)
		goto cleanup;
	dump->interrupt_fd = dump->options.interrupt_fd ? *dump->options.interrupt_fd : -1;
	if (!dump->options.pid == !dump->options.core) {
		err = error__set(error, DIAG_USAGE, EINVAL, "one process or one core file is to be dumped");
		goto cleanup;
	}
	err = check_native(&dump->options, error);
	if (err)
		goto cleanup;
	deadline__start(&dump->deadline, dump->interrupt_fd, deadline__now() + OPEN_TIMEOUT);
	err = dump->options.core ? open_core(dump, &d) : open_process(dump, &d);
	if (!err) {
		vm__set_deadline(dump->vm, &dump->deadline);
		if (dump->options.native && dump->core)
			err = dump_native__open_core(&dump->native, dump->core, dump->options.exe, dump->vm, dump->interrupt_fd);
		else if (dump->options.native)
			err = dump_native__open(&dump->native, dump->target.pid, dump->vm, dump->interrupt_fd);
		if (!err && dump->native && dump->options.no_demangle)
			native__names_as_in_file(dump->native->frames.native);
		if (!err && dump->native)
			dump->native->frames.vm = dump->options.native_vm;
		dump->result = dump_result__new(dump->vm, &dump->table, dump->options.source, dump->native);
		if (err || !dump->result)
			err = diag__set(&d, DIAG_INTERNAL, ENOMEM, "out of memory");
	}
	error__from(error, err, &d);
	if (err)
		goto cleanup;
	*result = dump;
	dump = NULL;
cleanup:
	extprof_dump_close(dump);
	return err;
}

static uint64_t real_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One read of all threads, in a thread of its own if it stops them. */
struct taking {
	struct extprof_dump *dump;
	struct snapshot snapshot;
	uint64_t stopped;	/* ns */
	struct diag d;
	int err;
};

static bool core_task(void *context, uint32_t tid, struct task *task)
{
	return core__task(context, tid, task);
}

static bool stopped_task(void *context, uint32_t tid, struct task *task)
{
	return stop__task(context, tid, task);
}

static int take_from(struct taking *t, const struct snapshot_source *source)
{
	int err = snapshot__take(&t->snapshot, source);

	return err ? err : locks__read(&t->snapshot, source);
}

static void *take(void *context)
{
	struct taking *t = context;
	struct extprof_dump *dump = t->dump;
	struct snapshot_source source = {
		.layout = &dump->vm->layout, .memory = &dump->vm->memory, .tasks = &dump->tasks,
		.native = dump->native ? &dump->native->view : NULL,
	};

	if (dump->core) {
		source.frozen = PROOF_CORE;
		source.task_of = core_task;
		source.context = dump->core;
	}
	t->err = take_from(t, &source);
	return NULL;
}

static void *take_stopped(void *context)
{
	struct taking *t = context;
	struct extprof_dump *dump = t->dump;
	struct page_cache *cache = page_cache__new(&dump->vm->memory);
	struct stop stop;
	struct snapshot_source source = {
		.layout = &dump->vm->layout, .tasks = &dump->tasks, .frozen = PROOF_STOPPED,
		.task_of = stopped_task, .context = &stop, .native = dump->native ? &dump->native->view : NULL,
	};

	if (!cache) {
		t->err = -ENOMEM;
		return NULL;
	}
	source.memory = &cache->memory;
	t->err = stop__begin(&stop, &dump->tasks, &t->d);
	if (!t->err)
		t->err = take_from(t, &source);
	stop__end(&stop, NULL);
	t->stopped = stop.duration;
	free(cache);
	return NULL;
}

/* When that thread ends, the kernel lets go of whatever it has stopped. */
static void take_in_thread(struct taking *t, void *(*taker)(void *taking))
{
	sigset_t all, before;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, taker, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		t->err = diag__set(&t->d, DIAG_INTERNAL, err, "cannot start a thread: %s", strerror(err));
		return;
	}
	pthread_join(thread, NULL);
}

int extprof_dump_take(struct extprof_dump *dump, const struct extprof_dump_result **result,
		      struct extprof_error *error)
{
	struct dump_facts facts = { 0 };
	struct taking t = { .dump = dump };
	int err;

	*result = NULL;
	if (dump->native)
		dump_native__look(dump->native);
	deadline__start(&dump->deadline, dump->interrupt_fd, deadline__now() + TAKE_TIMEOUT);
	if (dump->core) {
		facts.core_pid = core__pid(dump->core);
		facts.core = core__file(dump->core);
		facts.core_missing = core__missing(dump->core);
		facts.command = core__command(dump->core);
	} else {
		target__refresh(&dump->target);
		facts.pid = dump->target.pid;
		facts.command = dump->target.command;
		facts.time = real_time();
	}
	if (dump->options.stop)
		take_in_thread(&t, take_stopped);
	else if (dump->native)
		take_in_thread(&t, take);
	else
		take(&t);
	err = t.err;
	if (err) {
		if (!t.d.code)
			err = read_failed(dump, err, &t.d);
		goto cleanup;
	}
	facts.duration = t.snapshot.ended - t.snapshot.began;
	facts.stopped = t.stopped;
	*result = dump_result__build(dump->result, &t.snapshot, &facts);
	if (!*result)
		err = diag__set(&t.d, DIAG_INTERNAL, ENOMEM, "out of memory");
cleanup:
	snapshot__free(&t.snapshot);
	return error__from(error, err, &t.d);
}

void extprof_dump_close(struct extprof_dump *dump)
{
	if (!dump)
		return;
	dump_result__free(dump->result);
	dump_native__free(dump->native);
	vm__close(dump->vm);
	tasks__close(&dump->tasks);
	target__close(&dump->target);
	core__close(dump->core);
	symbol_table__free(&dump->table);
	free(dump);
	helpers__release();
}
