/* SPDX-License-Identifier: BSD-2-Clause */
/* The public face of a report: one stack after the other. */
#include "library/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SAME(public, inside) _Static_assert((int)(public) == (int)(inside), #public)
SAME(EXTPROF_FRAME_RUBY, FRAME_RUBY);
SAME(EXTPROF_FRAME_C, FRAME_C);
SAME(EXTPROF_FRAME_BUILTIN, FRAME_BUILTIN);
SAME(EXTPROF_FRAME_NATIVE, FRAME_NATIVE);
SAME(EXTPROF_FRAME_KERNEL, FRAME_KERNEL);
SAME(EXTPROF_FRAME_GC, FRAME_GC);
SAME(EXTPROF_FRAME_NO_RUBY, FRAME_NO_RUBY);
SAME(EXTPROF_FRAME_MARK, FRAME_MARK);
SAME(EXTPROF_FRAME_PROCESS, FRAME_PROCESS);
SAME(EXTPROF_FRAME_THREAD, FRAME_THREAD);
SAME(EXTPROF_FRAME_CGROUP, FRAME_CGROUP);
SAME(EXTPROF_FRAME_LABEL, FRAME_LABEL);
SAME(EXTPROF_FRAME_STATE, FRAME_STATE);
SAME(EXTPROF_FRAME_CLASS, FRAME_CLASS);
SAME(EXTPROF_FRAME_CALL, FRAME_CALL);
SAME(EXTPROF_FRAME_EVENT, FRAME_EVENT);
SAME(EXTPROF_FRAME_DETAIL, FRAME_DETAIL);
SAME(FRAME_KINDS, EXTPROF_FRAME_DETAIL + 1);
SAME(EXTPROF_CODE_NONE, OWNER_NONE);
SAME(EXTPROF_CODE_APP, OWNER_APP);
SAME(EXTPROF_CODE_GEM, OWNER_GEM);
SAME(EXTPROF_CODE_STDLIB, OWNER_STDLIB);
SAME(EXTPROF_CODE_RUBY, OWNER_RUBY);
SAME(EXTPROF_CODE_OTHER, OWNER_OTHER);
SAME(OWNER_KINDS, EXTPROF_CODE_OTHER + 1);
SAME(EXTPROF_PART_OWN, PART_OWN);
SAME(EXTPROF_PART_OF_CALLER, PART_OF_CALLER);
SAME(EXTPROF_PART_NONE, PART_NONE);
SAME(EXTPROF_STATE_RUNNING, STATE_RUNNING);
SAME(EXTPROF_STATE_RUNNABLE, STATE_RUNNABLE);
SAME(EXTPROF_STATE_GVL, STATE_GVL);

/* NULL: out of memory. */
static const char *composed(void (*add)(const struct frame *f, struct text *out), const struct frame *f,
			    struct strings *texts)
{
	struct text t = { 0 };
	const char *copy;

	add(f, &t);
	copy = t.failed ? NULL : strings__intern(texts, text__string(&t));
	text__free(&t);
	return copy;
}

int frame__show(struct extprof_frame *frame, const struct frame *f, struct strings *texts)
{
	*frame = (struct extprof_frame){
		.name = f->name, .bare = f->name, .path = f->path, .module = f->kind == FRAME_PROCESS ? "" : f->module, .key = f->key, .line = f->line,
		.first_line = f->first_line, .approximate = f->approximate, .kind = f->kind, .address = f->address,
		.has_value = f->kind == FRAME_LABEL && f->known == KNOWN, .pid = f->pid, .tid = f->tid,
		.state = f->kind == FRAME_STATE ? f->state : -1, .owner_name = "", .owner_version = "",
		.line_part = (int)frame__part(f, ROWS_BY_LINE), .method_part = (int)frame__part(f, ROWS_BY_METHOD),
	};
	if (!f->bracketed && !frame_kind__is_group(f->kind) && f->kind != FRAME_KERNEL)
		return 0;
	frame->name = composed(frame__add_text, f, texts);
	frame->bare = composed(frame__add_bare, f, texts);
	return frame->name && frame->bare ? 0 : -ENOMEM;
}

