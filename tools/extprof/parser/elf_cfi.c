/* SPDX-License-Identifier: BSD-2-Clause */
/* The instructions: DWARF, "Call Frame Information", and what the ABIs of x86-64 and aarch64 add. */
#include "parser/elf_cfi.h"

#include <elf.h>
#include <string.h>

static const struct cfi_machine machines[] = {
	{ EM_X86_64, 6, 7, 16, false },
	{ EM_AARCH64, 29, 31, 30, true },
};

const struct cfi_machine *cfi_machine__of(uint16_t elf)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (machines[i].elf == elf)
			return &machines[i];
	return NULL;
}

/* -- bytes ------------------------------------------------------------------------------------ */

uint64_t cfi_bytes__number(struct cfi_bytes *b, size_t size)
{
	uint64_t n = 0;

	if ((size_t)(b->end - b->at) < size) {
		b->bad = true;
		b->at = b->end;
		return 0;
	}
	memcpy(&n, b->at, size);	/* both are little endian */
	b->at += size;
	return n;
}

/* A number of 7 bits a byte; *sign: the bits above it, if it is less than 0. */
static uint64_t take_leb(struct cfi_bytes *b, uint64_t *sign)
{
	uint64_t n = 0;

	*sign = 0;
	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint64_t byte = cfi_bytes__number(b, 1);

		n |= (byte & 127) << shift;
		if (byte & 128)
			continue;
		if (byte & 64 && shift + 7 < 64)
			*sign = ~0ull << (shift + 7);
		return n;
	}
	b->bad = true;
	return 0;
}

uint64_t cfi_bytes__uleb(struct cfi_bytes *b)
{
	uint64_t sign;

	return take_leb(b, &sign);
}

int64_t cfi_bytes__sleb(struct cfi_bytes *b)
{
	uint64_t sign, n = take_leb(b, &sign);

	return (int64_t)(n | sign);
}

struct cfi_bytes cfi_bytes__block(struct cfi_bytes *b, uint64_t size)
{
	struct cfi_bytes part = { b->at, b->at, false };

	if (size > (uint64_t)(b->end - b->at)) {
		b->bad = true;
		b->at = b->end;
		return part;
	}
	b->at += size;
	part.end = b->at;
	return part;
}

/* -- the rules of a function ------------------------------------------------------------------ */

static void set_register(struct cfi_rules *r, const struct cfi_machine *m, uint64_t reg)
{
	r->reg = reg < 32 ? (uint8_t)reg : 255;
	r->rule = reg == m->sp ? UNWIND_SP : reg == m->fp ? UNWIND_FP : UNWIND_OTHER;
}

/*
 * DW_OP_breg7 (rsp) at, DW_OP_deref, DW_OP_plus_uconst more: assembly that aligns its stack and keeps the stack pointer of before
 * there, as OpenSSL's does.  *r has both numbers as a row has them.
 */
static bool is_sp_deref(struct cfi_rules *r, struct cfi_bytes e)
{
	uint64_t more;
	int64_t at;

	if (cfi_bytes__number(&e, 1) != 0x77)
		return false;
	at = cfi_bytes__sleb(&e);
	if (cfi_bytes__number(&e, 1) != 0x06 || cfi_bytes__number(&e, 1) != 0x23)
		return false;
	more = cfi_bytes__uleb(&e);
	if (e.bad || e.at != e.end || at < -(int64_t)UNWIND_RED_ZONE || at > INT32_MAX || more % 8 || more / 8 > UNWIND_DEREF_PLUS_WORDS)
		return false;
	at += UNWIND_RED_ZONE;
	if (at % 8 || at / 8 > UNWIND_DEREF_WORDS)
		return false;
	r->offset = at / 8 | (int64_t)(more / 8) << UNWIND_DEREF_PLUS;
	return true;
}

/* The CFA as an expression of x86-64: that of the table of imported functions, and those of functions which align their stack. */
static void set_expression(struct cfi_rules *r, const struct cfi_machine *m, struct cfi_bytes e)
{
	static const uint8_t plt[] = {
		0x77, 8,	/* DW_OP_breg7 (rsp) 8 */
		0x80, 0,	/* DW_OP_breg16 (the address) 0 */
		0x3f, 0x1a,	/* DW_OP_lit15, DW_OP_and */
		0x3b, 0x2a,	/* DW_OP_lit11, DW_OP_ge */
		0x33, 0x24,	/* DW_OP_lit3, DW_OP_shl */
		0x22,		/* DW_OP_plus */
	};
	size_t size = (size_t)(e.end - e.at);

	r->rule = UNWIND_OTHER;
	r->reg = 255;
	if (m->elf != EM_X86_64)
		return;
	/* The number is less where indirect branches are marked. */
	if (size == sizeof(plt) && !memcmp(e.at, plt, 6) && !memcmp(e.at + 7, plt + 7, sizeof(plt) - 7) && e.at[6] >= 0x30 &&
	    e.at[6] <= 0x3f) {
		r->rule = UNWIND_PLT;
		r->offset = e.at[6] - 0x30;
		return;
	}
	if (is_sp_deref(r, e)) {
		r->rule = UNWIND_SP_DEREF;
		return;
	}
	/* DW_OP_breg6 (rbp) offset, DW_OP_deref */
	if (size >= 3 && e.at[0] == 0x76 && e.end[-1] == 0x06) {
		int64_t offset;

		e.at++;
		e.end--;
		offset = cfi_bytes__sleb(&e);
		if (e.bad || e.at != e.end)
			return;
		r->rule = UNWIND_FP_DEREF;
		r->offset = -offset;
	}
}

