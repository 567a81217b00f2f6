/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/request_choice.h"

#include <errno.h>
#include <string.h>

#include "recording/account.h"

struct wanted {
	struct recording_matches *matches;
	uint64_t since, until;
};

static bool wants(void *context, const struct recording_sample *s)
{
	const struct wanted *w = context;

	return s->time >= w->since && s->time <= w->until && recording_matches__sample(w->matches, s);
}

static int take(void *context, const struct recording_sample *samples, uint32_t count)
{
	return requests__add(context, samples, count);
}

bool request_choice__has_label(const struct request_choice *c, const struct recording_tables *t)
{
	if (!c->label)
		return true;
	for (uint32_t id = 1; id < t->frame_count; id++)
		if (t->frames[id].kind == FRAME_LABEL && !strcmp(t->frames[id].key, c->label))
			return true;
	return false;
}

/* It can be a recording as any other. */
static int too_many(const char *name, struct diag *d)
{
	diag__set(d, DIAG_USAGE, E2BIG, "%s has more than %u requests that are asked for", name, REQUESTS_MAX);
	diag__hint(d, "ask for a shorter time of it, or have a new file begun more often when it is recorded");
	return -E2BIG;
}

int request_choice__find(const struct request_choice *c, struct requests *q, struct recording_reader *reader,
			 struct recording_matches *matches, uint64_t begin, uint64_t since, uint64_t until, struct diag *d)
{
	struct wanted wanted = { .matches = matches, .since = since, .until = until };
	int err;

	if (requests__init(q, matches->tables, begin, (uint64_t)recording_reader__number(reader, "period_ns"), c->label))
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the requests");
	q->wants = wants;
	q->context = &wanted;
	err = recording_reader__samples(reader, matches->tables, 0, UINT64_MAX, take, q, d);
	q->wants = NULL;
	q->context = NULL;
	if (err == -E2BIG)
		return too_many(recording_reader__name(reader), d);
	if (err)
		return err;
	requests__end(q);
	requests__choose(q, c->slower_than, c->slowest);
	return 0;
}

int recording_requests__read(struct recording_requests *r, struct recording_reader *reader,
			     const struct recording_filter *filter, uint64_t later, struct diag *d)
{
	uint64_t begin = recording_reader__begin(reader), since, until;
	int err;

	r->filter = *filter;
	err = recording_reader__load(reader, &r->tables, d);
	if (err)
		return err;
	r->has_label = request_choice__has_label(&filter->requests, &r->tables);
	if (recording_matches__init(&r->matches, &r->tables, &r->filter))
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the requests");
	recording_span__times(&filter->span, begin, recording_reader__wall(reader), later, &since, &until);
	return request_choice__find(&filter->requests, &r->requests, reader, &r->matches, begin, since, until, d);
}

void recording_requests__free(struct recording_requests *r)
{
	requests__free(&r->requests);
	recording_matches__free(&r->matches);
	recording_tables__free(&r->tables);
}
