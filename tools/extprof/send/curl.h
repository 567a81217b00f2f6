/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libcurl, loaded when it is first needed: a profiler that runs as root has none of its thirty libraries in it, and other
 * commands do not take the 6 ms that they take to load.  Only for files of this room that are compiled with EXTPROF_CURL.
 */
#ifndef EXTPROF_SEND_CURL_H
#define EXTPROF_SEND_CURL_H

/* An option that is deprecated is the only one that an older library has. */
#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>
#include <stddef.h>

struct curl_library {
	CURLcode (*global_init)(long flags);
	CURL *(*easy_init)(void);
	CURLcode (*easy_setopt)(CURL *handle, CURLoption option, ...);
	CURLcode (*easy_getinfo)(CURL *handle, CURLINFO info, ...);
	void (*easy_reset)(CURL *handle);
	void (*easy_cleanup)(CURL *handle);
	const char *(*easy_strerror)(CURLcode code);
	CURLM *(*multi_init)(void);
	CURLMcode (*multi_add_handle)(CURLM *multi, CURL *handle);
	CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *handle);
	CURLMcode (*multi_perform)(CURLM *multi, int *running);
	CURLMcode (*multi_poll)(CURLM *multi, struct curl_waitfd *fds, unsigned int count, int ms, int *ready);
	CURLMsg *(*multi_info_read)(CURLM *multi, int *left);
	CURLMcode (*multi_cleanup)(CURLM *multi);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void (*slist_free_all)(struct curl_slist *list);
	curl_mime *(*mime_init)(CURL *handle);
	curl_mimepart *(*mime_addpart)(curl_mime *mime);
	CURLcode (*mime_name)(curl_mimepart *part, const char *name);
	CURLcode (*mime_filename)(curl_mimepart *part, const char *name);
	CURLcode (*mime_type)(curl_mimepart *part, const char *type);
	CURLcode (*mime_data)(curl_mimepart *part, const char *data, size_t size);
	void (*mime_free)(curl_mime *mime);
	CURLU *(*url)(void);
	CURLUcode (*url_set)(CURLU *url, CURLUPart what, const char *part, unsigned int flags);
	CURLUcode (*url_get)(CURLU *url, CURLUPart what, char **part, unsigned int flags);
	void (*url_cleanup)(CURLU *url);
	void (*free)(void *memory);
};

/* NULL: it cannot be loaded, and `why` says why. */
const struct curl_library *curl_library__load(char *why, size_t size);

/* Only http and https, and nobody waits at the end.  The library can be older than the headers: what it does not know is set in
 * the older way, or left out if nothing depends on it. */
CURLcode curl_library__restrict(const struct curl_library *c, CURL *handle);

#endif /* EXTPROF_SEND_CURL_H */
