/* SPDX-License-Identifier: BSD-2-Clause */
#include "library/dump_native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "native/native.h"

/* There is one VM in a dump. */
#define VM 1u
#define ROWS_BYTES (UNWIND_ROWS_MAX * sizeof(struct unwind_row))
#define MAPPINGS_BYTES (UNWIND_ALL_MAPPINGS_MAX * sizeof(struct unwind_mapping))
/* Works of one look: a process can map other files while it is looked at. */
#define WORKS_MAX (2 * NATIVE_FILES_MAX)

static int set_process(const struct unwind_maps *maps, uint32_t vm, const struct unwind_process *process)
{
	struct dump_native *n = maps->context;
	uint32_t first = process ? process->table & 0xffff : 0;

	(void)vm;
	n->view.mappings = n->maps.mappings + first;
	n->view.mapping_count = process ? process->table >> 16 & 0xffff : 0;
	return 0;
}

/* Nothing tells of changes: see unwind_view::hash. */
static struct unwind_seen none_seen(const struct unwind_maps *maps, uint32_t vm)
{
	(void)maps;
	(void)vm;
	return (struct unwind_seen){ 0 };
}

static void forget(const struct unwind_maps *maps, uint32_t vm)
{
	(void)maps;
	(void)vm;
}

/* Pages that nobody writes to take no memory.  NULL: there is none. */
static void *reserve(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int dump_native__open(struct dump_native **native, pid_t pid, const struct vm *vm, int interrupt_fd)
{
	struct dump_native *n = calloc(1, sizeof(*n));
	int err;

	*native = n;
	if (!n)
		return -ENOMEM;
	n->interrupt_fd = interrupt_fd;
	n->frames.addresses = true;
	n->maps = (struct unwind_maps){
		.rows = reserve(ROWS_BYTES), .mappings = reserve(MAPPINGS_BYTES), .set = set_process, .seen = none_seen,
		.forget = forget, .context = n,
	};
	n->view.rows = n->maps.rows;
	n->view.row_count = UNWIND_ROWS_MAX;
	n->view.vm = VM;
	if (!n->maps.rows || !n->maps.mappings)
		return -ENOMEM;
	err = native__create(&n->frames.native, &n->maps);
	if (!err)
		native__add(n->frames.native, VM, pid, vm->layout.section.exec_start);
	return err;
}

void dump_native__free(struct dump_native *n)
{
	if (!n)
		return;
	native_frames__free(&n->frames);
	if (n->maps.rows)
		munmap(n->maps.rows, ROWS_BYTES);
	if (n->maps.mappings)
		munmap(n->maps.mappings, MAPPINGS_BYTES);
	free(n);
}

/* Do works here and now, as long as `next` has one. */
static void work(struct dump_native *n, struct native_work *(*next)(struct native *native))
{
	struct native *native = n->frames.native;
	struct native_work *w;

	deadline__start(&n->deadline, n->interrupt_fd, deadline__now() + DUMP_NATIVE_TIME);
	for (uint32_t i = 0; i < WORKS_MAX && !deadline__over(&n->deadline) && (w = next(native)); i++) {
		native_work__run(w, &n->deadline);
		native__done(native, w);
	}
}

void dump_native__look(struct dump_native *n)
{
	native__look_now(n->frames.native, VM);
	work(n, native__next_work);
	native__publish(n->frames.native);
	n->view.hash = native__hash(n->frames.native, VM);
}

void dump_native__read_names(struct dump_native *n)
{
	if (native__wants_names(n->frames.native))
		work(n, native__next_names);
}

const char *dump_native__reason(enum snapshot_native why)
{
	static const char *const texts[NATIVE_REASONS] = {
		[NATIVE_MOVED] = "the thread moved while it was read",
		[NATIVE_NO_THREAD] = "the thread has no native thread now",
		[NATIVE_REFUSED] = "the thread runs, and extprof may not stop it",
		[NATIVE_TRACED] = "the thread runs, and a debugger has it",
		[NATIVE_NOT_STOPPED] = "the thread does not stop now",
		[NATIVE_NOT_RESTARTED] = "the thread waits in a system call that a stop would end",
		[NATIVE_CHANGED] = "code was mapped while it was read",
		[NATIVE_NO_TIME] = "other threads took the time",
	};

	return why < NATIVE_REASONS ? texts[why] : NULL;
}
