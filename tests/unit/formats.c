/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * formats DIRECTORY: write one report in several formats, for formats.py to compare.
 *
 * For each profile P: P.lines.FORMAT of a report by line and P.code.FORMAT of a report by code.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/output.h"
#include "profile/groups.h"
#include "profile/report.h"
#include "profile/tree.h"

#define PERIOD 10101010	/* ns */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Texts that a format, or a reader of it, could take for something else. */
static const char *const names[] = {
	"<main>", "Foo#bar", "block (2 levels) in A::B#c", "A::B#<=>", "A#[]=", "A::B<T>(x)#y",
	"#<anonymous subclass of A::B>.m", "quote\"back\\slash'", "semi;colon", "percent%s%n", "Ünï#çødé",
	"</script><img src=x>", "{\"a\":1}", "name with blanks", "operator()", "_ZN3foo3barEv",
	"\\x1B[2J", "a/b/c.d", "#<refinement A::B of C::D>#e", "main.(*T[...]).M", "x\u2028y",
};
static const char *const paths[] = {
	"", "/app/a.rb", "/app/with blank.rb", "(eval at /app/a.rb:12)", "<internal:kernel>", "C:\\b.rb", "/ü.rb",
};
/* formats.py knows what they stand for. */
#define PROCESS(name_, ...) { .kind = FRAME_PROCESS, .name = name_, .path = "", .module = "", .key = "", ##__VA_ARGS__ }
#define THREAD(name_, ...) { .kind = FRAME_THREAD, .name = name_, .path = "", .module = "", .key = "", ##__VA_ARGS__ }

static const struct frame process_groups[] = {
	PROCESS("puma", .pid = 10, .wider = "/system.slice/web.service"),
	PROCESS("11 \"x\"", .pid = 11, .wider = "/system.slice/web.service"),
	PROCESS("", .pid = 12, .wider = ""),
	PROCESS("idle.rb", .wider = ""),
};
static const struct frame thread_groups[] = {
	THREAD("main", .wider = "main", .tid = 42),
	THREAD("worker 1", .wider = "worker *", .tid = 43),
	THREAD("x (7)", .wider = "", .tid = 44),
	THREAD("x (7)", .wider = ""),
	THREAD("#3 (gone)", .wider = ""),
	THREAD("ractor 2 main", .wider = "", .tid = 45),
	THREAD("ruby", .wider = "", .tid = 42, .role = ROLE_NATIVE),
	THREAD("y", .wider = "", .tid = 46, .role = ROLE_UNKNOWN),
	THREAD("", .wider = "", .known = KNOWN_CROWDED),
	THREAD("(5)", .wider = ""),
	THREAD("a:b \"c\"", .wider = "", .tid = 47),
	THREAD("thread z", .wider = "", .tid = 48),
};

/* The same in every run. */
static unsigned int random_below(unsigned int n)
{
	static unsigned long long state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned int)(state >> 33) % n;
}

/* The frame of code that a number stands for: name, path, first line and kind. */
static uint32_t code_frame(struct frame_table *frames, uint32_t code, uint32_t line, bool approximate)
{
	uint32_t number = frame_table__code(frames, code__make(CODE_RUBY, code, (int32_t)line, line && approximate));
	struct frame f = FRAME_INIT(FRAME_RUBY);

	f.name = names[code % COUNT(names)];
	code /= COUNT(names);
	f.path = paths[code % COUNT(paths)];
	code /= COUNT(paths);
	f.first_line = (int32_t)(code % 3) * 10;
	f.kind = code / 3 ? FRAME_C : FRAME_RUBY;
	f.line = (int32_t)line;
	f.approximate = line && approximate;
	return frame_table__set(frames, number, &f) ? 0 : number;
}

static uint32_t random_frame(struct frame_table *frames)
{
	unsigned int code = random_below(COUNT(names) * COUNT(paths) * 3 * 2);
	unsigned int line = random_below(4), approximate = !random_below(3);

	return code_frame(frames, code, line, approximate);
}

/* All stacks of a grouped profile are of a process and a thread. */
static int fill(struct tree *tree, struct frame_table *frames, int stacks, unsigned int depth, bool grouped)
{
	uint32_t *stack = calloc(depth + 3, sizeof(*stack));

	if (!stack || tree__init(tree) || frame_table__init(frames))
		return -1;
	for (int i = 0; i < stacks; i++) {
		/* Now and then a thread without a frame. */
		uint32_t n = 0, base, wanted = grouped ? random_below(depth) : 1 + random_below(depth);

		/* Every thread has some. */
		if (grouped) {
			stack[n++] = frame_table__add(frames, &process_groups[random_below(COUNT(process_groups))]);
			stack[n++] = frame_table__add(frames, &thread_groups[(uint32_t)i % COUNT(thread_groups)]);
		}
		/* Few different frames at the bottom, so that stacks have something in common. */
		for (base = n; wanted; wanted--, n++)
			stack[n] = n < base + 2 ? code_frame(frames, random_below(4), 1, false) : random_frame(frames);
		for (unsigned int times = 1 + random_below(9); times; times--)
			if (tree__add(tree, stack, n, &(struct weight){ PERIOD, 1 }))
				return -1;
	}
	free(stack);
	return 0;
}

