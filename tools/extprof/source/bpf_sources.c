/* SPDX-License-Identifier: BSD-2-Clause */
/* The sources of a session of BPF programs: they start, pause and end together. */
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/deadline.h"
#include "source/bpf_session_parts.h"
#include "source/source.h"

int bpf_session__create_sources(struct bpf_session *s, const struct session_options *o, struct diag *d)
{
	for (uint32_t id = 0; id < SOURCE_MAX; id++) {
		struct used_source *used = &s->sources[s->source_count];
		int err;

		if (!(o->sources & 1u << id))
			continue;
		used->ops = source__by_id(id);
		if (!used->ops)
			return diag__set(d, DIAG_INTERNAL, EINVAL, "there is no source %u", id);
		err = used->ops->create(&used->source, &o->source_options, d);
		if (err)
			return err;
		s->source_count++;
	}
	return 0;
}

int bpf_session__open_sources(struct bpf_session *s, struct diag *d)
{
	int err = 0;

	for (uint32_t i = 0; i < s->source_count && !err; i++)
		err = s->sources[i].ops->open(s->sources[i].source, s->skel, d);
	return err;
}

void bpf_session__pause(struct session *session)
{
	struct bpf_session *s = (struct bpf_session *)session;

	/* A wait that becomes a sample is counted, also where it ends now. */
	for (uint32_t i = 0; i < s->source_count; i++)
		if (s->sources[i].started && s->sources[i].ops->pause)
			s->sources[i].ops->pause(s->sources[i].source);
	if (s->skel)
		s->skel->bss->sampling_paused = 1;
}

/* A running program is an RCU reader.  Wait until all that run now have ended. */
static void end_programs(const struct bpf_session *s)
{
	bool lingers = false;

	for (uint32_t i = 0; i < s->source_count; i++) {
		const struct used_source *used = &s->sources[i];

		lingers |= used->started && (!used->ops->lingers || used->ops->lingers(used->source));
	}
	if (lingers)
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

void bpf_session__stop(struct session *session)
{
	struct bpf_session *s = (struct bpf_session *)session;

	bpf_session__pause(session);
	end_programs(s);
	for (uint32_t i = 0; i < s->source_count; i++) {
		if (s->sources[i].started && s->sources[i].ops->stop)
			s->sources[i].ops->stop(s->sources[i].source);
		s->sources[i].started = false;
	}
}

int bpf_session__start(struct session *session, uint64_t *began, struct diag *d)
{
	struct bpf_session *s = (struct bpf_session *)session;
	int err = 0;

	for (uint32_t i = 0; i < s->source_count && !err; i++) {
		err = s->sources[i].ops->start(s->sources[i].source, s->skel, d);
		s->sources[i].started = !err;
	}
	*began = deadline__now();
	if (err)
		return err;
	s->skel->bss->sampling_paused = 0;
	for (uint32_t i = 0; i < s->source_count; i++)
		if (s->sources[i].ops->go)
			s->sources[i].ops->go(s->sources[i].source, *began);
	return 0;
}

void bpf_session__rest(struct session *session)
{
	struct bpf_session *s = (struct bpf_session *)session;

	for (uint32_t i = 0; i < s->source_count; i++)
		if (s->sources[i].ops->rest)
			s->sources[i].ops->rest(s->sources[i].source);
}

int bpf_session__set_rate(struct session *session, uint32_t rate, struct diag *d)
{
	struct bpf_session *s = (struct bpf_session *)session;
	int err = 0;

	/* That of what runs is the first one, and the only one that can refuse a rate. */
	for (uint32_t i = 0; i < s->source_count && !err; i++)
		if (s->sources[i].ops->set_rate)
			err = s->sources[i].ops->set_rate(s->sources[i].source, s->skel, rate, d);
	return err;
}

void bpf_session__follow(struct session *session)
{
	struct bpf_session *s = (struct bpf_session *)session;

	for (uint32_t i = 0; i < s->source_count; i++)
		if (s->sources[i].ops->follow)
			s->sources[i].ops->follow(s->sources[i].source);
}

void bpf_session__detach(struct session *session)
{
	struct bpf_session *s = (struct bpf_session *)session;

	for (uint32_t i = 0; i < s->source_count; i++)
		if (s->sources[i].ops->detach)
			s->sources[i].ops->detach(s->sources[i].source);
}

int bpf_session__add_ruby(struct session *session, const struct source_target *target, uint32_t *failed,
				 struct diag *d)
{
	struct bpf_session *s = (struct bpf_session *)session;
	struct diag next;
	int first = 0;

	for (uint32_t i = 0; i < s->source_count; i++) {
		const struct source_ops *ops = s->sources[i].ops;
		int err = ops->add && (target->section || ops->adds_all) ? ops->add(s->sources[i].source, target, first ? &next : d) : 0;

		if (err)
			*failed |= 1u << s->sources[i].ops->id;
		if (!first)
			first = err;
	}
	return first;
}
