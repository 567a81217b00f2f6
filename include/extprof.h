/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libextprof: profiles running Ruby programs from outside.
 *
 * Two objects make samples.  A recording (struct extprof_recording) finds processes, samples them with
 * the library's own BPF programs and gives a report (struct extprof_report).  A target (struct
 * extprof_target) is for a BPF program of the caller's: it tells that program where the stacks of one
 * process are, and gives the names of what the program sends.
 *
 * Errors: a function that can fail returns 0 or more, or a negative errno.  If its last argument is not
 * NULL, it fills it with a code and a text then.  The library prints nothing, handles no signals,
 * changes no umask and never exits.  Its own threads block all signals.  Files of processes are opened and
 * parsed in processes of its own: copies of the caller, made when one is first needed, without its descriptors.
 * They run none of its code, send no SIGCHLD, are not seen by wait(), and end with it.
 *
 * Threads: one object is used by one thread at a time.  Different objects can be used by different
 * threads at the same time.  While a recording is opened, libbpf's print callback is replaced for a moment,
 * under a lock of the library.
 *
 * Ownership: what a function returns belongs to the object that it was asked of, and lives as long as
 * that object if nothing else is said.  Arguments are copied if nothing else is said.
 *
 * Texts are UTF-8 without control characters, whatever a profiled process has in its memory.
 *
 * A structure that the caller fills begins with its size.  Zero the rest: zero is each default.  A later version appends
 * fields, each of the size of a pointer, so that none lies in what was padding; a program that was compiled with an older
 * header has a smaller size, and gets the defaults.
 */
#ifndef EXTPROF_H
#define EXTPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EXTPROF_API __attribute__((visibility("default")))

/* "0.1.0": of the library that runs. */
EXTPROF_API const char *extprof_version(void);

/* -- errors ---------------------------------------------------------------------------------- */

/* Codes are only appended. */
enum extprof_code {
	EXTPROF_OK = 0,
	EXTPROF_USAGE,		/* an argument that is wrong, or too much for this machine */
	EXTPROF_NOT_RUBY,	/* the process is not a ruby */
	EXTPROF_NO_PROCESS,	/* there is no such process, or it ended too early */
	EXTPROF_NO_INTERFACE,	/* a ruby without the debugging interface */
	EXTPROF_INTERNAL,	/* out of memory, or a bug */
	EXTPROF_NO_BPF,		/* the kernel lacks BPF or BTF */
	EXTPROF_OUTPUT,		/* the output cannot be written */
	EXTPROF_NOT_READY,	/* the ruby is starting, forking or ending: try again */
	EXTPROF_VERSION_MISMATCH, /* the version or layout of the interface is not supported */
	EXTPROF_PERMISSION,
	EXTPROF_COMMAND,	/* the command could not be run */
	EXTPROF_RECORDING	/* a file is no recording, or it is damaged */
};

struct extprof_error {
	size_t size;		/* by the caller: sizeof(struct extprof_error) */
	int code;		/* enum extprof_code */
	char text[640];		/* what happened, one line */
	char hint[640];		/* what to do next, one line; "" if there is nothing to say */
	int advice;		/* enum extprof_advice: a setting that would help */
	long advice_value;
};

/* The caller knows what its user calls these settings.  Values are only appended. */
enum extprof_advice {
	EXTPROF_ADVICE_NONE = 0,
	EXTPROF_ADVICE_CLOCK = 1,	/* the timer "clock" instead of "tick" */
	EXTPROF_ADVICE_PID = 2,		/* the process `advice_value` instead */
	EXTPROF_ADVICE_SUBPROCESSES = 3,	/* the subprocesses too: `hint` says what they did */
	EXTPROF_ADVICE_EXE = 4		/* the program of the core file: extprof_dump_options.exe */
};

/*
 * A text of any origin as one line of printable UTF-8, in at most `size` bytes with its end: control characters
 * and what is no UTF-8 become \xNN, and what has no room is left out at the end.
 */
EXTPROF_API void extprof_clean(char *to, size_t size, const char *from);

/* -- doctor ---------------------------------------------------------------------------------- */

enum extprof_check_verdict {
	EXTPROF_CHECK_GOOD = 0,
	EXTPROF_CHECK_LIMITED = 1,	/* it works in another way, costs more, or sees less */
	EXTPROF_CHECK_BAD = 2		/* samples by the kernel are impossible, or that ruby cannot be profiled */
};

/* Texts live until the callback returns. */
struct extprof_check {
	size_t size;		/* by the library */
	const char *name;	/* what was looked at, one or two words: "kernel", "ruby 1234" */
	enum extprof_check_verdict verdict;
	int code;		/* enum extprof_code: why it is bad; EXTPROF_OK if it is not */
	const char *text;	/* what was found, one line */
	const char *advice;	/* what to do about it, one line; "" if there is nothing to say */
	pid_t pid;		/* of the ruby that this is about; 0: of none */
};

typedef void (*extprof_check_fn)(void *context, const struct extprof_check *check);

/*
 * Look at what extprof can do here: the kernel, the permissions, what can forbid more, and each ruby of the
 * machine with and without the interface.  Calls `each` for each of these, at last for all rubies together.
 * Loads a BPF program of two instructions and opens a timer, and closes both.  Lasts some 0.1 s, and at most 7 s
 * if processes do not answer.  Replaces libbpf's print callback meanwhile.  0 or a negative errno.
 */
EXTPROF_API int extprof_doctor(extprof_check_fn each, void *context, struct extprof_error *error);

/* -- words ----------------------------------------------------------------------------------- */

/* Where words are chosen from.  Values are only appended. */
enum extprof_words {
	EXTPROF_MODES = 0,
	EXTPROF_FORMATS = 1,
	EXTPROF_TIMERS = 2,
	EXTPROF_GROUPS = 3,
	EXTPROF_UNITS = 4,
	EXTPROF_STATES = 5,
	EXTPROF_WAITS = 6,
	EXTPROF_EVENTS = 7,	/* of perf; other events are written as extprof_recording_options::events says */
	EXTPROF_SYSCALLS = 8,	/* of this machine */
	EXTPROF_READERS = 9
};

/* The words of one kind, from 0; NULL behind the last one. */
EXTPROF_API const char *extprof_word(enum extprof_words kind, size_t i);

struct extprof_mode_info {
	size_t size;		/* by the caller: sizeof(struct extprof_mode_info) */
	const char *name;
	const char *help;	/* what it shows, one line */
	bool has_states;	/* extprof_recording_options::states and ::waits are about it */
	const char *below;	/* the frames below its code, for a title: "state", "class", "system call", "event" */
	bool at_end;		/* it shows what is there when the recording ends, and no windows of time can be added up */
};
/* 0; -ENOENT: there is no mode of that name; -EINVAL: no size. */
EXTPROF_API int extprof_mode_info(const char *name, struct extprof_mode_info *info);

struct extprof_format_info {
	size_t size;		/* by the caller: sizeof(struct extprof_format_info) */
	const char *name;
	const char *help;	/* what it is, one line; NULL: nothing is said */
	bool one_mode;		/* a recording of several modes cannot be written in it */
	const char *const *suffixes; /* of its files: ".svg" */
	size_t suffix_count;
	bool of_files;		/* only extprof_recorded_write() has it */
};
/* 0; -ENOENT: there is no format of that name; -EINVAL: no size. */
EXTPROF_API int extprof_format_info(const char *name, struct extprof_format_info *info);
/* The format for a file of that name, by its suffix, and "folded" for "-"; NULL: no format has such a suffix. */
EXTPROF_API const char *extprof_format_of_file(const char *path);

/* -- stacks ---------------------------------------------------------------------------------- */

/* Kinds are only appended. */
enum extprof_frame_kind {
	/* Code. */
	EXTPROF_FRAME_RUBY = 0,
	EXTPROF_FRAME_C = 1,		/* a method in C */
	EXTPROF_FRAME_BUILTIN = 2,	/* a part of Ruby itself, in Ruby */
	EXTPROF_FRAME_NATIVE = 3,	/* machine code of a program or library */
	EXTPROF_FRAME_KERNEL = 4,	/* a function of the kernel */
	EXTPROF_FRAME_GC = 5,		/* garbage collection */
	EXTPROF_FRAME_NO_RUBY = 6,	/* a thread, or a part of the VM, without Ruby code */
	EXTPROF_FRAME_MARK = 7,		/* frames or a name are missing here: truncated, merged, expired */
	/* Groups: see extprof_recording_options::groups. */
	EXTPROF_FRAME_PROCESS = 8,
	EXTPROF_FRAME_THREAD = 9,
	EXTPROF_FRAME_CGROUP = 10,
	EXTPROF_FRAME_LABEL = 11,
	/* Below the code. */
	EXTPROF_FRAME_STATE = 12,	/* of a thread that did not run */
	EXTPROF_FRAME_CLASS = 13,	/* of an object that was allocated */
	EXTPROF_FRAME_CALL = 14,	/* a system call */
	EXTPROF_FRAME_EVENT = 15,
	EXTPROF_FRAME_DETAIL = 16	/* below a state: the file that it waited on, who held it, who ended the wait */
};

/* The states of threads.  Values are only appended. */
enum extprof_state {
	EXTPROF_STATE_RUNNING = 0,
	EXTPROF_STATE_RUNNABLE = 1,	/* it waits for a CPU */
	EXTPROF_STATE_GVL = 2		/* it waits for the GVL; extprof_word(EXTPROF_STATES, i) names all */
};

/* Whose code is in a file, by its path: see docs/application.md.  Values are only appended. */
enum extprof_code_owner {
	EXTPROF_CODE_NONE = 0,		/* its caller's: a C method; or unknown */
	EXTPROF_CODE_APP = 1,		/* the application's: extprof_recording_options::app */
	EXTPROF_CODE_GEM = 2,
	EXTPROF_CODE_STDLIB = 3,	/* the standard library's */
	EXTPROF_CODE_RUBY = 4,		/* Ruby's own, in Ruby */
	EXTPROF_CODE_OTHER = 5		/* no gem's, and not below `app` */
};

/* Which row of a table has the time of a frame.  Values are only appended. */
enum extprof_frame_part {
	EXTPROF_PART_OWN = 0,		/* its own */
	EXTPROF_PART_OF_CALLER = 1,	/* that of the code that called it */
	EXTPROF_PART_NONE = 2		/* unknown */
};

