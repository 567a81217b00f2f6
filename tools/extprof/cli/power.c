/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/power.h"

#include <linux/capability.h>

#define CAP(name) (1ull << CAP_##name)

/*
 * Outputs go into folders of any user, get the owner of the file before or the user who called sudo, and then a mode and a
 * name.  Files of /proc belong to the users of the processes.
 */
#define FILES (CAP(DAC_OVERRIDE) | CAP(DAC_READ_SEARCH) | CAP(CHOWN) | CAP(FOWNER))
/* Memory; /proc/PID/map_files; a helper opens files with the rights of the process that names them. */
#define PROCESSES (CAP(SYS_PTRACE) | CAP(CHECKPOINT_RESTORE) | CAP(SETUID) | CAP(SETGID))
#define KERNEL (CAP(BPF) | CAP(PERFMON))
/* Older kernels do not have these: CAP_SYS_ADMIN includes them there. */
#define PARTS_OF_ADMIN (KERNEL | CAP(CHECKPOINT_RESTORE))

uint64_t power__wanted(const struct power_needs *n, uint64_t permitted)
{
	uint64_t wanted = FILES;

	if (n->nothing)
		return 0;
	if (n->processes && n->only_equals)
		return permitted;
	if (n->processes)
		wanted |= PROCESSES;
	if (n->kernel)
		wanted |= KERNEL | CAP(SYSLOG);	/* addresses in /proc/kallsyms */
	if (n->command)
		wanted |= CAP(KILL);
	if (n->kernel && n->locked_memory)
		wanted |= CAP(SYS_RESOURCE);
	if (n->tracefs || (n->kernel && n->admin) || (wanted & PARTS_OF_ADMIN & ~permitted))
		wanted |= CAP(SYS_ADMIN);
	return wanted & permitted;
}
