/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks at a GVL: to whom do they give each part of a wait? */
#include "test.h"

#include <stdio.h>

#include "profile/holders.h"

static struct holders holders;

static void look(uint64_t time, uint64_t number, uint32_t why, uint64_t thread, uint32_t id)
{
	struct hold_event e = {
		.e = { .time = time, .process = 1, .extra = 1, .detail = number, .state = why },
		.peer = { .kind = PEER_THREAD, .vm = 1, .thread = thread, .id = id },
	};

	holders__add(&holders, &e);
}

static int add_part(void *context, struct hold_seen *seen, uint64_t ns)
{
	size_t length = strlen(context);

	if (seen)
		snprintf((char *)context + length, 200 - length, "%u/%u:%u ", (unsigned)seen->peer.thread, seen->peer.id, (unsigned)ns);
	else
		snprintf((char *)context + length, 200 - length, "?:%u ", (unsigned)ns);
	return 0;
}

/* The thread that waits; 0 unknown. */
static uint64_t waits;

static const char *parts(uint32_t process, uint32_t ractor, uint64_t from, uint64_t to)
{
	static char text[200];

	*text = '\0';
	return holders__each(&holders, process, ractor, waits, from, to, add_part, text) ? "an error" : text;
}

TEST(holders_share_a_time)
{
	memset(&holders, 0, sizeof(holders));
	CHECK_STRING(parts(1, 1, 100, 200), "?:100 ");
	look(100, 1, LOOK_CLOCK, 5, 50);
	look(200, 2, LOOK_CLOCK, 5, 51);
	look(300, 3, LOOK_LEAVES, 6, 60);
	CHECK_STRING(parts(1, 1, 100, 300), "5/50:100 5/51:100 ");
	CHECK_STRING(parts(1, 1, 150, 350), "5/50:50 5/51:100 6/60:50 ");
	CHECK_STRING(parts(1, 1, 50, 110), "?:50 5/50:10 ");
	CHECK_STRING(parts(1, 1, 20, 50), "?:30 ");
	/* The last one can be told twice. */
	look(300, 3, LOOK_LEAVES, 6, 60);
	/* It goes on. */
	CHECK_STRING(parts(1, 1, 1000, 1001), "6/60:1 ");
	CHECK_STRING(parts(1, 1, 150, 160), "5/50:10 ");
	CHECK_STRING(parts(1, 1, 150, 150), "");
	CHECK_STRING(parts(1, 1, 150, 100), "");
	/* Ractor 0 is not known, and is the main one.  Others have a GVL of their own. */
	CHECK_STRING(parts(1, 0, 150, 160), "5/50:10 ");
	CHECK_STRING(parts(1, 2, 150, 160), "?:10 ");
	CHECK_STRING(parts(2, 1, 150, 160), "?:10 ");
	holders__free(&holders);
}

/* When a thread gets the GVL it is where it has waited.  Looks at any moment tell what it does then. */
TEST(holders_of_a_turn)
{
	memset(&holders, 0, sizeof(holders));
	look(100, 1, LOOK_TURN, 5, 50);
	look(200, 2, LOOK_CLOCK, 5, 51);
	look(300, 3, LOOK_TURN, 5, 52);
	look(400, 4, LOOK_LEAVES, 5, 53);
	look(500, 5, LOOK_TURN, 5, 54);
	look(600, 6, LOOK_CLOCK, 6, 60);
	CHECK_STRING(parts(1, 1, 100, 600), "5/51:100 5/51:100 5/52:100 5/53:100 5/54:100 ");
	holders__free(&holders);
}

/* The thread that waits has given the GVL away: the next one is to run with it. */
TEST(holders_that_are_to_run)
{
	memset(&holders, 0, sizeof(holders));
	look(100, 1, LOOK_CLOCK, 5, 50);
	look(200, 2, LOOK_TURN, 6, 60);
	look(300, 3, LOOK_CLOCK, 6, 61);
	look(400, 4, LOOK_LEAVES, 5, 51);
	waits = 5;
	CHECK_STRING(parts(1, 1, 100, 500), "6/61:100 6/61:100 6/61:100 5/51:100 ");
	waits = 0;
	CHECK_STRING(parts(1, 1, 100, 500), "5/50:100 6/61:100 6/61:100 5/51:100 ");
	holders__free(&holders);
}

/* Looks that were not received: who had it meanwhile is not known. */
TEST(holders_with_gaps)
{
	memset(&holders, 0, sizeof(holders));
	look(100, 1, LOOK_CLOCK, 5, 50);
	look(200, 3, LOOK_CLOCK, 5, 51);
	look(300, 4, LOOK_CLOCK, 5, 52);
	CHECK_STRING(parts(1, 1, 100, 400), "?:100 5/51:100 5/52:100 ");
	/* Numbers or times that go back are of another program. */
	look(400, 1, LOOK_CLOCK, 7, 70);
	CHECK_STRING(parts(1, 1, 100, 500), "?:300 7/70:100 ");
	look(350, 2, LOOK_CLOCK, 8, 80);
	CHECK_STRING(parts(1, 1, 300, 400), "?:50 8/80:50 ");
	holders__free(&holders);
}

TEST(holders_have_bounds)
{
	memset(&holders, 0, sizeof(holders));
	for (uint32_t i = 0; i <= HOLDERS_LOOKS_MAX; i++)
		look(1000 + 10ull * i, i + 1, LOOK_CLOCK, 5, i);
	CHECK_INT(holders.gvls[0].count, HOLDERS_LOOKS_MAX / 2 + 1);
	CHECK_INT(holders.looks, HOLDERS_LOOKS_MAX / 2 + 1);
	/* The older half is not known any more. */
	CHECK_STRING(parts(1, 1, 1000, 1010), "?:10 ");
	CHECK_STRING(parts(1, 1, 1000 + 10ull * HOLDERS_LOOKS_MAX, 1001 + 10ull * HOLDERS_LOOKS_MAX), "5/32768:1 ");
	holders__free(&holders);
	/* Processes that have ended give their room back first. */
	for (uint32_t p = 1; p <= 2 * HOLDERS_ALL_MAX / HOLDERS_LOOKS_MAX; p++) {
		struct hold_event e = { .e = { .process = p } };

		for (uint32_t i = 1; i < HOLDERS_LOOKS_MAX; i++) {
			e.e.time = HOLDERS_REST * p * 2 + i;
			e.e.detail = i;
			holders__add(&holders, &e);
		}
		CHECK(holders.looks <= HOLDERS_ALL_MAX && holders.gvls[p - 1].count == HOLDERS_LOOKS_MAX - 1);
	}
	CHECK_INT(holders.gvls[0].count, 0);
	holders__free(&holders);
	for (uint32_t p = 1; p <= HOLDERS_GVLS_MAX + 1; p++) {
		struct hold_event e = { .e = { .process = p, .time = p, .detail = 1 } };

		holders__add(&holders, &e);
	}
	CHECK(holders.count == 1 && holders.looks == 1 && holders.gvls[0].process == HOLDERS_GVLS_MAX + 1);
	holders__free(&holders);
}
