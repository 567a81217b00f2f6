/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/requests_view.h"

#include <errno.h>
#include <inttypes.h>

#include "base/columns.h"
#include "base/json.h"

/* Of a row without the names. */
#define NUMBERS_WIDTH 88u
#define THREAD_WIDTH 18u
#define LABELS_WIDTH_MIN 20u
/* Bytes of the labels of one request. */
#define LABELS_MAX 4096u

static double seconds_of(const struct requests *r, const struct request *q)
{
	return ((double)q->begin - (double)r->begin) / 1e9;
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static uint32_t rows_of(const struct requests_view *v)
{
	return v->requests->chosen < v->top ? v->requests->chosen : v->top;
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

static void add_row(const struct requests_view *v, const struct request *q, struct text *out)
{
	struct text labels = { .limit = LABELS_MAX }, thread = { 0 };
	size_t width = v->width > NUMBERS_WIDTH + THREAD_WIDTH + LABELS_WIDTH_MIN ? v->width - NUMBERS_WIDTH - THREAD_WIDTH :
		       v->width ? LABELS_WIDTH_MIN : LABELS_MAX;
	const uint64_t *p = q->parts;
	char more[16] = "?";

	if (!q->cut_begin && !q->cut_end)
		snprintf(more, sizeof(more), "%.1f", ms(q->before + q->after));
	text__addf(out, "%9.3f %10.1f %8s", seconds_of(v->requests, q), ms(request__length(q)), more);
	text__addf(out, " %8.1f %7.1f %7.1f %8.1f %8.1f %8.1f %8.1f  ", ms(p[PART_RUN]), ms(p[PART_GC]), ms(p[PART_GVL]),
		   ms(p[PART_IO]), ms(p[PART_LOCK]), ms(p[PART_SLEEP]), ms(p[PART_RUNNABLE] + p[PART_PARKED] + p[PART_OTHER]));
	frame__add_bare(thread_of(v->requests, q), &thread);
	columns__add_ends(out, text__string(&thread), THREAD_WIDTH - 2, true);
	requests__add_labels(v->requests, q->labels, &labels);
	text__adds(out, "  ");
	columns__add_ends(out, text__string(&labels), width, false);
	text__adds(out, "\n");
	out->failed |= labels.failed || thread.failed;
	text__free(&labels);
	text__free(&thread);
}

int requests__write_text(const struct requests_view *v, FILE *to)
{
	const char *bold = v->color ? "\033[1m" : "", *dim = v->color ? "\033[2m" : "", *plain = v->color ? "\033[0m" : "";
	uint32_t rows = rows_of(v), cut = 0;
	struct text out = { 0 };

	text__addf(&out, "%sRequests%s: %" PRIu32 " of %" PRIu32 ", times in ms\n", bold, plain, v->requests->chosen,
		   v->requests->count);
	text__addf(&out, "%s%9s %10s %8s %8s %7s %7s %8s %8s %8s %8s  %-*s  %s%s\n", dim, "begin s", "duration", "+ up to", "run",
		   "gc", "gvl", "io", "lock", "sleep", "other", (int)THREAD_WIDTH - 2, "thread", "labels", plain);
	for (uint32_t i = 0; i < rows; i++) {
		add_row(v, &v->requests->list[i], &out);
		cut += v->requests->list[i].cut_begin || v->requests->list[i].cut_end;
	}
	if (v->requests->chosen > rows)
		text__addf(&out, "  (%" PRIu32 " more)\n", v->requests->chosen - rows);
	text__adds(&out, "A request was seen for its duration, and can have lasted longer by the next number: as far as the samples "
		   "before and after it.\n");
	if (cut)
		text__adds(&out, "?: it goes beyond the recording, or had begun when it was seen first.\n");
	return put(&out, to);
}

/* -- for scripts ----------------------------------------------------------------------------------- */

int requests__write_table(const struct requests_view *v, FILE *to)
{
	const struct requests *r = v->requests;
	struct text out = { 0 };
	uint32_t rows = rows_of(v);

	text__addf(&out, "# requests: %" PRIu32 " of %" PRIu32 ", times in us\nbegin\tduration\tbefore\tafter\twhole\tpid\ttid\tthread\t"
		   "fiber\tsamples", r->chosen, r->count);
	for (int i = 0; i < REQUEST_PARTS; i++)
		text__addf(&out, "\t%s", request_part_names[i]);
	text__adds(&out, "\tlabels\n");
	for (uint32_t i = 0; i < rows; i++) {
		const struct request *q = &r->list[i];
		struct text labels = { .limit = LABELS_MAX };

		text__addf(&out, "%.0f\t%.0f\t%.0f\t%.0f\t%d\t%d\t%u\t%s\t%u\t%" PRIu64, seconds_of(r, q) * 1e6,
			   ms(request__length(q)) * 1e3, ms(q->before) * 1e3, ms(q->after) * 1e3, !q->cut_begin && !q->cut_end,
			   pid_of(r, q), thread_of(r, q)->tid, thread_of(r, q)->name, q->fiber, q->samples);
		for (int j = 0; j < REQUEST_PARTS; j++)
			text__addf(&out, "\t%.0f", ms(q->parts[j]) * 1e3);
		requests__add_labels(r, q->labels, &labels);
		text__addf(&out, "\t%s\n", text__string(&labels));
		out.failed |= labels.failed;
		text__free(&labels);
	}
	if (r->chosen > rows)
		text__addf(&out, "# (other: %" PRIu32 " more)\n", r->chosen - rows);
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

static void write_request(const struct requests *r, const struct request *q, struct json *j)
{
	json__open(j, NULL, '{');
	json__add(j, "labels", labels_of(r, q->labels));
	json__add(j, "begin_s", json_real(seconds_of(r, q)));
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
	json__close(j, '}');
}

int requests__write_json(const struct requests_view *v, FILE *to)
{
	const struct requests *r = v->requests;
	struct json j = { .to = to };
	uint32_t rows = rows_of(v);

	json__open(&j, NULL, '{');
	json__add(&j, "unit", json_string("ns"));
	json__add(&j, "all", json_integer(r->count));
	json__add(&j, "count", json_integer(r->chosen));
	json__open(&j, "requests", '[');
	for (uint32_t i = 0; i < rows; i++)
		write_request(r, &r->list[i], &j);
	json__close(&j, ']');
	json__add(&j, "other", json_integer(r->chosen - rows));
	json__close(&j, '}');
	if (!j.err && fputc('\n', to) == EOF)
		j.err = -errno;
	return j.err;
}
