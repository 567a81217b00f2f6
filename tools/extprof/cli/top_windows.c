/* SPDX-License-Identifier: BSD-2-Clause */
/* The windows of extprof top: what each mode had in the last one, and since the reset. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/clock.h"
#include "cli/messages.h"
#include "cli/top.h"
#include "cli/words.h"

#define MODES_MAX 16u
/* Reasons of loss that are told apart. */
#define REASONS_MAX 32u

/* The account of one window, or of several. */
struct account {
	uint64_t samples, truncated, lost;
	/* In the unit of the mode: of threads that are shown apart, of stacks that are not in focus, and of all. */
	uint64_t idle, left_out, amount;
	uint64_t reasons[REASONS_MAX];
};

struct top_mode {
	char name[32];
	char source[128];
	const char *unit;
	bool in_time;		/* it has an amount of time for each sample */
	bool asked;		/* that is known */
	uint64_t time;		/* ns of the last window in which it was sampled */
	struct top_model model;
	struct account last, all;
};

/* Sums that are the same for all modes. */
struct span {
	uint64_t time;		/* ns that were sampled */
	uint64_t passed;	/* ns with the time in which the window was taken; of that time are cpu and own */
	uint64_t cpu;		/* of the processes, ns */
	uint64_t own;		/* of extprof, ns */
};

struct top_windows {
	struct top_mode modes[MODES_MAX];
	uint32_t count, shown;
	char *list;
	bool without_cpu;	/* the recording has no mode that tells CPU time */
	bool without_gvl;	/* waits for it are not among the states that are shown */
	const char *reasons[REASONS_MAX];
	struct span last, all;
	uint64_t own_seen;	/* CPU time of extprof when the window began, ns */
	uint64_t taken;		/* when the last window ended; 0: there was none */
	uint64_t since_start;	/* that all windows took, whatever was reset; ns */
	uint32_t processes;
};

static void add_modes(struct top_windows *w, const char *list)
{
	while (list && *list && w->count < MODES_MAX) {
		struct extprof_mode_info info = { .size = sizeof(info) };
		size_t length = strcspn(list, ",");

		snprintf(w->modes[w->count].name, sizeof(w->modes->name), "%.*s", (int)length, list);
		w->modes[w->count].model.lives = !extprof_mode_info(w->modes[w->count].name, &info) && info.at_end;
		w->count++;
		list += length + (list[length] == ',');
	}
}

struct top_windows *top_windows__new(const char *shown, const char *others, const char *states)
{
	struct top_windows *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->without_gvl = states && !words__has(states, "gvl");
	add_modes(w, shown);
	w->shown = w->count;
	add_modes(w, others);
	for (uint32_t i = 0; i < w->count; i++) {
		w->modes[i].unit = "count";
		if (words__add(&w->list, w->modes[i].name)) {
			top_windows__free(w);
			return NULL;
		}
	}
	return w;
}

void top_windows__free(struct top_windows *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->count; i++)
		top_model__free(&w->modes[i].model);
	free(w->list);
	free(w);
}

const char *top_windows__mode(const struct top_windows *w, uint32_t mode)
{
	return w->modes[mode].name;
}

const char *top_windows__modes(const struct top_windows *w)
{
	return w->list;
}

uint32_t top_windows__count(const struct top_windows *w)
{
	return w->shown;
}

static uint64_t own_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void top_windows__begin(struct top_windows *w)
{
	w->own_seen = own_cpu();
}

void top_windows__reset(struct top_windows *w)
{
	for (uint32_t i = 0; i < w->count; i++) {
		if (w->modes[i].model.lives)
			top_model__rebase(&w->modes[i].model);
		else
			top_model__free(&w->modes[i].model);
		w->modes[i].time = 0;
		memset(&w->modes[i].last, 0, sizeof(w->modes[i].last));
		memset(&w->modes[i].all, 0, sizeof(w->modes[i].all));
	}
	memset(&w->last, 0, sizeof(w->last));
	memset(&w->all, 0, sizeof(w->all));
}

/* Amounts of time, where the mode has them: they say more than numbers of samples. */
static int report_of(struct top_mode *m, struct extprof_recording *r, struct extprof_report **report,
		     struct extprof_error *e)
{
	int err;

	if (m->asked)
		return extprof_recording_report_mode(r, m->name, m->in_time ? "us" : NULL, report, e);
	err = extprof_recording_report_mode(r, m->name, "us", report, e);
	m->in_time = !err;
	if (err && e->code == EXTPROF_USAGE)
		err = extprof_recording_report_mode(r, m->name, NULL, report, e);
	m->asked = !err;
	return err;
}

static void account__add(struct account *sum, const struct account *a)
{
	sum->samples += a->samples;
	sum->truncated += a->truncated;
	sum->lost += a->lost;
	sum->idle += a->idle;
	sum->left_out += a->left_out;
	sum->amount += a->amount;
	for (uint32_t i = 0; i < REASONS_MAX; i++)
		sum->reasons[i] += a->reasons[i];
}

