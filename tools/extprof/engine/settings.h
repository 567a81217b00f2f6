/* SPDX-License-Identifier: BSD-2-Clause */
/* The settings of a recording, as its caller wants them. */
#ifndef EXTPROF_SETTINGS_H
#define EXTPROF_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/log.h"
#include "engine/search.h"
#include "engine/reader.h"
#include "profile/groups.h"
#include "process/cgroup.h"
#include "profile/owner_dirs.h"
#include "profile/transform.h"
#include "source/event_spec.h"
#include "source/mode.h"
#include "engine/triggers.h"
#include "source/syscall_set.h"
#include "source/timer.h"

/* Which processes are profiled. */
struct selection {
	const pid_t *pids;	/* of the caller */
	uint32_t pid_count;
	bool all;		/* every ruby of the machine, those that start later too */
	bool subprocesses;	/* all that these fork and start */
	/* Choose among them; unset: no condition. */
	bool by_user;
	uid_t user;
	const char *name;	/* fnmatch(3) pattern of the command's name or of the script's */
	const char *cgroup;	/* that and what is below it; path as in /proc/PID/cgroup, "/" is all */
};

/* Does the process fit the conditions now? */
bool selection__accepts(const struct selection *sel, const struct cgroup *cgroup, pid_t pid);

enum settings_waits {
	WAITS_BY_MODE,		/* of wall alone WAITS_RATE, else WAITS_EACH */
	WAITS_EACH,
	WAITS_RATE,		/* one sample for each period of short waits, see source_options::each_wait */
};

#define SETTINGS_KEEP_MAX 100000u
/* With triggers: files that are there until it is known that none needs them. */
#define SETTINGS_RETAIN_MAX 1000u

struct settings {
	size_t size;		/* of this structure */
	struct selection selection;
	bool command;		/* the first pid is a command that waits to be started */
	bool hold_command;	/* trace it until its ruby is ready, so that probes miss nothing of it */
	const struct mode *modes[MODES_MAX];	/* each once */
	uint32_t mode_count;	/* at least 1 */
	enum reader_kind reader;
	uint32_t rate;		/* samples per second and CPU */
	enum timer_kind timer;
	uint32_t states;	/* that modes with states show, a mask of 1u << enum thread_state; 0: all */
	enum settings_waits waits;	/* which waits are samples */
	uint32_t details;	/* what is told of waits besides their states: a mask of WAIT_DETAIL_ of wire/wait_details.h */
	bool native;		/* stacks have the functions of native code: mode cpu */
	bool all_native;	/* processes without a ruby have samples, too */
	bool native_vm;		/* functions of the VM have their names */
	bool no_demangle;	/* names of native functions are as in the file */
	bool native_lines, inlined;	/* reports have lines of native frames, and inlined functions */
	bool kernel;		/* stacks have the functions of the kernel */
	uint64_t alloc_interval;	/* bytes between two samples of mode alloc, on average; at least 1 */
	struct syscall_set syscalls;	/* of mode syscall; none is all */
	bool syscall_latency;
	const struct event_spec *events;	/* of mode event, of the caller */
	uint32_t event_count;
	uint64_t event_period;		/* 0: as each event says, each system call */
	bool figures;		/* sums of what processes do, see engine/figures.h; not with modes that show waits */
	bool syscall_figures;	/* of system calls too; not with the mode that shows these */
	uint64_t duration;	/* ns that are recorded, 0: until the processes have ended, or engine__end() */
	uint64_t delay;		/* ns from the begin until something is recorded */
	bool start_paused;	/* nothing is recorded before engine__resume() */
	uint64_t rotate_time, rotate_size;	/* ns and bytes that a file of the recording has; 0, 0: there is one file */
	uint64_t keep;		/* of these the newest, SETTINGS_KEEP_MAX at most; 0: all */
	/* With triggers there are files of rotate_time, and of those that are kept the newest are; not if `around` is 0. */
	struct trigger triggers[TRIGGERS_MAX];
	uint32_t trigger_count;
	uint64_t around;	/* ns before and after a trigger fires that are kept; 0: all files stay as they would without triggers */
	uint64_t retain;	/* ns for which files are there in any case: at least `around` */
	/* Keys were not chosen: by process first if there is more than one, then by `groups`. */
	bool group_by_default;
	struct groups groups;
	uint32_t labels;	/* groups that outputs want besides: a mask as output_format::labels */
	bool lines;		/* frames are told apart by line */
	const char *deployment;	/* of the caller: the name of what was deployed; NULL none */
	bool sources;		/* a recording has the source files that were seen */
	bool idle;		/* reports show idle threads as others, see profile/idle.h */
	bool idle_apart;	/* else also those of nothing but idle threads do not show them */
	struct transform transform;	/* what reports show of it */
	struct owner_dirs apps;	/* where the application is; none: where the processes were found to work */
	int interrupt_fd;	/* readable: the caller wants control back; -1 none */
	struct log_to log;	/* of what is searched and found */
	struct executor executor;	/* does searches; without a `submit` the engine has threads for them */
};

#endif /* EXTPROF_SETTINGS_H */
