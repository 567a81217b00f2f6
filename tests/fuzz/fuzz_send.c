/* SPDX-License-Identifier: BSD-2-Clause */
/* What comes to extprof push from outside: a receiver's answer, and the file of what was sent. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "send/answer.h"
#include "send/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int condition)
{
	if (!condition)
		abort();
}

static void read_answer(const uint8_t *data, size_t size)
{
	char message[64];
	int64_t rejected;

	memset(message, 'x', sizeof(message));
	rejected = answer__rejected(data, size, message, sizeof(message));
	need(memchr(message, 0, sizeof(message)) != NULL && rejected >= 0);
}

/* A file that was taken is written as it was read. */
static void read_state(const char *text)
{
	struct state s = { .directory = -1, .lock = -1, .to = strdup("a receiver") }, again = { .directory = -1, .lock = -1 };
	char *written, *twice;

	again.to = strdup("a receiver");
	need(s.to && again.to);
	if (!state__read(&s, text)) {
		for (size_t i = 0; i < s.count; i++)
			need(state__is_name(s.list[i].name));
		need(s.count <= STATE_SEGMENTS_MAX);
		written = state__write(&s);
		need(written && !state__read(&again, written));
		twice = state__write(&again);
		need(twice && !strcmp(written, twice));
		free(written);
		free(twice);
	}
	state__close(&s);
	state__close(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	need(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	read_answer(data, size);
	read_state(text);
	free(text);
	return 0;
}
