/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule that says what a wait is, for every combination of what the kernel and Ruby tell. */
#include "test.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memory_fake.h"
#include "remote/wait_state.h"
#include "source/call_kinds.h"
#include "source/mode.h"
#include "source/syscall_set.h"

static const uint32_t of_call[] = {
	[CALL_OTHER] = STATE_NATIVE, [CALL_FD] = STATE_IO, [CALL_POLL] = STATE_IO, [CALL_IO] = STATE_IO,
	[CALL_SLEEP] = STATE_SLEEP, [CALL_PROCESS] = STATE_PROCESS, [CALL_FUTEX] = STATE_NATIVE, [CALL_NONE] = STATE_FAULT,
};

/* STATE_MAX: Ruby does not say it. */
static const uint32_t of_ruby[] = {
	[RB_DEBUG_EXT_WAIT_NONE] = STATE_MAX, [RB_DEBUG_EXT_WAIT_SLEEP] = STATE_SLEEP,
	[RB_DEBUG_EXT_WAIT_JOIN] = STATE_JOIN, [RB_DEBUG_EXT_WAIT_MUTEX] = STATE_MUTEX,
	[RB_DEBUG_EXT_WAIT_MUTEX_SLEEP] = STATE_CONDVAR, [RB_DEBUG_EXT_WAIT_CONDVAR] = STATE_CONDVAR,
	[RB_DEBUG_EXT_WAIT_QUEUE] = STATE_QUEUE, [RB_DEBUG_EXT_WAIT_SIZED_QUEUE] = STATE_QUEUE,
	[RB_DEBUG_EXT_WAIT_IO] = STATE_IO, [RB_DEBUG_EXT_WAIT_IO_READ] = STATE_IO,
	[RB_DEBUG_EXT_WAIT_IO_WRITE] = STATE_IO, [RB_DEBUG_EXT_WAIT_IO_SELECT] = STATE_IO,
	[RB_DEBUG_EXT_WAIT_PROCESS] = STATE_PROCESS, [RB_DEBUG_EXT_WAIT_RACTOR] = STATE_RACTOR,
	[RB_DEBUG_EXT_WAIT_NOGVL] = STATE_MAX, [RB_DEBUG_EXT_WAIT_NOGVL + 1] = STATE_MAX,
};

#define CALLS (sizeof(of_call) / sizeof(of_call[0]))
#define KINDS (sizeof(of_ruby) / sizeof(of_ruby[0]))

/* What a thread does in a futex, that Ruby says to wait for this. */
static uint32_t in_futex(uint32_t state, uint32_t said, bool shared)
{
	if ((said == STATE_IO || said == STATE_PROCESS) && !shared)
		return STATE_NATIVE;
	return said != STATE_MAX ? said : state == RB_DEBUG_EXT_THREAD_SLEEPING ? STATE_SLEEP : STATE_NATIVE;
}

TEST(waits_of_threads_without_ruby)
{
	for (uint32_t call = 0; call < CALLS; call++) {
		struct wait_class c = wait_classify(call, 0, NULL);

		CHECK_INT(c.state, of_call[call]);
		CHECK(!c.gvl && !c.has_gvl && !c.wait_kind);
	}
}

TEST(waits_of_every_combination)
{
	uint32_t count = 0;

	for (uint32_t call = 0; call < CALLS; call++)
	for (uint32_t state = 0; state <= RB_DEBUG_EXT_THREAD_DEAD + 1; state++)
	for (uint32_t kind = 0; kind < KINDS; kind++)
	for (uint32_t flags = 0; flags < 4; flags++) {
		struct thread_head head = { .state = state, .wait_kind = kind, .flags = flags, .wait_fd = -1 };
		struct wait_class c = wait_classify(call, 1, &head);
		bool running = state == RB_DEBUG_EXT_THREAD_RUNNING;
		uint32_t want = of_call[call];

		if (!running && call == CALL_FUTEX)
			want = in_futex(state, of_ruby[kind], flags & RB_DEBUG_EXT_THREAD_MN);
		else if (!running && call != CALL_NONE && of_ruby[kind] != STATE_MAX)
			want = of_ruby[kind];
		if (c.state != want || c.gvl != (call == CALL_FUTEX && state == RB_DEBUG_EXT_THREAD_READY) ||
		    c.has_gvl != (running && call != CALL_NONE) ||
		    c.wait_kind != (running || call == CALL_NONE ? 0 : kind))
			test__fail(__FILE__, __LINE__, "call %u, state %u, kind %u, flags %u: %u", call, state, kind, flags, c.state);
		count++;
	}
	CHECK_INT(count, 8 * 8 * 16 * 4);
}

