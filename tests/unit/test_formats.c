/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats that have files of their own: what fails, and what they are called.  What they say is compared
 * by formats.py. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "no_memory.h"
#include "output/group.h"
#include "output/output.h"
#include "profile_fixture.h"

static const struct output_format *const formats[] = { &output_pprof, &output_speedscope };

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
	struct output_options o = { 0 };

	return format->write(r, 1, &o, to);
}

TEST(formats_are_chosen_by_suffix)
{
	CHECK(output__by_path("a.pb.gz") == &output_pprof);
	CHECK(output__by_path("a.PPROF") == &output_pprof);
	CHECK(output__by_path("a.speedscope.json") == &output_speedscope);
	CHECK(output__by_path("a.json") == &output_folded);
	CHECK(output__by_path(".pprof") == &output_folded);
	CHECK(output__by_name("pprof") == &output_pprof);
	CHECK(output__by_name("speedscope") == &output_speedscope);
}

TEST(formats_say_that_a_device_is_full)
{
	struct report r;

	set_up_report(&r);
	for (size_t i = 0; i < 2; i++) {
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
	for (size_t i = 0; i < 2; i++) {
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
		CHECK(at > 5 && at < 1000);
	}
	report__free(&r);
	tear_down();
}

TEST(formats_take_groups_apart)
{
	static const struct {
		struct report_label label;
		const char *name;
	} cases[] = {
		{ { .name = (char *)"[thread main (42)]", .kind = LABEL_THREAD, .number = 42 }, "main" },
		{ { .name = (char *)"[thread x (7) (42)]", .kind = LABEL_THREAD, .number = 42 }, "x (7)" },
		/* No tid: the number is a part of its name. */
		{ { .name = (char *)"[thread x (7)]", .kind = LABEL_THREAD }, "x (7)" },
		{ { .name = (char *)"[thread x (142)]", .kind = LABEL_THREAD, .number = 42 }, "x (142)" },
		{ { .name = (char *)"[native thread ruby (42)]", .kind = LABEL_THREAD, .number = 42 },
		  "native thread ruby" },
		{ { .name = (char *)"[unknown thread]", .kind = LABEL_THREAD }, "unknown thread" },
		{ { .name = (char *)"[process 42 puma]", .kind = LABEL_PROCESS, .number = 42 }, "puma" },
		{ { .name = (char *)"[process 42]", .kind = LABEL_PROCESS, .number = 42 }, "42" },
		{ { .name = (char *)"[process]", .kind = LABEL_PROCESS }, "process" },
		{ { .name = (char *)"[process 42 x (42)]", .kind = LABEL_PROCESS, .number = 43 }, "42 x (42)" },
		{ { .name = (char *)"[cgroup /a b]", .kind = LABEL_CGROUP }, "/a b" },
		{ { .name = (char *)"[]", .kind = LABEL_CGROUP }, "[]" },
		{ { .name = (char *)"", .kind = LABEL_CGROUP }, "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text t = { 0 };

		group__add_name(&cases[i].label, &t);
		CHECK_STRING(text__string(&t), cases[i].name);
		text__free(&t);
	}
}
