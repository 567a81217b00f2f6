/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps of JITs: which line has an address, which map is taken, and for how long a name is right. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/deadline.h"
#include "native/jit_map_work.h"
#include "native/jit_maps.h"
#include "native/jit_names.h"
#include "parser/perf_map.h"
#include "process/proc.h"

#define SECOND 1000000000ull

/* -- lines -------------------------------------------------------------------------------------- */

static void add(struct native_names *n, uint64_t address, uint64_t size, const char *name)
{
	CHECK_INT(jit_names__add(n, address, size, name, (uint32_t)strlen(name), false), 0);
}

static void add_new(struct native_names *n, uint64_t address, uint64_t size, const char *name)
{
	CHECK_INT(jit_names__add(n, address, size, name, (uint32_t)strlen(name), true), 0);
}

/* "NAME@FROM-UNTIL " for each place. */
static const char *places(const struct native_names *n)
{
	static char text[4096];
	size_t length = 0;

	*text = '\0';
	for (uint32_t i = 0; i < n->count; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s@%d-%d ", n->text + n->symbols[i].name,
					   (int)n->symbols[i].address, (int)(n->symbols[i].address + n->symbols[i].size));
	return text;
}

TEST(jit_names_that_overlap)
{
	struct native_names n = { 0 };

	add(&n, 100, 100, "old");
	add(&n, 300, 50, "alone");
	add(&n, 120, 20, "within");
	add(&n, 190, 40, "over the end");
	add(&n, 220, 10, "");
	add(&n, 90, 20, "over the beginning");
	CHECK_INT(jit_names__cut(&n), 0);
	CHECK_STRING(places(&n), "over the beginning@90-110 old@110-120 within@120-140 old@140-190 over the end@190-220 alone@300-350 ");
	CHECK_STRING(jit_names__find(&n, 119), "old");
	CHECK_STRING(jit_names__find(&n, 120), "within");
	CHECK(!jit_names__find(&n, 225) && !jit_names__find(&n, 350) && !jit_names__find(&n, 89) && !jit_names__find(&n, 250));
	native_names__free(&n);
	/* All of the older ones is covered, by one that begins earlier or at the same place. */
	add(&n, 100, 10, "a");
	add(&n, 105, 10, "b");
	add(&n, 100, 15, "c");
	CHECK_INT(jit_names__cut(&n), 0);
	CHECK_STRING(places(&n), "c@100-115 ");
	native_names__free(&n);
	CHECK_INT(jit_names__cut(&n), 0);
	CHECK(!jit_names__find(&n, 1));
}

/* A place is replaced if its line is new, and one of another name was there. */
TEST(jit_names_that_replace_others)
{
	struct native_names n = { 0 };

	add(&n, 100, 10, "old");
	add(&n, 100, 10, "older");
	add(&n, 200, 10, "old");
	add_new(&n, 200, 10, "new");
	add_new(&n, 300, 10, "first");
	add_new(&n, 305, 10, "second");
	add_new(&n, 400, 10, "same");
	add_new(&n, 400, 20, "same");
	add_new(&n, 500, 10, "");
	add_new(&n, 500, 10, "after code without a name");
	/* What has ended before is not there. */
	add_new(&n, 590, 10, "beside");
	add_new(&n, 600, 10, "alone");
	add_new(&n, 610, 10, "beside");
	CHECK_INT(jit_names__cut(&n), 0);
	CHECK(!jit_names__place(&n, 100)->replaced && jit_names__place(&n, 200)->replaced);
	CHECK(!jit_names__place(&n, 300)->replaced && jit_names__place(&n, 305)->replaced);
	CHECK(!jit_names__place(&n, 405)->replaced && jit_names__place(&n, 505)->replaced);
	CHECK(!jit_names__place(&n, 595)->replaced && !jit_names__place(&n, 600)->replaced && !jit_names__place(&n, 615)->replaced);
	native_names__free(&n);
}

