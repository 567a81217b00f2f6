/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/requests_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/part_columns.h"
#include "base/array.h"
#include "base/columns.h"
#include "base/json.h"
#include "recording/profile.h"

/* Begin, duration and what can be added to it. */
#define TIMES_WIDTH 29u
#define THREAD_WIDTH 18u
#define LABELS_WIDTH_MIN 22u
/* A text that has room for them has a column of threads. */
#define WIDTH_WITH_THREADS 100u
/* Bytes of the labels of one request. */
#define LABELS_MAX 4096u

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

/* -- rows ------------------------------------------------------------------------------------------ */

static int compare(double a, double b)
{
	return a < b ? -1 : a > b;
}

static int by_place(const struct request_row *x, const struct request_row *y)
{
	if (x->recording != y->recording)
		return x->recording < y->recording ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int by_length(const void *a, const void *b)
{
	const struct request_row *x = a, *y = b;
	int c = compare((double)request__length(&y->request), (double)request__length(&x->request));

	return c ? c : by_place(x, y);
}

static int by_begin(const void *a, const void *b)
{
	const struct request_row *x = a, *y = b;
	int c = compare(x->seconds, y->seconds);

	return c ? c : by_place(x, y);
}

static void free_row(struct request_row *row)
{
	free(row->name);
	free(row->thread);
	free(row->labels);
	json_decref(row->values);
}

/* Keep the first ones. */
static void sort(struct requests_view *v)
{
	if (v->count)
		qsort(v->rows, v->count, sizeof(*v->rows), v->by_length ? by_length : by_begin);
	while (v->count > v->top)
		free_row(&v->rows[--v->count]);
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

/* The text, which is given away; NULL: out of memory. */
static char *taken(struct text *t)
{
	char *copy = t->failed ? NULL : strdup(text__string(t));

	text__free(t);
	return copy;
}

static int add_row(struct requests_view *v, const struct requests *r, uint32_t number, uint64_t later)
{
	const struct request *q = &r->list[number];
	const struct thread_entry *thread = &r->tables->threads[q->thread];
	const struct frame *frame = &r->tables->frames[thread->frame];
	struct text labels = { .limit = LABELS_MAX }, bare = { 0 };
	struct request_row *row;

	if (array__reserve(&v->rows, v->count, 1, &v->room, SIZE_MAX / sizeof(*v->rows), sizeof(*v->rows)))
		return -ENOMEM;
	requests__add_labels(r, q->labels, &labels);
	frame__add_bare(frame, &bare);
	row = &v->rows[v->count++];
	*row = (struct request_row){
		.request = *q, .seconds = ((double)q->begin - (double)r->begin + (double)later) / 1e9, .recording = v->recordings - 1,
		.number = number, .pid = r->tables->processes[thread->process].pid, .tid = frame->tid, .name = strdup(frame->name),
		.thread = taken(&bare), .labels = taken(&labels), .values = labels_of(r, q->labels),
	};
	return row->name && row->thread && row->labels && row->values ? 0 : -ENOMEM;
}

int requests_view__add(struct requests_view *v, const struct requests *r, const char *name, uint64_t later)
{
	uint32_t most = r->chosen < v->top ? r->chosen : v->top;
	int err = 0;

	if (array__reserve(&v->names, v->recordings, 1, &v->name_room, RECORDINGS_MAX, sizeof(*v->names)))
		return -ENOMEM;
	v->names[v->recordings++] = name;
	v->all += r->count + r->dropped;
	v->chosen += r->chosen;
	for (uint32_t i = 0; i < most && !err; i++)
		err = add_row(v, r, i, later);
	/* Sorting pays when there are many. */
	if (v->count > 2 * (size_t)v->top)
		sort(v);
	return err;
}

void requests_view__free(struct requests_view *v)
{
	for (uint32_t i = 0; i < v->count; i++)
		free_row(&v->rows[i]);
	free(v->rows);
	free(v->names);
	v->rows = NULL;
	v->names = NULL;
	v->count = v->recordings = 0;
}

/* -- text ------------------------------------------------------------------------------------------ */

struct layout {
	struct part_columns parts;
	bool threads;
	size_t labels;	/* columns */
};

static void parts_of_row(const struct request_row *row, double *parts)
{
	for (int i = 0; i < REQUEST_PARTS; i++)
		parts[i] = (double)row->request.parts[i];
}

static void choose_layout(const struct requests_view *v, struct layout *l)
{
	double sums[REQUEST_PARTS] = { 0 }, parts[REQUEST_PARTS];
	uint32_t left, others;
	uint32_t columns = 1;

	l->threads = !v->width || v->width >= WIDTH_WITH_THREADS;
	others = TIMES_WIDTH + 2 + (l->threads ? THREAD_WIDTH : 0);
	left = v->width > others + LABELS_WIDTH_MIN ? v->width - others - LABELS_WIDTH_MIN : 1;
	for (uint32_t i = 0; i < v->count; i++) {
		parts_of_row(&v->rows[i], parts);
		for (int j = 0; j < REQUEST_PARTS; j++)
			sums[j] += parts[j];
	}
	part_columns__fit(&l->parts, sums, v->width ? left : 0);
	for (int i = 0; i < REQUEST_PARTS; i++)
		columns += l->parts.shown[i];
	others += columns * PART_COLUMN;
	l->labels = !v->width ? LABELS_MAX : v->width > others + LABELS_WIDTH_MIN ? v->width - others : LABELS_WIDTH_MIN;
}

static void add_text(const struct requests_view *v, const struct layout *l, const struct request_row *row, struct text *out)
{
	const struct request *q = &row->request;
	double parts[REQUEST_PARTS];
	char more[16] = "?";

	if (!q->cut_begin && !q->cut_end)
		snprintf(more, sizeof(more), "%.1f", ms(q->before + q->after));
	text__addf(out, "%9.3f %10.1f %8s", row->seconds, ms(request__length(q)), more);
	parts_of_row(row, parts);
	part_columns__add(&l->parts, parts, out);
	text__adds(out, "  ");
	if (l->threads) {
		columns__add_ends(out, row->thread, THREAD_WIDTH - 2, true);
		text__adds(out, "  ");
	}
	columns__add_ends(out, row->labels, l->labels, false);
	if (v->recordings > 1)
		text__addf(out, "  %s", v->names[row->recording]);
	text__adds(out, "\n");
}

int requests__write_text(struct requests_view *v, FILE *to)
{
	const char *bold = v->color ? "\033[1m" : "", *dim = v->color ? "\033[2m" : "", *plain = v->color ? "\033[0m" : "";
	struct text out = { 0 };
	struct layout l;
	uint32_t cut = 0;
	size_t from;

	sort(v);
	choose_layout(v, &l);
	text__addf(&out, "%sRequests%s: %" PRIu64 " of %" PRIu64 ", times in ms\n", bold, plain, v->chosen, v->all);
	text__addf(&out, "%s%9s %10s %8s", dim, "begin s", "duration", "+ up to");
	part_columns__add_head(&l.parts, &out);
	if (l.threads)
		text__addf(&out, "  %-*s", (int)THREAD_WIDTH - 2, "thread");
	text__addf(&out, "  labels%s%s\n", v->recordings > 1 ? "  recording" : "", plain);
	for (uint32_t i = 0; i < v->count; i++) {
		add_text(v, &l, &v->rows[i], &out);
		cut += v->rows[i].request.cut_begin || v->rows[i].request.cut_end;
	}
	from = out.length;
	if (v->chosen > v->count)
		text__addf(&out, "  (%" PRIu64 " more)\n", v->chosen - v->count);
	text__adds(&out, "A request was seen for its duration, and can have lasted longer by the next number: as far as the samples "
		   "before and after it.\n");
	if (cut)
		text__adds(&out, "?: it goes beyond the recording, or had begun when it was seen first.\n");
	columns__wrap(&out, from, v->width);
	return text__write(&out, to);
}

/* -- for scripts ----------------------------------------------------------------------------------- */

int requests__write_table(struct requests_view *v, FILE *to)
{
	struct text out = { 0 };

	sort(v);
	text__addf(&out, "# requests: %" PRIu64 " of %" PRIu64 ", times in us\nbegin\tduration\tbefore\tafter\twhole\tpid\ttid\tthread\t"
		   "fiber\tsamples", v->chosen, v->all);
	for (int i = 0; i < REQUEST_PARTS; i++)
		text__addf(&out, "\t%s", request_part_names[i]);
	text__addf(&out, "\tlabels%s\n", v->recordings > 1 ? "\trecording" : "");
	for (uint32_t i = 0; i < v->count; i++) {
		const struct request_row *row = &v->rows[i];
		const struct request *q = &row->request;

		text__addf(&out, "%.0f\t%.0f\t%.0f\t%.0f\t%d\t%d\t%u\t%s\t%u\t%" PRIu64, row->seconds * 1e6, ms(request__length(q)) * 1e3,
			   ms(q->before) * 1e3, ms(q->after) * 1e3, !q->cut_begin && !q->cut_end, row->pid, row->tid, row->name, q->fiber,
			   q->samples);
		for (int j = 0; j < REQUEST_PARTS; j++)
			text__addf(&out, "\t%.0f", ms(q->parts[j]) * 1e3);
		text__addf(&out, "\t%s%s%s\n", row->labels, v->recordings > 1 ? "\t" : "", v->recordings > 1 ? v->names[row->recording] : "");
	}
	if (v->chosen > v->count)
		text__addf(&out, "# (other: %" PRIu64 " more)\n", v->chosen - v->count);
	return text__write(&out, to);
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

static void write_request(const struct requests_view *v, struct request_row *row, struct json *j)
{
	const struct request *q = &row->request;

	json__open(j, NULL, '{');
	json__add(j, "labels", json_incref(row->values));
	json__add(j, "begin_s", json_real(row->seconds));
	json__add(j, "duration", json_integer((json_int_t)request__length(q)));
	json__add(j, "before", json_integer((json_int_t)q->before));
	json__add(j, "after", json_integer((json_int_t)q->after));
	json__add(j, "whole", json_boolean(!q->cut_begin && !q->cut_end));
	json__add(j, "pid", json_integer(row->pid));
	json__add(j, "tid", json_integer(row->tid));
	json__add(j, "thread", json_string(row->name));
	json__add(j, "fiber", q->fiber ? json_integer(q->fiber) : json_null());
	json__add(j, "samples", json_integer((json_int_t)q->samples));
	json__add(j, "parts", parts_of(q));
	if (v->recordings > 1)
		json__add(j, "recording", json_string(v->names[row->recording]));
	json__close(j, '}');
}

int requests__write_json(struct requests_view *v, FILE *to)
{
	struct json j = { .to = to };

	sort(v);
	json__open(&j, NULL, '{');
	json__add(&j, "unit", json_string("ns"));
	json__add(&j, "all", json_integer((json_int_t)v->all));
	json__add(&j, "count", json_integer((json_int_t)v->chosen));
	json__open(&j, "requests", '[');
	for (uint32_t i = 0; i < v->count; i++)
		write_request(v, &v->rows[i], &j);
	json__close(&j, ']');
	json__add(&j, "other", json_integer((json_int_t)(v->chosen - v->count)));
	json__close(&j, '}');
	if (!j.err && fputc('\n', to) == EOF)
		j.err = -errno;
	return j.err;
}
