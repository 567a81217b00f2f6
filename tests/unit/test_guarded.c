/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads of memory that is not trusted: by a helper process, which is given up when it does not answer. */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/address_space.h"
#include "process/proc.h"
#include "process/guarded.h"
#include "waits.h"

static char content[200000];
static pid_t pid;

static struct address_space *set_up(void)
{
	struct address_space *s;
	int err;

	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (char)(i % 251);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	s = address_space__open(pid, &err);
	if (!s)
		return NULL;
	/* As one of another user is. */
	s->trusted = false;
	s->asked_at = UINT64_MAX / 2;
	s->user = 12345;
	/* Who asks again sees all of it, though the child may not have run. */
	s->user_mark = s->namespaces_mark = (struct run_mark){ 0 };
	return s;
}

static void tear_down(struct address_space *s)
{
	address_space__close(s);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The child that reads; 0 none. */
static pid_t helper(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	struct proc_stat stat;
	pid_t found = 0;
	char name[16];

	while ((entry = readdir(dir))) {
		pid_t other = (pid_t)atoi(entry->d_name);

		if (other <= 0 || proc_stat__read(&stat, other, 0) || stat.parent != getpid() || stat.state == 'Z')
			continue;
		proc__comm(other, 0, name, sizeof(name));
		if (!strcmp(name, "extprof-read"))
			found = other;
	}
	closedir(dir);
	return found;
}

TEST(guarded_reads_what_a_direct_read_does)
{
	struct address_space *s = set_up();
	char *got = malloc(sizeof(content)), byte = 'x';
	struct deadline over;

	CHECK(s);
	CHECK_INT(memory__read(&s->memory, (uintptr_t)content, got, sizeof(content)), 0);
	CHECK(!memcmp(got, content, sizeof(content)));
	CHECK(helper() > 0);
	CHECK_INT(memory__read(&s->memory, 8, got, 1), -EFAULT);
	CHECK_INT(memory__read(&s->memory, UINT64_MAX - 8, got, 1), -EFAULT);
	CHECK(address_space__lives(s));
	CHECK_INT(address_space__write(s, (uintptr_t)content, &byte, 1), 0);
	CHECK_INT(memory__read(&s->memory, (uintptr_t)content, got, 2), 0);
	CHECK(got[0] == 'x' && got[1] == 1 && content[0] == 0);
	deadline__start(&over, -1, 0);
	s->deadline = &over;
	CHECK_INT(memory__read(&s->memory, (uintptr_t)content, got, 1), -EINTR);
	s->deadline = NULL;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK_INT(memory__read(&s->memory, (uintptr_t)content, got, 1), -ESRCH);
	CHECK(!address_space__lives(s));
	tear_down(s);
	free(got);
}

TEST(guarded_that_was_killed_is_replaced)
{
	struct address_space *s = set_up();
	char got[16];

	CHECK(s);
	CHECK_INT(memory__read(&s->memory, (uintptr_t)content, got, sizeof(got)), 0);
	kill(helper(), SIGKILL);
	CHECK_INT(memory__read(&s->memory, (uintptr_t)content, got, sizeof(got)), 0);
	CHECK(!memcmp(got, content, sizeof(got)));
	tear_down(s);
}

TEST(guarded_that_does_not_answer_is_given_up)
{
	struct address_space *s = set_up(), other;
	const struct guarded g = { .user = 12345 };
	uint64_t began, start = deadline__now(), took;
	char got[16];
	int given_up = 0, err;

	CHECK(s);
	/* A stopped helper answers as little as one that waits for a page. */
	for (int i = 0; i < 20; i++) {
		s->aside_until = 0;
		if (memory__read(&s->memory, 8, got, 1) == -ETIMEDOUT)
			break;
		kill(helper(), SIGSTOP);
		began = deadline__now();
		CHECK_INT(memory__read(&s->memory, (uintptr_t)content, got, sizeof(got)), -ETIMEDOUT);
		given_up++;
		/* It is put aside: that is said at once, and it is taken to live. */
		CHECK(s->aside_until > began);
		CHECK_INT(memory__read(&s->memory, (uintptr_t)content, got, sizeof(got)), -ETIMEDOUT);
		CHECK(address_space__lives(s));
		CHECK_INT(s->given_up, given_up);
	}
	took = given_up * GUARDED_TIMEOUT;
	/* The user has had its share: it waits for the next one.  Others are read. */
	CHECK(given_up > 0);
	/* On a machine that is so busy that the next share has begun, it has that, too. */
	CHECK(took <= GUARDED_SHARE + GUARDED_TIMEOUT || deadline__now() - start > GUARDED_SHARE_TIME);
	other = *s;
	other.memory.context = &other;
	other.user = 12346;
	other.aside_until = 0;
	CHECK_INT(memory__read(&other.memory, (uintptr_t)content, got, sizeof(got)), 0);
	/* No file has been opened then, and none is closed. */
	for (int i = 0; i < 20 && !guarded__read(&g, pid, s->mem, (uintptr_t)content, got, 1); i++)
		kill(helper(), SIGSTOP);
	CHECK(!guarded__open(&g, pid, 0, GUARDED_MAPS, 1 << 20, &err));
	CHECK_INT(err, -ETIMEDOUT);
	tear_down(s);
}

TEST(guarded_memory_of_others_is_never_trusted_later)
{
	struct address_space *s = set_up();
	char byte;

	CHECK(s);
	/* The process that has the number now is one of ours. */
	s->asked_at = 1;
	CHECK_INT(memory__read(&s->memory, (uintptr_t)content, &byte, 1), 0);
	CHECK(s->asked_at > 1 && !s->trusted);
	/* At first it is asked who that is, and one of ours can become another's. */
	s->asked_at = 0;
	CHECK_INT(memory__read(&s->memory, (uintptr_t)content, &byte, 1), 0);
	CHECK(s->trusted);
	tear_down(s);
}

/* As if the last question had been long ago. */
static bool is_trusted_now(struct address_space *s)
{
	char byte;

	s->asked_at = 1;
	s->clock.read_at = 0;
	return !memory__read(&s->memory, (uintptr_t)content, &byte, 1) && s->trusted;
}

/* Only root can become another user. */
TEST(guarded_memory_of_who_becomes_another_user_is_not_trusted)
{
	struct address_space *s;
	int err, go[2], done[2];
	/* Older kernels do not tell so quickly. */
	bool quick = proc__is_of_own_user(getpid());
	struct run_mark mark;
	char byte;

	if (geteuid())
		return;
	CHECK(!pipe(go) && !pipe(done));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* The user of its files alone. */
		if (read(go[0], &byte, 1) == 1 && !setresuid(0, 0, 12345) && write(done[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	s = address_space__open(pid, &err);
	CHECK(s);
	CHECK_INT(proc__is_of_own_user(pid), quick);
	CHECK(is_trusted_now(s));
	wait_until_off_cpu(pid);
	CHECK(is_trusted_now(s));
	/* It has not run since: nobody is asked. */
	mark = s->user_mark;
	CHECK(is_trusted_now(s));
	CHECK_INT(s->user_mark.at, mark.at);
	CHECK(write(go[1], "", 1) == 1 && read(done[0], &byte, 1) == 1);
	CHECK(!proc__is_of_own_user(pid));
	CHECK(!is_trusted_now(s));
	CHECK(s->user_mark.at > mark.at);
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(done[i]);
	}
	tear_down(s);
}

TEST(guarded_without_a_helper_is_said)
{
	struct address_space *s = set_up();
	pid_t child;
	int status;

	CHECK(s);
	s->user = 12349;
	child = fork();
	if (!child) {
		const struct rlimit none = { 0, 0 };
		char byte;

		/* Root has no such limit. */
		if (setrlimit(RLIMIT_NPROC, &none) || (!geteuid() && setresuid(12345, 12345, 12345)))
			_exit(100);
		/* It is taken to live, too. */
		_exit(address_space__lives(s) ? -memory__read(&s->memory, (uintptr_t)content, &byte, 1) : 100);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), EBUSY);
	tear_down(s);
}

TEST(guarded_opens_files_of_proc)
{
	struct guarded g = { .user = 12347 };
	char line[256];
	FILE *f;
	int err;

	f = guarded__open(&g, getpid(), 0, GUARDED_MAPS, 1 << 20, &err);
	CHECK(f);
	while (fgets(line, sizeof(line), f) && !strstr(line, "[stack]"))
		;
	CHECK(strstr(line, "[stack]"));
	fclose(f);
	f = guarded__open(&g, getpid(), 0, GUARDED_MAPS, 100, &err);
	CHECK(f);
	CHECK(fread(line, 1, sizeof(line), f) >= 100);
	fclose(f);
	CHECK(!guarded__open(&g, 0, 0, GUARDED_CMDLINE, 1 << 20, &err));
	CHECK_INT(err, -ENOENT);
}

/* The queue of epoll(7) is locked while a file in it is asked, and that file can be of a file system that does not answer. */
TEST(guarded_opens_what_is_said_of_a_descriptor)
{
	struct guarded g = { .user = 12348, .number = (uint32_t)epoll_create1(EPOLL_CLOEXEC) };
	struct epoll_event event = { .events = EPOLLIN };
	int pipes[2], watched = -1, err;
	char line[256];
	FILE *f;

	CHECK(!pipe(pipes) && !epoll_ctl((int)g.number, EPOLL_CTL_ADD, pipes[0], &event));
	f = guarded__open(&g, getpid(), 0, GUARDED_FDINFO, 1 << 20, &err);
	CHECK(f);
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "tfd: %d", &watched);
	CHECK_INT(watched, pipes[0]);
	if (f)
		fclose(f);
	close((int)g.number);
	CHECK(!guarded__open(&g, getpid(), 0, GUARDED_FDINFO, 1 << 20, &err));
	CHECK_INT(err, -ENOENT);
	close(pipes[0]);
	close(pipes[1]);
}