/* Has one reading all that another one has, at the same places? */
TEST(jit_names_of_two_readings)
{
	struct native_names before = { 0 }, now = { 0 }, other = { 0 };

	add(&before, 100, 10, "one");
	add(&before, 300, 10, "three");
	add(&now, 50, 10, "zero");
	add(&now, 100, 10, "one");
	add(&now, 200, 10, "two");
	add(&now, 300, 10, "three");
	add(&now, 400, 10, "four");
	add(&other, 100, 10, "one");
	add(&other, 300, 11, "three");
	CHECK(!jit_names__cut(&before) && !jit_names__cut(&now) && !jit_names__cut(&other));
	CHECK(jit_names__has_all(&now, &before) && !jit_names__has_all(&before, &now));
	CHECK(!jit_names__has_all(&other, &before) && !jit_names__has_all(&before, &other));
	native_names__free(&before);
	native_names__free(&now);
	native_names__free(&other);
}

/* Against a memory in which each line writes its number. */
TEST(jit_names_of_random_lines)
{
	for (int round = 0; round < 3000; round++) {
		struct native_names n = { 0 };
		/* All lines of a name have one number. */
		int memory[256] = { 0 }, names[256][41] = { 0 }, last[256] = { 0 };

		for (int line = 1; line <= 1 + (int)(test__random() % 40); line++) {
			uint32_t at = test__random() % 200, size = 1 + test__random() % (round % 2 ? 5 : 50);
			int number = test__random() % 8 ? 1 + (int)(test__random() % 40) : 0;
			char name[16] = "";

			if (number)
				snprintf(name, sizeof(name), "%d", number);
			line > 20 ? add_new(&n, at, size, name) : add(&n, at, size, name);
			for (uint32_t i = at; i < at + size; i++) {
				memory[i] = number;
				names[i][number] = 1;
				last[i] = line;
			}
		}
		CHECK_INT(jit_names__cut(&n), 0);
		for (uint32_t i = 1; i < n.count; i++)
			CHECK(n.symbols[i - 1].address + n.symbols[i - 1].size <= n.symbols[i].address);
		for (uint32_t i = 0; i < 256; i++) {
			const char *name = jit_names__find(&n, i);

			CHECK_INT(name ? atoi(name) : 0, memory[i]);
		}
		/* A place is replaced if one of its addresses is. */
		for (uint32_t i = 0; i < n.count; i++) {
			bool replaced = false;

			for (uint64_t at = n.symbols[i].address; at < n.symbols[i].address + n.symbols[i].size; at++) {
				int others = 0;

				for (int k = 0; k < 41; k++)
					others += k != memory[at] && names[at][k];
				replaced |= others && last[at] > 20;
			}
			CHECK_INT(n.symbols[i].replaced, replaced);
		}
		native_names__free(&n);
	}
}

TEST(jit_names_have_bounds)
{
	struct native_names n = { 0 };
	char name[1024] = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < JIT_LINES_MAX; i++)
		err |= jit_names__add(&n, UINT64_MAX - 10, 10, "a", 1, false);
	CHECK_INT(err, 0);
	CHECK_INT(jit_names__add(&n, 1, 1, "a", 1, false), -E2BIG);
	CHECK_INT(jit_names__cut(&n), 0);
	CHECK_INT(n.count, 1);
	native_names__free(&n);
	memset(name, 'x', sizeof(name) - 1);
	for (uint32_t i = 0; !err && i < JIT_LINES_MAX; i++)
		err = jit_names__add(&n, i, 1, name, 1023, false);
	CHECK_INT(err, -E2BIG);
	CHECK(n.size <= JIT_TEXT_MAX);
	native_names__free(&n);
}

/* -- which map is taken ---------------------------------------------------------------------------- */

static char map_path[64];

static void map_path_is(void)
{
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
}

