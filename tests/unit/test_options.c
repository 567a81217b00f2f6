/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include <errno.h>

#include "cli/options.h"

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
		int err = options__rate(cases[i].text, &rate);

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
		int err = options__duration(cases[i].text, &ns);

		if (err != (cases[i].ms ? 0 : -EINVAL) || ns != cases[i].ms * 1000000)
			test__fail(__FILE__, __LINE__, "\"%s\": %d, %llu ns", cases[i].text, err,
				   (unsigned long long)ns);
	}
}

TEST(options_pid)
{
	pid_t pid = 0;

	CHECK_INT(options__pid("1234", &pid), 0);
	CHECK_INT(pid, 1234);
	CHECK_INT(options__pid("0", &pid), -EINVAL);
	CHECK_INT(options__pid("-1", &pid), -EINVAL);
	CHECK_INT(options__pid("12x", &pid), -EINVAL);
	CHECK_INT(options__pid("", &pid), -EINVAL);
	CHECK_INT(options__pid("99999999999", &pid), -EINVAL);
	CHECK_INT(options__pid("5000000", &pid), -EINVAL);
}

#define PARSE(o, ...) parse(o, (const char *[]){ "extprof", __VA_ARGS__, NULL })

static int parse(struct options *o, const char *const *argv)
{
	static char *copy[32];	/* o->command points into it */
	int argc = 0;

	for (; argv[argc]; argc++)
		copy[argc] = (char *)(uintptr_t)argv[argc];
	copy[argc] = NULL;
	return options__parse(o, argc, copy, true);
}

TEST(options_defaults)
{
	struct options o;

	CHECK_INT(PARSE(&o, "-p", "77"), 0);
	CHECK_INT(o.pid, 77);
	CHECK_INT(o.rate, 99);
	CHECK_INT(o.timer, TIMER_CLOCK);
	CHECK_INT(o.duration, 0);
	CHECK(!o.file && !o.format && !o.threads && !o.quiet && !o.command && !o.html);
}

TEST(options_all_of_them)
{
	struct options o;

	CHECK_INT(PARSE(&o, "--pid=77", "--rate", "1k", "--duration=2m", "--output", "x.html",
			"--threads", "--lines", "--quiet", "--top=5"), 0);
	CHECK_INT(o.rate, 1000);
	CHECK_INT(o.duration, 120000000000ll);
	CHECK_STRING(o.file, "x.html");
	CHECK(o.format == &output_flamegraph && o.html && o.threads && o.lines && o.quiet);
	CHECK_INT(o.top, 5);
	CHECK_INT(PARSE(&o, "-p77", "-F", "49", "-d3", "-f", "folded", "--file", "x.svg", "-tlq"), 0);
	CHECK_INT(o.rate, 49);
	CHECK(o.format == &output_folded && !o.html);
	CHECK_INT(PARSE(&o, "-p77", "--timer=tick"), 0);
	CHECK_INT(o.timer, TIMER_TICK);
	CHECK_INT(PARSE(&o, "-p77", "--timer", "clock", "-F", "20k"), 0);
	CHECK_INT(o.timer, TIMER_CLOCK);
	CHECK_INT(PARSE(&o, "-p77", "-o", "out.svg"), 0);
	CHECK(o.format == &output_flamegraph && !o.html);
	CHECK_INT(PARSE(&o, "-p77", "-o", "OUT.HTML"), 0);
	CHECK(o.format == &output_flamegraph && o.html);
	CHECK_INT(PARSE(&o, "-p77", "-o", "out"), 0);
	CHECK(o.format == &output_folded);
	CHECK_INT(PARSE(&o, "-p77", "-o", ".svg"), 0);
	CHECK(o.format == &output_folded);
}

TEST(options_command_keeps_its_own_options)
{
	struct options o;

	CHECK_INT(PARSE(&o, "-d", "5", "--", "ruby", "-p", "x.rb", "--rate"), 0);
	CHECK_INT(o.pid, 0);
	CHECK_STRING(o.command[0], "ruby");
	CHECK_STRING(o.command[1], "-p");
	CHECK_STRING(o.command[3], "--rate");
	CHECK(!o.command[4]);
	CHECK_INT(PARSE(&o, "-t", "ruby", "-q"), 0);
	CHECK_STRING(o.command[0], "ruby");
	CHECK_STRING(o.command[1], "-q");
	CHECK(!o.quiet);
}

TEST(options_refuse)
{
	struct options o;

	CHECK(PARSE(&o, "-t"));			/* nothing to profile */
	CHECK(PARSE(&o, "-p", "1", "ruby"));	/* two things to profile */
	CHECK(PARSE(&o, "-p", "x"));
	CHECK(PARSE(&o, "-p"));
	CHECK(PARSE(&o, "-p", "1", "-F", "0"));
	CHECK(PARSE(&o, "-p", "1", "-d", "never"));
	CHECK(PARSE(&o, "-p", "1", "-f", "gif", "-o", "x"));
	CHECK(PARSE(&o, "-p", "1", "-f", "folded"));	/* where to? */
	CHECK(PARSE(&o, "-p", "1", "--top", "0"));
	CHECK(PARSE(&o, "-p", "1", "--nonsense"));
	CHECK(PARSE(&o, "-p", "1", "--timer=tock"));
	CHECK(PARSE(&o, "-p", "1", "--timer="));
	CHECK(PARSE(&o, "-p", "1", "--timer"));
}
