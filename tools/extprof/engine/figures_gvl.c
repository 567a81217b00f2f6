/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures that are known by looking again and again: who has the GVL, and in which phase the collector is. */
#include "engine/figures_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/state.h"
#include "remote/tables.h"

/*
 * The average time between two looks at who has the GVL: 1,000 looks in 5 s tell a share within 3.1 points, in 95 % of
 * all cases.  A look at one process takes about 3 us, so many processes are looked at less often.
 */
#define LOOK_PERIOD (5 * MS)
#define LOOKS_PER_SECOND_MAX 4000u

/* Ractors that are looked at. */
#define RACTORS_MAX 1024u
/* Bound of the distance of two slots, in bytes. */
#define RACTOR_STRIDE_MAX 4096u
#define RACTOR_STRIDE_LEAST 64u	/* of the first version */

static int read_section(const struct vm *vm, struct rb_debug_ext_section *s)
{
	uint32_t size = vm->layout.section.section_size;
	int err;

	memset(s, 0, sizeof(*s));
	err = memory__read(&vm->memory, vm->layout.address, s, size < sizeof(*s) ? size : sizeof(*s));
	if (err)
		return err;
	return s->state == RB_DEBUG_EXT_READY && s->pid == vm->layout.section.pid ? 0 : -EAGAIN;
}

struct gvl_look {
	uint32_t held, contended;
};

static void note_holder(struct figures_process *f, struct vm *vm, uint32_t slot)
{
	struct rb_debug_ext_thread thread;
	struct holder *h;

	if (tables__read_thread(&vm->layout, &vm->memory, slot, &thread) || !thread.serial)
		return;
	h = figures__add_holder(f, thread.serial);
	if (!h || h->thread != thread.serial)
		return;
	h->slot = slot;
	h->tid = thread.tid;
	threads__note(&vm->threads, thread.serial, slot, thread.tid);
}

static void look_at_ractor(struct figures_process *f, struct vm *vm, const void *slot, struct gvl_look *look)
{
	struct rb_debug_ext_ractor r;

	memcpy(&r, slot, sizeof(r));
	if (r.generation & 1 || !r.id)
		return;
	look->held += r.gvl_thread_slot != 0;
	if (!r.gvl_thread_slot || !r.ready_count)
		return;
	look->contended++;
	note_holder(f, vm, r.gvl_thread_slot);
}

/* *slots: memory for them, made at the first look.  0 or -errno. */
static int look_at_ractors(struct figures_process *f, struct vm *vm, const struct rb_debug_ext_section *s,
			   uint8_t **slots, struct gvl_look *look)
{
	uint32_t stride = s->ractor_slot_size, end = s->ractor_slots_end, chunk = RB_DEBUG_EXT_SLOTS_PER_CHUNK;
	uint64_t address;

	if (stride < RACTOR_STRIDE_LEAST || stride > RACTOR_STRIDE_MAX)
		return -EINVAL;
	if (!*slots)
		*slots = malloc((size_t)chunk * RACTOR_STRIDE_MAX);
	if (!*slots)
		return -ENOMEM;
	for (uint32_t first = 0; first < end && first < RACTORS_MAX; first += chunk) {
		uint32_t count = end - first < chunk ? end - first : chunk;
		int err = memory__read(&vm->memory, s->ractor_dir + 8ull * (first / chunk), &address, sizeof(address));

		if (!err)
			err = memory__read(&vm->memory, address, *slots, (size_t)count * stride);
		if (err)
			return err;
		for (uint32_t i = first ? 0 : 1; i < count; i++)
			look_at_ractor(f, vm, *slots + (size_t)i * stride, look);
	}
	return 0;
}

void figures_parts__look_at_vm(struct engine *e, const struct process *p)
{
	struct figures_process *f = figures__find(&e->figures->sums, p->number);
	struct rb_debug_ext_section s;
	struct gvl_look look = { 0 };
	struct vm *vm = p->vm;

	if (!f || read_section(vm, &s))
		return;
	if (!f->missing[FIGURE_GC_CYCLES])
		figures__set_cycles(f, vm->number, s.gc_cycles, s.gc_major_cycles);
	if (look_at_ractors(f, vm, &s, &e->figures->ractor_slots, &look))
		return;
	figures__add_look(f, look.held, look.contended);
	figures__add_gc_look(f, s.gc_phase, s.gc_cause, s.gc_flags);
}

uint64_t engine__figures_wait(const struct engine *e, uint64_t now)
{
	if (!e->figures || !e->started || e->figures->sums.frozen)
		return UINT64_MAX;
	return e->figures->next_look > now ? e->figures->next_look - now : 0;
}

/* The distance to the next look is drawn at random, so that the looks do not fall into step with the program. */
static uint64_t next_distance(struct engine_figures *f, uint32_t processes)
{
	uint64_t mean = LOOK_PERIOD, least = processes * (SECOND / LOOKS_PER_SECOND_MAX);

	if (mean < least)
		mean = least;
	f->random = f->random * 1664525u + 1013904223u;
	return mean / 2 + ((mean * (f->random >> 16)) >> 16);
}

void engine__figures_step(struct engine *e, uint64_t now)
{
	uint32_t count = 0;

	if (engine__figures_wait(e, now))
		return;
	for (uint32_t i = 0; i < e->set.count; i++) {
		if (!e->set.list[i] || !process__is_readable(e->set.list[i]))
			continue;
		figures_parts__look_at_vm(e, e->set.list[i]);
		count++;
	}
	figures_parts__keep_amounts(e, now);
	e->figures->next_look = deadline__now() + next_distance(e->figures, count);
}

