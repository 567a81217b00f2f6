/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes of a profile in the summary. */
#include "test.h"

#include <stdlib.h>

#include "output/process_table.h"

#define MS 1000000ull
#define SECOND (1000 * MS)

static struct report report;
/* The rows of the report. */
#define processes report.processes
static struct text out;
static struct accounting sum;

static struct process_row *add(int pid, const char *command)
{
	uint32_t number = processes__add(&processes);
	struct process_row *row = &processes.rows[number];

	row->pid = pid;
	snprintf(row->command, sizeof(row->command), "%s", command);
	strcpy(row->ruby_version, "3.4.5");
	row->started = 100 * SECOND;
	return row;
}

/* So many whole samples, of 10 ms each. */
static void set_samples(struct process_row *row, uint64_t samples, uint64_t cpu_ms)
{
	row->kernel.taken = row->kernel.whole = row->received.whole = row->cpu_taken = samples;
	row->cpu_time = cpu_ms * MS;
}

static void set_up(void)
{
	memset(&report, 0, sizeof(report));
	memset(&sum, 0, sizeof(sum));
	report.meta.period = report.meta.cpu_period = 10 * MS;
	report.meta.mode = &mode_cpu;
	report.metric = mode_cpu.count;
	report.meta.started_at = 100 * SECOND;
}

static void tear_down(void)
{
	processes__free(&processes);
	text__free(&out);
}

static const char *table(unsigned int rows)
{
	struct output_options o = { 0 };

	/* The sums of all, unless a test has others. */
	for (uint32_t i = 0; !report.meta.accounting.taken && i < processes.count; i++) {
		struct accounting a;

		process_row__account(&processes.rows[i], &a);
		accounting__add(&sum, &a);
	}
	if (!report.meta.accounting.taken)
		report.meta.accounting = sum;
	report.meta.all_modes = report.meta.accounting;
	text__clear(&out);
	process_table__add(&report, &o, rows, &out);
	return text__string(&out);
}

static const char *unfollowed(unsigned int rows)
{
	struct output_options o = { 0 };

	text__clear(&out);
	process_table__add_unfollowed(&report, &o, rows, &out);
	return text__string(&out);
}

#define HEAD "\nProcesses\n       pid   samples   sampled     CPU s  unsampled     whole  truncated    lost     " \
	"start       end  "

TEST(processes_are_shown_if_there_are_several)
{
	struct process_row *row;

	set_up();
	CHECK_STRING(table(20), "");
	processes__free(&processes);
	CHECK_STRING(table(20), "");
	CHECK_STRING(unfollowed(20), "");
	set_samples(add(7, "ruby one.rb"), 100, 1010);
	/* No ruby and no samples: not among them. */
	row = add(8, "sh -c x");
	row->ruby_version[0] = '\0';
	CHECK_STRING(table(20), "");
	CHECK_INT(processes__followed(&processes), 1);
	tear_down();
}

TEST(processes_have_their_sums)
{
	struct process_row *row;

	set_up();
	row = add(7, "ruby bin/puma -w 2");
	set_samples(row, 100, 1010);
	row->started = 99 * SECOND;
	row = add(123456, "puma: cluster worker 0: 7 [app]");
	set_samples(row, 250, 2750);
	row->started = 101 * SECOND + SECOND / 2;
	row->ended_at = 160 * SECOND;
	strcpy(row->ended, "SIGKILL");
	row->kernel.taken += 12;
	row->cpu_taken += 12;
	row->kernel.lost[LOSS_RING_FULL] = 5;
	row->kernel.whole += 3;				/* sent, but not received */
	row->kernel.truncated[TRUNC_DEPTH] = row->received.truncated[TRUNC_DEPTH] = 4;
	row = add(9, "ruby idle.rb");
	row->started = 0;
	CHECK_STRING(table(20), HEAD "ended    command\n"
		     "    123456       262      2.62      2.75       0.13       250          4       8       1.5      60.0"
		     "  SIGKILL  puma: cluster worker 0: 7 [app]\n"
		     "         7       100      1.00      1.01       0.01       100          0       0      -1.0         -"
		     "  runs     ruby bin/puma -w 2\n"
		     "         9         0      0.00      0.00       0.00         0          0       0         -         -"
		     "  runs     ruby idle.rb\n"
		     "       all       362      3.62      3.76       0.14       350          4       8\n"
		     "  lost of process 123456: ring-full: 5, unaccounted: 3\n");
	CHECK_INT(processes__followed(&processes), 3);
	loss_hit[LOSS_UNACCOUNTED] += 3;
	tear_down();
}

/* On a terminal the command is cut to its width, but never to less than 24 columns. */
TEST(processes_fit_the_terminal)
{
	static const char *const ends[] = { "  runs   /usr/bin/ru.. 0123456789\n",
					    "  runs   /usr/bin/ru.. 0123456789\n",
					    "  runs   /usr/bin/rub..s 0123456789\n" };
	static const unsigned int widths[] = { 80, 133, 135 };

	set_up();
	set_samples(add(7, "/usr/bin/ruby app.rb --with-many-parts 0123456789"), 1, 10);
	add(8, "ruby b.rb");
	for (int i = 0; i < 3; i++) {
		struct output_options o = { .width = widths[i] };
		const char *row;

		text__clear(&out);
		CHECK_INT(process_table__add(&report, &o, 20, &out), 0);
		row = strstr(out.data, "         7  ");
		CHECK(row && strstr(row, ends[i]));
		CHECK_INT(strcspn(row, "\n"), widths[i] < 133 ? 133 : widths[i]);
	}
	tear_down();
}

