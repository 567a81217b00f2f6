/* SPDX-License-Identifier: BSD-2-Clause */
#include "library/dump_result.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map64.h"
#include "base/text.h"
#include "library/dump_file.h"
#include "library/dump_idle.h"
#include "library/dump_labels.h"
#include "library/dump_parts.h"
#include "library/dump_threads.h"
#include "library/report.h"
#include "profile/frame_names.h"
#include "profile/resolve.h"

/* Texts of frames that are kept from one result to the next; then they are read again. */
#define STRINGS_MAX (256u << 10)
/* Files whose time of change is looked at. */
#define NEWER_MAX 4096

#define SAME(public, inside) _Static_assert((int)(public) == (int)(inside), #public)
SAME(EXTPROF_PROOF_NONE, PROOF_NONE);
SAME(EXTPROF_PROOF_OFF_CPU, PROOF_OFF_CPU);
SAME(EXTPROF_PROOF_EQUAL, PROOF_EQUAL);
SAME(EXTPROF_PROOF_STOPPED, PROOF_STOPPED);
SAME(EXTPROF_PROOF_CORE, PROOF_CORE);
SAME(EXTPROF_PROOF_WAIT, PROOF_WAIT);

/* A value of a thread or an EC in the last result, to tell whether it has changed. */
struct before {
	uint64_t serial, value;
};

struct dump_result {
	struct vm *vm;
	struct symbol_table *table;
	struct frame_table frames;
	struct strings texts;		/* that are composed */
	struct resolver resolver;
	struct dump_native *native;
	bool source;
	struct source_files files;
	bool any_before;
	struct before *runs, *stacks;	/* of the last result, by serial */
	uint32_t run_count, stack_count;
	size_t run_room, stack_room;
	struct dump_parts parts;	/* memory of the result */
	const char **newer;
	struct map64 shared_map;	/* frame as the resolver has it -> number in `shared` */
	struct extprof_frame **shared;	/* frames of this result: threads of a pool have most of them in common */
	uint32_t shared_count;
	size_t shared_room;
	struct map64 looked;		/* paths that have been looked at */
	struct map64 ecs;		/* address -> number among those of one thread */
	struct dump_threads threads;
	struct extprof_dump_result result;
};

static struct vm *vm_of(void *context, const struct sample_event *e, uint32_t *row)
{
	struct dump_result *r = context;

	(void)e;
	*row = PROCESS_NONE;
	return r->vm;
}

struct dump_result *dump_result__new(struct vm *vm, struct symbol_table *table, bool source, struct dump_native *native)
{
	struct dump_result *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->vm = vm;
	r->table = table;
	r->source = source;
	r->native = native;
	r->threads.parts = &r->parts;
	r->threads.memory = &vm->memory;
	r->resolver.frames = &r->frames;
	r->resolver.vm_of = vm_of;
	r->resolver.context = r;
	if (frame_table__init(&r->frames)) {
		free(r);
		return NULL;
	}
	return r;
}

/* 0 or -ENOMEM. */
static int forget(struct dump_result *r)
{
	int err = 0;

	dump_parts__clear(&r->parts);
	map64__clear(&r->looked);
	map64__clear(&r->shared_map);
	r->shared_count = 0;
	memset(&r->result, 0, sizeof(r->result));
	if (r->frames.strings.count + r->texts.count > STRINGS_MAX || r->frames.count > STRINGS_MAX) {
		frame_table__free(&r->frames);
		strings__free(&r->texts);
		err = frame_table__init(&r->frames);
		if (!err)
			err = resolve__restart(&r->resolver);
	}
	return err;
}

void dump_result__free(struct dump_result *r)
{
	if (!r)
		return;
	forget(r);
	map64__free(&r->looked);
	map64__free(&r->shared_map);
	free(r->shared);
	map64__free(&r->ecs);
	dump_threads__free(&r->threads);
	frame_table__free(&r->frames);
	strings__free(&r->texts);
	dump_parts__free(&r->parts);
	free(r->runs);
	free(r->stacks);
	free(r);
}

/* -- stacks ------------------------------------------------------------------------------------ */

/* A frame that is no code, at the innermost end of the stack that the resolver has.  0 or -ENOMEM. */
static int add_mark(struct dump_result *r, const char *name, uint32_t *count)
{
	struct frame f = FRAME_INIT(FRAME_MARK);
	uint32_t frame;

	f.name = name;
	f.bracketed = true;
	frame = frame_table__add(&r->frames, &f);
	if (!frame)
		return -ENOMEM;
	r->resolver.stack[(*count)++] = frame;
	return 0;
}

static bool is_created(const struct snapshot_ec *ec)
{
	const struct sample_frame *frames = (const struct sample_frame *)(ec->event + 1);

	return !ec->current && !ec->torn && ec->event->nr_frames == 1 && frames[0].id == RB_DEBUG_EXT_ID_NONE;
}

