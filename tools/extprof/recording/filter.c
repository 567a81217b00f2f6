/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/filter.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "frames/owner.h"
#include "profile/groups.h"
#include "profile/service.h"
#include "profile/transform.h"
#include "recording/schema.h"

/* Does a row of a table match a condition?  It is asked once for each row. */
enum match {
	MATCH_UNKNOWN, MATCH_NO, MATCH_YES
};

/* Ids have small letters; others have them in capitals.  False: it can be no pattern of an id. */
static bool make_digits(char *pattern)
{
	for (char *p = pattern; *p; p++) {
		if (!isxdigit((unsigned char)*p) && !strchr("*?[]!-", *p))
			return false;
		*p = (char)tolower((unsigned char)*p);
	}
	return *pattern;
}

int recording_filter__add(struct recording_filter *f, const char *text)
{
	static const char *const keys[] = {
		[KEY_PROCESS] = "process", [KEY_THREAD] = "thread", [KEY_METHOD] = "method", [KEY_FILE] = "file",
		[KEY_STATE] = "state", [KEY_CGROUP] = "cgroup", [KEY_HOST] = "host", [KEY_SERVICE] = "service",
		[KEY_COMMIT] = "commit", [KEY_GEM] = "gem",
		[KEY_TRACE] = "trace", [KEY_SPAN] = "span",
	};
	static const struct {
		const char *name;
		enum recording_key key;
	} prefixes[] = { { GROUP_LABEL_PREFIX, KEY_LABEL }, { GROUP_RESOURCE_PREFIX, KEY_RESOURCE } };
	const char *pattern = strchr(text, '=');
	struct recording_condition *c = &f->list[f->count];
	size_t length = pattern ? (size_t)(pattern - text) : 0;

	if (f->count == RECORDING_CONDITIONS_MAX)
		return -E2BIG;
	if (!pattern || strlen(pattern + 1) >= sizeof(c->pattern))
		return -EINVAL;
	memset(c, 0, sizeof(*c));
	strcpy(c->pattern, pattern + 1);
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t n = strlen(prefixes[i].name);

		if (length <= n || strncmp(text, prefixes[i].name, n) || length - n >= sizeof(c->label))
			continue;
		c->key = prefixes[i].key;
		memcpy(c->label, text + n, length - n);
		/* Groups of these names are traces and spans, too. */
		if (c->key == KEY_LABEL && trace__part_of_label(c->label) >= 0)
			c->key = trace__part_of_label(c->label) == TRACE_ID ? KEY_TRACE : KEY_SPAN;
		f->count++;
		return 0;
	}
	for (int i = 0; i < KEY_LABEL; i++) {
		if (strlen(keys[i]) != length || strncmp(keys[i], text, length))
			continue;
		c->key = (enum recording_key)i;
		if ((c->key == KEY_TRACE || c->key == KEY_SPAN) && !make_digits(c->pattern))
			return -EINVAL;
		f->count++;
		return 0;
	}
	return -EINVAL;
}

static bool matches_text(const struct recording_condition *c, const char *text)
{
	return !fnmatch(c->pattern, text, 0);
}

static bool is_of_trace(enum recording_key key)
{
	return key == KEY_TRACE || key == KEY_SPAN;
}

static enum trace_part part_of(enum recording_key key)
{
	return key == KEY_TRACE ? TRACE_ID : TRACE_SPAN;
}

static bool matches_digits(const struct recording_condition *c, const char *text)
{
	return !fnmatch(c->pattern, text, FNM_CASEFOLD);
}

static bool matches_trace(const struct recording_condition *c, const struct trace_context *context)
{
	char text[TRACE_TEXT_SIZE];

	return trace__text(context, part_of(c->key), text) && matches_digits(c, text);
}

static bool matches_number(const struct recording_condition *c, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, number);
	return number && matches_text(c, text);
}

/* A commit is mostly given by its first digits. */
static bool matches_resource(const struct recording_condition *c, const char *list)
{
	const char *key = c->key == KEY_COMMIT ? ATTRIBUTES_COMMIT : c->label;
	char value[sizeof(c->pattern)];

	if (!attributes__find(list, key, value, sizeof(value)))
		return false;
	return matches_text(c, value) || (c->key == KEY_COMMIT && *c->pattern && !strncmp(value, c->pattern, strlen(c->pattern)));
}

/* The name of its frame is its command as it is shown. */
static bool matches_service(const struct recording_matches *m, const struct recording_condition *c, const struct process_entry *p)
{
	char name[SERVICE_SIZE];

	return service__find(p->resource, p->frame ? m->tables->frames[p->frame].name : "", name, sizeof(name)) && matches_text(c, name);
}

static bool matches_thread(const struct recording_matches *m, const struct recording_condition *c, uint32_t id)
{
	const struct thread_entry *t = &m->tables->threads[id];
	const struct process_entry *process = &m->tables->processes[t->process];
	const struct frame *f = &m->tables->frames[t->frame];

	/* A group has what is in the groups below it, as for --cgroup.  Names of systemd's units have backslashes. */
	if (c->key == KEY_CGROUP)
		return t->process && *process->cgroup &&
		       (!strcmp(c->pattern, "/") || !fnmatch(c->pattern, process->cgroup, FNM_LEADING_DIR | FNM_NOESCAPE));
	if (c->key == KEY_HOST)
		return *m->tables->host && matches_text(c, m->tables->host);
	if (c->key == KEY_SERVICE)
		return t->process && matches_service(m, c, process);
	if (c->key == KEY_COMMIT || c->key == KEY_RESOURCE)
		return t->process && matches_resource(c, process->resource);
	if (c->key == KEY_PROCESS)
		return t->process && (matches_text(c, process->command) || matches_number(c, (uint32_t)process->pid));
	return t->frame && (matches_text(c, f->name) || matches_number(c, f->tid));
}

