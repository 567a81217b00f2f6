/* SPDX-License-Identifier: BSD-2-Clause */
/* One recording, in requests of one span of time each, and what becomes of a request. */
#include "cli/push.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/messages.h"
#include "send/answer.h"
#include "send/body.h"

#define SECOND 1000000000ull
#define SERVICE "ruby"
/* Receivers take 20 MiB (a collector) or 4 MiB (gRPC behind it), of what is not compressed. */
#define UNPACKED_MAX (16u << 20)
/* A shorter span is not tried. */
#define SPAN_MIN SECOND
/* More spans are not looked at in one recording, whatever times are written in it: they are longer then. */
#define SPANS_MAX 5000
/* A receiver that takes none is asked seldom. */
#define NONE_TAKEN_WAIT (60 * SECOND)

/* The recording that is being sent. */
struct sending {
	struct push *push;
	struct state *state;
	struct state_segment *segment;
	const char *path;
	uint64_t from, until;	/* ns since 1970, both included */
	bool last;		/* to the end, whatever is there */
	uint64_t span, span_most;	/* span: shorter after one that was too much */
	uint64_t next;		/* after a span without samples: there are none before that time; 0: it is not known */
	struct body body;
	size_t bytes;		/* of the last request, on the network */
	const struct push_modes *modes;
	const struct receiver_mode *mode;	/* the one that is sent; NULL: all that are */
	int *status;
};

static enum push_result fail(struct sending *s, const struct extprof_error *e)
{
	*s->status = message__fail(e);
	return PUSH_FAILED;
}

/* -- a request -------------------------------------------------------------------------------------------- */

static void describe(const struct http_answer *a, char *to, size_t size)
{
	char text[160];
	size_t n = a->length < sizeof(text) - 1 ? a->length : sizeof(text) - 1;

	if (!a->status) {
		snprintf(to, size, "%s", a->error);
		return;
	}
	/* The first line of what it says, if it is a text. */
	memcpy(text, a->body, n);
	text[n] = '\0';
	n = strcspn(text, "\r\n");
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] > '~')
			n = 0;
	snprintf(to, size, "%d%s%.*s", a->status, n ? " " : "", (int)n, text);
}

static uint64_t chance(void)
{
	uint64_t number = 0;

	return getrandom(&number, sizeof(number), GRND_NONBLOCK) == sizeof(number) ? number : clock__now();
}

/* 1, 2, 4, ...: not each try is told. */
static bool is_told(unsigned int failures)
{
	return !(failures & (failures - 1));
}

/* The receiver takes nothing now: wait for the next try.  PUSH_OK: now. */
static enum push_result wait_for_it(struct sending *s, const struct http_answer *a, enum answer kind)
{
	struct push *p = s->push;
	uint64_t now = clock__now(), wait;
	char said[320];

	describe(a, said, sizeof(said));
	if (!p->failures++)
		p->failing_since = now;
	wait = kind == ANSWER_NONE_TAKEN ? NONE_TAKEN_WAIT : retry__wait(p->failures, a->retry_after, chance());
	if (kind == ANSWER_NONE_TAKEN && !a->hopeless && answer__of(a->status) != kind && is_told(p->failures))
		push__say("%s has refused %" PRIu64 " requests in a row: no more are left out", p->shown, s->state->totals.in_a_row);
	if (kind == ANSWER_NONE_TAKEN && !p->follow) {
		push__say("%s takes nothing: %s", p->shown, said);
		return PUSH_GIVEN_UP;
	}
	if (p->retry_for != UINT64_MAX && now - p->failing_since + wait > p->retry_for) {
		push__say("%s takes nothing now, and is given up after %s: %s", p->shown, push__count(p->failures, "try", "tries"), said);
		return PUSH_GIVEN_UP;
	}
	if (is_told(p->failures))
		push__say("%s takes nothing now, it is tried again: %s", p->shown, said);
	if (!push__wait(p, wait))
		return PUSH_ENDED;
	/* Recordings can have come and gone meanwhile. */
	return p->follow ? PUSH_LATER : PUSH_OK;
}

static bool is_shortest(const struct sending *s)
{
	return s->until - s->from + 1 <= SPAN_MIN;
}

/* Post it until it is taken or refused.  *a: the last answer; *kind: what it means. */
static enum push_result deliver(struct sending *s, const struct http_request *r, struct http_answer *a, enum answer *kind)
{
	struct extprof_error e = { .size = sizeof(e) };
	enum push_result result = PUSH_OK;

