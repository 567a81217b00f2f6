/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of a recording by name, as text. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library/error.h"
#include "options/table.h"
#include "options/values.h"

struct extprof_options {
	struct extprof_recording_options recording;	/* points to the rest */
	char *texts[OPTIONS];				/* by enum option_id */
	struct pid_list pids;
	char *events[EXTPROF_EVENTS_MAX];
};

int extprof_options_create(struct extprof_options **options)
{
	*options = calloc(1, sizeof(**options));
	if (!*options)
		return -ENOMEM;
	(*options)->recording.size = sizeof((*options)->recording);
	return 0;
}

void extprof_options_destroy(struct extprof_options *o)
{
	if (!o)
		return;
	for (int i = 0; i < OPTIONS; i++)
		free(o->texts[i]);
	for (size_t i = 0; i < o->recording.event_count; i++)
		free(o->events[i]);
	pid_list__free(&o->pids);
	free(o);
}

const struct extprof_recording_options *extprof_options_get(const struct extprof_options *o)
{
	return &o->recording;
}

static int out_of_memory(struct extprof_error *error)
{
	return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory");
}

/* Keep a text, and have the field point to it. */
static int keep(struct extprof_options *o, const struct option_row *row, char *text, struct extprof_error *error)
{
	char **kept = &o->texts[row - option_rows];

	if (!text)
		return out_of_memory(error);
	free(*kept);
	*kept = text;
	memcpy((char *)&o->recording + row->offset, &text, sizeof(text));
	return 0;
}

static int append(struct extprof_options *o, const struct option_row *row, const char *value,
		  struct extprof_error *error)
{
	const char *before = o->texts[row - option_rows];
	char *longer;

	if (asprintf(&longer, "%s%s%s", before ? before : "", before ? "," : "", value) < 0)
		longer = NULL;
	return keep(o, row, longer, error);
}

static int add_event(struct extprof_options *o, const char *value, struct extprof_error *error)
{
	char *copy;

	if (o->recording.event_count >= EXTPROF_EVENTS_MAX)
		return error__set(error, DIAG_USAGE, EINVAL, "--event: at most %u can be recorded together",
				  EXTPROF_EVENTS_MAX);
	copy = strdup(value);
	if (!copy)
		return out_of_memory(error);
	o->events[o->recording.event_count++] = copy;
	o->recording.events = (const char *const *)o->events;
	return 0;
}

static int add_pids(struct extprof_options *o, const char *value, struct extprof_error *error)
{
	const char *wrong = value;
	int err = value__pids(value, &o->pids, &wrong);

	o->recording.pids = o->pids.pids;
	o->recording.pid_count = o->pids.count;
	if (err == -ENOMEM)
		return out_of_memory(error);
	return !err ? 0 : error__set(error, DIAG_USAGE, EINVAL, "--pid: \"%.*s\" is no pid", (int)strcspn(wrong, ","), wrong);
}

static int set_cgroup(struct extprof_options *o, const struct option_row *row, const char *value,
		      struct extprof_error *error)
{
	char *path = NULL;
	int err = value__cgroup(value, &path);

	if (err == -EINVAL)
		return error__set(error, DIAG_USAGE, EINVAL, "--cgroup: \"%s\" is no path of a cgroup: a directory below "
				  "/sys/fs/cgroup, without . and ..", value);
	return keep(o, row, path, error);
}

/* Fields have the size that their type needs. */
static void set_number(struct extprof_options *o, const struct option_row *row, uint64_t number)
{
	void *field = (char *)&o->recording + row->offset;
	uint32_t rate = (uint32_t)number;
	bool flag = number;

	if (row->type == OPTION_FLAG)
		memcpy(field, &flag, sizeof(flag));
	else if (row->type == OPTION_RATE)
		memcpy(field, &rate, sizeof(rate));
	else
		memcpy(field, &number, sizeof(number));
}

int extprof_options_set(struct extprof_options *o, const char *name, const char *value, struct extprof_error *error)
{
	const struct option_row *row = option__by_name(name);
	char why[256];
	uint64_t number;

	if (row && row->means) {
		value = row->means;
		row = &option_rows[row->same];
	}
	if (!row || !row->field)
		return error__set(error, DIAG_USAGE, ENOENT, "there is no option \"%.60s\"", name);
	if (!value && row->type != OPTION_FLAG)
		return error__set(error, DIAG_USAGE, EINVAL, "--%s needs a value", row->name);
	if (option__parse(row, value, &number, why, sizeof(why)))
		return error__set(error, DIAG_USAGE, EINVAL, "%s", why);
	switch (row->type) {
	case OPTION_TEXT:
		return keep(o, row, strdup(value), error);
	case OPTION_LIST:
		return append(o, row, value, error);
	case OPTION_EVENT:
		return add_event(o, value, error);
	case OPTION_PIDS:
		return add_pids(o, value, error);
	case OPTION_CGROUP:
		return set_cgroup(o, row, value, error);
	case OPTION_USER:
		o->recording.user = (uid_t)number;
		o->recording.by_user = true;
		return 0;
	default:
		set_number(o, row, number);
		return 0;
	}
}