static void write_map(const char *text)
{
	FILE *f;

	map_path_is();
	f = fopen(map_path, "w");
	CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

/* The time of the last change, so many seconds from the beginning of this process on. */
static void set_time(double seconds)
{
	struct timespec now, since, times[2];
	double at;

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &since);
	at = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - ((double)since.tv_sec + (double)since.tv_nsec / 1e9) +
	     (double)proc__started(getpid()) / 1e9 + seconds;
	times[0].tv_sec = times[1].tv_sec = (time_t)at;
	times[0].tv_nsec = times[1].tv_nsec = (long)((at - (double)(time_t)at) * 1e9);
	CHECK(!utimensat(AT_FDCWD, map_path, times, 0));
}

static struct native_work *map_work(void)
{
	struct native_work *w = native_work__new(NATIVE_MAP, 0);

	w->pid = getpid();
	w->began = proc__started(getpid());
	return w;
}

static int read_map(struct native_work *w)
{
	native_work__run(w, NULL);
	return w->err;
}

TEST(jit_map_that_was_left_over)
{
	struct native_work *w = map_work();

	write_map("1000 10 one\n");
	set_time(0.5);
	CHECK_INT(read_map(w), 0);
	CHECK_STRING(jit_names__find(&w->names, 0x100f), "one");
	native_work__free(w);
	/* Of an earlier process with that pid. */
	w = map_work();
	set_time(-0.5);
	CHECK_INT(read_map(w), -ESTALE);
	CHECK_INT(w->names.count, 0);
	native_work__free(w);
	/* Of the program that was executed before. */
	w = map_work();
	write_map("1000 10 one\n");
	w->executed = deadline__now() + SECOND / 2;
	CHECK_INT(read_map(w), -ESTALE);
	native_work__free(w);
	w = map_work();
	w->executed = deadline__now() - SECOND / 2;
	CHECK_INT(read_map(w), 0);
	native_work__free(w);
	/* Another process has the pid. */
	w = map_work();
	w->began -= SECOND;
	CHECK_INT(read_map(w), -ESRCH);
	CHECK_INT(w->names.count, 0);
	native_work__free(w);
	/* Another program: the code of the VM is not there. */
	w = map_work();
	w->where.start = 4096;
	CHECK_INT(read_map(w), -ESRCH);
	native_work__free(w);
	unlink(map_path);
	w = map_work();
	CHECK_INT(read_map(w), -ENOENT);
	native_work__free(w);
}

/* One to which somebody appends keeps its old lines: when it was made counts. */
TEST(jit_map_that_was_left_over_and_is_written)
{
	struct native_work *w = map_work();
	struct statx st = { 0 };
	FILE *f;

	map_path_is();
	unlink(map_path);
	write_map("1000 10 old\n");
	CHECK(!statx(AT_FDCWD, map_path, 0, STATX_BTIME, &st));
	/* A program makes its map as soon as it begins, and times are known to a tick. */
	w->executed = deadline__now();
	f = fopen(map_path, "a");
	usleep(30000);
	CHECK(f && fputs("3000 10 soon\n", f) >= 0 && !fclose(f));
	CHECK_INT(read_map(w), 0);
	native_work__free(w);
	w = map_work();
	usleep(70000);
	w->executed = deadline__now();
	usleep(30000);
	f = fopen(map_path, "a");
	CHECK(f && fputs("2000 10 new\n", f) >= 0 && !fclose(f));
	/* Without that time the last change is all that is known. */
	CHECK_INT(read_map(w), st.stx_mask & STATX_BTIME ? -ESTALE : 0);
	CHECK_INT(w->unreadable, (st.stx_mask & STATX_BTIME) != 0);
	native_work__free(w);
	w = map_work();
	w->executed = deadline__now() - SECOND;
	CHECK_INT(read_map(w), 0);
	CHECK_INT(w->names.count, 3);
	native_work__free(w);
	unlink(map_path);
}

