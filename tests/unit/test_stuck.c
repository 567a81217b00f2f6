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
#include "daemon/stuck.h"

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
	CHECK(!still_process__thread(p, 10)->judged);
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

/* Removes what is left of a process. */
static void end_process(int pid)
{
	char path[128];

	snprintf(path, sizeof(path), ROOT "/%d/task", pid);
	rmdir(path);
	snprintf(path, sizeof(path), ROOT "/%d", pid);
	rmdir(path);
}

/* Ruby's timer while threads wait for the GVL: 100 times a second, of 16 us. */
TEST(stillness_knows_the_timer)
{
	const pid_t pids[] = { 30 };
	struct stillness s = { .count = 0 };

	/* 6.4 ms in 4 s: more than 1 ms a second, and 1 ms that a look may err. */
	for (uint64_t i = 0; i <= 9; i++) {
		set_thread(30, 30, 5000 * MS, 9);
		set_thread(30, 31, 100 * MS + i * 6400000, 7 + 400 * i);
		CHECK(!stillness__look(&s, ROOT, pids, 1, (100 + 4 * i) * SECOND));
	}
	CHECK_INT(s.list[0].since, 100 * SECOND);
	CHECK(still_process__is_due(&s.list[0], 136 * SECOND, 36 * SECOND));
	/* A second thread that does the same serves somebody. */
	set_thread(30, 32, MS, 1);
	CHECK(!stillness__look(&s, ROOT, pids, 1, 140 * SECOND));
	CHECK_INT(s.list[0].since, 100 * SECOND);
	set_thread(30, 31, 164 * MS, 4007);
	set_thread(30, 32, 7400000, 401);
	CHECK(!stillness__look(&s, ROOT, pids, 1, 144 * SECOND));
	CHECK_INT(s.list[0].since, 144 * SECOND);
	/* So does one that runs more often, or longer. */
	set_thread(30, 31, 170400000, 4007 + 800);
	CHECK(!stillness__look(&s, ROOT, pids, 1, 148 * SECOND));
	CHECK_INT(s.list[0].since, 148 * SECOND);
	set_thread(30, 31, 176800000, 4807 + 20);
	CHECK(!stillness__look(&s, ROOT, pids, 1, 152 * SECOND));
	CHECK_INT(s.list[0].since, 152 * SECOND);
	stillness__free(&s);
	end_thread(30, 30);
	end_thread(30, 31);
	end_thread(30, 32);
	end_process(30);
	CHECK(!rmdir(ROOT));
}

