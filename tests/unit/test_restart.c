/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile that begins anew: nothing of before is counted again, and everything has its name. */
#include "test.h"

#include <stdlib.h>

#include "profile/states.h"
#include "profile_fixture.h"

/* As engine/restart.c does it. */
static void begin_anew(void)
{
	tree__free(&tree);
	tree__init(&tree);
	frame_table__free(&frames);
	frame_table__init(&frames);
	threads__restart(&vm.threads);
	resolve__restart(&resolver);
}

TEST(restart_counts_only_what_comes_then)
{
	set_up_threads();
	send_in(30, 3, 77, 5);
	resolve__name_threads(&resolver, &vm);
	CHECK_STRING(folded(), "[thread puma:1 (77)];Foo#foo 5\n");
	begin_anew();
	CHECK_STRING(folded(), "");
	CHECK_INT(received__sum(&resolver.received[SOURCE_CPU]), 0);
	/* The thread is known already, and gets another frame. */
	send_in(30, 3, 77, 2);
	resolve__name_threads(&resolver, &vm);
	CHECK_STRING(folded(), "[thread puma:1 (77)];Foo#foo 2\n");
	CHECK_INT(received__sum(&resolver.received[SOURCE_CPU]), 2);
	CHECK_INT(vm.threads.count, 1);
	tear_down();
}

TEST(restart_keeps_modes_apart)
{
	static const struct mode *const both[] = { &mode_cpu, &mode_gc };
	uint32_t before;

	set_up();
	CHECK_INT(resolve__set_modes(&resolver, both, 2), 0);
	before = resolver.mode_frames[1];
	start();
	frame(foo_id, 0);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	sample.event.count = 1;
	send(1);
	begin_anew();
	CHECK(resolver.mode_frames[0] != resolver.mode_frames[1] && before);
	send(3);
	CHECK_STRING(folded(), "Foo#foo 3\n");
	tear_down();
}

TEST(restart_of_many_threads_keeps_those_that_were_sampled)
{
	set_up_threads();
	for (uint32_t i = 0; i < THREADS_KEPT + 10; i++)
		threads__note(&vm.threads, 1000 + i, 9, 5000 + i);
	send_in(30, 3, 77, 1);
	CHECK_INT(vm.threads.count, THREADS_KEPT + 11);
	begin_anew();
	CHECK_INT(vm.threads.count, 1);
	CHECK_INT(vm.threads.list[0].serial, 30);
	CHECK_INT(vm.threads.list[0].frame, 0);
	CHECK(threads__note(&vm.threads, 30, 3, 77) == &vm.threads.list[0]);
	tear_down();
}

/* The memory of `extprof stat' does not grow beside a program that makes threads without an end. */
TEST(threads_that_ended_are_forgotten_if_they_are_many)
{
	set_up_threads();
	send_in(30, 3, 77, 1);
	for (uint32_t i = 0; i < 3 * THREADS_KEPT; i++) {
		threads__note(&vm.threads, 1000 + i, 9, 5000 + i);
		threads__tidy(&vm.threads);
	}
	CHECK(vm.threads.count <= THREADS_KEPT + 1);
	CHECK_INT(vm.threads.list[0].serial, 30);
	CHECK(vm.threads.list[0].frame != 0);
	CHECK(threads__note(&vm.threads, 30, 3, 77) == &vm.threads.list[0]);
	/* Its name is read again when it comes again. */
	CHECK_INT(threads__note(&vm.threads, 1000, 9, 5000)->serial, 1000);
	tear_down();
}

TEST(restart_drops_rows_of_processes)
{
	bool kept[4] = { true, false, true, true };
	uint32_t number[4];

	set_up();
	for (int i = 1; i < 4; i++)
		processes__add(&processes);
	processes.rows[1].cgroup = strdup("/gone");
	processes.rows[2].pid = 22;
	processes.rows[2].parent = 3;
	processes.rows[2].frame = 5;
	processes.rows[2].cpu_time = 7;
	processes.rows[2].kernel.taken = 8;
	processes.rows[3].pid = 33;
	processes.rows[3].parent = 1;
	processes__restart(&processes, kept, number);
	CHECK_INT(processes.count, 3);
	CHECK_INT(number[0], 0);
	CHECK_INT(number[1], PROCESS_NONE);
	CHECK_INT(number[2], 1);
	CHECK_INT(number[3], 2);
	CHECK_INT(processes.rows[1].pid, 22);
	CHECK_INT(processes.rows[1].parent, 2);
	CHECK_INT(processes.rows[1].frame, 0);
	CHECK_INT(processes.rows[1].cpu_time, 0);
	CHECK_INT(processes.rows[1].kernel.taken, 0);
	CHECK_INT(processes.rows[2].parent, PROCESS_NONE);
	tear_down();
}

static struct states states;

