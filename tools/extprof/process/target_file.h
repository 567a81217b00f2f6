/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one way to open a file that a target names: its program, its libraries, its source files, and what a core
 * file says of them.  The target chooses path, file and file system.  So this is done by a helper process
 * (parser/helper.h), which can be given up when the file system does not answer, and
 *  - in the mount namespace and below the root directory of the process;
 *  - with its file system user, groups, and its capabilities to override permissions, or fewer;
 *  - first without opening it for reading (O_PATH): nothing but a regular file of a real file system, that is not
 *    larger than its kind is, is opened.  To open a FIFO or a device can have effects.
 *
 * The files that the process has mapped are those of the kernel's own links, /proc/PID/exe and map_files.  Those
 * need no path and no rights: the process has had them.  If there are no such links, the path is taken.
 */
#ifndef EXTPROF_TARGET_FILE_H
#define EXTPROF_TARGET_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/deadline.h"
#include "process/mapping.h"

#define TARGET_FILE_LINE_MAX 512u		/* bytes of a line */
#define TARGET_FILE_SOURCE_MAX (64ull << 20)	/* bytes of a source file */
#define TARGET_FILE_TEXT_MAX (4ull << 20)	/* of one that is shown as a whole */
#define TARGET_FILE_ELF_MAX (16ull << 30)	/* of a program: with debugging information it can be large */

/* Whose files they are. */
struct target_files {
	uint64_t session;	/* the helper knows by this that the process is still the same */
	pid_t pid, thread;	/* thread: see proc.h.  pid 0: of nobody who lives, as for a core file */
	uid_t uid;		/* if so: whose rights are taken */
	gid_t gid;
	uint64_t owner;		/* see helper_request */
	struct deadline *deadline;	/* NULL none */
	bool of_user;		/* the user named the path: any path is meant as it is */
	bool silent;		/* they did not answer once: nobody waits for them again */
};

void target_files__of_process(struct target_files *f, pid_t pid, pid_t thread, struct deadline *deadline);
/*
 * The files that a core file names, in this mount namespace, with the rights of the core file's owner: `core` is
 * from fstat().
 */
void target_files__of_core(struct target_files *f, const struct stat *core);
/* A file that the user names, with the user's rights. */
void target_files__of_user(struct target_files *f);

/*
 * Each returns a descriptor or 0, or -errno: -ENOENT there is none, or it is another one now; -EACCES the process
 * may not read it, or its rights cannot be taken; -EINVAL it is no regular file of a real file system; -EFBIG it is
 * larger than its kind is; -ETIMEDOUT it did not answer; -EINTR the deadline is over; or another one.
 */

/* The file behind the mapping, also if it has been deleted or replaced since. */
int target_file__open_mapped(struct target_files *f, const struct mapping *m, struct stat *st);
/* A program or a library, by its path. */
int target_file__open_elf(struct target_files *f, const char *path, struct stat *st);
/* A source file, by its whole path or below the working directory of extprof. */
int target_file__open_source(struct target_files *f, const char *path, struct stat *st);
/* The same of a copy, of at most so many bytes, which can be read without a wait; *st is that of the file. */
int target_file__copy_source(struct target_files *f, const char *path, uint64_t size_max, struct stat *st);
/* A file that is no symbolic link, of at most so many bytes. */
int target_file__open_plain(struct target_files *f, const char *path, uint64_t size_max, struct stat *st);
/* The first `size` bytes of a file that was opened so, and a NUL; *length: how many of them are there now.  The caller
 * frees them.  NULL: out of memory. */
char *target_file__read(int fd, size_t size, size_t *length);
/* Not of the file's content: whoever may look it up may know it. */
int target_file__stat(struct target_files *f, const char *path, struct stat *st);
/* A line from 1, as it is in the file, without its end; *size bytes.  -ENOENT also if there is no such line. */
int target_file__line(struct target_files *f, const char *path, int32_t line, char to[TARGET_FILE_LINE_MAX],
		      size_t *size);

/* The first line that ends with that text, without its end; *size bytes.  -ENOENT: there is none. */
int target_file__line_that_ends(struct target_files *f, const char *path, const char *ending, char to[TARGET_FILE_LINE_MAX],
				size_t *size);

#endif /* EXTPROF_TARGET_FILE_H */
