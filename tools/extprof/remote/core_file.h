/* SPDX-License-Identifier: BSD-2-Clause */
/* A core file: the memory of a process, and its threads, at the moment when it was written. */
#ifndef EXTPROF_CORE_FILE_H
#define EXTPROF_CORE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/deadline.h"
#include "base/diag.h"
#include "process/memory.h"
#include "remote/task.h"

struct core;
struct stat;

/*
 * Open the file.  0 or -errno with the diagnosis; DIAG_USAGE: it is no core file of this machine.
 * On failure *core is NULL.  Nothing in the file is trusted.  The deadline bounds this and each read of the memory;
 * it lives as long as the core.
 */
int core__open(struct core **core, const char *path, struct deadline *deadline, struct diag *d);
void core__close(struct core *core);

/* The core file itself.  The files that it names are opened with the rights of its owner: see target_file.h. */
const struct stat *core__file(const struct core *core);

/* Its memory, as long as the core is open.  -EFAULT: the file does not have that address; -EINTR: the deadline is over. */
const struct memory *core__memory(const struct core *core);

/*
 * The address of the section rb_debug_ext.  It is found in the core file alone if this has the first pages of
 * programs, which the kernel and gcore(1) write by default.  Else it is looked for in the file `exe` (NULL: the one that
 * the process had), which has to have the same build id if both have one.  0 or -errno with the diagnosis.
 */
int core__find_section(struct core *core, const char *exe, uint64_t *section, struct diag *d);

/* Bytes that the file lacks at its end, by its own headers; 0: it is whole. */
uint64_t core__missing(const struct core *core);
/* The diagnosis if that is why something was not found.  -ENODATA. */
int core__tell_missing(const struct core *core, struct diag *d);
pid_t core__pid(const struct core *core);	/* that the process had; 0 unknown */
const char *core__command(const struct core *core);	/* clean; "" unknown */

/* Get what a native thread was doing; false: the file does not have the thread. */
bool core__task(const struct core *core, uint32_t tid, struct task *task);

#endif /* EXTPROF_CORE_FILE_H */
