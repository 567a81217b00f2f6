/* SPDX-License-Identifier: BSD-2-Clause */
/* Shares of the time of a step, and samples that wait for their turn. */
#include <stdlib.h>
#include <string.h>

#include "engine/aside.h"
#include "profile_fixture.h"
#include "test.h"

#define VMS 4

static struct aside aside;
static struct vm vms[VMS];
static uint32_t taken[VMS];

static struct vm *find_vm(void *context, const struct sample_event *e, uint32_t *row)
{
	(void)context;
	*row = PROCESS_NONE;
	return e->vm < VMS ? &vms[e->vm] : NULL;
}

static enum resolve_turn turn(void *context, struct vm *of, const struct sample_event *e, size_t size)
{
	enum resolve_turn is = aside__turn(&aside, of, e, size, NULL);

	(void)context;
	if (is == TURN_NOW)
		taken[e->vm]++;
	return is;
}

static void begin(void)
{
	set_up();
	aside__init(&aside);
	memset(vms, 0, sizeof(vms));
	memset(taken, 0, sizeof(taken));
	/* 0 and 1 are of one user, 2 of another one.  Their names can be read. */
	for (uint32_t i = 0; i < VMS; i++) {
		vms[i].frames.user = i < 2 ? 7 : 8;
		vms[i].confirmed = true;
	}
	resolver.vm_of = find_vm;
	resolver.turn = turn;
	resolver.processes = NULL;
	aside.open = true;
}

static void end(void)
{
	aside__free(&aside);
	tear_down();
}

/* A thread that is not Ruby's, with room for so many frames behind. */
static void arrive(uint32_t from, uint32_t frames)
{
	static struct {
		struct sample_event e;
		struct sample_frame frames[SAMPLE_FRAMES_MAX];
	} event;

	event.e = (struct sample_event){ .kind = SAMPLE_NATIVE, .vm = from, .nr_frames = (uint16_t)frames, .value = 1, .count = 1 };
	resolve__event(&resolver, &event, sizeof(event.e) + frames * sizeof(event.frames[0]));
}

static uint64_t lost(enum loss_reason reason)
{
	return resolver.received[SOURCE_CPU].lost[reason];
}

TEST(aside_puts_off_who_has_had_a_share)
{
	begin();
	arrive(0, 1);
	CHECK_INT(taken[0], 1);
	aside__spend(&aside, &vms[0], 6000000);
	/* The process has had its time, its user not. */
	arrive(0, 1);
	arrive(1, 1);
	arrive(2, 1);
	CHECK_INT(taken[0], 1);
	CHECK_INT(taken[1], 1);
	CHECK_INT(taken[2], 1);
	CHECK_INT(aside.count, 1);
	aside__spend(&aside, &vms[1], 4500000);
	arrive(1, 1);
	arrive(2, 1);
	CHECK_INT(taken[1], 1);
	CHECK_INT(taken[2], 2);
	/* In the next turn the order of a process stays: what waits comes first. */
	aside__begin_turn(&aside);
	arrive(0, 1);
	CHECK_INT(taken[0], 1);
	CHECK(aside__has_samples_of(&aside, 0));
	aside.open = false;
	aside__serve(&aside, &resolver, UINT64_MAX);
	CHECK_INT(aside.count, 0);
	CHECK(!aside__has_samples_of(&aside, 0));
	CHECK_INT(taken[0], 3);
	CHECK_INT(taken[1], 2);
	CHECK_INT(resolver.received[SOURCE_CPU].whole, 7);
	CHECK_INT(aside.budget.used, 0);
	end();
}

TEST(aside_waits_until_names_can_be_read)
{
	struct address_space space;

	begin();
	vms[0].space = &space;
	vms[0].symbols.work = SYMBOLS_SAMPLE_WORK - 1;
	arrive(0, 1);
	CHECK_INT(taken[0], 0);
	aside.open = false;
	aside__serve(&aside, &resolver, UINT64_MAX);
	CHECK_INT(taken[0], 0);
	/* The memory is gone: there will be no more names. */
	vms[0].exited = true;
	aside__serve(&aside, &resolver, UINT64_MAX);
	CHECK_INT(taken[0], 1);
	CHECK(!vms[0].turn.waiting);
	end();
}

/* The one that fills the memory of what waits loses its own samples, and others have room. */
TEST(aside_memory_is_shared)
{
	uint64_t put = 0;

	begin();
	for (uint32_t i = 0; i < VMS; i++)
		aside__spend(&aside, &vms[i], 20000000);
	while (!lost(LOSS_TOO_MUCH) && put < 1000) {
		arrive(0, SAMPLE_FRAMES_MAX);
		put++;
	}
	CHECK(put > 10 && put < 100);
	loss_hit[LOSS_TOO_MUCH] += lost(LOSS_TOO_MUCH);
	arrive(1, SAMPLE_FRAMES_MAX);
	arrive(2, SAMPLE_FRAMES_MAX);
	CHECK_INT(lost(LOSS_TOO_MUCH), 1);
	CHECK(aside.budget.used < aside.budget.max);
	aside.open = false;
	aside__skip(&aside, &resolver);
	CHECK_INT(lost(LOSS_NOT_READ), put + 1);
	CHECK_INT(aside.count, 0);
	CHECK_INT(aside.budget.used, 0);
	end();
}

TEST(aside_ends_for_who_had_all_at_the_end)
{
	struct vm *list[] = { &vms[0], &vms[1], NULL, &vms[2] };

	begin();
	aside__begin_end(&aside, list, 4);
	for (uint32_t i = 0; i < 3; i++)
		aside__spend(&aside, &vms[i], 20000000);
	CHECK(aside__left_at_end(&aside, &vms[0]) < 700000000);
	for (uint32_t i = 0; i < 3; i++)
		arrive(i, 1);
	aside__spend(&aside, &vms[0], 700000000);
	CHECK(aside__has_had_all(&aside, &vms[0]) && !aside__has_had_all(&aside, &vms[1]));
	aside.open = false;
	aside__serve(&aside, &resolver, UINT64_MAX);
	CHECK_INT(lost(LOSS_NOT_READ), 1);
	CHECK_INT(taken[0], 0);
	CHECK_INT(taken[1] + taken[2], 2);
	aside__spend(&aside, &vms[1], 300000000);
	/* All of the user had their time together. */
	CHECK(aside__has_had_all(&aside, &vms[1]) && !aside__has_had_all(&aside, &vms[2]));
	aside__end_end(&aside);
	CHECK(!aside__has_had_all(&aside, &vms[0]));
	end();
}
