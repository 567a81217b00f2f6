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

#define LINKS_MAX 10000u

/* The C library reads them for users, times, texts and its own parts; the screen of `top' is in terminfo. */
static const char *const system_files[] = {
	"/usr", "/lib", "/lib64", "/etc/localtime", "/etc/ld.so.cache", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/terminfo", "/dev",
	"/proc/self", "/proc/meminfo", "/sys/devices/system/cpu",
};
static const char *const devices[] = { "/dev/null", "/dev/tty" };

/* A folder with what is in it; of a file its folder, which has SQLite's files beside it.  Who opens it says what is wrong. */
static int add_real(struct confine_places *p, const char *path, bool is_folder)
{
	char *real = realpath(path, NULL), *slash = real && !is_folder ? strrchr(real, '/') : NULL;
	int err;

	if (slash)
		slash[slash == real] = '\0';
	err = real ? confine_places__add_path(p, real, CONFINE_READ | CONFINE_WRITE) : 0;
	free(real);
	return err;
}

/* Recordings in a folder can be links to others. */
static int add_links(struct confine_places *p, const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *e;
	int err = 0;

	for (unsigned int n = 0; folder && !err && n < LINKS_MAX && (e = readdir(folder));) {
		char *link = NULL;

		if (e->d_type != DT_LNK && e->d_type != DT_UNKNOWN)
			continue;
		n++;
		if (asprintf(&link, "%s/%s", path, e->d_name) < 0)
			err = -ENOMEM;
		else
			err = add_real(p, link, false);
		free(link);
	}
	if (folder)
		closedir(folder);
	return err;
}

static int add_input(struct confine_places *p, const char *path)
{
	struct stat st;
	int err;

	if (stat(path, &st))
		return 0;
	err = add_real(p, path, S_ISDIR(st.st_mode));
	return !err && S_ISDIR(st.st_mode) ? add_links(p, path) : err;
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
	struct sudo sudo = { 0 };
	int err = 0, found = sudo__user(&sudo);

	for (unsigned int i = 0; i < c->input_count && !err; i++)
		err = add_input(p, c->inputs[i]);
	for (unsigned int i = 0; i < c->output_count && !err; i++)
		err = add_output(p, c->outputs[i], found > 0 ? sudo.user.uid : 0);
	for (size_t i = 0; i < sizeof(system_files) / sizeof(system_files[0]) && !c->files && !err; i++)
		err = confine_places__add_path(p, system_files[i], CONFINE_READ);
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]) && !err; i++)
		err = confine_places__add_path(p, devices[i], CONFINE_READ | CONFINE_WRITE);
	sudo__free(&sudo);
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
	confine__calls(CONFINE_MAY_WRITE | (c->starts ? CONFINE_MAY_START : 0));
	return STATUS_OK;
}

int confined__by_options(const struct options *o, bool files)
{
	const char *outputs[OPTIONS_OUTPUTS];
	struct confined c = {
		.inputs = o->files, .input_count = o->file_count, .outputs = outputs, .output_count = o->output_count,
		.files = files, .starts = files,
	};

	for (unsigned int i = 0; i < o->output_count; i++)
		outputs[i] = o->outputs[i].file;
	return confined__enter(&c);
}