static void set_rule(struct cfi_rules *r, const struct cfi_machine *m, uint64_t reg, bool saved, int64_t offset)
{
	const struct cfi_saved rule = { saved ? CFI_SAVED : CFI_LOST, offset };

	if (reg == m->fp)
		r->fp = rule;
	else if (m->link && reg == m->ra)
		r->lr = rule;
	else if (reg == m->sp || (reg == m->ra && (!saved || offset != -8)))
		r->other = true;
}

/* Restore the rule that the register had at the beginning of the function. */
static void restore(struct cfi_rules *r, const struct cfi_machine *m, const struct cfi_rules *first, uint64_t reg)
{
	if (reg == m->fp)
		r->fp = first->fp;
	if (reg == m->ra) {
		r->lr = first->lr;
		r->no_caller = first->no_caller;
		r->other = first->other;
	}
}

/* A register's place as an expression: rbp at the address that is in rbp. */
static void set_rule_expression(struct cfi_rules *r, const struct cfi_machine *m, uint64_t reg, struct cfi_bytes e)
{
	static const uint8_t at_rbp[] = { 0x76, 0 };	/* DW_OP_breg6 0 */

	if (m->elf == EM_X86_64 && reg == m->fp && e.end - e.at == sizeof(at_rbp) && !memcmp(e.at, at_rbp, sizeof(at_rbp)))
		r->fp = (struct cfi_saved){ .how = CFI_AT_FP };
	else
		set_rule(r, m, reg, false, 0);
}

static uint8_t saved_x86(const struct cfi_rules *r)
{
	int64_t words = -r->fp.at / 8;

	if (r->fp.how != CFI_SAVED)
		return r->fp.how == CFI_SAME ? UNWIND_SAME : r->fp.how == CFI_AT_FP ? UNWIND_AT_RBP : UNWIND_LOST;
	return r->fp.at % 8 || words < 1 || words > 0xfd ? UNWIND_LOST : (uint8_t)words;
}

/* A place in the frame, as unwind.h has it; less than 0: it is too far away. */
static int place_of(const struct cfi_rules *r, int64_t at)
{
	int64_t up = (at + r->offset) / 8, down = -at / 8 - 1;

	if (at % 8)
		return -1;
	if (up >= 0 && up <= (int64_t)UNWIND_PLACE_WORDS)
		return (int)up;
	return down >= 0 && down <= (int64_t)UNWIND_PLACE_WORDS ? (int)(UNWIND_PLACE_CFA | down) : -1;
}

/* False: it is not followed. */
static bool saved_arm64(const struct cfi_rules *r, uint8_t *saved)
{
	int64_t distance = r->lr.at - r->fp.at;
	uint32_t which = UNWIND_SAVED_LR;
	int place;

	if (r->lr.how == CFI_SAME && r->fp.how != CFI_SAVED) {
		*saved = r->fp.how == CFI_SAME ? UNWIND_SAME : UNWIND_LOST;
		return true;
	}
	if (r->lr.how != CFI_SAVED || (r->fp.how != CFI_SAME && r->fp.how != CFI_SAVED))
		return false;
	/* Above the CFA: what it is called is not the caller's stack pointer, as in glibc's _dl_runtime_resolve. */
	if (r->lr.at >= 0 || (r->fp.how == CFI_SAVED && r->fp.at >= 0))
		return false;
	if (r->fp.how == CFI_SAVED) {
		if (distance != 8 && distance != 16)
			return false;
		which = distance == 8 ? UNWIND_SAVED_PAIR : UNWIND_SAVED_FAR;
	}
	place = place_of(r, r->fp.how == CFI_SAVED ? r->fp.at : r->lr.at);
	*saved = (uint8_t)(which | (uint32_t)place);
	/* The last place of all has another meaning. */
	return place >= 0 && *saved != UNWIND_LOST;
}

struct unwind_row cfi_common__row(const struct cfi_common *c, const struct cfi_rules *r)
{
	struct unwind_row row = { .rule = r->rule };
	bool followed = true;

