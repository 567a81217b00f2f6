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
/* Each has a number or 0, and a wider group or NULL: see frames.h.  formats.py knows what they stand for. */
struct group {
	const char *name, *wider;
	uint32_t number;
};

static const struct group process_groups[] = {
	{ "[process 10 puma]", "[cgroup /system.slice/web.service]", 10 },
	{ "[process 11 11 \"x\"]", "[cgroup /system.slice/web.service]", 11 },
	{ "[process 12]", "[unknown cgroup]", 12 },
	{ "[process idle.rb]", NULL, 0 },
};
static const struct group thread_groups[] = {
	{ "[thread main (42)]", "[thread main]", 42 },
	{ "[thread worker 1 (43)]", "[thread worker *]", 43 },
	{ "[thread x (7) (44)]", NULL, 44 },
	{ "[thread x (7)]", NULL, 0 },
	{ "[thread #3 (gone)]", NULL, 0 },
	{ "[thread ractor 2 main (45)]", NULL, 45 },
	{ "[native thread ruby (42)]", NULL, 42 },
	{ "[unknown thread y (46)]", NULL, 46 },
	{ "[one of too many threads]", NULL, 0 },
	{ "[thread (5)]", NULL, 0 },
	{ "[thread a:b \"c\" (47)]", NULL, 47 },
	{ "[thread thread z (48)]", NULL, 48 },
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

/* A frame says by its number which row it wants: process, thread, or name, path, first line and kind. */
#define FIRST_THREAD 50u
#define FIRST_CODE 100u

static void fill_group(struct frame_row *row, const struct group *g, uint8_t kind)
{
	row->name = g->name;
	row->wider = g->wider;
	row->number = g->number;
	row->kind = kind;
}

static void fill_row(struct frame_row *row, uint64_t frame)
{
	uint32_t number = frame__number(frame);

	row->path = paths[0];
	row->kept = true;
	if (number < FIRST_THREAD) {
		fill_group(row, &process_groups[number], LABEL_PROCESS);
		return;
	}
	if (number < FIRST_CODE) {
		fill_group(row, &thread_groups[number - FIRST_THREAD], LABEL_THREAD);
		return;
	}
	number -= FIRST_CODE;
	row->name = names[number % COUNT(names)];
	number /= COUNT(names);
	row->path = paths[number % COUNT(paths)];
	number /= COUNT(paths);
	row->first_line = (int32_t)(number % 3) * 10;
	row->kind = number / 3 ? LABEL_C : LABEL_RUBY;
	row->line = frame__line(frame);
	row->approximate = row->line && frame & FRAME_APPROXIMATE;
}

static uint64_t random_frame(void)
{
	unsigned int number = random_below(COUNT(names) * COUNT(paths) * 3 * 2);
	unsigned int line = random_below(4), approximate = !random_below(3);

	return frame__make(FIRST_CODE + number, (int32_t)line, approximate);
}

/* All stacks of a grouped profile are of a process and a thread. */
static int fill(struct tree *tree, struct frames *frames, int stacks, unsigned int depth, bool grouped)
{
	uint64_t *stack = calloc(depth + 3, sizeof(*stack));

	if (!stack || tree__init(tree))
		return -1;
	for (int i = 0; i < stacks; i++) {
		/* Now and then a thread without a frame. */
		uint32_t n = 0, base, wanted = grouped ? random_below(depth) : 1 + random_below(depth);

		/* Every thread has some. */
		if (grouped) {
			stack[n++] = frame__make(random_below(COUNT(process_groups)), 0, false);
			stack[n++] = frame__make(FIRST_THREAD + (uint32_t)i % COUNT(thread_groups), 0, false);
		}
		/* Few different frames at the bottom, so that stacks have something in common. */
		for (base = n; wanted; wanted--, n++)
			stack[n] = n < base + 2 ? frame__make(FIRST_CODE + random_below(4), 1, false) : random_frame();
		for (unsigned int times = 1 + random_below(9); times; times--)
			if (tree__add(tree, stack, n, &(struct weight){ PERIOD, 1 }))
				return -1;
	}
	free(stack);
	frames->rows = calloc(tree->frame_count + 1, sizeof(*frames->rows));
	if (!frames->rows)
		return -1;
	frames->count = tree->frame_count;
	frames->room = tree->frame_count + 1;
	for (uint32_t i = 0; i < tree->frame_count; i++)
		fill_row(&frames->rows[i], tree->frames[i]);
	return 0;
}

static int write_to(const char *directory, const char *profile, const char *detail, const struct output_format *f,
		    const struct report *r)
{
	struct output_options o = { 0 };
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

static const struct output_format *const formats[] = { &output_folded, &output_pprof, &output_speedscope };

static int write_report(const char *directory, const char *profile, const struct tree *tree, const struct frames *frames,
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
	struct frames frames = { 0 };
	struct groups groups;
	int err = groups__parse(show, &groups);

	if (!err)
		err = fill(&tree, &frames, stacks, depth, groups.count > 0);

	for (size_t i = 0; !err && i < COUNT(details) * COUNT(formats); i++)
		err = write_report(directory, profile, &tree, &frames, &groups, details[i % COUNT(details)],
				   formats[i / COUNT(details)]);
	tree__free(&tree);
	frames__free(&frames);
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