static int resolve(struct dump_result *r, const struct snapshot_ec *ec, struct extprof_dump_fiber *fiber,
		   uint32_t *count)
{
	struct text text = { 0 };
	int err;

	*count = 0;
	if (ec->lost) {
		fiber->lost = loss__text(ec->lost);
		text__addf(&text, "unreadable: %s", fiber->lost);
		err = text.failed ? -ENOMEM : add_mark(r, text.data, count);
		text__free(&text);
		return err;
	}
	/* A torn stack may have nothing left but the mark. */
	if (!ec->torn || ec->event->nr_frames > 1) {
		r->resolver.native = r->native && snapshot_ec__machine(ec) ? &r->native->frames : NULL;
		err = resolve__stack(&r->resolver, ec->event, ec->size, count);
		if (err)
			return err;
	}
	fiber->left_out = ec->event->truncated ? ec->event->left_out : 0;
	fiber->created = is_created(ec);
	return ec->torn ? add_mark(r, "changes while it is read", count) : 0;
}

static int look_at_file(struct dump_result *r, const struct extprof_frame *frame)
{
	/* Equal paths have equal addresses. */
	uint64_t key = (uintptr_t)frame->path;
	size_t n = r->result.newer_count;

	if (!frame->path[0] || r->looked.count >= NEWER_MAX || map64__get(&r->looked, key) != MAP64_NONE)
		return 0;
	if (map64__add(&r->looked, key, 0))
		return -ENOMEM;
	if (source_files__is_newer(&r->files, frame->path)) {
		r->newer[n] = frame->path;
		r->result.newer_count++;
	}
	return 0;
}

static int add_source(struct dump_result *r, struct extprof_dump_fiber *fiber)
{
	for (size_t i = fiber->stack->count; i-- > 0;) {
		const struct extprof_frame *frame = fiber->stack->frames[i];
		struct text line = { 0 };

		if (frame->kind != EXTPROF_FRAME_RUBY || !frame->line)
			continue;
		if (source_files__line(&r->files, frame->path, frame->line, &line) || line.failed) {
			text__free(&line);
			return 0;
		}
		fiber->source = dump_parts__text(&r->parts, &line);
		return fiber->source ? 0 : -ENOMEM;
	}
	return 0;
}

/* Described once in each result.  NULL: out of memory. */
static const struct extprof_frame *shared_frame(struct dump_result *r, uint32_t frame)
{
	uint32_t number = map64__get(&r->shared_map, frame);
	struct extprof_frame *f;

	if (number != MAP64_NONE)
		return r->shared[number];
	f = dump_parts__new(&r->parts, 1, sizeof(*f));
	if (!f || frame_names__take(&r->frames, frame, r->table) ||
	    (r->native && native_frames__take(&r->native->frames, &r->frames, frame)) ||
	    frame__show(f, frame_table__get(&r->frames, frame), &r->texts))
		return NULL;
	if (array__reserve(&r->shared, r->shared_count, 1, &r->shared_room, UINT32_MAX, sizeof(*r->shared)) ||
	    map64__add(&r->shared_map, frame, r->shared_count) || look_at_file(r, f))
		return NULL;
	r->shared[r->shared_count++] = f;
	return f;
}

/* *numbers: those of the frames. */
static int name_frames(struct dump_result *r, struct extprof_dump_fiber *fiber, uint32_t count, uint32_t **numbers)
{
	const struct extprof_frame **path = dump_parts__new(&r->parts, count, sizeof(*path));
	struct extprof_stack *stack = dump_parts__new(&r->parts, 1, sizeof(*stack));

	*numbers = dump_parts__new(&r->parts, count, sizeof(**numbers));
	if (!path || !stack || !*numbers)
		return -ENOMEM;
	memcpy(*numbers, r->resolver.stack, count * sizeof(**numbers));
	if (r->native)
		dump_native__read_names(r->native);
	for (uint32_t i = 0; i < count; i++) {
		path[i] = shared_frame(r, r->resolver.stack[i]);
		if (!path[i])
			return -ENOMEM;
	}
	*stack = (struct extprof_stack){ .frames = path, .count = count, .value = 1 };
	fiber->stack = stack;
	return r->source ? add_source(r, fiber) : 0;
}

