/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ruby_probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "extprof.skel.h"
#include "source/places.h"
#include "source/usdt.h"

struct attached_file {
	struct known_file *known;	/* keeps its number */
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec modified;
	uint64_t owner;		/* the user whose process ran it first */
	uint32_t number;
	struct usdt_links links;	/* not attached: it rests, or is another name, or another state, of a file that is in
					 * the list */
	/* Places to attach to when the probe goes on. */
	struct usdt_place wanted[USDT_PLACES_MAX];
	uint32_t wanted_count;	/* 0: it is such another name */
	int fd;
	uint32_t vm;		/* the ruby of which it was added, ... */
	uint64_t semaphore;	/* ... and where its semaphore is there */
	struct usdt_key keys[USDT_PLACES_MAX];
	uint32_t key_count;
};

int ruby_probe__create(const struct ruby_probe *p, struct places *places, struct diag *d)
{
	int err = places__want(places, RB_DEBUG_EXT_PROBE_PROVIDER, p->name);

	return err ? diag__set(d, DIAG_INTERNAL, -err, "cannot note the probe %s: %s", p->name, strerror(-err)) : 0;
}

int ruby_probe__configure(struct ruby_probe *p, struct extprof_bpf *skel, struct bpf_program *program, struct diag *d)
{
	uint32_t size = bpf_map__max_entries(skel->maps.probe_places) + RUBIES_MAX * USDT_PLACES_MAX;
	int err = bpf_map__set_max_entries(skel->maps.probe_places, size);

	p->program = program;
	bpf_program__set_autoload(program, true);
	usdt__prepare(program);
	return err ? diag__set(d, DIAG_INTERNAL, -err, "cannot set the size of a map") : 0;
}

void ruby_probe__open(struct ruby_probe *p, struct extprof_bpf *skel)
{
	p->places = bpf_map__fd(skel->maps.probe_places);
}

static uint64_t semaphore_address(const struct ruby_probe *p, const struct source_target *t)
{
	uint64_t address;

	memcpy(&address, (const char *)t->contract + p->semaphore, sizeof(address));
	return address;
}

/* -errno: it cannot be read. */
static int read_semaphore(const struct ruby_probe *p, uint32_t vm, uint64_t address)
{
	uint16_t value;
	int err = p->read(p->engine, vm, address, &value, sizeof(value));

	return err ? err : value;
}

static bool is_same(const struct attached_file *f, const struct stat *st)
{
	return f->device == st->st_dev && f->inode == st->st_ino;
}

static bool looks_same(const struct attached_file *f, off_t size, const struct timespec *modified)
{
	return f->size == size && f->modified.tv_sec == modified->tv_sec && f->modified.tv_nsec == modified->tv_nsec;
}

/*
 * Does the program run in the target already?  Two containers can have one file under different numbers
 * of devices, when overlayfs shows it to them: attached twice, the program would count all twice.
 */
static bool is_attached(const struct ruby_probe *p, const struct source_target *t, const struct stat *st)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (looks_same(&p->files[i], st->st_size, &st->st_mtim) &&
		    read_semaphore(p, t->vm, semaphore_address(p, t)) > 0)
			return true;
	return false;
}

static void close_file(struct ruby_probe *p, struct attached_file *f, struct usdt_bin *bin)
{
	usdt__detach(&f->links, bin);
	while (f->key_count)
		bpf_map_delete_elem(p->places, &f->keys[--f->key_count]);
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	ruby_file__forget(f->known);
	f->known = NULL;
}

/* Tell the program where it finds the arguments. */
static int add_places(const struct ruby_probe *p, struct attached_file *f, uint64_t section, const struct usdt *usdt,
		      struct diag *d)
{
	for (uint32_t i = 0; i < usdt->count; i++) {
		const struct usdt_place *place = &usdt->places[i];
		struct usdt_key key = { .distance = section - place->address, .file = f->number };
		int err = bpf_map_update_elem(p->places, &key, &place->arguments, BPF_ANY);

		if (err)
			return diag__set(d, DIAG_INTERNAL, -err, "cannot note a place of the probe %s", p->name);
		f->keys[f->key_count++] = key;
	}
	return 0;
}

static int attach_places(struct ruby_probe *p, struct attached_file *f, struct diag *d)
{
	return f->wanted_count ? usdt__attach(p->program, f->fd, f->wanted, f->wanted_count, &f->links, d) : 0;
}

static int attach(struct ruby_probe *p, const struct source_target *t, struct attached_file *f, const struct usdt *usdt,
		  struct diag *d)
{
	int err;

	f->fd = fcntl(t->file->fd, F_DUPFD_CLOEXEC, 0);
	if (f->fd < 0)
		return diag__set(d, DIAG_INTERNAL, errno, "too many files are open");
	memcpy(f->wanted, usdt->places, usdt->count * sizeof(usdt->places[0]));
	f->wanted_count = usdt->count;
	f->vm = t->vm;
	f->semaphore = semaphore_address(p, t);
	err = p->rests ? 0 : attach_places(p, f, d);
	if (err || p->rests)
		return err;
	/* Without it the probe never fires. */
	if (read_semaphore(p, f->vm, f->semaphore) == 0)
		return diag__set(d, DIAG_INTERNAL, EIO, "the kernel did not raise the semaphore of the probe %s in "
				 "process %d", p->name, t->pid);
	return 0;
}

