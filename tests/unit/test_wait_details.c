/* SPDX-License-Identifier: BSD-2-Clause */
/* What is told of waits besides their states, as frames below those. */
#include "test.h"

#include "profile/states.h"
#include "profile/wait_details.h"
#include "profile/wait_text.h"
#include "profile_fixture.h"
#include "source/mode.h"

static struct states states;
/* The thread that waits, and when its wait is over. */
static uint64_t own_thread, sample_time;
/* The waits that the sample stands for. */
static uint64_t wait_count = 1;
static const struct mode *const offcpu[] = { &mode_offcpu };

/* A sample of a wait, and before that what is told about it, from one CPU. */
static void waited(uint32_t state, uint32_t cpu, uint32_t tid, const struct wait_details *details)
{
	struct wait_details copy;

	if (details) {
		copy = *details;
		copy.e = (struct sample_event){ .source = SOURCE_SCHED, .kind = SAMPLE_DETAILS, .vm = 1, .process = 1,
						.tid = tid, .cpu = cpu };
		states__event(&states, &resolver, &copy, sizeof(copy));
	}
	start();
	sample.event.source = SOURCE_SCHED;
	sample.event.process = 1;
	sample.event.time = sample_time;
	sample.event.tid = tid;
	sample.event.thread = own_thread;
	sample.event.cpu = cpu;
	sample.event.flags = SAMPLE_HAS_DETAILS;
	sample.event.state = state;
	sample.event.value = 1000;
	sample.event.count = wait_count;
	frame(foo_id, 3);
	frame(0, 0);
	states__event(&states, &resolver, &sample, sizeof(sample.event) + 2 * sizeof(struct sample_frame));
}

static const struct report_label *label_of(const struct report *r, const char *name)
{
	for (uint32_t i = 0; i < r->label_count; i++)
		if (!strcmp(r->labels[i].name, name))
			return &r->labels[i];
	return NULL;
}

TEST(details_frames_are_below_states)
{
	struct wait_details details = { .file = { .fd = 4, .kind = FILE_PIPE, .inode = 9 } };
	struct report_view view = { .mode = &mode_offcpu, .by_value = true };
	const struct report_label *label;
	struct report r;

	set_up();
	memset(&states, 0, sizeof(states));
	resolve__set_modes(&resolver, offcpu, 1);
	resolver.details_wanted = WAIT_DETAIL_FILE | WAIT_DETAIL_HOLDER;
	waited(STATE_IO, 0, 7, &details);
	/* It is of the thread of that CPU, and of no other one. */
	waited(STATE_IO, 0, 7, NULL);
	waited(STATE_IO, 0, 8, NULL);
	waited(STATE_IO, 3, 7, NULL);
	/* Who holds it is not known. */
	waited(STATE_GVL, 1, 9, &details);
	CHECK(!frame_names__take_all(&frames, &table) && !report__build(&r, &tree, &frames, show, REPORT_BY_NAME, &view));
	label = label_of(&r, "[pipe 9]");
	CHECK(label && label->frame.kind == FRAME_DETAIL && label->total == 2000);
	label = label_of(&r, "[what it waited for was not received]");
	CHECK(label && label->total == 2000);
	label = label_of(&r, "[GVL held by a thread that is not known]");
	CHECK(label && label->total == 1000);
	/* What is below a state is in the method above it. */
	label = label_of(&r, "Foo#foo");
	CHECK(label && label->self == 5000);
	label = label_of(&r, "[gvl]");
	CHECK(label && label->frame.kind == FRAME_STATE && label->total == 1000);
	report__free(&r);
	states__free(&states);
	tear_down();
}

