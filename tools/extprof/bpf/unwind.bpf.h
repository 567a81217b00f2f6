/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The functions that the current thread is in, in user space: from its registers to those of each caller, by the rules
 * that user space has put into maps (wire/unwind.h).  Machine code of YJIT has no rules and keeps a frame pointer.
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

/* The mapping that has the address. */
static __always_inline struct unwind_mapping *unwind__mapping(uint32_t first, uint32_t count, uint64_t address)
{
	uint32_t low = first, high = first + count;
	struct unwind_mapping *m;

	for (int i = 0; i < UNWIND_MAPPING_STEPS && low < high; i++) {
		uint32_t middle = low + (high - low) / 2;

		m = bpf_map_lookup_elem(&unwind_mappings, &middle);
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
	m = bpf_map_lookup_elem(&unwind_mappings, &low);
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

		row = bpf_map_lookup_elem(&unwind_rows, &middle);
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
	return bpf_map_lookup_elem(&unwind_rows, &low);
}

/* -- one step --------------------------------------------------------------------------------- */

/* Linux' struct rt_sigframe: where the registers are, from the stack pointer at the return of the handler on. */
#define SIGNAL_RBP 120u
#define SIGNAL_RSP 160u
#define SIGNAL_RIP 168u

static __always_inline int unwind__end(struct unwind_state *u, uint32_t why)
{
	u->end = (uint8_t)why;
	return 1;
}

static __always_inline int unwind__signal(struct unwind_state *u)
{
	uint64_t sp = u->sp, rsp = 0, rip = 0, rbp = 0;

	if (read_target(&rbp, 8, sp + SIGNAL_RBP) || read_target(&rsp, 8, sp + SIGNAL_RSP) ||
	    read_target(&rip, 8, sp + SIGNAL_RIP))
		return unwind__end(u, UNWIND_END_STACK);
	u->bp = rbp;
	u->sp = rsp;
	u->ip = rip;
	u->bp_lost = 0;
	u->exact = 1;		/* where it was interrupted, not where a call returns to */
	return 0;
}

/* The caller, by its return address and the CFA. */
static __always_inline int unwind__return(struct unwind_state *u, uint64_t cfa, uint64_t bp, int bp_lost)
{
	uint64_t ip = 0;

	if (cfa <= u->sp || cfa & 7)
		return unwind__end(u, UNWIND_END_ORDER);
	if (read_target(&ip, sizeof(ip), cfa - 8))
		return unwind__end(u, UNWIND_END_STACK);
	u->ip = ip;
	u->sp = cfa;
	u->bp = bp;
	u->bp_lost = (uint8_t)bp_lost;
	u->exact = 0;
	u->no_return = !ip;
	return ip ? 0 : unwind__end(u, UNWIND_END_OUTERMOST);
}

/*
 * Code of YJIT.  Where the thread was interrupted right in there, rbp can still, or already, be the caller's: before
 * `push rbp` and between that and `mov rbp, rsp`, and between `pop rbp` and `ret`.
 */
static __always_inline int unwind__jit(struct unwind_state *u)
{
	uint64_t bp = 0;
	uint8_t code[5] = { 0 };

	if (u->exact) {
		if (read_target(code, sizeof(code), u->ip - 1))
			return unwind__end(u, UNWIND_END_STACK);
		if (code[1] == 0x55 && code[2] == 0x48 && code[3] == 0x89 && code[4] == 0xe5)
			return unwind__return(u, u->sp + 8, u->bp, 0);
		if (code[0] == 0x55 && code[1] == 0x48 && code[2] == 0x89 && code[3] == 0xe5)
			return unwind__return(u, u->sp + 16, u->bp, 0);
		if (code[1] == 0xc3)
			return unwind__return(u, u->sp + 8, u->bp, 0);
	}
	if (u->bp_lost)
		return unwind__end(u, UNWIND_END_RBP);
	if (read_target(&bp, sizeof(bp), u->bp))
		return unwind__end(u, UNWIND_END_STACK);
	return unwind__return(u, u->bp + 16, bp, 0);
}

static __always_inline int unwind__by_row(struct unwind_state *u, const struct unwind_row *row)
{
	uint32_t rule = row->rule & ~UNWIND_BEGINS, where = row->rbp;
	uint64_t cfa, bp = u->bp;
	int lost = u->bp_lost;

	switch (rule) {
	case UNWIND_NONE: return unwind__end(u, UNWIND_END_NO_RULES);
	case UNWIND_OUTERMOST: return unwind__end(u, UNWIND_END_OUTERMOST);
	case UNWIND_SIGNAL: return unwind__signal(u);
	case UNWIND_RSP: cfa = u->sp + 8ull * row->cfa; break;
	case UNWIND_PLT: cfa = u->sp + 8 + ((u->ip & 15) >= row->cfa ? 8 : 0); break;
	case UNWIND_RBP:
	case UNWIND_RBP_DEREF:
		if (lost)
			return unwind__end(u, UNWIND_END_RBP);
		cfa = u->bp + 8ull * row->cfa;
		if (rule == UNWIND_RBP_DEREF && read_target(&cfa, sizeof(cfa), u->bp - 8ull * row->cfa))
			return unwind__end(u, UNWIND_END_STACK);
		break;
	default: return unwind__end(u, UNWIND_END_RULE);
	}
	if (where == UNWIND_RBP_LOST) {
		lost = 1;
	} else if (where == UNWIND_RBP_AT_RBP) {
		if (!lost && read_target(&bp, sizeof(bp), u->bp))
			return unwind__end(u, UNWIND_END_STACK);
	} else if (where) {
		lost = 0;
		if (read_target(&bp, sizeof(bp), cfa - 8ull * where))
			return unwind__end(u, UNWIND_END_STACK);
	}
	return unwind__return(u, cfa, bp, lost);
}

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
	return unwind__by_row(u, row);
}

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

