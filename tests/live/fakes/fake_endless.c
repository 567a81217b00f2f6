/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_endless N MS: N processes that publish the interface and burn CPU, MS ms of 10 ms, with stacks as deep as a sample may
 * be, in which each frame has an id that no frame had before.  Each of these ids has a record.  For case_hostile.py.
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

#define DEPTH 16384u
#define CHUNKS RB_DEBUG_EXT_RECORD_CHUNKS_MAX

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

static void burn(long us)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		for (int i = 0; i < 1000; i++)
			sink++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - from.tv_sec) * 1000000 + (now.tv_nsec - from.tv_nsec) / 1000 < us);
}

/* One chunk of records, which all ids share. */
static void endless_records(struct rb_debug_ext_section *root, uint32_t id)
{
	struct rb_debug_ext_record *records = room(RB_DEBUG_EXT_RECORDS_PER_CHUNK * sizeof(*records));
	uint64_t *dir = room(CHUNKS * sizeof(*dir));

	for (uint32_t i = 0; i < RB_DEBUG_EXT_RECORDS_PER_CHUNK; i++)
		records[i] = *fake__get(&vm, id);
	for (uint32_t i = 0; i < CHUNKS; i++)
		dir[i] = (uintptr_t)records;
	root->records_dir = (uintptr_t)dir;
	root->records_end = CHUNKS * RB_DEBUG_EXT_RECORDS_PER_CHUNK - 1;
}

int main(int argc, char **argv)
{
	struct rb_debug_ext_section *root = &rb_debug_ext_root.section;
	uint32_t id, next = RB_DEBUG_EXT_ID_FIRST;
	struct rb_debug_ext_thread *t;
	struct fake_frame *frames;
	struct fake_ec *ec;

	if (argc != 3)
		return 2;
	fake__fill(&vm, root);
	id = fake__record(&vm, RB_DEBUG_EXT_NAMED, "Endless", 0, 0);
	ec = fake__ec(DEPTH + 1);
	t = fake__thread(&vm, 1, 1, "main", ec);
	fake__ec_slot(&vm, ec, 1, 1);
	for (uint32_t i = 0; i < DEPTH; i++)
		fake__push(ec, id, 0);
	frames = (struct fake_frame *)(uintptr_t)ec->cfp;
	current_ec = ec;
	root->tls_current_ec = (char *)&current_ec - (char *)__builtin_thread_pointer();
	endless_records(root, id);
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
		for (uint32_t i = 0; i < DEPTH; i++) {
			frames[i].ext_debug = next;
			next = next < root->records_end - 1 ? next + 1 : RB_DEBUG_EXT_ID_FIRST;
		}
		burn(1000l * atoi(argv[2]));
		usleep(10000u - 1000u * (unsigned int)atoi(argv[2]));
	}
}
