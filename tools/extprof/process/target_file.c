/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/target_file.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/proc.h"
#include "process/target_opener.h"

/* How long a file system may take.  One that is slow answers within it, one that never answers costs so much. */
#define ANSWER_TIMEOUT 2000000000ull
#define OWNER_OF_CORE (1ull << 32)

/* Whose share of hanging helpers it is. */
static uint64_t owner_of(pid_t pid)
{
	uid_t user = 0;

	proc__is_trusted(pid, &user);
	return user;
}

static uint64_t new_session(void)
{
	static _Atomic uint64_t last;

	return atomic_fetch_add(&last, 1) + 1;
}

void target_files__of_process(struct target_files *f, pid_t pid, pid_t thread, struct deadline *deadline)
{
	*f = (struct target_files){
		.session = new_session(), .pid = pid, .thread = thread, .owner = owner_of(pid), .deadline = deadline,
	};
}

void target_files__of_core(struct target_files *f, const struct stat *core)
{
	*f = (struct target_files){
		.session = new_session(), .uid = core->st_uid, .gid = core->st_gid,
		.owner = OWNER_OF_CORE | core->st_uid,
	};
}

void target_files__of_user(struct target_files *f)
{
	const struct stat own = { .st_uid = geteuid(), .st_gid = getegid() };

	target_files__of_core(f, &own);
	f->of_user = true;
}

/* malloc'd: the helper has the working directory that this process had. */
static char *whole_path(const char *path)
{
	char *directory = path[0] == '/' ? NULL : get_current_dir_name(), *whole = NULL;

	if (!directory)
		return strdup(path);
	if (asprintf(&whole, "%s/%s", directory, path) < 0)
		whole = NULL;
	free(directory);
	return whole;
}

/* *fd may be NULL. */
static int ask_with(struct target_files *f, const struct opener_request *of, const char *path, const char *more,
		    struct opener_answer *answer, int *fd)
{
	struct helper_request request = {
		.fd = -1, .owner = f->owner, .timeout = ANSWER_TIMEOUT, .deadline = f->deadline,
	};
	struct opener_request *r;
	int err;

	if (f->silent)
		return -ETIMEDOUT;
	request.size = sizeof(*r) + strlen(path) + 1 + (more ? strlen(more) + 1 : 0);
	r = malloc(request.size);
	if (!r)
		return -ENOMEM;
	*r = *of;
	r->session = f->session;
	r->pid = f->pid;
	r->thread = f->thread;
	r->uid = f->uid;
	r->gid = f->gid;
	strcpy(r->path, path);
	if (more)
		strcpy(r->path + strlen(path) + 1, more);
	request.data = r;
	err = helper__ask(&target_opener, &request, answer, fd);
	free(r);
	f->silent = err == -ETIMEDOUT;
	return err;
}

static int ask(struct target_files *f, const struct opener_request *of, const char *path, struct opener_answer *answer, int *fd)
{
	return ask_with(f, of, path, NULL, answer, fd);
}

static int open_file(struct target_files *f, const struct opener_request *r, const char *path, struct stat *st)
{
	struct opener_answer answer;
	int fd, err = ask(f, r, path, &answer, &fd);

	if (err)
		return err;
	*st = answer.st;
	return fd >= 0 ? fd : -EIO;
}

int target_file__open_mapped(struct target_files *f, const struct mapping *m, struct stat *st)
{
	const struct opener_request r = {
		.work = OPEN_MAPPED, .size_max = TARGET_FILE_ELF_MAX, .start = m->start, .end = m->end,
		.inode = m->inode, .is_exe = m->is_exe,
	};

	return open_file(f, &r, m->path, st);
}

static int open_path(struct target_files *f, enum opener_work work, const char *path, uint64_t size_max, struct stat *st)
{
	const struct opener_request r = { .work = (uint8_t)work, .size_max = size_max, .of_user = f->of_user };
	char *whole = whole_path(path);
	int fd = whole ? open_file(f, &r, whole, st) : -ENOMEM;

	free(whole);
	return fd;
}

int target_file__open_elf(struct target_files *f, const char *path, struct stat *st)
{
	return open_path(f, OPEN_PATH, path, TARGET_FILE_ELF_MAX, st);
}

int target_file__open_source(struct target_files *f, const char *path, struct stat *st)
{
	return open_path(f, OPEN_PATH, path, TARGET_FILE_TEXT_MAX, st);
}

int target_file__copy_source(struct target_files *f, const char *path, uint64_t size_max, struct stat *st)
{
	return open_path(f, COPY_PATH, path, size_max, st);
}

int target_file__open_plain(struct target_files *f, const char *path, uint64_t size_max, struct stat *st)
{
	const struct opener_request r = { .work = OPEN_PATH, .size_max = size_max, .no_link = true };

	return open_file(f, &r, path, st);
}

char *target_file__read(int fd, size_t size, size_t *length)
{
	char *text = malloc(size + 1);
	ssize_t n;

	*length = 0;
	while (text && *length < size && (n = pread(fd, text + *length, size - *length, (off_t)*length)) > 0)
		*length += (size_t)n;
	if (text)
		text[*length] = '\0';
	return text;
}

int target_file__stat(struct target_files *f, const char *path, struct stat *st)
{
	const struct opener_request r = { .work = STAT_PATH, .size_max = INT64_MAX };
	struct opener_answer answer;
	int err = ask(f, &r, path, &answer, NULL);

	if (!err)
		*st = answer.st;
	return err;
}

/* ending: NULL: the line of that number. */
static int ask_for_line(struct target_files *f, const char *path, int32_t line, const char *ending, char to[TARGET_FILE_LINE_MAX],
			size_t *size)
{
	const struct opener_request r = {
		.work = ending ? FIND_LINE : READ_LINE, .size_max = TARGET_FILE_SOURCE_MAX, .line = line,
	};
	struct opener_answer answer;
	int err = ask_with(f, &r, path, ending, &answer, NULL);

	if (err || answer.size > sizeof(answer.line))
		return err ? err : -EIO;
	memcpy(to, answer.line, answer.size);
	*size = answer.size;
	return 0;
}

int target_file__line(struct target_files *f, const char *path, int32_t line, char to[TARGET_FILE_LINE_MAX],
		      size_t *size)
{
	return ask_for_line(f, path, line, NULL, to, size);
}

int target_file__line_that_ends(struct target_files *f, const char *path, const char *ending, char to[TARGET_FILE_LINE_MAX],
				size_t *size)
{
	return ask_for_line(f, path, 0, ending, to, size);
}
