/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library that is called by the gem ffi, and that calls functions in Ruby: in the thread that called it, and in one that
 * Ruby does not know.  Its stacks are known at every point, and it says how much CPU time each kind of work took.
 */
#include <pthread.h>
#include <time.h>

typedef long (*answer)(long);

#define FUNCTION __attribute__((noinline, noclone)) static
#define EXPORTED __attribute__((noinline, noclone))
/* What follows the call is done behind it, so that the function stays on the stack. */
#define AFTER() __asm__ volatile("" ::: "memory")

enum { HOWS = 8 };
static long took[HOWS];

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

FUNCTION void burn(long n)
{
	for (volatile long i = 0; i < n * 100; i++)
		;
	AFTER();
}

/* The kind of work is the last digit. */
EXPORTED long lib_work(long n)
{
	long from = now();

	burn(n / 10);
	__atomic_fetch_add(&took[n % 10 % HOWS], now() - from, __ATOMIC_RELAXED);
	return n;
}

EXPORTED long lib_took(long how)
{
	return took[how % HOWS];
}

EXPORTED void lib_forget(void)
{
	for (int i = 0; i < HOWS; i++)
		took[i] = 0;
}

FUNCTION long calls_1(answer f, long n)
{
	long r = f(n);

	AFTER();
	return r;
}

EXPORTED long lib_calls(answer f, long n)
{
	long r = calls_1(f, n);

	AFTER();
	return r;
}

struct request {
	answer f;
	long n;
};

/* It works by itself, as kind 7, and asks Ruby some times. */
FUNCTION void *foreign(void *data)
{
	struct request *r = data;

	for (int i = 0; i < 3; i++) {
		lib_work(r->n / 10 * 10 + 7);
		r->f(r->n);
		AFTER();
	}
	return NULL;
}

EXPORTED long lib_thread(answer f, long n)
{
	struct request r = { f, n };
	pthread_t thread;

	if (!pthread_create(&thread, NULL, foreign, &r))
		pthread_join(thread, NULL);
	AFTER();
	return 0;
}
