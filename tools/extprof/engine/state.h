/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of an engine, for the files of this room. */
#ifndef EXTPROF_ENGINE_STATE_H
#define EXTPROF_ENGINE_STATE_H

#include <time.h>

#include "base/clock_steps.h"
#include "base/deadline.h"
#include "engine/aside.h"
#include "engine/engine.h"
#include "engine/process_set.h"
#include "engine/search.h"
#include "frames/frame_table.h"
#include "process/cgroup.h"
#include "process/target_file.h"
#include "profile/idle_history.h"
#include "profile/native_lines.h"
#include "profile/processes.h"
#include "profile/resolve.h"
#include "profile/states.h"
#include "profile/survivors.h"
#include "profile/tree.h"
#include "recording/sink.h"
#include "remote/event_queue.h"
#include "remote/gate.h"
#include "source/session.h"

#define MS 1000000ull
#define SECOND 1000000000ull

/* Time for a read that was under way when the time for more was over: a sample has to be whole.  The reads of a tick
 * take a tenth of it. */
#define READS_TIMEOUT (2 * SECOND)

/* A list of numbers of VMs, or of processes, that wait for something. */
struct waiting {
	uint32_t *list;
	uint32_t count;
	size_t room;
};

/* Source files of which a recording keeps something: sources.c. */
struct engine_sources {
	struct map64 known;	/* by hash of the path */
	struct engine_source {
		uint32_t row;	/* of the process in which it was seen */
		char *path;
	} *list;
	size_t room;
	uint32_t count, taken;
	bool texts;		/* --sources */
	uint64_t bytes;		/* of texts */
	uint32_t row;		/* of the process whose `files` are, + 1; 0 none */
	struct target_files files;
};

/* A recording in several files: segments.c. */
struct segments {
	char *base;		/* of their names; NULL: there is one file, of the name that was given */
	uint64_t name_ms;	/* in the last name: ms since 1970 */
	uint64_t made, removed;	/* files */
	uint64_t samples;	/* in those that have ended */
	bool counted;		/* the samples of the writer are among them: it has ended */
	uint64_t taken, lost;	/* for engine__progress(): before the last restart */
	struct clock_offsets clocks;	/* when the file was begun */
	time_t wall_step;		/* s by which the time of the day has jumped in the file */
	bool asked;		/* the next file is to begin, whatever the time and size */
	uint32_t rate;		/* of that one; 0: as before */
	char why[64];		/* with which the file ends then; "": as others */
	struct segment {
		char *path;
		dev_t device;
		ino_t inode;
		uint64_t until;	/* CLOCK_MONOTONIC, ns; 0: it is written */
		bool kept;	/* a trigger has fired at its time, or shortly before or after */
	} *list;		/* that are not removed, oldest first, if some are to be */
	size_t room;
	uint32_t count;
	uint64_t keep_until;	/* CLOCK_MONOTONIC, ns: files that begin before are kept, too */
};

/* Work on all VMs, of which some have to wait for the next step: where it goes on. */
struct visits {
	uint32_t next;		/* place in the list of VMs */
	bool more;		/* some wait */
};

struct engine_figures;
struct process_memory;
struct engine_shared;
struct engine_heap;
struct figures_process;

