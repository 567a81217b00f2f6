/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * face PID NO_RUBY IDLE: the public face of libextprof, from an installed library alone.
 *
 * PID is a busy ruby, NO_RUBY a process without one, IDLE a ruby that waits.  Prints "ok" or "FAIL" for each claim, and
 * "N passed, N failed".
 */
#include <dirent.h>
#include <errno.h>
#include <extprof.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "wire/sample.h"

static int passed, failed;

static void claim(bool holds, const char *what)
{
	printf("%s %s\n", holds ? "ok  " : "FAIL", what);
	passed += holds;
	failed += !holds;
}

/* -- errors ---------------------------------------------------------------------------------- */

static struct extprof_error error = { .size = sizeof(error) };

static int create(const struct extprof_recording_options *o, struct extprof_recording **r)
{
	memset((char *)&error + sizeof(error.size), 0, sizeof(error) - sizeof(error.size));
	*r = (void *)1;
	return extprof_recording_create(r, o, &error);
}

static bool is_refused(const struct extprof_recording_options *o, int err, int code, const char *text)
{
	struct extprof_recording *r;
	int got = create(o, &r);

	if (got == err && !r && error.code == code && strstr(error.text, text))
		return true;
	printf("     got %d, code %d: %s\n", got, error.code, error.text);
	if (!got)
		extprof_recording_destroy(r);
	return false;
}

static int make_targets(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_HASH, .key_size = sizeof(struct target_key),
		.value_size = sizeof(struct target_config), .max_entries = 1,
	};

	return (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
}

/* A sample without a frame: a thread of the process that runs no Ruby code. */
static bool is_resolved(struct extprof_target *t, uint32_t process)
{
	struct sample_event e = { .kind = SAMPLE_NATIVE, .process = process, .vm = process, .comm = "timer" };
	const struct extprof_stack *stack;

	return !extprof_target_resolve(t, &e, sizeof(e), &stack, &error) && stack->count == 1 &&
	       !strcmp(stack->frames[0]->name, "[native thread timer]");
}

static void test_errors(pid_t pid, pid_t no_ruby)
{
	struct extprof_recording_options o = { .size = sizeof(o) };
	struct {
		struct extprof_recording_options o;
		char unknown[8];
	} longer = { .o = { .size = sizeof(longer), .pids = &pid, .pid_count = 1 } };
	struct extprof_error shorter = { .size = sizeof(size_t) + sizeof(int), .code = 77, .text = "left alone" };
	struct extprof_recording *r;
	struct extprof_target *t;
	int map = make_targets();
	pid_t none = 0x3fffff;

	claim(is_refused(&o, -EINVAL, EXTPROF_USAGE, "no processes"), "no process is chosen");
	o.pids = &pid;
	o.pid_count = 1;
	o.size = 0;
	claim(is_refused(&o, -EINVAL, EXTPROF_USAGE, "size"), "options without a size");
	o.size = sizeof(o);
	o.timer = "sundial";
	claim(is_refused(&o, -EINVAL, EXTPROF_USAGE, "sundial"), "a timer that is none");
	o.timer = NULL;
	o.groups = "process,family";
	claim(is_refused(&o, -EINVAL, EXTPROF_USAGE, "family"), "a group that is none");
	o.groups = NULL;
	o.formats = "folded,papyrus";
	claim(is_refused(&o, -EINVAL, EXTPROF_USAGE, "papyrus"), "a format that is none");
	o.formats = NULL;
	longer.unknown[7] = 1;
	claim(is_refused(&longer.o, -E2BIG, EXTPROF_USAGE, "does not have"), "an option of a later version");
	longer.unknown[7] = 0;
	claim(!create(&longer.o, &r) && r, "options of a later version, all zero");
	claim(extprof_recording_begin(r, &error) == -EINVAL && error.code == EXTPROF_USAGE, "begun before it is open");
	claim(extprof_recording_step(r, &error) == -EINVAL, "a step before it has begun");
	claim(extprof_recording_fd(r) == -1, "no descriptor before it is open");
	claim(extprof_recording_write(r, "folded", NULL, stdout, &error) == -EINVAL, "written before it is finished");
	extprof_recording_destroy(r);
	o.pids = &none;
	claim(is_refused(&o, -ESRCH, EXTPROF_NO_PROCESS, "4194303"), "no such process");
	o.pids = &no_ruby;
	claim(is_refused(&o, -ENOENT, EXTPROF_NOT_RUBY, "ruby"), "no ruby");
	claim(extprof_recording_create(&r, &o, NULL) == -ENOENT, "without an extprof_error");
	claim(extprof_recording_create(&r, &o, &shorter) == -ENOENT && shorter.code == EXTPROF_NOT_RUBY &&
	      !strcmp(shorter.text, "left alone"), "no more than the caller's extprof_error has is filled");
	claim(extprof_target_open(&t, no_ruby, &error) == -ENOENT && !t, "a target that is no ruby");
	claim(extprof_target_open(&t, none, &error) == -ESRCH && !t, "a target that does not exist");
	claim(!extprof_target_open(&t, pid, &error), "a target");
	if (t) {
		const struct extprof_stack *stack = (void *)1;

		claim(extprof_target_add(t, -1, 1, &error) < 0 && error.text[0], "a map that is none");
		claim(extprof_target_add(t, -1, 0, &error) == -EINVAL, "a target without a number");
		claim(!is_resolved(t, 1), "a sample before the target is added");
		claim(!extprof_target_add(t, map, 3, &error), "a target is added");
		claim(is_resolved(t, 3), "a sample of it");
		claim(!is_resolved(t, 1) && error.code == EXTPROF_USAGE, "a sample of another process");
		claim(extprof_target_resolve(t, "12345678", 8, &stack, &error) == -EINVAL && !stack,
		      "a sample that is none");
	}
	extprof_target_close(t);
	close(map);
	extprof_recording_destroy(NULL);
	extprof_report_destroy(NULL);
	extprof_target_close(NULL);
	claim(!strncmp(extprof_version(), "0.", 2), "version");
}

