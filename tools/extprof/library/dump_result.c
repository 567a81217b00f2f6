/* SPDX-License-Identifier: BSD-2-Clause */
#include "library/dump_result.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/map64.h"
#include "base/text.h"
#include "library/dump_file.h"
#include "library/report.h"
#include "process/proc.h"
#include "profile/frames.h"
#include "profile/resolve.h"
#include "remote/call.h"
#include "source/syscall_set.h"

/* Texts of frames that are kept from one result to the next; then they are read again. */
#define STRINGS_MAX (256u << 10)
/* Threads that wait for one another, in the search for deadlocks. */
#define CHAIN_MAX 1024
/* Files whose time of change is looked at. */
#define NEWER_MAX 4096

#define SAME(public, inside) _Static_assert((int)(public) == (int)(inside), #public)
SAME(EXTPROF_PROOF_NONE, PROOF_NONE);
SAME(EXTPROF_PROOF_OFF_CPU, PROOF_OFF_CPU);
SAME(EXTPROF_PROOF_EQUAL, PROOF_EQUAL);
SAME(EXTPROF_PROOF_STOPPED, PROOF_STOPPED);
SAME(EXTPROF_PROOF_CORE, PROOF_CORE);
SAME(EXTPROF_PROOF_WAIT, PROOF_WAIT);
SAME(EXTPROF_THREAD_CREATED, RB_DEBUG_EXT_THREAD_CREATED);
SAME(EXTPROF_THREAD_RUNNING, RB_DEBUG_EXT_THREAD_RUNNING);
SAME(EXTPROF_THREAD_READY, RB_DEBUG_EXT_THREAD_READY);
SAME(EXTPROF_THREAD_BLOCKED, RB_DEBUG_EXT_THREAD_BLOCKED);
SAME(EXTPROF_THREAD_SLEEPING, RB_DEBUG_EXT_THREAD_SLEEPING);

SAME(EXTPROF_WAIT_UNKNOWN, RB_DEBUG_EXT_WAIT_NONE);
SAME(EXTPROF_WAIT_SLEEP, RB_DEBUG_EXT_WAIT_SLEEP);
SAME(EXTPROF_WAIT_JOIN, RB_DEBUG_EXT_WAIT_JOIN);
SAME(EXTPROF_WAIT_MUTEX, RB_DEBUG_EXT_WAIT_MUTEX);
SAME(EXTPROF_WAIT_MUTEX_SLEEP, RB_DEBUG_EXT_WAIT_MUTEX_SLEEP);
SAME(EXTPROF_WAIT_CONDVAR, RB_DEBUG_EXT_WAIT_CONDVAR);
SAME(EXTPROF_WAIT_QUEUE, RB_DEBUG_EXT_WAIT_QUEUE);
SAME(EXTPROF_WAIT_SIZED_QUEUE, RB_DEBUG_EXT_WAIT_SIZED_QUEUE);
SAME(EXTPROF_WAIT_IO, RB_DEBUG_EXT_WAIT_IO);
SAME(EXTPROF_WAIT_IO_READ, RB_DEBUG_EXT_WAIT_IO_READ);
SAME(EXTPROF_WAIT_IO_WRITE, RB_DEBUG_EXT_WAIT_IO_WRITE);
SAME(EXTPROF_WAIT_IO_SELECT, RB_DEBUG_EXT_WAIT_IO_SELECT);
SAME(EXTPROF_WAIT_PROCESS, RB_DEBUG_EXT_WAIT_PROCESS);
SAME(EXTPROF_WAIT_RACTOR, RB_DEBUG_EXT_WAIT_RACTOR);
SAME(EXTPROF_WAIT_NOGVL, RB_DEBUG_EXT_WAIT_NOGVL);

/* What a thread or an EC was before. */
struct before {
	uint64_t serial, value;
};

struct dump_result {
	struct vm *vm;
	struct symbol_table *table;
	struct tree tree;		/* has the texts of frames that are no code; no stacks */
	struct frames texts;
	struct resolver resolver;
	bool source;
	struct source_files files;
	bool any_before;
	struct before *runs, *stacks;	/* of the last result, by serial */
	uint32_t run_count, stack_count;
	size_t run_room, stack_room;
	void **parts;			/* memory of the result, freed with it */
	uint32_t part_count;
	size_t part_room;
	const char **newer;
	struct map64 looked;		/* paths that have been looked at */
	struct map64 ecs;		/* address -> number among those of one thread */
	struct map64 slots, holders;	/* slot, ractor -> number of the thread, of the one that has its GVL */
	struct extprof_dump_result result;
};

static struct vm *vm_of(void *context, const struct sample_event *e, uint32_t *row)
{
	struct dump_result *r = context;

