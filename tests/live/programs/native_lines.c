/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of C whose times are known: tests/live/case_native_lines.py finds them by their marks. */
#include <ruby.h>
#include <stdint.h>
#include <time.h>

static volatile unsigned long sum;
static uint64_t spent[2];

static inline uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline __attribute__((always_inline)) void turn(long n)
{
	for (long i = 0; i < n; i++)
		sum += 3; /* inlined */
}

static inline __attribute__((always_inline)) void spin(long n)
{
	turn(n); /* turned */
}

static __attribute__((noinline)) void work(long n)
{
	uint64_t begin = now(), middle;

	spin(n); /* called */
	middle = now();
	for (long i = 0; i < 2 * n; i++)
		sum ^= 5; /* own */
	spent[0] += middle - begin;
	spent[1] += now() - middle;
}

static VALUE ext_work(VALUE self, VALUE n)
{
	work(NUM2LONG(n));
	sum++;
	return self;
}

static VALUE ext_spent(VALUE self)
{
	return rb_ary_new_from_args(2, ULL2NUM(spent[0]), ULL2NUM(spent[1]));
}

void Init_native_lines(void)
{
	VALUE lines = rb_define_module("Lines");

	rb_define_singleton_method(lines, "work", ext_work, 1);
	rb_define_singleton_method(lines, "spent", ext_spent, 0);
}
