/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One step on x86-64; unwind_steps.h includes this. */
#ifndef EXTPROF_UNWIND_X86_H
#define EXTPROF_UNWIND_X86_H

/* Linux' struct rt_sigframe: where the registers are, from the stack pointer at the return of the handler on. */
#define SIGNAL_RBP 120u
#define SIGNAL_RSP 160u
#define SIGNAL_RIP 168u

static __always_inline int unwind__signal(struct unwind_state *u)
{
	uint64_t sp = u->sp, rsp = 0, rip = 0, rbp = 0;

	if (read_target(&rbp, 8, sp + SIGNAL_RBP) || read_target(&rsp, 8, sp + SIGNAL_RSP) ||
	    read_target(&rip, 8, sp + SIGNAL_RIP))
		return unwind__end(u, UNWIND_END_STACK);
	return unwind__interrupted(u, rip, rsp, rbp);
}

/* The caller, by its return address and the CFA. */
static __always_inline int unwind__return(struct unwind_state *u, uint64_t cfa, uint64_t bp, int bp_lost)
{
	uint64_t ip = 0;

	if (cfa <= u->sp || cfa & 7)
		return unwind__end(u, UNWIND_END_ORDER);
	if (read_target(&ip, sizeof(ip), cfa - 8))
		return unwind__end(u, UNWIND_END_STACK);
	return unwind__return_to(u, ip, cfa, bp, bp_lost);
}

/*
 * Code of YJIT.  Where the thread was interrupted right in there, rbp can still, or already, be the caller's: before
 * `push rbp` and between that and `mov rbp, rsp`, and between `pop rbp; pop rbp` and `ret`, or a jump.
 */
static __always_inline int unwind__jit(struct unwind_state *u)
{
	uint64_t bp = 0;
	uint8_t code[6] = { 0 };

	if (u->exact) {
		/* YJIT's code begins with its way back to C.  What is before that may not be mapped. */
		if (u->ip - 2 < u->jit_start ? read_target(code + 2, 4, u->ip) : read_target(code, sizeof(code), u->ip - 2))
			return unwind__end(u, UNWIND_END_STACK);
		if (code[2] == 0x55 && code[3] == 0x48 && code[4] == 0x89 && code[5] == 0xe5)
			return unwind__return(u, u->sp + 8, u->bp, u->bp_lost);
		if (code[1] == 0x55 && code[2] == 0x48 && code[3] == 0x89 && code[4] == 0xe5)
			return unwind__return(u, u->sp + 16, u->bp, u->bp_lost);
		if (code[2] == 0xc3 || (code[0] == 0x5d && code[1] == 0x5d && code[2] != 0x5d))
			return unwind__return(u, u->sp + 8, u->bp, u->bp_lost);
	}
	if (u->bp_lost)
		return unwind__end(u, UNWIND_END_FP);
	if (read_target(&bp, sizeof(bp), u->bp))
		return unwind__end(u, UNWIND_END_STACK);
	return unwind__return(u, u->bp + 16, bp, 0);
}

static __always_inline int unwind__by_row(struct unwind_state *u, const struct unwind_row *row)
{
	uint32_t rule = row->rule & ~UNWIND_BEGINS, where = row->saved;
	uint64_t cfa, bp = u->bp;
	int lost = u->bp_lost;

	switch (rule) {
	case UNWIND_NONE: return unwind__end(u, UNWIND_END_NO_RULES);
	case UNWIND_OUTERMOST: return unwind__end(u, UNWIND_END_OUTERMOST);
	case UNWIND_SIGNAL: return unwind__signal(u);
	case UNWIND_SP: cfa = u->sp + 8ull * row->cfa; break;
	case UNWIND_PLT: cfa = u->sp + 8 + ((u->ip & 15) >= row->cfa ? 8 : 0); break;
	case UNWIND_SP_DEREF:
		if (read_target(&cfa, sizeof(cfa), u->sp - UNWIND_RED_ZONE + 8ull * (row->cfa & UNWIND_DEREF_WORDS)))
			return unwind__end(u, UNWIND_END_STACK);
		cfa += 8ull * (row->cfa >> UNWIND_DEREF_PLUS);
		break;
	case UNWIND_FP:
	case UNWIND_FP_DEREF:
		if (lost)
			return unwind__end(u, UNWIND_END_FP);
		cfa = u->bp + 8ull * row->cfa;
		if (rule == UNWIND_FP_DEREF && read_target(&cfa, sizeof(cfa), u->bp - 8ull * row->cfa))
			return unwind__end(u, UNWIND_END_STACK);
		break;
	default: return unwind__end(u, UNWIND_END_RULE);
	}
	if (where == UNWIND_LOST) {
		lost = 1;
	} else if (where == UNWIND_AT_RBP) {
		if (!lost && read_target(&bp, sizeof(bp), u->bp))
			return unwind__end(u, UNWIND_END_STACK);
	} else if (where) {
		lost = 0;
		if (read_target(&bp, sizeof(bp), cfa - 8ull * where))
			return unwind__end(u, UNWIND_END_STACK);
	}
	return unwind__return(u, cfa, bp, lost);
}

#endif /* EXTPROF_UNWIND_X86_H */
