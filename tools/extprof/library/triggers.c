/* SPDX-License-Identifier: BSD-2-Clause */
#include "library/triggers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "options/values.h"
#include "wire/states.h"

#define FORMS "pause>100ms, gvl>50%, cpu>150%, alloc>200MB, label:request>500ms, rss>2GB, exit"

/* 4,096 CPUs or threads. */
#define PERCENT_MAX 409600ul
#define SECOND 1000000000ull
#define AROUND (10 * SECOND)
/* Files that are kept, if nothing is said. */
#define KEEP 100
/* Files of one moment, at most. */
#define KEEP_LEAST 4

static int fail(struct extprof_error *error, const char *text, const char *what)
{
	return error__set(error, DIAG_USAGE, EINVAL, "--trigger %.60s: %s", text, what);
}

/* "50%": of a second, in ns. */
static int parse_share(const char *text, uint64_t *limit)
{
	char digits[16];
	unsigned long percent;
	size_t length = strcspn(text, "%");

	if (strcmp(text + length, "%") || length >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, text, length);
	digits[length] = '\0';
	if (number__parse(digits, 1, PERCENT_MAX, &percent))
		return -EINVAL;
	*limit = percent * (SECOND / 100);
	return 0;
}

static int parse_count(const char *text, uint64_t *limit)
{
	unsigned long count;

	if (number__parse(text, 1, 1000000000, &count))
		return -EINVAL;
	*limit = count;
	return 0;
}

static const struct mode *find_mode(const struct settings *s, const char *name)
{
	for (uint32_t i = 0; i < s->mode_count; i++)
		if (!strcmp(s->modes[i]->name, name) && !s->modes[i]->lives)
			return s->modes[i];
	return NULL;
}

/* Do the modes have the waits of threads in that state? */
static bool has_state(const struct settings *s, uint32_t state)
{
	for (uint32_t i = 0; i < s->mode_count; i++) {
		const struct mode *m = s->modes[i];

		if (m->has_states && (!m->states || m->states & 1u << state) && (!s->states || s->states & 1u << state))
			return true;
	}
	return false;
}

/* Find the mode or state that is counted, and parse its limit. */
static int parse_rate(const struct settings *s, struct trigger *t, const char *name, const char *limit, struct extprof_error *error)
{
	uint32_t states = 0;

	t->mode = find_mode(s, name);
	if (t->mode && t->mode->value.unit == UNIT_NS && !parse_share(limit, &t->limit))
		return 0;
	/* A size has a unit. */
	if (t->mode && t->mode->value.unit != UNIT_NS && !parse_count(limit, &t->limit)) {
		t->by_count = t->mode->value.unit != UNIT_COUNT;
		return 0;
	}
	if (t->mode && t->mode->value.unit == UNIT_BYTES && !value__bytes(limit, &t->limit))
		return 0;
	if (t->mode)
		return fail(error, t->text, t->mode->value.unit == UNIT_NS ? "the limit is a share of a second: 50%" :
			    t->mode->value.unit == UNIT_BYTES ? "the limit is a size or a number within a second: 200MB" :
			    "the limit is a number within a second: 1000");
	if (states__parse(name, &states))
		return fail(error, t->text, "it is no mode of this recording and no state of threads; a trigger is one of " FORMS);
	t->kind = TRIGGER_STATE;
	t->state = (uint32_t)__builtin_ctz(states);
	if (!has_state(s, t->state))
		return fail(error, t->text, "no mode of this recording measures that: add it, as in -m cpu,gvl, or use -m wall");
	return parse_share(limit, &t->limit) ? fail(error, t->text, "the limit is a share of a second: 50%") : 0;
}

/* Do the modes have all of a request: what runs and what waits? */
static bool has_all(const struct settings *s)
{
	return !s->states && (find_mode(s, "wall") || (find_mode(s, "cpu") && find_mode(s, "offcpu")));
}

