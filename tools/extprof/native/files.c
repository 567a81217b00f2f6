/* SPDX-License-Identifier: BSD-2-Clause */
/* Files with machine code that processes have mapped: which there are, and room for their rules and names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "native/state.h"

/* So often a file is opened that is unmapped before it could be. */
#define FILE_TRIES 8u

static uint64_t key_of(uint64_t device, uint64_t inode)
{
	return hash__mix(device ^ hash__mix(inode));
}

/* file_count: there is none. */
static uint32_t find_file(const struct native *n, uint64_t device, uint64_t inode)
{
	uint32_t i = n->file_count ? map64__get(&n->by_inode, key_of(device, inode)) : MAP64_NONE;

	if (i != MAP64_NONE && n->files[i].inode == inode && n->files[i].device == device)
		return i;
	/* Another one has its key, or there was no memory for the key. */
	for (i = 0; i < n->file_count && (n->files[i].inode != inode || n->files[i].device != device); i++)
		;
	return i;
}

/* Nobody had room for its rules, and this process has: read them again. */
static void want_rules(struct native_file *f, const struct native_process *p, struct native_seen *s)
{
	if (!f->no_room || f->rules != NATIVE_READ || f->names_state == NATIVE_BEING_READ || f->fd < 0 || p->pid <= 0 ||
	    !budget__has(&p->rules, f->no_room))
		return;
	f->rules = NATIVE_WANTED;
	f->pid = p->pid;
	f->began = p->began;
	free(f->where.path);
	f->where = *s;
	s->path = NULL;		/* the file's now */
}

/* The number of the file that is mapped there; NATIVE_NO_FILE: there are too many. */
uint32_t native__file(struct native *n, struct native_process *p, struct native_seen *s)
{
	uint32_t i = find_file(n, s->device, s->inode), tries = 0;
	struct text clean = { 0 };
	struct native_file *f;

	if (i < n->file_count && n->files[i].rules != NATIVE_FAILED) {
		want_rules(&n->files[i], p, s);
		return i;
	}
	if (i == NATIVE_FILES_MAX)
		return NATIVE_NO_FILE;
	/* One that could not be opened is tried again in the next process: the one before has ended perhaps.  In the same one
	 * if it has come back. */
	if (i < n->file_count && n->files[i].pid == p->pid && (!n->files[i].gone || n->files[i].tries >= FILE_TRIES))
		return i;
	if (i < n->file_count && n->files[i].pid == p->pid)
		tries = n->files[i].tries;
	if (i == n->file_count && !budget__has(&p->files, 1))
		return NATIVE_NO_FILE;
	text__add_clean(&clean, s->path, strlen(s->path), TEXT_NAME_MAX);
	if (clean.failed) {
		text__free(&clean);
		return NATIVE_NO_FILE;
	}
	f = &n->files[i];
	if (i < n->file_count) {
		native_file__free(f);
	} else {
		budget__add(&p->files, 1);
		n->file_count++;
		if (map64__get(&n->by_inode, key_of(s->device, s->inode)) == MAP64_NONE)
			map64__add(&n->by_inode, key_of(s->device, s->inode), i);
	}
	*f = (struct native_file){
		.device = s->device, .inode = s->inode, .path = clean.data ? clean.data : strdup(""), .fd = -1, .user = p->files.user,
		.pid = p->pid, .began = p->began, .where = *s, .rules = NATIVE_WANTED, .tries = tries + 1,
	};
	s->path = NULL;		/* the file's now */
	return i;
}

/* The address in the process less that in the file.  False: that is not known (yet). */
bool native__bias(const struct native *n, const struct native_mapped *m, uint64_t *bias)
{
	uint64_t address;

	if (m->file == NATIVE_NO_FILE || !native_file__address(&n->files[m->file], m->offset, &address))
		return false;
	*bias = m->start - address;
	return true;
}

/* Each process that has the file has rules for it now. */
static void tell_processes(struct native *n, uint32_t file)
{
	for (uint32_t i = 0; i < n->process_count; i++)
		for (uint32_t j = 0; j < n->processes[i].count && !n->processes[i].dirty; j++)
			n->processes[i].dirty = n->processes[i].list[j].file == file;
}

static bool has_mapped(const struct native_process *p, uint32_t file)
{
	for (uint32_t i = 0; p->vm && i < p->count; i++)
		if (p->list[i].file == file)
			return true;
	return false;
}

/* Take room for the rules of a file, of a process that has it mapped.  False: none has so much. */
static bool take_room(struct native *n, uint32_t file, uint32_t rules)
{
	if (rules > UNWIND_ROWS_MAX - n->row_count)
		return false;
	for (uint32_t i = 0; i < n->process_count; i++)
		if (has_mapped(&n->processes[i], file) && budget__take(&n->processes[i].rules, rules))
			return true;
	return false;
}

/* The same for names.  They can be wanted when the processes have ended. */
static bool take_room_for_names(struct native *n, uint32_t file, uint64_t bytes)
{
	struct budget_share share = { .of = &n->names_budget, .user = n->files[file].user };

	if (n->names_size + bytes > ALL_NAMES_MAX)
		return false;
	for (uint32_t i = 0; i < n->process_count; i++)
		if (has_mapped(&n->processes[i], file) && budget__take(&n->processes[i].names, bytes))
			return true;
	return budget__take(&share, bytes);
}

void native__take_rules(struct native *n, struct native_file *f, struct native_work *w)
{
	f->rules = w->late ? NATIVE_LATE : w->err ? NATIVE_FAILED : NATIVE_READ;
	/* It was read once more for rules: the rest is known. */
	if (f->no_room)
		f->rules = NATIVE_READ;
	f->gone = w->err == -ENOENT;
	f->refused = w->err == -EACCES || w->err == -EPERM;
	f->no_elf = w->no_elf;
	f->fd = w->fd;
	w->fd = -1;
	f->size = w->size;
	f->owner = w->owner;
	if (w->late) {
		f->where = w->where;
		w->where.path = NULL;
	}
	if (w->err || w->late)
		return;
	memcpy(f->parts, w->parts, sizeof(f->parts));
	f->part_count = w->part_count;
	memcpy(f->build_id, w->build_id, sizeof(f->build_id));
	f->base = w->base;
	f->no_room = 0;
	if (w->row_count && !take_room(n, w->number, w->row_count)) {
		f->no_room = w->row_count;
	} else if (w->row_count) {
		memcpy(n->maps.rows + n->row_count, w->rows, w->row_count * sizeof(*w->rows));
		f->first_row = n->row_count;
		f->rows = w->row_count;
		n->row_count += w->row_count;
	}
	tell_processes(n, w->number);
}

void native__take_names(struct native *n, struct native_file *f, struct native_work *w)
{
	uint64_t size = w->names.size + w->names.count * sizeof(*w->names.symbols);

	f->names_state = w->late ? NATIVE_LATE : NATIVE_READ;
	/* Its number stays its own as long as it is open. */
	f->fd = w->fd;
	w->fd = -1;
	/* Names of some functions are there. */
	if (w->late)
		return;
	if (!take_room_for_names(n, w->number, size))
		return;
	n->names_size += size;
	f->names = w->names;
	w->names = (struct native_names){ 0 };
}
