/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/path_ends.h"
#include "profile/report_build.h"
#include "profile/unit.h"

/* With more threads than this of patterns that others have too, the patterns are shown. */
#define THREADS_SHOWN_MAX 48u

void report__add_place(const char *path, int32_t line, bool approximate, struct text *out)
{
	if (!*path)
		return;
	text__adds(out, path);
	if (line > 0)
		text__addf(out, ":%s%d", approximate ? "~" : "", line);
}

void report__add_label(const struct report *r, const struct report_label *label, struct text *out)
{
	const struct frame *f = &label->frame;

	/* Native code has lines if they were asked for.  The name of a holder has its line. */
	if ((r->detail < REPORT_BY_LINE && f->kind != FRAME_NATIVE) || !*f->path || f->kind == FRAME_DETAIL) {
		text__adds(out, label->name);
		return;
	}
	/* The whole place tells files apart too. */
	text__add(out, label->name, label->bare);
	text__adds(out, " ");
	report__add_place(f->path, f->line, f->approximate, out);
}

/* The parts of a frame that tell labels apart, with texts of the report's.  0 or -ENOMEM. */
static int take_frame(struct report *r, const struct frame *from, struct frame *f)
{
	const char **texts[] = { &f->name, &f->path, &f->module, &f->key };

	*f = *from;
	f->wider = "";
	f->missing = MISSING_NOTHING;
	if (r->detail == REPORT_BY_NAME)
		f->first_line = 0;
	/* A holder is where it is: its name has the line. */
	if (r->detail < REPORT_BY_LINE && f->kind != FRAME_NATIVE && f->kind != FRAME_DETAIL) {
		f->line = 0;
		f->approximate = false;
	}
	if (r->detail < REPORT_BY_ADDRESS) {
		f->address = 0;
		if (f->kind == FRAME_NATIVE)
			f->key = "";
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		*texts[i] = strings__intern(&r->strings, *texts[i]);
		if (!*texts[i])
			return -ENOMEM;
	}
	return 0;
}

/* Equal texts have equal addresses. */
static bool is_same(const struct frame *a, const struct frame *b)
{
	return a->kind == b->kind && a->known == b->known && a->role == b->role && a->name == b->name &&
	       a->path == b->path && a->module == b->module && a->key == b->key && a->bracketed == b->bracketed &&
	       a->pid == b->pid && a->tid == b->tid && a->first_line == b->first_line && a->line == b->line &&
	       a->approximate == b->approximate && a->address == b->address;
}

/* All that is_same() compares, one after the other: of somebody's recording, two parts could take each other away. */
static uint64_t hash_of(const struct frame *f)
{
	const uint64_t parts[] = {
		(uintptr_t)f->name, (uintptr_t)f->path, (uintptr_t)f->module, (uintptr_t)f->key, f->address,
		(uint64_t)f->pid << 32 | f->tid, (uint64_t)(uint32_t)f->first_line << 32 | (uint32_t)f->line,
		(uint64_t)f->kind << 24 | (uint64_t)f->known << 16 | (uint64_t)f->role << 8 | (uint64_t)f->bracketed << 1 | f->approximate,
	};
	uint64_t hash = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		hash = hash__mix(hash ^ parts[i]);
	return hash;
}

uint32_t report__label(struct report_builder *b, const struct frame *frame)
{
	struct report *r = b->r;
	struct report_label *l;
	struct text name = { 0 };
	struct frame f;
	uint64_t hash;
	uint32_t number;

	if (take_frame(r, frame, &f))
		return MAP64_NONE;
	hash = hash_of(&f);
	while ((number = map64__get(&b->label_map, hash)) != MAP64_NONE) {
		if (is_same(&r->labels[number].frame, &f))
			return number;
		hash++;
	}
	if (array__reserve(&r->labels, r->label_count, 1, &b->label_room, MAP64_NONE, sizeof(*r->labels)) ||
	    map64__add(&b->label_map, hash, r->label_count))
		return MAP64_NONE;
	frame__add_text(&f, &name);
	if (!name.failed && !name.data)
		text__adds(&name, "");
	l = &r->labels[r->label_count++];
	*l = (struct report_label){ .frame = f, .name = name.data, .bare = name.length };
	return name.failed || !l->name ? MAP64_NONE : r->label_count - 1;
}

