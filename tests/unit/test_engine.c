/* SPDX-License-Identifier: BSD-2-Clause */
/* An engine from its processes to its report, on a session without a kernel.  The processes are children of this one. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "engine_fixture.h"
#include "remote/tables.h"

TEST(engine_counts_samples_of_a_process)
{
	struct report_request request = { 0 };
	struct process *p;
	struct report r;

	set_up(false);
	CHECK(e);
	p = first();
	CHECK(p && p->born && attach(p, 7));
	fake_session__sample(SOURCE_CPU, p->number, 7, method);
	fake_session__sample(SOURCE_CPU, p->number, 7, method);
	CHECK_INT(engine__step(e, &diag), 0);
	CHECK_INT(engine__finish(e, &diag), 0);
	CHECK(!strcmp(fake_session.calls, "pause stop detach "));
	CHECK_INT(engine__report(e, &request, &r, &diag), 0);
	CHECK_INT(r.meta.accounting.whole, 2);
	CHECK_INT(accounting__lost(&r.meta.accounting), 0);
	CHECK_INT(r.samples, 2);
	report__free(&r);
	tear_down();
	CHECK(strstr(fake_session.calls, "close"));
}

TEST(engine_counts_as_lost_what_does_not_arrive)
{
	struct report_request request = { 0 };
	struct process *p;
	struct report r;

	set_up(false);
	p = first();
	CHECK(p && attach(p, 7));
	fake_session__sample(SOURCE_CPU, p->number, 7, method);
	fake_session.counters[p->number][SOURCE_CPU].taken += 3;
	fake_session.counters[p->number][SOURCE_CPU].whole += 3;
	/* This one is of a VM that nobody knows. */
	fake_session__sample(SOURCE_CPU, p->number, 99, method);
	CHECK_INT(engine__finish(e, &diag), 0);
	CHECK_INT(engine__report(e, &request, &r, &diag), 0);
	CHECK_INT(r.meta.accounting.taken, 5);
	CHECK_INT(r.meta.accounting.whole, 1);
	CHECK_INT(accounting__lost(&r.meta.accounting), 4);
	report__free(&r);
	tear_down();
}

/* A daemon is not to wake up twenty times a second for nothing. */
TEST(engine_waits_longer_where_all_is_known)
{
	struct process *p;

	set_up(false);
	p = first();
	CHECK(p && attach(p, 7));
	e->settings.command = false;
	fake_session__sample(SOURCE_CPU, p->number, 7, method);
	CHECK_INT(engine__step(e, &diag), 0);
	CHECK_INT(e->drained, 1);
	e->young_threads_at = 0;
	e->new_at = deadline__now() - 11 * SECOND;
	CHECK(engine__wait(e) <= 50 * MS);
	e->settings.rotate_time = 3600 * SECOND;
	CHECK(engine__wait(e) > 50 * MS && engine__wait(e) <= 200 * MS);
	e->drained = 2000;
	CHECK(engine__wait(e) <= 50 * MS);
	e->drained = 0;
	e->new_at = deadline__now();
	CHECK(engine__wait(e) <= 2 * MS);
	tear_down();
}

/* What the recording in that file says of itself; "": nothing. */
static const char *read_meta(const char *path, const char *key, char *text, size_t size)
{
	sqlite3_stmt *query = NULL;
	sqlite3 *db = NULL;

	text[0] = '\0';
	if (!sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) &&
	    !sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE key=?", -1, &query, NULL) &&
	    !sqlite3_bind_text(query, 1, key, -1, SQLITE_STATIC) && sqlite3_step(query) == SQLITE_ROW)
		snprintf(text, size, "%s", (const char *)sqlite3_column_text(query, 0));
	sqlite3_finalize(query);
	sqlite3_close(db);
	return text;
}