/* Zeros of all threads are no stillness: the kernel does not count. */
TEST(stillness_needs_a_kernel_that_counts)
{
	const pid_t pids[] = { 40 };
	struct stillness s = { .count = 0 };
	FILE *f;

	set_thread(40, 40, 0, 0);
	set_thread(40, 41, 0, 0);
	for (uint64_t i = 0; i < 4; i++)
		CHECK(!stillness__look(&s, ROOT, pids, 1, (100 + i) * SECOND));
	CHECK(!still_process__is_due(&s.list[0], 103 * SECOND, 3 * SECOND));
	/* One that has not run yet is beside others that have. */
	set_thread(40, 40, MS, 1);
	for (uint64_t i = 4; i < 9; i++)
		CHECK(!stillness__look(&s, ROOT, pids, 1, (100 + i) * SECOND));
	CHECK(still_process__is_due(&s.list[0], 108 * SECOND, 3 * SECOND));
	stillness__free(&s);
	CHECK(!stillness__is_counted(ROOT));
	mkdir(ROOT "/self", 0700);
	f = fopen(ROOT "/self/schedstat", "w");
	CHECK(f && fputs("0 0 0\n", f) >= 0 && !fclose(f));
	CHECK(!stillness__is_counted(ROOT));
	f = fopen(ROOT "/self/schedstat", "w");
	CHECK(f && fputs("45546 0 1\n", f) >= 0 && !fclose(f));
	CHECK(stillness__is_counted(ROOT));
	CHECK(!stillness__is_counted(ROOT "/none"));
	unlink(ROOT "/self/schedstat");
	rmdir(ROOT "/self");
	end_thread(40, 40);
	end_thread(40, 41);
	end_process(40);
	CHECK(!rmdir(ROOT));
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

/* -- the judgement ---------------------------------------------------------------------------------- */

#define LENGTH (30 * SECOND)
#define THREADS 3

/* A process of three threads, of which none has run since it was seen first, and a dump of it. */
static struct extprof_frame hangs = { .name = "hangs", .path = "a.rb", .line = 3 };
static const struct extprof_frame *const hang_frames[] = { &hangs };
static const struct extprof_stack hang_stack = { .frames = hang_frames, .count = 1 };
static const struct extprof_label request = { .key = "request", .value = "GET /" };
static const struct extprof_label *const labels[] = { &request };
static struct extprof_dump_fiber fibers[THREADS];
static const struct extprof_dump_fiber *fiber_list[THREADS];
static struct extprof_dump_thread threads[THREADS];
static const struct extprof_dump_thread *thread_list[THREADS];
static struct extprof_dump_result dump;
static struct still_thread tasks[THREADS];
static struct still_process process;

/* Seen first at `since`; all are at rest. */
static void set_up(uint64_t since)
{
	stuck_history__free(process.history);
	for (uint32_t i = 0; i < THREADS; i++) {
		fibers[i] = (struct extprof_dump_fiber){ .serial = 10 + i, .stack = &hang_stack };
		fiber_list[i] = &fibers[i];
		threads[i] = (struct extprof_dump_thread){
			.serial = 1 + i, .tid = 100 + i, .name = "", .state = EXTPROF_THREAD_SLEEPING, .since = UINT64_MAX,
			.fibers = &fiber_list[i], .fiber_count = 1, .idle = true,
		};
		thread_list[i] = &threads[i];
		tasks[i] = (struct still_thread){ .tid = 100 + i, .since = since, .ran = MS, .slices = 1 };
	}
	dump = (struct extprof_dump_result){ .pid = 7, .command = "ruby a.rb", .threads = thread_list, .thread_count = THREADS };
	process = (struct still_process){ .pid = 7, .looked = since, .since = since, .threads = tasks, .count = THREADS, .room = THREADS };
}

static void tear_down(void)
{
	stuck_history__free(process.history);
	process.history = NULL;
}

/* From now on it works for a request. */
static void give_work(uint32_t i, bool label)
{
	threads[i].idle = false;
	fibers[i].labels = label ? labels : NULL;
	fibers[i].label_count = label;
}

static void run_task(uint32_t i, uint64_t now)
{
	tasks[i] = (struct still_thread){ .tid = tasks[i].tid, .since = now, .ran = tasks[i].ran + MS / 10, .slices = tasks[i].slices + 1 };
}

/* What was told last. */
struct told {
	int err;		/* of the next one */
	unsigned int times, count;
	bool wants_dump;
};

static int tell(void *context, const struct stuck_finding *f)
{
	struct told *t = context;

	t->times++;
	t->count = f->count;
	t->wants_dump = f->wants_dump;
	return t->err;
}

/* As the thread that looks does it; -1: it is not due. */
static int judge_at(uint64_t now, struct told *t)
{
	return still_process__is_due(&process, now, LENGTH) ? (int)stuck__judge(&process, &dump, now, LENGTH, tell, t) : -1;
}

TEST(stuck_is_judged_again_when_others_have_ended)
{
	struct told t = { 0 };

	set_up(100 * SECOND);
	give_work(0, true);
	give_work(2, true);
	run_task(2, 110 * SECOND);
	/* One request hangs for 30 s, and another one waits for 20 s: it is looked at again when that is as old. */
	CHECK_INT(judge_at(130 * SECOND, &t), STUCK_LATER);
	CHECK_INT(judge_at(135 * SECOND, &t), -1);
	CHECK_INT(process.again, 140 * SECOND);
	/* The other one goes on, and its thread ends: nobody runs any more. */
	dump.thread_count = process.count = 2;
	CHECK_INT(judge_at(140 * SECOND, &t), STUCK_TOLD);
	CHECK_INT(t.times, 1);
	CHECK_INT(t.count, 1);
	CHECK(t.wants_dump);
	/* Once. */
	CHECK_INT(judge_at(300 * SECOND, &t), -1);
	/* Another thread stands still: it is named with the first one. */
	give_work(1, true);
	run_task(1, 400 * SECOND);
	CHECK_INT(judge_at(429 * SECOND, &t), -1);
	CHECK_INT(judge_at(430 * SECOND, &t), STUCK_TOLD);
	CHECK_INT(t.count, 2);
	tear_down();
}

TEST(stuck_is_tried_again_without_a_dump)
{
	struct told t = { 0 };

	set_up(100 * SECOND);
	give_work(1, false);
	threads[1].deadlocked = true;
	CHECK_INT(stuck__judge(&process, NULL, 130 * SECOND, LENGTH, tell, &t), STUCK_FAILED);
	CHECK_INT(judge_at(159 * SECOND, &t), -1);
	CHECK(still_process__is_due(&process, 160 * SECOND, LENGTH));
	/* That is said once. */
	CHECK_INT(stuck__judge(&process, NULL, 160 * SECOND, LENGTH, tell, &t), STUCK_FAILED_AGAIN);
	CHECK_INT(judge_at(190 * SECOND, &t), STUCK_TOLD);
	CHECK_INT(t.times, 1);
	CHECK_INT(judge_at(300 * SECOND, &t), -1);
	tear_down();
}

TEST(stuck_is_told_when_it_can_be_written)
{
	struct told t = { .err = -ENOSPC };

	set_up(100 * SECOND);
	give_work(0, false);
	CHECK_INT(judge_at(130 * SECOND, &t), STUCK_FAILED);
	CHECK_INT(judge_at(131 * SECOND, &t), -1);
	CHECK_INT(judge_at(160 * SECOND, &t), STUCK_FAILED_AGAIN);
	t.err = 0;
	CHECK_INT(judge_at(190 * SECOND, &t), STUCK_TOLD);
	CHECK_INT(t.times, 3);
	CHECK(t.wants_dump);
	CHECK_INT(judge_at(220 * SECOND, &t), -1);
	/* The next failure is another one. */
	t.err = -ENOSPC;
	give_work(1, false);
	hangs.line = 4;
	run_task(1, 300 * SECOND);
	CHECK_INT(judge_at(330 * SECOND, &t), STUCK_FAILED);
	hangs.line = 3;
	tear_down();
}

/* A request hangs and was told, and another worker goes on and on: nobody is looked at before that one stands still, too. */
TEST(stuck_has_no_looks_for_nothing)
{
	struct told t = { 0 };

	set_up(100 * SECOND);
	give_work(0, true);
	CHECK_INT(judge_at(130 * SECOND, &t), STUCK_TOLD);
	give_work(2, true);
	run_task(1, 141 * SECOND);
	run_task(2, 165 * SECOND);
	CHECK_INT(judge_at(171 * SECOND, &t), STUCK_RESTS);
	CHECK_INT(judge_at(194 * SECOND, &t), -1);
	CHECK_INT(judge_at(195 * SECOND, &t), STUCK_TOLD);
	CHECK_INT(t.times, 2);
	CHECK_INT(t.count, 2);
	tear_down();
}

static int tell_names(void *context, const struct stuck_finding *f)
{
	char *text = context;

	for (unsigned int i = 0; i < STUCK_NAMED_MAX && f->threads[i]; i++)
		strcat(text, f->threads[i]->name);
	return 0;
}

/* One has the GVL, and two wait for it. */
TEST(stuck_names_who_has_the_gvl)
{
	char text[16] = "";

	set_up(100 * SECOND);
	for (uint32_t i = 0; i < THREADS; i++) {
		give_work(i, false);
		threads[i].name = i == 2 ? "C" : i ? "B" : "A";
		threads[i].state = i == 2 ? EXTPROF_THREAD_RUNNING : EXTPROF_THREAD_READY;
	}
	CHECK_INT(stuck__judge(&process, &dump, 130 * SECOND, LENGTH, tell_names, text), STUCK_TOLD);
	CHECK_STRING(text, "CB");
	tear_down();
}

/* No thread has work: one that runs decides when there is another look. */
TEST(stuck_is_nobody_at_rest)
{
	struct told t = { 0 };

	set_up(100 * SECOND);
	threads[1].idle = false;
	threads[1].state = EXTPROF_THREAD_CREATED;
	CHECK_INT(judge_at(130 * SECOND, &t), STUCK_RESTS);
	CHECK_INT(judge_at(500 * SECOND, &t), -1);
	run_task(0, 500 * SECOND);
	CHECK_INT(judge_at(530 * SECOND, &t), STUCK_RESTS);
	CHECK_INT(t.times, 0);
	tear_down();
}

/* Threads that share native threads have no tid while they wait: they are told by their serials. */
TEST(stuck_once_without_a_native_thread)
{
	struct told t = { 0 };

	set_up(100 * SECOND);
	for (int i = 0; i < 2; i++) {
		give_work((uint32_t)i, true);
		threads[i].tid = 0;
		threads[i].shared = true;
		threads[i].since = 30 * SECOND;
	}
	CHECK_INT(judge_at(130 * SECOND, &t), STUCK_TOLD);
	CHECK_INT(t.count, 2);
	/* A native thread has run, for nobody of them. */
	run_task(1, 140 * SECOND);
	threads[0].since = threads[1].since = 70 * SECOND;
	CHECK_INT(judge_at(170 * SECOND, &t), STUCK_RESTS);
	/* One of them has begun another wait. */
	run_task(1, 180 * SECOND);
	threads[0].since = 110 * SECOND;
	threads[1].since = 30 * SECOND;
	CHECK_INT(judge_at(210 * SECOND, &t), STUCK_TOLD);
	CHECK_INT(t.times, 2);
	/* How long one has waited is not known: it is not still. */
	run_task(1, 220 * SECOND);
	threads[0].since = 150 * SECOND;
	threads[1].since = UINT64_MAX;
	CHECK_INT(judge_at(250 * SECOND, &t), STUCK_LATER);
	CHECK_INT(process.again, 280 * SECOND);
	tear_down();
}

/* It is a part of a short time: a wait of 1.7 s is none of 2 s. */
TEST(stuck_for_a_short_time)
{
	struct told t = { 0 };

	set_up(100 * SECOND);
	give_work(0, true);
	threads[0].since = 1700 * MS;
	CHECK_INT(stuck__judge(&process, &dump, 110 * SECOND, 2 * SECOND, tell, &t), STUCK_LATER);
	CHECK_INT(process.again, 110 * SECOND + 50 * MS);
	threads[0].since = 1760 * MS;
	CHECK_INT(stuck__judge(&process, &dump, 111 * SECOND, 2 * SECOND, tell, &t), STUCK_TOLD);
	/* Of a long one it is a second. */
	set_up(100 * SECOND);
	give_work(0, true);
	threads[0].since = 28900 * MS;
	CHECK_INT(judge_at(130 * SECOND, &t), STUCK_LATER);
	CHECK_INT(process.again, 130100 * MS);
	tear_down();
}

/* A worker that has a label all its life waits in one place again and again: it is told, and its dumps do not push out others. */
TEST(stuck_in_one_place_has_few_dumps)
{
	struct told t = { 0 };
	uint64_t now = 100 * SECOND;

	set_up(now);
	/* Two in one place are in one dump. */
	give_work(0, true);
	give_work(1, true);
	for (unsigned int i = 0; i < 5; i++) {
		now += LENGTH;
		CHECK_INT(judge_at(now, &t), STUCK_TOLD);
		CHECK_INT(t.times, i + 1);
		CHECK_INT(t.wants_dump, i < STUCK_DUMPS_MAX);
		run_task(0, now);
		run_task(1, now);
	}
	/* Another place. */
	hangs.line = 5;
	now += LENGTH;
	CHECK_INT(judge_at(now, &t), STUCK_TOLD);
	CHECK(t.wants_dump);
	hangs.line = 3;
	tear_down();
}

/* A thread without a label that was told, went on and waits there again hides nobody. */
TEST(stuck_listener_is_told_once)
{
	struct told t = { 0 };

	set_up(100 * SECOND);
	give_work(0, false);
	CHECK_INT(judge_at(130 * SECOND, &t), STUCK_TOLD);
	run_task(0, 140 * SECOND);
	CHECK_INT(judge_at(170 * SECOND, &t), STUCK_RESTS);
	run_task(0, 180 * SECOND);
	give_work(1, false);
	run_task(1, 180 * SECOND);
	CHECK_INT(judge_at(210 * SECOND, &t), STUCK_TOLD);
	CHECK_INT(t.count, 1);
	tear_down();
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
