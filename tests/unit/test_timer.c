/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include <errno.h>

#include "source/timer.h"

TEST(timer_names)
{
	enum timer_kind kind;

	CHECK_INT(timer__by_name("clock", &kind), 0);
	CHECK_INT(kind, TIMER_CLOCK);
	CHECK_INT(timer__by_name("tick", &kind), 0);
	CHECK_INT(kind, TIMER_TICK);
	CHECK_INT(timer__by_name("", &kind), -EINVAL);
	CHECK_INT(timer__by_name("ticks", &kind), -EINVAL);
	CHECK_INT(timer__by_name("Tick", &kind), -EINVAL);
	for (int i = 0; i < TIMER_KINDS; i++)
		CHECK(timer_names[i]);
}

TEST(timer_tick_hz)
{
	/* What clock_getres says for each CONFIG_HZ. */
	CHECK_INT(timer__tick_hz(10000000), 100);
	CHECK_INT(timer__tick_hz(4000000), 250);
	CHECK_INT(timer__tick_hz(3333333), 300);
	CHECK_INT(timer__tick_hz(1000000), 1000);
	CHECK_INT(timer__tick_hz(976563), 1024);
	CHECK_INT(timer__tick_hz(0), 0);
	CHECK_INT(timer__tick_hz(1), 0);
	CHECK_INT(timer__tick_hz(UINT64_MAX), 0);
}

static int check(uint32_t rate, struct tick tick, struct diag *d)
{
	memset(d, 0, sizeof(*d));
	return timer__check_tick(rate, &tick, d);
}

TEST(timer_rates_of_the_tick)
{
	struct tick hz250 = { .ns = 4000000, .timer_ns = 1 }, hz300 = { .ns = 3333333, .timer_ns = 1 };
	struct diag d;

	CHECK_INT(check(1, hz250, &d), 0);
	CHECK_INT(check(99, hz250, &d), 0);
	CHECK_INT(check(250, hz250, &d), 0);
	CHECK_INT(check(300, hz300, &d), 0);
	CHECK_INT(check(301, hz300, &d), -EINVAL);
	CHECK_INT(check(251, hz250, &d), -EINVAL);
	CHECK_INT(d.code, DIAG_USAGE);
	CHECK_STRING(d.text, "a rate of 251 is above that of this kernel's tick, 250 per second");
	CHECK(strstr(d.hint, "at 250 or slower") && d.advice == ADVICE_CLOCK);
}

TEST(timer_refuses_what_has_no_tick)
{
	struct tick tick = { .ns = 4000000, .timer_ns = 1 };
	struct diag d;

	strcpy(tick.tickless, "(null)\n");
	CHECK_INT(check(99, tick, &d), 0);
	strcpy(tick.tickless, "\n");
	CHECK_INT(check(99, tick, &d), 0);
	strcpy(tick.tickless, "2-7,9\n");
	CHECK_INT(check(99, tick, &d), -ENODEV);
	CHECK_INT(d.code, DIAG_NO_BPF);
	CHECK(strstr(d.text, "2-7,9 ") && d.advice == ADVICE_CLOCK);
	tick.tickless[0] = '\0';
	tick.timer_ns = 4000000;	/* booted with highres=off */
	CHECK_INT(check(99, tick, &d), -ENODEV);
	CHECK(d.advice == ADVICE_CLOCK);
	tick.timer_ns = 1;
	tick.ns = 0;
	CHECK_INT(check(99, tick, &d), -ENODEV);
	CHECK(d.advice == ADVICE_CLOCK);
}

/* The address, or what went wrong. */
static int64_t find(const char *text)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	uint64_t function = 0;
	int err = f ? timer__find_function(f, &function) : -ENOMEM;

	if (f)
		fclose(f);
	return err ? err : (int64_t)function;
}

#define HANDLER "ffffffff81433000 t tick_nohz_handler\n"

TEST(timer_finds_the_function_of_the_tick)
{
	int64_t handler = (int64_t)0xffffffff81433000, other = (int64_t)0xffffffff81433200;

	CHECK_INT(find(HANDLER), handler);
	/* The name of each kernel, also where the newest name means something else. */
	CHECK_INT(find(HANDLER "ffffffff81433100 T other\n"
		       "ffffffff81433200 t tick_sched_timer\n"), other);
	CHECK_INT(find("ffffffff81433200 t tick_sched_timer\n" HANDLER), other);
	CHECK_INT(find("ffffffff81433000 t tick_nohz_lowres_handler\n"
		       "ffffffff81433200 t tick_nohz_highres_handler\n"), other);
	/* A module's is another one. */
	CHECK_INT(find("ffffffffc0001000 t tick_sched_timer\t[other]\n" HANDLER), handler);
	CHECK_INT(find("ffffffffc0001000 t tick_sched_timer\t[other]\n"), -ENOENT);
	CHECK_INT(find("0000000000000000 t tick_nohz_handler\n"), -EPERM);
	CHECK_INT(find("ffffffff81433000 t tick_nohz_handler_2\nnonsense\n\n"), -ENOENT);
}
