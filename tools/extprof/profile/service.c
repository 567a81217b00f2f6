/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/service.h"

#include <stdio.h>

#include "base/attributes.h"

bool service__find(const char *resource, const char *command, char *to, size_t size)
{
	if (attributes__find(resource, "service.name", to, size) && *to)
		return true;
	snprintf(to, size, "%s", command);
	return *to;
}
