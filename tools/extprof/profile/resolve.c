/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char *gc_text(unsigned int phase)
{
	switch (phase) {
	case RB_DEBUG_EXT_GC_MARK: return "[GC mark]";
	case RB_DEBUG_EXT_GC_SWEEP: return "[GC sweep]";
	case RB_DEBUG_EXT_GC_COMPACT: return "[GC compact]";
	default: return "[GC]";
	}
}

/* A frame of the given kind; also "whole stack" samples without Ruby. */
static uint64_t synthetic(struct resolver *c, enum synthetic_kind kind, const char *text)
{
	return tree__synthetic(c->tree, kind, text);
}

static uint64_t native_frame(struct resolver *c, const struct sample_event *e)
{
	struct text t = { 0 };
	uint64_t frame;

	text__adds(&t, "[native thread ");
	text__add_clean(&t, e->comm, strnlen(e->comm, sizeof(e->comm)), sizeof(e->comm));
	text__adds(&t, "]");
	frame = t.failed ? 0 : synthetic(c, SYNTHETIC_NATIVE, t.data);
	text__free(&t);
	return frame;
}

/* Of a sample without a Ruby thread: there is none, or we could not tell which. */
static uint64_t no_thread_frame(struct resolver *c, const struct sample_event *e)
{
	/* The outermost frame of a stack is no code. */
	bool unknown = e->flags & SAMPLE_THREAD_UNREAD || e->nr_frames > 1;
	struct text t = { 0 };
	uint64_t frame;

	text__adds(&t, unknown ? "[unknown thread " : "[native thread ");
	text__add_clean(&t, e->comm, strnlen(e->comm, sizeof(e->comm)), sizeof(e->comm));
	if (e->tid)
		text__addf(&t, " (%u)", e->tid);
	text__adds(&t, "]");
	frame = t.failed ? 0 : synthetic(c, SYNTHETIC_THREAD, t.data);
	text__free(&t);
	c->unknown_threads += unknown;
	return frame;
}

/* With -t, the outermost frame. */
static uint64_t thread_frame(struct resolver *c, struct vm *vm, const struct sample_event *e)
{
	struct thread *thread;

	if (!e->thread)
		return no_thread_frame(c, e);
	thread = threads__note(&vm->threads, e->thread, e->thread_slot, e->tid);
	if (!thread)
		return synthetic(c, SYNTHETIC_THREAD, "[one of too many threads]");
	if (!thread->frame)
		thread->frame = tree__synthetic_later(c->tree, SYNTHETIC_THREAD);
	return thread->frame;
}

int resolve__name_threads(struct resolver *c)
{
	struct text label = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < c->vm_count; i++) {
		const struct threads *threads = &c->vms[i]->threads;

		for (uint32_t j = 0; j < threads->count && !err; j++) {
			const struct thread *thread = &threads->list[j];

			if (!thread->frame)
				continue;
			text__clear(&label);
			thread__add_label(thread, &label);
			err = label.failed ? -ENOMEM :
			      tree__set_text(c->tree, thread->frame, label.data);
		}
	}
	text__free(&label);
	return err;
}

/* Is the line of an innermost frame that of what runs?  See "Lines" in the header. */
static bool leaf_line(struct resolver *c, struct vm *vm, const struct symbol *symbol,
		      const struct sample_event *e, uint32_t flags, int32_t *line)
{
	bool exact = !(flags & FRAME_RESUMES);

	if (flags & FRAME_JIT_RETURN) {
		exact = symbols__jit_line(&vm->symbols, symbol, e->ip, e->time, line) ||
			(exact && layout__stores_pc(&vm->layout, e->ip));
		c->jit_leaves++;
		c->jit_exact += exact;
	}
	return exact;
}

/* 1: a frame, 0: none to be shown, -1: out of memory. */
static int ruby_frame(struct resolver *c, struct vm *vm, const struct sample_event *e,
		      const struct sample_frame *f, bool leaf, bool outermost, uint64_t *frame)
{
	const struct symbol *symbol;
	bool approximate = false;
	int32_t line;

	switch (f->id) {
	case RB_DEBUG_EXT_ID_NONE:
		if (outermost)
			return 0;
		c->unknown_frames++;
		*frame = synthetic(c, SYNTHETIC_UNKNOWN, "[unknown frame]");
		return *frame ? 1 : -1;
	case RB_DEBUG_EXT_ID_INTERNAL:
		return 0;
	case RB_DEBUG_EXT_ID_IFUNC:
		*frame = synthetic(c, SYNTHETIC_C, "[block in C]");
		return *frame ? 1 : -1;
	}
	c->frames++;
	if (f->id >> 31) {
		c->unreadable_names++;
		*frame = synthetic(c, SYNTHETIC_UNKNOWN, "[unreadable record]");
		return *frame ? 1 : -1;
	}
	symbol = symbols__get(&vm->symbols, f->id);
	if (!symbol) {
		c->crowded_names++;
		*frame = synthetic(c, SYNTHETIC_UNKNOWN, "[one of too many names]");
		return *frame ? 1 : -1;
	}
	if (symbol->state != SYMBOL_OK) {
		*frame = frame__make_lineless(symbol->number);
		return 1;
	}
	line = symbols__line(symbol, f->pc);
	/* The pc that JIT code left behind may be of no line at all, or NULL. */
	if (leaf && f->flags && symbols__has_lines(symbol))
		approximate = !leaf_line(c, vm, symbol, e, f->flags, &line) && line;
	*frame = frame__make(symbol->number, line, approximate);
	return 1;
}

