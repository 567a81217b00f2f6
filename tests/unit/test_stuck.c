/* SPDX-License-Identifier: BSD-2-Clause */
/* Which threads have not run, by a /proc of our own; and dumps beside recordings. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/daemon_stuck.h"
#include "daemon/dumps.h"
#include "daemon/stillness.h"

#define ROOT "stuck_proc"
#define FOLDER "stuck_folder"
#define MS 1000000ull
#define SECOND (1000 * MS)

/* -- threads ---------------------------------------------------------------------------------------- */

static void set_thread(int pid, int tid, uint64_t ran, uint64_t slices)
{
	char path[128];
	FILE *f;

	mkdir(ROOT, 0700);
	snprintf(path, sizeof(path), ROOT "/%d", pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), ROOT "/%d/task", pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), ROOT "/%d/task/%d", pid, tid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), ROOT "/%d/task/%d/schedstat", pid, tid);
	f = fopen(path, "w");
	if (!f)
		abort();
	fprintf(f, "%llu 77 %llu\n", (unsigned long long)ran, (unsigned long long)slices);
	fclose(f);
}

static void end_thread(int pid, int tid)
{
	char path[128];

	snprintf(path, sizeof(path), ROOT "/%d/task/%d/schedstat", pid, tid);
	unlink(path);
	snprintf(path, sizeof(path), ROOT "/%d/task/%d", pid, tid);
	rmdir(path);
}

TEST(stillness_finds_threads_that_do_not_run)
{
	const pid_t pids[] = { 10, 20 };
	struct stillness s = { .count = 0 };
	struct still_process *p;

	set_thread(10, 10, 5000 * MS, 9);
	set_thread(10, 11, 100 * MS, 3);
	set_thread(20, 20, 1, 1);
	CHECK(!stillness__look(&s, ROOT, pids, 2, 100 * SECOND));
	CHECK_INT(s.count, 2);
	p = &s.list[0];
	/* What it did before is not known. */
	CHECK(!still_process__is_due(p, 100 * SECOND, 3 * SECOND));
	/* A timer that runs now and then is no work: 0.5 ms a second. */
	for (uint64_t i = 1; i <= 3; i++) {
		set_thread(10, 11, 100 * MS + i * MS / 2, 3 + i);
		CHECK(!stillness__look(&s, ROOT, pids, 2, (100 + i) * SECOND));
	}
	p = &s.list[0];
	CHECK(still_process__is_due(p, 103 * SECOND, 3 * SECOND));
	CHECK(!still_process__is_due(p, 103 * SECOND, 3 * SECOND + 1));
	CHECK_INT(still_process__thread(p, 10)->since, 100 * SECOND);
	CHECK_INT(still_process__thread(p, 11)->since, 103 * SECOND);
	CHECK(!still_process__thread(p, 12));
	/* Once it was looked at more closely, that thread is no reason any more, until it runs. */
	still_process__judged(p, 103 * SECOND, 3 * SECOND);
	still_process__thread(p, 10)->told = true;
	still_process__thread(p, 10)->place = 99;
	CHECK(!still_process__is_due(p, 103 * SECOND, 3 * SECOND));
	CHECK(!stillness__look(&s, ROOT, pids, 2, 105 * SECOND));
	CHECK(!still_process__is_due(&s.list[0], 105 * SECOND, 3 * SECOND));
	CHECK(!stillness__look(&s, ROOT, pids, 2, 106 * SECOND));
	/* The timer has stopped: it was not judged. */
	CHECK(still_process__is_due(&s.list[0], 106 * SECOND, 3 * SECOND));
	still_process__judged(&s.list[0], 106 * SECOND, 3 * SECOND);
	set_thread(10, 10, 5000 * MS, 10);
	CHECK(!stillness__look(&s, ROOT, pids, 2, 107 * SECOND));
	p = &s.list[0];
	CHECK(!still_process__thread(p, 10)->judged && !still_process__thread(p, 10)->told);
	/* Where it waited when it was told stays. */
	CHECK_INT(still_process__thread(p, 10)->place, 99);
	CHECK(!stillness__look(&s, ROOT, pids, 2, 110 * SECOND));
	CHECK(still_process__is_due(&s.list[0], 110 * SECOND, 3 * SECOND));
	/* Work: 50 ms of a second. */
	set_thread(10, 11, 200 * MS, 20);
	CHECK(!stillness__look(&s, ROOT, pids, 2, 111 * SECOND));
	CHECK(!still_process__is_due(&s.list[0], 113 * SECOND, 3 * SECOND));
	/* A new thread that has worked, and one that has ended. */
	set_thread(10, 12, 30 * MS, 1);
	end_thread(10, 11);
	CHECK(!stillness__look(&s, ROOT, pids, 2, 114 * SECOND));
	p = &s.list[0];
	CHECK_INT(p->count, 2);
	CHECK_INT(p->since, 114 * SECOND);
	/* A process that is not recorded any more. */
	CHECK(!stillness__look(&s, ROOT, pids + 1, 1, 115 * SECOND));
	CHECK_INT(s.count, 1);
	CHECK_INT(s.list[0].pid, 20);
	/* One that is gone has done nothing more. */
	end_thread(20, 20);
	CHECK(!stillness__look(&s, ROOT, pids + 1, 1, 116 * SECOND));
	CHECK(!still_process__is_due(&s.list[0], 200 * SECOND, 3 * SECOND));
	stillness__free(&s);
	end_thread(10, 10);
	end_thread(10, 12);
	CHECK(!rmdir(ROOT "/10/task") && !rmdir(ROOT "/10") && !rmdir(ROOT "/20/task") && !rmdir(ROOT "/20") && !rmdir(ROOT));
}

