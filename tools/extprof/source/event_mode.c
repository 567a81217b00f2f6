/* SPDX-License-Identifier: BSD-2-Clause */
/* The mode that shows events of the user's choice. */
#include "source/mode.h"

const struct mode mode_event = {
	.name = "event",
	.help = "events of your choice, see -e",
	.sources = 1u << SOURCE_EVENT,
	.value = { "events", UNIT_COUNT },
	.count = { "events", UNIT_COUNT },
	.by_count = true,
	.names_event = true,
	.below = FRAME_EVENT,
};
