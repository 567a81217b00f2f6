/* SPDX-License-Identifier: BSD-2-Clause */
#include "send/url.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef EXTPROF_CURL
#include "send/curl.h"

#define URL_MAX 2000

static int fail(char *why, size_t size, const char *text)
{
	snprintf(why, size, "%s", text);
	return -EINVAL;
}

/* Is the part there?  Others of these texts are not looked at. */
static int has(const struct curl_library *c, CURLU *u, CURLUPart part)
{
	char *text = NULL;
	int found = c->url_get(u, part, &text, 0) == CURLUE_OK && text && *text;

	c->free(text);
	return found;
}

static int complete(const struct curl_library *c, CURLU *u, const char *path, char **url, char *why, size_t size)
{
	char *text = NULL;
	int bare;

	if (has(c, u, CURLUPART_USER) || has(c, u, CURLUPART_PASSWORD))
		return fail(why, size, "a name and a password in a URL are seen by all users of this machine: write a header "
			    "Authorization into a file, for --header-file");
	if (has(c, u, CURLUPART_FRAGMENT))
		return fail(why, size, "there is a # in it");
	if (c->url_get(u, CURLUPART_PATH, &text, 0) != CURLUE_OK)
		return -ENOMEM;
	bare = !strcmp(text, "/");
	c->free(text);
	if (bare && c->url_set(u, CURLUPART_PATH, path, 0) != CURLUE_OK)
		return -ENOMEM;
	text = NULL;
	if (c->url_get(u, CURLUPART_URL, &text, 0) != CURLUE_OK)
		return fail(why, size, "it has no host");
	*url = strdup(text);
	c->free(text);
	return *url ? 0 : -ENOMEM;
}

int url__complete(const char *text, const char *path, char **url, char *why, size_t size)
{
	const struct curl_library *c;
	CURLU *u;
	int err;

	*url = NULL;
	if (strncasecmp(text, "http://", 7) && strncasecmp(text, "https://", 8))
		return fail(why, size, "it begins neither with http:// nor with https://");
	if (strlen(text) > URL_MAX)
		return fail(why, size, "it is too long");
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f)
			return fail(why, size, "it has blanks, or letters that are to be written as %XX");
	c = curl_library__load(why, size);
	if (!c)
		return -ENOSYS;
	u = c->url();
	if (!u)
		return -ENOMEM;
	err = c->url_set(u, CURLUPART_URL, text, 0) == CURLUE_OK ? complete(c, u, path, url, why, size) :
	      fail(why, size, "it is none that libcurl understands");
	c->url_cleanup(u);
	if (err == -ENOMEM)
		snprintf(why, size, "out of memory");
	return err;
}
#else
int url__complete(const char *text, const char *path, char **url, char *why, size_t size)
{
	(void)text;
	(void)path;
	*url = NULL;
	snprintf(why, size, "this extprof was built without libcurl (Debian's package is libcurl4-openssl-dev), so it sends nothing");
	return -ENOSYS;
}
#endif

int url__add(char **url, const char *name, const char *value)
{
	size_t length = strlen(*url), most = length + strlen(name) + 3 * strlen(value) + 3;
	char *longer = realloc(*url, most), *to;

	if (!longer)
		return -ENOMEM;
	*url = longer;
	to = longer + length;
	to += sprintf(to, "%c%s=", strchr(longer, '?') ? '&' : '?', name);
	for (const unsigned char *p = (const unsigned char *)value; *p; p++)
		to += sprintf(to, *p < 0x80 && (isalnum(*p) || strchr("-._~", *p)) ? "%c" : "%%%02X", *p);
	return 0;
}

char *url__shown(const char *url)
{
	return strndup(url, strcspn(url, "?"));
}
