/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that executes another program, ends, and leaves its pid to another process. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/section_search.h"

static char secret[16] = "of the parent";

/* A child that waits for a byte, then executes sleep; with this pid if it is not 0. */
static pid_t child(pid_t wanted, const char *content, int *go)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	int fds[2];
	pid_t pid;
	char byte;

	if (pipe(fds))
		return -1;
	args.set_tid = wanted ? (uintptr_t)&wanted : 0;
	args.set_tid_size = wanted ? 1 : 0;
	strcpy(secret, content);
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (!pid) {
		close(fds[1]);
		if (read(fds[0], &byte, 1) == 1)
			execlp("sleep", "sleep", "60", NULL);
		_exit(0);
	}
	strcpy(secret, "of the parent");
	close(fds[0]);
	*go = fds[1];
	return pid;
}

static int read_secret(const struct address_space *s, char *to)
{
	memset(to, 0, sizeof(secret));
	return memory__read(&s->memory, (uintptr_t)secret, to, sizeof(secret));
}

static void end(pid_t pid, int go)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(go);
}

/* Without /proc/PID/mem, as for a user who only has CAP_SYS_PTRACE. */
static void by_pid(struct address_space *s)
{
	char path[64];

	address_space__leave(s);
	snprintf(path, sizeof(path), "/proc/%d/maps", s->pid);
	s->maps = open(path, O_RDONLY | O_CLOEXEC);
}

static void executes(bool with_mem)
{
	char got[sizeof(secret)];
	struct address_space *s;
	uint64_t start;
	pid_t pid;
	int go, err;

	pid = child(0, "of the child", &go);
	s = address_space__open(pid, &err);
	CHECK(s);
	if (!with_mem)
		by_pid(s);
	CHECK(address_space__lives(s));
	CHECK_INT(read_secret(s, got), 0);
	CHECK_STRING(got, "of the child");
	CHECK_INT(memory__read(&s->memory, 8, got, 1), -EFAULT);
	CHECK_INT(memory__read(&s->memory, UINT64_MAX - 8, got, 1), -EFAULT);
	CHECK_INT(memory__read(&s->memory, 8, got, 0), 0);
	CHECK_INT(write(go, "", 1), 1);
	for (start = deadline__now(); address_space__lives(s);)
		CHECK(deadline__now() < start + 10000000000ull);
	CHECK_INT(kill(pid, 0), 0);
	/* Mapped in the new program or not. */
	CHECK_INT(read_secret(s, got), -ESRCH);
	CHECK_INT(memory__read(&s->memory, 8, got, 1), -ESRCH);
	address_space__close(s);
	end(pid, go);
}

TEST(space_is_that_of_one_program)
{
	executes(true);
}

TEST(space_is_that_of_one_program_without_its_file)
{
	executes(false);
}

TEST(space_ends_with_its_process)
{
	struct deadline deadline;
	char got[sizeof(secret)];
	struct address_space *s;
	int go, err;
	pid_t pid = child(0, "of the child", &go);

	s = address_space__open(pid, &err);
	CHECK(s);
	s->deadline = &deadline;
	deadline__start(&deadline, -1, 0);
	CHECK_INT(read_secret(s, got), -EINTR);
	deadline__start(&deadline, -1, UINT64_MAX);
	CHECK_INT(read_secret(s, got), 0);
	end(pid, go);
	CHECK(!address_space__lives(s));
	CHECK_INT(read_secret(s, got), -ESRCH);
	address_space__leave(s);
	CHECK(!address_space__lives(s));
	CHECK_INT(read_secret(s, got), -ESRCH);
	address_space__close(s);
	CHECK(!address_space__open(pid, &err));
	CHECK_INT(err, -ENOENT);
}

TEST(target_is_not_another_process_with_its_pid)
{
	char got[sizeof(secret)];
	struct address_space *s;
	struct target t;
	struct diag d;
	int go, err;
	pid_t first = child(0, "of the first", &go), second;

	CHECK_INT(target__open(&t, first, &d), 0);
	strcpy(t.command, "the first");
	s = address_space__open(first, &err);
	CHECK(s);
	CHECK(target__has_pid(&t) && !target__exited(&t));
	kill(first, SIGKILL);
	waitid(P_PID, (id_t)first, NULL, WEXITED | WNOWAIT);
	CHECK(target__has_pid(&t) && target__exited(&t));
	end(first, go);
	CHECK(!target__has_pid(&t) && target__exited(&t));
	second = child(first, "of the second", &go);
	/* This needs a user who may choose pids. */
	if (second < 0) {
		CHECK_INT(geteuid() == 0 ? errno : EPERM, EPERM);
	} else {
		CHECK_INT(second, first);
		CHECK_INT(kill(first, 0), 0);
		CHECK(!target__has_pid(&t));
		CHECK_INT(target__find_section(&t, &d), -ESRCH);
		CHECK_INT(d.code, DIAG_NO_PROCESS);
		target__refresh(&t);
		CHECK_STRING(t.command, "the first");
		CHECK_INT(read_secret(s, got), -ESRCH);
		end(second, go);
	}
	address_space__close(s);
	target__close(&t);
}

static void *wait_for_end(void *argument)
{
	for (;;)
		pause();
	return argument;
}

/* A child whose first thread ends while another one goes on. */
static pid_t child_without_first_thread(void)
{
	pid_t pid;

	strcpy(secret, "of the child");
	pid = fork();
	if (!pid) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, wait_for_end, NULL))
			_exit(1);
		syscall(SYS_exit, 0);
	}
	strcpy(secret, "of the parent");
	return pid;
}

static char state_of(pid_t pid)
{
	char path[64], line[256] = "", *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	end = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	return end ? end[2] : 0;
}

TEST(target_goes_on_without_its_first_thread)
{
	char got[sizeof(secret)], exe[PATH_MAX] = "", runs[PATH_MAX + 16];
	pid_t pid = child_without_first_thread();
	uint64_t start = deadline__now();
	struct address_space *s;
	struct target t;
	struct diag d;
	int err;

	CHECK(pid > 0);
	while (state_of(pid) != 'Z')
		CHECK(deadline__now() < start + 10000000000ull);
	CHECK_INT(target__open(&t, pid, &d), 0);
	CHECK(t.thread && t.thread != pid);
	CHECK_INT(t.key.pid, pid);
	CHECK(!target__exited(&t));
	CHECK(t.command[0]);
	/* The program of these tests is no ruby, and it was searched. */
	CHECK_INT(target__find_section(&t, &d), -ENOENT);
	CHECK_INT(d.code, DIAG_NOT_RUBY);
	CHECK(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	snprintf(runs, sizeof(runs), "it runs %s", exe);
	CHECK(strstr(d.text, runs));
	s = address_space__open(pid, &err);
	CHECK(s);
	CHECK_INT(read_secret(s, got), 0);
	CHECK_STRING(got, "of the child");
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
	CHECK_INT(read_secret(s, got), -ESRCH);
	CHECK_INT(target__find_section(&t, &d), -ESRCH);
	CHECK_INT(d.code, DIAG_NO_PROCESS);
	target__close(&t);
	CHECK_INT(target__open(&t, pid, &d), -ESRCH);
	CHECK(strstr(d.text, "zombie"));
	address_space__close(s);
	waitpid(pid, NULL, 0);
}
