/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/frame_names.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/text.h"

static uint8_t kind_of(const struct symbol *symbol)
{
	if (symbol->state != SYMBOL_OK)
		return FRAME_MARK;
	if (symbol->part.flags & RB_DEBUG_EXT_BUILTIN)
		return FRAME_BUILTIN;
	if (symbol->part.kind >= RB_DEBUG_EXT_NAMED)
		return FRAME_CLASS;
	switch (symbol->part.kind) {
	case RB_DEBUG_EXT_CMETHOD: return FRAME_C;
	case RB_DEBUG_EXT_INTERNAL: return FRAME_NO_RUBY;
	default: return FRAME_RUBY;
	}
}

static uint8_t missing_of(const struct symbol *symbol, uint64_t code)
{
	switch (symbol->state) {
	case SYMBOL_OK:
		if (!symbols__is_complete(symbol))
			return MISSING_PART;
		return code == code__make_lineless(CODE_RUBY, symbol->number) && symbols__has_lines(symbol) ?
		       MISSING_LINE : MISSING_NOTHING;
	case SYMBOL_EXPIRED: return MISSING_EXPIRED;
	case SYMBOL_EXITED: return MISSING_EXITED;
	case SYMBOL_UNANSWERED:
	case SYMBOL_LATE: return MISSING_LATE;
	case SYMBOL_NO_ROOM: return MISSING_CROWDED;
	default: return MISSING_UNREADABLE;
	}
}

static size_t digits_before(const char *name, size_t end)
{
	size_t n = 0;

	while (n < end && isdigit((unsigned char)name[end - n - 1]))
		n++;
	return n;
}

/*
 * A template becomes a method whose name ends with numbers that are others in each process:
 * "_app_views_posts_index_html_erb___3111235613994842481_4360".  Its file and line tell it from others.
 */
static void cut_generated(struct text *name)
{
	size_t id = digits_before(name->data, name->length), at = name->length - id, hash;

	if (!id || !at || name->data[at - 1] != '_')
		return;
	hash = digits_before(name->data, --at);
	at -= hash;
	/* A hash has that many digits, and a minus is one underscore more. */
	if (hash < 10 || at < 3 || name->data[at - 1] != '_' || name->data[at - 2] != '_')
		return;
	while (at && name->data[at - 1] == '_')
		at--;
	if (at)
		name->data[name->length = at] = '\0';
}

static int take_symbol(struct frame_table *t, uint32_t number, const struct symbol *symbol)
{
	struct text name = { 0 }, path = { 0 };
	struct frame f = FRAME_INIT(kind_of(symbol));
	uint64_t code = t->codes[number];
	const struct symbol *place;
	int err = -ENOMEM;

	symbols__add_name(symbol, &name);
	symbols__add_path(symbol, &path);
	if (name.failed || path.failed)
		goto cleanup;
	if (path.length && name.length)
		cut_generated(&name);
	f.name = text__string(&name);
	f.path = text__string(&path);
	f.missing = missing_of(symbol, code);
	place = symbols__code(symbol);
	f.first_line = place && (int32_t)place->first_line > 0 ? (int32_t)place->first_line : 0;
	f.line = code__line(code);
	f.approximate = f.line && code & CODE_APPROXIMATE;
	err = frame_table__set(t, number, &f);
cleanup:
	text__free(&name);
	text__free(&path);
	return err;
}

int frame_names__take(struct frame_table *t, uint32_t number, const struct symbol_table *ruby)
{
	if (number >= t->count)
		return 0;
	switch (code__space(t->codes[number])) {
	case CODE_RUBY:
		return take_symbol(t, number, ruby->list[code__number(t->codes[number])]);
	default:
		return 0;
	}
}

int frame_names__take_all(struct frame_table *t, const struct symbol_table *ruby)
{
	int err = 0;

	for (uint32_t i = 0; i < t->count && !err; i++)
		err = frame_names__take(t, i, ruby);
	return err;
}
