/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of packed messages, and tables in which each is once. */
#include "output/otlp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* No file of profiles is larger: receivers take some MB. */
#define BYTES_MAX ((size_t)4 << 30)

static int reserve(struct otlp_list *l, size_t length)
{
	return array__reserve(&l->bytes, l->length, length, &l->room, BYTES_MAX, 1) ||
	       array__reserve(&l->items, l->count, 1, &l->item_room, OTLP_ITEMS_MAX, sizeof(*l->items)) ? -ENOMEM : 0;
}

/* The bytes are there already, behind the last item. */
static void take(struct otlp_list *l, size_t length)
{
	l->items[l->count++] = (struct otlp_item){ .at = l->length, .length = length };
	l->length += length;
}

int otlp_list__append(struct otlp_list *l, const void *data, size_t length)
{
	if (reserve(l, length + 1))
		return -ENOMEM;
	memcpy(l->bytes + l->length, data, length);
	take(l, length);
	return 0;
}

/* The bytes behind the last item become an item, unless there is one like it.  Returns its number. */
static uint32_t number(struct otlp_list *l, size_t length)
{
	const uint8_t *data = l->bytes + l->length;
	uint64_t hash = hash__bytes(data, length, length);
	uint32_t i;

	while ((i = map64__get(&l->map, hash)) != MAP64_NONE) {
		if (l->items[i].length == length && !memcmp(otlp_list__item(l, i), data, length))
			return i;
		hash++;
	}
	if (map64__add(&l->map, hash, l->count))
		return OTLP_NONE;
	take(l, length);
	return l->count - 1;
}

uint32_t otlp_list__number(struct otlp_list *l, const void *data, size_t length)
{
	if (reserve(l, length + 1))
		return OTLP_NONE;
	memcpy(l->bytes + l->length, data, length);
	return number(l, length);
}

uint32_t otlp_list__message(struct otlp_list *l, const ProtobufCMessage *m)
{
	size_t length = protobuf_c_message_get_packed_size(m);

	if (reserve(l, length + 1))
		return OTLP_NONE;
	protobuf_c_message_pack(m, l->bytes + l->length);
	return number(l, length);
}

int otlp_list__append_message(struct otlp_list *l, const ProtobufCMessage *m)
{
	size_t length = protobuf_c_message_get_packed_size(m);

	if (reserve(l, length + 1))
		return -ENOMEM;
	protobuf_c_message_pack(m, l->bytes + l->length);
	take(l, length);
	return 0;
}

void otlp_list__free(struct otlp_list *l)
{
	free(l->bytes);
	free(l->items);
	map64__free(&l->map);
	memset(l, 0, sizeof(*l));
}
