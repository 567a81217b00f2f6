/* SPDX-License-Identifier: BSD-2-Clause */
#include "library/dump_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/proc.h"

/* The process chooses the path.  It may be of any file. */
#define FILE_BYTES_MAX (64u << 20)
#define LINE_BYTES_MAX 512

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
	char path[PROC_PATH_MAX], line[1024], *rest;
	unsigned long long ticks = 0;
	int64_t boot = boot_time();
	FILE *f;

	proc__path(path, pid, 0, "stat");
	f = fopen(path, "re");
	if (!f || !boot)
		goto none;
	/* The name of the program can contain anything, but it ends at the last ')'.  Field 22 follows. */
	rest = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	f = NULL;
	if (!rest || sscanf(rest, ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
			    &ticks) != 1)
		return 0;
	return boot + (int64_t)(ticks / (unsigned long long)sysconf(_SC_CLK_TCK));
none:
	if (f)
		fclose(f);
	return 0;
}

void source_files__open(struct source_files *s, pid_t pid)
{
	char path[PROC_PATH_MAX];
	ssize_t n;

	memset(s, 0, sizeof(*s));
	proc__path(path, pid ? pid : getpid(), 0, "root");
	s->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	proc__path(path, pid ? pid : getpid(), 0, "cwd");
	n = readlink(path, s->cwd, sizeof(s->cwd) - 1);
	s->cwd[n > 0 ? n : 0] = '\0';
	s->started = pid ? start_time(pid) : 0;
}

void source_files__close(struct source_files *s)
{
	if (s->root >= 0)
		close(s->root);
	s->root = -1;
}

/* A descriptor of a regular file, or -errno. */
static int open_source(const struct source_files *s, const char *path, struct stat *st)
{
	struct open_how how = {
		/* It may be a FIFO or a device: that does not block. */
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char *full = NULL;
	int fd;

	if (s->root < 0 || !path[0] || path[0] == '<')	/* "<internal:kernel>" */
		return -ENOENT;
	if (path[0] != '/' && asprintf(&full, "%s/%s", s->cwd, path) < 0)
		return -ENOMEM;
	fd = (int)syscall(SYS_openat2, s->root, full ? full : path, &how, sizeof(how));
	if (fd < 0)
		fd = -errno;
	free(full);
	if (fd >= 0 && (fstat(fd, st) || !S_ISREG(st->st_mode))) {
		close(fd);
		return -ENOENT;
	}
	return fd;
}

bool source_files__is_newer(const struct source_files *s, const char *path)
{
	struct stat st;
	int fd = s->started ? open_source(s, path, &st) : -1;

	if (fd < 0)
		return false;
	close(fd);
	/* The start is known to the second. */
	return st.st_mtime > s->started + 1;
}

int source_files__line(const struct source_files *s, const char *path, int32_t line, struct text *to)
{
	char part[LINE_BYTES_MAX], *begin = part;
	struct stat st;
	int fd = open_source(s, path, &st), c;
	size_t length = 0;
	int32_t at = 1;
	FILE *f;

	if (fd < 0)
		return fd;
	f = fdopen(fd, "r");
	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < FILE_BYTES_MAX && at <= line && (c = getc_unlocked(f)) != EOF; i++) {
		if (at == line && c != '\n' && length < sizeof(part))
			part[length++] = (char)c;
		at += c == '\n';
	}
	fclose(f);
	while (length && isspace((unsigned char)*begin)) {
		begin++;
		length--;
	}
	while (length && isspace((unsigned char)begin[length - 1]))
		length--;
	if (!length)
		return -ENOENT;
	text__add_clean(to, begin, length, LINE_BYTES_MAX);
	return 0;
}
