/* SPDX-License-Identifier: BSD-2-Clause */
/* What -e takes, and how events are shown. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include "profile_fixture.h"
#include "source/event_spec.h"
#include "source/places.h"

TEST(event_specs)
{
	static const struct {
		const char *text;
		enum event_kind kind;
		const char *first, *second, *third, *label;
	} cases[] = {
		{ "page-faults", EVENT_PERF, "", "", "", "page-faults" },
		{ "cycles", EVENT_PERF, "", "", "", "cycles" },
		{ "sched:sched_switch", EVENT_TRACEPOINT, "sched", "sched_switch", "", "sched:sched_switch" },
		{ "libc.so.6:malloc", EVENT_FUNCTION, "libc.so.6", "malloc", "", "libc.so.6:malloc" },
		{ "/opt/a:b/libx.so:f", EVENT_FUNCTION, "/opt/a:b/libx.so", "f", "", "libx.so:f" },
		{ "/opt/lib/libx.so:f", EVENT_FUNCTION, "/opt/lib/libx.so", "f", "", "libx.so:f" },
		{ "./app:main", EVENT_FUNCTION, "./app", "main", "", "app:main" },
		{ "ruby:rb_ary_push", EVENT_FUNCTION, "ruby", "rb_ary_push", "", "ruby:rb_ary_push" },
		{ "ruby:ruby_ext:gc_phase", EVENT_USDT, "ruby", "ruby_ext", "gc_phase", "ruby_ext:gc_phase" },
		{ "/a:b:c:d", EVENT_USDT, "/a:b", "c", "d", "c:d" },
		{ "./x\033:f", EVENT_FUNCTION, "./x\033", "f", "", "x\\x1B:f" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event_spec s;
		struct text why = { 0 };

		CHECK_INT(event_spec__parse(&s, cases[i].text, &why), 0);
		CHECK_INT(s.kind, cases[i].kind);
		CHECK_STRING(s.first, cases[i].first);
		CHECK_STRING(s.second, cases[i].second);
		CHECK_STRING(s.third, cases[i].third);
		CHECK_STRING(s.label, cases[i].label);
		CHECK(s.period >= 1 && !why.length);
	}
	for (int i = 0; event_spec__perf_name(i); i++) {
		struct event_spec s;
		struct text why = { 0 };

		CHECK_INT(event_spec__parse(&s, event_spec__perf_name(i), &why), 0);
		CHECK(s.perf_type == PERF_TYPE_SOFTWARE ? s.period == 1 : s.period > 1);
	}
	CHECK(!event_spec__perf_name(-1));
}

TEST(event_specs_that_are_wrong)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "\"\" is no event" }, { "pagefaults", "page-faults" }, { "cpu-clock", "is no event" },
		{ ":", "is empty" }, { "a:", "is empty" }, { ":a", "is empty" }, { "::", "is empty" },
		{ "/a::b", "is empty" }, { "/a:b:", "is empty" }, { "sched:a/b", "is no tracepoint" },
		{ "sched:..", "is no tracepoint" },
	};
	struct event_spec s;
	struct text why = { 0 };
	char text[800];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int err = event_spec__parse(&s, cases[i].text, &why);

		if (err != -EINVAL || !strstr(text__string(&why), cases[i].says))
			test__fail(__FILE__, __LINE__, "\"%s\": %d, %s", cases[i].text, err, text__string(&why));
		text__clear(&why);
	}
	memset(text, 'a', sizeof(text) - 3);
	text[0] = '/';
	strcpy(text + sizeof(text) - 3, ":f");
	CHECK_INT(event_spec__parse(&s, text, &why), -EINVAL);
	CHECK(strstr(text__string(&why), "too long"));
	text__free(&why);
}

TEST(event_frames)
{
	static const struct mode *const modes_of_test[] = { &mode_event };
	struct event_spec specs[2];
	struct text why = { 0 };

	set_up();
	CHECK_INT(event_spec__parse(&specs[0], "page-faults", &why), 0);
	CHECK_INT(event_spec__parse(&specs[1], "./app:main", &why), 0);
	resolver.events = specs;
	resolver.event_count = 2;
	CHECK_INT(resolve__set_modes(&resolver, modes_of_test, 1), 0);
	for (uint64_t i = 0; i < 3; i++) {
		memset(&sample.event, 0, sizeof(sample.event));
		sample.event.kind = SAMPLE_RUBY;
		sample.event.vm = 1;
		sample.event.source = SOURCE_EVENT;
		sample.event.value = sample.event.count = 10;
		sample.event.detail = i;
		frame(foo_id, 3);
		frame(0, 0);
		send(1);
	}
	CHECK_STRING(folded(), "Foo#foo;[app:main] 10\nFoo#foo;[page-faults] 10\nFoo#foo;[unknown event] 10\n");
	tear_down();
}

/* The program itself has it, with its address as the kernel and the loader see it. */
__attribute__((noinline, used)) int event_test_function(int i)
{
	return i + 1;
}

TEST(event_functions_in_files)
{
	struct usdt places;
	struct diag d = { 0 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), not_elf = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && not_elf >= 0);
	CHECK_INT(places__find(fd, NULL, "event_test_function", &places, &d), 0);
	CHECK_INT(places.count, 1);
	/* The same code is there, in the file and here. */
	{
		uint8_t code[16];

		CHECK_INT(pread(fd, code, sizeof(code), (off_t)places.places[0].offset), sizeof(code));
		CHECK(!memcmp(code, (const void *)(uintptr_t)event_test_function, sizeof(code)));
	}
	CHECK_INT(places.places[0].semaphore, 0);
	CHECK_INT(places__find(fd, NULL, "event_test_functio", &places, &d), -ENOENT);
	CHECK(strstr(d.text, "there is no function event_test_functio"));
	CHECK_INT(places__find(fd, NULL, "", &places, &d), -ENOENT);
	CHECK_INT(places__find(not_elf, NULL, "f", &places, &d), -EINVAL);
	close(fd);
	close(not_elf);
}
