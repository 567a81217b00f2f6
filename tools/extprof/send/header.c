/* SPDX-License-Identifier: BSD-2-Clause */
#include "send/header.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Characters of a header's name besides letters and digits: RFC 9110. */
#define NAME_SIGNS "!#$%&'*+-.^_`|~"

/* Headers about the body are set by the code that makes the body. */
static const char *const own[] = { "content-type", "content-encoding", "content-length", "transfer-encoding", "expect" };

static int fail(char *why, size_t size, const char *text)
{
	snprintf(why, size, "%s", text);
	return -EINVAL;
}

static int check(const char *text, char *why, size_t size)
{
	size_t name = 0;

	while (text[name] && (isalnum((unsigned char)text[name]) || strchr(NAME_SIGNS, text[name])))
		name++;
	if (!name || text[name] != ':' || !text[name + 1 + strspn(text + name + 1, " \t")])
		return fail(why, size, "a header is NAME: VALUE");
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p < ' ' ? *p != '\t' : *p == 0x7f)
			return fail(why, size, "a header has no control characters");
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strlen(own[i]) == name && !strncasecmp(text, own[i], name))
			return fail(why, size, "requests have this header by themselves");
	return 0;
}

int headers__add(struct headers *h, const char *text, char *why, size_t size)
{
	int err = check(text, why, size);

	if (err)
		return err;
	if (h->count == HEADERS_MAX) {
		snprintf(why, size, "there are more than %u headers", HEADERS_MAX);
		return -EINVAL;
	}
	h->list[h->count] = strdup(text);
	if (!h->list[h->count]) {
		snprintf(why, size, "out of memory");
		return -ENOMEM;
	}
	h->count++;
	return 0;
}

int headers__add_lines(struct headers *h, const char *text, char *why, size_t size)
{
	int err = 0;

	for (unsigned int line = 1; *text && !err; line++) {
		size_t length = strcspn(text, "\n"), shown = length;
		char *copy, said[128];

		if (shown && text[shown - 1] == '\r')
			shown--;
		copy = strndup(text, shown);
		if (!copy) {
			snprintf(why, size, "out of memory");
			return -ENOMEM;
		}
		if (*copy && *copy != '#') {
			err = headers__add(h, copy, said, sizeof(said));
			if (err)
				snprintf(why, size, "line %u: %s", line, said);
		}
		free(copy);
		text += length + (text[length] == '\n');
	}
	return err;
}

int headers__read(struct headers *h, const char *path, bool *seen, char *why, size_t size)
{
	/* A FIFO without a writer would be waited for. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err = 0;
	struct stat st;
	size_t length = 0;
	ssize_t n = 0;
	char *text;

	if (fd < 0 || fstat(fd, &st)) {
		err = -errno;
		snprintf(why, size, "%s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return err;
	}
	*seen = st.st_mode & S_IROTH;
	text = malloc(HEADER_FILE_MAX + 1);
	while (text && length <= HEADER_FILE_MAX && (n = read(fd, text + length, HEADER_FILE_MAX + 1 - length)) > 0)
		length += (size_t)n;
	if (!text || n < 0) {
		err = text ? -errno : -ENOMEM;
		snprintf(why, size, "%s", strerror(-err));
	} else if (!S_ISREG(st.st_mode) || length > HEADER_FILE_MAX) {
		err = fail(why, size, S_ISREG(st.st_mode) ? "it has more than 64 KiB" : "it is no file");
	} else {
		text[length] = '\0';
		err = strlen(text) < length ? fail(why, size, "it is no text") : headers__add_lines(h, text, why, size);
	}
	free(text);
	close(fd);
	return err;
}

void headers__free(struct headers *h)
{
	for (unsigned int i = 0; i < h->count; i++) {
		explicit_bzero(h->list[i], strlen(h->list[i]));
		free(h->list[i]);
	}
	h->count = 0;
}
