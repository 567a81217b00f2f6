/* SPDX-License-Identifier: BSD-2-Clause */
/* The public face of a report: its processes, its threads, the pauses of the collector. */
#include "library/report.h"

const struct extprof_report_process *extprof_report_process(struct extprof_report *r, size_t i)
{
	const struct processes *p = &r->report.processes;
	const struct process_row *row;
	struct accounting a;

	if (i >= p->count)
		return NULL;
	row = &p->rows[i];
	process_row__account(row, &a);
	r->process = (struct extprof_report_process){
		.pid = row->pid, .parent = row->parent < p->count ? p->rows[row->parent].pid : 0, .uid = row->uid,
		.command = row->command, .ruby_version = row->ruby_version, .cgroup = row->cgroup ? row->cgroup : "",
		.ended = row->ended, .sampled = process_row__is_followed(row), .from = row->started, .until = row->ended_at,
		.cpu_time = row->cpu_time, .cpu_time_besides = row->cpu_time_unfollowed,
		.cpu_time_sampled = a.cpu_taken * r->report.meta.cpu_period, .taken = a.taken, .whole = a.whole,
		.truncated = accounting__truncated(&a), .lost = accounting__lost(&a),
		.live_slots = row->heap.live, .slots = row->heap.slots, .heap_bytes = row->heap.page_bytes,
		.resident = row->resident, .objects = row->heap.allocated, .host = row->host ? row->host : "",
	};
	return &r->process;
}

static void set_thread(struct extprof_report_thread *to, const struct thread_account *a)
{
	*to = (struct extprof_report_thread){
		.name = "", .host = "", .tid = a->tid, .ruby = a->thread != 0, .life = a->until - a->first, .times = a->time,
		.counts = a->waits, .state_count = STATE_MAX, .threads = 1,
	};
}

const struct extprof_report_thread *extprof_report_thread(struct extprof_report *r, size_t i)
{
	const struct thread_rows *t = r->report.threads;

	if (!t || i > t->count || (i == t->count && !t->other_count))
		return NULL;
	if (i == t->count) {
		set_thread(&r->thread, &t->others);
		r->thread.threads = t->other_count;
		return &r->thread;
	}
	set_thread(&r->thread, &t->rows[i].account);
	r->thread.name = t->rows[i].name ? t->rows[i].name : "";
	r->thread.ended = t->rows[i].ended;
	r->thread.pid = t->rows[i].pid;
	r->thread.host = t->rows[i].host ? t->rows[i].host : "";
	r->thread.idle = report__thread_idle(&r->report, &t->rows[i]);
	return &r->thread;
}

const struct extprof_report_pauses *extprof_report_pauses(struct extprof_report *r)
{
	const struct gc_pauses *p = r->report.pauses;

	if (!p)
		return NULL;
	r->pauses = (struct extprof_report_pauses){
		.count = p->all.count, .time = p->all.total, .longest = p->all.longest, .waited = p->waited,
		.p50 = gc_pauses__percentile(p, 50), .p99 = gc_pauses__percentile(p, 99),
		.mark = p->parts[GC_PART_MARK].total, .sweep = p->parts[GC_PART_SWEEP].total,
		.compact = p->parts[GC_PART_COMPACT].total, .other = p->parts[GC_PART_OTHER].total,
		.lost = r->report.meta.pauses_lost,
	};
	return &r->pauses;
}
