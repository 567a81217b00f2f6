/* SPDX-License-Identifier: BSD-2-Clause */
#include "confine/places.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Headers of a distribution can be older than its kernel, and lack these. */
#define REFER (1ull << 13)	/* as of version 2 */
#define TRUNCATE (1ull << 14)	/* 3 */
#define TCP_BIND_AND_CONNECT 3ull	/* 4 */
#define SOCKETS_AND_SIGNALS 3ull	/* 6 */

#define WRITES (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | \
		LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | \
		LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)
#define READS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* Rights at the place of an output. */
#define OUTPUT (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | TRUNCATE)
/* Rights that a file can have.  Others are of folders alone. */
#define OF_FILE (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | TRUNCATE)

struct ruleset {
	uint64_t files, net, scoped;
};

int confine_places__open(struct confine_places *p, bool reads)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset r = { .files = WRITES | (reads ? READS : 0) };
	size_t size = sizeof(r.files);

	*p = (struct confine_places){ .ruleset = -1 };
	if (version < 1)
		return version < 0 ? -errno : -ENOSYS;
	if (version >= 2)
		r.files |= REFER;
	if (version >= 3)
		r.files |= TRUNCATE;
	if (version >= 4) {
		r.net = TCP_BIND_AND_CONNECT;
		size = sizeof(r.files) + sizeof(r.net);
	}
	if (version >= 6) {
		r.scoped = SOCKETS_AND_SIGNALS;
		size = sizeof(r);
	}
	p->handled = r.files;
	p->ruleset = (int)syscall(SYS_landlock_create_ruleset, &r, size, 0);
	return p->ruleset < 0 ? -errno : 0;
}

int confine_places__add(struct confine_places *p, int fd, unsigned int allows)
{
	struct landlock_path_beneath_attr rule = { .parent_fd = fd };
	struct stat st;

	if (p->ruleset < 0)
		return 0;
	if (fstat(fd, &st))
		return -errno;
	rule.allowed_access = ((allows & CONFINE_READ ? READS : 0) | (allows & CONFINE_WRITE ? OUTPUT : 0)) & p->handled;
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= OF_FILE;
	if (!rule.allowed_access)
		return 0;
	return syscall(SYS_landlock_add_rule, p->ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) ? -errno : 0;
}

int confine_places__add_path(struct confine_places *p, const char *path, unsigned int allows)
{
	int fd, err;

	if (p->ruleset < 0)
		return 0;
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	err = confine_places__add(p, fd, allows);
	close(fd);
	return err;
}

int confine_places__enter(struct confine_places *p)
{
	int err = 0;

	if (p->ruleset < 0)
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_landlock_restrict_self, p->ruleset, 0))
		err = -errno;
	close(p->ruleset);
	p->ruleset = -1;
	return err;
}
