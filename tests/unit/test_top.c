/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof top: what is counted, what is shown, and what keys change of it. */
#include "test.h"

#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/top.h"
#include "no_memory.h"

#define FRAME(kind_, name_, ...) { .kind = EXTPROF_FRAME_##kind_, .name = name_, .path = "", __VA_ARGS__ }

static const struct extprof_frame process = FRAME(PROCESS, "[process 7 app.rb]", .bare = "app.rb", .pid = 7);
static const struct extprof_frame first = FRAME(THREAD, "[thread main (7)]", .bare = "main", .tid = 7);
static const struct extprof_frame second = FRAME(THREAD, "[thread ワーカー (8)]", .bare = "ワーカー", .tid = 8);
static const struct extprof_frame foo = { .name = "Foo#foo", .path = "/app/foo.rb", .line = 12, .first_line = 10 };
static const struct extprof_frame foo_later = { .name = "Foo#foo", .path = "/app/foo.rb", .line = 15, .first_line = 10,
						.approximate = true };
static const struct extprof_frame bar = { .name = "Bar#計算", .path = "/app/bar.rb", .line = 3, .first_line = 2 };
static const struct extprof_frame gc = FRAME(GC, "[GC mark]", .line_part = EXTPROF_PART_OF_CALLER);
static const struct extprof_frame gvl = FRAME(STATE, "[gvl]", .state = EXTPROF_STATE_GVL, .line_part = EXTPROF_PART_OF_CALLER);
static const struct extprof_frame gsub = FRAME(C, "String#gsub", .line_part = EXTPROF_PART_OF_CALLER);
static const struct extprof_frame truncated = FRAME(MARK, "[truncated]", .line_part = EXTPROF_PART_NONE);

static struct top_model model;
static struct top_state state;
static struct top_head head;

/* Code frames, outermost first, end with NULL. */
static int add(const struct extprof_frame *thread, uint64_t value, ...)
{
	const struct extprof_frame *frames[8] = { &process, thread }, *f;
	struct extprof_stack s = { .frames = frames, .count = 2, .groups = 2, .value = value };
	va_list args;

	va_start(args, value);
	while ((f = va_arg(args, const struct extprof_frame *)))
		frames[s.count++] = f;
	va_end(args);
	return top_model__add(&model, &s);
}

static void set_up(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	top_model__free(&model);
	top_state__init(&state, 1000000000, 2);
	state.choice.filter = "";
	head = (struct top_head){ .mode = "cpu", .source = "a clock", .unit = "ns", .on_cpu = -1, .gvl = -1, .gc = -1,
				  .own = -1, .below = "state" };
}

/* Row `i` as "name thread self total"; "" none. */
static const char *row(uint32_t i)
{
	static char text[512];
	const struct top_row **rows;
	uint32_t count;

	text[0] = '\0';
	if (top_model__choose(&model, &state.choice, &rows, &count))
		return "no memory";
	if (i < count)
		snprintf(text, sizeof(text), "%s|%s:%d|%s|%d %d", rows[i]->name, rows[i]->path, rows[i]->line, rows[i]->thread,
			 (int)top_row__amount(rows[i], state.choice.all)->self,
			 (int)top_row__amount(rows[i], state.choice.all)->total);
	free(rows);
	return text;
}

/* What a report says of a thread: so long in the states 0 to 2. */
static void add_thread(struct top_accounts *a, pid_t pid, uint32_t tid, uint64_t running, uint64_t runnable, uint64_t in_gvl)
{
	uint64_t times[] = { running, runnable, in_gvl }, counts[3] = { 0 };
	const struct extprof_report_thread thread = {
		.name = "", .pid = pid, .tid = tid, .ruby = true, .times = times, .counts = counts, .state_count = 3, .idle = in_gvl / 2,
		.threads = 1,
	};

	top_accounts__add_thread(a, &thread);
}

TEST(top_counts_self_and_total)
{
	set_up();
	add(&first, 5, &bar, &foo, NULL);
	add(&first, 3, &bar, NULL);
	add(&first, 2, &bar, &bar, NULL);	/* recursion counts once */
	CHECK_STRING(row(0), "Bar#計算|/app/bar.rb:2||5 10");
	CHECK_STRING(row(1), "Foo#foo|/app/foo.rb:10||5 5");
	CHECK_STRING(row(2), "");
	state.choice.sort = TOP_BY_NAME;
	state.choice.reverse = true;
	CHECK_STRING(row(0), "Foo#foo|/app/foo.rb:10||5 5");
	CHECK_INT(model.last, 10);
	CHECK_INT(model.last_gc, 0);
	top_model__free(&model);
}

TEST(top_tells_lines_and_threads_apart)
{
	set_up();
	add(&first, 1, &bar, &foo, NULL);
	add(&second, 4, &bar, &foo_later, NULL);
	CHECK_STRING(row(0), "Foo#foo|/app/foo.rb:10||5 5");
	state.choice.view = TOP_LINES;
	CHECK_STRING(row(0), "Foo#foo|/app/foo.rb:15||4 4");
	CHECK_STRING(row(1), "Foo#foo|/app/foo.rb:12||1 1");
	CHECK_STRING(row(2), "Bar#計算|/app/bar.rb:3||0 5");
	state.choice.by_thread = true;
	CHECK_STRING(row(2), "Bar#計算|/app/bar.rb:3|ワーカー (8)|0 4");
	state.choice.view = TOP_THREADS;	/* each has one row, whatever is chosen */
	CHECK_STRING(row(0), "ワーカー (8)|7 app.rb:0||4 4");
	CHECK_STRING(row(1), "main (7)|7 app.rb:0||1 1");
	state.choice.view = TOP_PROCESSES;
	CHECK_STRING(row(0), "7 app.rb|:0||5 5");
	top_model__free(&model);
}

