/* SPDX-License-Identifier: BSD-2-Clause */
/* What is said of a profile that shows nothing. */
#include "test.h"

#include <errno.h>

#include "library/verdict.h"

static struct reports reports;
static struct diag diag;

/* The verdict on a report of that mode: samples that were taken, those that were lost, and those that it shows. */
static int verdict(const struct mode *mode, uint64_t taken, uint64_t lost, uint64_t shown)
{
	struct report *r = &reports.list[0];

	memset(&reports, 0, sizeof(reports));
	memset(&diag, 0, sizeof(diag));
	reports.count = 1;
	r->meta.mode = mode;
	r->meta.pid = 7;
	r->meta.duration = 1;
	r->meta.period = 10000000;
	r->meta.accounting.taken = taken;
	r->meta.accounting.whole = taken - lost;
	r->meta.accounting.lost[LOSS_RING_FULL] = lost;
	r->samples = shown;
	return verdict__give(&reports, TIMER_CLOCK, &diag);
}

TEST(verdict_on_a_process_that_does_not_collect)
{
	CHECK_INT(verdict(&mode_cpu, 10, 0, 10), 0);
	/* It used the CPU, and no sample was in a collection: nothing is wrong, and nothing was lost. */
	CHECK_INT(verdict(&mode_gc, 10, 0, 0), 0);
	CHECK_INT(verdict(&mode_gc, 10, 9, 0), 0);
	/* It waited: that it used no CPU time is said of a profile of CPU time alone. */
	CHECK_INT(verdict(&mode_gc, 0, 0, 0), 1);
	CHECK(strstr(diag.text, "nothing of mode gc happened"));
	CHECK_INT(verdict(&mode_cpu, 0, 0, 0), 1);
	CHECK(strstr(diag.text, "used no CPU time"));
	CHECK_INT(verdict(&mode_gc, 10, 10, 0), -ENODATA);
	CHECK(strstr(diag.text, "all 10 samples") && strstr(diag.text, "were lost, 10 of them because"));
}

TEST(verdict_on_sums)
{
	CHECK_INT(verdict(&mode_cpu, 10, 1, 9), 0);
	reports.list[0].meta.accounting.whole--;
	CHECK_INT(verdict__give(&reports, TIMER_CLOCK, &diag), -EBADMSG);
	/* None was taken. */
	CHECK_INT(verdict(&mode_cpu, 0, 0, 0), 1);
	CHECK(!strncmp(diag.text, "no samples: ", 12));
}