TEST(stuck_has_a_time)
{
	uint64_t length;

	CHECK(!daemon_stuck__parse("stuck>30s", &length));
	CHECK_INT(length, 30 * SECOND);
	CHECK(!daemon_stuck__parse("stuck>1", &length));
	CHECK(!daemon_stuck__parse("stuck>24h", &length));
	CHECK_INT(daemon_stuck__parse("stuck>25h", &length), -EINVAL);
	CHECK_INT(daemon_stuck__parse("stuck>999ms", &length), -EINVAL);
	CHECK_INT(daemon_stuck__parse("stuck>", &length), -EINVAL);
	CHECK_INT(daemon_stuck__parse("stuck", &length), -EINVAL);
	CHECK_INT(daemon_stuck__parse("gvl>30s", &length), -EINVAL);
	CHECK_INT(daemon_stuck__parse("stuck>30s,exit", &length), -EINVAL);
}

/* -- dumps ------------------------------------------------------------------------------------------ */

static int write_lines(void *context, FILE *to)
{
	for (size_t i = 0; i < *(size_t *)context; i++)
		fprintf(to, "0123456789abcde\n");
	return 0;
}

static int write_nothing(void *context, FILE *to)
{
	(void)context;
	fputs("begun", to);
	return -ENOMEM;
}

TEST(dumps_are_bounded)
{
	struct folder f = { -1, -1 };
	char name[DUMP_NAME_SIZE], first[DUMP_NAME_SIZE] = "", why[64];
	size_t lines = 2, many = DUMP_SIZE_MAX;
	unsigned int count = 0;
	struct stat st;
	char last[40];
	int fd;

	CHECK(!folder__open(&f, FOLDER, why, sizeof(why)));
	CHECK(!dumps__write(&f, 42, write_lines, &lines, name));
	CHECK(!fstatat(f.fd, name, &st, 0));
	CHECK_INT(st.st_size, 32);
	CHECK_INT(st.st_mode & 07777, 0600);
	CHECK(strstr(name, "Z-42.dump.txt"));
	memcpy(first, name, sizeof(first));
	/* What cannot be made leaves no file. */
	usleep(2000);
	CHECK_INT(dumps__write(&f, 42, write_nothing, NULL, name), -ENOMEM);
	CHECK(fstatat(f.fd, name, &st, 0));
	usleep(2000);
	CHECK(!dumps__write(&f, 43, write_lines, &many, name));
	CHECK(!fstatat(f.fd, name, &st, 0));
	CHECK(st.st_size > DUMP_SIZE_MAX && st.st_size < DUMP_SIZE_MAX + 64);
	fd = openat(f.fd, name, O_RDONLY);
	CHECK(pread(fd, last, 39, st.st_size - 39) == 39);
	last[39] = '\0';
	CHECK(strstr(last, "cut off"));
	close(fd);
	unlinkat(f.fd, name, 0);
	/* Names that sort before those of today, and a file of somebody else. */
	for (int i = 0; i < 105; i++) {
		snprintf(name, sizeof(name), "extprof-20200101-000000-%03dZ-7.dump.txt", i);
		close(openat(f.fd, name, O_CREAT | O_WRONLY, 0600));
	}
	close(openat(f.fd, "notes.dump.txt", O_CREAT | O_WRONLY, 0600));
	CHECK(!dumps__tidy(&f, 0));
	for (int i = 0; i < 105; i++) {
		snprintf(name, sizeof(name), "extprof-20200101-000000-%03dZ-7.dump.txt", i);
		count += !fstatat(f.fd, name, &st, 0);
		CHECK(!fstatat(f.fd, name, &st, 0) == (i >= 6));
	}
	CHECK_INT(count, DUMPS_MAX - 1);
	CHECK(!fstatat(f.fd, first, &st, 0));
	/* By age. */
	CHECK(!dumps__tidy(&f, time(NULL) + 10));
	CHECK(fstatat(f.fd, first, &st, 0));
	CHECK(!fstatat(f.fd, "notes.dump.txt", &st, 0));
	unlinkat(f.fd, "notes.dump.txt", 0);
	unlinkat(f.fd, FOLDER_LOCK, 0);
	folder__close(&f);
	CHECK(!rmdir(FOLDER));
}
