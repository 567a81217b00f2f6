/* SPDX-License-Identifier: BSD-2-Clause */
/* Snapshots of a VM by hand, at rest, with faults in each read, and while it changes. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "fake.h"
#include "memory_fake.h"
#include "native/native.h"
#include "remote/event_queue.h"
#include "remote/locks.h"
#include "remote/snapshot.h"
#include "remote/unwind_tables.h"
#include "ruby/layout.h"

#define SERIAL 70000000000ull

static struct rb_debug_ext_section section;
static struct fake vm;
static struct layout layout;
static struct memory_fake memory;
static struct tasks tasks;
static struct fake_ec *ecs[3];
static struct snapshot snapshot;
static struct snapshot_source source;

/* Two threads; the first one has a parked fiber. */
static bool set_up(enum snapshot_proof frozen)
{
	struct diag d = { 0 };

	fake__init(&vm, &section);
	for (int i = 0; i < 3; i++) {
		ecs[i] = fake__ec(20);
		fake__push(ecs[i], RB_DEBUG_EXT_ID_NONE, 0);
		for (uint32_t k = 1; k <= 4; k++)
			fake__push(ecs[i], 100 * (uint32_t)i + k, 0x1000 + 8 * k);
	}
	fake__thread(&vm, 5, SERIAL, "first", ecs[0])->state = RB_DEBUG_EXT_THREAD_SLEEPING;
	fake__thread(&vm, 3, SERIAL + 1, "second", ecs[2]);
	fake__ec_slot(&vm, ecs[1], 1, 5)->serial = 12;
	fake__ec_slot(&vm, ecs[0], 9, 5)->serial = 11;
	fake__ec_slot(&vm, ecs[2], 4, 3)->serial = 13;
	memory_fake__init(&memory);
	tasks = (struct tasks){ .dir = -1 };
	source = (struct snapshot_source){
		.layout = &layout, .memory = &memory.memory, .tasks = &tasks, .frozen = frozen,
	};
	return !layout__read(&layout, &memory.memory, (uintptr_t)&section, &d);
}

static struct rb_debug_ext_thread *first_thread(void)
{
	return (struct rb_debug_ext_thread *)(uintptr_t)vm.thread_dir[0] + 5;
}

static const struct sample_frame *frames_of(const struct snapshot_ec *ec)
{
	return (const struct sample_frame *)(ec->event + 1);
}

TEST(snapshot_has_all_threads_and_fibers)
{
	CHECK(set_up(PROOF_CORE));
	CHECK_INT(snapshot__take(&snapshot, &source), 0);
	CHECK_INT(snapshot.thread_count, 2);
	CHECK_INT(snapshot.ec_count, 3);
	CHECK_INT(snapshot.torn + snapshot.lost + snapshot.left_out, 0);
	for (uint32_t i = 0; i < 2; i++) {
		const struct snapshot_thread *t = &snapshot.threads[i];

		CHECK_INT(t->t.serial, SERIAL + i);
		CHECK_INT(t->slot, i ? 3 : 5);
		CHECK_STRING(t->t.name, i ? "second" : "first");
		CHECK_INT(t->ec_count, i ? 1 : 2);
		CHECK(snapshot.ecs[t->first_ec].current);
	}
	/* The current one first. */
	CHECK_INT(snapshot.ecs[0].e.serial, 11);
	CHECK_INT(snapshot.ecs[1].e.serial, 12);
	CHECK(!snapshot.ecs[1].current);
	for (int i = 0; i < 3; i++) {
		CHECK_INT(snapshot.ecs[i].proof, PROOF_CORE);
		CHECK_INT(snapshot.ecs[i].event->nr_frames, 5);
		for (uint32_t k = 0; k < 4; k++) {
			CHECK_INT(frames_of(&snapshot.ecs[i])[k].id, 100 * i + 4 - (int)k);
			CHECK_INT(frames_of(&snapshot.ecs[i])[k].pc, 0x1000 + 8 * (4 - k));
		}
	}
	snapshot__free(&snapshot);
}

