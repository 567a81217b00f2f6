/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the map that a JIT writes of its functions, /tmp/perf-PID.map, if it is that of a process and of its program. */
#ifndef EXTPROF_JIT_MAP_WORK_H
#define EXTPROF_JIT_MAP_WORK_H

#include "native/native_work.h"

/*
 * Work of the kind NATIVE_MAP.  native_work::err: -ENOENT there is none; -EACCES it is of another user; -ESTALE it was made, or
 * written last, before the program began; -EAGAIN it is being written anew, or has become smaller and was not read twice like that; -E2BIG it
 * has too many functions; -ESRCH the process has ended, or executes something else; or another one, as of target_file.h and
 * parser.h.  If there is an error there are no names.
 */
void jit_map_work__run(struct native_work *w, struct deadline *deadline);

#endif /* EXTPROF_JIT_MAP_WORK_H */
