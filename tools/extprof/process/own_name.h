/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process says of itself to OpenTelemetry, by its environment. */
#ifndef EXTPROF_OWN_NAME_H
#define EXTPROF_OWN_NAME_H

#include <stddef.h>
#include <sys/types.h>

/* Of the attributes, in bytes. */
#define OWN_NAME_MAX 4096

/*
 * "service.name=shop,deployment.environment.name=test": what OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say, in the
 * form of the second one.  The first one of equal keys counts.  Clean; the caller frees it.  NULL: nothing, or unknown.
 */
char *own_name__read(pid_t pid);

/* The same of an environment: texts that end with a NUL each.  It need not end with one. */
char *own_name__of(const char *environment, size_t size);

#endif /* EXTPROF_OWN_NAME_H */
