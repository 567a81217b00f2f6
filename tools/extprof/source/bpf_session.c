/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/bpf_session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/array.h"
#include "source/bpf_session_parts.h"
#include "source/figures.h"
#include "source/permission.h"
#include "source/sched.h"
#include "wire/counters.h"

static int on_record(void *context, void *data, size_t size)
{
	struct bpf_session *s = context;

	return s->callback(s->context, data, size) ? 0 : -ECANCELED;
}

static int open_ring(struct bpf_session *s, struct bpf_map *map, struct ring_buffer **ring, struct diag *d)
{
	struct epoll_event e = { .events = EPOLLIN };

	*ring = ring_buffer__new(bpf_map__fd(map), on_record, s, NULL);
	if (!*ring || epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, ring_buffer__epoll_fd(*ring), &e))
		return diag__set(d, DIAG_NO_BPF, errno, "cannot map the ring buffer: %s", strerror(errno));
	return 0;
}

static int follow_processes(struct bpf_session *s, struct diag *d)
{
	struct bpf_program *programs[] = { s->skel->progs.process_fork, s->skel->progs.process_exec,
					   s->skel->progs.process_exit, s->skel->progs.process_free };
	struct bpf_link **links[] = { &s->skel->links.process_fork, &s->skel->links.process_exec,
				      &s->skel->links.process_exit, &s->skel->links.process_free };

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		*links[i] = bpf_program__attach(programs[i]);
		if (!*links[i]) {
			int err = -errno;

			if (err == -EPERM || err == -EACCES)
				return permission__missing(d, err, "attach a BPF program to a tracepoint");
			return diag__set(d, DIAG_NO_BPF, -err,
					 "cannot follow the processes of this kernel: %s", strerror(-err));
		}
	}
	return 0;
}

static void bpf_session__close(struct session *session)
{
	struct bpf_session *s = (struct bpf_session *)session;

	if (!s)
		return;
	bpf_session__stop(&s->session);
	for (uint32_t i = 0; i < s->source_count; i++)
		s->sources[i].ops->destroy(s->sources[i].source);
	bpf_session__close_unwind(s);
	ring_buffer__free(s->samples);
	ring_buffer__free(s->lifecycle);
	extprof_bpf__destroy(s->skel);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	map64__free(&s->added_index);
	free(s->added);
	free(s);
}

static uint32_t bpf_session__new_number(struct session *session)
{
	struct bpf_session *s = (struct bpf_session *)session;

	return NUMBER_MAKE(++s->numbers, (uint32_t)s->cpus, (uint32_t)s->cpus);
}

static int bpf_session__set_target(struct session *session, const struct target_key *key, const struct target_config *config)
{
	struct bpf_session *s = (struct bpf_session *)session;

	return bpf_map_update_elem(bpf_map__fd(s->skel->maps.targets), key, config, BPF_EXIST);
}

static int bpf_session__set_context(struct session *session, const struct target_key *key, uint32_t vm,
				    const struct trace_place *place)
{
	struct bpf_session *s = (struct bpf_session *)session;
	/* The arguments that bpf/context.bpf.c takes. */
	uint64_t args[] = { key->pidns, key->pid, vm, place->module, (uint64_t)place->offset };
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = args, .ctx_size_in = sizeof(args));
	int err = bpf_prog_test_run_opts(bpf_program__fd(s->skel->progs.process_context), &run);

	if (err)
		return err;
	return run.retval ? -ENOENT : 0;
}

static int bpf_session__add_target(struct session *session, const struct target_key *key, pid_t pid,
				   const struct target_config *config)
{
	struct bpf_session *s = (struct bpf_session *)session;

	(void)pid;
	return bpf_map_update_elem(bpf_map__fd(s->skel->maps.targets), key, config, BPF_NOEXIST);
}

static void bpf_session__remove_target(struct session *session, const struct target_key *key)
{
	struct bpf_session *s = (struct bpf_session *)session;

	bpf_map_delete_elem(bpf_map__fd(s->skel->maps.targets), key);
}

static void bpf_session__forget_process(struct session *session, const struct target_key *key, uint32_t process, uint64_t started)
{
	struct bpf_session *s = (struct bpf_session *)session;
	int targets = bpf_map__fd(s->skel->maps.targets), ended = bpf_map__fd(s->skel->maps.ended);
	struct ended_key at, next, *before = NULL;	/* its last thread has ended: the entry of bpf/process.bpf.c */
	struct target_config config;
	struct target_key of;

	/* Another process can have its pid by now. */
	if (!bpf_map_lookup_elem(targets, key, &config) && config.process == process)
		bpf_map_delete_elem(targets, key);
	for (uint32_t i = 0; i < TARGETS_MAX && !bpf_map_get_next_key(ended, before, &next); i++) {
		if (next.started == started && !bpf_map_lookup_elem(ended, &next, &of) && !memcmp(&of, key, sizeof(of))) {
			bpf_map_delete_elem(ended, &next);
			break;
		}
		at = next;
		before = &at;
	}
}

