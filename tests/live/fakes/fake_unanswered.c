/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_unanswered FILE WHAT: a process that publishes the interface and burns CPU, and whose WHAT (the section, the
 * directory of records, the names in the records, or the table of threads) is in memory that maps FILE.
 * case_hostile.py has a file system whose server does not answer there.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "root.h"

static __thread struct fake_ec *current_ec __attribute__((tls_model("initial-exec")));
static struct fake vm;
static volatile uint64_t sink;

static void *map(int fd, void *at)
{
	void *p = mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	return p;
}

int main(int argc, char **argv)
{
	struct rb_debug_ext_section *root = &rb_debug_ext_root.section;
	int fd = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	struct rb_debug_ext_thread *t;
	struct fake_ec *ec;
	uint32_t id, class;

	if (fd < 0) {
		perror(argc == 3 ? argv[1] : "arguments");
		return 2;
	}
	fake__fill(&vm, root);
	class = fake__record(&vm, RB_DEBUG_EXT_NAMED, "Foo", 0, 0);
	id = fake__record(&vm, RB_DEBUG_EXT_METHOD, "burn", class, 0);
	fake__set_path(fake__get(&vm, id), "/app/burn.rb");
	fake__set_code(fake__get(&vm, id), 20, 10);
	ec = fake__ec(100);
	t = fake__thread(&vm, 1, 1, "main", ec);
	fake__ec_slot(&vm, ec, 1, 1);
	fake__push(ec, id, fake__pc(fake__get(&vm, id), 4));
	t->tid = (uint32_t)syscall(SYS_gettid);
	current_ec = ec;
	root->tls_current_ec = (char *)&current_ec - (char *)__builtin_thread_pointer();
	if (!strcmp(argv[2], "records"))
		root->records_dir = (uint64_t)(uintptr_t)map(fd, NULL);
	else if (!strcmp(argv[2], "names"))
		fake__get(&vm, id)->name = (uint64_t)(uintptr_t)map(fd, NULL);
	else if (!strcmp(argv[2], "threads"))
		root->thread_dir = (uint64_t)(uintptr_t)map(fd, NULL);
	__atomic_store_n(&root->state, RB_DEBUG_EXT_READY, __ATOMIC_RELEASE);
	if (!strcmp(argv[2], "section")) {
		/* What is read of it first is whole. */
		usleep(500000);
		map(fd, root);
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		sink++;
}
