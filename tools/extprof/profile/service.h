/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The service that a process is a part of, by the rule of OTLP: service.name of what the process says of itself
 * (process/own_name.h), else what it runs.
 */
#ifndef EXTPROF_SERVICE_H
#define EXTPROF_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

#define SERVICE_SIZE 256	/* bytes, with the end of the text */

/*
 * resource: a list as in base/attributes.h, or NULL.  command: as it is shown; "" not known.  The name, clean, is in `to`.
 * False: it is not known, and `to` is "".
 */
bool service__find(const char *resource, const char *command, char *to, size_t size);

#endif /* EXTPROF_SERVICE_H */