static void bpf_session__drop(struct session *session, const struct target_key *key, uint32_t process,
			      const struct target_config *config)
{
	struct bpf_session *s = (struct bpf_session *)session;

	bpf_session__set_target(session, key, config);
	for (uint32_t i = 0; i < s->source_count; i++)
		if (s->sources[i].ops->drop)
			s->sources[i].ops->drop(s->sources[i].source, process);
}

static int bpf_session__fd(const struct session *session)
{
	const struct bpf_session *s = (const struct bpf_session *)session;

	return s->epoll_fd;
}

static int drain(struct bpf_session *s, struct ring_buffer *ring, session_callback callback, void *context)
{
	session_callback old_callback = s->callback;
	void *old_context = s->context;
	int n;

	s->callback = callback;
	s->context = context;
	n = ring_buffer__consume(ring);
	/* The callback of a sample may drain the events of processes: restore its own. */
	s->callback = old_callback;
	s->context = old_context;
	return n;
}

static int bpf_session__drain(struct session *session, session_callback callback, void *context)
{
	struct bpf_session *s = (struct bpf_session *)session;

	/* All that processes have sent is read now, so their shares of the ring are counted from 0 again. */
	s->skel->bss->ring_turn++;
	return drain(s, s->samples, callback, context);
}

static int bpf_session__drain_lifecycle(struct session *session, session_callback callback, void *context)
{
	struct bpf_session *s = (struct bpf_session *)session;

	return drain(s, s->lifecycle, callback, context);
}

static uint64_t added_key(uint32_t process, enum sample_source source)
{
	return (uint64_t)process << 8 | source;
}

/* MAP64_NONE: user space has counted nothing of it. */
static uint32_t find_added(const struct bpf_session *s, uint32_t process, enum sample_source source)
{
	return s->added_count ? map64__get(&s->added_index, added_key(process, source)) : MAP64_NONE;
}

static void bpf_session__counters(const struct session *session, uint32_t process, enum sample_source source,
		       struct source_counters *counters)
{
	const struct bpf_session *s = (const struct bpf_session *)session;
	struct counter_key key = { .process = process, .source = source };
	uint32_t i = find_added(s, process, source);

	if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.counters), &key, counters))
		memset(counters, 0, sizeof(*counters));
	if (i != MAP64_NONE)
		source_counters__add(counters, &s->added[i]);
}

static void bpf_session__add_counters(struct session *session, uint32_t process, enum sample_source source,
			   const struct source_counters *counters)
{
	struct bpf_session *s = (struct bpf_session *)session;
	uint32_t i = find_added(s, process, source);

	if (i == MAP64_NONE) {
		i = s->added_count;
		/* Without memory the sums do not agree, and the summary says so. */
		if (array__reserve(&s->added, i, 1, &s->added_room, MAP64_NONE, sizeof(*s->added)) ||
		    map64__add(&s->added_index, added_key(process, source), i))
			return;
		s->added[s->added_count++] = (struct source_counters){ 0 };
	}
	source_counters__add(&s->added[i], counters);
}

static struct source *used(const struct session *session, enum sample_source source)
{
	const struct bpf_session *s = (const struct bpf_session *)session;

	for (uint32_t i = 0; i < s->source_count; i++)
		if (s->sources[i].ops->id == source)
			return s->sources[i].source;
	return NULL;
}

static void bpf_session__forget_counters(struct session *session, uint32_t process)
{
	struct bpf_session *s = (struct bpf_session *)session;
	struct counter_key key = { .process = process };

	for (key.source = 0; key.source < SOURCE_MAX; key.source++) {
		uint32_t i = find_added(s, process, key.source);

		bpf_map_delete_elem(bpf_map__fd(s->skel->maps.counters), &key);
		if (i != MAP64_NONE)
			s->added[i] = (struct source_counters){ 0 };
	}
	if (used(session, SOURCE_SCHED))
		sched__forget(used(session, SOURCE_SCHED), process);
}

static uint64_t bpf_session__lost_events(const struct session *session)
{
	const struct bpf_session *s = (const struct bpf_session *)session;

	return s->skel->bss->events_lost + s->skel->bss->targets_full;
}

static void bpf_session__facts(const struct session *session, enum sample_source source, struct source_facts *facts)
{
	const struct bpf_session *s = (const struct bpf_session *)session;

	memset(facts, 0, sizeof(*facts));
	for (uint32_t i = 0; i < s->source_count; i++)
		if (s->sources[i].ops->id == source)
			s->sources[i].ops->facts(s->sources[i].source, facts);
}

