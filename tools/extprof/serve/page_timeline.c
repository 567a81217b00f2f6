/* SPDX-License-Identifier: BSD-2-Clause */
/* The page that comes first: which recordings there are, and how much of each state there was at each time of a span. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "serve/pages.h"
#include "serve/saved.h"
#include "serve_timeline_js.h"

/* Rows of the table; a page with more is not read by anybody. */
#define FILES_SHOWN 200u
#define MODES_SHOWN 64u
#define LABELS_SHOWN 64u
#define TRIGGERS_SHOWN 500u
/* Waits that end so long behind the span are drawn in it; a longer one is not looked for. */
#define BEHIND 60000000000ull

static const char about_sql[] =
	"SELECT json_object('host', (SELECT value FROM meta WHERE key LIKE 'mode.%.host' LIMIT 1), "
	"'command', (SELECT value FROM meta WHERE key LIKE 'mode.%.command' LIMIT 1), "
	"'ended', (SELECT value FROM meta WHERE key LIKE 'mode.%.ended' LIMIT 1), "
	"'processes', (SELECT count(*) FROM processes), "
	"'samples', (SELECT total(samples) FROM accounts WHERE process = 0 AND mode = 0 AND reason = 'taken'), "
	"'lost', (SELECT total(samples) FROM accounts WHERE process = 0 AND mode = 0 AND reason LIKE 'lost %'))";

/* Triggers of a span, the newest first. */
static const char triggers_sql[] =
	"SELECT json_object('at', CAST(CAST(unix_ns AS INTEGER) AS TEXT), 'text', text) FROM triggers WHERE unix_ns BETWEEN %" PRIu64 " AND %" PRIu64
	" ORDER BY unix_ns DESC";

/* Triggers that fired in the recording and in the span, until there are enough. */
static void add_triggers(struct extprof_recorded *r, const struct serve_span *span, json_t *triggers)
{
	size_t shown = json_array_size(triggers), i;
	json_t *texts, *text;
	char sql[512];

	if (shown >= TRIGGERS_SHOWN)
		return;
	snprintf(sql, sizeof(sql), triggers_sql, span->since, span->until ? span->until : INT64_MAX);
	texts = serve_page__column(r, sql, (unsigned int)(TRIGGERS_SHOWN - shown));
	json_array_foreach(texts, i, text)
		json_array_append_new(triggers, json_loads(json_string_value(text), 0, NULL));
	json_decref(texts);
}

/* Lists that all recordings of the page fill together. */
struct told {
	const struct serve_span *span;
	json_t *modes, *labels, *triggers;
};

/* A row of the table, and what it tells of modes, labels and triggers. */
static json_t *about(const struct serve_file *file, const struct told *told)
{
	struct extprof_error e = { .size = sizeof(e) };
	struct extprof_recorded *r;
	char name[512];
	json_t *row, *texts = NULL;

	extprof_clean(name, sizeof(name), basename(file->path));
	row = json_pack("{s:s, s:o, s:o}", "name", name, "begin", serve_page__ns(file->begin), "end", serve_page__ns(file->end));
	if (file->unreadable) {
		json_object_set_new(row, "unreadable", json_string(file->unreadable));
		return row;
	}
	if (extprof_recorded_open(&r, file->path, -1, &e)) {
		json_object_set_new(row, "unreadable", json_string(e.text));
		return row;
	}
	texts = serve_page__column(r, about_sql, 1);
	json_object_set_new(row, "about", json_loads(json_array_size(texts) ? json_string_value(json_array_get(texts, 0)) : "{}", 0, NULL));
	json_decref(texts);
	if (extprof_recorded_incomplete(r))
		json_object_set_new(row, "incomplete", json_string(extprof_recorded_incomplete(r)));
	if (!json_array_size(told->modes) && (texts = serve_page__column(r, "SELECT name FROM modes ORDER BY id", MODES_SHOWN))) {
		json_array_extend(told->modes, texts);
		json_decref(texts);
	}
	if (!json_array_size(told->labels) &&
	    (texts = serve_page__column(r, "SELECT DISTINCT s.text FROM frames f JOIN kinds k ON k.id = f.kind JOIN strings s ON "
					"s.id = f.key WHERE k.name = 'label' ORDER BY 1", LABELS_SHOWN))) {
		json_array_extend(told->labels, texts);
		json_decref(texts);
	}
	add_triggers(r, told->span, told->triggers);
	extprof_recorded_close(r);
	return row;
}

struct writing {
	struct extprof_recorded *recorded;
	struct extprof_recorded_options options;
};

