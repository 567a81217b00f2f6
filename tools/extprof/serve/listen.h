/* SPDX-License-Identifier: BSD-2-Clause */
/* Where pages are asked for: an address that only this machine reaches, or a socket in a file. */
#ifndef EXTPROF_SERVE_LISTEN_H
#define EXTPROF_SERVE_LISTEN_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* By default any port that is free. */
#define SERVE_ADDRESS "127.0.0.1:0"

struct serve_address {
	struct sockaddr_storage addr;
	socklen_t length;
	const char *path;	/* of a socket in a file, part of the text; NULL: an address */
};

/*
 * "127.0.0.1:8080", "[::1]:0", "localhost:0", "8080", or a path with a slash.  0 or -EINVAL with a sentence in `why`: it is none, or
 * one that others reach.
 */
int serve_address__parse(struct serve_address *a, const char *text, char *why, size_t size);

struct serve_listener {
	int fd;
	char url[128];		/* "http://127.0.0.1:4711", without a slash; of a file "http://localhost" */
	const char *path;	/* of the file, which is removed at the end if it is still this one; NULL: none */
	dev_t dev;
	ino_t ino;
};

/* 0 or negative errno; the caller closes in both cases.  A file can be opened by its owner alone, and may not exist yet. */
int serve_listener__open(struct serve_listener *l, const struct serve_address *a);
void serve_listener__close(struct serve_listener *l);

#endif /* EXTPROF_SERVE_LISTEN_H */
