/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks like a ruby of old: its symbols, and no section. */
#include <unistd.h>

const char ruby_version[] = "2.1.0";
void ruby_init(void);
void ruby_init(void) { }

int main(void)
{
	return (int)sleep(30);
}
