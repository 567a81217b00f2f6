/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/confined.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/output_place.h"
#include "cli/sudo.h"
#include "confine/calls.h"
#include "confine/places.h"

#define ENTRIES_MAX 100000u

/* The C library reads them for users, times, texts and its own parts; the screen of `top' is in terminfo. */
static const char *const system_files[] = {
	"/usr", "/lib", "/lib64", "/etc/localtime", "/etc/ld.so.cache", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/terminfo",
	"/dev/urandom", "/proc/self", "/proc/meminfo", "/sys/devices/system/cpu",
};
static const char *const devices[] = { "/dev/null", "/dev/tty" };

/* The folder of a file, or a folder ("path/"), if no link of somebody else leads there.  1: added, 0: one does, or -errno. */
static int add_folder(struct confine_places *p, const char *path, uid_t uid, unsigned int allows)
{
	struct output_place place;
	int err;

	if (output_place__find(&place, path, uid))
		return 0;
	err = place.fixed ? 0 : confine_places__add(p, place.directory, allows);
	if (!err)
		err = !place.fixed;
	output_place__close(&place);
	return err;
}

/* Allow to read a recording that somebody else's link leads to, with SQLite's files of it.  Their folder is not allowed. */
static int add_to_read(struct confine_places *p, const char *path)
{
	static const char *const ends[] = { "", "-wal", "-shm" };
	char *real = realpath(path, NULL), *file;
	int err = 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]) && real && !err; i++) {
		if (asprintf(&file, "%s%s", real, ends[i]) < 0) {
			err = -ENOMEM;
			break;
		}
		err = confine_places__add_path(p, file, CONFINE_READ);
		free(file);
	}
	free(real);
	return err;
}

/* Recordings in a folder can be links.  Nothing is written where they lead to, and those of somebody else are not followed. */
static int add_links(struct confine_places *p, const char *path, uid_t uid)
{
	DIR *folder = opendir(path);
	struct dirent *e;
	int err = 0;

	for (unsigned int n = 0; folder && err >= 0 && n < ENTRIES_MAX && (e = readdir(folder)); n++) {
		char *link;

		if (e->d_type != DT_LNK && e->d_type != DT_UNKNOWN)
			continue;
		if (asprintf(&link, "%s/%s", path, e->d_name) < 0) {
			err = -ENOMEM;
			break;
		}
		err = add_folder(p, link, uid, CONFINE_READ);
		free(link);
	}
	if (folder)
		closedir(folder);
	return err < 0 ? err : 0;
}

/* A folder with what is in it; of a file its folder, where SQLite may make a file.  Who opens it says what is wrong. */
static int add_input(struct confine_places *p, const char *path, uid_t uid)
{
	struct stat st;
	char *whole;
	int err;

	if (stat(path, &st))
		return 0;
	if (asprintf(&whole, "%s%s", path, S_ISDIR(st.st_mode) ? "/" : "") < 0)
		return -ENOMEM;
	err = add_folder(p, whole, uid, CONFINE_READ | CONFINE_WRITE);
	free(whole);
	if (!err)
		err = add_to_read(p, path);
	if (err < 0)
		return err;
	return S_ISDIR(st.st_mode) ? add_links(p, path, uid) : 0;
}

static int add_output(struct confine_places *p, const char *path, uid_t uid)
{
	struct output_place place;
	int err = 0;

	if (!path || !strcmp(path, "-") || output_place__find(&place, path, uid))
		return 0;
	if (place.file >= 0 && (place.fixed || !S_ISREG(place.st.st_mode)))
		err = confine_places__add(p, place.file, CONFINE_WRITE);
	else
		err = confine_places__add(p, place.directory, CONFINE_READ | CONFINE_WRITE);
	output_place__close(&place);
	return err;
}

static int add_all(struct confine_places *p, const struct confined *c)
{
	struct sudo sudo;
	uid_t uid = sudo__user(&sudo) > 0 ? sudo.user.uid : 0;
	int err = 0;

	for (unsigned int i = 0; i < c->input_count && !err; i++)
		err = add_input(p, c->inputs[i], uid);
	for (unsigned int i = 0; i < c->output_count && !err; i++)
		err = add_output(p, c->outputs[i], uid);
	for (size_t i = 0; i < sizeof(system_files) / sizeof(system_files[0]) && !c->files && !err; i++)
		err = confine_places__add_path(p, system_files[i], CONFINE_READ);
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]) && !err; i++)
		err = confine_places__add_path(p, devices[i], CONFINE_READ | CONFINE_WRITE);
	return err;
}

int confined__enter(const struct confined *c)
{
	struct extprof_error e = { .size = sizeof(e) };
	struct confine_places places;
	int err = 0;

	if (!confine_places__open(&places, !c->files)) {
		err = add_all(&places, c);
		if (!err)
			err = confine_places__enter(&places);
		else
			close(places.ruleset);
	}
	if (err) {
		message__set(&e, EXTPROF_INTERNAL, -err, "the rights to files cannot be given back: %s", strerror(-err));
		return message__fail(&e);
	}
	/* A kernel without filters goes on without. */
	confine__calls(CONFINE_MAY_WRITE | (c->files ? CONFINE_MAY_START : 0));
	return STATUS_OK;
}

int confined__by_options(const struct options *o, bool files)
{
	const char *outputs[OPTIONS_OUTPUTS];
	struct confined c = {
		.inputs = o->files, .input_count = o->file_count, .outputs = outputs, .output_count = o->output_count,
		.files = files,
	};

	for (unsigned int i = 0; i < o->output_count; i++)
		outputs[i] = o->outputs[i].file;
	return confined__enter(&c);
}
