/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * extprof mcp: a server of the Model Context Protocol on standard input and output, for agents.  It reads the recordings
 * of one folder and nothing else, and writes nothing.
 *
 * A message is a line of JSON.  Whoever sends it is not trusted: lines, answers and rows have bounds.
 */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/confined.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "extprof.h"

#define PROTOCOL "2025-06-18"
#define LINE_MAX_BYTES (1u << 20)
#define ANSWER_MAX_BYTES (256u << 10)
#define ROWS_DEFAULT 20
#define ROWS_MAX 200
#define FILES_MAX 1000
#define FILTERS_MAX 16

/* Codes of JSON-RPC. */
#define PARSE_ERROR (-32700)
#define INVALID_REQUEST (-32600)
#define NO_METHOD (-32601)
#define INVALID_PARAMS (-32602)

struct server {
	const char *folder;
};

/* The arguments of a tool, and where its answer goes. */
struct call {
	const struct server *server;
	json_t *arguments;
	FILE *to;
	struct extprof_error error;
	uint32_t rows;
};

/* -- arguments ------------------------------------------------------------------------------------- */

static const char *text_of(const struct call *c, const char *key)
{
	return json_string_value(json_object_get(c->arguments, key));
}

static json_int_t number_of(const struct call *c, const char *key, json_int_t most)
{
	json_int_t n = json_integer_value(json_object_get(c->arguments, key));

	return n < 0 ? 0 : n > most ? most : n;
}

static int fail(struct call *c, const char *text)
{
	return message__set(&c->error, EXTPROF_USAGE, EINVAL, "%s", text);
}

/* Only a file of the folder itself. */
static bool is_recording(const char *name)
{
	return options__is_recording(name) && strlen(name) < 256 && *name != '.' && !strchr(name, '/');
}

static int open_recording(struct call *c, const char *key, struct extprof_recorded **r)
{
	const char *name = text_of(c, key);
	char *path;
	int err;

	*r = NULL;
	if (!name || !is_recording(name))
		return fail(c, "name a recording as the tool list has it");
	if (asprintf(&path, "%s/%s", c->server->folder, name) < 0)
		return message__set(&c->error, EXTPROF_INTERNAL, ENOMEM, "out of memory");
	err = extprof_recorded_open(r, path, -1, &c->error);
	free(path);
	return err;
}

/* -- tools ----------------------------------------------------------------------------------------- */

static int list_recordings(struct call *c)
{
	DIR *folder = opendir(c->server->folder);
	struct dirent *e;
	unsigned int count = 0;

	if (!folder)
		return message__set(&c->error, EXTPROF_RECORDING, errno, "the folder cannot be read: %s", strerror(errno));
	while (count < FILES_MAX && (e = readdir(folder))) {
		char clean[512];

		if (!is_recording(e->d_name))
			continue;
		extprof_clean(clean, sizeof(clean), e->d_name);
		fprintf(c->to, "%s\n", clean);
		count++;
	}
	closedir(folder);
	return 0;
}

/* A report of a recording in a format. */
static int report(struct call *c, const char *format)
{
	json_t *filters = json_object_get(c->arguments, "filters"), *filter;
	const char *list[FILTERS_MAX];
	struct extprof_recorded_options o = {
		.size = sizeof(o), .modes = text_of(c, "mode"), .focus = text_of(c, "focus"), .hide = text_of(c, "hide"),
		.collapse = text_of(c, "collapse"), .groups = text_of(c, "group_by"), .filters = list,
		.idle = json_is_true(json_object_get(c->arguments, "idle")),
		.slower_than = (uint64_t)number_of(c, "slower_than_ms", 1000000000) * 1000000,
		.slowest = (unsigned int)number_of(c, "slowest", 1000000), .request_label = text_of(c, "request_label"),
		.top = (unsigned int)c->rows,
	};
	struct extprof_recorded *r;
	size_t i;
	int err;

	json_array_foreach(filters, i, filter) {
		if (i == FILTERS_MAX || !json_is_string(filter))
			return fail(c, "`filters` is a list of at most 16 texts");
		list[o.filter_count++] = json_string_value(filter);
	}
	err = open_recording(c, "recording", &r);
	if (!err)
		err = format ? extprof_recorded_write(r, format, &o, c->to, &c->error) :
		      extprof_recorded_requests(r, "json", &o, c->to, &c->error);
	extprof_recorded_close(r);
	return err;
}

