/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session gives a recording its samples.  It knows the processes that are followed, what happens to them, and the
 * samples of their threads.  A session is a BPF object with its programs (bpf_session.h), or a thread that reads the
 * memory of the processes (remote/session.h).  One thread uses a session.
 */
#ifndef EXTPROF_SESSION_H
#define EXTPROF_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/log.h"
#include "base/diag.h"
#include "source/source.h"
#include "source/unwind_maps.h"
#include "wire/wait_details.h"
#include "wire/histogram.h"
#include "wire/lifecycle.h"
#include "wire/sample.h"
#include "wire/states.h"
#include "wire/syscall.h"

struct session;

struct session_options {
	size_t size;		/* of this structure */
	uint32_t sources;	/* mask of 1u << enum sample_source; at least one */
	struct source_options source_options;
	bool follow_children;	/* children are sampled as their parents are; else only watched */
	bool tell_all;		/* session__drain_lifecycle() tells of each exec on the machine */
	struct log_to log;	/* of what libbpf and the kernel say */
};

/* Returns whether to go on with the next one. */
typedef bool (*session_callback)(void *context, const void *data, size_t size);

/* The looks of a session that sees threads only when it looks at them. */
struct session_looks {
	uint64_t count;			/* of all */
	/* At most one look tells what state a time was spent in.  By state: the sum of the squares of these times, in us,
	 * of the program that the process runs. */
	uint64_t doubts[STATE_ROOM];
};

/* How the kernel measures each wait. */
struct session_waits {
	uint64_t stopped_at;	/* the session was, CLOCK_MONOTONIC, ns; 0 never */
	uint64_t quantum;	/* ns: shorter waits are not samples of their own; 0: each wait is a sample */
	uint32_t states;	/* waits in these are samples, a mask of 1u << enum thread_state; 0: all */
	uint32_t details;	/* what is told of waits besides their state, a mask of WAIT_DETAIL_ */
	bool ends_on_cpu;	/* the stack of each wait is read when it is over; else that of a thread which is in no
				 * system call is read when it leaves the CPU */
};

/* Counts of what found no room in the kernel. */
struct session_losses {
	uint64_t threads;	/* and accounts of ended threads that were not received */
	uint64_t gvl_waits;
	uint64_t calls;
	uint64_t calls_not_returned;	/* so far */
};

typedef void (*thread_callback)(void *context, uint32_t tid, const struct sched_thread *thread);
typedef bool (*settle_callback)(void *context, uint32_t tid, struct sched_thread *thread);
typedef void (*call_callback)(void *context, const struct syscall_key *key, const struct syscall_sum *sum);

/* Those below the line may be NULL: the session does nothing then, and has nothing of the kind. */
struct session_ops {
	void (*close)(struct session *s);
	/* *began: from that moment on it is measured, CLOCK_MONOTONIC, ns. */
	int (*start)(struct session *s, uint64_t *began, struct diag *d);
	/* After this no more samples are taken.  Those that wait can still be drained. */
	void (*stop)(struct session *s);
	/* A new number for a process or a VM. */
	uint32_t (*new_number)(struct session *s);
	/* Follow the process, unless it is followed already: -EEXIST.  `pid`: as seen from here.  0 or -errno. */
	int (*add_target)(struct session *s, const struct target_key *key, pid_t pid,
			  const struct target_config *config);
	/* Stop following the process. */
	void (*remove_target)(struct session *s, const struct target_key *key);
	/* Sample the process no more, whose number was `process`: it is followed under the number in `config`, without a
	 * VM. */
	void (*drop)(struct session *s, const struct target_key *key, uint32_t process,
		     const struct target_config *config);
	/* Readable when many samples wait, or events of processes. */
	int (*fd)(const struct session *s);
	/* Hand the waiting samples to the callback, also those that come meanwhile.  How many, or -errno; -ECANCELED:
	 * the callback wanted no more. */
	int (*drain)(struct session *s, session_callback callback, void *context);
	/* The same for struct process_event. */
	int (*drain_lifecycle)(struct session *s, session_callback callback, void *context);
	/* The counters of that process (target_config::process) and that source. */
	void (*counters)(const struct session *s, uint32_t process, enum sample_source source,
			 struct source_counters *counters);
	/* Free all that was counted for that process. */
	void (*forget_counters)(struct session *s, uint32_t process);
	/* Forget a process that has ended and is gone, although the kernel has not told that it was freed. */
	void (*forget_process)(struct session *s, const struct target_key *key, uint32_t process, uint64_t started);
	/* Events of processes, and processes, that found no room. */
	uint64_t (*lost_events)(const struct session *s);
	/* The facts about one source.  All 0: the source is not used. */
	void (*facts)(const struct session *s, enum sample_source source, struct source_facts *facts);

