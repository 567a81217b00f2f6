/* SPDX-License-Identifier: BSD-2-Clause */
#include "subject.h"

#include <errno.h>
#include <stdlib.h>

int subject__open(struct subject **subject, struct target *target, struct symbol_table *table,
		  struct diag *d)
{
	struct subject *s = calloc(1, sizeof(*s));
	int err;

	*subject = NULL;
	if (!s)
		return diag__set(d, STATUS_INTERNAL, ENOMEM, "out of memory");
	s->space = target->space;
	target->space = NULL;
	err = layout__read(&s->layout, &s->space->memory, target->section, d);
	if (err && target__exited(target))
		err = diag__set(d, STATUS_NO_PROCESS, ESRCH, "process %d has ended", target->pid);
	if (err)
		goto cleanup;
	if (s->layout.section.pid != target->key.pid) {
		err = diag__set(d, STATUS_NOT_READY, EAGAIN,
				"process %d is between fork and its first own step", target->pid);
		diag__hint(d, "try again in a moment");
		goto cleanup;
	}
	symbols__init(&s->symbols, table, &s->layout, &s->space->memory);
	threads__init(&s->threads, &s->layout, &s->space->memory);
	*subject = s;
	s = NULL;
cleanup:
	subject__drop(s, target);
	return err;
}

void subject__drop(struct subject *s, struct target *target)
{
	if (!s)
		return;
	target->space = s->space;
	free(s);
}

void subject__set_exited(struct subject *s)
{
	symbols__set_exited(&s->symbols);
	threads__set_exited(&s->threads);
}

void subject__close(struct subject *s)
{
	symbols__free(&s->symbols);
	threads__free(&s->threads);
	space__close(s->space);
	free(s);
}
