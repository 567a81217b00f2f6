/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/reader.h"

#include <stddef.h>

const char *const reader_names[] = {
	[READER_AUTO] = "auto",
	[READER_EBPF] = "ebpf",
	[READER_NONBLOCKING] = "nonblocking",
	[READER_STOP] = "stop",
	[READER_KINDS] = NULL,
};
