/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct output_format *const output_formats[] = {
	&output_folded, &output_flamegraph, &output_summary, NULL
};

const struct output_format *output__by_name(const char *name)
{
	for (int i = 0; output_formats[i]; i++)
		if (!strcmp(output_formats[i]->name, name))
			return output_formats[i];
	return NULL;
}

const struct output_format *output__by_path(const char *path)
{
	size_t length = strlen(path);

	for (int i = 0; output_formats[i]; i++) {
		for (int j = 0; j < 3 && output_formats[i]->suffixes[j]; j++) {
			const char *suffix = output_formats[i]->suffixes[j];
			size_t n = strlen(suffix);

			if (length > n && !strcasecmp(path + length - n, suffix))
				return output_formats[i];
		}
	}
	return &output_folded;
}

static int cannot_write(const char *path, int errnum, struct diag *d)
{
	diag__set(d, DIAG_OUTPUT, errnum, "cannot write %s: %s",
		  *path ? path : "a file without a name", strerror(errnum));
	diag__advise(d, ADVICE_OUTPUT, 0);
	return -errnum;
}

/* An errno, or 0. */
static int check(const char *path)
{
	char *copy, *slash;
	struct stat st;
	int err;

	if (!strcmp(path, "-"))
		return 0;
	if (!stat(path, &st)) {
		if (S_ISDIR(st.st_mode))
			return EISDIR;
		/* Renaming would replace a file that forbids writing. */
		return access(path, W_OK) ? errno : 0;
	}
	if (errno != ENOENT)
		return errno;
	/* The file will be made; without a name it would be another one. */
	if (!*path)
		return ENOENT;
	copy = strdup(path);
	if (!copy)
		return ENOMEM;
	slash = strrchr(copy, '/');
	if (slash)
		slash[slash == copy ? 1 : 0] = '\0';
	err = access(slash ? copy : ".", W_OK | X_OK) ? errno : 0;
	free(copy);
	return err;
}

int output__check(const char *path, struct diag *d)
{
	int err = check(path);

	return err ? cannot_write(path, err, d) : 0;
}

int output__open(struct output_file *f, const char *path, struct diag *d)
{
	mode_t mode = 0666, mask;
	struct stat st;
	int fd = -1, err;

	memset(f, 0, sizeof(*f));
	err = check(path);
	if (err)
		goto failed;
	f->name = strdup(strcmp(path, "-") ? path : "standard output");
	if (!f->name) {
		err = ENOMEM;
		goto failed;
	}
	if (!strcmp(path, "-")) {
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		f->stream = fd < 0 ? NULL : fdopen(fd, "w");
		if (!f->stream) {
			err = errno;
			goto failed;
		}
		return 0;
	}
	if (!stat(path, &st)) {
		if (!S_ISREG(st.st_mode)) {
			fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
			f->stream = fd < 0 ? NULL : fdopen(fd, "w");
			if (!f->stream) {
				err = errno;
				goto failed;
			}
			return 0;
		}
		mode = st.st_mode & 0777;
		f->path = realpath(path, NULL);
	} else if (errno == ENOENT) {
		f->path = strdup(path);
	}
	if (!f->path || asprintf(&f->temporary, "%s.XXXXXX", f->path) < 0) {
		err = errno;
		f->temporary = NULL;
		goto failed;
	}
	fd = mkostemp(f->temporary, O_CLOEXEC);
	if (fd < 0) {
		err = errno;
		free(f->temporary);
		f->temporary = NULL;
		goto failed;
	}
	if (mode == 0666) {
		mask = umask(0);
		umask(mask);
		mode &= ~mask;
	}
	if (fchmod(fd, mode) || !(f->stream = fdopen(fd, "w"))) {
		err = errno;
		goto failed;
	}
	return 0;
failed:
	if (fd >= 0)
		close(fd);
	output__discard(f);
	return cannot_write(path, err, d);
}

int output__failed(const struct output_file *f, int errnum, struct diag *d)
{
	return diag__set(d, DIAG_OUTPUT, errnum, "cannot write %s: %s", f->name, strerror(errnum));
}

int output__commit(struct output_file *f, struct diag *d)
{
	int err = 0;

	/* A full disk may show at the last moment only. */
	if (fflush(f->stream) || ferror(f->stream))
		err = errno ? errno : EIO;
	if (fclose(f->stream) && !err)
		err = errno;
	f->stream = NULL;
	if (!err && f->temporary) {
		if (rename(f->temporary, f->path)) {
			err = errno;
		} else {
			free(f->temporary);
			f->temporary = NULL;
		}
	}
	if (err)
		output__failed(f, err, d);
	output__discard(f);
	return -err;
}

void output__discard(struct output_file *f)
{
	if (f->stream)
		fclose(f->stream);
	if (f->temporary)
		unlink(f->temporary);
	free(f->temporary);
	free(f->path);
	free(f->name);
	memset(f, 0, sizeof(*f));
}
