/* SPDX-License-Identifier: BSD-2-Clause */
/* One descriptor beside a message of a socket, for helpers that may use no other code. */
#ifndef EXTPROF_PARSER_MESSAGE_FD_H
#define EXTPROF_PARSER_MESSAGE_FD_H

#include <string.h>
#include <sys/socket.h>

union message_fd {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

/* Send `fd` with the message.  *room is zero-initialised, and is used until it is sent. */
static inline void message_fd__add(struct msghdr *m, union message_fd *room, int fd)
{
	m->msg_control = room;
	m->msg_controllen = sizeof(room->room);
	room->header.cmsg_level = SOL_SOCKET;
	room->header.cmsg_type = SCM_RIGHTS;
	room->header.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&room->header), &fd, sizeof(fd));
}

/* Before the message is received: no more than one.  CMSG_SPACE() has room for two, and who sends is not trusted. */
static inline void message_fd__expect(struct msghdr *m, union message_fd *room)
{
	m->msg_control = room;
	m->msg_controllen = CMSG_LEN(sizeof(int));
}

/* That of a message which was received; -1: none came. */
static inline int message_fd__of(struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

#endif /* EXTPROF_PARSER_MESSAGE_FD_H */