static int add_trace(struct dump_result *r, const struct sample_event *e, struct extprof_dump_fiber *fiber)
{
	const char **parts[TRACE_PARTS] = { [TRACE_ID] = &fiber->trace_id, [TRACE_SPAN] = &fiber->span_id };
	char text[TRACE_TEXT_SIZE];

	if (e->trace_state == TRACE_NOT_VALID)
		fiber->trace_lost = "not valid";
	if (e->trace_state == TRACE_UNREAD)
		fiber->trace_lost = "not read";
	for (int part = 0; part < TRACE_PARTS; part++) {
		struct text t = { 0 };

		if (!trace__text(&e->context, (enum trace_part)part, text))
			continue;
		text__adds(&t, text);
		*parts[part] = dump_parts__text(&r->parts, &t);
		if (!*parts[part])
			return -ENOMEM;
	}
	return 0;
}

static int build_fiber(struct dump_result *r, const struct snapshot_ec *ec, struct extprof_dump_fiber *fiber, uint32_t **numbers)
{
	uint32_t count;
	int err;

	fiber->serial = ec->e.serial;
	fiber->root = ec->e.flags & RB_DEBUG_EXT_EC_ROOT;
	fiber->current = ec->current;
	fiber->nonblocking = ec->e.flags & RB_DEBUG_EXT_EC_NONBLOCKING;
	fiber->proof = ec->proof;
	fiber->torn = ec->torn;
	fiber->changing = ec->changing;
	fiber->native_lost = dump_native__reason(ec->native);
	if (!ec->lost && !ec->torn &&
	    (dump_labels__build(&r->parts, &r->vm->symbols, (uint32_t)ec->event->label, fiber) || add_trace(r, ec->event, fiber)))
		return -ENOMEM;
	err = resolve(r, ec, fiber, &count);
	return err == -ENOMEM ? err : name_frames(r, fiber, err ? 0 : count, numbers);
}

/* Fibers of one thread that have resumed each other.  The current one is at the end of the chain. */
static void link_fibers(const struct snapshot_ec *ecs, struct extprof_dump_fiber *fibers, uint32_t count,
			const struct map64 *by_ec)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t other = ecs[i].resumed_by ? map64__get(by_ec, ecs[i].resumed_by) : MAP64_NONE;

		/* Only of the same thread. */
		if (other == MAP64_NONE || other >= count || other == i)
			continue;
		fibers[i].resumed_by = fibers[other].serial;
		fibers[other].resumes = fibers[i].serial;
	}
}

/* 0 or -ENOMEM. */
static int find_links(struct dump_result *r, const struct snapshot_thread *t, const struct snapshot *s,
		      struct extprof_dump_fiber *fibers)
{
	const struct snapshot_ec *ecs = s->ecs + t->first_ec;

	if (t->ec_count < 2)
		return 0;
	map64__clear(&r->ecs);
	for (uint32_t i = 0; i < t->ec_count; i++)
		if (map64__note(&r->ecs, ecs[i].e.ec, i))
			return -ENOMEM;
	link_fibers(ecs, fibers + t->first_ec, t->ec_count, &r->ecs);
	return 0;
}

/* -- what has changed -------------------------------------------------------------------------- */

static int by_serial(const void *a, const void *b)
{
	const struct before *x = a, *y = b;

	return x->serial < y->serial ? -1 : x->serial > y->serial;
}

/* NULL: it was not there. */
static const struct before *find(const struct before *list, uint32_t count, uint64_t serial)
{
	struct before wanted = { .serial = serial };

	return count ? bsearch(&wanted, list, count, sizeof(*list), by_serial) : NULL;
}

static uint64_t stack_hash(const struct snapshot_ec *ec)
{
	return ec->event ? hash__bytes(ec->event + 1, ec->event->nr_frames * sizeof(struct sample_frame), ec->torn + 1) : 0;
}

static void compare(struct dump_result *r, const struct snapshot *s, struct extprof_dump_thread *threads,
		    struct extprof_dump_fiber *fibers)
{
	for (uint32_t i = 0; i < s->thread_count && r->any_before; i++) {
		const struct snapshot_thread *t = &s->threads[i];
		const struct before *b = find(r->runs, r->run_count, t->t.serial);

		threads[i].ran = !b || b->value != t->task.runs || !t->task.off_cpu;
		for (uint32_t k = t->first_ec; k < t->first_ec + t->ec_count; k++) {
			b = find(r->stacks, r->stack_count, s->ecs[k].e.serial);
			fibers[k].moved = !b || b->value != stack_hash(&s->ecs[k]) || s->ecs[k].torn;
		}
	}
}

static int remember(struct dump_result *r, const struct snapshot *s)
{
	r->run_count = r->stack_count = 0;
	if (array__reserve(&r->runs, 0, s->thread_count, &r->run_room, UINT32_MAX, sizeof(*r->runs)) ||
	    array__reserve(&r->stacks, 0, s->ec_count, &r->stack_room, UINT32_MAX, sizeof(*r->stacks)))
		return -ENOMEM;
	for (uint32_t i = 0; i < s->thread_count; i++)
		r->runs[r->run_count++] = (struct before){ s->threads[i].t.serial, s->threads[i].task.runs };
	for (uint32_t i = 0; i < s->ec_count; i++)
		r->stacks[r->stack_count++] = (struct before){ s->ecs[i].e.serial, stack_hash(&s->ecs[i]) };
	if (r->stack_count)
		qsort(r->stacks, r->stack_count, sizeof(*r->stacks), by_serial);
	r->any_before = true;
	return 0;
}

