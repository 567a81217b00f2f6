/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/permission.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

bool permission__granted(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data))
		return false;
#define HAS(cap) (data[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap))
	return HAS(CAP_SYS_ADMIN) || (HAS(CAP_BPF) && HAS(CAP_PERFMON));
#undef HAS
}

int permission__missing(struct diag *d, int err, const char *what)
{
	diag__set(d, DIAG_PERMISSION, -err, "no permission to %s", what);
	if (permission__granted())
		diag__hint(d, "extprof has the capabilities, so something else forbids it: a container's "
			   "seccomp profile or user namespace, a security module, or the kernel's "
			   "lockdown (/sys/kernel/security/lockdown)");
	else
		diag__hint(d, "run extprof as root: sudo extprof ...; it needs the capabilities CAP_BPF and "
			   "CAP_PERFMON (before Linux 5.8: CAP_SYS_ADMIN), and CAP_SYS_PTRACE for processes of "
			   "other users.  PERMISSIONS in extprof(1) shows how to give them to some users only");
	return err;
}
