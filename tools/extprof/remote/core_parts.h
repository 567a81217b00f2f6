/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of a core file, for the files that read it. */
#ifndef EXTPROF_CORE_PARTS_H
#define EXTPROF_CORE_PARTS_H

#include <sys/stat.h>

#include "base/text.h"
#include "remote/core_file.h"

struct segment {
	uint64_t address, size, offset;
};

/* A file that was mapped with its beginning. */
struct core_image {
	uint64_t start;
	char *path;		/* not clean */
};

struct core {
	int fd;
	struct stat file;
	uint64_t file_size, told_size;	/* bytes; told_size: that it has by its headers */
	struct deadline *deadline;
	uint32_t notes_left, note_bytes_left;
	struct memory memory, content;	/* of the process; of the file: an address is an offset */
	struct segment *segments;	/* by address */
	uint32_t segment_count, thread_count, image_count;
	size_t segment_room, thread_room, image_room;
	struct task *threads;
	struct core_image *images;
	pid_t pid;
	struct text command;
};

#endif /* EXTPROF_CORE_PARTS_H */
