/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One recording from start to end: processes, samples, names, the report.
 *
 * The caller owns the loop: it waits for engine__fd() or for as long as
 * engine__wait() says, and calls engine__step().  The engine handles no
 * signals, starts no command and prints nothing.
 */
#ifndef EXTPROF_ENGINE_H
#define EXTPROF_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "engine/settings.h"
#include "profile/report.h"

struct engine;
struct frame;
struct process_row;
struct sink;
struct sink_origin;

struct progress {
	bool waiting;		/* there is no ruby yet */
	bool paused;
	double elapsed;		/* s that were recorded since the first ruby was attached */
	double pauses;		/* s of pauses since then */
	uint64_t samples, lost;	/* since then, or since engine__restart() */
	uint32_t processes;	/* that are sampled now */
};

/*
 * Find the processes.  This may take long, if a process wants it so.  What
 * `settings` points to must live as long as the engine.  On failure *engine
 * is NULL.  Returns 0 or -errno with *d filled, as all of these do.
 */
int engine__create(struct engine **engine, const struct settings *settings, struct diag *d);
/*
 * Write each sample into a new file, see recording/writer.h, besides what is reported.  Before engine__begin().  A file
 * without samples is removed in the end.  With settings::rotate_time or rotate_size there is one file after the other,
 * and what is reported is what the last one has.
 */
int engine__record_to(struct engine *e, const char *path, uid_t uid, gid_t gid, struct diag *d);
/* After engine__finish(): was the file written well?  0 or -errno with *d.  *samples: that are in it, or in all files. */
int engine__recording_status(const struct engine *e, uint64_t *samples, struct diag *d);

struct segments_state {
	const char *path;	/* of the file that is written now, or was at last; NULL: there is none */
	uint64_t made, removed;	/* files; `made` with that one */
	uint64_t triggers;	/* how often one fired */
	const char *trigger;	/* the last one, clean; NULL: none has */
};
void engine__segments(const struct engine *e, struct segments_state *state);
/* The caller's own trigger fires, see triggers.h: `why` is shown.  0 or -EINVAL: there is no recording with triggers. */
int engine__trigger(struct engine *e, const char *why, struct diag *d);
/* Up to `room` pids of the processes that are sampled; returns how many. */
size_t engine__pids(const struct engine *e, pid_t *pids, size_t room);
/*
 * Another sink, besides those of the report: it gets the process, the thread and all labels of each sample.  Before
 * engine__begin(); it stays the caller's, and lives as long as the engine.  0 or -ENOSPC.
 */
int engine__add_sink(struct engine *e, struct sink *sink, struct diag *d);
/*
 * For such a sink, with the numbers of the sample that it is given: the names that are known now become those of the
 * frame.  0 or -ENOMEM.
 */
int engine__name_frame(struct engine *e, uint32_t number, const struct sink_origin *origin);
/* It moves when the next sample comes; its texts stay until engine__restart(). */
const struct frame *engine__frame(const struct engine *e, uint32_t number);
/* NULL: none. */
const struct process_row *engine__process_row(const struct engine *e, uint32_t row);
const struct mode *engine__mode(const struct engine *e, uint32_t number);
/* Everything else that can fail before something is recorded: BPF. */
int engine__open(struct engine *e, struct diag *d);
/* After the caller has let the command go, if there is one: the first search. */
int engine__begin(struct engine *e, struct diag *d);

/* Readable: engine__step() has something to do.  Owned by the engine. */
int engine__fd(const struct engine *e);
/* ns until engine__step() must be called at the latest; 0: now. */
uint64_t engine__wait(const struct engine *e);
/* Do what is due, without waiting.  1: the recording has ended by itself (the duration is
 * over, the processes have ended), 0: go on, < 0: it has failed. */
int engine__step(struct engine *e, struct diag *d);

