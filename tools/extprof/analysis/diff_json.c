/* SPDX-License-Identifier: BSD-2-Clause */
/* A comparison for programs. */
#include <errno.h>

#include "analysis/diff.h"
#include "base/json.h"

static const char *const unit_names[] = { [UNIT_COUNT] = "count", [UNIT_NS] = "ns", [UNIT_BYTES] = "bytes" };

static json_t *side_of(const struct diff *d, const struct diff_change *c, int side)
{
	double seconds = d->states ? 0 : d->seconds[side];

	return json_pack("{s:I, s:f, s:f}", "amount", (json_int_t)c->amount[side], "share", c->share[side], "per_second",
			 seconds > 0 ? (double)c->amount[side] / seconds : 0.0);
}

static json_t *change_of(const struct diff *d, const struct diff_change *c)
{
	return json_pack("{s:o, s:o, s:f, s:f, s:b}", "before", side_of(d, c, 0), "after", side_of(d, c, 1), "change",
			 c->share[1] - c->share[0], "noise", c->noise, "decided", c->decided);
}

static json_t *row_of(const struct diff *d, const struct diff_row *r, bool line)
{
	const struct frame *f = &r->label->frame;

	return json_pack("{s:s, s:s, s:i, s:b, s:o, s:o}", "method", r->label->name, "path", f->path, "line",
			 line ? (int)r->line : (int)f->first_line, "approximate", r->approximate, "self", change_of(d, &r->self),
			 "total", change_of(d, &r->total));
}

static void write_list(struct json *j, const char *key, const struct diff *d, struct diff_list *l, bool line,
		       unsigned int top)
{
	diff_list__sort(l, true);
	json__open(j, key, '[');
	for (uint32_t i = 0; i < l->count && i < top; i++)
		json__add(j, NULL, row_of(d, &l->rows[i], line));
	json__close(j, ']');
}

static json_t *owner_of(const struct diff *d, const struct diff_owner *o)
{
	struct text name = { 0 };
	json_t *row;

	owner__add_text(o->kind, o->name, NULL, &name);
	row = json_pack("{s:s, s:o, s:o, s:o}", "owner", text__string(&name), "version_before",
			o->versions[0] && *o->versions[0] ? json_string(o->versions[0]) : json_null(), "version_after",
			o->versions[1] && *o->versions[1] ? json_string(o->versions[1]) : json_null(), "self", change_of(d, &o->self));
	text__free(&name);
	return row;
}

static void write_owners(struct json *j, const struct diff *d, unsigned int top)
{
	json__open(j, "owners", '[');
	for (uint32_t i = 0; i < d->owner_count && i < top; i++)
		json__add(j, NULL, owner_of(d, &d->owners[i]));
	json__close(j, ']');
}

/* NULL: none was chosen.  A caller can say anything. */
static json_t *time_of(uint64_t ns)
{
	return ns ? json_integer(ns > INT64_MAX ? INT64_MAX : (json_int_t)ns) : json_null();
}

static json_t *recording_of(const struct diff *d, const struct diff_options *o, int side)
{
	const struct report_meta *m = &d->reports[side].meta;

	return json_pack("{s:s, s:o, s:o, s:s, s:i, s:f, s:I, s:I, s:I, s:o}", "file", o->names[side], "since_ns", time_of(o->since[side]),
			 "until_ns", time_of(o->until[side]), "command", m->command, "pid", m->pid, "seconds", d->seconds[side],
			 "amount", (json_int_t)d->all[side], "left_out", (json_int_t)d->reports[side].left_out, "lost", (json_int_t)accounting__lost(&m->accounting), "version",
			 report_version__json(&m->version));
}

int diff__write_json(struct diff *d, const struct diff_options *o, FILE *to)
{
	const struct report *r = &d->reports[0];
	struct json j = { .to = to };

	json__open(&j, NULL, '{');
	json__add(&j, "mode", json_string(r->meta.mode->name));
	json__add(&j, "metric", json_string(r->metric.name));
	json__add(&j, "unit", json_string(unit_names[r->metric.unit]));
	json__add(&j, "standard_errors", json_real(DIFF_ERRORS));
	json__add(&j, "before", recording_of(d, o, 0));
	json__add(&j, "after", recording_of(d, o, 1));
	json__add(&j, "decided", json_pack("{s:I, s:I, s:I}", "methods_self", (json_int_t)diff_list__decided(&d->methods, true),
					   "methods_total", (json_int_t)diff_list__decided(&d->methods, false), "lines_self",
					   (json_int_t)diff_list__decided(&d->lines, true)));
	json__add(&j, "rows", json_pack("{s:I, s:I}", "methods", (json_int_t)d->methods.count, "lines", (json_int_t)d->lines.count));
	if (o->above > 0)
		json__add(&j, "grown", json_pack("{s:f, s:I}", "above", o->above, "methods", (json_int_t)diff__grown(d, o->above)));
	write_list(&j, "application", d, &d->of_app, false, o->top);
	write_owners(&j, d, o->top);
	write_list(&j, "methods", d, &d->methods, false, o->top);
	write_list(&j, "lines", d, &d->lines, true, o->top);
	json__close(&j, '}');
	if (!j.err && fputc('\n', to) == EOF)
		j.err = -errno;
	return j.err;
}
