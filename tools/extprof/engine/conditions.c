/* SPDX-License-Identifier: BSD-2-Clause */
/* The conditions of a selection: user, name, cgroup. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "engine/state.h"

char *process__cgroup(pid_t pid)
{
	char path[64], line[1024];
	struct text clean = { 0 };
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	f = fopen(path, "re");
	if (!f)
		return NULL;
	/* "0::/path" is that of version 2; else the first one that has a path. */
	while (fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		colon = colon ? strchr(colon + 1, ':') : NULL;
		if (!colon || colon[1] != '/' || (clean.length && strncmp(line, "0::", 3)))
			continue;
		colon[1 + strcspn(colon + 1, "\n")] = '\0';
		text__clear(&clean);
		text__add_clean(&clean, colon + 1, strlen(colon + 1), sizeof(line));
	}
	fclose(f);
	return clean.failed ? NULL : clean.data;
}

static bool in_cgroup(pid_t pid, const char *wanted)
{
	char *cgroup = process__cgroup(pid);
	size_t length = strlen(wanted);
	bool is;

	if (!strncmp(wanted, "/sys/fs/cgroup/", 15)) {
		wanted += 14;
		length -= 14;
	}
	while (length > 1 && wanted[length - 1] == '/')
		length--;
	is = cgroup && !strncmp(cgroup, wanted, length) &&
	     (cgroup[length] == '\0' || cgroup[length] == '/' || length == 1);
	free(cgroup);
	return is;
}

/* Does the pattern match the name of the process, of its program, or of the script that it runs? */
static bool has_name(pid_t pid, const char *pattern)
{
	char path[64], text[4096];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (f && fgets(text, sizeof(text), f)) {
		text[strcspn(text, "\n")] = '\0';
		n = !fnmatch(pattern, text, 0);
	}
	if (f)
		fclose(f);
	if (n)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	/* "puma: cluster worker 0: 123" is a title, "/usr/bin/ruby -W0 bin/puma" are arguments. */
	for (const char *s = text; s < text + n; s += strlen(s) + 1) {
		if (s != text && *s == '-')
			continue;
		if (!fnmatch(pattern, basename(s), 0) || !fnmatch(pattern, s, 0))
			return true;
		if (s != text)
			break;	/* the script; what follows are its arguments */
	}
	return false;
}

bool engine__accepts(const struct engine *e, pid_t pid)
{
	const struct selection *sel = &e->settings.selection;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (sel->by_user && (stat(path, &st) || st.st_uid != sel->user))
		return false;
	if (sel->name && !has_name(pid, sel->name))
		return false;
	return !sel->cgroup || in_cgroup(pid, sel->cgroup);
}