/* Give back files that no process runs any more, but for those whose links serve another name of the file. */
static void drop_unused(struct ruby_probe *p, const struct source_target *t)
{
	struct usdt_bin bin = { 0 };
	uint32_t kept = 0;

	for (uint32_t i = 0; i < p->count && t->uses; i++) {
		bool used = t->uses(t->engine, p->files[i].number);

		for (uint32_t k = 0; k < p->count && !used && p->files[i].links.attached; k++)
			used = k != i && p->files[k].known && !p->files[k].wanted_count &&
			       p->files[k].size == p->files[i].size;
		if (used)
			p->files[kept++] = p->files[i];
		else
			close_file(p, &p->files[i], &bin);
	}
	usdt_bin__empty(&bin);
	p->count = t->uses ? kept : p->count;
}

static bool has_room(struct ruby_probe *p, const struct source_target *t)
{
	for (int again = 0; again < 2; again++) {
		uint32_t of_user = 0;

		for (uint32_t i = 0; i < p->count; i++)
			of_user += p->files[i].owner == t->file->owner;
		if (rubies__have_room(p->count, of_user))
			return true;
		if (!again)
			drop_unused(p, t);
	}
	return false;
}

static int add_file(struct ruby_probe *p, const struct source_target *t, struct attached_file *f, bool attached,
		    struct diag *d)
{
	struct usdt *usdt = malloc(sizeof(*usdt));
	uint64_t section;
	int err;

	if (!usdt)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	err = places__get(t->places, t->file, RB_DEBUG_EXT_PROBE_PROVIDER, p->name, usdt, &section, d);
	if (!err)
		err = add_places(p, f, section, usdt, d);
	if (!err && !attached)
		err = attach(p, t, f, usdt, d);
	free(usdt);
	return err;
}

int ruby_probe__add(struct ruby_probe *p, const struct source_target *t, struct diag *d)
{
	const struct stat *st = &t->file->st;
	struct attached_file f = {
		.device = st->st_dev, .inode = st->st_ino, .size = st->st_size, .modified = st->st_mtim,
		.owner = t->file->owner, .number = ruby_file__number(t->file), .fd = -1,
	};
	struct usdt_bin bin = { 0 };
	bool attached = false;
	int err;

	p->read = t->read;
	p->engine = t->engine;
	if (!semaphore_address(p, t))
		return diag__set(d, DIAG_NO_INTERFACE, ENOENT, "the ruby of process %d has no probe %s", t->pid, p->name);
	if (t->file->fd < 0)
		return diag__set(d, DIAG_PERMISSION, EACCES, "the file of the ruby of process %d cannot be opened", t->pid);
	for (uint32_t i = 0; i < p->count; i++) {
		if (p->files[i].number == f.number)
			return 0;
		attached |= is_same(&p->files[i], st);
	}
	if (!has_room(p, t)) {
		diag__set(d, DIAG_INTERNAL, E2BIG, "user %u runs too many different rubies: %u of all users have programs in "
			  "them", (unsigned int)t->file->owner, p->count);
		diag__hint(d, "record only the processes that are wanted (-p, --user)");
		return -E2BIG;
	}
	if (array__reserve(&p->files, p->count, 1, &p->room, RUBIES_MAX, sizeof(*p->files)))
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	f.known = ruby_file__keep(t->file);
	err = add_file(p, t, &f, attached || is_attached(p, t, st), d);
	if (err) {
		close_file(p, &f, &bin);
		usdt_bin__empty(&bin);
		return err;
	}
	p->files[p->count++] = f;
	return 0;
}

void ruby_probe__rest(struct ruby_probe *p)
{
	struct usdt_bin bin = { 0 };

	for (uint32_t i = 0; i < p->count; i++)
		usdt__detach(&p->files[i].links, &bin);
	usdt_bin__empty(&bin);
	p->rests = true;
}

/* Like is_attached(), for a file that was added while the probe rested. */
static bool is_attached_elsewhere(const struct ruby_probe *p, uint32_t number)
{
	const struct attached_file *f = &p->files[number];

	for (uint32_t i = 0; i < number; i++)
		if (p->files[i].links.attached && looks_same(&p->files[i], f->size, &f->modified))
			return read_semaphore(p, f->vm, f->semaphore) > 0;
	return false;
}

int ruby_probe__resume(struct ruby_probe *p, struct diag *d)
{
	int err = 0;

	for (uint32_t i = 0; p->rests && i < p->count && !err; i++) {
		struct attached_file *f = &p->files[i];

		if (f->wanted_count && is_attached_elsewhere(p, i))
			f->wanted_count = 0;
		err = attach_places(p, f, d);
	}
	p->rests = false;
	return err;
}

void ruby_probe__detach(struct ruby_probe *p)
{
	struct usdt_bin bin = { 0 };

	for (uint32_t i = 0; i < p->count; i++)
		close_file(p, &p->files[i], &bin);
	usdt_bin__empty(&bin);
	free(p->files);
	p->files = NULL;
	p->count = 0;
	p->room = 0;
}
