/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the frames of --group-by are called.  Each text has three lines: the name of the frame, the
 * name of a wider group that it belongs to, and a number.  A thread belongs to the threads of its
 * pattern and has its tid, a process to its cgroup and has its pid; 0: not known.  All names are clean,
 * so a newline cannot be a part of one.
 */
#ifndef EXTPROF_GROUP_NAMES_H
#define EXTPROF_GROUP_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "profile/processes.h"
#include "ruby/labels.h"
#include "ruby/threads.h"

/* "[thread job-1 (42)]", "[thread job-*]", "42" */
void group_names__add_thread(const struct thread *thread, struct text *out);

/*
 * A native thread that has no Ruby thread, or of which that is unknown.  comm: at most `size`
 * bytes of the process's.  "[native thread ruby-1 (42)]", "[native thread ruby-*]", "42"; tid 0: unknown.
 */
void group_names__add_no_thread(const char *comm, size_t size, uint32_t tid, bool unknown,
				struct text *out);

/* "[request=GET /x]", "[no request]", "[request: expired]", "[request: not read]", and one line only.
 * value: of LABEL_SET. */
void group_names__add_label(const char *key, enum label_state state, const struct label_record *value,
			    struct text *out);
void group_names__add_crowded_label(const char *key, struct text *out);

/* "[process 42 puma]", "[cgroup /system.slice/web.service]", "42" */
void group_names__add_process(const struct process_row *row, struct text *out);

/*
 * What a user calls a process, from its whole (clean) command line: the file name of the script,
 * or of the program if there is no script.  `bundle exec X` is X.
 */
void group_names__add_command(const char *line, struct text *out);

#endif /* EXTPROF_GROUP_NAMES_H */
