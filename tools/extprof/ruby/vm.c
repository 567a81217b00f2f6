/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/vm.h"

#include <errno.h>
#include <stdlib.h>

int vm__open(struct vm **vm, struct target *target, struct symbol_table *table,
		  struct diag *d)
{
	struct vm *s = calloc(1, sizeof(*s));
	int err;

	*vm = NULL;
	if (!s)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	s->space = target->space;
	target->space = NULL;
	err = layout__read(&s->layout, &s->space->memory, target->section, d);
	if (err && target__exited(target))
		err = diag__set(d, DIAG_NO_PROCESS, ESRCH, "process %d has ended", target->pid);
	if (err)
		goto cleanup;
	if (s->layout.section.pid != target->key.pid) {
		err = diag__set(d, DIAG_NOT_READY, EAGAIN,
				"process %d is between fork and its first own step", target->pid);
		diag__hint(d, "try again in a moment");
		goto cleanup;
	}
	symbols__init(&s->symbols, table, &s->layout, &s->space->memory);
	threads__init(&s->threads, &s->layout, &s->space->memory);
	*vm = s;
	s = NULL;
cleanup:
	vm__drop(s, target);
	return err;
}

void vm__drop(struct vm *s, struct target *target)
{
	if (!s)
		return;
	target->space = s->space;
	free(s);
}

void vm__set_exited(struct vm *s)
{
	symbols__set_exited(&s->symbols);
	threads__set_exited(&s->threads);
}

void vm__close(struct vm *s)
{
	symbols__free(&s->symbols);
	threads__free(&s->threads);
	address_space__close(s->space);
	free(s);
}
