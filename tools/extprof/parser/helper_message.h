/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A message between extprof and its helpers: a result, bytes behind it, and one file at most.  It is one packet of a
 * socket of the type SOCK_SEQPACKET.  Both functions may be called in a copy of a process with threads.
 */
#ifndef EXTPROF_HELPER_MESSAGE_H
#define EXTPROF_HELPER_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* fd: -1 none.  It stays the caller's.  0 or -errno. */
int helper_message__send(int to, int32_t result, const void *data, size_t size, int fd);

/*
 * The number of bytes behind the result, or -errno; -EIO: the other end is closed, or it is no such message.  *fd: the
 * file that came with it, the caller's, or -1.
 */
ssize_t helper_message__receive(int from, int32_t *result, void *data, size_t size, int *fd);

#endif /* EXTPROF_HELPER_MESSAGE_H */
