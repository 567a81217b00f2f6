/* SPDX-License-Identifier: BSD-2-Clause */
/* The format: the Linux Standard Base, "Exception Frames", and DWARF, "Call Frame Information". */
#include "parser/elf_unwind.h"

#include <errno.h>
#include <string.h>

#include "parser/elf_arm64.h"

/* Encodings of pointers: the LSB's DW_EH_PE_. */
#define PE_ABSOLUTE 0x00
#define PE_UDATA4 0x03
#define PE_SDATA4 0x0b
#define PE_SDATA8 0x0c
#define PE_FORMAT 0x0f
#define PE_PCREL 0x10
#define PE_DATAREL 0x30
#define PE_BASE 0x70
#define PE_INDIRECT 0x80

/* Registers, by their numbers in DWARF. */
struct machine {
	uint16_t elf;
	uint8_t fp, sp, ra;
	bool link;		/* `ra` is a register: without a rule the return address is there */
};

static const struct machine machines[] = {
	{ EM_X86_64, 6, 7, 16, false },
	{ EM_AARCH64, 29, 31, 30, true },
};

#define STATES_MAX 8		/* that a function remembers at the same time */
#define ENTRY_MAX 65536u	/* bytes of the rules of one function */
#define EXPRESSION_MAX 32u

/* Bytes in the file. */
struct bytes {
	const uint8_t *at, *end;
	bool bad;		/* something was read behind the end */
};

struct rules {
	uint8_t rule;		/* enum unwind_rule */
	uint8_t reg;		/* of UNWIND_SP and _FP; another one: UNWIND_OTHER */
	int64_t offset;
	/* The caller's frame pointer, and the return address of a machine with a link register. */
	struct saved {
		enum { SAME, SAVED, AT_FP, LOST } how;
		int64_t at;	/* SAVED: from the CFA on */
	} fp, lr;
	bool no_caller;
	bool other;		/* the return address is elsewhere, or the stack pointer not the CFA */
};

struct common {
	const struct machine *machine;
	uint64_t at;		/* address of this CIE; 0: none was read */
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	bool has_data, signal;
	struct rules rules;
	bool good;
};

struct function {
	uint64_t begin, end;
	struct bytes code;
};

struct search {
	struct elf_file *f;
	struct elf_window entries;
	struct common common;
	uint64_t table, count;	/* of .eh_frame_hdr: address and entries */
	uint64_t header;	/* its address */
	struct arm64_part parts[ARM64_PARTS_MAX];
	uint32_t part_count;
	struct unwind_rows *out;
};

static uint64_t take_number(struct bytes *b, size_t size)
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
static uint64_t take_leb(struct bytes *b, uint64_t *sign)
{
	uint64_t n = 0;

	*sign = 0;
	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint64_t byte = take_number(b, 1);

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

static uint64_t take_uleb(struct bytes *b)
{
	uint64_t sign;

	return take_leb(b, &sign);
}

static int64_t take_sleb(struct bytes *b)
{
	uint64_t sign, n = take_leb(b, &sign);

	return (int64_t)(n | sign);
}

static struct bytes take_block(struct bytes *b, uint64_t size)
{
	struct bytes part = { b->at, b->at, false };

	if (size > (uint64_t)(b->end - b->at)) {
		b->bad = true;
		b->at = b->end;
		return part;
	}
	b->at += size;
	part.end = b->at;
	return part;
}

/* A pointer, `here` is the address of its first byte. */
static uint64_t take_pointer(struct bytes *b, uint8_t encoding, uint64_t here, uint64_t data)
{
	uint64_t value;

	switch (encoding & PE_FORMAT) {
	case PE_ABSOLUTE: case PE_SDATA8: case 0x04: value = take_number(b, 8); break;
	case PE_UDATA4: value = take_number(b, 4); break;
	case PE_SDATA4: value = (uint64_t)(int64_t)(int32_t)take_number(b, 4); break;
	default: b->bad = true; return 0;
	}
	switch (encoding & PE_BASE) {
	case 0: return value;
	case PE_PCREL: return value + here;
	case PE_DATAREL: return value + data;
	default: b->bad = true; return 0;
	}
}

/* Bytes of the file at an address. */
static const uint8_t *at_address(struct search *s, struct elf_window *w, uint64_t address, size_t size)
{
	const Elf64_Phdr *p = elf_file__segment_of_address(s->f, address);

	return p && size <= p->p_filesz - (address - p->p_vaddr) ?
	       elf_file__part(s->f, w, p->p_offset + (address - p->p_vaddr), size) : NULL;
}

/* -- the rules of a function ------------------------------------------------------------------ */

static void set_register(struct rules *r, const struct machine *m, uint64_t reg)
{
	r->reg = reg < 32 ? (uint8_t)reg : 255;
	r->rule = reg == m->sp ? UNWIND_SP : reg == m->fp ? UNWIND_FP : UNWIND_OTHER;
}

/* The CFA as an expression of x86-64: that of the table of imported functions, and that of a function which aligns its stack. */
static void set_expression(struct rules *r, const struct machine *m, struct bytes e)
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
	/* DW_OP_breg6 (rbp) offset, DW_OP_deref */
	if (size >= 3 && e.at[0] == 0x76 && e.end[-1] == 0x06) {
		int64_t offset;

		e.at++;
		e.end--;
		offset = take_sleb(&e);
		if (e.bad || e.at != e.end)
			return;
		r->rule = UNWIND_FP_DEREF;
		r->offset = -offset;
	}
}

