/* SPDX-License-Identifier: BSD-2-Clause */
#ifdef EXTPROF_MICROHTTPD
#include "serve/microhttpd.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libmicrohttpd.so.12"

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
	static bool loaded;
	void *found[SYMBOLS], *handle;

	if (loaded)
		return &library;
	/* It stays: its functions are used until the end. */
	handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		snprintf(why, size, "libmicrohttpd cannot be loaded (%s): install it, Debian's package is libmicrohttpd12", dlerror());
		return NULL;
	}
	for (size_t i = 0; i < SYMBOLS; i++) {
		found[i] = dlsym(handle, symbols[i]);
		if (!found[i]) {
			snprintf(why, size, LIBRARY " has no %s: it is too old, 0.9.71 or newer is needed", symbols[i]);
			dlclose(handle);
			return NULL;
		}
	}
	memcpy(&library, found, sizeof(library));
	loaded = true;
	return &library;
}
#endif
