/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks that wait for their length, and the accounts of threads. */
#include "test.h"

#include "profile/states.h"
#include "profile_fixture.h"
#include "source/mode.h"

static struct states states;
static const struct mode *const offcpu[] = { &mode_offcpu };

static void begin(void)
{
	set_up();
	resolve__set_modes(&resolver, offcpu, 1);
	memset(&states, 0, sizeof(states));
}

static void end(void)
{
	states__free(&states);
	tear_down();
}

/* The stack of a thread that leaves the CPU outside of a call. */
static void leave(uint32_t tid, uint64_t number)
{
	start();
	sample.event.source = SOURCE_SCHED;
	sample.event.process = 1;
	sample.event.tid = tid;
	sample.event.flags = SAMPLE_WAITS;
	sample.event.detail = number;
	frame(foo_id, 3);
	frame(0, 0);
	states__event(&states, &resolver, &sample, sizeof(sample.event) + 2 * sizeof(struct sample_frame));
}

static struct sample_event resumed(uint32_t tid, uint64_t number, uint32_t state, uint64_t ns, uint64_t runnable)
{
	return (struct sample_event){
		.kind = SAMPLE_RESUMED, .source = SOURCE_SCHED, .process = 1, .vm = 1, .tid = tid, .detail = number,
		.state = state, .value = ns, .count = runnable,
	};
}

static void resume(uint32_t tid, uint64_t number, uint32_t state, uint64_t ns, uint64_t runnable)
{
	struct sample_event e = resumed(tid, number, state, ns, runnable);

	states__event(&states, &resolver, &e, sizeof(e));
}

static uint64_t total(const char *innermost)
{
	struct report_view view = { .mode = &mode_offcpu, .by_value = true };
	struct report r;
	uint64_t sum = 0;

	if (frame_names__take_all(&frames, &table) ||
	    report__build(&r, &tree, &frames, NULL, REPORT_BY_NAME, &view))
		return UINT64_MAX;
	for (uint32_t i = 0; i < r.label_count; i++)
		if (!strcmp(r.labels[i].name, innermost))
			sum += r.labels[i].self;
	report__free(&r);
	return sum;
}

TEST(states_a_stack_gets_its_length)
{
	begin();
	leave(7, 1);
	leave(8, 1);
	CHECK_INT(resolver.received[SOURCE_SCHED].whole, 0);
	resume(8, 1, STATE_RUNNABLE, 500, 0);
	resume(7, 1, STATE_FAULT, 3000, 40);
	CHECK_INT(resolver.received[SOURCE_SCHED].whole, 3);
	CHECK_INT(total("[runnable]"), 540);
	CHECK_INT(total("[page fault]"), 3000);
	/* The place is used again. */
	leave(7, 2);
	resume(7, 2, STATE_STOPPED, 9, 0);
	CHECK_INT(total("[stopped]"), 9);
	states__end(&states, &resolver);
	CHECK_INT(received__sum(&resolver.received[SOURCE_SCHED]), 4);
	end();
}

/* A wait, and one for a CPU after it, with one stack. */
TEST(states_an_event_of_two_samples)
{
	size_t size = sizeof(sample.event) + 2 * sizeof(struct sample_frame);

	begin();
	start();
	sample.event.source = SOURCE_SCHED;
	sample.event.process = 1;
	sample.event.tid = 7;
	sample.event.flags = SAMPLE_IN_KERNEL;
	sample.event.state = STATE_QUEUE;
	sample.event.value = 3000;
	sample.event.count = 2;
	sample.event.more = 40;
	sample.event.extra = 1;
	frame(foo_id, 3);
	frame(0, 0);
	states__event(&states, &resolver, &sample, size);
	states__event(&states, &resolver, &sample, size);
	CHECK_INT(total("[queue]"), 6000);
	CHECK_INT(total("[runnable]"), 80);
	CHECK_INT(resolver.received[SOURCE_SCHED].whole, 4);
	/* The event is as it was. */
	CHECK_INT(sample.event.state, STATE_QUEUE);
	states__skip(&states, &resolver, &sample, size);
	CHECK_INT(resolver.received[SOURCE_SCHED].lost[LOSS_NOT_READ], 2);
	sample.event.more = 0;
	states__skip(&states, &resolver, &sample, size);
	CHECK_INT(resolver.received[SOURCE_SCHED].lost[LOSS_NOT_READ], 3);
	end();
}

