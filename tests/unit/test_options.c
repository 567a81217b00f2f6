/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/words.h"
#include "library/settings.h"
#include "options/time_point.h"
#include "options/values.h"
#include "output/output.h"
#include "wire/wait_details.h"

TEST(options_rate)
{
	static const struct {
		const char *text;
		uint32_t rate;	/* 0: refused */
	} cases[] = {
		{ "99", 99 }, { "1", 1 }, { "10k", 10000 }, { "10K", 10000 }, { "10khz", 10000 },
		{ "10kHz", 10000 }, { "250Hz", 250 }, { "250 hz", 250 }, { "1.5k", 1500 },
		{ "100k", 100000 }, { "100000", 100000 },
		{ "0", 0 }, { "-1", 0 }, { "", 0 }, { "k", 0 }, { "99x", 0 }, { "99 kk", 0 },
		{ "100001", 0 }, { "101k", 0 }, { "1e9", 0 }, { "nan", 0 }, { "inf", 0 },
		{ "0x10", 0 }, { "1.5", 0 }, { "99999999999999999999", 0 }, { " 99", 0 },
		{ "hz", 0 }, { "0.5", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t rate = 0;
		int err = value__rate(cases[i].text, &rate);

		if (err != (cases[i].rate ? 0 : -EINVAL) || rate != cases[i].rate)
			test__fail(__FILE__, __LINE__, "\"%s\": %d, %u", cases[i].text, err, rate);
	}
}

TEST(options_duration)
{
	static const struct {
		const char *text;
		uint64_t ms;	/* 0: refused */
	} cases[] = {
		{ "5", 5000 }, { "5s", 5000 }, { "5 s", 5000 }, { "0.5", 500 }, { "300ms", 300 },
		{ "2m", 120000 }, { "2min", 120000 }, { "1h", 3600000 }, { ".25", 250 },
		{ "0", 0 }, { "-5", 0 }, { "", 0 }, { "s", 0 }, { "5x", 0 }, { "5ss", 0 },
		{ "1e3", 0 }, { "inf", 0 }, { "9999999h", 0 }, { "0.0001", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t ns = 0;
		int err = value__duration(cases[i].text, &ns);

		if (err != (cases[i].ms ? 0 : -EINVAL) || ns != cases[i].ms * 1000000)
			test__fail(__FILE__, __LINE__, "\"%s\": %d, %llu ns", cases[i].text, err,
				   (unsigned long long)ns);
	}
}

/* --with needs one or more than two recordings, and a time to compare with. */
TEST(options_diff)
{
	static const struct {
		const char *args[8];
		bool fits;
	} cases[] = {
		{ { "a", "b" }, true }, { { "a" }, false }, { { "a", "b", "c" }, false }, { { "a", "b", "--since", "1" }, true },
		{ { "a", "--since", "1", "--with", "-1d" }, true }, { { "a", "--until", "03:10", "--with", "02:50" }, true },
		{ { "a", "--with", "-1d" }, false }, { { "a", "b", "--since", "1", "--with", "-1d" }, false },
		{ { "a", "b", "c", "--since", "1", "--with", "-1d" }, true }, { { "a", "--since", "1", "--with", "1w" }, false },
		{ { "a", "--since", "1", "--with", "" }, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *argv[10] = { (char *)"extprof diff" };
		struct options o;
		int argc = 1;

		while (cases[i].args[argc - 1]) {
			argv[argc] = (char *)(uintptr_t)cases[i].args[argc - 1];
			argc++;
		}
		CHECK_INT(options__parse(&o, &command_line_diff, argc, argv, OPTIONS_QUIETLY), cases[i].fits ? 0 : -EINVAL);
		options__free(&o);
	}
}

TEST(options_time_point)
{
	static const struct {
		const char *text;
		enum time_point_kind kind;	/* TIME_NONE: refused */
		uint64_t s;
	} cases[] = {
		{ "0", TIME_AFTER, 0 }, { "10", TIME_AFTER, 10 }, { "2m", TIME_AFTER, 120 }, { "-1h", TIME_BEFORE, 3600 }, { "-10", TIME_BEFORE, 10 }, { "02:50", TIME_OF_DAY, 10200 },
		{ "02:50:07", TIME_OF_DAY, 10207 }, { "00:00", TIME_OF_DAY, 0 }, { "23:59:59", TIME_OF_DAY, 86399 },
		{ "1970-01-02", TIME_DATE, 82800 }, { "1970-01-02Z", TIME_DATE, 86400 },
		{ "2026-11-27 02:50", TIME_DATE, 1795744200 }, { "2026-11-27T02:50:30", TIME_DATE, 1795744230 },
		{ "2026-11-27T02:50:30Z", TIME_DATE, 1795747830 }, { "2026-07-01 12:00", TIME_DATE, 1782900000 },
		{ "2028-02-29Z", TIME_DATE, 1835395200 },
		{ "", TIME_NONE, 0 }, { "-", TIME_NONE, 0 }, { "--1h", TIME_NONE, 0 }, { "24:00", TIME_NONE, 0 }, { "2:50", TIME_NONE, 0 }, { "02:60", TIME_NONE, 0 },
		{ "02:50:60", TIME_NONE, 0 }, { "02:5", TIME_NONE, 0 }, { "02:500", TIME_NONE, 0 }, { "02:50Z", TIME_NONE, 0 },
		{ "02:50 ", TIME_NONE, 0 }, { "-02:50", TIME_NONE, 0 }, { "2026-11-31", TIME_NONE, 0 },
		{ "2026-13-01", TIME_NONE, 0 }, { "2026-02-29", TIME_NONE, 0 }, { "2026-00-10", TIME_NONE, 0 },
		{ "2026-11-27 ", TIME_NONE, 0 }, { "2026-11-27X02:50", TIME_NONE, 0 }, { "2026-11-27 02:50ZZ", TIME_NONE, 0 },
		{ "26-11-27", TIME_NONE, 0 }, { "9999-01-01", TIME_NONE, 0 }, { "1960-01-01", TIME_NONE, 0 },
	};

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct time_point m = { TIME_NONE, 0 };
		int err = value__time_point(cases[i].text, &m);

		if (err != (cases[i].kind ? 0 : -EINVAL) || m.kind != cases[i].kind || m.ns != cases[i].s * 1000000000)
			test__fail(__FILE__, __LINE__, "\"%s\": %d, kind %d, %llu ns", cases[i].text, err, (int)m.kind,
				   (unsigned long long)m.ns);
	}
}

/* A time of the day near a moment, in a zone that puts its clock back on 2026-10-25 at 03:00 and forward on 2026-03-29 at
 * 02:00. */
TEST(options_time_point_of_day)
{
	static const struct {
		const char *text;
		bool after;
		const char *near, *is;
	} cases[] = {
		{ "02:50", false, "2026-11-27 10:00", "2026-11-27 02:50" },
		{ "02:50", false, "2026-11-27 02:50", "2026-11-27 02:50" },
		{ "02:50", false, "2026-11-27 02:49:59", "2026-11-26 02:50" },
		{ "23:00", false, "2026-03-01 01:00", "2026-02-28 23:00" },
		{ "03:10", true, "2026-11-27 02:50", "2026-11-27 03:10" },
		{ "02:50", true, "2026-11-27 02:50", "2026-11-28 02:50" },
		{ "00:10", true, "2026-12-31 23:50", "2027-01-01 00:10" },
		/* The day has 25 hours, and 23. */
		{ "12:00", false, "2026-10-26 11:00", "2026-10-25 12:00" },
		{ "12:00", true, "2026-10-24 13:00", "2026-10-25 12:00" },
		{ "12:00", false, "2026-03-30 11:00", "2026-03-29 12:00" },
		{ "12:00", true, "2026-03-28 13:00", "2026-03-29 12:00" },
	};

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct time_point m, near, is;

		CHECK(!value__time_point(cases[i].text, &m) && !value__time_point(cases[i].near, &near) && !value__time_point(cases[i].is, &is));
		if (cases[i].after)
			time_point__after(&m, near.ns);
		else
			time_point__not_after(&m, near.ns);
		if (m.kind != TIME_DATE || m.ns != is.ns)
			test__fail(__FILE__, __LINE__, "\"%s\" near %s: %llu, not %llu", cases[i].text, cases[i].near,
				   (unsigned long long)m.ns, (unsigned long long)is.ns);
	}
}

TEST(options_size)
{
	static const struct {
		const char *text;
		uint64_t size;	/* 0: refused */
	} cases[] = {
		{ "4096", 4096 }, { "64k", 65536 }, { "64K", 65536 }, { "64KiB", 65536 }, { "64 kb", 65536 }, { "1M", 1 << 20 },
		{ "1mib", 1 << 20 }, { "1.5k", 1536 }, { "1G", 1 << 30 }, { "1024", 1024 }, { "1g", 1 << 30 },
		{ "1023", 0 }, { "0", 0 }, { "-4096", 0 }, { "", 0 }, { "k", 0 }, { "4096x", 0 }, { "64kk", 0 }, { "64ki", 0 },
		{ "2G", 0 }, { "1T", 0 }, { "1e6", 0 }, { "inf", 0 }, { "4096.5", 0 }, { "0x1000", 0 }, { "64kmib", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t size = 0;
		int err = value__size(cases[i].text, &size);

		if (err != (cases[i].size ? 0 : -EINVAL) || size != cases[i].size)
			test__fail(__FILE__, __LINE__, "\"%s\": %d, %llu", cases[i].text, err, (unsigned long long)size);
	}
}

TEST(options_rotation)
{
	static const struct {
		const char *text;
		uint64_t time, size;	/* 0, 0: refused */
	} cases[] = {
		{ "1h", 3600000000000ull, 0 }, { "1m", 60000000000ull, 0 }, { "100ms", 100000000, 0 }, { "10", 10000000000ull, 0 },
		{ "100MB", 0, 100ull << 20 }, { "256KB", 0, 256 << 10 }, { "2GB", 0, 2ull << 30 }, { "1TiB", 0, 1ull << 40 },
		{ "99ms", 0, 0 }, { "1M", 0, 0 }, { "255KB", 0, 0 }, { "2TB", 0, 0 }, { "MB", 0, 0 }, { "", 0, 0 }, { "0", 0, 0 },
		{ "-1h", 0, 0 }, { "1h1MB", 0, 0 }, { "500000", 500000000000000ull, 0 }, { "500000B", 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t time = 0, size = 0;
		int err = value__rotation(cases[i].text, &time, &size);
		bool right = cases[i].time || cases[i].size;

		if (err != (right ? 0 : -EINVAL) || (right && (time != cases[i].time || size != cases[i].size)))
			test__fail(__FILE__, __LINE__, "\"%s\": %d, %llu ns, %llu bytes", cases[i].text, err,
				   (unsigned long long)time, (unsigned long long)size);
	}
}

TEST(options_pid)
{
	pid_t pid = 0;

	CHECK_INT(value__pid("1234", &pid), 0);
	CHECK_INT(pid, 1234);
	CHECK_INT(value__pid("0", &pid), -EINVAL);
	CHECK_INT(value__pid("-1", &pid), -EINVAL);
	CHECK_INT(value__pid("12x", &pid), -EINVAL);
	CHECK_INT(value__pid("", &pid), -EINVAL);
	CHECK_INT(value__pid("99999999999", &pid), -EINVAL);
	CHECK_INT(value__pid("5000000", &pid), -EINVAL);
}

/* Parses as `extprof record ARGUMENTS`.  What it says goes nowhere. */
#define PARSE(o, ...) parse(o, 0, (const char *[]){ "extprof record", __VA_ARGS__, NULL })
/* As `extprof ARGUMENTS`. */
#define PARSE_IMPLIED(o, ...) \
	parse(o, OPTIONS_IMPLIED, (const char *[]){ "extprof record", __VA_ARGS__, NULL })

/* The last result is freed with the next one, and at the end. */
static struct options *parsed;

static int parse(struct options *o, unsigned int flags, const char *const *argv)
{
	static char *copy[32];	/* o->command points into it */
	int argc = 0;

	if (parsed)
		options__free(parsed);
	parsed = o;
	for (; argv[argc]; argc++)
		copy[argc] = (char *)(uintptr_t)argv[argc];
	copy[argc] = NULL;
	return options__parse(o, &command_line_record, argc, copy, flags | OPTIONS_QUIETLY);
}

/* Sources are kept in a recording: other files have no place for them. */
TEST(options_sources_need_a_recording)
{
	static struct options o;

	CHECK(!PARSE(&o, "-p", "1", "--sources", "-o", "a.extprof"));
	CHECK(PARSE(&o, "-p", "1", "--sources", "-o", "a.svg"));
	CHECK(!PARSE(&o, "-p", "1", "--sources", "-o", "a.svg", "-o", "a.extprof"));
	CHECK(!PARSE(&o, "-p", "1", "-o", "a.svg"));
}

/* What the library makes of the options.  The last result is freed with the next one, and at the end. */
static struct recording_settings settings;

static const struct settings *set(const struct options *o)
{
	struct extprof_error e = { .size = sizeof(e) };

	recording_settings__free(&settings);
	if (recording_settings__set(&settings, &o->recording, &e))
		test__fail(__FILE__, __LINE__, "%s", e.text);
	return &settings.settings;
}

static void done(void)
{
	recording_settings__free(&settings);
	if (parsed)
		options__free(parsed);
	parsed = NULL;
}

TEST(options_defaults)
{
	struct options o;
	const struct extprof_recording_options *s = &o.recording;

	CHECK_INT(PARSE(&o, "-p", "77"), 0);
	CHECK_INT(s->pid_count, 1);
	CHECK_INT(s->pids[0], 77);
	CHECK(!s->all && !s->subprocesses && !s->by_user && !s->name && !s->cgroup);
	CHECK_INT(s->size, sizeof(*s));
	CHECK_INT(s->rate, 0);
	CHECK(!s->timer && !s->modes && !s->duration && !s->groups && !s->threads && !s->lines && !s->command);
	CHECK(!s->interrupt_fd);
	CHECK_INT(set(&o)->rate, 99);
	CHECK_INT(set(&o)->timer, TIMER_CLOCK);
	CHECK_INT(set(&o)->groups.count, 0);
	CHECK(set(&o)->mode_count == 1 && set(&o)->modes[0] == &mode_cpu);
	CHECK(set(&o)->group_by_default);
	CHECK_INT(set(&o)->interrupt_fd, -1);
	CHECK(!o.output_count && !options__has(&o, OPTION_QUIET) && !o.command && !options__has(&o, OPTION_KEEP_ROOT));
	CHECK_INT(options__number(&o, OPTION_ROWS, 20), 20);
	done();
}

TEST(options_kernel)
{
	struct extprof_error e = { .size = sizeof(e) };
	struct options o;

	CHECK_INT(PARSE(&o, "-p77"), 0);
	CHECK(!set(&o)->kernel);
	CHECK_INT(PARSE(&o, "-p77", "--kernel"), 0);
	CHECK(set(&o)->kernel);
	CHECK_INT(PARSE(&o, "-p77", "--kernel", "-m", "cpu,wall,syscall", "--fd", "--holder"), 0);
	/* Where the kernel's stack is not that of the thread. */
	CHECK(PARSE(&o, "-p77", "--kernel", "--timer=tick"));
	CHECK(extprof_recording_check(&o.recording, &e) == -EINVAL && strstr(e.text, "timer clock"));
	CHECK(PARSE(&o, "-p77", "--kernel", "-m", "wall", "--waker"));
	CHECK(extprof_recording_check(&o.recording, &e) == -EINVAL && strstr(e.text, "--waker"));
	done();
}

TEST(options_all_of_them)
{
	struct options o;
	const struct extprof_recording_options *s = &o.recording;

	CHECK_INT(PARSE(&o, "--pid=77", "--rate", "1k", "--duration=2m", "--output", "x.html",
			"--threads", "--lines", "--quiet", "--rows=5", "--keep-root"), 0);
	CHECK_INT(s->rate, 1000);
	CHECK_INT(s->duration, 120000000000ll);
	CHECK_STRING(o.outputs[0].file, "x.html");
	CHECK_STRING(o.outputs[0].format, "flamegraph");
	CHECK(o.outputs[0].html && s->lines && options__has(&o, OPTION_QUIET) && options__has(&o, OPTION_KEEP_ROOT));
	CHECK(groups__has(&set(&o)->groups, GROUP_THREAD));
	CHECK_INT(options__number(&o, OPTION_ROWS, 20), 5);
	CHECK_INT(PARSE(&o, "-p77", "-F", "49", "-r", "50", "-d3", "-f", "folded", "-o", "x.svg", "-tlq"), 0);
	CHECK_INT(s->rate, 50);
	CHECK_STRING(o.outputs[0].format, "folded");
	CHECK(!o.outputs[0].html && options__has(&o, OPTION_QUIET) && s->lines);
	CHECK_INT(PARSE(&o, "-p77", "--timer=tick"), 0);
	CHECK_INT(set(&o)->timer, TIMER_TICK);
	CHECK_INT(PARSE(&o, "-p77", "--timer", "clock", "-F", "20k"), 0);
	CHECK_INT(set(&o)->timer, TIMER_CLOCK);
	CHECK_INT(PARSE(&o, "-p77", "-o", "out.svg"), 0);
	CHECK(!strcmp(o.outputs[0].format, "flamegraph") && !o.outputs[0].html);
	CHECK_INT(PARSE(&o, "-p77", "-o", "OUT.HTML"), 0);
	CHECK(!strcmp(o.outputs[0].format, "flamegraph") && o.outputs[0].html);
	CHECK_INT(PARSE(&o, "-p77", "-o", "-"), 0);
	CHECK_STRING(o.outputs[0].format, "folded");
	/* A file whose name says nothing. */
	CHECK(PARSE(&o, "-p77", "-o", "out"));
	CHECK(PARSE(&o, "-p77", "-o", "out.pdf"));
	CHECK(PARSE(&o, "-p77", "-o", ".svg"));
	/* Several files. */
	CHECK_INT(PARSE(&o, "-p77", "-o", "a.svg", "-o", "b.html", "-o", "c.pb.gz"), 0);
	CHECK_INT(o.output_count, 3);
	CHECK_STRING(o.outputs[2].format, "pprof");
	CHECK(!o.outputs[0].html && o.outputs[1].html);
	CHECK_STRING(s->formats, "flamegraph,flamegraph,pprof");
	CHECK_INT(set(&o)->labels, output_flamegraph.labels | output_pprof.labels);
	CHECK(PARSE(&o, "-p77", "-o", "a.svg", "-o", "a.svg"));
	CHECK(PARSE(&o, "-p77", "-o", "a.svg", "-o", "b", "-f", "folded"));
	CHECK(PARSE(&o, "-p77", "-o", "1.svg", "-o", "2.svg", "-o", "3.svg", "-o", "4.svg", "-o", "5.svg", "-o", "6.svg",
		    "-o", "7.svg", "-o", "8.svg", "-o", "9.svg"));
	/* Each format by its name. */
	for (int i = 0; output_formats[i]; i++) {
		/* Only extprof report has it. */
		if (output_formats[i]->timeline || output_formats[i]->cells) {
			CHECK(PARSE(&o, "-p77", "-o", "x", "-f", output_formats[i]->name));
			continue;
		}
		CHECK_INT(PARSE(&o, "-p77", "-o", "x", "-f", output_formats[i]->name), 0);
		CHECK_STRING(o.outputs[0].format, output_formats[i]->name);
		CHECK_INT(set(&o)->labels, output_formats[i]->labels);
	}
	done();
}

TEST(options_processes)
{
	struct options o;
	const struct extprof_recording_options *s = &o.recording;

	CHECK_INT(PARSE(&o, "-p", "77,78", "-p79", "--pid=80,77"), 0);
	CHECK_INT(s->pid_count, 4);
	for (uint32_t i = 0; i < 4 && i < s->pid_count; i++)
		CHECK_INT(s->pids[i], 77 + (int)i);
	CHECK_INT(PARSE(&o, "-a"), 0);
	CHECK(s->all && !s->pid_count);
	CHECK_INT(PARSE(&o, "--all", "-p", "1"), 0);
	CHECK(s->all && s->pid_count == 1);
	CHECK_INT(PARSE(&o, "-p", "77", "-s"), 0);
	CHECK(s->subprocesses && !s->all);
	CHECK_INT(PARSE(&o, "-p", "77", "--subprocesses"), 0);
	CHECK(s->subprocesses);
	CHECK_INT(PARSE(&o, "--", "ruby"), 0);
	CHECK(s->subprocesses && !s->pid_count);
	CHECK_INT(PARSE(&o, "--no-subprocesses", "--", "ruby"), 0);
	CHECK(!s->subprocesses);
	/* The last one counts. */
	CHECK_INT(PARSE(&o, "--no-subprocesses", "-s", "--", "ruby"), 0);
	CHECK(s->subprocesses);
	CHECK_INT(PARSE(&o, "-s", "--no-subprocesses", "-p1"), 0);
	CHECK(!s->subprocesses);
	/* The whole machine while a command runs, as in perf. */
	CHECK_INT(PARSE(&o, "-a", "--", "ruby"), 0);
	CHECK(s->all && o.command);
	done();
}

TEST(options_conditions)
{
	struct options o;
	const struct extprof_recording_options *s = &o.recording;

	CHECK_INT(PARSE(&o, "-a", "--user=0", "--name", "puma*", "--cgroup=/system.slice/x.service"), 0);
	CHECK(s->by_user && s->user == 0);
	CHECK_STRING(s->name, "puma*");
	CHECK_STRING(s->cgroup, "/system.slice/x.service");
	CHECK_INT(PARSE(&o, "-a", "--user", "root"), 0);
	CHECK(s->by_user && s->user == 0);
	CHECK_INT(PARSE(&o, "-a", "--user", "65535"), 0);
	CHECK_INT(s->user, 65535);
	/* Alone they choose among all; with pids among those. */
	CHECK_INT(PARSE(&o, "--name", "puma"), 0);
	CHECK(s->all);
	CHECK_INT(PARSE(&o, "--cgroup", "x"), 0);
	CHECK(s->all);
	CHECK_INT(PARSE(&o, "--user", "0"), 0);
	CHECK(s->all);
	CHECK_INT(PARSE(&o, "--user", "0", "-p", "77"), 0);
	CHECK(!s->all);
	CHECK_INT(PARSE(&o, "--name", "x", "--", "ruby"), 0);
	CHECK(!s->all);
	CHECK_INT(PARSE(&o, "--cgroup", "x", "--cgroup", "y"), 0);
	CHECK_STRING(s->cgroup, "/y");
	CHECK(PARSE(&o, "-a", "--user", "no such user"));
	CHECK(PARSE(&o, "-a", "--user", ""));
	CHECK(PARSE(&o, "-a", "--user", "4294967295"));
	CHECK(PARSE(&o, "-a", "--user", "-1"));
	CHECK(PARSE(&o, "-a", "--name", ""));
	CHECK(PARSE(&o, "-a", "--cgroup", ""));
	CHECK(PARSE(&o, "-a", "--cgroup", "a/../b"));
	done();
}

TEST(options_cgroup)
{
	static const struct {
		const char *text, *cgroup;	/* NULL: refused */
	} cases[] = {
		{ "/", "/" }, { "/a", "/a" }, { "a", "/a" }, { "a/b/", "/a/b" }, { "//a", "/a" },
		{ "/sys/fs/cgroup", "/" }, { "/sys/fs/cgroup/", "/" }, { "/sys/fs/cgroup/a/b", "/a/b" },
		{ "/sys/fs/cgroups/a", "/sys/fs/cgroups/a" }, { "a b/.c/..d", "/a b/.c/..d" },
		{ "", NULL }, { ".", NULL }, { "..", NULL }, { "a//b", NULL }, { "a/./b", NULL },
		{ "a/..", NULL }, { "/sys/fs/cgroup/../x", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *cgroup = NULL;
		int err = value__cgroup(cases[i].text, &cgroup);

		CHECK_INT(err, cases[i].cgroup ? 0 : -EINVAL);
		if (!cgroup != !cases[i].cgroup || (cgroup && strcmp(cgroup, cases[i].cgroup)))
			test__fail(__FILE__, __LINE__, "\"%s\": %s", cases[i].text, cgroup ? cgroup : "NULL");
		free(cgroup);
	}
}

TEST(options_groups)
{
	struct options o;
	const struct settings *s;

	CHECK_INT(PARSE(&o, "-p1", "-t"), 0);
	s = set(&o);
	CHECK(s->group_by_default && s->groups.count == 1 && s->groups.keys[0] == GROUP_THREAD);
	CHECK(s->groups.patterns_allowed);
	CHECK_INT(PARSE(&o, "-p1", "--group-by", "cgroup,process"), 0);
	s = set(&o);
	CHECK(!s->group_by_default && s->groups.count == 2);
	CHECK(s->groups.keys[0] == GROUP_CGROUP && s->groups.keys[1] == GROUP_PROCESS);
	CHECK_INT(PARSE(&o, "-p1", "--group-by=none"), 0);
	s = set(&o);
	CHECK(!s->group_by_default && !s->groups.count);
	/* Who names the key wants each thread. */
	CHECK_INT(PARSE(&o, "-p1", "--group-by=thread"), 0);
	s = set(&o);
	CHECK(s->groups.count == 1 && !s->groups.patterns_allowed);
	/* -t adds it, before or after. */
	CHECK_INT(PARSE(&o, "-p1", "-t", "--group-by=process"), 0);
	s = set(&o);
	CHECK(s->groups.count == 2 && s->groups.keys[1] == GROUP_THREAD && s->groups.patterns_allowed);
	CHECK_INT(PARSE(&o, "-p1", "--group-by=thread-pattern", "-t"), 0);
	s = set(&o);
	CHECK(s->groups.count == 1 && s->groups.keys[0] == GROUP_THREAD_PATTERN);
	CHECK_INT(PARSE(&o, "-p1", "--group-by=thread,process", "-t"), 0);
	s = set(&o);
	CHECK(s->groups.count == 2 && s->groups.keys[0] == GROUP_THREAD && !s->groups.patterns_allowed);
	CHECK(PARSE(&o, "-p1", "--group-by="));
	CHECK(PARSE(&o, "-p1", "--group-by=pid"));
	CHECK(PARSE(&o, "-p1", "--group-by=process,"));
	CHECK(PARSE(&o, "-p1", "--group-by=process,process"));
	CHECK(PARSE(&o, "-p1", "--group-by=none,process"));
	done();
}

TEST(options_command_keeps_its_own_options)
{
	struct options o;

	CHECK_INT(PARSE(&o, "-d", "5", "--", "ruby", "-p", "x.rb", "--rate"), 0);
	CHECK_INT(o.recording.pid_count, 0);
	CHECK_STRING(o.command[0], "ruby");
	CHECK_STRING(o.command[1], "-p");
	CHECK_STRING(o.command[3], "--rate");
	CHECK(!o.command[4]);
	CHECK_INT(PARSE(&o, "-t", "ruby", "-q"), 0);
	CHECK_STRING(o.command[0], "ruby");
	CHECK_STRING(o.command[1], "-q");
	CHECK(!options__has(&o, OPTION_QUIET));
	/* Without `record` a word that is no option may be a mistake. */
	CHECK(PARSE_IMPLIED(&o, "-t", "ruby", "-q"));
	CHECK(PARSE_IMPLIED(&o, "-p", "1", "dump"));
	CHECK_INT(PARSE_IMPLIED(&o, "-t", "--", "ruby", "-q"), 0);
	CHECK_STRING(o.command[0], "ruby");
	CHECK_INT(PARSE_IMPLIED(&o, "-p", "1", "-q"), 0);
	done();
}

TEST(options_alloc)
{
	struct options o;

	CHECK(!PARSE(&o, "-p", "1", "-m", "alloc"));
	CHECK_INT(set(&o)->alloc_interval, 512 << 10);
	CHECK(!PARSE(&o, "-p", "1", "-m", "cpu,alloc", "--alloc-interval", "64k"));
	CHECK_INT(set(&o)->alloc_interval, 64 << 10);
	CHECK_INT(PARSE(&o, "-p", "1", "--alloc-interval", "64k"), 0);
	CHECK(set(&o)->mode_count == 1 && set(&o)->modes[0] == &mode_alloc);
	CHECK(PARSE(&o, "-p", "1", "--alloc-interval", "64k", "-m", "cpu"));
	CHECK(PARSE(&o, "-p", "1", "-m", "alloc", "--alloc-interval", "64"));
	CHECK(!PARSE(&o, "-p", "1", "-m", "alloc", "--unit", "count"));
	CHECK(PARSE(&o, "-p", "1", "-m", "alloc", "--unit", "ms"));
	done();
}

TEST(options_refuse)
{
	struct options o;

	CHECK(PARSE(&o, "-t"));			/* nothing to profile */
	CHECK(PARSE(&o, "-s"));
	CHECK(PARSE(&o, "-p", "1", "ruby"));	/* two things to profile */
	CHECK(PARSE(&o, "-p", "x"));
	CHECK(PARSE(&o, "-p"));
	CHECK(PARSE(&o, "-p", "1,"));
	CHECK(PARSE(&o, "-p", ",1"));
	CHECK(PARSE(&o, "-p", "1,,2"));
	CHECK(PARSE(&o, "-p", "1,x"));
	CHECK(PARSE(&o, "-p", "1 2"));
	CHECK(PARSE(&o, "-p", "11111111111111111111,2"));
	CHECK(PARSE(&o, "-p", "1", "-F", "0"));
	CHECK(PARSE(&o, "-p", "1", "-d", "never"));
	CHECK(PARSE(&o, "-p", "1", "-m", "cpu,cpu"));
	CHECK(PARSE(&o, "-p", "1", "-m", "cpu", "-m", "cpu"));
	CHECK(PARSE(&o, "-p", "1", "-m", "nonsense"));
	CHECK(PARSE(&o, "-p", "1", "-m", ""));
	CHECK(PARSE(&o, "-p", "1", "--unit", "parsec"));
	CHECK(PARSE(&o, "-p", "1", "--state", "gvl,bored"));
	CHECK(PARSE(&o, "-p", "1", "--waits", "some"));
	CHECK(PARSE(&o, "-p", "1", "--state", "gvl", "-m", "cpu"));
	CHECK(PARSE(&o, "-p", "1", "--fd", "-m", "cpu,gc"));
	CHECK(PARSE(&o, "-p", "1", "--holder", "-m", "syscall"));
	CHECK(PARSE(&o, "-p", "1", "-e", "nonsense"));
	CHECK(PARSE(&o, "-p", "1", "-f", "gif", "-o", "x"));
	CHECK(PARSE(&o, "-p", "1", "-f", "folded"));	/* where to? */
	CHECK(PARSE(&o, "-p", "1", "--rows", "0"));
	CHECK(PARSE(&o, "-p", "1", "--nonsense"));
	CHECK(PARSE(&o, "-p", "1", "--timer=tock"));
	CHECK(PARSE(&o, "-p", "1", "--timer="));
	CHECK(PARSE(&o, "-p", "1", "--timer"));
	done();
}

TEST(options_imply_modes)
{
	struct options o;
	const struct settings *s;

	CHECK_INT(PARSE(&o, "-p", "1", "--syscall", "openat"), 0);
	s = set(&o);
	CHECK(s->mode_count == 1 && s->modes[0] == &mode_syscall);
	CHECK(syscall_set__has(&s->syscalls, (uint32_t)syscall__number("openat")));
	CHECK_INT(PARSE(&o, "-p", "1", "--latency"), 0);
	s = set(&o);
	CHECK(s->mode_count == 1 && s->modes[0] == &mode_syscall_latency);
	CHECK(syscall_set__is_empty(&s->syscalls));
	CHECK_INT(PARSE(&o, "-p", "1", "--latency", "--syscall", "write,read", "-m", "cpu,syscall"), 0);
	s = set(&o);
	CHECK(s->mode_count == 2 && s->modes[0] == &mode_cpu &&
	      s->modes[1] == &mode_syscall_latency);
	CHECK_INT(PARSE(&o, "-p", "1", "--fd"), 0);
	s = set(&o);
	CHECK(s->mode_count == 1 && s->modes[0] == &mode_wall && s->details == WAIT_DETAIL_FILE);
	CHECK_INT(PARSE(&o, "-p", "1", "--holder", "--fd", "-m", "cpu,gvl"), 0);
	s = set(&o);
	CHECK(s->mode_count == 2 && s->modes[1] == &mode_gvl && s->details == (WAIT_DETAIL_FILE | WAIT_DETAIL_HOLDER));
	CHECK(PARSE(&o, "-p", "1", "--syscall", "openat", "-m", "cpu"));
	CHECK(PARSE(&o, "-p", "1", "--latency", "-m", "gc"));
	CHECK(PARSE(&o, "-p", "1", "--syscall", "nonsense"));
	CHECK(PARSE(&o, "-p", "1", "--syscall", "openat", "--unit", "us"));
	CHECK_INT(PARSE(&o, "-p", "1", "--latency", "--unit", "count"), 0);
	s = set(&o);
	CHECK_INT(PARSE(&o, "-p", "1", "-e", "page-faults", "-e", "libc.so.6:malloc", "-c", "10"), 0);
	s = set(&o);
	CHECK(s->mode_count == 1 && s->modes[0] == &mode_event);
	CHECK(s->event_count == 2 && s->event_period == 10);
	CHECK_STRING(s->events[1].second, "malloc");
	CHECK_INT(PARSE(&o, "-p", "1", "-e", "page-faults", "--syscall", "openat"), 0);
	s = set(&o);
	CHECK(s->mode_count == 2);
	CHECK(PARSE(&o, "-p", "1", "-m", "event"));
	CHECK(PARSE(&o, "-p", "1", "-c", "10"));
	CHECK(PARSE(&o, "-p", "1", "-m", "cpu", "-e", "page-faults"));
	CHECK(PARSE(&o, "-p", "1", "-e", "page-faults", "-c", "0"));
	CHECK(PARSE(&o, "-p", "1", "-e", "page-faults", "--unit", "us"));
	done();
}

TEST(options_words)
{
	char *list = NULL, *all;

	CHECK(!words__has(list, "a") && !words__count(list));
	CHECK_INT(words__add(&list, "a,bc"), 0);
	CHECK_INT(words__add(&list, "d"), 0);
	CHECK_STRING(list, "a,bc,d");
	CHECK(words__has(list, "a") && words__has(list, "bc") && words__has(list, "d"));
	CHECK(!words__has(list, "b") && !words__has(list, "c") && !words__has(list, "a,bc") && !words__has(list, ""));
	CHECK_INT(words__count(list), 3);
	free(list);
	all = words__all(EXTPROF_TIMERS);
	CHECK_STRING(all, "clock or tick");
	free(all);
	all = words__all(EXTPROF_WAITS);
	CHECK_STRING(all, "each or rate");
	free(all);
}

/* Each command's short help fits a screen, and all of its lines. */
TEST(options_short_help_fits)
{
	static const struct command_line *const lines[] = {
		&command_line_record, &command_line_top, &command_line_stat, &command_line_dump, &command_line_report,
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char *text = NULL;
		size_t size, count = 0;
		FILE *f = open_memstream(&text, &size);

		options__help(lines[i], "extprof record", f);
		fclose(f);
		for (char *line = text; line && *line; count++) {
			size_t length = strcspn(line, "\n");

			CHECK(length <= 80);
			line += length + 1;
		}
		CHECK(count <= 24);
		free(text);
	}
}

/* What the table says holds for each row. */
TEST(options_table_is_whole)
{
	for (int i = 0; i < OPTIONS; i++) {
		const struct option_row *row = &option_rows[i];

		CHECK(row->name && (!row->commands || (row->brief && row->help && strlen(row->brief) <= 54)));
		CHECK(!row->means || (!row->field && option_rows[row->same].field));
		CHECK((row->type == OPTION_FLAG) == !row->argument || !row->commands || row->optional);
		CHECK(!row->help || !strstr(row->help, "%s") || row->has_words);
		for (int j = 0; j < i; j++) {
			/* Of commands of their own. */
			if (row->commands && option_rows[j].commands && !(row->commands & option_rows[j].commands))
				continue;
			CHECK(strcmp(row->name, option_rows[j].name));
			for (const char *letter = row->letters; *letter; letter++)
				CHECK(!strchr(option_rows[j].letters, *letter));
		}
	}
}

TEST(options_by_name)
{
	struct extprof_options *o;
	const struct extprof_recording_options *r;
	struct extprof_error e = { .size = sizeof(e) };

	CHECK_INT(extprof_options_create(&o), 0);
	r = extprof_options_get(o);
	CHECK_INT(extprof_options_set(o, "modes", "cpu,offcpu", &e), 0);
	CHECK_INT(extprof_options_set(o, "mode", "gvl", &e), 0);
	CHECK_STRING(r->modes, "cpu,offcpu,gvl");
	CHECK_INT(extprof_options_set(o, "pid", "77,78", &e), 0);
	CHECK_INT(extprof_options_set(o, "pids", "79", &e), 0);
	CHECK(r->pid_count == 3 && r->pids[2] == 79);
	CHECK_INT(extprof_options_set(o, "duration", "300ms", &e), 0);
	CHECK_INT(r->duration, 300000000);
	CHECK_INT(extprof_options_set(o, "rate", "10k", &e), 0);
	CHECK_INT(r->rate, 10000);
	CHECK_INT(extprof_options_set(o, "lines", NULL, &e), 0);
	CHECK_INT(extprof_options_set(o, "threads", "true", &e), 0);
	CHECK(r->lines && r->threads);
	CHECK_INT(extprof_options_set(o, "threads", "false", &e), 0);
	CHECK(!r->threads);
	CHECK_INT(extprof_options_set(o, "nonblocking", NULL, &e), 0);
	CHECK_STRING(r->reader, "nonblocking");
	CHECK_INT(extprof_options_set(o, "reader", "stop", &e), 0);
	CHECK_STRING(r->reader, "stop");
	CHECK_INT(extprof_options_set(o, "user", "0", &e), 0);
	CHECK(r->by_user && r->user == 0);
	CHECK_INT(extprof_options_set(o, "alloc_interval", "64k", &e), 0);
	CHECK_INT(r->alloc_interval, 65536);
	for (int i = 0; i < EXTPROF_EVENTS_MAX; i++)
		CHECK_INT(extprof_options_set(o, "event", "page-faults", &e), 0);
	CHECK_INT(extprof_options_set(o, "event", "page-faults", &e), -EINVAL);
	CHECK_STRING(e.text, "--event: at most 8 can be recorded together");
	CHECK_INT(extprof_options_set(o, "quiet", "true", &e), -ENOENT);
	CHECK_INT(extprof_options_set(o, "colour", "red", &e), -ENOENT);
	CHECK_STRING(e.text, "there is no option \"colour\"");
	CHECK_INT(extprof_options_set(o, "lines", "maybe", &e), -EINVAL);
	CHECK_STRING(e.text, "--lines: maybe is no true or false");
	CHECK_INT(extprof_options_set(o, "duration", NULL, &e), -EINVAL);
	CHECK_INT(extprof_options_set(o, "period", "0", &e), -EINVAL);
	CHECK_STRING(e.text, "--period: 0 is no number from 1 to 1000000000");
	CHECK_INT(extprof_options_set(o, "cgroup", "a/../b", &e), -EINVAL);
	CHECK_INT(extprof_options_set(o, "pid", "1,x", &e), -EINVAL);
	CHECK_STRING(e.text, "--pid: \"x\" is no pid");
	extprof_options_destroy(o);
	extprof_options_destroy(NULL);
}
