/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/native_work.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/map64.h"
#include "native/jit_map_work.h"
#include "parser/parser.h"
#include "process/proc.h"
#include "process/target_file.h"

#define SECOND 1000000000ull
#define VDSO_SIZE 8192u
/* More lines than any process has: vm.max_map_count is 65,530 by default. */
#define LINES_MAX (4u << 20)
/* A file is read in pieces, and each has its time.  This is for all of them: the largest library takes a second. */
#define FILE_TIMEOUT (10 * SECOND)

struct native_work *native_work__new(enum native_work_kind kind, uint32_t number)
{
	struct native_work *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->kind = kind;
	w->number = number;
	w->fd = -1;
	return w;
}

void native_names__free(struct native_names *names)
{
	free(names->symbols);
	free(names->text);
	memset(names, 0, sizeof(*names));
}

void native_work__free(struct native_work *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	for (uint32_t i = 0; i < w->seen_count; i++)
		free(w->seen[i].path);
	free(w->seen);
	free(w->ranges);
	free(w->where.path);
	free(w->rows);
	native_names__free(&w->names);
	free(w);
}

/* -- what a process has mapped ---------------------------------------------------------------- */

/* Machine code of a file, or of the vdso? */
static bool is_of_interest(const struct mapping *m)
{
	return m->is_code && m->start < m->end && (m->inode ? *m->path == '/' : !strcmp(m->path, "[vdso]"));
}

/* Machine code that no file has: a JIT's.  What is shared and has no file, as a memfd, is in the list of files. */
static bool is_in_no_file(const struct mapping *m)
{
	return m->is_code && m->start < m->end && !m->inode && *m->path != '/' && strcmp(m->path, "[vdso]") && strcmp(m->path, "[vsyscall]") &&
	       strcmp(m->path, "[uprobes]");
}

/* If there are too many, the last ones are left out: they have no names. */
static void add_range(struct native_work *w, const struct mapping *m)
{
	struct native_range *last = w->range_count ? &w->ranges[w->range_count - 1] : NULL;

	if (last && m->start < last->end)
		return;
	if (last && m->start == last->end) {
		last->end = m->end;
		return;
	}
	if (!array__reserve(&w->ranges, w->range_count, 1, &w->range_room, NATIVE_RANGES_MAX, sizeof(*w->ranges)))
		w->ranges[w->range_count++] = (struct native_range){ m->start, m->end };
}

/* 0 or -ENOMEM. */
static int add_seen(struct native_work *w, const struct mapping *m)
{
	struct native_seen s = {
		.start = m->start, .end = m->end, .offset = m->offset, .device = m->device, .inode = m->inode,
		.is_exe = m->is_exe, .path = strdup(m->path),
	};

	if (!s.path || array__reserve(&w->seen, w->seen_count, 1, &w->seen_room, UNWIND_MAPPINGS_MAX, sizeof(s))) {
		free(s.path);
		return -ENOMEM;
	}
	w->seen[w->seen_count++] = s;
	return 0;
}

/* Read what a process has mapped.  `w`: note it there; NULL: only its hash is of interest.  0 or -errno. */
static int read_mappings(pid_t pid, struct deadline *deadline, struct native_work *w, uint64_t *hash)
{
	uint64_t exe = w ? proc__exe(pid, 0) : 0, before = 0;
	char *line = NULL;
	uint32_t count = 0;
	size_t room = 0;
	int err = 0;
	FILE *f;

	*hash = 1;
	f = proc__open(pid, 0, GUARDED_MAPS);
	if (!f)
		return -errno;
	for (uint32_t i = 0; i < LINES_MAX && !err && count < UNWIND_MAPPINGS_MAX && getline(&line, &room, f) > 0; i++) {
		struct mapping m;

		if (deadline && deadline__over(deadline)) {
			err = -EINTR;
		/* A mapping that changes meanwhile can be listed twice. */
		} else if (!mapping__parse(line, exe, &m)) {
			continue;
		} else if (is_of_interest(&m) && m.start >= before) {
			const uint64_t parts[] = { *hash, m.start, m.end, m.offset, m.device, m.inode };

			before = m.end;
			count++;
			*hash = hash__bytes(parts, sizeof(parts), 0) | 1;
			err = w ? add_seen(w, &m) : 0;
		} else if (w && is_in_no_file(&m)) {
			add_range(w, &m);
		}
	}
	free(line);
	fclose(f);
	return err;
}