TEST(states_what_was_not_told_is_lost)
{
	struct sample_event e = resumed(7, 2, STATE_FAULT, 5, 1);

	begin();
	leave(7, 1);
	leave(7, 2);		/* that it had gone on was not received */
	CHECK_INT(resolver.received[SOURCE_SCHED].lost[LOSS_NOT_RESUMED], 1);
	resume(7, 1, STATE_RUNNABLE, 5, 6);	/* of another stack: its second sample is lost */
	CHECK_INT(resolver.received[SOURCE_SCHED].lost[LOSS_NOT_RESUMED], 2);
	CHECK_INT(processes.rows[0].received.lost[LOSS_NOT_RESUMED], 2);
	resume(9, 1, STATE_RUNNABLE, 5, 0);	/* of a stack that was not received: nothing to count */
	/* There was no time to look at the event: both samples are lost. */
	states__skip(&states, &resolver, &e, sizeof(e));
	CHECK_INT(resolver.received[SOURCE_SCHED].lost[LOSS_NOT_READ], 2);
	CHECK_INT(received__sum(&resolver.received[SOURCE_SCHED]), 4);
	leave(7, 3);
	states__end(&states, &resolver);
	CHECK_INT(resolver.received[SOURCE_SCHED].lost[LOSS_NOT_RESUMED], 3);
	loss_hit[LOSS_NOT_RESUMED]++;
	end();
}

TEST(states_end_with_the_recording)
{
	struct sched_thread t = { .account = { .process = 1, .tid = 7 }, .off = OFF_YES, .out = OUT_BLOCKED,
				  .sent = 4, .since = 1000 };

	begin();
	leave(7, 4);
	t.sent = 3;		/* another stack */
	states__end_wait(&states, &resolver, &t, 6000);
	CHECK_INT(resolver.received[SOURCE_SCHED].whole, 0);
	t.sent = 4;
	states__end_wait(&states, &resolver, &t, 6000);
	CHECK_INT(resolver.received[SOURCE_SCHED].whole, 1);
	CHECK_INT(total("[page fault]"), 5000);
	end();
}

TEST(states_places_are_bounded)
{
	begin();
	for (uint32_t i = 0; i < 200000; i++) {
		leave(i, 1);
		resume(i, 1, STATE_RUNNABLE, 1, 0);
	}
	CHECK(states.stack_count <= 4 * 16384);
	CHECK_INT(total("[runnable]"), 200000);
	end();
}

TEST(states_accounts_are_added_up)
{
	struct account_event e = {
		.e = { .kind = SAMPLE_ACCOUNT, .source = SOURCE_SCHED },
		.account = { .first = 10, .until = 110, .time = { 60, 40 }, .tid = 5 },
	};

	begin();
	states__event(&states, &resolver, &e, sizeof(e));
	CHECK_INT(states.count, 1);
	CHECK(states.rows[0].ended);
	for (uint32_t i = 1; i < STATES_THREADS_MAX; i++)
		CHECK_INT(states__add_account(&states, &resolver, &e.account, false), 0);
	states__skip(&states, &resolver, &e, sizeof(e));
	states__event(&states, &resolver, &e, sizeof(e));
	CHECK_INT(states.count, STATES_THREADS_MAX);
	CHECK_INT(states.other_count, 2);
	CHECK_INT(states.others.until, 200);
	CHECK_INT(states.others.time[STATE_RUNNABLE], 80);
	CHECK_INT(received__sum(&resolver.received[SOURCE_SCHED]), 0);
	end();
}
