/* SPDX-License-Identifier: BSD-2-Clause */
/* The format: the Linux Standard Base, "Exception Frames", and DWARF, "Call Frame Information". */
#include "parser/elf_unwind.h"

#include <errno.h>
#include <string.h>

#include "parser/elf_arm64.h"
#include "parser/elf_cfi.h"
#include "parser/elf_x86.h"

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

#define ENTRY_MAX 65536u	/* bytes of the rules of one function */
#define SCANNED_MAX (512u << 10)	/* functions of a file without a table */

struct common {
	uint64_t at;		/* address of this CIE; 0: none was read */
	uint8_t encoding;
	bool has_data;
	struct cfi_common cfi;
	bool good;
};

struct function {
	uint64_t begin, end;
	struct cfi_bytes code;
};

/* A function and its entry: less than the lowest address of code, and than that of .eh_frame. */
struct scanned {
	uint32_t function, entry;
};

struct search {
	struct elf_file *f;
	struct elf_window entries;
	struct common common;
	uint64_t table, count;	/* of .eh_frame_hdr: address and entries */
	uint64_t header;	/* its address; that of .eh_frame if `scanned` is the table */
	const struct scanned *scanned;
	struct arm64_part parts[ARM64_PARTS_MAX];
	uint32_t part_count;
	struct unwind_rows *out;
};

