/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/top_at_history.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/messages.h"

#define SECOND 1000000000ull
/* From the last sample of one file to the begin of the next: less is the same time. */
#define GAP (5 * SECOND)
/* Times that a message names, on each side. */
#define NAMED 2u

static int by_begin(const void *a, const void *b)
{
	const struct history_span *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static int find_spans(struct history *h)
{
	const struct recorded_list *l = &h->files;
	size_t count = 0;

	h->spans = calloc(l->count + 1, sizeof(*h->spans));
	if (!h->spans)
		return -ENOMEM;
	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].end > l->list[i].begin)
			h->spans[count++] = (struct history_span){ l->list[i].begin, l->list[i].end };
	qsort(h->spans, count, sizeof(*h->spans), by_begin);
	for (size_t i = 0; i < count; i++) {
		struct history_span *last = h->count ? &h->spans[h->count - 1] : NULL;

		if (last && h->spans[i].begin <= last->end + GAP)
			last->end = h->spans[i].end > last->end ? h->spans[i].end : last->end;
		else
			h->spans[h->count++] = h->spans[i];
	}
	return 0;
}

int history__find(struct history *h, const char *const *names, unsigned int count)
{
	struct extprof_error e = { .size = sizeof(e) };
	int status = recorded_list__find(&h->files, names, count, &h->incomplete);

	if (status)
		return status;
	if (find_spans(h)) {
		message__set(&e, EXTPROF_INTERNAL, ENOMEM, "out of memory for the recordings");
		return message__fail(&e);
	}
	if (h->count)
		return STATUS_OK;
	message__set(&e, EXTPROF_RECORDING, ENODATA, "%s has no recording with samples", names[0]);
	return message__fail(&e);
}

void history__free(struct history *h)
{
	recorded_list__free(&h->files);
	free(h->spans);
	*h = (struct history){ .count = 0 };
}

static bool overlaps(const struct history_span *s, const struct recorded_span *of)
{
	return s->end > of->since && s->begin < of->until;
}

bool history__has(const struct history *h, const struct recorded_span *span)
{
	for (size_t i = 0; i < h->count; i++)
		if (overlaps(&h->spans[i], span))
			return true;
	return false;
}

uint64_t history__before(const struct history *h, uint64_t at, uint64_t length)
{
	const struct recorded_span span = { at > length ? at - length : 1, at };

	if (history__has(h, &span))
		return at;
	for (size_t i = h->count; i-- > 0;)
		if (h->spans[i].end <= at)
			return h->spans[i].end;
	return 0;
}

uint64_t history__after(const struct history *h, uint64_t at, uint64_t length)
{
	const struct recorded_span span = { at > length ? at - length : 1, at };

	if (history__has(h, &span))
		return at;
	for (size_t i = 0; i < h->count; i++)
		if (h->spans[i].begin >= span.since)
			return h->spans[i].begin + length;
	return 0;
}

void history__print(const struct history *h, uint64_t at, char *to, size_t size)
{
	size_t after = 0, length = 0, first, last;

	while (after < h->count && h->spans[after].begin < at)
		after++;
	first = after > NAMED ? after - NAMED : 0;
	last = after + NAMED < h->count ? after + NAMED : h->count;
	*to = '\0';
	for (size_t i = first; i < last && length < size; i++) {
		char from[32], until[32];

		recorded__print_time(from, sizeof(from), h->spans[i].begin);
		recorded__print_time(until, sizeof(until), h->spans[i].end);
		length += (size_t)snprintf(to + length, size - length, "%s%s to %s", i > first ? ", " : "", from, until);
	}
	if (h->count > last - first && length < size)
		snprintf(to + length, size - length, ", and %zu more", h->count - (last - first));
}

/* Is it there, and of that time?  The daemon can remove the oldest one of its folder meanwhile. */
static bool is_of(const struct recorded_candidate *c, const struct recorded_span *span)
{
	const struct history_span of = { c->begin, c->end };

	return c->end > c->begin && overlaps(&of, span) && !access(c->path, F_OK);
}

/* Add the recordings before the span.  They tell who rests; without them less is known. */
static void add_past(const struct history *h, const struct recorded_span *span, struct extprof_recorded *recorded)
{
	const struct recorded_span past = { span->since > EXTPROF_RECORDED_PAST ? span->since - EXTPROF_RECORDED_PAST : 1, span->since };
	struct extprof_error ignored = { .size = sizeof(ignored) };

	for (size_t i = 0; i < h->files.count; i++)
		if (is_of(&h->files.list[i], &past) && !is_of(&h->files.list[i], span))
			extprof_recorded_add(recorded, h->files.list[i].path, &ignored);
}

int history__open(const struct history *h, const struct recorded_span *span, struct extprof_recorded **recorded,
		  bool *incomplete, struct extprof_error *e)
{
	int err = 0;

	*recorded = NULL;
	*incomplete = false;
	for (size_t i = 0; i < h->files.count && !err; i++) {
		const struct recorded_candidate *c = &h->files.list[i];

		if (is_of(c, span))
			err = *recorded ? extprof_recorded_add(*recorded, c->path, e) : extprof_recorded_open(recorded, c->path, -1, e);
	}
	if (err) {
		extprof_recorded_close(*recorded);
		*recorded = NULL;
	}
	if (*recorded) {
		*incomplete = extprof_recorded_incomplete(*recorded);
		add_past(h, span, *recorded);
	}
	return err;
}
