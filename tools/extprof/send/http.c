/* SPDX-License-Identifier: BSD-2-Clause */
#include "send/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef EXTPROF_CURL
#include "send/curl.h"

#ifndef EXTPROF_VERSION
#define EXTPROF_VERSION "unknown"
#endif

#define MS 1000000ull
#define SECOND 1000000000ull
/* Until there is a connection, ms. */
#define CONNECT_MS 10000l
/* Between two looks at the clock, ms. */
#define POLL_MS 1000

struct http {
	const struct curl_library *curl;
	CURLM *multi;
	CURL *easy;
	struct http_options options;
	bool abandoned;		/* a request was interrupted: nothing is waited for any more */
};

int http__open(struct http **result, const struct http_options *o, char *why, size_t size)
{
	const struct curl_library *c = curl_library__load(why, size);
	struct http *h;

	*result = NULL;
	if (!c)
		return -ENOSYS;
	h = calloc(1, sizeof(*h));
	if (h) {
		h->curl = c;
		h->options = *o;
		h->multi = c->multi_init();
		h->easy = c->easy_init();
	}
	if (!h || !h->multi || !h->easy) {
		http__close(h);
		snprintf(why, size, "out of memory");
		return -ENOMEM;
	}
	*result = h;
	return 0;
}

void http__close(struct http *h)
{
	if (!h)
		return;
	/* To end a connection can take time, such as a search for a name that goes on. */
	if (!h->abandoned) {
		if (h->easy)
			h->curl->easy_cleanup(h->easy);
		if (h->multi)
			h->curl->multi_cleanup(h->multi);
	}
	free(h);
}

/* More than there is room for ends the request: it can be without an end. */
static size_t take_body(char *data, size_t size, size_t count, void *context)
{
	struct http_answer *a = context;
	size_t length = size * count, room = sizeof(a->body) - a->length;

	memcpy(a->body + a->length, data, length < room ? length : room);
	a->length += length < room ? length : room;
	return length < room ? length : room;
}

/* The headers of a request.  NULL: out of memory. */
static struct curl_slist *make_headers(struct http *h, const struct http_request *r)
{
	struct curl_slist *list = NULL, *longer;
	char text[256];

	for (unsigned int i = 0; i < h->options.header_count + 3; i++) {
		/* "NAME:" takes away what libcurl sends by itself: a receiver need not say that it will take a body. */
		snprintf(text, sizeof(text), "Expect:");
		if (i == 1 && r->type)
			snprintf(text, sizeof(text), "Content-Type: %s", r->type);
		if (i == 2 && r->encoding)
			snprintf(text, sizeof(text), "Content-Encoding: %s", r->encoding);
		if ((i == 1 && !r->type) || (i == 2 && !r->encoding))
			continue;
		longer = h->curl->slist_append(list, i < 3 ? text : h->options.headers[i - 3]);
		if (!longer) {
			h->curl->slist_free_all(list);
			return NULL;
		}
		list = longer;
	}
	return list;
}

static curl_mime *make_form(struct http *h, const struct http_request *r)
{
	const struct curl_library *c = h->curl;
	curl_mime *form = c->mime_init(h->easy);
	bool failed = !form;

	for (unsigned int i = 0; i < r->part_count && !failed; i++) {
		const struct http_part *from = &r->parts[i];
		curl_mimepart *part = c->mime_addpart(form);

		failed = !part || c->mime_name(part, from->name) || c->mime_data(part, from->data, from->length) ||
			 (from->file && c->mime_filename(part, from->file)) || (from->type && c->mime_type(part, from->type));
	}
	if (failed)
		c->mime_free(form);
	return failed ? NULL : form;
}

static CURLcode prepare(struct http *h, const struct http_request *r, struct curl_slist *headers, curl_mime *form,
			struct http_answer *a)
{
	long timeout = (long)(h->options.timeout / MS);
	CURLcode code = CURLE_OK;

#define SET(option, value) do { if (code == CURLE_OK) code = h->curl->easy_setopt(h->easy, option, value); } while (0)
	h->curl->easy_reset(h->easy);
	SET(CURLOPT_URL, r->url);
	SET(CURLOPT_HTTPHEADER, headers);
	if (form) {
		SET(CURLOPT_MIMEPOST, form);
	} else {
		SET(CURLOPT_POST, 1l);
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->length);
		SET(CURLOPT_POSTFIELDS, r->data);
	}
	SET(CURLOPT_USERAGENT, "extprof/" EXTPROF_VERSION);
	SET(CURLOPT_WRITEFUNCTION, take_body);
	SET(CURLOPT_WRITEDATA, a);
	SET(CURLOPT_ERRORBUFFER, a->error);
	SET(CURLOPT_TIMEOUT_MS, timeout);
	SET(CURLOPT_CONNECTTIMEOUT_MS, timeout < CONNECT_MS ? timeout : CONNECT_MS);
	SET(CURLOPT_NOSIGNAL, 1l);
	/* A header for one receiver is not given to another one. */
	SET(CURLOPT_FOLLOWLOCATION, 0l);
	SET(CURLOPT_SSL_VERIFYPEER, 1l);
	SET(CURLOPT_SSL_VERIFYHOST, 2l);
	if (h->options.ca)
		SET(CURLOPT_CAINFO, h->options.ca);
