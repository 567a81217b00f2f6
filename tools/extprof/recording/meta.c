/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/meta.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Members of struct report_meta that are a row of table `meta` each: "mode.1.command". */
enum field_type {
	FIELD_TEXT, FIELD_REAL, FIELD_TIME, FIELD_INT, FIELD_U32, FIELD_U64
};

/* How the values of a field of several recordings become one. */
enum field_sum {
	SUM,
	JOIN,		/* texts: each once, with commas between */
	SAME,		/* as they all have it; else 0 */
	KEEP,		/* of the first that has it */
	FIRST		/* of the one that began first */
};

#define MEMBER(type, name, how) { #name, type, how, offsetof(struct report_meta, name), sizeof(((struct report_meta *)0)->name) }
static const struct field {
	const char *name;
	enum field_type type;
	enum field_sum sum;
	size_t offset, size;
} fields[] = {
	MEMBER(FIELD_TEXT, command, JOIN), MEMBER(FIELD_TEXT, ruby_version, JOIN), MEMBER(FIELD_TEXT, ruby_description, JOIN),
	MEMBER(FIELD_TEXT, ended, JOIN), MEMBER(FIELD_TEXT, trigger, JOIN), MEMBER(FIELD_TEXT, host, SAME), MEMBER(FIELD_INT, pid, SAME), MEMBER(FIELD_U32, rate, KEEP), MEMBER(FIELD_U32, cpus, KEEP),
	MEMBER(FIELD_U32, unsampled_cpus, SUM), MEMBER(FIELD_TEXT, source, JOIN), MEMBER(FIELD_U64, period, KEEP),
	MEMBER(FIELD_U64, cpu_period, KEEP),
	MEMBER(FIELD_TIME, started, FIRST), MEMBER(FIELD_U64, started_at, FIRST), MEMBER(FIELD_REAL, duration, SUM),
	MEMBER(FIELD_U64, paused, SUM),
	MEMBER(FIELD_U64, cpu_time, SUM), MEMBER(FIELD_U64, missed, SUM), MEMBER(FIELD_U64, frames, SUM),
	MEMBER(FIELD_U64, unknown_frames, SUM), MEMBER(FIELD_U64, expired_names, SUM), MEMBER(FIELD_U64, exited_names, SUM),
	MEMBER(FIELD_U64, unreadable_names, SUM), MEMBER(FIELD_U64, late_names, SUM), MEMBER(FIELD_U64, crowded_names, SUM),
	MEMBER(FIELD_U64, partial_names, SUM), MEMBER(FIELD_U64, late_lines, SUM), MEMBER(FIELD_U64, jit_leaves, SUM),
	MEMBER(FIELD_U64, jit_exact, SUM), MEMBER(FIELD_U64, gc_samples, SUM), MEMBER(FIELD_U64, unknown_threads, SUM),
	MEMBER(FIELD_U64, expired_labels, SUM), MEMBER(FIELD_U64, unread_labels, SUM), MEMBER(FIELD_U64, invalid_traces, SUM),
	MEMBER(FIELD_U64, unread_traces, SUM), MEMBER(FIELD_U32, not_added, SUM),
	MEMBER(FIELD_TEXT, why_not_added, JOIN), MEMBER(FIELD_U32, intervals_kept, SUM), MEMBER(FIELD_INT, why_interval_kept, KEEP),
	MEMBER(FIELD_U64, objects_sampled, SUM), MEMBER(FIELD_U64, objects_died, SUM), MEMBER(FIELD_U64, objects_ended, SUM),
	MEMBER(FIELD_U64, objects_forgotten, SUM), MEMBER(FIELD_U64, objects_refused, SUM), MEMBER(FIELD_U64, objects_before, FIRST),
	MEMBER(FIELD_U32, objects_not_asked, SUM), MEMBER(FIELD_INT, why_objects_not_asked, KEEP),
	MEMBER(FIELD_INT, why_objects_unknown, KEEP),
	MEMBER(FIELD_U64, pauses_begun_before, SUM), MEMBER(FIELD_U64, pauses_not_ended, SUM), MEMBER(FIELD_U64, pauses_lost, SUM),
	MEMBER(FIELD_U64, lost_events, SUM), MEMBER(FIELD_U64, native_joined, SUM), MEMBER(FIELD_U64, native_apart, SUM),
	MEMBER(FIELD_U64, native_cut, SUM), MEMBER(FIELD_U64, unnamed_kernel, SUM), MEMBER(FIELD_INT, why_unnamed_kernel, KEEP),
};
#undef MEMBER
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* -- writing --------------------------------------------------------------------------------------- */

static int write_field(struct recording_writer *w, const char *key, const struct field *f, const struct report_meta *m)
{
	const char *at = (const char *)m + f->offset;

	switch (f->type) {
	case FIELD_TEXT: return *at ? recording_writer__set_text(w, key, at) : 0;
	case FIELD_REAL: {
		double number = *(const double *)(const void *)at;

		/* At the begin the duration is not known. */
		return number > 0 ? recording_writer__set_real(w, key, number) : 0;
	}
	case FIELD_TIME: {
		time_t time = *(const time_t *)(const void *)at;

		return time ? recording_writer__set_number(w, key, (uint64_t)time) : 0;
	}
	case FIELD_INT: {
		int number = *(const int *)(const void *)at;

		return number ? recording_writer__set_real(w, key, number) : 0;
	}
	case FIELD_U32: {
		uint32_t number = *(const uint32_t *)(const void *)at;

		return number ? recording_writer__set_number(w, key, number) : 0;
	}
	default: {
		uint64_t number = *(const uint64_t *)(const void *)at;

		return number ? recording_writer__set_number(w, key, number) : 0;
	}
	}
}

