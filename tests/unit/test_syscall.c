/* SPDX-License-Identifier: BSD-2-Clause */
/* Which system calls are chosen, and how they are called. */
#include "test.h"

#include <errno.h>
#include <sys/syscall.h>

#include "source/mode.h"
#include "source/syscall_set.h"

TEST(syscall_names_of_this_machine)
{
	CHECK_INT(syscall__number("openat"), SYS_openat);
	CHECK_INT(syscall__number("write"), SYS_write);
	CHECK_INT(syscall__number("clone3"), SYS_clone3);
	CHECK_INT(syscall__number("exit_group"), SYS_exit_group);
	CHECK_INT(syscall__number("fadvise64"), SYS_fadvise64);
	CHECK_INT(syscall__number("syscalls"), -ENOENT);
	CHECK_STRING(syscall__name(SYS_newfstatat), "newfstatat");
	CHECK(!syscall__name(SYSCALL_NUMBERS - 1) && !syscall__name(UINT64_MAX));
}

TEST(syscall_tables_have_each_number_once)
{
	static bool seen[SYSCALL_NUMBERS];
	uint32_t count = 0;

	for (; syscall__name_at(count); count++) {
		int number = syscall__number(syscall__name_at(count));

		CHECK(number >= 0 && number < (int)SYSCALL_NUMBERS && !seen[number]);
		seen[number] = true;
	}
	CHECK(count > 290);
}

TEST(syscall_choice)
{
	struct syscall_set set = { 0 };
	struct text why = { 0 };

	CHECK(syscall_set__is_empty(&set));
	CHECK_INT(syscall_set__parse(&set, "openat,write,1023", &why), 0);
	CHECK(syscall_set__has(&set, SYS_openat) && syscall_set__has(&set, SYS_write) && syscall_set__has(&set, 1023));
	CHECK(!syscall_set__has(&set, SYS_read) && !syscall_set__has(&set, 100000) && !syscall_set__is_empty(&set));
	CHECK_INT(syscall_set__parse(&set, "all", &why), 0);
	CHECK(syscall_set__has(&set, SYS_read) && syscall_set__has(&set, 100000));
	CHECK(!why.length);
}

TEST(syscall_choice_that_is_wrong)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "are wanted" }, { ",", "are wanted" }, { "openat,", "are wanted" }, { "openat,,write", "are wanted" },
		{ "opnat", "\"opnat\" is no system call of this machine" }, { "opnat", "; near it: openat" },
		{ "Openat", "near it: openat" }, { "1024", "no system call" }, { "-1", "no system call" },
		{ "1x", "no system call" }, { "99999999999999999999999", "no system call" }, { "a\033b", "\"a\\x1Bb\"" },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "are wanted" },
#if defined(__aarch64__)
		{ "openat,open", "\"open\" is a system call of x86-64, and this machine is aarch64" },
#endif
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct syscall_set set = { 0 };
		struct text why = { 0 };
		int err = syscall_set__parse(&set, cases[i].text, &why);

		if (err != -EINVAL || !strstr(text__string(&why), cases[i].says))
			test__fail(__FILE__, __LINE__, "\"%s\": %d, %s", cases[i].text, err, text__string(&why));
		text__free(&why);
	}
}

TEST(syscall_frames)
{
	static const struct {
		uint64_t detail;
		const char *frame;
	} cases[] = {
		{ SYS_openat, "openat" }, { 1000, "syscall 1000" },
		{ SYS_openat | SYSCALL_COMPAT, "32-bit syscall " }, { 0xffffffff, "syscall 4294967295" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sample_event e = { .source = SOURCE_SYSCALL, .detail = cases[i].detail };
		struct text t = { 0 };

		mode_syscall.innermost(&e, &t);
		if (strncmp(text__string(&t), cases[i].frame, strlen(cases[i].frame)))
			test__fail(__FILE__, __LINE__, "%s, not %s", text__string(&t), cases[i].frame);
		text__free(&t);
	}
}
