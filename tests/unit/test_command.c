/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include "cli/command.h"

/* In the place of extprof's, which are not linked here. */
static const struct command record = { .name = "record" }, top = { .name = "top" },
	dump = { .name = "dump" }, stat_ = { .name = "stat" };
const struct command *const commands[] = { &record, &top, &dump, &stat_, NULL };

TEST(command_by_name)
{
	CHECK(command__by_name("record") == &record);
	CHECK(command__by_name("stat") == &stat_);
	CHECK(!command__by_name("recor"));
	CHECK(!command__by_name(""));
}

TEST(command_nearest)
{
	CHECK(command__nearest("recrod") == &record);
	CHECK(command__nearest("recod") == &record);
	CHECK(command__nearest("reccord") == &record);
	CHECK(command__nearest("records") == &record);
	CHECK(command__nearest("dmup") == &dump);
	CHECK(command__nearest("stats") == &stat_);
	CHECK(command__nearest("tpo") == &top);
	/* Other words are other programs. */
	CHECK(!command__nearest("ruby"));
	CHECK(!command__nearest("bundle"));
	CHECK(!command__nearest("cat"));
	CHECK(!command__nearest(""));
	CHECK(!command__nearest("recordrecordrecordrecordrecordrecordrecordrecord"));
}
