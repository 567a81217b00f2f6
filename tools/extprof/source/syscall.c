/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples of system calls, at their entry or, with the duration, at their exit. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "extprof.skel.h"
#include "source/figures.h"
#include "source/permission.h"
#include "source/source.h"
#include "source/syscall_set.h"

/* Calls that are under way at the same time, which is one for each thread of the followed processes. */
#define BEGUN_MAX 65536u
/* Sums of a process and a call.  A program uses some tens of different calls. */
#define SUMS_MAX 65536u

struct source {
	struct syscall_set set;
	bool latency, native;
	uint32_t every;		/* one of so many calls is a sample */
	bool figures;
	const uint64_t *sums_lost;
	int sums;
	struct bpf_program *programs[2];
	struct bpf_link *links[2];
	int begun;		/* the maps of these names */
	int counters;
};

static void detach(struct source *s)
{
	for (size_t i = 2; i-- > 0;) {
		bpf_link__destroy(s->links[i]);
		s->links[i] = NULL;
	}
}

static void syscall__destroy(struct source *s)
{
	if (!s)
		return;
	detach(s);
	free(s);
}

static int syscall__create(struct source **source, const struct source_options *o, struct diag *d)
{
	struct source *s;

	*source = NULL;
	if (o->size != sizeof(*o))
		return diag__set(d, DIAG_INTERNAL, EINVAL, "wrong size of source_options");
	s = calloc(1, sizeof(*s));
	if (!s)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	s->latency = o->syscall_latency || o->call_figures;
	s->figures = o->call_figures;
	s->native = o->native;
	s->every = !o->event_period || s->latency ? 1 : o->event_period < UINT32_MAX ? (uint32_t)o->event_period : UINT32_MAX;
	if (o->syscalls)
		s->set = *o->syscalls;
	if (syscall_set__is_empty(&s->set))
		s->set.all = true;
	*source = s;
	return 0;
}

static int syscall__configure(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	static const char *const no_return[] = { "exit", "exit_group", "rt_sigreturn" };
	struct syscall_set not_back = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < SYSCALL_NUMBERS && s->set.all; i++)
		syscall_set__add(&s->set, i);
	memcpy((void *)skel->rodata->syscall_bits, s->set.bits, sizeof(s->set.bits));
	skel->rodata->syscall_all = s->set.all;
	skel->rodata->syscall_every = s->every;
	s->programs[0] = s->latency ? (s->native ? skel->progs.syscall_end_native : skel->progs.syscall_end) :
				      (s->native ? skel->progs.syscall_enter_native : skel->progs.syscall_enter);
	s->programs[1] = !s->latency ? NULL : s->native ? skel->progs.syscall_begin_native : skel->progs.syscall_begin;
	for (size_t i = 0; i < 2 && s->programs[i]; i++)
		bpf_program__set_autoload(s->programs[i], true);
	if (s->latency) {
		for (size_t i = 0; i < sizeof(no_return) / sizeof(no_return[0]); i++)
			syscall_set__add(&not_back, (uint32_t)syscall__number(no_return[i]));
		memcpy((void *)skel->rodata->syscall_no_return, not_back.bits, sizeof(not_back.bits));
		err = bpf_map__set_max_entries(skel->maps.syscalls_begun, BEGUN_MAX);
	}
	skel->rodata->syscalls_as_figures = s->figures;
	if (!err && s->figures)
		err = bpf_map__set_max_entries(skel->maps.syscall_sums, SUMS_MAX);
	return err ? diag__set(d, DIAG_INTERNAL, -err, "cannot set the size of a map") : 0;
}

static int syscall__open(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	(void)d;
	s->begun = bpf_map__fd(skel->maps.syscalls_begun);
	s->counters = bpf_map__fd(skel->maps.counters);
	s->sums = bpf_map__fd(skel->maps.syscall_sums);
	s->sums_lost = &skel->bss->syscalls_lost;
	return 0;
}

