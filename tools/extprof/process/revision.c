/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/revision.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/attributes.h"

/* So many directories are looked at. */
#define LEVELS_MAX 16
#define REF_MAX 256u
#define PATH_SIZE 4096
#define DIGITS_MIN 7u
#define DIGITS_MAX 64u

bool revision__is_one(const char *text, size_t length)
{
	if (length < DIGITS_MIN || length > DIGITS_MAX)
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isxdigit((unsigned char)text[i]))
			return false;
	return true;
}

/* A search for a commit: the directories of git, and the result. */
struct looking {
	struct target_files *files;
	char git[PATH_SIZE], common[PATH_SIZE];	/* directories: of this checkout, and of what all checkouts share */
	char ref[REF_MAX];	/* that was checked out; "": a commit was */
	char commit[DIGITS_MAX + 1];
};

/* The first line of a file in a directory, without blanks at its end.  -ENOENT: there is no such file; -EBADMSG: it has none
 * that is short. */
static int first_line(struct looking *l, const char *directory, const char *name, char to[TARGET_FILE_LINE_MAX])
{
	char path[PATH_SIZE];
	size_t size = 0;
	int err;

	if (snprintf(path, sizeof(path), "%s/%s", strcmp(directory, "/") ? directory : "", name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	err = target_file__line(l->files, path, 1, to, &size);
	if (err)
		return err == -ENOTDIR ? -ENOENT : err;
	if (size >= TARGET_FILE_LINE_MAX)
		return -EBADMSG;
	while (size && isspace((unsigned char)to[size - 1]))
		size--;
	to[size] = '\0';
	return size && !memchr(to, '\0', size) ? 0 : -EBADMSG;
}

static bool take_commit(struct looking *l, const char *text, size_t length)
{
	if (!revision__is_one(text, length))
		return false;
	memcpy(l->commit, text, length);
	l->commit[length] = '\0';
	return true;
}

static bool commit_in(struct looking *l, const char *directory, const char *name)
{
	char line[TARGET_FILE_LINE_MAX];

	return !first_line(l, directory, name, line) && take_commit(l, line, strlen(line));
}

/* A path in a file of git's, which can be relative to the directory of the file. */
static bool join(char to[PATH_SIZE], const char *directory, const char *path)
{
	int n = *path == '/' ? snprintf(to, PATH_SIZE, "%s", path) : snprintf(to, PATH_SIZE, "%s/%s", directory, path);

	return n > 0 && n < PATH_SIZE;
}

/* Names that git would not write lead to other files. */
static bool is_ref(const char *ref)
{
	if (strncmp(ref, "refs/", 5) || strlen(ref) >= REF_MAX || strstr(ref, "..") || strstr(ref, "//"))
		return false;
	for (const char *c = ref; *c; c++)
		if (iscntrl((unsigned char)*c) || *c == ' ')
			return false;
	return true;
}

/* Lines "COMMIT REF", of references that have no file of their own. */
static bool commit_of_packed(struct looking *l)
{
	char path[PATH_SIZE], ending[REF_MAX + 1], line[TARGET_FILE_LINE_MAX];
	size_t size = 0, name = strlen(l->ref) + 1;

	if (snprintf(path, sizeof(path), "%s/packed-refs", l->common) >= (int)sizeof(path))
		return false;
	snprintf(ending, sizeof(ending), " %s", l->ref);
	return !target_file__line_that_ends(l->files, path, ending, line, &size) && size > name && take_commit(l, line, size - name);
}

/* The directory l->git has HEAD. */
static bool commit_of_head(struct looking *l, const char *head)
{
	char line[TARGET_FILE_LINE_MAX];
	const char *ref = head + 5;

	if (strncmp(head, "ref: ", 5))
		return take_commit(l, head, strlen(head));
	if (!is_ref(ref))
		return false;
	memcpy(l->ref, ref, strlen(ref) + 1);
	if (first_line(l, l->git, "commondir", line) || !join(l->common, l->git, line))
		snprintf(l->common, sizeof(l->common), "%s", l->git);
	return commit_in(l, l->git, l->ref) || commit_in(l, l->common, l->ref) || commit_of_packed(l);
}

/* 1: found; 0: no repository is there; -1: there may be one, and it does not say. */
static int look_for_git(struct looking *l, const char *directory)
{
	char head[TARGET_FILE_LINE_MAX], link[TARGET_FILE_LINE_MAX];
	int err;

	if (snprintf(l->git, sizeof(l->git), "%s/.git", strcmp(directory, "/") ? directory : "") >= (int)sizeof(l->git))
		return -1;
	err = first_line(l, l->git, "HEAD", head);
	if (err == -ENOENT) {
		/* It is a file in a worktree, and in a module of another repository. */
		err = first_line(l, directory, ".git", link);
		if (err == -ENOENT)
			return 0;
		if (err || strncmp(link, "gitdir: ", 8) || !join(l->git, directory, link + 8))
			return -1;
		err = first_line(l, l->git, "HEAD", head);
	}
	return !err && commit_of_head(l, head) ? 1 : -1;
}

static char *list_of(const struct looking *l)
{
	const char *branch = strncmp(l->ref, "refs/heads/", 11) ? "" : l->ref + 11;
	struct text list = { 0 };

	attributes__add(&list, ATTRIBUTES_COMMIT, l->commit, strlen(l->commit));
	if (*branch)
		attributes__add(&list, REVISION_BRANCH_KEY, branch, strlen(branch));
	if (list.failed)
		text__free(&list);
	return list.data;
}

char *revision__read(struct target_files *files, const char *directory)
{
	struct looking l = { .files = files };
	char at[PATH_SIZE], *slash;
	int found = 0;

	if (!directory || *directory != '/' || snprintf(at, sizeof(at), "%s", directory) >= (int)sizeof(at))
		return NULL;
	if (commit_in(&l, at, "REVISION"))
		return list_of(&l);
	for (int i = 0; i < LEVELS_MAX && !found; i++) {
		found = look_for_git(&l, at);
		slash = strrchr(at, '/');
		if (!slash[1])
			break;	/* that was the root */
		slash[slash == at] = '\0';
	}
	return found > 0 ? list_of(&l) : NULL;
}
