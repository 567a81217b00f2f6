/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A user can be in 65,536 groups, and status has a line of them all. */
#define TEXT_MAX (2u << 20)

#define SCHED_DEADLINE_POLICY 6	/* include/uapi/linux/sched.h */

void proc__path(char path[PROC_PATH_MAX], pid_t pid, pid_t thread, const char *name)
{
	if (thread)
		snprintf(path, PROC_PATH_MAX, "/proc/%d/task/%d/%s", pid, thread, name);
	else
		snprintf(path, PROC_PATH_MAX, "/proc/%d/%s", pid, name);
}

int proc_text__read_fd(struct proc_text *t, int fd)
{
	size_t room = sizeof(t->small);
	ssize_t n;

	t->text = t->small;
	t->length = 0;
	t->small[0] = '\0';
	while ((n = pread(fd, t->text + t->length, room - 1 - t->length, (off_t)t->length)) > 0) {
		char *more;

		t->length += (size_t)n;
		/* The kernel makes such a file as a whole: what has room comes at once. */
		if (t->length < room - 1)
			break;
		room *= 4;
		more = room > TEXT_MAX ? NULL : realloc(t->text == t->small ? NULL : t->text, room);
		if (!more) {
			proc_text__free(t);
			return room > TEXT_MAX ? -E2BIG : -ENOMEM;
		}
		if (t->text == t->small)
			memcpy(more, t->small, t->length);
		t->text = more;
	}
	t->text[t->length] = '\0';
	/* The thread has ended since the file was opened. */
	return n < 0 ? -errno : t->length ? 0 : -ESRCH;
}

int proc_text__read(struct proc_text *t, int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0) {
		err = errno == ENOENT ? -ESRCH : -errno;
		t->text = t->small;
		t->length = 0;
		t->small[0] = '\0';
		return err;
	}
	err = proc_text__read_fd(t, fd);
	close(fd);
	return err;
}

void proc_text__free(struct proc_text *t)
{
	if (t->text != t->small)
		free(t->text);
	t->text = t->small;
	t->length = 0;
	t->small[0] = '\0';
}

static int read_file(struct proc_text *t, pid_t pid, pid_t thread, const char *name)
{
	char path[PROC_PATH_MAX];

	proc__path(path, pid, thread, name);
	return proc_text__read(t, AT_FDCWD, path);
}

void proc_stat__parse(struct proc_stat *s, const char *text)
{
	/* The name of the program can contain anything, but it ends at the last ')'. */
	const char *at = strrchr(text, ')');

	memset(s, 0, sizeof(*s));
	s->cpu = -1;
	at = at ? strchr(at, ' ') : NULL;
	for (int field = 3; at && field <= 41; field++, at = strchr(at + 1, ' ')) {
		uint64_t n = field == 3 ? 0 : strtoull(at + 1, NULL, 10);

		switch (field) {
		case 3: s->state = at[1]; break;
		case 4: s->parent = (pid_t)n; break;
		case 9: s->flags = (uint32_t)n; break;
		case 10: s->minor_faults = n; break;
		case 12: s->major_faults = n; break;
		case 14: s->user = n; break;
		case 20: s->threads = (uint32_t)n; break;
		case 22: s->started = n; break;
		case 39: s->cpu = (int)n; break;
		case 40: s->realtime = n > 0; break;
		case 41: s->realtime |= n == SCHED_DEADLINE_POLICY; break;
		}
	}
}

int proc_stat__read(struct proc_stat *s, pid_t pid, pid_t thread)
{
	struct proc_text t;
	int err = read_file(&t, pid, thread, "stat");

	proc_stat__parse(s, t.text);
	proc_text__free(&t);
	return err;
}

/* The text after the key, if the line begins with the key; else NULL. */
static const char *value_of(const char *line, const char *key)
{
	size_t n = strlen(key);

	if (strncmp(line, key, n))
		return NULL;
	line += n;
	return line + strspn(line, "\t ");
}

static uint32_t last_number(const char *at)
{
	const char *end = at + strcspn(at, "\n");

	while (end > at && end[-1] >= '0' && end[-1] <= '9')
		end--;
	return (uint32_t)strtoul(end, NULL, 10);
}

static void parse_line(struct proc_status *s, const char *line)
{
	const char *at;
	char *end;

	/* Most lines are of no interest. */
	switch (*line) {
	case 'S':
		if ((at = value_of(line, "State:")))
			s->state = *at;
		break;
	case 'T':
		if ((at = value_of(line, "Tgid:")))
			s->group = (pid_t)strtol(at, NULL, 10);
		else if ((at = value_of(line, "TracerPid:")))
			s->tracer = (pid_t)strtol(at, NULL, 10);
		break;
	case 'P':
		if ((at = value_of(line, "PPid:")))
			s->parent = (pid_t)strtol(at, NULL, 10);
		break;
	case 'U':
		at = value_of(line, "Uid:");
		for (int i = 0; at && i < 4; i++, at = end)
			s->users[i] = (uint32_t)strtoul(at, &end, 10);
		break;
	case 'N':
		if ((at = value_of(line, "NSpid:")))
			s->inner = last_number(at);
		break;
	case 'v':
		if ((at = value_of(line, "voluntary_ctxt_switches:")))
			s->voluntary = strtoull(at, NULL, 10);
		break;
	case 'n':
		if ((at = value_of(line, "nonvoluntary_ctxt_switches:")))
			s->involuntary = strtoull(at, NULL, 10);
		break;
	}
}

void proc_status__parse(struct proc_status *s, const char *text)
{
	const char *line = text, *newline;

	memset(s, 0, sizeof(*s));
	while (line && *line) {
		parse_line(s, line);
		newline = strchr(line, '\n');
		line = newline ? newline + 1 : NULL;
	}
}

int proc_status__read(struct proc_status *s, pid_t pid, pid_t thread)
{
	struct proc_text t;
	int err = read_file(&t, pid, thread, "status");

	proc_status__parse(s, t.text);
	proc_text__free(&t);
	return err;
}

void proc__comm(pid_t pid, pid_t thread, char *comm, size_t size)
{
	struct proc_text t;

	read_file(&t, pid, thread, "comm");
	memset(comm, 0, size);
	memcpy(comm, t.text, strnlen(t.text, size - 1));
	comm[strcspn(comm, "\n")] = '\0';
	proc_text__free(&t);
}

uint64_t proc__resident(pid_t pid)
{
	unsigned long long pages = 0;
	struct proc_text t;

	read_file(&t, pid, 0, "statm");
	/* Its size comes first. */
	if (sscanf(t.text, "%*u %llu", &pages) != 1)
		pages = 0;
	proc_text__free(&t);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
