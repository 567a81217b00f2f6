/* SPDX-License-Identifier: BSD-2-Clause */
#ifdef EXTPROF_MICROHTTPD
#include "serve/microhttpd.h"

#include <stdbool.h>

#include "base/dynamic.h"

static struct microhttpd library;

/* The members of struct microhttpd, in their order. */
static const char *const symbols[] = {
	"MHD_start_daemon", "MHD_stop_daemon", "MHD_get_daemon_info", "MHD_get_timeout", "MHD_run", "MHD_get_connection_info",
	"MHD_get_connection_values_n", "MHD_suspend_connection", "MHD_resume_connection", "MHD_create_response_from_buffer",
	"MHD_create_response_from_fd", "MHD_add_response_header", "MHD_queue_response", "MHD_destroy_response",
};
#define SYMBOLS (sizeof(symbols) / sizeof(symbols[0]))

_Static_assert(sizeof(struct microhttpd) == SYMBOLS * sizeof(void *), "a symbol for each member");

const struct microhttpd *microhttpd__load(char *why, size_t size)
{
	static const struct dynamic http = { "libmicrohttpd", "libmicrohttpd.so.12", "libmicrohttpd12", "0.9.71", symbols, SYMBOLS };
	static bool loaded;

	loaded = loaded || dynamic__load(&http, &library, why, size);
	return loaded ? &library : NULL;
}
#endif
