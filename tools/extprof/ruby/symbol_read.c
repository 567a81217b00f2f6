/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/symbol_read.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/deadline.h"

/* A writer holds the sequence lock for some stores: a few tries are enough. */
#define TRIES 8

void symbol__clear(struct symbol_table *t, struct symbol *symbol)
{
	if (symbol->part.name)
		t->bytes -= symbol->part.name_length + 1u;
	if (symbol->path)
		t->bytes -= symbol->path_length + 1u;
	t->bytes -= symbol->lines.count * sizeof(*symbol->lines.pairs);
	if (symbol->frozen)
		t->bytes -= strlen(symbol->frozen) + 1;
	free((char *)symbol->part.name);
	free(symbol->path);
	free(symbol->frozen);
	lines__free(&symbol->lines);
	symbol->part.name = NULL;
	symbol->path = symbol->frozen = NULL;
	symbol->elsewhere = NULL;
}

/* Work for a read that another process has made since then. */
static int64_t slow_work(const struct symbols *s, size_t length, uint64_t since)
{
	int64_t work = (int64_t)length + s->read_work, time = (int64_t)(deadline__now() - since) / SYMBOLS_SLOW_NS;

	return time > work ? time : work;
}

/* Every read costs work, also a read whose result is not used. */
static int pay_read(struct symbols *s, uint64_t address, void *to, size_t length)
{
	struct block_cache *c = &s->table->blocks;
	uint64_t before = c->stamp, since;
	int err;

	if (s->read_work <= SYMBOLS_READ_WORK) {
		s->work -= (int64_t)length + s->read_work;
		return memory__read(s->memory, address, to, length);
	}
	since = deadline__now();
	if (!s->cached) {
		err = memory__read(s->memory, address, to, length);
		s->work -= slow_work(s, length, since);
		return err;
	}
	err = block_cache__read(c, s->memory, address, to, length, s->read_after, &s->read_stamp);
	s->work -= (int64_t)length + SYMBOLS_COPY_WORK;
	if (c->stamp != before)
		s->work -= slow_work(s, (c->stamp - before) * BLOCK_CACHE_BYTES, since);
	return err;
}

/* Let a writer that does not run finish its stores.  If the target then runs on this CPU,
 * this takes milliseconds.  They cost work too: 1 for each nanosecond. */
static void pay_yield(struct symbols *s)
{
	uint64_t before = deadline__now();

	sched_yield();
	s->work -= (int64_t)(deadline__now() - before);
}

/* `size` bytes and a NUL, which the caller frees; NULL on an error. */
static int read_bytes(struct symbols *s, uint64_t address, size_t size, uint8_t **bytes)
{
	uint8_t *data = malloc(size + 1);
	int err = data ? pay_read(s, address, data, size) : -ENOMEM;

	*bytes = NULL;
	if (err) {
		free(data);
		return err;
	}
	data[size] = '\0';
	*bytes = data;
	return 0;
}

int symbol_read__refresh(struct symbols *s)
{
	s->work -= (int64_t)sizeof(s->layout->section) + s->read_work;
	return layout__refresh(s->layout, s->memory);
}

static int read_string(struct symbols *s, uint64_t address, char **string, uint32_t *length)
{
	uint8_t *data;
	uint32_t n;
	int err;

	*string = NULL;
	*length = 0;
	if (!address)
		return 0;
	err = pay_read(s, address, &n, sizeof(n));
	if (err)
		return err;
	if (n > RB_DEBUG_EXT_STRING_MAX)
		return -EINVAL;
	if (s->table->bytes + n + 1 > SYMBOLS_BYTES_MAX)
		return -ENOSPC;
	err = read_bytes(s, address + sizeof(n), n, &data);
	if (err)
		return err;
	*string = (char *)data;
	*length = n;
	s->table->bytes += n + 1u;
	return 0;
}

/* A bad table sets lines_bad and returns 0: the symbol keeps its name. */
static int read_lines(struct symbols *s, uint64_t address, struct symbol *symbol)
{
	uint8_t *data;
	uint32_t n;
	int err;

	if (!address)
		return 0;
	err = pay_read(s, address, &n, sizeof(n));
	if (err)
		return err;
	if (n > RB_DEBUG_EXT_LINES_MAX ||
	    s->table->bytes + n / 2 * sizeof(struct line_pair) > SYMBOLS_BYTES_MAX) {
		symbol->lines_bad = true;
		return 0;
	}
	err = read_bytes(s, address + sizeof(n), n, &data);
	if (err)
		return err;
	if (lines__decode(&symbol->lines, data, n, symbol->first_line))
		symbol->lines_bad = true;
	s->table->bytes += symbol->lines.count * sizeof(*symbol->lines.pairs);
	free(data);
	return 0;
}