/* The time of the day is that of the begin of a file: a suspended machine begins another one. */
TEST(engine_begins_the_next_file_after_a_suspension)
{
	char base[] = "/tmp/extprof-unit-XXXXXX", path[64], text[64], other[64], *first_path;
	struct process *p;

	CHECK(mkdtemp(base));
	snprintf(path, sizeof(path), "%s/out.extprof", base);
	set_up(false);
	e->settings.rotate_time = 3600 * SECOND;
	CHECK_INT(engine__record_to(e, path, getuid(), getgid(), &diag), 0);
	p = first();
	CHECK(p && attach(p, 7));
	fake_session__sample(SOURCE_CPU, p->number, 7, method);
	CHECK_INT(engine__step(e, &diag), 0);
	CHECK_INT(e->segments.made, 1);
	first_path = strdup(e->recording_path);
	e->segments.clocks.boot -= 1800 * SECOND + 500 * MS;
	e->segments.clocks.wall -= 1800 * SECOND + 500 * MS;
	fake_session__sample(SOURCE_CPU, p->number, 7, method);
	CHECK_INT(engine__step(e, &diag), 0);
	CHECK_INT(e->segments.made, 2);
	fake_session__sample(SOURCE_CPU, p->number, 7, method);
	CHECK_INT(engine__step(e, &diag), 0);
	CHECK_INT(e->segments.made, 2);
	CHECK_STRING(read_meta(first_path, "mode.1.ended", text, sizeof(text)), "the machine was suspended for 1800 s");
	/* The next one has the new time of the day. */
	CHECK_INT(engine__finish(e, &diag), 0);
	CHECK(labs(atol(read_meta(e->recording_path, "started_unix_s", text, sizeof(text))) -
		   atol(read_meta(first_path, "started_unix_s", other, sizeof(other))) - 1800) <= 1);
	unlink(first_path);
	unlink(e->recording_path);
	free(first_path);
	tear_down();
	rmdir(base);
}

TEST(engine_finishes_without_a_sample)
{
	set_up(false);
	CHECK_INT(engine__finish(e, &diag), -ESRCH);
	CHECK(strstr(diag.text, "there was no time to search process"));
	CHECK_STRING(fake_session.calls, "");
	tear_down();
}

TEST(engine_forgets_a_process_after_its_samples)
{
	struct process *p;
	uint32_t number;
	struct vm *vm;

	set_up(false);
	p = first();
	vm = attach(p, 7);
	CHECK(vm);
	number = p->number;
	fake_session__sample(SOURCE_CPU, number, 7, method);
	fake_session__event(PROCESS_EXITED, number)->exit_code = 3 << 8;
	fake_session__event(PROCESS_FREED, number)->cpu_time = 5000;
	CHECK_INT(engine__step(e, &diag), 1);
	CHECK_STRING(e->ended, "the process ended");
	CHECK(!process_set__find(&e->set, number));
	CHECK(!process_set__vm(&e->set, 7));
	CHECK(strstr(fake_session.calls, "forget"));
	CHECK_STRING(e->rows.rows[0].ended, "exit 3");
	CHECK_INT(e->rows.rows[0].kernel.whole, 1);
	CHECK_INT(received__sum(&e->rows.rows[0].received), 1);
	tear_down();
}

/* A process whose VM has number 7 has made this one, with number 12 and VM 8. */
static void has_forked(const struct process *parent, pid_t pid)
{
	struct process_event *ev = fake_session__event(PROCESS_FORKED, 12);

	ev->pid = (uint32_t)pid;
	ev->parent = parent->number;
	ev->parent_vm = 7;
	ev->vm = 8;
	ev->records_end = method + 1;
}

TEST(engine_gives_a_child_its_parents_names)
{
	struct process *p, *child;

	set_up(false);
	p = first();
	CHECK(attach(p, 7));
	has_forked(p, 4000000);
	engine__drain_lifecycle(e);
	child = process_set__find(&e->set, 12);
	CHECK(child && child->born && child->followed && child->state == PROCESS_SAMPLED);
	CHECK(child->vm && child->vm->parent == p->vm);
	/* It executes another program, in which no ruby was found yet. */
	fake_session__event(PROCESS_EXECUTED, 12);
	engine__drain_lifecycle(e);
	CHECK(!child->vm && child->state == PROCESS_LOOKED_FOR && child->executed);
	CHECK(process_set__vm(&e->set, 8));
	engine__clean_up(e);
	CHECK(!process_set__vm(&e->set, 8));
	tear_down();
}

