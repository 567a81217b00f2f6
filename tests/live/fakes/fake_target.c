/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_target MODE SECONDS: a process that publishes the interface and burns
 * CPU in stacks that are known.  fakes.sh samples it with extprof.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "root.h"

/* A draft of the interface ended here. */
#define SECTION_SIZE_DRAFT 472

#define root rb_debug_ext_root.section

#ifdef NOTE
__asm__(".pushsection .note.ruby-debug-ext, \"a\", @note\n"
	".balign 4\n"
	".long 15, 8, 0x52444558\n"
	".asciz \"ruby-debug-ext\"\n"
	".balign 4\n"
	"1: .quad fake_section - 1b\n"
	".popsection\n");
#endif

static __thread struct fake_ec *current_ec __attribute__((tls_model("initial-exec")));

static struct fake vm;
static uint32_t main_id, hot_a, leaf_a, hot_b, leaf_b, deep_id, gc_id, child_id;
static time_t end_at;
static volatile uint64_t sink;

__attribute__((noinline)) static void spin(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		sink += i;
}

static int running(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec < end_at;
}

static uint32_t method(const char *name, uint32_t owner, uint32_t line)
{
	uint32_t id = fake__record(&vm, RB_DEBUG_EXT_METHOD, name, owner, 0);

	fake__set_path(fake__get(&vm, id), "/app/fake.rb");
	fake__set_code(fake__get(&vm, id), 20, line);
	return id;
}

static uint64_t pc(uint32_t id, uint32_t word)
{
	return fake__pc(fake__get(&vm, id), word);
}

static struct fake_ec *new_ec(uint32_t frames)
{
	struct fake_ec *ec = fake__ec(frames);

	fake__thread(&vm, 1, 1, "fake thread", ec)->tid = (uint32_t)gettid();
	fake__ec_slot(&vm, ec, 1, 1);
	fake__push(ec, RB_DEBUG_EXT_ID_NONE, 0);
	fake__push(ec, main_id, pc(main_id, 0));
	return ec;
}

static uint64_t cycles(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#endif
}

/* Two branches, as fast as they can: a reader that mixes two moments sees
 * hot_a with leaf_b. */
static void branch(struct fake_ec *ec, uint32_t hot, uint32_t leaf, unsigned int work)
{
	fake__push(ec, hot, pc(hot, 4));
	fake__push(ec, leaf, pc(leaf, 8));
	spin(work);
	fake__pop(ec);
	fake__pop(ec);
}

static void branches(void)
{
	struct fake_ec *ec = current_ec = new_ec(16);

	while (running()) {
		for (int i = 0; i < 10000; i++) {
			branch(ec, hot_a, leaf_a, 20);
			branch(ec, hot_b, leaf_b, 10);
		}
	}
}

/* The same, slower; prints at the end which share of the time A had. */
static void shares(void)
{
	struct fake_ec *ec = current_ec = new_ec(16);
	uint64_t in_a = 0, in_b = 0;

	while (running()) {
		uint64_t start = cycles(), middle, end;

		branch(ec, hot_a, leaf_a, 30000);
		middle = cycles();
		branch(ec, hot_b, leaf_b, 10000);
		end = cycles();
		/* A round in which it was off the CPU says nothing. */
		if (end - start < 1000000) {
			in_a += middle - start;
			in_b += end - middle;
		}
	}
	printf("share of A: %.4f\n", (double)in_a / (double)(in_a + in_b));
}

static void deep(void)
{
	struct fake_ec *ec = new_ec(20001);

	for (int i = 2; i < 20000; i++)
		fake__push(ec, deep_id, pc(deep_id, 0));
	fake__push(ec, leaf_a, pc(leaf_a, 0));
	current_ec = ec;
	while (running())
		spin(100000);
}

/* One stack for all the modes that break something about it. */
static struct fake_ec *steady(uint32_t leaf)
{
	struct fake_ec *ec = new_ec(300);

	for (int i = 0; i < 200; i++)
		fake__push(ec, hot_a, pc(hot_a, 0));
	fake__push(ec, leaf, pc(leaf, 0));
	current_ec = ec;
	return ec;
}

static void burn(void)
{
	while (running())
		spin(100000);
}

