/* SPDX-License-Identifier: BSD-2-Clause */
/* Helpers that answer, that hang, that crash. */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc_file.h"
#include "parser/helper.h"

enum { ADD, HANG, SPIN, CRASH, OPEN, COUNT_FILES, WHO, SLEEP, NAP };

struct question {
	uint32_t what;
	uint64_t a, b;
};

struct answer {
	uint64_t sum;
};

static int begin(void)
{
	return 0;
}

static int work(const void *data, size_t size, int *fd, void *to)
{
	const struct question *q = data;
	struct answer *answer = to;
	char byte;

	if (size != sizeof(*q))
		return -EINVAL;
	switch (q->what) {
	case ADD:
		answer->sum = q->a + q->b;
		break;
	case HANG:
		pause();
		break;
	case SPIN:
		for (;;)
			__asm__ volatile("");
	case CRASH:
		syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
		break;
	case OPEN:
		if (*fd >= 0 && pread(*fd, &byte, 1, 0) == 1)
			answer->sum = (uint8_t)byte;
		*fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
		return *fd < 0 ? -errno : 0;
	case COUNT_FILES:
		for (int i = 0; i < 1024; i++)
			answer->sum += fcntl(i, F_GETFD) >= 0;
		break;
	case SLEEP:
	case NAP:
		nanosleep(&(struct timespec){ .tv_nsec = q->what == NAP ? 2000000 : 300000000 }, NULL);
		/* fall through */
	case WHO:
		answer->sum = (uint64_t)syscall(SYS_getpid);
		break;
	}
	return 0;
}

static const struct helper_role role = {
	.name = "extprof-test", .answer_size = sizeof(struct answer), .begin = begin, .work = work,
};

static int ask(uint32_t what, uint64_t owner, uint64_t timeout_ms, struct deadline *deadline, struct answer *answer)
{
	const struct question q = { .what = what, .a = 40, .b = 2 };
	const struct helper_request r = {
		.data = &q, .size = sizeof(q), .fd = -1, .owner = owner, .timeout = timeout_ms * 1000000,
		.deadline = deadline,
	};

	memset(answer, 0, sizeof(*answer));
	return helper__ask(&role, &r, answer, NULL);
}

TEST(helper_answers)
{
	struct answer answer, again;

	CHECK_INT(ask(ADD, 1, 10000, NULL, &answer), 0);
	CHECK_INT(answer.sum, 42);
	/* It has none of our files: the socket is its only one. */
	CHECK_INT(ask(COUNT_FILES, 1, 10000, NULL, &answer), 0);
	CHECK_INT(answer.sum, 1);
	/* One helper is enough for one after the other. */
	CHECK_INT(ask(WHO, 1, 10000, NULL, &answer), 0);
	CHECK_INT(ask(WHO, 1, 10000, NULL, &again), 0);
	CHECK_INT(answer.sum, again.sum);
	CHECK(answer.sum != (uint64_t)getpid());
	/* wait() does not see it. */
	CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_INT(errno, ECHILD);
}

