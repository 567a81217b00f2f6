/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof push without a network: addresses, headers, answers, and what was sent. */
#include "test.h"

#include <zlib.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "send/answer.h"
#include "send/body.h"
#include "send/header.h"
#include "send/receiver.h"
#include "send/state.h"
#include "send/url.h"
#ifdef EXTPROF_CURL
#include "send/curl.h"

#include <stdarg.h>
#endif

#define SECOND 1000000000ull

#ifdef EXTPROF_CURL
static void check_url(const char *text, const char *wanted)
{
	char *url, why[256] = "";
	int err = url__complete(text, "/v1development/profiles", &url, why, sizeof(why));

	CHECK_INT(err, wanted ? 0 : -EINVAL);
	if (wanted && url)
		CHECK_STRING(url, wanted);
	CHECK(wanted ? !*why : *why && !url);
	free(url);
}

TEST(send_urls_are_completed)
{
	check_url("http://collector:4318", "http://collector:4318/v1development/profiles");
	check_url("https://profiles.example.com/", "https://profiles.example.com/v1development/profiles");
	check_url("http://[::1]:4318", "http://[::1]:4318/v1development/profiles");
	check_url("http://localhost:4040/ingest", "http://localhost:4040/ingest");
	check_url("HTTP://localhost/a?key=1", "http://localhost/a?key=1");
	check_url("http://localhost?key=1", "http://localhost/v1development/profiles?key=1");
}

