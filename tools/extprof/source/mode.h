/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The modes that a user can ask for with --mode.  A mode is a view of what one or more sources send: which of their
 * samples belong to it, in which unit they are counted, and what is shown below the innermost frame of a stack.  The
 * file of a source defines its modes; a line in the table modes.def lists each.
 */
#ifndef EXTPROF_MODE_H
#define EXTPROF_MODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "frames/frame.h"
#include "wire/sample.h"

/* How many can be recorded together. */
#define MODES_MAX 8

enum unit {
	UNIT_COUNT,		/* of samples, waits, calls, objects */
	UNIT_NS,
	UNIT_BYTES,
};

struct metric {
	const char *name;	/* of a column, and in outputs with several: "samples", "cpu", "alloc_space" */
	enum unit unit;
};

/* The weight of one sample in a mode. */
struct weight {
	uint64_t value;		/* in the unit of mode::value */
	uint64_t count;		/* in that of mode::count */
};

struct mode {
	const char *name;	/* of --mode, and of the frame that separates several modes */
	const char *help;	/* what it shows, one line */
	uint32_t sources;	/* mask of 1u << enum sample_source */
	uint32_t beside;	/* mask of sources that send no stacks of it, only what its summary has besides */
	struct metric value, count;
	bool by_count;		/* shown by `count`, if the user does not choose a unit */
	/*
	 * Does the sample belong to it?  *weight is sample_event::value and ::count; it may be changed.
	 * NULL: every sample of its sources does.
	 */
	bool (*take)(const struct sample_event *e, struct weight *weight);
	/* Append the name of the frame below the code: "gvl".  Nothing appended, or NULL: no frame. */
	void (*innermost)(const struct sample_event *e, struct text *out);
	enum frame_kind below;	/* its kind; 0: FRAME_STATE */
	bool names_event;	/* sample_event::detail is the number of an event that the user has named */
	bool has_states;	/* its samples are of states of threads, see wire/states.h */
	uint32_t states;	/* of these: a mask of 1u << enum thread_state; 0: of all */
	bool each_wait;		/* it wants each wait as a sample, if the user does not choose */
	/* sample_event::detail is the id of a class, which is shown there instead.  `innermost` is for objects of
	 * the VM itself, whose class has no name. */
	bool names_class;
	/* Its samples are of objects that may die: it shows those that live when the recording ends. */
	bool lives;
};

/* All, ends with NULL. */
extern const struct mode *const modes[];

/* Add those of "cpu,gc" to a list of at most MODES_MAX.  0; -EINVAL: a name is wrong, or is there twice. */
int modes__parse(const char *text, const struct mode **list, uint32_t *count);

/* Append "cpu, wall or gvl". */
void modes__add_names(const struct mode *const *list, uint32_t count, struct text *out);

/* Does the sample belong to the mode?  Sets *weight if so. */
bool mode__takes(const struct mode *mode, const struct sample_event *e, struct weight *weight);

/* The kind of the frames below the code. */
enum frame_kind mode__below(const struct mode *mode);

/* By enum thread_state of wire/states.h. */
extern const char *const state_names[];
/* Add those of "gvl,io" to a mask of 1u << enum thread_state.  0; -EINVAL: a name is wrong. */
int states__parse(const char *text, uint32_t *mask);
/*
 * The parts of the frame of a wait for a file, "io read socket": *call is "read", *length bytes of the name; *file "socket", or
 * "": which kind it is was not known.  false: it is no such frame.
 */
bool state__io_parts(const char *name, const char **call, size_t *length, const char **file);
/* The names that states__parse() takes, from 0; NULL behind the last one. */
const char *state__name(int i);

#define MODE(name) extern const struct mode mode_##name;
#include "source/modes.def"
#undef MODE
/* mode_syscall with durations. */
extern const struct mode mode_syscall_latency;

#endif /* EXTPROF_MODE_H */
