/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_greedy N: N processes that publish the interface and burn CPU, each with a log of 4 million pieces of JIT code, in
 * which it runs: as much as extprof keeps of one process.  For case_hostile.py.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "root.h"

#define PIECES (1u << 22)

static __thread struct fake_ec *current_ec __attribute__((tls_model("initial-exec")));
static struct fake vm;
static volatile uint64_t sink;

static void *room(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	return p;
}

__attribute__((noinline)) static void burn(long ms)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		for (int i = 0; i < 10000; i++)
			sink++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < ms);
}

static void many_pieces(struct rb_debug_ext_section *root)
{
	struct rb_debug_ext_jit_entry *log = room(PIECES * sizeof(*log));
	uint64_t code = (uintptr_t)burn & ~0xfffffull;

	/* Not in order: extprof sorts them. */
	for (uint32_t i = 0; i < PIECES; i++)
		log[i] = (struct rb_debug_ext_jit_entry){ .offset = i ^ 1, .size = 1, .id = RB_DEBUG_EXT_ID_FIRST + 1 };
	root->jit_log = (uintptr_t)log;
	root->jit_log_len = PIECES;
	root->jit_start = code - (1ull << 31);
	root->jit_end = code + (1ull << 31);
	((struct fake_frame *)(uintptr_t)current_ec->cfp)->jit_return = 1;
}

int main(int argc, char **argv)
{
	struct rb_debug_ext_section *root = &rb_debug_ext_root.section;
	struct rb_debug_ext_thread *t;
	struct fake_ec *ec;
	uint32_t id, class;

	if (argc != 2)
		return 2;
	fake__fill(&vm, root);
	class = fake__record(&vm, RB_DEBUG_EXT_NAMED, "Greedy", 0, 0);
	id = fake__record(&vm, RB_DEBUG_EXT_METHOD, "burn", class, 0);
	fake__set_path(fake__get(&vm, id), "/app/greedy.rb");
	fake__set_code(fake__get(&vm, id), 20, 10);
	ec = fake__ec(16);
	t = fake__thread(&vm, 1, 1, "main", ec);
	fake__ec_slot(&vm, ec, 1, 1);
	fake__push(ec, id, fake__pc(fake__get(&vm, id), 4));
	current_ec = ec;
	root->tls_current_ec = (char *)&current_ec - (char *)__builtin_thread_pointer();
	many_pieces(root);
	for (int i = atoi(argv[1]); i > 1; i--) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		root->pid = (uint32_t)getpid();
		break;
	}
	t->tid = (uint32_t)syscall(SYS_gettid);
	__atomic_store_n(&root->state, RB_DEBUG_EXT_READY, __ATOMIC_RELEASE);
	puts("ready");
	fflush(stdout);
	for (;;) {
		burn(1);
		usleep(20000);
	}
}
