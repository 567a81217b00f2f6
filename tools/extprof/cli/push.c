/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof push: recordings to a receiver of profiles. */
#include "cli/push.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/messages.h"
#include "cli/recorded.h"
#include "cli/signals.h"
#include "daemon/notify.h"
#include "send/header.h"
#include "send/url.h"

#define SECOND 1000000000ull
#define SPAN (60 * SECOND)
#define TIMEOUT (30 * SECOND)
#define RETRY_FOR (60 * SECOND)
/* Between two looks at the folders, ns. */
#define LOOK_INTERVAL (10 * SECOND)
#define HEADERS_VARIABLE "EXTPROF_PUSH_HEADERS"

/* -- for all parts ------------------------------------------------------------------------------ */

void push__say(const char *format, ...)
{
	char raw[2048], clean[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	extprof_clean(clean, sizeof(clean), raw);
	fprintf(stderr, "extprof: %s\n", clean);
}

const char *push__count(uint64_t count, const char *one, const char *many)
{
	static char text[64];

	snprintf(text, sizeof(text), "%" PRIu64 " %s", count, count == 1 ? one : many);
	return text;
}

static bool poll_for(const struct push *p, int ms)
{
	struct pollfd fd = { .fd = p->interrupt_fd, .events = POLLIN };

	return poll(&fd, 1, ms) > 0;
}

bool push__interrupted(const struct push *p)
{
	return poll_for(p, 0);
}

bool push__wait(const struct push *p, uint64_t ns)
{
	return !poll_for(p, (int)(ns / 1000000));
}

/* -- what it begins with ------------------------------------------------------------------------- */

static int usage(const char *what, const char *why)
{
	push__say("%s%s%s", what, *what ? ": " : "", why);
	return STATUS_USAGE;
}

static int of_error(int err, const char *what, const char *why)
{
	usage(what, why);
	return err == -ENOMEM ? STATUS_INTERNAL : STATUS_USAGE;
}

/* Those of the command line cannot be seen any more afterwards. */
static int take_headers(struct headers *h, const struct options *o)
{
	const char *file = o->values[OPTION_HEADER_FILE].text, *variable = getenv(HEADERS_VARIABLE);
	bool seen = false;
	char why[256];
	int err = 0;

	for (unsigned int i = 0; i < o->header_count; i++) {
		err = err ? err : headers__add(h, o->headers[i], why, sizeof(why));
		memset(o->headers[i], 'x', strlen(o->headers[i]));
	}
	if (err)
		return of_error(err, "--header", why);
	if (variable)
		err = headers__add_lines(h, variable, why, sizeof(why));
	if (err)
		return of_error(err, HEADERS_VARIABLE, why);
	if (file)
		err = headers__read(h, file, &seen, why, sizeof(why));
	if (err)
		return of_error(err, file, why);
	if (seen)
		push__say("all users of this machine can read %s: chmod o-r", file);
	return STATUS_OK;
}

/* A mistake in them is one for each recording. */
static int check_options(const struct options *o)
{
	const struct extprof_recorded_options asked = {
		.size = sizeof(asked), .filters = o->filters, .filter_count = o->filter_count, .groups = o->recording.groups,
	};
	struct extprof_error e = { .size = sizeof(e) };

	if (!*o->values[OPTION_RECEIVER].text)
		return usage("--to", "it is empty: name the receiver; for extprof-push.service that is TO=URL in /etc/extprof-push.conf");
	return extprof_recorded_options_check(&asked, &e) ? message__fail(&e) : STATUS_OK;
}

static int begin(struct push *p, struct headers *h, const struct signals *signals)
{
	const struct options *o = p->options;
	struct http_options http = {
		.ca = o->values[OPTION_CA].text, .timeout = options__number(o, OPTION_TIMEOUT, TIMEOUT),
		.interrupt_fd = signals->interrupt_fd,
	};
	char why[256];
	int status = take_headers(h, o), err;

	if (!status)
		status = check_options(o);
	if (status)
		return status;
	p->interrupt_fd = signals->interrupt_fd;
	p->follow = options__has(o, OPTION_FOLLOW);
	p->span = options__number(o, OPTION_SPAN, SPAN);
	p->retry_for = options__number(o, OPTION_RETRY_FOR, p->follow ? UINT64_MAX : RETRY_FOR);
	p->receiver = receiver__by_name(o->values[OPTION_AS].given ? o->values[OPTION_AS].text : "otlp");
	if (!p->receiver)
		return usage("--as", "there is no such receiver");
	err = url__complete(o->values[OPTION_RECEIVER].text, p->receiver->path, &p->url, why, sizeof(why));
	if (err)
		return of_error(err, "--to", why);
	p->shown = url__shown(p->url);
	p->to = receiver__key(p->receiver, p->url);
	if (!p->shown || !p->to)
		return of_error(-ENOMEM, "", "out of memory");
	if (h->count && !strncasecmp(p->url, "http://", 7))
		push__say("the headers go over the network as everybody there can read them: https:// would hide them");
	/* These are no secrets. */
	for (const char *const *own = p->receiver->headers; own && *own; own++)
		if (headers__add(h, *own, why, sizeof(why)))
			return usage("--header", why);
	http.headers = (const char *const *)h->list;
	http.header_count = h->count;
	err = http__open(&p->http, &http, why, sizeof(why));
	return err ? of_error(err, "", why) : STATUS_OK;
}

/* -- the course ----------------------------------------------------------------------------------- */

static enum push_result send_all(struct push *p, int *status)
{
	enum push_result result = PUSH_OK;

	p->counts.written = p->counts.beyond = 0;
	for (unsigned int i = 0; i < p->options->file_count && result == PUSH_OK; i++)
		result = push__argument(p, p->options->files[i], status);
	p->looked = true;
	return result;
}

static void tell_systemd(const struct push *p)
{
	char text[512];

	snprintf(text, sizeof(text), "READY=1\nSTATUS=requests: %" PRIu64 " sent to %s, %.1f MB, %" PRIu64 " refused; recordings lost: %" PRIu64,
		 p->counts.requests, p->shown, (double)p->counts.bytes / 1e6, p->counts.refused, p->counts.lost);
	notify__send(text);
}

static enum push_result follow(struct push *p, int *status)
{
	enum push_result result;

	do {
		tell_systemd(p);
		result = send_all(p, status);
	} while (result == PUSH_LATER || (result == PUSH_OK && push__wait(p, LOOK_INTERVAL)));
	notify__send("STOPPING=1");
	return result == PUSH_OK ? PUSH_ENDED : result;
}

static int conclude(const struct push *p, enum push_result result, int status)
{
	const struct push_counts *c = &p->counts;

	push__say("%s sent to %s, %.1f MB", push__count(c->requests, "request was", "requests were"), p->shown, (double)c->bytes / 1e6);
	if (c->refused)
		push__say("%s refused", push__count(c->refused, "request was", "requests were"));
	if (c->rejected)
		push__say("%s refused, of requests that were taken", push__count(c->rejected, "profile was", "profiles were"));
	if (c->lost)
		push__say("%s", push__count(c->lost, "recording was gone or damaged before all of it was sent",
					    "recordings were gone or damaged before all of them was sent"));
	if (c->written)
		push__say("%s", push__count(c->written, "recording has not ended: it is sent later", "recordings have not ended: they are sent later"));
	if (result == PUSH_FAILED)
		return status;
	/* A service that is ended has not failed.  Data that was not sent was reported when that happened. */
	if (result == PUSH_ENDED && p->follow)
		return STATUS_OK;
	if (result == PUSH_GIVEN_UP || result == PUSH_ENDED || c->refused || c->rejected || c->lost || c->beyond)
		return STATUS_NOT_SENT;
	return c->unreadable ? STATUS_RECORDING : STATUS_OK;
}

static int push(const struct options *o)
{
	struct push p = { .options = o };
	struct headers headers = { .count = 0 };
	struct extprof_error e = { .size = sizeof(e) };
	struct signals signals;
	enum push_result result;
	int status;

	if (signals__open(&signals, &e))
		return message__fail(&e);
	/* A write of an answer to who is gone is an error of that write. */
	signal(SIGPIPE, SIG_IGN);
	signals__block(&signals);
	status = begin(&p, &headers, &signals);
	if (!status) {
		result = p.follow ? follow(&p, &status) : send_all(&p, &status);
		status = conclude(&p, result, status);
	}
	http__close(p.http);
	headers__free(&headers);
	push__forget_unreadable(&p);
	free(p.url);
	free(p.shown);
	free(p.to);
	signals__close(&signals);
	return status;
}

static int run(int argc, char **argv, bool implied)
{
	struct options o;
	int err, status;

	(void)implied;
	err = options__parse(&o, &command_line_push, argc, argv, 0);
	if (err)
		status = err == -ENOMEM ? STATUS_INTERNAL : STATUS_USAGE;
	else
		status = push(&o);
	options__free(&o);
	return message__flush(status);
}

const struct command command_push = {
	.name = "push",
	.summary = "send recordings to a receiver of profiles",
	.line = &command_line_push,
	.run = run,
	.power = POWER_NONE,
};
