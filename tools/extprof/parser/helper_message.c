/* SPDX-License-Identifier: BSD-2-Clause */
#include "parser/helper_message.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "parser/message_fd.h"

int helper_message__send(int to, int32_t result, const void *data, size_t size, int fd)
{
	struct iovec parts[2] = { { &result, sizeof(result) }, { (void *)data, size } };
	union message_fd control = { 0 };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t n;

	if (fd >= 0)
		message_fd__add(&m, &control, fd);
	do
		n = sendmsg(to, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

ssize_t helper_message__receive(int from, int32_t *result, void *data, size_t size, int *fd)
{
	struct iovec parts[2] = { { result, sizeof(*result) }, { data, size } };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };
	union message_fd control;
	ssize_t n;

	*fd = -1;
	message_fd__expect(&m, &control);
	do
		n = recvmsg(from, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	*fd = message_fd__of(&m);
	if (n >= (ssize_t)sizeof(*result) && !(m.msg_flags & MSG_TRUNC))
		return n - (ssize_t)sizeof(*result);
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return -EIO;
}