/* Made by the library only: fields are added at the end. */
struct extprof_frame {
	const char *name;	/* as it is shown: "Foo#bar", "vfs_read_[k]", "[GC mark]", "[thread worker 1 (42)]", "[request=GET /x]" */
	const char *path;	/* of the code; "": unknown */
	int32_t line;		/* the line that ran, from 1; 0: unknown, or not asked for */
	int32_t first_line;	/* of the method or block, from 1; 0: unknown */
	bool approximate;	/* `line` may be another one of the same code */
	int kind;		/* enum extprof_frame_kind */
	/* The parts of `name`, so that nobody has to take it apart. */
	const char *bare;	/* without kind, number and key: "mark", "vfs_read", "worker 1", "GET /x" */
	const char *key;	/* of a label; of a detail "file", "holder" or "waker"; of machine code the build id of its file, in
				 * hex; of a process its host, as extprof_report_process::host; "": none */
	bool has_value;		/* of a label: `bare` is its value, not why there is none */
	const char *module;	/* of machine code, its file; of the kernel, its module; "": unknown, or none */
	uint64_t address;	/* of machine code, in that file */
	int state;		/* of kind STATE: the number of its word in EXTPROF_STATES; else -1 */
	uint32_t pid;		/* of a process; 0: unknown, or of several */
	uint32_t tid;		/* of a thread; the same */
	/* Of Ruby code in a report. */
	int owner;		/* enum extprof_code_owner: whose code it is */
	const char *owner_name;	/* of a gem; of the standard library the part: "net"; "": none */
	const char *owner_version;	/* of a gem: "3.1.8", or the commit of one from git; "": none */
	/* enum extprof_frame_part.  By line, C methods, the collector and waits are of their caller; by method, waits and blocks
	 * in C are. */
	int line_part, method_part;
};

/* Made by the library only: fields are added at the end. */
struct extprof_stack {
	const struct extprof_frame *const *frames;	/* outermost first */
	size_t count;
	size_t groups;		/* so many of the outermost ones are groups */
	uint64_t value;		/* in the unit of the report: samples, ns, bytes */
};

/* -- recordings ------------------------------------------------------------------------------ */

struct extprof_recording;
struct extprof_report;

/*
 * A line about what the recording does, without a newline.  It is called by the thread that calls a
 * function of the recording, during that call.  It must not call a function of the same recording.
 */
typedef void (*extprof_log)(void *context, const char *line);

/*
 * Where the slow work of a recording is done: finding the ruby in a process, and symbols in its files.  A process
 * can make that last as long as it wants.
 */
struct extprof_executor {
	size_t size;		/* sizeof(struct extprof_executor) */
	/*
	 * Have work(argument) called once: by another thread, or at once by this one, if it may take that long.  Functions
	 * of the recording call submit(), and extprof_recording_begin() waits for work.  0, or a negative errno: it is not
	 * called, and the library tries again later.  Work must be called even if the recording has been destroyed
	 * meanwhile: then it does nothing but free memory.
	 */
	int (*submit)(void *context, void (*work)(void *argument), void *argument);
	void *context;		/* for submit */
};

struct extprof_recording_options {
	size_t size;		/* sizeof(struct extprof_recording_options) */

	/* Which processes: at least one of `pids` or `all`. */
	const pid_t *pids;	/* in the pid namespace of the caller */
	size_t pid_count;
	bool all;		/* every ruby of the machine, those that start later too */
	bool subprocesses;	/* also all that the processes fork and start */
	bool command;		/* pids[0] has not executed its program yet: a child that waits for the caller */
	bool by_user;		/* choose among them: processes of `user` only */
	uid_t user;
	const char *name;	/* choose: fnmatch(3) pattern of the name of command or script; NULL: any */
	const char *cgroup;	/* choose: path as in /proc/PID/cgroup, and what is below it; NULL: any */

	/* What is sampled. */
	uint32_t rate;		/* samples per second and CPU; 0: 99 */
	const char *timer;	/* "clock" or "tick"; NULL: "clock" */
	uint64_t duration;	/* ns that are recorded, without pauses; 0: until the processes end, or the caller ends it */

	/* What is shown. */
	const char *groups;	/* outermost frames: "process", "command", "thread", "thread-pattern", "cgroup",
				 * "label:KEY" (see docs/labels.md), "trace", "span", several with commas, or "none"; NULL: "process" if there are several, or
				 * "command" in a flame graph and a tree, else "none" */
	const char *formats;	/* that extprof_recording_write() is to write: names with commas; NULL: those
				 * that need no groups besides the ones above */
	bool lines;		/* frames are told apart by the line that runs */

	const int *interrupt_fd; /* the caller's descriptor, open until the recording is destroyed.  While it is readable
				 * slow work is cut short, and samples that wait are given up and counted as
				 * lost: read it before extprof_recording_finish().  It is looked up when the
				 * recording is created.  NULL, or -1 in it: none */
	extprof_log log;	/* NULL: none */
	void *log_context;

	const char *modes;	/* EXTPROF_MODES, several with commas; NULL: those that the options below are for, else "cpu" */

	bool threads;		/* besides `groups`: "thread" as the innermost one, or "thread-pattern" if they are many */
	/* For modes with states. */
	const char *states;	/* EXTPROF_STATES that are shown, several with commas; NULL: all */
	const char *waits;	/* which waits are samples, one of EXTPROF_WAITS; NULL: "rate" if the only mode
				 * with states is "wall", else "each" */
	/* For the modes "alloc" and "heap". */
	uint64_t alloc_interval; /* bytes between two samples, on average; 0: 512 KiB */
	/* For mode "syscall". */
	const char *syscalls;	/* names or numbers with commas, "all"; NULL: all */
	bool syscall_latency;	/* how long they took, not how many there were */
	/* For mode "event": EXTPROF_EVENTS_MAX at most. */
	const char *const *events; /* EXTPROF_EVENTS; "CATEGORY:NAME", a tracepoint; "FILE:SYMBOL", a function;
				 * "FILE:PROVIDER:NAME", a probe */
	size_t event_count;
	uint64_t event_period;	/* one sample for so many, of system calls by chance; 0: for each one, or as the event says */

	const struct extprof_executor *executor;	/* NULL: threads of the library, 8 at most */

	/* For modes with states: frames of kind EXTPROF_FRAME_DETAIL below the state. */
	bool files;		/* on which file, pipe or socket input and output wait */
	bool holders;		/* who has the GVL or the Mutex, or is joined */

	/* Measure what extprof_recording_figures() tells, too.  Not with modes that have states: wall, offcpu, gvl.  Without
	 * eBPF some of them are not known, and others are known from looks. */
	bool figures;
	bool syscall_figures;	/* with `figures`: also the time in system calls, which makes each call slower; not with
				 * mode "syscall" */

	/*
	 * The reader that takes the samples, one of EXTPROF_READERS: "ebpf"; "nonblocking", a thread that reads the memory of the
	 * processes while they go on; "stop", which stops a thread that has a CPU for the read, with ptrace(2).  The last
	 * two need no BPF, and have the modes cpu, wall, offcpu, gvl and gc, without `files`, `holders` and `wakers`.  "auto" or
	 * NULL: ebpf, or nonblocking where BPF may not be used.
	 */
	const char *reader;

	/* As `files`. */
	bool wakers;		/* who ended the wait */

	/*
	 * With `command`: trace it with ptrace(2) until its ruby is ready, so that probes of the VM (modes alloc, gc, event,
	 * and figures) miss nothing of it.  Meanwhile wait(2) tells the parent of stops, too: the parent asks for the
	 * end of the command with waitid(2), WEXITED and WNOWAIT, and looks at si_code.
	 */
	bool hold_command;
	bool verbose;		/* `log` also gets what is searched and found, and what libbpf and the verifier say */
	bool kernel;		/* stacks have the functions of the kernel in which they were taken: frames of
				 * EXTPROF_FRAME_KERNEL below the others; needs eBPF, the timer "clock", and no `wakers` */
	bool sources;		/* extprof_recording_record_to() also writes the source files that are seen */
	char reserved[3];	/* 0 */

	/*
	 * Whose code is the application's: what is below these directories, with commas between, and of no gem or library
	 * there.  NULL: what is below the working directories of the processes, and all else that is of no gem, not of the
	 * standard library and not Ruby's own.
	 */
	const char *app;

	/*
	 * Other views of the same samples, in all outputs.  Lists with commas: "app" (focus alone), "gem:NAME",
	 * "method:PATTERN", "file:PATTERN" (fnmatch(3)); without these words what has a "/" or ends in ".rb" is a file, and the
	 * rest a method.  NULL: none.
	 */
	const char *focus;	/* only stacks with such a frame, from there on; extprof_facts::left_out is the rest */
	const char *hide;	/* such frames are left out, and what is in them is in their callers */
	const char *collapse;	/* "gems": code of one gem is one frame; "recursion": a method that calls itself is one */

	uint64_t delay;		/* ns from extprof_recording_begin() until something is recorded */
	bool start_paused;	/* nothing is recorded before extprof_recording_resume(); not with `delay` */
	/* Of modes with states of threads: threads that have nothing to do are shown as others are.  Else their waits are no
	 * part of reports, unless there is nothing else: extprof_report_idle() has them. */
	bool idle;
	bool native;		/* stacks have the functions of C extensions and libraries: frames of EXTPROF_FRAME_NATIVE;
				 * needs eBPF and the timer "clock", and is not for events that count in the processor */
	bool native_lines, inlined;	/* with `native`: as in struct extprof_recorded_options, in reports and profiles of it.  A file of the
				 * recording has addresses alone */
	bool no_demangle;	/* with `native`: names of C++ and Rust as they are in the file, "_ZN4grpc6Server5StartEi" */
	bool all_native;	/* with `native`: processes that run no ruby are recorded too, with their native stacks.  Of those
				 * that are chosen: all that `all` means, or that `subprocesses` finds */
	bool native_vm;		/* with `native`: also the functions of the VM itself, each by its name; else they are one frame "vm" */

