/* SPDX-License-Identifier: BSD-2-Clause */
/* The linker sends calls here (--wrap). */
#include "no_memory.h"

#include <errno.h>
#include <stddef.h>

bool no_memory, no_bigger;
unsigned int no_memory_at;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);

/* Does this allocation fail? */
static bool fails(void)
{
	return no_memory || (no_memory_at && !--no_memory_at);
}

static void *none(void)
{
	errno = ENOMEM;
	return NULL;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? none() : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? none() : __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() || no_bigger ? none() : __real_realloc(p, size);
}
