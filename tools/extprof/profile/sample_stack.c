/* SPDX-License-Identifier: BSD-2-Clause */
/* From the ids and pcs of a sample to numbers of frames. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "profile/group_names.h"
#include "profile/resolve_parts.h"

static const char *gc_phase(unsigned int phase)
{
	switch (phase) {
	case RB_DEBUG_EXT_GC_MARK: return "mark";
	case RB_DEBUG_EXT_GC_SWEEP: return "sweep";
	case RB_DEBUG_EXT_GC_COMPACT: return "compact";
	default: return "";
	}
}

/* The only frame of a thread that is not Ruby's. */
static uint32_t bare_thread_frame(struct resolver *c, const struct sample_event *e)
{
	struct text t = { 0 };
	uint32_t frame;

	group_names__add_native(e->comm, sizeof(e->comm), 0, &t);
	frame = t.failed ? 0 : resolve__mark(c, FRAME_NO_RUBY, t.data);
	text__free(&t);
	return frame;
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

static int code_frame(struct resolver *c, struct vm *vm, uint64_t code, uint32_t *frame)
{
	*frame = frame_table__code_of(c->frames, code, &vm->frames);
	return *frame ? 1 : -1;
}

/* 1: a frame, 0: none to be shown, -1: out of memory. */
static int ruby_frame(struct resolver *c, struct vm *vm, const struct sample_event *e,
		      const struct sample_frame *f, bool leaf, bool outermost, uint32_t *frame)
{
	const struct symbol *symbol;
	bool approximate = false;
	int32_t line;

	switch (f->id) {
	case RB_DEBUG_EXT_ID_NONE:
		if (outermost)
			return 0;
		c->unknown_frames++;
		*frame = resolve__mark(c, FRAME_MARK, "unknown frame");
		return *frame ? 1 : -1;
	case RB_DEBUG_EXT_ID_INTERNAL:
		return 0;
	case RB_DEBUG_EXT_ID_IFUNC:
		*frame = resolve__mark(c, FRAME_C, "block in C");
		return *frame ? 1 : -1;
	}
	c->frame_count++;
	if (f->id >> 31) {
		c->unreadable_names++;
		*frame = resolve__mark(c, FRAME_MARK, "unreadable record");
		return *frame ? 1 : -1;
	}
	symbol = symbols__get(&vm->symbols, f->id);
	if (!symbol) {
		c->crowded_names++;
		*frame = resolve__mark(c, FRAME_MARK, "one of too many names");
		return *frame ? 1 : -1;
	}
	if (symbol->state != SYMBOL_OK)
		return code_frame(c, vm, code__make_lineless(CODE_RUBY, symbol->number), frame);
	if (leaf && e->flags & SAMPLE_COMPILES) {
		/* The pc is that of the instruction itself: see "Compiling" in the header. */
		line = symbols__line(symbol, f->pc + 8);
		return code_frame(c, vm, code__make(CODE_RUBY, symbol->number, line, false), frame);
	}
	line = symbols__line(symbol, f->pc);
	/* The pc that JIT code left behind may be of no line at all, or NULL. */
	if (leaf && f->flags & (FRAME_JIT_RETURN | FRAME_RESUMES) && symbols__has_lines(symbol))
		approximate = !leaf_line(c, vm, symbol, e, f->flags, &line) && line;
	return code_frame(c, vm, code__make(CODE_RUBY, symbol->number, line, approximate), frame);
}

/*
 * The outermost frame of a stack of which more is not known.  Each text is the
 * root of stacks of its own, each of all the frames that a sample has: so many
 * as a recursion has depths there is no room for.
 */
static uint32_t truncated_frame(struct resolver *c, uint32_t left_out)
{
	char text[64];
	uint32_t i = 0;

	if (left_out == UINT32_MAX)
		return resolve__mark(c, FRAME_MARK, "truncated: unknown number of frames more");
	while (i < c->left_out_count && c->left_out[i] != left_out)
		i++;
	if (i == c->left_out_count && i < RESOLVE_LEFT_OUT_MAX)
		c->left_out[c->left_out_count++] = left_out;
	if (i < RESOLVE_LEFT_OUT_MAX)
		snprintf(text, sizeof(text), "truncated: %u frames more", left_out);
	else
		snprintf(text, sizeof(text), "truncated: at least %u frames more",
			 left_out ? 1u << (31 - __builtin_clz(left_out)) : 0);
	return resolve__mark(c, FRAME_MARK, text);
}

/* Add frames for what the VM itself is doing. */
static int add_doing(struct resolver *c, const struct sample_event *e, uint32_t *to, uint32_t *count)
{
	if (e->flags & SAMPLE_COMPILES) {
		to[*count] = resolve__mark(c, FRAME_NO_RUBY, "YJIT compile");
		if (!to[(*count)++])
			return -ENOMEM;
	}
	if (e->gc_phase) {
		to[*count] = resolve__mark(c, FRAME_GC, gc_phase(e->gc_phase));
		if (!to[(*count)++])
			return -ENOMEM;
	}
	return 0;
}

/* The frames of Ruby and of native code. */
static int add_native(struct resolver *c, struct vm *vm, const struct sample_event *e,
		      const struct sample_frame *frames, uint32_t *count)
{
	return c->native ? native_frames__add(c->native, c->frames, vm, e, frames, c->stack, count) : 0;
}

/* The innermost frames: what ran in the kernel. */
static int add_machine(struct resolver *c, const struct sample_event *e, uint32_t *count)
{
	const struct sample_machine *m = sample__machine(e);

	return c->kernel && m ? kernel_frames__add(c->kernel, c->frames, m, c->stack, count) : 0;
}

int resolve__build(struct resolver *c, struct vm *vm, struct process_row *row, const struct sample_event *e,
		   const struct sample_frame *frames, uint32_t *count)
{
	uint32_t *stack = c->stack, frame, n = 0, ruby = 0;

	if (resolve__add_groups(c, vm, row, e, &n))
		return -ENOMEM;
	if (c->native)
		c->native->doing_count = 0;
	switch (e->kind) {
	case SAMPLE_RUBY:
		break;
	case SAMPLE_NATIVE:
		frame = bare_thread_frame(c, e);
		goto single;
	case SAMPLE_STARTING:
		frame = resolve__mark(c, FRAME_NO_RUBY, "ruby starting");
		goto single;
	case SAMPLE_ENDED:
		frame = resolve__mark(c, FRAME_NO_RUBY, "ruby ending");
		goto single;
	default:
		frame = resolve__mark(c, FRAME_NO_RUBY, "thread ending");
		goto single;
	}
	if (e->truncated) {
		stack[n] = truncated_frame(c, e->left_out);
		if (!stack[n++])
			return -ENOMEM;
	}
	for (uint32_t i = e->nr_frames; i-- > 0;) {
		bool outermost = i == e->nr_frames - 1u && !e->truncated;
		int is = ruby_frame(c, vm, e, &frames[i], i == 0, outermost, &frame);

		if (is < 0)
			return -ENOMEM;
		if (c->native)
			c->native->shown[i] = is ? frame : 0;
		else if (is)
			stack[n++] = frame;
		ruby += is;
	}
	if (add_doing(c, e, c->native ? c->native->doing : stack, c->native ? &c->native->doing_count : &n) ||
	    add_native(c, vm, e, frames, &n))
		return -ENOMEM;
	if (!e->gc_phase && !ruby && !c->native) {
		frame = resolve__mark(c, FRAME_NO_RUBY, "no ruby code");
		goto single;
	}
	*count = n;
	return add_machine(c, e, count);
single:
	stack[n++] = frame;
	*count = n;
	if (!frame || (e->kind != SAMPLE_RUBY && add_native(c, vm, e, frames, count)))
		return -ENOMEM;
	return add_machine(c, e, count);
}