static int syscall__start(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	(void)skel;
	for (size_t i = 0; i < 2 && s->programs[i]; i++) {
		int err;

		if (!s->links[i])
			s->links[i] = bpf_program__attach(s->programs[i]);
		if (s->links[i])
			continue;
		err = -errno;
		if (err == -EPERM || err == -EACCES)
			return permission__missing(d, err, "attach a BPF program to the system calls");
		diag__set(d, DIAG_NO_BPF, -err, "cannot attach to the system calls: %s", strerror(-err));
		diag__hint(d, "mode syscall needs a kernel with CONFIG_HAVE_SYSCALL_TRACEPOINTS and "
			   "CONFIG_FTRACE_SYSCALLS, as those of all common distributions are");
		return err;
	}
	return 0;
}

/* Calls that have not returned are lost: their duration is not known. */
static void lose_unfinished(const struct source *s)
{
	struct counter_key key = { .source = SOURCE_SYSCALL };
	struct source_counters c;
	struct syscall_begun begun;
	uint32_t tid;

	while (!bpf_map_get_next_key(s->begun, NULL, &tid)) {
		int err = bpf_map_lookup_elem(s->begun, &tid, &begun);

		if (bpf_map_delete_elem(s->begun, &tid))
			break;
		key.process = begun.process;
		if (err)
			continue;
		if (bpf_map_lookup_elem(s->counters, &key, &c))
			memset(&c, 0, sizeof(c));
		syscall_begun__lose(&c);
		bpf_map_update_elem(s->counters, &key, &c, BPF_ANY);
	}
}

static void syscall__stop(struct source *s)
{
	if (s->latency && !s->figures)
		lose_unfinished(s);
}

bool syscall__each_sum(const struct source *s, call_callback callback, void *context)
{
	struct syscall_key *before = NULL, key;
	struct syscall_sum sum;

	/* Nothing is taken out of this map, so the walk does not begin anew. */
	for (uint32_t i = 0; s->figures && i < SUMS_MAX && !bpf_map_get_next_key(s->sums, before, &key); i++) {
		before = &key;
		if (!bpf_map_lookup_elem(s->sums, &key, &sum))
			callback(context, &key, &sum);
	}
	return s->figures;
}

static uint64_t not_returned(const struct source *s)
{
	uint32_t *before = NULL, tid, next;
	struct syscall_begun begun;
	uint64_t count = 0;

	for (uint32_t i = 0; i < BEGUN_MAX && !bpf_map_get_next_key(s->begun, before, &next); i++) {
		tid = next;
		before = &tid;
		count += !bpf_map_lookup_elem(s->begun, &tid, &begun);
	}
	return count;
}

void syscall__losses(const struct source *s, struct session_losses *losses)
{
	if (!s->figures)
		return;
	losses->calls = *s->sums_lost;
	losses->calls_not_returned = not_returned(s);
}

/* "system calls openat, write, 2 more" */
static void syscall__facts(const struct source *s, struct source_facts *facts)
{
	struct text t = { 0 };
	uint32_t more = 0, said = 0;

	memset(facts, 0, sizeof(*facts));
	text__adds(&t, s->set.all ? "all system calls" : "system calls ");
	for (uint32_t i = 0; i < SYSCALL_NUMBERS && !s->set.all; i++) {
		const char *name = syscall__name(i);

		if (!syscall_set__has(&s->set, i))
			continue;
		if (t.length > 60) {
			more++;
			continue;
		}
		text__adds(&t, said++ ? ", " : "");
		if (name)
			text__adds(&t, name);
		else
			text__addf(&t, "%u", i);
	}
	if (more)
		text__addf(&t, ", %u more", more);
	text__adds(&t, s->latency ? ", with durations" : "");
	if (s->every > 1)
		text__addf(&t, " (1 of %" PRIu32 ")", s->every);
	snprintf(facts->text, sizeof(facts->text), "%s", text__string(&t));
	text__free(&t);
}

const struct source_ops source_syscall = {
	.id = SOURCE_SYSCALL,
	.create = syscall__create,
	.configure = syscall__configure,
	.open = syscall__open,
	.start = syscall__start,
	.stop = syscall__stop,
	.rest = detach,
	.detach = detach,
	.facts = syscall__facts,
	.destroy = syscall__destroy,
};
