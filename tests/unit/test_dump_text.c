/* SPDX-License-Identifier: BSD-2-Clause */
/* A dump as text. */
#include "test.h"

#include <stdlib.h>

#include "cli/dump.h"

static const struct extprof_frame pop = { .name = "Thread::Queue#pop", .path = "", .kind = EXTPROF_FRAME_C };
static const struct extprof_frame run = { .name = "run", .path = "a.rb", .line = 3, .kind = EXTPROF_FRAME_RUBY };
static const struct extprof_frame *const waits[] = { &run, &pop }, *const runs[] = { &run };
static struct extprof_stack stacks[6];
static struct extprof_dump_fiber fibers[6];
static struct extprof_dump_thread threads[6];
static const struct extprof_dump_fiber *fiber_list[6];
static const struct extprof_dump_thread *thread_list[6];
static struct extprof_dump_result result;
static char *text;

/* A thread that runs and collects, and five that wait for a queue. */
static void set_up(void)
{
	static const char *const names[] = { "", "a", "b", "c", "d", "e" };

	memset(fibers, 0, sizeof(fibers));
	for (int i = 0; i < 6; i++) {
		fibers[i] = (struct extprof_dump_fiber){ .serial = (uint64_t)i + 1, .root = true, .current = true };
		stacks[i] = (struct extprof_stack){ .frames = i ? waits : runs, .count = i ? 2 : 1 };
		fibers[i].stack = &stacks[i];
		fiber_list[i] = &fibers[i];
		thread_list[i] = &threads[i];
		threads[i] = (struct extprof_dump_thread){
			.serial = (uint64_t)i + 1, .ractor = 1, .tid = 100 + (uint32_t)i, .name = names[i], .main = !i,
			.state = i ? EXTPROF_THREAD_SLEEPING : EXTPROF_THREAD_RUNNING, .since = 1000000000ull * (unsigned int)(i + 1),
			.call = -1, .call_fd = -1, .wait_fd = -1, .wait = i ? EXTPROF_WAIT_QUEUE : 0, .fibers = &fiber_list[i],
			.fiber_count = 1,
		};
	}
	threads[0].gc = "sweep";
	result = (struct extprof_dump_result){
		.pid = 7, .command = "ruby a.rb", .ruby_version = "3.4.5", .ruby_description = "", .threads = thread_list,
		.thread_count = 6,
	};
}

static const char *write_text(bool all)
{
	size_t size;
	FILE *to;

	free(text);
	text = NULL;
	to = open_memstream(&text, &size);
	if (!to || dump_text__write(&result, false, all, to))
		return "failed";
	fclose(to);
	return text;
}

#define HEAD(summary) "process 7: ruby a.rb\n" summary "\nruby 3.4.5\nread in 0.0 ms\n\n"
/* How long it has collected is not known. */
#define MAIN "thread main (tid 100): has GVL for 1.00 s, in GC (sweep)\n    run  a.rb:3\n"
#define STACK "    Thread::Queue#pop\n    run  a.rb:3\n"

TEST(dump_text_shows_equal_threads_together)
{
	set_up();
	CHECK_STRING(write_text(false), HEAD("6 threads: 1 runs, 5 wait for a queue") MAIN
		     "\n5 threads: sleeping for 2.00 s to 6.00 s, waits for a queue, which is empty\n"
		     "  \"a\" (tid 101), \"b\" (tid 102), \"c\" (tid 103), \"d\" (tid 104) and 1 more\n" STACK);
	result.thread_count = 2;
	CHECK_STRING(write_text(false), HEAD("2 threads: 1 runs, 1 waits for a queue") MAIN
		     "\nthread \"a\" (tid 101): sleeping for 2.00 s, waits for a queue, which is empty\n" STACK);
	result.thread_count = 3;
	CHECK_STRING(write_text(true), HEAD("3 threads: 1 runs, 2 wait for a queue") MAIN
		     "\nthread \"a\" (tid 101): sleeping for 2.00 s, waits for a queue, which is empty\n" STACK
		     "\nthread \"b\" (tid 102): sleeping for 3.00 s, waits for a queue, which is empty\n" STACK);
	free(text);
	text = NULL;
}

/* What one of them has for itself keeps it apart. */
TEST(dump_text_keeps_apart_what_differs)
{
	static const struct extprof_label label = { "job", "1" }, *const labels[] = { &label };

	for (int i = 0; i < 7; i++) {
		set_up();
		result.thread_count = 3;
		if (i == 0)
			threads[1].wait_fd = 3;
		else if (i == 1)
			threads[1].state = EXTPROF_THREAD_BLOCKED;
		else if (i == 2)
			fibers[1].labels = labels, fibers[1].label_count = 1;
		else if (i == 3)
			fibers[1].torn = true;
		else if (i == 4)
			stacks[1].count = 1;
		else if (i == 5)
			fibers[1].native_lost = "the thread moved while it was read";
		else
			threads[1].ractor = 2;
		CHECK(strstr(write_text(false), "thread \"a\"") && strstr(text, "thread \"b\""));
	}
	free(text);
	text = NULL;
}

