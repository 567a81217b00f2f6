/* SPDX-License-Identifier: BSD-2-Clause */
#include "send/receiver.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utc.h"
#include "send/url.h"

#ifndef EXTPROF_VERSION
#define EXTPROF_VERSION "unknown"
#endif

#define SECOND ((uint64_t)1000000000)

bool receiver_mode__set(char to[static 32], const char *text)
{
	size_t n = 0;

	*to = '\0';
	while (text[n] && n < 31 && (isalnum((unsigned char)text[n]) || text[n] == '_'))
		n++;
	if (text[n])
		return false;
	memcpy(to, text, n + 1);
	return true;
}

/* A name in a text that has signs of its own, such as {, =, " and \.  The caller frees it. */
static char *clean(const char *name)
{
	char *copy = strdup(*name ? name : "_");

	for (char *p = copy; p && *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			*p = '_';
	return copy;
}

/* -- OTLP -------------------------------------------------------------------------------------------------- */

static int make_otlp(const struct receiver_batch *b, struct receiver_request *to)
{
	to->http = (struct http_request){
		.url = b->url, .type = "application/x-protobuf", .encoding = "gzip", .data = b->body->data, .length = b->body->length,
	};
	return 0;
}

/* -- Pyroscope --------------------------------------------------------------------------------------------- */

/*
 * Make the text that tells the receiver the sample types.  Without it the receiver takes "samples" of any mode for those of the
 * CPU.  The type of times is the last one: it names the profile if the receiver does not know the type.
 */
static int make_types(const struct receiver_mode *m, char **text)
{
	bool two = *m->count && (strcmp(m->count, m->value) || strcmp(m->count_unit, m->value_unit));
	char count[160] = "";

	if (two)
		snprintf(count, sizeof(count), "\"%s\":{\"units\":\"%s\",\"aggregation\":\"sum\",\"sampled\":true},", m->count, m->count_unit);
	return asprintf(text, "{%s\"%s\":{\"units\":\"%s\",\"aggregation\":\"sum\",\"sampled\":true}}", count, m->value, m->value_unit) < 0 ?
	       -ENOMEM : 0;
}

/* name=SERVICE{host=HOST}&from=SECONDS&until=SECONDS */
static int add_query(const struct receiver_batch *b, struct receiver_request *to)
{
	char *service = clean(b->service), *host = clean(b->host), *name = NULL, from[24], until[24];
	int err = -ENOMEM;

	snprintf(from, sizeof(from), "%" PRIu64, b->from / SECOND);
	snprintf(until, sizeof(until), "%" PRIu64, b->until / SECOND + 1);
	if (service && host && asprintf(&name, "%s{host=%s}", service, host) < 0)
		name = NULL;
	to->url = strdup(b->url);
	if (name && to->url && !url__add(&to->url, "name", name) && !url__add(&to->url, "from", from) &&
	    !url__add(&to->url, "until", until) && !url__add(&to->url, "spyName", "extprof"))
		err = 0;
	free(name);
	free(service);
	free(host);
	return err;
}

static int make_pyroscope(const struct receiver_batch *b, struct receiver_request *to)
{
	if (make_types(b->mode, &to->text)) {
		to->text = NULL;
		return -ENOMEM;
	}
	to->parts[0] = (struct http_part){
		.name = "profile", .file = "profile.pprof", .type = "application/octet-stream", .data = b->body->data, .length = b->body->length,
	};
	to->parts[1] = (struct http_part){
		.name = "sample_type_config", .file = "sample_type_config.json", .type = "application/json", .data = to->text,
		.length = strlen(to->text),
	};
	if (add_query(b, to))
		return -ENOMEM;
	to->http = (struct http_request){ .url = to->url, .parts = to->parts, .part_count = 2 };
	return 0;
}

/* -- Parca ------------------------------------------------------------------------------------------------- */

static char *put_base64(char *to, const uint8_t *from, size_t length)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < length; i += 3) {
		size_t left = length - i;
		uint32_t bits = (uint32_t)from[i] << 16 | (left > 1 ? (uint32_t)from[i + 1] << 8 : 0) | (left > 2 ? from[i + 2] : 0);

		*to++ = digits[bits >> 18];
		*to++ = digits[bits >> 12 & 63];
		*to++ = left > 1 ? digits[bits >> 6 & 63] : '=';
		*to++ = left > 2 ? digits[bits & 63] : '=';
	}
	return to;
}