struct engine {
	struct settings settings;
	struct session *session;
	enum reader_kind reader;	/* that is used */
	struct diag why_reader;		/* why BPF is not, if that was not asked for */
	struct searcher *searcher;
	struct searcher *native_searcher;	/* NULL: native frames are not wanted */
	uint32_t native_files_told;	/* in the log */
	struct places *places;	/* in the files of rubies */
	struct context_files *context_files;	/* NULL: none was looked at */
	uint64_t contexts_at;	/* processes are looked at again then; CLOCK_MONOTONIC, ns */
	uint32_t contexts_next;	/* the one that has its turn: in the set */
	struct gate *gate;	/* holds the command until it is sampled; NULL: it runs */
	uint64_t gate_until;	/* CLOCK_MONOTONIC, ns */
	struct cgroup cgroup;	/* of the selection */
	uint64_t select_at;	/* CLOCK_MONOTONIC, ns */
	struct process_set set;
	struct tree tree;
	struct symbol_table table;
	struct frame_table frames;
	struct tree_sink tree_sink;
	struct pause_sink pause_sink;
	struct processes rows;
	struct resolver resolver;
	struct aside aside;		/* samples that wait for their turn */
	struct visits updates, looks_ahead;
	struct states states;
	struct native_frames native_frames;	/* resolver.native, if they are wanted */
	struct native_lines native_lines;	/* of `frames`, if they are wanted */
	struct kernel_frames kernel_frames;	/* resolver.kernel, if they are wanted */
	struct idle_history idle_histories[MODES_MAX];	/* by mode: of the windows before this one */
	struct gc_pauses pauses;
	struct engine_figures *figures;	/* NULL: they are not wanted */
	struct engine_shared *shared;	/* NULL until it is needed */
	struct engine_heap *heap;	/* NULL: there is no mode of what lives */
	uint32_t live_refused;		/* rubies that cannot be asked to keep a table of what lives, ... */
	int why_live_refused;		/* ... and why, of the first of them: negative errno */
	int why_heap;			/* why it was not known of all what lives, when that was last told: negative errno */

	uint32_t sources;	/* that are needed: mask of 1u << enum sample_source */
	uint32_t mode_sources;	/* that the modes need */
	struct source_counters kernel[SOURCE_MAX];	/* sums of all rows, by source */
	bool started;		/* the sources run */
	bool behind;		/* samples wait in the ring that there was no time for */
	uint64_t drained_at;	/* all samples that were sent before are out of the ring; CLOCK_MONOTONIC, ns */
	uint32_t drained;	/* events that the last step took from it */
	uint64_t started_at, ended_at;	/* CLOCK_MONOTONIC, ns */
	uint64_t from;		/* what is reported began then: started_at, or the last restart */
	uint64_t paused_at, resumed_at;	/* by the last snapshot or pause */
	bool paused;		/* since paused_since, if it was started */
	uint64_t paused_since;	/* CLOCK_MONOTONIC, ns */
	uint64_t paused_all, paused_here;	/* ns of those that are over, since started_at and since `from` */
	uint64_t resume_at;	/* CLOCK_MONOTONIC, ns: the end of the delay; 0: there is none */
	bool snapshot;		/* there was one since the last step */
	bool fresh;		/* the window has just begun: there was no step since */
	uint64_t lost_events, lost_accounts;	/* before the last restart */
	struct {
		engine_loss each;	/* NULL: nobody wants to know */
		void *context;
	} losses;
	uint64_t cpu_time_dropped;	/* ns: of rows that were dropped since then */
	uint64_t begun_before;	/* collections that had begun before the recording, as they were at the last restart */
	time_t started_wall;
	uint64_t ask_at;	/* for names to be kept; CLOCK_MONOTONIC, ns */
	uint64_t names_at;	/* of threads; CLOCK_MONOTONIC, ns */
	uint64_t ahead_at;	/* for names of stacks that wait; CLOCK_MONOTONIC, ns */
	struct map64 ahead_seen;	/* waits that were looked at for that */
	struct walker *ahead_walker;	/* for them; NULL: there was no look */
	uint64_t look_at;	/* for CPUs and memory; CLOCK_MONOTONIC, ns */
	struct deadline deadline;	/* with what the loop is at */
	struct deadline reads;		/* with one sample that it has begun */
	struct event_queue lifecycle;	/* events that are out of the ring */
	uint64_t refused_events;	/* that found no room there, but for pieces of memory */
	uint64_t remains_bytes;	/* of the memory of processes that have ended */
	bool draining_lifecycle;
	uint64_t new_at;	/* when a process was made or found last; CLOCK_MONOTONIC, ns */
	uint64_t young_threads_at;	/* when there were threads last that may name themselves yet */
	uint64_t drain_until;	/* CLOCK_MONOTONIC, ns */
	uint64_t freed_time;	/* ns: a process that ended so long ago, and that is not said to be freed, is looked for */
	uint64_t freed_look_at;	/* the next look; CLOCK_MONOTONIC, ns */
	uint64_t waits_time;	/* for the stacks of threads that wait when sampling stops; ns */
	const char *ended;	/* why; NULL: not yet */

