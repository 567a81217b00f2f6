/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that wait, run, and end: which of them are looked at again. */
#include "engine_fixture.h"

#include "base/deadline.h"
#include "process/run_clock.h"
#include "waits.h"

/* A child that answers each byte. */
static pid_t child(int *go, int *done)
{
	int to[2], from[2];
	pid_t made;
	char byte;

	if (pipe(to) || pipe(from))
		return 0;
	made = fork();
	if (!made) {
		close(to[1]);
		while (read(to[0], &byte, 1) == 1)
			if (write(from[1], "", 1) != 1)
				break;
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	*go = to[1];
	*done = from[0];
	return made;
}

/* It is asked at once, not after a time. */
static bool has_run(struct run_clock *c, const struct run_mark *last, struct run_mark *now)
{
	c->read_at = 0;
	return run_clock__has_run(c, last, now);
}

TEST(run_clock_tells_whether_a_process_has_run)
{
	struct run_clock c = { 0 };
	struct run_mark first = { 0 }, mark, unused;
	int go, done;
	char byte;

	c.pid = child(&go, &done);
	CHECK(c.pid > 0);
	CHECK(write(go, "", 1) == 1 && read(done, &byte, 1) == 1);
	wait_until_off_cpu(c.pid);
	/* There was no look. */
	CHECK(has_run(&c, &first, &mark));
	for (int i = 0; i < 3; i++) {
		usleep(2000);
		CHECK(!has_run(&c, &mark, &unused));
		CHECK(write(go, "", 1) == 1 && read(done, &byte, 1) == 1);
		CHECK(has_run(&c, &mark, &unused));
		wait_until_off_cpu(c.pid);
		CHECK(has_run(&c, &mark, &mark));
	}
	/* It ends. */
	close(go);
	waitpid(c.pid, NULL, 0);
	CHECK(has_run(&c, &mark, &mark));
	CHECK_INT(mark.cpu_time, 0);
	/* The clock of nothing says nothing. */
	CHECK(has_run(&c, &mark, &mark));
	c.pid = 0;
	CHECK(has_run(&c, &mark, &mark));
	close(done);
}

TEST(run_clock_is_not_asked_all_the_time)
{
	struct run_clock c = { .pid = getpid() };
	struct run_mark none = { 0 }, mark, unused;

	CHECK(run_clock__has_run(&c, &none, &mark));
	CHECK_INT(mark.cpu_time, c.cpu_time);
	/* This process runs. */
	c.read_at = deadline__now();
	CHECK(!run_clock__has_run(&c, &mark, &unused));
	c.read_at -= RUN_CLOCK_AGE;
	CHECK(run_clock__has_run(&c, &mark, &unused));
}

TEST(run_clock_has_seldom_looks_of_what_does_not_run)
{
	struct run_clock c = { 0 };
	struct run_mark none = { 0 }, mark, unused;
	int go, done;

	c.pid = child(&go, &done);
	CHECK(c.pid > 0);
	wait_until_off_cpu(c.pid);
	CHECK(run_clock__is_due(&c, &none, &mark));
	c.read_at = 0;
	CHECK(!run_clock__is_due(&c, &mark, &unused));
	mark.at -= RUN_CLOCK_SELDOM;
	CHECK(run_clock__is_due(&c, &mark, &unused));
	CHECK(!has_run(&c, &mark, &unused));
	close(go);
	waitpid(c.pid, NULL, 0);
	close(done);
}

/* Names of all classes are to be read again: told in the memory of the child, which does not run for that. */
static bool change_names(const struct address_space *s)
{
	uint32_t generation = 0;
	uint64_t at = (uintptr_t)&section.names_generation;

	if (memory__read(&s->memory, at, &generation, sizeof(generation)))
		return false;
	generation++;
	return pwrite(s->mem, &generation, sizeof(generation), (off_t)at) == sizeof(generation);
}

static uint32_t seen_generation(struct vm *vm)
{
	vm->touched = true;
	vm->updated_at = vm->layout.read_at = 0;
	if (vm->space)
		vm->space->clock.read_at = 0;
	engine__update_vms(e, false);
	return vm->layout.section.names_generation;
}

TEST(engine_reads_names_again_of_what_has_run)
{
	struct process *p;
	uint32_t before;
	struct vm *vm;

	set_up(false);
	e->settings.command = false;
	p = first();
	vm = attach(p, 7);
	CHECK(vm && vm->space);
	deadline__start(&e->reads, -1, UINT64_MAX);
	before = seen_generation(vm);
	/* It is young once. */
	vm->first_updated_at = 1;
	before = seen_generation(vm);
	wait_until_off_cpu(pid);
	before = seen_generation(vm);
	CHECK(change_names(vm->space));
	CHECK_INT(seen_generation(vm), before);
	/* A signal that does nothing. */
	kill(pid, SIGSTOP);
	kill(pid, SIGCONT);
	wait_until_off_cpu(pid);
	CHECK_INT(seen_generation(vm), before + 1);
	/* It does not run, but the last look was long ago. */
	CHECK(change_names(vm->space));
	CHECK_INT(seen_generation(vm), before + 1);
	vm->marks.names.at -= RUN_CLOCK_SELDOM;
	CHECK_INT(seen_generation(vm), before + 2);
	/* Something was put off. */
	CHECK(change_names(vm->space));
	vm->symbols.to_reload = 1;
	CHECK_INT(seen_generation(vm), before + 3);
	/* So it is with a command, which may end soon. */
	CHECK(change_names(vm->space));
	e->settings.command = true;
	CHECK_INT(seen_generation(vm), before + 4);
	tear_down();
}

TEST(threads_take_names_from_a_table_that_was_read)
{
	struct rb_debug_ext_thread copy = { .thread = 4096, .serial = 5, .name = "poller" };
	struct layout layout = { 0 };
	const struct memory memory = { 0 };
	struct thread *thread;
	struct threads t;

	/* Without a table of its own the name is not known. */
	threads__init(&t, &layout, &memory);
	thread = threads__note(&t, 5, 3, 9);
	CHECK(thread && thread->sampled && !thread->known);
	/* Another slot; another thread; a slot that is free. */
	threads__take(&t, 4, &copy);
	copy.serial = 6;
	threads__take(&t, 3, &copy);
	copy.serial = 5;
	copy.thread = 0;
	threads__take(&t, 3, &copy);
	CHECK(thread->sampled && !thread->known);
	copy.thread = 4096;
	threads__take(&t, 3, &copy);
	CHECK(!thread->sampled && thread->known);
	CHECK_STRING(thread->name, "poller");
	threads__free(&t);
}