TEST(snapshot_survives_a_fault_in_each_read)
{
	static const int errors[] = { -EFAULT, -ESRCH, -EINTR, -EPERM };

	for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); e++) {
		for (int at = 1, reads = at; at <= reads; at++) {
			int err;

			CHECK(set_up(PROOF_STOPPED));
			memory.reads = 0;
			memory.fail_at = at;
			memory.error = errors[e];
			err = snapshot__take(&snapshot, &source);
			reads = memory.reads;
			/* An error, or what is missing is counted. */
			CHECK(err || snapshot.lost || snapshot.left_out);
			CHECK(!err || err == errors[e]);
			for (uint32_t i = 0; !err && i < snapshot.ec_count; i++)
				CHECK(!snapshot.ecs[i].lost == (snapshot.ecs[i].event != NULL));
			snapshot__free(&snapshot);
		}
	}
}

/* The innermost frame of the first thread becomes another one before each read. */
static void change(int read)
{
	struct fake_frame *frame = (struct fake_frame *)(uintptr_t)ecs[0]->cfp;

	frame->ext_debug = (uint32_t)read;
}

TEST(snapshot_of_a_stack_that_changes_keeps_what_stays)
{
	CHECK(set_up(PROOF_NONE));
	first_thread()->state = RB_DEBUG_EXT_THREAD_RUNNING;
	memory.before = change;
	CHECK_INT(snapshot__take(&snapshot, &source), 0);
	CHECK_INT(snapshot.torn, 1);
	CHECK_INT(snapshot.lost, 0);
	CHECK(snapshot.ecs[0].torn);
	CHECK_INT(snapshot.ecs[0].proof, PROOF_NONE);
	CHECK_INT(snapshot.ecs[0].changing, 1);
	CHECK_INT(snapshot.ecs[0].event->nr_frames, 4);
	for (uint32_t k = 0; k < 3; k++)
		CHECK_INT(frames_of(&snapshot.ecs[0])[k].id, 3 - k);
	CHECK_INT(frames_of(&snapshot.ecs[0])[3].id, RB_DEBUG_EXT_ID_NONE);
	/* The others do not change. */
	CHECK_INT(snapshot.ecs[1].event->nr_frames, 5);
	CHECK(snapshot.ecs[1].proof && snapshot.ecs[2].proof);
	snapshot__free(&snapshot);
}

/* It only changes now and then: several equal copies are found. */
static void change_at_first(int read)
{
	if (read < 40)
		change(read);
}

TEST(snapshot_of_a_stack_that_comes_to_rest_is_whole)
{
	CHECK(set_up(PROOF_NONE));
	first_thread()->state = RB_DEBUG_EXT_THREAD_RUNNING;
	memory.before = change_at_first;
	CHECK_INT(snapshot__take(&snapshot, &source), 0);
	CHECK_INT(snapshot.torn, 0);
	CHECK_INT(snapshot.ecs[0].event->nr_frames, 5);
	CHECK_INT(frames_of(&snapshot.ecs[0])[0].id, 39);
	snapshot__free(&snapshot);
}

static void wake(int read)
{
	if (read > 12 && read < 60)
		first_thread()->state_seq++;
}

TEST(snapshot_of_a_thread_that_waits_is_proven_by_its_count)
{
	CHECK(set_up(PROOF_NONE));
	CHECK_INT(snapshot__take(&snapshot, &source), 0);
	CHECK_INT(snapshot.ecs[0].proof, PROOF_WAIT);
	CHECK_INT(snapshot.ecs[1].proof, PROOF_WAIT);
	/* The other one is not known to wait. */
	CHECK_INT(snapshot.ecs[2].proof, PROOF_EQUAL);
	snapshot__free(&snapshot);
	CHECK(set_up(PROOF_NONE));
	memory.before = wake;
	CHECK_INT(snapshot__take(&snapshot, &source), 0);
	CHECK_INT(snapshot.torn, 0);
	CHECK(snapshot.ecs[0].proof == PROOF_WAIT || snapshot.ecs[0].proof == PROOF_EQUAL);
	snapshot__free(&snapshot);
}

/* As Ruby has it: an object, which points to a structure, which has its owner. */
struct fake_mutex {
	uint64_t object[5];
	uint64_t inside[4];
};

#define FIBER_EC 64u

static uint64_t fiber_of(const struct fake_ec *ec)
{
	return (uintptr_t)ec - FIBER_EC;
}

