/* SPDX-License-Identifier: BSD-2-Clause */
#include "library/dump_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/proc.h"

/* Seconds since 1970; 0: not known. */
static int64_t boot_time(void)
{
	char line[256];
	long long time = 0;
	FILE *f = fopen("/proc/stat", "re");

	while (f && fgets(line, sizeof(line), f) && sscanf(line, "btime %lld", &time) != 1)
		;
	if (f)
		fclose(f);
	return time;
}

static int64_t start_time(pid_t pid)
{
	int64_t boot = boot_time();
	struct proc_stat stat;

	if (!boot || proc_stat__read(&stat, pid, 0) || !stat.started)
		return 0;
	return boot + (int64_t)(stat.started / (uint64_t)sysconf(_SC_CLK_TCK));
}

void source_files__begin(struct source_files *s, pid_t pid, const struct stat *core)
{
	char path[PROC_PATH_MAX];
	ssize_t n;

	memset(s, 0, sizeof(*s));
	if (pid)
		target_files__of_process(&s->files, pid, 0, NULL);
	else
		target_files__of_core(&s->files, core);
	proc__path(path, pid ? pid : getpid(), 0, "cwd");
	n = readlink(path, s->cwd, sizeof(s->cwd) - 1);
	s->cwd[n > 0 ? n : 0] = '\0';
	s->started = pid ? start_time(pid) : 0;
}

/* malloc'd.  NULL: it is none of a file, or out of memory. */
static char *full_path(const struct source_files *s, const char *path)
{
	char *full = NULL;

	if (!path[0] || path[0] == '<')	/* "<internal:kernel>" */
		return NULL;
	if (path[0] == '/')
		return strdup(path);
	return asprintf(&full, "%s/%s", s->cwd, path) < 0 ? NULL : full;
}

bool source_files__is_newer(struct source_files *s, const char *path)
{
	char *full = s->started ? full_path(s, path) : NULL;
	struct stat st;
	int err = full ? target_file__stat(&s->files, full, &st) : -ENOENT;

	free(full);
	/* The start is known to the second. */
	return !err && st.st_mtime > s->started + 1;
}

int source_files__line(struct source_files *s, const char *path, int32_t line, struct text *to)
{
	char part[TARGET_FILE_LINE_MAX], *begin = part, *full = full_path(s, path);
	size_t length = 0;
	int err = full ? target_file__line(&s->files, full, line, part, &length) : -ENOENT;

	free(full);
	if (err)
		return err;
	while (length && isspace((unsigned char)*begin)) {
		begin++;
		length--;
	}
	while (length && isspace((unsigned char)begin[length - 1]))
		length--;
	if (!length)
		return -ENOENT;
	text__add_clean(to, begin, length, TARGET_FILE_LINE_MAX);
	return 0;
}