	/* Closed and removed when all samples of them have been resolved. */
	struct waiting old_vms, old_processes;
	/* Children whose memory is still to be opened. */
	struct waiting new_vms;

	struct diag why;	/* the first wanted process was given up; no text: none was */
	uint32_t not_added;	/* rubies that a source could not attach to, and processes that could not be opened, ... */
	struct diag why_not_added;	/* ... and why, of the first of them */
	uint32_t intervals_kept;	/* rubies that allocation samples of another distance come from, ... */
	int why_interval_kept;		/* ... and why, of the first of them: negative errno */
	/* The process in the head of a report: the first one that was sampled, of the wanted ones if there is one. */
	uint32_t first_row;
	bool first_is_wanted;
	char ruby_version[32], ruby_description[160];

	struct recording_sink recording;	/* without a writer: there is no file */
	char *recording_path;		/* of the file that is written now */
	uid_t recording_uid;
	gid_t recording_gid;
	struct segments segments;
	struct engine_sources source_files;
	uint64_t next_record_figures;	/* CLOCK_MONOTONIC, ns */
	uint32_t figures_turn;		/* the next process of the list to look at */
	bool revisions_wait;	/* of some processes the commit is to be read */
	uint64_t titles_at;	/* CLOCK_MONOTONIC, ns: when titles are looked at next */
	struct triggers triggers;
	bool recording_begun, recording_ended;
	int recording_err;		/* of its end, ... */
	struct diag recording_why;	/* ... and why */

	int epoll_fd;
};

/*
 * The files of this room, by subject.  The step, the drain and the life of processes call each other.
 *
 * account.c: CPU time and counters
 */

/* Its CPU time is `cpu_time` in all, ns. */
void engine__account_cpu(struct engine *e, struct process *p, uint64_t cpu_time);
/* Read its CPU time, until it is freed.  False: it cannot be read any more. */
bool engine__read_cpu_time(struct engine *e, struct process *p);
/* Bring its row up to what the kernel has counted for it. */
void engine__take_counters(struct engine *e, struct process *p);
/* The sums of all rows, of the sources in the mask: what the kernel counted, and what arrived. */
void engine__total(const struct engine *e, uint32_t sources, struct source_counters *kernel,
		   struct received *received);

/* pause.c: times that are not recorded */

/* ns that were recorded, until `until`, of what began at `from`: started_at or engine::from. */
uint64_t engine__recorded(const struct engine *e, uint64_t from, uint64_t until);
/* ns of pauses since engine::from, until `until`. */
uint64_t engine__paused(const struct engine *e, uint64_t until);
/* When the duration is over; UINT64_MAX: never, or not as long as it is paused. */
uint64_t engine__end_of_duration(const struct engine *e);
/* Go on, if the delay is over.  0 or -errno. */
int engine__end_delay(struct engine *e, uint64_t now, struct diag *d);

/* report.c: what was sampled is put together */

/* The name of this machine. */
void engine__describe_host(struct report_meta *m);
/* "on-CPU at 99 Hz by the clock; off the CPU": of all sources in the mask.  Also the rate, the period and CPUs. */
void engine__describe_sources(const struct engine *e, uint32_t sources, struct report_meta *m);
/* Give what was sampled its names, as far as they are known now.  0 or -ENOMEM. */
int engine__name_frames(struct engine *e);
/* A window ends: keep what its threads did, for those that follow. */
void engine__remember_idle(struct engine *e);

/* finish.c: nothing is sampled, for a moment or any more */

/* Stop the sources, and take what they have sent.  session__start() follows, or session__rest(). */
void engine__hold(struct engine *e);
void engine__read_all_cpu_times(struct engine *e);

/* selection.c: conditions that a process has to fit */

/* Does it?  Reads /proc. */
bool engine__accepts(const struct engine *e, pid_t pid);
/* Look at all of them again, if it is time for that. */
void engine__select(struct engine *e, uint64_t now);