static void mutex__init(struct fake_mutex *m, uint64_t owner)
{
	*m = (struct fake_mutex){
		.object = { 0x46c, (uintptr_t)&section, (uintptr_t)&vm, 1, (uintptr_t)m->inside }, .inside = { owner },
	};
}

static void wait_for(struct rb_debug_ext_thread *t, const struct fake_mutex *m, uint32_t slot_before)
{
	t->state = RB_DEBUG_EXT_THREAD_SLEEPING;
	t->wait_kind = RB_DEBUG_EXT_WAIT_MUTEX;
	t->wait_object = (uintptr_t)m->object;
	t->wait_thread_slot = slot_before;
}

static struct rb_debug_ext_thread *second_thread(void)
{
	return first_thread() - 2;
}

static bool take_with_locks(void)
{
	layout.section.ec_fiber = 8;
	layout.section.fiber_prev = 8;
	layout.section.fiber_ec = FIBER_EC;
	return !snapshot__take(&snapshot, &source) && !locks__read(&snapshot, &source);
}

TEST(locks_are_of_who_has_them_now)
{
	static struct fake_mutex m, free_one;

	for (int frozen = 0; frozen < 2; frozen++) {
		CHECK(set_up(frozen ? PROOF_CORE : PROOF_NONE));
		/* A parked fiber of the first thread has it. */
		mutex__init(&m, fiber_of(ecs[1]));
		mutex__init(&free_one, 0);
		wait_for(second_thread(), &m, 3);
		wait_for(first_thread(), &free_one, 3);
		CHECK(take_with_locks());
		CHECK_INT(snapshot.threads[1].lock, LOCK_OWNED);
		CHECK_INT(snapshot.threads[1].lock_owner, SERIAL);
		/* Where an owner is, is known by the other mutex. */
		CHECK_INT(snapshot.threads[0].lock, LOCK_FREE);
		snapshot__free(&snapshot);
		/* In the object itself. */
		m.object[3] = fiber_of(ecs[2]);
		m.inside[0] = 0;
		CHECK(take_with_locks());
		CHECK_INT(snapshot.threads[1].lock_owner, SERIAL + 1);
		snapshot__free(&snapshot);
		/* Of a fiber that is not known, and of memory that is none. */
		mutex__init(&m, 0x12345678);
		free_one.object[4] = 0x10;
		CHECK(take_with_locks());
		CHECK_INT(snapshot.threads[0].lock + snapshot.threads[1].lock, 2 * LOCK_UNKNOWN);
		snapshot__free(&snapshot);
	}
}

static void lock_moves(int read)
{
	(void)read;
	second_thread()->state_seq++;
}

TEST(locks_of_threads_that_went_on_are_not_known)
{
	static struct fake_mutex m;

	CHECK(set_up(PROOF_NONE));
	mutex__init(&m, fiber_of(ecs[0]));
	wait_for(second_thread(), &m, 5);
	memory.before = lock_moves;
	CHECK(take_with_locks());
	CHECK_INT(snapshot.threads[1].lock, LOCK_UNKNOWN);
	snapshot__free(&snapshot);
}

static bool each_has_a_stack_or_a_reason(void)
{
	uint32_t lost = 0;

	for (uint32_t i = 0; i < snapshot.thread_count; i++) {
		const struct snapshot_ec *ec = snapshot.ecs + snapshot.threads[i].first_ec;

		for (uint32_t k = 0; k < snapshot.threads[i].ec_count; k++, ec++) {
			if (!ec->event != (ec->lost != 0) || (ec->event && !ec->proof && !ec->torn))
				return false;
			lost += ec->lost != 0;
		}
	}
	return lost == snapshot.lost;
}

static void begin_to_write(int read)
{
	if (read > 8)
		first_thread()->generation |= 1;
}

/* The thread has a native thread (this one) or none, and its slot is being written at each look but the first. */
TEST(snapshot_of_a_slot_that_is_always_written_loses_its_stacks)
{
	for (int native = 0; native < 2; native++) {
		CHECK(set_up(PROOF_NONE));
		if (native) {
			CHECK_INT(tasks__open(&tasks, getpid(), true), 0);
			first_thread()->tid = (uint32_t)getpid();
		}
		memory.before = begin_to_write;
		CHECK_INT(snapshot__take(&snapshot, &source), 0);
		tasks__close(&tasks);
		CHECK_INT(snapshot.thread_count, 2);
		CHECK_INT(snapshot.lost, 2);
		CHECK_INT(snapshot.ecs[0].lost, LOSS_TORN);
		CHECK_INT(snapshot.ecs[1].lost, LOSS_TORN);
		CHECK_INT(snapshot.ecs[2].event->nr_frames, 5);
		CHECK(each_has_a_stack_or_a_reason());
		snapshot__free(&snapshot);
	}
}