int recording_meta__write(struct recording_writer *w, uint32_t mode, const struct report_meta *m)
{
	char key[64];
	int err = 0;

	for (size_t i = 0; i < FIELDS && !err; i++) {
		snprintf(key, sizeof(key), "mode.%u.%s", mode, fields[i].name);
		err = write_field(w, key, &fields[i], m);
	}
	return err;
}

/* -- reading --------------------------------------------------------------------------------------- */

static int read_field(struct recording_reader *r, const char *key, const struct field *f, struct report_meta *m)
{
	char *at = (char *)m + f->offset, *text;
	int64_t number;
	double real;

	switch (f->type) {
	case FIELD_TEXT:
		text = recording_reader__text(r, key);
		text__clean(at, f->size, text ? text : "");
		free(text);
		break;
	case FIELD_REAL:
		real = recording_reader__real(r, key);
		/* Neither NAN nor what no recording lasts: times in ns have room in 64 bits. */
		*(double *)(void *)at = real >= 1e-9 && real <= 9e9 ? real : 0;
		break;
	case FIELD_INT:
		real = recording_reader__real(r, key);
		*(int *)(void *)at = real > INT32_MIN && real < INT32_MAX ? (int)real : 0;
		break;
	case FIELD_TIME:
		number = recording_reader__number(r, key);
		*(time_t *)(void *)at = number < (1ll << 40) ? number : 0;
		break;
	case FIELD_U32:
		number = recording_reader__number(r, key);
		*(uint32_t *)(void *)at = number <= UINT32_MAX ? (uint32_t)number : 0;
		break;
	case FIELD_U64:
		*(uint64_t *)(void *)at = (uint64_t)recording_reader__number(r, key);
		break;
	}
	return 0;
}

void recording_meta__read(struct recording_reader *r, uint32_t mode, struct report_meta *m)
{
	char key[64];

	for (size_t i = 0; i < FIELDS; i++) {
		snprintf(key, sizeof(key), "mode.%u.%s", mode, fields[i].name);
		read_field(r, key, &fields[i], m);
	}
	m->began = recording_reader__wall(r);
}

/* -- several --------------------------------------------------------------------------------------- */

#define SEPARATOR ", "

/* Is it one of the texts of a list? */
static bool has_text(const char *list, const char *text)
{
	size_t length = strlen(text), separator = strlen(SEPARATOR);

	for (const char *at = list; (at = strstr(at, text)); at++)
		if ((at == list || (at >= list + separator && !strncmp(at - separator, SEPARATOR, separator))) &&
		    (!at[length] || !strncmp(at + length, SEPARATOR, separator)))
			return true;
	return false;
}

/* A list that has no room for another one ends with "...". */
static void join(char *list, size_t size, const char *text)
{
	static const char more[] = SEPARATOR "...";
	size_t length = strlen(list);

	if (!*text || has_text(list, text) || has_text(list, more + strlen(SEPARATOR)))
		return;
	if (!length)
		snprintf(list, size, "%s", text);
	else if (length + strlen(SEPARATOR) + strlen(text) + sizeof(more) <= size)
		snprintf(list + length, size - length, SEPARATOR "%s", text);
	else if (length + sizeof(more) <= size)
		snprintf(list + length, size - length, "%s", more);
}

static void add_number(const struct field *f, void *to, const void *from)
{
	switch (f->type) {
	case FIELD_REAL: *(double *)to += *(const double *)from; break;
	case FIELD_U32: *(uint32_t *)to += *(const uint32_t *)from; break;
	case FIELD_U64: *(uint64_t *)to += *(const uint64_t *)from; break;
	case FIELD_INT:
	case FIELD_TIME:
	case FIELD_TEXT: break;	/* they have no sum */
	}
}

static bool is_zero(const char *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (data[i])
			return false;
	return true;
}

static void add_field(const struct field *f, char *to, const char *from, bool first)
{
	switch (f->sum) {
	case SUM:
		add_number(f, to, from);
		break;
	case JOIN:
		join(to, f->size, from);
		break;
	case SAME:
		if (memcmp(to, from, f->size))
			memset(to, 0, f->size);
		break;
	case KEEP:
		if (is_zero(to, f->size))
			memcpy(to, from, f->size);
		break;
	case FIRST:
		if (first)
			memcpy(to, from, f->size);
		break;
	}
}

void recording_meta__add(struct report_meta *sum, const struct report_meta *m, bool only, bool first)
{
	/* Some may be shown in part, and others whole. */
	double whole = sum->whole || m->whole ? (sum->whole ? sum->whole : sum->duration) + (m->whole ? m->whole : m->duration) : 0;

	sum->whole = only ? m->whole : whole;
	if (only || first) {
		sum->began = m->began;
		sum->part_began = m->part_began;
	}
	for (size_t i = 0; i < FIELDS; i++) {
		char *to = (char *)sum + fields[i].offset;
		const char *from = (const char *)m + fields[i].offset;

		if (only)
			memcpy(to, from, fields[i].size);
		else
			add_field(&fields[i], to, from, first);
	}
	if (only)
		sum->version = m->version;
	else
		report_version__join(&sum->version, &m->version);
	if (only) {
		sum->accounting = m->accounting;
		sum->all_modes = m->all_modes;
		return;
	}
	accounting__add(&sum->accounting, &m->accounting);
	accounting__add(&sum->all_modes, &m->all_modes);
}