static int write_to(const char *directory, const char *profile, const char *detail, const struct output_format *f,
		    const struct report *r)
{
	/* Fewer rows than some profiles have. */
	struct output_options o = { .top = 50 };
	char path[4096];
	FILE *to;
	int err;

	snprintf(path, sizeof(path), "%s/%s.%s.%s", directory, profile, detail, f->name);
	to = fopen(path, "w");
	if (!to) {
		perror(path);
		return -1;
	}
	err = f->write(r, 1, &o, to);
	if (fclose(to) || err)
		fprintf(stderr, "%s: error %d\n", path, err);
	return err;
}

static const struct output_format *const formats[] = {
	&output_folded, &output_pprof, &output_speedscope, &output_json, &output_jsonl, &output_tree, &output_table, &output_callgrind, &output_otlp, &output_otlp_json,
	&output_clickhouse,
};

static int write_report(const char *directory, const char *profile, const struct tree *tree, const struct frame_table *frames,
			const struct groups *groups, enum report_detail detail, const struct output_format *format)
{
	struct report_view view = { .mode = &mode_cpu, .by_value = format->by_value };
	struct report r;
	int err = report__build(&r, tree, frames, groups, detail, &view);

	if (err)
		return err;
	strcpy(r.meta.command, "ruby app.rb \"quoted\" <b>");
	strcpy(r.meta.ruby_version, "3.4.5");
	strcpy(r.meta.ruby_description, "ruby 3.4.5 (2025-07-16) +YJIT [x86_64-linux]");
	strcpy(r.meta.source, "on-CPU at 99 Hz by the clock");
	r.meta.pid = 42;
	r.meta.period = PERIOD;
	r.meta.started = 1700000000;
	r.meta.duration = 12.5;
	r.meta.paused = 250000000;
	r.meta.missed = 3;
	r.meta.accounting.taken = r.meta.stacks + 5;
	r.meta.accounting.whole = r.meta.stacks - (r.meta.stacks ? 1 : 0);
	r.meta.accounting.truncated[TRUNC_DEPTH] = r.meta.stacks ? 1 : 0;
	r.meta.accounting.lost[LOSS_RING_FULL] = 5;
	err = write_to(directory, profile, detail == REPORT_BY_CODE ? "code" : "lines", format, &r);
	report__free(&r);
	return err;
}

/* show: as --group-by has it. */
static int write_profile(const char *directory, const char *profile, int stacks, unsigned int depth, const char *show)
{
	static const enum report_detail details[] = { REPORT_BY_LINE, REPORT_BY_CODE };
	struct tree tree = { 0 };
	struct frame_table frames = { 0 };
	struct groups groups;
	int err = groups__parse(show, &groups);

	if (!err)
		err = fill(&tree, &frames, stacks, depth, groups.count > 0);

	for (size_t i = 0; !err && i < COUNT(details) * COUNT(formats); i++)
		err = write_report(directory, profile, &tree, &frames, &groups, details[i % COUNT(details)],
				   formats[i / COUNT(details)]);
	tree__free(&tree);
	frame_table__free(&frames);
	return err;
}

/* The texts, one a line: formats.py needs them to tell names from places. */
static int write_texts(const char *directory, const char *file, const char *const *texts, size_t count)
{
	char path[4096];
	FILE *to;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	to = fopen(path, "w");
	if (!to) {
		perror(path);
		return -1;
	}
	for (size_t i = 0; i < count; i++)
		fprintf(to, "%s\n", texts[i]);
	return fclose(to);
}

int main(int argc, char **argv)
{
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: formats DIRECTORY\n");
		return 2;
	}
	err = write_texts(argv[1], "names", names, COUNT(names));
	err |= write_texts(argv[1], "paths", paths, COUNT(paths));
	err |= write_profile(argv[1], "empty", 0, 1, "thread");
	err |= write_profile(argv[1], "plain", 300, 12, "none");
	err |= write_profile(argv[1], "threads", 400, 12, "thread");
	err |= write_profile(argv[1], "patterns", 200, 12, "thread-pattern,thread");
	err |= write_profile(argv[1], "all", 400, 12, "cgroup,process,thread");
	err |= write_profile(argv[1], "deep", 5, 3000, "process");
	return err ? 1 : 0;
}