static void *in_thread(void *name)
{
	prctl(PR_SET_NAME, name);
	burn();
	return NULL;
}

static void native(void)
{
	pthread_t t;

	pthread_create(&t, NULL, in_thread, (void *)(uintptr_t)"fake timer");
	pthread_join(t, NULL);
}

static void gc(void)
{
	steady(gc_id);
	root.gc_tid = (uint32_t)gettid();
	__atomic_store_n(&root.gc_phase, RB_DEBUG_EXT_GC_SWEEP, __ATOMIC_RELEASE);
	burn();
}

static void renamed(void)
{
	uint32_t anon = fake__record(&vm, RB_DEBUG_EXT_ANON_CLASS, NULL, 0, 0);
	uint32_t m = fake__record(&vm, RB_DEBUG_EXT_METHOD, "run", anon, 0);
	struct rb_debug_ext_record *r = fake__get(&vm, anon);
	struct fake_ec *ec = new_ec(8);
	time_t end = end_at;

	fake__push(ec, m, 0);
	current_ec = ec;
	end_at -= 1;
	burn();
	r->generation++;
	r->kind = RB_DEBUG_EXT_NAMED;
	fake__set_name(r, "LateName", 8);
	r->generation++;
	root.names_generation++;
	end_at = end;
	burn();
}

/* The first second is good, then the record expires. */
static void expired(void)
{
	uint32_t m = method("gone", 0, 1);
	struct fake_ec *ec = new_ec(8);

	fake__get(&vm, m)->kind = RB_DEBUG_EXT_NONE;
	fake__push(ec, m, 0);
	current_ec = ec;
	burn();
}

/* The table of threads says nothing of the one that runs. */
static void nameless(void)
{
	steady(leaf_a);
	fake__ec_slot(&vm, fake__ec(8), 1, 1);
	burn();
}

static void bad_geometry(void)
{
	steady(leaf_a)->cfp += 8;
	burn();
}

static void bad_ec(void)
{
	current_ec = (struct fake_ec *)0x1000;
	burn();
}

static void bad_frames(void)
{
	struct fake_ec *ec = steady(leaf_a);

	munmap((void *)(uintptr_t)ec->vm_stack, 8 * ec->vm_stack_size);
	burn();
}

/* The outer half of the stack cannot be read. */
static void half_frames(void)
{
	struct fake_ec *ec = steady(leaf_a);
	uint64_t middle = (ec->cfp + 100 * sizeof(struct fake_frame)) & ~4095ull;

	mprotect((void *)(uintptr_t)middle, ec->vm_stack + 8 * ec->vm_stack_size - middle, PROT_NONE);
	burn();
}

static void forked_tables(void)
{
	steady(leaf_a);
	usleep(700000);		/* let the reader attach */
	root.pid++;
	burn();
}

static void section_gone(void)
{
	steady(leaf_a);
	usleep(700000);
	mprotect(&rb_debug_ext_root, 4096, PROT_NONE);
	burn();
}

static void ended(void)
{
	steady(leaf_a);
	usleep(700000);
	root.state = RB_DEBUG_EXT_ENDED;
	burn();
}

static void bad_tls(void)
{
	steady(leaf_a);
	burn();
}

/* The child burns elsewhere, with the tables of its parent: not ours. */
static void forks(void)
{
	pid_t child;

	steady(leaf_a);
	child = fork();
	if (!child) {
		steady(child_id);
		burn();
		_exit(0);
	}
	burn();
	waitpid(child, NULL, 0);
}

static char **self;

static void executes(void)
{
	char *argv[] = { self[0], (char *)(uintptr_t)"shares", (char *)(uintptr_t)"3", NULL };

	steady(deep_id);
	burn();
	execv("/proc/self/exe", argv);
}

