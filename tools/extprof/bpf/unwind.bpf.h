/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The functions that the current thread is in, in user space, by the rules that user space has put into maps
 * (wire/unwind_steps.h).
 *
 * Each step is a function that bpf_loop() calls, so the verifier follows it once, whatever the depth.
 */
#ifndef EXTPROF_UNWIND_BPF_H
#define EXTPROF_UNWIND_BPF_H

#include "bpf/common.bpf.h"
#include "wire/unwind.h"

/* Rows of all files, one file after the other, and executable mappings of all processes, one process after the other. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct unwind_row);
} unwind_rows SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct unwind_mapping);
} unwind_mappings SEC(".maps") __weak;

/* By target_config::vm. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct unwind_process);
} unwind_processes SEC(".maps") __weak;

/* Ranges of code that were mapped, by target_config::vm.  Only note_mapped() writes this map. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, uint32_t);
	__type(value, struct unwind_changes);
} unwind_changes SEC(".maps") __weak;

static const struct unwind_changes no_changes = { 0 };

/* Changes that found no room in there: everything of every process may have changed then. */
volatile uint64_t unwind_unnoted __weak = 0;

static __always_inline struct unwind_mapping *unwind_mapping_at(uint32_t i)
{
	return bpf_map_lookup_elem(&unwind_mappings, &i);
}

static __always_inline struct unwind_row *unwind_row_at(uint32_t i)
{
	return bpf_map_lookup_elem(&unwind_rows, &i);
}

#include "wire/unwind_steps.h"

/* Data that all steps of one walk share. */
struct unwind_walk {
	uint32_t scratch, vm;
	uint32_t seen;		/* changes before the mappings were read */
};

static long unwind_next(uint32_t i, void *context)
{
	struct unwind_walk *w = context;
	struct walk_scratch *s = bpf_map_lookup_elem(&scratch, &w->scratch);

	return s ? unwind__step(s, i) : 1;
}

/* -- what is known of the process --------------------------------------------------------------- */

/* Distrust the places of one change more. */
static long unwind_distrust(uint32_t i, void *context)
{
	struct unwind_walk *w = context;
	struct walk_scratch *s = bpf_map_lookup_elem(&scratch, &w->scratch);
	struct unwind_changes *c = bpf_map_lookup_elem(&unwind_changes, &w->vm);
	const volatile struct unwind_change *change;
	uint32_t number = w->seen + i;
	uint64_t from, to;

	if (!s || !c)
		return 1;
	change = &c->list[number % UNWIND_CHANGES];
	from = change->from;
	to = change->to;
	/* Another one has its place, or it is about to be written: then nobody can run yet what is there. */
	if (((from ^ (number + 1)) | (to ^ (number + 1))) & UNWIND_CHANGE_NUMBER) {
		s->unwind.changed_from = 0;
		s->unwind.changed_to = ~0ull;
		return 1;
	}
	from &= ~(uint64_t)UNWIND_CHANGE_NUMBER;
	to &= ~(uint64_t)UNWIND_CHANGE_NUMBER;
	if (from < s->unwind.changed_from)
		s->unwind.changed_from = from;
	if (to > s->unwind.changed_to)
		s->unwind.changed_to = to;
	return 0;
}

/* Find what the walk needs to know about the process.  Its thread is interrupted, so the mapping of its stack does not
 * change meanwhile. */
static __always_inline int unwind__find_process(struct unwind_state *u, struct unwind_walk *w)
{
	const volatile struct unwind_process *p = bpf_map_lookup_elem(&unwind_processes, &w->vm);
	const volatile struct unwind_changes *c = bpf_map_lookup_elem(&unwind_changes, &w->vm);
	uint32_t unnoted, changes;
	uint64_t table;

	if (!p)
		return -1;
	unnoted = p->unnoted;
	table = p->table;
	if (p->vm != w->vm)
		return -1;
	u->first = table & 0xffff;
	u->mappings = table >> 16 & 0xffff;
	w->seen = table >> 32;
	changes = (c ? (uint32_t)c->count : 0) - w->seen;
	u->changed_from = ~0ull;
	u->changed_to = 0;
	if (changes > UNWIND_CHANGES || (uint32_t)unwind_unnoted != unnoted) {
		u->changed_from = 0;
		u->changed_to = ~0ull;
	} else if (changes) {
		bpf_loop(changes, unwind_distrust, w, 0);
	}
	return 0;
}

/* At [from, to) the process has what may not have been there before. */
static __always_inline void unwind__note(uint32_t vm, uint64_t from, uint64_t to)
{
	struct unwind_changes *c = bpf_map_lookup_elem(&unwind_changes, &vm);
	struct unwind_change *change;
	uint64_t number;

	if (!c) {
		/* Another thread of it may be doing the same. */
		bpf_map_update_elem(&unwind_changes, &vm, &no_changes, BPF_NOEXIST);
		c = bpf_map_lookup_elem(&unwind_changes, &vm);
	}
	if (!c) {
		__sync_fetch_and_add(&unwind_unnoted, 1);
		return;
	}
	number = __sync_fetch_and_add(&c->count, 1);
	change = &c->list[number % UNWIND_CHANGES];
	number = (number + 1) & UNWIND_CHANGE_NUMBER;
	/* Each is one store, and has the number: a mixture with another change is seen. */
	*(volatile uint64_t *)&change->from = (from & ~(uint64_t)UNWIND_CHANGE_NUMBER) | number;
	*(volatile uint64_t *)&change->to = ((to + UNWIND_CHANGE_NUMBER) & ~(uint64_t)UNWIND_CHANGE_NUMBER) | number;
}