	/*
	 * The recording goes on in another file when that of extprof_recording_record_to() has so much: a time ("1h", "90s",
	 * at least 100ms) or a size ("100MB", of 1024 * 1024 bytes; 256KB to 1TB).  Each file is a recording of its own time.
	 * The path there is NAME.extprof, and the files are NAME-YYYYMMDD-HHMMSS-mmmZ.extprof: the time in UTC, so that names
	 * sort as times do.  What is reported is what the last file has.  Of mode "heap" each file has what lives at its end.
	 * NULL: there is one file.
	 */
	const char *rotate;
	uint64_t keep;		/* with `rotate`: the newest files that stay; older ones which this recording has made are removed.
				 * 0: all, 100000 at most */
	/*
	 * Triggers, with commas between: what has the time around it kept.  "pause>100ms", of the collector, with mode gc;
	 * "cpu>150%", "gvl>50%", "alloc>200MB": of a process within a second, of a mode or a state of threads that is
	 * measured; "label:KEY>500ms": how long a fiber has one value of a label, with a mode of waits; "rss>2GB"; "exit": a
	 * process ends with another status than 0 or by a signal.  16 at most.  The recording is in several files, as with
	 * `rotate`, of which only those stay that have the time from `around` before to `around` after a trigger fires.  With
	 * `rotate` itself all files stay, as without triggers.  A trigger that fires is in extprof_recording_files and in the table
	 * `events`; each of them for one process once in 10 s at most.
	 */
	const char *triggers;
	uint64_t around;	/* ns; 0: 10 s; not with `rotate`.  Of the files that are kept the `keep` newest stay; 0: 100 */
	/* A name of what was deployed, up to 128 bytes: each process has it as the attribute deployment.name.  NULL: what
	 * the process says in OTEL_RESOURCE_ATTRIBUTES. */
	const char *deployment;
	bool idle_apart;	/* without `idle`: reports of nothing but idle threads are empty, and do not show them */
	char reserved3[7];	/* 0 */
};

#define EXTPROF_RATE_MAX 100000u
#define EXTPROF_RATE_DEFAULT 99
#define EXTPROF_EVENTS_MAX 8

/*
 * The same options by the names of the command line, or of the fields above, and as text: "mode" or "modes" "cpu,offcpu",
 * "duration" "10s", "pid" "77,78".  "syscalls" is the field: that option of extprof stat is "syscall_figures" here.  For
 * configuration files, and for languages that would have to know the structure.
 */
struct extprof_options;
/* 0 or -ENOMEM. */
EXTPROF_API int extprof_options_create(struct extprof_options **options);
/*
 * A flag is set by "true" or NULL, and taken back by "false".  Values of modes, states, system calls, events and pids
 * are added to those before; others replace them.  0, -ENOENT: there is no such option; -EINVAL, -ENOMEM.
 */
EXTPROF_API int extprof_options_set(struct extprof_options *options, const char *name, const char *value,
				    struct extprof_error *error);
/* They belong to `options`, and change with each call. */
EXTPROF_API const struct extprof_recording_options *extprof_options_get(const struct extprof_options *options);
/* NULL is accepted. */
EXTPROF_API void extprof_options_destroy(struct extprof_options *options);

/* Are the options right, whatever the processes are?  0 or -EINVAL, -E2BIG, -ENOMEM. */
EXTPROF_API int extprof_recording_check(const struct extprof_recording_options *options, struct extprof_error *error);

/* A process with a ruby.  Texts are clean, and live until the callback returns. */
struct extprof_ruby {
	size_t size;		/* by the library */
	pid_t pid;
	int code;		/* enum extprof_code: why it cannot be read; EXTPROF_OK if it can */
	const char *command;	/* its arguments */
	const char *ruby_version;	/* "" if it cannot be read */
	const char *text, *advice;	/* why not, and what to do: a line each; "" */
};

typedef void (*extprof_ruby_fn)(void *context, const struct extprof_ruby *ruby);

/*
 * Call `each` for the rubies of this moment which are chosen by `pids`, `all`, `subprocesses`, `user`, `name` and `cgroup`
 * of the options; others of them do not count.  Needs no BPF.  Lasts at most some 7 s if processes do not answer.
 * 0; -ESRCH with EXTPROF_NO_PROCESS: there is none; -EINVAL, -ENOENT (no such cgroup) or another negative errno.
 */
EXTPROF_API int extprof_find(const struct extprof_recording_options *options, extprof_ruby_fn each, void *context,
			     struct extprof_error *error);
/* Can the modes of the options be counted in the unit?  The options have been checked.  0 or -EINVAL. */
EXTPROF_API int extprof_recording_check_unit(const struct extprof_recording_options *options, const char *unit,
					     struct extprof_error *error);

/*
 * Write each sample into a new file as it comes: a recording that other programs can read (docs/recording.md).
 * Before extprof_recording_begin().  There must be no file of that name; `uid` and `gid` are those of the new one, -1:
 * those of the caller.  What was written stays if the caller is killed.  A file without samples is removed.
 */
EXTPROF_API int extprof_recording_record_to(struct extprof_recording *r, const char *path, int uid, int gid,
					    struct extprof_error *error);
/* After extprof_recording_finish(): was it written whole?  *samples: how many it has, with `rotate` all files together.  One
 * that could not be written ends the recording; those before it are whole. */
EXTPROF_API int extprof_recording_file_status(const struct extprof_recording *r, uint64_t *samples,
					      struct extprof_error *error);

struct extprof_recording_files {
	size_t size;		/* sizeof(struct extprof_recording_files) */
	const char *path;	/* of the file that is written, or was at last; NULL: none.  Until the next call of any function
				 * for this recording */
	uint64_t made, removed;	/* files so far; with that one */
	unsigned int rate;	/* samples per second and CPU of that one */
	uint64_t triggers;	/* how often one fired */
	const char *trigger;	/* the last that fired, clean: "2026-11-28T14:02:05Z process 42 puma: ... (gvl>50%)"; NULL: none.
				 * Until the next call of any function for this recording */
};
/*
 * With `rotate`, after the begin: the file ends in the next step in which it has a sample, and another one begins, with so
 * many samples per second; 0: as before.  Each file has one rate.  Sampling pauses for the change of the rate, and the next
 * file knows of that pause.  A rate that is refused is told in the log, and the one of before stays.  why: with which the
 * file ends, 63 bytes of it; NULL: as others.  0; -EINVAL: there is no such file.
 */
EXTPROF_API int extprof_recording_next_file(struct extprof_recording *recording, uint32_t rate, const char *why,
					    struct extprof_error *error);
/*
 * With `triggers` or `rotate`, after the begin: a trigger of the caller's fires now, and `why` is its text in the table
 * `events`.  With `rotate` nothing else happens.  0; -EINVAL: there are no such files.
 */
EXTPROF_API int extprof_recording_trigger(struct extprof_recording *recording, const char *why, struct extprof_error *error);
/* 0 or -EINVAL. */
EXTPROF_API int extprof_recording_files(const struct extprof_recording *recording, struct extprof_recording_files *files);

/* One sample in one mode.  Made by the library only: fields are added at the end.  Valid until the function returns. */
struct extprof_sample {
	const char *mode;	/* "cpu" */
	const struct extprof_stack *stack;	/* code, and what is below it, without groups; its value is in `unit` */
	const char *unit;	/* "ns", "bytes", or "count" of a mode that measures nothing else */
	uint64_t count;		/* how many it stands for: samples, waits, objects, calls */
	uint64_t time;		/* CLOCK_MONOTONIC, ns; of a wait, when it was over */
	pid_t pid;		/* 0: unknown */
	uint32_t tid;		/* 0: unknown, or it has run on several native threads */
	int state;		/* enum extprof_state */
	bool truncated;		/* a part of the stack is missing; a frame of EXTPROF_FRAME_MARK shows where and why */
	const struct extprof_frame *process, *thread;	/* as they are known now: a thread can name itself later; NULL: unknown */
	const struct extprof_frame *const *labels;	/* of kind LABEL, each key once */
	size_t label_count;
	/* Of the record that the program leaves for OpenTelemetry's thread context, as hexadecimal digits; NULL: none. */
	const char *trace_id, *span_id;
};

/* 0 or more: go on.  A negative errno: it is called no more, and extprof_recording_step() fails with it. */
typedef int (*extprof_sample_fn)(void *context, const struct extprof_sample *sample);

/*
 * Call `each` for each sample as it comes: a sample of several modes is told once for each.  Before
 * extprof_recording_begin(), and once.  It is called by the thread that calls a function of the recording, during that call,
 * and must not call a function of the same recording.  Samples are told in about the order of their time.  Those that are
 * lost are not told: extprof_report_accounting() counts them.  Objects of mode "heap" are not told: what lives is known at
 * the end.  Waits of threads that have nothing to do are told as others are.  Reports have the same samples: with
 * extprof_recording_restart() now and then their memory stays small.
 */
EXTPROF_API int extprof_recording_each_sample(struct extprof_recording *recording, extprof_sample_fn each, void *context,
					      struct extprof_error *error);

/* Samples of one process that were lost.  Made by the library only: fields are added at the end. */
struct extprof_loss {
	pid_t pid;		/* 0: unknown */
	const char *process;	/* as extprof_frame::bare of extprof_sample::process; valid until the function returns */
	uint64_t count;		/* of all modes that sample, since it was told last */
};

typedef void (*extprof_loss_fn)(void *context, const struct extprof_loss *loss);

/*
 * Call `each` for each process of which samples were lost: within extprof_recording_progress(), before
 * extprof_recording_restart() or the next file begins to count anew, and when the recording is finished.  The sum of a process
 * is extprof_report_process::lost then.  Before extprof_recording_begin(), and once.  The function must not call a function of
 * the same recording.
 */
EXTPROF_API int extprof_recording_each_loss(struct extprof_recording *recording, extprof_loss_fn each, void *context,
					    struct extprof_error *error);

/*
 * Check the options and find the processes.  This can take as long as a process wants it to, if that
 * process is hostile; extprof_recording_options::interrupt_fd ends it.  On failure *recording is NULL.
 */
EXTPROF_API int extprof_recording_create(struct extprof_recording **recording,
					 const struct extprof_recording_options *options,
					 struct extprof_error *error);