/* The kernel has told that it has ended, and never tells that it was freed. */
TEST(engine_forgets_a_process_that_is_gone)
{
	struct process *p, *child;

	set_up(false);
	p = first();
	CHECK(attach(p, 7));
	has_forked(p, getpid());
	fake_session__event(PROCESS_EXITED, 12)->started = 1;
	engine__drain_lifecycle(e);
	child = process_set__find(&e->set, 12);
	CHECK(child && child->state == PROCESS_ENDED && child->started == 1);
	/* There is time yet. */
	engine__free_gone(e, deadline__now());
	CHECK(!child->freed);
	/* A process is there that has not been waited for: it began when this one did. */
	e->freed_time = e->freed_look_at = 0;
	child->started = 0;
	engine__free_gone(e, deadline__now());
	CHECK(!child->freed && !strstr(fake_session.calls, "gone"));
	/* That is another one, which has its pid. */
	child->started = 1;
	engine__free_gone(e, deadline__now());
	CHECK(child->freed && strstr(fake_session.calls, "gone forget"));
	engine__clean_up(e);
	CHECK(!process_set__find(&e->set, 12) && !process_set__vm(&e->set, 8));
	/* Those that live are not looked at. */
	engine__free_gone(e, deadline__now());
	CHECK(!p->freed);
	tear_down();
}

TEST(engine_restarts_after_a_snapshot_only)
{
	struct process *p;

	set_up(false);
	p = first();
	CHECK(attach(p, 7));
	fake_session__sample(SOURCE_CPU, p->number, 7, method);
	CHECK_INT(engine__restart(e, &diag), -EINVAL);
	CHECK_INT(engine__snapshot(e, &diag), 0);
	CHECK_STRING(fake_session.calls, "pause stop start ");
	CHECK_INT(received__sum(&e->resolver.received[SOURCE_CPU]), 1);
	CHECK_INT(e->kernel[SOURCE_CPU].whole, 1);
	fake_session.losses.threads = 4;
	CHECK_INT(engine__restart(e, &diag), 0);
	CHECK_INT(received__sum(&e->resolver.received[SOURCE_CPU]), 0);
	CHECK_INT(e->kernel[SOURCE_CPU].whole, 0);
	CHECK_INT(e->lost_accounts, 4);
	CHECK_INT(engine__restart(e, &diag), -EINVAL);
	/* What the kernel counted before stays counted. */
	fake_session__sample(SOURCE_CPU, p->number, 7, method);
	CHECK_INT(engine__finish(e, &diag), 0);
	CHECK_INT(e->kernel[SOURCE_CPU].whole, 1);
	tear_down();
}

TEST(engine_pauses)
{
	struct report_request request = { 0 };
	struct report report;
	struct process *p;
	uint64_t before;

	set_up(false);
	p = first();
	CHECK(attach(p, 7));
	CHECK_INT(engine__resume(e, &diag), -EALREADY);
	fake_session__sample(SOURCE_CPU, p->number, 7, method);
	CHECK_INT(engine__pause(e, &diag), 0);
	CHECK_INT(engine__pause(e, &diag), -EALREADY);
	CHECK_STRING(fake_session.calls, "pause stop rest ");
	CHECK(engine__is_paused(e));
	/* What the sources had sent is there; CPU time of the pause is nobody's. */
	CHECK_INT(e->kernel[SOURCE_CPU].whole, 1);
	before = e->rows.rows[p->row].cpu_time;
	engine__account_cpu(e, p, p->cpu_seen + SECOND);
	CHECK_INT(e->rows.rows[p->row].cpu_time, before);
	/* Neither are its time and its part of the duration. */
	e->settings.duration = SECOND;
	CHECK(engine__end_of_duration(e) == UINT64_MAX);
	e->paused_since -= 5 * SECOND;
	e->started_at -= 6 * SECOND;
	e->from = e->started_at;
	CHECK(engine__recorded(e, e->from, deadline__now()) < 2 * SECOND);
	CHECK_INT(engine__resume(e, &diag), 0);
	CHECK_STRING(fake_session.calls, "pause stop rest start ");
	CHECK(e->paused_all >= 5 * SECOND && e->paused_here == e->paused_all);
	CHECK_INT(engine__end_of_duration(e), e->started_at + e->paused_all + SECOND);
	CHECK_INT(engine__finish(e, &diag), 0);
	CHECK_INT(engine__report(e, &request, &report, &diag), 0);
	CHECK_INT(report.meta.paused, e->paused_all);
	CHECK(report.meta.duration * 1e9 + (double)report.meta.paused - (double)(e->ended_at - e->from) < 1000);
	report__free(&report);
	tear_down();
}

