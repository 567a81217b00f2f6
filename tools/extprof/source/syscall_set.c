/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/syscall_set.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

#define NAME_MAX_LENGTH 64
#define NEAREST_MAX 4

struct entry {
	const char *name;
	int number;
};

/* Both tables, so that a name of the other machine can be told as such.  syscall_names.h is made by
 * syscall_names.sh. */
static const struct entry x86_64[] = {
#define SYSCALL_X86_64(name, number) { name, number },
#define SYSCALL_AARCH64(name, number)
#include "syscall_names.h"
#undef SYSCALL_X86_64
#undef SYSCALL_AARCH64
	{ NULL, 0 }
};

static const struct entry aarch64[] = {
#define SYSCALL_X86_64(name, number)
#define SYSCALL_AARCH64(name, number) { name, number },
#include "syscall_names.h"
#undef SYSCALL_X86_64
#undef SYSCALL_AARCH64
	{ NULL, 0 }
};

#if defined(__x86_64__)
#define OWN x86_64
#define OTHER aarch64
#define OWN_NAME "x86-64"
#define OTHER_NAME "aarch64"
#elif defined(__aarch64__)
#define OWN aarch64
#define OTHER x86_64
#define OWN_NAME "aarch64"
#define OTHER_NAME "x86-64"
#else
#error "the system calls of this machine are not known here"
#endif

static const struct entry *find(const struct entry *table, const char *name)
{
	for (; table->name; table++)
		if (!strcmp(table->name, name))
			return table;
	return NULL;
}

const char *syscall__name(uint64_t number)
{
	for (const struct entry *e = OWN; e->name; e++)
		if ((uint64_t)e->number == number)
			return e->name;
	return NULL;
}

int syscall__number(const char *name)
{
	const struct entry *e = find(OWN, name);

	return e ? e->number : -ENOENT;
}

const char *syscall__name_at(uint32_t index)
{
	return index < sizeof(OWN) / sizeof(OWN[0]) ? OWN[index].name : NULL;
}

void syscall_set__add(struct syscall_set *set, uint32_t number)
{
	if (number < SYSCALL_NUMBERS)
		set->bits[number / 64] |= 1ull << number % 64;
}

bool syscall_set__has(const struct syscall_set *set, uint32_t number)
{
	return set->all || (number < SYSCALL_NUMBERS && set->bits[number / 64] >> number % 64 & 1);
}

bool syscall_set__is_empty(const struct syscall_set *set)
{
	for (size_t i = 0; i < sizeof(set->bits) / sizeof(set->bits[0]); i++)
		if (set->bits[i])
			return false;
	return !set->all;
}

/* How many letters have to be changed, added or left out. */
static unsigned int distance(const char *a, const char *b)
{
	size_t width = strlen(b);
	unsigned int row[NAME_MAX_LENGTH + 1];

	if (width > NAME_MAX_LENGTH)
		return UINT_MAX;
	for (size_t j = 0; j <= width; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 0; a[i]; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i + 1;
		for (size_t j = 0; j < width; j++) {
			unsigned int best = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (diagonal + 1 < best)
				best = diagonal + 1;
			row[j + 1] = best;
		}
	}
	return row[width];
}

/* The user may have written a part of the name: stat for newfstatat. */
static unsigned int unlikeness(const char *wrong, const char *name)
{
	return strlen(wrong) > 2 && strstr(name, wrong) ? 1 : distance(wrong, name);
}

/* "; near it: openat, openat2" */
static void add_nearest(const char *wrong, struct text *why)
{
	uint32_t said = 0;

	for (unsigned int d = 0; d <= 2; d++) {
		for (const struct entry *e = OWN; e->name && said < NEAREST_MAX; e++)
			if (unlikeness(wrong, e->name) == d)
				text__addf(why, "%s%s", said++ ? ", " : "; near it: ", e->name);
	}
}

/* -EINVAL: it is no number, or too high. */
static int parse_number(const char *text, uint32_t *number)
{
	unsigned long value;

	if (number__parse(text, 0, SYSCALL_NUMBERS - 1, &value))
		return -EINVAL;
	*number = (uint32_t)value;
	return 0;
}

static int add_one(struct syscall_set *set, const char *name, struct text *why)
{
	uint32_t number;
	int found;

	if (!strcmp(name, "all")) {
		set->all = true;
		return 0;
	}
	found = syscall__number(name);
	if (found >= 0)
		number = (uint32_t)found;
	else if (parse_number(name, &number)) {
		text__adds(why, "\"");
		text__add_clean(why, name, strlen(name), NAME_MAX_LENGTH);
		if (find(OTHER, name))
			text__adds(why, "\" is a system call of " OTHER_NAME ", and this machine is " OWN_NAME);
		else
			text__adds(why, "\" is no system call of this machine (" OWN_NAME ")");
		add_nearest(name, why);
		return -EINVAL;
	}
	syscall_set__add(set, number);
	return 0;
}

int syscall_set__parse(struct syscall_set *set, const char *text, struct text *why)
{
	for (;;) {
		size_t length = strcspn(text, ",");
		char name[NAME_MAX_LENGTH];
		int err;

		if (!length || length >= sizeof(name)) {
			text__adds(why, "names or numbers of system calls are wanted, with commas between");
			return -EINVAL;
		}
		memcpy(name, text, length);
		name[length] = '\0';
		err = add_one(set, name, why);
		if (err || !text[length])
			return err;
		text += length + 1;
	}
}