TEST(helper_gets_and_gives_files)
{
	const struct question q = { .what = OPEN };
	int zero = open("/proc/self/comm", O_RDONLY | O_CLOEXEC), fd = -1;
	struct helper_request r = { .data = &q, .size = sizeof(q), .fd = zero, .timeout = 10000000000ull };
	struct answer answer;
	char text[32] = "", first = 0;

	CHECK_INT(helper__ask(&role, &r, &answer, &fd), 0);
	CHECK_INT(pread(zero, &first, 1, 0), 1);
	CHECK_INT(answer.sum, (uint8_t)first);
	CHECK(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	CHECK_STRING(text, "extprof-test\n");
	close(fd);
	close(zero);
	/* What is too long is not sent. */
	r = (struct helper_request){ .data = &q, .size = HELPER_REQUEST_MAX + 1, .fd = -1, .timeout = 1 };
	CHECK_INT(helper__ask(&role, &r, &answer, NULL), -EMSGSIZE);
}

TEST(helper_that_does_not_answer_is_given_up)
{
	struct deadline deadline;
	struct answer answer;
	int fd = eventfd(1, EFD_CLOEXEC);
	uint64_t before = deadline__now();

	CHECK_INT(ask(HANG, 2, 50, NULL, &answer), -ETIMEDOUT);
	CHECK_INT(ask(SPIN, 3, 50, NULL, &answer), -ETIMEDOUT);
	CHECK(deadline__now() - before >= 100000000);
	/* The caller wants it to end. */
	deadline__start(&deadline, fd, UINT64_MAX);
	CHECK_INT(ask(HANG, 4, 60000, &deadline, &answer), -EINTR);
	deadline__start(&deadline, -1, deadline__now() + 50000000);
	CHECK_INT(ask(HANG, 5, 60000, &deadline, &answer), -EINTR);
	CHECK(deadline__now() - before < 30000000000ull);
	close(fd);
	/* The next one has another helper. */
	CHECK_INT(ask(ADD, 2, 10000, NULL, &answer), 0);
	CHECK_INT(answer.sum, 42);
}

TEST(helper_that_crashes_costs_one_answer)
{
	struct answer answer;

	for (int i = 0; i < 20; i++) {
		CHECK_INT(ask(CRASH, 10 + (uint64_t)i, 10000, NULL, &answer), -EIO);
		CHECK_INT(ask(ADD, 10 + (uint64_t)i, 10000, NULL, &answer), 0);
	}
}

TEST(helper_that_is_killed_while_it_waits_costs_nothing)
{
	struct answer answer;
	siginfo_t info;

	CHECK_INT(ask(WHO, 1, 10000, NULL, &answer), 0);
	CHECK_INT(kill((pid_t)answer.sum, SIGKILL), 0);
	CHECK_INT(waitid(P_PID, (id_t)answer.sum, &info, WEXITED | WNOWAIT | __WALL), 0);
	CHECK_INT(ask(ADD, 1, 10000, NULL, &answer), 0);
	CHECK_INT(answer.sum, 42);
}

static void *ask_often(void *result)
{
	struct answer answer;

	for (int i = 0; i < 200 && !*(int *)result; i++)
		*(int *)result = ask(ADD, 1, 60000, NULL, &answer) || answer.sum != 42;
	return NULL;
}

/* Run it in so many threads at once, 12 at most.  It sets its result to another number than 0 if it fails. */
static void in_threads(int count, void *(*function)(void *))
{
	int results[12] = { 0 };
	pthread_t threads[12];

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, function, &results[i]);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < count; i++)
		CHECK_INT(results[i], 0);
}

TEST(helpers_of_many_threads)
{
	in_threads(12, ask_often);
}

static void *ask_slowly(void *result)
{
	struct answer answer;

	*(int *)result = ask(SLEEP, 1, 60000, NULL, &answer);
	return NULL;
}

/* Searches need one role after the other: helpers of one do not take the place of those of another. */
TEST(helpers_of_a_role_that_wait_leave_room_for_others)
{
	static const struct helper_role other = {
		.name = "extprof-other", .answer_size = sizeof(struct answer), .begin = begin, .work = work,
	};
	const struct question q = { .what = WHO };
	const struct helper_request r = { .data = &q, .size = sizeof(q), .fd = -1, .owner = 1, .timeout = 60000000000 };
	struct answer first, again;

	in_threads(8, ask_slowly);
	CHECK_INT(helper__ask(&other, &r, &first, NULL), 0);
	CHECK_INT(helper__ask(&other, &r, &again, NULL), 0);
	CHECK_INT(first.sum, again.sum);
}

static const struct helper_role second = {
	.name = "extprof-second", .answer_size = sizeof(struct answer), .begin = begin, .work = work,
};

#define TURNS 60

static pid_t pids_seen[8 * TURNS * 2];
static int pids_count;
static pthread_barrier_t turn;

static void *ask_both(void *result)
{
	const struct question q = { .what = NAP };
	const struct helper_request r = { .data = &q, .size = sizeof(q), .fd = -1, .owner = 1, .timeout = 60000000000 };
	struct answer answer;

	/* All of them need the same role at once. */
	for (int i = 0; i < 2 * TURNS; i++) {
		pthread_barrier_wait(&turn);
		*(int *)result |= helper__ask(i % 2 ? &role : &second, &r, &answer, NULL);
		pids_seen[__atomic_fetch_add(&pids_count, 1, __ATOMIC_RELAXED)] = (pid_t)answer.sum;
	}
	return NULL;
}

static void ask_both_in_threads(void)
{
	pids_count = 0;
	pthread_barrier_init(&turn, NULL, 8);
	in_threads(8, ask_both);
	pthread_barrier_destroy(&turn);
}

/* Each search asks one role after the other, and eight are done at once: none makes a helper anew each time. */
TEST(helpers_of_two_roles_are_used_again)
{
	int different = 0;

	ask_both_in_threads();
	for (int i = 0; i < pids_count; i++) {
		int before = 0;

		while (before < i && pids_seen[before] != pids_seen[i])
			before++;
		different += before == i;
	}
	printf("\t%d helpers for %d requests\n", different, pids_count);
	CHECK_INT(pids_count, 8 * 2 * TURNS);
	CHECK(different <= 16 + 2);
}

