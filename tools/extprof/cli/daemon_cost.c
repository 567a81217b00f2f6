/* SPDX-License-Identifier: BSD-2-Clause */
/* The budget of extprof daemon.  daemon/own_cost.h decides which rate fits it.  This file prints the decision, and asks for a file
 * with that rate. */
#include "cli/daemon_cost.h"

#include <stdio.h>
#include <sys/resource.h>

#include "cli/clock.h"

double daemon_cost__cpu_time(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

void daemon_cost__begin(struct daemon_cost *c, const struct options *o)
{
	double share = 0;
	uint64_t window = 0;

	if (o->values[OPTION_BUDGET].given)
		value__budget(o->values[OPTION_BUDGET].text, &share, &window);
	c->asked = UINT64_MAX;
	own_cost__begin(&c->cost, share, window, o->recording.rate, clock__now(), daemon_cost__cpu_time());
}

/* Has a file with another rate been begun? */
static void follow_rate(struct daemon_cost *c, struct extprof_recording *recording)
{
	struct extprof_recording_files files = { .size = sizeof(files) };

	if (!extprof_recording_files(recording, &files) && files.rate != c->cost.rate)
		own_cost__changed(&c->cost, files.rate, clock__now(), daemon_cost__cpu_time());
}

int daemon_cost__watch(struct daemon_cost *c, struct extprof_recording *recording, uint64_t made, struct extprof_error *e)
{
	double percent = 100 * c->cost.share, share;
	char why[64];
	uint32_t rate;

	follow_rate(c, recording);
	/* It comes when there is a sample. */
	if (c->asked == made)
		return 0;
	switch (own_cost__look(&c->cost, clock__now(), daemon_cost__cpu_time(), &rate, &share)) {
	case OWN_COST_LOWER:
		fprintf(stderr, "extprof: it uses %.2f %% of a CPU itself, and may use %g %%: %u samples a second instead of %u\n", 100 * share,
			percent, rate, c->cost.rate);
		snprintf(why, sizeof(why), "%u Hz: extprof used %.2f %%, and may %g %%", rate, 100 * share, percent);
		break;
	case OWN_COST_HIGHER:
		fprintf(stderr, "extprof: it uses %.2f %% of a CPU itself, and may use %g %%: there is room for %u samples a second instead of %u\n",
			100 * share, percent, rate, c->cost.rate);
		snprintf(why, sizeof(why), "%u Hz: there is room in the budget", rate);
		break;
	case OWN_COST_BACK:
		fprintf(stderr, "extprof: it uses %.2f %% of a CPU itself, and may use %g %%: that is no matter of the rate, which is %u again\n",
			100 * share, percent, rate);
		snprintf(why, sizeof(why), "%u Hz: a lower rate did not help", rate);
		break;
	case OWN_COST_LOWEST:
		fprintf(stderr, "extprof: it uses %.2f %% of a CPU itself, and may use %g %%, at the lowest rate\n", 100 * share, percent);
		return 0;
	default:
		return 0;
	}
	c->asked = made;
	return extprof_recording_next_file(recording, rate, why, e);
}
