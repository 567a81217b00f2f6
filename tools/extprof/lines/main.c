/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * extprof-lines: reads the debug information of one file that nobody vouches for, and ends.  It is a program and no copy
 * of extprof's process as other helpers are (parser/helper.h): libdw allocates memory, which such a copy may not do.
 * extprof starts it with a socket as standard input.  It gives up its rights before it gets the file.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lines/dwarf.h"
#include "parser/message_fd.h"
#include "parser/sandbox.h"

#define SOCKET 0

/* Bytes of a packet; 0: there are no more; or -1. */
static ssize_t receive(void *data, size_t size, int *fd)
{
	struct iovec part = { data, size };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	union message_fd control;
	ssize_t n;

	message_fd__expect(&m, &control);
	do
		n = recvmsg(SOCKET, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (fd)
		*fd = n > 0 ? message_fd__of(&m) : -1;
	return n;
}

static int answer(const void *data, size_t size, const void *more, size_t more_size)
{
	struct iovec parts[2] = { { (void *)data, size }, { (void *)more, more_size } };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };

	return sendmsg(SOCKET, &m, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static int by_number(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

/* Have the C library ask the kernel now for what it asks once: how much memory there is, and random numbers. */
static void warm_up(void)
{
	char *some = calloc(1, 4096);

	if (some)
		qsort(some, 4096, 1, by_number);
	free(some);
}

static int serve(void)
{
	static uint64_t addresses[LINES_BATCH];
	static struct lines_about about;
	static struct lines_chain chain;
	struct lines_open open;
	struct dwarf_file *file;
	ssize_t n;
	int fd = -1;

	if (receive(&open, sizeof(open), &fd) != (ssize_t)sizeof(open) || fd < 0 || open.build_id.size > ELF_BUILD_ID_MAX)
		return 1;
	dwarf_file__open(&file, fd, &open, &about);
	if (answer(&about, sizeof(about), NULL, 0))
		return 1;
	while (file && (n = receive(addresses, sizeof(addresses), NULL)) > 0) {
		for (uint32_t i = 0; i < (size_t)n / sizeof(addresses[0]); i++) {
			dwarf_file__find(file, addresses[i], &chain);
			chain.address = i;
			if (answer(&chain, offsetof(struct lines_chain, texts), chain.texts, chain.size))
				return 1;
		}
	}
	return 0;
}

int main(void)
{
	int type = 0;
	socklen_t size = sizeof(type);

	/* The first of these is this program, by which it was executed. */
	closefrom(1);
	/* Nobody but extprof has a use for it. */
	if (getsockopt(SOCKET, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_SEQPACKET)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	warm_up();
	if (sandbox__enter_allocating(LINES_MEMORY, LINES_CPU_SECONDS))
		return 3;
	/* Without exit(): what it would write is nothing. */
	_exit(serve());
}
