/* SPDX-License-Identifier: BSD-2-Clause */
/* The texts of frames. */
#include "frames/frame.h"

#include <inttypes.h>
#include <string.h>

#include "base/map64.h"

const char *const frame_kind_names[FRAME_KINDS] = {
	[FRAME_RUBY] = "Ruby",
	[FRAME_C] = "C method",
	[FRAME_BUILTIN] = "Ruby's own",
	[FRAME_NATIVE] = "native",
	[FRAME_KERNEL] = "kernel",
	[FRAME_GC] = "GC",
	[FRAME_NO_RUBY] = "no Ruby code",
	[FRAME_MARK] = "other",
	[FRAME_PROCESS] = "process",
	[FRAME_THREAD] = "thread",
	[FRAME_CGROUP] = "cgroup",
	[FRAME_LABEL] = "label",
	[FRAME_STATE] = "state",
	[FRAME_CLASS] = "class",
	[FRAME_CALL] = "system call",
	[FRAME_EVENT] = "event",
	[FRAME_DETAIL] = "waited for",
};

static const char *plural(uint8_t kind)
{
	switch (kind) {
	case FRAME_PROCESS: return "processes";
	case FRAME_THREAD: return "threads";
	case FRAME_CGROUP: return "cgroups";
	default: return "labels";
	}
}

/* The value of a label, or why there is none. */
static void add_value(const struct frame *f, struct text *out)
{
	switch (f->known) {
	case KNOWN: text__adds(out, f->name); break;
	case KNOWN_EXPIRED: text__adds(out, "expired"); break;
	case KNOWN_UNREAD: text__adds(out, "not read"); break;
	case KNOWN_CROWDED: text__adds(out, "one of too many values"); break;
	}
}

static void add_label(const struct frame *f, struct text *out)
{
	if (f->known == KNOWN_NOT_SET) {
		text__addf(out, "no %s", f->key);
		return;
	}
	/* Without a key it says why others are missing. */
	text__addf(out, f->known == KNOWN ? "%s=" : "%s: ", *f->key || f->known == KNOWN ? f->key : "labels");
	add_value(f, out);
}

/* A group of which not more is known than why. */
static bool add_unknown(const struct frame *f, struct text *out)
{
	switch (f->known) {
	case KNOWN_NOT:
		text__addf(out, "unknown %s", frame_kind_names[f->kind]);
		return true;
	case KNOWN_MERGED:
		text__addf(out, "merged %s", plural(f->kind));
		return true;
	case KNOWN_CROWDED:
		if (f->kind == FRAME_LABEL)
			return false;
		/* The process of it has no row, so its cgroup is not known either. */
		text__addf(out, "one of too many %s", f->kind == FRAME_THREAD ? "threads" : "processes");
		return true;
	default:
		return false;
	}
}

void frame__add_bare(const struct frame *f, struct text *out)
{
	static const char *const roles[] = {
		[ROLE_RUBY] = "", [ROLE_FIBERS] = "parked fibers of thread ", [ROLE_NATIVE] = "native thread ",
		[ROLE_UNKNOWN] = "unknown thread ",
	};

	if (add_unknown(f, out))
		return;
	switch (f->kind) {
	case FRAME_PROCESS:
		if (*f->name)
			text__adds(out, f->name);
		else if (f->pid)
			text__addf(out, "%" PRIu32, f->pid);
		else
			text__adds(out, "process");
		break;
	case FRAME_THREAD:
		text__addf(out, "%s%s", roles[f->role], f->name);
		break;
	case FRAME_LABEL:
		add_value(f, out);
		break;
	default:
		text__adds(out, f->name);
	}
}

void frame__add_numbered(const struct frame *f, struct text *out)
{
	frame__add_bare(f, out);
	if (frame__number(f))
		text__addf(out, " (%" PRIu32 ")", frame__number(f));
}

void frame__add_inside(const struct frame *f, struct text *out)
{
	if (add_unknown(f, out))
		return;
	switch (f->kind) {
	case FRAME_GC:
		text__addf(out, "GC%s%s", *f->name ? " " : "", f->name);
		break;
	case FRAME_PROCESS:
		text__adds(out, "process");
		if (f->pid)
			text__addf(out, " %" PRIu32, f->pid);
		if (*f->name)
			text__addf(out, " %s", f->name);
		break;
	case FRAME_THREAD:
		text__adds(out, f->role == ROLE_RUBY ? "thread " : "");
		frame__add_numbered(f, out);
		break;
	case FRAME_CGROUP:
		text__addf(out, "cgroup %s", f->name);
		break;
	case FRAME_LABEL:
		add_label(f, out);
		break;
	default:
		text__adds(out, f->name);
	}
}

void frame__add_text(const struct frame *f, struct text *out)
{
	if (!f->bracketed && !frame_kind__is_group(f->kind)) {
		text__adds(out, f->name);
		/* Tools that draw flame graphs know this suffix. */
		if (f->kind == FRAME_KERNEL)
			text__adds(out, "_[k]");
		return;
	}
	text__adds(out, "[");
	frame__add_inside(f, out);
	text__adds(out, "]");
}

/* A block that is implemented in C has no name of its own, and which method gave it is not known. */
static bool is_block_in_c(const struct frame *f)
{
	return f->kind == FRAME_C && f->bracketed;
}

enum frame_part frame__part(const struct frame *f, enum frame_rows rows)
{
	if (frame_kind__is_below(f->kind) || is_block_in_c(f))
		return PART_OF_CALLER;
	if (!frame_kind__is_code(f->kind))
		return PART_NONE;
	if (rows == ROWS_BY_METHOD)
		return PART_OWN;
	switch (f->kind) {
	case FRAME_RUBY:
		return *f->path && (rows != ROWS_BY_LINE || f->line > 0) ? PART_OWN : PART_NONE;
	case FRAME_MARK:
		/* It may be Ruby code. */
		return PART_NONE;
	default:
		return PART_OF_CALLER;
	}
}

uint64_t frame__hash(const struct frame *f)
{
	const char *texts[] = { f->name, f->path, f->module, f->key, f->wider };
	uint64_t hash = hash__mix((uint64_t)f->kind << 56 | (uint64_t)f->known << 48 | (uint64_t)f->role << 40 |
				  (uint64_t)f->state << 32 | (uint32_t)f->line);

	hash = hash__mix(hash ^ ((uint64_t)(uint32_t)f->first_line << 32 | (uint32_t)f->missing << 16 | (uint32_t)f->approximate << 8 |
				 f->bracketed));
	hash = hash__mix(hash ^ f->address);
	hash = hash__mix(hash ^ ((uint64_t)f->pid << 32 | f->tid));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		hash = hash__bytes(texts[i], strlen(texts[i]), hash);
	return hash;
}

bool frame__is_same(const struct frame *a, const struct frame *b)
{
	return a->kind == b->kind && a->known == b->known && a->role == b->role && a->state == b->state &&
	       a->missing == b->missing && a->approximate == b->approximate && a->bracketed == b->bracketed &&
	       a->line == b->line && a->first_line == b->first_line && a->pid == b->pid && a->tid == b->tid &&
	       a->address == b->address && !strcmp(a->name, b->name) && !strcmp(a->path, b->path) &&
	       !strcmp(a->module, b->module) && !strcmp(a->key, b->key) && !strcmp(a->wider, b->wider);
}
