/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/vm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/proc_file.h"

static int vm__read(const struct memory *m, uint64_t address, void *to, size_t length)
{
	const struct vm *vm = m->context;
	int err;

	if (vm->exited)
		return remains__read(&vm->remains, address, to, length);
	/* The memory may be opened later: -EINTR makes the symbols late, not lost. */
	if (!vm->space)
		return -EINTR;
	err = memory__read(&vm->space->memory, address, to, length);
	if (err != -ESRCH || !vm->gone)
		return err;
	/* Its end is told soon. */
	vm->gone(vm->gone_context);
	return remains__read(&vm->remains, address, to, length);
}

static struct vm *new_vm(void)
{
	struct vm *vm = calloc(1, sizeof(*vm));

	if (!vm)
		return NULL;
	vm->references = 1;
	vm->memory.read = vm__read;
	vm->memory.context = vm;
	return vm;
}

/* For whom memory is used here. */
static void set_user(struct vm *vm, uint32_t user)
{
	vm->symbols.share.user = vm->symbols.names.user = vm->frames.user = user;
	vm->threads.share = &vm->symbols.share;
}

/* The real user: a process can change its other numbers.  0: it is gone, or a core file. */
static uint32_t user_of(pid_t pid)
{
	struct proc_status status;

	return pid > 0 && !proc_status__read(&status, pid, 0) ? status.users[0] : 0;
}

/* To read memory that is not trusted takes long, and there is the same time for it. */
static void set_work(struct vm *vm, bool trusted)
{
	vm->symbols.read_work = trusted ? SYMBOLS_READ_WORK : SYMBOLS_SLOW_READ_WORK;
}

int vm__open(struct vm **result, struct target *target, struct symbol_table *table, struct diag *d)
{
	struct vm *vm = new_vm();
	int err;

	*result = NULL;
	if (!vm)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	vm->space = target->space;
	target->space = NULL;
	err = layout__read(&vm->layout, &vm->space->memory, target->section, d);
	if (err && target__exited(target))
		err = diag__set(d, DIAG_NO_PROCESS, ESRCH, "process %d has ended", target->pid);
	if (err)
		goto cleanup;
	if (vm->layout.section.pid != target->key.pid) {
		err = diag__set(d, DIAG_NOT_READY, EAGAIN,
				"process %d is between fork and its first own step", target->pid);
		diag__hint(d, "try again in a moment");
		goto cleanup;
	}
	symbols__init(&vm->symbols, table, &vm->layout, &vm->memory);
	threads__init(&vm->threads, &vm->layout, &vm->memory);
	set_user(vm, user_of(target->pid));
	set_work(vm, vm->space->trusted);
	*result = vm;
	vm = NULL;
cleanup:
	vm__drop(vm, target);
	return err;
}

int vm__open_plain(struct vm **result, struct target *target, struct symbol_table *table, struct diag *d)
{
	struct vm *vm = new_vm();

	*result = vm;
	if (!vm)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	vm->space = target->space;
	target->space = NULL;
	/* Samples of it name nothing of its memory. */
	vm->plain = vm->confirmed = true;
	vm->layout.section.pid = target->key.pid;
	symbols__init(&vm->symbols, table, &vm->layout, &vm->memory);
	threads__init(&vm->threads, &vm->layout, &vm->memory);
	set_user(vm, user_of(target->pid));
	return 0;
}

struct vm *vm__fork(struct vm *parent, uint32_t pid, uint32_t records_end, uint64_t time)
{
	struct vm *vm = new_vm();

	if (!vm)
		return NULL;
	if (!records_end)
		records_end = parent->layout.read_at < time ? parent->layout.section.records_end :
			      parent->symbols.inherited_end;
	vm->plain = parent->plain;
	vm->layout = parent->layout;
	vm->layout.section.pid = pid;
	vm->layout.section.records_end = records_end;
	vm->layout.read_at = 0;
	vm->forked_at = time;
	symbols__init(&vm->symbols, parent->symbols.table, &vm->layout, &vm->memory);
	threads__init(&vm->threads, &vm->layout, &vm->memory);
	set_user(vm, parent->symbols.share.user);
	vm->symbols.read_work = parent->symbols.read_work;
	vm->interval_set = parent->interval_set;
	vm->interval_before = parent->interval_before;
	/* The kernel knew the program when it made the copy. */
	vm->confirmed = parent->confirmed;
	/* In a long line of forks, skip the nearest ancestors, with the records that only they have. */
	while (parent->depth >= VM_DEPTH_MAX) {
		if (records_end > parent->symbols.inherited_end)
			records_end = parent->symbols.inherited_end;
		parent = parent->parent;
	}
	vm->depth = parent->depth + 1;
	vm->parent = parent;
	parent->references++;
	symbols__inherit(&vm->symbols, &parent->symbols, records_end);
	threads__inherit(&vm->threads, &parent->threads);
	return vm;
}

int vm__bind(struct vm *vm, struct address_space *space)
{
	struct rb_debug_ext_section s;
	int err;

	if (vm->plain) {
		vm->space = space;
		space->deadline = vm->deadline;
		return 0;
	}
	err = memory__read(&space->memory, vm->layout.address, &s, sizeof(s));
	if (err)
		return err;
	if (memcmp(s.magic, vm->layout.section.magic, sizeof(s.magic)))
		return -ESTALE;
	/* The child has not taken its first step, or another process has the pid now. */
	if (s.pid != vm->layout.section.pid)
		return -EAGAIN;
	vm->space = space;
	space->deadline = vm->deadline;
	set_work(vm, space->trusted);
	/* After a fork another generation of JIT code may be in force. */
	if (!layout__refresh(&vm->layout, &vm->memory))
		jitlog__init(&vm->symbols.jit, &vm->layout, &vm->symbols.share);
	return 0;
}

void vm__drop(struct vm *vm, struct target *target)
{
	if (!vm)
		return;
	target->space = vm->space;
	free(vm);
}

void vm__set_exited(struct vm *vm)
{
	vm->exited = true;
	symbols__set_exited(&vm->symbols, vm->remains.count);
	threads__set_exited(&vm->threads);
	if (vm->space)
		address_space__leave(vm->space);
	else
		symbols__lose_late(&vm->symbols);
}

void vm__set_gone(struct vm *vm, void (*gone)(void *context), void *context)
{
	vm->gone = gone;
	vm->gone_context = context;
}

void vm__set_deadline(struct vm *vm, struct deadline *deadline)
{
	vm->deadline = deadline;
	if (vm->space)
		vm->space->deadline = deadline;
}

static void release(struct vm *vm)
{
	/* Each one has one parent at most, and those are few: see VM_DEPTH_MAX. */
	while (vm && !--vm->references) {
		struct vm *parent = vm->parent;

		/* Its children have looked for more in it since it was closed. */
		symbols__settle(&vm->symbols);
		symbols__free(&vm->symbols);
		threads__free(&vm->threads);
		address_space__close(vm->space);
		remains__free(&vm->remains);
		free(vm);
		vm = parent;
	}
}

void vm__close(struct vm *vm)
{
	if (!vm)
		return;
	symbols__settle(&vm->symbols);
	release(vm);
}