/* The kernel's numbers of system calls, and arguments of theirs. */
#if defined(__TARGET_ARCH_x86)
#define CALL_MMAP 9
#define CALL_MPROTECT 10
#define CALL_MREMAP 25
#define CALL_PKEY_MPROTECT 329
#else
#define CALL_MMAP 222
#define CALL_MPROTECT 226
#define CALL_MREMAP 216
#define CALL_PKEY_MPROTECT 288
#endif
#define PROT_EXEC 4
#define MREMAP_FIXED 2
#define VM_EXEC 4

static long unwind_take_flags(struct task_struct *task, struct vm_area_struct *vma, void *flags)
{
	(void)task;
	*(uint64_t *)flags = KERNEL_READ(vma, vm_flags);
	return 0;
}

/* Is there code, or may there be? */
static __always_inline int unwind__is_code(struct task_struct *task, uint64_t address)
{
	uint64_t flags = VM_EXEC;

	bpf_find_vma(task, address, unwind_take_flags, &flags, 0);
	return (flags & VM_EXEC) != 0;
}

/* At the end of a system call of a process that is followed: note where it has mapped code. */
static __always_inline void unwind__note_call(const struct hit *h, struct pt_regs___kernel *regs, int call, int64_t result)
{
	uint64_t from, size, third, flags, range[2];

	if (result < 0 && result > -4096)
		return;
	regs__arguments(regs, &from, &size);
	regs__more_arguments(regs, &third, &flags);
	if (call == CALL_MREMAP) {
		from = result;
		size = third;
		/* With that, what is moved can be several mappings. */
		if (!(flags & MREMAP_FIXED) && !unwind__is_code(h->task, from))
			return;
	} else if (!(third & PROT_EXEC)) {
		return;
	} else if (call == CALL_MMAP) {
		from = result;
	}
	/* The JIT does it all the time, and its code is not looked up in mappings. */
	unwind__jit_range(h->cfg, range);
	if (from < range[0] || from + size > range[1])
		unwind__note(h->cfg->vm, from, from + size);
}

/*
 * Put the functions of user space that the current thread is in behind those of the kernel, or say why there are none.
 * `index`: of the scratch memory with the frames.  Not static: the verifier follows it once for each program that calls it,
 * wherever that comes from.
 */
__weak __noinline int unwind_add(uint32_t index, const struct target_config *cfg)
{
	struct walk_scratch *s = bpf_map_lookup_elem(&scratch, &index);
	struct unwind_walk walk = { .scratch = index };
	uint64_t jit[2], nr, before = 0, size;
	struct unwind_state *u;
	struct sample_machine *m;
	uint8_t *to;

	if (!s || !cfg)
		return 0;
	u = &s->unwind;
	nr = s->event.nr_frames;
	walk_opaque(nr);
	if (nr > SAMPLE_FRAMES_MAX)
		return 0;
	m = unwind__room(s, nr);
	unwind__begin(u);
	walk.vm = cfg->vm;
	if (task__user_registers(&u->first_registers) || unwind__find_process(u, &walk)) {
		m->native_end = UNWIND_END_NO_FILE;
		return 0;
	}
	u->ip = u->first_registers.ip;
	u->sp = u->first_registers.sp;
	u->bp = u->first_registers.bp;
	u->lr = u->first_registers.lr;
	unwind__jit_range(cfg, jit);
	u->jit_start = jit[0];
	u->jit_end = jit[1];
	bpf_loop(NATIVE_FRAMES_MAX, unwind_next, &walk, 0);
	unwind__check(s, cfg, nr, u->first_registers.sp);
	m->native_end = u->end;
	before = m->nr_kernel;
	size = u->count * sizeof(uint64_t);
	walk_opaque(before);
	walk_opaque(size);
	if (before > KERNEL_FRAMES_MAX || size > sizeof(s->native))
		return 0;
	to = (uint8_t *)m->address + before * sizeof(uint64_t);
	if (bpf_probe_read_kernel(to, size, s->native))
		return 0;
	m->nr_native = (uint16_t)(size / sizeof(uint64_t));
	s->machine_size = (uint32_t)(SAMPLE_MACHINE_HEAD + before * sizeof(uint64_t) + size);
	return 0;
}

/* Like hit__sample(); `native`: with the native stack. */
static __always_inline void hit__sample_native(struct hit *h, uint8_t flags, uint64_t ip, int native)
{
	int reason = 0;
	struct walk_scratch *s = hit__walk(h, flags, ip, &reason);

	if (!s)
		return;
	if (native && !reason)
		unwind_add(s->index, h->cfg);
	hit__send(h, s, reason);
	if (h->preemptible)
		scratch__leave(s);
}

#endif /* EXTPROF_UNWIND_BPF_H */
