/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/native_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/deadline.h"
#include "native/debug_files.h"
#include "profile/tree.h"

_Static_assert(NATIVE_LINES_DEPTH == LINES_DEPTH_MAX, "a frame for each function");

#define LIST_MAX (8u << 20)
/* Bytes of the reasons. */
#define WHY_MAX 320u

/* A frame that is looked for. */
struct wish {
	struct frame frame;	/* a copy: those of the table move */
	uint32_t number;
};

struct taking {
	struct native_lines *l;
	const struct wish *wishes;	/* of one module, by address */
	uint64_t found;
	bool full;		/* there was no room for frames */
};

static int by_module(const void *a, const void *b)
{
	const struct wish *x = a, *y = b;
	int c = strcmp(x->frame.key, y->frame.key);

	if (!c)
		c = strcmp(x->frame.module, y->frame.module);
	if (c)
		return c;
	if (x->frame.address != y->frame.address)
		return x->frame.address < y->frame.address ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static const char *add_clean(struct text *to, const char *text, size_t length)
{
	text__clear(to);
	text__add_clean(to, text, length, TEXT_NAME_MAX);
	return text__string(to);
}

/* The frame of one function at an address.  The outermost one is the frame itself: it keeps its name, by which it is added up. */
static uint32_t add_frame(struct native_lines *l, const struct frame *of, const struct lines_at *at, bool outermost)
{
	struct text name = { 0 }, path = { 0 };
	struct frame f = *of;
	uint32_t number = FRAME_MERGED;

	if ((!outermost || f.bracketed) && at->name_length) {
		f.name = add_clean(&name, at->name, at->name_length);
		f.bracketed = false;
	}
	if (l->lines) {
		f.path = add_clean(&path, at->path, at->path_length);
		f.line = at->line;
	}
	if (!name.failed && !path.failed)
		number = l->add(l->context, &f);
	text__free(&name);
	text__free(&path);
	return number;
}

/* The frames of an address, for one that was looked for. */
static int take(void *context, uint32_t number, const struct lines_at *at, uint32_t functions)
{
	uint32_t numbers[LINES_DEPTH_MAX], count = 0;
	struct taking *t = context;
	struct native_lines *l = t->l;
	const struct wish *w = &t->wishes[number];

	/* The same frame can be wished for twice. */
	if (map64__get(&l->of, w->number) != MAP64_NONE) {
		t->found++;
		return 0;
	}
	for (uint32_t i = functions; i-- > 0;) {
		/* Nobody can say what one without a name is. */
		if (i + 1 < functions && (!l->inlined || !at[i].name_length))
			continue;
		numbers[count] = add_frame(l, &w->frame, &at[i], i + 1 == functions);
		if (numbers[count] == FRAME_MERGED || numbers[count] == FRAME_NO_ROOM) {
			t->full = true;
			return 0;
		}
		count++;
	}
	if (array__reserve(&l->list, l->count, count + 1, &l->room, LIST_MAX, sizeof(*l->list)) || map64__add(&l->of, w->number, l->count))
		return -ENOMEM;
	l->list[l->count++] = count;
	memcpy(l->list + l->count, numbers, count * sizeof(*numbers));
	l->count += count;
	t->found++;
	return 0;
}

static const char *reason(int err, bool full)
{
	if (full)
		return "too many functions";
	switch (err) {
	case 0: return "no function there";
	case -ENOKEY: return "it has no build id";
	case -ENODATA: return "no debug information here";
	case -ESTALE: return "the file here has another build id";
	case -ENOEXEC: return "the file here is no ELF file of this machine";
	case -ENOBUFS: return "its debug information needs too much memory";
	case -E2BIG: return "its debug information is too large";
	case -EFAULT: return "the reader of its debug information has crashed";
	case -ETIMEDOUT: return "its debug information takes too long";
	case -EPROTO: return "the reader of its debug information has given no answer";
	case -ENOSYS: return "extprof was built without libdw";
	case -ENOENT: return "the program extprof-lines is not installed";
	case -ETIME: return "there was no more time";
	default: return strerror(-err);
	}
}

static void add_why(struct native_lines *l, const struct frame *f, const char *why, uint64_t missing)
{
	l->failed++;
	if (l->why.length >= WHY_MAX)
		return;
	text__addf(&l->why, "%s%s: %s, %" PRIu64, l->why.length ? "; " : "", basename(f->module), why, missing);
}

/* Nothing is known of it: it is not looked for again. */
static int remember(struct native_lines *l, const struct wish *wishes, uint32_t count)
{
	uint32_t none = MAP64_NONE;

	for (uint32_t i = 0; i < count; i++) {
		if (map64__get(&l->of, wishes[i].number) != MAP64_NONE)
			continue;
		if (none == MAP64_NONE) {
			if (array__reserve(&l->list, l->count, 1, &l->room, LIST_MAX, sizeof(*l->list)))
				return -ENOMEM;
			none = l->count;
			l->list[l->count++] = 0;
		}
		if (map64__add(&l->of, wishes[i].number, none))
			return -ENOMEM;
	}
	return 0;
}

/* Those of one module. */
static int find_module(struct native_lines *l, const struct wish *wishes, uint32_t count, uint64_t until)
{
	struct debug_module m = { .path = wishes->frame.module, .build_id = wishes->frame.key, .fd = -1, .until = until };
	uint64_t *addresses = malloc(count * sizeof(*addresses));
	struct taking t = { .l = l, .wishes = wishes };
	int err = -ETIME;

	if (!addresses)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		addresses[i] = wishes[i].frame.address;
	l->addresses += count;
	l->files++;
	if (l->locate)
		l->locate(l->context, wishes->number, &m);
	if (l->files <= NATIVE_LINES_FILES_MAX && deadline__now() < until)
		err = debug_files__lines(&m, addresses, count, take, &t);
	free(addresses);
	if (err == -ENOMEM)
		return err;
	l->found += t.found;
	if (t.found < count)
		add_why(l, &wishes->frame, reason(err, t.full), count - t.found);
	return t.found < count ? remember(l, wishes, count) : 0;
}

static int find_all(struct native_lines *l, struct wish *wishes, uint32_t count, uint64_t until)
{
	uint32_t end;
	int err = 0;

	if (count)
		qsort(wishes, count, sizeof(*wishes), by_module);
	for (uint32_t i = 0; i < count && !err; i = end) {
		end = i + 1;
		while (end < count && !strcmp(wishes[end].frame.key, wishes[i].frame.key) &&
		       !strcmp(wishes[end].frame.module, wishes[i].frame.module))
			end++;
		err = find_module(l, wishes + i, end - i, until);
	}
	return err;
}

int native_lines__find(struct native_lines *l, const struct frame_table *t, const uint32_t *frames, uint32_t count)
{
	struct wish *wishes = malloc((count + 1u) * sizeof(*wishes));
	uint64_t began = deadline__now();
	uint32_t wished = 0;
	int err = wishes ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < count && !err; i++) {
		const struct frame *f = frame_table__get(t, frames[i]);

		if (f->kind == FRAME_NATIVE && f->address && frames[i] < t->count && map64__get(&l->of, frames[i]) == MAP64_NONE)
			wishes[wished++] = (struct wish){ .frame = *f, .number = frames[i] };
	}
	if (!err)
		err = find_all(l, wishes, wished, began + NATIVE_LINES_TIME - l->took);
	free(wishes);
	l->took += deadline__now() - began;
	return err;
}