/* Load the BPF programs.  From now on the kernel follows the processes; nothing is sampled yet. */
EXTPROF_API int extprof_recording_open(struct extprof_recording *recording, struct extprof_error *error);
/* The reader that is used, after that: one of EXTPROF_READERS.  *why: a sentence that says why it is not "ebpf" though
 * that was wanted; NULL: it was not, or it is.  `why` may be NULL.  Both stay valid as long as the recording. */
EXTPROF_API const char *extprof_recording_reader(const struct extprof_recording *recording, const char **why);
/* Begin to sample.  A process of which the ruby is not ready is sampled as soon as it is. */
EXTPROF_API int extprof_recording_begin(struct extprof_recording *recording, struct extprof_error *error);

/* To be polled: readable if extprof_recording_step() has something to do.  -1 before it is open. */
EXTPROF_API int extprof_recording_fd(const struct extprof_recording *recording);
/* ns until extprof_recording_step() must be called, whether the descriptor is readable or not. */
EXTPROF_API uint64_t extprof_recording_wait(const struct extprof_recording *recording);
/*
 * Do what is due, without waiting: 0.2 s at most, if the machine is not overloaded.  Processes are
 * searched by other threads meanwhile.  1: the recording has ended by itself, as its duration
 * is over or the processes have ended.  0: go on.
 */
EXTPROF_API int extprof_recording_step(struct extprof_recording *recording, struct extprof_error *error);
/* A loop of the three, for a program that does nothing else: until the recording ends by itself, or
 * interrupt_fd is readable. */
EXTPROF_API int extprof_recording_run(struct extprof_recording *recording, struct extprof_error *error);

/* Why the caller ends the recording, for the report: "Ctrl-C". */
EXTPROF_API int extprof_recording_set_ended(struct extprof_recording *recording, const char *why);
/* Stop sampling, read what waits.  EXTPROF_NO_PROCESS and others: nothing was ever sampled, and why.  1: it never began, as
 * it was paused, and *error says so. */
EXTPROF_API int extprof_recording_finish(struct extprof_recording *recording, struct extprof_error *error);
/* Make what was sampled so far ready for a report, and go on.  Sampling pauses for a moment. */
EXTPROF_API int extprof_recording_snapshot(struct extprof_recording *recording, struct extprof_error *error);

/*
 * Forget what the last snapshot has made ready, so that what is reported next begins there: windows of a recording that
 * goes on, each with an account of its own.  Make the reports of the snapshot first; no step may lie between.
 * Memory that only the past needs is given back.
 */
EXTPROF_API int extprof_recording_restart(struct extprof_recording *recording, struct extprof_error *error);

/*
 * Take so many samples per second and CPU from now on, 1 to EXTPROF_RATE_MAX.  After extprof_recording_restart() and before
 * the next step: each window has one rate, and so has extprof_recording_record_to().  Values in ns are right at each rate.  The
 * memory for samples that wait is that of extprof_recording_options::rate: what has no room at a much higher one is counted
 * as lost.  -EBUSY: something was recorded since, or there is a file; -EINVAL: too much for this machine or this reader.  The
 * rate of before goes on then.
 */
EXTPROF_API int extprof_recording_set_rate(struct extprof_recording *recording, uint32_t rate, struct extprof_error *error);

/*
 * After the begin: record nothing until extprof_recording_resume().  The processes are followed and pay nothing meanwhile,
 * but for the option `native`: what code they map is still noted.
 * No time, CPU time or loss of the pause counts; of a wait the parts before and after it do.  -EALREADY: it is so already.
 */
EXTPROF_API int extprof_recording_pause(struct extprof_recording *recording, struct extprof_error *error);
EXTPROF_API int extprof_recording_resume(struct extprof_recording *recording, struct extprof_error *error);

/*
 * The processes that are sampled now: up to `room` of their pids, *count of them.  0; -EINVAL: it has not begun.
 */
EXTPROF_API int extprof_recording_processes(const struct extprof_recording *recording, pid_t *pids, size_t room, size_t *count,
					    struct extprof_error *error);

struct extprof_progress {
	size_t size;		/* sizeof(struct extprof_progress) */
	bool waiting;		/* no ruby has been found yet */
	uint32_t processes;	/* that are sampled now */
	uint64_t elapsed;	/* ns that were recorded since sampling began */
	uint64_t samples, lost;	/* since then, or since extprof_recording_restart() */
	uint64_t pauses;	/* ns of pauses since sampling began */
	bool paused;		/* now */
};
EXTPROF_API int extprof_recording_progress(struct extprof_recording *recording,
					   struct extprof_progress *progress);

#define EXTPROF_TOP_DEFAULT 20

struct extprof_write_options {
	size_t size;		/* sizeof(struct extprof_write_options) */
	bool html;		/* flamegraph: HTML around the SVG */
	bool color;		/* summary: for a terminal */
	unsigned int top;	/* summary: rows of each table; 0: EXTPROF_TOP_DEFAULT */
	unsigned int width;	/* summary: columns; 0: as many as needed */
	const char *unit;	/* "us", "samples", "bytes"; NULL: by the mode */
	bool gzip;		/* the formats otlp and otlp-json are compressed */
	char reserved[7];	/* 0 */
};
/*
 * Is the profile as of extprof_recording_finish() or extprof_recording_snapshot() as it should be?
 * 0: there are samples.
 * 1: there are none, and it is right so; *why says what was (not) done.
 * -ENODATA: all samples were lost.  -EBADMSG: the sums of samples do not agree.  Other negative errno: there are
 * none although there should be.  *why says why.
 */
EXTPROF_API int extprof_recording_verdict(struct extprof_recording *recording, struct extprof_error *why);
/*
 * Write the profile as of extprof_recording_finish() or extprof_recording_snapshot() to the stream.
 * `options` can be NULL.  The stream is not closed, and its buffer not flushed.
 */
EXTPROF_API int extprof_recording_write(struct extprof_recording *recording, const char *format,
					const struct extprof_write_options *options, FILE *to,
					struct extprof_error *error);
/* Takes `size` bytes of an output.  0, or a negative errno, with which the writing ends. */
typedef int (*extprof_writer)(void *context, const void *data, size_t size);
/* The same as extprof_recording_write(), for programs that have no FILE: the output in pieces, in their order. */
EXTPROF_API int extprof_recording_write_to(struct extprof_recording *recording, const char *format,
					   const struct extprof_write_options *options, extprof_writer writer,
					   void *context, struct extprof_error *error);
/*
 * A stream for all functions that write to a FILE, whose bytes go to `writer`, in pieces and in their order: for programs and
 * languages that have no FILE.  Close it before `context` goes.  0 or negative errno.
 */
struct extprof_stream;
EXTPROF_API int extprof_stream_open(struct extprof_stream **stream, extprof_writer writer, void *context, struct extprof_error *error);
/* It belongs to the stream, and is not to be closed. */
EXTPROF_API FILE *extprof_stream_file(const struct extprof_stream *stream);
/* Write what is left in the buffer.  0, or what `writer` returned when it failed.  NULL is accepted. */
EXTPROF_API int extprof_stream_close(struct extprof_stream *stream, struct extprof_error *error);
/* The profile of the first mode as of finish or snapshot.  Destroy the report before the recording. */
EXTPROF_API int extprof_recording_report(struct extprof_recording *recording, struct extprof_report **report,
					 struct extprof_error *error);
/* The same of one of the modes, in a unit; NULL: the first mode, and the unit of the mode. */
EXTPROF_API int extprof_recording_report_mode(struct extprof_recording *recording, const char *mode,
					      const char *unit, struct extprof_report **report,
					      struct extprof_error *error);
/* NULL is accepted. */
EXTPROF_API void extprof_recording_destroy(struct extprof_recording *recording);

/* -- figures --------------------------------------------------------------------------------- */

/*
 * How much processes do: sums over all their threads, of an interval or since the recording began.  Times are
 * in ns.  Made by the library only: fields are added at the end of each structure.
 */

