/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

__attribute__((format(printf, 4, 5)))
static int fail(char *why, size_t size, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, size, format, args);
	va_end(args);
	return err;
}

static int check_file(int fd, char *why, size_t size)
{
	struct stat st;

	if (fstat(fd, &st))
		return fail(why, size, -errno, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail(why, size, -EINVAL, "it is no file");
	if (st.st_size > CONFIG_SIZE_MAX)
		return fail(why, size, -E2BIG, "it has more than %d bytes", CONFIG_SIZE_MAX);
	if (!geteuid() && (st.st_uid || st.st_mode & 022))
		return fail(why, size, -EPERM, "others than root can write to it: chown root, chmod go-w");
	return 0;
}

static char *trim(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

static const struct option_row *find(const char *name, unsigned int command)
{
	for (int i = 0; i < OPTIONS; i++)
		if (option_rows[i].commands & command && !strcmp(option_rows[i].name, name) && i != OPTION_CONFIG &&
		    i != OPTION_HELP && i != OPTION_USAGE && i != OPTION_VERSION)
			return &option_rows[i];
	return NULL;
}

static int add(struct config *c, const struct option_row *row, const char *value)
{
	struct config_option *o = &c->list[c->count];
	int n;

	o->id = (enum option_id)((row->means ? row->same : (enum option_id)(row - option_rows)));
	n = value ? asprintf(&o->argument, "--%s=%s", row->name, value) : asprintf(&o->argument, "--%s", row->name);
	if (n < 0)
		return -ENOMEM;
	c->count++;
	return 0;
}

static int take_line(struct config *c, char *line, unsigned int command, char *why, size_t size)
{
	char *equals = strchr(line, '='), *name, *value = NULL;
	const struct option_row *row;

	if (equals) {
		*equals = '\0';
		value = trim(equals + 1);
	}
	name = trim(line);
	row = find(name, command);
	if (!row)
		return fail(why, size, -EINVAL, "there is no option \"%.60s\"", name);
	if (c->count == CONFIG_OPTIONS_MAX)
		return fail(why, size, -E2BIG, "there are more than %d options", CONFIG_OPTIONS_MAX);
	if (row->argument && (!value || !*value))
		return fail(why, size, -EINVAL, "%s needs a value: %s = %s", name, name, row->argument);
	if (row->argument)
		return add(c, row, value) ? fail(why, size, -ENOMEM, "out of memory") : 0;
	if (!value || !strcmp(value, "true") || !strcmp(value, "yes"))
		return add(c, row, NULL) ? fail(why, size, -ENOMEM, "out of memory") : 0;
	if (strcmp(value, "false") && strcmp(value, "no"))
		return fail(why, size, -EINVAL, "%s is true or false, not \"%.60s\"", name, value);
	return 0;
}

int config__read(struct config *c, const char *path, unsigned int command, char *why, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err, number = 0;
	char *text = NULL, *next, *line, what[256];
	ssize_t n;

	if (fd < 0)
		return fail(why, size, -errno, "%s", strerror(errno));
	err = check_file(fd, why, size);
	if (err)
		goto cleanup;
	text = calloc(1, CONFIG_SIZE_MAX + 1);
	n = text ? pread(fd, text, CONFIG_SIZE_MAX, 0) : -1;
	if (n < 0) {
		err = fail(why, size, text ? -errno : -ENOMEM, "%s", strerror(text ? errno : ENOMEM));
		goto cleanup;
	}
	if (strlen(text) != (size_t)n) {
		err = fail(why, size, -EINVAL, "it is no text");
		goto cleanup;
	}
	next = text;
	while (!err && (line = strsep(&next, "\n"))) {
		number++;
		line = trim(line);
		if (!*line || *line == '#')
			continue;
		err = take_line(c, line, command, what, sizeof(what));
		if (err)
			fail(why, size, err, "line %d: %s", number, what);
	}
cleanup:
	free(text);
	close(fd);
	return err;
}

void config__free(struct config *c)
{
	for (unsigned int i = 0; i < c->count; i++)
		free(c->list[i].argument);
	memset(c, 0, sizeof(*c));
}