	while (result == PUSH_OK) {
		if (push__interrupted(s->push))
			return PUSH_ENDED;
		if (http__post(s->push->http, r, a)) {
			message__set(&e, EXTPROF_INTERNAL, ENOMEM, "out of memory for a request");
			return fail(s, &e);
		}
		if (a->interrupted)
			return PUSH_ENDED;
		*kind = a->hopeless ? ANSWER_NONE_TAKEN : s->push->receiver->once && a->status == 500 ? ANSWER_AGAIN :
			answer__after(a->status, is_shortest(s), &s->push->failed, s->state->totals.in_a_row);
		if (*kind != ANSWER_AGAIN && *kind != ANSWER_NONE_TAKEN) {
			s->push->failures = 0;
			return PUSH_OK;
		}
		result = wait_for_it(s, a, *kind);
	}
	return result;
}

/* Nothing before that time is sent again. */
static void go_on(struct sending *s, uint64_t from)
{
	s->segment->sent = from;
	s->segment->piece = 0;
	s->span = 2 * s->span < s->span_most ? 2 * s->span : s->span_most;
	s->state->changed = true;
}

/* It was taken, or is left out. */
static enum push_result settle(struct sending *s)
{
	struct extprof_error e = { .size = sizeof(e) };
	int err;

	go_on(s, s->until + 1);
	err = state__save(s->state);
	if (!err)
		return PUSH_OK;
	message__set(&e, EXTPROF_OUTPUT, -err, "%s was sent in part, and that cannot be kept: %s", s->path, strerror(-err));
	return fail(s, &e);
}

static enum push_result taken(struct sending *s, const struct http_answer *a)
{
	char message[256];
	int64_t rejected = 0;

	*message = '\0';
	if (s->push->receiver->tells_rejected)
		rejected = answer__rejected(a->body, a->length, message, sizeof(message));

	s->push->counts.requests++;
	s->push->counts.bytes += s->bytes;
	s->state->totals.requests++;
	s->state->totals.in_a_row = 0;
	s->push->counts.rejected += (uint64_t)rejected;
	s->state->totals.rejected += (uint64_t)rejected;
	if (rejected || *message)
		push__say("%s: of %s it did not take %s: %s", s->push->shown, s->path, push__count((uint64_t)rejected, "profile", "profiles"),
			  message);
	return settle(s);
}

static enum push_result refused(struct sending *s, const char *why)
{
	s->push->counts.refused++;
	s->state->totals.refused++;
	push__say("%s refused a request of %.1f s of %s, which is left out: %s", s->push->shown, (double)(s->until - s->from + 1) / 1e9, s->path,
		  why);
	return settle(s);
}

/* -- a span ------------------------------------------------------------------------------------------------ */

/* The profile of the span.  0, 1: there are no samples of that time, or a negative errno with *e. */
static int make_body(struct sending *s, struct extprof_error *e)
{
	const struct options *o = s->push->options;
	struct extprof_recorded_options options = {
		.size = sizeof(options), .modes = s->mode ? s->mode->name : s->modes->names, .filters = o->filters, .filter_count = o->filter_count,
		/* Not each recording has the same labels. */
		.groups = o->recording.groups, .labels_can_lack = true,
		/* A time has to end after its begin. */
		.since_at = s->from, .until_at = s->last ? 0 : s->until > s->from ? s->until : s->until + 1,
		.gzip = !s->push->receiver->plain, .host = s->modes->host,
		/* All of it: who is idle is told by what comes before and after a span, too. */
		.idle = true,
	};
	struct extprof_recorded *r;
	uint64_t begin, end;
	FILE *to;
	int err = extprof_recorded_open(&r, s->path, s->push->interrupt_fd, e);

	s->body.too_large = false;
	s->next = 0;
	if (err)
		return err;
	err = extprof_recorded_times(r, &begin, &end, e);
	if (!err && begin != s->segment->begin)
		err = message__set(e, EXTPROF_RECORDING, ESTALE, "another recording has taken the place of %s", s->path);
	to = err ? NULL : body__open(&s->body);
	if (!err && !to)
		err = message__set(e, EXTPROF_INTERNAL, ENOMEM, "out of memory for a request");
	if (!err)
		err = extprof_recorded_write(r, s->push->receiver->format, &options, to, e);
	if (to && fclose(to) && !err)
		err = message__set(e, EXTPROF_INTERNAL, ENOMEM, "out of memory for a request");
	if (err == -ENODATA)
		s->next = push_modes__next(r, begin, s->until + 1);
	extprof_recorded_close(r);
	return err == -ENODATA ? 1 : err;
}

