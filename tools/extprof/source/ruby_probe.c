/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ruby_probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "extprof.skel.h"
#include "source/places.h"
#include "source/usdt.h"

struct attached_file {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec modified;
	struct bpf_link *links[USDT_PLACES_MAX];
	uint32_t link_count;	/* 0: it is another name of a file that is in the list */
};

int ruby_probe__create(const struct ruby_probe *p, struct places *places, struct diag *d)
{
	int err = places__want(places, RB_DEBUG_EXT_PROBE_PROVIDER, p->name);

	return err ? diag__set(d, DIAG_INTERNAL, -err, "cannot note the probe %s: %s", p->name, strerror(-err)) : 0;
}

int ruby_probe__configure(struct ruby_probe *p, struct extprof_bpf *skel, struct bpf_program *program, struct diag *d)
{
	uint32_t size = bpf_map__max_entries(skel->maps.probe_places) + PLACES_FILES_MAX * USDT_PLACES_MAX;
	int err = bpf_map__set_max_entries(skel->maps.probe_places, size);

	p->program = program;
	bpf_program__set_autoload(program, true);
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
static int read_semaphore(const struct ruby_probe *p, const struct source_target *t)
{
	uint16_t value;
	int err = t->read(t, semaphore_address(p, t), &value, sizeof(value));

	return err ? err : value;
}

static bool is_same(const struct attached_file *f, const struct stat *st)
{
	return f->device == st->st_dev && f->inode == st->st_ino;
}

static bool looks_same(const struct attached_file *f, const struct stat *st)
{
	return f->size == st->st_size && f->modified.tv_sec == st->st_mtim.tv_sec &&
	       f->modified.tv_nsec == st->st_mtim.tv_nsec;
}

/*
 * Does the program run in the target already?  Two containers can have one file under different numbers
 * of devices, when overlayfs shows it to them: attached twice, the program would count all twice.
 */
static bool is_attached(const struct ruby_probe *p, const struct source_target *t, const struct stat *st)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (looks_same(&p->files[i], st) && read_semaphore(p, t) > 0)
			return true;
	return false;
}

/* Tell the program where it finds the arguments. */
static int add_places(const struct ruby_probe *p, uint64_t section, const struct usdt *usdt, struct diag *d)
{
	struct usdt_arguments known;

	for (uint32_t i = 0; i < usdt->count; i++) {
		const struct usdt_place *place = &usdt->places[i];
		uint64_t distance = section - place->address;
		int err;

		if (!bpf_map_lookup_elem(p->places, &distance, &known)) {
			if (!memcmp(&known, &place->arguments, sizeof(known)))
				continue;
			return diag__set(d, DIAG_INTERNAL, EEXIST, "the probe %s of this ruby cannot be told apart "
					 "from that of another ruby", p->name);
		}
		err = bpf_map_update_elem(p->places, &distance, &place->arguments, BPF_ANY);
		if (err)
			return diag__set(d, DIAG_INTERNAL, -err, "cannot note a place of the probe %s", p->name);
	}
	return 0;
}

static void close_file(struct attached_file *f)
{
	while (f->link_count)
		bpf_link__destroy(f->links[--f->link_count]);
}

static int attach(struct ruby_probe *p, const struct source_target *t, struct attached_file *f, struct diag *d)
{
	struct usdt *usdt = malloc(sizeof(*usdt));
	uint64_t section;
	int err;

	if (!usdt)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	err = places__get(t->places, t->file, RB_DEBUG_EXT_PROBE_PROVIDER, p->name, usdt, &section, d);
	if (!err)
		err = add_places(p, section, usdt, d);
	for (uint32_t i = 0; !err && i < usdt->count; i++) {
		f->links[i] = usdt__attach(p->program, t->file->fd, &usdt->places[i], d);
		if (f->links[i])
			f->link_count++;
		else
			err = -EIO;
	}
	/* Without it the probe never fires. */
	if (!err && read_semaphore(p, t) == 0)
		err = diag__set(d, DIAG_INTERNAL, EIO, "the kernel did not raise the semaphore of the probe %s in "
				"process %d", p->name, t->pid);
	if (err)
		close_file(f);
	free(usdt);
	return err;
}

int ruby_probe__add(struct ruby_probe *p, const struct source_target *t, struct diag *d)
{
	const struct stat *st = &t->file->st;
	struct attached_file f = { 0 };
	int err;

	if (!semaphore_address(p, t))
		return diag__set(d, DIAG_NO_INTERFACE, ENOENT, "the ruby of process %d has no probe %s", t->pid, p->name);
	if (t->file->fd < 0)
		return diag__set(d, DIAG_PERMISSION, EACCES, "the file of the ruby of process %d cannot be opened", t->pid);
	for (uint32_t i = 0; i < p->count; i++)
		if (is_same(&p->files[i], st))
			return 0;
	f.device = st->st_dev;
	f.inode = st->st_ino;
	f.size = st->st_size;
	f.modified = st->st_mtim;
	if (p->count >= PLACES_FILES_MAX)
		return diag__set(d, DIAG_INTERNAL, E2BIG, "there are more than %u different rubies", PLACES_FILES_MAX);
	if (array__reserve(&p->files, p->count, 1, &p->room, PLACES_FILES_MAX, sizeof(*p->files)))
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	if (!is_attached(p, t, st)) {
		err = attach(p, t, &f, d);
		if (err)
			return err;
	}
	p->files[p->count++] = f;
	return 0;
}

void ruby_probe__detach(struct ruby_probe *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		close_file(&p->files[i]);
	free(p->files);
	p->files = NULL;
	p->count = 0;
	p->room = 0;
}