/* -- what there is, and the check of options ----------------------------------------------------- */

static bool is_wrong(const struct extprof_recording_options *o, const char *text)
{
	memset((char *)&error + sizeof(error.size), 0, sizeof(error) - sizeof(error.size));
	return extprof_recording_check(o, &error) == -EINVAL && error.code == EXTPROF_USAGE && strstr(error.text, text);
}

static void test_words(void)
{
	static const char *const events[] = { "page-faults", "libc.so.6:malloc", "nonsense" };
	struct extprof_recording_options o = { .size = sizeof(o), .modes = "wall,syscall,event", .events = events, .event_count = 2 };
	struct extprof_mode_info mode = { .size = sizeof(mode) };
	struct extprof_format_info format = { .size = sizeof(format) };
	struct { size_t size; const char *name; char behind; } small = { .size = sizeof(size_t) + sizeof(char *), .behind = 7 };
	size_t counts[EXTPROF_READERS + 2] = { 0 };
	char text[16];
	bool known = true;

	for (int kind = 0; kind <= EXTPROF_READERS + 1; kind++)
		while (extprof_word((enum extprof_words)kind, counts[kind]))
			counts[kind]++;
	claim(counts[EXTPROF_MODES] >= 8 && counts[EXTPROF_TIMERS] == 2 && counts[EXTPROF_SYSCALLS] > 290 && counts[EXTPROF_READERS] == 4, "words");
	claim(!counts[EXTPROF_READERS + 1] && !extprof_word(EXTPROF_MODES, SIZE_MAX), "words that are none");
	for (size_t i = 0; i < counts[EXTPROF_MODES]; i++)
		known = known && !extprof_mode_info(extprof_word(EXTPROF_MODES, i), &mode) && mode.help[0] &&
			!strcmp(mode.name, extprof_word(EXTPROF_MODES, i));
	for (size_t i = 0; i < counts[EXTPROF_FORMATS]; i++)
		known = known && !extprof_format_info(extprof_word(EXTPROF_FORMATS, i), &format) &&
			!strcmp(format.name, extprof_word(EXTPROF_FORMATS, i)) && format.suffix_count <= 3;
	claim(known, "each mode and format is known by its name");
	claim(!extprof_mode_info("wall", &mode) && mode.has_states && !strcmp(mode.below, "state") &&
	      !extprof_mode_info("cpu", &mode) && !mode.has_states && !extprof_mode_info("syscall", &mode) &&
	      !strcmp(mode.below, "system call"),
	      "modes with states");
	claim(extprof_mode_info("papyrus", &mode) == -ENOENT && extprof_format_info("papyrus", &format) == -ENOENT, "none of them");
	claim(!extprof_mode_info("cpu", (void *)&small) && !strcmp(small.name, "cpu") && small.behind == 7, "a shorter structure");
	claim(!strcmp(extprof_format_of_file("x.svg"), "flamegraph") && !strcmp(extprof_format_of_file("-"), "folded") &&
	      !extprof_format_of_file("x"), "suffixes");
	extprof_clean(text, sizeof(text), "a\033b");
	claim(!strcmp(text, "a\\x1Bb"), "a clean text");

	claim(!extprof_recording_check(&o, &error), "options without a process");
	claim(!extprof_recording_check_unit(&o, "count", &error), "a unit that all modes have");
	claim(extprof_recording_check_unit(&o, "us", &error) == -EINVAL && strstr(error.text, "mode syscall"), "a unit that one has not");
	o.syscall_latency = true;
	o.modes = "wall,syscall";
	o.event_count = 0;
	claim(!extprof_recording_check_unit(&o, "us", &error), "system calls have a time with syscall_latency");
	o.syscalls = "openat,opnat";
	claim(is_wrong(&o, "\"opnat\""), "a system call that is none");
	o.syscalls = NULL;
	o.states = "gvl,bored";
	claim(is_wrong(&o, "bored"), "a state that is none");
	o.states = "gvl";
	o.waits = "some";
	claim(is_wrong(&o, "some"), "a choice of waits that is none");
	o.waits = "each";
	o.files = o.holders = o.wakers = true;
	claim(!extprof_recording_check(&o, &error), "more of waits");
	o.syscall_latency = false;
	o.modes = "wall,event";
	claim(is_wrong(&o, "event"), "mode event without an event");
	o.event_count = 3;
	claim(is_wrong(&o, "\"nonsense\""), "an event that is none");
	o.event_count = EXTPROF_EVENTS_MAX + 1;
	claim(is_wrong(&o, "at most"), "too many events");
	o.event_count = 0;
	o.modes = "cpu,papyrus";
	claim(is_wrong(&o, "papyrus"), "a mode that is none");
	o.modes = NULL;
	o.reserved[sizeof(o.reserved) - 1] = 1;
	claim(is_wrong(&o, "reserved"), "what is reserved is not zero");
	o.reserved[sizeof(o.reserved) - 1] = 0;
	o.reserved3[sizeof(o.reserved3) - 1] = 1;
	claim(is_wrong(&o, "reserved"), "what is reserved at the end is not zero");
	o.reserved3[sizeof(o.reserved3) - 1] = 0;
	o.rate = EXTPROF_RATE_MAX + 1;
	claim(is_wrong(&o, "rate"), "a rate that is too high");
}