static void hostile(void)
{
	struct fake_ec *ec = steady(leaf_a);
	struct rb_debug_ext_thread *thread = fake__thread(&vm, 1, 1, "fake thread", ec);
	struct rb_debug_ext_ec *slot = fake__ec_slot(&vm, ec, 1, 1);
	const struct rb_debug_ext_thread good_thread = *thread;
	const struct rb_debug_ext_ec good_slot = *slot;
	uint32_t seed = 1;

	/* Everything that can be rewritten, at full speed; now and then all
	 * of it is right again, so that the reader goes on. */
	while (running()) {
		struct fake_frame *frame = (struct fake_frame *)ec->cfp;
		struct rb_debug_ext_record *r = fake__get(&vm, 3 + seed % 20);
		struct rb_debug_ext_record good = *r;
		uint64_t cfp = ec->cfp;

		seed = seed * 1664525 + 1013904223;
		frame->ext_debug = seed;
		frame->pc = seed * 4096ull;
		if (seed % 3 == 0)
			ec->cfp = cfp + (seed >> 8) % 4096 * 8;
		if (seed % 5 == 0)
			ec->vm_stack_size ^= 1ull << (seed >> 8) % 64;
		if (seed % 7 == 0)
			r->name = seed * 0x10001ull;
		if (seed % 11 == 0)
			r->ref1 = seed >> 7;
		if (seed % 13 == 0)
			r->lines = (uintptr_t)&rb_debug_ext_root + seed % 512;
		if (seed % 17 == 0)
			root.names_generation = seed;
		if (seed % 19 == 0)
			slot->thread_slot = seed >> 8;
		if (seed % 23 == 0)
			thread->serial = seed * 0x10001ull;
		if (seed % 29 == 0)
			thread->thread = seed * 0x10001ull;
		if (seed % 31 == 0)
			memset(thread->name, (int)(seed >> 8), sizeof(thread->name));
		if (seed % 37 == 0)
			thread->generation = seed >> 8;
		if (seed % 41 == 0)
			ec->slot = seed >> 8;
		spin(seed >> 20);
		ec->cfp = cfp;
		ec->vm_stack_size = 300 * sizeof(struct fake_frame) / 8 + 64;
		*r = good;
		*thread = good_thread;
		*slot = good_slot;
		ec->slot = 1;
	}
}

/* Each frame of each sample has an id that was never seen, and its record is
 * always being written: a reader that wants to know them all never ends. */
static void flood(void)
{
	static uint64_t dir[RB_DEBUG_EXT_RECORD_CHUNKS_MAX];
	struct rb_debug_ext_record *chunk = calloc(RB_DEBUG_EXT_RECORDS_PER_CHUNK, sizeof(*chunk));
	struct fake_ec *ec = new_ec(2001);
	struct fake_frame *frame = NULL;
	uint32_t id = 1000;

	for (uint32_t i = 0; i < RB_DEBUG_EXT_RECORDS_PER_CHUNK; i++)
		chunk[i].generation = 1;
	for (uint32_t i = 0; i < RB_DEBUG_EXT_RECORD_CHUNKS_MAX; i++)
		dir[i] = (uintptr_t)chunk;
	root.records_dir = (uintptr_t)dir;
	root.records_end = 1u << 31;
	for (int i = 0; i < 1990; i++)
		frame = fake__push(ec, id++, 0);
	current_ec = ec;
	while (running())
		for (int i = 0; i < 1990; i++)
			frame[i].ext_debug = id++ & 0x7fffffff;
}

/* Four million slots of threads and of ECs, all in use, with stacks of any size, which change all the time. */
static void tables(void)
{
	static uint64_t ecs[RB_DEBUG_EXT_SLOT_CHUNKS_MAX], threads[RB_DEBUG_EXT_SLOT_CHUNKS_MAX];
	struct fake_ec *ec[3];
	struct rb_debug_ext_thread *t = NULL;
	struct rb_debug_ext_ec *e = NULL;

	for (int i = 0; i < 3; i++) {
		ec[i] = new_ec(20000);
		for (int k = 0; k < 19000; k++)
			fake__push(ec[i], k & 1 ? hot_a : leaf_b, 0);
	}
	for (uint32_t i = 0; i < RB_DEBUG_EXT_SLOTS_PER_CHUNK; i++) {
		t = fake__thread(&vm, i, i + 1, "\033[2J\xff\xe2\x80\xae", ec[i % 3]);
		t->tid = i % 2 ? (uint32_t)getpid() : i % 4 ? 4000000000u : 0;
		e = fake__ec_slot(&vm, ec[i % 3], i, i);
		e->serial = i;
	}
	for (uint32_t i = 0; i < RB_DEBUG_EXT_SLOT_CHUNKS_MAX; i++) {
		ecs[i] = vm.ec_dir[0];
		threads[i] = vm.thread_dir[0];
	}
	root.ec_dir = (uintptr_t)ecs;
	root.thread_dir = (uintptr_t)threads;
	root.ec_slots_end = root.thread_slots_end = UINT32_MAX;
	while (running()) {
		for (uint32_t i = 0; i < RB_DEBUG_EXT_SLOTS_PER_CHUNK; i++) {
			t[-(int)i].state = i * 7 % 9;
			t[-(int)i].since = UINT64_MAX / (i + 1);
		}
		e->generation++;
		fake__pop(ec[2]);
		fake__push(ec[2], leaf_a, 0);
	}
}

