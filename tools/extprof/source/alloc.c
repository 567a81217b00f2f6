/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples of allocations, by the VM's probe `alloc`. */
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "extprof.skel.h"
#include "source/ruby_probe.h"
#include "source/source.h"

struct source {
	struct ruby_probe probe;
	struct extprof_bpf *skel;
	uint64_t interval;
};

static int alloc__create(struct source **source, const struct source_options *o, struct diag *d)
{
	struct source *s = calloc(1, sizeof(*s));

	*source = s;
	if (!s)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	s->probe.name = "alloc";
	s->probe.semaphore = offsetof(struct rb_debug_ext_section, alloc_semaphore);
	s->interval = o->alloc_interval;
	return ruby_probe__create(&s->probe, o->places, d);
}

static int alloc__configure(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	s->skel = skel;
	return ruby_probe__configure(&s->probe, skel, skel->progs.allocated, d);
}

static int alloc__open(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	(void)d;
	ruby_probe__open(&s->probe, skel);
	return 0;
}

static int alloc__start(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	(void)s, (void)d;
	skel->bss->alloc_paused = 0;
	return 0;
}

/* The probe stays armed: that a recording goes on costs no sample. */
static void alloc__stop(struct source *s)
{
	s->skel->bss->alloc_paused = 1;
	/* Who is in the program is a reader for RCU. */
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

static int alloc__add(struct source *s, const struct source_target *target, struct diag *d)
{
	return ruby_probe__add(&s->probe, target, d);
}

static void alloc__detach(struct source *s)
{
	ruby_probe__detach(&s->probe);
}

static void alloc__facts(const struct source *s, struct source_facts *facts)
{
	memset(facts, 0, sizeof(*facts));
	if (s->interval % 1024)
		snprintf(facts->text, sizeof(facts->text), "allocations, one sample for each %" PRIu64 " bytes",
			 s->interval);
	else
		snprintf(facts->text, sizeof(facts->text), "allocations, one sample for each %" PRIu64 " KiB",
			 s->interval / 1024);
}

static void alloc__destroy(struct source *s)
{
	if (!s)
		return;
	ruby_probe__detach(&s->probe);
	free(s);
}

const struct source_ops source_alloc = {
	.id = SOURCE_ALLOC,
	.create = alloc__create,
	.configure = alloc__configure,
	.open = alloc__open,
	.start = alloc__start,
	.stop = alloc__stop,
	.add = alloc__add,
	.detach = alloc__detach,
	.facts = alloc__facts,
	.destroy = alloc__destroy,
};
