/* SPDX-License-Identifier: BSD-2-Clause */
/* A core file, all the way: headers and notes, the section, the tables, stacks, names, labels, waits. */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "extprof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As `extprof dump --core` does, without the text. */
static void dump(const char *path)
{
	struct extprof_dump_options options = { .size = sizeof(options), .core = path, .native = true };
	struct extprof_error error = { .size = sizeof(error) };
	const struct extprof_dump_result *result;
	struct extprof_dump *d;

	if (extprof_dump_open(&d, &options, &error))
		return;
	for (int i = 0; i < 2; i++)
		extprof_dump_take(d, &result, &error);
	extprof_dump_close(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("core", MFD_CLOEXEC);
	char path[32];

	if (fd >= 0 && write(fd, data, size) == (ssize_t)size) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		dump(path);
	}
	if (fd >= 0)
		close(fd);
	return 0;
}
