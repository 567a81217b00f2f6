/* SPDX-License-Identifier: BSD-2-Clause */
/* The sums of a report as JSON, for scripts and agents: bounded, with units and a line that says what it is. */
#include <errno.h>
#include <inttypes.h>

#include "base/json.h"
#include "base/share.h"
#include "output/output.h"
#include "output/rows.h"
#include "profile/unit.h"

static const char *const unit_names[] = { [UNIT_COUNT] = "count", [UNIT_NS] = "ns", [UNIT_BYTES] = "bytes" };

static double share(const struct report *r, uint64_t amount)
{
	return share__of(amount, r->samples);
}

/* A text that is composed; NULL: out of memory. */
static json_t *text_value(struct text *t)
{
	json_t *value = t->failed ? NULL : json_string(text__string(t));

	text__free(t);
	return value;
}

/* Whose code it is, in words and in its parts. */
static json_t *gem_of(const struct report *r, const struct row *row)
{
	static const char *const kinds[OWNER_KINDS] = {
		[OWNER_NONE] = "unknown", [OWNER_APP] = "application", [OWNER_GEM] = "gem", [OWNER_STDLIB] = "standard library",
		[OWNER_RUBY] = "ruby", [OWNER_OTHER] = "other",
	};
	const struct report_owner *o = &r->owners[r->labels[row->of->label].owner];
	struct text t = { 0 };

	rows__add_owner(r, row, &t);
	return json_pack("{s:o, s:s, s:s, s:s, s:I, s:f, s:I, s:f}", "name", text_value(&t), "kind", kinds[o->kind], "part", o->name,
			 "version", o->version, "self", (json_int_t)row->self, "self_share", share(r, row->self), "total",
			 (json_int_t)row->total, "total_share", share(r, row->total));
}

/* The callee of the application's code, and how much of its total that takes. */
static json_t *callee_of(const struct report *r, const struct row *row)
{
	struct text t = { 0 };

	rows__add_callee(r, row, &t);
	if (!t.length && !t.failed)
		return json_null();
	return json_pack("{s:o, s:I, s:f}", "name", text_value(&t), "amount", (json_int_t)row->of->called, "share",
			 share(r, row->of->called));
}

static json_t *row_of(const struct report *r, const struct row *row, enum rows_kind kind)
{
	json_t *value;

	if (kind == ROWS_GROUPS)
		return json_pack("{s:s, s:I, s:f}", "name", row->name, "total", (json_int_t)row->total, "share", share(r, row->total));
	if (kind == ROWS_HOLDERS)
		return json_pack("{s:s, s:s, s:i, s:b, s:I, s:f}", "name", row->name, "path", row->path, "line", (int)row->line,
				 "approximate", row->approximate, "total", (json_int_t)row->total, "share", share(r, row->total));
	if (kind == ROWS_GEMS)
		return gem_of(r, row);
	value = json_pack("{s:s, s:s, s:i, s:b, s:I, s:f, s:I, s:f}", "name", row->name, "path", row->path, "line", (int)row->line,
			  "approximate", row->approximate, "self", (json_int_t)row->self, "self_share", share(r, row->self), "total",
			  (json_int_t)row->total, "total_share", share(r, row->total));
	/* Without the C methods that the line calls, as in the summary. */
	if (value && (kind == ROWS_LINES || kind == ROWS_APP_LINES) &&
	    json_object_set_new(value, "own", json_integer((json_int_t)row->of->own))) {
		json_decref(value);
		return NULL;
	}
	if (value && rows__is_app(kind) && json_object_set_new(value, "calls", callee_of(r, row))) {
		json_decref(value);
		return NULL;
	}
	return value;
}

static int write_rows(struct json *j, const struct report *r, enum rows_kind kind, unsigned int top)
{
	static const char *const keys[ROWS_KINDS] = {
		[ROWS_APP_METHODS] = "methods", [ROWS_APP_LINES] = "lines", [ROWS_GEMS] = "gems", [ROWS_GROUPS] = "groups",
		[ROWS_METHODS] = "methods", [ROWS_LINES] = "lines", [ROWS_FILES] = "files",
		[ROWS_HOLDERS] = "holders",
	};
	struct rows rows;
	int err = rows__init(&rows, r, kind);

	if (err)
		return err;
	json__open(j, keys[kind], '{');
	json__add(j, "count", json_integer(rows.count));
	json__open(j, "rows", '[');
	for (uint32_t i = 0; i < rows.count && i < top; i++)
		json__add(j, NULL, row_of(r, &rows.list[i], kind));
	json__close(j, ']');
	/* Groups are of several kinds, and within one another: nothing is left of all. */
	if (kind != ROWS_GROUPS)
		json__add(j, "other", json_pack("{s:I, s:I}", "rows", (json_int_t)(rows.count > top ? rows.count - top : 0), "self",
						(json_int_t)rows__other(&rows, top)));
	json__close(j, '}');
	rows__free(&rows);
	return 0;
}