/* -- a recording, driven by the caller ---------------------------------------------------------- */

static char log_text[4096];

static void on_log(void *context, const char *line)
{
	claim(context == log_text && !strchr(line, '\n'), "a line for the log");
	strncat(log_text, line, sizeof(log_text) - strlen(log_text) - 2);
	strcat(log_text, "\n");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t lines_sum(FILE *f)
{
	char line[65536];
	uint64_t sum = 0;

	rewind(f);
	while (fgets(line, sizeof(line), f))
		sum += strtoull(strrchr(line, ' ') + 1, NULL, 10);
	return sum;
}

static void check_report(struct extprof_recording *r, uint64_t *taken)
{
	struct extprof_report *report = NULL;
	const struct extprof_accounting *a;
	const struct extprof_reason *reason;
	const struct extprof_stack *s;
	uint64_t first = 0, second = 0, lost = 0, truncated = 0;
	size_t stacks = 0, again = 0;
	bool known = true;
	FILE *f = tmpfile();

	claim(!extprof_recording_report(r, &report, &error), "a report");
	if (!report)
		exit(1);
	a = extprof_report_accounting(report);
	claim(a->taken == a->whole + a->truncated + a->lost && a->taken > 0, "the sums agree");
	for (size_t i = 0; (reason = extprof_report_lost(report, i)); i++)
		lost += reason->key[0] && reason->text[0] ? reason->count : UINT32_MAX;
	for (size_t i = 0; (reason = extprof_report_truncated(report, i)); i++)
		truncated += reason->count;
	claim(lost == a->lost && truncated == a->truncated, "reasons add up");
	for (; (s = extprof_report_next(report)); stacks++) {
		first += s->value;
		known = known && s->count && s->groups == 1 && s->frames[0]->kind == EXTPROF_FRAME_THREAD;
	}
	claim(known, "each stack begins with the thread, as was asked for");
	extprof_report_rewind(report);
	for (; (s = extprof_report_next(report)); again++)
		second += s->value;
	claim(first == a->whole + a->truncated, "stacks have all samples that are not lost");
	claim(stacks == again && first == second, "the same once more");
	claim(!extprof_recording_write(r, "folded", NULL, f, &error) && lines_sum(f) == first,
	      "the folded file has the same sum");
	claim(extprof_recording_write(r, "papyrus", NULL, f, &error) == -EINVAL, "a format that is none");
	*taken = a->taken;
	extprof_report_destroy(report);
	fclose(f);
}

/* What a writer gets. */
struct pieces {
	size_t size;
	bool refuse;
};

static int take_piece(void *context, const void *data, size_t size)
{
	struct pieces *p = context;

	if (p->refuse)
		return -ENOSPC;
	p->size += data ? size : 0;
	return 0;
}

static void check_formats(struct extprof_recording *r)
{
	size_t count = 0;

	for (const char *name; (name = extprof_word(EXTPROF_FORMATS, count)); count++) {
		struct extprof_format_info info = { .size = sizeof(info) };
		char *data = NULL, what[64];
		size_t size = 0;
		FILE *f = open_memstream(&data, &size);
		struct pieces pieces = { 0 };
		int err = extprof_recording_write(r, name, NULL, f, &error);

		fclose(f);
		snprintf(what, sizeof(what), "format %s", name);
		if (!extprof_format_info(name, &info) && info.of_files) {
			claim(err == -EINVAL && error.code == EXTPROF_USAGE && !size, what);
			free(data);
			continue;
		}
		claim(!err && size > 0, what);
		claim(!extprof_recording_write_to(r, name, NULL, take_piece, &pieces, &error) && pieces.size > size / 2, what);
		pieces.refuse = true;
		claim(extprof_recording_write_to(r, name, NULL, take_piece, &pieces, &error) == -ENOSPC &&
		      error.code == EXTPROF_OUTPUT, what);
		free(data);
	}
	claim(count >= 3, "there are formats");
}

static void test_recording(pid_t pid)
{
	struct extprof_recording_options o = {
		.size = sizeof(o), .pids = &pid, .pid_count = 1, .rate = 999, .duration = 600000000,
		.groups = "thread", .log = on_log, .log_context = log_text,
	};
	struct extprof_progress p = { .size = sizeof(p) };
	struct extprof_recording *r;
	uint64_t so_far = 0, all = 0;
	bool readable = true;
	double begin;
	int err;

	claim(!create(&o, &r) && !extprof_recording_open(r, &error), "open");
	claim(!extprof_recording_progress(r, &p) && p.waiting && !p.samples, "progress before it has begun");
	/* Its duration begins while it begins. */
	begin = now();
	claim(!extprof_recording_begin(r, &error), "begun");
	do {
		struct pollfd fd = { .fd = extprof_recording_fd(r), .events = POLLIN };

		readable = readable && fd.fd >= 0;
		poll(&fd, 1, (int)(extprof_recording_wait(r) / 1000000) + 1);
		err = extprof_recording_step(r, &error);
		if (!so_far && now() - begin > 0.3) {
			claim(!extprof_recording_snapshot(r, &error), "a snapshot");
			check_report(r, &so_far);
		}
	} while (!err && now() - begin < 30);
	claim(err == 1 && now() - begin >= 0.6 && readable, "it ends by itself, when its duration is over");
	claim(!extprof_recording_progress(r, &p) && !p.waiting && p.samples && p.processes == 1, "progress");
	claim(!extprof_recording_finish(r, &error), "finished");
	claim(extprof_recording_finish(r, &error) == -EINVAL, "it is finished once");
	claim(extprof_recording_verdict(r, &error) == 0, "a profile with samples");
	check_report(r, &all);
	claim(all > so_far, "samples have come after the snapshot");
	check_formats(r);
	claim(strstr(log_text, "processes that are sampled: 1"), "the log tells that a process is sampled");
	extprof_recording_destroy(r);
}

/* A profile of what does not run is empty, and it is right so. */
static void test_idle(pid_t pid)
{
	struct extprof_recording_options o = { .size = sizeof(o), .pids = &pid, .pid_count = 1, .duration = 300000000 };
	struct extprof_recording *r;

	claim(!create(&o, &r) && !extprof_recording_open(r, &error) && !extprof_recording_begin(r, &error) &&
	      !extprof_recording_run(r, &error) && !extprof_recording_finish(r, &error), "a recording of a ruby that waits");
	claim(extprof_recording_verdict(r, &error) == 1 && strstr(error.text, "used no CPU time"), "why it is empty");
	extprof_recording_destroy(r);
}

/* -- windows ------------------------------------------------------------------------------------ */

static uint64_t cpu_of(pid_t pid)
{
	struct timespec t = { 0 };
	clockid_t clock;

	if (!clock_getcpuclockid(pid, &clock))
		clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Steps for so many seconds. */
static void step_for(struct extprof_recording *r, double seconds)
{
	double until = now() + seconds;

	while (now() < until && !extprof_recording_step(r, &error))
		usleep(10000);
}

/*
 * One process, whose samples stand for its CPU time, and threads, whose states make up their lives.  `gap`: ns before the
 * window in which sampling was stopped.  The process has one thread that computes: so much of its CPU time is in no state.
 */
static bool check_tables(struct extprof_report *report, pid_t pid, bool first, uint64_t gap)
{
	const struct extprof_report_process *p = extprof_report_process(report, 0);
	const struct extprof_report_thread *t;
	uint64_t running = 0, cpu = p ? p->cpu_time : 0, least = cpu > gap ? cpu - gap : 0;
	bool whole = true;
	size_t i;

	if (!p || p->pid != pid || !p->sampled || p->ended[0] || !strstr(p->command, "burner.rb") ||
	    p->taken != p->whole + p->truncated + p->lost || extprof_report_process(report, 1)) {
		printf("     process %d \"%s\"\n", p ? p->pid : 0, p ? p->command : "");
		return false;
	}
	for (i = 0; (t = extprof_report_thread(report, i)); i++) {
		uint64_t sum = 0;

		for (size_t state = 0; state < t->state_count; state++)
			sum += t->times[state];
		running += t->times[EXTPROF_STATE_RUNNING];
		whole = whole && sum == t->life && t->tid && strstr(t->name, "thread");
	}
	/* The scheduler's events and the kernel's account measure CPU time in two ways.  A first window lacks what a thread did
	 * before it was seen. */
	if (i && whole && (first || running > least / 100 * 95) && running < cpu / 100 * 105 + 5000000)
		return true;
	printf("     %zu threads, %s, %" PRIu64 " us running, %" PRIu64 " us of CPU time, %" PRIu64 " us stopped\n", i,
	       whole ? "whole" : "not whole", running / 1000, cpu / 1000, gap / 1000);
	return false;
}

static void test_windows(pid_t pid)
{
	struct extprof_recording_options o = {
		.size = sizeof(o), .pids = &pid, .pid_count = 1, .rate = 999, .modes = "cpu,wall", .groups = "thread",
	};
	struct extprof_progress p = { .size = sizeof(p) };
	struct extprof_report *report;
	struct extprof_recording *r;
	uint64_t cpu = 0, before, sampled = 0, wall = 0, lost = 0;
	bool sums = true, is_short = true, tables = true;
	double begin, ended;

	claim(!create(&o, &r) && !extprof_recording_open(r, &error), "windows");
	before = cpu_of(pid);
	claim(!extprof_recording_begin(r, &error), "begin");
	claim(extprof_recording_restart(r, &error) == -EINVAL && error.code == EXTPROF_USAGE, "none before a snapshot");
	begin = ended = now();
	cpu = cpu_of(pid);
	for (int i = 0; i < 8; i++) {
		const struct extprof_accounting *a;
		const struct extprof_facts *facts;
		const struct extprof_stack *s;
		uint64_t sum = 0, span, duration;

		step_for(r, 0.15 + 0.05 * i);
		claim(!extprof_recording_snapshot(r, &error) && !extprof_recording_report(r, &report, &error), "a window");
		span = (uint64_t)((now() - ended) * 1e9);
		ended = now();
		a = extprof_report_accounting(report);
		facts = extprof_report_facts(report);
		while ((s = extprof_report_next(report)))
			sum += s->value;
		sums = sums && a->taken == a->whole + a->truncated + a->lost && sum == a->whole + a->truncated;
		is_short = is_short && facts->duration < 2000000000u;
		sampled += facts->cpu_time;
		lost += a->lost;
		extprof_report_destroy(report);
		claim(!extprof_recording_report_mode(r, "wall", NULL, &report, &error), "its wall time");
		duration = extprof_report_facts(report)->duration;
		wall += duration;
		tables = check_tables(report, pid, !i, span > duration ? span - duration : 0) && tables;
		extprof_report_destroy(report);
		claim(!extprof_recording_restart(r, &error), "and forgotten");
	}
	before = cpu_of(pid) - before;
	cpu = cpu_of(pid) - cpu;
	claim(sums, "the sums of each window agree, and it has the samples of its own only");
	claim(is_short, "each window has its own duration");
	claim(tables, "each window has its process and its threads");
	claim(!lost, "no sample is lost between windows");
	printf("     CPU time %" PRIu64 " us by windows, %" PRIu64 " us by the clock; %" PRIu64 " of %.0f us in windows\n",
	       sampled / 1000, cpu / 1000, wall / 1000, (now() - begin) * 1e6);
	/* The first window begins while extprof_recording_begin() is at work. */
	claim(sampled <= before && (double)sampled > (double)cpu * (double)wall / ((now() - begin) * 1e9) * 0.97,
	      "the CPU times of the windows add up to that of their time");
	claim(extprof_recording_restart(r, &error) == -EINVAL, "nothing is forgotten twice");
	claim(extprof_recording_report(r, &report, &error) == -EINVAL, "nothing is there to be reported");
	claim(!extprof_recording_progress(r, &p) && p.elapsed > 2000000000u, "the recording goes on");
	claim(!extprof_recording_finish(r, &error), "its end is a window, too");
	extprof_recording_destroy(r);
}

/* Rounded up. */
static uint64_t root(uint64_t n)
{
	uint64_t r = 0;

	while (r * r < n)
		r++;
	return r;
}

/* Each window has its rate, and the CPU time by its samples is that by the clock. */
static void test_rates(pid_t pid, const char *reader)
{
	static const uint32_t rates[] = { 99, 997, 49, 499 };
	struct extprof_recording_options o = {
		.size = sizeof(o), .pids = &pid, .pid_count = 1, .rate = rates[0], .modes = "cpu,wall", .reader = reader,
		.waits = "rate", .idle = true,
	};
	struct extprof_report *report;
	struct extprof_recording *r;
	bool told = true, right = true;

	claim(!create(&o, &r) && !extprof_recording_open(r, &error), "rates");
	claim(extprof_recording_set_rate(r, 10, &error) == -EINVAL, "no rate is set before the begin");
	claim(!extprof_recording_begin(r, &error), "begin");
	for (int i = 0; i < 4; i++) {
		const struct extprof_facts *f;
		const struct extprof_stack *s;
		uint64_t sampled = 0, error_of;

		step_for(r, 1);
		if (!i)
			claim(extprof_recording_set_rate(r, 10, &error) == -EBUSY && strstr(error.text, "between two windows"),
			      "none in a window");
		claim(!extprof_recording_snapshot(r, &error) && !extprof_recording_report_mode(r, "cpu", "us", &report, &error),
		      "a window of a rate");
		f = extprof_report_facts(report);
		while ((s = extprof_report_next(report)))
			sampled += s->value;
		printf("     %s at %u Hz: %" PRIu64 " samples, %" PRIu64 " of %" PRIu64 " us\n", reader, rates[i],
		       extprof_report_accounting(report)->taken, sampled / 1000, f->cpu_time / 1000);
		told = told && f->period == 1000000000u / rates[i];
		/* Of n samples at random moments of a thread that others interrupt, the standard deviation is sqrt(n) at most. */
		error_of = 4 * root(sampled / f->period) * f->period + f->cpu_time / 20;
		right = right && sampled + error_of > f->cpu_time && sampled < f->cpu_time + error_of;
		extprof_report_destroy(report);
		claim(!extprof_recording_restart(r, &error), "and forgotten");
		claim(extprof_recording_set_rate(r, 0, &error) == -EINVAL &&
		      extprof_recording_set_rate(r, EXTPROF_RATE_MAX + 1, &error) == -EINVAL, "a rate that is none");
		claim(i == 3 || !extprof_recording_set_rate(r, rates[i + 1], &error), "another rate");
	}
	claim(told, "each report has the rate of its window");
	claim(right, "at each rate samples stand for the CPU time of the kernel");
	extprof_recording_finish(r, &error);
	extprof_recording_destroy(r);
}

/* In seconds. */
static double cpu_time_of(pid_t pid)
{
	struct timespec t = { 0 };
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		abort();
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A recording in several files. */
static void test_files(pid_t pid)
{
	char folder[] = "/tmp/face-XXXXXX", path[64], last[128] = "";
	struct extprof_recording_options o = {
		.size = sizeof(o), .pids = &pid, .pid_count = 1, .rate = 999, .modes = "cpu", .rotate = "200ms", .keep = 2,
	};
	struct extprof_recording_files files = { .size = sizeof(files) };
	struct extprof_recording *r;
	uint64_t samples = 0, all = 0;
	unsigned int left = 0;
	struct extprof_folder_file of_day[2] = { { .size = sizeof(*of_day) }, { .size = sizeof(*of_day) } };
	struct extprof_folder *day;
	struct dirent *entry;
	double used;
	DIR *d;

	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof(path), "%s/app.extprof", folder);
	claim(!create(&o, &r) && !extprof_recording_open(r, &error), "files");
	claim(!extprof_recording_files(r, &files) && !files.path && !files.made, "there is none before");
	claim(!extprof_recording_record_to(r, path, -1, -1, &error) && !extprof_recording_begin(r, &error), "begin");
	claim(!extprof_recording_files(r, &files) && files.path && strlen(files.path) < sizeof(last) && files.made == 1, "the first one");
	snprintf(last, sizeof(last), "%s", files.path);
	used = cpu_time_of(pid);
	step_for(r, 1.3);
	/* Others can have the CPU. */
	for (int i = 0; i < 200 && cpu_time_of(pid) - used < 0.3; i++)
		step_for(r, 0.1);
	claim(!extprof_recording_files(r, &files) && files.made >= 4 && files.removed >= 1 && files.path && strcmp(files.path, last),
	      "it goes on in others");
	claim(!strncmp(files.path, path, strlen(path) - strlen(".extprof")), "which begin as the name that was given");
	step_for(r, 0.1);
	used = cpu_time_of(pid) - used;
	/* A step can be long, and another file has begun in it. */
	claim(!extprof_recording_files(r, &files) && files.path && strlen(files.path) < sizeof(last), "the one that is written now");
	snprintf(last, sizeof(last), "%s", files.path);
	/* Each ms of CPU time is a sample, but for some at both ends and where a file follows. */
	claim(!extprof_recording_finish(r, &error) && !extprof_recording_file_status(r, &all, &error) && all > 100 &&
	      (double)all > used * 900 - 60, "all is there");
	claim(!access(last, R_OK), "also the last one");
	claim(!extprof_recording_files(r, &files) && files.size == sizeof(files), "at the end");
	extprof_recording_destroy(r);
	claim(!extprof_folder_open(&day, folder, -1, &error) && !extprof_folder_file(day, 0, &of_day[0]) &&
	      !extprof_folder_file(day, 1, &of_day[1]) && extprof_folder_file(day, 2, &of_day[1]) == -ENOENT, "the folder has two");
	claim(!of_day[0].unreadable && !of_day[1].unreadable && of_day[0].begin < of_day[0].end && of_day[0].end < of_day[1].end &&
	      !strcmp(of_day[1].path, last), "one after the other");
	extprof_folder_close(day);
	d = opendir(folder);
	while (d && (entry = readdir(d))) {
		struct extprof_recorded *recorded;
		char name[400];

		if (*entry->d_name == '.')
			continue;
		left++;
		snprintf(name, sizeof(name), "%s/%s", folder, entry->d_name);
		if (!extprof_recorded_open(&recorded, name, -1, &error)) {
			samples++;
			extprof_recorded_close(recorded);
		}
		unlink(name);
	}
	if (d)
		closedir(d);
	rmdir(folder);
	claim(extprof_folder_open(&day, folder, -1, &error) == -ENOENT && !day && error.code == EXTPROF_RECORDING,
	      "a folder that does not exist");
	claim(left == 2 && samples == 2, "the newest two stay, and can be read");
}

/* -- two at the same time ------------------------------------------------------------------------ */

struct job {
	pid_t pid;
	int interrupt;		/* eventfd */
	sem_t begun;
	uint64_t taken, lost;
	char ended[32], reason[80];	/* of the last loss that has one */
	int err;
};

static void on_begun(void *context, const char *line)
{
	(void)line;
	sem_post(context);
}

static void *run(void *argument)
{
	struct job *j = argument;
	struct extprof_recording_options o = {
		.size = sizeof(o), .pids = &j->pid, .pid_count = 1, .rate = 499, .interrupt_fd = &j->interrupt,
		.log = on_begun, .log_context = &j->begun,
	};
	struct extprof_recording *r = NULL;
	struct extprof_report *report = NULL;
	const struct extprof_reason *reason;
	eventfd_t value;

	if ((j->err = extprof_recording_create(&r, &o, NULL)) || (j->err = extprof_recording_open(r, NULL)) ||
	    (j->err = extprof_recording_begin(r, NULL)) || (j->err = extprof_recording_run(r, NULL)) ||
	    (j->err = eventfd_read(j->interrupt, &value)) ||
	    (j->err = extprof_recording_set_ended(r, "the test wants it")) ||
	    (j->err = extprof_recording_finish(r, NULL)) ||
	    (j->err = extprof_recording_report(r, &report, NULL)))
		goto cleanup;
	j->taken = extprof_report_accounting(report)->taken;
	j->lost = extprof_report_accounting(report)->lost;
	for (size_t i = 0; (reason = extprof_report_lost(report, i)); i++)
		if (reason->count)
			snprintf(j->reason, sizeof(j->reason), ": %s", reason->text);
	snprintf(j->ended, sizeof(j->ended), "%s", extprof_report_facts(report)->ended);
cleanup:
	sem_post(&j->begun);
	extprof_report_destroy(report);
	extprof_recording_destroy(r);
	return NULL;
}

static void test_threads(pid_t pid)
{
	struct job jobs[2];
	pthread_t threads[2];

	for (int i = 0; i < 2; i++) {
		jobs[i] = (struct job){ .pid = pid, .interrupt = eventfd(0, EFD_CLOEXEC) };
		sem_init(&jobs[i].begun, 0, 0);
		pthread_create(&threads[i], NULL, run, &jobs[i]);
	}
	/* Both sample at the same time from here. */
	for (int i = 0; i < 2; i++)
		sem_wait(&jobs[i].begun);
	/* However long it has to wait for a CPU. */
	for (double used = cpu_time_of(pid); cpu_time_of(pid) - used < 0.3;)
		usleep(10000);
	for (int i = 0; i < 2; i++)
		eventfd_write(jobs[i].interrupt, 1);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		close(jobs[i].interrupt);
		printf("     recording %d: result %d, %" PRIu64 " samples, %" PRIu64 " lost%s\n", i, jobs[i].err,
		       jobs[i].taken, jobs[i].lost, jobs[i].reason);
		claim(!jobs[i].err && jobs[i].taken && !jobs[i].lost, "one of two recordings at the same time");
		claim(!strcmp(jobs[i].ended, "the test wants it"), "why it ended");
	}
}

/* -- an executor of the caller's -------------------------------------------------------------------- */

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct { void (*work)(void *); void *argument; } list[64];
	int count, refuse, refused, done;
	bool at_once, end;
	pid_t tid;		/* of the thread that has done work */
};

