/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include "base/utc.h"

TEST(utc_texts)
{
	char text[UTC_SIZE];

	CHECK_STRING(utc__text(text, 0, false), "1970-01-01T00:00:00Z");
	CHECK_STRING(utc__text(text, 1796114775962977420ull, false), "2026-12-01T08:46:15Z");
	CHECK_STRING(utc__text(text, 1796114775962977420ull, true), "2026-12-01T08:46:15.962977420Z");
	CHECK_STRING(utc__text(text, 1796114775000000001ull, true), "2026-12-01T08:46:15.000000001Z");
	CHECK_STRING(utc__for_name(text, 1796114775962977420ull), "20261201-084615-962Z");
	CHECK_STRING(utc__for_name(text, 1796114775002999999ull), "20261201-084615-002Z");
	/* The last moment that has a number: more than 500 years away. */
	CHECK_STRING(utc__text(text, UINT64_MAX, true), "2554-07-21T23:34:33.709551615Z");
}