TEST(send_urls_that_are_refused)
{
	static const char *const wrong[] = { "", "localhost:4318", "ftp://localhost", "file:///etc/passwd", "http://", "http:// localhost",
					     "http://a\nb", "http://localhost:99999", "http://localhost:x", "http://[::1", "http://user@localhost",
					     "http://user:pass@localhost/", "http://:pass@localhost/", "http://localhost/#x", "http://h\xc3\xa4user/" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		check_url(wrong[i], NULL);
}
#endif

TEST(send_urls_with_a_query)
{
	char *url = strdup("http://localhost/ingest"), *shown;

	CHECK_INT(url__add(&url, "name", "a b&c=\xc3\xa4{x=\"y\"}"), 0);
	CHECK_INT(url__add(&url, "from", "12"), 0);
	CHECK_STRING(url, "http://localhost/ingest?name=a%20b%26c%3D%C3%A4%7Bx%3D%22y%22%7D&from=12");
	shown = url__shown(url);
	CHECK_STRING(shown, "http://localhost/ingest");
	free(shown);
	free(url);
}

TEST(send_headers)
{
	static const char *const wrong[] = { "", "x", ":", "Name:", "Name:  ", "Na me: x", "Name : x", "Name: a\nOther: b", "Name: a\rb",
					     "Name: \x01", "Content-Type: text/plain", "content-length: 5", "Transfer-Encoding: chunked" };
	struct headers h = { .count = 0 };
	char why[256];

	CHECK_INT(headers__add(&h, "Authorization: Bearer x", why, sizeof(why)), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		*why = '\0';
		CHECK_INT(headers__add(&h, wrong[i], why, sizeof(why)), -EINVAL);
		CHECK(*why);
	}
	CHECK_INT(h.count, 1);
	CHECK_INT(headers__add_lines(&h, "# a comment\n\nA: 1\r\nB: 2", why, sizeof(why)), 0);
	CHECK_INT(h.count, 3);
	CHECK_STRING(h.list[1], "A: 1");
	CHECK_STRING(h.list[2], "B: 2");
	/* What is wrong is said without what may be a secret. */
	CHECK_INT(headers__add_lines(&h, "A: 1\nsecret\n", why, sizeof(why)), -EINVAL);
	CHECK_STRING(why, "line 2: a header is NAME: VALUE");
	while (h.count < HEADERS_MAX)
		CHECK_INT(headers__add(&h, "A: 1", why, sizeof(why)), 0);
	CHECK_INT(headers__add(&h, "A: 1", why, sizeof(why)), -EINVAL);
	headers__free(&h);
	CHECK_INT(h.count, 0);
}

static void write_file(const char *path, const char *text, size_t length, mode_t mode)
{
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	CHECK(fd >= 0 && write(fd, text, length) == (ssize_t)length && !fchmod(fd, mode));
	close(fd);
}

TEST(send_headers_of_a_file)
{
	struct headers h = { .count = 0 };
	char *large = malloc(HEADER_FILE_MAX + 2), why[256];
	bool seen = true;

	write_file("test_send.headers", "A: 1\n", 5, 0600);
	CHECK_INT(headers__read(&h, "test_send.headers", &seen, why, sizeof(why)), 0);
	CHECK(h.count == 1 && !seen);
	write_file("test_send.headers", "B: 1\n", 5, 0644);
	CHECK_INT(headers__read(&h, "test_send.headers", &seen, why, sizeof(why)), 0);
	CHECK(h.count == 2 && seen);
	write_file("test_send.headers", "C: \0 1\n", 7, 0600);
	CHECK_INT(headers__read(&h, "test_send.headers", &seen, why, sizeof(why)), -EINVAL);
	memset(large, '\n', HEADER_FILE_MAX + 2);
	write_file("test_send.headers", large, HEADER_FILE_MAX + 2, 0600);
	CHECK_INT(headers__read(&h, "test_send.headers", &seen, why, sizeof(why)), -EINVAL);
	CHECK_INT(headers__read(&h, "gone", &seen, why, sizeof(why)), -ENOENT);
	CHECK(headers__read(&h, "/", &seen, why, sizeof(why)) < 0);
	/* It is not waited for. */
	unlink("test_send.fifo");
	CHECK(!mkfifo("test_send.fifo", 0600));
	CHECK(headers__read(&h, "test_send.fifo", &seen, why, sizeof(why)) < 0);
	CHECK_INT(h.count, 2);
	unlink("test_send.fifo");
	unlink("test_send.headers");
	headers__free(&h);
	free(large);
}

TEST(send_answers)
{
	static const int again[] = { 0, 408, 429, 502, 503, 504 },
			 none[] = { 100, 301, 302, 307, 401, 403, 404, 405, 406, 407, 410, 415, 421, 501 },
			 refused[] = { 400, 409, 411, 422, 431, 505, 599 };

	for (int status = 200; status < 300; status++)
		CHECK_INT(answer__of(status), ANSWER_TAKEN);
	for (size_t i = 0; i < sizeof(again) / sizeof(again[0]); i++)
		CHECK_INT(answer__of(again[i]), ANSWER_AGAIN);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		CHECK_INT(answer__of(none[i]), ANSWER_NONE_TAKEN);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		CHECK_INT(answer__of(refused[i]), ANSWER_REFUSED);
	CHECK_INT(answer__of(413), ANSWER_TOO_LARGE);
	CHECK_INT(answer__of(500), ANSWER_FAILED);
}

TEST(send_answers_after_others)
{
	unsigned int failed = 0;

	/* 500 is tried again, and others in between do not count. */
	for (unsigned int i = 1; i < ANSWER_TRIES; i++) {
		CHECK_INT(answer__after(500, true, &failed, 0), ANSWER_AGAIN);
		CHECK_INT(answer__after(503, true, &failed, 0), ANSWER_AGAIN);
		CHECK_INT(answer__after(401, true, &failed, 0), ANSWER_NONE_TAKEN);
		CHECK_INT(failed, i);
	}
	CHECK_INT(answer__after(500, true, &failed, 0), ANSWER_REFUSED);
	CHECK_INT(failed, 0);
	CHECK_INT(answer__after(500, true, &failed, 0), ANSWER_AGAIN);
	CHECK_INT(answer__after(200, true, &failed, 0), ANSWER_TAKEN);
	CHECK_INT(failed, 0);
	/* The smallest one is refused. */
	CHECK_INT(answer__after(413, false, &failed, UINT64_MAX), ANSWER_TOO_LARGE);
	CHECK_INT(answer__after(413, true, &failed, 0), ANSWER_REFUSED);
	/* So many in a row are left out, and no more. */
	CHECK_INT(answer__after(400, true, &failed, ANSWER_REFUSED_MAX - 1), ANSWER_REFUSED);
	CHECK_INT(answer__after(400, true, &failed, ANSWER_REFUSED_MAX), ANSWER_NONE_TAKEN);
	CHECK_INT(answer__after(413, true, &failed, ANSWER_REFUSED_MAX), ANSWER_NONE_TAKEN);
	CHECK_INT(answer__after(200, true, &failed, ANSWER_REFUSED_MAX), ANSWER_TAKEN);
	CHECK_INT(answer__after(503, true, &failed, ANSWER_REFUSED_MAX), ANSWER_AGAIN);
	failed = UINT_MAX;
	CHECK_INT(answer__after(500, true, &failed, ANSWER_REFUSED_MAX), ANSWER_NONE_TAKEN);
	CHECK(failed >= ANSWER_TRIES);
}

#ifdef EXTPROF_CURL
/* A libcurl that does not know some options, and what it was told. */
static CURLoption unknown[2];
static long protocols;
static const char *protocol_names;

static CURLcode set_option(CURL *handle, CURLoption option, ...)
{
	va_list args;

	(void)handle;
	if (option == unknown[0] || option == unknown[1])
		return CURLE_UNKNOWN_OPTION;
	va_start(args, option);
	if (option == CURLOPT_PROTOCOLS)
		protocols = va_arg(args, long);
#if LIBCURL_VERSION_NUM >= 0x075500
	if (option == CURLOPT_PROTOCOLS_STR)
		protocol_names = va_arg(args, const char *);
#endif
	va_end(args);
	return CURLE_OK;
}

TEST(send_with_an_older_libcurl)
{
	const struct curl_library c = { .easy_setopt = set_option };

#if LIBCURL_VERSION_NUM >= 0x075700
	CHECK_INT(curl_library__restrict(&c, NULL), CURLE_OK);
	CHECK_STRING(protocol_names, "http,https");
	CHECK_INT(protocols, 0);
	unknown[0] = CURLOPT_QUICK_EXIT;
	CHECK_INT(curl_library__restrict(&c, NULL), CURLE_OK);
	CHECK_INT(protocols, 0);
	unknown[1] = CURLOPT_PROTOCOLS_STR;
#endif
	CHECK_INT(curl_library__restrict(&c, NULL), CURLE_OK);
	CHECK_INT(protocols, CURLPROTO_HTTP | CURLPROTO_HTTPS);
	/* Without any bound nothing is sent. */
	unknown[0] = CURLOPT_PROTOCOLS;
	CHECK_INT(curl_library__restrict(&c, NULL), CURLE_UNKNOWN_OPTION);
}
#endif

TEST(send_waits_longer_and_by_chance)
{
	uint64_t most = SECOND;

	for (unsigned int failures = 1; failures < 100; failures++) {
		uint64_t least = UINT64_MAX, longest = 0;

		for (uint64_t i = 0; i < 1000; i++) {
			uint64_t wait = retry__wait(failures, 0, i * 0x9e3779b97f4a7c15ull);

			least = wait < least ? wait : least;
			longest = wait > longest ? wait : longest;
		}
		CHECK(least >= most / 2 && least < most * 0.55);
		CHECK(longest <= most && longest > most * 0.95);
		most = 2 * most < 60 * SECOND ? 2 * most : 60 * SECOND;
	}
	/* What the receiver asks for is the least, and not for ever. */
	CHECK(retry__wait(1, 20 * SECOND, 7) == 20 * SECOND);
	CHECK(retry__wait(1, SECOND / 10, 7) >= SECOND / 2);
	CHECK(retry__wait(1, 86400 * SECOND, 7) == RETRY_ASKED_MAX);
	CHECK(retry__wait(UINT32_MAX, UINT64_MAX, UINT64_MAX) == RETRY_ASKED_MAX);
	CHECK(retry__wait(0, 0, 0) == SECOND);
}

#define PARTIAL(...) answer__rejected((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }), message, sizeof(message))

TEST(send_partial_success)
{
	char message[8];
	uint8_t noise[64];

	CHECK_INT(answer__rejected(NULL, 0, message, sizeof(message)), 0);
	CHECK(!*message);
	CHECK_INT(PARTIAL(10, 6, 8, 5, 18, 2, 'n', 'o'), 5);
	CHECK_STRING(message, "no");
	/* A warning: all were taken. */
	CHECK_INT(PARTIAL(10, 4, 18, 2, 'n', 'o'), 0);
	CHECK_STRING(message, "no");
	/* Longer than there is room for; fields that are not known; several bytes of a number. */
	CHECK_INT(PARTIAL(10, 12, 18, 10, '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'), 0);
	CHECK_STRING(message, "0123456");
	CHECK_INT(PARTIAL(24, 1, 10, 12, 25, 1, 2, 3, 4, 5, 6, 7, 8, 8, 172, 2), 300);
	/* No text of protocol buffers, cut off, negative, lengths beyond the end. */
	CHECK_INT(answer__rejected((const uint8_t *)"{\"partialSuccess\":{}}", 21, message, sizeof(message)), 0);
	CHECK_INT(PARTIAL(10, 6, 8), 0);
	CHECK_INT(PARTIAL(10, 200, 8, 5), 0);
	CHECK_INT(PARTIAL(10, 11, 8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1), 0);
	CHECK_INT(PARTIAL(10, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255), 0);
	CHECK_INT(PARTIAL(10, 6, 18, 255, 255, 255, 255, 15), 0);
	for (uint32_t seed = 1, i = 0; i < 20000; i++) {
		for (size_t j = 0; j < sizeof(noise); j++)
			noise[j] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
		noise[0] = 10;
		noise[1] = (uint8_t)(i % 70);
		CHECK(answer__rejected(noise, i % 64 + 1, message, sizeof(message)) >= 0);
	}
}

TEST(send_body_is_bounded)
{
	struct body b = { .length = 0 };
	FILE *f = body__open(&b);
	char block[4096];

	memset(block, 'x', sizeof(block));
	CHECK(fwrite(block, 1, 100, f) == 100 && !fclose(f));
	CHECK(b.length == 100 && !b.too_large && b.data[99] == 'x');
	f = body__open(&b);
	for (size_t i = 0; i < BODY_MAX / sizeof(block) + 2; i++)
		fwrite(block, 1, sizeof(block), f);
	fclose(f);
	CHECK(b.too_large && b.length <= BODY_MAX);
	f = body__open(&b);
	CHECK(!fclose(f) && !b.length && !b.too_large);
	CHECK_INT(body__unpacked(&b), 0);
	/* The end of what gzip writes: 70,000 bytes. */
	f = body__open(&b);
	fwrite("0123456789012345\x70\x11\x01\x00", 1, 20, f);
	fclose(f);
	CHECK_INT(body__unpacked(&b), 70000);
	body__free(&b);
}

/* -- receivers ------------------------------------------------------------------------------------------------ */

static const struct receiver_mode cpu = { "cpu", "cpu", "nanoseconds", "samples", "count" };

static void make(const char *receiver, const struct receiver_mode *mode, size_t length, struct receiver_request *to)
{
	struct body body = { .data = (uint8_t *)"\x1f\x8b\xff", .length = length };
	const struct receiver_batch b = {
		.body = &body, .url = "http://h/x?key=1", .service = "a\"{},=b\xc3\xa4", .host = "", .mode = mode, .from = 5 * SECOND + 1,
		.until = 7 * SECOND - 1,
	};

	CHECK_INT(receiver__make(receiver__by_name(receiver), &b, to), 0);
}

TEST(send_requests_of_otlp)
{
	struct receiver_request r = { .url = NULL };

	CHECK(!receiver__by_name("") && !receiver__by_name("otl"));
	make("otlp", NULL, 3, &r);
	CHECK_STRING(r.http.url, "http://h/x?key=1");
	CHECK_STRING(r.http.type, "application/x-protobuf");
	CHECK_STRING(r.http.encoding, "gzip");
	CHECK(r.http.length == 3 && !r.http.part_count);
	receiver_request__free(&r);
}

static void unpack(const struct http_request *r, char *to, size_t size)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)r->data, .avail_in = (uInt)r->length, .next_out = (Bytef *)to, .avail_out = (uInt)size - 1 };

	inflateInit2(&z, 15 + 16);
	CHECK_INT(inflate(&z, Z_FINISH), Z_STREAM_END);
	to[z.total_out] = '\0';
	inflateEnd(&z);
}

