/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables that all threads share.  A stack is a frame and the stack that called it; a frame is a function and a line;
 * a function is a name in a file.  Rows that are the same are one row.
 */
#include "output/firefox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Rows of a table: more than there are nodes in the trees of all modes. */
#define ROWS_MAX (16u << 20)

/* Colours are names that the viewer knows.  "transparent" is for what is no work. */
static const char *const kind_colors[] = {
	[FRAME_RUBY] = "yellow", [FRAME_C] = "lightblue", [FRAME_BUILTIN] = "brown", [FRAME_NATIVE] = "blue",
	[FRAME_KERNEL] = "darkgrey", [FRAME_GC] = "orange", [FRAME_NO_RUBY] = "grey",
};

static const char *const state_colors[STATE_MAX] = {
	[STATE_RUNNING] = "yellow", [STATE_RUNNABLE] = "magenta", [STATE_GVL] = "red", [STATE_IO] = "green",
	[STATE_SLEEP] = "transparent", [STATE_MUTEX] = "purple", [STATE_QUEUE] = "purple", [STATE_CONDVAR] = "purple",
	[STATE_JOIN] = "purple", [STATE_PROCESS] = "green", [STATE_RACTOR] = "purple", [STATE_NATIVE] = "lightred",
	[STATE_FAULT] = "lightred", [STATE_STOPPED] = "transparent", [STATE_PARKED] = "transparent",
};

static uint32_t string_of(struct firefox *x, const char *text)
{
	return strings__number(&x->strings, text, strlen(text));
}

/* The number of a row of a table, new if need be.  Rows have no bytes that say nothing.  FIREFOX_NONE: out of memory. */
static uint32_t row_of(struct firefox_table *t, void *rows, const void *row, size_t size)
{
	uint64_t hash = hash__bytes(row, size, size);
	uint32_t number;

	while ((number = map64__get(&t->map, hash)) != MAP64_NONE) {
		if (!memcmp(*(char **)rows + number * size, row, size))
			return number;
		hash++;
	}
	if (array__reserve(rows, t->count, 1, &t->room, ROWS_MAX, size) || map64__add(&t->map, hash, t->count))
		return FIREFOX_NONE;
	memcpy(*(char **)rows + t->count * size, row, size);
	return t->count++;
}

/* -- frames ------------------------------------------------------------------------------------- */

static uint32_t source_of(struct firefox *x, const char *path)
{
	uint32_t name = string_of(x, path);

	return name == MAP64_NONE ? FIREFOX_NONE : row_of(&x->source_table, &x->sources, &name, sizeof(name));
}

/* Whose code it is: the viewer can collapse all of it. */
static uint32_t resource_of(struct firefox *x, const struct report *r, uint32_t owner)
{
	const struct report_owner *o = &r->owners[owner];
	uint32_t *of = &x->resource_of[r - x->reports][owner], text;
	struct text name = { 0 };

	if (*of != FIREFOX_NONE)
		return *of;
	owner__add_text(o->kind, o->name, o->version, &name);
	text = name.failed ? MAP64_NONE : string_of(x, text__string(&name));
	text__free(&name);
	if (text != MAP64_NONE)
		*of = row_of(&x->resource_table, &x->resources, &text, sizeof(text));
	return *of;
}

static uint32_t func_of(struct firefox *x, const struct report *r, const struct report_label *l)
{
	const struct frame *f = &l->frame;
	struct firefox_func func;

	memset(&func, 0, sizeof(func));
	func.name = string_of(x, l->name);
	func.source = *f->path ? source_of(x, f->path) : FIREFOX_NONE;
	func.resource = l->owner && l->owner < r->owner_count ? resource_of(x, r, l->owner) : FIREFOX_NONE;
	func.line = *f->path ? f->first_line : 0;
	func.relevant = f->kind <= FRAME_BUILTIN;
	if (func.name == MAP64_NONE || (*f->path && func.source == FIREFOX_NONE) ||
	    (func.resource == FIREFOX_NONE && l->owner && l->owner < r->owner_count))
		return FIREFOX_NONE;
	return row_of(&x->func_table, &x->funcs, &func, sizeof(func));
}

