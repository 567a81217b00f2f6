/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/recorded.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/output_file.h"
#include "cli/sudo.h"

#define WIDTH_MAX 10000

unsigned int recorded__width_of(int fd)
{
	const char *columns = getenv("COLUMNS");
	long chosen = columns ? strtol(columns, NULL, 10) : 0;
	struct winsize w;

	if (chosen > 0 && chosen <= WIDTH_MAX)
		return (unsigned int)chosen;
	return isatty(fd) && !ioctl(fd, TIOCGWINSZ, &w) ? w.ws_col : 0;
}

unsigned int recorded__width(void)
{
	return recorded__width_of(STDOUT_FILENO);
}

void recorded__say_what_is_missing(const struct extprof_recorded *r, const char *file)
{
	const char *missing = extprof_recorded_incomplete(r);
	char clean[PATH_MAX];

	if (!missing)
		return;
	extprof_clean(clean, sizeof(clean), file);
	fprintf(stderr, "extprof: %s: %s\n", clean, missing);
}

error_t recorded__take_argument(int key, char *arg, struct argp_state *state, const char **file)
{
	switch (key) {
	case ARGP_KEY_ARG:
		if (*file)
			argp_error(state, "it takes one recording");
		*file = arg;
		return 0;
	case ARGP_KEY_END:
		if (!*file)
			argp_error(state, "which recording? Name its file");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int recorded__open(struct extprof_recorded **r, const char *file)
{
	struct extprof_error e = { .size = sizeof(e) };

	if (extprof_recorded_open(r, file, -1, &e))
		return message__fail(&e);
	recorded__say_what_is_missing(*r, file);
	return STATUS_OK;
}

bool recorded__is_html(const char *path)
{
	size_t length = path ? strlen(path) : 0;

	return length > 4 && (!strcasecmp(path + length - 4, "html") || !strcasecmp(path + length - 4, ".htm"));
}

bool recorded__is_gzip(const char *path)
{
	size_t length = path ? strlen(path) : 0;

	return length > 3 && !strcasecmp(path + length - 3, ".gz");
}

int recorded__check_output(const char *path, const char *const *inputs, unsigned int count)
{
	struct stat of, input;

	if (!path || !strcmp(path, "-") || stat(path, &of))
		return STATUS_OK;
	for (unsigned int i = 0; i < count; i++) {
		if (stat(inputs[i], &input) || input.st_dev != of.st_dev || input.st_ino != of.st_ino)
			continue;
		fprintf(stderr, "extprof: -o is the recording that is read: choose another file\n");
		return STATUS_USAGE;
	}
	return STATUS_OK;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), n = strlen(end);

	return length > n && !strcasecmp(text + length - n, end);
}

const char *recorded__format(const char *path, const char *chosen, const struct recorded_suffix *known)
{
	if (chosen)
		return chosen;
	if (!path || !strcmp(path, "-"))
		return "text";
	for (; known->suffix; known++)
		if (ends_with(path, known->suffix))
			return known->format;
	fprintf(stderr, "extprof: the file of -o has no suffix of a format: .txt is text; or say it with --format\n");
	return NULL;
}

int recorded__write(const char *path, int (*write)(void *context, FILE *to, struct extprof_error *e), void *context,
		    struct extprof_error *e)
{
	struct output_file file = { 0 };
	struct sudo sudo;
	int err;

	if (!path || !strcmp(path, "-"))
		return write(context, stdout, e);
	err = sudo__user(&sudo);
	if (err < 0)
		return message__set(e, EXTPROF_INTERNAL, -err, "cannot tell who called sudo: %s", strerror(-err));
	err = output_file__open(&file, path, err ? &sudo.user : NULL, e);
	if (!err) {
		err = write(context, file.stream, e);
		if (!err)
			err = output_file__commit(&file, e);
		else if (e->code == EXTPROF_OUTPUT)
			output_file__failed(&file, -err, e);
	}
	output_file__discard(&file);
	return err;
}

int recorded__write_each(const struct options *o, int (*prepare)(void *context, const struct options *o, const char *file),
			 int (*write)(void *context, FILE *to, struct extprof_error *e), void *context)
{
	unsigned int count = o->output_count ? o->output_count : 1;
	int status = STATUS_OK;

	for (unsigned int i = 0; i < 2 * count && !status; i++) {
		const char *file = o->output_count ? o->outputs[i % count].file : NULL;
		struct extprof_error e = { .size = sizeof(e) };

		status = prepare(context, o, file);
		if (!status && i >= count && recorded__write(file, write, context, &e))
			status = message__fail(&e);
	}
	return status;
}