TEST(processes_beyond_the_rows_are_summed_up)
{
	set_up();
	for (int i = 0; i < 1000; i++)
		set_samples(add(1000 + i, "ruby child.rb"), i < 2 ? 10 + (unsigned int)i : 1, 12);
	CHECK_STRING(table(2), HEAD "ended  command\n"
		     "      1001        11      0.11      0.01          -        11          0       0       0.0         -"
		     "  runs   ruby child.rb\n"
		     "      1000        10      0.10      0.01          -        10          0       0       0.0         -"
		     "  runs   ruby child.rb\n"
		     "  998 more       998      9.98     11.98       2.00       998          0       0\n"
		     "       all      1019     10.19     12.00       1.81      1019          0       0\n");
	tear_down();
}

TEST(processes_are_bounded)
{
	set_up();
	for (uint32_t i = 0; i < PROCESSES_MAX; i++)
		CHECK_INT(processes__add(&processes), i);
	CHECK_INT(processes__add(&processes), PROCESS_NONE);
	CHECK(sizeof(struct process_row) * PROCESSES_MAX < 48 << 20);
	set_samples(&processes.rows[0], 10, 100);
	set_samples(&processes.rows[1], 20, 200);
	processes.rows[0].started = processes.rows[1].started = 100 * SECOND;
	report.meta.accounting.taken = report.meta.accounting.cpu_taken = 45;
	report.meta.accounting.whole = 43;
	report.meta.accounting.lost[LOSS_RING_FULL] = 2;
	CHECK_STRING(table(1), HEAD "ended  command\n"
		     "         0        20      0.20      0.20       0.00        20          0       0       0.0         -"
		     "  runs   \n"
		     "    1 more        10      0.10      0.10       0.00        10          0       0\n"
		     "    others        15      0.15\n"
		     "       all        45      0.45      0.30          -        43          0       2\n");
	tear_down();
}

TEST(processes_that_were_not_followed_are_named)
{
	struct process_row *row;

	set_up();
	set_samples(add(7, "ruby one.rb"), 100, 1000);
	CHECK_STRING(unfollowed(20), "");
	row = add(8, "sh -c make");
	row->ruby_version[0] = '\0';
	CHECK_STRING(unfollowed(20), "");		/* used no CPU time */
	row->cpu_time_unfollowed = 2500 * MS;
	CHECK_STRING(unfollowed(20), "\nCPU time that was not profiled\n"
		     "       pid     CPU s  why                     command\n"
		     "         8      2.50  no ruby to profile      sh -c make\n");
	/* Of a ruby, what was used before it was attached; its other time is not this. */
	processes.rows[0].cpu_time_unfollowed = 40 * MS;
	row = add(9, "cc1");
	row->ruby_version[0] = '\0';
	row->cpu_time = 1000 * MS;
	CHECK_STRING(unfollowed(2), "\nCPU time that was not profiled\n"
		     "       pid     CPU s  why                     command\n"
		     "         8      2.50  no ruby to profile      sh -c make\n"
		     "         9      1.00  no ruby to profile      cc1\n"
		     "    1 more      0.04  less than these each\n"
		     "       all      3.54\n");
	CHECK(strstr(unfollowed(20), "         7      0.04  ruby not yet attached   ruby one.rb\n"));
	processes.rows[0].replaced = true;
	CHECK(strstr(unfollowed(20), "         7      0.04  another program         ruby one.rb\n"));
	tear_down();
}

TEST(many_short_processes_that_were_not_profiled_are_summed_up)
{
	set_up();
	set_samples(add(7, "ruby one.rb"), 100, 1000);
	for (int pid = 10; pid < 310; pid++) {
		struct process_row *row = add(pid, "true");

		row->ruby_version[0] = '\0';
		row->cpu_time_unfollowed = 1 * MS;
		/* Less than can be shown says nothing. */
		if (pid == 13)
			CHECK_STRING(unfollowed(20), "");
	}
	CHECK_STRING(unfollowed(20), "\nCPU time that was not profiled\n"
		     "       pid     CPU s  why                     command\n"
		     "  300 more      0.30  less than 5 ms each\n"
		     "       all      0.30\n");
	processes.rows[1].cpu_time_unfollowed = 100 * MS;
	CHECK_STRING(unfollowed(20), "\nCPU time that was not profiled\n"
		     "       pid     CPU s  why                     command\n"
		     "        10      0.10  no ruby to profile      true\n"
		     "  299 more      0.30  less than 5 ms each\n"
		     "       all      0.40\n");
	tear_down();
}

