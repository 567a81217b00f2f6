/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/deadline.h"
#include "base/map64.h"
#include "native/jit_maps.h"
#include "native/native_file.h"
#include "native/native_process.h"
#include "process/proc.h"

#define MS 1000000ull
#define SECOND 1000000000ull
/* How often the mappings of one process are read, if a sample was in none that is known or has been replaced, and if there
 * was a sample. */
#define LOOK_INTERVAL (100 * MS)
#define SAMPLED_INTERVAL SECOND
/* All looks take so small a part of a CPU. */
#define LOOK_SHARE 200u
/* So often a file is opened that is unmapped before it could be. */
#define FILE_TRIES 8u
/* Names of all files. */
#define ALL_NAMES_MAX (512ull << 20)

struct native {
	struct unwind_maps maps;
	struct native_file files[NATIVE_FILES_MAX];
	uint32_t file_count;
	uint32_t row_count;	/* in maps.rows */
	bool names_as_in_file;
	struct native_blocks blocks;
	struct budget files_budget, rules_budget, names_budget;
	struct map64 by_inode;	/* numbers of files */
	struct native_process *processes;
	uint32_t process_count, live;	/* live: slots that are used */
	size_t process_room;
	uint32_t *free_slots, free_count;
	size_t free_room;
	struct map64 by_vm;	/* slots; those of VMs that are gone have another one now */
	uint64_t look_cost;	/* one look at each process, ns */
	uint64_t names_size;
	struct jit_maps jits;
};

const struct native_bounds native_bounds = {
	.files = NATIVE_FILES_MAX, .rules = UNWIND_ROWS_MAX, .names = ALL_NAMES_MAX, .mappings = UNWIND_ALL_MAPPINGS_MAX,
};

int native__create(struct native **native, const struct unwind_maps *maps)
{
	struct native *n = calloc(1, sizeof(*n));

	*native = n;
	if (!n)
		return -ENOMEM;
	n->maps = *maps;
	return 0;
}

void native__share(struct native *n, const struct native_bounds *bounds)
{
	n->files_budget.max = bounds->files;
	n->rules_budget.max = bounds->rules;
	n->names_budget.max = bounds->names;
	n->blocks.budget.max = bounds->mappings;
}

void native__names_as_in_file(struct native *n)
{
	n->names_as_in_file = true;
}

void native__destroy(struct native *n)
{
	if (!n)
		return;
	for (uint32_t i = 0; i < n->file_count; i++)
		native_file__free(&n->files[i]);
	for (uint32_t i = 0; i < n->process_count; i++)
		native_process__free(&n->processes[i]);
	native_blocks__free(&n->blocks);
	jit_maps__free(&n->jits);
	free(n->processes);
	free(n->free_slots);
	map64__free(&n->by_vm);
	map64__free(&n->by_inode);
	free(n);
}

/* -- processes ---------------------------------------------------------------------------------- */

static struct native_process *process_of(const struct native *n, uint32_t vm)
{
	uint32_t i = n->process_count ? map64__get(&n->by_vm, vm) : MAP64_NONE;

	return i == MAP64_NONE || n->processes[i].vm != vm ? NULL : &n->processes[i];
}

/* Keys cannot be removed: those that are used are added again now and then. */
static int forget_keys(struct native *n)
{
	int err = 0;

	if (n->by_vm.count < 2 * n->live + 1024)
		return 0;
	map64__clear(&n->by_vm);
	for (uint32_t i = 0; i < n->process_count && !err; i++)
		if (n->processes[i].vm)
			err = map64__add(&n->by_vm, n->processes[i].vm, i);
	return err;
}

/* NULL: there is no room.  Others move. */
static struct native_process *make_process(struct native *n, uint32_t vm, uint32_t user)
{
	struct native_process *p = process_of(n, vm);
	uint32_t slot;

