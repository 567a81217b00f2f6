/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of a session of BPF programs, for the files that open one. */
#ifndef EXTPROF_BPF_SESSION_PARTS_H
#define EXTPROF_BPF_SESSION_PARTS_H

#include "base/map64.h"
#include "extprof.skel.h"
#include "source/session.h"

struct ring_buffer;

/* The BPF programs of a recording. */
struct bpf_session {
	struct session session;
	struct extprof_bpf *skel;
	/* Those that are used, in the order of their ids. */
	struct used_source {
		const struct source_ops *ops;
		struct source *source;
		bool started;
	} sources[SOURCE_MAX];
	uint32_t source_count;
	struct ring_buffer *samples, *lifecycle;
	int epoll_fd;
	int cpus;		/* possible ones */
	uint32_t numbers;	/* given out */
	session_callback callback;
	void *context;
	/* Counts of user space, by process and source.  The kernel adds to its own counters at any time, so these are
	 * kept apart from those. */
	struct map64 added_index;
	struct source_counters *added;
	uint32_t added_count;
	size_t added_room;
	struct unwind_maps unwind;	/* rows NULL: native stacks are not wanted */
};

/* bpf_load.c: open the object, choose its programs, and have the kernel take it.  0 or -errno with *d. */
int bpf_session__load(struct bpf_session *s, const struct session_options *o, struct diag *d);

/* bpf_sources.c.  The operations of a session of these names, and what opens the sources.  0 or -errno with *d. */
int bpf_session__create_sources(struct bpf_session *s, const struct session_options *o, struct diag *d);
int bpf_session__open_sources(struct bpf_session *s, struct diag *d);
int bpf_session__start(struct session *session, uint64_t *began, struct diag *d);
void bpf_session__pause(struct session *session);
void bpf_session__stop(struct session *session);
void bpf_session__rest(struct session *session);
int bpf_session__set_rate(struct session *session, uint32_t rate, struct diag *d);
void bpf_session__follow(struct session *session);
void bpf_session__detach(struct session *session);
int bpf_session__add_ruby(struct session *session, const struct source_target *target, uint32_t *failed, struct diag *d);

/* bpf_unwind.c: what native stacks need, if they are wanted: before the object is loaded, after that, and at the end. */
int bpf_session__configure_unwind(struct bpf_session *s, const struct session_options *o, struct diag *d);
int bpf_session__open_unwind(struct bpf_session *s, const struct session_options *o, struct diag *d);
void bpf_session__close_unwind(struct bpf_session *s);

#endif /* EXTPROF_BPF_SESSION_PARTS_H */
