/* SPDX-License-Identifier: BSD-2-Clause */
/* The public face of reports and errors: what needs no kernel. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "library/error.h"
#include "library/report.h"
#include "no_memory.h"
#include "profile_fixture.h"

static int make(struct extprof_report **report)
{
	struct report r;
	int err = build_report(&r, REPORT_BY_LINE);

	if (err)
		return err;
	strcpy(r.meta.command, "ruby app.rb");
	r.meta.duration = 1.5;
	r.meta.accounting.taken = 12;
	r.meta.accounting.whole = 8;
	r.meta.accounting.truncated[TRUNC_DEPTH] = 1;
	r.meta.accounting.lost[LOSS_RING_FULL] = 3;
	return library_report__create(report, &r);
}

TEST(library_report_has_each_stack_once)
{
	struct extprof_report *report;
	const struct extprof_stack *s;

	set_up();
	start();
	frame(bar_id, 0);
	frame(foo_id, 2);
	frame(main_id, 0);
	send(5);
	start();
	frame(foo_id, 2);	/* ends where the other one goes on */
	frame(main_id, 0);
	send(2);
	start();
	frame(size_id, 0);
	frame(main_id, 0);
	send(1);
	CHECK_INT(make(&report), 0);
	for (int round = 0; round < 2; round++) {
		uint64_t deep = 0, shallow = 0, in_c = 0;

		while ((s = extprof_report_next(report))) {
			CHECK_INT(s->groups, 0);
			CHECK_STRING(s->frames[0]->name, "<main>");
			CHECK_STRING(s->frames[0]->path, "app.rb");
			if (s->count == 3) {
				CHECK_STRING(s->frames[1]->name, "Foo#foo");
				CHECK_STRING(s->frames[2]->name, "Foo#bar");
				CHECK_INT(s->frames[2]->kind, EXTPROF_FRAME_RUBY);
				CHECK(s->frames[2]->line > 0 && s->frames[2]->first_line > 0);
				deep += s->value;
			} else if (s->frames[1]->kind == EXTPROF_FRAME_C) {
				CHECK_INT(s->count, 2);
				CHECK_STRING(s->frames[1]->name, "Array#size");
				CHECK_INT(s->frames[1]->line, 0);
				in_c += s->value;
			} else {
				CHECK_INT(s->count, 2);
				CHECK_STRING(s->frames[1]->name, "Foo#foo");
				shallow += s->value;
			}
		}
		CHECK_INT(deep, 5);
		CHECK_INT(shallow, 2);
		CHECK_INT(in_c, 1);
		CHECK(!extprof_report_next(report));
		extprof_report_rewind(report);
	}
	extprof_report_destroy(report);
	tear_down();
}

TEST(library_report_without_memory)
{
	struct extprof_report *report;
	struct report r;
	unsigned int at = 0;
	int err;

	set_up();
	start();
	frame(foo_id, 0);
	frame(main_id, 0);
	send(1);
	do {
		CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
		no_memory_at = ++at;
		err = library_report__create(&report, &r);
		no_memory_at = 0;
		CHECK(err == -ENOMEM ? !report : !err);
	} while (err && at < 20);
	CHECK_INT(at, 7);	/* six allocations */
	extprof_report_destroy(report);
	tear_down();
}

TEST(library_report_has_the_account)
{
	struct extprof_report *report;
	const struct extprof_reason *reason;
	size_t i;

	set_up();
	CHECK_INT(make(&report), 0);
	CHECK(!extprof_report_next(report));
	CHECK_INT(extprof_report_accounting(report)->taken, 12);
	CHECK_INT(extprof_report_accounting(report)->whole, 8);
	CHECK_INT(extprof_report_accounting(report)->truncated, 1);
	CHECK_INT(extprof_report_accounting(report)->lost, 3);
	for (i = 0; (reason = extprof_report_lost(report, i)); i++)
		CHECK_INT(reason->count, strcmp(reason->key, "ring-full") ? 0 : 3);
	CHECK_INT(i, LOSS_RING_SHARE);	/* the last one of errors.def: all are there */
	for (i = 0; (reason = extprof_report_truncated(report, i)); i++)
		CHECK_INT(reason->count, strcmp(reason->key, "too-deep") ? 0 : 1);
	CHECK_INT(i, TRUNC_FRAMES_READ);
	CHECK_STRING(extprof_report_facts(report)->command, "ruby app.rb");
	CHECK_INT(extprof_report_facts(report)->duration, 1500000000);
	extprof_report_destroy(report);
	tear_down();
}

