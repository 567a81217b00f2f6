/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program without a ruby.  Reads commands, one a line, and answers each with ns by its own clock:
 *	work SECONDS	one() and two() use the CPU, 3 to 1: "ONE TWO"
 *	rest SECONDS	waits in rest(): "NS"
 *	write NUMBER	writes so often into /dev/null, from scribble(): "NUMBER"
 *	fork NUMBER SECONDS	so many children that work like that, and no more: "PID ONE TWO" for each
 *	exec PROGRAM [ARGUMENT]	becomes that program
 * With arguments the first command is the arguments, and it ends after it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sum;

static int64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* The clock is asked seldom: what it costs is not what is tested. */
static __attribute__((noipa)) int64_t burn(int64_t ns)
{
	int64_t from = now(CLOCK_THREAD_CPUTIME_ID), used;

	do {
		for (int i = 0; i < 100000; i++)
			sum += i;
		used = now(CLOCK_THREAD_CPUTIME_ID) - from;
	} while (used < ns);
	return used;
}

static __attribute__((noipa)) void one(int64_t ns, int64_t *used)
{
	*used += burn(ns);
	__asm__ volatile("");
}

static __attribute__((noipa)) void two(int64_t ns, int64_t *used)
{
	*used += burn(ns);
	__asm__ volatile("");
}

static void work(double seconds, int64_t *first, int64_t *second)
{
	*first = *second = 0;
	while (*first + *second < seconds * 1e9) {
		one(15000000, first);
		two(5000000, second);
	}
}

static __attribute__((noipa)) int64_t rest(double seconds)
{
	struct timespec t = { (time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9) };
	int64_t from = now(CLOCK_MONOTONIC);

	nanosleep(&t, NULL);
	return now(CLOCK_MONOTONIC) - from;
}

static __attribute__((noipa)) long scribble(int fd, long count)
{
	long done = 0;

	while (done < count)
		done += write(fd, "x", 1);
	return done;
}

static void fork_all(int count, double seconds)
{
	for (int i = 0; i < count; i++) {
		int64_t first, second;

		if (fork())
			continue;
		work(seconds, &first, &second);
		printf("%d %lld %lld\n", (int)getpid(), (long long)first, (long long)second);
		fflush(stdout);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
}

static void run(char *line)
{
	char *word = strtok(line, " \n"), *a = word ? strtok(NULL, " \n") : NULL, *b = a ? strtok(NULL, " \n") : NULL;

	if (!a) {
		return;
	} else if (!strcmp(word, "work")) {
		int64_t first, second;

		work(atof(a), &first, &second);
		printf("%lld %lld\n", (long long)first, (long long)second);
	} else if (!strcmp(word, "rest")) {
		printf("%lld\n", (long long)rest(atof(a)));
	} else if (!strcmp(word, "write")) {
		printf("%ld\n", scribble(open("/dev/null", O_WRONLY), atol(a)));
	} else if (!strcmp(word, "fork")) {
		fork_all(atoi(a), atof(b));
		printf("done\n");
	} else if (!strcmp(word, "exec")) {
		execlp(a, a, b, (char *)NULL);
		perror(a);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[4096] = "";

	if (argc > 1) {
		for (int i = 1; i < argc; i++) {
			strcat(line, argv[i]);
			strcat(line, " ");
		}
		run(line);
		return 0;
	}
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		run(line);
	return 0;
}
