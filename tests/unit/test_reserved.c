/* SPDX-License-Identifier: BSD-2-Clause */
/* Reserved bytes of options are 0: a later version may have an option there. */
#include <errno.h>
#include <string.h>

#include "extprof.h"
#include "test.h"

static struct extprof_error error;

static int is_refused(int err)
{
	return err == -EINVAL && strstr(error.text, "not zero where it is reserved");
}

static void nobody(void *context, const struct extprof_ruby *ruby)
{
	(void)context;
	(void)ruby;
}

TEST(options_are_zero_where_they_are_reserved)
{
	struct extprof_recorded_options recorded = { .size = sizeof(recorded) };
	struct extprof_diff_options diff = { .size = sizeof(diff) };
	struct extprof_dump_options dump = { .size = sizeof(dump), .pid = 1 };
	struct extprof_recording_options find = { .size = sizeof(find), .all = true };
	struct extprof_dump *result = NULL;

	error = (struct extprof_error){ .size = sizeof(error) };
	CHECK_INT(extprof_recorded_options_check(&recorded, &error), 0);
	recorded.reserved[sizeof(recorded.reserved) - 1] = 1;
	CHECK(is_refused(extprof_recorded_options_check(&recorded, &error)));
	CHECK(is_refused(extprof_recorded_requests(NULL, "text", &recorded, stdout, &error)));
	diff.reserved[0] = 1;
	CHECK(is_refused(extprof_recorded_diff(NULL, NULL, "text", &diff, stdout, &error)));
	find.reserved3[0] = 1;
	CHECK(is_refused(extprof_find(&find, nobody, NULL, &error)));
	dump.reserved[0] = 1;
	CHECK(is_refused(extprof_dump_open(&result, &dump, &error)));
	CHECK(!result);
}