/* Which lines are new, and when the map was written last. */
TEST(jit_map_that_has_grown)
{
	struct native_work *w = map_work(), *again = map_work(), *of_another = map_work();
	uint64_t before;
	FILE *f;

	map_path_is();
	unlink(map_path);
	write_map("1000 10 one\n2000 10 two\n3000 10 thr");
	usleep(50000);
	before = deadline__now();
	CHECK_INT(read_map(w), 0);
	/* There was no reading before. */
	CHECK(w->names.count == 2 && w->names.symbols[0].is_new && w->names.symbols[1].is_new);
	CHECK(w->written < before && w->written > before - SECOND);
	f = fopen(map_path, "a");
	CHECK(f && fputs("ee\n1000 10 four\n", f) >= 0 && !fclose(f));
	again->before_map = of_another->before_map = w->map;
	CHECK_INT(read_map(again), 0);
	CHECK_STRING(places(&again->names), "four@4096-4112 two@8192-8208 three@12288-12304 ");
	/* A line that was half there is new. */
	CHECK(again->names.symbols[0].is_new && !again->names.symbols[1].is_new && again->names.symbols[2].is_new);
	CHECK(again->names.symbols[0].replaced && !again->names.symbols[2].replaced);
	CHECK(again->written > before);
	of_another->before_map.inode++;
	CHECK_INT(read_map(of_another), 0);
	CHECK(of_another->names.symbols[1].is_new);
	native_work__free(w);
	native_work__free(again);
	native_work__free(of_another);
	unlink(map_path);
}

/* Of a large one the beginning is not read. */
TEST(jit_map_that_is_large_and_has_grown)
{
	struct native_work *w = map_work();
	struct stat st;
	char *lines = malloc(PERF_MAP_MAX + 1);
	FILE *f;

	memset(lines, '#', PERF_MAP_MAX);
	lines[PERF_MAP_MAX] = '\0';
	for (uint32_t i = 4095; i < PERF_MAP_MAX; i += 4096)
		lines[i] = '\n';
	write_map(lines);
	f = fopen(map_path, "a");
	CHECK(f && fputs("1000 10 old\n", f) >= 0 && !fclose(f) && !stat(map_path, &st));
	w->before_map = (struct jit_file){ .device = st.st_dev, .inode = st.st_ino, .size = (uint64_t)st.st_size };
	f = fopen(map_path, "a");
	lines[1 << 20] = '\0';
	CHECK(f && fputs(lines, f) >= 0 && fputs("2000 10 new\n", f) >= 0 && !fclose(f));
	CHECK_INT(read_map(w), 0);
	CHECK_STRING(places(&w->names), "old@4096-4112 new@8192-8208 ");
	CHECK(!w->names.symbols[0].is_new && w->names.symbols[1].is_new);
	native_work__free(w);
	free(lines);
	unlink(map_path);
}

/* One that is written anew is taken when it does not grow any more. */
TEST(jit_map_that_has_become_smaller)
{
	struct native_work *w = map_work(), *again = map_work(), *third = map_work(), *fourth = map_work();

	write_map("1000 10 one\n2000 10 two\n");
	CHECK_INT(read_map(w), 0);
	CHECK_INT(w->names.count, 2);
	again->before_map = again->seen_map = w->map;
	CHECK_INT(read_map(again), 0);
	CHECK(again->unchanged && !again->names.count);
	write_map("1000 10 one\n");
	third->before_map = third->seen_map = w->map;
	CHECK_INT(read_map(third), -EAGAIN);
	CHECK_INT(third->names.count, 0);
	fourth->before_map = w->map;
	fourth->seen_map = third->map;
	CHECK_INT(read_map(fourth), 0);
	CHECK_INT(fourth->names.count, 1);
	unlink(map_path);
	native_work__free(w);
	native_work__free(again);
	native_work__free(third);
	native_work__free(fourth);
}

/* -- over time ---------------------------------------------------------------------------------------- */

/* A reading of the map that took from `from` to from + 10, and found these new lines at 1000, each after the one before.  The map
 * had been written at `written`. */