/* The number of the subcategory with that name; 0: the category has no room for more. */
static uint32_t subcategory_of(struct firefox *x, uint32_t category, const char *name)
{
	uint32_t *list = x->subcategories[category], *count = &x->subcategory_count[category];
	uint32_t text = string_of(x, name);

	for (uint32_t i = 0; i < *count; i++)
		if (list[i] == text)
			return i + 1;
	if (text == MAP64_NONE || *count == FIREFOX_SUBCATEGORIES_MAX)
		return 0;
	list[*count] = text;
	return ++*count;
}

static void set_category(struct firefox *x, const struct frame *f, bool idle, struct firefox_frame *frame)
{
	if (f->kind == FRAME_STATE && f->state < STATE_MAX) {
		frame->category = idle ? FIREFOX_IDLE : FIREFOX_STATE + f->state;
		frame->subcategory = subcategory_of(x, frame->category, f->name);
	} else if (frame_kind__is_below(f->kind)) {
		frame->category = FIREFOX_NONE;
	} else if (f->kind < FRAME_MARK) {
		frame->category = FIREFOX_KIND + f->kind;
		if (f->kind == FRAME_GC && *f->name)
			frame->subcategory = subcategory_of(x, frame->category, f->name);
		else if (f->line > 0 && f->approximate)
			frame->subcategory = subcategory_of(x, frame->category, "line not exact");
	}
}

static uint32_t frame_of(struct firefox *x, const struct report *r, const struct report_label *l, bool idle)
{
	struct firefox_frame frame;

	memset(&frame, 0, sizeof(frame));
	frame.func = func_of(x, r, l);
	if (frame.func == FIREFOX_NONE)
		return FIREFOX_NONE;
	/* A line that may be another one is none. */
	if (*l->frame.path && l->frame.line > 0 && !l->frame.approximate)
		frame.line = l->frame.line;
	set_category(x, &l->frame, idle, &frame);
	return row_of(&x->frame_table, &x->frames, &frame, sizeof(frame));
}

/* -- stacks ------------------------------------------------------------------------------------- */

static uint32_t add_stack(struct firefox *x, uint32_t report, uint32_t prefix, uint32_t label, bool idle)
{
	const struct report *r = &x->reports[report];
	struct firefox_stack stack = { .prefix = prefix, .frame = frame_of(x, r, &r->labels[label], idle) };

	return stack.frame == FIREFOX_NONE ? FIREFOX_NONE : row_of(&x->stack_table, &x->stacks, &stack, sizeof(stack));
}

bool firefox__is_host(const struct report *r, uint32_t node)
{
	const struct frame *f;

	/* The root has no label. */
	if (!node)
		return false;
	f = &r->labels[r->nodes[node].label].frame;
	return r->nodes[node].depth <= r->group_count && f->kind == FRAME_LABEL && !strcmp(f->key, group_names[GROUP_HOST]);
}

/* A level that says whose the stacks are is a thread of the file, and no frame. */
static bool is_thread_level(const struct report *r, uint32_t node)
{
	uint8_t kind = node ? r->labels[r->nodes[node].label].frame.kind : FRAME_PROCESS;

	return kind == FRAME_PROCESS || kind == FRAME_THREAD || firefox__is_host(r, node);
}

int firefox__make_stacks(struct firefox *x)
{
	for (uint32_t i = 0; i < x->count; i++) {
		const struct report *r = &x->reports[i];
		uint32_t *of = malloc(r->node_count * sizeof(*of));

		x->stack_of[i] = of;
		x->resource_of[i] = malloc((r->owner_count + 1u) * sizeof(*x->resource_of[i]));
		if (!of || !x->resource_of[i])
			return -ENOMEM;
		memset(x->resource_of[i], 0xff, (r->owner_count + 1u) * sizeof(*x->resource_of[i]));
		of[0] = FIREFOX_NONE;
		for (uint32_t node = 1; node < r->node_count; node++) {
			uint32_t prefix = of[r->nodes[node].parent];

			of[node] = is_thread_level(r, node) ? prefix : add_stack(x, i, prefix, r->nodes[node].label, false);
			if (of[node] == FIREFOX_NONE && !is_thread_level(r, node))
				return -ENOMEM;
		}
	}
	return 0;
}

