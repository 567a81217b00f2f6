/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One frame of a stack as data.  Whoever shows it composes the text with frame__add_text(); nobody takes a text
 * apart to learn what the frame is.
 */
#ifndef EXTPROF_FRAME_H
#define EXTPROF_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* Values are part of outputs and recordings: append only. */
enum frame_kind {
	/* Code. */
	FRAME_RUBY = 0,
	FRAME_C = 1,		/* a method in C */
	FRAME_BUILTIN = 2,	/* a part of Ruby itself, in Ruby */
	FRAME_NATIVE = 3,	/* machine code of a program or library */
	FRAME_KERNEL = 4,	/* a function of the kernel */
	FRAME_GC = 5,		/* a phase of the collector */
	FRAME_NO_RUBY = 6,	/* a thread, or a part of the VM, without Ruby code */
	FRAME_MARK = 7,		/* where frames or a name are missing: truncated, unknown, merged */
	/* Groups: the outermost frames, which say whose the stack is. */
	FRAME_PROCESS = 8,
	FRAME_THREAD = 9,
	FRAME_CGROUP = 10,
	FRAME_LABEL = 11,	/* the value of a label that the program has set */
	/* Below the code. */
	FRAME_STATE = 12,	/* the state of a thread that did not run */
	FRAME_CLASS = 13,	/* the class of an object, or other memory */
	FRAME_CALL = 14,	/* a system call */
	FRAME_EVENT = 15,	/* an event of the user's choice */
	FRAME_DETAIL = 16,	/* below a state: the file, the holder, the waker */
	FRAME_KINDS,
	FRAME_MODE = 255	/* keeps the modes of a tree apart; no report has it */
};

/* How much is known of a group, or of a label. */
enum frame_known {
	KNOWN = 0,
	KNOWN_NOT_SET,		/* the label has no value */
	KNOWN_EXPIRED,		/* the record was gone before it was read */
	KNOWN_UNREAD,		/* the record could not be read */
	KNOWN_CROWDED,		/* one of too many */
	KNOWN_NOT,		/* the profile does not have it */
	KNOWN_MERGED		/* of several, merged */
};

enum thread_role {
	ROLE_RUBY = 0,
	ROLE_FIBERS,		/* the parked fibers of a Ruby thread */
	ROLE_NATIVE,		/* no Ruby thread */
	ROLE_UNKNOWN		/* it could not be told which thread it is */
};

/* The parts that a frame can lack, and why. */
enum frame_missing {
	MISSING_NOTHING = 0,
	/* Its name, because: */
	MISSING_EXPIRED,	/* the code was gone before the name was read */
	MISSING_EXITED,		/* the process had ended before the name was read */
	MISSING_UNREADABLE,	/* the record could not be read */
	MISSING_LATE,		/* there was no time to read it */
	MISSING_CROWDED,	/* extprof has no room for more names */
	/* A part of its name. */
	MISSING_PART,
	/* Its line: the name was read later than the sample was taken. */
	MISSING_LINE,
	MISSING_KINDS
};

/* Texts are clean; "": there is none. */
struct frame {
	const char *name;	/* of code as it is shown; else without what the other parts say: "mark" of the collector,
				 * "worker 1" of a thread, "puma" of a process, the value of a label */
	const char *path;	/* of code, and of a holder */
	const char *module;	/* of machine code: its file; of the kernel: the name of the module, "" if it is in none.  Of a
				 * process a list as in base/attributes.h, where groups ask for it */
	const char *key;	/* of a label; of a detail "file", "waker" or DETAIL_; of machine code the build id of its module,
				 * in hex */
	const char *wider;	/* of a thread its pattern, "worker *"; of a process its cgroup */
	uint64_t address;	/* of the machine code that ran, or of the end of a call less 1, in its module */
	int32_t line, first_line;	/* from 1; 0 unknown */
	uint32_t pid;		/* of a process; 0: not known, or of several */
	uint32_t tid;		/* of a thread; the same.  Of a detail that of a thread of the process that it names */
	uint8_t kind;		/* enum frame_kind */
	uint8_t known;		/* enum frame_known */
	uint8_t role;		/* enum thread_role, of a thread, and of a detail with a tid */
	uint8_t state;		/* enum thread_state of wire/states.h, of a state */
	uint8_t missing;	/* enum frame_missing */
	bool approximate;	/* the line */
	bool bracketed;		/* no record has this name: it is shown in brackets */
};

/* frame::key of details: where the thread was that held what is waited for, and below that which thread. */
#define DETAIL_HOLDER "holder"
#define DETAIL_HOLDER_THREAD "holder thread"

/* A frame without any part. */
#define FRAME_INIT(kind_) { .name = "", .path = "", .module = "", .key = "", .wider = "", .kind = (kind_) }

/* "Ruby", "C method", "process": by kind. */
extern const char *const frame_kind_names[FRAME_KINDS];

static inline bool frame_kind__is_group(uint8_t kind)
{
	return kind >= FRAME_PROCESS && kind <= FRAME_LABEL;
}

/* Is it above the code: a group, or the mode? */
static inline bool frame_kind__is_above(uint8_t kind)
{
	return kind == FRAME_MODE || frame_kind__is_group(kind);
}

/* Is it below the code?  Its samples are samples of the code above it. */
static inline bool frame_kind__is_below(uint8_t kind)
{
	return kind >= FRAME_STATE && kind <= FRAME_DETAIL;
}

static inline bool frame_kind__is_code(uint8_t kind)
{
	return kind <= FRAME_MARK;
}

/* Tables whose rows have time.  Of all but the first only Ruby code with a place has a row. */
enum frame_rows { ROWS_BY_METHOD, ROWS_BY_LINE, ROWS_BY_FILE };

/* Which row has the time of a frame. */
enum frame_part {
	PART_OWN,
	PART_OF_CALLER,		/* that of the code that called it */
	PART_NONE,		/* it is not known, as it may be Ruby code; or it is no code */
};

enum frame_part frame__part(const struct frame *f, enum frame_rows rows);

/* Append the text of a frame: "Foo#bar", "vfs_read_[k]", "[GC mark]", "[thread worker 1 (42)]", "[request=GET /x]". */
void frame__add_text(const struct frame *f, struct text *out);
/* The text between the brackets of a frame that is shown in brackets: "GC mark", "thread worker 1 (42)". */
void frame__add_inside(const struct frame *f, struct text *out);
/* The same of a group, without its kind, number and key: "worker 1", "puma", "native thread ruby", "GET /x". */
void frame__add_bare(const struct frame *f, struct text *out);
/* The same with its number: "worker 1 (42)". */
void frame__add_numbered(const struct frame *f, struct text *out);

/* A hash of all parts. */
uint64_t frame__hash(const struct frame *f);
bool frame__is_same(const struct frame *a, const struct frame *b);

/* The number that a group has: a pid or a tid; 0 none. */
static inline uint32_t frame__number(const struct frame *f)
{
	return f->kind == FRAME_PROCESS ? f->pid : f->tid;
}

#endif /* EXTPROF_FRAME_H */