	if (p)
		return p;
	/* Room for its number when it is given back. */
	if (forget_keys(n) ||
	    array__reserve(&n->free_slots, n->free_count, n->process_count - n->free_count + 1, &n->free_room,
			   NATIVE_PROCESSES_MAX + 1, sizeof(*n->free_slots)))
		return NULL;
	if (n->free_count)
		slot = n->free_slots[n->free_count - 1];
	else if (!array__reserve(&n->processes, n->process_count, 1, &n->process_room, NATIVE_PROCESSES_MAX,
				 sizeof(*n->processes)))
		slot = n->process_count;
	else
		return NULL;
	if (map64__add(&n->by_vm, vm, slot))
		return NULL;
	if (n->free_count)
		n->free_count--;
	else
		n->process_count++;
	n->live++;
	n->processes[slot] = (struct native_process){
		.vm = vm, .jit = JIT_NONE, .files = { .of = &n->files_budget, .user = user }, .rules = { .of = &n->rules_budget, .user = user },
		.names = { .of = &n->names_budget, .user = user },
	};
	return &n->processes[slot];
}

int native__add(struct native *n, uint32_t vm, pid_t pid, uint32_t user, uint64_t vm_code)
{
	struct native_process *p = make_process(n, vm, user);

	if (!p)
		return -ENOMEM;
	p->pid = pid;
	p->began = proc__started(pid);
	p->vm_code = vm_code;
	p->look = true;
	return 0;
}

static int tell(struct native *n, struct native_process *p, const struct native_block *block)
{
	const struct unwind_process entry = {
		.table = block->first | (uint64_t)p->count << 16 | (uint64_t)p->seen.changes << 32,
		.vm = p->vm, .unnoted = p->seen.unnoted,
	};

	return n->maps.set(&n->maps, p->vm, &entry, p->hash);
}

void native__fork(struct native *n, uint32_t parent, uint32_t vm, pid_t pid)
{
	struct native_process *from = process_of(n, parent), *p = from ? make_process(n, vm, from->files.user) : NULL;
	struct unwind_seen seen;

	/* It may have moved. */
	from = process_of(n, parent);
	if (!p || p->pid)
		return;
	/* If the parent's mappings have changed since they were read, nobody knows whether that was before the fork. */
	seen = n->maps.seen(&n->maps, parent);
	if (memcmp(&seen, &from->seen, sizeof(seen))) {
		native__add(n, vm, pid, from->files.user, from->vm_code);
		return;
	}
	if (native_process__copy(p, from))
		return;
	p->pid = pid;
	p->began = proc__started(pid);
	/* Its changes are counted from the fork on. */
	p->seen = (struct unwind_seen){ .unnoted = seen.unnoted };
	n->look_cost += p->took;
	p->dirty = from->dirty;
	p->look = !from->seen_at;
	if (p->dirty || !from->block.is || tell(n, p, &from->block)) {
		p->dirty = true;
		return;
	}
	p->block = from->block;
	native_blocks__share(&n->blocks, &p->block);
}

void native__look_again(struct native *n, uint32_t vm)
{
	struct native_process *p = process_of(n, vm);

	if (p)
		p->look = true;
}

void native__look_now(struct native *n, uint32_t vm)
{
	struct native_process *p = process_of(n, vm);

	if (!p)
		return;
	p->look = true;
	p->looked_at = 0;
}

void native__end(struct native *n, uint32_t vm)
{
	struct native_process *p = process_of(n, vm);

	if (!p)
		return;
	p->pid = 0;
	if (p->jit != JIT_NONE)
		jit_maps__end(&n->jits, p->jit);
}

void native__executed(struct native *n, uint32_t vm, uint64_t time)
{
	struct native_process *p = process_of(n, vm);

	if (!p || time <= p->executed)
		return;
	p->executed = time;
	if (p->jit == JIT_NONE)
		return;
	jit_maps__lose(&n->jits, p->jit);
	jit_maps__remove(&n->jits, p->jit);
	p->jit = JIT_NONE;
}

void native__remove(struct native *n, uint32_t vm)
{
	struct native_process *p = process_of(n, vm);

	n->maps.forget(&n->maps, vm);
	if (!p)
		return;
	native_blocks__give_back(&n->blocks, &p->block, deadline__now());
	n->look_cost -= p->took;
	if (p->jit != JIT_NONE)
		jit_maps__remove(&n->jits, p->jit);
	native_process__free(p);
	n->live--;
	n->free_slots[n->free_count++] = (uint32_t)(p - n->processes);
}

/* -- files ---------------------------------------------------------------------------------------- */