static void set_rule(struct rules *r, const struct machine *m, uint64_t reg, bool saved, int64_t offset)
{
	const struct saved rule = { saved ? SAVED : LOST, offset };

	if (reg == m->fp)
		r->fp = rule;
	else if (m->link && reg == m->ra)
		r->lr = rule;
	else if (reg == m->sp || (reg == m->ra && (!saved || offset != -8)))
		r->other = true;
}

/* Restore the rule that the register had at the beginning of the function. */
static void restore(struct rules *r, const struct machine *m, const struct rules *first, uint64_t reg)
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
static void set_rule_expression(struct rules *r, const struct machine *m, uint64_t reg, struct bytes e)
{
	static const uint8_t at_rbp[] = { 0x76, 0 };	/* DW_OP_breg6 0 */

	if (m->elf == EM_X86_64 && reg == m->fp && e.end - e.at == sizeof(at_rbp) && !memcmp(e.at, at_rbp, sizeof(at_rbp)))
		r->fp = (struct saved){ .how = AT_FP };
	else
		set_rule(r, m, reg, false, 0);
}

static uint8_t saved_x86(const struct rules *r)
{
	int64_t words = -r->fp.at / 8;

	if (r->fp.how != SAVED)
		return r->fp.how == SAME ? UNWIND_SAME : r->fp.how == AT_FP ? UNWIND_AT_RBP : UNWIND_LOST;
	return r->fp.at % 8 || words < 1 || words > 0xfd ? UNWIND_LOST : (uint8_t)words;
}

/* A place in the frame, as unwind.h has it; less than 0: it is too far away. */
static int place_of(const struct rules *r, int64_t at)
{
	int64_t up = (at + r->offset) / 8, down = -at / 8 - 1;

	if (at % 8)
		return -1;
	if (up >= 0 && up <= (int64_t)UNWIND_PLACE_WORDS)
		return (int)up;
	return down >= 0 && down <= (int64_t)UNWIND_PLACE_WORDS ? (int)(UNWIND_PLACE_CFA | down) : -1;
}

/* False: it is not followed. */
static bool saved_arm64(const struct rules *r, uint8_t *saved)
{
	int64_t distance = r->lr.at - r->fp.at;
	uint32_t which = UNWIND_SAVED_LR;
	int place;

	if (r->lr.how == SAME && r->fp.how != SAVED) {
		*saved = r->fp.how == SAME ? UNWIND_SAME : UNWIND_LOST;
		return true;
	}
	if (r->lr.how != SAVED || (r->fp.how != SAME && r->fp.how != SAVED))
		return false;
	if (r->fp.how == SAVED) {
		if (distance != 8 && distance != 16)
			return false;
		which = distance == 8 ? UNWIND_SAVED_PAIR : UNWIND_SAVED_FAR;
	}
	place = place_of(r, r->fp.how == SAVED ? r->fp.at : r->lr.at);
	*saved = (uint8_t)(which | (uint32_t)place);
	/* The last place of all has another meaning. */
	return place >= 0 && *saved != UNWIND_LOST;
}

