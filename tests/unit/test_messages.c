/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include <string.h>

#include "cli/messages.h"

/* extprof(1) promises these. */
TEST(messages_exit_statuses)
{
	static const int statuses[DIAG_CODES] = {
		[DIAG_OK] = 0, [DIAG_USAGE] = 64, [DIAG_NOT_RUBY] = 65, [DIAG_NO_PROCESS] = 66,
		[DIAG_NO_INTERFACE] = 69, [DIAG_INTERNAL] = 70, [DIAG_NO_BPF] = 71,
		[DIAG_OUTPUT] = 73, [DIAG_NOT_READY] = 75, [DIAG_VERSION] = 76,
		[DIAG_PERMISSION] = 77, [DIAG_COMMAND] = 127,
	};

	for (int code = 0; code < DIAG_CODES; code++) {
		CHECK_INT(message__status((enum diag_code)code), statuses[code]);
		CHECK(!code == !statuses[code]);
	}
	CHECK_INT(message__status((enum diag_code)DIAG_CODES), 70);
	CHECK_INT(message__status((enum diag_code)-1), 70);
}

TEST(messages_hint_and_advice)
{
	struct diag d = { 0 };
	char hint[sizeof(d.hint) + 128];

	diag__set(&d, DIAG_USAGE, 22, "x");
	message__hint(&d, hint, sizeof(hint));
	CHECK_STRING(hint, "");
	diag__hint(&d, "sample at %d or slower", 250);
	message__hint(&d, hint, sizeof(hint));
	CHECK_STRING(hint, "sample at 250 or slower");
	diag__advise(&d, ADVICE_CLOCK, 0);
	message__hint(&d, hint, sizeof(hint));
	CHECK_STRING(hint, "sample at 250 or slower, or sample with --timer=clock");
	message__hint(&d, hint, 10);
	CHECK_STRING(hint, "sample at");
	/* Another error takes hint and advice away. */
	diag__set(&d, DIAG_NO_PROCESS, 3, "y");
	CHECK(!d.hint[0] && d.advice == ADVICE_NONE);
	diag__advise(&d, ADVICE_PID, 77);
	message__hint(&d, hint, sizeof(hint));
	CHECK_STRING(hint, "profile its process: extprof -p 77");
	/* Each advice says something. */
	for (int i = ADVICE_NONE + 1; i < ADVICES; i++) {
		d.advice = (enum diag_advice)i;
		message__hint(&d, hint, sizeof(hint));
		CHECK(hint[0]);
	}
}