static void add(uint32_t tid, uint64_t first, uint64_t until, uint64_t running, uint64_t gvl, bool ended)
{
	struct thread_account a = { .process = 1, .tid = tid, .first = first, .until = until };

	a.time[STATE_RUNNING] = running;
	a.time[STATE_GVL] = gvl;
	a.waits[STATE_GVL] = gvl / 10;
	states__add_account(&states, &resolver, &a, ended);
}

static uint64_t life(uint32_t i)
{
	return states.rows[i].account.until - states.rows[i].account.first;
}

TEST(restart_of_accounts_takes_away_what_was_shown)
{
	set_up();
	memset(&states, 0, sizeof(states));
	add(7, 0, 100, 60, 40, false);
	add(8, 50, 100, 50, 0, true);
	CHECK_INT(states__restart(&states), 0);
	CHECK_INT(states.count, 0);
	/* The kernel's accounts go on.  Between the windows was a pause of 5, which it adds to `first`. */
	add(7, 5, 205, 100, 100, false);
	CHECK_INT(states.rows[0].account.time[STATE_RUNNING], 40);
	CHECK_INT(states.rows[0].account.time[STATE_GVL], 60);
	CHECK_INT(states.rows[0].account.waits[STATE_GVL], 6);
	CHECK_INT(life(0), 100);
	/* A snapshot that is not forgotten: the same window is longer then. */
	states__settle(&states);
	states__moved(&states, 5);
	add(7, 10, 310, 150, 150, false);
	CHECK_INT(states.rows[0].account.time[STATE_RUNNING], 90);
	CHECK_INT(life(0), 200);
	/* The third window. */
	CHECK_INT(states__restart(&states), 0);
	add(7, 10, 320, 151, 159, true);
	CHECK_INT(states.rows[0].account.time[STATE_RUNNING], 1);
	CHECK_INT(states.rows[0].account.time[STATE_GVL], 9);
	CHECK_INT(life(0), 10);
	/* It has ended: another thread has its tid now. */
	CHECK_INT(states__restart(&states), 0);
	add(7, 330, 400, 70, 0, false);
	CHECK_INT(states.rows[0].account.time[STATE_RUNNING], 70);
	/* And one that came while the recording ran on without it. */
	CHECK_INT(states__restart(&states), 0);
	add(7, 500, 520, 20, 0, false);
	CHECK_INT(states.rows[0].account.time[STATE_RUNNING], 20);
	CHECK_INT(life(0), 20);
	states__free(&states);
	tear_down();
}

/* Threads that end in a pause, or unseen, and those that live on, are there once. */
TEST(restart_settles_accounts)
{
	set_up();
	memset(&states, 0, sizeof(states));
	add(7, 0, 100, 60, 40, false);
	add(8, 0, 100, 50, 50, false);
	add(9, 0, 100, 50, 50, false);
	states__settle(&states);
	/* 7 ends in the pause, with what it had. */
	add(7, 0, 100, 60, 40, true);
	CHECK_INT(states.count, 3);
	CHECK(states.rows[0].ended);
	/* After a pause of 1000, which 8 lives through, another thread has the tid of 9, which nobody has seen end. */
	states__moved(&states, 1000);
	add(8, 1000, 1200, 100, 100, false);
	CHECK_INT(states.count, 3);
	CHECK_INT(life(1), 200);
	add(9, 1150, 1200, 50, 0, false);
	CHECK_INT(states.count, 4);
	states__settle(&states);
	CHECK(states.rows[0].ended && !states.rows[1].ended && states.rows[2].ended && !states.rows[3].ended);
	states__free(&states);
	tear_down();
}

TEST(restart_of_symbols_reads_them_again)
{
	set_up();
	send_in(0, 0, 7, 1);
	CHECK(table.count > 0 && !symbol_table__is_crowded(&table));
	table.bytes += SYMBOLS_BYTES_MAX;
	CHECK(symbol_table__is_crowded(&table));
	table.bytes -= SYMBOLS_BYTES_MAX;
	/* Each symbol that a sample has asked for counts once. */
	send_in(0, 0, 7, 3);
	CHECK(table.asked > 0 && table.asked <= table.count);
	table.asked_max = table.asked;
	CHECK(!symbol_table__is_crowded(&table));
	table.asked++;
	CHECK(symbol_table__is_crowded(&table));
	begin_anew();
	symbols__restart(&vm.symbols);
	symbol_table__free(&table);
	CHECK_INT(table.count, 0);
	CHECK_INT(table.asked, 0);
	CHECK_INT(symbols__update(&vm.symbols, false), 0);
	send_in(0, 0, 7, 4);
	CHECK_STRING(folded(), "Foo#foo 4\n");
	/* Closing it later touches nothing of the old table. */
	symbols__settle(&vm.symbols);
	tear_down();
}
