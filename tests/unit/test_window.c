/* SPDX-License-Identifier: BSD-2-Clause */
/* A time of a recording as if it alone had been recorded: what lasts is cut, and the account is that of the time. */
#include "recording_fixture.h"

#include <errno.h>
#include <stdlib.h>

#define MS 1000000ull
#define SECONDS(s) ((uint64_t)((s) * 1e9) + 1000)

static void send_wait(uint32_t thread, double from, double until, uint64_t count, uint32_t state)
{
	start();
	frame(foo_id, 0);
	frame(main_id, 0);
	sample.event.source = SOURCE_SCHED;
	sample.event.state = state;
	sample.event.time = SECONDS(until);
	sample.event.value = (uint64_t)((until - from) * 1e9);
	sample.event.count = count;
	sample.event.thread = thread;
	sample.event.thread_slot = 10 * thread;
	sample.event.tid = 97 + thread;
	send(1);
}

static void send_tick(uint64_t time)
{
	start();
	frame(bar_id, 0);
	frame(main_id, 0);
	sample.event.source = SOURCE_CPU;
	sample.event.time = time;
	sample.event.value = 10 * MS;
	sample.event.count = 1;
	sample.event.thread = 4;
	sample.event.thread_slot = 40;
	sample.event.tid = 101;
	send(1);
}

/* The reports of seconds of the recording; NULL: from the begin, to the end. */
static int read_window(double since, double until, struct reports *reports)
{
	struct recording_request request = { .detail = REPORT_BY_LINE, .by_value = true, .shows_idle = true };
	const struct recording_filter f = { .cuts = true, .span = { .since = (uint64_t)(since * 1e9), .until = (uint64_t)(until * 1e9) } };

	return read_reports(&f, &request, reports);
}

static const struct thread_row *thread_of(const struct report *r, uint32_t tid)
{
	for (uint32_t i = 0; i < r->threads->count; i++)
		if (r->threads->rows[i].account.tid == tid)
			return &r->threads->rows[i];
	return NULL;
}

/* Waits that end in the time, that begin in it, that are around it, and others; ticks on both borders. */
static void record_some(void)
{
	send_wait(3, 2, 12.5, 1, STATE_IO);
	send_wait(4, 1, 12, 1, STATE_SLEEP);		/* it ends when the time begins */
	for (int i = 0; i < 5; i++)
		send_tick(SECONDS(11.99) + (uint64_t)i * 5 * MS);	/* two before, three within */
	/* It stands for short ones, and is of its moment. */
	send_wait(4, 9.25, 12.75, 7, STATE_MUTEX);
	send_tick(SECONDS(13));				/* when the time ends */
	send_wait(3, 12.5, 30, 1, STATE_QUEUE);
	send_wait(4, 13, 31, 1, STATE_SLEEP);		/* it begins when the time ends */
}

TEST(window_cuts_what_lasts)
{
	const struct thread_row *t;
	struct reports reports;
	const struct report *r;

	CHECK(!set_up_recording(2));
	record_some();
	end_recording();
	CHECK(!read_window(12, 13, &reports));
	CHECK_INT(reports.count, 2);
	r = &reports.list[0];
	CHECK_INT(r->samples, 30 * MS);
	CHECK_INT(r->meta.accounting.taken, 3);
	CHECK_INT(r->meta.cpu_time, 30 * MS);
	CHECK_INT((long)(r->meta.duration * 1000 + 0.5), 1000);
	CHECK(!r->threads);
	CHECK_INT(r->processes.rows[0].cpu_time, 30 * MS);
	r = &reports.list[1];
	/* 0.5 s of io, 0.5 s of the queue, 30 ms that ran, and 3.5 s of others. */
	CHECK_INT(r->samples, 4530 * MS);
	CHECK_INT(r->meta.accounting.taken, 6);
	CHECK_INT(r->meta.cpu_time, 30 * MS);
	CHECK(r->threads && r->threads->count == 2);
	t = thread_of(r, 100);
	CHECK(t && t->pid == 77 && t->account.time[STATE_IO] == 500 * MS && t->account.time[STATE_QUEUE] == 500 * MS);
	CHECK_INT(t->account.until - t->account.first, 1000 * MS);
	CHECK(strstr(t->name, "(100)"));
	t = thread_of(r, 101);
	CHECK(t && t->account.time[STATE_RUNNING] == 30 * MS && t->account.time[STATE_MUTEX] == 3500 * MS && !t->account.time[STATE_SLEEP]);
	reports__free(&reports);
	/* Within the wait alone. */
	CHECK(!read_window(20, 20.25, &reports));
	CHECK_INT(reports.list[0].samples, 0);
	CHECK_INT(reports.list[1].samples, 500 * MS);
	CHECK_INT(thread_of(&reports.list[1], 100)->account.time[STATE_QUEUE], 250 * MS);
	CHECK_INT(thread_of(&reports.list[1], 101)->account.time[STATE_SLEEP], 250 * MS);
	reports__free(&reports);
	/* Windows side by side have what one of both has. */
	{
		uint64_t sum = 0;

		for (int i = 0; i < 40; i++) {
			CHECK(!read_window(i * 0.8 + 0.001, (i + 1) * 0.8 + 0.001, &reports));
			sum += reports.list[0].samples + reports.list[1].samples;
			reports__free(&reports);
		}
		CHECK(!read_window(0.001, 32.001, &reports));
		CHECK_INT(sum, reports.list[0].samples + reports.list[1].samples);
		reports__free(&reports);
	}
	tear_down_recording();
}