TEST(details_who_ended_a_wait)
{
	struct wait_details details = { .waker = { .kind = PEER_TASK, .tid = 77, .comm = "cat" },
				    .gvl_waker = { .kind = PEER_TASK, .process = 1, .tid = 78, .comm = "ruby" } };
	struct report_view view = { .mode = &mode_offcpu, .by_value = true };
	static const struct {
		const char *name;
		uint64_t total;
	} truth[] = { { "[woken by process cat (77)]", 1000 }, { "[woken by native thread ruby (78)]", 1000 },
		      { "[woken by a timer]", 1000 }, { "[woken by an interrupt]", 1000 },
		      { "[not woken in the recording]", 1000 }, { "[woken by a thread that is not known]", 1000 } };
	struct report r;

	set_up();
	memset(&states, 0, sizeof(states));
	resolve__set_modes(&resolver, offcpu, 1);
	resolver.details_wanted = WAIT_DETAIL_WAKER;
	waited(STATE_QUEUE, 0, 7, &details);
	waited(STATE_GVL, 0, 7, &details);
	for (details.waker.kind = PEER_INTERRUPT; details.waker.kind <= PEER_NOBODY; details.waker.kind++)
		waited(STATE_IO, 0, 7, &details);
	details.waker.kind = PEER_UNKNOWN;
	waited(STATE_MUTEX, 0, 7, &details);
	/* Nobody is told of who gave it a CPU. */
	waited(STATE_RUNNABLE, 0, 7, &details);
	CHECK(!frame_names__take_all(&frames, &table) && !report__build(&r, &tree, &frames, show, REPORT_BY_NAME, &view));
	for (size_t i = 0; i < sizeof(truth) / sizeof(truth[0]); i++) {
		const struct report_label *label = label_of(&r, truth[i].name);

		CHECK(label && label->frame.kind == FRAME_DETAIL && label->total == truth[i].total);
	}
	report__free(&r);
	states__free(&states);
	tear_down();
}

/* -- who had the GVL ----------------------------------------------------------------------------- */

/* At that time thread `thread` of the VM has the GVL of ractor 1, in the method `id`, which `caller` has called. */
static void held(uint64_t time, uint64_t number, uint64_t thread, uint32_t id, uint32_t caller)
{
	struct hold_event hold = {
		.e = { .time = time, .source = SOURCE_SCHED, .kind = SAMPLE_HOLD, .vm = 1, .process = 1, .detail = number,
		       .extra = 1, .state = LOOK_CLOCK },
		.peer = { .kind = PEER_THREAD, .vm = 1, .process = 1, .thread = thread, .slot = 1, .tid = (uint32_t)thread,
			   .id = id, .ruby = { { .id = caller, .pc = fake__pc(fake__get(&ruby, caller), 3) } } },
	};

	states__event(&states, &resolver, &hold, sizeof(hold));
}

static uint64_t total_of(const struct report *r, const char *name)
{
	const struct report_label *label = label_of(r, name);

	return label ? label->total : 0;
}

