/* SPDX-License-Identifier: BSD-2-Clause */
/* The reports of what was sampled, and what is said of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "engine/state.h"
#include "profile/idle.h"
#include "profile/unit.h"

void engine__describe_sources(const struct engine *e, uint32_t sources, struct report_meta *m)
{
	size_t used = 0;

	for (uint32_t i = 0; i < SOURCE_MAX; i++) {
		struct source_facts facts;

		if (!(sources & 1u << i))
			continue;
		session__facts(e->session, i, &facts);
		if (used < sizeof(m->source))
			used += (size_t)snprintf(m->source + used, sizeof(m->source) - used, "%s%s",
						 used ? "; " : "", facts.text);
		if (i != SOURCE_CPU)
			continue;
		m->rate = e->settings.rate;
		m->period = facts.period;
		m->cpus = facts.cpus;
		m->unsampled_cpus = facts.unsampled_cpus;
	}
}

/* Fill in what is the same for all modes. */
static void describe_all(const struct engine *e, struct report_meta *m)
{
	struct source_counters total;
	struct received received;
	struct source_facts facts;

	/* A pause of the collector is no sample of a process. */
	engine__total(e, e->sources & ~(1u << SOURCE_GC), &total, &received);
	accounting__settle(&m->all_modes, &total, &received);
	if (!(e->sources & 1u << SOURCE_CPU))
		return;
	m->all_modes.cpu_taken = e->kernel[SOURCE_CPU].taken;
	session__facts(e->session, SOURCE_CPU, &facts);
	m->cpu_period = facts.period;
}

static void describe_pauses(const struct engine *e, struct report *report)
{
	struct source_counters total;
	struct received received;
	struct source_facts facts;
	struct accounting sums;

	engine__total(e, 1u << SOURCE_GC, &total, &received);
	accounting__settle(&sums, &total, &received);
	session__facts(e->session, SOURCE_GC, &facts);
	report->meta.pauses_lost = accounting__lost(&sums);
	report->meta.pauses_begun_before = facts.begun_before - e->begun_before;
	report->meta.pauses_not_ended = facts.not_ended;
}

/* Until when it is recorded: CLOCK_MONOTONIC, ns. */
static uint64_t recorded_until(const struct engine *e)
{
	return e->ended_at ? e->ended_at : e->snapshot ? e->paused_at : deadline__now();
}

/* How long it is recorded, without pauses, ns. */
static uint64_t window_of(const struct engine *e)
{
	return e->started ? engine__recorded(e, e->from, recorded_until(e)) : 0;
}

void engine__describe_host(struct report_meta *m)
{
	char host[sizeof(m->host)] = "";

	if (!gethostname(host, sizeof(host) - 1))
		text__clean(m->host, sizeof(m->host), host);
}

static void describe(const struct engine *e, struct report_meta *m)
{
	const struct process_row *row = e->first_row < e->rows.count ? &e->rows.rows[e->first_row] : NULL;

	if (row) {
		snprintf(m->command, sizeof(m->command), "%s", row->command);
		m->pid = row->pid;
	}
	snprintf(m->ruby_version, sizeof(m->ruby_version), "%s", e->ruby_version);
	snprintf(m->ruby_description, sizeof(m->ruby_description), "%s", e->ruby_description);
	snprintf(m->ended, sizeof(m->ended), "%s", e->ended ? e->ended : "still recording");
	snprintf(m->trigger, sizeof(m->trigger), "%s", e->triggers.in_file);
	engine__describe_host(m);
	m->modes = e->settings.mode_count;
	m->not_added = e->not_added;
	snprintf(m->why_not_added, sizeof(m->why_not_added), "%.255s", e->why_not_added.text);
	m->intervals_kept = e->intervals_kept;
	m->why_interval_kept = e->why_interval_kept;
	m->native_joined = e->native_frames.joined;
	m->native_apart = e->native_frames.apart;
	for (int i = UNWIND_END_OUTERMOST + 1; i < UNWIND_ENDS; i++)
		m->native_cut += e->native_frames.ends[i];
	m->unnamed_kernel = e->kernel_frames.unnamed;
	m->why_unnamed_kernel = e->kernel_frames.err;
	m->started = engine__started(e);
	m->started_at = e->from;
	m->duration = (double)window_of(e) / 1e9;
	if (e->started)
		m->paused = engine__paused(e, recorded_until(e));
	m->cpu_time += e->cpu_time_dropped;
	for (uint32_t i = 0; i < e->rows.count; i++) {
		const struct process_row *r = &e->rows.rows[i];

		m->cpu_time += r->cpu_time;
		if (r->kernel.taken)
			report_version__add(&m->version, r->resource, (uint64_t)e->started_wall * SECOND +
					    (r->started > e->started_at ? r->started - e->started_at : 0));
	}
	m->frames = e->resolver.frame_count;
	m->unknown_frames = e->resolver.unknown_frames;
	m->unreadable_names += e->resolver.unreadable_names;
	m->crowded_names += e->resolver.crowded_names;
	m->jit_leaves = e->resolver.jit_leaves;
	m->jit_exact = e->resolver.jit_exact;
	m->gc_samples = e->resolver.gc_samples;
	m->unknown_threads = e->resolver.unknown_threads;
	m->expired_labels = e->resolver.expired_labels;
	m->unread_labels = e->resolver.unread_labels;
	m->invalid_traces = e->resolver.invalid_traces;
	m->unread_traces = e->resolver.unread_traces;
	m->lost_events = session__lost_events(e->session) + e->refused_events - e->lost_events;
}

