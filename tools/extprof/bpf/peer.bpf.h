/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tells which Ruby thread another thread of the process is, and which method it runs now.  That thread may be running
 * on another CPU.  A part of sched.bpf.c.
 */
#ifndef EXTPROF_PEER_BPF_H
#define EXTPROF_PEER_BPF_H

#include "bpf/common.bpf.h"
#include "wire/wait_details.h"

/* Reads of a stack that changes, and of that of the current thread, which does not. */
#define PEER_TRIES 3
#define PEER_ONCE 1
/* Innermost frames that are looked at: methods in C and blocks in C can call one another. */
#define PEER_FRAMES 12
/* Slots of the table of ractors that are looked at. */
#define PEER_RACTORS 32

/* A part of the section, from ec_dir on. */
struct peer_tables {
	uint64_t ec_dir, thread_dir;
	uint32_t ec_slots_end, thread_slots_end;
	uint32_t gc_phase, gc_tid;
	uint64_t gc_count;
	uint32_t gvl_thread_slot, jit_compile_tid;
};

#define PEER_SAME(field) (__builtin_offsetof(struct peer_tables, field) + \
			   __builtin_offsetof(struct rb_debug_ext_section, ec_dir) == \
			   __builtin_offsetof(struct rb_debug_ext_section, field))
typedef char peer_assert_tables[PEER_SAME(thread_dir) && PEER_SAME(thread_slots_end) && PEER_SAME(gvl_thread_slot) ? 1 : -1];

/* A part of a thread's slot, from tid on. */
struct peer_slot {
	uint32_t tid, ractor;
	uint64_t serial, thread;
};

static __always_inline uint64_t section__field(const struct target_config *cfg, uint32_t offset)
{
	return cfg->section + offset;
}

#define SECTION_FIELD(cfg, field) section__field(cfg, __builtin_offsetof(struct rb_debug_ext_section, field))

static __always_inline int peer__tables(const struct target_config *cfg, struct peer_tables *tables)
{
	return read_target(tables, sizeof(*tables), SECTION_FIELD(cfg, ec_dir)) ? -1 : 0;
}

/* The address of a slot in the table of threads; 0 none. */
static __always_inline uint64_t peer__slot(const struct target_config *cfg, const struct peer_tables *tables,
					    uint32_t slot)
{
	uint16_t size = 0;

	if (read_target(&size, sizeof(size), SECTION_FIELD(cfg, thread_slot_size)))
		return 0;
	return walk__slot(tables->thread_dir, tables->thread_slots_end, size, slot);
}

/* Is it the frame of a method in C?  Its pc does not tell: JIT code leaves that of others there. */
static __always_inline int peer__is_of_c(const struct target_config *cfg, uint64_t at, uint64_t pc)
{
	uint64_t ep = 0, flags = 0;

	if (!cfg->frame_flag_set || read_target(&ep, sizeof(ep), at + cfg->frame_ep) ||
	    read_target(&flags, sizeof(flags), ep + cfg->ep_flags) || !(flags & cfg->frame_flag_set))
		return !pc;
	return !!(flags & cfg->frame_flag_cframe);
}

/* Note the innermost method in the frames from `cfp` on, and the Ruby code that called it. */
static __always_inline int peer__frames(const struct target_config *cfg, uint64_t cfp, struct wait_peer *p)
{
	uint64_t word, pc, jit;
	int64_t left = 0;
	uint32_t id, n = 0;

	for (int k = 0; k < PEER_FRAMES; k++) {
		uint64_t at = cfp + (uint64_t)k * cfg->frame_size;

		word = pc = jit = 0;
		if (read_target(&word, sizeof(word), at + cfg->frame_ext_debug))
			return -1;
		id = (uint32_t)word;
		/* The outermost frame. */
		if (id == RB_DEBUG_EXT_ID_NONE && k)
			return 0;
		/* A block in C belongs to the method that was called with it. */
		if (id < RB_DEBUG_EXT_ID_FIRST)
			goto next;
		if (!p->id)
			p->id = id;
		if (read_target(&pc, sizeof(pc), at + cfg->frame_pc) ||
		    (!k && read_target(&jit, sizeof(jit), at + cfg->frame_jit_return)))
			return -1;
		if (peer__is_of_c(cfg, at, pc))
			goto next;
		/* Below a clause: where the frame was left.  As in wire/walk.h. */
		pc += (uint64_t)left * 8;
		if (!n) {
			p->ruby[0] = (struct peer_frame){ id, jit ? FRAME_JIT_RETURN : 0, pc };
			n = 1;
		} else {
			p->ruby[1] = (struct peer_frame){ id, 0, pc };
			return 0;
		}
next:
		left = (int64_t)word >> 32;
	}
	return 0;
}

