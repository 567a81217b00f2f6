/* SPDX-License-Identifier: BSD-2-Clause */
/* The BPF programs of a recording: loaded as one object, with the rings that they send by and the
 * processes that they follow.  One thread uses a session. */
#ifndef EXTPROF_SESSION_H
#define EXTPROF_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "source/source.h"
#include "wire/lifecycle.h"
#include "wire/sample.h"

struct session;

struct session_options {
	size_t size;		/* of this structure */
	uint32_t sources;	/* mask of 1u << enum sample_source; at least one */
	struct source_options source_options;
	bool follow_children;	/* children are sampled as their parents are; else only watched */
	bool tell_all;		/* session__drain_lifecycle() tells of each exec on the machine */
};

/* Load the programs and follow processes from now on; nothing is sampled yet.  -errno with a
 * diagnosis.  It may set libbpf's log callback for the moment. */
int session__open(struct session **session, const struct session_options *options, struct diag *d);
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
/* A ruby was found: sources that attach to it do so.  0 or -errno of the first that failed. */
int session__add_ruby(struct session *session, const struct source_target *target, struct diag *d);

/* A new number for a process or a VM. */
uint32_t session__new_number(struct session *session);

/* Follow the process, or change what is known of it.  0 or -errno. */
int session__set_target(struct session *session, const struct target_key *key,
			const struct target_config *config);
/* The same, unless the kernel follows it already: -EEXIST. */
int session__add_target(struct session *session, const struct target_key *key,
			const struct target_config *config);
/* Read what the kernel has of the process; -ENOENT: the kernel does not follow it. */
int session__get_target(const struct session *session, const struct target_key *key,
			struct target_config *config);
/* Stop following the process. */
void session__remove_target(struct session *session, const struct target_key *key);

/* Readable when many samples wait, or events of processes. */
int session__fd(const struct session *session);

/* Returns whether to go on with the next one. */
typedef bool (*session_callback)(void *context, const void *data, size_t size);

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

#endif /* EXTPROF_SESSION_H */
