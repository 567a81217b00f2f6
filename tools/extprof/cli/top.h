/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof top: its command line, and what it measures. */
#ifndef EXTPROF_TOP_H
#define EXTPROF_TOP_H

#include <stdbool.h>

#include "cli/options.h"
#include "cli/top_view.h"

#define TOP_INTERVAL_DEFAULT 1000000000ull
/* Without --mode. */
#define TOP_MODES_DEFAULT "cpu,wall"

struct top_options {
	struct options record;		/* what it has in common with extprof record */
	bool modes_chosen;
	bool batch;
	uint64_t count;			/* of intervals; 0: no end */
	unsigned int rows;		/* of --batch */
	uint64_t interval;		/* ns */
	struct top_choice choice;	/* the first one */
};

/* Like options__parse(). */
int top_options__parse(struct top_options *o, int argc, char **argv, unsigned int flags);
void top_options__free(struct top_options *o);

/* Measures window by window. */
struct top_windows;

/*
 * Lists with commas: modes that are shown; those that are only for the head, NULL none; states that are shown, NULL all.
 * NULL: out of memory.
 */
struct top_windows *top_windows__new(const char *shown, const char *others, const char *states);
/* NULL is fine. */
void top_windows__free(struct top_windows *w);
/* The name of mode number `mode`. */
const char *top_windows__mode(const struct top_windows *w, uint32_t mode);
/* The modes that a recording needs for that, with commas. */
const char *top_windows__modes(const struct top_windows *w);
uint32_t top_windows__count(const struct top_windows *w);
/* The recording has begun. */
void top_windows__begin(struct top_windows *w);
/*
 * The window ends now: take it from the recording, of which a snapshot was made, or that has been finished.
 * 0 or -errno with *e filled.
 */
int top_windows__take(struct top_windows *w, struct extprof_recording *r, struct extprof_error *e);
/*
 * Show a time that is over: reports of it, one of each mode, as of extprof_recorded_reports().  What was shown before is
 * forgotten.  0 or -errno with *e filled.
 */
int top_windows__show(struct top_windows *w, struct extprof_report *const *reports, size_t count, struct extprof_error *e);
/* Look how much memory the processes have.  Between windows, or later. */
void top_windows__read_memory(struct top_windows *w);
/* Forget all that was taken. */
void top_windows__reset(struct top_windows *w);
/* Mode number `mode`: its rows, and what is 100 % of them; the head but for its message. */
const struct top_model *top_windows__model(const struct top_windows *w, uint32_t mode);
uint64_t top_windows__sum(const struct top_windows *w, uint32_t mode, bool all);
void top_windows__head(const struct top_windows *w, uint32_t mode, bool all, struct top_head *head);
/* The numbers of a row that are not those of stacks of its mode. */
void top_windows__more(const struct top_windows *w, const struct top_row *row, bool all, struct top_more *more);

#endif /* EXTPROF_TOP_H */
