/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/places.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parser/parser.h"

/* Shared by the list and by files that are open.  References are counted below the lock of the list. */
struct known_file {
	struct stat st;
	uint64_t offset, section;	/* section: UINT64_MAX: it is not in the file */
	uint64_t used;		/* when it was last asked for: a count */
	uint32_t number, references;
	struct places *places;
	int err;		/* of all */
	int32_t results[ELF_WISHES_MAX];
	struct usdt found[ELF_WISHES_MAX];
};

struct places {
	pthread_mutex_t lock;
	uint32_t references;
	struct elf_wish wishes[ELF_WISHES_MAX];
	uint32_t wish_count;
	struct known_file *files[PLACES_FILES_MAX];
	uint32_t file_count, numbers;
	uint64_t uses;
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

/* The lock is held. */
static void drop(struct known_file *k)
{
	if (k && !--k->references)
		free(k);
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
	for (uint32_t i = 0; i < p->file_count; i++)
		drop(p->files[i]);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

struct known_file *ruby_file__keep(const struct ruby_file *file)
{
	struct places *p = file->known ? file->known->places : NULL;

	if (!p)
		return NULL;
	pthread_mutex_lock(&p->lock);
	file->known->references++;
	p->references++;
	pthread_mutex_unlock(&p->lock);
	return file->known;
}

void ruby_file__forget(struct known_file *known)
{
	struct places *p = known ? known->places : NULL;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	drop(known);
	pthread_mutex_unlock(&p->lock);
	places__release(p);
}

void ruby_file__close(struct ruby_file *file)
{
	ruby_file__forget(file->known);
	file->known = NULL;
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

uint32_t ruby_file__number(const struct ruby_file *file)
{
	return file->known ? file->known->number : 0;
}

/* -- wishes ----------------------------------------------------------------------------------- */

static int make_wish(struct elf_wish *w, const char *provider, const char *name)
{
	if (strlen(name) >= sizeof(w->name) || (provider && strlen(provider) >= sizeof(w->provider)))
		return -ENAMETOOLONG;
	memset(w, 0, sizeof(*w));
	strcpy(w->provider, provider ? provider : "");
	strcpy(w->name, name);
	return 0;
}

/* UINT32_MAX: it is not wanted. */
static uint32_t find_wish(const struct places *p, const char *provider, const char *name)
{
	for (uint32_t i = 0; i < p->wish_count; i++)
		if (!strcmp(p->wishes[i].name, name) && !strcmp(p->wishes[i].provider, provider ? provider : ""))
			return i;
	return UINT32_MAX;
}

int places__want(struct places *p, const char *provider, const char *name)
{
	int err;

	if (find_wish(p, provider, name) != UINT32_MAX)
		return 0;
	if (p->wish_count >= ELF_WISHES_MAX)
		return -E2BIG;
	err = make_wish(&p->wishes[p->wish_count], provider, name);
	p->wish_count += !err;
	return err;
}

bool places__any(const struct places *p)
{
	return p->wish_count;
}

/* -- answers ---------------------------------------------------------------------------------- */

static int explain_probe(int err, const struct elf_wish *w, struct diag *d)
{
	if (err == -ENOENT) {
		diag__set(d, DIAG_NO_INTERFACE, ENOENT, "there is no probe %s:%s in the file of the program", w->provider,
			  w->name);
		diag__hint(d, "the notes of probes are in the section .note.stapsdt, which strip(1) leaves there");
		return err;
	}
	return err == -E2BIG ? diag__set(d, DIAG_INTERNAL, E2BIG, "the probe %s:%s is at more than %u places", w->provider,
					 w->name, USDT_PLACES_MAX) :
			       diag__set(d, DIAG_INTERNAL, EINVAL, "the file of the program is damaged: the probe %s:%s "
					 "is outside of its code", w->provider, w->name);
}

static int explain_function(int err, const struct elf_wish *w, struct diag *d)
{
	switch (err) {
	case -ENOENT:
		diag__set(d, DIAG_USAGE, ENOENT, "there is no function %s", w->name);
		diag__hint(d, "nm -D FILE shows those of a library, nm FILE those of a program that is not stripped");
		return err;
	case -ENOTUNIQ:
		diag__set(d, DIAG_USAGE, ENOENT, "%s has several versions, of which each program chooses one when it "
			  "starts (an ifunc)", w->name);
		diag__hint(d, "name the version, which has another name; the file with debug symbols has it");
		return -ENOENT;
	case -E2BIG:
		return diag__set(d, DIAG_USAGE, E2BIG, "there are more than %u functions %s", USDT_PLACES_MAX, w->name);
	}
	return diag__set(d, DIAG_USAGE, EINVAL, "the file is damaged: its function %s is not in it", w->name);
}

/* Why there is no answer about the file. */
static int explain_file(int err, struct diag *d)
{
	switch (err) {
	case -ENOEXEC:
		return diag__set(d, DIAG_USAGE, EINVAL, "it is no ELF file of this machine: a program or a library is wanted");
	case -E2BIG:
		return diag__set(d, DIAG_INTERNAL, E2BIG, "the file of the program has more symbols or notes than are read");
	case -EIO:
		return diag__set(d, DIAG_INTERNAL, EIO, "the file of the program is damaged: its parser has crashed");
	case -ETIMEDOUT: case -EINTR:
		return diag__set(d, DIAG_INTERNAL, -err, "the file of the program could not be read in time");
	case -EBUSY:
		return diag__set(d, DIAG_INTERNAL, EBUSY, "too many files of this user could not be read in time");
	}
	return diag__set(d, DIAG_INTERNAL, -err, "the file of the program cannot be parsed: %s", strerror(-err));
}

static int answer(int of_all, int32_t result, const struct elf_wish *w, const struct usdt *found, struct usdt *usdt,
		  struct diag *d)
{
	/* If the file had too much to read, the places that were found before that are right. */
	if (of_all && (of_all != -E2BIG || result == -ENOENT))
		return explain_file(of_all, d);
	if (result)
		return w->provider[0] ? explain_probe(result, w, d) : explain_function(result, w, d);
	*usdt = *found;
	return 0;
}

int places__find(int fd, const char *provider, const char *name, struct usdt *usdt, struct diag *d)
{
	struct parser_file file = { .fd = fd };
	struct usdt found = { 0 };
	struct elf_wish wish;
	int32_t result = 0;
	uint64_t section;
	struct stat st;
	int err;

	err = make_wish(&wish, provider, name);
	if (err)
		return diag__set(d, DIAG_USAGE, -err, "a name of an event is too long");
	if (fstat(fd, &st))
		return explain_file(-errno, d);
	file.size = (uint64_t)st.st_size;
	err = parser__find(&file, 0, &wish, 1, &found, &result, &section);
	return answer(err, result, &wish, &found, usdt, d);
}

/* -- files ------------------------------------------------------------------------------------ */

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* The lock is held. */
static struct known_file *find_file(struct places *p, const struct ruby_file *file)
{
	for (uint32_t i = 0; i < p->file_count; i++) {
		struct known_file *k = p->files[i];

		if (k->st.st_dev == file->st.st_dev && k->st.st_ino == file->st.st_ino &&
		    k->st.st_size == file->st.st_size && is_same_time(&k->st.st_mtim, &file->st.st_mtim) &&
		    is_same_time(&k->st.st_ctim, &file->st.st_ctim) && k->offset == file->offset)
			return k;
	}
	return NULL;
}

/* The lock is held. */
static void add_file(struct places *p, struct known_file *k)
{
	uint32_t oldest = PLACES_FILES_MAX;

	if (p->file_count < PLACES_FILES_MAX) {
		k->references++;
		p->files[p->file_count++] = k;
		return;
	}
	/* Those that somebody keeps have to keep their number. */
	for (uint32_t i = 0; i < p->file_count; i++)
		if (p->files[i]->references == 1 &&
		    (oldest == PLACES_FILES_MAX || p->files[i]->used < p->files[oldest]->used))
			oldest = i;
	if (oldest == PLACES_FILES_MAX)
		return;
	k->references++;
	drop(p->files[oldest]);
	p->files[oldest] = k;
}

/* The lock is held. */
static void refer(struct places *p, struct ruby_file *file, struct known_file *k)
{
	k->used = ++p->uses;
	k->references++;
	p->references++;
	file->known = k;
}

void places__look(struct places *p, struct ruby_file *file, struct deadline *deadline)
{
	const struct parser_file parsed = {
		.fd = file->fd, .size = (uint64_t)file->st.st_size, .owner = file->owner, .deadline = deadline,
	};
	struct known_file *k, *other;

	if (file->fd < 0 || file->known)
		return;
	pthread_mutex_lock(&p->lock);
	k = find_file(p, file);
	if (k)
		refer(p, file, k);
	pthread_mutex_unlock(&p->lock);
	if (k)
		return;
	k = calloc(1, sizeof(*k));
	if (!k)
		return;
	k->st = file->st;
	k->offset = file->offset;
	k->places = p;
	k->err = parser__find(&parsed, file->offset, p->wishes, p->wish_count, k->found, k->results, &k->section);
	pthread_mutex_lock(&p->lock);
	/* Another thread can have been faster. */
	other = find_file(p, file);
	if (other) {
		free(k);
		k = other;
	} else {
		k->number = ++p->numbers;
		/* Do not keep these errors: a file that hangs or is cut short now may be read the next time. */
		if (k->err != -ETIMEDOUT && k->err != -EINTR && k->err != -EBUSY)
			add_file(p, k);
	}
	refer(p, file, k);
	pthread_mutex_unlock(&p->lock);
}

int places__get(struct places *p, const struct ruby_file *file, const char *provider, const char *name, struct usdt *usdt,
		uint64_t *section, struct diag *d)
{
	uint32_t wish = find_wish(p, provider, name);
	const struct known_file *k = file->known;
	int err;

	/* It does not change any more. */
	if (!k || wish == UINT32_MAX)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	err = answer(k->err, k->results[wish], &p->wishes[wish], &k->found[wish], usdt, d);
	if (!err && section && k->section == UINT64_MAX)
		err = diag__set(d, DIAG_INTERNAL, ENOENT, "the file of the program does not have its section");
	else if (section)
		*section = k->section;
	return err;
}
