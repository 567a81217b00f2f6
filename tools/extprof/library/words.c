/* SPDX-License-Identifier: BSD-2-Clause */
/* The words that options take, and what is known of modes and formats without a recording. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "engine/reader.h"
#include "extprof.h"
#include "library/error.h"
#include "output/output.h"
#include "profile/groups.h"
#include "profile/unit.h"
#include "source/event_spec.h"
#include "source/mode.h"
#include "source/source.h"
#include "source/syscall_set.h"

_Static_assert(EXTPROF_RATE_MAX == SOURCE_RATE_MAX, "EXTPROF_RATE_MAX");
_Static_assert(EXTPROF_EVENTS_MAX == EVENTS_MAX, "EXTPROF_EVENTS_MAX");

/* More than any table has. */
#define WORDS_MAX 4096

static const char *mode_name(int i)
{
	return modes[i] ? modes[i]->name : NULL;
}

static const char *format_name(int i)
{
	return output_formats[i] ? output_formats[i]->name : NULL;
}

static const char *timer_name(int i)
{
	return i < TIMER_KINDS ? timer_names[i] : NULL;
}

static const char *group_name(int i)
{
	static const char *const others[] = { GROUP_LABEL_PREFIX "KEY", GROUP_RESOURCE_PREFIX "KEY", "none", NULL };

	return i + 1 < GROUP_KEYS ? group_names[i + 1] : others[i + 1 - GROUP_KEYS];
}

static const char *waits_name(int i)
{
	static const char *const names[] = { "each", "rate", NULL };

	return names[i];
}

static const char *reader_name(int i)
{
	return i < READER_KINDS ? reader_names[i] : NULL;
}

static const char *syscall_name(int i)
{
	return syscall__name_at((uint32_t)i);
}

static const char *(*const words[])(int) = {
	[EXTPROF_MODES] = mode_name,
	[EXTPROF_FORMATS] = format_name,
	[EXTPROF_TIMERS] = timer_name,
	[EXTPROF_GROUPS] = group_name,
	[EXTPROF_UNITS] = unit__name,
	[EXTPROF_STATES] = state__name,
	[EXTPROF_WAITS] = waits_name,
	[EXTPROF_EVENTS] = event_spec__perf_name,
	[EXTPROF_SYSCALLS] = syscall_name,
	[EXTPROF_READERS] = reader_name,
};

const char *extprof_word(enum extprof_words kind, size_t i)
{
	if ((size_t)kind >= sizeof(words) / sizeof(words[0]) || i >= WORDS_MAX)
		return NULL;
	/* A table ends with NULL, and nothing is behind that. */
	for (size_t n = 0; n < i; n++)
		if (!words[kind]((int)n))
			return NULL;
	return words[kind]((int)i);
}

int extprof_mode_info(const char *name, struct extprof_mode_info *info)
{
	for (size_t i = 0; modes[i]; i++) {
		struct extprof_mode_info full = {
			.name = modes[i]->name, .help = modes[i]->help, .has_states = modes[i]->has_states,
			.below = frame_kind_names[mode__below(modes[i])], .at_end = modes[i]->lives,
		};

		if (!strcmp(modes[i]->name, name))
			return result__copy(info, &full, sizeof(full));
	}
	return -ENOENT;
}

int extprof_format_info(const char *name, struct extprof_format_info *info)
{
	const struct output_format *format = output__by_name(name);
	struct extprof_format_info full = { 0 };

	if (!format)
		return -ENOENT;
	full.name = format->name;
	full.help = format->help;
	full.one_mode = format->one_mode;
	full.of_files = format->timeline || format->cells;
	full.suffixes = format->suffixes;
	while (full.suffix_count < sizeof(format->suffixes) / sizeof(format->suffixes[0]) &&
	       format->suffixes[full.suffix_count])
		full.suffix_count++;
	return result__copy(info, &full, sizeof(full));
}

const char *extprof_format_of_file(const char *path)
{
	const struct output_format *format = strcmp(path, "-") ? output__by_path(path) : &output_folded;

	return format ? format->name : NULL;
}

void extprof_clean(char *to, size_t size, const char *from)
{
	text__clean(to, size, from);
}

int error__not_one_of(enum extprof_words kind, const char *what, const char *given, struct extprof_error *error)
{
	struct text list = { 0 };
	const char *word;

	for (size_t i = 0; (word = extprof_word(kind, i)); i++)
		text__addf(&list, "%s%s", !i ? "" : extprof_word(kind, i + 1) ? ", " : " or ", word);
	error__set(error, DIAG_USAGE, EINVAL, "%s is no %s: %s", given, what, text__string(&list));
	text__free(&list);
	return -EINVAL;
}