uint64_t native_work__hash(pid_t pid, struct deadline *deadline)
{
	uint64_t hash;

	return read_mappings(pid, deadline, NULL, &hash) ? 0 : hash;
}

static void look(struct native_work *w, struct deadline *deadline)
{
	w->err = read_mappings(w->pid, deadline, w, &w->hash);
	/* Another process may have got the pid. */
	if (!w->err && (!w->seen_count || proc__started(w->pid) != w->began))
		w->err = -ESRCH;
}

/* -- rules --------------------------------------------------------------------------------------- */

/* The kernel has put the same functions into each process: those of this one are read. */
static int open_vdso(struct native_work *w)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);

	if (!image)
		return -ENOENT;
	w->fd = memfd_create("extprof-vdso", MFD_CLOEXEC);
	if (w->fd < 0)
		return -errno;
	w->size = VDSO_SIZE;
	/* It is two pages at most, and its end is that of a mapping. */
	return write(w->fd, image, VDSO_SIZE) > 0 ? 0 : -EIO;
}

static int open_file(struct native_work *w, struct deadline *deadline)
{
	const struct mapping m = {
		.start = w->where.start, .end = w->where.end, .offset = w->where.offset, .device = w->where.device,
		.inode = w->where.inode,
		.is_exe = w->where.is_exe, .path = w->where.path,
	};
	struct target_files files;
	struct stat st;

	if (!w->where.inode)
		return open_vdso(w);
	target_files__of_process(&files, w->pid, 0, deadline);
	w->owner = files.owner;
	w->fd = target_file__open_mapped(&files, &m, &st);
	if (w->fd < 0)
		return w->fd;
	if (st.st_ino != w->where.inode)
		return -ENOENT;
	w->size = (uint64_t)st.st_size;
	w->fd = proc__keep_file(w->fd);
	return w->fd < 0 ? -errno : 0;
}

/* 0 or -ENOMEM. */
static int add_row(struct native_work *w, const struct unwind_row *row)
{
	struct unwind_row *last = w->row_count ? &w->rows[w->row_count - 1] : NULL;

	/* The helper is not trusted to sort. */
	if (last && row->pc < last->pc)
		return 0;
	if (last && row->pc == last->pc) {
		*last = *row;
		return 0;
	}
	if (array__reserve(&w->rows, w->row_count, 1, &w->row_room, NATIVE_ROWS_MAX, sizeof(*row)))
		return -ENOMEM;
	w->rows[w->row_count++] = *row;
	return 0;
}

static bool is_over(struct deadline *deadline)
{
	return deadline && deadline__over(deadline);
}

static void take_build_id(struct native_work *w, const struct elf_build_id *id)
{
	for (uint32_t i = 0; i < id->size && i < ELF_BUILD_ID_MAX; i++)
		snprintf(w->build_id + 2 * i, 3, "%02x", id->bytes[i]);
}

static int read_rules(struct native_work *w, struct deadline *deadline)
{
	struct parser_file file = { .fd = w->fd, .size = w->size, .owner = w->owner, .deadline = deadline };
	struct unwind_rows *piece = malloc(sizeof(*piece));
	uint64_t until = deadline__now() + FILE_TIMEOUT;
	struct unwind_place at = { 0 };
	int err = piece ? 0 : -ENOMEM;

	while (!err) {
		err = is_over(deadline) ? -ETIMEDOUT : parser__rows(&file, &at, piece);
		if ((!err || err == -ENODATA) && !w->part_count && piece->part_count <= UNWIND_PARTS_MAX) {
			memcpy(w->parts, piece->parts, sizeof(w->parts));
			w->part_count = piece->part_count;
			take_build_id(w, &piece->build_id);
		}
		if (err || !piece->count)
			break;
		if (!w->row_count)
			w->base = piece->base;
		if (piece->base != w->base)
			err = -EIO;
		else if (deadline__now() > until)
			err = -ETIMEDOUT;
		for (uint32_t i = 0; i < piece->count && !err; i++)
			err = add_row(w, &piece->rows[i]);
		if (piece->next.function <= at.function)
			break;
		at = piece->next;
	}
	free(piece);
	w->late = err && is_over(deadline);
	w->no_elf = err == -ENOEXEC && !w->part_count;
	/* The rows that were read until the error are no complete table. */
	if (err)
		w->row_count = 0;
	return w->part_count ? 0 : err ? err : -ENOEXEC;
}

