/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BACKLOG 128

/* 0 to 65535 and nothing else; -1: it is none. */
static int port_of(const char *text)
{
	int port = 0;

	if (!*text || strlen(text) > 5)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -1;
		port = port * 10 + (*text - '0');
	}
	return port < 65536 ? port : -1;
}

static int set_path(struct serve_address *a, const char *path, char *why, size_t size)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(un.sun_path)) {
		snprintf(why, size, "the path of a socket has %zu bytes at most", sizeof(un.sun_path) - 1);
		return -EINVAL;
	}
	strcpy(un.sun_path, path);
	memcpy(&a->addr, &un, sizeof(un));
	a->length = sizeof(un);
	a->path = path;
	return 0;
}

static int set_ip(struct serve_address *a, const char *host, int port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };

	if (!strcmp(host, "localhost"))
		host = "127.0.0.1";
	if (inet_pton(AF_INET, host, &in.sin_addr) == 1 && ntohl(in.sin_addr.s_addr) >> 24 == 127) {
		memcpy(&a->addr, &in, sizeof(in));
		a->length = sizeof(in);
		return 0;
	}
	if (inet_pton(AF_INET6, host, &in6.sin6_addr) == 1 && IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr)) {
		memcpy(&a->addr, &in6, sizeof(in6));
		a->length = sizeof(in6);
		return 0;
	}
	return -EINVAL;
}

int serve_address__parse(struct serve_address *a, const char *text, char *why, size_t size)
{
	const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
	char host[64] = "127.0.0.1";
	size_t length = colon ? (size_t)(colon - text) : 0;

	*a = (struct serve_address){ .length = 0 };
	if (strchr(text, '/'))
		return set_path(a, text, why, size);
	if (colon && length && length < sizeof(host)) {
		snprintf(host, sizeof(host), "%.*s", (int)length, text);
		if (*host == '[' && host[length - 1] == ']') {
			host[length - 1] = 0;
			memmove(host, host + 1, length - 1);
		} else if (strchr(host, ':')) {
			*host = 0;
		}
	} else if (colon) {
		*host = 0;
	}
	if (port_of(port) >= 0 && !set_ip(a, host, port_of(port)))
		return 0;
	snprintf(why, size, "it is no address of this machine alone: 127.0.0.1:PORT, [::1]:PORT, a port, or the path of a socket");
	return -EINVAL;
}

static int name_url(struct serve_listener *l)
{
	struct sockaddr_storage addr = { .ss_family = AF_UNSPEC };
	socklen_t length = sizeof(addr);
	char host[INET6_ADDRSTRLEN] = "";

	if (getsockname(l->fd, (struct sockaddr *)&addr, &length))
		return -errno;
	if (addr.ss_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, &addr, sizeof(in6));
		inet_ntop(AF_INET6, &in6.sin6_addr, host, sizeof(host));
		snprintf(l->url, sizeof(l->url), "http://[%s]:%u", host, ntohs(in6.sin6_port));
	} else {
		struct sockaddr_in in;

		memcpy(&in, &addr, sizeof(in));
		inet_ntop(AF_INET, &in.sin_addr, host, sizeof(host));
		snprintf(l->url, sizeof(l->url), "http://%s:%u", host, ntohs(in.sin_port));
	}
	return 0;
}

int serve_listener__open(struct serve_listener *l, const struct serve_address *a)
{
	int on = 1, err;
	mode_t mask;
	struct stat st;

	*l = (struct serve_listener){ .fd = socket(a->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) };
	if (l->fd < 0)
		return -errno;
	if (!a->path)
		setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	mask = umask(0177);
	err = bind(l->fd, (const struct sockaddr *)&a->addr, a->length) ? -errno : 0;
	umask(mask);
	if (!err && a->path && !lstat(a->path, &st)) {
		l->path = a->path;
		l->dev = st.st_dev;
		l->ino = st.st_ino;
	}
	if (!err && listen(l->fd, BACKLOG))
		err = -errno;
	snprintf(l->url, sizeof(l->url), "http://localhost");
	return err || a->path ? err : name_url(l);
}

void serve_listener__close(struct serve_listener *l)
{
	struct stat st;

	if (l->path && !lstat(l->path, &st) && st.st_dev == l->dev && st.st_ino == l->ino)
		unlink(l->path);
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}