static bool room_for(const struct symbols *s, uint64_t bytes)
{
	return bytes <= RB_DEBUG_EXT_LINES_MAX && s->table->bytes + bytes <= SYMBOLS_BYTES_MAX;
}

/* The same from the table that the VM uses itself. */
static int read_lines_insns(struct symbols *s, uint64_t address, struct symbol *symbol)
{
	const struct rb_debug_ext_section *section = &s->layout->section;
	struct lines_insns insns = {
		.entry_size = section->lines_entry_size,
		.entry_line = section->lines_entry_line,
		.code_size = symbol->code_size,
	};
	uint8_t *entries = NULL, *index = NULL;
	uint64_t entries_at, index_at;
	size_t index_size;
	int err;

	if ((err = pay_read(s, address + section->lines_entries, &entries_at, 8)) ||
	    (err = pay_read(s, address + section->lines_index, &index_at, 8)) ||
	    (err = pay_read(s, address + section->lines_count, &insns.count, 4)))
		return err;
	if (!insns.count)
		return 0;
	index_size = insns.count > 1 ? lines__index_size(insns.code_size) : 0;
	if (insns.count > RB_DEBUG_EXT_LINES_MAX / sizeof(struct line_pair) ||
	    !room_for(s, (uint64_t)insns.count * insns.entry_size) || !room_for(s, index_size)) {
		symbol->lines_bad = true;
		return 0;
	}
	err = read_bytes(s, entries_at, (size_t)insns.count * insns.entry_size, &entries);
	if (!err && index_size)
		err = read_bytes(s, index_at, index_size, &index);
	if (err)
		goto cleanup;
	insns.entries = entries;
	insns.index = index;
	if (lines__decode_insns(&symbol->lines, &insns))
		symbol->lines_bad = true;
	s->table->bytes += symbol->lines.count * sizeof(*symbol->lines.pairs);
cleanup:
	free(entries);
	free(index);
	return err;
}

static int record_address(struct symbols *s, uint32_t id, uint64_t *address)
{
	const struct rb_debug_ext_section *section = &s->layout->section;
	uint32_t chunk = id / RB_DEBUG_EXT_RECORDS_PER_CHUNK;
	uint64_t base;
	int err;

	/* An id that has not been given out means nothing, whatever its record contains. */
	if (id >= section->records_end) {
		err = symbol_read__refresh(s);
		if (err)
			return err;
	}
	if (id >= section->records_end || chunk >= RB_DEBUG_EXT_RECORD_CHUNKS_MAX)
		return -EINVAL;
	err = pay_read(s, section->records_dir + 8ull * chunk, &base, sizeof(base));
	if (err)
		return err;
	/* No chunk: the VM gave it back after all its records had expired. */
	*address = base ? base + (uint64_t)(id % RB_DEBUG_EXT_RECORDS_PER_CHUNK) *
		   section->record_size : 0;
	return 0;
}

static uint8_t changes_of(const struct name_part *p)
{
	switch (p->kind) {
	case RB_DEBUG_EXT_METHOD:
		return CHANGES_SELDOM;
	case RB_DEBUG_EXT_NAMED:
		/* A temporary name never looks like a constant. */
		return p->name && p->name[0] >= 'A' && p->name[0] <= 'Z' ? CHANGES_NEVER :
		       CHANGES_OFTEN;
	case RB_DEBUG_EXT_ANON_CLASS:
	case RB_DEBUG_EXT_ANON_MODULE:
	case RB_DEBUG_EXT_REFINEMENT:
	case RB_DEBUG_EXT_NESTED:
		return CHANGES_OFTEN;
	default:
		return CHANGES_NEVER;
	}
}

/* One try.  0, or -EAGAIN when the record was being written, or an error,
 * which may come from a pointer that was stale. */