TEST(top_lines_have_what_they_call_in_c)
{
	const struct extprof_frame block = { .name = "block in Foo#foo", .path = "/app/foo.rb", .line = 12, .first_line = 12 };

	set_up();
	add(&first, 5, &bar, &foo, &gsub, NULL);
	add(&first, 3, &bar, &foo, &gsub, &gc, NULL);
	add(&first, 2, &bar, &foo, &gvl, NULL);
	add(&first, 4, &bar, &foo, &gsub, &block, &gsub, NULL);	/* a block of the line, called by C: the line counts once */
	add(&first, 1, &gsub, NULL);
	add(&first, 7, &bar, &truncated, &gsub, NULL);	/* it may be another line that called it */
	state.choice.view = TOP_LINES;
	CHECK_STRING(row(0), "Foo#foo|/app/foo.rb:12||14 14");
	CHECK_STRING(row(1), "Bar#計算|/app/bar.rb:3||0 21");
	CHECK_STRING(row(2), "");
	state.choice.by_thread = true;
	CHECK_STRING(row(0), "Foo#foo|/app/foo.rb:12|main (7)|14 14");
	state.choice.by_thread = false;
	state.choice.view = TOP_METHODS;
	CHECK_STRING(row(0), "String#gsub|:0||17 20");
	top_model__free(&model);
}

TEST(top_methods_have_what_blocks_in_c_do)
{
	const struct extprof_frame map = FRAME(C, "Enumerable#map", .line_part = EXTPROF_PART_OF_CALLER);
	const struct extprof_frame block = FRAME(C, "[block in C]", .line_part = EXTPROF_PART_OF_CALLER,
						 .method_part = EXTPROF_PART_OF_CALLER);

	set_up();
	add(&first, 5, &bar, &map, &gsub, &block, &foo, NULL);
	add(&first, 2, &bar, &map, &gsub, &block, NULL);
	add(&first, 1, &bar, &map, &gsub, &block, &gc, NULL);
	CHECK_STRING(row(0), "Foo#foo|/app/foo.rb:10||5 5");
	CHECK_STRING(row(1), "String#gsub|:0||2 8");
	CHECK_STRING(row(2), "[GC mark]|:0||1 1");
	state.choice.sort = TOP_BY_TOTAL;
	CHECK_STRING(row(0), "String#gsub|:0||2 8");
	CHECK_STRING(row(1), "Bar#計算|/app/bar.rb:2||0 8");
	CHECK_STRING(row(2), "Enumerable#map|:0||0 8");
	CHECK_STRING(row(4), "[GC mark]|:0||1 1");
	CHECK_STRING(row(5), "");
	top_model__free(&model);
}

TEST(top_puts_states_below_the_code)
{
	set_up();
	add(&first, 6, &foo, &gvl, NULL);
	add(&first, 2, &foo, &gc, NULL);
	CHECK_STRING(row(0), "Foo#foo|/app/foo.rb:10||6 8");
	CHECK_STRING(row(1), "[GC mark]|:0||2 2");
	state.choice.view = TOP_STATES;
	CHECK_STRING(row(0), "[gvl]|:0||6 6");
	CHECK_STRING(row(1), "");
	CHECK_INT(model.last_gvl, 6);
	CHECK_INT(model.last_gc, 2);
	CHECK_INT(model.last, 8);
	top_model__free(&model);
}

TEST(top_has_the_last_window_and_all_of_them)
{
	set_up();
	add(&first, 5, &foo, NULL);
	top_model__begin(&model);
	add(&first, 1, &bar, NULL);
	CHECK_STRING(row(0), "Bar#計算|/app/bar.rb:2||1 1");
	CHECK_STRING(row(1), "");
	CHECK_INT(model.last, 1);
	CHECK_INT(model.all, 6);
	state.choice.all = true;
	CHECK_STRING(row(0), "Foo#foo|/app/foo.rb:10||5 5");
	CHECK_STRING(row(1), "Bar#計算|/app/bar.rb:2||1 1");
	top_model__free(&model);
	CHECK_STRING(row(0), "");
}

TEST(top_filters_by_name_path_and_thread)
{
	set_up();
	add(&first, 5, &foo, NULL);
	add(&second, 1, &bar, NULL);
	state.choice.filter = "計";
	CHECK_STRING(row(0), "Bar#計算|/app/bar.rb:2||1 1");
	CHECK_STRING(row(1), "");
	state.choice.filter = "FOO.RB";
	CHECK_STRING(row(0), "Foo#foo|/app/foo.rb:10||5 5");
	CHECK_STRING(row(1), "");
	state.choice.by_thread = true;
	state.choice.filter = "ワーカー";
	CHECK_STRING(row(0), "Bar#計算|/app/bar.rb:2|ワーカー (8)|1 1");
	CHECK_STRING(row(1), "");
	state.choice.filter = "neither";
	CHECK_STRING(row(0), "");
	top_model__free(&model);
}