TEST(library_options_of_other_versions)
{
	struct {
		size_t size;
		int known, later;
	} given = { .size = sizeof(given), .known = 7 };
	struct {
		size_t size;
		int known;
	} mine;
	struct extprof_error error = { .size = sizeof(error) };
	size_t known = offsetof(__typeof__(given), later);

	/* Of a later version, which is not used. */
	CHECK_INT(options__copy(&mine, known, &given, &error), 0);
	CHECK_INT(mine.known, 7);
	given.later = 1;
	CHECK_INT(options__copy(&mine, known, &given, &error), -E2BIG);
	CHECK_INT(error.code, EXTPROF_USAGE);
	/* Of an earlier one, which has only its size. */
	given.size = sizeof(given.size);
	mine.known = 1;
	CHECK_INT(options__copy(&mine, known, &given, &error), 0);
	CHECK_INT(mine.known, 0);
	given.size = 0;
	CHECK_INT(options__copy(&mine, known, &given, &error), -EINVAL);
	CHECK_INT(options__copy(&mine, known, NULL, NULL), 0);
}

TEST(library_errors_fill_what_the_caller_has)
{
	struct extprof_error error = { .size = offsetof(struct extprof_error, hint), .hint = "mine" };
	struct diag d = { 0 };

	diag__set(&d, DIAG_VERSION, EPROTO, "interface 2.0");
	diag__hint(&d, "take a newer extprof");
	CHECK_INT(error__from(&error, -EPROTO, &d), -EPROTO);
	CHECK_INT(error.code, EXTPROF_VERSION_MISMATCH);
	CHECK_STRING(error.text, "interface 2.0");
	CHECK_STRING(error.hint, "mine");
	error.size = sizeof(error);
	CHECK_INT(error__from(&error, 1, &d), 1);	/* no error */
	CHECK_STRING(error.hint, "mine");
	error__from(&error, -EPROTO, &d);
	CHECK_STRING(error.hint, "take a newer extprof");
	error.size = 0;
	strcpy(error.text, "mine");
	error__from(&error, -EPROTO, &d);
	CHECK_STRING(error.text, "mine");
}

static struct process_row *add_process(struct report *r, int pid, uint32_t parent)
{
	uint32_t i = processes__add(&r->processes);
	struct process_row *row = &r->processes.rows[i];

	row->pid = pid;
	row->parent = parent;
	return row;
}

TEST(library_report_has_its_processes)
{
	const struct extprof_report_process *p;
	struct extprof_report *report;
	struct process_row *row;
	struct report r;

	set_up();
	start();
	frame(main_id, 0);
	send(3);
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	r.meta.cpu_period = 1000;
	row = add_process(&r, 77, PROCESS_NONE);
	snprintf(row->command, sizeof(row->command), "puma");
	snprintf(row->ruby_version, sizeof(row->ruby_version), "3.4.5");
	row->cgroup = strdup("/app");
	row->cpu_time = 5500;
	row->kernel.taken = 6;
	row->kernel.whole = 6;
	row->kernel.lost[LOSS_RING_FULL] = 0;
	row->received.whole = 5;
	row->received.lost[LOSS_NOT_READ] = 1;
	row->cpu_taken = 6;
	row = add_process(&r, 78, 0);
	row->watched = true;
	row->cpu_time_unfollowed = 900;
	snprintf(row->ended, sizeof(row->ended), "exit 0");
	CHECK_INT(library_report__create(&report, &r), 0);
	p = extprof_report_process(report, 0);
	CHECK(p && p->sampled);
	CHECK_INT(p->pid, 77);
	CHECK_INT(p->parent, 0);
	CHECK_STRING(p->command, "puma");
	CHECK_STRING(p->ruby_version, "3.4.5");
	CHECK_STRING(p->cgroup, "/app");
	CHECK_STRING(p->ended, "");
	CHECK_INT(p->cpu_time, 5500);
	CHECK_INT(p->cpu_time_sampled, 6000);
	CHECK_INT(p->taken, 6);
	CHECK_INT(p->whole, 5);
	CHECK_INT(p->lost, 1);
	p = extprof_report_process(report, 1);
	CHECK(p && !p->sampled);
	CHECK_INT(p->parent, 77);
	CHECK_STRING(p->ended, "exit 0");
	CHECK_STRING(p->cgroup, "");
	CHECK_INT(p->cpu_time_besides, 900);
	CHECK(!extprof_report_process(report, 2));
	/* Nothing of that was measured. */
	CHECK(!extprof_report_thread(report, 0));
	CHECK(!extprof_report_pauses(report));
	extprof_report_destroy(report);
	tear_down();
}

