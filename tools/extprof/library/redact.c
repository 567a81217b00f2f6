/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/redact.h"

#include <errno.h>
#include <string.h>

#include "library/error.h"
#include "library/recorded.h"

static const struct {
	const char *word;
	uint32_t what;
} words[] = {
	{ "paths", REDACT_PATHS }, { "argv", REDACT_ARGV }, { "labels", REDACT_LABELS }, { "traces", REDACT_TRACES },
	{ "host", REDACT_HOST },
};

static int parse(const char *text, uint32_t *what, struct extprof_error *error)
{
	*what = text ? 0 : REDACT_ALL;
	for (size_t length; text && *text; text += length + (text[length] == ',')) {
		uint32_t one = 0;

		length = strcspn(text, ",");
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (strlen(words[i].word) == length && !strncmp(words[i].word, text, length))
				one = words[i].what;
		if (!one)
			return error__set(error, DIAG_USAGE, EINVAL, "%.*s: what can be redacted is paths, argv, labels, traces, host", (int)length,
					  text);
		*what |= one;
	}
	return *what ? 0 : error__set(error, DIAG_USAGE, EINVAL, "nothing is to be redacted: say paths, argv, labels, traces, host");
}

int extprof_recorded_redact(struct extprof_recorded *r, const char *what, const char *path, int uid, int gid,
			    struct extprof_error *error)
{
	struct diag d = { 0 };
	uint32_t mask;
	int err = recorded__is_one(r, error);

	if (!err)
		err = parse(what, &mask, error);
	if (err)
		return err;
	err = recording__redact(recorded__reader(r), path, (uid_t)uid, (gid_t)gid, mask, &d);
	return error__from(error, err, &d);
}