static void reading_of(struct jit_maps *m, uint32_t map, const char *first, const char *second, uint64_t from, uint64_t written, int err)
{
	struct native_work *w = native_work__new(NATIVE_MAP, map);

	CHECK_INT(jit_maps__next(m, UINT64_MAX, false), map);
	if (*first)
		add_new(&w->names, 1000, 100, first);
	if (*second)
		add_new(&w->names, 1000, 100, second);
	CHECK_INT(jit_names__cut(&w->names), 0);
	w->from = from;
	w->until = from + 10;
	w->written = written;
	w->err = err;
	w->unreadable = err && err != -EAGAIN;
	jit_maps__done(m, map, w, true);
	native_work__free(w);
}

/* It found this name, "" none. */
static void reading(struct jit_maps *m, uint32_t map, const char *name, uint64_t from, int err)
{
	reading_of(m, map, name, "", from, from + 10, err);
}

static const char *name_of(const struct jit_maps *m, uint64_t number)
{
	static char text[64];
	struct text name = { 0 };
	int err = jit_maps__add_name(m, number, &name);

	snprintf(text, sizeof(text), "%s", err == -EAGAIN ? "later" : err ? "none" : text__string(&name));
	text__free(&name);
	return text;
}

TEST(jit_addresses_whose_code_changes)
{
	static struct jit_maps m;
	uint32_t map = jit_maps__add(&m, getpid(), 1, 0);
	uint64_t first, second, third;

	first = jit_maps__number(&m, map, 1010, 100);
	CHECK_STRING(name_of(&m, first), "later");
	CHECK(!jit_maps__address(&m, first));
	reading(&m, map, "old", 200, 0);
	CHECK_STRING(name_of(&m, first), "old");
	CHECK(jit_maps__address(&m, first) == 1010);
	CHECK_INT(jit_maps__number(&m, map, 1010, 190), first);
	/* A reading that failed changes nothing. */
	reading(&m, map, "wrong", 250, -ETIMEDOUT);
	CHECK_STRING(name_of(&m, first), "old");
	/* All its samples were before the last reading that has found it. */
	reading(&m, map, "new", 300, 0);
	CHECK_STRING(name_of(&m, first), "old");
	/* Between two readings it may be either. */
	CHECK_INT(jit_maps__number(&m, map, 1010, 305), JIT_NONE);
	second = jit_maps__number(&m, map, 1010, 320);
	CHECK(second != first);
	CHECK_STRING(name_of(&m, second), "new");
	reading(&m, map, "newer", 400, 0);
	CHECK_STRING(name_of(&m, second), "none");
	CHECK(!jit_maps__address(&m, second));
	CHECK_STRING(name_of(&m, first), "old");
	third = jit_maps__number(&m, map, 1010, 500);
	CHECK_STRING(name_of(&m, third), "newer");
	/* Too many lines now: what was right before may not be right any more. */
	reading(&m, map, "", 600, -E2BIG);
	CHECK_STRING(name_of(&m, third), "none");
	/* It ends: what was read stays, and what comes of another program is not taken. */
	third = jit_maps__number(&m, map, 1020, 700);
	reading(&m, map, "last", 800, 0);
	CHECK_STRING(name_of(&m, third), "last");
	CHECK_INT(jit_maps__number(&m, map, 1020, 900), third);
	CHECK_INT(jit_maps__next(&m, UINT64_MAX, false), map);
	jit_maps__end(&m, map);
	{
		struct native_work *w = native_work__new(NATIVE_MAP, map);

		add(&w->names, 1000, 100, "of another program");
		CHECK_INT(jit_names__cut(&w->names), 0);
		jit_maps__done(&m, map, w, true);
		native_work__free(w);
	}
	CHECK_STRING(name_of(&m, third), "last");
	CHECK_INT(jit_maps__next(&m, UINT64_MAX, false), JIT_NONE);
	CHECK_INT(jit_maps__next(&m, UINT64_MAX, true), JIT_NONE);
	jit_maps__remove(&m, map);
	CHECK_STRING(name_of(&m, third), "last");
	CHECK_STRING(name_of(&m, first), "old");
	CHECK_INT(m.lines_size, 0);
	jit_maps__free(&m);
}