	(void)e;
	*row = PROCESS_NONE;
	return r->vm;
}

struct dump_result *dump_result__new(struct vm *vm, struct symbol_table *table, bool source)
{
	struct dump_result *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->vm = vm;
	r->table = table;
	r->source = source;
	r->files.root = -1;
	r->resolver.tree = &r->tree;
	r->resolver.vm_of = vm_of;
	r->resolver.context = r;
	if (tree__init(&r->tree)) {
		free(r);
		return NULL;
	}
	return r;
}

static void forget(struct dump_result *r)
{
	for (uint32_t i = 0; i < r->part_count; i++)
		free(r->parts[i]);
	r->part_count = 0;
	map64__clear(&r->looked);
	if (r->texts.string_count > STRINGS_MAX)
		frames__free(&r->texts);
	memset(&r->result, 0, sizeof(r->result));
}

void dump_result__free(struct dump_result *r)
{
	if (!r)
		return;
	forget(r);
	source_files__close(&r->files);
	map64__free(&r->looked);
	map64__free(&r->ecs);
	map64__free(&r->slots);
	map64__free(&r->holders);
	tree__free(&r->tree);
	frames__free(&r->texts);
	free(r->parts);
	free(r->runs);
	free(r->stacks);
	free(r);
}

/* Memory that lives as long as the result, zeroed.  NULL: out of memory. */
static void *part(struct dump_result *r, size_t count, size_t size)
{
	void *p;

	if (array__reserve(&r->parts, r->part_count, 1, &r->part_room, UINT32_MAX, sizeof(*r->parts)))
		return NULL;
	p = calloc(count ? count : 1, size);
	if (p)
		r->parts[r->part_count++] = p;
	return p;
}

/* A text that lives as long as the result.  It takes *t.  NULL: out of memory. */
static const char *text_part(struct dump_result *r, struct text *t)
{
	char *p = t->failed ? NULL : part(r, t->length + 1, 1);

	if (p)
		memcpy(p, text__string(t), t->length);
	text__free(t);
	return p;
}

/* -- stacks ------------------------------------------------------------------------------------ */

/* A frame that is no code, at the innermost end of the stack that the resolver has.  0 or -ENOMEM. */
static int add_synthetic(struct dump_result *r, const char *text, uint32_t *count)
{
	uint64_t frame = tree__synthetic(&r->tree, SYNTHETIC_UNKNOWN, text);

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
		text__addf(&text, "[unreadable: %s]", fiber->lost);
		err = text.failed ? -ENOMEM : add_synthetic(r, text.data, count);
		text__free(&text);
		return err;
	}
	/* Of a torn stack nothing may be left but the mark. */
	if (!ec->torn || ec->event->nr_frames > 1) {
		err = resolve__stack(&r->resolver, ec->event, sizeof(*ec->event) +
				     ec->event->nr_frames * sizeof(struct sample_frame), count);
		if (err)
			return err;
	}
	fiber->left_out = ec->event->truncated ? ec->event->left_out : 0;
	fiber->created = is_created(ec);
	return ec->torn ? add_synthetic(r, "[changes while it is read]", count) : 0;
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
	for (size_t i = fiber->stack.count; i-- > 0;) {
		const struct extprof_frame *frame = fiber->stack.frames[i];
		struct text line = { 0 };

		if (frame->kind != EXTPROF_FRAME_RUBY || !frame->line)
			continue;
		if (source_files__line(&r->files, frame->path, frame->line, &line) || line.failed) {
			text__free(&line);
			return 0;
		}
		fiber->source = text_part(r, &line);
		return fiber->source ? 0 : -ENOMEM;
	}
	return 0;
}

static int name_frames(struct dump_result *r, struct extprof_dump_fiber *fiber, uint32_t count)
{
	struct extprof_frame *frames = part(r, count, sizeof(*frames));
	const struct extprof_frame **path = part(r, count, sizeof(*path));
	struct frame_row row;

	if (!frames || !path)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		if (frames__describe(&r->texts, r->resolver.stack[i], &r->tree, r->table, &row))
			return -ENOMEM;
		frame__from_row(&frames[i], &row);
		path[i] = &frames[i];
		if (look_at_file(r, &frames[i]))
			return -ENOMEM;
	}
	fiber->stack = (struct extprof_stack){ .frames = path, .count = count, .value = 1 };
	return r->source ? add_source(r, fiber) : 0;
}

static int build_fiber(struct dump_result *r, const struct snapshot_ec *ec, struct extprof_dump_fiber *fiber)
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
	err = resolve(r, ec, fiber, &count);
	return err == -ENOMEM ? err : name_frames(r, fiber, err ? 0 : count);
}