static int try_record(struct symbols *s, uint64_t address, struct symbol *out, uint32_t *generation)
{
	struct rb_debug_ext_record r = { 0 };
	uint32_t size = s->layout->section.record_size;
	char *name = NULL;
	int err;

	err = pay_read(s, address, &r, size < sizeof(r) ? size : sizeof(r));
	if (err)
		return err;
	/* Texts of an older copy can be of what was there before. */
	s->read_after = s->read_stamp;
	*generation = r.generation;
	if (r.generation & 1)
		return -EAGAIN;
	out->generation = r.generation;
	out->part.kind = r.kind;
	out->part.flags = r.flags;
	out->part.level = r.level;
	out->part.ref1 = r.ref1;
	out->part.ref2 = r.ref2;
	out->code = r.code;
	out->code_size = r.code_size;
	out->first_line = r.first_line;
	if (r.kind == RB_DEBUG_EXT_NONE) {
		out->state = SYMBOL_EXPIRED;
		return 0;
	}
	err = read_string(s, r.name, &name, &out->part.name_length);
	out->part.name = name;
	if (!err)
		err = read_string(s, r.path, &out->path, &out->path_length);
	if (err)
		return err;
	err = r.flags & RB_DEBUG_EXT_LINES_INSNS ? read_lines_insns(s, r.lines, out) :
	      read_lines(s, r.lines, out);
	/* The memory that is left of an ended process can have the name without the lines. */
	if (err != -ESRCH)
		return err;
	out->lines_bad = true;
	return 0;
}

int symbol_read__generation(struct symbols *s, uint32_t id, uint32_t *generation)
{
	uint64_t address;
	int err = record_address(s, id, &address);

	if (err)
		return err;
	return address ? pay_read(s, address, generation, sizeof(*generation)) : -ENOENT;
}

/* Is the same version of the record still at the same address?  0 or -errno. */
static int is_same(struct symbols *s, uint32_t id, uint64_t address, uint32_t before, bool *same)
{
	uint64_t address_after;
	uint32_t after;
	int err;

	s->cached = false;
	err = pay_read(s, address, &after, sizeof(after));
	if (!err)
		err = record_address(s, id, &address_after);
	*same = !err && !(before & 1) && after == before && address_after == address;
	return err;
}

/* Whatever the record contains, these do not change. */
static bool is_final(int err)
{
	return err == -ENOMEM || err == -EPERM || err == -ESRCH || err == -EINTR || err == -ETIMEDOUT;
}

/* Read it from copies where there are any.  Is it proven?  Otherwise *out is empty, and it has to be read without. */
static bool from_copies(struct symbols *s, uint32_t id, struct symbol *out)
{
	uint32_t before = 1;
	uint64_t address;
	bool same;
	int err;

	s->cached = true;
	s->read_after = 0;
	err = record_address(s, id, &address);
	if (!err && address)
		err = try_record(s, address, out, &before);
	if (!err && address && !is_same(s, id, address, before, &same) && same)
		out->changes = changes_of(&out->part);
	else
		err = -EAGAIN;
	s->cached = false;
	if (!err)
		return true;
	symbol__clear(s->table, out);
	memset(out, 0, sizeof(*out));
	/* Copies from before the record was made would fail for the next ones, too. */
	block_cache__forget(&s->table->blocks, s->memory);
	return false;
}

int symbol_read__record(struct symbols *s, uint32_t id, struct symbol *out)
{
	uint64_t address;
	uint32_t before;
	int err = -EAGAIN;

	memset(out, 0, sizeof(*out));
	if (s->read_work > SYMBOLS_READ_WORK && symbols__can_work(s) && (from_copies(s, id, out) || from_copies(s, id, out))) {
		out->id = id;
		return 0;
	}
	for (int i = 0; i < TRIES; i++) {
		int check;
		bool same;

		memset(out, 0, sizeof(*out));
		out->id = id;
		/* The budget is exceeded by one try of one record at most. */
		if (!symbols__can_work(s)) {
			err = -EBUSY;
			break;
		}
		err = record_address(s, id, &address);
		if (err)
			return err;
		if (!address) {
			out->state = SYMBOL_EXPIRED;
			return 0;
		}
		before = 1;
		err = try_record(s, address, out, &before);
		if (is_final(err) || err == -ENOSPC)
			break;
		check = is_same(s, id, address, before, &same);
		if (check == -EINTR || check == -ETIMEDOUT) {
			err = check;
			break;
		}
		if (same && !err) {
			out->changes = changes_of(&out->part);
			return 0;
		}
		symbol__clear(s->table, out);
		if (same)
			return err;
		if (!err)
			err = -EAGAIN;
		pay_yield(s);
	}
	symbol__clear(s->table, out);
	memset(out, 0, sizeof(*out));
	return err;
}