static bool bpf_session__waits(const struct session *session, struct session_waits *waits)
{
	const struct source *sched = used(session, SOURCE_SCHED);

	if (sched)
		sched__waits(sched, waits);
	return sched != NULL;
}

static void bpf_session__each_thread(const struct session *session, settle_callback callback, void *context)
{
	sched__each(used(session, SOURCE_SCHED), callback, context);
}

static bool bpf_session__wait_details(const struct session *session, uint32_t process, uint32_t tid, struct wait_details *details)
{
	return sched__wait_details(used(session, SOURCE_SCHED), process, tid, details);
}

static bool bpf_session__last_look(const struct session *session, uint32_t process, uint32_t ractor, struct hold_event *e)
{
	return sched__last_look(used(session, SOURCE_SCHED), process, ractor, e);
}

static bool bpf_session__unwind(const struct session *session, struct unwind_maps *maps)
{
	const struct bpf_session *s = (const struct bpf_session *)session;

	*maps = s->unwind;
	return s->unwind.rows != NULL;
}

static void bpf_session__begin_interval(struct session *session, uint64_t interval)
{
	sched__set_interval(used(session, SOURCE_SCHED), interval);
}

static int bpf_session__threads_now(const struct session *session, thread_callback callback, void *context)
{
	return sched__each_now(used(session, SOURCE_SCHED), callback, context);
}

static bool bpf_session__gvl_waits(const struct session *session, uint32_t process, struct histogram *to)
{
	const struct source *sched = used(session, SOURCE_SCHED);

	if (sched)
		sched__gvl_waits(sched, process, to);
	return sched != NULL;
}

static bool bpf_session__calls(const struct session *session, call_callback callback, void *context)
{
	const struct source *calls = used(session, SOURCE_SYSCALL);

	return calls && syscall__each_sum(calls, callback, context);
}

static void bpf_session__losses(const struct session *session, struct session_losses *losses)
{
	const struct source *sched = used(session, SOURCE_SCHED), *calls = used(session, SOURCE_SYSCALL);

	if (sched)
		sched__losses(sched, losses);
	if (calls)
		syscall__losses(calls, losses);
}

static const struct session_ops ops = {
	.close = bpf_session__close,
	.start = bpf_session__start,
	.pause = bpf_session__pause,
	.stop = bpf_session__stop,
	.rest = bpf_session__rest,
	.set_rate = bpf_session__set_rate,
	.follow = bpf_session__follow,
	.detach = bpf_session__detach,
	.add_ruby = bpf_session__add_ruby,
	.new_number = bpf_session__new_number,
	.set_target = bpf_session__set_target,
	.set_context = bpf_session__set_context,
	.add_target = bpf_session__add_target,
	.remove_target = bpf_session__remove_target,
	.drop = bpf_session__drop,
	.fd = bpf_session__fd,
	.drain = bpf_session__drain,
	.drain_lifecycle = bpf_session__drain_lifecycle,
	.counters = bpf_session__counters,
	.add_counters = bpf_session__add_counters,
	.forget_counters = bpf_session__forget_counters,
	.forget_process = bpf_session__forget_process,
	.lost_events = bpf_session__lost_events,
	.facts = bpf_session__facts,
	.waits = bpf_session__waits,
	.each_thread = bpf_session__each_thread,
	.details = bpf_session__wait_details,
	.last_look = bpf_session__last_look,
	.unwind = bpf_session__unwind,
	.begin_interval = bpf_session__begin_interval,
	.threads_now = bpf_session__threads_now,
	.gvl_waits = bpf_session__gvl_waits,
	.calls = bpf_session__calls,
	.losses = bpf_session__losses,
};

int bpf_session__open(struct session **session, const struct session_options *o, struct diag *d)
{
	struct bpf_session *s;
	int err;

	*session = NULL;
	if (o->size != sizeof(*o))
		return diag__set(d, DIAG_INTERNAL, EINVAL, "wrong size of session_options");
	s = calloc(1, sizeof(*s));
	if (!s)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	s->cpus = libbpf_num_possible_cpus();
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->cpus < 1 || s->epoll_fd < 0) {
		err = diag__set(d, DIAG_INTERNAL, ENODEV, "cannot count the CPUs, or wait for events");
		goto cleanup;
	}
	if ((err = bpf_session__create_sources(s, o, d)) || (err = bpf_session__load(s, o, d)) || (err = bpf_session__open_unwind(s, o, d)) ||
	    (err = open_ring(s, s->skel->maps.samples, &s->samples, d)) ||
	    (err = open_ring(s, s->skel->maps.lifecycle, &s->lifecycle, d)) ||
	    (err = bpf_session__open_sources(s, d)) || (err = follow_processes(s, d)))
		goto cleanup;
	s->session.ops = &ops;
	*session = &s->session;
	s = NULL;
cleanup:
	bpf_session__close(s ? &s->session : NULL);
	return err;
}