uint32_t firefox__idle_stack(struct firefox *x, uint32_t report, uint32_t node)
{
	const struct report *r = &x->reports[report];
	uint32_t path[8], depth = 0, stack;

	/* The state, and what is known of it. */
	while (node && depth < 8 && frame_kind__is_below(r->labels[r->nodes[node].label].frame.kind)) {
		path[depth++] = r->nodes[node].label;
		node = r->nodes[node].parent;
	}
	stack = x->stack_of[report][node];
	while (depth > 0) {
		stack = add_stack(x, report, stack, path[--depth], true);
		if (stack == FIREFOX_NONE)
			return FIREFOX_NONE;
	}
	return stack;
}

uint32_t firefox__label_stack(struct firefox *x, uint32_t report, uint32_t label)
{
	return add_stack(x, report, FIREFOX_NONE, label, false);
}

/* -- as JSON ------------------------------------------------------------------------------------ */

static void add_category(struct firefox *x, uint32_t category, const char *name, const char *color)
{
	struct json *j = &x->json;

	json__open(j, NULL, '{');
	json__add(j, "name", json_string(name));
	json__add(j, "color", json_string(color));
	json__open(j, "subcategories", '[');
	json__add(j, NULL, json_string("Other"));
	for (uint32_t i = 0; i < x->subcategory_count[category]; i++)
		json__add(j, NULL, json_string(x->strings.list[x->subcategories[category][i]]));
	json__close(j, ']');
	json__close(j, '}');
}

void firefox__add_categories(struct firefox *x)
{
	json__open(&x->json, "categories", '[');
	add_category(x, FIREFOX_OTHER, "Other", "grey");
	/* The viewer knows this name. */
	add_category(x, FIREFOX_IDLE, "Idle", "transparent");
	for (uint32_t i = 0; i < FRAME_MARK; i++)
		add_category(x, FIREFOX_KIND + i, frame_kind_names[i], kind_colors[i]);
	/* Native frames have a category of that name. */
	for (uint32_t i = 0; i < STATE_MAX; i++)
		add_category(x, FIREFOX_STATE + i, i == STATE_NATIVE ? "native wait" : state_names[i], state_colors[i]);
	json__close(&x->json, ']');
}

/* A row's number, or nothing. */
static void add_number(struct firefox *x, uint32_t number)
{
	if (number == FIREFOX_NONE)
		json__null(&x->json, NULL);
	else
		json__number(&x->json, NULL, number, 0);
}

static void add_line(struct firefox *x, int32_t line)
{
	add_number(x, line > 0 ? (uint32_t)line : FIREFOX_NONE);
}

/* A column of equal values. */
static void add_same(struct firefox *x, const char *key, uint32_t count, uint32_t number)
{
	json__open(&x->json, key, '[');
	for (uint32_t i = 0; i < count; i++)
		add_number(x, number);
	json__close(&x->json, ']');
}

#define COLUMN(key, table, add) do { \
	json__open(&x->json, key, '['); \
	for (uint32_t i = 0; i < x->table.count; i++) \
		add; \
	json__close(&x->json, ']'); \
} while (0)

static void add_frames(struct firefox *x)
{
	uint32_t n = x->frame_table.count;

	json__open(&x->json, "frameTable", '{');
	json__open(&x->json, "address", '[');
	for (uint32_t i = 0; i < n; i++)
		json__number(&x->json, NULL, -1, 0);
	json__close(&x->json, ']');
	add_same(x, "inlineDepth", n, 0);
	COLUMN("category", frame_table, add_number(x, x->frames[i].category));
	COLUMN("subcategory", frame_table,
	       add_number(x, x->frames[i].category == FIREFOX_NONE ? FIREFOX_NONE : x->frames[i].subcategory));
	COLUMN("func", frame_table, add_number(x, x->frames[i].func));
	add_same(x, "nativeSymbol", n, FIREFOX_NONE);
	add_same(x, "innerWindowID", n, 0);
	COLUMN("line", frame_table, add_line(x, x->frames[i].line));
	add_same(x, "column", n, FIREFOX_NONE);
	if (x->texts)
		add_same(x, "originalLocation", n, FIREFOX_NONE);
	json__number(&x->json, "length", n, 0);
	json__close(&x->json, '}');
}