	/* -------- */

	/* Freeze what is measured in the kernel; stop() follows. */
	void (*pause)(struct session *s);
	/* It was stopped, or has not been started, and start() follows later: what the processes pay for is taken away.
	 * Threads and processes are followed. */
	void (*rest)(struct session *s);
	/* The recording is over: sources leave the processes as they were.  It cannot be started again. */
	void (*detach)(struct session *s);
	/* It was stopped, or has not been started: so many samples per second from the next start on.  0 or -errno: nothing has
	 * changed. */
	int (*set_rate)(struct session *s, uint32_t rate, struct diag *d);
	/* To be called now and then while it runs. */
	void (*follow)(struct session *s);
	/* A ruby was found: sources that attach to it do so.  0 or -errno of the first that failed; those that failed are
	 * added to the mask of 1u << enum sample_source. */
	int (*add_ruby)(struct session *s, const struct source_target *target, uint32_t *failed, struct diag *d);
	/* Change what is known of a process that is followed.  0 or -errno. */
	int (*set_target)(struct session *s, const struct target_key *key, const struct target_config *config);
	/* Where threads of the process have records of their own, while it runs that VM.  0 or -errno.  NULL: they are not read. */
	int (*set_context)(struct session *s, const struct target_key *key, uint32_t vm, const struct trace_place *place);
	/* Add what was sampled without the kernel, while the source is stopped. */
	void (*add_counters)(struct session *s, uint32_t process, enum sample_source source,
			     const struct source_counters *counters);

	/* For a session that sees threads only when it looks at them. */
	void (*looks)(const struct session *s, uint32_t process, struct session_looks *looks);

	/* For a session that measures waits.  False: this one does not. */
	bool (*waits)(const struct session *s, struct session_waits *waits);
	/* While it is stopped: call back for each thread that is followed.  `tid` as seen from here; *thread is a copy.  If the
	 * callback returns true, what it has made of the copy is kept, with the time of the stop as its `since`. */
	void (*each_thread)(const struct session *s, settle_callback callback, void *context);
	/* Where the rules for native stacks go.  False: there are none. */
	bool (*unwind)(const struct session *s, struct unwind_maps *maps);
	/* Get the notes on the wait of the thread.  `tid`: in its own pid namespace.  False: there are none. */
	bool (*details)(const struct session *s, uint32_t process, uint32_t tid, struct wait_details *details);
	/* The last look at the GVL of a ractor, if it has not been sent.  NULL: there are none. */
	bool (*last_look)(const struct session *s, uint32_t process, uint32_t ractor, struct hold_event *e);

	/* Sums, if source_options::figures is set.  All of these can be asked for while the session runs. */

	/* From now on the longest waits are those of this interval: thread_account::longest. */
	void (*begin_interval)(struct session *s, uint64_t interval);
	/* Call back for each thread that lives.  *thread is a copy of one moment: its account is up to thread->since, or, of a
	 * session with looks, up to now.  0 or -ENOMEM. */
	int (*threads_now)(const struct session *s, thread_callback callback, void *context);
	/* How long threads of the process waited for the GVL so far, each wait that is over.  False: that is not known. */
	bool (*gvl_waits)(const struct session *s, uint32_t process, struct histogram *to);
	/* Call back for the sums so far of each process and system call.  False: they are not counted. */
	bool (*calls)(const struct session *s, call_callback callback, void *context);
	void (*losses)(const struct session *s, struct session_losses *losses);
};

struct session {
	const struct session_ops *ops;
};

/* Each as the member of session_ops of its name. */

/* NULL is fine. */
static inline void session__close(struct session *s)
{
	if (s)
		s->ops->close(s);
}

static inline int session__start(struct session *s, uint64_t *began, struct diag *d)
{
	return s->ops->start(s, began, d);
}

static inline void session__pause(struct session *s)
{
	if (s->ops->pause)
		s->ops->pause(s);
}

static inline void session__stop(struct session *s)
{
	s->ops->stop(s);
}

static inline void session__rest(struct session *s)
{
	if (s->ops->rest)
		s->ops->rest(s);
}

static inline void session__detach(struct session *s)
{
	if (s->ops->detach)
		s->ops->detach(s);
}

static inline int session__set_rate(struct session *s, uint32_t rate, struct diag *d)
{
	return s->ops->set_rate ? s->ops->set_rate(s, rate, d) : 0;
}