static bool is_group(const struct frame *f)
{
	return f->kind == FRAME_PROCESS || f->kind == FRAME_THREAD || f->kind == FRAME_LABEL || f->kind == FRAME_MODE;
}

/* Nodes without samples, which have none below them. */
static int leave_out_empty(struct report_builder *b)
{
	const struct tree *tree = b->tree;
	bool *kept = calloc(tree->node_count, sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	for (uint32_t i = tree->node_count; i-- > 1;) {
		kept[i] |= tree->nodes[i].samples != 0;
		kept[tree->nodes[i].parent] |= kept[i];
		b->left_out[i] |= !kept[i];
	}
	free(kept);
	return 0;
}

/* Find the nodes to leave out: those that are not below the frame of the mode, and those that idle threads have left
 * empty. */
static int find_left_out(struct report_builder *b)
{
	const struct tree *tree = b->tree;

	if (!b->view.mode_frame && !b->leaves_empty)
		return 0;
	b->left_out = malloc(tree->node_count);
	if (!b->left_out)
		return -ENOMEM;
	b->left_out[0] = b->view.mode_frame != 0;
	/* Parents come before children. */
	for (uint32_t i = 1; i < tree->node_count; i++)
		b->left_out[i] = b->view.mode_frame && (tree->nodes[i].parent ? b->left_out[tree->nodes[i].parent] :
							tree->nodes[i].frame != b->view.mode_frame);
	return b->leaves_empty ? leave_out_empty(b) : 0;
}

/* All of a tree that is in the report. */
static uint64_t sum_of(const struct report_builder *b)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < b->tree->node_count; i++)
		if (!report__leaves_out(b, i))
			sum += report__self(b, i);
	return sum;
}

/* The tree was replaced. */
static int find_left_out_again(struct report_builder *b)
{
	free(b->left_out);
	b->left_out = NULL;
	return find_left_out(b);
}

static int keep_methods(struct report_builder *b)
{
	uint64_t *amounts = malloc(b->tree->node_count * sizeof(*amounts));
	int err;

	if (!amounts)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->tree->node_count; i++)
		amounts[i] = report__leaves_out(b, i) ? 0 : report__self(b, i);
	err = transform__keep_methods(&b->transformed, amounts, b->view.transform->methods);
	free(amounts);
	return err ? err : find_left_out_again(b);
}

/* From here on the tree is the one that was asked for. */
static int transform(struct report_builder *b)
{
	uint64_t before;
	int err;

	if (!b->view.transform || !transform__changes(b->view.transform))
		return 0;
	before = sum_of(b);
	err = transform__apply(b->view.transform, b->tree, b->frames, &b->rules, &b->transformed);
	if (err)
		return err;
	b->tree = &b->transformed.tree;
	b->frames = &b->transformed.frames;
	err = find_left_out_again(b);
	if (err)
		return err;
	b->r->left_out = before - sum_of(b);
	err = b->view.transform->methods ? keep_methods(b) : 0;
	return !err && b->view.transform->inverts ? transform__invert(&b->transformed, b->left_out, &b->inverted) : err;
}

/* The stacks as they are shown.  Totals are those of the tree as it was: a method's own time is that of its own. */
static int merge_tree(struct report_builder *b)
{
	const struct tree *tree = b->tree;
	bool *left_out = b->left_out;
	int err;

	/* It has only what is not left out. */
	if (b->inverted.node_count) {
		b->tree = &b->inverted;
		b->left_out = NULL;
	}
	err = report__merge_tree(b);
	b->tree = tree;
	b->left_out = left_out;
	return err;
}

static int find_used(struct report_builder *b)
{
	b->used = calloc(b->frames->count + 1u, sizeof(*b->used));
	if (!b->used)
		return -ENOMEM;
	for (uint32_t i = 1; i < b->tree->node_count; i++)
		if (!report__leaves_out(b, i))
			b->used[b->tree->nodes[i].frame] = true;
	/* In the inverted tree rare stacks have another frame. */
	for (uint32_t i = 1; i < b->inverted.node_count; i++)
		b->used[b->inverted.nodes[i].frame] = true;
	return 0;
}

/* Only where threads are shown is it shown which one held something. */
static bool is_holder_thread(const struct frame *f)
{
	return f->kind == FRAME_DETAIL && !strcmp(f->key, DETAIL_HOLDER_THREAD);
}

