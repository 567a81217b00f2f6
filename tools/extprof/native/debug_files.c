/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/debug_files.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/text.h"
#include "process/proc.h"

#define DEBUG_FOLDER "/usr/lib/debug"

struct search {
	const struct debug_module *module;
	const uint64_t *addresses;
	uint32_t count;
	int (*take)(void *context, uint32_t number, const struct lines_at *at, uint32_t functions);
	void *context;
	struct target_files files;
	struct elf_build_id build_id;
	char link[LINES_LINK_MAX];	/* "": none is known */
	int why;			/* the first error of a file that is there; 0: none is there */
	bool known;			/* a file was found, and is asked no more */
};

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* It becomes a part of paths, too. */
static bool parse_build_id(const char *text, struct elf_build_id *id)
{
	size_t length = strnlen(text, 2 * ELF_BUILD_ID_MAX + 1);

	if (length < 4 || length % 2 || length > 2 * ELF_BUILD_ID_MAX)
		return false;
	id->size = (uint32_t)length / 2;
	for (size_t i = 0; i < length / 2; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		id->bytes[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* Look into a file. */
static void look_into(struct search *s, const struct lines_file *file)
{
	struct lines_file one = *file;
	char link[LINES_LINK_MAX] = "";
	int err = -ETIME;

	one.until = s->module->until;
	if (!one.until || deadline__now() < one.until)
		err = lines__read(&one, s->addresses, s->count, s->take, s->context, link);
	if (!s->link[0] && err != -ESTALE)
		strcpy(s->link, link);
	/* No debug information, or not the file: there may be another one.  What is wrong with the right one stays so. */
	s->known = err != -ESTALE && err != -ENODATA && err != -ENOEXEC;
	if (s->known || !s->why)
		s->why = err;
}

/* Look into the file of that path, which this frees the text of. */
static void try(struct search *s, struct text *path)
{
	struct lines_file file = { .build_id = s->build_id };
	struct stat st;

	if (s->known || path->failed || text__string(path)[0] != '/' || path->length >= PATH_MAX) {
		text__free(path);
		return;
	}
	file.fd = target_file__open_elf(&s->files, text__string(path), &st);
	text__free(path);
	if (file.fd < 0)
		return;
	file.size = (uint64_t)st.st_size;
	look_into(s, &file);
	close(file.fd);
}

/* In the folder that each mount namespace has. */
static void try_build_id(struct search *s)
{
	const char *id = s->module->build_id;
	struct text path = { 0 };

	text__addf(&path, DEBUG_FOLDER "/.build-id/%.2s/%s.debug", id, id + 2);
	try(s, &path);
}

static void try_cache(struct search *s)
{
	const char *id = s->module->build_id, *home = getenv("HOME"), *cache = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME");
	struct text path = { 0 };

	/* The places where debuginfod-find looks for them. */
	if (cache && *cache)
		text__addf(&path, "%s/%s/debuginfo", cache, id);
	else if (xdg && *xdg)
		text__addf(&path, "%s/debuginfod_client/%s/debuginfo", xdg, id);
	else if (home && *home)
		text__addf(&path, "%s/.cache/debuginfod_client/%s/debuginfo", home, id);
	try(s, &path);
}

static void try_link(struct search *s)
{
	const char *module = s->module->path, *slash = strrchr(module, '/');
	int folder = slash ? (int)(slash - module) : 0;
	struct text path = { 0 };

	if (!s->link[0] || !slash)
		return;
	text__addf(&path, "%.*s/%s", folder, module, s->link);
	try(s, &path);
	text__addf(&path, "%.*s/.debug/%s", folder, module, s->link);
	try(s, &path);
	text__addf(&path, DEBUG_FOLDER "%.*s/%s", folder, module, s->link);
	try(s, &path);
}

/* Below /usr/lib/debug with its path. */
static void try_path(struct search *s)
{
	struct text path = { 0 };

	if (s->module->path[0] != '/')
		return;
	text__addf(&path, DEBUG_FOLDER "%s", s->module->path);
	try(s, &path);
	text__addf(&path, DEBUG_FOLDER "%s.debug", s->module->path);
	try(s, &path);
}

/* Below the root of the process that had it mapped, if it still runs. */
static void try_process(struct search *s)
{
	const struct debug_module *m = s->module;
	struct lines_file file = { .fd = m->fd, .size = m->size, .build_id = s->build_id };

	if (m->fd >= 0)
		look_into(s, &file);
	if (s->known || !m->pid || proc__started(m->pid) != m->began)
		return;
	target_files__of_process(&s->files, m->pid, 0, NULL);
	try_build_id(s);
	try_link(s);
	try_path(s);
}

int debug_files__lines(const struct debug_module *m, const uint64_t *addresses, uint32_t count,
		       int (*take)(void *context, uint32_t number, const struct lines_at *at, uint32_t functions), void *context)
{
	struct search s = { .module = m, .addresses = addresses, .count = count, .take = take, .context = context };
	struct text path = { 0 };

	if (!parse_build_id(m->build_id, &s.build_id))
		return -ENOKEY;
	try_process(&s);
	target_files__of_user(&s.files);
	/* It is not the user who names the path: it is taken as one of a target is. */
	s.files.of_user = false;
	text__adds(&path, m->path);
	try(&s, &path);
	try_build_id(&s);
	try_cache(&s);
	try_link(&s);
	try_path(&s);
	return s.known || s.why ? s.why : -ENODATA;
}
