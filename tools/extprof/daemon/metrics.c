/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Counters of one value of the label, in processes of one kind. */
struct series {
	char process[METRICS_TEXT_MAX], value[METRICS_TEXT_MAX];
	uint64_t amounts[METRICS], states[METRICS_STATES_MAX];
	bool has[METRICS], has_state[METRICS_STATES_MAX];
};

/* A kind of process. */
struct kind {
	char process[METRICS_TEXT_MAX];
	uint32_t values;
	uint64_t lost;
};

struct metrics {
	char *key, *name;	/* of the label, and as Prometheus takes it */
	void *series, *kinds;	/* trees of tsearch(3) */
	uint32_t kind_count, series_count;
};

static int compare(const void *a, const void *b)
{
	const struct series *x = a, *y = b;
	int result = strcmp(x->process, y->process);

	return result ? result : strcmp(x->value, y->value);
}

static int compare_kinds(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;

	return strcmp(x->process, y->process);
}

/* A label of Prometheus has letters, digits and underscores, and some names have a meaning of their own. */
static char *name_of(const char *key)
{
	static const char prefix[] = "label_";
	char *name;

	if (asprintf(&name, "%s%s", prefix, key) < 0)
		return NULL;
	for (char *p = name + sizeof(prefix) - 1; *p; p++)
		if (!(*p >= 'a' && *p <= 'z') && !(*p >= 'A' && *p <= 'Z') && !(*p >= '0' && *p <= '9'))
			*p = '_';
	key = name + sizeof(prefix) - 1;
	if (*key && !(*key >= '0' && *key <= '9') && strncmp(key, "__", 2) && strcmp(key, "process") && strcmp(key, "state"))
		memmove(name, key, strlen(key) + 1);
	return name;
}

struct metrics *metrics__create(const char *key)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (!m || !key)
		return m;
	m->key = strdup(key);
	m->name = name_of(key);
	if (!m->key || !m->name) {
		metrics__destroy(m);
		return NULL;
	}
	return m;
}

void metrics__destroy(struct metrics *m)
{
	if (!m)
		return;
	tdestroy(m->series, free);
	tdestroy(m->kinds, free);
	free(m->key);
	free(m->name);
	free(m);
}

/* Copy as much as there is room for, and no half of a character of UTF-8. */
static void copy(char *to, const char *from)
{
	size_t length = strnlen(from, METRICS_TEXT_MAX);

	if (length == METRICS_TEXT_MAX) {
		length--;
		while (length && ((unsigned char)from[length] & 0xc0) == 0x80)
			length--;
	}
	memcpy(to, from, length);
	to[length] = '\0';
}

/* "puma: cluster worker 3: 4711 [app]" and its siblings are one kind. */
static void copy_kind(char *to, const char *from)
{
	char *end = to;

	copy(to, from);
	for (const char *p = to; *p; p++) {
		bool digit = *p >= '0' && *p <= '9';

		if (!digit || end == to || end[-1] != '*')
			*end++ = digit ? '*' : *p;
	}
	*end = '\0';
}

/* Is it new?  NULL: out of memory. */
static void *find(void **tree, const void *wanted, size_t size, int (*by)(const void *, const void *), bool *is_new)
{
	void *const *at = tfind(wanted, tree, by);
	void *copied;

	*is_new = !at;
	if (at)
		return *at;
	copied = malloc(size);
	if (!copied)
		return NULL;
	memcpy(copied, wanted, size);
	if (tsearch(copied, tree, by))
		return copied;
	free(copied);
	return NULL;
}

/* The kind of a process, or that of all others. */
static struct kind *kind_of(struct metrics *m, const char *process)
{
	struct kind wanted = { .values = 0 }, *kind;
	bool is_new;

	copy_kind(wanted.process, process);
	if (m->kind_count >= METRICS_PROCESSES_MAX && !tfind(&wanted, &m->kinds, compare_kinds))
		copy(wanted.process, METRICS_OTHER);
	kind = find(&m->kinds, &wanted, sizeof(wanted), compare_kinds, &is_new);
	if (kind && is_new)
		m->kind_count++;
	return kind;
}

static struct series *series_of(struct metrics *m, const char *process, const char *value)
{
	struct kind *kind = kind_of(m, process);
	struct series wanted = { .process = "" }, *series;
	bool is_new;

	if (!kind)
		return NULL;
	copy(wanted.process, kind->process);
	if (m->key && value)
		copy(wanted.value, value);
	if ((kind->values >= METRICS_VALUES_MAX || m->series_count >= METRICS_SERIES_MAX) && !tfind(&wanted, &m->series, compare))
		copy(wanted.value, METRICS_OTHER);
	series = find(&m->series, &wanted, sizeof(wanted), compare, &is_new);
	if (series && is_new) {
		kind->values++;
		m->series_count++;
	}
	return series;
}

int metrics__add(struct metrics *m, const char *process, const char *value, enum metrics_counter what, uint64_t amount)
{
	struct series *s = series_of(m, process, value);

	if (!s)
		return -ENOMEM;
	s->amounts[what] += amount;
	s->has[what] = true;
	return 0;
}

int metrics__add_lost(struct metrics *m, const char *process, uint64_t count)
{
	struct kind *kind = kind_of(m, process);

	if (!kind)
		return -ENOMEM;
	kind->lost += count;
	return 0;
}

