/* SPDX-License-Identifier: BSD-2-Clause */
#ifdef EXTPROF_CURL
#include "send/curl.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/dynamic.h"

static struct curl_library library;

/* The members of struct curl_library, in their order. */
static const char *const symbols[] = {
	"curl_global_init", "curl_easy_init", "curl_easy_setopt", "curl_easy_getinfo", "curl_easy_reset", "curl_easy_cleanup",
	"curl_easy_strerror", "curl_multi_init", "curl_multi_add_handle", "curl_multi_remove_handle", "curl_multi_perform",
	"curl_multi_poll", "curl_multi_info_read", "curl_multi_cleanup", "curl_slist_append", "curl_slist_free_all",
	"curl_mime_init", "curl_mime_addpart", "curl_mime_name", "curl_mime_filename", "curl_mime_type", "curl_mime_data",
	"curl_mime_free", "curl_url", "curl_url_set", "curl_url_get", "curl_url_cleanup", "curl_free",
};
#define SYMBOLS (sizeof(symbols) / sizeof(symbols[0]))

_Static_assert(sizeof(struct curl_library) == SYMBOLS * sizeof(void *), "a symbol for each member");

const struct curl_library *curl_library__load(char *why, size_t size)
{
	static const struct dynamic curl = { "libcurl", "libcurl.so.4", "libcurl4", "7.66", symbols, SYMBOLS };
	static bool loaded;

	if (loaded)
		return &library;
	if (!dynamic__load(&curl, &library, why, size))
		return NULL;
	if (library.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		snprintf(why, size, "libcurl cannot be used");
		return NULL;
	}
	loaded = true;
	return &library;
}

CURLcode curl_library__restrict(const struct curl_library *c, CURL *handle)
{
	CURLcode code = CURLE_UNKNOWN_OPTION;

#if LIBCURL_VERSION_NUM >= 0x075700
	/* Without it the end can wait for a search for a name. */
	c->easy_setopt(handle, CURLOPT_QUICK_EXIT, 1l);
#endif
#if LIBCURL_VERSION_NUM >= 0x075500
	code = c->easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#endif
	return code == CURLE_UNKNOWN_OPTION ? c->easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS)) : code;
}
#endif
