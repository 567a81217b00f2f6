/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "profile/about.h"
#include "profile/group_names.h"
#include "wire/states.h"

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

	group_names__add_no_thread(e->comm, sizeof(e->comm), e->tid, unknown, &t);
	frame = t.failed ? 0 : synthetic(c, SYNTHETIC_THREAD, t.data);
	text__free(&t);
	c->unknown_threads += unknown;
	return frame;
}

static uint64_t thread_frame(struct resolver *c, struct vm *vm, const struct sample_event *e)
{
	struct thread *thread;

	if (!e->thread)
		return no_thread_frame(c, e);
	thread = threads__note(&vm->threads, e->thread, e->thread_slot, e->tid);
	if (!thread)
		return 0;
	if (!thread->frame)
		thread->frame = tree__synthetic_later(c->tree, SYNTHETIC_THREAD);
	return thread->frame;
}

static uint64_t process_frame(struct resolver *c, struct process_row *row)
{
	if (row && !row->frame)
		row->frame = tree__synthetic_later(c->tree, SYNTHETIC_PROCESS);
	return row ? row->frame : 0;
}

/* The frame of label number `i` of the groups.  0: there is none, not even for what is too many. */
static uint64_t label_frame(struct resolver *c, struct vm *vm, const struct sample_event *e, int i)
{
	const char *key = c->groups.labels[i];
	const struct label_record *value;
	struct text t = { 0 };
	enum label_state state;
	uint64_t frame = 0;
	uint32_t texts;

	/* Before the tree is full. */
	if (!c->crowded_label[i]) {
		group_names__add_crowded_label(key, &t);
		c->crowded_label[i] = t.failed ? 0 : synthetic(c, SYNTHETIC_LABEL, text__string(&t));
		text__clear(&t);
	}
	state = e->label ? labels__find(&vm->symbols, (uint32_t)e->label, key, &value) : LABEL_NOT_SET;
	c->expired_labels += state == LABEL_EXPIRED;
	c->unread_labels += state == LABEL_UNREAD;
	group_names__add_label(key, state, value, &t);
	texts = c->tree->text_count;
	if (!t.failed && (state != LABEL_SET || c->label_values < RESOLVE_LABELS_MAX))
		frame = synthetic(c, SYNTHETIC_LABEL, text__string(&t));
	else if (!t.failed)
		frame = tree__find_synthetic(c->tree, SYNTHETIC_LABEL, text__string(&t));
	if (state == LABEL_SET)
		c->label_values += c->tree->text_count - texts;
	text__free(&t);
	return frame ? frame : c->crowded_label[i];
}

/* The frames of --group-by.  0 or -ENOMEM. */
static int add_groups(struct resolver *c, struct vm *vm, struct process_row *row,
		      const struct sample_event *e, uint32_t *n)
{
	if (!c->groups.count)
		return 0;
	/* Before the tree is full. */
	if (!c->crowded_thread)
		c->crowded_thread = synthetic(c, SYNTHETIC_THREAD, "[one of too many threads]\n"
					      "[one of too many threads]");
	if (!c->crowded_process)
		c->crowded_process = synthetic(c, SYNTHETIC_PROCESS, "[one of too many processes]\n"
					       "[one of too many processes]");
	if (groups__has(&c->groups, GROUP_PROCESS) || groups__has(&c->groups, GROUP_CGROUP)) {
		uint64_t frame = process_frame(c, row);

		c->stack[(*n)++] = frame ? frame : c->crowded_process;
	}
	if (groups__has(&c->groups, GROUP_THREAD) || groups__has(&c->groups, GROUP_THREAD_PATTERN)) {
		uint64_t frame = thread_frame(c, vm, e);

		c->stack[(*n)++] = frame ? frame : c->crowded_thread;
	}
	for (int i = 0; i < c->groups.label_count; i++) {
		uint64_t frame = label_frame(c, vm, e, i);

		if (!frame)
			return -ENOMEM;
		c->stack[(*n)++] = frame;
	}
	return c->crowded_thread && c->crowded_process ? 0 : -ENOMEM;
}

static int set_name(struct resolver *c, uint64_t frame, const struct text *name)
{
	return name->failed ? -ENOMEM : tree__set_text(c->tree, frame, text__string(name));
}

/* The first line of a name of group_names.h is the thread's own. */
static int name_pauses(struct resolver *c, const struct thread *thread, const struct text *name)
{
	char own[256];

	if (!c->pauses || name->failed)
		return name->failed ? -ENOMEM : 0;
	snprintf(own, sizeof(own), "%.*s", (int)strcspn(text__string(name), "\n"), text__string(name));
	return gc_pauses__set_name(c->pauses, thread->frame, own);
}