TEST(send_requests_of_pyroscope)
{
	static const struct receiver_mode one = { "event", "events", "count", "events", "count" };
	struct receiver_request r = { .url = NULL };

	make("pyroscope", &cpu, 3, &r);
	/* What has a sense in a name there is none of the service's. */
	CHECK_STRING(r.http.url, "http://h/x?key=1&name=a_____b__%7Bhost%3D_%7D&from=5&until=7&spyName=extprof");
	CHECK(r.http.part_count == 2 && r.parts[0].length == 3);
	CHECK_STRING(r.parts[0].name, "profile");
	CHECK_STRING(r.parts[1].name, "sample_type_config");
	CHECK_STRING((const char *)r.parts[1].data, "{\"samples\":{\"units\":\"count\",\"aggregation\":\"sum\",\"sampled\":true},"
		     "\"cpu\":{\"units\":\"nanoseconds\",\"aggregation\":\"sum\",\"sampled\":true}}");
	receiver_request__free(&r);
	make("pyroscope", &one, 3, &r);
	CHECK_STRING((const char *)r.parts[1].data, "{\"events\":{\"units\":\"count\",\"aggregation\":\"sum\",\"sampled\":true}}");
	receiver_request__free(&r);
}

#define PARCA(name) "{\"normalized\":true,\"series\":[{\"labels\":{\"labels\":[{\"name\":\"__name__\",\"value\":\"" name "\"}," \
	"{\"name\":\"service_name\",\"value\":\"a_____b__\"},{\"name\":\"host\",\"value\":\"_\"}]},\"samples\":[{\"rawProfile\":\""