/* The names of the scopes of OTLP profiles. */
static const char *name_of(const struct receiver_mode *m)
{
	return !strcmp(m->name, "cpu") ? "process_cpu" : !strcmp(m->name, "offcpu") ? "off_cpu" : m->name;
}

/* A WriteRawRequest in JSON. */
static int make_parca(const struct receiver_batch *b, struct receiver_request *to)
{
	char *service = clean(b->service), *host = clean(b->host), *head = NULL, *end;
	static const char tail[] = "\"}]}]}";
	int n = -1;

	if (service && host)
		n = asprintf(&head, "{\"normalized\":true,\"series\":[{\"labels\":{\"labels\":[{\"name\":\"__name__\",\"value\":\"%s\"},"
			     "{\"name\":\"service_name\",\"value\":\"%s\"},{\"name\":\"host\",\"value\":\"%s\"}]},\"samples\":[{\"rawProfile\":\"",
			     name_of(b->mode), service, host);
	free(service);
	free(host);
	if (n < 0)
		return -ENOMEM;
	to->text = malloc((size_t)n + (b->body->length + 2) / 3 * 4 + sizeof(tail));
	if (!to->text) {
		free(head);
		return -ENOMEM;
	}
	memcpy(to->text, head, (size_t)n);
	free(head);
	end = put_base64(to->text + n, b->body->data, b->body->length);
	memcpy(end, tail, sizeof(tail));
	to->http = (struct http_request){
		.url = b->url, .type = "application/json", .data = to->text, .length = (size_t)(end - to->text) + sizeof(tail) - 1,
	};
	return 0;
}

/* -- Datadog ----------------------------------------------------------------------------------------------- */

/* The file that says what the other one is. */
static int make_event(const struct receiver_batch *b, char **text)
{
	char *service = clean(b->service), *host = clean(b->host), since[UTC_SIZE], until[UTC_SIZE];
	int n = -1;

	if (service && host)
		n = asprintf(text, "{\"attachments\":[\"profile.pprof\"],\"tags_profiler\":\"service:%s,host:%s,language:ruby,runtime:ruby,"
			     "profiler_version:%s\",\"start\":\"%s\",\"end\":\"%s\",\"family\":\"ruby\",\"version\":\"4\","
			     "\"endpoint_counts\":null,\"internal\":{},\"info\":{}}",
			     service, host, EXTPROF_VERSION, utc__text(since, b->from, true), utc__text(until, b->until, true));
	free(service);
	free(host);
	return n < 0 ? -ENOMEM : 0;
}

static int make_datadog(const struct receiver_batch *b, struct receiver_request *to)
{
	if (make_event(b, &to->text)) {
		to->text = NULL;
		return -ENOMEM;
	}
	to->parts[0] = (struct http_part){
		.name = "event", .file = "event.json", .type = "application/json", .data = to->text, .length = strlen(to->text),
	};
	to->parts[1] = (struct http_part){
		.name = "profile.pprof", .file = "profile.pprof", .type = "application/octet-stream", .data = b->body->data,
		.length = b->body->length,
	};
	to->http = (struct http_request){ .url = b->url, .parts = to->parts, .part_count = 2 };
	return 0;
}

/* -- ClickHouse -------------------------------------------------------------------------------------------- */