static int top(struct call *c)
{
	return report(c, "json");
}

static int tree(struct call *c)
{
	return report(c, "folded");
}

static int requests(struct call *c)
{
	return report(c, NULL);
}

static int diff(struct call *c)
{
	struct extprof_diff_options o = {
		.size = sizeof(o), .mode = text_of(c, "mode"), .metric = text_of(c, "metric"), .top = (unsigned int)c->rows,
		.names = { text_of(c, "before"), text_of(c, "after") }, .focus = text_of(c, "focus"), .hide = text_of(c, "hide"),
		.collapse = text_of(c, "collapse"),
	};
	struct extprof_recorded *before, *after = NULL;
	int err = open_recording(c, "before", &before);

	if (!err)
		err = open_recording(c, "after", &after);
	if (!err)
		err = extprof_recorded_diff(before, after, "json", &o, c->to, &c->error);
	extprof_recorded_close(before);
	extprof_recorded_close(after);
	return err;
}

static int annotate(struct call *c)
{
	struct extprof_annotate_options o = {
		.size = sizeof(o), .mode = text_of(c, "mode"), .focus = text_of(c, "focus"), .hide = text_of(c, "hide"),
	};
	const char *what = text_of(c, "what");
	struct extprof_recorded *r;
	int err;

	if (!what)
		return fail(c, "`what` is the end of a path, or a method");
	err = open_recording(c, "recording", &r);
	if (!err)
		err = extprof_recorded_annotate(r, what, "text", &o, c->to, &c->error);
	extprof_recorded_close(r);
	return err;
}

/* The names of the columns are the first row. */
static int print_row(void *context, int columns, const char *const *values)
{
	struct call *c = context;

	if (!c->rows)
		return -ENOBUFS;
	c->rows--;
	for (int i = 0; i < columns; i++)
		fprintf(c->to, "%s%s", i ? "\t" : "", values[i] ? values[i] : "");
	fputc('\n', c->to);
	return ftell(c->to) > (long)ANSWER_MAX_BYTES ? -ENOBUFS : 0;
}

static int sql(struct call *c)
{
	const char *statement = text_of(c, "statement");
	struct extprof_recorded *r;
	int err;

	if (!statement)
		return fail(c, "`statement` is a text");
	err = open_recording(c, "recording", &r);
	c->rows++;
	if (!err)
		err = extprof_recorded_sql(r, statement, print_row, c, &c->error);
	extprof_recorded_close(r);
	if (err == -ENOBUFS)
		fputs("(more rows: ask for fewer, or for more with `rows`)\n", c->to);
	return err == -ENOBUFS ? 0 : err;
}

#define RECORDING "\"recording\":{\"type\":\"string\"}"
#define COMMON RECORDING ",\"mode\":{\"type\":\"string\"},\"rows\":{\"type\":\"integer\",\"maximum\":200}"
#define CHOICE COMMON ",\"filters\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"slower_than_ms\":{\"type\":\"integer\"}," \
	"\"slowest\":{\"type\":\"integer\"},\"request_label\":{\"type\":\"string\"}"
#define STACKS ",\"focus\":{\"type\":\"string\"},\"hide\":{\"type\":\"string\"}"
#define COLLAPSE ",\"collapse\":{\"type\":\"string\"}"
#define SHAPE STACKS COLLAPSE "," \
	"\"group_by\":{\"type\":\"string\"},\"idle\":{\"type\":\"boolean\"}"