static int write_cells(void *context, FILE *to, struct extprof_error *e)
{
	struct writing *w = context;

	return extprof_recorded_write(w->recorded, "timeline", &w->options, to, e);
}

/*
 * Columns of the span, of the samples of a time.  NULL with *e.  The recordings are those of both, so that the columns of two
 * calls begin at one time.
 */
static json_t *timeline_of(const struct serve_making *m, const struct serve_files *f, const char *mode, const struct serve_span *time,
			   struct extprof_error *e)
{
	const struct serve_span *span = &m->request->span, both = { span->since, time->until };
	const char *filters[SERVE_FILTERS];
	struct writing w = { .options = serve_page__options(m->request, filters) };
	json_t *all = NULL, *first;

	w.options.modes = *mode ? mode : NULL;
	w.options.since_at = time->since;
	w.options.until_at = time->until;
	w.options.columns_since_at = span->since ? span->since : f->begin;
	w.options.columns_until_at = span->until && span->until < f->end ? span->until : f->end;
	if (!serve_files__open(f, &both, &w.recorded, e))
		all = serve_page__json_of(write_cells, &w, e);
	extprof_recorded_close(w.recorded);
	first = json_incref(json_array_get(json_object_get(all, "modes"), 0));
	json_decref(all);
	/* It is longer than numbers of JavaScript are exact. */
	if (first)
		json_object_set_new(first, "wall", serve_page__ns((uint64_t)json_integer_value(json_object_get(first, "wall"))));
	return first;
}

/* Waits that go on at the end of the span.  A report has a wait where it ends, so a report of the time behind the
 * span is read.  They are drawn, and are in no sum. */
static json_t *rest_of(const struct serve_making *m, const struct serve_files *f, const char *mode)
{
	struct extprof_error e = { .size = sizeof(e) };
	const struct serve_span *span = &m->request->span, behind = { span->until + 1, span->until + BEHIND };
	json_t *rest = span->until && span->until < f->end ? timeline_of(m, f, mode, &behind, &e) : NULL;

	return rest ? rest : json_null();
}

static json_t *saved(void)
{
	json_t *list = json_array();

	for (const struct serve_saved *s = serve_saved; list && s->format; s++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "format", s->format, "opens", s->opens));
	return list;
}

static void add_span(json_t *to, const char *since, const char *until, const struct serve_span *span)
{
	json_object_set_new(to, since, serve_page__ns(span->since));
	json_object_set_new(to, until, serve_page__ns(span->until));
}

int serve_timeline__write(const struct serve_making *m, const struct serve_files *f, struct extprof_error *e)
{
	struct extprof_error why = { .size = sizeof(why) };
	json_t *data = json_object(), *files = json_array(), *modes = json_array(), *labels = json_array(), *triggers = json_array(), *timeline;
	const struct told told = { &m->request->span, modes, labels, triggers };
	char mode[sizeof(m->request->mode)];
	size_t of_time = 0, shown = 0;

	/* The newest ones first. */
	for (size_t i = f->count; i--;) {
		const struct serve_file *file = &f->list[i];

		if (!file->unreadable && !serve_file__is_of(file, &m->request->span))
			continue;
		of_time++;
		if (shown++ < FILES_SHOWN)
			json_array_append_new(files, about(file, &told));
	}
	serve_page__choose_mode(m->request, f, mode, sizeof(mode));
	timeline = timeline_of(m, f, mode, &m->request->span, &why);
	json_object_set_new(data, "timeline", timeline ? timeline : json_null());
	json_object_set_new(data, "rest", rest_of(m, f, mode));
	json_object_set_new(data, "error", json_string(timeline ? "" : why.text));
	json_object_set_new(data, "files", files);
	json_object_set_new(data, "all_files", json_integer((json_int_t)f->count));
	json_object_set_new(data, "files_of_time", json_integer((json_int_t)of_time));
	json_object_set_new(data, "modes", modes);
	json_object_set_new(data, "labels", labels);
	json_object_set_new(data, "triggers", triggers);
	json_object_set_new(data, "triggers_shown", json_integer(TRIGGERS_SHOWN));
	json_object_set_new(data, "mode", json_string(mode));
	json_object_set_new(data, "saved", saved());
	add_span(data, "since", "until", &m->request->span);
	add_span(data, "with_since", "with_until", &m->request->with);
	add_span(data, "begin", "end", &(struct serve_span){ f->begin, f->end });
	return serve_page__write_html(m, "extprof: recordings", serve_timeline_js, data, e);
}