/* One INSERT: its text is the first line, and goes into the URL. */
static int make_insert(const char *base, const char *text, size_t length, char **url, struct body *packed, struct http_request *to)
{
	const char *end = memchr(text, '\n', length);
	size_t query_length = end ? (size_t)(end - text) : length;
	char *query = strndup(text, query_length);
	int err = -ENOMEM;

	*url = strdup(base);
	/* It answers when the shard has it, and not when it means to send it there. */
	if (query && *url && !url__add(url, "query", query) &&
	    (strstr(base, "insert_distributed_sync=") || !url__add(url, "insert_distributed_sync", "1")))
		err = end ? body__pack(packed, end + 1, length - query_length - 1) : 0;
	free(query);
	*to = (struct http_request){
		.url = *url, .type = "application/x-ndjson", .encoding = "gzip", .data = packed->data, .length = packed->length,
	};
	return err;
}

static int make_clickhouse(const struct receiver_batch *b, struct receiver_request *to)
{
	static const char insert[] = "\nINSERT INTO ";
	const char *text = (const char *)b->body->data, *second = memmem(text, b->body->length, insert, sizeof(insert) - 1);
	size_t first;

	if (!second)
		return -EINVAL;
	first = (size_t)(++second - text);
	if (make_insert(b->url, text, first, &to->first_url, &to->packed[0], &to->before))
		return -ENOMEM;
	return make_insert(b->url, second, b->body->length - first, &to->url, &to->packed[1], &to->http);
}

/* -- all of them ------------------------------------------------------------------------------------------- */

/* Who sends it: Datadog's own clients tell that with each profile. */
static const char *const datadog_headers[] = { "DD-EVP-ORIGIN: extprof", "DD-EVP-ORIGIN-VERSION: " EXTPROF_VERSION, NULL };

static const struct receiver receivers[] = {
	{ .name = "otlp", .path = "/v1development/profiles", .format = "otlp", .tells_rejected = true, .make = make_otlp },
	{ .name = "pyroscope", .path = "/ingest", .format = "pprof", .each_mode = true, .make = make_pyroscope },
	{ .name = "parca", .path = "/profiles/writeraw", .format = "pprof", .each_mode = true, .make = make_parca },
	{ .name = "datadog", .path = "/profiling/v1/input", .format = "datadog", .modes = "cpu,wall,alloc", .headers = datadog_headers,
	  .make = make_datadog },
	{ .name = "clickhouse", .path = "/", .format = "clickhouse", .plain = true, .once = true, .place = "database",
	  .make = make_clickhouse },
};

const struct receiver *receiver__by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(receivers) / sizeof(receivers[0]); i++)
		if (!strcmp(receivers[i].name, name))
			return &receivers[i];
	return NULL;
}

/* The value of the first parameter of that name in the query; its length is 0 without one. */
static const char *parameter(const char *url, const char *name, size_t *length)
{
	size_t n = strlen(name);

	for (const char *at = strchr(url, '?'); at; at = strchr(at, '&')) {
		at++;
		if (!strncmp(at, name, n) && at[n] == '=') {
			*length = strcspn(at + n + 1, "&");
			return at + n + 1;
		}
	}
	*length = 0;
	return "";
}

char *receiver__key(const struct receiver *r, const char *url)
{
	size_t length;
	const char *place;
	char *key;

	if (!r->once)
		return asprintf(&key, "%s %s", r->name, url) < 0 ? NULL : key;
	place = parameter(url, r->place, &length);
	return asprintf(&key, "%s %s=%.*s", r->name, r->place, (int)length, place) < 0 ? NULL : key;
}

int receiver__make(const struct receiver *r, const struct receiver_batch *b, struct receiver_request *to)
{
	return r->make(b, to);
}

void receiver_request__free(struct receiver_request *r)
{
	free(r->url);
	free(r->text);
	free(r->first_url);
	body__free(&r->packed[0]);
	body__free(&r->packed[1]);
	*r = (struct receiver_request){ .url = NULL };
}
