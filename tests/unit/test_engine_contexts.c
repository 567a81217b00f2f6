/* SPDX-License-Identifier: BSD-2-Clause */
/* When processes are looked at for the contexts of their threads, and what the kernel is told of them. */
#include "engine_fixture.h"

#define SECONDS 1000000000ull
/* On the side of the thread pointer where a program has it. */
#if defined(__x86_64__)
#define PLACE (-8)
#else
#define PLACE 24
#endif

static struct context_look look;

/* A look that has found the variable in the program; offset 0: it has not. */
static void take(struct process *p, int64_t offset)
{
	look.vm = 1;
	look.whole = true;
	look.found = offset;
	look.file = offset ? 77 : 0;
	look.variable.is_program = true;
	look.variable.of.has_program = 1;
	look.variable.of.program = offset;
	p->context.look = true;
	engine__take_context(e, p, &look);
}

static struct process *set_up_process(void)
{
	struct process *p;

	set_up(false);
	memset(&look, 0, sizeof(look));
	p = first();
	if (!attach(p, 1))
		abort();
	e->context_files = context_files__new();
	return p;
}

TEST(engine_tells_where_contexts_are_and_that_they_have_gone)
{
	struct process *p = set_up_process();

	/* There is none, and the kernel knows of none. */
	take(p, 0);
	CHECK(!fake_session.places && !p->context.known && !p->context.look);
	take(p, PLACE);
	CHECK_INT(fake_session.places, 1);
	CHECK(fake_session.place_vm == 1 && fake_session.place.module == TRACE_IN_THREAD && fake_session.place.offset == PLACE);
	CHECK(p->context.known && p->context.file == 77);
	/* It has moved. */
	take(p, 4 * PLACE);
	CHECK(fake_session.place.offset == 4 * PLACE && p->context.known);
	/* The library was not looked at this time, or perhaps not: it has the variable as before. */
	fake_session.places = 0;
	look.maps_before = true;
	take(p, 0);
	look.maps_before = false;
	look.err = -ETIMEDOUT;
	take(p, 0);
	look.err = 0;
	look.found = look.whole = false;
	engine__take_context(e, p, &look);
	CHECK(!fake_session.places && p->context.known);
	/* It is not mapped any more. */
	take(p, 0);
	CHECK(fake_session.places == 1 && !fake_session.place.module && !p->context.known && !p->context.file);
	/* What ld.so has written is none any more, as of a library that is loaded anew. */
	take(p, PLACE);
	CHECK(p->context.known);
	take(p, 1ll << 40);
	CHECK(!fake_session.place.module && !p->context.known);
	/* A look at what it ran before. */
	fake_session.places = 0;
	look.vm = 2;
	engine__take_context(e, p, &look);
	CHECK(!fake_session.places);
	tear_down();
}

static bool looks_after(struct process *p, uint64_t seconds)
{
	p->context.look = false;
	p->context.at = deadline__now() - seconds * SECONDS;
	e->contexts_at = 0;
	/* It has run. */
	p->context.mark = (struct run_mark){ 0 };
	engine__step_contexts(e);
	return p->context.look;
}

TEST(engine_looks_again_at_contexts_that_are_known)
{
	struct process *p = set_up_process();

	p->context.since = deadline__now() - 400 * SECONDS;
	/* It is looked at when it has lived twice as long, and at least each 300 s. */
	CHECK(!looks_after(p, 150) && looks_after(p, 201));
	p->context.since = deadline__now() - 4000 * SECONDS;
	CHECK(!looks_after(p, 299) && looks_after(p, 301));
	take(p, PLACE);
	CHECK(!looks_after(p, 59) && looks_after(p, 61));
	/* One that has lost its place can get another one soon. */
	take(p, 0);
	CHECK(!looks_after(p, 0));
	p->context.since = deadline__now() - 2 * SECONDS;
	CHECK(looks_after(p, 2));
	tear_down();
}

TEST(engine_knows_where_contexts_of_a_child_are)
{
	struct process *p = set_up_process(), child = { 0 };

	take(p, PLACE);
	engine__fork_context(&child, p, deadline__now());
	CHECK(child.context.known && child.context.sent && !child.context.look && child.context.file == 77);
	/* It was forked before that: there may be an older one that the kernel has given it. */
	engine__fork_context(&child, p, p->context.since);
	CHECK(!child.context.known && child.context.sent && !child.context.file && !child.context.place.module);
	take(p, 0);
	engine__fork_context(&child, p, deadline__now());
	CHECK(!child.context.known && child.context.sent);
	tear_down();
}
