/* SPDX-License-Identifier: BSD-2-Clause */
/* Outputs that go to a function. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "extprof.h"

struct taken {
	char text[64];
	size_t size, room;	/* it takes so many bytes at most */
};

static int take(void *context, const void *data, size_t size)
{
	struct taken *t = context;

	if (t->size + size > t->room)
		return -EDQUOT;
	memcpy(t->text + t->size, data, size);
	t->size += size;
	return 0;
}

TEST(stream_gives_all_bytes_in_their_order)
{
	struct extprof_error error = { .size = sizeof(error) };
	struct taken taken = { .room = sizeof(taken.text) };
	struct extprof_stream *stream;

	CHECK_INT(extprof_stream_open(&stream, take, &taken, &error), 0);
	fputs("one ", extprof_stream_file(stream));
	fflush(extprof_stream_file(stream));
	CHECK_INT(taken.size, 4);
	fputs("two", extprof_stream_file(stream));
	CHECK_INT(extprof_stream_close(stream, &error), 0);
	CHECK_STRING(taken.text, "one two");
	CHECK_INT(extprof_stream_close(NULL, &error), 0);
	CHECK_INT(extprof_stream_open(&stream, NULL, NULL, &error), -EINVAL);
	CHECK(!stream && error.code == EXTPROF_USAGE);
}

/* Also what comes when it is closed. */
TEST(stream_says_why_the_function_failed)
{
	struct extprof_error error = { .size = sizeof(error) };
	struct taken taken = { .room = 4 };
	struct extprof_stream *stream;

	CHECK_INT(extprof_stream_open(&stream, take, &taken, &error), 0);
	fputs("too long", extprof_stream_file(stream));
	CHECK_INT(extprof_stream_close(stream, &error), -EDQUOT);
	CHECK_INT(error.code, EXTPROF_OUTPUT);
	CHECK_INT(extprof_stream_open(&stream, take, &taken, &error), 0);
	fputs("too long", extprof_stream_file(stream));
	CHECK_INT(fflush(extprof_stream_file(stream)), EOF);
	taken.room = sizeof(taken.text);
	/* What was lost stays lost. */
	CHECK_INT(extprof_stream_close(stream, &error), -EDQUOT);
	CHECK_INT(taken.size, 0);
}
