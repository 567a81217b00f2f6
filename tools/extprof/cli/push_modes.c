/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/push.h"

struct reading {
	struct push_modes *modes;
	const char *wanted;
	const char *known;	/* modes that the receiver has names for; NULL: all */
	bool named;		/* the first row, with the names of the columns, was there */
};

static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
		if (!strncmp(at, word, length) && (at[length] == ',' || !at[length]))
			return true;
	return false;
}

/* The name that pprof's output has. */
static const char *unit(const char *text)
{
	return text && !strcmp(text, "ns") ? "nanoseconds" : text ? text : "";
}

/* A receiver adds up what it gets: states of the same objects have no sum. */
static bool has_sum(const char *mode)
{
	struct extprof_mode_info info = { .size = sizeof(info) };

	return extprof_mode_info(mode, &info) || !info.at_end;
}

static int take_mode(void *context, int columns, const char *const *values)
{
	struct reading *r = context;
	struct push_modes *m = r->modes;
	struct push_mode *mode;
	size_t length = strlen(m->names);

	if (!r->named) {
		r->named = true;
		return 0;
	}
	if (m->count == PUSH_MODES_MAX || columns != 5)
		return -E2BIG;
	mode = &m->list[m->count];
	if (!values[0] || !*values[0] || !receiver_mode__set(mode->mode.name, values[0]) ||
	    !receiver_mode__set(mode->mode.value, values[1] ? values[1] : "") || !receiver_mode__set(mode->mode.value_unit, unit(values[2])) ||
	    !receiver_mode__set(mode->mode.count, values[3] ? values[3] : "") || !receiver_mode__set(mode->mode.count_unit, unit(values[4])))
		return -EBADMSG;
	m->count++;
	mode->wanted = r->wanted ? has_word(r->wanted, mode->mode.name) :
		has_sum(mode->mode.name) && (!r->known || has_word(r->known, mode->mode.name));
	m->wanted += mode->wanted;
	if (mode->wanted)
		snprintf(m->names + length, sizeof(m->names) - length, "%s%s", length ? "," : "", mode->mode.name);
	return 0;
}

static int take_host(void *context, int columns, const char *const *values)
{
	struct reading *r = context;

	if (r->named && columns == 1 && values[0] && !*r->modes->host)
		snprintf(r->modes->host, sizeof(r->modes->host), "%s", values[0]);
	r->named = true;
	return 0;
}

int push_modes__read(struct push_modes *m, struct extprof_recorded *r, const char *wanted, const char *known, struct extprof_error *e)
{
	struct reading modes = { .modes = m, .wanted = wanted, .known = known }, host = { .modes = m };
	int err;

	e->text[0] = '\0';
	err = extprof_recorded_sql(r, "SELECT name, value_name, value_unit, count_name, count_unit FROM modes ORDER BY id LIMIT 64",
				   take_mode, &modes, e);
	if (!err)
		err = extprof_recorded_sql(r, "SELECT value FROM meta WHERE key GLOB 'mode.*.host' LIMIT 1", take_host, &host, e);
	if (err && !e->text[0])
		message__set(e, EXTPROF_RECORDING, -err, "the recording has modes that are none");
	if (err)
		e->code = EXTPROF_RECORDING;
	/* Older recordings do not say it. */
	if (!*m->host && gethostname(m->host, sizeof(m->host) - 1))
		m->host[0] = '\0';
	return err;
}

static int take_offset(void *context, int columns, const char *const *values)
{
	uint64_t *offset = context;

	if (columns == 1 && values[0] && *values[0] >= '0' && *values[0] <= '9')
		*offset = strtoull(values[0], NULL, 10);
	return 0;
}

uint64_t push_modes__next(struct extprof_recorded *r, uint64_t begin, uint64_t from)
{
	struct extprof_error e = { .size = sizeof(e) };
	uint64_t offset = 0, next;
	char sql[320];

	/* Times of blocks are of another clock. */
	snprintf(sql, sizeof(sql), "WITH m AS (SELECT value AS began FROM meta WHERE key='started_monotonic_ns') "
		 "SELECT min(first_ns) - began AS next FROM blocks, m WHERE last_ns - began >= %" PRIu64, from > begin ? from - begin : 0);
	if (extprof_recorded_sql(r, sql, take_offset, &offset, &e) || !offset || __builtin_add_overflow(begin, offset, &next))
		return 0;
	return next;
}