/* A pointer, `here` is the address of its first byte. */
static uint64_t take_pointer(struct cfi_bytes *b, uint8_t encoding, uint64_t here, uint64_t data)
{
	uint64_t value;

	switch (encoding & PE_FORMAT) {
	case PE_ABSOLUTE: case PE_SDATA8: case 0x04: value = cfi_bytes__number(b, 8); break;
	case PE_UDATA4: value = cfi_bytes__number(b, 4); break;
	case PE_SDATA4: value = (uint64_t)(int64_t)(int32_t)cfi_bytes__number(b, 4); break;
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

/* -- entries ---------------------------------------------------------------------------------- */

/* The bytes of the entry at an address, behind its length.  False: there is none. */
static bool open_entry(struct search *s, uint64_t at, struct cfi_bytes *b)
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
	*b = (struct cfi_bytes){ p + 4, p + 4 + size, false };
	return true;
}

static bool read_common(struct search *s, uint64_t at)
{
	const struct cfi_machine *machine = s->common.cfi.machine;
	struct common *c = &s->common;
	struct cfi_bytes b, data;
	const char *augmentation;
	struct cfi_run run;
	uint64_t version;

	if (c->at == at)
		return c->good;
	*c = (struct common){ .at = at, .cfi = { .machine = machine, .rules = { .rule = UNWIND_OTHER, .reg = 255 } } };
	if (!open_entry(s, at, &b) || cfi_bytes__number(&b, 4))
		return false;
	version = cfi_bytes__number(&b, 1);
	augmentation = (const char *)b.at;
	if ((version != 1 && version != 3) || b.bad || !memchr(b.at, '\0', (size_t)(b.end - b.at)))
		return false;
	b.at += strlen(augmentation) + 1;
	c->cfi.code_align = cfi_bytes__uleb(&b);
	c->cfi.data_align = cfi_bytes__sleb(&b);
	if ((version == 1 ? cfi_bytes__number(&b, 1) : cfi_bytes__uleb(&b)) != machine->ra || c->cfi.code_align > 64 ||
	    c->cfi.data_align < -64 || c->cfi.data_align > 64)
		return false;
	c->has_data = *augmentation == 'z';
	data = c->has_data ? cfi_bytes__block(&b, cfi_bytes__uleb(&b)) : (struct cfi_bytes){ 0 };
	for (const char *a = augmentation + c->has_data; *a; a++) {
		switch (*a) {
		case 'R':
			c->encoding = (uint8_t)cfi_bytes__number(&data, 1);
			if (c->encoding & PE_INDIRECT)
				return false;
			break;
		case 'L': cfi_bytes__number(&data, 1); break;
		case 'P': take_pointer(&data, (uint8_t)(cfi_bytes__number(&data, 1) & (PE_FORMAT | PE_BASE)), 0, 0); break;
		case 'S': c->cfi.signal = true; break;
		case 'B': break;
		default: return false;
		}
	}
	run = (struct cfi_run){ .code = b, .rules = c->cfi.rules };
	while (run.code.at < run.code.end && !run.code.bad && !data.bad)
		if (!cfi_run__step(&run, &c->cfi))
			return false;
	c->cfi.rules = run.rules;
	c->good = !run.code.bad && !data.bad;
	return c->good;
}

/* The function of the entry at an address; its common part is in s->common. */
static bool read_function(struct search *s, uint64_t at, struct function *fn)
{
	uint64_t here, delta;
	struct cfi_bytes b;

	if (!open_entry(s, at, &b))
		return false;
	delta = cfi_bytes__number(&b, 4);
	if (!delta || delta > at + 4 || !read_common(s, at + 4 - delta))
		return false;
	/* The common part can have taken the window. */
	if (!open_entry(s, at, &b))
		return false;
	cfi_bytes__number(&b, 4);
	here = at + 8;
	fn->begin = take_pointer(&b, s->common.encoding, here, 0);
	fn->end = fn->begin + take_pointer(&b, s->common.encoding & PE_FORMAT, 0, 0);
	if (s->common.has_data)
		cfi_bytes__block(&b, cfi_bytes__uleb(&b));
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

	if (s->common.cfi.machine->elf != EM_AARCH64 || fn->end - fn->begin > 16 || fn->end - fn->begin < 8)
		return false;
	p = at_address(s, &s->f->content, fn->end - 8, 8);
	return p && elf_arm64__is_sigreturn(p);
}

/* The addresses of a function and of its entry, by its number in the table; 0: there is none. */
static uint64_t entry_of(struct search *s, uint64_t number, uint64_t *function)
{
	const uint8_t *p = s->scanned ? NULL : at_address(s, &s->f->content, s->table + 8 * number, 8);
	int32_t offset[2];

	*function = 0;
	if (s->scanned) {
		*function = s->out->base + s->scanned[number].function;
		return s->header + s->scanned[number].entry;
	}
	if (!p)
		return 0;
	memcpy(offset, p, sizeof(offset));
	*function = s->header + (uint64_t)(int64_t)offset[0];
	return s->header + (uint64_t)(int64_t)offset[1];
}

/* Where the rules of a function end, the one with that number. */
static uint64_t end_of(struct search *s, const struct function *fn, uint64_t number)
{
	uint64_t next = s->out->end, more = 0;
	const uint8_t *p;

	if (s->common.cfi.machine->elf != EM_X86_64 || fn->end - fn->begin > X86_SYSCALL_MAX || fn->end - fn->begin < X86_BEFORE)
		return fn->end;
	p = at_address(s, &s->f->content, fn->end - X86_BEFORE, X86_BEFORE + X86_BEHIND);
	if (p)
		more = elf_x86__more(p, p + X86_BEFORE, s->common.cfi.signal);
	if (more && number + 1 < s->count)
		entry_of(s, number + 1, &next);
	return fn->end <= next && more <= next - fn->end ? fn->end + more : fn->end;
}

/* The rows of a function, up to `end`.  False: there is no room for all of them. */
static bool put_function(struct search *s, struct function *fn, uint64_t end)
{
	struct cfi_run run = { .code = fn->code, .rules = s->common.cfi.rules, .pc = fn->begin };
	struct unwind_row other = { .rule = UNWIND_OTHER }, none = { .rule = UNWIND_NONE };
	uint32_t before = s->out->count;
	struct unwind_row last = before ? s->out->rows[before - 1] : none;
	uint64_t pc = fn->begin;
	bool known = true, sigreturn = is_sigreturn(s, fn);

	for (;;) {
		struct unwind_row row;

		while (known && run.pc == pc && run.code.at < run.code.end)
			known = cfi_run__step(&run, &s->common.cfi) && !run.code.bad;
		row = sigreturn ? (struct unwind_row){ .rule = UNWIND_SIGNAL } : known ? cfi_common__row(&s->common.cfi, &run.rules) : other;
		row.rule |= pc == fn->begin ? UNWIND_BEGINS : 0;
		if (!put(s, pc, row))
			goto full;
		if (!known || run.pc <= pc || run.pc >= fn->end)
			break;
		pc = run.pc;
	}
	if (put(s, end, none))
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
	struct cfi_bytes b;
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
	b = (struct cfi_bytes){ p + 4, p + 12, false };
	take_pointer(&b, encoding[0], s->header + 4, s->header);
	s->count = take_pointer(&b, encoding[1], s->header + 8, s->header);
	/* All linkers write these encodings. */
	if (b.bad || encoding[1] != PE_UDATA4 || encoding[2] != (PE_DATAREL | PE_SDATA4))
		return -ENODATA;
	s->table = s->header + 12;
	return s->count && s->count <= UNWIND_FUNCTIONS_MAX ? 0 : -ENODATA;
}

/* -- files without that table --------------------------------------------------------------------- */

/* Down to its place among those below it.  qsort(3) may want memory, which the helper has not. */
static void sift(struct scanned *list, uint32_t at, uint32_t count)
{
	struct scanned moved = list[at];

	for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
		child += child + 1 < count && list[child + 1].function > list[child].function;
		if (list[child].function <= moved.function)
			break;
		list[at] = list[child];
	}
	list[at] = moved;
}