TEST(send_requests_of_parca)
{
	static const char *const base64[] = { "", "Hw==", "H4s=", "H4v/" };
	struct receiver_mode mode = cpu;
	struct receiver_request r = { .url = NULL };
	char wanted[512];

	for (size_t length = 0; length < 4; length++) {
		make("parca", &mode, length, &r);
		snprintf(wanted, sizeof(wanted), PARCA("process_cpu") "%s\"}]}]}", base64[length]);
		CHECK_STRING((const char *)r.http.data, wanted);
		CHECK_INT(r.http.length, strlen(wanted));
		CHECK_STRING(r.http.type, "application/json");
		receiver_request__free(&r);
	}
	strcpy(mode.name, "offcpu");
	make("parca", &mode, 0, &r);
	CHECK(!strncmp(r.http.data, PARCA("off_cpu"), strlen(PARCA("off_cpu"))));
	receiver_request__free(&r);
}

TEST(send_requests_of_datadog)
{
	const struct receiver *d = receiver__by_name("datadog");
	struct receiver_request r = { .url = NULL };

	make("datadog", &cpu, 3, &r);
	CHECK(r.http.part_count == 2 && r.parts[1].length == 3);
	CHECK_STRING(r.http.url, "http://h/x?key=1");
	CHECK_STRING(r.parts[0].name, "event");
	CHECK_STRING(r.parts[0].file, "event.json");
	CHECK_STRING(r.parts[1].name, "profile.pprof");
	CHECK_STRING((const char *)r.parts[0].data,
		     "{\"attachments\":[\"profile.pprof\"],\"tags_profiler\":\"service:a_____b__,host:_,language:ruby,runtime:ruby,"
		     "profiler_version:unknown\",\"start\":\"1970-01-01T00:00:05.000000001Z\",\"end\":\"1970-01-01T00:00:06.999999999Z\","
		     "\"family\":\"ruby\",\"version\":\"4\",\"endpoint_counts\":null,\"internal\":{},\"info\":{}}");
	receiver_request__free(&r);
	CHECK_STRING(d->headers[0], "DD-EVP-ORIGIN: extprof");
	CHECK_STRING(d->modes, "cpu,wall,alloc");
}