static struct unwind_row row_of(const struct common *c, const struct rules *r)
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
	if (row.rule == UNWIND_PLT)
		row.cfa = (uint16_t)r->offset;
	if (row.rule >= UNWIND_SIGNAL)
		row.saved = 0;
	return row;
}

/* One instruction.  *pc: where the code goes on that the rules are for.  False: it is not known. */
static bool step(struct bytes *b, const struct common *c, const struct rules *first, struct rules *r,
		 struct rules *states, uint32_t *depth, uint64_t *pc)
{
	const struct machine *m = c->machine;
	uint8_t op = (uint8_t)take_number(b, 1);
	uint64_t reg;

	switch (op & 0xc0) {
	case 0x40: *pc += (op & 63) * c->code_align; return true;
	case 0x80: set_rule(r, m, op & 63, true, (int64_t)take_uleb(b) * c->data_align); return true;
	case 0xc0: restore(r, m, first, op & 63); return true;
	}
	switch (op) {
	case 0x00: return true;								/* nop */
	case 0x02: *pc += take_number(b, 1) * c->code_align; return true;		/* advance_loc1, 2, 4 */
	case 0x03: *pc += take_number(b, 2) * c->code_align; return true;
	case 0x04: *pc += take_number(b, 4) * c->code_align; return true;
	case 0x05:									/* offset_extended */
		reg = take_uleb(b);
		set_rule(r, m, reg, true, (int64_t)take_uleb(b) * c->data_align);
		return true;
	case 0x06:									/* restore_extended */
		restore(r, m, first, take_uleb(b));
		return true;
	case 0x07:									/* undefined */
		reg = take_uleb(b);
		if (reg == m->ra)
			r->no_caller = true;
		else
			set_rule(r, m, reg, false, 0);
		return true;
	case 0x08:									/* same_value */
		reg = take_uleb(b);
		if (reg == m->fp)
			r->fp.how = SAME;
		else if (m->link && reg == m->ra)
			r->lr.how = SAME;
		return true;
	case 0x09:									/* register */
		reg = take_uleb(b);
		take_uleb(b);
		set_rule(r, m, reg, false, 0);
		return true;
	case 0x0a:									/* remember_state */
		if (*depth == STATES_MAX)
			return false;
		states[(*depth)++] = *r;
		return true;
	case 0x0b:									/* restore_state */
		if (!*depth)
			return false;
		*r = states[--*depth];
		return true;
	case 0x0c:									/* def_cfa */
		set_register(r, m, take_uleb(b));
		r->offset = (int64_t)take_uleb(b);
		return true;
	case 0x0d: set_register(r, m, take_uleb(b)); return true;				/* def_cfa_register */
	case 0x0e: r->offset = (int64_t)take_uleb(b); return true;			/* def_cfa_offset */
	case 0x0f: set_expression(r, m, take_block(b, take_uleb(b))); return true;		/* def_cfa_expression */
	case 0x10:									/* expression */
		reg = take_uleb(b);
		set_rule_expression(r, m, reg, take_block(b, take_uleb(b)));
		return true;
	case 0x11:									/* offset_extended_sf */
		reg = take_uleb(b);
		set_rule(r, m, reg, true, take_sleb(b) * c->data_align);
		return true;
	case 0x12:									/* def_cfa_sf */
		set_register(r, m, take_uleb(b));
		r->offset = take_sleb(b) * c->data_align;
		return true;
	case 0x13: r->offset = take_sleb(b) * c->data_align; return true;		/* def_cfa_offset_sf */
	case 0x14: case 0x15:								/* val_offset, val_offset_sf */
		set_rule(r, m, take_uleb(b), false, 0);
		take_uleb(b);
		return true;
	case 0x16:									/* val_expression */
		set_rule(r, m, take_uleb(b), false, 0);
		take_block(b, take_uleb(b));
		return true;
	case 0x2d: return m->elf == EM_AARCH64;						/* AARCH64_negate_ra_state */
	case 0x2e: take_uleb(b); return true;						/* GNU_args_size */
	default: return false;
	}
}