static void set_accounting(struct extprof_report *r)
{
	const struct accounting *a = &r->report.meta.accounting;

	r->accounting = (struct extprof_accounting){
		.taken = a->taken, .whole = a->whole, .truncated = accounting__truncated(a),
		.lost = accounting__lost(a),
	};
#define LOSS(id, name, key_, text_) \
	r->lost[r->lost_count++] = (struct extprof_reason){ key_, text_, a->lost[id] };
#define TRUNC(id, name, key_, text_) \
	r->truncated[r->truncated_count++] = (struct extprof_reason){ key_, text_, a->truncated[id] };
#include "wire/errors.def"
#undef LOSS
#undef TRUNC
}

static void set_facts(struct extprof_report *r)
{
	static const char *const units[] = {
		[UNIT_COUNT] = "count", [UNIT_NS] = "ns", [UNIT_BYTES] = "bytes",
	};
	const struct report_meta *m = &r->report.meta;

	r->facts = (struct extprof_facts){
		.command = m->command, .ruby_version = m->ruby_version, .source = m->source,
		.ended = m->ended, .pid = m->pid, .cpus = m->cpus, .period = m->period,
		.duration = (uint64_t)(m->duration * 1e9), .cpu_time = m->cpu_time, .started = m->started,
		.mode = m->mode->name, .metric = r->report.metric.name,
		.unit = units[r->report.metric.unit], .total = r->report.samples,
		.left_out = r->report.left_out, .paused = m->paused,
		.idle = r->report.idle.amount, .idle_shown = r->report.idle.shown,
	};
	for (uint32_t i = 0; i < r->report.processes.count; i++)
		if (r->report.processes.rows[i].watched)
			r->facts.children_cpu_time += r->report.processes.rows[i].cpu_time_unfollowed;
}

static int set_frames(struct extprof_report *r)
{
	uint32_t depth = 0;

	for (uint32_t i = 1; i < r->report.node_count; i++)
		if (r->report.nodes[i].depth > depth)
			depth = r->report.nodes[i].depth;
	r->path = calloc(depth + 1u, sizeof(*r->path));
	r->frames = calloc(r->report.label_count + 1u, sizeof(*r->frames));
	if (!r->path || !r->frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->report.label_count; i++) {
		const struct report_owner *o = &r->report.owners[r->report.labels[i].owner];

		if (frame__show(&r->frames[i], &r->report.labels[i].frame, &r->report.strings))
			return -ENOMEM;
		r->frames[i].owner = o->kind;
		r->frames[i].owner_name = o->name;
		r->frames[i].owner_version = o->version;
	}
	return 0;
}

static int set_owners(struct extprof_report *r)
{
	r->owners = calloc(r->report.owner_count + 1u, sizeof(*r->owners));
	for (uint32_t i = 0; r->owners && i < r->report.owner_count; i++) {
		const struct report_owner *o = &r->report.owners[i];
		struct text t = { 0 };

		owner__add_text(o->kind, o->name, o->version, &t);
		r->owners[i] = t.failed ? NULL : strings__intern(&r->report.strings, text__string(&t));
		text__free(&t);
		if (!r->owners[i])
			return -ENOMEM;
	}
	return r->owners ? 0 : -ENOMEM;
}

int library_report__create(struct extprof_report **report, struct report *given)
{
	struct extprof_report *r = calloc(1, sizeof(*r));

	*report = NULL;
	if (!r) {
		report__free(given);
		return -ENOMEM;
	}
	r->report = *given;
	if (set_frames(r) || set_owners(r)) {
		extprof_report_destroy(r);
		return -ENOMEM;
	}
	set_accounting(r);
	set_facts(r);
	extprof_report_rewind(r);
	*report = r;
	return 0;
}

