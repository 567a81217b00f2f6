/* SPDX-License-Identifier: BSD-2-Clause */
#include "library/dump_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void *dump_parts__new(struct dump_parts *p, size_t count, size_t size)
{
	void *part;

	if (array__reserve(&p->list, p->count, 1, &p->room, UINT32_MAX, sizeof(*p->list)))
		return NULL;
	part = calloc(count ? count : 1, size);
	if (part)
		p->list[p->count++] = part;
	return part;
}

const char *dump_parts__text(struct dump_parts *p, struct text *t)
{
	char *part = t->failed ? NULL : dump_parts__new(p, t->length + 1, 1);

	if (part)
		memcpy(part, text__string(t), t->length);
	text__free(t);
	return part;
}

void dump_parts__clear(struct dump_parts *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		free(p->list[i]);
	p->count = 0;
}

void dump_parts__free(struct dump_parts *p)
{
	dump_parts__clear(p);
	free(p->list);
	p->list = NULL;
	p->room = 0;
}