static int make_labels(struct report_builder *b)
{
	bool threads = groups__has(&b->r->groups, GROUP_THREAD) || groups__has(&b->r->groups, GROUP_THREAD_PATTERN);
	uint32_t count = b->frames->count;

	b->label_of = malloc((count + 1u) * sizeof(*b->label_of));
	if (!b->label_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		b->label_of[i] = MAP64_NONE;
		/* Groups have labels by what is shown of them. */
		if (!b->used[i] || is_group(&b->frames->list[i]) || (!threads && is_holder_thread(&b->frames->list[i])))
			continue;
		b->label_of[i] = report__label(b, &b->frames->list[i]);
		if (b->label_of[i] == MAP64_NONE)
			return -ENOMEM;
	}
	return 0;
}

static int by_text(const void *a, const void *b, void *context)
{
	const struct report_label *labels = context;
	const struct report_label *x = &labels[*(const uint32_t *)a], *y = &labels[*(const uint32_t *)b];
	int c = strcmp(x->name, y->name);

	return c ? c : strcmp(x->frame.path, y->frame.path);
}

/* Labels of one name, by path: let the names tell the paths apart. */
static int distinguish(struct report *r, const uint32_t *labels, uint32_t count)
{
	const char **paths = malloc(count * sizeof(*paths));
	uint32_t *starts = malloc(count * sizeof(*starts));
	uint32_t files = 0, file = 0;
	int err = -ENOMEM;

	if (!paths || !starts)
		goto cleanup;
	for (uint32_t i = 0; i < count; i++) {
		const char *path = r->labels[labels[i]].frame.path;

		if (*path && (!files || strcmp(paths[files - 1], path)))
			paths[files++] = path;
	}
	/* One file with a path and code without a path are two as well. */
	err = 0;
	if (files < 2 && (!files || *r->labels[labels[0]].frame.path))
		goto cleanup;
	err = path_ends__find(paths, files, starts);
	for (uint32_t i = 0; i < count && !err; i++) {
		struct report_label *l = &r->labels[labels[i]];
		struct text name = { 0 };

		if (!*l->frame.path)
			continue;
		while (strcmp(paths[file], l->frame.path))
			file++;
		text__addf(&name, "%s ", l->name);
		path_ends__add(l->frame.path, starts[file], &name);
		if (name.failed) {
			text__free(&name);
			err = -ENOMEM;
			break;
		}
		free(l->name);
		l->name = name.data;
	}
cleanup:
	free(paths);
	free(starts);
	return err;
}

int report__distinguish(struct report_builder *b)
{
	struct report *r = b->r;
	uint32_t *order = malloc((r->label_count + 1u) * sizeof(*order)), end;
	int err = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->label_count; i++)
		order[i] = i;
	if (r->label_count)
		qsort_r(order, r->label_count, sizeof(*order), by_text, r->labels);
	for (uint32_t i = 0; i < r->label_count && !err; i = end) {
		end = i + 1;
		/* The names of those before are longer already. */
		while (end < r->label_count && r->labels[order[end]].bare == r->labels[order[i]].bare &&
		       !strcmp(r->labels[order[end]].name, r->labels[order[i]].name))
			end++;
		if (end > i + 1)
			err = distinguish(r, order + i, end - i);
	}
	free(order);
	return err;
}

/* How many threads have a pattern that another one has too?  0 or -ENOMEM. */
static int count_alike(const struct report_builder *b, uint32_t *alike)
{
	uint32_t count = b->frames->count, number = 0;
	uint32_t *counts = calloc(count + 1u, sizeof(*counts));
	struct map64 map = { 0 };	/* pattern -> number in counts */
	int err = counts ? 0 : -ENOMEM;

	*alike = 0;
	for (uint32_t i = 0; i < count && !err; i++) {
		const struct frame *f = &b->frames->list[i];
		uint32_t n;

		if (!b->used[i] || f->kind != FRAME_THREAD || !*f->wider)
			continue;
		n = map64__get(&map, (uintptr_t)f->wider);
		if (n == MAP64_NONE) {
			n = number++;
			err = map64__add(&map, (uintptr_t)f->wider, n);
		}
		counts[n]++;
	}
	for (uint32_t i = 0; i < number; i++)
		if (counts[i] > 1)
			*alike += counts[i];
	map64__free(&map);
	free(counts);
	return err;
}

