/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * From the registers of a function to those of its caller, by the rules of unwind.h.  Machine code of YJIT has no rules and
 * keeps a frame pointer.
 *
 * One copy for the BPF programs and for user space, like walk.h.  The includer defines read_target() as for walk.h, and
 *
 *	struct unwind_mapping *unwind_mapping_at(uint32_t i);
 *	struct unwind_row *unwind_row_at(uint32_t i);
 *
 * (NULL: there is none) before it includes this.  Each loop has a constant bound.  The rules of one machine are in unwind_x86.h,
 * those of the other in unwind_arm64.h; UNWIND_AARCH64 chooses, by default the machine that it is compiled for.
 */
#ifndef EXTPROF_UNWIND_STEPS_H
#define EXTPROF_UNWIND_STEPS_H

#include "wire/unwind.h"
#include "wire/walk.h"

/* The mapping that has the address. */
static __always_inline struct unwind_mapping *unwind__mapping(uint32_t first, uint32_t count, uint64_t address)
{
	uint32_t low = first, high = first + count;
	struct unwind_mapping *m;

	for (int i = 0; i < UNWIND_MAPPING_STEPS && low < high; i++) {
		uint32_t middle = low + (high - low) / 2;

		m = unwind_mapping_at(middle);
		if (!m)
			return NULL;
		if (m->start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low <= first)
		return NULL;
	low--;
	m = unwind_mapping_at(low);
	return m && address < m->end ? m : NULL;
}

static __always_inline struct unwind_row *unwind__row(const struct unwind_mapping *m, uint64_t address)
{
	uint32_t low = m->first_row, high = m->first_row + m->rows;
	uint64_t pc = address - m->base;
	struct unwind_row *row;

	if (pc >> 32)
		return NULL;
	for (int i = 0; i < UNWIND_ROW_STEPS && low < high; i++) {
		uint32_t middle = low + (high - low) / 2;

		row = unwind_row_at(middle);
		if (!row)
			return NULL;
		if (row->pc <= (uint32_t)pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low <= m->first_row)
		return NULL;
	low--;
	return unwind_row_at(low);
}

/* -- one step --------------------------------------------------------------------------------- */

static __always_inline int unwind__end(struct unwind_state *u, uint32_t why)
{
	u->end = (uint8_t)why;
	return 1;
}

/* The caller goes on at `ip`, with these registers. */
static __always_inline int unwind__return_to(struct unwind_state *u, uint64_t ip, uint64_t sp, uint64_t bp, int bp_lost)
{
	u->ip = ip;
	u->sp = sp;
	u->bp = bp;
	u->bp_lost = (uint8_t)bp_lost;
	u->exact = 0;
	u->no_return = !ip;
	return ip ? 0 : unwind__end(u, UNWIND_END_OUTERMOST);
}

/* Where it was interrupted, by the frame of a signal handler. */
static __always_inline int unwind__interrupted(struct unwind_state *u, uint64_t ip, uint64_t sp, uint64_t bp)
{
	u->ip = ip;
	u->sp = sp;
	u->bp = bp;
	u->bp_lost = 0;
	u->exact = 1;		/* not where a call returns to */
	return 0;
}

#ifndef UNWIND_AARCH64
#if defined(__TARGET_ARCH_arm64) || (defined(__aarch64__) && !defined(__bpf__))
#define UNWIND_AARCH64 1
#else
#define UNWIND_AARCH64 0
#endif
#endif

#if UNWIND_AARCH64
#include "wire/unwind_arm64.h"
#else
#include "wire/unwind_x86.h"
#endif

/* Note a function, and go to its caller.  1: there is none. */
static __always_inline int unwind__step(struct walk_scratch *s, uint32_t i)
{
	struct unwind_state *u = &s->unwind;
	/* A call can be the last instruction of a function. */
	uint64_t address = u->exact ? u->ip : u->ip - 1;
	struct unwind_mapping *m;
	struct unwind_row *row;

	s->native[i & (NATIVE_FRAMES_MAX - 1)] = u->ip;
	u->count = i + 1;
	if (u->ip >= u->jit_start && u->ip < u->jit_end)
		return unwind__jit(u);
	if (address >= u->changed_from && address < u->changed_to) {
		u->count = i;
		return unwind__end(u, UNWIND_END_CHANGED);
	}
	m = unwind__mapping(u->first, u->mappings, address);
	if (!m)
		return unwind__end(u, UNWIND_END_NO_FILE);
	row = m->rows ? unwind__row(m, address) : NULL;
	if (!row)
		return unwind__end(u, UNWIND_END_NO_RULES);
#if UNWIND_AARCH64
	address = u->ip;
	if (unwind__by_row(u, row))
		return 1;
	if (!unwind__is_first_of_fiber(u, m, address))
		return 0;
	u->no_return = 1;
	return unwind__end(u, UNWIND_END_OUTERMOST);
#else
	return unwind__by_row(u, row);
#endif
}

#define UNWIND_OF_SECTION(cfg, field) ((cfg)->section + __builtin_offsetof(struct rb_debug_ext_section, field))

/* Where the code of the JIT is; the frame pointer must be promised.  [0, 0): there is none. */
static __always_inline void unwind__jit_range(const struct target_config *cfg, uint64_t range[2])
{
	uint32_t flags = 0;

	range[0] = range[1] = 0;
	if (!cfg->jit_flags || read_target(&flags, sizeof(flags), cfg->section + cfg->jit_flags) ||
	    !(flags & RB_DEBUG_EXT_JIT_FRAME_POINTER) ||
	    read_target(range, 2 * sizeof(range[0]), UNWIND_OF_SECTION(cfg, jit_start)))
		range[0] = range[1] = 0;
}

/* -- fibers -------------------------------------------------------------------------------------- */

/* The machine stack of a thread that shares native threads is above its VM stack, and of such a size at most. */
#define UNWIND_SHARED_STACK ((1u << 20) + 4096)

/* Does the Ruby thread of the sample share native threads with others? */
static __always_inline int unwind__shares_threads(const struct walk_scratch *s, const struct target_config *cfg)
{
	uint32_t end = 0, flags = 0;
	uint64_t dir = 0, at;
	uint16_t size = 0;

	if (read_target(&dir, sizeof(dir), UNWIND_OF_SECTION(cfg, thread_dir)) ||
	    read_target(&end, sizeof(end), UNWIND_OF_SECTION(cfg, thread_slots_end)) ||
	    read_target(&size, sizeof(size), UNWIND_OF_SECTION(cfg, thread_slot_size)))
		return 0;
	at = walk__slot(dir, end, size, s->event.thread_slot);
	return at && !read_target(&flags, sizeof(flags), at + __builtin_offsetof(struct rb_debug_ext_thread, flags)) &&
	       flags & RB_DEBUG_EXT_THREAD_MN;
}

/*
 * Is the stack, from `sp` to its outermost function, that of the EC whose frames the sample has?  A thread switches the stack
 * of its fiber first and the EC a little later.  A fiber's stack ends where its VM stack begins, with a return address
 * of 0; a thread's own ends in a function without a caller.
 */
static __always_inline int unwind__is_of_ec(const struct walk_scratch *s, const struct target_config *cfg, uint64_t sp)
{
	const struct unwind_state *u = &s->unwind;
	uint64_t stack = 0, words = 0, end = u->sp;

	/* s->ec is its slot. */
	if (!s->event.thread || s->event.flags & SAMPLE_THREAD_UNREAD)
		return 0;
	if (s->ec.flags & RB_DEBUG_EXT_EC_ROOT && !u->no_return)
		return 1;
	if (!u->no_return || read_target(&stack, sizeof(stack), s->ec.ec + cfg->ec_vm_stack))
		return 0;
	if (!(s->ec.flags & RB_DEBUG_EXT_EC_ROOT))
		return stack - end < 64;
	if (read_target(&words, sizeof(words), s->ec.ec + cfg->ec_vm_stack_size))
		return 0;
	stack += 8 * words;
	return sp > stack && end > sp && end - stack <= UNWIND_SHARED_STACK && unwind__shares_threads(s, cfg);
}

/* The room for native functions of the sample whose frames have been read. */
static __always_inline struct sample_machine *unwind__room(struct walk_scratch *s, uint64_t nr_frames)
{
	struct sample_machine *m = (struct sample_machine *)((uint8_t *)s->frames + nr_frames * sizeof(struct sample_frame));

	if (!(s->event.flags & SAMPLE_HAS_MACHINE)) {
		m->nr_kernel = m->nr_native = 0;
		m->native_end = m->reserved[0] = m->reserved[1] = m->reserved[2] = 0;
		s->machine_size = SAMPLE_MACHINE_HEAD;
		s->event.flags |= SAMPLE_HAS_MACHINE;
	}
	return m;
}

/* A walk begins with no function. */
static __always_inline void unwind__begin(struct unwind_state *u)
{
	u->count = 0;
	u->end = UNWIND_END_DEPTH;
	u->bp_lost = u->no_return = 0;
	u->exact = 1;
}

/* A walk has ended: is it that of the Ruby frames?  `sp`: where it began. */
static __always_inline void unwind__check(struct walk_scratch *s, const struct target_config *cfg, uint64_t nr_frames,
					  uint64_t sp)
{
	struct unwind_state *u = &s->unwind;

	if (u->end == UNWIND_END_OUTERMOST && nr_frames && !unwind__is_of_ec(s, cfg, sp)) {
		u->end = UNWIND_END_FIBER;
		u->count = 0;
	}
}

#endif /* EXTPROF_UNWIND_STEPS_H */