/* A thread that has no native thread: only Ruby says what it does. */
TEST(waits_of_threads_that_are_put_aside)
{
	for (uint32_t state = 0; state <= RB_DEBUG_EXT_THREAD_DEAD + 1; state++)
	for (uint32_t kind = 0; kind < KINDS; kind++) {
		struct thread_head head = { .state = state, .wait_kind = kind, .flags = RB_DEBUG_EXT_THREAD_MN };
		uint32_t said = of_ruby[kind];

		CHECK_INT(wait_classify_aside(&head).state,
			  state == RB_DEBUG_EXT_THREAD_READY ? STATE_GVL :
			  state == RB_DEBUG_EXT_THREAD_RUNNING ? STATE_RUNNABLE :
			  said != STATE_MAX ? said : state == RB_DEBUG_EXT_THREAD_SLEEPING ? STATE_SLEEP : STATE_NATIVE);
	}
}

TEST(waits_are_on_a_descriptor)
{
	struct thread_head head = { .state = RB_DEBUG_EXT_THREAD_BLOCKED, .wait_kind = RB_DEBUG_EXT_WAIT_IO_READ,
				    .wait_fd = 9, .flags = RB_DEBUG_EXT_THREAD_MN };
	struct wait_class c = wait_classify(CALL_FUTEX, 1, &head);

	CHECK_INT(wait__fd(CALL_FD, 7, -1, c.state, head.wait_fd), 8);
	CHECK_INT(wait__fd(CALL_POLL, 0x7fff12345678, 5, c.state, head.wait_fd), 6);
	CHECK_INT(wait__fd(CALL_POLL, 0x7fff12345678, -1, c.state, head.wait_fd), 0);
	CHECK_INT(wait__fd(CALL_FUTEX, 7, -1, c.state, head.wait_fd), 10);
	CHECK_INT(wait__fd(CALL_NONE, 7, -1, c.state, head.wait_fd), 10);
	CHECK_INT(wait__fd(CALL_IO, 7, -1, c.state, head.wait_fd), 0);
	CHECK_INT(wait__fd(CALL_FUTEX, 7, -1, c.state, -1), 0);
	head.wait_fd = -1;
	CHECK_INT(wait__fd(CALL_FUTEX, 7, -1, c.state, head.wait_fd), 0);
}