TEST(top_is_bounded)
{
	uint64_t sum = 0;
	char name[32];
	struct extprof_frame f = { .name = name, .path = "" };

	set_up();
	for (uint32_t i = 0; i < 3 * TOP_ROWS_MAX; i++) {
		snprintf(name, sizeof(name), "m%u", i);
		/* One of them stands out. */
		CHECK_INT(add(&first, i == 77 ? 1000000 : 1, &f, NULL), 0);
	}
	CHECK(model.tables[TOP_METHODS].count <= TOP_ROWS_MAX);
	for (uint32_t i = 0; i < model.tables[TOP_METHODS].count; i++)
		sum += model.tables[TOP_METHODS].rows[i]->all.self;
	CHECK_INT(sum, 1000000 + 3 * TOP_ROWS_MAX - 1);
	CHECK_STRING(row(0), "m77|:0||1000000 1000000");
	CHECK(strstr(row(1), "[many others]"));
	top_model__free(&model);
}

TEST(top_survives_without_memory)
{
	struct top_accounts *a;

	set_up();
	for (unsigned int n = 1; n < 70; n++) {
		no_memory_at = n;
		add(&first, 1, &bar, &foo, &gvl, NULL);
		if (!top_accounts__begin(&a, &model))
			add_thread(a, 7, 7, 1, 2, 3);
		top_accounts__free(a);
		row(0);
		no_memory_at = 0;
		top_model__begin(&model);
	}
	CHECK_INT(add(&first, 1, &bar, NULL), 0);
	top_model__free(&model);
}

/* -- text ------------------------------------------------------------------------------------------- */

TEST(top_lines_count_columns)
{
	struct top_line l = { 0 };

	set_up();
	CHECK_INT(top_columns("abc"), 3);
	CHECK_INT(top_columns("計算"), 4);
	CHECK_INT(top_columns("e\xcc\x81"), 1);	/* a mark that combines */
	top_line__add_ends(&l, "計算する", 7);	/* half of a letter does not fit */
	CHECK_STRING(l.text, "計..る");
	CHECK_INT(l.columns, 6);
	top_line__pad(&l, 8);
	CHECK_STRING(l.text, "計..る  ");
	top_line__clear(&l);
	top_line__add_ends(&l, "Puma::Server#process_client", 20);
	CHECK_STRING(l.text, "Puma::Ser..ss_client");
	CHECK_INT(l.columns, 20);
	top_line__clear(&l);
	top_line__add_ends(&l, "Puma::Server#process_client", 27);
	CHECK_STRING(l.text, "Puma::Server#process_client");
	top_line__clear(&l);
	top_line__add_ends(&l, "abcde\xcc\x81", 4);	/* the mark goes with its letter */
	CHECK_STRING(l.text, "a..e\xcc\x81");
	for (unsigned int width = 0; width < 3; width++) {
		top_line__clear(&l);
		top_line__add_ends(&l, "abc", width);
		CHECK(l.columns <= width);
	}
	top_line__clear(&l);
	top_line__add_end(&l, "/app/計算.rb", 7);
	CHECK_STRING(l.text, "..算.rb");
	CHECK_INT(l.columns, 7);
	top_line__clear(&l);
	top_line__add_end(&l, "/app/計算.rb", 8);	/* half of a letter does not fit */
	CHECK_STRING(l.text, "..算.rb");
	top_line__clear(&l);
	top_line__add(&l, "a\xff\x1b[2Jb");	/* what a terminal must not get */
	CHECK_STRING(l.text, "a??[2Jb");
	top_line__cut(&l, 2);
	CHECK_STRING(l.text, "a?");
	top_line__clear(&l);
	for (int i = 0; i < 2 * TOP_LINE_MAX; i++)
		top_line__add(&l, "計");
	CHECK(l.length < TOP_LINE_MAX && l.length % 3 == 0);
	top_line__pad(&l, 100000);
	CHECK(l.length < TOP_LINE_MAX);
}

static const struct top_more *more_of;	/* shares of a process; NULL: not known */

static const char *line_of(uint32_t i, unsigned int width)
{
	static struct top_line line;
	const struct top_row **rows;
	struct top_more more = { .cpu = -1, .gvl = -1, .gc = -1 };
	uint32_t count;

	if (top_model__choose(&model, &state.choice, &rows, &count))
		return "no memory";
	if (i >= count) {
		free(rows);
		return "";
	}
	if (rows[i]->account) {
		more.sums = &rows[i]->account->last;
		more.resident = rows[i]->account->resident;
		more.live_slots = rows[i]->account->live_slots;
	}
	if (more_of)
		more.cpu = more_of->cpu, more.gvl = more_of->gvl, more.gc = more_of->gc;
	top_view__row(&state, &head, rows[i], &more, model.last, width, &line);
	free(rows);
	return line.text;
}