TEST(engine_begins_paused)
{
	set_up(false);
	e->settings.delay = 1;
	e->paused = true;
	CHECK_INT(engine__begin(e, &diag), 0);
	CHECK(e->resume_at);
	e->set.sampled = 1;
	CHECK_INT(engine__finish(e, &diag), 1);
	CHECK(strstr(diag.text, "delay"));
	e->set.sampled = 0;
	tear_down();
}

TEST(engine_settles_threads_when_it_ends)
{
	struct process *p;

	set_up(false);
	p = first();
	CHECK(attach(p, 7));
	fake_session.has_waits = true;
	fake_session.waits = (struct session_waits){ .stopped_at = 1000 };
	fake_session.threads[0] = (struct sched_thread){ .off = OFF_NOT, .since = 400 };
	fake_session.threads[0].account = (struct thread_account){ .process = 99, .tid = 5, .first = 100, .time = {
		[STATE_RUNNING] = 300 } };
	fake_session.thread_count = 1;
	CHECK_INT(engine__finish(e, &diag), 0);
	CHECK_STRING(fake_session.calls, "pause each stop detach each ");
	CHECK_INT(fake_session.threads[0].settled, 1);
	CHECK_INT(fake_session.threads[0].account.time[STATE_RUNNING], 900);
	CHECK_INT(fake_session.threads[0].account.until, 1000);
	tear_down();
}

#define CHUNKS 65536u

/* A child whose one thread waits in its method.  `large`: its table of threads is as large as one can be. */
static pid_t make_waiter(bool large)
{
	static uint64_t chunks[CHUNKS];
	struct fake_ec *ec = fake__ec(8);
	pid_t child;

	fake__push(ec, RB_DEBUG_EXT_ID_NONE, 0);
	fake__push(ec, method, 0);
	for (uint32_t i = 0; i < CHUNKS; i++)
		chunks[i] = ruby.thread_dir[0];
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		section.pid = (uint32_t)getpid();
		fake__thread(&ruby, 3, 30, "waiter", ec)->tid = (uint32_t)getpid();
		if (large) {
			section.thread_dir = (uintptr_t)chunks;
			section.thread_slots_end = CHUNKS * RB_DEBUG_EXT_SLOTS_PER_CHUNK;
		}
		for (;;)
			pause();
	}
	return child;
}

/* What the kernel tells of it when the recording ends. */
static struct sched_thread waiting_thread(pid_t child, uint32_t process, uint32_t vm)
{
	struct sched_thread t = { .off = OFF_UNKNOWN, .seen_as = (uint32_t)child, .since = fake_session.waits.stopped_at - SECOND };
	unsigned long long runs = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", child);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*u %*u %llu", &runs) == 1)
		t.runs = runs;
	if (f)
		fclose(f);
	t.account = (struct thread_account){ .process = process, .tid = (uint32_t)child, .vm = vm };
	return t;
}

/* A process with a table that takes long leaves time for the threads of others. */
TEST(engine_shares_the_time_for_threads_that_wait)
{
	struct tables tables = { 0 };
	struct process *other;
	pid_t large, small;
	uint64_t took;

	set_up(false);
	e->settings.selection.all = true;
	kill_ruby(pid);
	large = make_waiter(true);
	small = make_waiter(false);
	pid = large;
	usleep(100000);
	CHECK(!engine__follow_pid(e, large, true, &other, &diag));
	CHECK(attach(other, 7));
	/* There is time for eight looks at it. */
	deadline__start(&e->reads, -1, UINT64_MAX);
	took = deadline__now();
	CHECK_INT(tables__read(&tables, &other->vm->layout, &other->vm->memory), 0);
	e->waits_time = 8 * (deadline__now() - took);
	tables__free(&tables);
	fake_session.has_waits = true;
	fake_session.waits = (struct session_waits){ .stopped_at = deadline__now() };
	for (uint32_t i = 0; i < 30; i++) {
		/* It is looked at anew after each thread of another one. */
		fake_session.threads[2 * i] = waiting_thread(large, other->number, 7);
		fake_session.threads[2 * i + 1] = (struct sched_thread){ .off = OFF_NOT, .account.process = 99 };
	}
	CHECK(!engine__follow_pid(e, small, true, &other, &diag));
	CHECK(attach(other, 8));
	fake_session.threads[60] = waiting_thread(small, other->number, 8);
	fake_session.thread_count = 61;
	took = deadline__now();
	engine__hold(e);
	took = deadline__now() - took;
	/* A fourth of the time is that of the first one. */
	CHECK(took < e->waits_time * 3 / 4);
	CHECK(fake_session.threads[0].settled && fake_session.threads[60].settled);
	CHECK_INT(fake_session.threads[60].account.thread, 30);
	CHECK(e->resolver.received[SOURCE_SCHED].whole >= 1);
	tear_down();
	kill_ruby(small);
}

