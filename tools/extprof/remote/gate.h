/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Holds a program that starts where its VM is ready, and has run no code of its own: probes are attached to it then, and
 * miss nothing.  A thread traces the process with ptrace(2) from one system call to the next, through each exec, and
 * reads the state of the VM at each.  The kernel lets go of the process when that thread ends, in whatever way.
 *
 * While it is traced, wait(2) tells its parent of stops that are not for the parent.  So the parent asks with
 * waitid(2) and WNOWAIT, and takes only an end.
 */
#ifndef EXTPROF_GATE_H
#define EXTPROF_GATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/diag.h"

struct gate;

/* Trace the process, which has one thread and waits for its exec.  0 or -errno with the diagnosis; then *gate is NULL. */
int gate__open(struct gate **gate, pid_t pid, struct diag *d);
/* Readable once the process is held. */
int gate__fd(const struct gate *g);
/* Does it stand still, ready to be looked at? */
bool gate__holds(struct gate *g);
/* Let it go on, held or not, and trace it no more.  NULL is fine. */
void gate__close(struct gate *g);

#endif /* EXTPROF_GATE_H */
