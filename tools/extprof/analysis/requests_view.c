/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/requests_view.h"

#include <errno.h>
#include <inttypes.h>

#include "base/columns.h"
#include "base/json.h"
#include "recording/profile.h"

/* Width of a row without the names. */
#define NUMBERS_WIDTH 88u
#define THREAD_WIDTH 18u
#define LABELS_WIDTH_MIN 20u
/* Bytes of the labels of one request. */
#define LABELS_MAX 4096u

static double seconds_of(const struct requests_source *s, const struct request *q)
{
	return ((double)q->begin - (double)s->requests->begin + (double)s->later) / 1e9;
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

/* How many were chosen, and how many there are. */
static uint64_t chosen_of(const struct requests_view *v, uint64_t *all)
{
	uint64_t chosen = 0;

	*all = 0;
	for (uint32_t i = 0; i < v->count; i++) {
		chosen += v->sources[i].requests->chosen;
		*all += v->sources[i].requests->count;
	}
	return chosen;
}

static uint64_t rows_of(const struct requests_view *v)
{
	uint64_t all, chosen = chosen_of(v, &all);

	return chosen < v->top ? chosen : v->top;
}

/* The rows in order: each recording's are. */
struct walk {
	uint32_t next[RECORDINGS_MAX];
	const struct requests_source *source;	/* of the row */
	const struct request *row;
};

static bool is_before(const struct requests_view *v, const struct requests_source *a, const struct request *x,
		      const struct requests_source *b, const struct request *y)
{
	return v->by_length ? request__length(x) > request__length(y) : seconds_of(a, x) < seconds_of(b, y);
}

/* There is a next one. */
static void walk__step(struct walk *w, const struct requests_view *v)
{
	uint32_t best = 0;

	w->row = NULL;
	for (uint32_t i = 0; i < v->count; i++) {
		const struct requests_source *s = &v->sources[i];
		const struct request *q;

		if (w->next[i] == s->requests->chosen)
			continue;
		q = &s->requests->list[w->next[i]];
		if (w->row && !is_before(v, s, q, w->source, w->row))
			continue;
		w->source = s;
		w->row = q;
		best = i;
	}
	w->next[best]++;
}

static const struct frame *thread_of(const struct requests *r, const struct request *q)
{
	return &r->tables->frames[r->tables->threads[q->thread].frame];
}

static int pid_of(const struct requests *r, const struct request *q)
{
	return r->tables->processes[r->tables->threads[q->thread].process].pid;
}

static int put(struct text *out, FILE *to)
{
	int err = out->failed ? -ENOMEM : 0;

	if (!err && out->length && fwrite(out->data, 1, out->length, to) != out->length)
		err = -errno;
	text__free(out);
	return err;
}

/* -- text ------------------------------------------------------------------------------------------ */

static void add_row(const struct requests_view *v, const struct requests_source *s, const struct request *q, struct text *out)
{
	const struct requests *r = s->requests;
	struct text labels = { .limit = LABELS_MAX }, thread = { 0 };
	size_t width = v->width > NUMBERS_WIDTH + THREAD_WIDTH + LABELS_WIDTH_MIN ? v->width - NUMBERS_WIDTH - THREAD_WIDTH :
		       v->width ? LABELS_WIDTH_MIN : LABELS_MAX;
	const uint64_t *p = q->parts;
	char more[16] = "?";

	if (!q->cut_begin && !q->cut_end)
		snprintf(more, sizeof(more), "%.1f", ms(q->before + q->after));
	text__addf(out, "%9.3f %10.1f %8s", seconds_of(s, q), ms(request__length(q)), more);
	text__addf(out, " %8.1f %7.1f %7.1f %8.1f %8.1f %8.1f %8.1f  ", ms(p[PART_RUN]), ms(p[PART_GC]), ms(p[PART_GVL]),
		   ms(p[PART_IO]), ms(p[PART_LOCK]), ms(p[PART_SLEEP]), ms(p[PART_RUNNABLE] + p[PART_PARKED] + p[PART_OTHER]));
	frame__add_bare(thread_of(r, q), &thread);
	columns__add_ends(out, text__string(&thread), THREAD_WIDTH - 2, true);
	requests__add_labels(r, q->labels, &labels);
	text__adds(out, "  ");
	columns__add_ends(out, text__string(&labels), width, false);
	if (v->count > 1)
		text__addf(out, "  %s", s->name);
	text__adds(out, "\n");
	out->failed |= labels.failed || thread.failed;
	text__free(&labels);
	text__free(&thread);
}

int requests__write_text(const struct requests_view *v, FILE *to)
{
	const char *bold = v->color ? "\033[1m" : "", *dim = v->color ? "\033[2m" : "", *plain = v->color ? "\033[0m" : "";
	uint64_t all, chosen = chosen_of(v, &all), rows = rows_of(v);
	struct text out = { 0 };
	struct walk w = { 0 };
	uint32_t cut = 0;

	text__addf(&out, "%sRequests%s: %" PRIu64 " of %" PRIu64 ", times in ms\n", bold, plain, chosen, all);
	text__addf(&out, "%s%9s %10s %8s %8s %7s %7s %8s %8s %8s %8s  %-*s  %s%s%s\n", dim, "begin s", "duration", "+ up to", "run",
		   "gc", "gvl", "io", "lock", "sleep", "other", (int)THREAD_WIDTH - 2, "thread", "labels",
		   v->count > 1 ? "  recording" : "", plain);
	for (uint64_t i = 0; i < rows; i++) {
		walk__step(&w, v);
		add_row(v, w.source, w.row, &out);
		cut += w.row->cut_begin || w.row->cut_end;
	}
	if (chosen > rows)
		text__addf(&out, "  (%" PRIu64 " more)\n", chosen - rows);
	text__adds(&out, "A request was seen for its duration, and can have lasted longer by the next number: as far as the samples "
		   "before and after it.\n");
	if (cut)
		text__adds(&out, "?: it goes beyond the recording, or had begun when it was seen first.\n");
	return put(&out, to);
}

/* -- for scripts ----------------------------------------------------------------------------------- */

int requests__write_table(const struct requests_view *v, FILE *to)
{
	uint64_t all, chosen = chosen_of(v, &all), rows = rows_of(v);
	struct text out = { 0 };
	struct walk w = { 0 };

	text__addf(&out, "# requests: %" PRIu64 " of %" PRIu64 ", times in us\nbegin\tduration\tbefore\tafter\twhole\tpid\ttid\tthread\t"
		   "fiber\tsamples", chosen, all);
	for (int i = 0; i < REQUEST_PARTS; i++)
		text__addf(&out, "\t%s", request_part_names[i]);
	text__addf(&out, "\tlabels%s\n", v->count > 1 ? "\trecording" : "");
	for (uint64_t i = 0; i < rows; i++) {
		struct text labels = { .limit = LABELS_MAX };
		const struct requests *r;
		const struct request *q;

		walk__step(&w, v);
		r = w.source->requests;
		q = w.row;
		text__addf(&out, "%.0f\t%.0f\t%.0f\t%.0f\t%d\t%d\t%u\t%s\t%u\t%" PRIu64, seconds_of(w.source, q) * 1e6,
			   ms(request__length(q)) * 1e3, ms(q->before) * 1e3, ms(q->after) * 1e3, !q->cut_begin && !q->cut_end,
			   pid_of(r, q), thread_of(r, q)->tid, thread_of(r, q)->name, q->fiber, q->samples);
		for (int j = 0; j < REQUEST_PARTS; j++)
			text__addf(&out, "\t%.0f", ms(q->parts[j]) * 1e3);
		requests__add_labels(r, q->labels, &labels);
		text__addf(&out, "\t%s%s%s\n", text__string(&labels), v->count > 1 ? "\t" : "",
			   v->count > 1 ? w.source->name : "");
		out.failed |= labels.failed;
		text__free(&labels);
	}
	if (chosen > rows)
		text__addf(&out, "# (other: %" PRIu64 " more)\n", chosen - rows);
	return put(&out, to);
}

/* {"request": "GET /x", "tenant": "42"}.  A label that could not be read has no value. */
static json_t *labels_of(const struct requests *r, uint32_t labels)
{
	const struct recording_tables *t = r->tables;
	json_t *object = json_object();

	for (uint32_t s = labels; s && object; s = t->stacks[s].parent) {
		const struct frame *f = &t->frames[t->stacks[s].frame];

		if (*f->key && f->known == KNOWN && json_object_set_new(object, f->key, json_string(f->name))) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

static json_t *parts_of(const struct request *q)
{
	json_t *object = json_object();

	for (int i = 0; i < REQUEST_PARTS && object; i++)
		if (json_object_set_new(object, request_part_names[i], json_integer((json_int_t)q->parts[i]))) {
			json_decref(object);
			return NULL;
		}
	return object;
}

static void write_request(const struct requests_view *v, const struct requests_source *s, const struct request *q, struct json *j)
{
	const struct requests *r = s->requests;

	json__open(j, NULL, '{');
	json__add(j, "labels", labels_of(r, q->labels));
	json__add(j, "begin_s", json_real(seconds_of(s, q)));
	json__add(j, "duration", json_integer((json_int_t)request__length(q)));
	json__add(j, "before", json_integer((json_int_t)q->before));
	json__add(j, "after", json_integer((json_int_t)q->after));
	json__add(j, "whole", json_boolean(!q->cut_begin && !q->cut_end));
	json__add(j, "pid", json_integer(pid_of(r, q)));
	json__add(j, "tid", json_integer(thread_of(r, q)->tid));
	json__add(j, "thread", json_string(thread_of(r, q)->name));
	json__add(j, "fiber", q->fiber ? json_integer(q->fiber) : json_null());
	json__add(j, "samples", json_integer((json_int_t)q->samples));
	json__add(j, "parts", parts_of(q));
	if (v->count > 1)
		json__add(j, "recording", json_string(s->name));
	json__close(j, '}');
}

int requests__write_json(const struct requests_view *v, FILE *to)
{
	uint64_t all, chosen = chosen_of(v, &all), rows = rows_of(v);
	struct json j = { .to = to };
	struct walk w = { 0 };

	json__open(&j, NULL, '{');
	json__add(&j, "unit", json_string("ns"));
	json__add(&j, "all", json_integer((json_int_t)all));
	json__add(&j, "count", json_integer((json_int_t)chosen));
	json__open(&j, "requests", '[');
	for (uint64_t i = 0; i < rows; i++) {
		walk__step(&w, v);
		write_request(v, w.source, w.row, &j);
	}
	json__close(&j, ']');
	json__add(&j, "other", json_integer((json_int_t)(chosen - rows)));
	json__close(&j, '}');
	if (!j.err && fputc('\n', to) == EOF)
		j.err = -errno;
	return j.err;
}