/*
 * Find the innermost method of an EC, and the Ruby code that called it.  If the thread goes on during each try, note
 * what was at this depth during the last try.  That works because a frame is written before it becomes the innermost
 * one, and stays in memory when it is popped.
 */
static __always_inline void peer__method(const struct target_config *cfg, uint64_t ec, struct wait_peer *p, int tries)
{
	for (int i = 0; i < tries; i++) {
		uint64_t cfp = 0, after = 0;

		p->id = 0;
		__builtin_memset(p->ruby, 0, sizeof(p->ruby));
		if (read_target(&cfp, sizeof(cfp), ec + cfg->ec_cfp) || !cfp || peer__frames(cfg, cfp, p) ||
		    read_target(&after, sizeof(after), ec + cfg->ec_cfp) || after == cfp)
			return;
	}
}

/* The thread in that slot of the table, which is at that address.  `tries`: PEER_TRIES, or PEER_ONCE if it is the
 * current one.  0 or -1. */
static __always_inline int peer__at(const struct target_config *cfg, uint64_t at, uint32_t slot, struct wait_peer *p,
				     int tries)
{
	uint64_t ec = 0;
	struct peer_slot s = { 0 };
	uint16_t thread_ec = 0;

	p->kind = PEER_UNKNOWN;
	if (!at || read_target(&s, sizeof(s), at + __builtin_offsetof(struct rb_debug_ext_thread, tid)) || !s.thread ||
	    read_target(&thread_ec, sizeof(thread_ec), SECTION_FIELD(cfg, thread_ec)))
		return -1;
	p->thread = s.serial;
	p->slot = slot;
	p->tid = s.tid;
	p->vm = cfg->vm;
	p->process = cfg->process;
	p->id = 0;
	__builtin_memset(p->ruby, 0, sizeof(p->ruby));
	if (!read_target(&ec, sizeof(ec), s.thread + thread_ec) && ec)
		peer__method(cfg, ec, p, tries);
	p->kind = PEER_THREAD;
	return 0;
}

static __always_inline int peer__of_slot(const struct target_config *cfg, const struct peer_tables *tables,
					  uint32_t slot, struct wait_peer *p, int tries)
{
	return peer__at(cfg, peer__slot(cfg, tables, slot), slot, p, tries);
}

/* The number of the current thread's slot in the table of threads; 0: it runs no Ruby code, or it cannot be told. */
static __always_inline uint32_t peer__current_slot(const struct target_config *cfg, const struct peer_tables *tables,
						    struct task_struct *task)
{
	struct rb_debug_ext_ec slot = { 0 };
	struct walk_tail tail;
	uint64_t ec = 0, at;

	if (read_target(&ec, sizeof(ec), task__thread_pointer(task) + (uint64_t)cfg->tls_current_ec) || !ec ||
	    walk__ec_tail(cfg, ec, &tail))
		return 0;
	at = walk__slot(tables->ec_dir, tables->ec_slots_end, cfg->ec_slot_size, tail.slot);
	if (!at || read_target(&slot, WALK_EC_HEAD, at) || slot.generation & 1 || slot.ec != ec)
		return 0;
	return slot.thread_slot;
}

/* The current thread.  0 or -1: it runs no Ruby code, or it cannot be told. */
static __always_inline int peer__current(const struct target_config *cfg, const struct peer_tables *tables,
					  struct task_struct *task, struct wait_peer *p)
{
	uint32_t slot = peer__current_slot(cfg, tables, task);

	p->kind = PEER_UNKNOWN;
	return slot ? peer__of_slot(cfg, tables, slot, p, PEER_ONCE) : -1;
}

/* The thread that holds the GVL of that ractor: its index in the table of threads; 0 for nobody. */
static __always_inline uint32_t peer__gvl(const struct target_config *cfg, const struct peer_tables *tables,
					   uint32_t ractor)
{
	struct {
		uint64_t dir;
		uint32_t end, size;
	} ractors = { 0 };
	struct rb_debug_ext_ractor r;

	if (ractor <= 1)
		return tables->gvl_thread_slot;
	if (read_target(&ractors, sizeof(ractors), SECTION_FIELD(cfg, ractor_dir)))
		return 0;
	/* A slot has another number than its ractor once ractors have ended. */
	for (uint32_t i = 1; i < PEER_RACTORS && i < ractors.end; i++) {
		uint64_t at = walk__slot(ractors.dir, ractors.end, ractors.size, i);

		if (at && !read_target(&r, __builtin_offsetof(struct rb_debug_ext_ractor, ready_count), at) && r.id == ractor)
			return r.gvl_thread_slot;
	}
	return 0;
}

#endif /* EXTPROF_PEER_BPF_H */