/* -- entries ---------------------------------------------------------------------------------- */

/* The bytes of the entry at an address, behind its length.  False: there is none. */
static bool open_entry(struct search *s, uint64_t at, struct bytes *b)
{
	const uint8_t *p = at_address(s, &s->entries, at, 4);
	uint32_t size;

	if (!p)
		return false;
	memcpy(&size, p, sizeof(size));
	/* 0 is the end, and of all ones the length follows in 64 bits: nobody writes so much. */
	if (size < 4 || size > ENTRY_MAX - 4)
		return false;
	p = at_address(s, &s->entries, at, (size_t)size + 4);
	if (!p)
		return false;
	*b = (struct bytes){ p + 4, p + 4 + size, false };
	return true;
}

static bool read_common(struct search *s, uint64_t at)
{
	const struct machine *machine = s->common.machine;
	struct common *c = &s->common;
	struct bytes b, data;
	const char *augmentation;
	uint64_t version, pc = 0;
	uint32_t depth = 0;
	struct rules states[STATES_MAX];

	if (c->at == at)
		return c->good;
	*c = (struct common){ .machine = machine, .at = at, .rules = { .rule = UNWIND_OTHER, .reg = 255 } };
	if (!open_entry(s, at, &b) || take_number(&b, 4))
		return false;
	version = take_number(&b, 1);
	augmentation = (const char *)b.at;
	if ((version != 1 && version != 3) || b.bad || !memchr(b.at, '\0', (size_t)(b.end - b.at)))
		return false;
	b.at += strlen(augmentation) + 1;
	c->code_align = take_uleb(&b);
	c->data_align = take_sleb(&b);
	if ((version == 1 ? take_number(&b, 1) : take_uleb(&b)) != machine->ra || c->code_align > 64 || c->data_align < -64 ||
	    c->data_align > 64)
		return false;
	c->has_data = *augmentation == 'z';
	data = c->has_data ? take_block(&b, take_uleb(&b)) : (struct bytes){ 0 };
	for (const char *a = augmentation + c->has_data; *a; a++) {
		switch (*a) {
		case 'R':
			c->encoding = (uint8_t)take_number(&data, 1);
			if (c->encoding & PE_INDIRECT)
				return false;
			break;
		case 'L': take_number(&data, 1); break;
		case 'P': take_pointer(&data, (uint8_t)(take_number(&data, 1) & (PE_FORMAT | PE_BASE)), 0, 0); break;
		case 'S': c->signal = true; break;
		case 'B': break;
		default: return false;
		}
	}
	while (b.at < b.end && !b.bad && !data.bad)
		if (!step(&b, c, &c->rules, &c->rules, states, &depth, &pc))
			return false;
	c->good = !b.bad && !data.bad;
	return c->good;
}

/* The function of the entry at an address; its common part is in s->common. */
static bool read_function(struct search *s, uint64_t at, struct function *fn)
{
	uint64_t here, delta;
	struct bytes b;

	if (!open_entry(s, at, &b))
		return false;
	delta = take_number(&b, 4);
	if (!delta || delta > at + 4 || !read_common(s, at + 4 - delta))
		return false;
	/* The common part can have taken the window. */
	if (!open_entry(s, at, &b))
		return false;
	take_number(&b, 4);
	here = at + 8;
	fn->begin = take_pointer(&b, s->common.encoding, here, 0);
	fn->end = fn->begin + take_pointer(&b, s->common.encoding & PE_FORMAT, 0, 0);
	if (s->common.has_data)
		take_block(&b, take_uleb(&b));
	fn->code = b;
	return !b.bad && fn->end > fn->begin;
}