/* Memory that is taken away at some moment of the read. */
static uint64_t gone_from, gone_to;
static int gone_at;

static void take_away(int read)
{
	if (read == gone_at) {
		memory.from = gone_from;
		memory.to = gone_to;
	}
}

TEST(snapshot_of_memory_that_goes_away_has_a_reason_for_each_stack)
{
	static const enum snapshot_proof kinds[] = { PROOF_NONE, PROOF_STOPPED, PROOF_CORE };

	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
		for (int part = 0; part < 4; part++) {
			for (gone_at = 1;; gone_at++) {
				int reads;

				CHECK(set_up(kinds[kind]));
				gone_from = part == 0 ? (uintptr_t)first_thread() : part == 1 ? first_thread()->thread :
					part == 2 ? (uintptr_t)ecs[0] : ecs[0]->cfp;
				gone_to = gone_from + (part == 0 ? sizeof(*first_thread()) : 8);
				memory.reads = 0;
				memory.before = take_away;
				CHECK_INT(snapshot__take(&snapshot, &source), 0);
				reads = memory.reads;
				CHECK(each_has_a_stack_or_a_reason());
				snapshot__free(&snapshot);
				if (gone_at >= reads)
					break;
			}
		}
	}
}

TEST(snapshot_counts_slots_that_are_being_written)
{
	struct rb_debug_ext_thread *t;

	CHECK(set_up(PROOF_CORE));
	t = (struct rb_debug_ext_thread *)(uintptr_t)vm.thread_dir[0] + 3;
	t->generation |= 1;
	CHECK_INT(snapshot__take(&snapshot, &source), 0);
	CHECK_INT(snapshot.thread_count, 1);
	CHECK_INT(snapshot.left_out, 1);
	snapshot__free(&snapshot);
	t->generation++;
	t->state = RB_DEBUG_EXT_THREAD_DEAD;
	CHECK_INT(snapshot__take(&snapshot, &source), 0);
	CHECK_INT(snapshot.thread_count, 1);
	CHECK_INT(snapshot.left_out, 0);
	snapshot__free(&snapshot);
}

TEST(snapshot_of_tables_that_claim_too_much_is_bounded)
{
	static uint64_t dir[RB_DEBUG_EXT_SLOT_CHUNKS_MAX];

	CHECK(set_up(PROOF_CORE));
	/* Each chunk is the same one: four million slots, each in use. */
	for (uint32_t i = 0; i < RB_DEBUG_EXT_SLOTS_PER_CHUNK; i++)
		fake__ec_slot(&vm, ecs[i % 3], i, 5)->serial = i;
	for (uint32_t i = 0; i < RB_DEBUG_EXT_SLOT_CHUNKS_MAX; i++)
		dir[i] = vm.ec_dir[0];
	section.ec_dir = (uintptr_t)dir;
	section.ec_slots_end = UINT32_MAX;
	CHECK(!layout__refresh(&layout, &memory.memory));
	layout.section.ec_dir = section.ec_dir;
	/* What is not their own: one thread has all. */
	CHECK_INT(snapshot__take(&snapshot, &source), 0);
	CHECK_INT(snapshot.ec_count, TABLES_ECS_MAX);
	CHECK(snapshot.left_out > 3000000);
	CHECK(snapshot.bytes <= SNAPSHOT_BYTES_MAX);
	snapshot__free(&snapshot);
}