/*
 * The outermost frame of a stack of which more is not known.  Each text is the
 * root of stacks of its own, each of all the frames that a sample has: so many
 * as a recursion has depths there is no room for.
 */
static uint64_t truncated_frame(struct resolver *c, uint32_t left_out)
{
	char text[64];
	uint32_t i = 0;

	if (left_out == UINT32_MAX)
		return synthetic(c, SYNTHETIC_TRUNCATED, "[truncated: unknown number of frames more]");
	while (i < c->left_out_count && c->left_out[i] != left_out)
		i++;
	if (i == c->left_out_count && i < RESOLVE_LEFT_OUT_MAX)
		c->left_out[c->left_out_count++] = left_out;
	if (i < RESOLVE_LEFT_OUT_MAX)
		snprintf(text, sizeof(text), "[truncated: %u frames more]", left_out);
	else
		snprintf(text, sizeof(text), "[truncated: at least %u frames more]",
			 left_out ? 1u << (31 - __builtin_clz(left_out)) : 0);
	return synthetic(c, SYNTHETIC_TRUNCATED, text);
}

static int build(struct resolver *c, const struct sample_event *e, const struct sample_frame *frames,
		 uint32_t *count)
{
	struct vm *vm = c->vms[e->vm - 1];
	uint64_t *stack = c->stack, frame;
	uint32_t n = 0, ruby = 0;

	if (c->by_thread) {
		stack[n] = thread_frame(c, vm, e);
		if (!stack[n++])
			return -1;
	}
	switch (e->kind) {
	case SAMPLE_RUBY:
		break;
	case SAMPLE_NATIVE:
		frame = native_frame(c, e);
		goto single;
	case SAMPLE_STARTING:
		frame = synthetic(c, SYNTHETIC_NATIVE, "[ruby starting]");
		goto single;
	case SAMPLE_ENDED:
		frame = synthetic(c, SYNTHETIC_NATIVE, "[ruby ending]");
		goto single;
	default:
		frame = synthetic(c, SYNTHETIC_NATIVE, "[thread ending]");
		goto single;
	}
	if (e->truncated) {
		stack[n] = truncated_frame(c, e->left_out);
		if (!stack[n++])
			return -1;
	}
	for (uint32_t i = e->nr_frames; i-- > 0;) {
		bool outermost = i == e->nr_frames - 1u && !e->truncated;
		int is = ruby_frame(c, vm, e, &frames[i], i == 0, outermost, &frame);

		if (is < 0)
			return -1;
		if (is) {
			stack[n++] = frame;
			ruby++;
		}
	}
	if (e->gc_phase) {
		stack[n] = synthetic(c, SYNTHETIC_GC, gc_text(e->gc_phase));
		if (!stack[n++])
			return -1;
	} else if (!ruby) {
		frame = synthetic(c, SYNTHETIC_NATIVE, "[no ruby code]");
		goto single;
	}
	*count = n;
	return 0;
single:
	stack[n++] = frame;
	*count = n;
	return frame ? 0 : -1;
}

void resolve__skip(struct resolver *c)
{
	c->received.lost[LOSS_NOT_READ]++;
}

/*
 * The kernel knows a program by its first sample.  Had the process executed
 * another one before that, unnoticed, the samples are of that one: ids that mean
 * something else.  If now, after the sample, the memory is still in use, then it
 * was not so.  -EINTR: there was no time to ask.
 */
static int confirm(struct vm *s)
{
	const struct memory *memory = s->symbols.memory;
	struct symbol_table *table = s->symbols.table;
	uint8_t byte;
	int err = memory__read(memory, s->layout.address, &byte, 1);

	if (err == -EINTR)
		return err;
	s->confirmed = true;
	if (!err)
		return 0;
	/* Also names that are known already must not be taken. */
	symbols__free(&s->symbols);
	symbols__init(&s->symbols, table, &s->layout, memory);
	symbols__set_exited(&s->symbols);
	threads__set_exited(&s->threads);
	return 0;
}

void resolve__event(struct resolver *c, const void *data, size_t size)
{
	const struct sample_event *e = data;
	const struct sample_frame *frames;
	uint32_t count;

	if (size < sizeof(*e) ||
	    size - sizeof(*e) < e->nr_frames * sizeof(struct sample_frame) ||
	    e->nr_frames > SAMPLE_FRAMES_MAX || e->truncated >= TRUNC_MAX || !e->kind ||
	    e->kind > SAMPLE_EXITING || !e->vm || e->vm > c->vm_count) {
		c->received.lost[LOSS_MALFORMED]++;
		return;
	}
	frames = (const struct sample_frame *)(e + 1);
	if (!c->vms[e->vm - 1]->confirmed && confirm(c->vms[e->vm - 1])) {
		resolve__skip(c);
		return;
	}
	if (build(c, e, frames, &count) || tree__add(c->tree, c->stack, count)) {
		c->received.lost[LOSS_NO_MEMORY]++;
		return;
	}
	if (e->gc_phase)
		c->gc_samples++;
	if (e->truncated)
		c->received.truncated[e->truncated]++;
	else
		c->received.whole++;
}
