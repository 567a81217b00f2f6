/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Before and after: what has changed of methods, lines and stacks between two recordings, and which changes the noise of
 * sampling can have made.
 *
 * A share p of W, made of samples that stand for different amounts w, has the variance
 *
 *	p (1 - p) ((1 - p) m + p n) / W
 *
 * where m is the sum of w^2 over that of w of the samples that belong to it, and n is the same of the others.  If all
 * samples stand for the same, that is p (1 - p) / samples, and the rule below is the two-proportion z test.  p is of both
 * recordings together; m, n and W are of the side: its samples may stand for other amounts.  A change is decided if it
 * is larger than DIFF_ERRORS times its standard error.
 *
 * Live objects are a state, so their amounts are compared and not their shares.  All shares are then of the larger one of both
 * states, so that a change says by how much something has grown.  Objects that live in both states make no noise: the variance
 * of a change is the sum of w^2 of those that are in one of them (see recording/profile_states.c).
 */
#ifndef EXTPROF_ANALYSIS_DIFF_H
#define EXTPROF_ANALYSIS_DIFF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"
#include "profile/report.h"

/* In one of 16,000 comparisons of what is the same the noise is larger. */
#define DIFF_ERRORS 4.0

struct diff_change {
	uint64_t amount[2];	/* before and after, in the unit of the reports */
	double share[2];	/* of all; 0 to 1 */
	double noise;		/* DIFF_ERRORS standard errors of the difference of the shares */
	bool decided;		/* the difference is larger */
};

struct diff_row {
	const struct report_label *label;	/* of reports[0] */
	int32_t line;		/* of a line */
	bool approximate;
	struct diff_change self, total;
};

struct diff_list {
	struct diff_row *rows;
	uint32_t count;
};

/* The self amounts of a gem, a part of the standard library or the application, whatever its version. */
struct diff_owner {
	uint8_t kind;		/* enum owner_kind */
	const char *name, *versions[2];	/* before and after; NULL: it was not there */
	uint64_t amount[2];	/* in the unit of the reports */
	double squares[2];
	struct diff_change self;
};

struct diff {
	const struct report *reports;	/* two, as recording_profile__compare() makes them; the caller's */
	uint64_t all[2];
	double seconds[2];		/* of the recordings */
	double squares[2];		/* the sum of w^2 of all samples */
	bool states;			/* amounts are compared: those of what lives */
	struct diff_list methods, lines;
	struct diff_list of_app;	/* methods of the application */
	struct diff_owner *owners;	/* in order, as methods by self */
	uint32_t owner_count;
};

/* The sums alone, for diff__change(): nothing is to be freed. */
void diff__sum(struct diff *d, const struct report reports[2]);
/* 0 or -ENOMEM.  The caller frees in both cases. */
int diff__make(struct diff *d, const struct report reports[2]);
void diff__free(struct diff *d);

/* The change from an amount before to an amount after, with the squares of the samples on each side. */
struct diff_change diff__change(const struct diff *d, uint64_t before, uint64_t after, const double squares[2]);

/* Methods whose share of their own, or with what they call, has grown by more than `above` (0 to 1), and by more than the
 * noise. */
uint32_t diff__grown(const struct diff *d, double above);

/* Order a list: what is decided first, by the change of the share. */
void diff_list__sort(struct diff_list *l, bool by_self);
/* How many of its changes are decided. */
uint32_t diff_list__decided(const struct diff_list *l, bool of_self);

struct diff_options {
	const char *names[2];	/* of the recordings; clean */
	uint64_t since[2], until[2];	/* which time of them, ns since 1970; 0: from the begin, to the end */
	bool html, color;
	unsigned int top;	/* rows of each table */
	unsigned int width;	/* columns, 0 as many as needed */
	double above;		/* a share that no method may grow by; 0: any may */
};

/* The name of a side, with the time that was chosen: "app.extprof, 2026-11-27 02:50:00 to 03:10:00". */
void diff__add_name(const struct diff_options *o, int side, struct text *to);
/* The version of the code of a side: " (commit 0123456789ab)"; nothing if it is not known. */
void diff__add_version(const struct diff *d, int side, struct text *to);

/* Which share of a side --focus has left out; it has something. */
double diff__left_out(const struct report *r);

/* Each: 0 or -errno, of the stream or -ENOMEM.  They order the lists. */
int diff__write_text(struct diff *d, const struct diff_options *o, FILE *to);
int diff__write_json(struct diff *d, const struct diff_options *o, FILE *to);
/* The stacks of both in one graph: a frame is as wide as its mean share, and has the colour of its change. */
int diff__write_graph(struct diff *d, const struct diff_options *o, FILE *to);

#endif /* EXTPROF_ANALYSIS_DIFF_H */