/* Figures that are one number, in the order of extprof_figures::values.  They are only appended. */
enum extprof_figure_id {
	/* CPU time; user + system is the first.  Of the two the proportion is as the kernel has it, in steps of 10 ms. */
	EXTPROF_CPU_TIME = 0,
	EXTPROF_CPU_USER,
	EXTPROF_CPU_SYSTEM,
	EXTPROF_SWITCHES_VOLUNTARY,	/* a thread left its CPU to wait */
	EXTPROF_SWITCHES_INVOLUNTARY,	/* another thread got the CPU */
	EXTPROF_FAULTS_MINOR,
	EXTPROF_FAULTS_MAJOR,
	/*
	 * Memory at the end, bytes, of processes that live, or of one that has ended as it was seen last.  Pages that several
	 * processes share count for each of them.
	 */
	EXTPROF_MEMORY_RESIDENT,	/* the next three together */
	EXTPROF_MEMORY_ANONYMOUS,
	EXTPROF_MEMORY_FILE,
	EXTPROF_MEMORY_SHARED,
	EXTPROF_MEMORY_SWAPPED,
	EXTPROF_MEMORY_PEAK,		/* most that was resident since a process began, the sum of these */
	/*
	 * Looks at who has the GVL, at random times: held / looks is the mean number of GVLs that are held (each ractor
	 * has one).  A share of n looks has a standard deviation of 0.5 / sqrt(n) or less.
	 */
	EXTPROF_GVL_LOOKS,
	EXTPROF_GVL_HELD,
	EXTPROF_GVL_CONTENDED,		/* of held: a thread waited for it */
	/* Of the looks, those that met a collection, by phase. */
	EXTPROF_GC_MARK_LOOKS,
	EXTPROF_GC_SWEEP_LOOKS,
	EXTPROF_GC_COMPACT_LOOKS,
	EXTPROF_GC_OTHER_LOOKS,
	/*
	 * Waits for the GVL that are over: each is measured.  P50, P99: so many percent of them are no longer.  They are
	 * never too small, and at most 1/64 (1.6 %) too large.
	 */
	EXTPROF_GVL_WAITS,
	EXTPROF_GVL_WAITS_TIME,
	EXTPROF_GVL_WAITS_P50,
	EXTPROF_GVL_WAITS_P99,
	EXTPROF_GVL_WAITS_LONGEST,
	EXTPROF_GVL_WAITS_LOST,		/* waits that found no room */
	EXTPROF_GVL_WAITING,		/* threads that wait at the end, and are in none of the above */
	EXTPROF_GVL_WAITING_LONGEST,	/* how long one of them has waited */
	/* Without eBPF: the longest wait for the GVL that a look met, of which the end is not known. */
	EXTPROF_GVL_WAIT_MET,
	EXTPROF_GC_CYCLES,		/* collections that have begun, as ruby counts them */
	EXTPROF_GC_MAJOR_CYCLES,
	/* Pauses for collections, by the probe.  A collection can have several. */
	EXTPROF_GC_PAUSES,
	EXTPROF_GC_PAUSES_TIME,
	EXTPROF_GC_PAUSES_P50,
	EXTPROF_GC_PAUSES_P99,
	EXTPROF_GC_PAUSES_LONGEST,
	EXTPROF_GC_PAUSES_WAITED,	/* of their time: the thread waited for a CPU */
	EXTPROF_GC_PAUSES_LOST,		/* in none of these, of all processes since the beginning */
	EXTPROF_GC_MARK,		/* these four together are the time */
	EXTPROF_GC_SWEEP,
	EXTPROF_GC_COMPACT,
	EXTPROF_GC_OTHER,
	EXTPROF_GC_REASONS,		/* how many extprof_figures::gc_reasons there are */
	/* Slots of objects, by samples: the standard deviation of the bytes of n samples is 1/sqrt(n) of them. */
	EXTPROF_ALLOC_BYTES,
	EXTPROF_ALLOC_OBJECTS,
	EXTPROF_ALLOC_OBJECTS_DEVIATION, /* the standard deviation of the objects: small ones have few samples */
	EXTPROF_ALLOC_SAMPLES,
	EXTPROF_ALLOC_LOST,		/* samples that are in none of these, of all processes since the beginning */
	EXTPROF_ALLOC_INTERVAL,		/* mean distance of two samples, bytes */
	EXTPROF_MALLOC_BYTES,		/* memory besides slots, which Ruby and its extensions got from malloc */
	EXTPROF_MALLOC_SAMPLES,
	EXTPROF_THREADS,		/* that live at the end */
	EXTPROF_THREADS_TIME,		/* of all threads, the sum of extprof_figures::states */
	EXTPROF_THREADS_LOST,		/* that found no room, of all processes since the beginning */
	/*
	 * Readers other than "ebpf" see what threads do only when they look: so often they did.  Not known: each change of a
	 * state was seen.
	 */
	EXTPROF_THREAD_LOOKS,
	EXTPROF_CALLS_NOT_RETURNED,	/* system calls that go on at the end, and are in none of extprof_figures::calls */
	EXTPROF_CALLS_LOST,		/* since the beginning */
	/*
	 * The heap of Ruby at the end, of processes as those of MEMORY: the sums that GC.stat has.  Live slots are of objects
	 * that live, and of those that have died and were not swept yet.
	 */
	EXTPROF_HEAP_LIVE_SLOTS,
	EXTPROF_HEAP_SLOTS,		/* all, with free ones */
	EXTPROF_HEAP_PAGES,
	EXTPROF_HEAP_BYTES,		/* of these pages */
	EXTPROF_HEAP_MALLOC,		/* bytes of malloc since the last collection, less what was freed */
	EXTPROF_HEAP_MALLOC_LIMIT	/* and when a collection begins */
};

struct extprof_figure {
	const char *key;	/* "cpu.total_ns": as `extprof stat --json` calls it, with its unit; does not change */
	uint64_t value;		/* 0 if it is not known */
	bool known;		/* of at least one process */
	const char *missing;	/* why it is not known, of the first process of which it is not; NULL: it is known of all, or
				 * there is nothing to be known */
};

/* The longest wait or pause of an interval: whose it was. */
struct extprof_longest {
	const char *thread;	/* "[thread worker-1 (1234)]"; NULL: unknown */
	pid_t pid;		/* the process of that thread; 0: unknown */
};

/* Who had the GVL at looks at which another thread waited for it. */
struct extprof_holder {
	const char *thread;	/* "[thread worker-1 (1234)]"; NULL: many, or unknown */
	pid_t pid;
	uint64_t looks;
};

/* Why collections ran. */
struct extprof_gc_reason {
	const char *name;	/* "malloc"; "nothing to do": ruby entered the collector, and there was no collection */
	bool major;		/* all objects were marked */
	uint64_t pauses, time;	/* by the probe */
	uint64_t looks;		/* that met such a collection */
};

/* Time of all threads in one state. */
struct extprof_state_figures {
	const char *state;	/* "running", "gvl": see extprof_recording_options::modes "wall" */
	uint64_t time;
	uint64_t count;		/* waits that are over; of "running": how often a thread got a CPU.  With EXTPROF_THREAD_LOOKS
				 * only waits that a look met count */
	uint64_t error;		/* the time in 95 % of all cases is within so many ns; 0: it is exact */
};

struct extprof_call_figures {
	const char *name;	/* NULL: unknown */
	uint32_t number;
	bool compat;		/* of 32-bit code, which has other numbers */
	uint64_t count, time;	/* of calls that have returned */
};

struct extprof_figures {
	pid_t pid;			/* 0: of several processes */
	uint32_t processes;
	const char *command;		/* "": unknown, or several */
	const char *ruby_version;	/* "3.4.5"; "": unknown, or several */
	const char *interface;		/* "1.1"; "": unknown, or several */
	bool ended;			/* all of them have ended */
	uint64_t from, until;		/* ns since the recording began */
	const struct extprof_figure *const *values;	/* by enum extprof_figure_id */
	size_t value_count;		/* of this library, which can be older or newer than the header */
	const struct extprof_longest *gvl_wait, *gvl_wait_met, *gc_pause;	/* of the figures of these names */
	const struct extprof_holder *const *holders;	/* most looks first */
	size_t holder_count;
	const struct extprof_gc_reason *const *gc_reasons;	/* that had a pause, longest time first */
	size_t gc_reason_count;
	const struct extprof_gc_reason *const *gc_reasons_met;	/* that a look met, most looks first */
	size_t gc_reason_met_count;
	const struct extprof_state_figures *const *states;	/* those that any thread was in */
	size_t state_count;
	/* System calls, longest time first, of all processes; none in the figures of one of several processes. */
	const struct extprof_call_figures *const *calls;
	size_t call_count;
};

struct extprof_figures_result {
	const struct extprof_figures *interval;	/* since the last call */
	const struct extprof_figures *total;	/* since the recording began: the sum of all intervals */
	const struct extprof_figures *const *processes;	/* each process since the recording began */
	size_t process_count;
	uint32_t others;	/* 1: processes[0] is the sum of processes that ended, because there were many */
};

/*
 * The figures of the processes until now.  Without groups of processes, extprof_report_process() of such a recording leaves out
 * processes that have ended, if they are many: their CPU time stays in extprof_facts.  After extprof_recording_finish() the last interval is what was new at
 * that moment.  *result is valid until the next call.
 */
EXTPROF_API int extprof_recording_figures(struct extprof_recording *recording,
					  const struct extprof_figures_result **result,
					  struct extprof_error *error);

/*
 * While it records: also record the process, as one of `pids`, or record it no more.  What was recorded of a
 * process stays, and children that were found go on.  The recording ends with the last one of `pids`.
 */
EXTPROF_API int extprof_recording_add(struct extprof_recording *recording, pid_t pid, struct extprof_error *error);
EXTPROF_API int extprof_recording_remove(struct extprof_recording *recording, pid_t pid, struct extprof_error *error);

/* -- reports --------------------------------------------------------------------------------- */

/* The next stack; NULL behind the last one.  Each stack is there once.  It is valid until the next call. */
EXTPROF_API const struct extprof_stack *extprof_report_next(struct extprof_report *report);
/* Begin with the first stack again. */
EXTPROF_API void extprof_report_rewind(struct extprof_report *report);

enum extprof_totals {
	EXTPROF_TOTAL_METHODS = 0,
	EXTPROF_TOTAL_LINES = 1,
	EXTPROF_TOTAL_FILES = 2,
	EXTPROF_TOTAL_OWNERS = 3	/* the application, gems, parts of the standard library */
};

/*
 * A method, a line, a file or an owner.  A stack counts for the innermost method, and for the innermost line, file and
 * owner of Ruby code: what C methods, the collector and waits take is in the line that called them.  A block in C has no name
 * and is no method: what it takes is in the method that called it.  Fields are added at the end.
 */
struct extprof_total {
	const struct extprof_frame *frame;	/* a frame of it: of a method its name and place */
	const char *path;
	int32_t line;		/* of a line; of a method its first one; 0: unknown, or a file */
	bool approximate;	/* the line may be another one of the same code */
	uint64_t self;		/* in the unit of the report */
	uint64_t own;		/* of self: the Ruby code itself */
	uint64_t total;		/* it is anywhere in the stack; recursion counts once */
	/*
	 * Of the methods and lines of the application with most total: the code that is not its own in which most of the
	 * total is, and how much that is: a gem, or a C method.  NULL: nothing, or another one.
	 */
	const char *callee;	/* "gem activerecord 8.1.0", "String#gsub" */
	uint64_t called;
};
/* From 0, most self first; NULL behind the last one.  Valid until the next call. */
EXTPROF_API const struct extprof_total *extprof_report_total(struct extprof_report *report, enum extprof_totals of,
							     size_t i);

/* taken = whole + truncated + lost.  Fields are added at the end. */
struct extprof_accounting {
	uint64_t taken;
	uint64_t whole;
	uint64_t truncated;	/* a part of the stack is missing; a frame shows where and why */
	uint64_t lost;
};
EXTPROF_API const struct extprof_accounting *extprof_report_accounting(const struct extprof_report *report);

struct extprof_reason {
	const char *key;	/* "ring-full"; does not change */
	const char *text;	/* "the ring buffer was full" */
	uint64_t count;		/* samples; can be 0 */
};
/* Why samples were lost or truncated, from 0; NULL behind the last reason. */
EXTPROF_API const struct extprof_reason *extprof_report_lost(const struct extprof_report *report, size_t i);
EXTPROF_API const struct extprof_reason *extprof_report_truncated(const struct extprof_report *report, size_t i);