int engine__find_mode(const struct engine *e, const char *name, uint32_t *number)
{
	for (uint32_t i = 0; i < e->settings.mode_count; i++) {
		if (strcmp(e->settings.modes[i]->name, name))
			continue;
		*number = i;
		return 0;
	}
	return -ENOENT;
}

/* Only the probe tells of them. */
static bool has_pauses(const struct engine *e, const struct mode *mode)
{
	return mode->beside & 1u << SOURCE_GC && e->reader == READER_EBPF;
}

/* The tables that a report has besides its stacks.  0 or -ENOMEM. */
static int copy_tables(const struct engine *e, const struct mode *mode, struct report *report)
{
	int err = processes__copy(&report->processes, &e->rows);

	if (!err && mode->sources & 1u << SOURCE_SCHED) {
		report->threads = calloc(1, sizeof(*report->threads));
		err = report->threads ? states__copy_rows(&e->states, report->threads) : -ENOMEM;
	}
	if (!err && has_pauses(e, mode)) {
		report->pauses = calloc(1, sizeof(*report->pauses));
		err = report->pauses ? gc_pauses__copy(report->pauses, &e->pauses) : -ENOMEM;
	}
	return err;
}

static uint32_t add_native(void *context, const struct frame *f)
{
	struct engine *e = context;

	return frame_table__add(&e->frames, f);
}

static void locate(void *context, uint32_t frame, struct debug_module *m)
{
	struct engine *e = context;

	native_frames__module(&e->native_frames, &e->frames, frame, m);
}

/* The tree with lines and inlined functions of native code, in *expanded, which the caller frees.  0 or -ENOMEM; *tree stays as it is if
 * nothing of that is wanted or known. */
