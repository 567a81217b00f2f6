/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples for a function of the caller's, from an engine on a session without a kernel. */
#include "engine_fixture.h"

#include "library/samples.h"
#include "wire/states.h"

static struct samples *samples;

/* What was told last, and how often something was. */
static struct told {
	int calls, refuse;
	char mode[16], unit[8], name[64], below[64], process[64], thread[64], label[64];
	uint64_t value, count, time;
	size_t frames, labels;
	pid_t pid;
	uint32_t tid;
	int kind, state, below_state;
	bool truncated;
} told;

static int on_sample(void *context, const struct extprof_sample *s)
{
	struct told *t = context;
	const struct extprof_frame *inner = s->stack->frames[s->stack->count - 1];

	if (t->refuse)
		return t->refuse;
	t->calls++;
	snprintf(t->mode, sizeof(t->mode), "%s", s->mode);
	snprintf(t->unit, sizeof(t->unit), "%s", s->unit);
	snprintf(t->name, sizeof(t->name), "%s", s->stack->frames[0]->name);
	snprintf(t->below, sizeof(t->below), "%s", inner->bare);
	snprintf(t->process, sizeof(t->process), "%s", s->process ? s->process->bare : "none");
	snprintf(t->thread, sizeof(t->thread), "%s", s->thread ? s->thread->bare : "none");
	t->value = s->stack->value;
	t->count = s->count;
	t->time = s->time;
	t->frames = s->stack->count;
	t->labels = s->label_count;
	t->pid = s->pid;
	t->tid = s->tid;
	t->kind = s->stack->frames[0]->kind;
	t->state = s->state;
	t->below_state = inner->state;
	t->truncated = s->truncated;
	return 0;
}

static struct process *start_samples(void)
{
	struct process *p;

	set_up(false);
	memset(&told, 0, sizeof(told));
	if (!e || samples__create(&samples, e, on_sample, &told, &diag))
		return NULL;
	p = first();
	return p && attach(p, 7) ? p : NULL;
}

static void end_samples(void)
{
	tear_down();
	samples__free(samples);
}

TEST(samples_are_told_as_parts)
{
	struct extprof_error error = { .size = sizeof(error) };
	struct sample_event *s;
	struct process *p = start_samples();

	CHECK(p);
	snprintf(e->rows.rows[p->row].command, sizeof(e->rows.rows[p->row].command), "ruby app.rb");
	s = fake_session__sample(SOURCE_CPU, p->number, 7, method);
	s->time = 5000;
	s->truncated = TRUNC_DEPTH;
	CHECK_INT(engine__step(e, &diag), 0);
	CHECK_INT(told.calls, 1);
	CHECK_STRING(told.mode, "cpu");
	CHECK_STRING(told.unit, "ns");
	CHECK_INT(told.value, 10);
	CHECK_INT(told.count, 1);
	CHECK_INT(told.time, 5000);
	CHECK_INT(told.pid, pid);
	CHECK_INT(told.tid, 1);
	CHECK_INT(told.state, EXTPROF_STATE_RUNNING);
	CHECK_STRING(told.process, "app.rb");
	CHECK_STRING(told.below, "<main>");
	CHECK_INT(told.kind, EXTPROF_FRAME_MARK);
	CHECK(told.truncated);
	/* The account is that of the report. */
	fake_session__sample(SOURCE_CPU, p->number, 7, method);
	CHECK_INT(engine__finish(e, &diag), 0);
	CHECK_INT(told.calls, 2);
	CHECK_INT(told.frames, 1);
	CHECK(!told.truncated);
	CHECK_INT(samples__status(samples, &error), 0);
	end_samples();
}

TEST(samples_of_waits_have_their_state)
{
	struct sample_event *s;
	struct process *p;

	set_up(false);
	settings.modes[0] = &mode_offcpu;
	engine__destroy(e);
	e = NULL;
	fake_session__init();
	CHECK_INT(engine__create(&e, &settings, &diag), 0);
	CHECK_INT(engine__open(e, &diag), 0);
	memset(&told, 0, sizeof(told));
	CHECK_INT(samples__create(&samples, e, on_sample, &told, &diag), 0);
	p = first();
	CHECK(p && attach(p, 7));
	s = fake_session__sample(SOURCE_SCHED, p->number, 7, method);
	s->state = STATE_SLEEP;
	s->value = 7000000;
	CHECK_INT(engine__step(e, &diag), 0);
	CHECK_INT(told.calls, 1);
	CHECK_STRING(told.mode, "offcpu");
	CHECK_INT(told.value, 7000000);
	CHECK_INT(told.state, STATE_SLEEP);
	CHECK_STRING(told.name, "<main>");
	CHECK_STRING(told.below, "sleep");
	CHECK_INT(told.below_state, STATE_SLEEP);
	CHECK_INT(told.frames, 2);
	end_samples();
}

TEST(samples_are_told_no_more_after_a_refusal)
{
	struct extprof_error error = { .size = sizeof(error) };
	struct report_request request = { 0 };
	struct process *p = start_samples();
	struct report r;

	CHECK(p);
	told.refuse = -ENOSPC;
	fake_session__sample(SOURCE_CPU, p->number, 7, method);
	CHECK_INT(engine__step(e, &diag), 0);
	CHECK_INT(samples__status(samples, &error), -ENOSPC);
	CHECK_INT(error.code, EXTPROF_OUTPUT);
	CHECK(strstr(error.text, "takes no more: No space left"));
	told.refuse = 0;
	fake_session__sample(SOURCE_CPU, p->number, 7, method);
	CHECK_INT(engine__finish(e, &diag), 0);
	CHECK_INT(told.calls, 0);
	/* The report has all of them. */
	CHECK_INT(engine__report(e, &request, &r, &diag), 0);
	CHECK_INT(r.meta.accounting.whole, 2);
	report__free(&r);
	end_samples();
}

TEST(samples_go_on_after_a_restart)
{
	struct process *p = start_samples();

	CHECK(p);
	for (int i = 0; i < 3; i++) {
		fake_session__sample(SOURCE_CPU, p->number, 7, method);
		told.name[0] = told.process[0] = '\0';
		CHECK_INT(engine__step(e, &diag), 0);
		CHECK_INT(told.calls, i + 1);
		CHECK_STRING(told.name, "<main>");
		CHECK_INT(told.pid, pid);
		CHECK_INT(engine__snapshot(e, &diag), 0);
		CHECK_INT(engine__restart(e, &diag), 0);
	}
	end_samples();
}