static int note(struct map64 *map, uint64_t key, uint32_t number)
{
	return map64__get(map, key) == MAP64_NONE ? map64__add(map, key, number) : 0;
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
		if (note(&r->ecs, ecs[i].e.ec, i))
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
	const struct sample_frame *frames = (const struct sample_frame *)(ec->event + 1);

	return ec->event ? hash__bytes(frames, ec->event->nr_frames * sizeof(*frames), ec->torn + 1) : 0;
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
	qsort(r->stacks, r->stack_count, sizeof(*r->stacks), by_serial);
	r->any_before = true;
	return 0;
}

/* -- threads ----------------------------------------------------------------------------------- */

static const char *gc_name(const struct snapshot_ec *ec)
{
	switch (ec->event ? ec->event->gc_phase : 0) {
	case 0: return NULL;
	case RB_DEBUG_EXT_GC_MARK: return "mark";
	case RB_DEBUG_EXT_GC_SWEEP: return "sweep";
	case RB_DEBUG_EXT_GC_COMPACT: return "compact";
	default: return "enter";
	}
}

/* Find threads by their slots, and holders of GVLs by their ractors. */
static int index_threads(struct dump_result *r, const struct snapshot *s)
{
	map64__clear(&r->slots);
	map64__clear(&r->holders);
	for (uint32_t i = 0; i < s->thread_count; i++) {
		const struct snapshot_thread *t = &s->threads[i];

		if (note(&r->slots, t->slot, i) ||
		    (t->t.state == RB_DEBUG_EXT_THREAD_RUNNING && note(&r->holders, t->t.ractor, i)))
			return -ENOMEM;
	}
	return 0;
}

/* Serial of the thread that has the number under the key; 0: there is none. */
static uint64_t serial_of(const struct map64 *map, uint64_t key, const struct snapshot *s)
{
	uint32_t number = map64__get(map, key);

	return number == MAP64_NONE ? 0 : s->threads[number].t.serial;
}