/* Events are taken some time after they were sent: what a program has used meanwhile is its own. */
TEST(engine_counts_from_the_exec_also_if_that_is_told_late)
{
	struct process_event *ev;
	struct process *p;
	uint64_t seen;

	set_up(false);
	CHECK(attach(first(), 7));
	/* One of all processes of the machine: this one. */
	ev = fake_session__event(PROCESS_EXECUTED, 0);
	ev->pid = (uint32_t)getpid();
	ev->cpu_time = 1;
	engine__drain_lifecycle(e);
	p = process_set__by_pid(&e->set, getpid());
	CHECK(p && p->cpu_seen == 1);
	/* It was looked at, and then the exec is told, at which it had used less. */
	p->cpu_seen = seen = 900;
	p->cpu_before = 500;
	ev = fake_session__event(PROCESS_EXECUTED, p->number);
	ev->pid = (uint32_t)getpid();
	ev->cpu_time = 700;
	engine__drain_lifecycle(e);
	CHECK_INT(p->cpu_before, 200);
	CHECK_INT(p->cpu_seen, seen);
	/* The program has not been looked at since. */
	fake_session__event(PROCESS_EXECUTED, p->number)->cpu_time = 1000;
	engine__drain_lifecycle(e);
	CHECK_INT(p->cpu_before, 0);
	CHECK_INT(p->cpu_seen, 1000);
	tear_down();
}

/* Its number is 12, and it is this process, which has used CPU time. */
static struct figures_process *child_with_figures(struct process *parent, uint64_t before)
{
	struct process_event *ev = fake_session__event(PROCESS_FORKED, 12);

	ev->pid = (uint32_t)getpid();
	ev->parent = parent->number;
	ev->parent_vm = 7;
	ev->vm = 8;
	ev->cpu_time = before;
	engine__drain_lifecycle(e);
	return figures__find(&e->figures->sums, 12);
}

TEST(engine_figures_of_a_child_begin_with_its_birth)
{
	const struct engine_figures *all;
	struct figures_process *f;
	struct sums sums;

	set_up(true);
	CHECK(attach(first(), 7));
	f = child_with_figures(first(), 0);
	CHECK(f && process_set__find(&e->set, 12)->born);
	CHECK_INT(engine__figures(e, &all, &diag), 0);
	CHECK_INT(fake_session.interval, 1);
	figures__sums(f, &sums);
	/* All that this process has used so far. */
	CHECK(sums.cpu > 1000000 && sums.minor_faults > 100);
	CHECK(f->memory.resident > 1 << 20 && f->memory.peak >= f->memory.resident);
	CHECK_INT(f->memory.anonymous + f->memory.file + f->memory.shared, f->memory.resident);
	tear_down();
}

TEST(engine_figures_of_a_child_from_before_begin_with_us)
{
	const struct engine_figures *all;
	struct figures_process *f;
	struct sums sums;
	uint64_t before;

	set_up(true);
	CHECK(attach(first(), 7));
	before = deadline__now();
	f = child_with_figures(first(), 1000000);
	CHECK(f && !process_set__find(&e->set, 12)->born);
	CHECK_INT(process_set__find(&e->set, 12)->cpu_seen, 1000000);
	CHECK_INT(engine__figures(e, &all, &diag), 0);
	figures__sums(f, &sums);
	CHECK(sums.cpu <= 8 * (deadline__now() - before));
	tear_down();
}

/* The sum of a mode, in its value. */
static uint64_t total_of(const char *mode, struct report *r)
{
	struct report_request request = { .by_value = true };

	if (engine__find_mode(e, mode, &request.mode) || engine__report(e, &request, r, &diag))
		return UINT64_MAX;
	return r->samples;
}

