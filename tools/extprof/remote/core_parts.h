/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of a core file, for the files that read it. */
#ifndef EXTPROF_CORE_PARTS_H
#define EXTPROF_CORE_PARTS_H

#include <sys/stat.h>

#include "base/text.h"
#include "parser/parser.h"
#include "remote/core_code.h"
#include "remote/core_file.h"

struct segment {
	uint64_t address, size, offset;
};

/* A file that was mapped with its beginning. */
struct core_image {
	uint64_t start;
	char *path;		/* not clean */
};

struct core_range {
	uint64_t address, size;
	bool executable;
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
	struct core_row *rows;		/* of NT_FILE, by address once all is read */
	char **paths;			/* of these */
	struct core_range *ranges;	/* all that the file tells of, by address */
	uint32_t row_count, path_count, range_count;
	size_t row_room, path_room, range_room;
	pid_t pid;
	struct text command;
};

/* A mapping of NT_FILE, and a segment of memory.  0 or -ENOMEM. */
int core__add_row(struct core *core, uint64_t start, uint64_t end, uint64_t offset, const char *path);
int core__add_range(struct core *core, uint64_t start, uint64_t size, bool executable);
/* All are read. */
void core__sort_code(struct core *core);
void core__free_code(struct core *core);
/* Is the build id of the image at `start` that of the file?  False also if one of them has none. */
bool core__is_file(const struct core *core, uint64_t start, const struct parser_file *file);

#endif /* EXTPROF_CORE_PARTS_H */
