/* SPDX-License-Identifier: BSD-2-Clause */
/* Spans in threads besides samples: pauses for garbage collection and requests; and the times when nothing was
 * recorded. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "recording/profile_parts.h"
#include "recording/schema.h"

struct spans {
	struct recording_profile *p;
	struct input *in;
	struct timeline *t;
	struct diag *d;
};

_Static_assert((int)REQUEST_PARTS <= (int)SPAN_PARTS_MAX, "parts of a request");

static int add(struct spans *w, const struct span *span)
{
	struct timeline *t = w->t;

	if (t->span_count == TIMELINE_SPANS_MAX)
		return diag__set(w->d, DIAG_USAGE, E2BIG, "there are more than %u pauses and requests to show one after the other: "
				 "choose a part with --since, --until or --filter", TIMELINE_SPANS_MAX);
	if (array__reserve(&t->spans, t->span_count, 1, &t->span_room, TIMELINE_SPANS_MAX, sizeof(*span)))
		return recording_profile__no_memory(w->d);
	t->spans[t->span_count++] = *span;
	return 0;
}

static const char *text_of(struct spans *w, const char *data, size_t length)
{
	struct text clean = { 0 };
	const char *text;

	text__add_clean(&clean, data ? data : "", data ? length : 0, TEXT_NAME_MAX);
	text = clean.failed ? NULL : strings__intern(&w->t->strings, text__string(&clean));
	text__free(&clean);
	return text;
}

/* The place of a thread by id; false: it is not shown. */
static bool place_of(const struct spans *w, uint64_t thread, struct span *span)
{
	const struct thread_place *place;

	if (!thread || thread >= w->in->tables->thread_count)
		return false;
	place = &w->in->thread_places[thread];
	span->report = place->report;
	span->node = place->node;
	return place->node != REPORT_NOWHERE;
}

static const char *column_text(struct spans *w, sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	return text_of(w, text, text ? (size_t)sqlite3_column_bytes(s, column) : 0);
}

static int take_pause(void *context, sqlite3_stmt *s)
{
	struct spans *w = context;
	uint64_t end = row__amount(s, 0), length = row__amount(s, 2);
	struct span span = {
		.kind = SPAN_GC, .end = recording_profile__time(w->in, end),
		.begin = recording_profile__time(w->in, end > length ? end - length : 0), .major = row__amount(s, 7),
		.parts = { { "mark", row__amount(s, 4) }, { "sweep", row__amount(s, 5) }, { "compact", row__amount(s, 6) },
			   { "runnable", row__amount(s, 3) } },
	};

	if (!place_of(w, row__amount(s, 1), &span))
		return 0;
	span.text = column_text(w, s, 8);
	return span.text ? add(w, &span) : recording_profile__no_memory(w->d);
}

static int take_event(void *context, sqlite3_stmt *s)
{
	struct spans *w = context;
	const char *kind = (const char *)sqlite3_column_text(s, 1);
	uint64_t time = row__amount(s, 0), number = row__amount(s, 3);
	struct span span = { .begin = recording_profile__time(w->in, time) };

	span.end = span.begin;
	if (!kind)
		return 0;
	if (!strcmp(kind, RECORDING_PAUSED)) {
		span.kind = SPAN_PAUSED;
		span.end = recording_profile__time(w->in, time + number);
	} else if (!strcmp(kind, RECORDING_TRIGGER)) {
		span.kind = SPAN_TRIGGER;
	} else if (!strcmp(kind, "lost")) {
		span.kind = SPAN_LOST;
		span.samples = number;
	} else {
		return 0;
	}
	span.text = column_text(w, s, 2);
	return span.text ? add(w, &span) : recording_profile__no_memory(w->d);
}

static int add_request(struct spans *w, const struct requests *r, const struct request *q)
{
	struct span span = {
		.kind = SPAN_REQUEST, .begin = recording_profile__time(w->in, q->begin), .end = recording_profile__time(w->in, q->end),
		.cut_begin = q->cut_begin, .cut_end = q->cut_end, .samples = q->samples,
	};
	struct text labels = { 0 };

	if (!place_of(w, q->thread, &span))
		return 0;
	requests__add_labels(r, q->labels, &labels);
	span.text = labels.failed ? NULL : text_of(w, text__string(&labels), labels.length);
	text__free(&labels);
	for (uint32_t i = 0; i < REQUEST_PARTS; i++)
		span.parts[i] = (struct span_part){ request_part_names[i], q->parts[i] };
	return span.text ? add(w, &span) : recording_profile__no_memory(w->d);
}

static bool has_labels(const struct recording_tables *t)
{
	for (uint32_t id = 1; id < t->frame_count; id++)
		if (t->frames[id].kind == FRAME_LABEL && *t->frames[id].key)
			return true;
	return false;
}

/* Those that were chosen; or all. */
static int add_requests(struct spans *w)
{
	const struct request_choice *choice = &w->p->filter.requests;
	struct requests own = { 0 }, *r = &w->in->requests;
	int err = 0;

	if (!has_labels(w->in->tables))
		return 0;
	if (!request_choice__chooses(choice)) {
		r = &own;
		err = request_choice__find(choice, r, w->in->reader, &w->in->matches, w->in->begin, w->in->since, w->in->until, w->d);
	}
	for (uint32_t i = 0; i < r->chosen && !err; i++)
		err = add_request(w, r, &r->list[i]);
	requests__free(&own);
	return err;
}

int recording_profile__spans(struct recording_profile *p, struct input *in, struct timeline *t, struct diag *d)
{
	struct spans w = { .p = p, .in = in, .t = t, .d = d };
	static const char pauses[] = "SELECT time_ns, thread, length_ns, waited_ns, mark_ns, sweep_ns, compact_ns, major, n.text FROM pauses "
		"LEFT JOIN strings n ON n.id=reason WHERE time_ns BETWEEN ? AND ? ORDER BY pauses.id";
	static const char events[] = "SELECT time_ns, k.text, n.text, number FROM events LEFT JOIN strings k ON k.id=kind "
		"LEFT JOIN strings n ON n.id=events.text WHERE time_ns BETWEEN ? AND ? ORDER BY events.id";
	int err = recording_profile__rows(in, pauses, take_pause, &w, d);

	if (!err)
		err = recording_profile__rows(in, events, take_event, &w, d);
	return err ? err : add_requests(&w);
}
