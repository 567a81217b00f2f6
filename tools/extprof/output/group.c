/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/group.h"

#include <stdio.h>
#include <string.h>

/* Does the text of that length begin so, with something behind it? */
static bool begins_with(const char *text, size_t length, const char *start)
{
	size_t n = strlen(start);

	return length > n && !strncmp(text, start, n);
}

void group__add_name(const struct report_label *label, struct text *out)
{
	const char *name = label->name;
	size_t length = strlen(name), n;
	char part[32];

	if (length > 2 && name[0] == '[' && name[length - 1] == ']') {
		name++;
		length -= 2;
	}
	/* "thread main", but not "native thread ruby": that is no thread of Ruby's. */
	n = (size_t)snprintf(part, sizeof(part), "%s ", label_kind_names[label->kind]);
	if (begins_with(name, length, part)) {
		name += n;
		length -= n;
	}
	if (label->number) {
		n = (size_t)snprintf(part, sizeof(part), "%u ", label->number);
		if (label->kind == LABEL_PROCESS && begins_with(name, length, part)) {
			name += n;
			length -= n;
		}
		n = (size_t)snprintf(part, sizeof(part), " (%u)", label->number);
		if (length > n && !strncmp(name + length - n, part, n))
			length -= n;
	}
	text__add(out, name, length);
}
