/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of another process are stopped: what they were doing, what they get afterwards, and who stops too late. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/proc_file.h"
#include "remote/stop.h"

#define SECOND 1000000000ull

/* What a child and this process both see. */
static struct shared {
	volatile uint32_t sent, handled, lost;
	volatile pid_t tid;
} *shared;
static int pipe_fd[2];

/* A child that does that.  It ends with this process. */
static pid_t child(void (*does)(void))
{
	pid_t pid;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || pipe2(pipe_fd, O_CLOEXEC))
		return 0;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
		close(pipe_fd[1]);
		does();
		_exit(0);
	}
	close(pipe_fd[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(pipe_fd[1]);
	munmap(shared, sizeof(*shared));
}

/* Wait until the thread is in that state. */
static bool comes_to(pid_t tid, char state)
{
	uint64_t until = deadline__now() + 30 * SECOND;
	struct proc_stat s;

	while (deadline__now() < until) {
		if (!proc_stat__read(&s, tid, 0) && s.state == state)
			return true;
		usleep(1000);
	}
	return false;
}

static void on_signal(int signal)
{
	(void)signal;
	shared->handled++;
}

/* A signal that a thread sends itself arrives before the call returns. */
static void send_signals(void)
{
	pid_t pid = getpid();

	signal(SIGUSR1, on_signal);
	for (;;) {
		uint32_t before = shared->handled;

		syscall(SYS_tgkill, pid, pid, SIGUSR1);
		shared->lost += shared->handled == before;
		shared->sent++;
	}
}

/* Who has stopped a thread that was about to get a signal is killed: the thread gets it. */
TEST(stop_loses_no_signal_if_its_process_is_killed)
{
	pid_t pid = child(send_signals);
	uint64_t until = deadline__now() + 30 * SECOND;
	uint32_t stopped = 0;

	CHECK(pid > 0);
	while (!shared->sent && deadline__now() < until)
		usleep(100);
	for (int i = 0; i < 200; i++) {
		pid_t reader = fork();
		int status;

		if (!reader) {
			struct tasks tasks;
			struct diag d = { 0 };
			struct stop stop;

			_exit(tasks__open(&tasks, pid, true) || stop__begin_thread(&stop, &tasks, pid, NULL, &d));
		}
		CHECK(waitpid(reader, &status, 0) == reader);
		stopped += WIFEXITED(status) && !WEXITSTATUS(status);
		usleep(100);
	}
	kill(pid, SIGSTOP);
	CHECK(comes_to(pid, 'T'));
	CHECK(stopped > 100 && shared->handled > 0);
	CHECK_INT(shared->lost, 0);
	end(pid);
}

#if defined(__x86_64__)
static void run(void)
{
	for (;;)
		syscall(SYS_getppid);
}

static void wait_to_read(void)
{
	char byte;

	syscall(SYS_read, pipe_fd[0], &byte, 1);
}

static void wait_for_events(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	int fd = epoll_create1(0);

	epoll_ctl(fd, EPOLL_CTL_ADD, pipe_fd[0], &e);
	while (epoll_wait(fd, &e, 1, -1) < 0)
		;
}

static void wait_with_a_limit(void)
{
	struct pollfd p = { .fd = pipe_fd[0], .events = POLLIN };

	poll(&p, 1, 100000);
}

/* Stop it alone, and say what it did. */
static int stop_once(pid_t pid, struct task *task)
{
	struct tasks tasks;
	struct diag d = { 0 };
	struct stop stop;
	int err = tasks__open(&tasks, pid, true);

	if (err)
		return err;
	err = stop__begin_thread(&stop, &tasks, pid, NULL, &d);
	if (!err && !stop__task(&stop, (uint32_t)pid, task))
		err = -ENOENT;
	stop__end(&stop, NULL);
	tasks__close(&tasks);
	return err;
}

/* One that is stopped on its way out of a call does not wait in it. */
TEST(stop_tells_who_waits_from_who_runs)
{
	static const struct {
		void (*does)(void);
		int call, later;
	} waits[] = {
		{ wait_to_read, SYS_read, SYS_read }, { wait_for_events, SYS_epoll_wait, SYS_epoll_wait },
		{ wait_with_a_limit, SYS_poll, SYS_restart_syscall },
	};
	struct task task;
	pid_t pid = child(run);

	CHECK(pid > 0);
	for (int i = 0; i < 300; i++) {
		CHECK_INT(stop_once(pid, &task), 0);
		CHECK_INT(task.call, -1);
		CHECK(task.state == 'R' && !task.off_cpu && task.ip && task.has_bp);
		usleep(50);
	}
	end(pid);
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		pid = child(waits[i].does);
		CHECK(pid > 0 && comes_to(pid, 'S'));
		usleep(20000);
		for (int k = 0; k < 3; k++) {
			CHECK(comes_to(pid, 'S'));
			CHECK_INT(stop_once(pid, &task), 0);
			CHECK_INT(task.call, k ? waits[i].later : waits[i].call);
			CHECK(task.state == 'S' && task.off_cpu);
			usleep(20000);
		}
		end(pid);
	}
}
#endif