static void add_funcs(struct firefox *x)
{
	uint32_t n = x->func_table.count;

	json__open(&x->json, "funcTable", '{');
	COLUMN("name", func_table, add_number(x, x->funcs[i].name));
	COLUMN("isJS", func_table, json__add(&x->json, NULL, json_false()));
	COLUMN("relevantForJS", func_table, json__add(&x->json, NULL, json_boolean(x->funcs[i].relevant)));
	COLUMN("resource", func_table,
	       json__number(&x->json, NULL, x->funcs[i].resource == FIREFOX_NONE ? -1 : (int64_t)x->funcs[i].resource, 0));
	COLUMN("source", func_table, add_number(x, x->funcs[i].source));
	COLUMN("lineNumber", func_table, add_line(x, x->funcs[i].line));
	add_same(x, "columnNumber", n, FIREFOX_NONE);
	if (x->texts)
		add_same(x, "originalLocation", n, FIREFOX_NONE);
	json__number(&x->json, "length", n, 0);
	json__close(&x->json, '}');
}

static void add_resources(struct firefox *x)
{
	uint32_t n = x->resource_table.count;

	json__open(&x->json, "resourceTable", '{');
	add_same(x, "type", n, 0);
	add_same(x, "lib", n, FIREFOX_NONE);
	COLUMN("name", resource_table, add_number(x, x->resources[i]));
	add_same(x, "host", n, FIREFOX_NONE);
	json__number(&x->json, "length", n, 0);
	json__close(&x->json, '}');
}

/* A text as it is, if it is UTF-8.  0 or -errno. */
static int add_text(struct firefox *x, const char *path)
{
	char *text = NULL;
	size_t length = 0;
	json_t *value;
	int found = x->texts->read(x->texts->context, path, &text, &length);

	if (found < 0)
		return found;
	/* jansson refuses other texts, and says the same where memory is missing: the viewer has no text then. */
	value = found ? json_stringn(text, length) : NULL;
	free(text);
	if (value)
		json__add(&x->json, NULL, value);
	else
		json__null(&x->json, NULL);
	return 0;
}

static int add_texts(struct firefox *x)
{
	uint32_t n = x->source_table.count;
	int err = 0;

	add_same(x, "startLine", n, 1);
	add_same(x, "startColumn", n, 1);
	add_same(x, "sourceMapURL", n, FIREFOX_NONE);
	json__open(&x->json, "content", '[');
	for (uint32_t i = 0; i < n && !err; i++)
		err = add_text(x, x->strings.list[x->sources[i]]);
	json__close(&x->json, ']');
	return err;
}

int firefox__add_shared(struct firefox *x)
{
	struct json *j = &x->json;
	int err = 0;

	json__open(j, "shared", '{');
	json__open(j, "stackTable", '{');
	COLUMN("frame", stack_table, add_number(x, x->stacks[i].frame));
	COLUMN("prefix", stack_table, add_number(x, x->stacks[i].prefix));
	json__number(j, "length", x->stack_table.count, 0);
	json__close(j, '}');
	add_frames(x);
	add_funcs(x);
	add_resources(x);
	json__open(j, "nativeSymbols", '{');
	add_same(x, "libIndex", 0, 0);
	add_same(x, "address", 0, 0);
	add_same(x, "name", 0, 0);
	add_same(x, "functionSize", 0, 0);
	json__number(j, "length", 0, 0);
	json__close(j, '}');
	json__open(j, "sources", '{');
	json__number(j, "length", x->source_table.count, 0);
	add_same(x, "id", x->source_table.count, FIREFOX_NONE);
	COLUMN("filename", source_table, add_number(x, x->sources[i]));
	if (x->texts)
		err = add_texts(x);
	json__close(j, '}');
	if (x->texts) {
		json__open(j, "sourceLocationTable", '{');
		add_same(x, "source", 0, 0);
		add_same(x, "line", 0, 0);
		add_same(x, "column", 0, 0);
		json__number(j, "length", 0, 0);
		json__close(j, '}');
	}
	json__open(j, "stringArray", '[');
	for (uint32_t i = 0; i < x->strings.count; i++)
		json__add(j, NULL, json_string(x->strings.list[i]));
	json__close(j, ']');
	json__close(j, '}');
	return err;
}