/* The table against what other tables have had: they drifted. */
TEST(waits_calls_with_a_descriptor)
{
	static const int64_t calls[] = {
		SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv, SYS_pwritev, SYS_preadv2,
		SYS_pwritev2, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_accept,
		SYS_accept4, SYS_connect, SYS_sendfile, SYS_splice, SYS_tee, SYS_vmsplice, SYS_copy_file_range, SYS_fsync,
		SYS_fdatasync, SYS_sync_file_range, SYS_syncfs, SYS_ftruncate, SYS_fallocate, SYS_flock, SYS_fcntl, SYS_ioctl,
		SYS_epoll_pwait, SYS_epoll_pwait2, SYS_io_uring_enter, SYS_mq_timedreceive,
	};
	struct memory_fake memory;
	struct task task = { .args = { 5, 1 } };
	struct { int fd; short events, revents; } poll = { 6, 0, 0 };
	uint32_t named = 0;

	memory_fake__init(&memory);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		task.call = calls[i];
		CHECK_INT(wait_state__call_fd(&task, &memory.memory), 5);
		CHECK(syscall__name((uint64_t)calls[i]));
	}
	task.call = SYS_ppoll;
	task.args[0] = (uintptr_t)&poll;
	CHECK_INT(wait_state__call_fd(&task, &memory.memory), 6);
	CHECK_INT(wait_state__call_fd(&task, NULL), -1);
	/* Two descriptors, and a pointer to nowhere. */
	task.args[1] = 2;
	CHECK_INT(wait_state__call_fd(&task, &memory.memory), -1);
	task.args[1] = 1;
	task.args[0] = 8;
	CHECK_INT(wait_state__call_fd(&task, &memory.memory), -1);
	for (task.call = -1; task.call < (int64_t)CALLS_MAX + 2; task.call++) {
		uint32_t kind = call_kind(task.call);

		if (kind == CALL_OTHER || kind == CALL_NONE)
			continue;
		named++;
		if (!syscall__name((uint64_t)task.call))
			test__fail(__FILE__, __LINE__, "%d has no name", (int)task.call);
	}
	CHECK(named > 60);
	CHECK_INT(call_kind(-1), CALL_NONE);
	CHECK_INT(call_kind(CALLS_MAX), CALL_OTHER);
	CHECK_INT(call_kind(SYS_semtimedop), CALL_OTHER);
}

static const char *innermost(uint32_t state, uint64_t detail)
{
	static struct text text;
	struct sample_event e = { .source = SOURCE_SCHED, .state = state, .detail = detail };

	text__clear(&text);
	mode_offcpu.innermost(&e, &text);
	return text__string(&text);
}

/* Each call has its name, and a futex is not said to be a file. */
TEST(waits_have_names)
{
	CHECK_STRING(innermost(STATE_IO, DETAIL_MAKE(SYS_read + 1, FILE_SOCKET, 0, 0, 6)), "io read socket");
	CHECK_STRING(innermost(STATE_NATIVE, DETAIL_MAKE(SYS_semtimedop + 1, 0, 0, 0, 0)), "native semtimedop");
	CHECK_STRING(innermost(STATE_NATIVE, DETAIL_MAKE(501, 0, 0, 0, 0)), "native system call 500");
	CHECK_STRING(innermost(STATE_NATIVE, DETAIL_MAKE(SYS_futex + 1, 0, RB_DEBUG_EXT_WAIT_IO, 0, 0)), "native futex");
	CHECK_STRING(innermost(STATE_IO, DETAIL_MAKE(SYS_futex + 1, FILE_PIPE, RB_DEBUG_EXT_WAIT_IO_READ, 0, 6)), "io read pipe");
	CHECK_STRING(innermost(STATE_IO, DETAIL_MAKE(0, FILE_SOCKET, RB_DEBUG_EXT_WAIT_IO_WRITE, 0, 6)), "io write socket");
	CHECK_STRING(innermost(STATE_IO, DETAIL_MAKE(0, 0, RB_DEBUG_EXT_WAIT_IO_SELECT, 0, 0)), "io select");
	CHECK_STRING(innermost(STATE_IO, 0), "io wait");
}

/* The descriptor that is in memory can be a word of another call by now. */
TEST(waits_on_a_descriptor_that_is_none)
{
	struct { int fd; short events, revents; } poll = { 473461680, 0, 0 };
	struct wait_class c = wait_classify(CALL_POLL, 0, NULL);
	struct memory_fake memory;
	uint64_t args[2] = { (uintptr_t)&poll, 1 };
	struct wait_file file;
	uint64_t detail;
	int ends[2];

	memory_fake__init(&memory);
	detail = wait_state__detail(&c, NULL, SYS_ppoll, args, getpid(), &memory.memory, false, &file);
	CHECK_INT(DETAIL_FD(detail), 0);
	CHECK(!pipe(ends));
	poll.fd = ends[0];
	detail = wait_state__detail(&c, NULL, SYS_ppoll, args, getpid(), &memory.memory, false, &file);
	CHECK_INT(DETAIL_FD(detail), ends[0] + 1);
	CHECK_INT(DETAIL_FILE(detail), FILE_PIPE);
	close(ends[0]);
	close(ends[1]);
}