static void many_ended(void)
{
	for (uint32_t i = 0; i < 2000; i++)
		processes__add(&e->rows);
	CHECK_INT(engine__figures_next(e, &diag), 0);
}

/* The memory of `extprof stat' does not grow with each process that ends. */
TEST(engine_figures_drop_rows_of_processes_that_ended)
{
	set_up(true);
	e->settings.mode_count = 0;
	many_ended();
	CHECK(attach(first(), 7));
	CHECK(first()->row == 0 && e->rows.rows[0].pid == pid);
	e->rows.rows[0].cpu_time = 5;
	many_ended();
	CHECK_INT(e->rows.count, 1);
	CHECK(first()->row == 0 && e->rows.rows[0].pid == pid);
	CHECK_INT(e->rows.rows[0].cpu_time, 5);
	/* Their CPU time stays in the sum, and their frames are in no stack. */
	e->settings.mode_count = 1;
	processes__add(&e->rows);
	e->rows.rows[1].cpu_time = 7;
	many_ended();
	CHECK_INT(e->rows.count, 1);
	CHECK_INT(e->cpu_time_dropped, 7);
	/* Frames of processes have the numbers of rows. */
	groups__add(&e->resolver.groups, GROUP_PROCESS);
	many_ended();
	CHECK_INT(e->rows.count, 2001);
	tear_down();
}

TEST(engine_figures_and_modes_have_the_same_events)
{
	const struct engine_figures *all;
	struct figures_process *f;
	struct sample_event *s;
	struct sums sums;
	struct process *p;
	struct report r;

	set_up(true);
	engine__destroy(e);
	fake_session__init();
	fake_session.has_figures = true;
	settings.modes[1] = &mode_alloc;
	settings.modes[2] = &mode_gc;
	settings.mode_count = 3;
	settings.alloc_interval = 1000;
	CHECK_INT(engine__create(&e, &settings, &diag), 0);
	CHECK_INT(engine__open(e, &diag), 0);
	p = first();
	CHECK(attach(p, 7));
	for (int i = 0; i < 3; i++) {
		s = fake_session__sample(SOURCE_ALLOC, p->number, 7, method);
		s->value = 1000;
		s->count = 25;
	}
	s = fake_session__sample(SOURCE_GC, p->number, 7, method);
	s->value = 5000;
	fake_session__sample(SOURCE_CPU, p->number, 7, method);
	CHECK_INT(engine__step(e, &diag), 0);
	CHECK_INT(engine__figures(e, &all, &diag), 0);
	f = figures__find(&all->sums, p->number);
	CHECK(f);
	figures__sums(f, &sums);
	CHECK_INT(sums.alloc_bytes, 3000);
	CHECK_INT(engine__finish(e, &diag), 0);
	CHECK_INT(total_of("alloc", &r), 3000);
	CHECK_INT(r.meta.accounting.whole, 3);
	CHECK_INT(accounting__lost(&r.meta.accounting), 0);
	report__free(&r);
	CHECK_INT(total_of("gc", &r), 0);
	CHECK(r.pauses && r.pauses->all.count == 1);
	report__free(&r);
	CHECK_INT(total_of("cpu", &r), 10);
	report__free(&r);
	tear_down();
}

TEST(engine_figures_have_what_the_session_has_lost)
{
	const struct engine_figures *all;
	struct figures_process *f;

	set_up(true);
	CHECK(attach(first(), 7));
	fake_session.gvl_waits.counts[3] = 5;
	fake_session.losses = (struct session_losses){ .threads = 1, .gvl_waits = 2, .calls = 3, .calls_not_returned = 4 };
	CHECK_INT(engine__figures(e, &all, &diag), 0);
	f = figures__find(&all->sums, first()->number);
	CHECK(f && f->gvl);
	CHECK_INT(histogram__count(f->gvl), 5);
	CHECK_INT(all->losses.gvl_waits, 2);
	CHECK(!all->looks_only && !all->has_calls);
	/* The end is the last look: what comes then does not count. */
	CHECK_INT(engine__finish(e, &diag), 0);
	fake_session.gvl_waits.counts[3] = 9;
	CHECK_INT(engine__figures(e, &all, &diag), 0);
	CHECK_INT(histogram__count(f->gvl), 5);
	tear_down();
}