/* Will reading it fail each time?  Memory, open files, a lock or a disk can be there later. */
static bool is_damage(int err, const struct extprof_error *e)
{
	return e->code == EXTPROF_RECORDING && (err == -EBADMSG || err == -EOVERFLOW || err == -E2BIG || err == -ENODATA);
}

/* The file could not be read.  It must not keep others from being sent. */
static enum push_result unreadable(struct sending *s, int err, const struct extprof_error *e)
{
	if (push__interrupted(s->push))
		return PUSH_ENDED;
	if (err == -ENOENT && access(s->path, F_OK) && errno == ENOENT) {
		push__say("%s is gone before all of it was sent", s->path);
		return PUSH_LOST;
	}
	if (err == -ESTALE || is_damage(err, e)) {
		push__say("%s: the rest is left out: %s", s->path, e->text);
		return PUSH_LOST;
	}
	s->push->trouble = *e;
	return PUSH_SKIPPED;
}

/* A shorter span is sent instead of this one; false: it is the shortest one. */
static bool shorten(struct sending *s)
{
	uint64_t length = s->until - s->from + 1;

	if (is_shortest(s))
		return false;
	s->span = length / 2 > SPAN_MIN ? length / 2 : SPAN_MIN;
	s->segment->piece = 0;
	return true;
}

/* A request of the profile.  *kind: what the last answer means. */
static enum push_result post(struct sending *s, struct http_answer *a, enum answer *kind)
{
	const struct options *o = s->push->options;
	const struct receiver_batch batch = {
		.body = &s->body, .url = s->push->url, .service = o->values[OPTION_SERVICE].given ? o->values[OPTION_SERVICE].text : SERVICE,
		.host = s->modes->host, .mode = s->mode, .from = s->from, .until = s->until,
	};
	struct receiver_request request = { .url = NULL };
	struct extprof_error e = { .size = sizeof(e) };
	enum push_result result;
	int err = receiver__make(s->push->receiver, &batch, &request);

	if (err) {
		message__set(&e, EXTPROF_INTERNAL, -err, err == -ENOMEM ? "out of memory for a request" :
			     "a mistake of extprof, please report it: the profile is none of %s", s->push->receiver->format);
		result = fail(s, &e);
	} else {
		s->bytes = s->push->receiver->plain ? request.before.length + request.http.length : s->body.length;
		*kind = ANSWER_TAKEN;
		result = request.before.url ? deliver(s, &request.before, a, kind) : PUSH_OK;
		if (result == PUSH_OK && *kind == ANSWER_TAKEN)
			result = deliver(s, &request.http, a, kind);
	}
	receiver_request__free(&request);
	return result;
}

/* From now on it may have been taken, whatever becomes of extprof and the answer. */
static enum push_result begin_piece(struct sending *s)
{
	struct extprof_error e = { .size = sizeof(e) };
	int err;

	if (!s->push->receiver->once || s->segment->piece == s->until)
		return PUSH_OK;
	s->segment->piece = s->until;
	s->state->changed = true;
	err = state__save(s->state);
	if (!err)
		return PUSH_OK;
	message__set(&e, EXTPROF_OUTPUT, -err, "what is sent of %s cannot be kept: %s", s->path, strerror(-err));
	return fail(s, &e);
}

static size_t unpacked(const struct sending *s)
{
	return s->push->receiver->plain ? s->body.length : body__unpacked(&s->body);
}

static enum push_result send_span(struct sending *s)
{
	struct extprof_error e = { .size = sizeof(e) };
	struct http_answer a;
	enum push_result result;
	enum answer kind;
	char said[320];
	int err = make_body(s, &e);

	if (err > 0) {
		uint64_t from = s->until + 1;

		/* Spans go on where they would be. */
		go_on(s, s->next > from ? s->next - (s->next - from) % s->span_most : from);
		return PUSH_OK;
	}
	/* The receiver may have this piece already, so it keeps its bounds: another length would be another piece. */
	if (err == -ENOMEM && !s->body.too_large && !s->segment->piece && shorten(s))
		return PUSH_OK;
	if (err && !s->body.too_large)
		return unreadable(s, err, &e);
	if ((s->body.too_large || unpacked(s) > UNPACKED_MAX) && shorten(s))
		return PUSH_OK;
	if (s->body.too_large)
		return refused(s, "it is more than extprof sends at once");
	result = begin_piece(s);
	if (result == PUSH_OK)
		result = post(s, &a, &kind);
	if (result != PUSH_OK)
		return result;
	if (kind == ANSWER_TAKEN)
		return taken(s, &a);
	if (kind == ANSWER_TOO_LARGE && shorten(s))
		return PUSH_OK;
	s->state->totals.in_a_row++;
	describe(&a, said, sizeof(said));
	return refused(s, said);
}

