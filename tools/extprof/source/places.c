/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/places.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "source/function_places.h"

/* The probes of the VM, and events that the user names. */
#define WISHES_MAX 16u

struct wish {
	char *provider, *name;	/* provider: NULL for a function */
};

struct found {
	int err;		/* why not */
	struct diag diag;
	struct usdt usdt;
};

struct known_file {
	struct stat st;
	uint64_t offset, section;	/* section: UINT64_MAX: it is not in the file */
	struct found *found;	/* one for each wish */
};

struct places {
	pthread_mutex_t lock;
	uint32_t references;
	struct wish wishes[WISHES_MAX];
	uint32_t wish_count;
	struct known_file *files;
	uint32_t file_count;
	size_t file_room;
};

struct places *places__new(void)
{
	struct places *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	p->references = 1;
	return p;
}

struct places *places__hold(struct places *p)
{
	pthread_mutex_lock(&p->lock);
	p->references++;
	pthread_mutex_unlock(&p->lock);
	return p;
}

void places__release(struct places *p)
{
	bool last;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	last = !--p->references;
	pthread_mutex_unlock(&p->lock);
	if (!last)
		return;
	for (uint32_t i = 0; i < p->wish_count; i++) {
		free(p->wishes[i].provider);
		free(p->wishes[i].name);
	}
	for (uint32_t i = 0; i < p->file_count; i++)
		free(p->files[i].found);
	free(p->files);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* UINT32_MAX: it is not wanted. */
static uint32_t find_wish(const struct places *p, const char *provider, const char *name)
{
	for (uint32_t i = 0; i < p->wish_count; i++) {
		const struct wish *w = &p->wishes[i];

		if (!strcmp(w->name, name) && !w->provider == !provider && (!provider || !strcmp(w->provider, provider)))
			return i;
	}
	return UINT32_MAX;
}

int places__want(struct places *p, const char *provider, const char *name)
{
	struct wish *w = &p->wishes[p->wish_count];

	if (find_wish(p, provider, name) != UINT32_MAX)
		return 0;
	if (p->wish_count >= WISHES_MAX)
		return -E2BIG;
	w->provider = provider ? strdup(provider) : NULL;
	w->name = strdup(name);
	if (!w->name || (provider && !w->provider)) {
		free(w->provider);
		free(w->name);
		return -ENOMEM;
	}
	p->wish_count++;
	return 0;
}

bool places__any(const struct places *p)
{
	return p->wish_count;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static struct known_file *find_file(const struct places *p, const struct ruby_file *file)
{
	for (uint32_t i = 0; i < p->file_count; i++) {
		const struct stat *st = &p->files[i].st;

		if (st->st_dev == file->st.st_dev && st->st_ino == file->st.st_ino && st->st_size == file->st.st_size &&
		    is_same_time(&st->st_mtim, &file->st.st_mtim) && p->files[i].offset == file->offset)
			return &p->files[i];
	}
	return NULL;
}

void places__look(struct places *p, const struct ruby_file *file)
{
	struct known_file known = { .st = file->st, .offset = file->offset };
	bool is_known;

	if (file->fd < 0)
		return;
	pthread_mutex_lock(&p->lock);
	is_known = find_file(p, file);
	pthread_mutex_unlock(&p->lock);
	if (is_known)
		return;
	known.found = calloc(p->wish_count + 1, sizeof(*known.found));
	if (!known.found)
		return;
	if (usdt__address(file->fd, file->offset, &known.section))
		known.section = UINT64_MAX;
	for (uint32_t i = 0; i < p->wish_count; i++) {
		const struct wish *w = &p->wishes[i];
		struct found *f = &known.found[i];

		f->err = w->provider ? usdt__find(file->fd, w->provider, w->name, &f->usdt, &f->diag) :
				       function_places__find(file->fd, w->name, &f->usdt, &f->diag);
	}
	pthread_mutex_lock(&p->lock);
	/* Another thread can have been faster. */
	if (!find_file(p, file) && !array__reserve(&p->files, p->file_count, 1, &p->file_room, PLACES_FILES_MAX,
						   sizeof(*p->files))) {
		p->files[p->file_count++] = known;
		known.found = NULL;
	}
	pthread_mutex_unlock(&p->lock);
	free(known.found);
}

int places__get(struct places *p, const struct ruby_file *file, const char *provider, const char *name, struct usdt *usdt,
		uint64_t *section, struct diag *d)
{
	uint32_t wish = find_wish(p, provider, name);
	const struct known_file *known;
	int err;

	pthread_mutex_lock(&p->lock);
	known = find_file(p, file);
	if (!known || wish == UINT32_MAX) {
		err = p->file_count >= PLACES_FILES_MAX ?
		      diag__set(d, DIAG_INTERNAL, E2BIG, "there are more than %u different rubies", PLACES_FILES_MAX) :
		      diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	} else if (known->found[wish].err) {
		*d = known->found[wish].diag;
		err = known->found[wish].err;
	} else if (section && known->section == UINT64_MAX) {
		err = diag__set(d, DIAG_INTERNAL, ENOENT, "the file of the program does not have its section");
	} else {
		*usdt = known->found[wish].usdt;
		if (section)
			*section = known->section;
		err = 0;
	}
	pthread_mutex_unlock(&p->lock);
	return err;
}
