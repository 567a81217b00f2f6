/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

/* The copy of a text that the table has.  NULL: out of memory. */
static const char *intern(struct frames *f, const char *text, size_t length)
{
	uint64_t hash = hash__bytes(text, length, 0);
	uint32_t number;
	char *copy;

	/* Two texts with one hash: go on to the next. */
	while ((number = map64__get(&f->string_map, hash)) != MAP64_NONE) {
		copy = f->strings[number];
		if (strlen(copy) == length && !memcmp(copy, text, length))
			return copy;
		hash++;
	}
	if (array__reserve(&f->strings, f->string_count, 1, &f->string_room, MAP64_NONE, sizeof(*f->strings)))
		return NULL;
	copy = strndup(text, length);
	if (!copy)
		return NULL;
	if (map64__add(&f->string_map, hash, f->string_count)) {
		free(copy);
		return NULL;
	}
	f->strings[f->string_count++] = copy;
	return copy;
}

static uint8_t synthetic_label(uint8_t kind)
{
	switch (kind) {
	case SYNTHETIC_NATIVE: return LABEL_NATIVE;
	case SYNTHETIC_C: return LABEL_C;
	case SYNTHETIC_GC: return LABEL_GC;
	case SYNTHETIC_THREAD: return LABEL_THREAD;
	case SYNTHETIC_PROCESS: return LABEL_PROCESS;
	case SYNTHETIC_STATE: return LABEL_STATE;
	case SYNTHETIC_ABOUT: return LABEL_ABOUT;
	case SYNTHETIC_LABEL: return LABEL_LABEL;
	case SYNTHETIC_MODE: return LABEL_MODE;
	default: return LABEL_OTHER;
	}
}

static uint8_t symbol_label(const struct symbol *symbol)
{
	if (symbol->state != SYMBOL_OK)
		return LABEL_OTHER;
	if (symbol->part.flags & RB_DEBUG_EXT_BUILTIN)
		return LABEL_BUILTIN;
	if (symbol->part.kind >= RB_DEBUG_EXT_NAMED)
		return LABEL_STATE;
	switch (symbol->part.kind) {
	case RB_DEBUG_EXT_CMETHOD: return LABEL_C;
	case RB_DEBUG_EXT_INTERNAL: return LABEL_NATIVE;
	default: return LABEL_RUBY;
	}
}

static uint8_t missing_of(const struct symbol *symbol, uint64_t frame)
{
	switch (symbol->state) {
	case SYMBOL_OK:
		if (!symbols__is_complete(symbol))
			return MISSING_PART;
		return frame == frame__make_lineless(symbol->number) && symbols__has_lines(symbol) ?
		       MISSING_LINE : MISSING_NOTHING;
	case SYMBOL_EXPIRED: return MISSING_EXPIRED;
	case SYMBOL_EXITED: return MISSING_EXITED;
	case SYMBOL_LATE: return MISSING_LATE;
	case SYMBOL_NO_ROOM: return MISSING_CROWDED;
	default: return MISSING_UNREADABLE;
	}
}

static int take_synthetic(struct frames *f, struct frame_row *row, const struct tree_text *t)
{
	size_t length = strcspn(t->text, "\n");
	const char *wider;

	row->kind = synthetic_label(t->kind);
	row->name = intern(f, t->text, length);
	row->path = intern(f, "", 0);
	if (!row->name || !row->path)
		return -ENOMEM;
	if (!t->text[length])
		return 0;
	/* See group_names.h. */
	wider = t->text + length + 1;
	length = strcspn(wider, "\n");
	row->wider = intern(f, wider, length);
	if (wider[length])
		row->number = (uint32_t)strtoul(wider + length + 1, NULL, 10);
	return row->wider ? 0 : -ENOMEM;
}

static int take_symbol(struct frames *f, struct frame_row *row, uint64_t frame,
		       const struct symbol *symbol)
{
	struct text name = { 0 }, path = { 0 };
	const struct symbol *code;
	int err = -ENOMEM;

	symbols__add_name(symbol, &name);
	symbols__add_path(symbol, &path);
	if (name.failed || path.failed)
		goto cleanup;
	row->kind = symbol_label(symbol);
	row->missing = missing_of(symbol, frame);
	row->name = intern(f, text__string(&name), name.length);
	row->path = intern(f, text__string(&path), path.length);
	code = symbols__code(symbol);
	row->first_line = code && (int32_t)code->first_line > 0 ? (int32_t)code->first_line : 0;
	row->line = frame__line(frame);
	row->approximate = row->line && frame & FRAME_APPROXIMATE;
	if (row->name && row->path)
		err = 0;
cleanup:
	text__free(&name);
	text__free(&path);
	return err;
}

int frames__describe(struct frames *f, uint64_t frame, const struct tree *tree,
		     const struct symbol_table *table, struct frame_row *row)
{
	memset(row, 0, sizeof(*row));
	return frame__is_synthetic(frame) ?
	       take_synthetic(f, row, &tree->texts[frame__number(frame)]) :
	       take_symbol(f, row, frame, table->list[frame__number(frame)]);
}

static int take_frame(struct frames *f, uint32_t number, const struct tree *tree,
		      const struct symbol_table *table)
{
	struct frame_row row;
	int err = frames__describe(f, tree->frames[number], tree, table, &row);

	if (!err)
		f->rows[number] = row;
	return err;
}

/* Rows for all frames of the tree; new ones are empty. */
static int make_rows(struct frames *f, const struct tree *tree)
{
	uint32_t more = tree->frame_count > f->count ? tree->frame_count - f->count : 0;

	if (!more)
		return 0;
	if (array__reserve(&f->rows, f->count, more, &f->room, UINT32_MAX, sizeof(*f->rows)))
		return -ENOMEM;
	memset(f->rows + f->count, 0, more * sizeof(*f->rows));
	f->count = tree->frame_count;
	return 0;
}

int frames__take(struct frames *f, const struct tree *tree, const struct symbol_table *table)
{
	int err = make_rows(f, tree);

	for (uint32_t i = 0; i < tree->frame_count && !err; i++)
		if (!f->rows[i].kept)
			err = take_frame(f, i, tree, table);
	return err;
}

int frames__keep(struct frames *f, const struct tree *tree, const struct symbol_table *table,
		 const struct symbols *of, uint32_t first)
{
	int err = make_rows(f, tree);

	for (uint32_t i = first; i < tree->frame_count && !err; i++) {
		uint64_t frame = tree->frames[i];

		if (f->rows[i].kept || frame__is_synthetic(frame) ||
		    table->list[frame__number(frame)]->owner != of)
			continue;
		err = take_frame(f, i, tree, table);
		f->rows[i].kept = !err;
	}
	return err;
}

void frames__free(struct frames *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->string_count; i++)
		free(f->strings[i]);
	free(f->strings);
	free(f->rows);
	map64__free(&f->string_map);
	memset(f, 0, sizeof(*f));
}