/* A wait for the GVL is shared out among those that had it, by method and line and not by thread. */
TEST(details_waits_for_the_gvl_are_shared_out)
{
	struct wait_details details = { .ractor = 1, .gvl_from = 1000000, .gvl_to = 2000000 };
	struct report_view view = { .mode = &mode_gvl, .by_value = true };
	static const struct mode *const gvl[] = { &mode_gvl };
	uint64_t count = 0;
	struct report r;

	set_up();
	memset(&states, 0, sizeof(states));
	resolve__set_modes(&resolver, gvl, 1);
	resolver.details_wanted = WAIT_DETAIL_HOLDER;
	held(900000, 1, 4, foo_id, foo_id);
	held(1300000, 2, 5, foo_id, foo_id);
	held(1500000, 3, 5, size_id, foo_id);
	held(1600000, 4, 5, size_id, bar_id);
	held(1650000, 5, 5, 0, 0);
	held(2100000, 6, 5, foo_id, foo_id);
	waited(STATE_GVL, 0, 7, &details);
	CHECK(!frame_names__take_all(&frames, &table) && !report__build(&r, &tree, &frames, show, REPORT_BY_NAME, &view));
	CHECK_INT(r.samples, 1000);
	CHECK_INT(total_of(&r, "[gvl]"), 1000);
	/* Two threads in one method are one. */
	CHECK_INT(total_of(&r, "[GVL held by Foo#foo, app.rb:602]"), 500);
	/* A method in C is shown with what called it. */
	CHECK_INT(total_of(&r, "[GVL held by Array#size in Foo#foo, app.rb:602]"), 100);
	CHECK_INT(total_of(&r, "[GVL held by Array#size in Foo#bar, app.rb:702]"), 50);
	CHECK_INT(total_of(&r, "[GVL held by a method that is not known]"), 350);
	/* It is one wait. */
	for (uint32_t i = 0; i < r.node_count; i++)
		count += r.nodes[i].weight.count;
	CHECK_INT(count, 1);
	report__free(&r);
	/* A short wait has whoever had the GVL when it began; and nobody waits for itself. */
	details.gvl_to = 1000000 + HOLD_SHORT - 1;
	details.gvl_holder = (struct wait_peer){ .kind = PEER_THREAD, .vm = 1, .process = 1, .thread = 9, .slot = 1, .tid = 9, .id = bar_id,
						.ruby = { { .id = bar_id, .pc = fake__pc(fake__get(&ruby, bar_id), 3) } } };
	waited(STATE_GVL, 0, 7, &details);
	details.gvl_to = 2000000;
	own_thread = 4;
	waited(STATE_GVL, 0, 7, &details);
	own_thread = 5;
	waited(STATE_GVL, 0, 7, &details);
	own_thread = 0;
	CHECK(!frame_names__take_all(&frames, &table) && !report__build(&r, &tree, &frames, show, REPORT_BY_NAME, &view));
	CHECK_INT(r.samples, 4000);
	CHECK_INT(total_of(&r, "[GVL held by Foo#bar, app.rb:702]"), 1700);
	CHECK_INT(total_of(&r, "[GVL held by Foo#foo, app.rb:602]"), 1300);
	report__free(&r);
	/* A sample of several waits has one of their holders. */
	own_thread = 0;
	wait_count = 2;
	for (int i = 0; i < 1000; i++) {
		sample_time = 1000003ull * (uint64_t)i;
		waited(STATE_GVL, 0, 7, &details);
	}
	wait_count = 1;
	CHECK(!frame_names__take_all(&frames, &table) && !report__build(&r, &tree, &frames, show, REPORT_BY_NAME, &view));
	CHECK_INT(r.samples, 1004000);
	CHECK_INT((total_of(&r, "[GVL held by Foo#foo, app.rb:602]") - 1300) % 1000, 0);
	/* It had half of each. */
	CHECK(total_of(&r, "[GVL held by Foo#foo, app.rb:602]") > 450000 && total_of(&r, "[GVL held by Foo#foo, app.rb:602]") < 550000);
	report__free(&r);
	states__free(&states);
	tear_down();
}

TEST(details_names_threads)
{
	static const struct {
		const char *key, *name;
		bool is;
	} texts[] = {
		{ "waker", "woken by thread worker 1 (77) in Foo#bar", true }, { "waker", "woken by thread worker 1 (77)", true },
		{ "waker", "woken by thread worker 1 (78)", false }, { "waker", "woken by native thread worker 1 (77)", false },
		{ "waker", "thread worker 1 (77)", false }, { "waker", "", false }, { "joined", "joins thread worker 1 (77) in x", true },
		{ DETAIL_HOLDER_THREAD, "thread worker 1 (77)", true }, { DETAIL_HOLDER_THREAD, "thread worker 1 (77)x", false },
	};
	struct frame thread = FRAME_INIT(FRAME_THREAD), detail = FRAME_INIT(FRAME_DETAIL);

	thread.name = "worker 1";
	thread.tid = 77;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		detail.key = texts[i].key;
		detail.name = texts[i].name;
		CHECK(wait_text__names(&detail, &thread) == texts[i].is);
	}
}