/* -- rows ------------------------------------------------------------------------------------- */

static bool is_full(const struct search *s)
{
	return s->out->count == UNWIND_ROWS_AT_ONCE;
}

/* Append a row.  False: there is no room. */
static bool put(struct search *s, uint64_t pc, struct unwind_row row)
{
	struct unwind_rows *out = s->out;
	struct unwind_row *last = out->count ? &out->rows[out->count - 1] : NULL;

	row.pc = (uint32_t)(pc - out->base);
	/* The last rules for a place hold, and what does not change has no row. */
	if (last && last->pc == row.pc) {
		row.rule |= last->rule & UNWIND_BEGINS;
		*last = row;
		return true;
	}
	if (last && !(row.rule & UNWIND_BEGINS) && (last->rule & ~UNWIND_BEGINS) == row.rule && last->cfa == row.cfa &&
	    last->saved == row.saved)
		return true;
	if (is_full(s))
		return false;
	out->rows[out->count++] = row;
	return true;
}

/* Is it what a signal handler returns to on aarch64?  Its rules are those of a caller of the interrupted function. */
static bool is_sigreturn(struct search *s, const struct function *fn)
{
	const uint8_t *p;

	if (s->common.machine->elf != EM_AARCH64 || fn->end - fn->begin > 16 || fn->end - fn->begin < 8)
		return false;
	p = at_address(s, &s->f->content, fn->end - 8, 8);
	return p && elf_arm64__is_sigreturn(p);
}

/* The rows of a function.  False: there is no room for all of them. */
static bool put_function(struct search *s, struct function *fn)
{
	struct rules r = s->common.rules, states[STATES_MAX];
	struct unwind_row other = { .rule = UNWIND_OTHER }, none = { .rule = UNWIND_NONE };
	uint32_t depth = 0, before = s->out->count;
	struct unwind_row last = before ? s->out->rows[before - 1] : none;
	uint64_t pc = fn->begin, next = pc;
	bool known = true, sigreturn = is_sigreturn(s, fn);

	for (;;) {
		struct unwind_row row;

		while (known && next == pc && fn->code.at < fn->code.end)
			known = step(&fn->code, &s->common, &s->common.rules, &r, states, &depth, &next) && !fn->code.bad;
		row = sigreturn ? (struct unwind_row){ .rule = UNWIND_SIGNAL } : known ? row_of(&s->common, &r) : other;
		row.rule |= pc == fn->begin ? UNWIND_BEGINS : 0;
		if (!put(s, pc, row))
			goto full;
		if (!known || next <= pc || next >= fn->end)
			break;
		pc = next;
	}
	if (put(s, fn->end, none))
		return true;
full:
	s->out->count = before;
	if (before)
		s->out->rows[before - 1] = last;
	return false;
}

/* The rows of code that is in no table and that belongs before `until`.  False: there is no room for all of them. */
static bool put_parts(struct search *s, uint64_t until)
{
	struct unwind_rows *out = s->out;

	for (uint32_t i = 0; i < s->part_count; i++) {
		const struct arm64_part *p = &s->parts[i];

		if (p->begin < out->next.end || p->begin < out->base || p->end > until || p->end > out->end)
			continue;
		if (UNWIND_ROWS_AT_ONCE - out->count <= ARM64_PART_ROWS)
			return false;
		for (uint32_t j = 0; j < p->count; j++) {
			struct unwind_row row = p->rows[j];

			row.rule |= j ? 0 : UNWIND_BEGINS;
			put(s, p->begin + p->rows[j].pc, row);
		}
		put(s, p->end, (struct unwind_row){ .rule = UNWIND_NONE });
		out->next.end = p->end;
	}
	return true;
}