/* Two functions at one place, and one reading that finds both. */
TEST(jit_addresses_with_two_new_functions)
{
	static struct jit_maps m;
	uint32_t map = jit_maps__add(&m, getpid(), 1, 0);
	uint64_t first, second, third, fourth, other;

	/* Before the first reading: either of them ran. */
	first = jit_maps__number(&m, map, 1010, 100);
	reading_of(&m, map, "old", "new", 200, 190, 0);
	CHECK_STRING(name_of(&m, first), "none");
	/* Such a sample can come late, also at an address that had none. */
	CHECK_INT(jit_maps__number(&m, map, 1010, 180), JIT_NONE);
	CHECK_INT(jit_maps__number(&m, map, 1020, 180), JIT_NONE);
	/* The map was written before. */
	second = jit_maps__number(&m, map, 1010, 195);
	CHECK_STRING(name_of(&m, second), "new");
	CHECK_INT(jit_maps__number(&m, map, 1010, 180), JIT_NONE);
	/* One that was there before, came again, and another one in between. */
	other = jit_maps__number(&m, map, 1020, 196);
	CHECK_INT(jit_maps__number(&m, map, 1010, 250), second);
	reading_of(&m, map, "between", "new", 300, 310, 0);
	CHECK_STRING(name_of(&m, second), "none");
	/* All samples of this one were before. */
	CHECK_STRING(name_of(&m, other), "new");
	CHECK_INT(jit_maps__number(&m, map, 1020, 305), JIT_NONE);
	third = jit_maps__number(&m, map, 1020, 320);
	CHECK(third != other);
	CHECK_STRING(name_of(&m, third), "new");
	/* The same function twice is one. */
	reading_of(&m, map, "new", "new", 400, 410, 0);
	CHECK_STRING(name_of(&m, third), "new");
	CHECK_INT(jit_maps__number(&m, map, 1020, 405), third);
	jit_maps__free(&m);

	/* The reading after a sample had no name for it, and the next one has two. */
	map = jit_maps__add(&m, getpid(), 1, 0);
	fourth = jit_maps__number(&m, map, 1010, 100);
	reading(&m, map, "", 200, 0);
	jit_maps__number(&m, map, 3000, 250);
	reading_of(&m, map, "old", "new", 300, 310, 0);
	CHECK_STRING(name_of(&m, fourth), "none");
	jit_maps__free(&m);

	/* Both were there when the map was written last, before the sample: the later one ran. */
	map = jit_maps__add(&m, getpid(), 1, 0);
	first = jit_maps__number(&m, map, 1010, 100);
	reading_of(&m, map, "old", "new", 200, 100, 0);
	CHECK_STRING(name_of(&m, first), "new");
	CHECK_INT(jit_maps__number(&m, map, 1010, 150), first);
	CHECK_INT(jit_maps__number(&m, map, 1010, 90), JIT_NONE);
	jit_maps__free(&m);
}

/* One that cannot be read any more has no right names after a while. */
TEST(jit_map_that_is_gone)
{
	static struct jit_maps m;
	uint32_t map = jit_maps__add(&m, getpid(), 1, 0);
	uint64_t first, second;

	first = jit_maps__number(&m, map, 1010, 100);
	reading(&m, map, "one", 200, 0);
	second = jit_maps__number(&m, map, 1020, 250);
	reading(&m, map, "", 300, -ENOENT);
	CHECK_STRING(name_of(&m, second), "one");
	/* It was made anew. */
	reading(&m, map, "one", 400, 0);
	CHECK_INT(jit_maps__number(&m, map, 1020, 450), second);
	reading(&m, map, "", 500, -ESTALE);
	CHECK_STRING(name_of(&m, second), "one");
	reading(&m, map, "", 600, -EACCES);
	CHECK_STRING(name_of(&m, second), "none");
	CHECK_STRING(name_of(&m, first), "one");
	CHECK_STRING(name_of(&m, jit_maps__number(&m, map, 1010, 700)), "later");
	reading(&m, map, "two", 800, 0);
	CHECK_STRING(name_of(&m, jit_maps__number(&m, map, 1010, 900)), "two");
	jit_maps__free(&m);
}

