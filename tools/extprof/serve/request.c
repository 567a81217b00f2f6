/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/request.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "serve/saved.h"

static const char *const pages[] = {
	[SERVE_TIMELINE] = "", [SERVE_FLAMEGRAPH] = "flamegraph", [SERVE_HEATMAP] = "heatmap", [SERVE_REQUESTS] = "requests",
	[SERVE_DIFF] = "diff", [SERVE_SAVE] = "save",
};
#define PAGES (sizeof(pages) / sizeof(pages[0]))

int serve_token__make(char token[SERVE_TOKEN + 1])
{
	uint8_t bytes[SERVE_TOKEN / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* An address of this machine alone, with a port or without.  No name of another one can stand for a number. */
static bool is_loopback(const char *host)
{
	size_t length = strcspn(host, ":");
	const char *port = host + length;
	char text[INET_ADDRSTRLEN];
	struct in_addr in;

	if (length >= sizeof(text) || (*port && (!port[1] || strlen(port) > 6 || strspn(port + 1, "0123456789") != strlen(port + 1))))
		return false;
	memcpy(text, host, length);
	text[length] = '\0';
	return inet_pton(AF_INET, text, &in) == 1 && ntohl(in.s_addr) >> 24 == 127;
}

bool serve_request__knows_host(const char *host)
{
	static const char *const names[] = { "localhost", "[::1]" };

	if (host && is_loopback(host))
		return true;
	for (size_t i = 0; host && i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i]);
		const char *rest = host + length;

		if (strncasecmp(host, names[i], length))
			continue;
		if (!*rest)
			return true;
		if (*rest == ':' && rest[1] && strlen(rest) <= 6 && strspn(rest + 1, "0123456789") == strlen(rest + 1))
			return true;
	}
	return false;
}

/* How long it takes tells nothing of the token. */
static bool is_token(const char *text, const char *token)
{
	unsigned int difference = 0;

	if (strnlen(text, SERVE_TOKEN) < SERVE_TOKEN)
		return false;
	for (size_t i = 0; i < SERVE_TOKEN; i++)
		difference |= (unsigned char)text[i] ^ (unsigned char)token[i];
	return !difference;
}

int serve_request__begin(struct serve_request *r, const char *path, const char *token)
{
	memset(r, 0, sizeof(*r));
	if (*path != '/' || !is_token(path + 1, token) || path[1 + SERVE_TOKEN] != '/')
		return -EACCES;
	for (size_t i = 0; i < PAGES; i++) {
		if (strcmp(path + 2 + SERVE_TOKEN, pages[i]))
			continue;
		r->page = (enum serve_page)i;
		return 0;
	}
	return -ENOENT;
}

static int set_number(uint64_t *to, const char *text, uint64_t most)
{
	uint64_t n = 0;

	if (*to || !*text || strlen(text) > 19)
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		n = n * 10 + (uint64_t)(*text - '0');
	}
	*to = n;
	return n && n <= most ? 0 : -EINVAL;
}

static int set_text(char *to, size_t size, const char *text)
{
	if (*to || !*text || strlen(text) >= size)
		return -EINVAL;
	for (const char *c = text; *c; c++)
		if (iscntrl((unsigned char)*c))
			return -EINVAL;
	strcpy(to, text);
	return 0;
}

/* A word of the options. */
static int set_word(char *to, size_t size, const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_") == strlen(text) ? set_text(to, size, text) : -EINVAL;
}

int serve_request__add(struct serve_request *r, const char *key, const char *value)
{
	uint64_t number = 0;

	if (!value)
		return -EINVAL;
	if (!strcmp(key, "since"))
		return set_number(&r->span.since, value, INT64_MAX);
	if (!strcmp(key, "until"))
		return set_number(&r->span.until, value, INT64_MAX);
	if (!strcmp(key, "with-since"))
		return set_number(&r->with.since, value, INT64_MAX);
	if (!strcmp(key, "with-until"))
		return set_number(&r->with.until, value, INT64_MAX);
	if (!strcmp(key, "mode"))
		return set_word(r->mode, sizeof(r->mode), value);
	if (!strcmp(key, "format"))
		return set_word(r->format, sizeof(r->format), value);
	if (!strcmp(key, "by"))
		return set_text(r->by, sizeof(r->by), value);
	if (!strcmp(key, "filter"))
		return r->filter_count == SERVE_FILTERS ? -EINVAL : set_text(r->filters[r->filter_count++], SERVE_TEXT, value);
	if (!strcmp(key, "slowest") && !r->slowest && !set_number(&number, value, 100000)) {
		r->slowest = (unsigned int)number;
		return 0;
	}
	if (!strcmp(key, "idle") && !r->idle && !strcmp(value, "1")) {
		r->idle = true;
		return 0;
	}
	return -EINVAL;
}

static bool is_span(const struct serve_span *s)
{
	return !s->until || s->since < s->until;
}

int serve_request__end(const struct serve_request *r)
{
	bool compares = r->page == SERVE_DIFF, has_with = r->with.since || r->with.until;

	if (!is_span(&r->span) || (has_with && r->with.since >= r->with.until) || (has_with && !r->with.since))
		return -EINVAL;
	/* The page with the timeline keeps the other time, to compare it later. */
	if (has_with && !compares && r->page != SERVE_TIMELINE)
		return -EINVAL;
	if (compares && (!has_with || !r->span.since || !r->span.until))
		return -EINVAL;
	if (*r->format || r->page == SERVE_SAVE)
		return r->page == SERVE_SAVE && serve_saved__by_name(r->format) ? 0 : -EINVAL;
	return 0;
}
