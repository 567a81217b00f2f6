/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/mode.h"

#include <errno.h>
#include <string.h>

#include "wire/states.h"

const struct mode *const modes[] = {
#define MODE(name) &mode_##name,
#include "source/modes.def"
#undef MODE
	NULL
};

/* -EINVAL: it is no mode, or in the list already. */
static int add(const char *name, size_t length, const struct mode **list, uint32_t *count)
{
	const struct mode *mode = NULL;

	for (size_t i = 0; modes[i]; i++)
		if (strlen(modes[i]->name) == length && !memcmp(modes[i]->name, name, length))
			mode = modes[i];
	for (uint32_t i = 0; i < *count; i++)
		if (list[i] == mode)
			return -EINVAL;
	if (!mode || *count >= MODES_MAX)
		return -EINVAL;
	list[(*count)++] = mode;
	return 0;
}

int modes__parse(const char *text, const struct mode **list, uint32_t *count)
{
	for (;;) {
		size_t length = strcspn(text, ",");
		int err = add(text, length, list, count);

		if (err || !text[length])
			return err;
		text += length + 1;
	}
}

void modes__add_names(const struct mode *const *list, uint32_t count, struct text *out)
{
	for (uint32_t i = 0; i < count; i++)
		text__addf(out, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", list[i]->name);
}

enum frame_kind mode__below(const struct mode *mode)
{
	return mode->below ? mode->below : FRAME_STATE;
}

bool mode__takes(const struct mode *mode, const struct sample_event *e, struct weight *weight)
{
	if (e->source >= SOURCE_MAX || !(mode->sources & 1u << e->source))
		return false;
	if (mode->states && (e->state >= STATE_MAX || !(mode->states >> e->state & 1)))
		return false;
	weight->value = e->value;
	weight->count = e->count;
	return !mode->take || mode->take(e, weight);
}