/* What a descriptor of the process is.  0 with *file, NULL if that is not known; or -ENOMEM. */
static int describe_fd(struct dump_result *r, pid_t pid, int32_t fd, const char **file)
{
	char path[PROC_PATH_MAX], target[4096];
	struct text text = { 0 };
	ssize_t n;

	*file = NULL;
	if (!pid || fd < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	n = readlink(path, target, sizeof(target));
	if (n <= 0)
		return 0;
	text__add_clean(&text, target, (size_t)n, TEXT_NAME_MAX);
	*file = text_part(r, &text);
	return *file ? 0 : -ENOMEM;
}

static int describe_call(struct dump_result *r, pid_t pid, const struct task *task, struct extprof_dump_thread *to)
{
	struct pollfd polled;

	to->call = task->call;
	to->call_fd = -1;
	if (task->call < 0)
		return 0;
	to->call_name = syscall__name((uint64_t)task->call);
	if (call__takes_fd(task->call) && task->args[0] <= INT32_MAX)
		to->call_fd = (int32_t)task->args[0];
	/* Ruby waits for one descriptor so. */
	if (call__polls(task->call) && task->args[1] == 1 &&
	    !memory__read(&r->vm->memory, task->args[0], &polled, sizeof(polled)))
		to->call_fd = polled.fd < 0 ? -1 : polled.fd;
	return describe_fd(r, pid, to->call_fd, &to->call_file);
}

static int describe_wait(struct dump_result *r, const struct snapshot *s, pid_t pid,
			 const struct rb_debug_ext_thread *t, struct extprof_dump_thread *to)
{
	to->wait_fd = -1;
	if (s->section.abi_minor < 1)
		return 0;
	/* Known to the nanosecond. */
	if (t->state == RB_DEBUG_EXT_THREAD_READY && pid && t->ready_at && t->ready_at <= s->ended)
		to->since = s->ended - t->ready_at;
	if ((t->state != RB_DEBUG_EXT_THREAD_BLOCKED && t->state != RB_DEBUG_EXT_THREAD_SLEEPING) ||
	    t->wait_kind > RB_DEBUG_EXT_WAIT_NOGVL)
		return 0;
	to->wait = (int)t->wait_kind;
	to->wait_thread = t->wait_thread_slot ? serial_of(&r->slots, t->wait_thread_slot, s) : 0;
	to->wait_object = t->wait_object;
	if (t->wait_kind >= RB_DEBUG_EXT_WAIT_IO && t->wait_kind <= RB_DEBUG_EXT_WAIT_IO_WRITE &&
	    t->wait_fd <= INT32_MAX)
		to->wait_fd = (int32_t)t->wait_fd;
	return describe_fd(r, pid, to->wait_fd, &to->wait_file);
}

static struct extprof_dump_thread *thread_of(struct extprof_dump_thread *threads, uint32_t count, uint64_t serial)
{
	uint32_t low = 0, high = count;

	/* They are sorted. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (threads[middle].serial < serial)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && threads[low].serial == serial ? &threads[low] : NULL;
}

/* Does the thread wait for itself, by way of others? */
static bool is_deadlocked(struct extprof_dump_thread *threads, uint32_t count, const struct extprof_dump_thread *first)
{
	const struct extprof_dump_thread *t = first;

	for (uint32_t i = 0; i < CHAIN_MAX && t && t->wait_thread &&
	     (t->wait == EXTPROF_WAIT_JOIN || t->wait == EXTPROF_WAIT_MUTEX); i++) {
		t = thread_of(threads, count, t->wait_thread);
		if (t == first)
			return true;
	}
	return false;
}

static int build_thread(struct dump_result *r, const struct snapshot *s, const struct dump_facts *facts,
			const struct snapshot_thread *from, struct extprof_dump_thread *to)
{
	const struct rb_debug_ext_thread *t = &from->t;
	struct text name = { 0 };

	to->serial = t->serial;
	to->ractor = t->ractor;
	to->tid = from->task.tid ? (uint32_t)from->task.tid : t->tid;
	text__add_clean(&name, t->name, strnlen(t->name, sizeof(t->name)), sizeof(t->name));
	to->name = text_part(r, &name);
	if (!to->name)
		return -ENOMEM;
	to->main = t->flags & RB_DEBUG_EXT_THREAD_MAIN;
	to->shared = t->flags & RB_DEBUG_EXT_THREAD_MN;
	to->state = (int)t->state;
	to->since = facts->pid && t->since && t->since <= s->ended ? s->ended - t->since : UINT64_MAX;
	to->kernel_state = from->task.state;
	to->off_cpu = from->task.off_cpu;
	if (t->state == RB_DEBUG_EXT_THREAD_READY)
		to->gvl_holder = serial_of(&r->holders, t->ractor, s);
	for (uint32_t i = from->first_ec; i < from->first_ec + from->ec_count && !to->gc; i++)
		to->gc = gc_name(&s->ecs[i]);
	if (describe_wait(r, s, facts->pid, t, to))
		return -ENOMEM;
	return describe_call(r, facts->pid, &from->task, to);
}

static int build(struct dump_result *r, const struct snapshot *s, const struct dump_facts *facts)
{
	struct extprof_dump_thread *threads = part(r, s->thread_count, sizeof(*threads));
	struct extprof_dump_fiber *fibers = part(r, s->ec_count, sizeof(*fibers));

	r->newer = part(r, NEWER_MAX, sizeof(*r->newer));
	if (!threads || !fibers || !r->newer)
		return -ENOMEM;
	/* Names of classes may have changed since. */
	symbols__update(&r->vm->symbols, true);
	if (index_threads(r, s))
		return -ENOMEM;
	for (uint32_t i = 0; i < s->thread_count; i++) {
		const struct snapshot_thread *t = &s->threads[i];

		for (uint32_t k = t->first_ec; k < t->first_ec + t->ec_count; k++)
			if (build_fiber(r, &s->ecs[k], &fibers[k]))
				return -ENOMEM;
		if (find_links(r, t, s, fibers))
			return -ENOMEM;
		if (build_thread(r, s, facts, t, &threads[i]))
			return -ENOMEM;
		threads[i].fibers = fibers + t->first_ec;
		threads[i].fiber_count = t->ec_count;
	}
	for (uint32_t i = 0; i < s->thread_count; i++)
		threads[i].deadlocked = is_deadlocked(threads, s->thread_count, &threads[i]);
	compare(r, s, threads, fibers);
	r->result.threads = threads;
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

	forget(r);
	source_files__close(&r->files);
	source_files__open(&r->files, facts->pid);
	result->pid = facts->pid ? facts->pid : facts->core_pid;
	result->command = facts->command;
	result->time = facts->time;
	result->duration = facts->duration;
	result->stopped = facts->stopped;
	result->torn = s->torn;
	result->lost = s->lost;
	result->left_out = s->left_out;
	result->retried = s->retried;
	text__add_clean(&version, section->ruby_version, strlen(section->ruby_version), 64);
	text__add_clean(&description, s->section.ruby_description,
			strnlen(s->section.ruby_description, sizeof(s->section.ruby_description)), 256);
	text__addf(&interface, "%u.%u", section->abi_major, section->abi_minor);
	result->interface = text_part(r, &interface);
	result->ruby_version = text_part(r, &version);
	result->ruby_description = text_part(r, &description);
	err = result->interface && result->ruby_version && result->ruby_description ? build(r, s, facts) : -ENOMEM;
	return err ? NULL : result;
}
