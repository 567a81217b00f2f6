/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that has the context of its threads in a variable of its own, with others around it.  It says where. */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

__thread char before[40] = "before";
_Alignas(64) __thread char aligned[3] = "a";
__thread void *otel_thread_ctx_v1;

int main(void)
{
	char c;

	printf("%ld\n", (long)((intptr_t)&otel_thread_ctx_v1 - (intptr_t)__builtin_thread_pointer()));
	fflush(stdout);
	/* Until the test has ended. */
	return read(0, &c, 1) < 0 || before[0] + aligned[0] == 0;
}