/* A name of each view stays whatever the width, and numbers come as there is room. */
TEST(top_names_stay_in_narrow_lines)
{
	const struct extprof_frame client = { .name = "Puma::Server#process_client", .path = "/gems/puma/lib/puma/server.rb",
					      .line = 488, .first_line = 460 };
	const struct extprof_frame request = { .name = "Puma::Server#process_request", .path = "/gems/puma/lib/puma/server.rb",
					       .line = 510, .first_line = 500 };
	struct top_line lines[TOP_HEAD_LINES];

	set_up();
	add(&first, 1000000, &client, &request, NULL);
	add(&first, 3000000, &client, NULL);
	top_view__head(&state, &head, 40, lines);
	CHECK_STRING(lines[3].text, " SELF %  METHOD");
	CHECK_STRING(line_of(0, 40), " 75.0 %  Puma::Server#process_client");
	CHECK_STRING(line_of(1, 40), " 25.0 %  Puma::Server#process_request");
	state.choice.by_thread = true;
	CHECK_STRING(line_of(0, 40), " 75.0 %  ma..(7) Puma::Serv..cess_client");
	CHECK_STRING(line_of(1, 40), " 25.0 %  ma..(7) Puma::Serv..ess_request");
	state.choice.by_thread = false;
	CHECK_STRING(line_of(0, 60), " 75.0 % 100.0 %  Puma::Server..ocess_client ../server.rb:460");
	state.choice.sort = TOP_BY_TOTAL;
	top_view__head(&state, &head, 59, lines);
	CHECK_STRING(lines[3].text, "TOTAL %  METHOD");
	CHECK_STRING(line_of(0, 40), "100.0 %  Puma::Server#process_client");
	state.choice.sort = TOP_BY_SELF;
	top_view__head(&state, &head, 80, lines);
	CHECK_STRING(lines[3].text, " SELF %       SELF TOTAL %  METHOD                           PLACE");
	CHECK_STRING(line_of(0, 80), " 75.0 %    3.00 ms 100.0 %  Puma::Server#process_client      ..uma/server.rb:460");
	state.choice.view = TOP_LINES;
	CHECK_STRING(line_of(0, 40), " 75.0 %  Puma:..lient ..ma/server.rb:488");
	CHECK_STRING(line_of(1, 40), " 25.0 %  Puma:..quest ..ma/server.rb:510");
	state.choice.view = TOP_THREADS;
	top_view__head(&state, &head, 40, lines);
	CHECK_STRING(lines[3].text, "TOTAL %  THREAD");
	CHECK_STRING(line_of(0, 40), "100.0 %  main (7)");
	state.choice.view = TOP_PROCESSES;
	CHECK_STRING(line_of(0, 40), "100.0 %       -  7 app.rb");
	top_model__free(&model);
}

TEST(top_rows_line_up)
{
	struct top_line lines[TOP_HEAD_LINES];

	set_up();
	add(&first, 1234567, &bar, &foo, NULL);
	add(&second, 8765433, &bar, NULL);
	top_view__head(&state, &head, 100, lines);
	CHECK_STRING(lines[3].text, " SELF %       SELF TOTAL %      TOTAL  METHOD                                PLACE");
	CHECK_STRING(line_of(0, 100), " 87.7 %    8.77 ms 100.0 %    10.0 ms  Bar#計算                              /app/bar.rb:2");
	CHECK_STRING(line_of(1, 100), " 12.3 %    1.23 ms  12.3 %    1.23 ms  Foo#foo                               /app/foo.rb:10");
	state.choice.view = TOP_THREADS;
	CHECK_STRING(line_of(0, 60), " 87.7 %    8.77 ms  ワーカー (8)             7 app.rb");
	CHECK_STRING(line_of(1, 60), " 12.3 %    1.23 ms  main (7)                 7 app.rb");
	state.choice.view = TOP_LINES;
	state.choice.by_thread = true;
	CHECK_STRING(line_of(0, 0), " 87.7 %    8.77 ms  87.7 %    8.77 ms  ワーカー (8)             Bar#計算"
		     "                                 /app/bar.rb:3");
	for (unsigned int width = 0; width < 200; width++) {
		CHECK(!width || top_columns(line_of(0, width)) <= width);
		top_view__head(&state, &head, width, lines);
		for (unsigned int i = 0; i < TOP_HEAD_LINES; i++)
			CHECK(!width || top_columns(lines[i].text) <= width);
	}
	head.unit = "bytes";
	CHECK(strstr(line_of(0, 0), "8.36 MiB"));
	head.unit = "count";
	CHECK(strstr(line_of(0, 0), "8765433 "));
	top_model__free(&model);
}

TEST(top_of_what_lives_tells_how_it_grows)
{
	struct top_line lines[TOP_HEAD_LINES];

	set_up();
	model.lives = head.lives = true;
	head.unit = "bytes";
	head.made_in = 2;
	add(&first, 3000, &foo, NULL);
	add(&first, 1000, &bar, NULL);
	/* A window is not added to the one before. */
	top_model__begin(&model);
	add(&first, 5000, &foo, NULL);
	add(&first, 400, &bar, NULL);
	CHECK_STRING(row(0), "Foo#foo|/app/foo.rb:10||5000 5000");
	CHECK_INT(model.all, 5400);
	top_view__head(&state, &head, 80, lines);
	CHECK(strstr(lines[0].text, "made in 2.0 s") && strstr(lines[2].text, "growth in the last interval"));
	CHECK_STRING(lines[3].text, " SELF %       SELF TOTAL %     GROWTH  METHOD                    PLACE");
	CHECK_STRING(line_of(0, 80), " 92.6 %   4.88 KiB  92.6 %  +1.95 KiB  Foo#foo                   /app/foo.rb:10");
	CHECK_STRING(line_of(1, 80), "  7.4 %      400 B   7.4 %     -600 B  Bar#計算                  /app/bar.rb:2");
	state.choice.sort = TOP_BY_GROWTH;
	state.choice.reverse = true;
	CHECK_STRING(row(0), "Bar#計算|/app/bar.rb:2||400 400");
	state.choice.reverse = false;
	/* Since the reset, which has not come yet: since the beginning. */
	state.choice.all = true;
	CHECK(strstr(line_of(0, 80), "+4.88 KiB") && strstr(line_of(1, 80), "+400 B"));
	top_model__rebase(&model);
	top_model__begin(&model);
	add(&first, 5000, &foo, NULL);
	add(&first, 410, &bar, NULL);
	CHECK(strstr(line_of(0, 80), "+10 B") && strstr(line_of(1, 80), " 0  Foo#foo"));
	/* What is gone has no row. */
	top_model__begin(&model);
	add(&first, 10, &bar, NULL);
	CHECK(strstr(line_of(0, 80), "Bar#計算") && !*line_of(1, 80));
	top_model__free(&model);
}

