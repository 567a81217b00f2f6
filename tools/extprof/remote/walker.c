/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/walker.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The memory that read_target() reads: walk.h passes no context to it. */
static _Thread_local const struct memory *reading;

static long read_target(void *to, uint32_t size, uint64_t address)
{
	return memory__read(reading, address, to, size);
}

#include "wire/walk.h"

struct walker {
	struct walk_scratch scratch;
	uint64_t cfp;
};

_Static_assert(offsetof(struct walk_scratch, frames) ==
	       offsetof(struct walk_scratch, event) + sizeof(struct sample_event),
	       "the frames are behind the event");

struct walker *walker__new(void)
{
	return calloc(1, sizeof(struct walker));
}

void walker__free(struct walker *w)
{
	free(w);
}

int walker__walk(struct walker *w, const struct memory *memory, const struct target_config *config,
		 uint64_t ec, uint32_t tid)
{
	struct walk_scratch *s = &w->scratch;
	int reason;

	memset(&s->event, 0, sizeof(s->event));
	s->event.tid = tid;
	s->event.source = SOURCE_CPU;
	w->cfp = 0;
	reading = memory;
	reason = walk__section(s, config, tid);
	if (!reason && s->event.kind == SAMPLE_RUBY)
		reason = walk__ec(s, config, ec);
	if (!reason && s->event.kind == SAMPLE_RUBY && memory__read(memory, ec + config->ec_cfp, &w->cfp, 8))
		reason = LOSS_EC_READ;
	reading = NULL;
	return reason;
}

struct sample_event *walker__event(struct walker *w)
{
	return &w->scratch.event;
}

const struct sample_frame *walker__frames(const struct walker *w)
{
	return w->scratch.frames;
}

uint64_t walker__cfp(const struct walker *w)
{
	return w->cfp;
}