/* Shares of one wait end together and are one after the other: each has its part of the time, and no time has two. */
TEST(window_has_one_share_of_a_wait)
{
	struct reports reports;

	CHECK(!set_up_recording(2));
	send_wait(3, 6, 10, 1, STATE_GVL);
	sample.event.value = (uint64_t)(3 * 1e9);
	sample.event.count = 0;
	send(1);
	end_recording();
	/* Together 3 to 10. */
	for (int i = 0; i < 12; i++) {
		CHECK(!read_window(i, i + 1, &reports));
		CHECK_INT(reports.list[1].samples, i >= 3 && i < 10 ? 1000 * MS : 0);
		reports__free(&reports);
	}
	tear_down_recording();
}

TEST(window_has_its_losses_and_looks)
{
	const struct heap_size heap = { .live = 1000, .slots = 2000, .page_bytes = 65536 };
	struct heap_size later = heap;
	struct reports reports;
	const struct process_row *row;

	CHECK(!set_up_recording(2));
	later.live = 5000;
	CHECK(!recording_sink__figure(&sink, SECONDS(1), 0, 1 << 20));
	send_wait(3, 1, 2, 1, STATE_IO);
	sink.lost[LOSS_RING_FULL] = 5;
	CHECK(!recording_sink__tick(&sink, deadline__now() + 2 * WRITER_BLOCK_NS));
	CHECK(!recording_sink__figure(&sink, SECONDS(2.2), 0, 2 << 20));
	CHECK(!recording_sink__heap(&sink, SECONDS(2.2), 0, &heap));
	send_wait(3, 2, 9, 1, STATE_IO);
	sink.lost[LOSS_RING_FULL] = 9;
	CHECK(!recording_sink__tick(&sink, deadline__now() + 4 * WRITER_BLOCK_NS));
	CHECK(!recording_sink__figure(&sink, SECONDS(8), 0, 4 << 20));
	CHECK(!recording_sink__heap(&sink, SECONDS(8), 0, &later));
	strcpy(processes.rows[0].ended, "SIGKILL");
	processes.rows[0].ended_at = SECONDS(9);
	end_recording();
	CHECK(!read_window(1.5, 3, &reports));
	row = &reports.list[1].processes.rows[0];
	CHECK_INT(reports.list[1].meta.accounting.lost[LOSS_RING_FULL], 5);
	CHECK_INT(reports.list[1].meta.accounting.taken, 7);
	/* It ended later, and its memory was looked at last before the end of the time. */
	CHECK_STRING(row->ended, "");
	CHECK_INT(row->resident, 2 << 20);
	CHECK_INT(row->heap.live, 1000);
	reports__free(&reports);
	CHECK(!read_window(7, 8.5, &reports));
	row = &reports.list[1].processes.rows[0];
	CHECK_INT(row->resident, 4 << 20);
	CHECK_INT(row->heap.live, 5000);
	CHECK_INT(reports.list[1].meta.accounting.taken, 1);
	reports__free(&reports);
	CHECK(!read_window(8.5, 9.5, &reports));
	row = &reports.list[1].processes.rows[0];
	CHECK_STRING(row->ended, "SIGKILL");
	CHECK_INT(row->resident, 0);
	CHECK_INT(row->heap.live, 0);
	CHECK_INT(reports.list[1].meta.accounting.lost[LOSS_RING_FULL], 9);
	reports__free(&reports);
	tear_down_recording();
}
