/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that shares its parent's memory and is no thread of it: works in it, and says its CPU time. */
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct work {
	int64_t wanted, used;	/* ns */
};

static int64_t cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int child(void *arg)
{
	struct work *work = arg;
	int64_t from = cpu();

	while ((work->used = cpu() - from) < work->wanted)
		;
	_exit(0);
}

/* Returns the child's CPU time, ns; its pid to *pid. */
int64_t burn_in_shared_memory(int64_t ns, int *pid)
{
	enum { STACK_SIZE = 1 << 20 };
	struct work work = { .wanted = ns };
	char *stack = malloc(STACK_SIZE);

	if (!stack)
		return -1;
	*pid = clone(child, stack + STACK_SIZE, CLONE_VM | SIGCHLD, &work);
	if (*pid > 0)
		waitpid(*pid, NULL, 0);
	free(stack);
	return *pid > 0 ? work.used : -1;
}