/* Many wait for the same request at one place: they are together by their labels. */
TEST(dump_text_shows_equal_labels_together)
{
	static const struct extprof_label one = { "job", "1" }, same = { "job", "1" }, other = { "job", "2" };
	static const struct extprof_label *const first[] = { &one }, *const second[] = { &same }, *const third[] = { &other };

	set_up();
	result.thread_count = 4;
	for (int i = 1; i < 4; i++)
		fibers[i].label_count = 1;
	fibers[1].labels = first;
	fibers[2].labels = second;
	fibers[3].labels = third;
	CHECK(strstr(write_text(false), "\n2 threads: sleeping for 2.00 s to 3.00 s, waits for a queue, which is empty\n"
		     "  \"a\" (tid 101), \"b\" (tid 102)\n    labels: job=1\n" STACK
		     "\nthread \"c\" (tid 103): sleeping for 4.00 s, waits for a queue, which is empty\n    labels: job=2\n" STACK));
	free(text);
	text = NULL;
}

/* An event loop waits for files, and is not in C code that computes. */
TEST(dump_text_says_what_an_event_loop_waits_for)
{
	set_up();
	result.thread_count = 3;
	for (int i = 1; i < 3; i++) {
		threads[i].state = EXTPROF_THREAD_BLOCKED;
		threads[i].kernel_state = 'S';
		threads[i].wait = EXTPROF_WAIT_NOGVL;
		threads[i].call = 232;
		threads[i].call_fd = 7;
	}
	threads[1].call_name = "epoll_wait";
	threads[1].call_file = "anon_inode:[eventpoll] of 1 file: 6 pipe:[5]";
	threads[2].call = 202;
	threads[2].call_name = "futex";
	CHECK(strstr(write_text(false), "3 threads: 1 runs, 1 waits for I/O, 1 is in C code without GVL\n"));
	CHECK(strstr(text, "blocked in epoll_wait(7 anon_inode:[eventpoll] of 1 file: 6 pipe:[5]) for 2.00 s, waits until one of these is ready\n"));
	CHECK(strstr(text, "blocked in futex(7) for 3.00 s, in C code without GVL\n"));
	threads[1].kernel_state = 'R';
	CHECK(strstr(write_text(false), "3 threads: 1 runs, 2 are in C code without GVL\n"));
	free(text);
	text = NULL;
}

TEST(dump_text_names_deadlocks_in_its_second_line)
{
	set_up();
	for (int i = 1; i < 5; i++) {
		threads[i].wait = EXTPROF_WAIT_MUTEX;
		threads[i].wait_owner = EXTPROF_OWNER_NOW;
		threads[i].deadlocked = true;
		threads[i].deadlock = (uint32_t)(i + 1) / 2;
		threads[i].wait_thread = threads[i % 2 ? i + 1 : i - 1].serial;
	}
	CHECK(strstr(write_text(false), "ruby a.rb\n6 threads: 1 runs, 4 wait for a lock, 1 waits for a queue; "
		     "2 deadlocks: \"a\", \"b\"; \"c\", \"d\"\n"));
	CHECK(strstr(text, "thread \"a\" (tid 101): sleeping for 2.00 s, waits for a mutex that \"b\" has (tid 102): deadlock\n"));
	threads[1].wait_owner = EXTPROF_OWNER_BEFORE;
	CHECK(strstr(write_text(false), "a mutex that \"b\" had when the wait began (tid 102)"));
	threads[1].wait_owner = EXTPROF_OWNER_NOBODY;
	CHECK(strstr(write_text(false), "a mutex that nobody has at this moment"));
	free(text);
	text = NULL;
}

/* The file of a native function, and why there are none. */
TEST(dump_text_has_native_functions)
{
	static const struct extprof_frame read = {
		.name = "read_token", .path = "", .kind = EXTPROF_FRAME_NATIVE, .module = "/usr/lib/parser.so", .address = 7,
	}, libc = { .name = "[libc.so.6]", .path = "", .kind = EXTPROF_FRAME_NATIVE, .module = "/lib/libc.so.6" };
	static const struct extprof_frame *const frames[] = { &read, &libc };

	set_up();
	result.thread_count = 2;
	result.stops = 2;
	result.longest_stop = 120000;
	stacks[0] = (struct extprof_stack){ .frames = frames, .count = 2 };
	fibers[1].native_lost = "the thread moved while it was read";
	CHECK(strstr(write_text(false), "    [libc.so.6]\n    read_token  parser.so\n\n"));
	CHECK(strstr(text, "    [native functions left out: the thread moved while it was read]\n    Thread::Queue#pop\n"));
	CHECK(strstr(text, "read in 0.0 ms, 2 threads stopped for 0.12 ms at most\n"));
	free(text);
	text = NULL;
}
