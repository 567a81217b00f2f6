/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tells which Ruby thread another thread of the process is, and which method it runs now.  That thread may be running
 * on another CPU.  A part of sched.bpf.c.
 */
#ifndef EXTPROF_PARTY_BPF_H
#define EXTPROF_PARTY_BPF_H

#include "bpf/common.bpf.h"
#include "wire/wait_details.h"

/* Reads of a stack that changes. */
#define PARTY_TRIES 3
/* Innermost frames that can be the VM's own. */
#define PARTY_FRAMES 3
/* Slots of the table of ractors that are looked at. */
#define PARTY_RACTORS 32

/* A part of the section, from ec_dir on. */
struct party_tables {
	uint64_t ec_dir, thread_dir;
	uint32_t ec_slots_end, thread_slots_end;
	uint32_t gc_phase, gc_tid;
	uint64_t gc_count;
	uint32_t gvl_thread_slot, jit_compile_tid;
};

#define PARTY_SAME(field) (__builtin_offsetof(struct party_tables, field) + \
			   __builtin_offsetof(struct rb_debug_ext_section, ec_dir) == \
			   __builtin_offsetof(struct rb_debug_ext_section, field))
typedef char party_assert_tables[PARTY_SAME(thread_dir) && PARTY_SAME(thread_slots_end) && PARTY_SAME(gvl_thread_slot) ? 1 : -1];

/* A part of a thread's slot, from tid on. */
struct party_slot {
	uint32_t tid, ractor;
	uint64_t serial, thread;
};

static __always_inline uint64_t section__field(const struct target_config *cfg, uint32_t offset)
{
	return cfg->section + offset;
}

#define SECTION_FIELD(cfg, field) section__field(cfg, __builtin_offsetof(struct rb_debug_ext_section, field))

static __always_inline int party__tables(const struct target_config *cfg, struct party_tables *tables)
{
	return read_target(tables, sizeof(*tables), SECTION_FIELD(cfg, ec_dir)) ? -1 : 0;
}

/* The address of a slot in the table of threads; 0 none. */
static __always_inline uint64_t party__slot(const struct target_config *cfg, const struct party_tables *tables,
					    uint32_t slot)
{
	uint16_t size = 0;

	if (read_target(&size, sizeof(size), SECTION_FIELD(cfg, thread_slot_size)))
		return 0;
	return walk__slot(tables->thread_dir, tables->thread_slots_end, size, slot);
}

/*
 * The innermost method of an EC; 0 unknown.  If the thread goes on during each try, return a method that was at this
 * depth during the last try.  That works because a frame is written before it becomes the innermost one, and stays in
 * memory when it is popped.
 */
static __always_inline uint32_t party__method(const struct target_config *cfg, uint64_t ec)
{
	uint32_t last = 0;

	for (int i = 0; i < PARTY_TRIES; i++) {
		uint64_t cfp = 0, after = 0;
		uint32_t id = 0;

		if (read_target(&cfp, sizeof(cfp), ec + cfg->ec_cfp) || !cfp)
			return 0;
		for (int k = 0; k < PARTY_FRAMES && id <= RB_DEBUG_EXT_ID_INTERNAL; k++)
			if (read_target(&id, sizeof(id), cfp + (uint64_t)k * cfg->frame_size + cfg->frame_ext_debug))
				return 0;
		if (read_target(&after, sizeof(after), ec + cfg->ec_cfp))
			return 0;
		if (id > RB_DEBUG_EXT_ID_INTERNAL)
			last = id;
		if (after == cfp)
			return id > RB_DEBUG_EXT_ID_INTERNAL ? id : 0;
	}
	return last;
}

/* The thread in that slot of the table.  0 or -1. */
static __always_inline int party__of_slot(const struct target_config *cfg, const struct party_tables *tables,
					  uint32_t slot, struct wait_party *p)
{
	uint64_t at = party__slot(cfg, tables, slot), ec = 0;
	struct party_slot s = { 0 };
	uint16_t thread_ec = 0;

	p->kind = PARTY_UNKNOWN;
	if (!at || read_target(&s, sizeof(s), at + __builtin_offsetof(struct rb_debug_ext_thread, tid)) || !s.thread ||
	    read_target(&thread_ec, sizeof(thread_ec), SECTION_FIELD(cfg, thread_ec)))
		return -1;
	p->thread = s.serial;
	p->slot = slot;
	p->tid = s.tid;
	p->vm = cfg->vm;
	p->process = cfg->process;
	p->id = 0;
	if (!read_target(&ec, sizeof(ec), s.thread + thread_ec) && ec)
		p->id = party__method(cfg, ec);
	p->kind = PARTY_THREAD;
	return 0;
}

/* The number of the current thread's slot in the table of threads; 0: it runs no Ruby code, or it cannot be told. */
static __always_inline uint32_t party__current_slot(const struct target_config *cfg, const struct party_tables *tables,
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
static __always_inline int party__current(const struct target_config *cfg, const struct party_tables *tables,
					  struct task_struct *task, struct wait_party *p)
{
	uint32_t slot = party__current_slot(cfg, tables, task);

	p->kind = PARTY_UNKNOWN;
	return slot ? party__of_slot(cfg, tables, slot, p) : -1;
}

/* The thread that holds the GVL of that ractor: its index in the table of threads; 0 for nobody. */
static __always_inline uint32_t party__gvl(const struct target_config *cfg, const struct party_tables *tables,
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
	for (uint32_t i = 1; i < PARTY_RACTORS && i < ractors.end; i++) {
		uint64_t at = walk__slot(ractors.dir, ractors.end, ractors.size, i);

		if (at && !read_target(&r, __builtin_offsetof(struct rb_debug_ext_ractor, ready_count), at) && r.id == ractor)
			return r.gvl_thread_slot;
	}
	return 0;
}

#endif /* EXTPROF_PARTY_BPF_H */
