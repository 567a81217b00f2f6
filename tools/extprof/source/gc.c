/* SPDX-License-Identifier: BSD-2-Clause */
/* Pauses for garbage collection, by the VM's probe `gc_phase`. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "extprof.skel.h"
#include "source/ruby_probe.h"
#include "source/source.h"
#include "wire/gc.h"

struct source {
	struct ruby_probe probe;
	struct extprof_bpf *skel;
	uint64_t not_ended;	/* pauses at the last stop */
};

static int gc__create(struct source **source, const struct source_options *o, struct diag *d)
{
	struct source *s = calloc(1, sizeof(*s));

	*source = s;
	if (!s)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	s->probe.name = "gc_phase";
	s->probe.semaphore = offsetof(struct rb_debug_ext_section, gc_semaphore);
	return ruby_probe__create(&s->probe, o->places, d);
}

static int gc__configure(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	int err;

	s->skel = skel;
	/* A process can execute several programs, each with a VM of its own. */
	err = bpf_map__set_max_entries(skel->maps.gc_pauses, 8 * TARGETS_MAX);
	if (err)
		return diag__set(d, DIAG_INTERNAL, -err, "cannot set the size of a map");
	return ruby_probe__configure(&s->probe, skel, skel->progs.gc_phase_changed, d);
}

static int gc__open(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	(void)d;
	ruby_probe__open(&s->probe, skel);
	return 0;
}

static int gc__start(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	(void)skel;
	return ruby_probe__resume(&s->probe, d);
}

static uint64_t count_pauses(const struct source *s)
{
	int map = bpf_map__fd(s->skel->maps.gc_pauses);
	uint32_t *before = NULL, vm, next;
	struct gc_pause pause;
	uint64_t count = 0;

	for (uint32_t i = 0; i < 8 * TARGETS_MAX && !bpf_map_get_next_key(map, before, &next); i++) {
		vm = next;
		before = &vm;
		count += !bpf_map_lookup_elem(map, &vm, &pause) && pause.phase;
	}
	return count;
}

/* The program goes on to follow the phases: a pause that ends after the next start has its whole length. */
static void gc__stop(struct source *s)
{
	s->not_ended = count_pauses(s);
}

/* Forget the pauses that are under way: the program reports no pause whose beginning it has not seen. */
static void gc__rest(struct source *s)
{
	int map = bpf_map__fd(s->skel->maps.gc_pauses);
	uint32_t *before = NULL, vm, next;
	struct gc_pause pause;

	ruby_probe__rest(&s->probe);
	/* A running program is an RCU reader.  This call waits until all that run now have ended. */
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	for (uint32_t i = 0; i < 8 * TARGETS_MAX && !bpf_map_get_next_key(map, before, &next); i++) {
		vm = next;
		before = &vm;
		if (bpf_map_lookup_elem(map, &vm, &pause) || !pause.phase)
			continue;
		pause.phase = 0;
		bpf_map_update_elem(map, &vm, &pause, BPF_EXIST);
	}
}

static int gc__add(struct source *s, const struct source_target *target, struct diag *d)
{
	struct gc_pause pause = { 0 };
	int err = ruby_probe__add(&s->probe, target, d);

	if (err)
		return err;
	/* The probe tells of all pauses that begin from now on. */
	err = target->read(target->engine, target->vm, target->section + offsetof(struct rb_debug_ext_section, gc_count), &pause.known,
			   sizeof(pause.known));
	if (!err)
		err = bpf_map_update_elem(bpf_map__fd(s->skel->maps.gc_pauses), &target->vm, &pause, BPF_ANY);
	return err ? diag__set(d, DIAG_INTERNAL, -err, "cannot follow the pauses of process %d: %s", target->pid,
			       strerror(-err)) : 0;
}

static void gc__detach(struct source *s)
{
	ruby_probe__detach(&s->probe);
}

static void gc__facts(const struct source *s, struct source_facts *facts)
{
	memset(facts, 0, sizeof(*facts));
	snprintf(facts->text, sizeof(facts->text), "pauses of the garbage collector");
	facts->begun_before = s->skel->bss->gc_partial;
	facts->not_ended = s->not_ended;
}

static void gc__destroy(struct source *s)
{
	if (!s)
		return;
	ruby_probe__detach(&s->probe);
	free(s);
}

const struct source_ops source_gc = {
	.id = SOURCE_GC,
	.create = gc__create,
	.configure = gc__configure,
	.open = gc__open,
	.start = gc__start,
	.stop = gc__stop,
	.rest = gc__rest,
	.add = gc__add,
	.detach = gc__detach,
	.facts = gc__facts,
	.destroy = gc__destroy,
};