int resolve__name_threads(struct resolver *c, const struct vm *vm)
{
	struct text name = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < vm->threads.count && !err; i++) {
		const struct thread *thread = &vm->threads.list[i];

		if (!thread->frame)
			continue;
		text__clear(&name);
		group_names__add_thread(thread, &name);
		err = set_name(c, thread->frame, &name);
		if (!err)
			err = name_pauses(c, thread, &name);
	}
	text__free(&name);
	return err;
}

int resolve__name_processes(struct resolver *c)
{
	struct text name = { 0 };
	int err = 0;

	for (uint32_t i = 0; c->processes && i < c->processes->count && !err; i++) {
		const struct process_row *row = &c->processes->rows[i];

		if (!row->frame)
			continue;
		text__clear(&name);
		group_names__add_process(row, &name);
		err = set_name(c, row->frame, &name);
	}
	text__free(&name);
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
	if (leaf && e->flags & SAMPLE_COMPILES) {
		/* The pc is that of the instruction itself: see "Compiling" in the header. */
		*frame = frame__make(symbol->number, symbols__line(symbol, f->pc + 8), false);
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

static int build(struct resolver *c, struct vm *vm, struct process_row *row,
		 const struct sample_event *e, const struct sample_frame *frames, uint32_t *count)
{
	uint64_t *stack = c->stack, frame;
	uint32_t n = c->mode_count > 1, ruby = 0;

	if (add_groups(c, vm, row, e, &n))
		return -1;
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
	if (e->flags & SAMPLE_COMPILES) {
		stack[n] = synthetic(c, SYNTHETIC_NATIVE, "[YJIT compile]");
		if (!stack[n++])
			return -1;
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

/* The event in the data, its VM and the row of its process, NULL none.  NULL: it makes no sense. */
static const struct sample_event *check_event(struct resolver *c, const void *data, size_t size,
					      struct vm **vm, struct process_row **row)
{
	const struct sample_event *e = data;
	uint32_t number = PROCESS_NONE;

	if (size < sizeof(*e) ||
	    size - sizeof(*e) < e->nr_frames * sizeof(struct sample_frame) ||
	    e->nr_frames > SAMPLE_FRAMES_MAX || e->truncated >= TRUNC_MAX || !e->kind ||
	    e->kind > SAMPLE_EXITING || e->source >= SOURCE_MAX)
		return NULL;
	*vm = c->vm_of(c->context, e, &number);
	/* A pause of the collector is no sample of the process. */
	*row = c->processes && number < c->processes->count && e->source != SOURCE_GC ?
	       &c->processes->rows[number] : NULL;
	return *vm ? e : NULL;
}

static void count_lost(struct resolver *c, struct process_row *row, uint16_t source, enum loss_reason reason)
{
	c->received[source].lost[reason]++;
	if (row)
		row->received.lost[reason]++;
}

/* Of an event that makes no sense, as far as it can be told. */
static uint16_t malformed_source(const void *data, size_t size)
{
	const struct sample_event *e = data;

	return size >= sizeof(*e) && e->source < SOURCE_MAX ? e->source : SOURCE_CPU;
}

void resolve__skip(struct resolver *c, const void *data, size_t size)
{
	resolve__lose(c, data, size, LOSS_NOT_READ);
}

void resolve__lose(struct resolver *c, const void *data, size_t size, enum loss_reason reason)
{
	struct process_row *row;
	struct vm *vm;
	const struct sample_event *e = check_event(c, data, size, &vm, &row);

	if (!e)
		count_lost(c, NULL, malformed_source(data, size), LOSS_MALFORMED);
	else
		count_lost(c, row, e->source, reason);
}

int resolve__set_modes(struct resolver *c, const struct mode *const *list, uint32_t count)
{
	c->modes = list;
	c->mode_count = count;
	for (uint32_t i = 0; count > 1 && i < count; i++) {
		c->mode_frames[i] = synthetic(c, SYNTHETIC_MODE, list[i]->name);
		if (!c->mode_frames[i])
			return -ENOMEM;
	}
	return 0;
}

int resolve__restart(struct resolver *c)
{
	for (uint32_t i = 0; c->processes && i < c->processes->count; i++)
		c->processes->rows[i].frame = 0;
	memset(c->received, 0, sizeof(c->received));
	c->frames = c->unknown_frames = c->unreadable_names = c->crowded_names = 0;
	c->jit_leaves = c->jit_exact = c->gc_samples = c->unknown_threads = 0;
	c->left_out_count = 0;
	c->crowded_thread = c->crowded_process = c->crowded_about = 0;
	memset(c->crowded_label, 0, sizeof(c->crowded_label));
	c->label_values = 0;
	c->unread_labels = c->expired_labels = 0;
	return resolve__set_modes(c, c->modes, c->mode_count);
}

int resolve__stack(struct resolver *c, const void *data, size_t size, uint32_t *count)
{
	struct process_row *row;
	struct vm *vm;
	const struct sample_event *e = check_event(c, data, size, &vm, &row);

	if (!e)
		return -EINVAL;
	if (!vm->confirmed && confirm(vm))
		return -EINTR;
	return build(c, vm, row, e, (const struct sample_frame *)(e + 1), count) ? -ENOMEM : 0;
}

static const char *event_text(const struct resolver *c, const struct sample_event *e, char *to, size_t size)
{
	if (e->detail >= c->event_count)
		return "[unknown event]";
	snprintf(to, size, "[%s]", c->events[e->detail].label);
	return to;
}

/* The frame below the innermost one.  1: there is one, 0: none, -1: out of memory. */
static int innermost_frame(struct resolver *c, struct vm *vm, const struct mode *mode,
			   const struct sample_event *e, uint64_t *frame)
{
	char event[sizeof(c->events->label) + 2];
	const struct symbol *class;
	struct text t = { 0 };
	int is;

	if (mode->names_event) {
		*frame = synthetic(c, SYNTHETIC_STATE, event_text(c, e, event, sizeof(event)));
		return *frame ? 1 : -1;
	}

	if (mode->names_class && e->detail > RB_DEBUG_EXT_ID_INTERNAL) {
		class = e->detail >> 31 ? NULL : symbols__get(&vm->symbols, (uint32_t)e->detail);
		/* The frame of a symbol can be 0. */
		if (class) {
			*frame = frame__make(class->number, 0, false);
			return 1;
		}
		*frame = synthetic(c, SYNTHETIC_UNKNOWN, "[unreadable record]");
		return *frame ? 1 : -1;
	}
	if (!mode->innermost)
		return 0;
	mode->innermost(e, &t);
	is = t.failed ? -1 : t.length > 0;
	if (is > 0) {
		*frame = synthetic(c, SYNTHETIC_STATE, text__string(&t));
		is = *frame ? 1 : -1;
	}
	text__free(&t);
	return is;
}

/* --state: is it one of the states that the user wants to see? */
static bool is_shown(const struct resolver *c, const struct mode *mode, const struct sample_event *e)
{
	uint32_t state = e->source == SOURCE_SCHED ? e->state : STATE_RUNNING;

	return !c->states || !mode->has_states || state >= STATE_MAX || c->states & 1u << state;
}

/* Add the stack of the sample to the modes that it belongs to. */
static int add_stack(struct resolver *c, struct vm *vm, const struct sample_event *e, uint32_t count)
{
	static const struct weight one = { 1, 1 };

	if (!c->mode_count)
		return tree__add(c->tree, c->stack, count, &one);
	for (uint32_t i = 0; i < c->mode_count; i++) {
		struct weight weight;
		uint32_t all;
		int more;

		if (!mode__takes(c->modes[i], e, &weight) || !is_shown(c, c->modes[i], e))
			continue;
		if (c->mode_count > 1)
			c->stack[0] = c->mode_frames[i];
		more = innermost_frame(c, vm, c->modes[i], e, &c->stack[count]);
		if (more < 0)
			return -ENOMEM;
		all = count + (uint32_t)more;
		if (c->modes[i]->has_states && about__frames(c, vm, e, c->stack, &all))
			return -ENOMEM;
		if (tree__add(c->tree, c->stack, all, &weight))
			return -ENOMEM;
	}
	return 0;
}

/* A pause is no stack of its own: what ran meanwhile was sampled. */
static int add_pause(struct resolver *c, struct vm *vm, const struct sample_event *e)
{
	if (!c->pauses)
		return 0;
	return gc_pauses__add(c->pauses, e, e->thread ? thread_frame(c, vm, e) : 0);
}

void resolve__event(struct resolver *c, const void *data, size_t size)
{
	struct process_row *row;
	struct vm *vm;
	const struct sample_event *e = check_event(c, data, size, &vm, &row);
	const struct sample_frame *frames = (const void *)(e + 1);
	struct received *received;
	uint32_t count;

	if (!e) {
		count_lost(c, NULL, malformed_source(data, size), LOSS_MALFORMED);
		return;
	}
	received = &c->received[e->source];
	if (!vm->confirmed && confirm(vm)) {
		count_lost(c, row, e->source, LOSS_NOT_READ);
		return;
	}
	if (e->source == SOURCE_GC ? add_pause(c, vm, e) :
	    build(c, vm, row, e, frames, &count) || add_stack(c, vm, e, count)) {
		count_lost(c, row, e->source, LOSS_NO_MEMORY);
		return;
	}
	if (e->gc_phase && e->source == SOURCE_CPU)
		c->gc_samples++;
	if (e->truncated)
		received->truncated[e->truncated]++;
	else
		received->whole++;
	if (row && e->truncated)
		row->received.truncated[e->truncated]++;
	else if (row)
		row->received.whole++;
}
