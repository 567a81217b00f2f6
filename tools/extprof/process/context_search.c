/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/context_search.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map64.h"
#include "parser/parser.h"
#include "process/proc.h"
#include "process/target_file.h"

/* Files of one process that are opened; rubies with gems have some hundreds. */
#define FILES_MAX 4096u
/* Lines of a memory map. */
#define LINES_MAX 65536u
/* Files that are remembered, those of them that have the variable, and for how long: then another one may be at its place. */
#define KNOWN_MAX 65536u
#define WITH_MAX 64u
#define KNOWN_FOR 3600000000000ull
/* In place of a place in `with`. */
#define WITHOUT WITH_MAX
/* From the thread pointer: a program has some kilobytes there, below it on x86-64, above it on others. */
#define DISTANCE_MAX (1 << 24)

struct context_files {
	pthread_mutex_t lock;
	uint32_t references;
	struct map64 known;		/* by key_of(): place in `with`, or WITHOUT */
	struct elf_context with[WITH_MAX];
	uint32_t with_count;
	uint64_t since;
};

struct context_files *context_files__new(void)
{
	struct context_files *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	pthread_mutex_init(&f->lock, NULL);
	f->references = 1;
	f->since = deadline__now();
	return f;
}

struct context_files *context_files__hold(struct context_files *f)
{
	pthread_mutex_lock(&f->lock);
	f->references++;
	pthread_mutex_unlock(&f->lock);
	return f;
}