/* Threads were chosen in general: show patterns if there are too many. */
static int choose_groups(struct report_builder *b, const struct groups *show)
{
	struct report *r = b->r;
	uint32_t alike;
	int err;

	if (show)
		r->groups = *show;
	r->groups.patterns_allowed = false;
	r->group_count = r->groups.count;
	if (!show || !show->patterns_allowed || !groups__has(show, GROUP_THREAD) ||
	    groups__has(show, GROUP_THREAD_PATTERN))
		return 0;
	err = count_alike(b, &alike);
	if (err || alike <= THREADS_SHOWN_MAX)
		return err;
	for (int i = 0; i < r->groups.count; i++)
		if (r->groups.keys[i] == GROUP_THREAD)
			r->groups.keys[i] = GROUP_THREAD_PATTERN;
	r->threads_by_pattern = alike;
	return 0;
}

int report__build(struct report *r, const struct tree *tree, const struct frame_table *frames,
		  const struct groups *show, enum report_detail detail, const struct report_view *view)
{
	static const struct report_view all = { .mode = &mode_cpu };
	struct report_builder b = { .r = r, .tree = tree, .frames = frames };
	int err;

	memset(r, 0, sizeof(*r));
	r->detail = detail;
	b.view = view ? *view : all;
	r->metric = b.view.by_value ? b.view.mode->value : b.view.mode->count;
	r->by_value = b.view.by_value;
	r->divisor = b.view.divisor ? b.view.divisor : unit__default_divisor(r->metric.unit);
	r->meta.mode = b.view.mode;
	r->meta.stacks = tree->samples;
	r->meta.merged = tree->merged;
	r->all_states = !tree->merged && !(b.view.transform && (b.view.transform->count || b.view.transform->methods));
	report__find_scripts(&b);
	if ((err = find_left_out(&b)) || (err = report__find_idle(&b)) || (b.leaves_empty && (err = find_left_out_again(&b))) ||
	    (err = transform(&b)) || (err = find_used(&b)) || (err = choose_groups(&b, show)) ||
	    (err = make_labels(&b)) || (err = report__find_owners(&b)) || (err = merge_tree(&b)) ||
	    (err = report__distinguish(&b)) || (err = report__order_tree(&b)) || (err = report__count(&b)) ||
	    (b.view.places && (err = report__find_places(&b, tree))))
		report__free(r);
	transformed__free(&b.transformed);
	tree__free(&b.inverted);
	free(b.busy.nodes);
	free(b.left_out);
	free(b.used);
	free(b.label_of);
	free(b.loose);
	free(b.is_idle);
	free(b.merged);
	free(b.order);
	map64__free(&b.label_map);
	map64__free(&b.owner_map);
	return err;
}

void reports__free(struct reports *reports)
{
	for (uint32_t i = 0; i < reports->count; i++)
		report__free(&reports->list[i]);
	reports->count = 0;
}

void report__free(struct report *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->label_count; i++)
		free(r->labels[i].name);
	free(r->labels);
	free(r->nodes);
	free(r->methods.list);
	free(r->lines.list);
	free(r->files.list);
	free(r->by_owner.list);
	free(r->owners);
	free(r->idle.rows);
	free(r->idle.threads);
	free((void *)(uintptr_t)r->rules.apps);
	strings__free(&r->strings);
	for (uint32_t i = 0; i < r->recording_count; i++)
		free(r->recordings[i].name);
	free(r->recordings);
	processes__free(&r->processes);
	if (r->threads)
		thread_rows__free(r->threads);
	free(r->threads);
	if (r->pauses)
		gc_pauses__free(r->pauses);
	free(r->pauses);
	free(r->places);
	if (r->timeline)
		timeline__free(r->timeline);
	free(r->timeline);
	if (r->cells)
		cells__free(r->cells);
	free(r->cells);
	memset(r, 0, sizeof(*r));
}

const char *report__program(const struct report *r)
{
	return *r->meta.command ? r->meta.command : "several programs";
}

void report__add_whose(const struct report *r, const char *word, struct text *out)
{
	uint32_t count = processes__followed(&r->processes);

	if (r->recording_count)
		text__addf(out, "%" PRIu32 " recordings", r->recording_count);
	else if (!r->meta.pid)
		text__addf(out, "%" PRIu32 " processes", count);
	else
		text__addf(out, "%s %d", word, r->meta.pid);
	if (!r->recording_count && r->meta.pid && count > 1)
		text__addf(out, " and %" PRIu32 " more", count - 1);
}