TEST(snapshot_of_one_thread)
{
	struct snapshot_thread thread = { .slot = 5 };
	struct walker *walker = walker__new();
	struct snapshot_ec ec;

	CHECK(walker != NULL);
	CHECK(set_up(PROOF_STOPPED));
	CHECK_INT(snapshot__thread(&source, walker, &thread, &ec), 0);
	CHECK_INT(thread.t.serial, SERIAL);
	CHECK(ec.current);
	CHECK_INT(ec.proof, PROOF_STOPPED);
	CHECK_INT(ec.event->nr_frames, 5);
	CHECK_INT(frames_of(&ec)[0].id, 4);
	free(ec.event);
	thread.slot = 6;
	CHECK_INT(snapshot__thread(&source, walker, &thread, &ec), -ENOENT);
	thread.slot = 7777;
	CHECK_INT(snapshot__thread(&source, walker, &thread, &ec), -ENOENT);
	walker__free(walker);
}

/* -- native functions ------------------------------------------------------------------------- */

#define CODE 0x7000000000ull
enum { LEAF = 0x100, FRAMED = 0x200, CALLER = 0x300, ENDLESS = 0x400, FIRST = 0x500 };

static struct unwind_row rows[] = {
	{ LEAF, 2, UNWIND_SP, UNWIND_SAME }, { FRAMED, 2, UNWIND_FP, 2 }, { CALLER, 1, UNWIND_SP, UNWIND_SAME },
	{ ENDLESS, 1, UNWIND_SP, UNWIND_SAME }, { FIRST, 0, UNWIND_OUTERMOST, 0 },
};
static struct unwind_mapping mappings[1];
static struct unwind_view view;
static uint64_t native_stack[1024];
static struct task native_task;

static bool native_task_of(void *context, uint32_t tid, struct task *task)
{
	(void)context;
	(void)tid;
	*task = native_task;
	return true;
}

/* The first thread's stack: a leaf, a function that is found by rbp, its caller, the first one. */
static bool set_up_native(enum snapshot_proof frozen)
{
	bool done = set_up(frozen);

	first_thread()->tid = 1;
	((struct rb_debug_ext_ec *)(uintptr_t)vm.ec_dir[0] + 9)->flags = RB_DEBUG_EXT_EC_ROOT;
	memset(native_stack, 0, sizeof(native_stack));
	native_stack[1] = CODE + FRAMED + 5;	/* the leaf's CFA is 2 words up */
	native_stack[6] = 0x1234;		/* rbp points here */
	native_stack[7] = CODE + CALLER + 5;
	native_stack[8] = CODE + FIRST + 5;
	native_task = (struct task){
		.tid = 1, .call = -1, .cpu = -1, .ip = CODE + LEAF + 1, .sp = (uintptr_t)native_stack,
		.bp = (uintptr_t)&native_stack[6], .has_bp = true,
	};
	mappings[0] = (struct unwind_mapping){ CODE, CODE + 0x1000, CODE, 0, sizeof(rows) / sizeof(rows[0]) };
	view = (struct unwind_view){
		.rows = rows, .mappings = mappings, .row_count = sizeof(rows) / sizeof(rows[0]), .mapping_count = 1, .vm = 7,
	};
	source.task_of = native_task_of;
	source.native = &view;
	return done;
}

static void take_and_check(void)
{
	CHECK_INT(snapshot__take(&snapshot, &source), 0);
	CHECK_INT(snapshot.ecs[0].e.serial, 11);
	CHECK(!snapshot.ecs[0].lost && snapshot.ecs[0].event->nr_frames == 5);
	/* A parked fiber has none. */
	CHECK(!snapshot_ec__machine(&snapshot.ecs[1]) && snapshot.ecs[1].native == NATIVE_HAS);
}

/* Take it; the functions of the first thread. */
static const struct sample_machine *take_native(void)
{
	take_and_check();
	return snapshot_ec__machine(&snapshot.ecs[0]);
}

TEST(snapshot_has_native_functions)
{
	static const uint64_t expected[] = { CODE + LEAF + 1, CODE + FRAMED + 5, CODE + CALLER + 5, CODE + FIRST + 5 };
	const struct sample_machine *m;

	CHECK(set_up_native(PROOF_STOPPED));
	m = take_native();
	CHECK(m != NULL);
	CHECK_INT(m->native_end, UNWIND_END_OUTERMOST);
	CHECK_INT(m->nr_native, 4);
	for (int i = 0; i < 4; i++)
		CHECK_INT(m->address[i], expected[i]);
	CHECK_INT(snapshot.ecs[0].event->vm, 7);
	CHECK_INT(snapshot.ecs[0].size, sizeof(struct sample_event) + 5 * sizeof(struct sample_frame) + SAMPLE_MACHINE_HEAD + 4 * 8);
	snapshot__free(&snapshot);

	/* Without rbp it ends where rbp is needed. */
	native_task.has_bp = false;
	m = take_native();
	CHECK(m && m->native_end == UNWIND_END_FP && m->nr_native == 2);
	snapshot__free(&snapshot);

	/* They are not asked for. */
	source.native = NULL;
	CHECK(!take_native());
	CHECK_INT(snapshot.ecs[0].native, NATIVE_HAS);
	snapshot__free(&snapshot);
}

