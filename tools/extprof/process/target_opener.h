/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of target_file.c to the helper that opens files, and the answers. */
#ifndef EXTPROF_TARGET_OPENER_H
#define EXTPROF_TARGET_OPENER_H

#include "parser/helper.h"
#include "process/target_file.h"

enum opener_work {
	OPEN_MAPPED, OPEN_PATH, STAT_PATH, READ_LINE,
	COPY_PATH,			/* the descriptor is that of a copy in memory, which can be read without a wait */
	FIND_LINE			/* the first one that ends with a text, which is behind the path */
};

struct opener_request {
	uint64_t session;
	pid_t pid, thread;
	uid_t uid;
	gid_t gid;
	uint64_t size_max;
	uint64_t start, end, inode;	/* of a mapping */
	int32_t line;
	uint8_t work, is_exe, of_user, no_link;	/* no_link: a symbolic link is not followed, if it is the file */
	char path[];			/* with its end */
};

struct opener_answer {
	struct stat st;
	uint32_t size;			/* of the line */
	char line[TARGET_FILE_LINE_MAX];
};

extern const struct helper_role target_opener;

#endif /* EXTPROF_TARGET_OPENER_H */