/* The slot of its thread is being written half of the time, as by a thread that lost its CPU meanwhile. */
static void writes(void)
{
	struct rb_debug_ext_thread *t;

	steady(leaf_a);
	t = (struct rb_debug_ext_thread *)(uintptr_t)vm.thread_dir[0] + 1;
	while (running()) {
		__atomic_fetch_add(&t->generation, 1, __ATOMIC_SEQ_CST);
		usleep(700);
	}
}

static void idle(void)
{
	steady(leaf_a);
	sleep(1000);
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "branches", branches }, { "shares", shares }, { "deep", deep }, { "native", native }, { "gc", gc },
	{ "renamed", renamed }, { "expired", expired }, { "nameless", nameless },
	{ "bad-geometry", bad_geometry },
	{ "bad-ec", bad_ec }, { "bad-frames", bad_frames }, { "half-frames", half_frames },
	{ "forked-tables", forked_tables }, { "section-gone", section_gone }, { "ended", ended },
	{ "bad-tls", bad_tls }, { "forks", forks }, { "executes", executes },
	{ "flood", flood }, { "hostile", hostile }, { "tables", tables }, { "writes", writes }, { "idle", idle },
	{ "draft", deep },
};

#ifdef SHARED
int fake_main(int argc, char **argv);
int fake_main(int argc, char **argv)
#else
int main(int argc, char **argv)
#endif
{
	uint32_t a, b;
	struct timespec t;

	if (argc != 3)
		return 2;
	self = argv;
	/* STARTING until everything is there. */
	fake__fill(&vm, &root);
	root.tls_current_ec = (char *)&current_ec - (char *)__builtin_thread_pointer();
	a = fake__record(&vm, RB_DEBUG_EXT_NAMED, "A", 0, 0);
	b = fake__record(&vm, RB_DEBUG_EXT_SINGLETON, NULL,
			 fake__record(&vm, RB_DEBUG_EXT_NAMED, "B", 0, 0), 0);
	main_id = fake__record(&vm, RB_DEBUG_EXT_BODY, "<main>", 0, 0);
	hot_a = method("hot_a", a, 100);
	leaf_a = method("leaf_a", a, 200);
	hot_b = method("hot_b", b, 300);
	leaf_b = method("leaf_b", b, 400);
	deep_id = method("deep", a, 500);
	gc_id = method("allocates", a, 600);
	child_id = method("in_child", a, 700);
#ifdef OTHER_VERSION
	root.abi_major = 2;
#endif
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	end_at = t.tv_sec + atoi(argv[2]);
	if (!strcmp(argv[1], "starting")) {
		sleep((unsigned int)atoi(argv[2]));
		return 0;	/* never READY */
	}
	if (!strcmp(argv[1], "draft")) {
		root.abi_minor = 0;
		root.section_size = SECTION_SIZE_DRAFT;
	}
	/* A reader takes it when it attaches, which may be as soon as this is READY. */
	if (!strcmp(argv[1], "bad-tls"))
		root.tls_current_ec = 1 << 29;
	__atomic_store_n(&root.state, RB_DEBUG_EXT_READY, __ATOMIC_RELEASE);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (!strcmp(argv[1], modes[i].name)) {
			modes[i].run();
			return 3;	/* seen as the command's exit status */
		}
	}
	return 2;
}
