/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests over HTTP.  Certificates are verified, no redirection is followed, and all of it has an end. */
#ifndef EXTPROF_SEND_HTTP_H
#define EXTPROF_SEND_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many bytes of an answer are read: the rest is not waited for. */
#define HTTP_ANSWER_MAX 16384

struct http;

struct http_options {
	const char *const *headers;	/* "NAME: VALUE", checked by header__check() */
	unsigned int header_count;
	const char *ca;			/* a file of certificates; NULL: those of the system */
	uint64_t timeout;		/* of a request, ns */
	int interrupt_fd;		/* a request ends when it is readable */
};

/* 0, or a negative errno and `why`; -ENOSYS: there is no libcurl.  The caller closes after success. */
int http__open(struct http **h, const struct http_options *o, char *why, size_t size);
void http__close(struct http *h);

struct http_part {
	const char *name, *file, *type;	/* file: the name of one; NULL: none */
	const void *data;
	size_t length;
};

struct http_request {
	const char *url;
	/* Either one body ... */
	const char *type;		/* Content-Type */
	const char *encoding;		/* Content-Encoding; NULL: none */
	const void *data;
	size_t length;
	/* ... or a form. */
	const struct http_part *parts;
	unsigned int part_count;
};

struct http_answer {
	int status;			/* 0: none came */
	bool interrupted;
	bool hopeless;			/* it fails again if nobody changes something: a certificate that is not right */
	uint64_t retry_after;		/* ns; 0: it does not say */
	uint8_t body[HTTP_ANSWER_MAX];
	size_t length;			/* less than all of it if it was long, slow or broke off */
	char error[256];		/* why none came */
};

/* Post it.  0, or -ENOMEM.  A failure of the network is an answer without a status. */
int http__post(struct http *h, const struct http_request *request, struct http_answer *answer);

#endif /* EXTPROF_SEND_HTTP_H */