/* -- a recording ------------------------------------------------------------------------------------------- */

/* Where it goes on, and to where. */
static void choose_span(struct sending *s, uint64_t end, bool ended)
{
	const struct state_segment *g = s->segment;

	s->from = g->from > g->begin ? g->from : g->begin;
	s->from = g->sent > s->from ? g->sent : s->from;
	if (__builtin_add_overflow(s->from, s->span - 1, &s->until))
		s->until = UINT64_MAX;
	if (g->piece >= s->from)
		s->until = g->piece;
	if (s->until >= end)
		s->until = end < UINT64_MAX ? end : UINT64_MAX - 1;
	/* Samples behind the last one that the blocks tell of belong to the last span, if the recording has ended. */
	s->last = s->until >= end && ended;
}

/* All spans of one mode, or of all together. */
static enum push_result send_part(struct sending *s, const struct receiver_mode *mode, uint64_t end, bool ended)
{
	enum push_result result = PUSH_OK;

	s->mode = mode;
	s->span = s->span_most;
	choose_span(s, end, ended);
	while (result == PUSH_OK && s->from <= end) {
		result = push__interrupted(s->push) ? PUSH_ENDED : send_span(s);
		choose_span(s, end, ended);
	}
	return result;
}

static enum push_result send_parts(struct sending *s, uint64_t end, bool ended)
{
	const struct push_modes *m = s->modes;
	struct state_segment *g = s->segment;
	enum push_result result = PUSH_OK;

	if (!s->push->receiver->each_mode && m->wanted)
		result = send_part(s, NULL, end, ended);
	for (; s->push->receiver->each_mode && result == PUSH_OK && g->modes < m->count; g->modes += result == PUSH_OK) {
		if (m->list[g->modes].wanted)
			result = send_part(s, &m->list[g->modes].mode, end, ended);
		if (result == PUSH_OK)
			g->sent = 0;
	}
	if (result == PUSH_OK) {
		g->from = end < UINT64_MAX ? end + 1 : end;
		g->sent = g->until = 0;
		g->modes = 0;
	}
	return result;
}

/* Modes that come after others end where these have ended, and then all of them go on. */
static enum push_result send_rounds(struct sending *s, uint64_t end, bool ended)
{
	struct state_segment *g = s->segment;
	enum push_result result = PUSH_OK;

	if (g->modes && g->until && g->until < end)
		result = send_parts(s, g->until, false);
	if (result != PUSH_OK)
		return result;
	g->until = end;
	return send_parts(s, end, ended);
}

static enum push_result read_modes(struct sending *s, struct push_modes *m)
{
	struct extprof_error e = { .size = sizeof(e) };
	struct extprof_recorded *r;
	int err = extprof_recorded_open(&r, s->path, s->push->interrupt_fd, &e);

	if (!err)
		err = push_modes__read(m, r, s->push->options->values[OPTION_MODES].text, s->push->receiver->modes, &e);
	extprof_recorded_close(r);
	return err ? unreadable(s, err, &e) : PUSH_OK;
}

enum push_result push__segment(struct push *p, struct state *state, struct state_segment *g, const char *path, uint64_t end, bool ended,
			       int *status)
{
	struct push_modes modes = { .count = 0 };
	struct sending s = { .push = p, .state = state, .segment = g, .path = path, .modes = &modes, .status = status };
	uint64_t least = (end > g->begin ? end - g->begin : 0) / SPANS_MAX + 1, requests = p->counts.requests, bytes = p->counts.bytes;
	enum push_result result = read_modes(&s, &modes);

	s.span_most = p->span > least ? p->span : least;
	if (result == PUSH_OK)
		result = send_rounds(&s, end, ended);
	body__free(&s.body);
	if (result == PUSH_OK && p->counts.requests > requests)
		push__say("%s is sent: %s, %.1f MB", path, push__count(p->counts.requests - requests, "request", "requests"),
			  (double)(p->counts.bytes - bytes) / 1e6);
	return result;
}