TEST(top_threads_have_their_states)
{
	struct top_line lines[TOP_HEAD_LINES];
	struct top_accounts *a;

	set_up();
	state.choice.view = TOP_THREADS;
	add(&first, 7000000, &bar, NULL);
	add(&second, 3000000, &foo, &gvl, NULL);
	CHECK_INT(top_accounts__begin(&a, &model), 0);
	add_thread(a, 7, 8, 1000000, 0, 9000000);
	add_thread(a, 7, 7, 6000000, 1000000, 0);
	add_thread(a, 9, 7, 99, 99, 99);	/* the same tid in another pid namespace */
	add_thread(a, 0, 0, 99, 99, 99);	/* of several */
	top_accounts__free(a);
	CHECK_INT(model.states, 7);
	/* A mode without states. */
	top_view__head(&state, &head, 80, lines);
	CHECK_STRING(lines[3].text, "TOTAL %      TOTAL  THREAD                               PROCESS");
	head.states = model.states;
	head.rests = true;
	top_view__head(&state, &head, 120, lines);
	CHECK_STRING(lines[3].text, "TOTAL %      TOTAL     IDLE  RUNNING RUNNABLE      GVL  THREAD                                  PROCESS");
	CHECK_STRING(line_of(0, 120), " 70.0 %    7.00 ms        -  6.00 ms  1.00 ms        -  main (7)                                7 app.rb");
	CHECK_STRING(line_of(1, 120), " 30.0 %    3.00 ms  4.50 ms  1.00 ms        -  9.00 ms  ワーカー (8)                            7 app.rb");
	CHECK_STRING(line_of(0, 80), " 70.0 %    7.00 ms        -  6.00 ms  1.00 ms        -  main (7)");
	CHECK_STRING(line_of(1, 60), " 30.0 %  4.50 ms  1.00 ms  9.00 ms  ワーカー (8)");
	CHECK_STRING(line_of(1, 40), " 30.0 %  ワーカー (8)");
	/* In the next window there is one of them. */
	top_model__begin(&model);
	add(&first, 2000000, &bar, NULL);
	CHECK_INT(top_accounts__begin(&a, &model), 0);
	add_thread(a, 7, 7, 2000000, 0, 0);
	add_thread(a, 7, 8, 0, 0, 2000000);
	top_accounts__free(a);
	CHECK_STRING(line_of(0, 80), "100.0 %    2.00 ms        -  2.00 ms        -        -  main (7)");
	CHECK_STRING(line_of(1, 80), "  0.0 %          0  1.00 ms        -        -  2.00 ms  ワーカー (8)");
	CHECK_STRING(line_of(2, 80), "");
	CHECK_INT(model.tables[TOP_THREADS].rows[0]->account->all.times[0], 8000000);
	/* Also what one did that has no part of the mode in a window. */
	CHECK_INT(model.tables[TOP_THREADS].rows[1]->account->all.times[2], 11000000);
	top_model__free(&model);
}

/* A thread that does nothing but rest has a row, and its process has the sum of its threads. */
TEST(top_shows_threads_that_rest)
{
	const struct extprof_idle_thread rests = { .thread = &second, .process = &process, .time = 9000000 };
	const struct extprof_idle_thread unknown = { .thread = &first, .time = 5 };
	struct top_accounts *a;

	set_up();
	add(&first, 7000000, &bar, NULL);
	CHECK_INT(top_model__add_idle(&model, &rests), 0);
	CHECK_INT(top_model__add_idle(&model, &rests), 0);
	CHECK_INT(top_model__add_idle(&model, &unknown), 0);
	CHECK_INT(top_accounts__begin(&a, &model), 0);
	add_thread(a, 7, 8, 0, 0, 18000000);
	top_accounts__free(a);
	head.states = model.states;
	head.rests = true;
	state.choice.view = TOP_THREADS;
	CHECK_STRING(line_of(0, 80), "100.0 %    7.00 ms        -        -  main (7)");
	CHECK_STRING(line_of(1, 80), "  0.0 %          0  9.00 ms  18.0 ms  ワーカー (8)");
	CHECK_STRING(line_of(2, 80), "");
	state.choice.view = TOP_PROCESSES;
	CHECK_STRING(line_of(0, 80), "100.0 %    7.00 ms       -        -          -  18.0 ms  7 app.rb");
	CHECK_STRING(line_of(0, 40), "100.0 %       -  7 app.rb");
	/* In the next window it is alone. */
	top_model__begin(&model);
	CHECK_INT(top_model__add_idle(&model, &rests), 0);
	CHECK_STRING(line_of(0, 80), "                 0       -        -          -  9.00 ms  7 app.rb");
	state.choice.view = TOP_METHODS;
	CHECK_STRING(line_of(0, 80), "");
	top_model__free(&model);
}

