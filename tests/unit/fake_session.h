/* SPDX-License-Identifier: BSD-2-Clause */
/* A session without a kernel: a test puts events in, and looks at what the engine has asked for. */
#ifndef FAKE_SESSION_H
#define FAKE_SESSION_H

#include "source/session.h"

#define FAKE_PROCESSES 16u
#define FAKE_EVENTS 64u

struct fake_session {
	struct session session;
	char calls[1024];		/* names of operations that change the session, each with a blank behind it */
	struct session_waits waits;
	bool has_waits, has_figures;
	uint32_t numbers;		/* given out */
	struct process_event lifecycle[FAKE_EVENTS];
	uint32_t event_count;
	struct {
		struct sample_event event;
		struct sample_frame frame;
	} samples[FAKE_EVENTS];
	uint32_t sample_count;
	struct source_counters counters[FAKE_PROCESSES][SOURCE_MAX];	/* by number of the process */
	struct sched_thread threads[FAKE_EVENTS];
	uint32_t thread_count;
	struct histogram gvl_waits;
	struct session_losses losses;
	uint32_t dropped;		/* number of the process that was dropped last */
	struct target_config config;	/* under which it goes on */
	struct trace_place place;	/* that was set last, for that VM, and how many were set */
	uint32_t place_vm, places;
	uint64_t interval;
	uint32_t rate;			/* that was set */
};

/* The one session that reader__open() gives. */
extern struct fake_session fake_session;

void fake_session__init(void);
/* Send an event; the rest of it is set by the caller. */
struct process_event *fake_session__event(uint32_t kind, uint32_t process);
/* A sample of one frame, which the kernel has counted. */
struct sample_event *fake_session__sample(enum sample_source source, uint32_t process, uint32_t vm, uint32_t id);

#endif /* FAKE_SESSION_H */