void context_files__release(struct context_files *f)
{
	bool last;

	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	last = !--f->references;
	pthread_mutex_unlock(&f->lock);
	if (!last)
		return;
	map64__free(&f->known);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* Find the file among those that were searched: *c is its context.  False: it is not among them. */
static bool recall(struct context_files *f, uint64_t key, struct elf_context *c)
{
	uint32_t place;

	pthread_mutex_lock(&f->lock);
	if (deadline__now() - f->since > KNOWN_FOR || f->known.count >= KNOWN_MAX) {
		map64__clear(&f->known);
		f->with_count = 0;
		f->since = deadline__now();
	}
	place = map64__get(&f->known, key);
	*c = place < f->with_count ? f->with[place] : (struct elf_context){ 0 };
	pthread_mutex_unlock(&f->lock);
	return place != MAP64_NONE;
}

static void remember(struct context_files *f, uint64_t key, const struct elf_context *c)
{
	uint32_t place;

	pthread_mutex_lock(&f->lock);
	place = c->found ? f->with_count : WITHOUT;
	/* Another thread may have added it.  Without memory or room it is opened again. */
	if (map64__get(&f->known, key) == MAP64_NONE && (!c->found || place < WITH_MAX) &&
	    !map64__add(&f->known, key, place) && c->found)
		f->with[f->with_count++] = *c;
	pthread_mutex_unlock(&f->lock);
}

struct context_look *context_look__new(struct context_files *files, pid_t pid, uint32_t vm)
{
	struct context_look *look = calloc(1, sizeof(*look));

	if (!look)
		return NULL;
	look->files = context_files__hold(files);
	look->pid = pid;
	look->vm = vm;
	return look;
}

void context_look__free(struct context_look *look)
{
	if (!look)
		return;
	context_files__release(look->files);
	free(look);
}

/* -- files ------------------------------------------------------------------------------------ */

/*
 * A file that is not there any more is looked for by its path below the root of the process, which its user can have made:
 * what is found there is believed of processes of that user alone.
 */
static uint64_t key_of(const struct target_files *files, const struct mapping *m)
{
	const uint64_t parts[] = { files->owner, m->device, m->inode };

	return hash__bytes(m->path, strlen(m->path), hash__bytes(parts, sizeof(parts), 0));
}

/* False: this time it cannot be told what the file has. */
static bool open_and_parse(struct target_files *files, const struct mapping *m, struct elf_context *c)
{
	struct parser_file file = { .owner = files->owner, .deadline = files->deadline };
	struct stat st;
	int err;

	file.fd = target_file__open_mapped(files, m, &st);
	if (file.fd < 0)
		return false;
	file.size = (uint64_t)st.st_size;
	err = parser__context(&file, c);
	close(file.fd);
	if (err || !c->found || !c->has_load)
		*c = (struct elf_context){ 0 };
	/* Other errors say something about the helper or the machine. */
	return !err || err == -ENOEXEC || err == -E2BIG;
}

/* The file whose beginning is mapped there.  *opened: how many files have been. */
static void look_at(struct context_look *look, struct target_files *files, const struct mapping *m, uint32_t *opened)
{
	uint64_t key = key_of(files, m), file = hash__mix(key ^ m->start) | 1;
	struct elf_context c;

	look->maps_before |= file == look->before;
	if (look->found && file != look->before)
		return;
	if (!recall(look->files, key, &c)) {
		if ((*opened)++ >= FILES_MAX || !open_and_parse(files, m, &c))
			return;
		remember(look->files, key, &c);
	}
	if (!c.found)
		return;
	look->found = true;
	look->file = file;
	look->variable = (struct context_found){ .of = c, .bias = m->start - c.load_vaddr, .is_program = m->is_exe };
}

static bool is_musl(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && !strncmp(slash, "/ld-musl-", 9);
}

void context_look__read(struct context_look *look, FILE *maps, uint64_t exe, struct deadline *deadline)
{
	/* The beginning of a file keeps its line, which has its path. */
	char *line = NULL, *kept = NULL;
	struct mapping m, begin = { 0 };
	size_t room = 0, kept_room = 0;
	struct target_files files;
	uint32_t opened = 0;
	bool cut = false;
	ssize_t length;

	target_files__of_process(&files, look->pid, 0, deadline);
	for (uint32_t i = 0; i < LINES_MAX; i++) {
		if (deadline && deadline__over(deadline))
			break;
		length = getline(&line, &room, maps);
		if (length < 0) {
			look->whole = feof(maps) && !cut;
			break;
		}
		cut = line[length - 1] != '\n';
		if (!mapping__parse(line, exe, &m) || !m.inode || *m.path != '/')
			continue;
		/* ld.so is behind all libraries. */
		look->old_table |= is_musl(m.path);
		if (!m.offset) {
			char *other = kept;
			size_t other_room = kept_room;

			begin = m;
			kept = line;
			kept_room = room;
			line = other;
			room = other_room;
		}
		/* A file of data has no code. */
		if (!m.is_code || !begin.inode || m.inode != begin.inode || m.device != begin.device)
			continue;
		look_at(look, &files, &begin, &opened);
		begin.inode = 0;
	}
	/* Which C library it has cannot be told. */
	look->old_table |= !look->whole;
	free(line);
	free(kept);
}

void context_look__run(struct context_look *look, struct deadline *deadline)
{
	FILE *maps = proc__open(look->pid, 0, GUARDED_MAPS);

	if (!maps) {
		look->err = -errno;
		return;
	}
	context_look__read(look, maps, proc__exe(look->pid, 0), deadline);
	fclose(maps);
}

/* -- places ----------------------------------------------------------------------------------- */

static bool set_distance(struct trace_place *place, int64_t distance)
{
	*place = (struct trace_place){ TRACE_IN_THREAD, distance };
#if defined(__x86_64__)
	return distance < 0 && distance > -DISTANCE_MAX;
#else
	return distance > 0 && distance < DISTANCE_MAX;
#endif
}

static bool set_module(const struct context_look *look, struct trace_place *place, uint64_t module)
{
	*place = (struct trace_place){ (uint32_t)module, (int64_t)look->variable.of.offset };
	return module && module < TRACE_MODULES_MAX && !look->old_table;
}

/* `argument`: what the function of the descriptor gets: the address of module and offset, or the distance. */
static bool place_by_argument(const struct context_look *look, const struct memory *memory, uint64_t argument,
			      struct trace_place *place)
{
	uint64_t index[2];

	/* No distance is an address of memory: those of x86-64 are below 0, and others are small. */
	if (memory__read(memory, argument, index, sizeof(index)))
		return set_distance(place, (int64_t)argument);
	return index[1] == look->variable.of.offset && set_module(look, place, index[0]);
}

static bool place_by_word(const struct context_look *look, const struct memory *memory, const struct elf_context_word *w,
			  struct trace_place *place)
{
	uint64_t at = w->address + look->variable.bias, words[2] = { 0 };

	if (memory__read(memory, at, words, w->how == CONTEXT_OFFSET ? sizeof(words[0]) : sizeof(words)))
		return false;
	switch (w->how) {
	case CONTEXT_OFFSET:
		return set_distance(place, (int64_t)words[0]);
	case CONTEXT_MODULE:
		/* By name ld.so can find the variable of another library, of which that is the module. */
		return (!w->by_name || words[1] == look->variable.of.offset) && set_module(look, place, words[0]);
	case CONTEXT_DESCRIPTOR:
		/* The function that the first word is the address of is not known.  Both are 0 before ld.so has written them. */
		return words[0] && words[1] && place_by_argument(look, memory, words[1], place);
	}
	return false;
}

bool context_look__place(const struct context_look *look, const struct memory *memory, struct trace_place *place)
{
	const struct context_found *v = &look->variable;
	bool found = false;

	*place = (struct trace_place){ 0 };
	if (!look->found)
		return false;
	if (v->is_program && v->of.has_program)
		found = set_distance(place, v->of.program);
	else
		for (uint32_t i = 0; !found && i < v->of.count && i < ELF_CONTEXT_WORDS_MAX; i++)
			found = place_by_word(look, memory, &v->of.words[i], place);
	if (!found)
		*place = (struct trace_place){ 0 };
	return found;
}
