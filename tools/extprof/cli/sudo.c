/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/sudo.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/messages.h"

/* (uid_t)-1 and (gid_t)-1 mean "as it is". */
static int number(const char *text, unsigned int *id)
{
	unsigned long value;

	if (number__parse(text, 0, UINT_MAX - 1ul, &value))
		return -EINVAL;
	*id = (unsigned int)value;
	return 0;
}

static int read_groups(struct sudo *s, const char *name)
{
	int n = 0;

	getgrouplist(name, s->user.gid, NULL, &n);
	s->groups = n > 0 ? calloc((size_t)n, sizeof(*s->groups)) : NULL;
	/* It may have grown meanwhile. */
	if (!s->groups || getgrouplist(name, s->user.gid, s->groups, &n) < 0)
		return -ENOMEM;
	s->user.groups = s->groups;
	s->user.group_count = n;
	return 0;
}

static int look_up(struct sudo *s)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	const struct passwd *entry;

	memset(s, 0, sizeof(*s));
	if (geteuid() != 0 || getuid() != 0 || !uid || !gid)
		return 0;
	if (number(uid, &s->user.uid) || number(gid, &s->user.gid))
		return -EINVAL;
	if (s->user.uid == 0)
		return 0;
	entry = getpwuid(s->user.uid);
	if (!entry)
		return 1;
	s->name = strdup(entry->pw_name);
	s->home = strdup(entry->pw_dir);
	if (!s->name || !s->home || read_groups(s, s->name))
		return -ENOMEM;
	return 1;
}

/* A command that has confined itself cannot ask for a list of users any more. */
int sudo__user(struct sudo *s)
{
	static struct sudo known;
	static bool asked;
	static int found;

	if (!asked)
		found = look_up(&known);
	asked = true;
	*s = known;
	return found;
}

int sudo__find(struct sudo *s, struct extprof_error *e)
{
	int err = sudo__user(s);

	s->found = err > 0;
	if (err >= 0)
		return 0;
	return message__set(e, err == -EINVAL ? EXTPROF_USAGE : EXTPROF_INTERNAL, -err, "cannot tell who called sudo: %s",
			    err == -EINVAL ? "SUDO_UID or SUDO_GID is no number" : strerror(-err));
}
