/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a process says of itself to OpenTelemetry: by a process context, which its SDK has published in its memory, and by
 * its environment.
 *
 * All of these are lists as in OTEL_RESOURCE_ATTRIBUTES, "service.name=shop,deployment.environment.name=test".  The first
 * one of equal keys counts.  They are ASCII without control characters; the caller frees them.  NULL: nothing, or unknown.
 */
#ifndef EXTPROF_OWN_NAME_H
#define EXTPROF_OWN_NAME_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/memory.h"

/* A larger context is not read. */
#define OWN_CONTEXT_MAX (64u << 10)

/* Both, the context first.  memory: of the process; NULL: no context. */
char *own_name__read(pid_t pid, const struct memory *memory);

/* The name in an environment: texts that end with a NUL each.  It need not end with one. */
char *own_name__of_environment(const char *environment, size_t size);

/* The name in a context whose header is at that address. */
char *own_name__of_context(const struct memory *memory, uint64_t address);
/* The name in a message ProcessContext. */
char *own_name__of_message(const uint8_t *message, size_t size);

#endif /* EXTPROF_OWN_NAME_H */