TEST(top_processes_have_cpu_and_memory)
{
	const struct extprof_report_process known = { .pid = 7, .command = "", .ended = "", .cpu_time = 1500,
		.live_slots = 1234567 };
	const struct extprof_report_process ended = { .pid = 7, .command = "", .ended = "exit 0", .cpu_time = 500,
		.live_slots = 5 };
	const struct extprof_report_process other = { .pid = 9, .command = "", .ended = "", .cpu_time = 99 };
	const struct top_more shares = { .cpu = 1.5, .gvl = 2, .gc = 0.125 };
	struct top_line lines[TOP_HEAD_LINES];
	struct top_account *account;
	struct top_accounts *a;

	set_up();
	state.choice.view = TOP_PROCESSES;
	add(&first, 5, &foo, &gvl, NULL);
	add(&first, 3, &foo, &gc, NULL);
	add(&first, 2, &foo, NULL);
	CHECK_INT(top_accounts__begin(&a, &model), 0);
	top_accounts__add_process(a, &known);
	top_accounts__add_process(a, &other);
	top_accounts__free(a);
	account = model.tables[TOP_PROCESSES].rows[0]->account;
	CHECK_INT(account->last.cpu, 1500);
	CHECK_INT(account->last.gvl, 5);
	CHECK_INT(account->last.gc, 3);
	CHECK(account->lives);
	CHECK_INT(account->live_slots, 1234567);
	account->resident = 3 << 20;
	head.gvl = 2;
	head.gc = 0.1;
	more_of = &shares;
	top_view__head(&state, &head, 80, lines);
	CHECK_STRING(lines[3].text, "TOTAL %     CPU     GVL      GC      RSS      SLOTS  PROCESS");
	CHECK_STRING(line_of(0, 80), "100.0 % 150.0 % 200.0 %  12.5 % 3.00 MiB    1234567  7 app.rb");
	CHECK_STRING(line_of(0, 100), "100.0 %      10 ns 150.0 % 200.0 %  12.5 % 3.00 MiB    1234567  7 app.rb");
	CHECK_STRING(line_of(0, 60), "100.0 % 150.0 % 200.0 % 3.00 MiB  7 app.rb");
	CHECK_STRING(line_of(0, 40), "100.0 % 150.0 %  7 app.rb");
	more_of = NULL;
	head.gc = -1;
	CHECK_STRING(line_of(0, 80), "100.0 %      10 ns       -       - 3.00 MiB    1234567  7 app.rb");
	/* It has ended: the memory may be that of another process of its number. */
	top_model__begin(&model);
	add(&first, 1, &foo, NULL);
	CHECK_INT(top_accounts__begin(&a, &model), 0);
	top_accounts__add_process(a, &ended);
	top_accounts__free(a);
	top_model__read_memory(&model);
	CHECK_INT(account->resident, 0);
	CHECK_INT(account->live_slots, 0);
	CHECK_INT(account->last.cpu, 500);
	CHECK_INT(account->all.cpu, 2000);
	CHECK_INT(account->all.gvl, 5);
	top_model__free(&model);
}

/* Workers of a server are told apart by their titles. */
TEST(top_processes_have_titles)
{
	static const char *const cases[][2] = {
		{ "app.rb: worker 3: 42 [shop]", "100.0 %       2 ns       -        -          -  7 app.rb: worker 3: 42 [shop]" },
		{ "/srv/bin/app.rb: worker 3", "100.0 %       2 ns       -        -          -  7 app.rb: worker 3" },
		{ "app.rb", "100.0 %       2 ns       -        -          -  7 app.rb" },
		{ "ruby /srv/app.rb", "100.0 %       2 ns       -        -          -  7 app.rb" },
		{ "", "100.0 %       2 ns       -        -          -  7 app.rb" },
	};

	char title[256];

	set_up();
	state.choice.view = TOP_PROCESSES;
	head.gc = -1;
	add(&first, 2, &foo, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct extprof_report_process p = { .pid = 7, .command = cases[i][0], .ended = "" };
		struct top_accounts *a;

		CHECK_INT(top_accounts__begin(&a, &model), 0);
		CHECK_INT(top_accounts__add_process(a, &p), 0);
		top_accounts__free(a);
		CHECK_STRING(line_of(0, 100), cases[i][1]);
	}
	/* No character is cut in two: room is for "7 app.rb: " and 28 of 3 bytes. */
	{
		struct extprof_report_process p = { .pid = 7, .command = title, .ended = "" };
		const struct top_row *row = model.tables[TOP_PROCESSES].rows[0];
		struct top_accounts *a;

		strcpy(title, "app.rb: ");
		for (int i = 0; i < 60; i++)
			strcat(title, "\xe2\x82\xac");
		CHECK_INT(top_accounts__begin(&a, &model), 0);
		CHECK_INT(top_accounts__add_process(a, &p), 0);
		top_accounts__free(a);
		CHECK_INT(strlen(row->account->title), 10 + 28 * 3);
		CHECK(!strncmp(row->account->title, "7 app.rb: \xe2\x82\xac", 13) && !strcmp(row->account->title + 91, "\xe2\x82\xac"));
	}
	top_model__free(&model);
}

TEST(top_reads_the_memory_of_a_process)
{
	const struct extprof_frame own = FRAME(PROCESS, "[process]", .bare = "unit", .pid = (uint32_t)getpid());
	const struct extprof_frame *frames[] = { &own, &foo };
	const struct extprof_stack s = { .frames = frames, .count = 2, .groups = 1, .value = 1 };
	const struct extprof_report_process known = { .pid = getpid(), .command = "", .ended = "" };
	struct top_accounts *a;

	set_up();
	CHECK_INT(top_model__add(&model, &s), 0);
	CHECK_INT(top_accounts__begin(&a, &model), 0);
	top_accounts__add_process(a, &known);
	top_accounts__free(a);
	top_model__read_memory(&model);
	CHECK(model.tables[TOP_PROCESSES].rows[0]->account->resident > 1 << 20);
	CHECK(top_model__find(&model, TOP_PROCESSES, model.tables[TOP_PROCESSES].rows[0]) == model.tables[TOP_PROCESSES].rows[0]);
	top_model__free(&model);
}