TEST(library_report_has_its_threads_and_pauses)
{
	struct sample_event pause = { .source = SOURCE_GC, .value = 3000, .more = 100 };
	const struct extprof_report_thread *t;
	const struct extprof_report_pauses *p;
	struct extprof_report *report;
	struct report r;

	set_up();
	start();
	frame(main_id, 0);
	send(3);
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	r.threads = calloc(1, sizeof(*r.threads));
	r.pauses = calloc(1, sizeof(*r.pauses));
	CHECK(r.threads && r.pauses);
	r.threads->rows = calloc(1, sizeof(*r.threads->rows));
	r.threads->count = 1;
	r.threads->rows[0] = (struct thread_row){
		.name = strdup("[thread worker 1 (42)]"), .pid = 7, .ended = true,
		.account = { .first = 100, .until = 1100, .tid = 42, .thread = 5 },
	};
	r.threads->rows[0].account.time[STATE_RUNNING] = 600;
	r.threads->rows[0].account.time[STATE_GVL] = 400;
	r.threads->rows[0].account.waits[STATE_GVL] = 3;
	r.threads->others.until = 70;
	r.threads->others.time[STATE_SLEEP] = 70;
	r.threads->other_count = 2;
	CHECK_INT(gc_pauses__add(r.pauses, &pause, 0), 0);
	r.meta.pauses_lost = 4;
	/* By name; below two groups it is there twice. */
	r.idle.threads = calloc(4, sizeof(*r.idle.threads));
	CHECK(r.idle.threads);
	r.idle.threads[r.idle.thread_count++] = (struct report_idle_thread){ .name = "[thread worker 0 (41)]", .ns = 1000 };
	r.idle.threads[r.idle.thread_count++] = (struct report_idle_thread){ .name = "[thread worker 1 (42)]", .ns = 100 };
	r.idle.threads[r.idle.thread_count++] = (struct report_idle_thread){ .name = "[thread worker 1 (42)]", .ns = 50 };
	r.idle.threads[r.idle.thread_count++] = (struct report_idle_thread){ .name = "[thread worker 2 (43)]", .ns = 1000 };
	CHECK_INT(library_report__create(&report, &r), 0);
	t = extprof_report_thread(report, 0);
	CHECK(t && t->ruby && t->ended);
	CHECK_STRING(t->name, "[thread worker 1 (42)]");
	CHECK_INT(t->tid, 42);
	CHECK_INT(t->life, 1000);
	CHECK_INT(t->times[EXTPROF_STATE_RUNNING], 600);
	CHECK_INT(t->times[EXTPROF_STATE_GVL], 400);
	CHECK_INT(t->counts[EXTPROF_STATE_GVL], 3);
	CHECK_INT(t->threads, 1);
	CHECK_INT(t->state_count, STATE_MAX);
	CHECK_INT(t->pid, 7);
	CHECK_INT(t->idle, 150);
	t = extprof_report_thread(report, 1);
	CHECK(t && t->threads == 2 && t->life == 70 && t->times[STATE_SLEEP] == 70);
	CHECK(!extprof_report_thread(report, 2));
	p = extprof_report_pauses(report);
	CHECK(p);
	CHECK_INT(p->count, 1);
	CHECK_INT(p->time, 3000);
	CHECK_INT(p->longest, 3000);
	CHECK_INT(p->waited, 100);
	CHECK_INT(p->mark + p->sweep + p->compact + p->other, 3000);
	CHECK_INT(p->lost, 4);
	extprof_report_destroy(report);
	tear_down();
}
