/* SPDX-License-Identifier: BSD-2-Clause */
/* The name, the path and the lines of a symbol that has been read. */
#include "ruby/symbols_parts.h"

static bool is_complete(const struct symbols *s, uint32_t id, int depth, int *parts)
{
	const struct symbol *symbol;

	/* names__compose() cuts the name at the same bounds. */
	if (!id || depth > PARTS_DEPTH_MAX || ++*parts > NAMES_PARTS_MAX)
		return true;
	symbol = symbols__cached(s, id);
	return symbol && symbol->state == SYMBOL_OK &&
	       is_complete(s, symbol->part.ref1, depth + 1, parts) &&
	       is_complete(s, symbol->part.ref2, depth + 1, parts);
}

bool symbols__is_complete(const struct symbol *symbol)
{
	int parts = 0;

	return symbol->frozen ? !symbol->incomplete : is_complete(symbol->owner, symbol->id, 1, &parts);
}

const struct symbol *symbols__code(const struct symbol *symbol)
{
	const struct symbol *code;

	if (symbol->elsewhere)
		return symbol->elsewhere;
	if (symbol->state != SYMBOL_OK || !symbol->part.ref2 || symbol->frozen ||
	    (symbol->part.kind != RB_DEBUG_EXT_METHOD && symbol->part.kind != RB_DEBUG_EXT_BMETHOD))
		return symbol;
	code = symbols__cached(symbol->owner, symbol->part.ref2);
	return code && code->state == SYMBOL_OK ? code : NULL;
}

bool symbols__has_lines(const struct symbol *symbol)
{
	const struct symbol *code = symbols__code(symbol);

	return code && code->lines.count;
}

int32_t symbols__line(const struct symbol *symbol, uint64_t pc)
{
	const struct symbol *code = symbols__code(symbol);
	int64_t position = code ? lines__position(pc, code->code, code->code_size) : -1;

	return position < 0 ? 0 : lines__at(&code->lines, (uint32_t)position);
}

bool symbols__jit_line(struct symbols *s, const struct symbol *symbol, uint64_t ip,
		       uint64_t time, int32_t *line)
{
	struct rb_debug_ext_jit_entry entry;

	symbol = symbols__code(symbol);
	if (!symbol || s->exited || !ip || !jitlog__find(&s->jit, s->layout, s->memory, ip, time, &entry))
		return false;
	/* Methods can share code.  Other code: inlined, or not what it seems. */
	if (entry.id != symbol->id) {
		const struct symbol *logged = symbols__get(s, entry.id);

		if (!logged || !symbol->code || logged->code != symbol->code)
			return false;
	}
	if (entry.index >= symbol->code_size)
		return false;
	*line = lines__at(&symbol->lines, entry.index);
	return *line != 0;
}

static const struct name_part *name_part(void *context, uint32_t id)
{
	const struct symbols *s = context;
	const struct symbol *symbol = symbols__cached(s, id);

	return symbol && symbol->state == SYMBOL_OK ? &symbol->part : NULL;
}

void symbols__add_name(const struct symbol *symbol, struct text *out)
{
	const struct names names = { .part = name_part, .context = symbol->owner };
	struct text raw = { .limit = RB_DEBUG_EXT_NAME_MAX };

	if (symbol->frozen) {
		text__adds(out, symbol->frozen);
		return;
	}
	switch (symbol->state) {
	case SYMBOL_OK:
		names__compose(&names, symbol->id, &raw);
		if (raw.length)
			text__add_clean(out, raw.data, raw.length, TEXT_NAME_MAX);
		else
			text__adds(out, "[nameless]");
		out->failed |= raw.failed;
		text__free(&raw);
		break;
	case SYMBOL_EXPIRED:
		text__adds(out, "[retired]");
		break;
	case SYMBOL_EXITED:
		text__adds(out, "[exited before resolved]");
		break;
	case SYMBOL_UNANSWERED:
		text__adds(out, "[memory does not answer]");
		break;
	case SYMBOL_LATE:
		text__adds(out, "[too much to read]");
		break;
	case SYMBOL_NO_ROOM:
		text__adds(out, "[one of too many names]");
		break;
	default:
		text__adds(out, "[unreadable record]");
	}
}

void symbols__add_path(const struct symbol *symbol, struct text *out)
{
	symbol = symbols__code(symbol);
	if (symbol && symbol->path)
		text__add_clean(out, symbol->path, symbol->path_length, TEXT_NAME_MAX);
}
