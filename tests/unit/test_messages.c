/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include <string.h>

#include "base/diag.h"
#include "cli/messages.h"

/* extprof(1) promises these. */
TEST(messages_exit_statuses)
{
	static const int statuses[] = {
		[EXTPROF_OK] = 0, [EXTPROF_USAGE] = 64, [EXTPROF_NOT_RUBY] = 65, [EXTPROF_NO_PROCESS] = 66,
		[EXTPROF_NO_INTERFACE] = 69, [EXTPROF_INTERNAL] = 70, [EXTPROF_NO_BPF] = 71,
		[EXTPROF_OUTPUT] = 73, [EXTPROF_NOT_READY] = 75, [EXTPROF_VERSION_MISMATCH] = 76,
		[EXTPROF_PERMISSION] = 77, [EXTPROF_COMMAND] = 127,
		[EXTPROF_RECORDING] = 74,
	};

	CHECK_INT(sizeof(statuses) / sizeof(statuses[0]), DIAG_CODES);
	for (int code = 0; code < DIAG_CODES; code++) {
		CHECK_INT(message__status(code), statuses[code]);
		CHECK(!code == !statuses[code]);
	}
	CHECK_INT(message__status(DIAG_CODES), 70);
	CHECK_INT(message__status(-1), 70);
}

TEST(messages_hint_and_advice)
{
	struct extprof_error e = { .size = sizeof(e) };
	char hint[sizeof(e.hint) + 128];

	CHECK_INT(message__set(&e, EXTPROF_USAGE, 22, "x\033%d", 1), -22);
	CHECK_STRING(e.text, "x\\x1B1");
	CHECK_INT(e.code, EXTPROF_USAGE);
	message__hint(&e, hint, sizeof(hint));
	CHECK_STRING(hint, "");
	strcpy(e.hint, "sample at 250 or slower");
	message__hint(&e, hint, sizeof(hint));
	CHECK_STRING(hint, "sample at 250 or slower");
	e.advice = EXTPROF_ADVICE_CLOCK;
	message__hint(&e, hint, sizeof(hint));
	CHECK_STRING(hint, "sample at 250 or slower, or sample with --timer=clock");
	message__hint(&e, hint, 10);
	CHECK_STRING(hint, "sample at");
	/* Another error takes hint and advice away. */
	message__set(&e, EXTPROF_NO_PROCESS, 3, "y");
	CHECK(!e.hint[0] && e.advice == EXTPROF_ADVICE_NONE);
	e.advice = EXTPROF_ADVICE_PID;
	e.advice_value = 77;
	message__hint(&e, hint, sizeof(hint));
	CHECK_STRING(hint, "profile its process: extprof -p 77");
	strcpy(e.hint, "its children used 1.20 s of CPU time");
	e.advice = EXTPROF_ADVICE_SUBPROCESSES;
	message__hint(&e, hint, sizeof(hint));
	CHECK_STRING(hint, "its children used 1.20 s of CPU time: --subprocesses profiles them too");
	/* Each advice says something; one of a later library says nothing. */
	e.hint[0] = '\0';
	for (int i = ADVICE_NONE + 1; i < ADVICES; i++) {
		e.advice = i;
		message__hint(&e, hint, sizeof(hint));
		CHECK(hint[0]);
	}
	for (int i = 0; i < 2; i++) {
		e.advice = i ? ADVICES : -1;
		message__hint(&e, hint, sizeof(hint));
		CHECK_STRING(hint, "");
	}
}