TEST(engine_leaves_what_fits_no_more)
{
	struct process *p, *next;
	uint32_t number;

	set_up(false);
	e->settings.selection.by_user = true;
	e->settings.selection.user = getuid();
	p = first();
	p->wanted = false;
	p->followed = true;
	CHECK(attach(p, 7));
	number = p->number;
	engine__select(e, deadline__now());
	CHECK_INT(fake_session.dropped, 0);
	/* It is another user's now. */
	e->settings.selection.user++;
	e->select_at = 0;
	fake_session__sample(SOURCE_CPU, number, 7, method);
	CHECK_INT(engine__step(e, &diag), 0);
	CHECK_INT(fake_session.dropped, number);
	next = process_set__find(&e->set, fake_session.config.process);
	CHECK(next && next->refused && next->pid == pid && next->followed && !fake_session.config.section);
	engine__clean_up(e);
	CHECK(!process_set__find(&e->set, number) && !process_set__vm(&e->set, 7));
	CHECK_STRING(e->rows.rows[0].ended, "left");
	CHECK_INT(e->rows.rows[0].kernel.whole, 1);
	CHECK_INT(engine__search_wait(e, deadline__now()), UINT64_MAX);
	/* It fits again, and is looked for. */
	e->settings.selection.user--;
	e->select_at = 0;
	engine__select(e, deadline__now());
	CHECK(!next->refused && next->state == PROCESS_LOOKED_FOR);
	CHECK_INT(engine__search_wait(e, deadline__now()), 0);
	tear_down();
}

TEST(engine_finds_children_that_are_there)
{
	struct process *p = NULL;
	pid_t child;

	set_up(false);
	child = make_ruby();
	/* It is followed as a child of this process, which is followed for that. */
	CHECK_INT(engine__follow_pid(e, getpid(), true, &p, &diag), 0);
	engine__discover_children(e, 0);
	p = process_set__by_pid(&e->set, child);
	CHECK(p && p->followed && !p->wanted && !p->born);
	kill_ruby(child);
	tear_down();
}

TEST(engine_takes_and_drops_processes)
{
	struct process *p, *other;
	uint32_t number;
	pid_t second;

	set_up(false);
	p = first();
	CHECK(attach(p, 7));
	number = p->number;
	second = make_ruby();
	CHECK_INT(engine__add(e, pid, &diag), -EEXIST);
	CHECK_INT(engine__remove(e, second, &diag), -ESRCH);
	CHECK(strstr(diag.text, "is not recorded"));
	CHECK_INT(engine__add(e, second, &diag), 0);
	other = process_set__by_pid(&e->set, second);
	CHECK(other && other->wanted && !other->born && other->state == PROCESS_LOOKED_FOR);
	CHECK_INT(e->set.wanted_live, 2);
	CHECK(attach(other, 9));
	/* What was sampled of the first one stays. */
	fake_session__sample(SOURCE_CPU, number, 7, method);
	CHECK_INT(engine__remove(e, pid, &diag), 0);
	CHECK_INT(fake_session.dropped, number);
	CHECK(strstr(fake_session.calls, "drop forget remove"));
	fake_session__sample(SOURCE_CPU, other->number, 9, method);
	CHECK_INT(engine__step(e, &diag), 0);
	CHECK(!process_set__find(&e->set, number) && !process_set__vm(&e->set, 7));
	CHECK_INT(e->set.wanted_live, 1);
	CHECK_INT(engine__finish(e, &diag), 0);
	CHECK_INT(e->rows.count, 2);
	CHECK_STRING(e->rows.rows[0].ended, "left");
	CHECK_INT(received__sum(&e->rows.rows[0].received), 1);
	CHECK_INT(received__sum(&e->rows.rows[1].received), 1);
	CHECK_INT(e->kernel[SOURCE_CPU].whole, 2);
	kill_ruby(second);
	tear_down();
}

