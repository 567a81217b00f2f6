/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_copies DIRECTORY N: N processes that publish the interface, each the program of a file of its own, with the probe
 * gc_phase.  By line from stdin each of them has so many pauses for collection, and then it is told what the sum of their
 * semaphores is.  For case_gc_mode.py.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "root.h"

#if defined(__x86_64__)
# define ARGUMENTS "8@%%rdi 8@%%rsi 8@%%rdx 8@%%rcx"
#elif defined(__aarch64__)
# define ARGUMENTS "8@x0 8@x1 8@x2 8@x3"
#endif

/* What all of the processes have mapped. */
struct shared {
	uint32_t turn, pauses, done, semaphores;
};

static volatile uint16_t semaphore __attribute__((section(".probes"), used));
static __thread struct fake_ec *current_ec __attribute__((tls_model("initial-exec")));
static struct fake vm;

__asm__(".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n.weak _.stapsdt.base\n"
	".hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n.size _.stapsdt.base,1\n.popsection\n");

/* As the macros of <sys/sdt.h> have it.  The arguments are in the registers of a call. */
__attribute__((noinline)) static void gc_phase(uint64_t phase, uint64_t tid, uint64_t count, uint64_t cause)
{
	__asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"
			 ".4byte 992f-991f,994f-993f,3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"
			 "993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte semaphore\n"
			 ".asciz \"ruby_ext\"\n.asciz \"gc_phase\"\n.asciz \"" ARGUMENTS "\"\n994: .balign 4\n.popsection\n"
			 : : "r"(phase), "r"(tid), "r"(count), "r"(cause));
}

static void pause_once(struct rb_debug_ext_section *root, uint64_t tid)
{
	root->gc_count++;
	if (!semaphore)
		return;
	gc_phase(RB_DEBUG_EXT_GC_ENTER, tid, root->gc_count, 0);
	gc_phase(RB_DEBUG_EXT_GC_MARK, tid, root->gc_count, 0);
	gc_phase(RB_DEBUG_EXT_GC_NONE, tid, root->gc_count, 0);
}

static long futex(uint32_t *word, int what, uint32_t value)
{
	return syscall(SYS_futex, word, what, value, NULL, NULL, 0);
}

static void publish(void)
{
	struct rb_debug_ext_section *root = &rb_debug_ext_root.section;
	struct rb_debug_ext_thread *t;
	struct fake_ec *ec;
	uint32_t id, class;

	fake__fill(&vm, root);
	class = fake__record(&vm, RB_DEBUG_EXT_NAMED, "Copy", 0, 0);
	id = fake__record(&vm, RB_DEBUG_EXT_METHOD, "collect", class, 0);
	fake__set_path(fake__get(&vm, id), "/app/copies.rb");
	fake__set_code(fake__get(&vm, id), 20, 10);
	ec = fake__ec(16);
	t = fake__thread(&vm, 1, 1, "main", ec);
	fake__ec_slot(&vm, ec, 1, 1);
	fake__push(ec, id, fake__pc(fake__get(&vm, id), 4));
	current_ec = ec;
	root->tls_current_ec = (char *)&current_ec - (char *)__builtin_thread_pointer();
	root->gc_semaphore = (uintptr_t)&semaphore;
	t->tid = (uint32_t)syscall(SYS_gettid);
	__atomic_store_n(&root->state, RB_DEBUG_EXT_READY, __ATOMIC_RELEASE);
}

static int copy(struct shared *s)
{
	uint32_t seen = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	publish();
	for (;;) {
		__atomic_add_fetch(&s->semaphores, semaphore, __ATOMIC_SEQ_CST);
		__atomic_add_fetch(&s->done, 1, __ATOMIC_SEQ_CST);
		futex(&s->done, FUTEX_WAKE, INT_MAX);
		while (__atomic_load_n(&s->turn, __ATOMIC_SEQ_CST) == seen)
			futex(&s->turn, FUTEX_WAIT, seen);
		seen++;
		for (uint32_t i = 0; i < s->pauses; i++)
			pause_once(&rb_debug_ext_root.section, (uint64_t)getpid());
	}
}

static void start(const char *directory, uint32_t number, int shared)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to;
	char path[4096], fd[16];
	struct stat st;

	snprintf(path, sizeof(path), "%s/copy%u", directory, number);
	to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (from < 0 || to < 0 || fstat(from, &st) || sendfile(to, from, NULL, (size_t)st.st_size) != st.st_size) {
		perror(path);
		exit(2);
	}
	close(from);
	close(to);
	snprintf(fd, sizeof(fd), "%d", shared);
	if (fork())
		return;
	execl(path, path, fd, (char *)NULL);
	perror(path);
	_exit(2);
}

static void wait_for_all(struct shared *s, uint32_t count)
{
	uint32_t done;

	while ((done = __atomic_load_n(&s->done, __ATOMIC_SEQ_CST)) < count)
		futex(&s->done, FUTEX_WAIT, done);
}

int main(int argc, char **argv)
{
	uint32_t count = argc == 3 ? (uint32_t)atoi(argv[2]) : 0;
	int fd = argc == 2 ? atoi(argv[1]) : memfd_create("copies", 0);
	struct shared *s;
	char line[32];

	if (argc < 2 || fd < 0 || (argc == 3 && ftruncate(fd, sizeof(*s))))
		return 2;
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s == MAP_FAILED)
		return 2;
	if (argc == 2)
		return copy(s);
	for (uint32_t i = 0; i < count; i++)
		start(argv[1], i, fd);
	wait_for_all(s, count);
	publish();
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		s->pauses = (uint32_t)atoi(line);
		s->done = s->semaphores = 0;
		__atomic_add_fetch(&s->turn, 1, __ATOMIC_SEQ_CST);
		futex(&s->turn, FUTEX_WAKE, INT_MAX);
		wait_for_all(s, count);
		printf("%u\n", s->semaphores);
		fflush(stdout);
	}
	return 0;
}