static void take_account(struct top_windows *w, struct top_mode *m, const struct extprof_report *report)
{
	const struct extprof_accounting *a = extprof_report_accounting(report);
	const struct extprof_facts *facts = extprof_report_facts(report);
	const struct extprof_reason *reason;

	m->last = (struct account){ .samples = a->taken, .truncated = a->truncated, .lost = a->lost, .left_out = facts->left_out };
	m->last.amount = facts->total + facts->left_out;
	if (!facts->idle_shown) {
		m->last.idle = facts->idle;
		m->last.amount += facts->idle;
	}
	for (uint32_t i = 0; i < REASONS_MAX && (reason = extprof_report_lost(report, i)); i++) {
		m->last.reasons[i] = reason->count;
		w->reasons[i] = reason->key;
	}
	account__add(&m->all, &m->last);
}

static int take_report(struct top_windows *w, struct top_mode *m, struct extprof_report *report, struct extprof_error *e)
{
	const struct extprof_facts *facts = extprof_report_facts(report);
	int err = 0;

	/* The texts of units live as long as the library. */
	m->unit = facts->unit;
	extprof_clean(m->source, sizeof(m->source), facts->source);
	m->time = facts->duration;
	/* Recordings of one time can have different modes: all of them have what one of them has most of. */
	w->last.time = m->time > w->last.time ? m->time : w->last.time;
	w->last.cpu = facts->cpu_time > w->last.cpu ? facts->cpu_time : w->last.cpu;
	top_model__begin(&m->model);
	if (top_model__add_report(&m->model, report))
		err = message__set(e, EXTPROF_INTERNAL, ENOMEM, "out of memory");
	take_account(w, m, report);
	return err;
}

static int take_mode(struct top_windows *w, struct top_mode *m, struct extprof_recording *r, struct extprof_error *e)
{
	struct extprof_report *report;
	int err = report_of(m, r, &report, e);

	if (err)
		return err;
	err = take_report(w, m, report, e);
	extprof_report_destroy(report);
	return err;
}

struct known {
	pid_t pid;
	const char *host;
};

static int by_pid(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return strcmp(x->host, y->host);
}

/* Those of which there is a sample.  One that is in two files, or in two modes, is one. */
static uint32_t processes_of(struct extprof_report *const *reports, size_t report_count)
{
	const struct extprof_report_process *process;
	size_t room = 0, count = 0;
	uint32_t different = 0;
	struct known *all;

	for (size_t j = 0; j < report_count; j++)
		for (size_t i = 0; extprof_report_process(reports[j], i); i++)
			room++;
	all = calloc(room + 1, sizeof(*all));
	for (size_t j = 0; all && j < report_count; j++)
		for (size_t i = 0; count < room && (process = extprof_report_process(reports[j], i)); i++)
			if (process->taken)
				all[count++] = (struct known){ process->pid, process->host };
	if (count)
		qsort(all, count, sizeof(*all), by_pid);
	for (size_t i = 0; i < count; i++)
		different += !i || by_pid(&all[i], &all[i - 1]);
	free(all);
	return different;
}

int top_windows__show(struct top_windows *w, struct extprof_report *const *reports, size_t count, struct extprof_error *e)
{
	int err = 0;

	top_windows__reset(w);
	w->processes = processes_of(reports, count);
	w->without_cpu = true;
	for (size_t j = 0; j < count; j++)
		w->without_cpu &= !words__has("cpu,wall", extprof_report_facts(reports[j])->mode);
	for (uint32_t i = 0; i < w->count && !err; i++)
		for (size_t j = 0; j < count && !err; j++) {
			struct top_mode *m = &w->modes[i];

			if (strcmp(extprof_report_facts(reports[j])->mode, m->name))
				continue;
			err = take_report(w, m, reports[j], e);
			m->in_time = !strcmp(m->unit, "ns");
		}
	w->last.passed = w->last.time;
	w->all = w->last;
	return err;
}

int top_windows__take(struct top_windows *w, struct extprof_recording *r, struct extprof_error *e)
{
	struct extprof_progress progress = { .size = sizeof(progress) };
	uint64_t own = own_cpu(), now = clock__now();

	w->last.time = w->last.cpu = 0;
	for (uint32_t i = 0; i < w->count; i++) {
		int err = take_mode(w, &w->modes[i], r, e);

		if (err)
			return err;
	}
	extprof_recording_progress(r, &progress);
	w->processes = progress.processes;
	w->last.own = own - w->own_seen;
	w->own_seen = own;
	/* The first one begins with the first ruby. */
	w->last.passed = w->taken ? now - w->taken : w->last.time;
	w->taken = now;
	w->all.time += w->last.time;
	w->since_start += w->last.time;
	w->all.passed += w->last.passed;
	w->all.cpu += w->last.cpu;
	w->all.own += w->last.own;
	return 0;
}

