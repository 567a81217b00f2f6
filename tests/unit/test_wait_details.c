/* SPDX-License-Identifier: BSD-2-Clause */
/* What is told of waits besides their states, as frames below those. */
#include "test.h"

#include "profile/wait_details.h"
#include "profile/states.h"
#include "profile_fixture.h"
#include "source/mode.h"

static struct states states;
static const struct mode *const offcpu[] = { &mode_offcpu };

/* A sample of a wait, and before that what is told about it, from one CPU. */
static void waited(uint32_t state, uint32_t cpu, uint32_t tid, const struct wait_about *about)
{
	struct wait_about copy;

	if (about) {
		copy = *about;
		copy.e = (struct sample_event){ .source = SOURCE_SCHED, .kind = SAMPLE_ABOUT, .vm = 1, .process = 1,
						.tid = tid, .cpu = cpu };
		states__event(&states, &resolver, &copy, sizeof(copy));
	}
	start();
	sample.event.source = SOURCE_SCHED;
	sample.event.process = 1;
	sample.event.tid = tid;
	sample.event.cpu = cpu;
	sample.event.flags = SAMPLE_HAS_ABOUT;
	sample.event.state = state;
	sample.event.value = 1000;
	sample.event.count = 1;
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

TEST(about_frames_are_below_states)
{
	struct wait_about about = { .file = { .fd = 4, .kind = FILE_PIPE, .inode = 9 } };
	struct report_view view = { .mode = &mode_offcpu, .by_value = true };
	const struct report_label *label;
	struct report r;

	set_up();
	memset(&states, 0, sizeof(states));
	resolve__set_modes(&resolver, offcpu, 1);
	resolver.about_wanted = ABOUT_FILE | ABOUT_HOLDER;
	waited(STATE_IO, 0, 7, &about);
	/* It is of the thread of that CPU, and of no other one. */
	waited(STATE_IO, 0, 7, NULL);
	waited(STATE_IO, 0, 8, NULL);
	waited(STATE_IO, 3, 7, NULL);
	/* Who holds it is not known. */
	waited(STATE_GVL, 1, 9, &about);
	CHECK(!frame_names__take_all(&frames, &table) && !report__build(&r, &tree, &frames, show, REPORT_BY_NAME, &view));
	label = label_of(&r, "[pipe 9]");
	CHECK(label && label->frame.kind == FRAME_DETAIL && label->total == 2000);
	label = label_of(&r, "[what it waited for was not received]");
	CHECK(label && label->total == 2000);
	label = label_of(&r, "[held by a thread that is not known]");
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

TEST(about_who_ended_a_wait)
{
	struct wait_about about = { .waker = { .kind = PARTY_TASK, .tid = 77, .comm = "cat" },
				    .gvl_waker = { .kind = PARTY_TASK, .process = 1, .tid = 78, .comm = "ruby" } };
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
	resolver.about_wanted = ABOUT_WAKER;
	waited(STATE_QUEUE, 0, 7, &about);
	waited(STATE_GVL, 0, 7, &about);
	for (about.waker.kind = PARTY_INTERRUPT; about.waker.kind <= PARTY_NOBODY; about.waker.kind++)
		waited(STATE_IO, 0, 7, &about);
	about.waker.kind = PARTY_UNKNOWN;
	waited(STATE_MUTEX, 0, 7, &about);
	/* Nobody is told of who gave it a CPU. */
	waited(STATE_RUNNABLE, 0, 7, &about);
	CHECK(!frame_names__take_all(&frames, &table) && !report__build(&r, &tree, &frames, show, REPORT_BY_NAME, &view));
	for (size_t i = 0; i < sizeof(truth) / sizeof(truth[0]); i++) {
		const struct report_label *label = label_of(&r, truth[i].name);

		CHECK(label && label->frame.kind == FRAME_DETAIL && label->total == truth[i].total);
	}
	report__free(&r);
	states__free(&states);
	tear_down();
}
