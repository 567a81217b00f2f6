/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One step on aarch64; unwind_steps.h includes this. */
#ifndef EXTPROF_UNWIND_ARM64_H
#define EXTPROF_UNWIND_ARM64_H

/* Linux' struct rt_sigframe: where the registers are, from the stack pointer at the return of the handler on. */
#define SIGNAL_X29 544u
#define SIGNAL_X30 552u
#define SIGNAL_SP 560u
#define SIGNAL_PC 568u

/* A return address can be signed, above the bits of an address of user space. */
#define UNWIND_ADDRESS 0xffffffffffffull

static __always_inline int unwind__signal(struct unwind_state *u)
{
	uint64_t at = u->sp, fp = 0, lr = 0, sp = 0, pc = 0;

	if (read_target(&fp, 8, at + SIGNAL_X29) || read_target(&lr, 8, at + SIGNAL_X30) ||
	    read_target(&sp, 8, at + SIGNAL_SP) || read_target(&pc, 8, at + SIGNAL_PC))
		return unwind__end(u, UNWIND_END_STACK);
	u->lr = lr;
	return unwind__interrupted(u, pc, sp, fp);
}

/*
 * The caller, by the link register, whose value is known in the function that runs and in one that a signal has interrupted:
 * another one has called, and its link register is where it returns to itself.
 */
static __always_inline int unwind__by_link(struct unwind_state *u, uint64_t cfa, uint64_t fp, int fp_lost)
{
	if (!u->exact)
		return unwind__end(u, UNWIND_END_RULE);
	/* Without it nothing is known of x29 either. */
	if (u->bp_lost)
		return unwind__end(u, UNWIND_END_FP);
	if (cfa < u->sp || cfa & 7)
		return unwind__end(u, UNWIND_END_ORDER);
	return unwind__return_to(u, u->lr & UNWIND_ADDRESS, cfa, fp, fp_lost);
}

/* The caller, by the return address at `at`. */
static __always_inline int unwind__by_memory(struct unwind_state *u, uint64_t at, uint64_t cfa, uint64_t fp, int fp_lost)
{
	uint64_t ip = 0;

	if (cfa <= u->sp || cfa & 7)
		return unwind__end(u, UNWIND_END_ORDER);
	if (read_target(&ip, sizeof(ip), at))
		return unwind__end(u, UNWIND_END_STACK);
	return unwind__return_to(u, ip & UNWIND_ADDRESS, cfa, fp, fp_lost);
}

#define CODE_STP_X29_X30 0xa9bf7bfdu	/* stp x29, x30, [sp, #-16]! */
#define CODE_MOV_X29_SP 0x910003fdu
#define CODE_LDP_X29_X30 0xa8c17bfdu	/* ldp x29, x30, [sp], #16 */
#define CODE_RET 0xd65f03c0u

/*
 * Code of YJIT.  Where the thread was interrupted right in there, x29 can still, or already, be the caller's: before `stp x29,
 * x30`, between that and `mov x29, sp`, and between `ldp x29, x30` and `ret`, or a jump.
 */
static __always_inline int unwind__jit(struct unwind_state *u)
{
	uint32_t code[2] = { 0 };
	uint64_t fp = 0;

	if (u->exact) {
		/* YJIT's code begins with its way back to C.  What is before that may not be mapped. */
		if (u->ip == u->jit_start ? read_target(code + 1, 4, u->ip) : read_target(code, sizeof(code), u->ip - 4))
			return unwind__end(u, UNWIND_END_STACK);
		if (code[1] == CODE_STP_X29_X30 || code[1] == CODE_RET || code[0] == CODE_LDP_X29_X30)
			return unwind__by_link(u, u->sp, u->bp, u->bp_lost);
		if (code[0] == CODE_STP_X29_X30 && code[1] == CODE_MOV_X29_SP) {
			if (read_target(&fp, sizeof(fp), u->sp))
				return unwind__end(u, UNWIND_END_STACK);
			return unwind__by_memory(u, u->sp + 8, u->sp + 16, fp, 0);
		}
	}
	if (u->bp_lost)
		return unwind__end(u, UNWIND_END_FP);
	if (read_target(&fp, sizeof(fp), u->bp))
		return unwind__end(u, UNWIND_END_STACK);
	return unwind__by_memory(u, u->bp + 8, u->bp + 16, fp, 0);
}

static __always_inline int unwind__by_row(struct unwind_state *u, const struct unwind_row *row)
{
	uint32_t rule = row->rule & ~UNWIND_BEGINS, saved = row->saved;
	uint64_t base, cfa, at, fp = u->bp;
	int lost = u->bp_lost;

	switch (rule) {
	case UNWIND_NONE: return unwind__end(u, UNWIND_END_NO_RULES);
	case UNWIND_OUTERMOST: return unwind__end(u, UNWIND_END_OUTERMOST);
	case UNWIND_SIGNAL: return unwind__signal(u);
	case UNWIND_SP: base = u->sp; break;
	case UNWIND_FP:
		if (lost)
			return unwind__end(u, UNWIND_END_FP);
		base = u->bp;
		break;
	default: return unwind__end(u, UNWIND_END_RULE);
	}
	cfa = base + 8ull * row->cfa;
	if (saved == UNWIND_LOST)
		return unwind__by_link(u, cfa, fp, 1);
	if (!(saved & UNWIND_SAVED))
		return unwind__by_link(u, cfa, fp, lost);
	at = 8ull * (saved & UNWIND_PLACE_WORDS);
	at = saved & UNWIND_PLACE_CFA ? cfa - 8 - at : base + at;
	if ((saved & UNWIND_SAVED) != UNWIND_SAVED_LR) {
		lost = 0;
		if (read_target(&fp, sizeof(fp), at))
			return unwind__end(u, UNWIND_END_STACK);
	}
	switch (saved & UNWIND_SAVED) {
	case UNWIND_SAVED_PAIR: at += 8; break;
	case UNWIND_SAVED_FAR: at += 16; break;
	}
	return unwind__by_memory(u, at, cfa, fp, lost);
}

/*
 * Does the caller seem to go on at the first instruction of the function that it has called?  No call is there.  It is a fiber's first
 * function: its address was put into x30 to begin it, and 0 into x29.
 */
static __always_inline int unwind__is_first_of_fiber(const struct unwind_state *u, const struct unwind_mapping *m, uint64_t callee)
{
	struct unwind_row *row;

	if (u->bp || u->bp_lost || u->exact || u->ip > callee || callee - u->ip > 4096 || u->ip < m->start)
		return 0;
	row = unwind__row(m, u->ip);
	return row && row->rule & UNWIND_BEGINS && row->pc == (uint32_t)(u->ip - m->base);
}

#endif /* EXTPROF_UNWIND_ARM64_H */