static const struct tool {
	const char *name, *description, *properties, *required;
	int (*run)(struct call *c);
} tools[] = {
	{ "list", "The recordings that there are", "", "", list_recordings },
	{ "top", "The application's methods and lines, gems, then all methods, lines, files and groups, with self and total", CHOICE SHAPE, "\"recording\"", top },
	{ "tree", "Stacks of a recording, outermost;...;innermost, each with its amount", CHOICE SHAPE, "\"recording\"", tree },
	{ "requests", "Requests of a recording: how long each took, and for what it waited", CHOICE, "\"recording\"", requests },
	{ "diff", "What changed from one recording to another, with the noise of sampling", "\"before\":{\"type\":\"string\"},"
	  "\"after\":{\"type\":\"string\"},\"mode\":{\"type\":\"string\"},\"metric\":{\"type\":\"string\"},\"rows\":{\"type\":\"integer\"}" STACKS COLLAPSE,
	  "\"before\",\"after\"", diff },
	{ "annotate", "Source with what each line took; `what` is the end of a path, or a method", RECORDING
	  ",\"what\":{\"type\":\"string\"},\"mode\":{\"type\":\"string\"}" STACKS, "\"recording\",\"what\"", annotate },
	{ "sql", "Ask a recording in SQL: tables samples and requests, views top_methods, top_lines, gc_by_method, lock_waits, "
	  "lock_holders, states_by_thread, idle_threads, idle_pool", COMMON ",\"statement\":{\"type\":\"string\"}", "\"recording\",\"statement\"", sql },
};

#define TOOLS (sizeof(tools) / sizeof(tools[0]))

/* -- the protocol ---------------------------------------------------------------------------------- */

static json_t *tool_list(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < TOOLS; i++) {
		char *schema;
		json_t *parsed;

		if (asprintf(&schema, "{\"type\":\"object\",\"properties\":{%s},\"required\":[%s]}", tools[i].properties,
			     tools[i].required) < 0)
			continue;
		parsed = json_loads(schema, 0, NULL);
		free(schema);
		json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:{s:b}}", "name", tools[i].name, "description",
						      tools[i].description, "inputSchema", parsed, "annotations",
						      "readOnlyHint", 1));
	}
	return json_pack("{s:o}", "tools", list);
}

static json_t *answer(const char *text, bool failed)
{
	return json_pack("{s:[{s:s, s:s}], s:b}", "content", "type", "text", "text", text, "isError", failed);
}

static json_t *call_tool(const struct server *server, const struct tool *tool, json_t *arguments)
{
	struct call c = { .server = server, .arguments = arguments, .error = { .size = sizeof(c.error) } };
	char *text = NULL;
	size_t length = 0;
	json_t *result;
	int err;

	c.rows = (uint32_t)number_of(&c, "rows", ROWS_MAX);
	c.rows = c.rows ? c.rows : ROWS_DEFAULT;
	c.to = open_memstream(&text, &length);
	if (!c.to)
		return answer("out of memory", true);
	err = tool->run(&c);
	if (fclose(c.to))
		err = message__set(&c.error, EXTPROF_INTERNAL, ENOMEM, "out of memory");
	if (err)
		result = answer(c.error.text[0] ? c.error.text : "it failed", true);
	else if (length > ANSWER_MAX_BYTES)
		result = answer("the answer is longer than 256 KiB: ask for less, with rows, filters, focus or collapse", true);
	else
		result = answer(text, false);
	free(text);
	return result;
}