/* A program that forks and goes on has helpers of its own, and does not take the parent's answers. */
TEST(helpers_of_a_forked_process)
{
	struct answer answer, of_child;
	int status = 1;
	pid_t child;

	CHECK_INT(ask(WHO, 1, 10000, NULL, &answer), 0);
	child = fork();
	if (!child)
		_exit(ask(WHO, 1, 10000, NULL, &of_child) || of_child.sum == answer.sum);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
	CHECK_INT(ask(WHO, 1, 10000, NULL, &of_child), 0);
	CHECK_INT(of_child.sum, answer.sum);
}

/* What the program has made since the first helper began. */
static uint64_t since;

static int work_look(const void *data, size_t size, int *fd, void *to)
{
	(void)data, (void)size, (void)fd;
	((struct answer *)to)->sum = since;
	return 0;
}

static const struct helper_role looks = {
	.name = "extprof-test-2", .answer_size = sizeof(struct answer), .begin = begin, .work = work_look,
};

static uint64_t seen_by_a_new_one(void)
{
	const struct helper_request r = { .fd = -1, .timeout = 10000000000ull };
	struct answer answer;

	return helper__ask(&looks, &r, &answer, NULL) ? UINT64_MAX : answer.sum;
}

/* Those that are called so and that this process has made; the first one's pid. */
static int count_called(const char *name, pid_t *first)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	*first = 0;
	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		char comm[64] = "";
		struct proc_stat stat;

		if (pid <= 0 || proc_stat__read(&stat, pid, 0) || stat.parent != getpid() || stat.state == 'Z')
			continue;
		proc__comm(pid, 0, comm, sizeof(comm));
		if (strcmp(comm, name))
			continue;
		count++;
		*first = *first ? *first : pid;
	}
	if (proc)
		closedir(proc);
	return count;
}

TEST(helper_that_is_made_late_has_nothing_of_what_came_meanwhile)
{
	struct answer answer;
	pid_t maker;

	/* Those of tests before end. */
	helpers__hold();
	helpers__release();
	since = 1;
	helpers__hold();
	CHECK_INT(ask(ADD, 1, 10000, NULL, &answer), 0);
	since = 2;
	CHECK_INT(seen_by_a_new_one(), 1);
	CHECK_INT(count_called("extprof-helpers", &maker), 1);
	/* Whoever holds them as well ends nothing. */
	helpers__hold();
	helpers__release();
	CHECK_INT(count_called("extprof-test-2", &maker), 1);
	/* Without its maker, the next one is made by another one. */
	CHECK_INT(count_called("extprof-helpers", &maker), 1);
	CHECK_INT(kill(maker, SIGKILL), 0);
	CHECK_INT(ask(CRASH, 1, 10000, NULL, &answer), -EIO);
	CHECK_INT(ask(ADD, 1, 10000, NULL, &answer), 0);
	CHECK_INT(answer.sum, 42);
	helpers__release();
	CHECK_INT(count_called("extprof-helpers", &maker), 0);
	/* One that has killed itself may need a moment. */
	for (int i = 0; i < 500 && count_called("extprof-test", &maker); i++)
		usleep(10000);
	CHECK_INT(count_called("extprof-test", &maker), 0);
	CHECK_INT(count_called("extprof-test-2", &maker), 0);
	CHECK_INT(seen_by_a_new_one(), 2);
	since = 0;
	helpers__hold();
	helpers__release();
}

TEST(helpers_that_nobody_needs_end)
{
	struct answer answer;
	pid_t first;
	int many;

	helpers__hold();
	in_threads(8, ask_slowly);
	ask_both_in_threads();
	many = count_called("extprof-test", &first);
	CHECK(many > 1 && many <= 8);
	CHECK(count_called("extprof-second", &first) <= 8);
	helpers__rest(deadline__now());
	CHECK_INT(count_called("extprof-test", &first), many);
	/* One of each role stays. */
	helpers__rest(deadline__now() + 6000000000ull);
	for (int i = 0; i < 500 && count_called("extprof-test", &first) + count_called("extprof-second", &first) > 2; i++)
		usleep(10000);
	CHECK_INT(count_called("extprof-second", &first), 1);
	CHECK_INT(count_called("extprof-test", &first), 1);
	CHECK_INT(ask(WHO, 1, 10000, NULL, &answer), 0);
	CHECK_INT((pid_t)answer.sum, first);
	helpers__release();
}
