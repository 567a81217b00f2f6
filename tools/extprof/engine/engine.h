/* SPDX-License-Identifier: BSD-2-Clause */
/* One recording from start to end: target, session, samples, symbols. */
#ifndef EXTPROF_ENGINE_H
#define EXTPROF_ENGINE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/backoff.h"
#include "profile/resolve.h"
#include "cli/options.h"
#include "base/deadline.h"
#include "profile/report.h"
#include "source/session.h"
#include "cli/spawn.h"
#include "process/target.h"

/* Programs that one process may execute one after another. */
#define VMS_MAX 256

struct progress {
	bool waiting;		/* no ruby yet */
	double elapsed;		/* s */
	uint64_t samples, lost;
};

struct engine {
	const struct options *options;
	struct target target;
	struct spawn spawn;
	struct session *session;
	struct tree tree;
	struct symbol_table table;
	struct frames frames;
	struct processes processes;	/* one row */
	struct resolver resolver;
	struct vm *vms[VMS_MAX];
	uint32_t vm_count;

	bool started;		/* the timers run */
	bool attached;		/* the last vm is what runs now */
	bool exited;
	int signals_seen;
	uint64_t started_at, attached_at, ended_at;	/* CLOCK_MONOTONIC, ns */
	uint64_t ask_at;	/* for names to be kept; CLOCK_MONOTONIC, ns */
	struct backoff backoff;	/* while it is searched */
	uint64_t search_until;	/* 0: as long as the process lives */
	uint64_t changed_seen;	/* lost samples with reason section-changed ... */
	bool changed_known;	/* ... since the last vm was attached */
	uint64_t cpu_start, cpu_last;	/* CPU time of the process, ns */
	time_t started_wall;
	struct deadline deadline;	/* with what the loop is at */
	struct deadline reads;		/* with one that it has begun */
	uint64_t drain_until;	/* CLOCK_MONOTONIC, ns */
	const char *ended;	/* why */
	struct diag search;	/* why there is no vm */

	int epoll_fd, signal_fd;
	sigset_t old_mask;
	bool masked;

	void (*on_progress)(void *context, const struct progress *p);
	void *context;
};

/*
 * Find the process, which may take long if it wants so: a signal ends extprof,
 * as it ends any program.  From its return on signals wait to be handled.
 */
int engine__find(struct engine *r, const struct options *o, struct diag *d);
/* Everything else that can fail before something is recorded. */
int engine__open(struct engine *r, struct diag *d);
/* Record until the duration, a signal or the exit of the target. */
int engine__run(struct engine *r, struct diag *d);
/* The result; can be made more than once. */
int engine__report(struct engine *r, enum report_detail detail, struct report *report,
		     struct diag *d);
/* Wait for the command that was started; signals are for it now. */
void engine__wait(struct engine *r);
void engine__close(struct engine *r);

#endif /* EXTPROF_ENGINE_H */