/* figures.c: sums of what processes did.  Without settings::figures all of these do nothing. */

int engine__figures_create(struct engine *e);	/* 0 or -ENOMEM */
void engine__figures_free(struct engine *e);
/* A ruby was found in the process.  `failed`: a mask of sources that could not attach, and why, of the first. */
void engine__figures_attach(struct engine *e, struct process *p, const struct vm *vm, uint32_t failed,
			    const struct diag *d);
/* A process that is followed made this one, which has a copy of its VM. */
void engine__figures_fork(struct engine *e, struct process *p);
/* It has ended, or is gone, with what it has used. */
void engine__figures_of_end(struct engine *e, const struct process *p, const struct process_event *ev);
void engine__figures_freed(struct engine *e, struct process *p);
/* It lives on, and is recorded no more: the last look at it. */
void engine__figures_leave(struct engine *e, struct process *p);
/* Its VM is about to be closed: the last chance for names of threads. */
void engine__figures_name(struct engine *e, const struct process *p, const struct vm *vm);
/* Count the event as a figure, if it is one.  True: it is nothing else, no mode has it. */
bool engine__take_figure(struct engine *e, const void *data, size_t size);
/* ns until engine__figures_step() is to be called; UINT64_MAX: never. */
uint64_t engine__figures_wait(const struct engine *e, uint64_t now);
/* Look who has the GVL, if it is time for that. */
void engine__figures_step(struct engine *e, uint64_t now);
/* Look how much memory processes have, if it is time for that. */
void engine__figures_memory(struct engine *e, uint64_t now);
/* The recording is about to end: the last look. */
void engine__figures_end(struct engine *e);

/* follow.c: states */

/* Append; 0 or -ENOMEM. */
int waiting__add(struct waiting *w, uint32_t number);
/* Take hold of a process that exists, and have the kernel follow it.  0; -EEXIST: it is followed
 * already; or an error as of target__open(). */
int engine__follow_pid(struct engine *e, pid_t pid, bool wanted, struct process **process, struct diag *d);
/* Leave the VM of the process, and look for the program that it runs now: since it had used so much CPU time, ns. */
void engine__leave_vm(struct engine *e, struct process *p);
void engine__look_again(struct engine *e, struct process *p, uint64_t cpu_time);
/* It is recorded no more, though it lives.  It is followed under the number in *config, for whoever knows that. */
void engine__drop(struct engine *e, struct process *p, const struct target_config *config);
/* Its last thread has ended, at that time, CLOCK_MONOTONIC, ns. */
void engine__process_ended(struct engine *e, struct process *p, uint64_t time, const char *how);

/* lifecycle.c: what the kernel tells */

void engine__drain_lifecycle(struct engine *e);
/* For a VM whose memory has gone: the engine is its context. */
void engine__vm_gone(void *context);
/* It is recorded no more, and all that the kernel counted for it is final: it goes when its samples are resolved. */
void engine__process_freed(struct engine *e, struct process *p);
/* Close what no sample needs any more. */
/* The kernel does not always tell that a process was freed: look for those that are gone. */
void engine__free_gone(struct engine *e, uint64_t now);
void engine__clean_up(struct engine *e);

/* alloc_intervals.c: between allocations that are sampled */

/* Have the VM use the interval of the settings, if allocations are recorded. */
void engine__set_interval(struct engine *e, struct vm *vm);
/* Those that live get their own back. */
void engine__restore_intervals(struct engine *e);

/* heap.c: objects that live.  Without a mode of them these do nothing. */

