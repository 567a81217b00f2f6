/* SPDX-License-Identifier: BSD-2-Clause */
/* One stack a line, with its parts, for programs that read line by line: each line is a JSON object. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "output/output.h"
#include "profile/unit.h"

static const char *const unit_names[] = { [UNIT_COUNT] = "count", [UNIT_NS] = "ns", [UNIT_BYTES] = "bytes" };

/* A frame: the text that is shown, and of code where it is. */
static json_t *frame_of(const struct report *r, const struct report_label *l)
{
	const struct frame *f = &l->frame;
	json_t *value = json_pack("{s:s, s:s}", "kind", frame_kind_names[f->kind], "name", l->name);
	int err = !value;

	if (!err && *f->path)
		err = json_object_set_new(value, "path", json_string(f->path)) ||
		      (f->line && (json_object_set_new(value, "line", json_integer(f->line)) ||
				   json_object_set_new(value, "approximate", json_boolean(f->approximate))));
	if (!err && *f->path && r->owners)
		err = json_object_set_new(value, "application", json_boolean(r->owners[l->owner].kind == OWNER_APP));
	if (!err && *f->module)
		err = json_object_set_new(value, "module", json_string(f->module));
	if (!err && f->pid)
		err = json_object_set_new(value, "pid", json_integer(f->pid));
	if (!err && f->tid)
		err = json_object_set_new(value, "tid", json_integer(f->tid));
	if (!err && *f->key)
		err = json_object_set_new(value, "key", json_string(f->key));
	if (err) {
		json_decref(value);
		return NULL;
	}
	return value;
}

/* The frames of a node, outermost first.  NULL: out of memory. */
static json_t *stack_of(const struct report *r, uint32_t node, uint32_t *path)
{
	json_t *list = json_array();
	uint32_t count = 0;

	for (; node; node = r->nodes[node].parent)
		path[count++] = r->nodes[node].label;
	while (list && count)
		if (json_array_append_new(list, frame_of(r, &r->labels[path[--count]]))) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static int write_stack(const struct report *r, uint32_t node, uint32_t *path, FILE *to)
{
	json_t *line = json_pack("{s:s, s:s, s:I, s:o}", "mode", r->meta.mode->name, "unit", unit_names[r->metric.unit], "amount",
				 (json_int_t)r->nodes[node].self, "stack", stack_of(r, node, path));
	int err = line ? 0 : -ENOMEM;

	errno = 0;
	if (!err && (json_dumpf(line, to, JSON_COMPACT) || fputc('\n', to) == EOF))
		err = errno ? -errno : -EIO;
	json_decref(line);
	return err;
}

static int write_jsonl(const struct report *reports, uint32_t count, const struct output_options *o, FILE *to)
{
	int err = 0;

	(void)o;
	for (uint32_t i = 0; i < count && !err; i++) {
		const struct report *r = &reports[i];
		/* A stack has no more frames than there are nodes. */
		uint32_t *path = malloc((r->node_count + 1u) * sizeof(*path));

		if (!path)
			return -ENOMEM;
		for (uint32_t node = 1; node < r->node_count && !err; node++)
			if (r->nodes[node].self)
				err = write_stack(r, node, path, to);
		free(path);
	}
	return err;
}

const struct output_format output_jsonl = {
	.name = "jsonl",
	.suffixes = { ".jsonl" },
	.help = "one stack a line with its parts, as JSON, for programs",
	.detail = REPORT_BY_LINE,
	.by_value = true,
	.write = write_jsonl,
};