TEST(snapshot_of_native_functions_is_bounded)
{
	const struct sample_machine *m;

	CHECK(set_up_native(PROOF_STOPPED));
	/* Each function is its own caller. */
	for (int i = 0; i < 1024; i++)
		native_stack[i] = CODE + ENDLESS + 5;
	native_task.ip = CODE + ENDLESS;
	m = take_native();
	CHECK(m && m->native_end == UNWIND_END_DEPTH && m->nr_native == NATIVE_FRAMES_MAX);
	snapshot__free(&snapshot);

	/* A stack that leads back to itself. */
	CHECK(set_up_native(PROOF_STOPPED));
	native_task.ip = CODE + FRAMED;
	native_task.bp = native_task.sp - 64;
	m = take_native();
	CHECK(m && m->native_end == UNWIND_END_ORDER && m->nr_native == 1);
	snapshot__free(&snapshot);

	/* No memory is there, and no file. */
	CHECK(set_up_native(PROOF_STOPPED));
	native_task.sp = 0x10;
	m = take_native();
	CHECK(m && m->native_end == UNWIND_END_STACK && m->nr_native == 1);
	snapshot__free(&snapshot);
	CHECK(set_up_native(PROOF_STOPPED));
	native_stack[1] = 0x4242;
	m = take_native();
	CHECK(m && m->native_end == UNWIND_END_NO_FILE && m->nr_native == 2);
	snapshot__free(&snapshot);
}

TEST(snapshot_of_a_native_stack_has_a_reason_if_there_is_none)
{
	const struct sample_machine *m;

	CHECK(set_up_native(PROOF_STOPPED));
	tasks.pid = getpid();
	view.hash = native_work__hash(getpid(), NULL);
	CHECK(view.hash != 0);
	CHECK(take_native() != NULL);
	snapshot__free(&snapshot);

	/* Other code was there when the rules were looked up. */
	view.hash++;
	CHECK(!take_native());
	CHECK_INT(snapshot.ecs[0].native, NATIVE_CHANGED);
	snapshot__free(&snapshot);

	/* Nobody knows its registers. */
	view.hash = 0;
	native_task.ip = 0;
	CHECK(!take_native());
	CHECK_INT(snapshot.ecs[0].native, NATIVE_MOVED);
	snapshot__free(&snapshot);
	native_task.tid = 0;
	CHECK(!take_native());
	CHECK_INT(snapshot.ecs[0].native, NATIVE_NO_THREAD);
	snapshot__free(&snapshot);

	/* A native stack that is not the EC's: it ends without a caller, and the thread's own does not. */
	CHECK(set_up_native(PROOF_STOPPED));
	native_stack[8] = 0;
	m = take_native();
	CHECK(m && m->native_end == UNWIND_END_FIBER && !m->nr_native);
	snapshot__free(&snapshot);
}