/* At the end each map is read after the last sample, or what it said is not believed. */
TEST(jit_maps_at_the_end)
{
	static struct jit_maps m;
	struct native_work *w = native_work__new(NATIVE_MAP, 0);
	uint32_t map = jit_maps__add(&m, getpid(), 1, 0);
	uint64_t first, second, now = deadline__now();

	first = jit_maps__number(&m, map, 1010, 100);
	reading(&m, map, "one", 200, 0);
	second = jit_maps__number(&m, map, 1020, 250);
	/* It is being read, and there are samples since that began. */
	CHECK_INT(jit_maps__next(&m, UINT64_MAX, false), map);
	CHECK_INT(jit_maps__number(&m, map, 1020, 300), second);
	jit_maps__want(&m);
	w->err = -EAGAIN;
	w->until = 310;
	jit_maps__done(&m, map, w, true);
	CHECK(jit_maps__are_wanted(&m));
	/* Who writes it anew needs time. */
	CHECK_INT(jit_maps__next(&m, deadline__now(), true), JIT_NONE);
	CHECK_INT(jit_maps__next(&m, now + SECOND, true), map);
	/* An address without a name. */
	CHECK_STRING(name_of(&m, jit_maps__number(&m, map, 5000, 320)), "later");
	w->err = 0;
	w->unchanged = true;
	w->from = 330;
	w->until = 340;
	jit_maps__done(&m, map, w, true);
	CHECK_INT(jit_maps__next(&m, now + SECOND, true), map);
	jit_maps__done(&m, map, w, true);
	CHECK(!jit_maps__are_wanted(&m));
	jit_maps__give_up(&m);
	CHECK_STRING(name_of(&m, second), "one");
	/* The last reading fails. */
	CHECK_INT(jit_maps__number(&m, map, 1020, 400), second);
	jit_maps__want(&m);
	CHECK_INT(jit_maps__next(&m, now + SECOND, true), map);
	w->err = -EAGAIN;
	w->unchanged = false;
	jit_maps__done(&m, map, w, true);
	CHECK_STRING(name_of(&m, second), "one");
	jit_maps__give_up(&m);
	CHECK_STRING(name_of(&m, second), "none");
	CHECK_STRING(name_of(&m, first), "one");
	CHECK(!jit_maps__are_wanted(&m));
	native_work__free(w);
	jit_maps__free(&m);
}