/* The result of a method, or NULL with the code of an error. */
static json_t *run_method(const struct server *server, const char *method, json_t *params, int *code, const char **why)
{
	const char *name;

	if (!strcmp(method, "initialize"))
		return json_pack("{s:s, s:{s:{}}, s:{s:s, s:s}}", "protocolVersion", PROTOCOL, "capabilities", "tools", "serverInfo",
				 "name", "extprof", "version", EXTPROF_VERSION);
	if (!strcmp(method, "ping"))
		return json_object();
	if (!strcmp(method, "tools/list"))
		return tool_list();
	*code = NO_METHOD;
	*why = "there is no such method";
	if (strcmp(method, "tools/call"))
		return NULL;
	name = json_string_value(json_object_get(params, "name"));
	for (size_t i = 0; name && i < TOOLS; i++)
		if (!strcmp(tools[i].name, name))
			return call_tool(server, &tools[i], json_object_get(params, "arguments"));
	*code = INVALID_PARAMS;
	*why = "there is no such tool";
	return NULL;
}

static int send(json_t *id, json_t *result, int code, const char *why)
{
	json_t *message = json_pack("{s:s, s:O}", "jsonrpc", "2.0", "id", id);
	int err = -ENOMEM;

	if (message && result)
		json_object_set_new(message, "result", result);
	else if (message)
		json_object_set_new(message, "error", json_pack("{s:i, s:s}", "code", code, "message", why));
	if (message)
		err = json_dumpf(message, stdout, JSON_COMPACT) || fputc('\n', stdout) == EOF || fflush(stdout) ? -EIO : 0;
	json_decref(message);
	return err;
}

static int take(const struct server *server, const char *line, size_t length)
{
	json_t *message = json_loadb(line, length, 0, NULL), *id, *none = json_null(), *result = NULL;
	const char *method = json_string_value(json_object_get(message, "method")), *why = "it is no request";
	int code = INVALID_REQUEST, err = 0;

	id = json_object_get(message, "id");
	if (!message)
		err = send(none, NULL, PARSE_ERROR, "it is no JSON");
	else if (!method || (id && !json_is_string(id) && !json_is_integer(id)))
		err = send(none, NULL, code, why);
	else if (id) {
		result = run_method(server, method, json_object_get(message, "params"), &code, &why);
		err = send(id, result, code, why);
	}
	/* A message without an id is a notification, and has no answer. */
	json_decref(message);
	return err;
}

/* Until the input ends. */
static int serve(const struct server *server)
{
	char *line = malloc(LINE_MAX_BYTES);
	size_t length = 0;
	bool too_long = false;
	int byte, err = line ? 0 : -ENOMEM;

	while (!err && (byte = getchar()) != EOF) {
		if (byte != '\n') {
			if (length < LINE_MAX_BYTES)
				line[length++] = (char)byte;
			else
				too_long = true;
			continue;
		}
		if (too_long)
			err = send(json_null(), NULL, INVALID_REQUEST, "a message has 1 MiB at most");
		else if (length)
			err = take(server, line, length);
		length = 0;
		too_long = false;
	}
	free(line);
	return err;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct server *server = state->input;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (server->folder)
		argp_error(state, "it takes one folder");
	server->folder = arg;
	return 0;
}

static int run(int argc, char **argv, bool implied)
{
	static const struct argp argp = {
		.parser = parse, .args_doc = "[FOLDER]",
		.doc = "Answer an agent's questions on the recordings (*.extprof) of a folder, by default the current one.\v"
		       "It speaks the Model Context Protocol on standard input and output, and only reads. Tools: list, top, tree, "
		       "requests, diff, annotate, sql.\n",
	};
	/* Source files are read by helpers. */
	struct confined rights = { .input_count = 1, .files = true };
	struct server server = { 0 };
	int status;

	(void)implied;
	argp_err_exit_status = STATUS_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &server))
		return STATUS_USAGE;
	server.folder = server.folder ? server.folder : ".";
	rights.inputs = &server.folder;
	status = confined__enter(&rights);
	if (status)
		return status;
	if (!serve(&server))
		return STATUS_OK;
	fprintf(stderr, "extprof: cannot write to standard output, or out of memory\n");
	return STATUS_OUTPUT;
}

const struct command command_mcp = {
	.name = "mcp",
	.summary = "answer an agent's questions on recordings",
	.few = few_options_none,
	.run = run,
	.power = POWER_FILES,
};