int engine__open_heap(struct engine *e);	/* 0 or -ENOMEM */
void engine__free_heap(struct engine *e);
/* The stacks of a mode. */
const struct tree *engine__tree_of(const struct engine *e, const struct mode *mode);
/* Have the VM keep a table of what lives. */
void engine__ask_live(struct engine *e, struct vm *vm);
/* Forget what has died, if it is time for that. */
void engine__step_heap(struct engine *e, uint64_t now);
/* No sample waits: find what lives now, for reports and the recording. */
void engine__settle_heap(struct engine *e);
/* Put it into the recording.  0 or what the recording says. */
int engine__record_heap(struct engine *e);
/* Sampling is about to go on after a pause. */
void engine__resume_heap(struct engine *e);
/* Frames are about to have the numbers of that table.  0 or -ENOMEM. */
int engine__restart_heap(struct engine *e, struct frame_table *frames);
/* Describe what became of the sampled objects.  Only with a mode of objects. */
void engine__describe_objects(const struct engine *e, struct report_meta *m);
/* Are there objects that may live?  A file will have them at its end. */
bool engine__holds_objects(const struct engine *e);

/* children.c: VMs that a fork made */

/* Ask a VM to keep the names of code that is gone. */
void engine__keep_names(const struct vm *vm);
/* A VM that was found or made: ask it for all that is to be written into its memory. */
void engine__ask_ruby(struct engine *e, struct vm *vm);
/* Its row begins no earlier than the recording, as far as that has begun. */
void engine__begin_row(struct engine *e, const struct process *p);
/* The row of the process is that of this VM.  0 or -ENOMEM. */
int engine__describe(struct engine *e, struct process *p, const struct vm *vm);
/* Open the memory of those that live. */
void engine__bind_children(struct engine *e);

/* own_names.c: attributes of processes */

/* The process runs what this VM runs: what it said before is of another program. */
void engine__describe_own(struct engine *e, struct process *p, struct process_row *row, const struct vm *vm);
/* Read which commit the files of some processes are. */
void engine__step_revisions(struct engine *e);
/* Read the titles of some processes again: a worker sets its own some time after the fork. */
void engine__step_titles(struct engine *e);
/* Read again what processes say of themselves, and their titles: an SDK says it some time after the start. */
void engine__read_own_names(struct engine *e);

/* attach.c: from a process to its VM */

/* The sources run from now on. */
int engine__start(struct engine *e, struct diag *d);
/* Begin the searches that are due, and take what others have found.  -errno: sampling cannot begin. */
int engine__search(struct engine *e, struct diag *d);
/* Have the command wait for that, if its start is to be recorded.  0 or -errno. */
int engine__hold_command(struct engine *e, struct diag *d);
/* Let it go if it is sampled, or will not be soon. */
void engine__release_command(struct engine *e, uint64_t now);
/* ns until the next search is due; UINT64_MAX: none. */
uint64_t engine__search_wait(const struct engine *e, uint64_t now);

/* engine.c: how often to look at all processes. */

/* Looks of one kind take one part in so many of a CPU, unless there is so much to look at that they would come too late. */
#define SHARE_OF_LOOKS 1000u
/* ns that a file of a long recording has at least; its intervals between two looks are so many times longer. */
#define LONG_FILE 10000000000ull
#define LONG_TIMES 4u
/* ns until the next look, of one that took CPU time since `from`: by that share, but not less and not more than these.  What is
 * seen late is of `most` at the most. */
uint64_t engine__interval(uint64_t least, uint64_t most, uint64_t from);

/* Does the recording go on for long?  Its files do.  It is to cost little, and may see later what is seldom new. */
static inline bool engine__is_long(const struct engine *e)
{
	return e->settings.rotate_time >= LONG_FILE;
}

/* When the profile was begun, or the file of several: seconds since 1970. */
static inline time_t engine__started(const struct engine *e)
{
	return e->started_wall + (time_t)((e->from - e->started_at) / SECOND);
}

/* The longest interval between two looks of a kind, which is `most` in other recordings. */
static inline uint64_t engine__longest(const struct engine *e, uint64_t most)
{
	return engine__is_long(e) ? LONG_TIMES * most : most;
}

/* contexts.c: of OpenTelemetry, of native threads.  Without a reader that takes them these do nothing. */

/* A ruby was found in the process: look at its libraries. */
void engine__look_for_context(struct engine *e, struct process *p);
/* The parent has made the process at that time, CLOCK_MONOTONIC, ns. */
void engine__fork_context(struct process *p, const struct process *parent, uint64_t time);
/* Look again at some that have none. */
void engine__step_contexts(struct engine *e);
/* A look is done. */
void engine__take_context(struct engine *e, struct process *p, const struct context_look *look);

