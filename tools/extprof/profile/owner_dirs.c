/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/owner_dirs.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int add(struct owner_dirs *d, const char *dir)
{
	size_t length = strlen(dir);
	char *copy;

	while (length > 1 && dir[length - 1] == '/')
		length--;
	for (uint32_t i = 0; i < d->count; i++)
		if (strlen(d->list[i]) == length && !memcmp(d->list[i], dir, length))
			return 0;
	if (d->count == OWNER_DIRS_MAX)
		return -E2BIG;
	copy = strndup(dir, length);
	if (!copy)
		return -ENOMEM;
	d->list[d->count++] = copy;
	return 0;
}

static int name_one(struct owner_dirs *d, const char *given)
{
	char *real = realpath(given, NULL);
	int err = 0;

	if (!real && *given != '/')
		return errno == ENOMEM ? -ENOMEM : -EINVAL;
	/* Ruby has the path of a file with or without its symbolic links. */
	if (*given == '/')
		err = add(d, given);
	if (real && !err)
		err = add(d, real);
	free(real);
	return err;
}

int owner_dirs__name(struct owner_dirs *d, const char *list)
{
	int err = 0;

	do {
		size_t length = strcspn(list, ",");
		char *one = strndup(list, length);

		if (!one)
			return -ENOMEM;
		err = *one ? name_one(d, one) : -EINVAL;
		free(one);
		list += length;
	} while (!err && *list++);
	return err;
}

int owner_dirs__add_cwd(struct owner_dirs *d, const char *cwd)
{
	int err = cwd && *cwd == '/' ? add(d, cwd) : 0;

	return err == -E2BIG ? 0 : err;
}

void owner_dirs__rules(const struct owner_dirs *named, const struct owner_dirs *cwds, struct owner_rules *rules)
{
	const struct owner_dirs *apps = named && named->count ? named : cwds;

	*rules = (struct owner_rules){
		.apps = (const char *const *)apps->list, .app_count = apps->count, .only_apps = apps == named,
		.cwds = (const char *const *)cwds->list, .cwd_count = cwds->count,
	};
}

void owner_dirs__free(struct owner_dirs *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		free(d->list[i]);
	memset(d, 0, sizeof(*d));
}
