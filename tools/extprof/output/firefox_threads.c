/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads and processes: who there is, which samples are whose, and from when to when they lived. */
#include "output/firefox.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define THREADS_MAX (1u << 20)

static const struct frame *frame_of(const struct report *r, uint32_t label)
{
	return &r->labels[label].frame;
}

/* -- who there is --------------------------------------------------------------------------------- */

/* From when to when it was followed. */
static void find_life(const struct firefox *x, uint32_t pid, bool has_host, struct firefox_process *p)
{
	const struct report *r = &x->reports[0];
	uint64_t begin = r->timeline->begin;
	uint32_t alike = 0;

	p->start = 0;
	p->end = TIMELINE_NEVER;
	/* The rows do not say of which machine they are. */
	for (uint32_t i = 0; has_host && i < r->processes.count; i++)
		alike += r->processes.rows[i].pid == (int)pid && !r->processes.rows[i].watched;
	for (uint32_t i = 0; pid && alike < 2 && i < r->processes.count; i++) {
		const struct process_row *row = &r->processes.rows[i];

		if (row->pid != (int)pid || row->watched)
			continue;
		p->row = row;
		p->start = row->started > begin ? row->started - begin : 0;
		p->end = row->ended_at > begin && *row->ended ? row->ended_at - begin : TIMELINE_NEVER;
		return;
	}
}

/* The process of a thread: two that look the same, on one machine, are one.  NULL: out of memory. */
static struct firefox_process *process_of(struct firefox *x, const struct firefox_thread *t)
{
	const struct report *r = &x->reports[t->report];
	const char *name = r->labels[t->process].name, *host = t->host == FIREFOX_NONE ? "" : r->labels[t->host].name;
	uint32_t pid = frame_of(r, t->process)->pid, alike = 0;
	struct firefox_process *p;
	uint64_t key = hash__bytes(host, strlen(host), hash__bytes(name, strlen(name), pid));
	uint32_t number = map64__get(&x->process_map, key);

	if (number != MAP64_NONE)
		return &x->processes[number];
	for (uint32_t i = 0; i < x->process_count; i++)
		alike += pid && x->processes[i].number_of_pid == pid;
	if (array__reserve(&x->processes, x->process_count, 1, &x->process_room, THREADS_MAX, sizeof(*p)) ||
	    map64__add(&x->process_map, key, x->process_count))
		return NULL;
	p = &x->processes[x->process_count];
	*p = (struct firefox_process){ .number_of_pid = pid, .number = x->process_count++ };
	/* The viewer tells processes apart by this text. */
	if (!pid)
		snprintf(p->pid, sizeof(p->pid), "unknown.%" PRIu32, p->number);
	else if (alike)
		snprintf(p->pid, sizeof(p->pid), "%" PRIu32 ".%" PRIu32, pid, alike);
	else
		snprintf(p->pid, sizeof(p->pid), "%" PRIu32, pid);
	find_life(x, pid, *host, p);
	return p;
}

/* Which thread each node of a report is of.  0 or -ENOMEM. */
static int find_threads(struct firefox *x, uint32_t report)
{
	const struct report *r = &x->reports[report];
	uint32_t *of = malloc(r->node_count * sizeof(*of));
	uint32_t *processes = calloc(r->node_count, sizeof(*processes)), *labels = calloc(r->node_count, sizeof(*labels));
	uint32_t *hosts = calloc(r->node_count, sizeof(*hosts));
	struct map64 map = { 0 };
	int err = of && processes && labels && hosts ? 0 : -ENOMEM;

	x->thread_of[report] = of;
	for (uint32_t i = 0; i < r->node_count && !err; i++) {
		const struct report_node *n = &r->nodes[i];
		uint64_t key;

		of[i] = i && n->depth > r->group_count ? of[n->parent] : FIREFOX_NONE;
		processes[i] = i ? processes[n->parent] : FIREFOX_NONE;
		labels[i] = i ? labels[n->parent] : FIREFOX_NONE;
		hosts[i] = i ? hosts[n->parent] : FIREFOX_NONE;
		if (firefox__is_host(r, i))
			hosts[i] = n->label;
		/* A group of several processes has no pid. */
		if (i && frame_of(r, n->label)->kind == FRAME_PROCESS &&
		    (processes[i] == FIREFOX_NONE || frame_of(r, n->label)->pid))
			processes[i] = n->label;
		if (i && frame_of(r, n->label)->kind == FRAME_THREAD)
			labels[i] = n->label;
		if (n->depth != r->group_count || processes[i] == FIREFOX_NONE || labels[i] == FIREFOX_NONE)
			continue;
		key = hash__mix(hash__mix((uint64_t)processes[i] << 32 | labels[i]) ^ hosts[i]);
		of[i] = map64__get(&map, key);
		if (of[i] != MAP64_NONE)
			continue;
		if (array__reserve(&x->threads, x->thread_count, 1, &x->thread_room, THREADS_MAX, sizeof(*x->threads)) ||
		    map64__add(&map, key, x->thread_count)) {
			err = -ENOMEM;
			break;
		}
		x->threads[x->thread_count] = (struct firefox_thread){
			.report = report, .host = hosts[i], .process = processes[i], .label = labels[i], .number = x->thread_count,
			.allocs = FIREFOX_NONE,
		};
		of[i] = x->thread_count++;
	}
	map64__free(&map);
	free(processes);
	free(labels);
	free(hosts);
	return err;
}