static int expand(struct engine *e, const struct tree **tree, struct tree *expanded)
{
	struct native_lines *l = &e->native_lines;
	uint32_t count = e->frames.count, *all;
	int err = 0;

	l->lines = e->settings.native_lines;
	l->inlined = e->settings.inlined;
	if (!native_lines__wanted(l) || !e->resolver.native)
		return 0;
	l->add = add_native;
	l->locate = locate;
	l->context = e;
	all = malloc((count + 1u) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		all[i] = code__space(e->frames.codes[i]) == CODE_NATIVE ? i : FRAME_MERGED;
	err = native_lines__find(l, &e->frames, all, count);
	free(all);
	if (err || !l->found)
		return err;
	err = native_lines__tree(l, *tree, expanded);
	l->crowded |= err == -ENOSPC;
	if (!err)
		*tree = expanded;
	return err == -ENOSPC ? 0 : err;
}

static int note_lines(const struct engine *e, struct report_meta *m)
{
	struct text text = { 0 };
	bool failed;

	native_lines__add_sum(&e->native_lines, &text);
	snprintf(m->native_lines, sizeof(m->native_lines), "%s", text__string(&text));
	failed = text.failed;
	text__free(&text);
	return failed ? -ENOMEM : 0;
}

int engine__name_frames(struct engine *e)
{
	for (uint32_t i = 0; i < e->set.vm_count; i++)
		if (e->set.vms[i] && (resolve__name_threads(&e->resolver, e->set.vms[i]) ||
				      states__name_threads(&e->states, e->set.vms[i])))
			return -ENOMEM;
	return resolve__name_processes(&e->resolver) || resolve__describe(&e->resolver, &e->table) ? -ENOMEM : 0;
}

static bool has_idle(const struct engine *e)
{
	for (uint32_t i = 0; i < e->settings.mode_count; i++)
		if (idle__concerns(e->settings.modes[i]))
			return true;
	return false;
}

/* A window is over: what its threads did tells which of them rest in the next one.  Without memory for that it is not known. */
void engine__remember_idle(struct engine *e)
{
	if (e->settings.idle || !has_idle(e) || engine__name_frames(e))
		return;
	for (uint32_t i = 0; i < e->settings.mode_count; i++) {
		const struct mode *mode = e->settings.modes[i];
		const struct idle window = {
			.tree = engine__tree_of(e, mode), .frames = &e->frames, .mode_frame = e->resolver.mode_frames[i], .window = window_of(e),
		};

		if (idle__concerns(mode))
			idle_history__add(&e->idle_histories[i], &window);
	}
}

int engine__report(struct engine *e, const struct report_request *request, struct report *report,
		   struct diag *d)
{
	const struct mode *mode = e->settings.modes[request->mode];
	struct report_view view = {
		.mode = mode, .mode_frame = e->resolver.mode_frames[request->mode],
		.by_value = request->unit ? request->unit->unit != UNIT_COUNT :
			    request->by_value || !mode->by_count,
		.divisor = request->unit ? request->unit->divisor : 0,
	};
	struct groups show = e->settings.groups;
	struct source_counters total;
	struct received received;
	struct owner_dirs cwds = { 0 };
	struct owner_rules rules;
	const struct tree *tree = engine__tree_of(e, mode);
	struct tree expanded = { 0 };
	int err = -ENOMEM;

	if (request->unit && !unit__fits(request->unit, mode))
		return diag__set(d, DIAG_USAGE, EINVAL, "mode %s cannot be shown in %s", mode->name,
				 request->unit->name);
	if (e->settings.group_by_default && processes__followed(&e->rows) > 1)
		groups__add_outermost(&show, request->by_command ? GROUP_COMMAND : GROUP_PROCESS);
	groups__add_mask(&show, request->labels);
	if (engine__name_frames(e))
		goto cleanup;
	for (uint32_t i = 0; i < e->rows.count; i++)
		if (owner_dirs__add_cwd(&cwds, e->rows.rows[i].cwd))
			goto cleanup;
	owner_dirs__rules(&e->settings.apps, &cwds, &rules);
	view.rules = &rules;
	view.transform = &e->settings.transform;
	view.shows_idle = e->settings.idle;
	view.idle_apart = e->settings.idle_apart;
	view.idle_history = &e->idle_histories[request->mode];
	view.window = window_of(e);
	err = request->accounts ? 0 : expand(e, &tree, &expanded);
	if (err)
		goto cleanup;
	err = report__build(report, tree, &e->frames, &show,
			    e->settings.lines && request->detail < REPORT_BY_LINE ? REPORT_BY_LINE : request->detail, &view);
	if (err)
		goto cleanup;
	engine__total(e, mode->sources, &total, &received);
	err = copy_tables(e, mode, report);
	if (!err)
		err = note_lines(e, &report->meta);
	if (err) {
		report__free(report);
		goto cleanup;
	}
	report->meta.missed = total.missed;
	accounting__settle(&report->meta.accounting, &total, &received);
	if (mode->sources & 1u << SOURCE_CPU)
		report->meta.accounting.cpu_taken = e->kernel[SOURCE_CPU].taken;
	if (has_pauses(e, mode))
		describe_pauses(e, report);
	engine__describe_sources(e, mode->sources, &report->meta);
	describe_all(e, &report->meta);
	describe(e, &report->meta);
	if (mode->lives)
		engine__describe_objects(e, &report->meta);
cleanup:
	owner_dirs__free(&cwds);
	tree__free(&expanded);
	return err ? diag__set(d, DIAG_INTERNAL, -err, "out of memory for the report") : 0;
}

int engine__reports(struct engine *e, const struct report_request *request, struct reports *reports,
		    struct diag *d)
{
	struct report_request one = *request;
	int err = 0;

	memset(reports, 0, sizeof(*reports));
	for (one.mode = 0; one.mode < e->settings.mode_count && !err; one.mode++) {
		err = engine__report(e, &one, &reports->list[one.mode], d);
		if (!err)
			reports->count++;
	}
	if (err)
		reports__free(reports);
	return err;
}
