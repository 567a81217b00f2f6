/* SPDX-License-Identifier: BSD-2-Clause */
/* The native threads of a process that is watched. */
#ifndef EXTPROF_WATCH_TASKS_H
#define EXTPROF_WATCH_TASKS_H

#include "remote/watch.h"

/* List them, if it is time, and read what the kernel has counted of each.  0 or -errno: -ESRCH there are none. */
int watch_tasks__look(struct watch *w, struct watcher *by, uint64_t now);
/* List them again at the next look: one was not in the list. */
void watch_tasks__list_again(struct watch *w);
/* The native thread with that number in the process's namespace; NULL: not known. */
struct watched_task *watch_tasks__find(const struct watch *w, uint32_t inner);
void watch_tasks__free(struct watch *w, struct watcher *by);

#endif /* EXTPROF_WATCH_TASKS_H */