/* The address in the process less that in the file.  False: that is not known (yet). */
static bool bias_of(const struct native *n, const struct native_mapped *m, uint64_t *bias)
{
	uint64_t address;

	if (m->file == NATIVE_NO_FILE || !native_file__address(&n->files[m->file], m->offset, &address))
		return false;
	*bias = m->start - address;
	return true;
}

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
static uint32_t file_of(struct native *n, struct native_process *p, struct native_seen *s)
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

int native__add_fixed(struct native *n, uint32_t vm, uint64_t vm_code, struct native_seen *seen, uint32_t count,
		      struct native_opened (*open)(void *context, uint32_t number), void *context)
{
	struct native_process *p = make_process(n, vm, 0);
	struct native_mapped *list = calloc(count + 1, sizeof(*list));

	if (p) {
		p->pid = -1;
		p->vm_code = vm_code;
		p->fixed = p->dirty = true;
	}
	for (uint32_t i = 0; i < count && p && list; i++) {
		uint32_t files = n->file_count, number = file_of(n, p, &seen[i]);

		list[i] = (struct native_mapped){ seen[i].start, seen[i].end, seen[i].offset, number, 0 };
		if (n->file_count > files) {
			struct native_file *f = &n->files[number];
			struct native_opened opened = open(context, i);

			f->fd = opened.fd;
			f->size = opened.size;
			f->owner = opened.owner;
			if (f->fd < 0)
				f->rules = opened.late ? NATIVE_LATE : NATIVE_FAILED;
		}
	}
	for (uint32_t i = 0; i < count; i++) {
		free(seen[i].path);
		seen[i].path = NULL;
	}
	if (!p || !list) {
		free(list);
		return -ENOMEM;
	}
	native_process__saw(p, list, count, 1, 1);
	return 0;
}

/* -- works -------------------------------------------------------------------------------------------- */

static bool is_look_due(const struct native *n, const struct native_process *p, uint64_t now)
{
	uint64_t interval = LOOK_SHARE * n->look_cost, least = p->look ? LOOK_INTERVAL : SAMPLED_INTERVAL;

	if (!p->vm || !p->pid || p->fixed || p->looking || !(p->look || p->sampled))
		return false;
	return !p->looked_at || now - p->looked_at >= (interval > least ? interval : least);
}

static struct native_work *look_at(const struct native *n, struct native_process *p)
{
	struct native_work *w = native_work__new(NATIVE_LOOK, p->vm);

	if (!w)
		return NULL;
	w->pid = p->pid;
	w->began = p->began;
	w->before = n->maps.seen(&n->maps, p->vm);
	p->looking = true;
	p->look = p->sampled = false;
	return w;
}

static struct native_work *read_rules(struct native_file *f, uint32_t number)
{
	struct native_work *w = native_work__new(NATIVE_RULES, number);

	if (!w)
		return NULL;
	w->pid = f->pid;
	w->began = f->began;
	w->where = f->where;
	f->where.path = NULL;
	w->fd = f->fd;
	w->size = f->size;
	w->owner = f->owner;
	f->fd = -1;
	f->rules = NATIVE_BEING_READ;
	return w;
}

/* One of the VM: if it is not there any more, another program runs. */
static void set_mapping(const struct native *n, const struct native_process *p, struct native_work *w)
{
	const struct native_mapped *m = p->vm_code ? native_process__find(p, p->vm_code, UINT64_MAX) : NULL;

	if (!m || m->file == NATIVE_NO_FILE)
		return;
	w->where.start = m->start;
	w->where.device = n->files[m->file].device;
	w->where.inode = n->files[m->file].inode;
}

/* NULL: none is to be read now. */
static struct native_work *read_map(struct native *n, bool all)
{
	uint32_t number = jit_maps__next(&n->jits, deadline__now(), all);
	struct native_work *w = number == JIT_NONE ? NULL : native_work__new(NATIVE_MAP, number);
	const struct jit_map *map = &n->jits.maps[number % JIT_MAPS_MAX];

	if (!w) {
		if (number != JIT_NONE)
			jit_maps__done(&n->jits, number, NULL, false);
		return NULL;
	}
	w->pid = map->pid;
	w->began = map->began;
	w->executed = map->executed;
	w->before_map = map->read;
	w->seen_map = map->seen;
	for (uint32_t i = 0; i < n->process_count; i++)
		if (n->processes[i].vm && n->processes[i].jit == number)
			set_mapping(n, &n->processes[i], w);
	return w;
}

