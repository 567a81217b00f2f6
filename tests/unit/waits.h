/* SPDX-License-Identifier: BSD-2-Clause */
/* Wait for other processes. */
#ifndef WAITS_H
#define WAITS_H

#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Until it waits and has left its CPU: that is when the kernel tells its system call.  Or until it has ended. */
__attribute__((unused)) static void wait_until_off_cpu(pid_t of)
{
	char path[64], text[16] = "running";

	snprintf(path, sizeof(path), "/proc/%d/syscall", of);
	while (!strncmp(text, "running", 7)) {
		FILE *f;

		usleep(1000);
		f = fopen(path, "re");
		if (!f || !fgets(text, sizeof(text), f))
			text[0] = '\0';
		if (f)
			fclose(f);
	}
}

#endif /* WAITS_H */
