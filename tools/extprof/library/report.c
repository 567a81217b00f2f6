/* SPDX-License-Identifier: BSD-2-Clause */
/* The public face of a report: one stack after the other. */
#include "library/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SAME(public, inside) _Static_assert((int)(public) == (int)(inside), #public)
SAME(EXTPROF_FRAME_RUBY, LABEL_RUBY);
SAME(EXTPROF_FRAME_C, LABEL_C);
SAME(EXTPROF_FRAME_BUILTIN, LABEL_BUILTIN);
SAME(EXTPROF_FRAME_GC, LABEL_GC);
SAME(EXTPROF_FRAME_NATIVE, LABEL_NATIVE);
SAME(EXTPROF_FRAME_THREAD, LABEL_THREAD);
SAME(EXTPROF_FRAME_OTHER, LABEL_OTHER);
SAME(EXTPROF_FRAME_PROCESS, LABEL_PROCESS);
SAME(EXTPROF_FRAME_CGROUP, LABEL_CGROUP);
SAME(EXTPROF_FRAME_STATE, LABEL_STATE);
SAME(EXTPROF_FRAME_ABOUT, LABEL_ABOUT);
SAME(EXTPROF_FRAME_LABEL, LABEL_LABEL);
SAME(LABEL_KINDS, EXTPROF_FRAME_LABEL + 1);

struct extprof_report {
	struct report report;
	struct extprof_frame *frames;		/* by number of the label */
	const struct extprof_frame **path;	/* from the outermost frame to that of the last node */
	struct extprof_stack stack;
	uint32_t next;				/* node */
	struct extprof_accounting accounting;
	struct extprof_reason lost[LOSS_MAX], truncated[TRUNC_MAX];
	uint32_t lost_count, truncated_count;
	struct extprof_facts facts;
};

void frame__from_row(struct extprof_frame *frame, const struct frame_row *row)
{
	*frame = (struct extprof_frame){
		.name = row->name, .path = row->path, .line = row->line, .first_line = row->first_line,
		.approximate = row->approximate, .kind = row->kind, .number = row->number,
	};
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
		.unit = units[r->report.metric.unit],
	};
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
		struct report_label *l = &r->report.labels[i];

		/* The path is a field of its own here. */
		l->name[l->bare] = '\0';
		r->frames[i] = (struct extprof_frame){
			.name = l->name, .path = l->path, .line = l->line, .first_line = l->first_line,
			.approximate = l->approximate, .kind = l->kind, .number = l->number,
		};
	}
	return 0;
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
	if (set_frames(r)) {
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
	free(r->path);
	free(r);
}