/* The header of .eh_frame: a table of all functions, in the order of their addresses. */
static int find_table(struct search *s)
{
	const Elf64_Phdr *found = NULL;
	struct bytes b;
	const uint8_t *p;
	uint8_t encoding[3];

	for (uint32_t i = 0; i < s->f->segment_count; i++)
		if (s->f->segments[i].p_type == PT_GNU_EH_FRAME)
			found = &s->f->segments[i];
	p = found ? at_address(s, &s->f->headers, found->p_vaddr, 12) : NULL;
	if (!p || p[0] != 1)
		return -ENODATA;
	s->header = found->p_vaddr;
	memcpy(encoding, p + 1, sizeof(encoding));
	b = (struct bytes){ p + 4, p + 12, false };
	take_pointer(&b, encoding[0], s->header + 4, s->header);
	s->count = take_pointer(&b, encoding[1], s->header + 8, s->header);
	/* All linkers write these encodings. */
	if (b.bad || encoding[1] != PE_UDATA4 || encoding[2] != (PE_DATAREL | PE_SDATA4))
		return -ENODATA;
	s->table = s->header + 12;
	return s->count && s->count <= UNWIND_FUNCTIONS_MAX ? 0 : -ENODATA;
}

/* From the lowest to the highest address of code. */
static int find_code(struct search *s)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (uint32_t i = 0; i < s->f->segment_count; i++) {
		const Elf64_Phdr *p = &s->f->segments[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !p->p_memsz || p->p_vaddr + p->p_memsz < p->p_vaddr)
			continue;
		low = p->p_vaddr < low ? p->p_vaddr : low;
		high = p->p_vaddr + p->p_memsz > high ? p->p_vaddr + p->p_memsz : high;
		if (s->out->part_count < UNWIND_PARTS_MAX)
			s->out->parts[s->out->part_count++] = (struct unwind_part){ p->p_vaddr, p->p_offset, p->p_filesz };
	}
	if (low >= high || high - low > UINT32_MAX)
		return -ENODATA;
	s->out->base = low;
	s->out->end = high;
	return 0;
}

/* The address of the entry of a function, by its number in the table; 0: there is none. */
static uint64_t entry_of(struct search *s, uint64_t number)
{
	const uint8_t *p = at_address(s, &s->f->content, s->table + 8 * number, 8);
	int32_t offset;

	if (!p)
		return 0;
	memcpy(&offset, p + 4, sizeof(offset));
	return s->header + (uint64_t)(int64_t)offset;
}

int elf_unwind__rows(int fd, uint64_t size, uint16_t machine, struct elf_budget *budget, const struct unwind_place *from,
		     struct unwind_rows *rows)
{
	static struct elf_file file;
	static struct search s;
	int err = elf_file__open(&file, fd, size, budget);

	memset(&s, 0, sizeof(s));
	s.f = &file;
	s.out = rows;
	rows->count = rows->part_count = 0;
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (machines[i].elf == machine)
			s.common.machine = &machines[i];
	if (!err && (file.header.e_machine != machine || !s.common.machine))
		err = -ENOEXEC;
	if (!err)
		err = find_code(&s);
	if (!err) {
		elf_file__build_id(&file, &rows->build_id);
		err = find_table(&s);
	}
	rows->next = *from;
	if (s.common.machine && s.common.machine->elf == EM_AARCH64 && (!err || err == -ENODATA)) {
		s.part_count = elf_arm64__parts(&file, err != 0, s.parts);
		if (err && s.part_count) {
			/* All at once: function 1 is none, and says that there were these. */
			if (!from->function)
				put_parts(&s, rows->end);
			rows->next.function = 1;
			return budget->exceeded ? -E2BIG : 0;
		}
	}
	if (err)
		return err;
	for (uint64_t i = from->function; i < s.count; i++) {
		uint64_t entry = entry_of(&s, i);
		struct function fn;

		/* One that begins before the last one has ended is no function that a compiler made. */
		if (entry && read_function(&s, entry, &fn) && fn.begin >= rows->base && fn.end <= rows->end &&
		    fn.begin >= rows->next.end) {
			if (!put_parts(&s, fn.begin))
				break;
			if (!put_function(&s, &fn)) {
				/* A function with more rows than an answer has room for is left out. */
				if (rows->count)
					break;
			} else {
				rows->next.end = fn.end;
			}
		}
		rows->next.function = i + 1;
		if (budget->exceeded)
			return -E2BIG;
	}
	return 0;
}