/* Why the caller ends the recording ("Ctrl-C").  The text must live as long as the engine. */
void engine__set_ended(struct engine *e, const char *why);
/* Stop sampling, drain what waits, read the last names.  An error if nothing was ever sampled. */
int engine__finish(struct engine *e, struct diag *d);

/*
 * After engine__begin(): record nothing until engine__resume().  Probes that cost the processes time are taken away;
 * the processes are still followed.  No time, CPU time or wait of the pause counts.  -EALREADY: it is so already.
 */
int engine__pause(struct engine *e, struct diag *d);
int engine__resume(struct engine *e, struct diag *d);
bool engine__is_paused(const struct engine *e);

/* During the recording: make what was sampled so far ready to be reported.  Sampling pauses for
 * the moment. */
int engine__snapshot(struct engine *e, struct diag *d);

/*
 * Forget what was made ready by engine__snapshot(), which was called since the last step: what is reported next begins
 * there.  Processes, threads and names that are not needed any more are forgotten too, so that the memory of a
 * recording that goes on for days is that of a short one.  -EINVAL: there is no such snapshot.
 */
int engine__restart(struct engine *e, struct diag *d);

/*
 * Sample so often from now on.  Only after engine__restart(), before the next step: a window has one rate, and a file too.
 * -EBUSY: it is not so; -EINVAL and others: the rate cannot be, and that of before goes on.
 */
int engine__set_rate(struct engine *e, uint32_t rate, struct diag *d);
uint32_t engine__rate(const struct engine *e);

/*
 * Of a recording in several files: the next step in which the file has a sample begins another one, with that rate; 0: as
 * before.  why: with which the file ends; NULL: as others.  0, or -EINVAL: there is no such file.
 */
int engine__next_file(struct engine *e, uint32_t rate, const char *why, struct diag *d);

void engine__progress(struct engine *e, struct progress *p);

/* Samples of a process that were lost, and not told before. */
typedef void (*engine_loss)(void *context, const struct process_row *row, uint64_t count);
/* They are told by engine__progress(), before the counts begin anew or a row is dropped, and at the end. */
void engine__each_loss(struct engine *e, engine_loss each, void *context);
/* The reader that takes the samples, after engine__open().  *why has a text if BPF was wanted and may not be used;
 * `why` may be NULL. */
enum reader_kind engine__reader(const struct engine *e, const struct diag **why);
/*
 * While it records: also record this process, as one that the settings name.  -EEXIST: it is recorded already; or as
 * target__open().
 */
int engine__add(struct engine *e, pid_t pid, struct diag *d);
/* Record it no more; what was recorded of it stays.  Its children go on.  -ESRCH: it is not recorded. */
int engine__remove(struct engine *e, pid_t pid, struct diag *d);

struct report_request {
	uint32_t mode;		/* number in settings::modes */
	enum report_detail detail;
	uint32_t labels;	/* extra groups to show: a mask of 1u << enum group_key; each must be in
				 * settings::labels */
	const struct unit_choice *unit;	/* NULL: that of the mode */
	bool by_value;		/* without `unit`: the mode's value even if the mode is shown by count */
	bool by_command;	/* several processes, if no groups were chosen: by what they run, not by pid */
	bool accounts;		/* nobody looks at native frames: their lines are not looked up */
};

/* The number of the mode in the settings.  -ENOENT: it was not recorded. */
int engine__find_mode(const struct engine *e, const char *name, uint32_t *number);
/* The result as of engine__finish() or engine__snapshot(); can be made more than once.  The caller frees
 * the report, and then only the engine.  DIAG_USAGE: the mode is not counted in that unit. */
int engine__report(struct engine *e, const struct report_request *request, struct report *report,
		   struct diag *d);
/* The reports of all modes, in their order; request->mode is not looked at.  The caller frees them with
 * reports__free(). */
int engine__reports(struct engine *e, const struct report_request *request, struct reports *reports,
		    struct diag *d);
/* NULL is accepted. */
void engine__destroy(struct engine *e);

#endif /* EXTPROF_ENGINE_H */