/* discover.c: processes that exist already */

/*
 * Follow all processes that were made by the wanted ones, and are there now.  `of`: only those below that process, since
 * others may have been dropped; 0: all.
 */
void engine__discover_children(struct engine *e, pid_t of);
/* Follow all processes of the machine. */
void engine__discover_all(struct engine *e);

/* account.c */

/* settled: all that was sent has arrived, or never will. */
void engine__tell_losses(struct engine *e, bool settled);

/* ahead.c: names that will be needed */

/* Read the names of threads that wait, if it is time for that. */
void engine__read_ahead(struct engine *e, uint64_t now);

/* sinks.c: see engine__add_sink() */

/* Give a frame of code the name that is known now.  0 or -ENOMEM. */
int engine__name_code(struct engine *e, uint32_t number);

/* recording.c: the file of a recording.  Without engine__record_to() these do nothing. */

/* Write a block, if it is time for that.  -errno: the file cannot be written any more. */
int engine__step_recording(struct engine *e, uint64_t now);
/* A pause is over, or the recording. */
void engine__record_pause(struct engine *e, uint64_t from, uint64_t until);
/* Names are known and no sample follows: write the account and close the file. */
void engine__end_recording(struct engine *e);
void engine__free_recording(struct engine *e);
/* Its clocks have jumped, and it has no sample yet. */
void engine__set_begin(struct engine *e);
/* Make the file, or the next one of several. */
int engine__open_recording(struct engine *e, struct diag *d);
/* The file at recording_path. */
int engine__create_file(const struct engine *e, struct recording_writer **writer, struct diag *d);

/* segments.c: a recording in several files.  Without settings::rotate_time and rotate_size these do nothing. */

/* The names of files begin as that path does.  0 or -ENOMEM. */
int segments__init(struct segments *s, const char *path);
void segments__free(struct segments *s);
/* Those that are more than settings::keep, and with triggers those that none needs. */
void engine__remove_segments(struct engine *e);
/* A trigger has fired at that time, CLOCK_MONOTONIC, ns: files are kept from so many ns before it on. */
void engine__keep_segments(struct engine *e, uint64_t time, uint64_t before);
/* The next file: its path is recording_path then. */
int engine__create_segment(struct engine *e, struct recording_writer **writer, struct diag *d);
/* Has the file nothing that is worth to be kept? */
bool engine__file_is_empty(const struct engine *e);
/* Go on in another file, if it is time for that.  -errno, as engine__recording_status() says: that cannot be. */
int engine__rotate(struct engine *e);

/* triggers.c: see triggers.h.  Without settings::triggers these do nothing. */

int engine__open_triggers(struct engine *e, struct diag *d);
/* The reader is known: does it tell of all that they wait for?  0 or -EINVAL. */
int engine__check_triggers(const struct engine *e, struct diag *d);
/* Look at memory, if it is time for that. */
void engine__step_triggers(struct engine *e, uint64_t now);
/* Tell what was left out, while there is a file. */
void engine__end_triggers(struct engine *e);
/* The process has ended at that time, CLOCK_MONOTONIC, ns; failed: with another status than 0, or by a signal. */
void engine__trigger_exit(struct engine *e, const struct process *p, bool failed, uint64_t time, const char *how);

/* memory.c: 0 or -errno: it has none any more. */
int engine__read_memory(const struct process *p, struct process_memory *m);
/* Only its resident memory: the kernel tells it much faster. */
int engine__read_resident(const struct process *p, uint64_t *bytes);
/* 0 or -errno, as of heap_size__read(); -ESRCH: it is no ruby that can be looked at. */
int engine__read_heap(const struct process *p, struct heap_size *h);

/* record_figures.c: write how much memory processes have, if it is time for that, or for the last time.  0 or -errno of
 * the recording. */
int engine__record_figures(struct engine *e, uint64_t now, bool last);

/* sources.c: the files that the samples of a recording show. */

