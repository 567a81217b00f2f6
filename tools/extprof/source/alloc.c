/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples of allocations, by the VM's probes `alloc` and `malloc`. */
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "extprof.skel.h"
#include "source/ruby_probe.h"
#include "source/source.h"

struct source {
	struct ruby_probe slots, malloc;
	struct extprof_bpf *skel;
	uint64_t interval;
	bool native;
	bool without_malloc;	/* it is not asked for */
	bool slots_only;	/* there is a ruby that does not tell of memory of malloc */
};

static int alloc__create(struct source **source, const struct source_options *o, struct diag *d)
{
	struct source *s = calloc(1, sizeof(*s));
	int err;

	*source = s;
	if (!s)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	s->slots.name = "alloc";
	s->slots.semaphore = offsetof(struct rb_debug_ext_section, alloc_semaphore);
	s->malloc.name = "malloc";
	s->malloc.semaphore = offsetof(struct rb_debug_ext_section, malloc_semaphore);
	s->interval = o->alloc_interval;
	s->native = o->native;
	s->without_malloc = o->slots_only;
	err = ruby_probe__create(&s->slots, o->places, d);
	return err || s->without_malloc ? err : ruby_probe__create(&s->malloc, o->places, d);
}

static int alloc__configure(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	int err = ruby_probe__configure(&s->slots, skel, s->native ? skel->progs.allocated_native : skel->progs.allocated, d);

	s->skel = skel;
	return err || s->without_malloc ? err : ruby_probe__configure(&s->malloc, skel,
					    s->native ? skel->progs.malloced_native : skel->progs.malloced, d);
}

static int alloc__open(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	(void)d;
	ruby_probe__open(&s->slots, skel);
	ruby_probe__open(&s->malloc, skel);
	return 0;
}

static int alloc__start(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	int err = ruby_probe__resume(&s->slots, d);

	(void)skel;
	return err ? err : ruby_probe__resume(&s->malloc, d);
}

static void alloc__rest(struct source *s)
{
	ruby_probe__rest(&s->slots);
	ruby_probe__rest(&s->malloc);
}

static int alloc__add(struct source *s, const struct source_target *target, struct diag *d)
{
	int err = ruby_probe__add(&s->slots, target, d);

	if (err)
		return err;
	if (s->without_malloc)
		return 0;
	if (!target->contract->malloc_semaphore) {
		s->slots_only = true;
		return 0;
	}
	return ruby_probe__add(&s->malloc, target, d);
}

static void alloc__detach(struct source *s)
{
	ruby_probe__detach(&s->slots);
	ruby_probe__detach(&s->malloc);
}

static void alloc__facts(const struct source *s, struct source_facts *facts)
{
	bool in_bytes = s->interval % 1024;

	memset(facts, 0, sizeof(*facts));
	snprintf(facts->text, sizeof(facts->text), "allocations, one sample for each %" PRIu64 " %s%s",
		 in_bytes ? s->interval : s->interval / 1024, in_bytes ? "bytes" : "KiB",
		 s->slots_only ? "; some without memory of malloc" : "");
}

static void alloc__destroy(struct source *s)
{
	if (!s)
		return;
	alloc__detach(s);
	free(s);
}

const struct source_ops source_alloc = {
	.id = SOURCE_ALLOC,
	.create = alloc__create,
	.configure = alloc__configure,
	.open = alloc__open,
	.start = alloc__start,
	.rest = alloc__rest,
	.add = alloc__add,
	.detach = alloc__detach,
	.facts = alloc__facts,
	.destroy = alloc__destroy,
};