/* -- names --------------------------------------------------------------------------------------- */

/* All names of the vdso begin so, and tell that it is the vdso. */
static bool is_internal(const char *name, size_t length)
{
	return length && *name == '_' && (length < 7 || memcmp(name, "__vdso_", 7));
}

static int take_symbol(struct native_names *n, const struct elf_symbol *s, const char *name)
{
	if (array__reserve(&n->symbols, n->count, 1, &n->room, NATIVE_SYMBOLS_MAX, sizeof(*n->symbols)) ||
	    array__reserve(&n->text, n->size, s->length + 1u, &n->text_room, NATIVE_NAMES_MAX, 1))
		return -ENOMEM;
	n->symbols[n->count++] = (struct native_symbol){
		.address = s->address, .size = s->size, .name = (uint32_t)n->size, .binding = s->binding, .sectioned = s->sectioned != 0,
		.internal = is_internal(name, s->length),
	};
	memcpy(n->text + n->size, name, s->length);
	n->text[n->size + s->length] = '\0';
	n->size += s->length + 1u;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct native_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	/* The last one of an address is taken: one with a size, one that others see, poll and not __poll, one that no other
	 * library can replace, the first one in the table. */
	if (!x->size != !y->size)
		return x->size ? 1 : -1;
	if (x->sectioned != y->sectioned)
		return y->sectioned ? 1 : -1;
	if (!x->binding != !y->binding)
		return x->binding ? 1 : -1;
	if (x->internal != y->internal)
		return y->internal ? 1 : -1;
	if (x->binding != y->binding)
		return x->binding > y->binding ? 1 : -1;
	return x->name > y->name ? -1 : 1;
}

/* The symbols of a piece.  0 or -ENOMEM. */
static int take_piece(struct native_names *n, const struct symbols_piece *piece)
{
	const char *data = (const char *)piece->data;
	uint32_t i = 0;

	while (i + sizeof(struct elf_symbol) <= piece->size) {
		struct elf_symbol s;
		int err;

		memcpy(&s, data + i, sizeof(s));
		if (s.length > SYMBOL_NAME_MAX || i + sizeof(s) + s.length > piece->size)
			return 0;
		err = take_symbol(n, &s, data + i + sizeof(s));
		if (err)
			return err;
		i += (uint32_t)((sizeof(s) + s.length + 7) / 8 * 8);
	}
	return 0;
}

/* Use all names that could be read: a file with too many symbols has the first ones. */
static void read_names(struct native_work *w, struct deadline *deadline)
{
	struct parser_file file = { .fd = w->fd, .size = w->size, .owner = w->owner, .deadline = deadline };
	struct symbols_piece *piece = malloc(sizeof(*piece));
	uint64_t until = deadline__now() + FILE_TIMEOUT;
	struct symbols_place at = { .as_in_file = w->names_as_in_file };
	int err = piece ? 0 : -ENOMEM;

	while (!err && at.table < SYMBOLS_END && deadline__now() < until) {
		struct symbols_place last = at;

		err = is_over(deadline) ? -ETIMEDOUT : parser__symbols(&file, &at, piece);
		if (!err)
			err = take_piece(&w->names, piece);
		if (!err)
			at = piece->next;
		if (at.table < last.table || (at.table == last.table && at.entry <= last.entry))
			break;
	}
	free(piece);
	w->late = err && is_over(deadline);
	if (w->names.count)
		qsort(w->names.symbols, w->names.count, sizeof(*w->names.symbols), compare);
}

void native_work__run(struct native_work *w, struct deadline *deadline)
{
	w->from = deadline__now();
	switch (w->kind) {
	case NATIVE_LOOK:
		look(w, deadline);
		break;
	case NATIVE_RULES:
		w->err = w->fd < 0 ? open_file(w, deadline) : 0;
		w->late = w->err && is_over(deadline);
		if (!w->err)
			w->err = read_rules(w, deadline);
		break;
	case NATIVE_NAMES:
		read_names(w, deadline);
		break;
	case NATIVE_MAP:
		jit_map_work__run(w, deadline);
		break;
	}
	w->until = deadline__now();
}