static struct native_work *next_names(struct native *n)
{
	for (uint32_t i = 0; i < n->file_count; i++) {
		struct native_file *f = &n->files[i];
		struct native_work *w;

		if (f->names_state != NATIVE_WANTED || f->rules == NATIVE_WANTED || f->rules == NATIVE_BEING_READ)
			continue;
		if (f->fd < 0) {
			f->names_state = f->rules == NATIVE_LATE ? NATIVE_LATE : NATIVE_FAILED;
			continue;
		}
		w = native_work__new(NATIVE_NAMES, i);
		if (!w)
			return NULL;
		w->names_as_in_file = n->names_as_in_file;
		w->fd = f->fd;
		w->size = f->size;
		w->owner = f->owner;
		f->fd = -1;
		f->names_state = NATIVE_BEING_READ;
		return w;
	}
	return NULL;
}

struct native_work *native__next_names(struct native *n)
{
	struct native_work *w = next_names(n);

	return w ? w : read_map(n, true);
}

struct native_work *native__next_work(struct native *n)
{
	struct native_work *w;
	uint64_t now = deadline__now();

	for (uint32_t i = 0; i < n->process_count; i++)
		if (is_look_due(n, &n->processes[i], now))
			return look_at(n, &n->processes[i]);
	for (uint32_t i = 0; i < n->file_count; i++)
		if (n->files[i].rules == NATIVE_WANTED)
			return read_rules(&n->files[i], i);
	w = next_names(n);
	return w ? w : read_map(n, false);
}