/* -- which moments are whose ---------------------------------------------------------------------- */

static uint32_t thread_of(const struct firefox *x, uint32_t report, const struct moment *m)
{
	return m->node < x->reports[report].node_count ? x->thread_of[report][m->node] : FIREFOX_NONE;
}

static int order_moments(struct firefox *x, uint32_t report)
{
	const struct timeline *t = x->reports[report].timeline;
	uint32_t next = 0, *order = malloc((t->count + 1u) * sizeof(*order));

	x->order[report] = order;
	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++) {
		uint32_t number = thread_of(x, report, &t->moments[i]);

		if (number == FIREFOX_NONE)
			continue;
		x->threads[number].count++;
		x->threads[number].amount += t->moments[i].amount;
	}
	for (uint32_t i = 0; i < x->thread_count; i++) {
		if (x->threads[i].report != report)
			continue;
		x->threads[i].first = next;
		next += x->threads[i].count;
		x->threads[i].count = 0;
	}
	for (uint32_t i = 0; i < t->count; i++) {
		uint32_t number = thread_of(x, report, &t->moments[i]);

		if (number != FIREFOX_NONE)
			order[x->threads[number].first + x->threads[number].count++] = i;
	}
	return 0;
}

static bool is_main(const struct firefox *x, const struct firefox_thread *t)
{
	const struct report *r = &x->reports[t->report];
	uint32_t pid = frame_of(r, t->process)->pid;

	return pid && frame_of(r, t->label)->tid == pid;
}

/* Processes with most first; of each the modes as they were recorded, and of these the threads with most first. */
static int by_place(const void *a, const void *b)
{
	const struct firefox_thread *x = a, *y = b;

	if (x->of != y->of) {
		if (x->of->amount != y->of->amount)
			return x->of->amount > y->of->amount ? -1 : 1;
		return x->of->number < y->of->number ? -1 : 1;
	}
	if (x->report != y->report)
		return x->report < y->report ? -1 : 1;
	if (x->amount != y->amount)
		return x->amount > y->amount ? -1 : 1;
	return x->label < y->label ? -1 : x->label > y->label;
}

/*
 * A thread that has samples of another mode shows its allocations, too: the viewer lets one choose.  Other threads of
 * that mode stay.  Afterwards x->ranks is of all of them.
 */
static int host_allocs(struct firefox *x)
{
	struct map64 first = { 0 };
	uint32_t kept = 0;
	int err = 0;

	x->hosted = malloc((x->thread_count + 1u) * sizeof(*x->hosted));
	if (!x->hosted)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->thread_count && !err; i++) {
		const struct firefox_thread t = x->threads[i];
		const char *name = x->reports[t.report].labels[t.label].name;
		uint64_t key = hash__bytes(name, strlen(name), t.of->number);
		uint32_t host = map64__get(&first, key);

		if (host != MAP64_NONE && firefox__is_allocs(&x->reports[t.report]) && x->threads[host].report != t.report &&
		    x->threads[host].allocs == FIREFOX_NONE) {
			x->threads[host].allocs = x->hosted_count;
			x->hosted[x->hosted_count++] = t;
			x->ranks[t.number] = host;
			continue;
		}
		if (host == MAP64_NONE)
			err = map64__add(&first, key, kept);
		x->ranks[t.number] = kept;
		x->threads[kept++] = t;
	}
	x->thread_count = kept;
	map64__free(&first);
	return err;
}

static int put_in_order(struct firefox *x)
{
	struct map64 lives = { 0 };
	bool has_main = false;
	int err;

	if (x->thread_count)
		qsort(x->threads, x->thread_count, sizeof(*x->threads), by_place);
	x->ranks = malloc((x->thread_count + 1u) * sizeof(*x->ranks));
	err = x->ranks ? host_allocs(x) : -ENOMEM;
	for (uint32_t i = 0; i < x->thread_count && !err; i++) {
		struct firefox_thread *t = &x->threads[i];

		t->shows_process = !i || x->threads[i - 1].of != t->of;
		/* The viewer shows one main thread of a process, and others as threads below it. */
		has_main &= !t->shows_process;
		t->is_main = !has_main && is_main(x, t);
		has_main |= t->is_main;
		t->shows_life = t->life && map64__get(&lives, (uintptr_t)t->life) == MAP64_NONE;
		if (t->shows_life)
			err = map64__add(&lives, (uintptr_t)t->life, i);
	}
	map64__free(&lives);
	if (!err)
		err = firefox__find_spans(x);
	return err ? err : firefox__find_ties(x);
}