TEST(summary_compares_cpu_times)
{
	static char written[4096];
	struct output_options o = { 0 };
	FILE *f = fmemopen(written, sizeof(written) - 1, "w");

	set_up();
	set_samples(add(7, "ruby one.rb"), 100, 1000);
	set_samples(add(8, "ruby two.rb"), 100, 1500);
	report.meta.pid = 7;
	strcpy(report.meta.command, "ruby one.rb");
	strcpy(report.meta.ruby_version, "3.4.5");
	strcpy(report.meta.source, "on-CPU at 100 Hz by the clock");
	strcpy(report.meta.ended, "duration");
	report.meta.duration = 4;
	report.meta.accounting.taken = report.meta.accounting.whole = 200;
	report.meta.accounting.cpu_taken = 200;
	report.meta.all_modes = report.meta.accounting;
	report.meta.cpu_time = 2500 * MS;
	report.threads_by_pattern = 60;
	CHECK_INT(output_summary.write(&report, 1, &o, f), 0);
	fclose(f);
	CHECK(strstr(written, "process 7 and 1 more  ruby one.rb\n"
		     "ruby 3.4.5, on-CPU at 100 Hz by the clock for 4.0 s (duration)\n"
		     "CPU used: 2.00 s by samples, 2.50 s by the kernel's account, 0.50 s unsampled, 50 % of one CPU\n"
		     HEAD) == written);
	CHECK(strstr(written, "\nunsampled: CPU time by the kernel's account"));
	CHECK(strstr(written, "\nthreads by pattern: 60 threads"));
	/* Samples stand for more by chance: that is not time below zero. */
	report.meta.cpu_time = 1970 * MS;
	processes.rows[0].cpu_time = 990 * MS;
	memset(written, 0, sizeof(written));
	f = fmemopen(written, sizeof(written) - 1, "w");
	CHECK_INT(output_summary.write(&report, 1, &o, f), 0);
	fclose(f);
	CHECK(strstr(written, "\nCPU used: 2.00 s by samples, 1.97 s by the kernel's account, 50 % of one CPU\n"));
	CHECK(strstr(written, "\n         7       100      1.00      0.99          -  ") && !strstr(written, "-0."));
	tear_down();
}

/* Several modes: the rows, and their sum, are of all of them.  Without samples of what runs there is no CPU time that
 * such samples lack. */
TEST(processes_of_several_modes)
{
	set_up();
	set_samples(add(7, "ruby one.rb"), 100, 1010);
	set_samples(add(8, "ruby two.rb"), 50, 510);
	report.meta.accounting.taken = report.meta.accounting.whole = 30;
	report.meta.cpu_period = 0;
	table(20);
	report.meta.all_modes.taken = report.meta.all_modes.whole = 150;
	text__clear(&out);
	process_table__add(&report, &(struct output_options){ 0 }, 20, &out);
	CHECK(strstr(text__string(&out), "\n       all       150         -      1.52          -       150  "));
	CHECK(strstr(text__string(&out), "\n         7       100         -      1.01          -       100  "));
	CHECK(!strstr(text__string(&out), "others"));
	tear_down();
}

#define FRAME(kind) .frame = FRAME_INIT(FRAME_##kind)

/* Groups are no methods: they have tables of their own. */
TEST(summary_shows_groups_apart)
{
	static struct report_label labels[] = {
		{ FRAME(RUBY), .name = (char *)"Foo#foo", .self = 9, .total = 10 },
		{ FRAME(THREAD), .name = (char *)"[thread main (7)]", .total = 4 },
		{ FRAME(THREAD), .name = (char *)"[thread job-*]", .self = 1, .total = 6 },
		{ FRAME(CGROUP), .name = (char *)"[cgroup /x]", .total = 10 },
		{ FRAME(PROCESS), .name = (char *)"[process 7 one.rb]", .total = 10 },
	};
	static char written[4096];
	struct output_options o = { 0 };

	for (int several = 0; several < 2; several++) {
		FILE *f = fmemopen(written, sizeof(written) - 1, "w");

		memset(written, 0, sizeof(written));
		set_up();
		add(7, "ruby one.rb");
		if (several)
			add(8, "ruby two.rb");
		report.labels = labels;
		report.label_count = sizeof(labels) / sizeof(labels[0]);
		report.samples = 10;
		CHECK_INT(output_summary.write(&report, 1, &o, f), 0);
		fclose(f);
		CHECK_INT(strstr(written, "\nBy process\n         samples  process\n"
				 "      10 100.0 %  [process 7 one.rb]\n") != NULL, !several);
		CHECK_INT(strstr(written, "[process 7") != NULL, !several);
		CHECK(strstr(written, "\nBy cgroup\n         samples  cgroup\n      10 100.0 %  [cgroup /x]\n"));
		CHECK(strstr(written, "\nBy thread\n         samples  thread\n       6  60.0 %  [thread job-*]\n"
			     "       4  40.0 %  [thread main (7)]\n\n"));
		CHECK(strstr(written, "      10 100.0 %  Foo#foo"));
		/* Once each. */
		CHECK(!strstr(strstr(written, "[thread main") + 1, "[thread main"));
		CHECK(!strstr(strstr(written, "[cgroup") + 1, "[cgroup"));
		tear_down();
	}
}
