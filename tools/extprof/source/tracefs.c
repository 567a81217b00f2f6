/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/text.h"

#define PATH_SIZE 512
/* Names of a category that a message shows. */
#define SHOWN_MAX 8

/* A mount that is in no directory. */
static int mount_alone(void)
{
	int context = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC), root = -1, err;

	if (context < 0)
		return -errno;
	if (!syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		root = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	err = -errno;
	close(context);
	return root < 0 ? err : root;
}

/* The root of tracefs, or -errno. */
static int open_root(void)
{
	static const char *const usual[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		int root = open(usual[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (root < 0)
			continue;
		if (!faccessat(root, "events", F_OK, AT_EACCESS))
			return root;
		close(root);
	}
	return mount_alone();
}

static int no_tracefs(int err, struct diag *d)
{
	bool forbidden = err == -EPERM || err == -EACCES;

	diag__set(d, forbidden ? DIAG_PERMISSION : DIAG_NO_BPF, -err, "cannot read which tracepoints there are: %s",
		  forbidden ? "no permission for tracefs" : strerror(-err));
	diag__hint(d, forbidden ? "run extprof as root, or have root mount it for all: mount -t tracefs -o mode=755 "
				  "nodev /sys/kernel/tracing" :
		   "tracepoints by name need a kernel with CONFIG_FTRACE; mount -t tracefs nodev /sys/kernel/tracing");
	return err;
}

/* "; in that category are a, b, ..." */
static void add_names(int root, const char *category, struct text *out)
{
	char path[PATH_SIZE];
	struct dirent *entry;
	unsigned int shown = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "events/%s", category);
	directory = directory__open(root, path);
	if (!directory) {
		text__addf(out, "; there is no category %s", category);
		return;
	}
	while ((entry = readdir(directory)) && shown <= SHOWN_MAX) {
		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "enable") || !strcmp(entry->d_name, "filter"))
			continue;
		if (shown++ == SHOWN_MAX)
			text__adds(out, " and more");
		else
			text__addf(out, "%s%s", shown == 1 ? "; in that category are " : ", ", entry->d_name);
	}
	closedir(directory);
}

int tracefs__id(const char *category, const char *name, uint64_t *id, struct diag *d)
{
	char path[PATH_SIZE], text[32] = "", *end = text;
	int root = open_root(), fd, err = 0;
	struct text names = { 0 };

	if (root < 0)
		return no_tracefs(root, d);
	snprintf(path, sizeof(path), "events/%s/%s/id", category, name);
	fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		if (err == -EACCES || err == -EPERM) {
			no_tracefs(err, d);
			goto cleanup;
		}
		add_names(root, category, &names);
		diag__set(d, DIAG_USAGE, -err, "this kernel has no tracepoint %s:%s%s", category, name,
			  text__string(&names));
		diag__hint(d, "the directories of /sys/kernel/tracing/events are the categories");
		goto cleanup;
	}
	if (read(fd, text, sizeof(text) - 1) > 0)
		*id = strtoull(text, &end, 10);
	close(fd);
	if (end == text)
		err = diag__set(d, DIAG_NO_BPF, ENODATA, "tracefs does not tell the number of %s:%s", category, name);
cleanup:
	text__free(&names);
	close(root);
	return err;
}