/* Each INSERT's text is in the URL, and its rows are what gzip unpacks; the same rows are the same bytes. */
TEST(send_requests_of_clickhouse)
{
	static const char text[] = "INSERT INTO a FORMAT X\n{\"n\":\"\\nINSERT INTO c\"}\n{}\nINSERT INTO b FORMAT X\n{\"m\":1}\n";
	struct body body = { .data = (uint8_t *)(uintptr_t)text, .length = sizeof(text) - 1 };
	struct receiver_batch b = { .body = &body, .url = "http://h/?database=d", .service = "s", .host = "h" };
	const struct receiver *receiver = receiver__by_name("clickhouse");
	struct receiver_request r = { .url = NULL }, again = { .url = NULL };
	char unpacked[128];

	CHECK(receiver->once && receiver->plain && !receiver->each_mode);
	CHECK_INT(receiver__make(receiver, &b, &r), 0);
	CHECK_STRING(r.before.url, "http://h/?database=d&query=INSERT%20INTO%20a%20FORMAT%20X&insert_distributed_sync=1");
	CHECK_STRING(r.http.url, "http://h/?database=d&query=INSERT%20INTO%20b%20FORMAT%20X&insert_distributed_sync=1");
	CHECK_STRING(r.before.encoding, "gzip");
	unpack(&r.before, unpacked, sizeof(unpacked));
	CHECK_STRING(unpacked, "{\"n\":\"\\nINSERT INTO c\"}\n{}\n");
	unpack(&r.http, unpacked, sizeof(unpacked));
	CHECK_STRING(unpacked, "{\"m\":1}\n");
	CHECK_INT(receiver__make(receiver, &b, &again), 0);
	CHECK(again.http.length == r.http.length && !memcmp(again.http.data, r.http.data, r.http.length));
	receiver_request__free(&again);
	receiver_request__free(&r);
	/* Who wants it otherwise has said so.  Half of a body is none. */
	b.url = "http://h/?insert_distributed_sync=0";
	CHECK_INT(receiver__make(receiver, &b, &r), 0);
	CHECK_STRING(r.http.url, "http://h/?insert_distributed_sync=0&query=INSERT%20INTO%20b%20FORMAT%20X");
	receiver_request__free(&r);
	body.length = 30;
	CHECK_INT(receiver__make(receiver, &b, &r), -EINVAL);
	receiver_request__free(&r);
}