/* Slots are given back, also while a map is being read; addresses and names have bounds; a window gives numbers back. */
TEST(jit_maps_have_bounds)
{
	static struct jit_maps m;
	uint32_t map, none = 0, count = 0;
	uint64_t first = JIT_NONE, named, number;

	for (uint32_t i = 0; i < 3 * JIT_MAPS_MAX; i++) {
		map = jit_maps__add(&m, getpid(), 1, 0);
		CHECK(map != JIT_NONE);
		number = jit_maps__number(&m, map, 1000 + i, 1);
		if (!i)
			first = number;
		CHECK(!i || number != first);
		if (i % 2)
			CHECK_INT(jit_maps__next(&m, UINT64_MAX, true), map);
		jit_maps__remove(&m, map);
		CHECK_INT(m.maps[map].used, i % 2);
		if (i % 2)
			jit_maps__done(&m, map, NULL, false);
		CHECK(!m.maps[map].used);
	}
	/* An address without a name makes room, and nobody has its number again. */
	CHECK_INT(m.count, 1);
	CHECK_STRING(name_of(&m, first), "none");
	map = jit_maps__add(&m, getpid(), 1, 0);
	named = jit_maps__number(&m, map, 1000, 1);
	reading(&m, map, "one", 10, 0);
	CHECK_STRING(name_of(&m, first), "none");
	CHECK(!jit_maps__address(&m, first));
	jit_maps__remove(&m, map);
	map = jit_maps__add(&m, getpid(), 1, 0);
	CHECK(jit_maps__number(&m, map, 1000, 1) != named);
	CHECK_STRING(name_of(&m, named), "one");
	jit_maps__remove(&m, map);
	for (uint32_t i = 0; i <= JIT_MAPS_MAX; i++)
		none += jit_maps__add(&m, getpid(), 1, 0) == JIT_NONE;
	CHECK_INT(none, 1);
	/* One without a map makes room, when that has been known for a second. */
	CHECK_INT(jit_maps__spare(&m, UINT64_MAX), JIT_NONE);
	m.maps[5].sampled = m.maps[6].sampled = true;
	m.maps[6].tried_at = 1;
	reading(&m, 5, "", 10, -ENOENT);
	reading(&m, 6, "one", 10, 0);
	CHECK_INT(jit_maps__spare(&m, deadline__now()), JIT_NONE);
	CHECK_INT(jit_maps__spare(&m, deadline__now() + 2 * SECOND), 5);
	/* It was there once. */
	m.maps[6].sampled = true;
	m.maps[5].sampled = false;
	reading(&m, 6, "", 30, -ENOENT);
	CHECK_INT(jit_maps__spare(&m, deadline__now() + 2 * SECOND), 5);
	jit_maps__remove(&m, 5);
	CHECK_INT(jit_maps__spare(&m, deadline__now() + 2 * SECOND), JIT_NONE);
	CHECK_INT(jit_maps__add(&m, getpid(), 1, 0), 5);
	while (count <= JIT_ADDRESSES_MAX && jit_maps__number(&m, 0, count, 1) != JIT_NONE)
		count++;
	CHECK_INT(count, JIT_ADDRESSES_MAX);
	CHECK(jit_maps__number(&m, 0, 5, 1) != JIT_NONE);
	CHECK(jit_maps__number(&m, 1, 5, 1) != JIT_NONE);
	jit_maps__restart(&m);
	CHECK_INT(m.count, 0);
	CHECK_INT(jit_maps__number(&m, 0, JIT_ADDRESSES_MAX, 1), 0);
	jit_maps__free(&m);
}

/* All maps together take a part of a CPU, and none is left out. */
TEST(jit_maps_take_turns)
{
	static struct jit_maps m;
	struct native_work *w = native_work__new(NATIVE_MAP, 0);
	uint64_t now = deadline__now();

	for (uint32_t i = 0; i < 3; i++)
		jit_maps__number(&m, jit_maps__add(&m, getpid(), 1, 0), 1000, 1);
	CHECK_INT(jit_maps__next(&m, now, false), 0);
	/* What it costs is not known yet. */
	CHECK_INT(jit_maps__next(&m, now, false), JIT_NONE);
	w->from = now;
	w->until = now + SECOND;
	jit_maps__done(&m, 0, w, true);
	CHECK_INT(jit_maps__next(&m, now + 10 * SECOND, false), JIT_NONE);
	CHECK_INT(jit_maps__next(&m, now + 1000 * SECOND, false), 1);
	/* At the end each one. */
	jit_maps__want(&m);
	CHECK(jit_maps__are_wanted(&m));
	CHECK_INT(jit_maps__next(&m, now, true), 2);
	/* Each one costs what it has taken, also if several are read at the end. */
	jit_maps__done(&m, 1, w, true);
	jit_maps__done(&m, 2, w, true);
	CHECK(m.next_at >= now + 300 * SECOND);
	native_work__free(w);
	jit_maps__free(&m);
}
