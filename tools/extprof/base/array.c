/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 16

int array__reserve(void *array, size_t count, size_t more, size_t *room, size_t max, size_t size)
{
	size_t bigger = *room > ROOM_MIN ? *room : ROOM_MIN;
	void *p;

	if (max > SIZE_MAX / size)
		max = SIZE_MAX / size;
	if (count > max || more > max - count)
		return -ENOMEM;
	if (count + more <= *room)
		return 0;
	while (bigger < count + more)
		bigger = bigger > max / 2 ? max : bigger * 2;
	if (bigger > max)
		bigger = max;
	/* `array` points to a pointer of any type. */
	memcpy(&p, array, sizeof(p));
	p = realloc(p, bigger * size);
	if (!p)
		return -ENOMEM;
	memcpy(array, &p, sizeof(p));
	*room = bigger;
	return 0;
}