int metrics__add_state(struct metrics *m, const char *process, const char *value, unsigned int state, uint64_t ns)
{
	struct series *s = state < METRICS_STATES_MAX ? series_of(m, process, value) : NULL;

	if (!s)
		return state < METRICS_STATES_MAX ? -ENOMEM : 0;
	s->states[state] += ns;
	s->has_state[state] = true;
	return 0;
}

/* -- writing ---------------------------------------------------------------------------------- */

struct writing {
	const struct metrics *m;
	const char *const *states;
	FILE *to;
	enum metrics_counter what;
	bool begun;		/* its HELP and TYPE are written */
};

static const struct described { const char *name, *help; bool is_time; } families[METRICS] = {
	[METRIC_CPU] = { "extprof_cpu_seconds_total", "CPU time, by samples.", true },
	[METRIC_GC] = { "extprof_gc_seconds_total", "Time in garbage collection, by samples.", true },
	[METRIC_ALLOC] = { "extprof_allocated_bytes_total", "Bytes of new objects, by samples.", false },
};
static const struct described states_family = {
	"extprof_thread_seconds_total", "Time of all threads by what they did, by samples.", true
};

static const struct described losses_family = {
	"extprof_process_lost_samples_total", "Samples that were lost, by process.", false
};

static void put_family(FILE *to, const char *name, const char *type, const char *help)
{
	fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A value of a label, between quotes. */
static void put_text(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", to);
		else if (*text == '"' || *text == '\\')
			fprintf(to, "\\%c", *text);
		else
			fputc(*text, to);
	}
}

static void begin_line(struct writing *w, const struct described *family, const char *process)
{
	if (!w->begun)
		put_family(w->to, family->name, "counter", family->help);
	w->begun = true;
	fprintf(w->to, "%s{process=\"", family->name);
	put_text(w->to, process);
}

static void put(struct writing *w, const struct described *family, const struct series *s, const char *state, uint64_t amount)
{
	begin_line(w, family, s->process);
	if (w->m->key) {
		fprintf(w->to, "\",%s=\"", w->m->name);
		put_text(w->to, s->value);
	}
	if (state)
		fprintf(w->to, "\",state=\"%s", state);
	fputs("\"} ", w->to);
	if (family->is_time)
		fprintf(w->to, "%" PRIu64 ".%09" PRIu64 "\n", amount / 1000000000, amount % 1000000000);
	else
		fprintf(w->to, "%" PRIu64 "\n", amount);
}

static void put_amount(const void *node, VISIT visit, void *context)
{
	const struct series *s = *(const struct series *const *)node;
	struct writing *w = context;

	if ((visit == postorder || visit == leaf) && s->has[w->what])
		put(w, &families[w->what], s, NULL, s->amounts[w->what]);
}

static void put_states(const void *node, VISIT visit, void *context)
{
	const struct series *s = *(const struct series *const *)node;
	struct writing *w = context;

	for (unsigned int i = 0; (visit == postorder || visit == leaf) && i < METRICS_STATES_MAX; i++)
		if (s->has_state[i] && w->states[i])
			put(w, &states_family, s, w->states[i], s->states[i]);
}

static void put_lost(const void *node, VISIT visit, void *context)
{
	const struct kind *kind = *(const struct kind *const *)node;
	struct writing *w = context;

	if (visit != postorder && visit != leaf)
		return;
	begin_line(w, &losses_family, kind->process);
	fprintf(w->to, "\"} %" PRIu64 "\n", kind->lost);
}

void metrics__write(const struct metrics *m, const struct metrics_facts *f, const char *const *states, FILE *to)
{
	struct writing w = { .m = m, .states = states, .to = to };

	for (int i = 0; i < METRICS; i++) {
		w.what = (enum metrics_counter)i;
		w.begun = false;
		twalk_r(m->series, put_amount, &w);
	}
	w.begun = false;
	twalk_r(m->series, put_states, &w);
	w.begun = false;
	twalk_r(m->kinds, put_lost, &w);
	put_family(to, "extprof_processes", "gauge", "Ruby processes that are sampled now.");
	fprintf(to, "extprof_processes %" PRIu32 "\n", f->processes);
	put_family(to, "extprof_samples_total", "counter", "Samples that were taken.");
	fprintf(to, "extprof_samples_total %" PRIu64 "\n", f->samples);
	put_family(to, "extprof_lost_samples_total", "counter", "Samples of these that were lost.");
	fprintf(to, "extprof_lost_samples_total %" PRIu64 "\n", f->lost);
	put_family(to, "extprof_triggers_total", "counter", "Triggers that fired.");
	fprintf(to, "extprof_triggers_total %" PRIu64 "\n", f->triggers);
	put_family(to, "extprof_rate_hertz", "gauge", "Samples a second.");
	fprintf(to, "extprof_rate_hertz %" PRIu32 "\n", f->rate);
	put_family(to, "extprof_own_cpu_seconds_total", "counter", "CPU time of extprof itself.");
	fprintf(to, "extprof_own_cpu_seconds_total %.6f\n", f->cpu_time);
	put_family(to, "extprof_files", "gauge", "Recordings in the folder.");
	fprintf(to, "extprof_files %" PRIu64 "\n", f->files);
	put_family(to, "extprof_files_bytes", "gauge", "Bytes of these.");
	fprintf(to, "extprof_files_bytes %" PRIu64 "\n", f->bytes);
}