TEST(top_head_says_what_is_known)
{
	struct top_line lines[TOP_HEAD_LINES];

	set_up();
	top_view__head(&state, &head, 0, lines);
	CHECK_STRING(lines[0].text, "extprof top - cpu (m: next)  0 processes  interval 1 s  a clock");
	CHECK_STRING(lines[1].text, "on-CPU -  GVL -  GC -  samples 0  lost 0  extprof -");
	head.window = 1.04;
	head.on_cpu = 1.5;
	head.gvl = 2;
	head.gc = 0.125;
	head.idle = 0.714;
	head.own = 0.004;
	head.samples = 99;
	head.lost = 3;
	head.why_lost = "ring-full";
	head.truncated = 1;
	head.processes = 1;
	head.clock = "12:00:00";
	head.message = "the process ended";
	state.choice.all = state.choice.reverse = state.paused = true;
	strcpy(state.filter, "foo");
	top_view__head(&state, &head, 0, lines);
	CHECK_STRING(lines[0].text, "extprof top - cpu (m: next)  1 process  all 1.0 s  interval 1 s  12:00:00  a clock");
	CHECK_STRING(lines[1].text, "on-CPU 150.0 %  GVL 200.0 %  GC 12.5 %  idle 71.4 %  samples 99  lost 3 (ring-full)  truncated 1  "
		     "extprof 0.4 %");
	CHECK_STRING(lines[2].text, "the process ended - by method, sorted by self (reverse), since the reset  "
		     "filter: foo (Esc: all)  PAUSED (p)");
	state.choice.view = TOP_STATES;
	head.below = "system call";
	top_view__head(&state, &head, 0, lines);
	CHECK(strstr(lines[3].text, "SYSTEM CALL"));
	CHECK(top_view__help(0) && !top_view__help(1000));
}

TEST(top_head_of_a_recording_says_when)
{
	struct top_line lines[TOP_HEAD_LINES];

	set_up();
	head.span = "2026-11-29 02:59:59 to 03:00:00";
	head.window = 0.43;
	head.samples = 19;
	head.processes = 2;
	state.recorded = true;
	top_view__head(&state, &head, 0, lines);
	CHECK_STRING(lines[0].text, "extprof top - cpu (m: next)  2 processes  2026-11-29 02:59:59 to 03:00:00  0.43 of 1 s recorded  a clock");
	CHECK_STRING(lines[1].text, "on-CPU -  GVL -  GC -  samples 19  lost 0");
	CHECK_STRING(lines[2].text, "by method, sorted by self, from the recording");
}

/* -- keys --------------------------------------------------------------------------------------------- */

static enum top_action key(uint32_t k)
{
	return top_state__key(&state, k, 10, 25);
}

TEST(top_steps_in_a_recording)
{
	set_up();
	CHECK_INT(key('['), TOP_NOTHING);
	CHECK_INT(key(TOP_KEY_RIGHT), TOP_NOTHING);
	CHECK_INT(key('p'), TOP_DRAW);
	CHECK_INT(key('p'), TOP_RESUME);
	state.recorded = true;
	CHECK_INT(key('['), TOP_BACK);
	CHECK_INT(key(TOP_KEY_LEFT), TOP_BACK);
	CHECK_INT(key(']'), TOP_FORWARD);
	CHECK_INT(key(TOP_KEY_RIGHT), TOP_FORWARD);
	/* There is nothing to pause, to forget, or to add up. */
	CHECK_INT(key('p'), TOP_NOTHING);
	CHECK_INT(key(' '), TOP_NOTHING);
	CHECK_INT(key('r'), TOP_NOTHING);
	CHECK_INT(key('c'), TOP_NOTHING);
	CHECK(!state.choice.all && !state.paused);
	CHECK_INT(key('+'), TOP_INTERVAL);
	/* A text has them. */
	key('/');
	key('[');
	CHECK_STRING(state.filter, "[");
}

TEST(top_keys_change_what_is_shown)
{
	set_up();
	CHECK_INT(key('q'), TOP_QUIT);
	CHECK_INT(key('x'), TOP_NOTHING);
	CHECK_INT(key('s'), TOP_DRAW);
	CHECK_INT(state.choice.sort, TOP_BY_TOTAL);
	key('s');
	key('s');
	CHECK_INT(state.choice.sort, TOP_BY_SELF);
	/* A mode of what lives has one more. */
	state.lives = true;
	key('s');
	key('s');
	key('s');
	CHECK_INT(state.choice.sort, TOP_BY_GROWTH);
	key('s');
	CHECK_INT(state.choice.sort, TOP_BY_SELF);
	key('S');
	CHECK(state.choice.reverse);
	key('t');
	CHECK(state.choice.by_thread);
	key('c');
	CHECK(state.choice.all);
	key('5');
	CHECK_INT(state.choice.view, TOP_PROCESSES);
	key('v');
	CHECK_INT(state.choice.view, TOP_METHODS);
	key('m');
	CHECK_INT(state.mode, 1);
	key('m');
	CHECK_INT(state.mode, 0);
	CHECK_INT(key('p'), TOP_DRAW);
	CHECK(state.paused);
	CHECK_INT(key(' '), TOP_RESUME);
	CHECK_INT(key('r'), TOP_RESET);
	/* Any key ends the help, and does nothing else. */
	key('h');
	CHECK(state.help);
	key('r');
	CHECK(!state.help);
	key('?');
	CHECK_INT(key('q'), TOP_QUIT);
}

