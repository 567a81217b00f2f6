/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include "profile/accounting.h"

TEST(accounting_adds_up)
{
	struct source_counters kernel = { .taken = 100, .whole = 80 };
	struct received got = { .whole = 79 };
	struct accounting a;
	struct text t = { 0 };

	kernel.truncated[TRUNC_DEPTH] = 10;
	kernel.lost[LOSS_RING_FULL] = 7;
	kernel.lost[LOSS_EC_READ] = 3;
	got.truncated[TRUNC_DEPTH] = 10;
	got.lost[LOSS_NO_MEMORY] = 1;
	accounting__settle(&a, &kernel, &got);
	CHECK(accounting__balanced(&a));
	CHECK_INT(a.lost[LOSS_UNACCOUNTED], 0);
	accounting__add_line(&a, &t);
	CHECK_STRING(t.data, "samples taken 100 = whole 79 + truncated 10 (too-deep: 10) + "
		     "lost 11 (ring-full: 7, ec-unreadable: 3, no-memory: 1)");
	text__free(&t);
}

TEST(accounting_names_what_did_not_arrive)
{
	struct source_counters kernel = { .taken = 10, .whole = 10 };
	struct received got = { .whole = 8 };
	struct accounting a;

	accounting__settle(&a, &kernel, &got);
	CHECK_INT(a.lost[LOSS_UNACCOUNTED], 2);
	CHECK(accounting__balanced(&a));
	loss_hit[LOSS_UNACCOUNTED] += a.lost[LOSS_UNACCOUNTED];
}

/* The row of a process is brought up to date again and again. */
TEST(accounting_adds_what_is_new_of_a_process)
{
	struct source_counters row = { 0 }, first = { .taken = 10, .whole = 9, .missed = 2 };
	struct source_counters second = { .taken = 25, .whole = 20, .missed = 2, .unfollowed = 3 };

	first.lost[LOSS_RING_FULL] = 1;
	second.lost[LOSS_RING_FULL] = 4;
	second.truncated[TRUNC_DEPTH] = 1;
	source_counters__add(&row, &first);
	source_counters__add(&row, &second);
	source_counters__subtract(&row, &first);
	CHECK(!memcmp(&row, &second, sizeof(row)));
}

TEST(accounting_says_when_it_does_not_add_up)
{
	struct source_counters kernel = { .taken = 10, .whole = 9 };
	struct received got = { .whole = 9 };
	struct accounting a;
	struct text t = { 0 };

	accounting__settle(&a, &kernel, &got);
	CHECK(!accounting__balanced(&a));
	accounting__add_line(&a, &t);
	CHECK(strstr(t.data, "bug") != NULL);
	text__free(&t);
}

TEST(accounting_ids_and_keys_are_stable)
{
	/* These texts are part of every output, and a change breaks readers of old files. */
	static const char *const losses[] = {
		"?", "ring-full", "no-scratch", "section-unreadable", "section-changed",
		"fork-in-progress", "tls-unreadable", "ec-unreadable", "bad-geometry",
		"frames-unreadable", "malformed", "no-memory", "unaccounted", "not-read",
		"scratch-busy", "probe-unreadable", "no-stack", "not-resumed", "unfinished",
		"too-many-calls", "torn", "not-stopped", "too-much", "ring-share",
	};
	static const char *const truncs[] = { "?", "too-deep", "frames-unreadable" };

	for (unsigned int i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		CHECK_STRING(loss__key(i), losses[i]);
	for (unsigned int i = 0; i < sizeof(truncs) / sizeof(truncs[0]); i++)
		CHECK_STRING(trunc__key(i), truncs[i]);
	CHECK_STRING(loss__key(1000), "?");
	CHECK_STRING(trunc__text(1000), "?");
}