static inline void session__follow(struct session *s)
{
	if (s->ops->follow)
		s->ops->follow(s);
}

static inline int session__add_ruby(struct session *s, const struct source_target *target, uint32_t *failed,
				    struct diag *d)
{
	return s->ops->add_ruby ? s->ops->add_ruby(s, target, failed, d) : 0;
}

static inline uint32_t session__new_number(struct session *s)
{
	return s->ops->new_number(s);
}

static inline int session__set_target(struct session *s, const struct target_key *key,
				      const struct target_config *config)
{
	return s->ops->set_target ? s->ops->set_target(s, key, config) : 0;
}

static inline bool session__reads_contexts(const struct session *s)
{
	return s->ops->set_context;
}

static inline int session__set_context(struct session *s, const struct target_key *key, uint32_t vm,
				       const struct trace_place *place)
{
	return s->ops->set_context ? s->ops->set_context(s, key, vm, place) : 0;
}

static inline int session__add_target(struct session *s, const struct target_key *key, pid_t pid,
				      const struct target_config *config)
{
	return s->ops->add_target(s, key, pid, config);
}

static inline void session__remove_target(struct session *s, const struct target_key *key)
{
	s->ops->remove_target(s, key);
}

static inline void session__drop(struct session *s, const struct target_key *key, uint32_t process,
				 const struct target_config *config)
{
	s->ops->drop(s, key, process, config);
}

static inline int session__fd(const struct session *s)
{
	return s->ops->fd(s);
}

static inline int session__drain(struct session *s, session_callback callback, void *context)
{
	return s->ops->drain(s, callback, context);
}

static inline int session__drain_lifecycle(struct session *s, session_callback callback, void *context)
{
	return s->ops->drain_lifecycle(s, callback, context);
}

static inline void session__counters(const struct session *s, uint32_t process, enum sample_source source,
				     struct source_counters *counters)
{
	s->ops->counters(s, process, source, counters);
}

static inline void session__add_counters(struct session *s, uint32_t process, enum sample_source source,
					 const struct source_counters *counters)
{
	if (s->ops->add_counters)
		s->ops->add_counters(s, process, source, counters);
}

static inline void session__forget_process(struct session *s, const struct target_key *key, uint32_t process, uint64_t started)
{
	if (s->ops->forget_process)
		s->ops->forget_process(s, key, process, started);
}

static inline void session__forget_counters(struct session *s, uint32_t process)
{
	s->ops->forget_counters(s, process);
}

static inline uint64_t session__lost_events(const struct session *s)
{
	return s->ops->lost_events(s);
}

static inline void session__facts(const struct session *s, enum sample_source source, struct source_facts *facts)
{
	s->ops->facts(s, source, facts);
}

/* Does it see threads only when it looks at them? */
static inline bool session__looks_only(const struct session *s)
{
	return s->ops->looks != NULL;
}

static inline void session__looks(const struct session *s, uint32_t process, struct session_looks *looks)
{
	s->ops->looks(s, process, looks);
}

static inline bool session__waits(const struct session *s, struct session_waits *waits)
{
	return s->ops->waits && s->ops->waits(s, waits);
}

static inline void session__each_thread(const struct session *s, settle_callback callback, void *context)
{
	s->ops->each_thread(s, callback, context);
}

static inline bool session__wait_details(const struct session *s, uint32_t process, uint32_t tid, struct wait_details *details)
{
	return s->ops->details && s->ops->details(s, process, tid, details);
}

static inline bool session__last_look(const struct session *s, uint32_t process, uint32_t ractor, struct hold_event *e)
{
	return s->ops->last_look && s->ops->last_look(s, process, ractor, e);
}

static inline void session__begin_interval(struct session *s, uint64_t interval)
{
	s->ops->begin_interval(s, interval);
}

static inline int session__threads_now(const struct session *s, thread_callback callback, void *context)
{
	return s->ops->threads_now(s, callback, context);
}

static inline bool session__gvl_waits(const struct session *s, uint32_t process, struct histogram *to)
{
	return s->ops->gvl_waits && s->ops->gvl_waits(s, process, to);
}

static inline bool session__calls(const struct session *s, call_callback callback, void *context)
{
	return s->ops->calls && s->ops->calls(s, callback, context);
}

static inline void session__losses(const struct session *s, struct session_losses *losses)
{
	*losses = (struct session_losses){ 0 };
	if (s->ops->losses)
		s->ops->losses(s, losses);
}

static inline bool session__unwind(const struct session *s, struct unwind_maps *maps)
{
	return s->ops->unwind && s->ops->unwind(s, maps);
}

#endif /* EXTPROF_SESSION_H */