/* Callers see pointers, so that a later version can make the structures longer.  NULL: out of memory. */
static void *pointers_to(struct dump_result *r, void *list, uint32_t count, size_t size)
{
	void **pointers = dump_parts__new(&r->parts, count, sizeof(*pointers));

	for (uint32_t i = 0; i < count && pointers; i++)
		pointers[i] = (char *)list + i * size;
	return pointers;
}

static int build(struct dump_result *r, const struct snapshot *s, const struct dump_facts *facts)
{
	struct extprof_dump_thread *threads = dump_parts__new(&r->parts, s->thread_count, sizeof(*threads));
	struct extprof_dump_fiber *fibers = dump_parts__new(&r->parts, s->ec_count, sizeof(*fibers));
	const struct extprof_dump_fiber *const *fiber_list;
	struct extprof_dump_thread **thread_list;
	/* The stack of each thread. */
	const uint32_t **stacks = dump_parts__new(&r->parts, s->thread_count, sizeof(*stacks));
	uint32_t *counts = dump_parts__new(&r->parts, s->thread_count, sizeof(*counts)), *numbers;

	r->newer = dump_parts__new(&r->parts, NEWER_MAX, sizeof(*r->newer));
	if (!threads || !fibers || !r->newer || !stacks || !counts)
		return -ENOMEM;
	thread_list = pointers_to(r, threads, s->thread_count, sizeof(*threads));
	fiber_list = pointers_to(r, fibers, s->ec_count, sizeof(*fibers));
	if (!thread_list || !fiber_list)
		return -ENOMEM;
	/* Names of classes may have changed since. */
	symbols__update(&r->vm->symbols, true);
	for (uint32_t i = 0; i < s->thread_count; i++) {
		const struct snapshot_thread *t = &s->threads[i];

		for (uint32_t k = t->first_ec; k < t->first_ec + t->ec_count; k++) {
			if (build_fiber(r, &s->ecs[k], &fibers[k], &numbers))
				return -ENOMEM;
			if (!fibers[k].current)
				continue;
			stacks[i] = numbers;
			counts[i] = (uint32_t)fibers[k].stack->count;
		}
		if (find_links(r, t, s, fibers))
			return -ENOMEM;
		threads[i].fibers = fiber_list + t->first_ec;
		threads[i].fiber_count = t->ec_count;
	}
	if (dump_threads__build(&r->threads, facts->pid, s, thread_list) ||
	    dump_idle__find(&r->frames, thread_list, s->thread_count, stacks, counts))
		return -ENOMEM;
	compare(r, s, threads, fibers);
	r->result.threads = (const struct extprof_dump_thread *const *)thread_list;
	r->result.thread_count = s->thread_count;
	r->result.newer = r->newer;
	return remember(r, s);
}

const struct extprof_dump_result *dump_result__build(struct dump_result *r, const struct snapshot *s,
						     const struct dump_facts *facts)
{
	const struct rb_debug_ext_section *section = &r->vm->layout.section;
	struct text version = { 0 }, description = { 0 }, interface = { 0 };
	struct extprof_dump_result *result = &r->result;
	int err;

	if (forget(r))
		return NULL;
	source_files__begin(&r->files, facts->pid, facts->core);
	if (r->native)
		dump_native__begin_names(r->native);
	result->pid = facts->pid ? facts->pid : facts->core_pid;
	result->command = facts->command;
	result->time = facts->time;
	result->duration = facts->duration;
	result->stopped = facts->stopped;
	result->core_missing = facts->core_missing;
	result->torn = s->torn;
	result->lost = s->lost;
	result->left_out = s->left_out;
	result->retried = s->retried;
	result->stops = s->stops;
	result->longest_stop = s->longest_stop;
	text__add_clean(&version, section->ruby_version, strlen(section->ruby_version), 64);
	text__add_clean(&description, s->section.ruby_description,
			strnlen(s->section.ruby_description, sizeof(s->section.ruby_description)), 256);
	text__addf(&interface, "%u.%u", section->abi_major, section->abi_minor);
	result->interface = dump_parts__text(&r->parts, &interface);
	result->ruby_version = dump_parts__text(&r->parts, &version);
	result->ruby_description = dump_parts__text(&r->parts, &description);
	err = result->interface && result->ruby_version && result->ruby_description ? build(r, s, facts) : -ENOMEM;
	return err ? NULL : result;
}
