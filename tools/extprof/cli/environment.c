/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

char **environment__of_command;

/*
 * Those that are honoured, documented in extprof(1).  Others choose files for libraries: TERMINFO, LOCPATH, TZDIR, HOME
 * (with a file ~/.terminfo), ...
 */
static const char *const honoured[] = {
	"COLUMNS", "LANG", "LC_ALL", "LC_CTYPE", "NO_COLOR", "SUDO_GID", "SUDO_UID", "TERM",
};

static bool is_honoured(const char *variable)
{
	for (size_t i = 0; i < sizeof(honoured) / sizeof(honoured[0]); i++) {
		size_t length = strlen(honoured[i]);

		if (!strncmp(variable, honoured[i], length) && variable[length] == '=')
			return true;
	}
	/* A time zone by its rules, not by a file. */
	return !strncmp(variable, "TZ=", 3) && !strchr(variable, '/') && variable[3] != ':';
}

static int open_standard(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		/* The lowest number that is free is this one. */
		if (open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
			return -EBADF;
	}
	return 0;
}

static struct rlimit files_of_command;

static void raise_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r))
		return;
	files_of_command = r;
	r.rlim_cur = r.rlim_max;
	/* Where it stays, a process for which there is no file any more is told of. */
	setrlimit(RLIMIT_NOFILE, &r);
}

void environment__restore_limit(void)
{
	if (files_of_command.rlim_max)
		setrlimit(RLIMIT_NOFILE, &files_of_command);
}

int environment__prepare(void)
{
	bool trusted = !getauxval(AT_SECURE) && !(geteuid() == 0 && getenv("SUDO_UID"));
	size_t count = 0, kept = 0;
	char **all = environ;
	int err = open_standard();

	raise_limit();
	environment__of_command = all;
	if (err || trusted)
		return err;
	while (all && all[count])
		count++;
	/* It is needed until the end. */
	environ = calloc(count + 1, sizeof(*environ));
	if (!environ) {
		environ = all;
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		if (is_honoured(all[i]))
			environ[kept++] = all[i];
	return 0;
}

bool environment__has_color(void)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") && !(no_color && *no_color);
}