/* Fields are added at the end. */
struct extprof_facts {
	const char *command;		/* of the first process that was sampled */
	const char *ruby_version;
	const char *source;		/* "on-CPU at 99 Hz by the clock" */
	const char *ended;		/* why: "duration", "the process ended" */
	pid_t pid;
	uint32_t cpus;			/* that were sampled */
	uint64_t period;		/* ns between two samples of one CPU */
	uint64_t duration;		/* ns */
	uint64_t cpu_time;		/* of the processes by the kernel's account, ns; 0: unknown */
	int64_t started;		/* seconds since 1970 */
	const char *mode;		/* "cpu" */
	const char *metric;		/* what extprof_stack::value counts: "samples", "cpu", "alloc_space" */
	const char *unit;		/* of extprof_stack::value: "count", "ns" or "bytes" */
	uint64_t children_cpu_time;	/* ns, of children that were not chosen: extprof_recording_options::subprocesses */
	uint64_t total;			/* the sum of all stacks, in that unit */
	uint64_t left_out;		/* what `focus` has left out, in that unit */
	uint64_t paused;		/* ns of pauses, which are no part of the duration */
	uint64_t idle;			/* the waits of threads that have nothing to do, in that unit */
	bool idle_shown;		/* they are a part of `total`, see extprof_recording_options::idle */
};
EXTPROF_API const struct extprof_facts *extprof_report_facts(const struct extprof_report *report);

/* Where threads rest.  Texts live as long as the report.  Fields are added at the end. */
struct extprof_idle {
	const char *thread;	/* its name; of several the pattern of their names: "puma srv tp *" */
	const char *method;	/* in which they wait: "Thread::Queue#pop" */
	int state;		/* enum extprof_state */
	uint32_t threads;	/* how many */
	uint64_t value;		/* as extprof_facts::idle */
};
/* From 0, most first; NULL behind the last one.  Valid until the next call. */
EXTPROF_API const struct extprof_idle *extprof_report_idle(struct extprof_report *report, size_t i);
/* A thread that rests, each by itself.  Fields are added at the end. */
struct extprof_idle_thread {
	const struct extprof_frame *thread, *process;	/* as the groups of stacks; NULL: the process is not known */
	uint64_t time;		/* ns of its waits */
};
/* From 0, in no order; NULL behind the last one.  Valid until the next call. */
EXTPROF_API const struct extprof_idle_thread *extprof_report_idle_thread(struct extprof_report *report, size_t i);
/* A process of the recording.  Fields are added at the end. */
struct extprof_report_process {
	pid_t pid;		/* 0: unknown, or of several that found no room */
	pid_t parent;		/* 0: it is not in the report */
	uid_t uid;
	const char *command;	/* its arguments; "": unknown */
	const char *ruby_version;	/* "": no ruby was found in it */
	const char *cgroup;	/* its path; "": unknown */
	const char *ended;	/* how: "exit 0", "SIGKILL"; "": it goes on */
	bool sampled;		/* else only its CPU time is known: a child that was not chosen, or no ruby */
	uint64_t from, until;	/* when it was followed: CLOCK_MONOTONIC, ns; 0: not yet */
	/* ns by the account of the kernel: while it was sampled, and besides that; and what its samples of the CPU stand for. */
	uint64_t cpu_time, cpu_time_besides, cpu_time_sampled;
	uint64_t taken, whole, truncated, lost;	/* samples of all modes: see struct extprof_accounting */
	/*
	 * The heap of Ruby at the end of the report: slots of objects that live, or have died and were not swept yet; all
	 * slots; bytes of its pages.  All 0: not known, as of a recording, of a process that has ended, or an older ruby.
	 */
	uint64_t live_slots, slots, heap_bytes;
	uint64_t resident;	/* bytes of memory, of extprof_recorded_reports(); 0: not known */
	uint64_t objects;	/* that the ruby has made since it began, at the end of the report; a child of fork goes on from the number
				 * of its parent.  0: not known, as `live_slots`, or it has executed another program since the report before */
	const char *host;	/* of extprof_recorded_reports() of several machines: on which it ran; else "" */
};
/* From 0, in the order of their coming; NULL behind the last one.  Valid until the next call. */
EXTPROF_API const struct extprof_report_process *extprof_report_process(struct extprof_report *report, size_t i);

/* A thread, in the modes wall, offcpu and gvl: how long it was in each state.  Fields are added at the end. */
struct extprof_report_thread {
	const char *name;	/* "[thread worker 1 (42)]"; "": unknown */
	uint32_t tid;		/* of its native thread, in the pid namespace of its process; 0: unknown, or of several */
	bool ruby;		/* a thread of Ruby, not one of the VM or of a library */
	bool ended;
	uint64_t life;		/* ns that it lived in the report: the sum of `times` */
	const uint64_t *times;	/* ns by enum extprof_state */
	const uint64_t *counts;	/* the same: waits that are over; of RUNNING how often it got a CPU */
	size_t state_count;	/* of this library */
	uint32_t threads;	/* 1; more: the sum of so many that found no room */
	pid_t pid;		/* of its process; 0: unknown, or of several */
	uint64_t idle;		/* ns of its waits in which it had nothing to do, see extprof_recording_options::idle */
	const char *host;	/* as extprof_report_process::host */
};
/* From 0, in no order; NULL behind the last one, and in modes without states.  Valid until the next call. */
EXTPROF_API const struct extprof_report_thread *extprof_report_thread(struct extprof_report *report, size_t i);

/* Pauses for garbage collection, ns.  Fields are added at the end. */
struct extprof_report_pauses {
	uint64_t count, time, longest;
	uint64_t p50, p99;	/* so many percent are no longer; never too small, and at most 1/64 too large */
	uint64_t waited;	/* of the time: the thread waited for a CPU */
	uint64_t mark, sweep, compact, other;	/* these four together are the time */
	uint64_t lost;		/* pauses that are in none of these */
};
/* NULL: the mode shows no pauses.  Valid until the next call. */
EXTPROF_API const struct extprof_report_pauses *extprof_report_pauses(struct extprof_report *report);
/* NULL is accepted. */
EXTPROF_API void extprof_report_destroy(struct extprof_report *report);

/* -- targets --------------------------------------------------------------------------------- */

/*
 * One process, for a BPF program of the caller's that includes the walker: see docs/library.md and
 * examples/open_stacks.  The headers are in the directory that
 * `pkg-config --variable=bpfincludedir extprof` prints.
 */
struct extprof_target;

/* Find the ruby in the process, within 10 s.  On failure *target is NULL. */
EXTPROF_API int extprof_target_open(struct extprof_target **target, pid_t pid, struct extprof_error *error);
/*
 * Put the process into the map `targets` of a loaded program.  Its samples have `number` in
 * sample_event::process: from 1, each process another one.  After exec the walker counts a loss:
 * close the target, open it and add it again.
 */
EXTPROF_API int extprof_target_add(struct extprof_target *target, int map_fd, uint32_t number,
				   struct extprof_error *error);
/*
 * The stack of a sample of this process as it came from the ring buffer: `size` bytes at `data`, a struct
 * sample_event with its frames.  One of another number is refused.  *stack is valid until the next call.  Names are read from the
 * process the first time they are met, so resolve soon after the sample: of a process that has ended
 * no new name can be read, and the frame says so.  It takes 2 s at most.
 */
EXTPROF_API int extprof_target_resolve(struct extprof_target *target, const void *data, size_t size,
				       const struct extprof_stack **stack, struct extprof_error *error);
/* NULL is accepted. */
EXTPROF_API void extprof_target_close(struct extprof_target *target);

/* -- dumps ----------------------------------------------------------------------------------- */

/*
 * A dump says what all threads and fibers of a process do at this moment, or did when its core file was written.  No BPF program is
 * needed: whoever may read the memory of the process may do it (the same user, or CAP_SYS_PTRACE).
 * The process is not stopped, unless that is asked for.
 */
struct extprof_dump;

struct extprof_dump_options {
	size_t size;		/* sizeof(struct extprof_dump_options) */
	pid_t pid;		/* the process; 0: `core` says what to read */
	const char *core;	/* core file; NULL: none */
	const char *exe;	/* of the core file, the program or the libruby.so that it ran; NULL: not known */
	bool stop;		/* stop all threads of the process for the read, with ptrace(2) */
	bool source;		/* read the text of each innermost line, too */
	const int *interrupt_fd; /* the caller's descriptor; while it is readable reads are given up.  It is looked up when
				 * the dump is opened.  NULL, or -1 in it: none */
	bool native;		/* native functions among the Ruby frames.  A thread that runs is stopped by itself for its read,
				 * with ptrace(2), and so can be one that waits */
	bool no_demangle, native_vm;	/* with `native`: as in struct extprof_recording_options */
	char reserved[5];	/* 0 */
};

/* Values are those of the debugging interface.  They are only appended. */
enum extprof_thread_state {
	EXTPROF_THREAD_CREATED = 1,	/* it has no native thread yet */
	EXTPROF_THREAD_RUNNING = 2,	/* it has the GVL of its ractor */
	EXTPROF_THREAD_READY = 3,	/* it waits for the GVL */
	EXTPROF_THREAD_BLOCKED = 4,	/* it is in a blocking region, without the GVL */
	EXTPROF_THREAD_SLEEPING = 5	/* in sleep, join, or waiting for a mutex, queue or condition */
};

/* How it is known that a stack is of one moment.  Values are only appended. */
enum extprof_proof {
	EXTPROF_PROOF_NONE = 0,		/* it is not known: see `torn` and `lost` */
	EXTPROF_PROOF_OFF_CPU = 1,	/* the thread did not run during the read */
	EXTPROF_PROOF_EQUAL = 2,	/* several copies were equal */
	EXTPROF_PROOF_STOPPED = 3,	/* the process was stopped */
	EXTPROF_PROOF_CORE = 4,		/* the memory is a core file's */
	EXTPROF_PROOF_WAIT = 5		/* the thread waited all the time: its state had not changed */
};

