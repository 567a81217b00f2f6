/* SPDX-License-Identifier: BSD-2-Clause */
/* The files that a process has open, and how they are shown. */
#include "test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "process/open_file.h"
#include "profile/wait_details.h"
#include "profile/wait_text.h"
#include "wire/states.h"

/* Is that the text of the file? */
static bool shows(const struct wait_file *file, pid_t pid, const char *wanted)
{
	struct text text = { 0 };
	bool same;

	details__add_file(file, pid, &text);
	same = !text.failed && !strcmp(text__string(&text), wanted);
	if (!same)
		printf("got %s, not %s\n", text__string(&text), wanted);
	text__free(&text);
	return same;
}

TEST(details_addresses)
{
	struct wait_file f = { .fd = 4, .kind = FILE_SOCKET, .inode = 77, .family = WAIT_DETAIL_INET, .port = 3000,
			       .address = { 10, 0, 0, 1 }, .peer = { 10, 0, 0, 2 }, .peer_port = 5432 };

	CHECK(shows(&f, 0, "socket to 10.0.0.2:5432"));
	f.peer_port = 0;
	CHECK(shows(&f, 0, "socket at 10.0.0.1:3000"));
	f.family = WAIT_DETAIL_INET6;
	memset(f.address, 0, sizeof(f.address));
	f.address[15] = 1;
	CHECK(shows(&f, 0, "socket at [::1]:3000"));
	f.family = 0;
	CHECK(shows(&f, 0, "socket 77"));
	f.family = WAIT_DETAIL_UNIX;
	CHECK(shows(&f, 0, "socket 77"));
	strcpy(f.path, "/run/a.sock");
	f.path_size = 12;
	CHECK(shows(&f, 0, "socket to /run/a.sock"));
	/* The process chooses its name. */
	memcpy(f.path, "\0ab\033[31m\nc", 11);
	f.path_size = 11;
	CHECK(!shows(&f, 0, "socket to @ab\033[31m\nc"));
	/* A length that cannot be. */
	memset(f.path, 'x', sizeof(f.path));
	f.path_size = UINT32_MAX;
	CHECK(!shows(&f, 0, ""));
}

TEST(details_names_in_texts)
{
	static const struct {
		const char *text, *name;
		bool own;
	} texts[] = {
		{ "socket to 10.0.0.2:5432", "10.0.0.2:5432", false }, { "socket at [::1]:3000", "[::1]:3000", true },
		{ "socket 77", "77", false }, { "file /a file", "/a file", false }, { "pipe /run/jobs", "/run/jobs", false },
		{ "terminal /dev/pts/0", "/dev/pts/0", false }, { "", "", false }, { "socket to ", "", false },
		{ "file, closed before its name was read", "file, closed before its name was read", false },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		bool own = !texts[i].own;

		CHECK_STRING(wait_text__file(texts[i].text, &own), texts[i].name);
		CHECK(own == texts[i].own);
	}
}

TEST(details_files_of_a_process)
{
	struct wait_file f;
	char name[] = "/tmp/extprof-about-XXXXXX", wanted[64];
	int fd = mkstemp(name), pair[2], event = eventfd(0, 0);
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0 && event >= 0 && !pipe(pair) && listener >= 0);
	open_file__look(getpid(), (uint32_t)fd, true, &f);
	CHECK_INT(f.kind, FILE_REGULAR);
	CHECK_INT(f.fd, fd + 1);
	snprintf(wanted, sizeof(wanted), "file %s", name);
	CHECK(shows(&f, getpid(), wanted));
	/* The process has gone, or has another file there. */
	CHECK(shows(&f, 0, "file, closed before its name was read"));
	close(fd);
	CHECK(shows(&f, getpid(), "file, closed before its name was read"));
	CHECK_INT(dup2(pair[0], fd), fd);
	CHECK(shows(&f, getpid(), "file, closed before its name was read"));
	unlink(name);
	open_file__look(getpid(), (uint32_t)pair[0], true, &f);
	CHECK_INT(f.kind, FILE_PIPE);
	snprintf(wanted, sizeof(wanted), "pipe %llu", (unsigned long long)f.inode);
	CHECK(shows(&f, getpid(), wanted));
	CHECK(shows(&f, 0, wanted));
	open_file__look(getpid(), (uint32_t)event, true, &f);
	CHECK_INT(f.kind, FILE_EVENTFD);
	/* A socket is asked itself, where that is allowed. */
	CHECK(!bind(listener, (void *)&a, sizeof(a)) && !getsockname(listener, (void *)&a, &size));
	open_file__look(getpid(), (uint32_t)listener, true, &f);
	CHECK_INT(f.kind, FILE_SOCKET);
	if (f.family) {
		snprintf(wanted, sizeof(wanted), "socket at 127.0.0.1:%u", ntohs(a.sin_port));
		CHECK(shows(&f, 0, wanted));
	}
	open_file__look(getpid(), 1000000, true, &f);
	CHECK_INT(f.fd, 0);
	CHECK_INT(f.kind, FILE_UNKNOWN);
	close(pair[0]);
	close(pair[1]);
	close(event);
	close(listener);
	close(fd);
}
