/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libmicrohttpd, loaded by `extprof serve' alone: it brings a library for TLS, which nothing here uses.  Only for files of this
 * room that are compiled with EXTPROF_MICROHTTPD.
 */
#ifndef EXTPROF_SERVE_MICROHTTPD_H
#define EXTPROF_SERVE_MICROHTTPD_H

#include <microhttpd.h>
#include <stddef.h>

struct microhttpd {
	struct MHD_Daemon *(*start_daemon)(unsigned int flags, uint16_t port, MHD_AcceptPolicyCallback apc, void *apc_cls,
					   MHD_AccessHandlerCallback dh, void *dh_cls, ...);
	void (*stop_daemon)(struct MHD_Daemon *daemon);
	const union MHD_DaemonInfo *(*get_daemon_info)(struct MHD_Daemon *daemon, enum MHD_DaemonInfoType type, ...);
	enum MHD_Result (*get_timeout)(struct MHD_Daemon *daemon, MHD_UNSIGNED_LONG_LONG *timeout);
	enum MHD_Result (*run)(struct MHD_Daemon *daemon);
	const union MHD_ConnectionInfo *(*get_connection_info)(struct MHD_Connection *c, enum MHD_ConnectionInfoType type, ...);
	int (*get_connection_values_n)(struct MHD_Connection *c, enum MHD_ValueKind kind, MHD_KeyValueIteratorN iterator, void *cls);
	void (*suspend_connection)(struct MHD_Connection *c);
	void (*resume_connection)(struct MHD_Connection *c);
	struct MHD_Response *(*create_response_from_buffer)(size_t size, void *buffer, enum MHD_ResponseMemoryMode mode);
	struct MHD_Response *(*create_response_from_fd)(size_t size, int fd);
	enum MHD_Result (*add_response_header)(struct MHD_Response *r, const char *header, const char *content);
	enum MHD_Result (*queue_response)(struct MHD_Connection *c, unsigned int status, struct MHD_Response *r);
	void (*destroy_response)(struct MHD_Response *r);
};

/* NULL: it cannot be loaded, and `why` says why. */
const struct microhttpd *microhttpd__load(char *why, size_t size);

#endif /* EXTPROF_SERVE_MICROHTTPD_H */