static int submit(void *context, void (*work)(void *argument), void *argument)
{
	struct pool *p = context;

	if (p->refused < p->refuse) {
		p->refused++;
		return -EAGAIN;
	}
	if (p->at_once) {
		p->tid = gettid();
		p->done++;
		work(argument);
		return 0;
	}
	pthread_mutex_lock(&p->lock);
	p->list[p->count].work = work;
	p->list[p->count++].argument = argument;
	pthread_cond_signal(&p->more);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

static void *work(void *argument)
{
	struct pool *p = argument;

	pthread_mutex_lock(&p->lock);
	p->tid = gettid();
	while (!p->end || p->done < p->count) {
		if (p->done == p->count) {
			pthread_cond_wait(&p->more, &p->lock);
			continue;
		}
		int i = p->done++;

		pthread_mutex_unlock(&p->lock);
		p->list[i].work(p->list[i].argument);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static int threads_now(void)
{
	DIR *dir = opendir("/proc/self/task");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2;
}

/* How many samples there are; -1: it failed. */
static int64_t record_with(struct pool *p, pid_t pid, int interrupt, int *threads)
{
	struct extprof_executor executor = { .size = sizeof(executor), .submit = submit, .context = p };
	struct extprof_recording_options o = {
		.size = sizeof(o), .pids = &pid, .pid_count = 1, .rate = 499, .duration = 300000000, .modes = "cpu,gc",
		.executor = &executor, .interrupt_fd = &interrupt,
	};
	struct extprof_progress progress = { .size = sizeof(progress) };
	struct extprof_recording *r;
	int64_t samples = -1;

	if (create(&o, &r))
		return -1;
	executor.submit = NULL;		/* it was copied */
	if (!extprof_recording_open(r, &error) && !extprof_recording_begin(r, &error)) {
		*threads = threads_now();
		if (!extprof_recording_run(r, &error) && !extprof_recording_finish(r, &error) &&
		    !extprof_recording_progress(r, &progress))
			samples = (int64_t)(progress.samples - progress.lost);
	}
	extprof_recording_destroy(r);
	return samples;
}

static void test_executor(pid_t pid)
{
	struct extprof_executor none = { .size = sizeof(none) };
	struct { struct extprof_executor known; void *more; } newer = { .known = { .size = sizeof(newer), .submit = submit } };
	struct extprof_recording_options o = { .size = sizeof(o), .pids = &pid, .pid_count = 1, .executor = &none };
	struct pool pool = { .refuse = 2 }, at_once = { .at_once = true }, later = { 0 };
	int before = threads_now(), threads = 0, interrupt = eventfd(1, EFD_CLOEXEC);
	pthread_t thread;
	int64_t samples;

	claim(is_refused(&o, -EINVAL, EXTPROF_USAGE, "executor"), "an executor without submit");
	/* Of a later version, which sets nothing that this one does not have; and with more. */
	o.executor = &newer.known;
	claim(!extprof_recording_check(&o, &error), "an executor of a later version");
	newer.more = &newer;
	claim(extprof_recording_check(&o, &error) == -E2BIG, "an executor with more than is known");
	pthread_mutex_init(&pool.lock, NULL);
	pthread_cond_init(&pool.more, NULL);
	pthread_create(&thread, NULL, work, &pool);
	samples = record_with(&pool, pid, -1, &threads);
	claim(samples > 0, "a recording with an executor, which refuses twice");
	claim(pool.refused == 2 && pool.done >= 1 && pool.tid && pool.tid != gettid(), "its thread has searched");
	claim(threads == before + 1, "the library has started no thread");
	pthread_mutex_lock(&pool.lock);
	pool.end = true;
	pthread_cond_signal(&pool.more);
	pthread_mutex_unlock(&pool.lock);
	pthread_join(thread, NULL);
	samples = record_with(&at_once, pid, -1, &threads);
	claim(samples > 0 && at_once.done >= 1 && threads == before, "an executor that works at once");
	/* Nobody works until the recording is gone. */
	pthread_mutex_init(&later.lock, NULL);
	samples = record_with(&later, pid, interrupt, &threads);
	claim(samples == -1 && later.count >= 1, "without work nothing is found");
	for (int i = 0; i < later.count; i++)
		later.list[i].work(later.list[i].argument);
	claim(true, "work after the recording was destroyed");
	close(interrupt);
}

/* -- what belongs to the process ------------------------------------------------------------------ */

struct belongings {
	struct sigaction actions[65];
	sigset_t mask;
	mode_t umask;
	int fds;
	char power[512];	/* lines of /proc/self/status */
};

/* Capabilities, and whether more can be gained. */
static void look_at_power(char *to, size_t size)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[4096];
	size_t n = 0;

	while (f && fgets(line, sizeof(line), f))
		if ((!strncmp(line, "Cap", 3) || !strncmp(line, "NoNewPrivs", 10)) && n < size)
			n += (size_t)snprintf(to + n, size - n, "%s", line);
	if (f)
		fclose(f);
}

static void look(struct belongings *b)
{
	memset(b, 0, sizeof(*b));
	for (int i = 1; i < 65; i++)
		sigaction(i, NULL, &b->actions[i]);
	sigprocmask(SIG_SETMASK, NULL, &b->mask);
	b->umask = umask(0);
	umask(b->umask);
	look_at_power(b->power, sizeof(b->power));
	for (int fd = 0; fd < 1024; fd++)
		b->fds += lseek(fd, 0, SEEK_CUR) >= 0 || errno != EBADF;
}

/* By field: the structure has bytes that nobody sets. */
static bool is_same(const struct sigaction *a, const struct sigaction *b)
{
	bool same = a->sa_handler == b->sa_handler && a->sa_flags == b->sa_flags;

	for (int i = 1; i < 65; i++)
		same = same && sigismember(&a->sa_mask, i) == sigismember(&b->sa_mask, i);
	return same;
}

int main(int argc, char **argv)
{
	struct belongings before, after;
	bool same = true;

	if (argc != 4)
		return 2;
	look(&before);
	test_errors(atoi(argv[1]), atoi(argv[2]));
	test_words();
	test_recording(atoi(argv[1]));
	test_idle(atoi(argv[3]));
	test_windows(atoi(argv[1]));
	test_rates(atoi(argv[1]), "ebpf");
	test_rates(atoi(argv[1]), "nonblocking");
	test_files(atoi(argv[1]));
	test_threads(atoi(argv[1]));
	test_executor(atoi(argv[1]));
	look(&after);
	for (int i = 1; i < 65; i++)
		same = same && is_same(&before.actions[i], &after.actions[i]);
	claim(same, "actions of signals are as they were");
	claim(!memcmp(&before.mask, &after.mask, sizeof(before.mask)), "the mask of signals is as it was");
	claim(before.umask == after.umask, "umask is as it was");
	claim(before.fds == after.fds, "all descriptors are closed");
	claim(before.power[0] && !strcmp(before.power, after.power), "capabilities are as they were");
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
