/* SPDX-License-Identifier: BSD-2-Clause */
/* Preloaded: the CPU in $OFFLINE_CPU has no perf events, as one that is offline, while
 * the file in $OFFLINE_WHILE exists. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As cpu_timers.c calls it: five arguments at most. */
long syscall(long number, ...)
{
	static long (*real)(long, long, long, long, long, long, long);
	const char *cpu = getenv("OFFLINE_CPU"), *file = getenv("OFFLINE_WHILE");
	__builtin_va_list args;
	long a[6];

	__builtin_va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = __builtin_va_arg(args, long);
	__builtin_va_end(args);
	if (!real)
		real = (long (*)(long, long, long, long, long, long, long))dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_perf_event_open && cpu && file && (int)a[2] == atoi(cpu) && !access(file, F_OK)) {
		errno = ENODEV;
		return -1;
	}
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