static void take_look(struct native *n, struct native_process *p, struct native_work *w)
{
	struct native_mapped *list = calloc(w->seen_count, sizeof(*list));

	n->look_cost += w->until - w->from - p->took;
	p->took = w->until - w->from;
	for (uint32_t i = 0; list && i < w->seen_count; i++)
		list[i] = (struct native_mapped){
			.start = w->seen[i].start, .end = w->seen[i].end, .offset = w->seen[i].offset,
			.file = file_of(n, p, &w->seen[i]),
		};
	if (!list)
		return;
	p->dirty |= native_process__saw(p, list, w->seen_count, w->from, w->until);
	native_process__saw_ranges(p, w->ranges, w->range_count);
	w->ranges = NULL;
	p->seen = w->before;
	p->hash = w->hash;
	p->confirmed = true;
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

static void take_rules(struct native *n, struct native_file *f, struct native_work *w)
{
	f->rules = w->late ? NATIVE_LATE : w->err ? NATIVE_FAILED : NATIVE_READ;
	/* It was read once more for rules: the rest is known. */
	if (f->no_room)
		f->rules = NATIVE_READ;
	f->gone = w->err == -ENOENT;
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

static void take_names(struct native *n, struct native_file *f, struct native_work *w)
{
	uint64_t size = w->names.size + w->names.count * sizeof(*w->names.symbols);

	f->names_state = w->late ? NATIVE_LATE : NATIVE_READ;
	/* Its number stays its own as long as it is open. */
	f->fd = w->fd;
	w->fd = -1;
	/* Of some functions the names are there. */
	if (w->late)
		return;
	if (!take_room_for_names(n, w->number, size))
		return;
	n->names_size += size;
	f->names = w->names;
	w->names = (struct native_names){ 0 };
}

static void take(struct native *n, struct native_work *w, bool ran)
{
	struct native_process *p = w->kind == NATIVE_LOOK ? process_of(n, w->number) : NULL;
	struct native_file *f = w->kind == NATIVE_RULES || w->kind == NATIVE_NAMES ? &n->files[w->number] : NULL;

	if (!ran)
		w->err = -ECANCELED;
	if (p) {
		p->looking = false;
		p->looked_at = deadline__now();
		p->look |= w->err && !p->seen_at;
		if (!w->err && p->pid)
			take_look(n, p, w);
	}
	if (w->kind == NATIVE_RULES)
		take_rules(n, f, w);
	if (w->kind == NATIVE_NAMES)
		take_names(n, f, w);
	if (w->kind == NATIVE_MAP)
		jit_maps__done(&n->jits, w->number, w, ran);
	native_work__free(w);
}

void native__done(struct native *n, struct native_work *w)
{
	take(n, w, true);
}

void native__failed(struct native *n, struct native_work *w)
{
	take(n, w, false);
}

static void end(struct native *n, bool rules)
{
	for (uint32_t i = 0; i < n->file_count; i++) {
		enum native_state *state = rules ? &n->files[i].rules : &n->files[i].names_state;

		if (*state == NATIVE_WANTED)
			*state = NATIVE_LATE;
	}
}

void native__end_rules(struct native *n)
{
	end(n, true);
}

void native__end_names(struct native *n)
{
	end(n, false);
	native__end_maps(n);
}

void native__end_maps(struct native *n)
{
	jit_maps__give_up(&n->jits);
}

void native__try_late(struct native *n)
{
	for (uint32_t i = 0; i < n->file_count; i++) {
		struct native_file *f = &n->files[i];

		/* One of a process that does not run is opened by the caller alone. */
		if (f->rules == NATIVE_LATE && (f->fd >= 0 || (f->where.path && f->pid > 0)))
			f->rules = NATIVE_WANTED;
		if (f->names_state == NATIVE_LATE)
			f->names_state = NATIVE_WANTED;
	}
}

/* -- what the kernel sees of mappings ------------------------------------------------------------------ */

static struct unwind_mapping mapping_of(const struct native *n, const struct native_mapped *m)
{
	struct unwind_mapping u = { .start = m->start, .end = m->end };
	uint64_t bias;

	if (bias_of(n, m, &bias)) {
		u.base = bias + n->files[m->file].base;
		u.first_row = n->files[m->file].first_row;
		u.rows = n->files[m->file].rows;
	}
	return u;
}

/* The kernel reads the block of a process at any time, so a new one is written and then published. */
static void publish(struct native *n, struct native_process *p, uint64_t now)
{
	struct native_block block;

	if (!native_blocks__take(&n->blocks, p->count, p->files.user, now, &block)) {
		/* None are better than old ones. */
		n->maps.set(&n->maps, p->vm, NULL, 0);
		native_blocks__give_back(&n->blocks, &p->block, now);
		return;
	}
	for (uint32_t i = 0; i < p->count; i++)
		n->maps.mappings[block.first + i] = mapping_of(n, &p->list[i]);
	__sync_synchronize();
	if (tell(n, p, &block)) {
		native_blocks__give_back(&n->blocks, &block, now);
		return;
	}
	native_blocks__give_back(&n->blocks, &p->block, now);
	p->block = block;
}

void native__publish(struct native *n)
{
	uint64_t now = deadline__now();

	for (uint32_t i = 0; i < n->process_count; i++) {
		struct native_process *p = &n->processes[i];

		if (p->vm && p->pid && p->dirty && p->count)
			publish(n, p, now);
		else if (p->vm && p->pid && p->confirmed && p->block.is)
			tell(n, p, &p->block);
		p->dirty = p->confirmed = false;
	}
}

bool native__view(const struct native *n, uint32_t vm, struct unwind_view *view)
{
	const struct native_process *p = process_of(n, vm);

	if (!p || !p->block.is || p->dirty || !p->hash)
		return false;
	*view = (struct unwind_view){
		.rows = n->maps.rows, .row_count = UNWIND_ROWS_MAX, .mappings = n->maps.mappings + p->block.first,
		.mapping_count = p->count, .vm = vm, .hash = p->hash,
	};
	return true;
}

uint32_t native__read_files(const struct native *n)
{
	for (uint32_t i = 0; i < n->process_count; i++)
		if (n->processes[i].vm && n->processes[i].pid && (!n->processes[i].block.is || n->processes[i].dirty))
			return 0;
	for (uint32_t i = 0; i < n->file_count; i++)
		if (n->files[i].rules == NATIVE_WANTED || n->files[i].rules == NATIVE_BEING_READ)
			return 0;
	return n->file_count;
}

/* -- looking up --------------------------------------------------------------------------------------------- */

void native__find(struct native *n, uint32_t vm, uint64_t address, uint64_t time, bool exact, struct native_place *place)
{
	struct native_process *p = process_of(n, vm);
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
	if (!bias_of(n, m, &bias)) {
		if (state == NATIVE_WANTED || state == NATIVE_BEING_READ)
			place->late = native__path(n, m->file);
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
	struct native_process *p = process_of(n, vm);
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