TEST(sample_of_one_thread_has_native_functions)
{
	struct page_cache *cache = page_cache__new(source.memory);
	struct snapshot_thread thread = { .slot = 5 };
	struct walker *walker = walker__new();
	const struct sample_machine *m;
	struct sample_event *event;
	struct snapshot_ec ec;
	struct task task;

	CHECK(walker && cache);
	CHECK(set_up_native(PROOF_STOPPED));
	tasks.pid = getpid();
	source.cache = cache;
	view.hash = native_work__hash(getpid(), NULL);
	CHECK_INT(snapshot__thread(&source, walker, &thread, &ec), 0);
	m = snapshot_ec__machine(&ec);
	CHECK(m && m->nr_native == 4 && m->native_end == UNWIND_END_OUTERMOST && m->address[3] == CODE + FIRST + 5);
	/* The queue takes all of it. */
	CHECK_INT(event_queue__sample_size(ec.event), ec.size);
	free(ec.event);
	/* A thread without Ruby code has these functions alone. */
	event = snapshot__bare(&source, walker, 1, 1, &task);
	m = event ? sample__machine(event) : NULL;
	CHECK(m && event->kind == SAMPLE_NATIVE && !event->nr_frames && m->nr_native == 4 && m->address[0] == CODE + LEAF + 1);
	CHECK_INT(task.ip, CODE + LEAF + 1);
	free(event);

	/* Other code was there: the stack is not followed, and says why. */
	view.hash++;
	CHECK_INT(snapshot__thread(&source, walker, &thread, &ec), 0);
	m = snapshot_ec__machine(&ec);
	CHECK(m && !m->nr_native && m->native_end == UNWIND_END_CHANGED && ec.native == NATIVE_CHANGED);
	CHECK_INT(event_queue__sample_size(ec.event), ec.size);
	free(ec.event);
	event = snapshot__bare(&source, walker, 1, 1, &task);
	m = event ? sample__machine(event) : NULL;
	CHECK(m && !m->nr_native && m->native_end == UNWIND_END_CHANGED);
	free(event);

	/* Nothing is known yet. */
	view.mapping_count = 0;
	CHECK_INT(snapshot__thread(&source, walker, &thread, &ec), 0);
	CHECK(!snapshot_ec__machine(&ec));
	free(ec.event);
	event = snapshot__bare(&source, walker, 1, 1, &task);
	CHECK(event && !sample__machine(event) && event->kind == SAMPLE_NATIVE);
	free(event);
	source.cache = NULL;
	walker__free(walker);
	free(cache);
}

TEST(unwind_tables_have_what_is_published)
{
	struct unwind_tables *tables = unwind_tables__new();
	struct unwind_process p = { .table = 10 | 3ull << 16, .vm = 7 };
	struct unwind_maps maps;
	struct unwind_view v;

	CHECK(tables != NULL);
	unwind_tables__maps(tables, &maps);
	CHECK(!unwind_tables__view(tables, 7, &v) && !v.mapping_count);
	CHECK_INT(maps.set(&maps, 7, &p, 99), 0);
	maps.mappings[10].start = 0x4000;
	CHECK(unwind_tables__view(tables, 7, &v));
	CHECK(v.mapping_count == 3 && v.mappings[0].start == 0x4000 && v.hash == 99 && v.vm == 7 && v.rows == maps.rows);
	/* Whether they have changed is told by the hash. */
	CHECK_INT(maps.seen(&maps, 7).changes, 0);
	/* No mappings are better than old ones. */
	CHECK_INT(maps.set(&maps, 7, NULL, 0), 0);
	CHECK(!unwind_tables__view(tables, 7, &v));
	/* A place is given to the next one. */
	maps.forget(&maps, 7);
	CHECK_INT(maps.set(&maps, 9, &p, 5), 0);
	CHECK(unwind_tables__view(tables, 9, &v) && v.hash == 5 && maps.seen(&maps, 9).changes == 0);
	CHECK(!unwind_tables__view(tables, 7, &v));
	/* As many as are followed. */
	for (uint32_t i = 1; i < NATIVE_PROCESSES_MAX; i++)
		CHECK_INT(maps.set(&maps, 100 + i, &p, i), 0);
	CHECK_INT(maps.set(&maps, 50, &p, 1), -ENOMEM);
	unwind_tables__free(tables);
	unwind_tables__free(NULL);
}

TEST(snapshot_without_mappings_has_no_native_functions)
{
	CHECK(set_up_native(PROOF_STOPPED));
	view.mapping_count = 0;
	CHECK(!take_native());
	CHECK_INT(snapshot.ecs[0].native, NATIVE_NOT_MAPPED);
	CHECK_INT(snapshot.ecs[2].native, NATIVE_NOT_MAPPED);
	snapshot__free(&snapshot);
}

/* nop; nop; ret: its caller's rbp is that of the thread, if anybody knows that.  So it is between pop rbp; pop rbp and ret. */
static const uint8_t jit_codes[][8] = {
	{ 0x90, 0x90, 0xc3, 0x90 },
	{ 0x5d, 0x5d, 0x48, 0xc7, 0xc0, 0x24, 0, 0 },
};