/* The thing that a BLOCKED or SLEEPING thread waits for.  Values are those of the debugging interface, and only appended. */
enum extprof_wait {
	EXTPROF_WAIT_UNKNOWN = 0,
	EXTPROF_WAIT_SLEEP = 1,		/* Kernel#sleep, Thread.stop */
	EXTPROF_WAIT_JOIN = 2,		/* Thread#join of wait_thread */
	EXTPROF_WAIT_MUTEX = 3,		/* a mutex or monitor; wait_owner says what wait_thread is */
	EXTPROF_WAIT_MUTEX_SLEEP = 4,	/* Mutex#sleep */
	EXTPROF_WAIT_CONDVAR = 5,	/* ConditionVariable#wait */
	EXTPROF_WAIT_QUEUE = 6,		/* a queue that is empty */
	EXTPROF_WAIT_SIZED_QUEUE = 7,	/* a SizedQueue that is full */
	EXTPROF_WAIT_IO = 8,		/* a system call on wait_fd */
	EXTPROF_WAIT_IO_READ = 9,
	EXTPROF_WAIT_IO_WRITE = 10,
	EXTPROF_WAIT_IO_SELECT = 11,	/* IO.select */
	EXTPROF_WAIT_PROCESS = 12,	/* Process.wait; wait_object: its argument, a pid or a negative number */
	EXTPROF_WAIT_RACTOR = 13,	/* wait_object: 1 receives, 2 takes, 4 yields, or several */
	EXTPROF_WAIT_NOGVL = 14		/* a function in C that runs without the GVL */
};

/* Of a thread that waits for a mutex: what wait_thread means.  Values are only appended. */
enum extprof_owner {
	EXTPROF_OWNER_BEFORE = 0,	/* it had the mutex when the wait began; who has it now is not known */
	EXTPROF_OWNER_NOW = 1,		/* it has the mutex */
	EXTPROF_OWNER_NOBODY = 2	/* nobody has it at this moment; wait_thread is 0 */
};

/* Of a thread that waits for the end of another one: does the wait end by itself?  Values are only appended. */
enum extprof_limit {
	EXTPROF_LIMIT_UNKNOWN = 0,
	EXTPROF_LIMIT_NONE = 1,
	EXTPROF_LIMIT_TIME = 2		/* after a time, as by Thread#join(5) */
};

/* For what a program says it works (Fiber.with_labels).  Texts are clean.  Fields are added at the end. */
struct extprof_label {
	const char *key;
	const char *value;
};

/* One stack of a thread.  Made by the library only: fields are added at the end. */
struct extprof_dump_fiber {
	uint64_t serial;	/* from 1, never used again in the process */
	bool root;		/* the stack that the thread began with */
	bool current;		/* the thread runs it; else it is parked, or waits for one that it has resumed */
	bool created;		/* it has not run yet */
	int proof;		/* enum extprof_proof */
	bool torn;		/* it changed during each try.  The frames are those that stayed, then "[changes ...]" */
	const char *lost;	/* why it could not be read; NULL: it could.  The only frame says so too */
	uint32_t changing;	/* if torn: innermost frames of the last try that are not in the stack */
	uint32_t left_out;	/* outer frames that are not in the stack */
	const struct extprof_stack *stack;	/* value: 1 */
	bool moved;		/* its stack is another one than in the dump before.  false in the first one */
	const char *source;	/* text of the innermost line that has a file; NULL: not known */
	uint64_t resumed_by;	/* serial of the fiber that resumed this one and waits for it; 0: none, or unknown */
	uint64_t resumes;	/* serial of the fiber that this one has resumed and waits for; 0: none, or unknown */
	bool nonblocking;	/* a scheduler can run others while it waits */
	const struct extprof_label *const *labels;	/* the outermost one first, each key once */
	size_t label_count;
	const char *labels_lost;	/* why some of them are not known; NULL: all are */
	const char *native_lost;	/* why it has no native functions; NULL: it has, is parked, or they were not asked for */
	const char *trace_id;	/* of OpenTelemetry, for which the program says that it works: 32 hexadecimal digits; NULL: none */
	const char *span_id;	/* 16 of them; NULL: none */
	const char *trace_lost;	/* why there is no trace although the program has given a record of one; NULL: it has not */
};

/* Made by the library only: fields are added at the end. */
struct extprof_dump_thread {
	uint64_t serial;	/* from 1, never used again in the process */
	uint32_t ractor;	/* from 1 */
	uint32_t tid;		/* of its native thread, as seen by the caller; 0: it has none now */
	const char *name;	/* "": none */
	bool main;		/* main thread of its ractor */
	bool shared;		/* it shares native threads with others (M:N) */
	int state;		/* enum extprof_thread_state */
	uint64_t since;		/* so long it has been in this state, ns, in steps of up to 10 ms; UINT64_MAX: unknown */
	uint64_t gvl_holder;	/* READY: serial of the thread that has the GVL; 0: unknown, or nobody */
	char kernel_state;	/* R, S, D, T, t as in proc(5); 0: unknown */
	bool off_cpu;		/* it had no CPU during the read */
	int64_t call;		/* number of the system call that it is in; -1: in none, or unknown */
	const char *call_name;	/* NULL: unknown */
	int32_t call_fd;	/* file descriptor that the call works on; -1: none, or unknown */
	const char *call_file;	/* what that is: "/tmp/x", "socket:[4711]"; NULL: unknown */
	const char *gc;		/* "mark", "sweep", "compact", "enter": it collects garbage; NULL: it does not */
	bool ran;		/* it has run since the dump before.  false in the first one */
	const struct extprof_dump_fiber *const *fibers;	/* the current one first */
	size_t fiber_count;
	int wait;		/* enum extprof_wait */
	uint64_t wait_thread;	/* serial of the thread that it waits for; 0: none, or unknown */
	uint64_t wait_object;	/* tells objects that are waited for apart; 0: none */
	int32_t wait_fd;	/* file descriptor that it waits for; -1: none, or unknown */
	const char *wait_file;	/* what that is; NULL: unknown */
	bool deadlocked;	/* it waits for a thread that, directly or not, waits for it: all for good, and now */
	int wait_owner;		/* enum extprof_owner */
	int wait_limit;		/* enum extprof_limit */
	uint32_t deadlock;	/* number of the deadlock that it is in, from 1; 0: none */
	bool idle;		/* by its stack it has nothing to do, if it has waited so for some time: see docs/waiting.md */
};

/* Made by the library only: fields are added at the end. */
struct extprof_dump_result {
	pid_t pid;
	const char *command;		/* "": unknown */
	const char *ruby_version;	/* "3.4.5" */
	const char *ruby_description;	/* as `ruby -v` */
	uint64_t time;			/* when the read began, ns since 1970; 0: of a core file */
	uint64_t duration;		/* of the read of all stacks, ns */
	uint64_t stopped;		/* so long the process was stopped, ns; 0: it was not */
	const struct extprof_dump_thread *const *threads;	/* oldest first */
	size_t thread_count;
	uint32_t torn;			/* stacks that changed during each try */
	uint32_t lost;			/* stacks that could not be read */
	uint32_t left_out;		/* threads and fibers that could not be read, or are too many */
	uint32_t retried;		/* reads that were done again because the thread had run */
	const char *const *newer;	/* files of the stacks that were changed after the process had started */
	size_t newer_count;
	const char *interface;		/* "1.1": version of the debugging interface that the process has */
	uint64_t core_missing;		/* bytes that the core file lacks at its end, by its own headers */
	uint64_t longest_stop;		/* of a thread that was stopped by itself, ns */
	uint32_t stops;			/* threads that were stopped by themselves, each time counted, also too late */
};

/* Find the ruby in the process or in the core file, within 10 s, and 3 s more with native functions of a core file.  On failure
 * *dump is NULL. */
EXTPROF_API int extprof_dump_open(struct extprof_dump **dump, const struct extprof_dump_options *options,
				  struct extprof_error *error);
/*
 * Read all threads now, within 10 s, and 6 s more with native functions.  *result is valid until the next call.  A result
 * with torn or lost stacks is a result: 0.  The CPU affinity of the calling thread is changed for a moment and set back.
 */
EXTPROF_API int extprof_dump_take(struct extprof_dump *dump, const struct extprof_dump_result **result,
				  struct extprof_error *error);
/* NULL is accepted. */
EXTPROF_API void extprof_dump_close(struct extprof_dump *dump);

/* -- recordings in files ------------------------------------------------------------------------- */

/* A recording that extprof_recording_record_to() made.  Nothing in it is believed. */
struct extprof_recorded;

/* `interrupt_fd`: work on it ends when that is readable; -1 none. */
EXTPROF_API int extprof_recorded_open(struct extprof_recorded **recorded, const char *path, int interrupt_fd,
				      struct extprof_error *error);
/*
 * When it began, and when it ended: ns since 1970, by the clock of its machine when it began.  One that has not ended, or not
 * properly, ends with its last sample, or as it begins if it has none.  Of several the first begin and the last end.
 */
EXTPROF_API int extprof_recorded_times(struct extprof_recorded *recorded, uint64_t *begin, uint64_t *end,
				       struct extprof_error *error);

/*
 * Another recording, up to 10,000 in all: extprof_recorded_write(), extprof_recorded_requests() and extprof_recorded_trend()
 * show them as one, each side of extprof_recorded_diff() can have several, and extprof_recorded_times() is of all.  Other
 * functions take one.  A recording that is there already is an error; what does not fit the others, such as another rate,
 * is one when they are shown.
 */
EXTPROF_API int extprof_recorded_add(struct extprof_recorded *recorded, const char *path, struct extprof_error *error);
EXTPROF_API void extprof_recorded_close(struct extprof_recorded *r);
/* Says which part is missing of the recording that was added last, if it did not end; NULL: none is missing. */
EXTPROF_API const char *extprof_recorded_incomplete(const struct extprof_recorded *r);

/* The recordings of a folder: its files whose names end in .extprof, in the order of their begin. */
struct extprof_folder;

struct extprof_folder_file {
	size_t size;
	const char *path;		/* that of the folder, a slash, and its name */
	uint64_t begin, end;		/* as of extprof_recorded_times(); 0: it cannot be read */
	const char *unreadable;		/* why; NULL: it can be read */
};

/* Look at each of its files, of which it may have 10,000.  One that cannot be read is left out if it has changed in the last
 * 5 s, is empty or has a journal beside it: it has been begun, and no more.  On failure *folder is NULL.  `interrupt_fd`: as for
 * extprof_recorded_open(). */
