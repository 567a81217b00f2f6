/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats that have files of their own: what fails, and what they are called.  What they say is compared
 * by formats.py. */
#include "test.h"

#include <zlib.h>

#include <errno.h>
#include <stdlib.h>

#include "no_memory.h"
#include "output/output.h"
#include "pprof.pb-c.h"
#include "profile_fixture.h"

static const struct output_format *const formats[] = {
	&output_pprof, &output_datadog, &output_speedscope, &output_json, &output_jsonl, &output_tree, &output_table, &output_callgrind, &output_otlp, &output_otlp_json,
	&output_clickhouse,
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

/* Some stacks, by process and thread. */
static void set_up_report(struct report *r)
{
	struct groups all;

	set_up();
	groups__parse("cgroup,process,thread", &all);
	resolver.groups = all;
	for (uint32_t word = 0; word < 10; word++) {
		start();
		frame(size_id, 0);
		frame(bar_id, word);
		frame(foo_id, 4);
		frame(main_id, 0);
		send(1);
	}
	build_report(r, REPORT_BY_LINE);
	strcpy(r->meta.command, "ruby app.rb");
	r->meta.period = 1000;
}

static int write_to(const struct output_format *format, const struct report *r, FILE *to)
{
	struct output_options o = { .top = 20 };

	return format->write(r, 1, &o, to);
}

TEST(formats_are_chosen_by_suffix)
{
	CHECK(output__by_path("a.pb.gz") == &output_pprof);
	CHECK(output__by_path("a.PPROF") == &output_pprof);
	CHECK(output__by_path("a.speedscope.json") == &output_speedscope);
	CHECK(output__by_path("a.json") == &output_json);
	CHECK(output__by_path("a.jsonl") == &output_jsonl);
	CHECK(output__by_path("a.tree") == &output_tree);
	CHECK(output__by_path("a.clickhouse") == &output_clickhouse);
	CHECK(output__by_path("a.otlp") == &output_otlp);
	CHECK(output__by_path("a.otlp.gz") == &output_otlp);
	CHECK(output__by_path("a.otlp.json") == &output_otlp_json);
	CHECK(output__by_path("a.OTLP.json.gz") == &output_otlp_json);
	CHECK(output__by_path("json") == NULL);
	CHECK(output__by_path(".pprof") == NULL);
	CHECK(output__by_name("pprof") == &output_pprof);
	CHECK(output__by_name("speedscope") == &output_speedscope);
}

TEST(formats_say_that_a_device_is_full)
{
	struct report r;

	set_up_report(&r);
	for (size_t i = 0; i < FORMATS; i++) {
		FILE *full = fopen("/dev/full", "w");

		CHECK(full != NULL);
		setvbuf(full, NULL, _IONBF, 0);
		CHECK_INT(write_to(formats[i], &r, full), -ENOSPC);
		fclose(full);
	}
	report__free(&r);
	tear_down();
}

/* Each allocation of ours fails once: that is said, and nothing leaks. */
TEST(formats_say_when_memory_is_short)
{
	struct report r;

	set_up_report(&r);
	for (size_t i = 0; i < FORMATS; i++) {
		unsigned int at, err = 1;

		for (at = 1; err && at < 1000; at++) {
			FILE *null = fopen("/dev/null", "w");

			CHECK(null != NULL);
			no_memory_at = at;
			err = (unsigned int)-write_to(formats[i], &r, null);
			no_memory_at = 0;
			fclose(null);
			CHECK(!err || err == ENOMEM);
		}
		/* Of jsonl one is ours, the others are those of jansson. */
		CHECK(at > (formats[i] == &output_jsonl ? 2 : 5) && at < 1000);
	}
	report__free(&r);
	tear_down();
}

/* Machines and versions of extprof that know nothing of each other give a stack this number, and rows that are stored have it.  A
 * test that fails here is right: with another number no stored sample has a name any more. */
TEST(formats_clickhouse_hash_is_for_ever)
{
	set_up();
	start();
	frame(size_id, 0);
	frame(bar_id, 4);
	frame(main_id, 0);
	send(1);
	CHECK(strstr(render(&output_clickhouse, true, false), "\"Hash\":\"8578949230347214737\""));
	CHECK(strstr(written, "\"StackHash\":\"8578949230347214737\""));
	tear_down();
}

/* What a file of pprof's has, unpacked. */
static Pprof__Profile *pprof_of(const struct report *reports, uint32_t count)
{
	static uint8_t packed[1 << 16], whole[1 << 18];
	struct output_options o = { 0 };
	z_stream z = { .next_in = packed, .next_out = whole, .avail_out = sizeof(whole) };
	FILE *f = fmemopen(packed, sizeof(packed), "w");

	output_pprof.write(reports, count, &o, f);
	z.avail_in = (uInt)ftell(f);
	fclose(f);
	inflateInit2(&z, 15 + 16);
	inflate(&z, Z_FINISH);
	inflateEnd(&z);
	return pprof__profile__unpack(NULL, z.total_out, whole);
}

/* pprof looks for numbers among numbers, and for patterns among texts. */
TEST(formats_pprof_labels_are_texts_and_numbers)
{
	static const struct {
		const char *value;
		int64_t number;		/* 0: it is none */
	} cases[] = {
		{ "42", 42 }, { "-7", -7 }, { "042", 0 }, { "4x", 0 }, { "1e3", 0 }, { "", 0 },
		{ "999999999999999999", 999999999999999999 }, { "1999999999999999999", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct frame f = FRAME_INIT(FRAME_LABEL);
		int64_t number = 0;
		bool text = false;
		struct report r;
		Pprof__Profile *p;
		uint32_t stack[1];

		set_up();
		groups__parse("label:tenant", &resolver.groups);
		f.key = "tenant";
		f.name = cases[i].value;
		stack[0] = frame_table__add(&frames, &f);
		tree__add(&tree, stack, 1, &one_sample);
		CHECK_INT(build_report(&r, REPORT_BY_LINE), 0);
		p = pprof_of(&r, 1);
		CHECK(p && p->n_sample == 1 && p->n_sample_type == 2);
		for (size_t j = 0; p && j < p->sample[0]->n_label; j++) {
			const Pprof__Label *l = p->sample[0]->label[j];

			CHECK_STRING(p->string_table[l->key], "tenant");
			if (l->str && !strcmp(p->string_table[l->str], cases[i].value))
				text = true;
			number += l->num;
		}
		CHECK_INT(number, cases[i].number);
		CHECK_INT(text, *cases[i].value != 0);
		pprof__profile__free_unpacked(p, NULL);
		report__free(&r);
		tear_down();
	}
}

/* A mode with one amount has one type of samples. */
TEST(formats_pprof_has_no_type_twice)
{
	struct report r[2];
	Pprof__Profile *p;

	set_up();
	start();
	frame(foo_id, 0);
	send(3);
	CHECK_INT(build_report(&r[0], REPORT_BY_LINE), 0);
	CHECK_INT(build_report(&r[1], REPORT_BY_LINE), 0);
	r[0].meta.mode = &mode_syscall;
	p = pprof_of(r, 2);
	CHECK(p && p->n_sample_type == 3 && p->sample[0]->n_value == 3);
	CHECK(p && p->sample[0]->value[0] == 3 && p->sample[0]->value[1] == 0);
	CHECK(p && p->sample[1]->value[0] == 0 && p->sample[1]->value[1] == 3 && p->sample[1]->value[2] == 3);
	pprof__profile__free_unpacked(p, NULL);
	report__free(&r[0]);
	report__free(&r[1]);
	tear_down();
}

/* Of different rates only times are added up; of the other mode both. */
TEST(formats_pprof_has_no_count_of_different_rates)
{
	const struct weight weight = { .value = 70, .count = 3 };
	struct report r[2];
	Pprof__Profile *p;

	set_up();
	start();
	frame(foo_id, 0);
	send(1);
	CHECK_INT(build_report(&r[0], REPORT_BY_LINE), 0);
	CHECK_INT(build_report(&r[1], REPORT_BY_LINE), 0);
	r[0].meta.mode = &mode_wall;
	r[0].meta.rates_differ = true;
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t j = 1; j < r[i].node_count; j++)
			if (r[i].nodes[j].weight.count)
				r[i].nodes[j].weight = weight;
	p = pprof_of(r, 2);
	CHECK(p && p->n_sample_type == 3 && p->n_sample == 2 && p->sample[0]->n_value == 3);
	CHECK_STRING(p->string_table[p->sample_type[0]->type], "wall");
	CHECK_STRING(p->string_table[p->sample_type[0]->unit], "nanoseconds");
	CHECK_STRING(p->string_table[p->sample_type[2]->type], "cpu");
	CHECK(p->sample[0]->value[0] == 70 && p->sample[0]->value[1] == 0 && p->sample[0]->value[2] == 0);
	CHECK(p->sample[1]->value[0] == 0 && p->sample[1]->value[1] == 3 && p->sample[1]->value[2] == 70);
	pprof__profile__free_unpacked(p, NULL);
	p = pprof_of(r, 1);
	CHECK(p && p->n_sample_type == 1 && p->default_sample_type == p->sample_type[0]->type);
	pprof__profile__free_unpacked(p, NULL);
	report__free(&r[0]);
	report__free(&r[1]);
	tear_down();
}

/* One function composes each text, from parts that nobody has to find in it. */
TEST(frames_compose_their_texts)
{
	static const struct {
		struct frame frame;
		const char *text, *bare;
	} cases[] = {
#define F(kind_, name_, ...) { .kind = FRAME_##kind_, .name = name_, ##__VA_ARGS__ }
		{ F(RUBY, "Foo#bar"), "Foo#bar", "Foo#bar" },
		{ F(C, "block in C", .bracketed = true), "[block in C]", "block in C" },
		{ F(GC, "mark", .bracketed = true), "[GC mark]", "mark" },
		{ F(GC, "", .bracketed = true), "[GC]", "" },
		{ F(NO_RUBY, "native thread ruby", .bracketed = true), "[native thread ruby]", "native thread ruby" },
		{ F(THREAD, "main", .tid = 42), "[thread main (42)]", "main" },
		{ F(THREAD, "x (7)", .tid = 42), "[thread x (7) (42)]", "x (7)" },
		/* No tid: the number is a part of its name. */
		{ F(THREAD, "x (7)"), "[thread x (7)]", "x (7)" },
		{ F(THREAD, "ruby", .tid = 42, .role = ROLE_NATIVE), "[native thread ruby (42)]", "native thread ruby" },
		{ F(THREAD, "y", .tid = 46, .role = ROLE_UNKNOWN), "[unknown thread y (46)]", "unknown thread y" },
		{ F(THREAD, "", .known = KNOWN_NOT), "[unknown thread]", "unknown thread" },
		{ F(THREAD, "", .known = KNOWN_MERGED), "[merged threads]", "merged threads" },
		{ F(THREAD, "", .known = KNOWN_CROWDED), "[one of too many threads]", "one of too many threads" },
		{ F(PROCESS, "puma", .pid = 42), "[process 42 puma]", "puma" },
		{ F(PROCESS, "", .pid = 42), "[process 42]", "42" },
		{ F(PROCESS, ""), "[process]", "process" },
		{ F(PROCESS, "", .known = KNOWN_MERGED), "[merged processes]", "merged processes" },
		{ F(CGROUP, "/a b"), "[cgroup /a b]", "/a b" },
		{ F(CGROUP, "", .known = KNOWN_NOT), "[unknown cgroup]", "unknown cgroup" },
		{ F(LABEL, "GET /x", .key = "request"), "[request=GET /x]", "GET /x" },
		{ F(LABEL, "", .key = "request"), "[request=]", "" },
		{ F(LABEL, "", .key = "request", .known = KNOWN_NOT_SET), "[no request]", "" },
		{ F(LABEL, "", .key = "request", .known = KNOWN_EXPIRED), "[request: expired]", "expired" },
		{ F(LABEL, "", .key = "request", .known = KNOWN_UNREAD), "[request: not read]", "not read" },
		{ F(LABEL, "", .key = "request", .known = KNOWN_CROWDED), "[request: one of too many values]",
		  "one of too many values" },
		{ F(LABEL, "", .known = KNOWN_NOT), "[unknown label]", "unknown label" },
		{ F(STATE, "io recvfrom socket", .bracketed = true), "[io recvfrom socket]", "io recvfrom socket" },
		{ F(CLASS, "String"), "String", "String" },
#undef F
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text text = { 0 }, bare = { 0 };

		frame__add_text(&cases[i].frame, &text);
		frame__add_bare(&cases[i].frame, &bare);
		CHECK_STRING(text__string(&text), cases[i].text);
		CHECK_STRING(text__string(&bare), cases[i].bare);
		text__free(&text);
		text__free(&bare);
	}
}

/* A code has one number, so has what is equal in all its parts, but for those whose parts come later. */
TEST(frames_have_numbers)
{
	struct frame f = FRAME_INIT(FRAME_LABEL);
	struct frame_table t;
	uint32_t code, label, later;

	CHECK_INT(frame_table__init(&t), 0);
	CHECK_STRING(frame_table__get(&t, FRAME_MERGED)->name, "merged");
	code = frame_table__code(&t, code__make(CODE_RUBY, 7, 12, true));
	CHECK(code && frame_table__code(&t, code__make(CODE_RUBY, 7, 12, true)) == code);
	CHECK(frame_table__code(&t, code__make(CODE_RUBY, 7, 12, false)) != code);
	CHECK(frame_table__code(&t, code__make(CODE_NATIVE, 7, 12, true)) != code);
	CHECK_INT(code__number(t.codes[code]), 7);
	CHECK_INT(code__line(t.codes[code]), 12);
	CHECK_INT(code__space(t.codes[code]), CODE_RUBY);
	CHECK_INT(code__number(code__make(CODE_KERNEL, CODE_NUMBER_MAX, INT32_MAX, true)), CODE_NUMBER_MAX);
	f.key = "a";
	f.name = "b";
	CHECK_INT(frame_table__find(&t, &f), 0);
	label = frame_table__add(&t, &f);
	CHECK(label && frame_table__add(&t, &f) == label && frame_table__find(&t, &f) == label);
	f.key = "b";
	f.name = "a";
	CHECK(frame_table__add(&t, &f) != label);
	later = frame_table__later(&t, FRAME_THREAD);
	CHECK(later != frame_table__later(&t, FRAME_THREAD));
	f = (struct frame)FRAME_INIT(FRAME_THREAD);
	f.name = "worker";
	CHECK_INT(frame_table__set(&t, later, &f), 0);
	CHECK_STRING(frame_table__get(&t, later)->name, "worker");
	/* Beyond the bounds. */
	t.max = t.count;
	CHECK_INT(frame_table__code(&t, code__make(CODE_RUBY, 8, 1, false)), FRAME_NO_ROOM);
	CHECK_INT(frame_table__code(&t, code__make(CODE_RUBY, 7, 12, true)), code);
	CHECK_STRING(frame_table__get(&t, FRAME_NO_ROOM)->name, "one of too many frames");
	frame_table__free(&t);
}

TEST(frame_table_shares_its_room)
{
	struct budget_share one = { .user = 7 }, other = { .user = 7 };
	struct frame_table t;
	uint32_t n = 0, code;

	CHECK_INT(frame_table__init(&t), 0);
	t.shares.max = 1000;
	one.of = other.of = &t.shares;
	while (n < 2000 && frame_table__code_of(&t, code__make(CODE_RUBY, n, 1, false), &one) != FRAME_NO_ROOM)
		n++;
	CHECK_INT(n, 250);
	/* What is there is not counted again, and has no bound. */
	code = frame_table__code_of(&t, code__make(CODE_RUBY, 0, 1, false), &one);
	CHECK(code && code != FRAME_NO_ROOM);
	CHECK_INT(frame_table__code_of(&t, code__make(CODE_RUBY, 0, 1, false), &other), code);
	CHECK_INT(other.used, 0);
	CHECK(frame_table__code_of(&t, code__make(CODE_RUBY, 1000, 1, false), &other) != FRAME_NO_ROOM);
	CHECK_INT(other.used, 1);
	frame_table__free(&t);
}

TEST(frames_without_code_have_a_bound)
{
	struct frame f = FRAME_INIT(FRAME_NO_RUBY);
	struct frame_table t;
	char name[32];
	uint32_t last = 0;

	frame_table__init(&t);
	f.name = name;
	f.bracketed = true;
	for (uint32_t i = 0; i < FRAMES_NO_CODE_MAX + 100; i++) {
		snprintf(name, sizeof(name), "native thread %u", i);
		last = frame_table__add(&t, &f);
		CHECK(last != 0);
	}
	CHECK_STRING(frame_table__get(&t, last)->name, "one of too many native threads");
	CHECK_INT(frame_table__later(&t, FRAME_THREAD), 0);
	strcpy(name, "native thread 0");
	CHECK_INT(frame_table__add(&t, &f), 1);
	f.kind = FRAME_DETAIL;
	CHECK_INT(frame_table__add(&t, &f), 0);
	frame_table__free(&t);
}
