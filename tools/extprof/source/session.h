/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a recording gets its samples from: the processes that are followed, what happens to them, and the samples
 * of their threads.  A session is a BPF object with its programs (bpf_session.h), or a thread that reads the memory of
 * the processes (remote/session.h).  One thread uses a session.
 */
#ifndef EXTPROF_SESSION_H
#define EXTPROF_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "source/source.h"
#include "wire/lifecycle.h"
#include "wire/sample.h"
#include "wire/states.h"

struct session;

struct session_options {
	size_t size;		/* of this structure */
	uint32_t sources;	/* mask of 1u << enum sample_source; at least one */
	struct source_options source_options;
	bool follow_children;	/* children are sampled as their parents are; else only watched */
	bool tell_all;		/* session__drain_lifecycle() tells of each exec on the machine */
};

/* Returns whether to go on with the next one. */
typedef bool (*session_callback)(void *context, const void *data, size_t size);

/* Of the looks of a session that sees threads only then. */
struct session_looks {
	uint64_t count;			/* of all */
	/* At most one look tells what state a time was spent in.  By state: the sum of the squares of these times, in us,
	 * of the program that the process runs. */
	uint64_t doubts[STATE_ROOM];
};

typedef void (*account_callback)(void *context, const struct thread_account *account);

/* Each as the function below with its name. */
struct session_ops {
	void (*close)(struct session *s);
	int (*start)(struct session *s, struct diag *d);
	void (*pause)(struct session *s);
	void (*stop)(struct session *s);
	void (*detach)(struct session *s);
	void (*follow)(struct session *s);
	bool (*attaches)(const struct session *s);
	int (*add_ruby)(struct session *s, const struct source_target *target, uint32_t *failed, struct diag *d);
	uint32_t (*new_number)(struct session *s);
	int (*set_target)(struct session *s, const struct target_key *key, const struct target_config *config);
	int (*add_target)(struct session *s, const struct target_key *key, pid_t pid,
			  const struct target_config *config);
	void (*remove_target)(struct session *s, const struct target_key *key);
	void (*drop)(struct session *s, const struct target_key *key, uint32_t process, const struct target_config *config);
	int (*fd)(const struct session *s);
	int (*drain)(struct session *s, session_callback callback, void *context);
	int (*drain_lifecycle)(struct session *s, session_callback callback, void *context);
	void (*counters)(const struct session *s, uint32_t process, enum sample_source source,
			 struct source_counters *counters);
	void (*add_counters)(struct session *s, uint32_t process, enum sample_source source,
			     const struct source_counters *counters);
	void (*forget_counters)(struct session *s, uint32_t process);
	uint64_t (*lost_events)(const struct session *s);
	void (*facts)(const struct session *s, enum sample_source source, struct source_facts *facts);
	struct source *(*source)(const struct session *s, enum sample_source source);
	/* Of a session without BPF; else NULL. */
	void (*accounts)(const struct session *s, uint64_t interval, account_callback callback, void *context);
	void (*looks)(const struct session *s, uint32_t process, struct session_looks *looks);
};

struct session {
	const struct session_ops *ops;
};

/* NULL is fine. */
void session__close(struct session *session);

int session__start(struct session *session, struct diag *d);
/* What is measured in the kernel stays as it is now; session__stop() follows. */
void session__pause(struct session *session);
/* After this no more samples are taken.  Those that wait can still be drained. */
void session__stop(struct session *session);
/* The recording is over: sources leave the processes as they were.  It cannot be started again. */
void session__detach(struct session *session);
/* To be called now and then while it runs. */
void session__follow(struct session *session);

/* Does a source attach to each ruby? */
bool session__attaches(const struct session *session);
/* A ruby was found: sources that attach to it do so.  0 or -errno of the first that failed; those that failed are
 * added to the mask of 1u << enum sample_source. */
int session__add_ruby(struct session *session, const struct source_target *target, uint32_t *failed,
		      struct diag *d);

/* A new number for a process or a VM. */
uint32_t session__new_number(struct session *session);

/* Follow the process, or change what is known of it.  0 or -errno. */
int session__set_target(struct session *session, const struct target_key *key,
			const struct target_config *config);
/* The same, unless it is followed already: -EEXIST.  `pid`: as seen from here. */
int session__add_target(struct session *session, const struct target_key *key, pid_t pid,
			const struct target_config *config);
/* Stop following the process. */
void session__remove_target(struct session *session, const struct target_key *key);
/* Sample the process no more, whose number was `process`: it is followed under the number in `config`, without a VM. */
void session__drop(struct session *session, const struct target_key *key, uint32_t process,
		   const struct target_config *config);

/* Readable when many samples wait, or events of processes. */
int session__fd(const struct session *session);

/* Hand the waiting samples to the callback, also those that come meanwhile.  How
 * many, or -errno; -ECANCELED: the callback wanted no more. */
int session__drain(struct session *session, session_callback callback, void *context);
/* The same for struct process_event. */
int session__drain_lifecycle(struct session *session, session_callback callback, void *context);

/* What the kernel counted for that process (target_config::process) by that source. */
void session__counters(const struct session *session, uint32_t process, enum sample_source source,
		       struct source_counters *counters);
/* Add what was sampled without the kernel, while the source is stopped. */
void session__add_counters(struct session *session, uint32_t process, enum sample_source source,
			   const struct source_counters *counters);
/* Free the counters of that process. */
void session__forget_counters(struct session *session, uint32_t process);

/* Events of processes, and processes, that found no room in the kernel. */
uint64_t session__lost_events(const struct session *session);

/* A source that is used, for functions of its own; NULL: it is not. */
struct source *session__source(const struct session *session, enum sample_source source);
/* Of one source.  All 0: it is not used. */
void session__facts(const struct session *session, enum sample_source source, struct source_facts *facts);

/* Does the session see threads only when it looks at them?  Then the next two are for it. */
bool session__looks_only(const struct session *session);
/* Call back with the account of each thread that lives, as of now.  From here on the longest waits are those of interval
 * `interval`. */
void session__accounts(const struct session *session, uint64_t interval, account_callback callback, void *context);
void session__looks(const struct session *session, uint32_t process, struct session_looks *looks);

#endif /* EXTPROF_SESSION_H */