/* The accounts of threads know no processes: only a tid that one of them has says which it is of. */
static int find_lives(struct firefox *x)
{
	const struct thread_rows *rows = NULL;
	struct map64 seen = { 0 };
	bool *twice;
	int err = 0;

	for (uint32_t i = 0; i < x->count && !rows; i++)
		rows = x->reports[i].threads;
	if (!rows)
		return 0;
	twice = calloc(rows->count + 1u, sizeof(*twice));
	for (uint32_t i = 0; twice && i < rows->count && !err; i++) {
		uint32_t first = map64__get(&seen, rows->rows[i].account.tid);

		if (first == MAP64_NONE)
			err = map64__add(&seen, rows->rows[i].account.tid, i);
		else
			twice[first] = true;
	}
	for (uint32_t i = 0; twice && i < x->thread_count && !err; i++) {
		struct firefox_thread *t = &x->threads[i];
		const struct frame *f = frame_of(&x->reports[t->report], t->label);
		uint32_t row = f->tid && f->role != ROLE_FIBERS ? map64__get(&seen, f->tid) : MAP64_NONE;

		if (row != MAP64_NONE && !twice[row])
			t->life = &rows->rows[row];
	}
	if (!twice)
		err = -ENOMEM;
	map64__free(&seen);
	free(twice);
	return err;
}

int firefox__make_threads(struct firefox *x)
{
	int err = 0;

	for (uint32_t i = 0; i < x->count && !err; i++) {
		err = find_threads(x, i);
		if (!err)
			err = order_moments(x, i);
	}
	for (uint32_t i = 0; i < x->thread_count && !err; i++)
		if (!process_of(x, &x->threads[i]))
			err = -ENOMEM;
	/* The list does not move any more. */
	for (uint32_t i = 0; i < x->thread_count && !err; i++) {
		struct firefox_thread *t = &x->threads[i];
		struct firefox_process *p = process_of(x, t);

		t->of = p;
		if (t->report == 0)
			p->amount += t->amount;
	}
	if (!err)
		err = find_lives(x);
	return err ? err : put_in_order(x);
}

/* -- threads -------------------------------------------------------------------------------------- */

static void add_names(struct firefox *x, const struct firefox_thread *t)
{
	const struct report *r = &x->reports[t->report];
	struct text name = { 0 }, process = { 0 };

	if (x->count > 1)
		text__addf(&name, "%s: ", r->meta.mode->name);
	frame__add_bare(frame_of(r, t->label), &name);
	if (t->host != FIREFOX_NONE) {
		frame__add_bare(frame_of(r, t->host), &process);
		text__adds(&process, ": ");
	}
	frame__add_bare(frame_of(r, t->process), &process);
	json__add(&x->json, "name", name.failed ? NULL : json_string(text__string(&name)));
	json__add(&x->json, "processName", process.failed ? NULL : json_string(text__string(&process)));
	text__free(&name);
	text__free(&process);
}

/* From its account; else since its first sample. */
static void add_life(struct firefox *x, const struct firefox_thread *t)
{
	const struct timeline *line = x->reports[t->report].timeline;
	uint64_t begin = t->count ? line->moments[x->order[t->report][t->first]].time : 0, end = TIMELINE_NEVER;

	if (t->life) {
		begin = t->life->account.first > line->begin ? t->life->account.first - line->begin : 0;
		if (t->life->ended && t->life->account.until > line->begin)
			end = t->life->account.until - line->begin;
	}
	firefox__add_time(x, "registerTime", begin);
	firefox__add_time(x, "unregisterTime", end);
}

static int add_thread(struct firefox *x, const struct firefox_thread *t)
{
	const struct report *r = &x->reports[t->report];
	struct json *j = &x->json;
	int err;

	json__open(j, NULL, '{');
	add_names(x, t);
	json__add(j, "processType", json_string("default"));
	json__add(j, "pid", json_string(t->of->pid));
	json__number(j, "tid", frame_of(r, t->label)->tid, 0);
	json__add(j, "isMainThread", json_boolean(t->is_main));
	firefox__add_time(x, "processStartupTime", t->of->start);
	firefox__add_time(x, "processShutdownTime", t->of->end);
	add_life(x, t);
	firefox__add_paused(x);
	if (t->span_count)
		json__add(j, "showMarkersInTimeline", json_true());
	err = firefox__add_samples(x, t);
	if (!err)
		err = firefox__add_markers(x, t);
	json__close(j, '}');
	return err;
}

int firefox__add_threads(struct firefox *x)
{
	int err = 0;

	json__open(&x->json, "threads", '[');
	for (uint32_t i = 0; i < x->thread_count && !err; i++)
		err = add_thread(x, &x->threads[i]);
	json__close(&x->json, ']');
	return err;
}
