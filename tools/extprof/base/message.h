/* SPDX-License-Identifier: BSD-2-Clause */
/* Fields of messages of protocol buffers, for readers that want a few of an untrusted message.  It stands alone: the library and
 * the program have it. */
#ifndef EXTPROF_MESSAGE_H
#define EXTPROF_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

/* A part of a message.  It is untrusted: each read is checked against the end. */
struct message_part {
	const uint8_t *at, *end;
};

enum message_wire {
	MESSAGE_VARINT = 0,
	MESSAGE_64 = 1,
	MESSAGE_LENGTH = 2,
	MESSAGE_32 = 5
};

struct message_field {
	uint32_t number, wire;		/* wire: enum message_wire */
	uint64_t value;			/* of MESSAGE_VARINT */
	struct message_part content;	/* of the others */
};

static inline bool message__varint(struct message_part *p, uint64_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; shift < 64 && p->at < p->end; shift += 7) {
		uint8_t byte = *p->at++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* The next field; p->at moves on.  False: there is none, or the message is damaged. */
static inline bool message__next(struct message_part *p, struct message_field *f)
{
	uint64_t key, length;

	if (p->at == p->end || !message__varint(p, &key) || key >> 3 > UINT32_MAX)
		return false;
	*f = (struct message_field){ .number = (uint32_t)(key >> 3), .wire = (uint32_t)(key & 7) };
	switch (f->wire) {
	case MESSAGE_VARINT:
		return message__varint(p, &f->value);
	case MESSAGE_64:
	case MESSAGE_32:
		length = f->wire == MESSAGE_64 ? 8 : 4;
		break;
	case MESSAGE_LENGTH:
		if (!message__varint(p, &length))
			return false;
		break;
	default:
		return false;
	}
	if (length > (uint64_t)(p->end - p->at))
		return false;
	f->content = (struct message_part){ p->at, p->at + length };
	p->at += length;
	return true;
}

#endif /* EXTPROF_MESSAGE_H */
