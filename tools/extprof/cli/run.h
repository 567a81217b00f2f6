/* SPDX-License-Identifier: BSD-2-Clause */
/* The course of a recording, the same for record, stat and top: its command, signals, time and end. */
#ifndef EXTPROF_RUN_H
#define EXTPROF_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"
#include "cli/signals.h"
#include "cli/spawn.h"
#include "cli/sudo.h"
#include "extprof.h"

struct run;

/* Functions of a command at points of the run.  Each may be NULL.  0, or -errno with *e filled, which ends the run. */
struct run_ops {
	/* The options are known, nothing is done. */
	int (*check)(struct run *r, struct extprof_error *e);
	/* Make the recording, block signals (signals__block()), and open it; NULL: by the options. */
	int (*create)(struct run *r, struct extprof_error *e);
	/* The recording is open, and nothing is measured yet. */
	int (*prepare)(struct run *r, struct extprof_error *e);
	/* It has been stepped. */
	int (*stepped)(struct run *r, struct extprof_error *e);
	/* `next` is over. */
	int (*tick)(struct run *r, struct extprof_error *e);
	/* It has ended by itself or by the command's end; NULL: so does the run.  Else the run goes on until `end`. */
	int (*ended)(struct run *r, struct extprof_error *e);
	/* The output of COMMAND to a terminal is not shown, and COMMAND gets no keys. */
	bool takes_terminal;
	/* A signal ends COMMAND and the run, as q would. */
	bool ends_command;
	/* There are further runs, with other options: what those may need is kept. */
	bool begins_again;
};

struct run {
	struct options *options;
	const struct run_ops *ops;
	void *context;			/* of the ops */
	bool quiet;			/* say nothing but errors */

	struct sudo sudo;
	const struct output_owner *owner;	/* of new files; NULL: extprof's user */
	struct spawn spawn;
	struct signals signals;
	struct extprof_recording *recording;
	int epoll_fd;			/* signals, recording, and what a command adds */
	uint64_t next;			/* CLOCK_MONOTONIC, ns: the next tick; 0: none */
	const char *why;		/* it ended, if the user ended it */
	int interrupts;			/* that were seen */
	int signal;			/* the last one */
	bool over;			/* nothing is recorded any more */
	bool end;			/* set by a command: leave the loop */
	uint64_t began;			/* CLOCK_MONOTONIC, ns */
	bool said_waiting;		/* that no process matches */
	bool begun;			/* one did */
};

/* What run_ops::create() has to do, by the options.  After a failure: destroy the recording before it is called again. */
int run__create(struct run *r, struct extprof_error *e);

/* `options` have been parsed. */
void run__init(struct run *r, struct options *options, const struct run_ops *ops, void *context);
/* All that can fail before the recording, and its beginning.  0 or -errno with *e filled. */
int run__begin(struct run *r, struct extprof_error *e);
/* Say it if eBPF cannot be used.  run__begin() has done so unless it was to be quiet. */
void run__tell_reader(const struct run *r);
/* Until it ends.  Without ops::ended the recording is finished then.  1: there was
 * nothing to record, and *e says why. */
int run__go(struct run *r, struct extprof_error *e);
/* Have the descriptor end a wait. */
int run__wait_for(struct run *r, int fd, struct extprof_error *e);
/* Wait for COMMAND, if there is one.  The exit status: that of the command if it is STATUS_OK so far. */
int run__command_status(struct run *r, int status);
void run__free(struct run *r);

/* Tell of children that used CPU time and were not chosen, as the master of a cluster has them; false: there are none.
 * The recording has been finished, or a snapshot of it was taken. */
bool run__hint_at_children(const struct run *r, char *to, size_t size);

/* A terminal that shows a line that changes: not TERM=dumb. */
bool run__has_live_line(void);

#endif /* EXTPROF_RUN_H */
