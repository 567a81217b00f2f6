/* SPDX-License-Identifier: BSD-2-Clause */
/* The modes that are views of what threads wait for. */
#include "source/mode.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "source/call_kinds.h"
#include "source/syscall_set.h"

const char *const state_names[STATE_MAX] = {
	[STATE_RUNNING] = "running",
	[STATE_RUNNABLE] = "runnable",
	[STATE_GVL] = "gvl",
	[STATE_IO] = "io",
	[STATE_SLEEP] = "sleep",
	[STATE_MUTEX] = "mutex",
	[STATE_QUEUE] = "queue",
	[STATE_CONDVAR] = "condvar",
	[STATE_JOIN] = "join",
	[STATE_PROCESS] = "process",
	[STATE_RACTOR] = "ractor",
	[STATE_NATIVE] = "native",
	[STATE_FAULT] = "page fault",
	[STATE_STOPPED] = "stopped",
	[STATE_PARKED] = "parked",
};

const char *state__name(int i)
{
	return i < 0 || i >= STATE_MAX ? NULL : i == STATE_FAULT ? "fault" : state_names[i];
}

int states__parse(const char *text, uint32_t *mask)
{
	for (;;) {
		size_t length = strcspn(text, ",");
		int i = 0;

		while (state__name(i) && (strlen(state__name(i)) != length || strncmp(state__name(i), text, length)))
			i++;
		if (!state__name(i))
			return -EINVAL;
		*mask |= 1u << i;
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

static const char *file_name(uint32_t kind)
{
	switch (kind) {
	case FILE_REGULAR: return " file";
	case FILE_DIRECTORY: return " directory";
	case FILE_PIPE: return " pipe";
	case FILE_SOCKET: return " socket";
	case FILE_DEVICE: return " device";
	case FILE_TERMINAL: return " terminal";
	case FILE_EVENTFD: return " eventfd";
	case FILE_TIMERFD: return " timerfd";
	case FILE_SIGNALFD: return " signalfd";
	case FILE_PIDFD: return " pidfd";
	case FILE_INOTIFY: return " inotify";
	default: return "";
	}
}

/* A thread that shares its native thread with others (M:N) waits for a file in no system call, or in the futex in which
 * its native thread waits for all of them.  Ruby says what it does. */
static const char *io_of_ruby(uint32_t kind)
{
	switch (kind) {
	case RB_DEBUG_EXT_WAIT_IO_READ: return " read";
	case RB_DEBUG_EXT_WAIT_IO_WRITE: return " write";
	case RB_DEBUG_EXT_WAIT_IO_SELECT: return " select";
	default: return " wait";
	}
}

static void add_call(uint32_t call, struct text *out)
{
	const char *name = call ? syscall__name(call - 1) : NULL;

	if (name)
		text__addf(out, " %s", name);
	else if (call)
		text__addf(out, " system call %u", call - 1);
}

static void add_state(const struct sample_event *e, struct text *out)
{
	uint32_t call = DETAIL_CALL(e->detail);

	if (e->source != SOURCE_SCHED || e->state >= STATE_MAX)
		return;
	text__adds(out, state_names[e->state]);
	switch (e->state) {
	case STATE_IO:
		if (!call || call_kind((int64_t)call - 1) == CALL_FUTEX)
			text__adds(out, io_of_ruby(DETAIL_KIND(e->detail)));
		else
			add_call(call, out);
		text__adds(out, file_name(DETAIL_FILE(e->detail)));
		break;
	case STATE_NATIVE:
		add_call(call, out);
		break;
	}
}

bool state__io_parts(const char *name, const char **call, size_t *length, const char **file)
{
	size_t state = strlen(state_names[STATE_IO]), end = strlen(name);

	if (strncmp(name, state_names[STATE_IO], state) || name[state] != ' ')
		return false;
	*call = name + state + 1;
	*file = name + end;
	for (uint32_t kind = 0; kind < FILE_KINDS; kind++) {
		size_t size = strlen(file_name(kind));

		/* "io wait" has no kind, and a call comes before it. */
		if (!size || end < state + 1 + size || strcmp(name + end - size, file_name(kind)))
			continue;
		*file = name + end - size + 1;
		end -= size;
		break;
	}
	*length = (size_t)(name + end - *call);
	return true;
}

const struct mode mode_wall = {
	.name = "wall",
	.help = "what each thread does at each moment, also if it waits",
	.sources = 1u << SOURCE_CPU | 1u << SOURCE_SCHED,
	.value = { "wall", UNIT_NS },
	.count = { "samples", UNIT_COUNT },
	.innermost = add_state,
	.has_states = true,
};

const struct mode mode_offcpu = {
	.name = "offcpu",
	.help = "what threads wait for, and how long",
	.sources = 1u << SOURCE_SCHED,
	.value = { "offcpu", UNIT_NS },
	.count = { "waits", UNIT_COUNT },
	.innermost = add_state,
	.has_states = true,
	.each_wait = true,
};

const struct mode mode_gvl = {
	.name = "gvl",
	.help = "waits for the GVL",
	.sources = 1u << SOURCE_SCHED,
	.value = { "gvl", UNIT_NS },
	.count = { "waits", UNIT_COUNT },
	.innermost = add_state,
	.has_states = true,
	.states = 1u << STATE_GVL,
	.each_wait = true,
};