void top_windows__read_memory(struct top_windows *w)
{
	for (uint32_t i = 0; i < w->shown; i++)
		top_model__read_memory(&w->modes[i].model);
}

/* -- what is shown ---------------------------------------------------------------------------------- */

const struct top_model *top_windows__model(const struct top_windows *w, uint32_t mode)
{
	return &w->modes[mode].model;
}

uint64_t top_windows__sum(const struct top_windows *w, uint32_t mode, bool all)
{
	const struct top_model *m = &w->modes[mode].model;

	return all ? m->all : m->last;
}

static const struct top_mode *find(const struct top_windows *w, const char *name)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (!strcmp(w->modes[i].name, name))
			return &w->modes[i];
	return NULL;
}

/* The mode that tells how long threads waited for the GVL; NULL: that was not measured. */
static const struct top_mode *gvl_mode(const struct top_windows *w)
{
	static const char *const modes[] = { "gvl", "wall", "offcpu" };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]) && !w->without_gvl; i++) {
		const struct top_mode *m = find(w, modes[i]);

		if (m && m->in_time)
			return m;
	}
	return NULL;
}

static const char *name_of_below(const char *mode)
{
	struct extprof_mode_info info = { .size = sizeof(info) };

	return extprof_mode_info(mode, &info) ? "" : info.below;
}

void top_windows__head(const struct top_windows *w, uint32_t mode, bool all, struct top_head *h)
{
	const struct top_mode *m = &w->modes[mode], *cpu = find(w, "cpu");
	const struct account *a = all ? &m->all : &m->last;
	const struct span *s = all ? &w->all : &w->last;
	const struct top_mode *gvl = gvl_mode(w);
	uint32_t most = 0;

	*h = (struct top_head){
		.mode = m->name, .source = m->source, .unit = m->unit, .window = (double)(all || !m->time ? s->time : m->time) / 1e9,
		.on_cpu = -1, .gvl = -1, .gc = -1, .own = -1, .idle = a->idle ? (double)a->idle / (double)a->amount : -1,
		.left_out = a->left_out ? (double)a->left_out / (double)a->amount : -1, .below = name_of_below(m->name),
		.lives = m->model.lives, .made_in = (double)w->since_start / 1e9, .states = m->model.states, .rests = m->all.idle > 0, .tells_made = m->model.tells_made, .samples = a->samples, .truncated = a->truncated, .lost = a->lost, .processes = w->processes,
	};
	for (uint32_t i = 0; i < REASONS_MAX; i++)
		if (a->reasons[i] > a->reasons[most])
			most = i;
	if (a->reasons[most])
		h->why_lost = w->reasons[most];
	if (!s->time || !s->passed)
		return;
	if (!w->without_cpu)
		h->on_cpu = (double)s->cpu / (double)s->passed;
	h->own = (double)s->own / (double)s->passed;
	if (gvl)
		h->gvl = (double)(all ? gvl->model.all_gvl : gvl->model.last_gvl) / (double)s->time;
	if (cpu && (all ? cpu->model.all : cpu->model.last))
		h->gc = all ? (double)cpu->model.all_gc / (double)cpu->model.all :
			      (double)cpu->model.last_gc / (double)cpu->model.last;
}

static const struct top_sums *sums_of(const struct top_mode *m, const struct top_row *row, bool all)
{
	const struct top_row *same = m ? top_model__find(&m->model, TOP_PROCESSES, row) : NULL;

	if (!same || !same->account)
		return NULL;
	return all ? &same->account->all : &same->account->last;
}

void top_windows__more(const struct top_windows *w, const struct top_row *row, bool all, struct top_more *more)
{
	const struct span *s = all ? &w->all : &w->last;
	const struct top_mode *gvl = gvl_mode(w), *cpu = find(w, "cpu");
	const struct top_row *ran = cpu ? top_model__find(&cpu->model, TOP_PROCESSES, row) : NULL;
	const struct top_sums *sums;

	*more = (struct top_more){ .cpu = -1, .gvl = -1, .gc = -1, .made = -1 };
	if (row->account) {
		more->sums = all ? &row->account->all : &row->account->last;
		more->resident = row->account->resident;
		more->live_slots = row->account->live_slots;
		if (row->account->made != UINT64_MAX && w->last.passed)
			more->made = (double)row->account->made * 1e9 / (double)w->last.passed;
	}
	if (row->kind != EXTPROF_FRAME_PROCESS || !s->time || !s->passed)
		return;
	if (more->sums && !w->without_cpu)
		more->cpu = (double)more->sums->cpu / (double)s->passed;
	if (gvl) {
		sums = sums_of(gvl, row, all);
		more->gvl = sums ? (double)sums->gvl / (double)s->time : 0;
	}
	if (ran && top_row__amount(ran, all)->total) {
		sums = sums_of(cpu, row, all);
		more->gc = sums ? (double)sums->gc / (double)top_row__amount(ran, all)->total : 0;
	}
}
