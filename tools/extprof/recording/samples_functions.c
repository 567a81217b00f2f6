/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that statements call with a stack, or with the labels of a sample. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "recording/samples_parts.h"

/* The stack that a function's first argument is; 0: none, or an error was given. */
static uint32_t stack_argument(sqlite3_context *to, sqlite3_value *value)
{
	struct samples_module *m = sqlite3_user_data(to);
	int64_t id = sqlite3_value_int64(value);
	char *message = NULL;

	if (samples_module__load(m, &message)) {
		sqlite3_result_error(to, message ? message : "out of memory", -1);
		sqlite3_result_error_code(to, SQLITE_CORRUPT_VTAB);
		sqlite3_free(message);
		return 0;
	}
	return id > 0 && id < m->tables.stack_count ? (uint32_t)id : 0;
}

/* label(labels, 'request'): its value; NULL: it is not set. */
static void label_function(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	uint32_t stack = stack_argument(to, argv[0]);
	const struct recording_tables *t = &((struct samples_module *)sqlite3_user_data(to))->tables;
	const char *key = (const char *)sqlite3_value_text(argv[1]);

	(void)argc;
	for (; stack && key; stack = t->stacks[stack].parent) {
		const struct frame *f = &t->frames[t->stacks[stack].frame];

		if (f->kind != FRAME_LABEL || strcmp(f->key, key))
			continue;
		if (f->known == KNOWN)
			samples_columns__text(to, f->name);
		return;
	}
}

/* method_of(stack), path_of(stack): of its innermost frame of code. */
static void method_function(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	uint32_t stack = stack_argument(to, argv[0]);
	const struct recording_tables *t = &((struct samples_module *)sqlite3_user_data(to))->tables;

	(void)argc;
	if (stack)
		samples_columns__code(to, t, samples_columns__code_of(t, stack), COLUMN_METHOD);
}

static void path_function(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	uint32_t stack = stack_argument(to, argv[0]);
	const struct recording_tables *t = &((struct samples_module *)sqlite3_user_data(to))->tables;

	(void)argc;
	if (stack)
		samples_columns__code(to, t, samples_columns__code_of(t, stack), COLUMN_PATH);
}

/* parent_of_gc(stack): the stack below which the collector runs; NULL: it does not run. */
static void gc_function(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	uint32_t stack = stack_argument(to, argv[0]);
	const struct recording_tables *t = &((struct samples_module *)sqlite3_user_data(to))->tables;

	(void)argc;
	if (stack && t->frames[t->stacks[stack].frame].kind == FRAME_GC)
		sqlite3_result_int64(to, t->stacks[stack].parent);
}

/* stack_text(stack): "outer;inner". */
static void stack_function(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	uint32_t stack = stack_argument(to, argv[0]), depth;
	const struct recording_tables *t = &((struct samples_module *)sqlite3_user_data(to))->tables;
	struct text text = { .limit = 1 << 20 };
	uint32_t *path;

	(void)argc;
	if (!stack)
		return;
	depth = t->stacks[stack].depth;
	path = malloc(depth * sizeof(*path));
	for (uint32_t i = depth; path && i-- > 0; stack = t->stacks[stack].parent)
		path[i] = t->stacks[stack].frame;
	for (uint32_t i = 0; path && i < depth; i++) {
		if (i)
			text__adds(&text, ";");
		text__add_folded(&text, t->texts[path[i]]);
	}
	if (!path || text.failed)
		sqlite3_result_error_nomem(to);
	else
		samples_columns__text(to, text__string(&text));
	free(path);
	text__free(&text);
}

int samples_functions__register(struct samples_module *m)
{
	static const struct {
		const char *name;
		int arguments;
		void (*call)(sqlite3_context *to, int argc, sqlite3_value **argv);
	} functions[] = {
		{ "label", 2, label_function }, { "method_of", 1, method_function }, { "path_of", 1, path_function },
		{ "parent_of_gc", 1, gc_function }, { "stack_text", 1, stack_function },
	};
	int code = SQLITE_OK;

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && code == SQLITE_OK; i++)
		code = sqlite3_create_function_v2(m->db, functions[i].name, functions[i].arguments,
						  SQLITE_UTF8 | SQLITE_INNOCUOUS, m, functions[i].call, NULL, NULL, NULL);
	return code;
}