TEST(top_keys_scroll_within_the_rows)
{
	set_up();
	key(TOP_KEY_UP);
	CHECK_INT(state.first, 0);
	key(TOP_KEY_DOWN);
	CHECK_INT(state.first, 1);
	key(TOP_KEY_PAGE_DOWN);
	CHECK_INT(state.first, 11);
	key(TOP_KEY_PAGE_DOWN);
	CHECK_INT(state.first, 15);
	key(TOP_KEY_HOME);
	key(TOP_KEY_END);
	CHECK_INT(state.first, 15);
	key(TOP_KEY_PAGE_UP);
	CHECK_INT(state.first, 5);
	top_state__clamp(&state, 10, 12);
	CHECK_INT(state.first, 2);
	top_state__clamp(&state, 10, 3);
	CHECK_INT(state.first, 0);
}

TEST(top_keys_change_the_interval)
{
	int steps = 0;

	set_up();
	CHECK_INT(key('+'), TOP_INTERVAL);
	CHECK_INT(state.interval, 2000000000);
	key('-');
	key('-');
	CHECK_INT(state.interval, 500000000);
	state.interval = 700000000;	/* one of the command line */
	key('-');
	CHECK_INT(state.interval, 500000000);
	while (key('-') == TOP_INTERVAL)
		steps++;
	CHECK_INT(steps, 2);
	CHECK_INT(state.interval, TOP_INTERVAL_MIN);
	while (key('+') == TOP_INTERVAL)
		steps++;
	CHECK_INT(state.interval, TOP_INTERVAL_MAX);
}

TEST(top_keys_type_a_filter)
{
	set_up();
	key('/');
	CHECK(state.typing);
	key('q');
	key(0x8a08);		/* 計 */
	CHECK_STRING(state.filter, "q計");
	key(TOP_KEY_BACKSPACE);
	CHECK_STRING(state.filter, "q");
	CHECK_INT(key(TOP_KEY_UP), TOP_NOTHING);
	key(7);			/* Ctrl-G is no letter */
	CHECK_STRING(state.filter, "q");
	key(TOP_KEY_ENTER);
	CHECK(!state.typing);
	CHECK_STRING(state.filter, "q");
	key(TOP_KEY_ESCAPE);
	CHECK_STRING(state.filter, "");
	key('/');
	for (int i = 0; i < 1000; i++)
		key(0x8a08);
	CHECK(strlen(state.filter) < sizeof(state.filter) && strlen(state.filter) % 3 == 0);
	key(TOP_KEY_BACKSPACE);
	for (int i = 0; i < 1000; i++)
		key(TOP_KEY_BACKSPACE);
	CHECK_STRING(state.filter, "");
	key(TOP_KEY_ESCAPE);
	CHECK(!state.typing);
	CHECK_INT(key('q'), TOP_QUIT);
}

/* -- the command line ------------------------------------------------------------------------------------ */

static int parse(struct top_options *o, ...)
{
	static char name[] = "extprof top";
	char *argv[16] = { name };
	int argc = 1, err;
	va_list args;

	va_start(args, o);
	while ((argv[argc] = va_arg(args, char *)))
		argc++;
	va_end(args);
	err = top_options__parse(o, argc, argv, OPTIONS_QUIETLY);
	if (err)
		top_options__free(o);
	return err;
}

TEST(top_options_are_understood)
{
	struct top_options o;

	CHECK_INT(parse(&o, "-p", "12", NULL), 0);
	CHECK_STRING(o.record.recording.modes, "cpu,wall");
	CHECK(!o.modes_chosen && !o.batch && o.interval == 1000000000);
	CHECK_INT(o.record.recording.pid_count, 1);
	top_options__free(&o);
	CHECK_INT(parse(&o, "-a", "-s", "-m", "gvl,gc", "-i", "250ms", "-b", "--count=3", "--rows=5", "--view=thread", "--sort=name",
			"--filter=x", "-t", "--cumulative", NULL), 0);
	CHECK_STRING(o.record.recording.modes, "gvl,gc");
	CHECK(o.modes_chosen && o.batch && o.interval == 250000000 && o.count == 3 && o.rows == 5);
	CHECK(o.record.recording.all && o.record.recording.subprocesses);
	CHECK(o.choice.view == TOP_THREADS && o.choice.sort == TOP_BY_NAME && o.choice.by_thread && o.choice.all);
	CHECK_STRING(o.choice.filter, "x");
	top_options__free(&o);
	/* An option that is about one mode says which. */
	CHECK_INT(parse(&o, "-p", "12", "--syscall", "write", NULL), 0);
	CHECK_STRING(o.record.recording.modes, "syscall");
	CHECK(o.modes_chosen);
	top_options__free(&o);
	CHECK_INT(parse(&o, "--", "ruby", "-e", "1", NULL), 0);
	CHECK_STRING(o.record.command[0], "ruby");
	top_options__free(&o);
	CHECK(parse(&o, NULL));
	CHECK(parse(&o, "-p", "12", "-i", "50ms", NULL));
	CHECK(parse(&o, "-p", "12", "-i", "2h", NULL));
	CHECK(parse(&o, "-p", "12", "--view", "picture", NULL));
	CHECK(parse(&o, "-p", "12", "--sort", "size", NULL));
	CHECK(parse(&o, "-p", "12", "--count", "0", NULL));
	CHECK(parse(&o, "-p", "12", "-m", "dance", NULL));
	CHECK(parse(&o, "-p", "12", "-o", "file", NULL));
	/* A recording is no command. */
	CHECK(parse(&o, "/tmp", "--at", "03:00", NULL));
	CHECK(parse(&o, "night.extprof", "--at", "03:00", NULL));
}
