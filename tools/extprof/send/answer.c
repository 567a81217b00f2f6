/* SPDX-License-Identifier: BSD-2-Clause */
#include "send/answer.h"

#include <string.h>

#include "base/message.h"

#define SECOND 1000000000ull
#define WAIT_MIN SECOND
#define WAIT_MAX (60 * SECOND)

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

int64_t answer__rejected(const uint8_t *body, size_t length, char *message, size_t size)
{
	struct message_part all = { body, body + length };
	struct message_field outer, f;
	int64_t rejected = 0;

	*message = '\0';
	while (message__next(&all, &outer)) {
		if (outer.number != PARTIAL_SUCCESS || outer.wire != MESSAGE_LENGTH)
			continue;
		while (message__next(&outer.content, &f)) {
			if (f.number == REJECTED && f.wire == MESSAGE_VARINT)
				rejected = (int64_t)f.value;
			if (f.number == MESSAGE && f.wire == MESSAGE_LENGTH) {
				size_t n = (size_t)(f.content.end - f.content.at);

				n = n < size - 1 ? n : size - 1;
				memcpy(message, f.content.at, n);
				message[n] = '\0';
			}
		}
	}
	return rejected > 0 ? rejected : 0;
}
