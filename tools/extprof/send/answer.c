/* SPDX-License-Identifier: BSD-2-Clause */
#include "send/answer.h"

#include <string.h>

#define SECOND 1000000000ull
#define WAIT_MIN SECOND
#define WAIT_MAX (60 * SECOND)

/* Types on the wire. */
#define VARINT 0
#define FIXED64 1
#define LENGTH 2
#define FIXED32 5
/* Field numbers of ExportProfilesServiceResponse and ExportProfilesPartialSuccess. */
#define PARTIAL_SUCCESS 1
#define REJECTED 1
#define MESSAGE 2

enum answer answer__of(int status)
{
	if (status >= 200 && status < 300)
		return ANSWER_TAKEN;
	switch (status) {
	case 0:
	case 408:
	case 429:
	case 502:
	case 503:
	case 504:
		return ANSWER_AGAIN;
	case 413:
		return ANSWER_TOO_LARGE;
	case 500:
		return ANSWER_FAILED;
	/* Another token, address, format or receiver is needed: a whole history is not thrown away for that. */
	case 401:
	case 403:
	case 404:
	case 405:
	case 406:
	case 407:
	case 410:
	case 415:
	case 421:
	case 501:
		return ANSWER_NONE_TAKEN;
	}
	return status < 400 ? ANSWER_NONE_TAKEN : ANSWER_REFUSED;
}

enum answer answer__after(int status, bool shortest, unsigned int *failed, uint64_t in_a_row)
{
	enum answer kind = answer__of(status);

	if (kind == ANSWER_FAILED) {
		*failed += *failed < ANSWER_TRIES;
		kind = *failed < ANSWER_TRIES ? ANSWER_AGAIN : ANSWER_REFUSED;
	}
	if (kind == ANSWER_TOO_LARGE && shortest)
		kind = ANSWER_REFUSED;
	if (kind == ANSWER_REFUSED && in_a_row >= ANSWER_REFUSED_MAX)
		return ANSWER_NONE_TAKEN;
	if (kind == ANSWER_TAKEN || kind == ANSWER_REFUSED || kind == ANSWER_TOO_LARGE)
		*failed = 0;
	return kind;
}

uint64_t retry__wait(unsigned int failures, uint64_t asked, uint64_t random)
{
	uint64_t wait = failures < 7 ? WAIT_MIN << (failures ? failures - 1 : 0) : WAIT_MAX;

	if (wait > WAIT_MAX)
		wait = WAIT_MAX;
	wait -= random % (wait / 2 + 1);
	if (asked > RETRY_ASKED_MAX)
		asked = RETRY_ASKED_MAX;
	return asked > wait ? asked : wait;
}

/* -- protocol buffers ------------------------------------------------------------------------------------ */

struct field {
	uint64_t number, value;	/* value: of a number, or how long `data` is */
	unsigned int wire;
	const uint8_t *data;
};

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; shift < 64 && *at < end; shift += 7) {
		uint8_t byte = *(*at)++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* The next field; false: there is none that is whole. */
static bool next_field(const uint8_t **at, const uint8_t *end, struct field *f)
{
	uint64_t key;

	if (!read_varint(at, end, &key))
		return false;
	f->number = key >> 3;
	f->wire = key & 7;
	f->data = *at;
	switch (f->wire) {
	case VARINT:
		return read_varint(at, end, &f->value);
	case FIXED64:
	case FIXED32:
		f->value = f->wire == FIXED64 ? 8 : 4;
		break;
	case LENGTH:
		if (!read_varint(at, end, &f->value))
			return false;
		f->data = *at;
		break;
	default:
		return false;
	}
	if (f->value > (uint64_t)(end - *at))
		return false;
	*at += f->value;
	return true;
}

int64_t answer__rejected(const uint8_t *body, size_t length, char *message, size_t size)
{
	const uint8_t *at = body, *end = body + length, *in, *in_end;
	struct field outer, f;
	int64_t rejected = 0;

	*message = '\0';
	while (next_field(&at, end, &outer)) {
		if (outer.number != PARTIAL_SUCCESS || outer.wire != LENGTH)
			continue;
		in = outer.data;
		in_end = in + outer.value;
		while (next_field(&in, in_end, &f)) {
			if (f.number == REJECTED && f.wire == VARINT)
				rejected = (int64_t)f.value;
			if (f.number == MESSAGE && f.wire == LENGTH) {
				size_t n = f.value < size - 1 ? f.value : size - 1;

				memcpy(message, f.data, n);
				message[n] = '\0';
			}
		}
	}
	return rejected > 0 ? rejected : 0;
}
