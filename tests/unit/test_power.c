/* SPDX-License-Identifier: BSD-2-Clause */
#include <linux/capability.h>

#include "cli/power.h"
#include "test.h"

#define CAP(name) (1ull << CAP_##name)
#define ALL ((1ull << 41) - 1)
#define FILES (CAP(DAC_OVERRIDE) | CAP(DAC_READ_SEARCH) | CAP(CHOWN) | CAP(FOWNER))
#define PROCESSES (FILES | CAP(SYS_PTRACE) | CAP(CHECKPOINT_RESTORE) | CAP(SETUID) | CAP(SETGID))
#define KERNEL (PROCESSES | CAP(BPF) | CAP(PERFMON) | CAP(SYSLOG))

static uint64_t wanted(struct power_needs n, uint64_t permitted)
{
	return power__wanted(&n, permitted);
}

TEST(power_is_what_is_needed)
{
	CHECK(wanted((struct power_needs){ 0 }, ALL) == FILES);
	CHECK(!wanted((struct power_needs){ .nothing = true }, ALL));
	CHECK(wanted((struct power_needs){ .processes = true }, ALL) == PROCESSES);
	CHECK(wanted((struct power_needs){ .processes = true, .kernel = true }, ALL) == KERNEL);
	CHECK(wanted((struct power_needs){ .processes = true, .kernel = true, .command = true }, ALL) == (KERNEL | CAP(KILL)));
	CHECK(wanted((struct power_needs){ .processes = true, .kernel = true, .tracefs = true }, ALL) == (KERNEL | CAP(SYS_ADMIN)));
	CHECK(wanted((struct power_needs){ .processes = true, .kernel = true, .admin = true }, ALL) == (KERNEL | CAP(SYS_ADMIN)));
	CHECK(wanted((struct power_needs){ .processes = true, .kernel = true, .locked_memory = true }, ALL) ==
	      (KERNEL | CAP(SYS_RESOURCE)));
	/* These are about the kernel's programs only. */
	CHECK(wanted((struct power_needs){ .processes = true, .admin = true, .locked_memory = true }, ALL) == PROCESSES);
}

TEST(power_is_no_more_than_there_was)
{
	const struct power_needs all = { .processes = true, .kernel = true, .command = true, .tracefs = true, .admin = true };

	for (int cap = 0; cap < 41; cap++)
		CHECK(!(wanted(all, ALL & ~(1ull << cap)) >> cap & 1));
	CHECK(!wanted(all, 0));
	CHECK(!wanted((struct power_needs){ 0 }, 0));
}

TEST(power_of_admin_for_what_is_not_there)
{
	const struct power_needs kernel = { .processes = true, .kernel = true }, processes = { .processes = true };

	/* Linux before 5.8, and containers that were given CAP_SYS_ADMIN. */
	CHECK(wanted(kernel, ALL & ~CAP(BPF)) & CAP(SYS_ADMIN));
	CHECK(wanted(kernel, ALL & ~CAP(PERFMON)) & CAP(SYS_ADMIN));
	CHECK(wanted(kernel, ALL & ~CAP(CHECKPOINT_RESTORE)) & CAP(SYS_ADMIN));
	CHECK(wanted(processes, ALL & ~CAP(CHECKPOINT_RESTORE)) & CAP(SYS_ADMIN));
	CHECK(!(wanted(processes, ALL & ~CAP(BPF)) & CAP(SYS_ADMIN)));
	CHECK(!(wanted((struct power_needs){ 0 }, ALL & ~CAP(CHECKPOINT_RESTORE)) & CAP(SYS_ADMIN)));
}

TEST(power_that_reads_only_equals_stays_whole)
{
	const uint64_t container = CAP(CHOWN) | CAP(DAC_OVERRIDE) | CAP(NET_RAW) | CAP(MKNOD) | CAP(KILL);

	CHECK(wanted((struct power_needs){ .processes = true, .kernel = true, .only_equals = true }, container) == container);
	CHECK(wanted((struct power_needs){ .processes = true, .only_equals = true }, ALL) == ALL);
	CHECK(wanted((struct power_needs){ .only_equals = true }, container) == (container & FILES));
	CHECK(wanted((struct power_needs){ .processes = true }, container) == (container & PROCESSES));
}
