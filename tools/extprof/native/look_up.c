/* SPDX-License-Identifier: BSD-2-Clause */
/* Where an address of a process is, and what its function is called. */
#include <errno.h>

#include "base/deadline.h"
#include "native/state.h"

void native__find(struct native *n, uint32_t vm, uint64_t address, uint64_t time, bool exact, struct native_place *place)
{
	struct native_process *p = native__process(n, vm);
	uint64_t within = exact ? address : address - 1;
	const struct native_mapped *m = p ? native_process__find(p, within, time) : NULL, *of_vm;
	uint64_t function = 0, bias;
	enum native_state state;

	*place = (struct native_place){ .file = NATIVE_NO_FILE };
	if (p)
		p->sampled = true;
	if (!m) {
		place->in_no_file = p && native_process__has_range(p, within);
		return;
	}
	place->in_no_file = m->file != NATIVE_NO_FILE && n->files[m->file].rules == NATIVE_FAILED && n->files[m->file].no_elf;
	state = m->file == NATIVE_NO_FILE ? NATIVE_UNREAD : n->files[m->file].rules;
	if (state == NATIVE_LATE)
		place->late = native__path(n, m->file);
	if (!native__bias(n, m, &bias)) {
		if (state == NATIVE_WANTED || state == NATIVE_BEING_READ)
			place->late = native__path(n, m->file);
		if (state == NATIVE_FAILED && n->files[m->file].refused)
			place->refused = native__path(n, m->file);
		return;
	}
	place->file = m->file;
	place->address = within - bias;
	place->rule = native_file__rule(&n->files[m->file], n->maps.rows, place->address, &function);
	place->function = function ? function + bias : 0;
	of_vm = p->vm_code ? native_process__find(p, p->vm_code, time) : NULL;
	place->of_vm = of_vm && of_vm->file == m->file;
}

/* The slot of another process whose map was not there, if there are too many. */
static uint32_t add_map(struct native *n, const struct native_process *p)
{
	uint32_t slot = jit_maps__add(&n->jits, p->pid, p->began, p->executed), spare;

	if (slot != JIT_NONE)
		return slot;
	spare = jit_maps__spare(&n->jits, deadline__now());
	if (spare == JIT_NONE)
		return JIT_NONE;
	for (uint32_t i = 0; i < n->process_count; i++)
		if (n->processes[i].vm && n->processes[i].jit == spare)
			n->processes[i].jit = JIT_NONE;
	jit_maps__remove(&n->jits, spare);
	return jit_maps__add(&n->jits, p->pid, p->began, p->executed);
}

void native__find_in_map(struct native *n, uint32_t vm, uint64_t address, uint64_t time, bool exact, struct native_place *place)
{
	struct native_process *p = native__process(n, vm);
	uint64_t number;

	if (!p || !place->in_no_file || place->file != NATIVE_NO_FILE)
		return;
	if (p->jit == JIT_NONE && p->pid > 0)
		p->jit = add_map(n, p);
	if (p->jit == JIT_NONE)
		return;
	number = jit_maps__number(&n->jits, p->jit, exact ? address : address - 1, time);
	if (number == JIT_NONE)
		return;
	place->file = NATIVE_IN_MAP;
	place->address = number;
}

void native__want_maps(struct native *n)
{
	jit_maps__want(&n->jits);
}

void native__restart_maps(struct native *n)
{
	jit_maps__restart(&n->jits);
}

uint64_t native__map_address(const struct native *n, uint64_t number)
{
	return jit_maps__address(&n->jits, number);
}

void native__want_names(struct native *n, uint32_t file)
{
	if (file < n->file_count && n->files[file].names_state == NATIVE_UNREAD)
		n->files[file].names_state = NATIVE_WANTED;
}

bool native__wants_names(const struct native *n)
{
	for (uint32_t i = 0; i < n->file_count; i++)
		if (n->files[i].names_state == NATIVE_WANTED || n->files[i].names_state == NATIVE_BEING_READ)
			return true;
	return jit_maps__are_wanted(&n->jits);
}

int native__add_name(const struct native *n, uint32_t file, uint64_t address, struct text *out)
{
	if (file == NATIVE_IN_MAP)
		return jit_maps__add_name(&n->jits, address, out);
	if (file >= n->file_count)
		return -ENOENT;
	if (n->files[file].names_state == NATIVE_WANTED || n->files[file].names_state == NATIVE_BEING_READ)
		return -EAGAIN;
	if (n->files[file].names_state == NATIVE_LATE)
		return -ETIMEDOUT;
	return native_file__add_name(&n->files[file], address, out) ? 0 : -ENOENT;
}

const char *native__path(const struct native *n, uint32_t file)
{
	if (file == NATIVE_IN_MAP)
		return NATIVE_JIT;
	return file < n->file_count && n->files[file].path ? n->files[file].path : "";
}

void native__module(const struct native *n, uint32_t file, struct debug_module *m)
{
	const struct native_file *f = file < n->file_count ? &n->files[file] : NULL;

	*m = (struct debug_module){ .path = native__path(n, file), .build_id = native__build_id(n, file), .fd = -1 };
	if (!f)
		return;
	m->fd = f->fd;
	m->size = f->size;
	m->pid = f->pid;
	m->began = f->began;
}

const char *native__build_id(const struct native *n, uint32_t file)
{
	return file < n->file_count ? n->files[file].build_id : "";
}
