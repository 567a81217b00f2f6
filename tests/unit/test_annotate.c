/* SPDX-License-Identifier: BSD-2-Clause */
/* Source beside what its lines took: known lines, names that are ambiguous, and text that means something to a terminal. */
#include "profile_fixture.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/annotate.h"

/* 3 samples in the first line of Foo#foo, 1 in the line of Foo#bar, which calls it; 4 in all. */
static int make(struct report *r)
{
	set_up();
	fake__set_path(fake__get(&ruby, bar_id), "/app/models/b.rb");
	fake__set_path(fake__get(&ruby, foo_id), "/app/models/a.rb");
	fake__set_path(fake__get(&ruby, main_id), "/app/a.rb");
	fake__set_code(fake__get(&ruby, foo_id), 10, 2);
	fake__set_code(fake__get(&ruby, bar_id), 10, 4);
	fake__set_code(fake__get(&ruby, main_id), 10, 1);
	for (int i = 0; i < 4; i++) {
		start();
		if (i < 3)
			frame(foo_id, 0);
		frame(bar_id, 0);
		frame(main_id, 0);
		send(1);
	}
	return build_report(r, REPORT_BY_LINE);
}

static char shown[1 << 16];

static const char *shown_by(const struct annotation *a, int (*write)(const struct annotation *, const struct annotate_options *, FILE *))
{
	struct annotate_options o = { .source = "a test", .changed = "<it has>" };
	FILE *f = fmemopen(shown, sizeof(shown) - 1, "w");

	memset(shown, 0, sizeof(shown));
	write(a, &o, f);
	fclose(f);
	return shown;
}

TEST(annotate_shows_what_lines_took)
{
	static const char source[] = "# one\n\tfoo \033[31m<b>\nthree\nfour\r\nfive";
	struct annotation a;
	struct report r;
	int32_t first, line;

	CHECK(!make(&r));
	CHECK(!annotation__make(&a, &r, "/app/models/a.rb", &diag));
	/* The only line of the file that was seen. */
	CHECK(a.count > 0 && a.self == 3 && a.total == 3);
	line = (int32_t)a.count;
	CHECK(a.lines[line].self == 3 && a.lines[line].total == 3);
	annotation__free(&a);
	CHECK(!annotation__make(&a, &r, "models/b.rb", &diag));
	first = (int32_t)a.count;
	CHECK(a.lines[first].self == 1 && a.lines[first].total == 4);
	CHECK(!annotation__set_source(&a, source, strlen(source)));
	CHECK(a.count == 5 || a.count == (uint32_t)first);
	CHECK(strstr(shown_by(&a, annotation__write_text), "25.0 %") && strstr(shown, "100.0 %"));
	CHECK(strstr(shown, "CHANGED: <it has>") && strstr(shown, "source: a test"));
	CHECK(!strchr(shown, '\033') && !strchr(shown, '\t') && !strchr(shown, '\r'));
	CHECK(strstr(shown_by(&a, annotation__write_html), "&lt;it has&gt;") && !strstr(shown, "<b>"));
	CHECK(strstr(shown, "25.0 %") && strstr(shown, "Content-Security-Policy"));
	annotation__free(&a);
	report__free(&r);
	tear_down();
}

TEST(annotate_finds_files_and_methods)
{
	struct annotation a;
	struct report r;

	CHECK(!make(&r));
	CHECK(!annotation__make(&a, &r, "Foo#bar", &diag));
	CHECK_STRING(a.path, "/app/models/b.rb");
	CHECK(a.first && a.last >= a.first && a.lines[a.count].total == 4);
	annotation__free(&a);
	CHECK_INT(annotation__make(&a, &r, "a.rb", &diag), -EEXIST);
	CHECK(strstr(diag.text, "several files") && strstr(diag.text, "/app/models/a.rb"));
	annotation__free(&a);
	CHECK_INT(annotation__make(&a, &r, ".rb", &diag), -ENOENT);
	annotation__free(&a);
	CHECK_INT(annotation__make(&a, &r, "Foo#nothing", &diag), -ENOENT);
	annotation__free(&a);
	CHECK(!annotation__make(&a, &r, "/app/a.rb", &diag));
	annotation__free(&a);
	report__free(&r);
	tear_down();
}

/* A line of which the stack has exact and approximate parts counts once. */
TEST(annotate_counts_a_line_once)
{
	const struct weight weight = { 10, 1 };
	struct report_view view = { .mode = &mode_cpu, .by_value = true };
	struct frame f = FRAME_INIT(FRAME_RUBY);
	struct annotation a;
	struct report r;
	uint32_t path[2];

	set_up();
	f.name = "Foo#foo";
	f.path = "/app/x.rb";
	f.line = 7;
	for (int i = 0; i < 2; i++) {
		f.approximate = i;
		path[i] = frame_table__code(&frames, code__make(CODE_RUBY, 1, f.line, i));
		CHECK(path[i] && !frame_table__set(&frames, path[i], &f));
	}
	CHECK(!tree__add(&tree, path, 2, &weight) && !tree__add(&tree, path, 1, &weight));
	for (int joins = 0; joins < 2; joins++) {
		view.joins_lines = joins;
		CHECK(!report__build(&r, &tree, &frames, NULL, REPORT_BY_LINE, &view));
		CHECK_INT(r.lines.count, joins ? 1 : 2);
		CHECK(!annotation__make(&a, &r, "/app/x.rb", &diag));
		CHECK_INT(a.lines[7].self, 20);
		CHECK_INT(a.lines[7].total, joins ? 20 : 30);
		CHECK(a.lines[7].approximate);
		annotation__free(&a);
		report__free(&r);
	}
	tear_down();
}

/* Lines beyond what is bounded, and none at all. */
TEST(annotate_is_bounded)
{
	struct annotation a;
	struct report r;
	char *lines = malloc(2 * (ANNOTATE_LINES_MAX + 10));

	CHECK(lines && !make(&r));
	for (uint32_t i = 0; i < ANNOTATE_LINES_MAX + 10; i++)
		memcpy(lines + 2 * (size_t)i, "x\n", 2);
	CHECK(!annotation__make(&a, &r, "models/b.rb", &diag));
	CHECK(!annotation__set_source(&a, "", 0));
	CHECK(!a.lines[1].text);
	CHECK(!annotation__set_source(&a, lines, 2 * (ANNOTATE_LINES_MAX + 10)));
	CHECK_INT(a.count, ANNOTATE_LINES_MAX);
	CHECK_INT(a.lines[ANNOTATE_LINES_MAX].length, 1);
	annotation__free(&a);
	report__free(&r);
	tear_down();
	free(lines);
}
