/* SPDX-License-Identifier: BSD-2-Clause */
/* The value of each column of a sample. */
#include <string.h>

#include "recording/samples_parts.h"

uint32_t samples_columns__code_of(const struct recording_tables *t, uint32_t stack)
{
	while (stack && frame__part(&t->frames[t->stacks[stack].frame], ROWS_BY_METHOD) != PART_OWN)
		stack = t->stacks[stack].parent;
	return t->stacks[stack].frame;
}

/* The innermost frame of Ruby code, for whose line it counts; 0: the stack has none. */
static uint32_t ruby_of(const struct recording_tables *t, uint32_t stack)
{
	enum frame_part part = PART_OF_CALLER;

	while (stack && (part = frame__part(&t->frames[t->stacks[stack].frame], ROWS_BY_LINE)) == PART_OF_CALLER)
		stack = t->stacks[stack].parent;
	return part == PART_OWN ? t->stacks[stack].frame : 0;
}

void samples_columns__text(sqlite3_context *to, const char *text)
{
	/* The tables can be loaded anew while SQLite has the text. */
	if (text)
		sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
}

void samples_columns__code(sqlite3_context *to, const struct recording_tables *t, uint32_t frame, int column)
{
	const struct frame *f = &t->frames[frame];

	if (!frame)
		return;
	if (column == COLUMN_METHOD || column == COLUMN_RUBY_METHOD)
		samples_columns__text(to, t->texts[frame]);
	else if ((column == COLUMN_PATH || column == COLUMN_RUBY_PATH) && *f->path)
		samples_columns__text(to, f->path);
	else if ((column == COLUMN_LINE || column == COLUMN_RUBY_LINE) && f->line)
		sqlite3_result_int(to, f->line);
}

static void give_thread(sqlite3_context *to, const struct recording_tables *t, uint32_t id, int column)
{
	const struct thread_entry *thread = &t->threads[id];
	const struct process_entry *p = &t->processes[thread->process];
	const struct frame *f = &t->frames[thread->frame];

	switch (column) {
	case COLUMN_PROCESS:
		sqlite3_result_int64(to, thread->process);
		break;
	case COLUMN_PID:
		sqlite3_result_int(to, p->pid);
		break;
	case COLUMN_COMMAND:
		samples_columns__text(to, p->command);
		break;
	case COLUMN_CGROUP:
		if (*p->cgroup)
			samples_columns__text(to, p->cgroup);
		break;
	case COLUMN_REVISION:
		samples_columns__text(to, p->commit);
		break;
	case COLUMN_THREAD:
		sqlite3_result_int64(to, id);
		break;
	case COLUMN_TID:
		sqlite3_result_int64(to, f->tid);
		break;
	default:
		samples_columns__text(to, f->name);
	}
}

/* Without a trace, labels of these names stand for one. */
static void give_trace(sqlite3_context *to, const struct recording_tables *t, const struct recording_sample *s, enum trace_part part)
{
	char text[TRACE_TEXT_SIZE];

	if (trace__text(&s->context, part, text)) {
		sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
		return;
	}
	for (uint32_t at = trace__is_set(&s->context) ? 0 : s->labels; at; at = t->stacks[at].parent) {
		const struct frame *f = &t->frames[t->stacks[at].frame];

		if (strcmp(f->key, trace_labels[part]))
			continue;
		if (f->known == KNOWN)
			samples_columns__text(to, f->name);
		return;
	}
}

int samples_columns__give(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int column)
{
	struct samples_cursor *c = (struct samples_cursor *)cursor;
	const struct samples_module *m = ((struct samples_vtab *)cursor->pVtab)->module;
	const struct recording_tables *t = &m->tables;
	const struct recording_sample *s = &c->codec.samples[c->at];

	switch (column) {
	case COLUMN_TIME:
		sqlite3_result_int64(to, (sqlite3_int64)s->time);
		break;
	case COLUMN_SECONDS:
		sqlite3_result_double(to, (double)((int64_t)s->time - m->begin) / 1e9);
		break;
	case COLUMN_MODE:
		samples_columns__text(to, t->modes[s->mode].name);
		break;
	case COLUMN_STATE:
		samples_columns__text(to, t->states[s->state]);
		break;
	case COLUMN_METHOD:
	case COLUMN_PATH:
	case COLUMN_LINE:
		samples_columns__code(to, t, samples_columns__code_of(t, s->stack), column);
		break;
	case COLUMN_RUBY_METHOD:
	case COLUMN_RUBY_PATH:
	case COLUMN_RUBY_LINE:
		samples_columns__code(to, t, ruby_of(t, s->stack), column);
		break;
	case COLUMN_BELOW:
		if (s->stack && frame_kind__is_below(t->frames[t->stacks[s->stack].frame].kind))
			samples_columns__text(to, t->texts[t->stacks[s->stack].frame]);
		break;
	case COLUMN_VALUE:
		sqlite3_result_int64(to, (sqlite3_int64)s->value);
		break;
	case COLUMN_COUNT:
		sqlite3_result_int64(to, (sqlite3_int64)s->count);
		break;
	case COLUMN_STACK:
		sqlite3_result_int64(to, s->stack);
		break;
	case COLUMN_LABELS:
		if (s->labels)
			sqlite3_result_int64(to, s->labels);
		break;
	case COLUMN_FIBER:
		if (s->fiber)
			sqlite3_result_int64(to, s->fiber);
		break;
	case COLUMN_TRACE:
		give_trace(to, t, s, TRACE_ID);
		break;
	case COLUMN_SPAN:
		give_trace(to, t, s, TRACE_SPAN);
		break;
	default:
		give_thread(to, t, s->thread, column);
	}
	return SQLITE_OK;
}