/* "puma: 12.3 s of cpu in 10.0 s; most in Foo#bar (31.0 %)" */
static json_t *summary_of(const struct report *r)
{
	struct text t = { 0 };

	text__addf(&t, "%s: ", report__program(r));
	unit__add_amount(r->metric.unit, r->samples, &t);
	text__addf(&t, " of %s in %.1f s", r->metric.name, r->meta.duration);
	if (r->methods.count)
		text__addf(&t, "; most of its own has %s (%.1f %%)", r->labels[r->methods.list[0].label].name,
			   100 * share(r, r->methods.list[0].self));
	return text_value(&t);
}

static json_t *account_of(const struct accounting *a)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "taken", (json_int_t)a->taken, "whole", (json_int_t)a->whole, "truncated",
			 (json_int_t)accounting__truncated(a), "lost", (json_int_t)accounting__lost(a));
}

/* Threads that have nothing to do, which are in no other sum unless they are shown. */
static void write_idle(struct json *j, const struct report *r, unsigned int top)
{
	json__open(j, "idle", '{');
	json__add(j, "amount", json_integer((json_int_t)r->idle.amount));
	json__add(j, "share_of_all", json_real(report__idle_share(r)));
	json__add(j, "shown", json_boolean(r->idle.shown));
	json__add(j, "threads", json_integer(r->idle.thread_count));
	json__open(j, "rows", '[');
	for (uint32_t i = 0; i < r->idle.row_count && i < top; i++) {
		const struct report_idle_row *row = &r->idle.rows[i];

		json__add(j, NULL, json_pack("{s:s, s:s, s:s, s:I, s:I}", "thread", row->thread, "method", row->method, "state",
					     state_names[row->state], "threads", (json_int_t)row->threads, "amount",
					     (json_int_t)row->amount));
	}
	json__close(j, ']');
	json__close(j, '}');
}

static int write_mode(struct json *j, const struct report *r, unsigned int top)
{
	const struct report_meta *m = &r->meta;
	int err = 0;

	json__open(j, NULL, '{');
	json__add(j, "summary", summary_of(r));
	json__add(j, "mode", json_string(m->mode->name));
	json__add(j, "metric", json_string(r->metric.name));
	json__add(j, "unit", json_string(unit_names[r->metric.unit]));
	json__add(j, "amount", json_integer((json_int_t)r->samples));
	json__add(j, "samples", account_of(&m->accounting));
	if (r->idle.row_count)
		write_idle(j, r, top);
	json__open(j, "application", '{');
	err = write_rows(j, r, ROWS_APP_METHODS, top);
	if (!err)
		err = write_rows(j, r, ROWS_APP_LINES, top);
	json__close(j, '}');
	for (int kind = ROWS_GEMS; kind < ROWS_KINDS && !err; kind++)
		err = write_rows(j, r, (enum rows_kind)kind, top);
	json__close(j, '}');
	return err;
}

/* One of several that the report is of. */
static json_t *recording_of(const struct report_recording *r)
{
	return json_pack("{s:s, s:s, s:i, s:I, s:f, s:s, s:f, s:o}", "name", r->name, "command", r->command, "pid", r->pid, "started",
			 (json_int_t)r->started, "seconds", r->duration, "ended", r->ended, "rate", report_recording__rate(r), "samples",
			 account_of(&r->accounting));
}

static int write_json(const struct report *reports, uint32_t count, const struct output_options *o, FILE *to)
{
	const struct report_meta *m = &reports[0].meta;
	struct json j = { .to = to };
	int err = 0;

	json__open(&j, NULL, '{');
	json__add(&j, "command", json_string(m->command));
	json__add(&j, "pid", json_integer(m->pid));
	json__add(&j, "ruby", json_string(m->ruby_version));
	json__add(&j, "seconds", json_real(m->duration));
	json__add(&j, "ended", json_string(m->ended));
	json__add(&j, "version", report_version__json(&m->version));
	if (*m->trigger)
		json__add(&j, "trigger", json_string(m->trigger));
	if (reports[0].recording_count) {
		json__open(&j, "recordings", '[');
		for (uint32_t i = 0; i < reports[0].recording_count; i++)
			json__add(&j, NULL, recording_of(&reports[0].recordings[i]));
		json__close(&j, ']');
	}
	json__open(&j, "modes", '[');
	for (uint32_t i = 0; i < count && !err; i++)
		err = write_mode(&j, &reports[i], o->top);
	json__close(&j, ']');
	json__close(&j, '}');
	if (!j.err && fputc('\n', to) == EOF)
		j.err = -errno;
	return err ? err : j.err;
}

const struct output_format output_json = {
	.name = "json",
	.suffixes = { ".json" },
	.help = "methods, lines and groups as JSON, for programs",
	.detail = REPORT_BY_CODE,
	.by_value = true,
	.write = write_json,
};
