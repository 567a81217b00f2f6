/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells systemd how the service does: sd_notify(3) describes the protocol, which is one datagram.  Without systemd these do
 * nothing.  libsystemd would be a library more in a program that runs as root, for this alone. */
#ifndef EXTPROF_DAEMON_NOTIFY_H
#define EXTPROF_DAEMON_NOTIFY_H

#include <stdint.h>

/* Send "READY=1", "STATUS=..." or several lines to the socket that NOTIFY_SOCKET names.  Failures do not matter. */
void notify__send(const char *state);

/* systemd wants to hear of us so often, ns: half of WATCHDOG_USEC.  0: it does not. */
uint64_t notify__interval(void);

#endif /* EXTPROF_DAEMON_NOTIFY_H */
