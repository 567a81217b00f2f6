/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of /proc: read whole, and parsed whatever names are in them. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/proc_file.h"

TEST(proc_files_are_read_whole)
{
	char path[] = "/tmp/extprof-unit-XXXXXX";
	int fd = mkstemp(path);
	struct proc_status s;
	struct proc_text t;
	FILE *f = fdopen(fd, "w");

	/* As of a user of a directory service, who is in many groups. */
	fputs("Name:\tx\nState:\tS (sleeping)\nTgid:\t7\nPid:\t8\nPPid:\t6\nTracerPid:\t5\nUid:\t1\t2\t3\t4\nGroups:\t", f);
	for (int i = 0; i < 65536; i++)
		fprintf(f, "%d ", 1000000000 + i);
	fputs("\nNStgid:\t7\t2\nNSpid:\t8\t3\nvoluntary_ctxt_switches:\t11\nnonvoluntary_ctxt_switches:\t12\n", f);
	fclose(f);
	CHECK_INT(proc_text__read(&t, AT_FDCWD, path), 0);
	proc_status__parse(&s, t.text);
	proc_text__free(&t);
	CHECK(s.state == 'S' && s.group == 7 && s.parent == 6 && s.tracer == 5 && s.inner == 3);
	CHECK(s.users[0] == 1 && s.users[3] == 4 && s.voluntary == 11 && s.involuntary == 12);
	CHECK(!truncate(path, 16 << 20));
	CHECK_INT(proc_text__read(&t, AT_FDCWD, path), -E2BIG);
	CHECK_STRING(t.text, "");
	unlink(path);
	CHECK_INT(proc_text__read(&t, AT_FDCWD, path), -ESRCH);
}

TEST(proc_stat_has_any_name)
{
	struct proc_stat s;

	proc_stat__parse(&s, "42 (a) b) R 1 (x) S 7 8 9 10 11 4194304 21 0 22 0 23 24 0 0 20 0 5 0 999 1 2 3 4 5 6 7 8 9 10 "
			     "11 12 13 14 15 17 3 1 0 0\n");
	CHECK(s.state == 'S' && s.parent == 7 && s.flags == 4194304 && s.minor_faults == 21 && s.major_faults == 22);
	CHECK(s.user == 23 && s.threads == 5 && s.started == 999 && s.cpu == 3 && s.realtime);
	proc_stat__parse(&s, "");
	CHECK(!s.state && s.cpu == -1);
	CHECK_INT(proc_stat__read(&s, getpid(), 0), 0);
	CHECK_INT(s.parent, getppid());
}

TEST(proc_files_of_this_process)
{
	char comm[16], expected[16];
	struct proc_status s;
	struct proc_text t;
	FILE *f = fopen("/proc/self/comm", "re");

	CHECK(f && fgets(expected, sizeof(expected), f));
	fclose(f);
	expected[strcspn(expected, "\n")] = '\0';
	proc__comm(getpid(), 0, comm, sizeof(comm));
	CHECK_STRING(comm, expected);
	CHECK_INT(proc_status__read(&s, getpid(), getpid()), 0);
	CHECK(s.group == getpid() && s.parent == getppid() && s.users[0] == getuid() && s.users[1] == geteuid());
	CHECK(s.state == 'R' && s.inner > 0 && !s.tracer);
	/* No process has that number. */
	CHECK_INT(proc_status__read(&s, 1 << 30, 0), -ESRCH);
	CHECK(!s.state && !s.group);
	proc__comm(1 << 30, 0, comm, sizeof(comm));
	CHECK_STRING(comm, "");
	CHECK_INT(proc_text__read(&t, AT_FDCWD, "/proc"), -EISDIR);
	proc_text__free(&t);
}