TEST(engine_changes_its_rate_between_windows)
{
	struct report_request request = { 0 };
	struct process *p;
	struct report r;

	set_up(false);
	p = first();
	CHECK(attach(p, 7));
	fake_session__sample(SOURCE_CPU, p->number, 7, method);
	CHECK_INT(engine__step(e, &diag), 0);
	CHECK_INT(engine__set_rate(e, 500, &diag), -EBUSY);
	CHECK(strstr(diag.text, "between two windows"));
	CHECK_INT(engine__snapshot(e, &diag), 0);
	CHECK_INT(engine__set_rate(e, 500, &diag), -EBUSY);
	CHECK_INT(engine__restart(e, &diag), 0);
	fake_session.calls[0] = '\0';
	CHECK_INT(engine__set_rate(e, 500, &diag), 0);
	CHECK_STRING(fake_session.calls, "pause stop rate start ");
	CHECK_INT(fake_session.rate, 500);
	/* What is refused leaves it as it is, and it goes on. */
	fake_session.calls[0] = '\0';
	CHECK_INT(engine__set_rate(e, 5000, &diag), -EINVAL);
	CHECK_STRING(diag.text, "too much for this machine");
	CHECK_STRING(fake_session.calls, "pause stop start ");
	fake_session__sample(SOURCE_CPU, p->number, 7, method);
	CHECK_INT(engine__finish(e, &diag), 0);
	CHECK_INT(engine__report(e, &request, &r, &diag), 0);
	CHECK_INT(r.meta.rate, 500);
	CHECK_INT(r.meta.accounting.whole, 1);
	report__free(&r);
	tear_down();
}

TEST(engine_changes_its_rate_while_it_pauses)
{
	set_up(false);
	CHECK(attach(first(), 7));
	CHECK_INT(engine__pause(e, &diag), 0);
	CHECK_INT(engine__snapshot(e, &diag), 0);
	CHECK_INT(engine__restart(e, &diag), 0);
	fake_session.calls[0] = '\0';
	CHECK_INT(engine__set_rate(e, 20, &diag), 0);
	CHECK_STRING(fake_session.calls, "rate ");
	CHECK_INT(engine__resume(e, &diag), 0);
	CHECK_STRING(fake_session.calls, "rate start ");
	tear_down();
}

/* A look that took long puts off the next one, and not for longer than what is seen late may be late. */
TEST(engine_looks_have_intervals_with_bounds)
{
	const uint64_t ms = 1000000, second = 1000 * ms;

	CHECK_INT((long long)engine__interval(3600 * second, 7200 * second, deadline__cpu_time()), (long long)(3600 * second));
	CHECK_INT((long long)engine__interval(100 * ms, second, deadline__cpu_time() - second), (long long)second);
	/* 2 ms of CPU time, in a thousandth of a CPU. */
	CHECK(engine__interval(100 * ms, 3600 * second, deadline__cpu_time() - 2 * ms) >= 2 * second);
}

/* Processes of a user that end all the time do not fill the recording, and others are told of meanwhile. */
TEST(engine_triggers_of_a_user_have_a_bound)
{
	struct process ended = { .ended_sampled = true };

	set_up(false);
	CHECK(attach(first(), 7));
	e->triggers.engine = e;
	e->settings.triggers[0] = (struct trigger){ .kind = TRIGGER_EXIT, .text = "exit" };
	e->settings.trigger_count = 1;
	ended.row = first()->row;
	e->rows.rows[ended.row].uid = 7;
	for (ended.number = 100; ended.number < 400; ended.number++)
		engine__trigger_exit(e, &ended, true, deadline__now(), "exit 1");
	CHECK_INT(e->triggers.fired, 200);
	CHECK(strstr(e->triggers.last, "it has ended: exit 1 (exit)"));
	e->rows.rows[ended.row].uid = 8;
	engine__trigger_exit(e, &ended, true, deadline__now(), "exit 2");
	CHECK_INT(e->triggers.fired, 201);
	/* It is not over yet. */
	e->triggers.memory_at = 0;
	engine__step_triggers(e, deadline__now());
	CHECK_INT(e->triggers.fired, 201);
	/* Then the rest is told in one line, and there is room again. */
	e->triggers.users[0].from -= 10000000000ull;
	e->triggers.memory_at = 0;
	engine__step_triggers(e, deadline__now());
	CHECK_INT(e->triggers.fired, 202);
	CHECK(strstr(e->triggers.last, "100 more for programs of user 7, which are not told one by one"));
	e->rows.rows[ended.row].uid = 7;
	ended.number++;
	engine__trigger_exit(e, &ended, true, deadline__now(), "exit 3");
	CHECK_INT(e->triggers.fired, 203);
	CHECK(strstr(e->triggers.last, "exit 3"));
	engine__end_triggers(e);
	CHECK_INT(e->triggers.fired, 203);
	tear_down();
}
