/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/thread_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int thread_rows__copy(struct thread_rows *to, const struct thread_rows *from)
{
	*to = *from;
	to->rows = NULL;
	to->count = 0;
	to->room = 0;
	if (array__reserve(&to->rows, 0, from->count, &to->room, UINT32_MAX, sizeof(*to->rows)))
		goto failed;
	for (; to->count < from->count; to->count++) {
		struct thread_row *row = &to->rows[to->count];

		*row = from->rows[to->count];
		row->name = row->name ? strdup(row->name) : NULL;
		if (!row->name && from->rows[to->count].name)
			goto failed;
	}
	return 0;
failed:
	thread_rows__free(to);
	return -ENOMEM;
}

void thread_rows__free(struct thread_rows *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		free(r->rows[i].name);
	free(r->rows);
	memset(r, 0, sizeof(*r));
}