TEST(snapshot_of_jit_code_without_rbp)
{
	const struct sample_machine *m;

	for (size_t i = 0; i < sizeof(jit_codes) / sizeof(jit_codes[0]); i++) {
		CHECK(set_up_native(PROOF_STOPPED));
		section.jit_start = (uintptr_t)jit_codes[i];
		section.jit_end = (uintptr_t)jit_codes[i] + sizeof(jit_codes[i]);
		section.jit_flags = RB_DEBUG_EXT_JIT_FRAME_POINTER;
		native_task.ip = (uintptr_t)&jit_codes[i][2];
		native_stack[0] = CODE + FRAMED + 5;
		m = take_native();
		CHECK(m && m->native_end == UNWIND_END_OUTERMOST && m->nr_native == 4);
		snapshot__free(&snapshot);
		native_task.has_bp = false;
		m = take_native();
		CHECK(m && m->native_end == UNWIND_END_FP && m->nr_native == 2);
		snapshot__free(&snapshot);
	}
}

/* YJIT's exit, which is the first thing in its code: pop rbx; pop r12; pop r13; pop rbp; pop rbp; ret. */
TEST(snapshot_at_the_begin_of_jit_code)
{
	static const uint8_t leave[] = { 0x5b, 0x41, 0x5c, 0x41, 0x5d, 0x5d, 0x5d, 0xc3 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct sample_machine *m;

	CHECK(pages != MAP_FAILED);
	memcpy(pages + page, leave, sizeof(leave));
	/* Nothing can be read before it. */
	CHECK(!mprotect(pages, page, PROT_NONE));
	for (size_t at = 0; at < 2; at++) {
		CHECK(set_up_native(PROOF_STOPPED));
		section.jit_start = (uintptr_t)pages + page;
		section.jit_end = (uintptr_t)pages + 2 * page;
		section.jit_flags = RB_DEBUG_EXT_JIT_FRAME_POINTER;
		native_task.ip = section.jit_start + at;
		native_task.bp = (uintptr_t)&native_stack[2];
		native_stack[2] = (uintptr_t)&native_stack[6];
		native_stack[3] = CODE + FRAMED + 5;
		m = take_native();
		CHECK(m && m->native_end == UNWIND_END_OUTERMOST && m->nr_native == 4);
		snapshot__free(&snapshot);
	}
	munmap(pages, 2 * page);
}

#if defined(__x86_64__)
/* What restart_syscall(2) goes on with. */
TEST(task_that_goes_on_after_a_stop)
{
	static const struct {
		uint8_t code[7];
		int64_t call;
	} cases[] = {
		{ { 0xb8, SYS_futex, 0, 0, 0, 0x0f, 0x05 }, SYS_futex }, { { 0xb8, SYS_poll, 0, 0, 0, 0x0f, 0x05 }, SYS_poll },
		/* Of others it is not known. */
		{ { 0xb8, SYS_read, 0, 0, 0, 0x0f, 0x05 }, SYS_restart_syscall },
		{ { 0xb8, SYS_futex, 1, 0, 0, 0x0f, 0x05 }, SYS_restart_syscall },
		{ { 0xb8, SYS_futex, 0, 0, 0, 0x90, 0x05 }, SYS_restart_syscall },
		{ { 0x90, SYS_futex, 0, 0, 0, 0x0f, 0x05 }, SYS_restart_syscall },
	};
	struct task task;

	memory_fake__init(&memory);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		task = (struct task){ .call = SYS_restart_syscall, .ip = (uintptr_t)cases[i].code + 7, .args = { 1, 2, 3 } };
		task__find_restarted(&task, &memory.memory);
		CHECK_INT(task.call, cases[i].call);
		CHECK(task.args[0] == 1 && task.args[2] == 3);
	}
	task = (struct task){ .call = SYS_read, .ip = (uintptr_t)cases[0].code + 7 };
	task__find_restarted(&task, &memory.memory);
	CHECK_INT(task.call, SYS_read);
	task = (struct task){ .call = SYS_restart_syscall };
	task__find_restarted(&task, &memory.memory);
	task.ip = 0x1000;
	task__find_restarted(&task, &memory.memory);
	CHECK_INT(task.call, SYS_restart_syscall);
}
#endif