/* Another host of a cluster has the same rows.  Receivers that know no piece again are another one by each letter of the URL. */
TEST(send_what_a_state_is_of)
{
	static const struct {
		const char *kind, *url, *key;
	} cases[] = {
		{ "clickhouse", "http://ch1:8123/?database=profiles", "clickhouse database=profiles" },
		{ "clickhouse", "https://ch2/x?max_memory_usage=9&database=profiles&insert_quorum=2", "clickhouse database=profiles" },
		{ "clickhouse", "http://ch1:8123/?database=other", "clickhouse database=other" },
		{ "clickhouse", "http://ch1:8123/?my_database=no&databases=no&database=", "clickhouse database=" },
		{ "clickhouse", "http://database=no/", "clickhouse database=" },
		{ "otlp", "http://h/v1?database=d", "otlp http://h/v1?database=d" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *key = receiver__key(receiver__by_name(cases[i].kind), cases[i].url);

		CHECK_STRING(key, cases[i].key);
		free(key);
	}
}

TEST(send_modes_have_names)
{
	char to[32];

	CHECK(receiver_mode__set(to, "alloc_space"));
	CHECK_STRING(to, "alloc_space");
	CHECK(receiver_mode__set(to, "") && !*to);
	CHECK(receiver_mode__set(to, "0123456789012345678901234567890"));
	CHECK(!receiver_mode__set(to, "01234567890123456789012345678901") && !*to);
	CHECK(!receiver_mode__set(to, "a\"b") && !*to);
	CHECK(!receiver_mode__set(to, "a\n") && !*to);
}

/* -- what was sent ------------------------------------------------------------------------------------------- */

#define TO "otlp http://localhost/v1"
#define HEAD "extprof-push 2\nto " TO "\ntotals 4 3 2 1 5\n"

static int read_text(const char *text)
{
	struct state s = { .directory = -1, .lock = -1, .to = strdup(TO) };
	int err = state__read(&s, text);

	state__close(&s);
	return err;
}

TEST(send_state_is_what_it_was)
{
	static const char *const names[] = { "m.extprof", "a b.extprof", "z.extprof", "extprof-20260101-000000-000Z.extprof" };
	struct state s = { .directory = -1, .lock = -1, .to = strdup(TO), .totals = { 9, 8, 7, UINT64_MAX, 6 } };
	struct state t = { .directory = -1, .lock = -1, .to = strdup(TO) };
	struct state_segment *g;
	char *text, *again;

	for (size_t i = 0; i < 4; i++) {
		g = state__add(&s, names[i], 100 + i);
		g->sent = 200 + i;
		g->modes = (uint32_t)i;
		g->from = 300 + i;
		g->until = 400 + i;
		g->piece = i & 1 ? 600 + i : 0;
		g->done = i & 1;
		g->inode = UINT64_MAX;
		g->time = 5;
		g->size = 6;
	}
	text = state__write(&s);
	CHECK_INT(state__read(&t, text), 0);
	again = state__write(&t);
	CHECK_STRING(again, text);
	CHECK(t.totals.lost == UINT64_MAX && t.totals.in_a_row == 6 && t.count == 4);
	for (size_t i = 0; i < 4; i++) {
		g = state__find(&t, names[i]);
		CHECK(g && g->begin == 100 + i && g->sent == 200 + i && g->modes == i && g->from == 300 + i && g->until == 400 + i && g->done == (i & 1) &&
		      g->piece == (i & 1 ? 600 + i : 0));
	}
	CHECK(!state__find(&t, "b.extprof"));
	state__remove(&t, 0);
	CHECK(t.count == 3 && !state__find(&t, "a b.extprof") && state__find(&t, "z.extprof"));
	free(text);
	free(again);
	state__close(&s);
	state__close(&t);
}

TEST(send_state_that_is_damaged)
{
	static const char *const wrong[] = {
		"", "\n", "extprof-push 2\n", "extprof-push 1\nto " TO "\ntotals 4 3 2 1\n", "extprof-push 2\nto otlp http://other\ntotals 4 3 2 1 5\n",
		"extprof-push 2\nto " TO "\n", "extprof-push 2\nto " TO "\ntotals 4 3 2 1\n", "extprof-push 2\nto " TO "\ntotals 4 3 2 1 -1\n",
		"extprof-push 2\nto " TO "\ntotals 4 3 2 1 99999999999999999999\n", HEAD "x\n", HEAD "segment\n",
		HEAD "segment 1 2 3 9 7 0 4 5 a.extprof\n", HEAD "segment 1 2 3 9 7 0 4 5 6 \n", HEAD "segment 1 2 3 9 7 0 4 5 6 a\n",
		HEAD "segment 1 2 3 9 7 0 4 5 6 ../a.extprof\n", HEAD "segment 1 2 3 9 7 0 4 5 6 /a.extprof\n",
		HEAD "segment 1 2 3 9 7 0 4 5 6 .a.extprof\n", HEAD "segment 1 2 3 9 7 2 4 5 6 a.extprof\n",
		HEAD "segment 1 2 4294967296 9 7 0 4 5 6 a.extprof\n", HEAD "segment 1 2 3 9 7 0 4 5 6  a.extprof",
		HEAD "segment 1 2 3 9 7 0 4 5 6 a.extpro", HEAD "segment +1 2 3 9 7 0 4 5 6 a.extprof\n",
		HEAD "segment 1  2 3 9 7 0 4 5 6 a.extprof\n", HEAD "segment 0x1 2 3 9 7 0 4 5 6 a.extprof\n",
		HEAD "segment 1 2 3 9 7 0 4 5 6 a\x1b.extprof\n", HEAD "segment 18446744073709551616 2 3 9 7 0 4 5 6 a.extprof\n",
		HEAD "segment 1 2 3 9 7 0 4 5 6 a.extprof\nsegment 1 2 3 9 7 0 4 5 6 a.extprof\n", HEAD "\n",
		HEAD "piece 5 a.extprof\n", HEAD "segment 1 2 3 9 7 0 4 5 6 a.extprof\npiece 0 a.extprof\n",
		HEAD "segment 1 2 3 9 7 0 4 5 6 a.extprof\npiece 5 b.extprof\n", HEAD "segment 1 2 3 9 7 0 4 5 6 a.extprof\npiece 5a.extprof\n",
		HEAD "segment 1 2 3 9 7 0 4 5 6 a.extprof\npiece 5 a.extprof\npiece 5 a.extprof\n",
	};
	char *text = strdup(HEAD "segment 1 2 3 9 7 0 4 5 6 a.extprof\npiece 8 a.extprof\nsegment 1 2 3 9 7 1 4 5 6 b.extprof\n");
	size_t length = strlen(text);

	CHECK_INT(read_text(text), 0);
	CHECK_INT(read_text(HEAD), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (read_text(wrong[i]) != -EBADMSG)
			CHECK_STRING(wrong[i], "is damaged");
	/* Cut off anywhere but at the end of a line, and with any byte changed to a quote. */
	for (size_t i = 0; i < length; i++) {
		char saved = text[i];

		text[i] = '\0';
		CHECK_INT(read_text(text), i && text[i - 1] == '\n' && i >= strlen(HEAD) ? 0 : -EBADMSG);
		text[i] = saved;
	}
	free(text);
}

TEST(send_state_has_a_bound)
{
	struct state s = { .directory = -1, .lock = -1, .to = strdup(TO) };
	char name[32];

	for (unsigned int i = 0; i < STATE_SEGMENTS_MAX; i++) {
		snprintf(name, sizeof(name), "%06u.extprof", i);
		CHECK(state__add(&s, name, i));
	}
	CHECK(!state__add(&s, "x.extprof", 1));
	CHECK(state__find(&s, "019999.extprof")->begin == 19999);
	state__close(&s);
}

static int open_state(struct state *s, const char *to, char *why, size_t size)
{
	return state__open(s, "test_send.folder", NULL, to, why, size);
}

TEST(send_state_in_a_folder)
{
	struct state s, other;
	char why[256], path[512];
	pid_t pid;
	int status;

	CHECK(!system("rm -rf test_send.folder && mkdir test_send.folder && echo untouched > test_send.victim"));
	CHECK_INT(state__open(&s, "gone", NULL, TO, why, sizeof(why)), -ENOENT);
	CHECK_INT(open_state(&s, TO, why, sizeof(why)), 0);
	CHECK(state__add(&s, "a.extprof", 5) && s.changed);
	CHECK_INT(state__save(&s), 0);
	CHECK(!s.changed);
	snprintf(path, sizeof(path), "test_send.folder/%s", s.base);
	/* A lock is of a process. */
	pid = fork();
	if (!pid)
		_exit(open_state(&other, TO, why, sizeof(why)) == -EBUSY ? 0 : 1);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	/* Each receiver has its own. */
	CHECK_INT(open_state(&other, TO "x", why, sizeof(why)), 0);
	CHECK(!other.count && strcmp(other.base, s.base));
	state__close(&other);
	state__close(&s);
	CHECK_INT(open_state(&s, TO, why, sizeof(why)), 0);
	CHECK(s.count == 1 && s.list[0].begin == 5);
	state__close(&s);
	/* A link is neither read nor written through, and a folder is none. */
	CHECK(!unlink(path) && !symlink("../test_send.victim", path));
	CHECK_INT(open_state(&s, TO, why, sizeof(why)), -ELOOP);
	CHECK(!unlink(path) && !mkdir(path, 0700));
	CHECK_INT(open_state(&s, TO, why, sizeof(why)), -EBADMSG);
	CHECK(!rmdir(path));
	CHECK_INT(state__open(&s, NULL, "test_send.folder/", TO, why, sizeof(why)), -EINVAL);
	CHECK_INT(state__open(&s, NULL, "test_send.folder/..", TO, why, sizeof(why)), -EINVAL);
	CHECK_INT(state__open(&s, NULL, "test_send.folder/state", TO, why, sizeof(why)), 0);
	/* What was left by a process that was killed is no obstacle, and no way to another file. */
	CHECK(!symlink("../test_send.victim", "test_send.folder/state.new"));
	CHECK_INT(state__save(&s), 0);
	CHECK(!access("test_send.folder/state", F_OK) && access("test_send.folder/state.new", F_OK));
	/* What cannot be written leaves the old one. */
	CHECK(!mkdir("test_send.folder/state.new", 0700));
	CHECK(state__save(&s) < 0);
	CHECK(!access("test_send.folder/state", F_OK));
	state__close(&s);
	CHECK(!system("grep -q untouched test_send.victim && rm -rf test_send.folder test_send.victim"));
}