EXTPROF_API int extprof_folder_open(struct extprof_folder **folder, const char *path, int interrupt_fd,
				    struct extprof_error *error);
/* The i-th of them; those that cannot be read come first.  0, or -ENOENT: there are no more.  The texts belong to the folder. */
EXTPROF_API int extprof_folder_file(const struct extprof_folder *folder, size_t i, struct extprof_folder_file *file);
/* NULL is accepted. */
EXTPROF_API void extprof_folder_close(struct extprof_folder *folder);

struct extprof_recorded_options {
	size_t size;
	/* Which samples: NULL, 0: all. */
	const char *modes;		/* "cpu,gc" */
	uint64_t since, until;		/* ns after its begin; of several, after that of the first, by the clocks of their machines */
	const char *const *filters;	/* "method=Foo*", "label:request=GET *": all have to match */
	size_t filter_count;
	/* How they are shown. */
	/* As in struct extprof_recording_options, and "recording" and "host".  NULL: as it was recorded; of several machines the
	 * host is outermost then, where processes are shown one by one. */
	const char *groups;
	const char *unit;
	bool html, color;		/* as in struct extprof_write_options */
	unsigned int top, width;
	const char *app, *focus, *hide, *collapse;	/* as in struct extprof_recording_options */
	/* Only samples of requests, see docs/requests.md; 0 and 0: all samples. */
	uint64_t slower_than;		/* ns: of those that were seen for so long */
	unsigned int slowest;		/* of so many, the longest ones */
	const char *request_label;	/* this label alone makes a request; NULL: all of them do */
	const char *metric;		/* which of the two amounts of the modes is counted, by name: "samples"; NULL: as the format says */
	/* Methods, fnmatch(3); one of the two.  NULL: none. */
	const char *callers_of;		/* only stacks through it, inverted: it comes first, then what called it */
	const char *callees_of;		/* only stacks through it, from there on */
	unsigned int methods;		/* so many, with most self; others are one frame for each group.  0: all */
	bool invert;			/* the innermost frame is the outermost one below the groups; tables stay */
	bool idle;			/* as in struct extprof_recording_options */
	bool gzip;			/* the formats firefox, otlp and otlp-json are compressed */
	bool labels_can_lack;		/* a label of `groups` that no sample has is one that is not set; else it is an error */
	uint64_t since_at, until_at;	/* instead of since and until: ns since 1970, by the clock of each recording's machine */
	/* extprof_recorded_requests() shows how long requests took, by the value of this label, which makes a request if
	 * request_label is NULL.  NULL: it shows requests. */
	const char *requests_by;
	bool sources;			/* the format firefox has the texts of source files that the recording has */
	/* By the debug information that this machine has for the build ids of modules, docs/native.md: frames of
	 * EXTPROF_FRAME_NATIVE have lines, and functions that the compiler has put into others are frames. */
	bool native_lines, inlined;
	char reserved[5];		/* 0 */
	char *lines_told;		/* set by extprof_recorded_write(): of how many addresses they are known, and why not of others; "":
					 * there is none.  NULL: not wanted */
	size_t lines_told_size;
	/* The format timeline has columns of this time, ns since 1970; what samples have of another time is outside.  0 and 0: the
	 * time that the samples are of. */
	uint64_t columns_since_at, columns_until_at;
	const char *host;		/* the format clickhouse: the machine, if the recording does not say it; NULL: that stays unknown */
};

/* Are its texts right?  What a recording has to have for them is not asked.  0 or negative errno. */
EXTPROF_API int extprof_recorded_options_check(const struct extprof_recorded_options *options, struct extprof_error *error);

/* Write a profile of it, as extprof_recording_write() does. */
EXTPROF_API int extprof_recorded_write(struct extprof_recorded *r, const char *format,
				       const struct extprof_recorded_options *options, FILE *to,
				       struct extprof_error *error);

/*
 * One report for each mode of the options, as if their time alone had been recorded: of what lasts, such as a wait, the part
 * in that time counts, also if it ended later.  Samples, losses, processes and threads are those of the time; CPU times are by
 * samples, memory and heaps as they were seen last.  Times and bytes are counted where a mode has them, and frames are told
 * apart by lines.  extprof_facts::duration is what of the time was recorded in that mode; 0: nothing was.  A time that is in
 * several recordings counts once, and of several machines each has its processes.  There is a report for each mode that any
 * of the recordings has.
 * Which waits are a rest is told as by extprof top: with the EXTPROF_RECORDED_PAST before, as far as the recordings have it, and
 * as with extprof_recording_options::idle_apart.  Recordings of that alone come last.
 * Up to `room` reports, *count are made, in the order of the recorded modes: the caller destroys each.  0 or negative errno.
 */
EXTPROF_API int extprof_recorded_reports(struct extprof_recorded *r, const struct extprof_recorded_options *options,
					 struct extprof_report **reports, size_t room, size_t *count,
					 struct extprof_error *error);
#define EXTPROF_REPORTS_MAX 8
#define EXTPROF_RECORDED_PAST 60000000000ull	/* ns */

/*
 * A table of its requests: those that the options choose, `top` of them, in order of the time; with `slowest` the longest
 * ones first.  With `requests_by` one row for each value of that label, the slowest one first.  `format`: "text" for people,
 * "table" with tabs between columns, or "json".
 */
EXTPROF_API int extprof_recorded_requests(struct extprof_recorded *r, const char *format,
					  const struct extprof_recorded_options *options, FILE *to,
					  struct extprof_error *error);

/*
 * How much of each recording `method` has, with what it calls: a row for each, in the order of time, with the change against
 * the row before that has samples, and the noise of sampling as for extprof_recorded_diff().  `method`: a name, with * and ?.
 * Of the options: one mode, times, filters, metric, idle, width and color.  `format`: as for extprof_recorded_requests().
 */
EXTPROF_API int extprof_recorded_trend(struct extprof_recorded *r, const char *method, const char *format,
				       const struct extprof_recorded_options *options, FILE *to,
				       struct extprof_error *error);

/*
 * Before and after; with two times in the options, both can have the same files.  What the noise of sampling can have made is marked, by the rule that docs/recording.md states.
 */
struct extprof_diff_options {
	size_t size;
	/* Which samples of both, as in struct extprof_recorded_options. */
	const char *mode;		/* one; NULL: the only one */
	const char *metric;		/* which of its two amounts, by name; NULL: times or bytes if it has them */
	uint64_t since, until;
	const char *const *filters;
	size_t filter_count;
	/* How it is shown. */
	const char *names[2];		/* what the recordings are called; NULL: "before" and "after" */
	bool html, color;		/* as in struct extprof_write_options */
	unsigned int top, width;
	bool idle;			/* as in struct extprof_recording_options */
	char reserved[7];		/* 0 */
	uint64_t since_at[2], until_at[2];	/* of each of both, as in struct extprof_recorded_options */
	double above;			/* a share, 0 to 1: methods that have grown by more, and by more than the noise, are counted */
	unsigned int *grown;		/* how many. If it is NULL, or `above` is 0, nothing is counted */
	/* As in struct extprof_recording_options.  Both sides are shaped alike, and then compared. */
	const char *app, *focus, *hide, *collapse;
};

/* `format`: "text" for people, "json" for programs, or "flamegraph": the stacks of both in one graph. */
EXTPROF_API int extprof_recorded_diff(struct extprof_recorded *before, struct extprof_recorded *after, const char *format,
				      const struct extprof_diff_options *options, FILE *to, struct extprof_error *error);

/* Source beside what its lines took. */
struct extprof_annotate_options {
	size_t size;
	/* As in struct extprof_diff_options. */
	const char *mode;
	uint64_t since, until;
	const char *const *filters;
	size_t filter_count;
	const char *unit;
	bool color;
	unsigned int width;
	bool idle;
	char reserved[7];		/* 0 */
	uint64_t since_at, until_at;
	const char *app, *focus, *hide;	/* as in struct extprof_recording_options */
};

/*
 * `what`: the path of a source file, or its end behind a slash, or the name of a method.  `format`: "text" or "html".  The
 * source is that of the recording, or the file of this machine, which is read with the rights of the caller.
 */
EXTPROF_API int extprof_recorded_annotate(struct extprof_recorded *r, const char *what, const char *format,
					  const struct extprof_annotate_options *options, FILE *to,
					  struct extprof_error *error);

struct extprof_recorded_check {
	size_t size;
	uint64_t samples, blocks, bytes;	/* bytes of the blocks */
	uint64_t duration;			/* ns, from the first to the last sample */
};

/* Is all of it right? */
EXTPROF_API int extprof_recorded_verify(struct extprof_recorded *r, struct extprof_recorded_check *check,
					struct extprof_error *error);

/*
 * Write a copy without what others are not to know, into a new file as extprof_recording_record_to() does.  what: "paths",
 * "argv", "labels", "traces", "host", with commas between; NULL: all.  Samples, times and sums are the same; docs/recording.md says
 * what stays.  0; -EEXIST: there is such a file; -EBADMSG: the recording is not right; or another negative errno.
 */
EXTPROF_API int extprof_recorded_redact(struct extprof_recorded *r, const char *what, const char *path, int uid, int gid,
					struct extprof_error *error);

/*
 * Ask it in SQL, see docs/recording.md.  `row` is called with the names of the columns, and then with each row; a value
 * of NULL is NULL, texts are clean.  It returns 0, or a negative errno that ends it.
 */
EXTPROF_API int extprof_recorded_sql(struct extprof_recorded *r, const char *sql,
				     int (*row)(void *context, int columns, const char *const *values), void *context,
				     struct extprof_error *error);
/*
 * The same of a time: samples from since_at to until_at of the options, which have nothing else.  Several recordings, or such a
 * time, are put together in memory: numbers of rows are others then, times are those of the recording that began first, the
 * table `sources` is empty, and of several recordings mode heap is left out, which is a state of each.
 */
EXTPROF_API int extprof_recorded_sql_of(struct extprof_recorded *r, const struct extprof_recorded_options *options, const char *sql,
					int (*row)(void *context, int columns, const char *const *values), void *context,
					struct extprof_error *error);

#ifdef __cplusplus
}
#endif

#endif /* EXTPROF_H */