void extprof_report_rewind(struct extprof_report *r)
{
	r->next = 1;
}

const struct extprof_stack *extprof_report_next(struct extprof_report *r)
{
	/* In preorder: what is above a node in the path is above it in the tree. */
	while (r->next < r->report.node_count) {
		const struct report_node *n = &r->report.nodes[r->next++];

		r->path[n->depth - 1] = &r->frames[n->label];
		if (!n->self)
			continue;
		r->stack = (struct extprof_stack){
			.frames = r->path, .count = n->depth, .value = n->self,
			.groups = n->depth < r->report.group_count ? n->depth : r->report.group_count,
		};
		return &r->stack;
	}
	return NULL;
}

const struct extprof_total *extprof_report_total(struct extprof_report *r, enum extprof_totals of, size_t i)
{
	const struct report_totals *t = of == EXTPROF_TOTAL_METHODS ? &r->report.methods :
					of == EXTPROF_TOTAL_LINES ? &r->report.lines :
					of == EXTPROF_TOTAL_FILES ? &r->report.files :
					of == EXTPROF_TOTAL_OWNERS ? &r->report.by_owner : NULL;
	const struct extprof_frame *f;

	if (!t || i >= t->count)
		return NULL;
	f = &r->frames[t->list[i].label];
	r->total = (struct extprof_total){
		.frame = f, .path = of == EXTPROF_TOTAL_OWNERS ? "" : f->path,
		.line = of == EXTPROF_TOTAL_METHODS ? f->first_line : t->list[i].line,
		.approximate = t->list[i].approximate, .self = t->list[i].self, .own = t->list[i].own,
		.total = t->list[i].total, .called = t->list[i].called,
		.callee = t->list[i].calls == CALLS_OWNER ? r->owners[t->list[i].callee] :
			  t->list[i].calls == CALLS_LABEL ? r->report.labels[t->list[i].callee].name : NULL,
	};
	return &r->total;
}

const struct extprof_idle *extprof_report_idle(struct extprof_report *r, size_t i)
{
	const struct report_idle_row *row;

	if (i >= r->report.idle.row_count)
		return NULL;
	row = &r->report.idle.rows[i];
	r->idle = (struct extprof_idle){
		.thread = row->thread, .method = row->method, .state = row->state, .threads = row->threads, .value = row->amount,
	};
	return &r->idle;
}

const struct extprof_idle_thread *extprof_report_idle_thread(struct extprof_report *r, size_t i)
{
	const struct report_idle_thread *t;

	if (i >= r->report.idle.thread_count)
		return NULL;
	t = &r->report.idle.threads[i];
	if (frame__show(&r->idle_frames[0], &t->thread, &r->report.strings) ||
	    (t->process.pid && frame__show(&r->idle_frames[1], &t->process, &r->report.strings)))
		return NULL;
	r->idle_thread = (struct extprof_idle_thread){
		.thread = &r->idle_frames[0], .process = t->process.pid ? &r->idle_frames[1] : NULL, .time = t->ns,
	};
	return &r->idle_thread;
}

const struct extprof_accounting *extprof_report_accounting(const struct extprof_report *r)
{
	return &r->accounting;
}

const struct extprof_reason *extprof_report_lost(const struct extprof_report *r, size_t i)
{
	return i < r->lost_count ? &r->lost[i] : NULL;
}

const struct extprof_reason *extprof_report_truncated(const struct extprof_report *r, size_t i)
{
	return i < r->truncated_count ? &r->truncated[i] : NULL;
}

const struct extprof_facts *extprof_report_facts(const struct extprof_report *r)
{
	return &r->facts;
}

void extprof_report_destroy(struct extprof_report *r)
{
	if (!r)
		return;
	report__free(&r->report);
	free(r->frames);
	free(r->owners);
	free(r->path);
	free(r);
}