static void sort(struct scanned *list, uint32_t count)
{
	for (uint32_t i = count / 2; i-- > 0;)
		sift(list, i, count);
	for (uint32_t i = count; i-- > 1;) {
		struct scanned last = list[i];

		list[i] = list[0];
		list[0] = last;
		sift(list, 0, i);
	}
}

/* All functions that the section has entries of.  How many. */
static uint32_t scan(struct search *s, uint64_t size, struct scanned *list)
{
	uint32_t count = 0;

	for (uint64_t at = 0; size - at >= 8 && count < SCANNED_MAX && !s->f->budget->exceeded;) {
		const uint8_t *p = at_address(s, &s->entries, s->header + at, 8);
		uint32_t words[2];
		struct function fn;

		if (!p)
			break;
		memcpy(words, p, sizeof(words));
		/* A length of all ones means that one of 64 bits follows: nobody writes so much. */
		if (words[0] > ENTRY_MAX - 4 || (words[0] && words[0] > size - at - 4))
			break;
		if (words[0] >= 4 && words[1] && read_function(s, s->header + at, &fn) && fn.begin >= s->out->base && fn.end <= s->out->end)
			list[count++] = (struct scanned){ (uint32_t)(fn.begin - s->out->base), (uint32_t)at };
		/* A length of 0 ends the entries of one of the files that were linked. */
		at += 4 + (uint64_t)words[0];
	}
	return count;
}

/*
 * Static executables have entries and no table.  It is made from all of them, and kept for the next piece of the same file: who
 * makes two files that look the same gets wrong rows.
 */
static int scan_entries(struct search *s, uint64_t size, bool goes_on)
{
	static struct scanned list[SCANNED_MAX];
	static struct {
		uint64_t size, at, bytes;
		struct elf_build_id build_id;
		uint32_t count;
	} last;
	const struct elf_build_id *id = &s->out->build_id;
	Elf64_Shdr section;

	if (!elf_file__find(s->f, ".eh_frame", &section) || !section.sh_addr || section.sh_size > UINT32_MAX)
		return -ENODATA;
	s->header = section.sh_addr;
	if (!goes_on || last.size != size || last.at != section.sh_addr || last.bytes != section.sh_size ||
	    last.build_id.size != id->size || memcmp(last.build_id.bytes, id->bytes, id->size)) {
		last.size = size;
		last.at = section.sh_addr;
		last.bytes = section.sh_size;
		last.build_id = *id;
		last.count = scan(s, section.sh_size, list);
		sort(list, last.count);
	}
	s->scanned = list;
	s->count = last.count;
	return s->count ? 0 : -ENODATA;
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
	s.common.cfi.machine = cfi_machine__of(machine);
	if (!err && (file.header.e_machine != machine || !s.common.cfi.machine))
		err = -ENOEXEC;
	if (!err)
		err = find_code(&s);
	if (!err) {
		elf_file__build_id(&file, &rows->build_id);
		err = find_table(&s);
		if (err)
			err = scan_entries(&s, size, from->function > 0);
	}
	rows->next = *from;
	if (s.common.cfi.machine && s.common.cfi.machine->elf == EM_AARCH64 && (!err || err == -ENODATA)) {
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
		uint64_t begin, end, entry = entry_of(&s, i, &begin);
		struct function fn;

		/* One that begins before the last one has ended is no function that a compiler made. */
		if (entry && read_function(&s, entry, &fn) && fn.begin >= rows->base && fn.end <= rows->end &&
		    fn.begin >= rows->next.end) {
			if (!put_parts(&s, fn.begin))
				break;
			end = end_of(&s, &fn, i);
			if (!put_function(&s, &fn, end)) {
				/* A function with more rows than an answer has room for is left out. */
				if (rows->count && i > from->function)
					break;
			} else {
				rows->next.end = end;
			}
		}
		rows->next.function = i + 1;
		if (budget->exceeded)
			return -E2BIG;
	}
	/* lld has parts behind the last function. */
	if (rows->next.function == s.count && put_parts(&s, rows->end))
		rows->next.function = s.count + 1;
	return 0;
}