/* The parent of vfork(2) does not stop until its child lets it. */
static void wait_uninterruptibly(void)
{
	pid_t pid = vfork();
	char byte;

	if (!pid) {
		_exit(read(pipe_fd[0], &byte, 1) != 1);
	}
	for (;;)
		pause();
}

TEST(stop_that_comes_late)
{
	pid_t pid = child(wait_uninterruptibly);
	uint64_t until = deadline__now() + 30 * SECOND;
	struct stop_later later = { 0 };
	struct proc_status status;
	struct diag d = { 0 };
	struct tasks tasks;
	struct stop stop;

	CHECK(pid > 0 && comes_to(pid, 'D'));
	CHECK_INT(tasks__open(&tasks, pid, true), 0);
	CHECK_INT(stop__begin_thread(&stop, &tasks, pid, &later, &d), -ETIMEDOUT);
	stop__end(&stop, &later);
	CHECK_INT(later.count, 1);
	/* We are no debugger that has it. */
	CHECK_INT(stop__begin_thread(&stop, &tasks, pid, &later, &d), -ETIMEDOUT);
	stop__end(&stop, &later);
	CHECK_INT(later.count, 1);
	stop_later__poll(&later);
	CHECK(later.count == 1 && !later.stops);
	CHECK_INT(write(pipe_fd[1], "x", 1), 1);
	while (later.count && deadline__now() < until) {
		usleep(1000);
		stop_later__poll(&later);
	}
	CHECK(!later.count && later.stops == 1);
	CHECK(later.longest > 0 && later.longest < 30 * SECOND);
	CHECK(!proc_status__read(&status, pid, 0) && !status.tracer);
	CHECK(comes_to(pid, 'S'));
	stop_later__free(&later);
	tasks__close(&tasks);
	end(pid);
}

static void *second(void *unused)
{
	shared->tid = (pid_t)syscall(SYS_gettid);
	for (;;)
		pause();
	return unused;
}

static void have_two_threads(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, second, NULL);
	for (;;)
		pause();
}

/* A debugger has one thread of the process. */
TEST(stop_of_a_thread_that_a_debugger_has)
{
	pid_t pid = child(have_two_threads), debugger;
	uint64_t until = deadline__now() + 30 * SECOND;
	struct diag d = { 0 };
	struct tasks tasks;
	struct stop stop;
	int said[2];
	char byte;

	CHECK(pid > 0 && !pipe(said));
	while (!shared->tid && deadline__now() < until)
		usleep(1000);
	CHECK(shared->tid > 0);
	debugger = fork();
	if (!debugger) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		byte = ptrace(PTRACE_SEIZE, shared->tid, NULL, NULL) ? 'n' : 'y';
		if (write(said[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	CHECK_INT(read(said[0], &byte, 1), 1);
	CHECK_INT(byte, 'y');
	CHECK_INT(tasks__open(&tasks, pid, true), 0);
	CHECK_INT(stop__begin_thread(&stop, &tasks, shared->tid, NULL, &d), -EBUSY);
	stop__end(&stop, NULL);
	/* The other one is free. */
	CHECK_INT(stop__begin_thread(&stop, &tasks, pid, NULL, &d), 0);
	stop__end(&stop, NULL);
	CHECK_INT(stop__begin(&stop, &tasks, &d), -EBUSY);
	stop__end(&stop, NULL);
	tasks__close(&tasks);
	kill(debugger, SIGKILL);
	waitpid(debugger, NULL, 0);
	close(said[0]);
	close(said[1]);
	end(pid);
}