#undef SET
	return code == CURLE_OK ? curl_library__restrict(h->curl, h->easy) : code;
}

static bool is_hopeless(CURLcode code)
{
	switch (code) {
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
	/* This libcurl cannot do it. */
	case CURLE_UNKNOWN_OPTION:
	case CURLE_NOT_BUILT_IN:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return true;
	default:
		return false;
	}
}

/* Until it has ended. */
static CURLcode run(struct http *h, struct http_answer *a)
{
	const struct curl_library *c = h->curl;
	CURLcode result = CURLE_OPERATION_TIMEDOUT;
	int running = 1, left;
	CURLMsg *message;

	for (;;) {
		struct curl_waitfd interrupt = { .fd = h->options.interrupt_fd, .events = CURL_WAIT_POLLIN };

		if (c->multi_perform(h->multi, &running) != CURLM_OK)
			return CURLE_FAILED_INIT;
		if (!running)
			break;
		if (c->multi_poll(h->multi, &interrupt, 1, POLL_MS, NULL) != CURLM_OK)
			return CURLE_FAILED_INIT;
		if (interrupt.revents) {
			a->interrupted = true;
			return CURLE_ABORTED_BY_CALLBACK;
		}
	}
	while ((message = c->multi_info_read(h->multi, &left)))
		if (message->msg == CURLMSG_DONE)
			result = message->data.result;
	return result;
}

static void no_answer(const struct http *h, CURLcode code, struct http_answer *a)
{
	a->hopeless = is_hopeless(code);
	a->length = 0;
	if (!a->error[0])
		snprintf(a->error, sizeof(a->error), "%s", h->curl->easy_strerror(code));
}

static void read_answer(struct http *h, CURLcode code, struct http_answer *a)
{
	curl_off_t after = 0;
	long status = 0;

	h->curl->easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &status);
	/* The status is the answer, whatever becomes of the body behind it: what was taken is not sent again.  One below 200 says
	 * that the answer is still to come. */
	if (code != CURLE_OK && status < 200) {
		no_answer(h, code, a);
		return;
	}
	h->curl->easy_getinfo(h->easy, CURLINFO_RETRY_AFTER, &after);
	a->status = (int)status;
	a->retry_after = after <= 0 ? 0 : after < 86400 ? (uint64_t)after * SECOND : 86400 * SECOND;
}

int http__post(struct http *h, const struct http_request *r, struct http_answer *a)
{
	struct curl_slist *headers;
	curl_mime *form = NULL;
	CURLcode code;

	_Static_assert(sizeof(a->error) >= CURL_ERROR_SIZE, "libcurl writes so much");
	a->status = 0;
	a->interrupted = a->hopeless = false;
	a->retry_after = 0;
	a->length = 0;
	a->error[0] = '\0';
	headers = make_headers(h, r);
	if (!headers || (r->part_count && !(form = make_form(h, r)))) {
		h->curl->slist_free_all(headers);
		return -ENOMEM;
	}
	code = prepare(h, r, headers, form, a);
	if (code == CURLE_OK && h->curl->multi_add_handle(h->multi, h->easy) != CURLM_OK)
		code = CURLE_FAILED_INIT;
	if (code == CURLE_OK) {
		code = run(h, a);
		h->abandoned = a->interrupted;
		if (h->abandoned)
			return 0;
		read_answer(h, code, a);
		h->curl->multi_remove_handle(h->multi, h->easy);
	} else {
		no_answer(h, code, a);
	}
	/* The buffers are of this call. */
	h->curl->easy_reset(h->easy);
	h->curl->mime_free(form);
	h->curl->slist_free_all(headers);
	return 0;
}
#else
int http__open(struct http **h, const struct http_options *o, char *why, size_t size)
{
	(void)o;
	*h = NULL;
	snprintf(why, size, "this extprof was built without libcurl");
	return -ENOSYS;
}

void http__close(struct http *h)
{
	(void)h;
}

int http__post(struct http *h, const struct http_request *request, struct http_answer *answer)
{
	(void)h;
	(void)request;
	*answer = (struct http_answer){ 0 };
	return -ENOMEM;
}
#endif
