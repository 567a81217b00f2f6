/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/deadline.h"
#include "engine/reader.h"

struct fake_session fake_session;

static int fd = -1;

static void note(const char *call)
{
	size_t n = strlen(fake_session.calls);

	snprintf(fake_session.calls + n, sizeof(fake_session.calls) - n, "%s ", call);
}

static void fake__close(struct session *s)
{
	(void)s;
	note("close");
	close(fd);
	fd = -1;
}

static int fake__start(struct session *s, uint64_t *began, struct diag *d)
{
	(void)s, (void)d;
	*began = deadline__now();
	note("start");
	return 0;
}

static void fake__pause(struct session *s)
{
	(void)s;
	note("pause");
}

static void fake__stop(struct session *s)
{
	(void)s;
	note("stop");
}

static void fake__rest(struct session *s)
{
	(void)s;
	note("rest");
}

static int fake__set_rate(struct session *s, uint32_t rate, struct diag *d)
{
	(void)s;
	if (rate > 1000)
		return diag__set(d, DIAG_USAGE, EINVAL, "too much for this machine");
	fake_session.rate = rate;
	note("rate");
	return 0;
}

static void fake__detach(struct session *s)
{
	(void)s;
	note("detach");
}

static uint32_t fake__new_number(struct session *s)
{
	(void)s;
	return ++fake_session.numbers;
}

static int fake__add_target(struct session *s, const struct target_key *key, pid_t pid, const struct target_config *config)
{
	(void)s, (void)key, (void)pid, (void)config;
	return 0;
}

static int fake__set_context(struct session *s, const struct target_key *key, uint32_t vm, const struct trace_place *place)
{
	(void)s, (void)key;
	fake_session.place = *place;
	fake_session.place_vm = vm;
	fake_session.places++;
	return 0;
}

static void fake__remove_target(struct session *s, const struct target_key *key)
{
	(void)s, (void)key;
	note("remove");
}

static void fake__drop(struct session *s, const struct target_key *key, uint32_t process, const struct target_config *config)
{
	(void)s, (void)key;
	note("drop");
	fake_session.dropped = process;
	fake_session.config = *config;
}

static int fake__fd(const struct session *s)
{
	(void)s;
	return fd;
}

static int fake__drain(struct session *s, session_callback callback, void *context)
{
	int n = 0;

	(void)s;
	for (; fake_session.sample_count; n++) {
		size_t size = sizeof(struct sample_event), rest = --fake_session.sample_count;
		typeof(fake_session.samples[0]) first = fake_session.samples[0];

		memmove(fake_session.samples, fake_session.samples + 1, rest * sizeof(first));
		if (!callback(context, &first, size + first.event.nr_frames * sizeof(struct sample_frame)))
			return -ECANCELED;
	}
	return n;
}

static int fake__drain_lifecycle(struct session *s, session_callback callback, void *context)
{
	int n = 0;

	(void)s;
	for (; fake_session.event_count; n++) {
		struct process_event first = fake_session.lifecycle[0];
		size_t rest = --fake_session.event_count;

		memmove(fake_session.lifecycle, fake_session.lifecycle + 1, rest * sizeof(first));
		callback(context, &first, sizeof(first));
	}
	return n;
}

static void fake__counters(const struct session *s, uint32_t process, enum sample_source source, struct source_counters *c)
{
	(void)s;
	*c = process < FAKE_PROCESSES ? fake_session.counters[process][source] : (struct source_counters){ 0 };
}

static void fake__forget_process(struct session *s, const struct target_key *key, uint32_t process, uint64_t started)
{
	(void)s, (void)key, (void)process, (void)started;
	note("gone");
}

static void fake__forget_counters(struct session *s, uint32_t process)
{
	(void)s;
	note("forget");
	if (process < FAKE_PROCESSES)
		memset(fake_session.counters[process], 0, sizeof(fake_session.counters[process]));
}

static uint64_t fake__lost_events(const struct session *s)
{
	(void)s;
	return 0;
}

static void fake__facts(const struct session *s, enum sample_source source, struct source_facts *facts)
{
	(void)s;
	*facts = (struct source_facts){ .period = source };
}

static bool fake__waits(const struct session *s, struct session_waits *waits)
{
	(void)s;
	*waits = fake_session.waits;
	return fake_session.has_waits;
}

static void fake__each_thread(const struct session *s, settle_callback callback, void *context)
{
	(void)s;
	note("each");
	for (uint32_t i = 0; i < fake_session.thread_count; i++) {
		struct sched_thread copy = fake_session.threads[i];

		if (callback(context, copy.account.tid, &copy)) {
			copy.since = fake_session.waits.stopped_at;
			fake_session.threads[i] = copy;
		}
	}
}

static void fake__begin_interval(struct session *s, uint64_t interval)
{
	(void)s;
	fake_session.interval = interval;
}

static int fake__threads_now(const struct session *s, thread_callback callback, void *context)
{
	(void)s;
	for (uint32_t i = 0; i < fake_session.thread_count; i++)
		callback(context, fake_session.threads[i].account.tid, &fake_session.threads[i]);
	return 0;
}

static bool fake__gvl_waits(const struct session *s, uint32_t process, struct histogram *to)
{
	(void)s, (void)process;
	*to = fake_session.gvl_waits;
	return fake_session.has_figures;
}

static void fake__losses(const struct session *s, struct session_losses *losses)
{
	(void)s;
	*losses = fake_session.losses;
}

static const struct session_ops ops = {
	.close = fake__close, .start = fake__start, .pause = fake__pause, .stop = fake__stop, .rest = fake__rest,
	.detach = fake__detach, .set_rate = fake__set_rate,
	.new_number = fake__new_number, .add_target = fake__add_target, .set_context = fake__set_context, .remove_target = fake__remove_target,
	.drop = fake__drop, .fd = fake__fd, .drain = fake__drain, .drain_lifecycle = fake__drain_lifecycle,
	.forget_process = fake__forget_process,
	.counters = fake__counters, .forget_counters = fake__forget_counters, .lost_events = fake__lost_events,
	.facts = fake__facts, .waits = fake__waits, .each_thread = fake__each_thread,
	.begin_interval = fake__begin_interval, .threads_now = fake__threads_now, .gvl_waits = fake__gvl_waits,
	.losses = fake__losses,
};

void fake_session__init(void)
{
	memset(&fake_session, 0, sizeof(fake_session));
	fake_session.session.ops = &ops;
}

int reader__open(struct session **session, const struct session_options *options, enum reader_kind *kind, struct diag *why,
		 struct diag *d)
{
	(void)options, (void)d;
	memset(why, 0, sizeof(*why));
	*kind = READER_EBPF;
	fd = eventfd(0, EFD_CLOEXEC);
	*session = &fake_session.session;
	return 0;
}

struct process_event *fake_session__event(uint32_t kind, uint32_t process)
{
	struct process_event *e = &fake_session.lifecycle[fake_session.event_count++];

	*e = (struct process_event){ .kind = kind, .process = process };
	return e;
}

struct sample_event *fake_session__sample(enum sample_source source, uint32_t process, uint32_t vm, uint32_t id)
{
	typeof(fake_session.samples[0]) *s = &fake_session.samples[fake_session.sample_count++];
	struct source_counters *c = &fake_session.counters[process][source];

	memset(s, 0, sizeof(*s));
	s->event = (struct sample_event){
		.source = source, .process = process, .vm = vm, .tid = 1, .kind = SAMPLE_RUBY, .nr_frames = 1,
		.value = 10, .count = 1,
	};
	s->frame.id = id;
	c->taken++;
	c->whole++;
	return &s->event;
}
