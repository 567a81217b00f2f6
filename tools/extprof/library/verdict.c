/* SPDX-License-Identifier: BSD-2-Clause */
#include "library/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void name_processes(const struct report *r, char *to, size_t size)
{
	uint32_t count = processes__followed(&r->processes);

	if (count > 1)
		snprintf(to, size, "%u processes", count);
	else
		snprintf(to, size, "process %d", r->meta.pid);
}

/* No sample, although the processes used CPU time. */
static int explain_misses(const struct report *r, enum timer_kind timer, const char *who, struct diag *d)
{
	diag__set(d, DIAG_INTERNAL, 0, "no sample was taken although %s used %.2f s of CPU time", who,
		  (double)r->meta.cpu_time / 1e9);
	if (timer == TIMER_TICK) {
		diag__hint(d, "the process never ran when the scheduler's tick came, or the "
			   "kernel's tick is not what extprof takes it for; try again");
		diag__advise(d, ADVICE_CLOCK, 0);
	} else {
		diag__hint(d, "the timers of this machine do not reach the process: a virtual "
			   "machine without cpu-clock events, or a pid namespace that is not its own");
	}
	return -EIO;
}

/* No sample: is that possible? */
static int explain_nothing(const struct report *r, enum timer_kind timer, struct diag *d)
{
	const struct report_meta *m = &r->meta;
	uint64_t allowed = 100000000 + 20 * m->period, children = 0;
	char who[48];

	name_processes(r, who, sizeof(who));
	/* They were not looked for. */
	if (m->not_added)
		return diag__set(d, DIAG_NO_INTERFACE, ENOENT, "no samples: %.600s", m->why_not_added);
	/* Events and collections need not come; time that is used is sampled. */
	if (!m->period || m->mode == &mode_gc) {
		diag__set(d, DIAG_OK, 0, "no samples: nothing of mode %s happened in %s in these %.1f s", m->mode->name,
			  who, m->duration);
		return 1;
	}
	if (m->cpu_time > allowed)
		return explain_misses(r, timer, who, d);
	diag__set(d, DIAG_OK, 0, "no samples: %s used no CPU time in these %.1f s "
		  "(an on-CPU profile shows nothing of a process that waits)", who, m->duration);
	for (uint32_t i = 0; i < r->processes.count; i++)
		if (r->processes.rows[i].watched)
			children += r->processes.rows[i].cpu_time_unfollowed;
	if (children) {
		diag__hint(d, "its children used %.2f s of CPU time", (double)children / 1e9);
		diag__advise(d, ADVICE_SUBPROCESSES, 0);
	}
	return 1;
}

/* Samples, and none that shows anything. */
static int explain_losses(const struct report *r, struct diag *d)
{
	const struct accounting *a = &r->meta.accounting;
	unsigned int most = 0;
	char who[48];

	name_processes(r, who, sizeof(who));
	for (unsigned int i = 0; i < LOSS_MAX; i++)
		if (a->lost[i] > a->lost[most])
			most = i;
	diag__set(d, DIAG_INTERNAL, 0,
		  "all %" PRIu64 " samples of %s were lost, %" PRIu64 " of them because: %s (%s)",
		  a->taken, who, a->lost[most], loss__text(most), loss__key(most));
	diag__hint(d, "there is no profile; extprof(1) explains the reasons of loss");
	return -ENODATA;
}

/* A mode of what lives shows nothing, and it is not so that nothing lives.  0: it is so, or it shows something. */
static int explain_objects(const struct report *r, struct diag *d)
{
	const struct report_meta *m = &r->meta;
	char who[48];
	int err;

	if (!m->mode->lives)
		return 0;
	if (m->why_objects_unknown) {
		diag__set(d, DIAG_INTERNAL, -m->why_objects_unknown, "what lives is not known of all processes: %s",
			  strerror(-m->why_objects_unknown));
		diag__hint(d, "record once more; one process at a time (-p) needs the least time at the end");
		return m->why_objects_unknown;
	}
	if (r->samples || r->left_out)
		return 0;
	name_processes(r, who, sizeof(who));
	if (m->objects_ended) {
		diag__set(d, DIAG_NO_PROCESS, 0, "nothing lives: %s has ended, and with it %" PRIu64 " objects that were sampled and "
			  "lived until then", who, m->objects_ended);
		diag__hint(d, "end the recording while the process runs: -d SECONDS");
		return -ENODATA;
	}
	if (m->objects_sampled || (!m->objects_refused && !m->objects_not_asked))
		return 0;
	err = diag__set(d, DIAG_PERMISSION, m->objects_not_asked ? -m->why_objects_not_asked : EACCES,
			"what lives is not known: %s keeps no table of it", who);
	diag__hint(d, "extprof has to be allowed to write to the memory of the process: run it as root");
	return err;
}

int verdict__give(const struct reports *reports, enum timer_kind timer, struct diag *d)
{
	bool taken = false, shown = false, kept = false, left_out = false, balanced = true;

	for (uint32_t i = 0; i < reports->count; i++) {
		const struct accounting *a = &reports->list[i].meta.accounting;

		taken |= a->taken != 0;
		shown |= reports->list[i].samples != 0;
		left_out |= reports->list[i].left_out != 0;
		kept |= accounting__lost(a) < a->taken;
		balanced &= accounting__balanced(a);
	}
	if (!taken)
		return explain_nothing(&reports->list[0], timer, d);
	/* A mode that takes a part of the samples can show nothing, though they came. */
	if (!shown && !kept)
		return explain_losses(&reports->list[0], d);
	for (uint32_t i = 0; i < reports->count && balanced; i++) {
		int err = explain_objects(&reports->list[i], d);

		if (err)
			return err;
	}
	if (balanced && !shown && left_out) {
		diag__set(d, DIAG_OK, 0, "no samples: none of the stacks goes through what --focus names");
		return 1;
	}
	if (balanced)
		return 0;
	return diag__set(d, DIAG_INTERNAL, EBADMSG, "the sums of samples do not agree; please report this");
}