int native_lines__tree(const struct native_lines *l, const struct tree *from, struct tree *to)
{
	uint32_t *places = malloc(from->node_count * sizeof(*places));
	int err = places ? tree__init(to) : -ENOMEM;

	if (err)
		goto cleanup;
	to->node_max = 2 * TREE_NODES_MAX;
	places[0] = 0;
	tree_node__add(&to->nodes[0], from->nodes[0].samples, &from->nodes[0].self, from->nodes[0].squares);
	/* Parents come before children. */
	for (uint32_t i = 1; i < from->node_count && !err; i++) {
		const struct tree_node *n = &from->nodes[i];
		const uint32_t *frames;
		uint32_t count;

		places[i] = places[n->parent];
		frames = native_lines__of(l, n->frame, &count);
		for (uint32_t j = 0; j < (count ? count : 1) && !err; j++)
			err = tree__child(to, places[i], count ? frames[j] : n->frame, &places[i]);
		if (!err && n->samples)
			tree_node__add(&to->nodes[places[i]], n->samples, &n->self, n->squares);
	}
	if (err && to->node_count >= to->node_max)
		err = -ENOSPC;
	to->samples = from->samples;
	to->merged = from->merged;
	to->merges = from->merges;
cleanup:
	free(places);
	return err;
}

void native_lines__free(struct native_lines *l)
{
	map64__free(&l->of);
	free(l->list);
	text__free(&l->why);
	memset(l, 0, sizeof(*l));
}

void native_lines__add_sum(const struct native_lines *l, struct text *out)
{
	if (!l->addresses)
		return;
	text__addf(out, "found for %" PRIu64 " of %" PRIu64 " addresses", l->found, l->addresses);
	if (l->crowded)
		text__adds(out, ", and not shown: there are too many stacks");
	if (l->failed)
		text__addf(out, " (%s%s)", text__string(&l->why), l->why.length >= WHY_MAX ? "; ..." : "");
}