static bool matches_gem(const struct recording_condition *c, const char *path)
{
	char name[sizeof(c->pattern)];
	struct owner o;

	owner__find(path, NULL, &o);
	if ((o.kind != OWNER_GEM && o.kind != OWNER_STDLIB) || !o.name || o.name_length >= sizeof(name))
		return false;
	memcpy(name, o.name, o.name_length);
	name[o.name_length] = '\0';
	return matches_text(c, name);
}

static bool matches_frame(const struct recording_condition *c, const struct frame *f)
{
	switch (c->key) {
	case KEY_METHOD: return frame_kind__is_code(f->kind) && matches_text(c, f->name);
	case KEY_FILE: return *f->path && (matches_text(c, f->path) || transform__is_file(c->pattern, f->path));
	case KEY_GEM: return *f->path && matches_gem(c, f->path);
	case KEY_TRACE:
	case KEY_SPAN:
		return !strcmp(f->key, trace_labels[part_of(c->key)]) && f->known == KNOWN && matches_digits(c, f->name);
	default: return !strcmp(f->key, c->label) && f->known == KNOWN && matches_text(c, f->name);
	}
}

/* Parents come before children: so each stack asks its own frame and its parent. */
static bool matches_stack(struct recording_matches *m, uint32_t condition, uint32_t stack)
{
	const struct recording_tables *t = m->tables;
	uint8_t *known = m->known[condition];
	uint32_t depth = 0;
	bool yes = false;

	for (uint32_t s = stack; s && !yes && known[s] == MATCH_UNKNOWN; s = t->stacks[s].parent)
		m->path[depth++] = s;
	if (depth)
		yes = known[t->stacks[m->path[depth - 1]].parent] == MATCH_YES;
	else
		yes = known[stack] == MATCH_YES;
	while (depth-- > 0) {
		uint32_t s = m->path[depth];

		yes = yes || matches_frame(&m->filter->list[condition], &t->frames[t->stacks[s].frame]);
		known[s] = yes ? MATCH_YES : MATCH_NO;
	}
	return yes;
}

/* Is it asked of a thread and its process, and not of a stack? */
static bool is_of_thread(enum recording_key key)
{
	switch (key) {
	case KEY_PROCESS:
	case KEY_CGROUP:
	case KEY_HOST:
	case KEY_SERVICE:
	case KEY_COMMIT:
	case KEY_RESOURCE:
	case KEY_THREAD:
		return true;
	default:
		return false;
	}
}

bool recording_matches__sample(struct recording_matches *m, const struct recording_sample *s)
{
	for (uint32_t i = 0; i < m->filter->count; i++) {
		const struct recording_condition *c = &m->filter->list[i];
		const char *state = m->tables->states[s->state];
		uint8_t *known = m->known[i];

		if (is_of_thread(c->key)) {
			if (known[s->thread] == MATCH_UNKNOWN)
				known[s->thread] = matches_thread(m, c, s->thread) ? MATCH_YES : MATCH_NO;
			if (known[s->thread] == MATCH_NO)
				return false;
		} else if (c->key == KEY_STATE) {
			if (!state || !matches_text(c, state))
				return false;
		} else if (is_of_trace(c->key) && trace__is_set(&s->context)) {
			if (!matches_trace(c, &s->context))
				return false;
		} else if (!matches_stack(m, i, c->key == KEY_LABEL || is_of_trace(c->key) ? s->labels : s->stack)) {
			return false;
		}
	}
	return true;
}

/* A time that was `then` when the recording began at `begin`.  A moment before that is 0. */
static uint64_t placed(uint64_t moment, uint64_t then, uint64_t begin)
{
	uint64_t at;

	if (moment <= then)
		return 0;
	return __builtin_add_overflow(begin, moment - then, &at) ? UINT64_MAX : at;
}

void recording_span__times(const struct recording_span *s, uint64_t begin, uint64_t wall, uint64_t later,
			   uint64_t *since, uint64_t *until)
{
	*since = s->since_at ? placed(s->since_at, wall, begin) : placed(s->since, later, begin);
	*until = s->until_at ? placed(s->until_at, wall, begin) : s->until ? placed(s->until, later, begin) : UINT64_MAX;
}

uint64_t recording_span__before(const struct recording_span *s, uint64_t begin, uint64_t wall, uint64_t later)
{
	uint64_t since = s->since_at ? s->since_at : s->since, then = s->since_at ? wall : later;

	if (!since || since >= then)
		return 0;
	return begin > then - since ? begin - (then - since) : 0;
}

uint64_t recording_span__from(const struct recording_span *s, uint64_t wall)
{
	return s->since_at ? placed(s->since_at, wall, 0) : s->since;
}

int recording_matches__init(struct recording_matches *m, const struct recording_tables *tables,
			    const struct recording_filter *filter)
{
	m->tables = tables;
	m->filter = filter;
	m->path = malloc((RECORDING_DEPTH_MAX + 8) * sizeof(*m->path));
	for (uint32_t i = 0; m->path && i < filter->count; i++) {
		m->known[i] = calloc(is_of_thread(filter->list[i].key) ? tables->thread_count : tables->stack_count, 1);
		if (!m->known[i])
			return -ENOMEM;
	}
	return m->path ? 0 : -ENOMEM;
}

void recording_matches__free(struct recording_matches *m)
{
	for (uint32_t i = 0; i < RECORDING_CONDITIONS_MAX; i++)
		free(m->known[i]);
	free(m->path);
	memset(m, 0, sizeof(*m));
}