static int parse(const struct settings *s, struct trigger *t, const char *text, size_t length, struct extprof_error *error)
{
	static const char label[] = "label:";
	char name[sizeof(t->text)] = "";
	const char *limit;

	memset(t, 0, sizeof(*t));
	if (length >= sizeof(t->text))
		return fail(error, text, "it is too long");
	memcpy(t->text, text, length);
	if (!strcmp(t->text, "exit")) {
		t->kind = TRIGGER_EXIT;
		return 0;
	}
	limit = strrchr(t->text, '>');
	if (!limit || limit == t->text)
		return fail(error, t->text, "a trigger is one of " FORMS);
	memcpy(name, t->text, (size_t)(limit++ - t->text));
	if (!strncmp(name, label, strlen(label))) {
		const char *key = name + strlen(label);

		t->kind = TRIGGER_LABEL;
		if (!*key || strlen(key) >= sizeof(t->key))
			return fail(error, t->text, "the key of the label has 1 to 47 bytes");
		strcpy(t->key, key);
		if (!has_all(s))
			return fail(error, t->text, "a request runs and waits: use -m wall, or -m cpu,offcpu, and no --state");
		return value__duration(limit, &t->limit) ? fail(error, t->text, "the limit is a time: 500ms") : 0;
	}
	if (!strcmp(name, "stuck"))
		return fail(error, t->text, "that is a trigger of extprof daemon");
	if (!strcmp(name, "pause")) {
		t->kind = TRIGGER_PAUSE;
		if (!find_mode(s, "gc"))
			return fail(error, t->text, "pauses are those of mode gc: add it, as in -m cpu,gc");
		return value__duration(limit, &t->limit) ? fail(error, t->text, "the limit is a time: 100ms") : 0;
	}
	if (!strcmp(name, "rss")) {
		t->kind = TRIGGER_RSS;
		return value__bytes(limit, &t->limit) ? fail(error, t->text, "the limit is a size: 2GB") : 0;
	}
	return parse_rate(s, t, name, limit, error);
}

/* Which files there are, and which stay. */
static int set_files(struct settings *s, const struct extprof_recording_options *o, struct extprof_error *error)
{
	s->around = o->around ? o->around : AROUND;
	s->rotate_time = s->around;
	/* That of a slow request from its begin on. */
	s->retain = s->around;
	for (uint32_t i = 0; i < s->trigger_count; i++)
		if (s->triggers[i].kind == TRIGGER_LABEL && s->around + s->triggers[i].limit > s->retain)
			s->retain = s->around + s->triggers[i].limit;
	if (s->retain / s->around >= SETTINGS_RETAIN_MAX)
		return error__set(error, DIAG_USAGE, EINVAL, "--around: files of that length are too many for a request of that length: choose a "
				  "longer --around");
	s->keep = o->keep ? o->keep : KEEP;
	if (s->keep < KEEP_LEAST)
		return error__set(error, DIAG_USAGE, EINVAL, "--keep: one moment has up to %d files with --trigger", KEEP_LEAST);
	return 0;
}

int triggers__set(struct settings *s, const struct extprof_recording_options *o, struct extprof_error *error)
{
	const char *text = o->triggers;
	int err = 0;

	if (!text && o->around)
		return error__set(error, DIAG_USAGE, EINVAL, "--around is for --trigger: how long before and after it is kept");
	if (!text)
		return 0;
	if (o->rotate && o->around)
		return error__set(error, DIAG_USAGE, EINVAL, "--rotate keeps all files, and --around only what is around --trigger: use one of them");
	for (size_t length; *text && !err; text += length + (text[length] == ',')) {
		length = strcspn(text, ",");
		if (s->trigger_count == TRIGGERS_MAX)
			return error__set(error, DIAG_USAGE, EINVAL, "--trigger: at most %u triggers", TRIGGERS_MAX);
		err = parse(s, &s->triggers[s->trigger_count++], text, length, error);
	}
	if (!err && !s->trigger_count)
		return error__set(error, DIAG_USAGE, EINVAL, "--trigger: a trigger is one of %s", FORMS);
	/* The files of --rotate are those that it would have without triggers. */
	return err || o->rotate ? err : set_files(s, o, error);
}
