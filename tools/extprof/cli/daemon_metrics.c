/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/daemon_metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "cli/messages.h"
#include "cli/output_file.h"

/* Metrics are collected by another user. */
#define FILE_MODE 0644

static bool has_mode(const char *modes, const char *mode)
{
	size_t length = strlen(mode);
	const char *comma;

	for (const char *at = modes; at; at = comma ? comma + 1 : NULL) {
		if (!strncmp(at, mode, length) && (!at[length] || at[length] == ','))
			return true;
		comma = strchr(at, ',');
	}
	return false;
}

/* The mode whose samples say what threads did: each wait is in all of them. */
static const char *mode_of_states(const char *modes)
{
	static const char *const list[] = { "wall", "offcpu", "gvl" };

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (has_mode(modes, list[i]))
			return list[i];
	return "";
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static char *copy_of(const char *text, bool *failed)
{
	char *copied = text ? strdup(text) : NULL;

	*failed |= text && !copied;
	return copied;
}

static const char *text_of(const struct options *o, enum option_id id)
{
	return o->values[id].given ? o->values[id].text : NULL;
}

/* Others are opened, and not replaced: stdout, a FIFO, a device. */
static bool is_file(const char *path)
{
	char *folder = path__folder(path);
	struct stat st;
	bool is;

	is = strcmp(path, "-") && *path && (stat(path, &st) ? folder && !stat(folder, &st) && S_ISDIR(st.st_mode) : S_ISREG(st.st_mode));
	free(folder);
	return is;
}

int daemon_metrics__begin(struct daemon_metrics *m, const struct options *o, struct extprof_error *e)
{
	const char *path = text_of(o, OPTION_METRICS), *key = text_of(o, OPTION_METRICS_LABEL);
	bool failed = false;

	m->mode_of_states = mode_of_states(o->recording.modes);
	if (m->metrics && is_same(path, m->path) && is_same(key, m->key))
		return 0;
	daemon_metrics__free(m);
	if (!path)
		return 0;
	if (!is_file(path))
		return message__set(e, EXTPROF_OUTPUT, EINVAL, "metrics: %s is no regular file, and cannot become one", path);
	m->mode_of_states = mode_of_states(o->recording.modes);
	m->path = copy_of(path, &failed);
	m->key = copy_of(key, &failed);
	m->metrics = failed ? NULL : metrics__create(key);
	for (unsigned int i = 0; i < METRICS_STATES_MAX; i++)
		m->states[i] = extprof_word(EXTPROF_STATES, i);
	return m->metrics ? 0 : message__set(e, EXTPROF_INTERNAL, ENOMEM, "out of memory");
}

/* The value of the label; NULL: there is none. */
static const char *value_of(const struct daemon_metrics *m, const struct extprof_sample *s)
{
	const char *unread = NULL;

	for (size_t i = 0; m->key && i < s->label_count; i++) {
		const struct extprof_frame *l = s->labels[i];

		if (!strcmp(l->key, m->key))
			return l->has_value ? l->bare : METRICS_OTHER;
		/* Which labels there were is not known. */
		if (!*l->key)
			unread = METRICS_UNKNOWN;
	}
	return unread;
}

static int on_sample(void *context, const struct extprof_sample *s)
{
	static const struct { const char *mode; enum metrics_counter what; } modes[] = {
		{ "cpu", METRIC_CPU }, { "gc", METRIC_GC }, { "alloc", METRIC_ALLOC },
	};
	struct daemon_metrics *m = context;
	const char *process = s->process ? s->process->bare : "", *value = value_of(m, s);

	if (!strcmp(s->mode, m->mode_of_states) && s->state >= 0)
		return metrics__add_state(m->metrics, process, value, (unsigned int)s->state, s->stack->value);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(s->mode, modes[i].mode))
			return metrics__add(m->metrics, process, value, modes[i].what, s->stack->value);
	return 0;
}

static void on_loss(void *context, const struct extprof_loss *loss)
{
	struct daemon_metrics *m = context;

	/* Without memory the count of all has it still. */
	metrics__add_lost(m->metrics, loss->process, loss->count);
}

int daemon_metrics__watch(struct daemon_metrics *m, struct extprof_recording *recording, struct extprof_error *e)
{
	int err = m->path ? extprof_recording_each_sample(recording, on_sample, m, e) : 0;

	return err || !m->path ? err : extprof_recording_each_loss(recording, on_loss, m, e);
}

static int write_file(const struct daemon_metrics *m, const struct metrics_facts *facts, const struct output_owner *owner,
		      struct extprof_error *e)
{
	struct output_file f;
	struct stat st;
	bool is_new = stat(m->path, &st) != 0;
	int err = output_file__open(&f, m->path, owner, e);

	if (err)
		return err;
	metrics__write(m->metrics, facts, m->states, f.stream);
	/* One that is there keeps its mode. */
	if (is_new && f.base && fchmod(f.fd, FILE_MODE)) {
		err = output_file__failed(&f, errno, e);
		output_file__discard(&f);
		return err;
	}
	return output_file__commit(&f, e);
}

void daemon_metrics__write(struct daemon_metrics *m, const struct metrics_facts *facts, const struct output_owner *owner)
{
	struct extprof_error e = { .size = sizeof(e) };

	if (!m->path)
		return;
	if (!write_file(m, facts, owner, &e)) {
		m->failed = false;
		return;
	}
	if (!m->failed)
		fprintf(stderr, "extprof: metrics: %s\n", e.text);
	m->failed = true;
}

void daemon_metrics__free(struct daemon_metrics *m)
{
	metrics__destroy(m->metrics);
	free((char *)m->path);
	free((char *)m->key);
	*m = (struct daemon_metrics){ .failed = false };
}