	if (c->machine->link)
		followed = saved_arm64(r, &row.saved);
	else
		row.saved = saved_x86(r);
	if (c->signal)
		row.rule = UNWIND_SIGNAL;
	else if (r->no_caller)
		row.rule = UNWIND_OUTERMOST;
	else if (r->other || !followed)
		row.rule = UNWIND_OTHER;
	else if (r->rule == UNWIND_SP || r->rule == UNWIND_FP || r->rule == UNWIND_FP_DEREF) {
		if (r->offset % 8 || r->offset < 0 || r->offset / 8 > UINT16_MAX)
			row.rule = UNWIND_OTHER;
		else
			row.cfa = (uint16_t)(r->offset / 8);
	}
	if (row.rule == UNWIND_PLT || row.rule == UNWIND_SP_DEREF)
		row.cfa = (uint16_t)r->offset;
	if (row.rule >= UNWIND_SIGNAL)
		row.saved = 0;
	return row;
}

bool cfi_run__step(struct cfi_run *run, const struct cfi_common *c)
{
	const struct cfi_machine *m = c->machine;
	const struct cfi_rules *first = &c->rules;
	struct cfi_rules *r = &run->rules;
	struct cfi_bytes *b = &run->code;
	uint8_t op = (uint8_t)cfi_bytes__number(b, 1);
	uint64_t reg;

	switch (op & 0xc0) {
	case 0x40: run->pc += (op & 63) * c->code_align; return true;
	case 0x80: set_rule(r, m, op & 63, true, (int64_t)cfi_bytes__uleb(b) * c->data_align); return true;
	case 0xc0: restore(r, m, first, op & 63); return true;
	}
	switch (op) {
	case 0x00: return true;								/* nop */
	case 0x02: run->pc += cfi_bytes__number(b, 1) * c->code_align; return true;		/* advance_loc1, 2, 4 */
	case 0x03: run->pc += cfi_bytes__number(b, 2) * c->code_align; return true;
	case 0x04: run->pc += cfi_bytes__number(b, 4) * c->code_align; return true;
	case 0x05:									/* offset_extended */
		reg = cfi_bytes__uleb(b);
		set_rule(r, m, reg, true, (int64_t)cfi_bytes__uleb(b) * c->data_align);
		return true;
	case 0x06:									/* restore_extended */
		restore(r, m, first, cfi_bytes__uleb(b));
		return true;
	case 0x07:									/* undefined */
		reg = cfi_bytes__uleb(b);
		if (reg == m->ra)
			r->no_caller = true;
		else
			set_rule(r, m, reg, false, 0);
		return true;
	case 0x08:									/* same_value */
		reg = cfi_bytes__uleb(b);
		if (reg == m->fp)
			r->fp.how = CFI_SAME;
		else if (m->link && reg == m->ra)
			r->lr.how = CFI_SAME;
		return true;
	case 0x09:									/* register */
		reg = cfi_bytes__uleb(b);
		cfi_bytes__uleb(b);
		set_rule(r, m, reg, false, 0);
		return true;
	case 0x0a:									/* remember_state */
		if (run->depth == CFI_STATES_MAX)
			return false;
		run->states[run->depth++] = *r;
		return true;
	case 0x0b:									/* restore_state */
		if (!run->depth)
			return false;
		*r = run->states[--run->depth];
		return true;
	case 0x0c:									/* def_cfa */
		set_register(r, m, cfi_bytes__uleb(b));
		r->offset = (int64_t)cfi_bytes__uleb(b);
		return true;
	case 0x0d: set_register(r, m, cfi_bytes__uleb(b)); return true;				/* def_cfa_register */
	case 0x0e: r->offset = (int64_t)cfi_bytes__uleb(b); return true;			/* def_cfa_offset */
	case 0x0f: set_expression(r, m, cfi_bytes__block(b, cfi_bytes__uleb(b))); return true;		/* def_cfa_expression */
	case 0x10:									/* expression */
		reg = cfi_bytes__uleb(b);
		set_rule_expression(r, m, reg, cfi_bytes__block(b, cfi_bytes__uleb(b)));
		return true;
	case 0x11:									/* offset_extended_sf */
		reg = cfi_bytes__uleb(b);
		set_rule(r, m, reg, true, cfi_bytes__sleb(b) * c->data_align);
		return true;
	case 0x12:									/* def_cfa_sf */
		set_register(r, m, cfi_bytes__uleb(b));
		r->offset = cfi_bytes__sleb(b) * c->data_align;
		return true;
	case 0x13: r->offset = cfi_bytes__sleb(b) * c->data_align; return true;		/* def_cfa_offset_sf */
	case 0x14: case 0x15:								/* val_offset, val_offset_sf */
		set_rule(r, m, cfi_bytes__uleb(b), false, 0);
		cfi_bytes__uleb(b);
		return true;
	case 0x16:									/* val_expression */
		set_rule(r, m, cfi_bytes__uleb(b), false, 0);
		cfi_bytes__block(b, cfi_bytes__uleb(b));
		return true;
	case 0x2d: return m->elf == EM_AARCH64;						/* AARCH64_negate_ra_state */
	case 0x2e: cfi_bytes__uleb(b); return true;						/* GNU_args_size */
	default: return false;
	}
}