/* The kernel's numbers of system calls on x86-64, and arguments of theirs. */
#define CALL_MMAP 9
#define CALL_MPROTECT 10
#define CALL_MREMAP 25
#define CALL_PKEY_MPROTECT 329
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

/*
 * Put the functions of user space that the current thread is in behind those of the kernel, or say why there are none.
 * `index`: of the scratch memory with the frames.  Not static: the verifier follows it once for each program that calls it,
 * wherever that comes from.
 */
__weak __noinline int unwind_add(uint32_t index, const struct target_config *cfg)
{
	struct walk_scratch *s = bpf_map_lookup_elem(&scratch, &index);
	struct unwind_walk walk = { .scratch = index };
	struct user_registers regs = { 0 };
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
	m = (struct sample_machine *)((uint8_t *)s->frames + nr * sizeof(struct sample_frame));
	if (!(s->event.flags & SAMPLE_HAS_MACHINE)) {
		m->nr_kernel = m->nr_native = 0;
		m->native_end = m->reserved[0] = m->reserved[1] = m->reserved[2] = 0;
		s->machine_size = SAMPLE_MACHINE_HEAD;
		s->event.flags |= SAMPLE_HAS_MACHINE;
	}
	u->count = 0;
	u->end = UNWIND_END_DEPTH;
	u->bp_lost = u->no_return = 0;
	u->exact = 1;
	walk.vm = cfg->vm;
	if (task__user_registers(&regs) || unwind__find_process(u, &walk)) {
		m->native_end = UNWIND_END_NO_FILE;
		return 0;
	}
	u->ip = regs.ip;
	u->sp = regs.sp;
	u->bp = regs.bp;
	unwind__jit_range(cfg, jit);
	u->jit_start = jit[0];
	u->jit_end = jit[1];
	bpf_loop(NATIVE_FRAMES_MAX, unwind_next, &walk, 0);
	if (u->end == UNWIND_END_OUTERMOST && nr && !unwind__is_of_ec(s, cfg, regs.sp)) {
		u->end = UNWIND_END_FIBER;
		u->count = 0;
	}
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