/* A frame of the process of that row is in that file.  0 or -ENOMEM. */
int engine__note_source(void *context, uint32_t row, const char *path);
/* Look at some of them, or at all that are left.  0 or -errno of the recording. */
int engine__take_sources(struct engine *e, bool all);
void engine_sources__free(struct engine_sources *s);

/* mn_threads.c: Ruby threads that share native threads, and parked fibers.  Without the source sched these do nothing. */

/* Look at them, if it is time for that. */
void engine__step_shared(struct engine *e, uint64_t now);
/* ns until the next look; UINT64_MAX: there is none. */
uint64_t engine__shared_wait(const struct engine *e, uint64_t now);
/* Tell what was seen of processes that have ended, while their programs are known. */
void engine__leave_shared(struct engine *e);
/* Take the accounts of those that live. */
void engine__flush_shared(struct engine *e);
/* Do not record what the threads did since the last look. */
void engine__skip_shared(struct engine *e);
void engine__free_shared(struct engine *e);

/* waits.c: threads that wait at the end */

/* After session__pause(): read the stacks of threads that wait now, as long as they do.  session__stop() follows. */
void engine__read_waits(struct engine *e);
/* The session is stopped, and all that it has sent is resolved: account for what threads were doing then. */
void engine__end_waits(struct engine *e);

/* restart.c: a new window, see engine.h */

/*
 * Figures by intervals go on without an end.  Drop threads that have ended and have no frame, and rows of processes that have
 * ended, if they are many.
 */
void engine__tidy(struct engine *e);
/* Like engine__restart(), after a snapshot.  The file of a recording has ended. */
int engine__forget(struct engine *e, struct diag *d);

/* natives.c: machine code of processes.  Without settings::native these do nothing. */

int engine__open_natives(struct engine *e, struct diag *d);
/* Readable: there is something for engine__step_natives(); -1: there never is. */
int engine__natives_fd(const struct engine *e);
/* The process runs that VM. */
void engine__add_natives(struct engine *e, const struct process *p, const struct vm *vm);
/* A child has a copy of it. */
void engine__fork_natives(struct engine *e, const struct process *p, const struct vm *parent, const struct vm *vm);
/* It was told that the process has executed something: what a JIT of another program has written is not the VM's. */
void engine__executed_natives(struct engine *e, const struct process *p, const struct vm *vm);
/* The process runs it no more. */
void engine__end_natives(struct engine *e, const struct vm *vm);
/* All its samples are resolved. */
void engine__remove_natives(struct engine *e, const struct vm *vm);
/* Take what threads have read, and give them what is to be read. */
void engine__step_natives(struct engine *e);
/* No sample comes any more: wait for names, not long. */
void engine__finish_natives(struct engine *e);
/* Maps of JITs are read again: they grow. */
void engine__want_maps(struct engine *e);
/* A new window: no stack is left. */
void engine__restart_natives(struct engine *e);

/* drain.c: samples that wait */

/* For the resolver. */
struct vm *engine__vm_of(void *context, const struct sample_event *s, uint32_t *row);
enum resolve_turn engine__turn(void *context, struct vm *vm, const struct sample_event *s, size_t size);
/* Resolve the samples that wait, as far as there is time.  -ECANCELED: more of them wait in the ring. */
int engine__drain(struct engine *e);
/* Count those that wait as not read. */
void engine__skip_rest(struct engine *e);
/* Is there more that can be done at once? */
bool engine__has_more(const struct engine *e);
/* Call back for each VM that wants it and whose turn it is, as long as its user has time in this step; the others come first
 * the next time. */
void engine__each_in_turn(struct engine *e, struct visits *v, bool (*wants)(const struct vm *vm),
			  void (*visit)(struct engine *e, struct vm *vm, void *context), void *context);
/* Read what symbols were put off for. */
void engine__update_vms(struct engine *e, bool all);
/* Also new names of what is known, before they are used: until that moment (CLOCK_MONOTONIC, ns), or a signal. */
void engine__update_last(struct engine *e, uint64_t until);

#endif /* EXTPROF_ENGINE_STATE_H */
