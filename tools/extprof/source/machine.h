/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells what this machine lets extprof do: the kernel, the permissions, and what can forbid more. */
#ifndef EXTPROF_MACHINE_H
#define EXTPROF_MACHINE_H

#include <stdint.h>

#include "base/diag.h"

enum machine_verdict {
	MACHINE_GOOD,
	MACHINE_LIMITED,	/* something works in another way, or costs more */
	MACHINE_BAD,		/* samples by the kernel are impossible for that reason */
};

struct machine_check {
	const char *name;		/* what was looked at, one or two words */
	enum machine_verdict verdict;
	enum diag_code code;		/* of MACHINE_BAD: why; else DIAG_OK */
	char text[256];			/* what was found; one clean line */
	char advice[512];		/* what to do about it; "" nothing */
};

/* Calls `each` for each thing that was looked at, in an order that a reader can follow. */
void machine__look(void (*each)(void *context, const struct machine_check *check), void *context);

#endif /* EXTPROF_MACHINE_H */
