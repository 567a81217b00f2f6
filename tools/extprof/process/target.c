/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/target.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "process/proc.h"

int target__read_error(const struct target *t, int err, const char *what, struct diag *d)
{
	switch (err) {
	case -EPERM:
	case -EACCES:
		diag__set(d, DIAG_PERMISSION, -err, "no permission to read %s of process %d",
			  what, t->pid);
		diag__hint(d, "%s", proc__advice());
		break;
	case -ESRCH:
	case -ENOENT:
		diag__set(d, DIAG_NO_PROCESS, -err, "process %d has ended", t->pid);
		break;
	case -ETIMEDOUT:
		diag__set(d, DIAG_NOT_READY, ETIMEDOUT, "%s of process %d cannot be read: the process makes such reads "
			  "wait", what, t->pid);
		diag__hint(d, "it is probably on a file system whose server does not answer (FUSE, NFS): see "
			   "/proc/%d/maps", t->pid);
		break;
	case -EBUSY:
		diag__set(d, DIAG_NOT_READY, EBUSY, "%s of process %d cannot be read: no process can be started that reads it",
			  what, t->pid);
		diag__hint(d, "there are as many processes as the limit allows (ulimit -u, pids.max of the cgroup), or as "
			   "many open files");
		break;
	case -EMFILE:
	case -ENFILE:
		return proc__no_descriptors(d, -err, t->pid);
	default:
		diag__set(d, DIAG_INTERNAL, -err, "cannot read %s of process %d: %s",
			  what, t->pid, strerror(-err));
	}
	return err;
}

bool target__exited(const struct target *t)
{
	struct pollfd p = { .fd = t->pidfd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

bool target__has_pid(const struct target *t)
{
	/* Signal 0 is not sent.  The kernel finds the process until it has been waited for. */
	return !syscall(SYS_pidfd_send_signal, t->pidfd, 0, NULL, 0) || errno != ESRCH;
}

void target__refresh(struct target *t)
{
	char raw[sizeof(t->command)];
	FILE *f = proc__open(t->pid, t->thread, GUARDED_CMDLINE);
	size_t n = f ? fread(raw, 1, sizeof(raw) - 1, f) : 0;

	if (f)
		fclose(f);
	if (!n || !target__has_pid(t))
		return;
	while (n > 0 && !raw[n - 1])
		n--;
	for (size_t i = 0; i < n; i++)
		if (!raw[i])
			raw[i] = ' ';
	raw[n] = '\0';
	text__clean(t->command, sizeof(t->command), raw);
}

static int no_process(struct diag *d, int err, pid_t pid)
{
	if (err == EMFILE || err == ENFILE)
		return proc__no_descriptors(d, err, pid);
	diag__set(d, DIAG_NO_PROCESS, err, "no such process: %d", pid);
	if (proc__is_of_others())
		diag__hint(d, "%s", proc__advice());
	return -err;
}

/* Sets t->key.pid and t->thread.  An error says what is wrong with the pid. */
static int read_status(struct target *t, struct diag *d)
{
	struct proc_status s;
	int err = proc_status__read(&s, t->pid, 0);

	if (err)
		return no_process(d, -err, t->pid);
	if (s.state == 'Z' || s.state == 'X') {
		t->thread = proc__other_thread(t->pid);
		if (!t->thread)
			return diag__set(d, DIAG_NO_PROCESS, ESRCH, "process %d has ended (it is a zombie)", t->pid);
	}
	if (s.group && s.group != t->pid) {
		diag__set(d, DIAG_NO_PROCESS, ESRCH, "%d is a thread, not a process", t->pid);
		diag__advise(d, ADVICE_PID, s.group);
		return -ESRCH;
	}
	/* Kernels without NSpid have no namespaces either. */
	t->key.pid = s.inner ? s.inner : (uint32_t)t->pid;
	return 0;
}

int target__open(struct target *t, pid_t pid, struct diag *d)
{
	char path[PROC_PATH_MAX];
	struct stat st;
	int err;

	memset(t, 0, sizeof(*t));
	t->pid = pid;
	t->pidfd = proc__keep_file((int)syscall(SYS_pidfd_open, pid, 0));
	if (t->pidfd < 0 && errno == ENOSYS)
		return diag__set(d, DIAG_NO_BPF, ENOSYS,
				 "this kernel is too old: it has no pidfd_open (Linux 5.3)");
	if (t->pidfd < 0 && errno != EINVAL && errno != ENOENT)
		return no_process(d, errno, pid);
	err = read_status(t, d);
	if (!err && t->pidfd < 0)
		err = no_process(d, ESRCH, pid);
	if (err)
		goto cleanup;
	proc__path(path, pid, t->thread, "ns/pid");
	if (stat(path, &st)) {
		err = target__read_error(t, -errno, "the namespace", d);
		goto cleanup;
	}
	t->key.pidns = (uint32_t)st.st_ino;
	target__refresh(t);
	if (target__has_pid(t))
		return 0;
	err = diag__set(d, DIAG_NO_PROCESS, ESRCH, "process %d has ended", pid);
cleanup:
	target__close(t);
	return err;
}

void target__close(struct target *t)
{
	if (!t)
		return;
	address_space__close(t->space);
	t->space = NULL;
	if (t->pidfd >= 0)
		close(t->pidfd);
	t->pidfd = -1;
}
