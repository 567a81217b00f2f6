/* SPDX-License-Identifier: BSD-2-Clause */
#include "library/dump_native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "native/native.h"
#include "remote/core_code.h"

/* There is one VM in a dump. */
#define VM 1u
/* Works of one look: a process can map other files while it is looked at. */
#define WORKS_MAX (2 * NATIVE_FILES_MAX)

/* Without any mapping yet. */
static int create(struct dump_native **native, int interrupt_fd)
{
	struct dump_native *n = calloc(1, sizeof(*n));
	struct unwind_maps maps;

	*native = n;
	if (!n)
		return -ENOMEM;
	n->interrupt_fd = interrupt_fd;
	n->tables = unwind_tables__new();
	if (!n->tables)
		return -ENOMEM;
	unwind_tables__maps(n->tables, &maps);
	return native__create(&n->frames.native, &maps);
}

int dump_native__open(struct dump_native **native, pid_t pid, const struct vm *vm, int interrupt_fd)
{
	int err = create(native, interrupt_fd);

	return err ? err : native__add((*native)->frames.native, VM, pid, vm->symbols.share.user, vm->layout.section.exec_start);
}

/* Code of a core file that is being told. */
struct telling {
	const struct core *core;
	const char *exe;
	struct deadline *deadline;
	uint64_t vm_code;
	struct native_seen *seen;
	uint32_t count;
	size_t room;
};

/* Is it the file that has the code of the VM? */
static bool is_of_vm(const struct telling *t, uint64_t inode)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (t->seen[i].inode == inode && t->vm_code >= t->seen[i].start && t->vm_code < t->seen[i].end)
			return true;
	return false;
}

static struct native_opened open_code(void *context, uint32_t number)
{
	const struct telling *t = context;
	const struct native_seen *s = &t->seen[number];
	const struct core_row row = { s->start, s->end, s->offset, (const char *)(uintptr_t)s->inode };
	struct native_opened opened = { .fd = -1 };
	struct stat st = { 0 };

	opened.fd = core__open_code(t->core, &row, is_of_vm(t, s->inode) ? t->exe : NULL, t->deadline, &st, &opened.owner);
	opened.size = (uint64_t)st.st_size;
	opened.late = opened.fd < 0 && deadline__over(t->deadline);
	return opened;
}

int dump_native__open_core(struct dump_native **native, const struct core *core, const char *exe, const struct vm *vm,
			   int interrupt_fd)
{
	struct telling t = { .core = core, .exe = exe, .vm_code = vm->layout.section.exec_start };
	struct core_row row = { 0 };
	int err = create(native, interrupt_fd);

	while (!err && core__next_code(core, row.end, &row)) {
		/* The core file knows no inodes: a path that is the same is at the same place. */
		struct native_seen s = { .start = row.start, .end = row.end, .offset = row.offset, .inode = (uintptr_t)row.path };

		if (array__reserve(&t.seen, t.count, 1, &t.room, UNWIND_MAPPINGS_MAX, sizeof(s)))
			break;
		s.path = strdup(row.path);
		if (s.path)
			t.seen[t.count++] = s;
		else
			err = -ENOMEM;
	}
	if (!err) {
		t.deadline = &(*native)->deadline;
		deadline__start(t.deadline, interrupt_fd, deadline__now() + DUMP_NATIVE_TIME);
		err = native__add_fixed((*native)->frames.native, VM, t.vm_code, t.seen, t.count, open_code, &t);
	}
	/* Those that were not taken. */
	for (uint32_t i = 0; i < t.count; i++)
		free(t.seen[i].path);
	free(t.seen);
	return err;
}

void dump_native__free(struct dump_native *n)
{
	if (!n)
		return;
	native_frames__free(&n->frames);
	unwind_tables__free(n->tables);
	free(n);
}

static void begin_work(struct dump_native *n)
{
	deadline__start(&n->deadline, n->interrupt_fd, deadline__now() + DUMP_NATIVE_TIME);
}

/* Do works here and now, as long as `next` has one and there is time. */
static void work(struct dump_native *n, struct native_work *(*next)(struct native *native))
{
	struct native *native = n->frames.native;
	struct native_work *w;

	for (uint32_t i = 0; i < WORKS_MAX && !deadline__over(&n->deadline) && (w = next(native)); i++) {
		native_work__run(w, &n->deadline);
		native__done(native, w);
	}
}

void dump_native__look(struct dump_native *n)
{
	native__try_late(n->frames.native);
	native__look_now(n->frames.native, VM);
	begin_work(n);
	work(n, native__next_work);
	native__end_rules(n->frames.native);
	native__publish(n->frames.native);
	/* Nothing else is published until the next look. */
	unwind_tables__view(n->tables, VM, &n->view);
}

void dump_native__begin_names(struct dump_native *n)
{
	begin_work(n);
}

void dump_native__read_names(struct dump_native *n)
{
	native__want_maps(n->frames.native);
	if (!native__wants_names(n->frames.native))
		return;
	work(n, native__next_names);
	native__end_names(n->frames.native);
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
		[NATIVE_NOT_MAPPED] = "its mappings could not be read",
	};

	return why < NATIVE_REASONS ? texts[why] : NULL;
}
