/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/pages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "serve/saved.h"
#include "serve_common_js.h"
#include "serve_css.h"

/* A page embeds it all. */
#define JSON_MAX (256u << 20)

const char *serve_page__type(const struct serve_request *r)
{
	return r->page == SERVE_SAVE ? serve_saved__by_name(r->format)->type : "text/html; charset=utf-8";
}

bool serve_page__is_graph(const struct serve_request *r)
{
	return r->page == SERVE_FLAMEGRAPH || r->page == SERVE_HEATMAP || r->page == SERVE_DIFF;
}

const char *serve_page__suffix(const struct serve_request *r)
{
	return r->page == SERVE_SAVE ? serve_saved__by_name(r->format)->suffix : NULL;
}

struct extprof_recorded_options serve_page__options(const struct serve_request *r, const char *filters[SERVE_FILTERS])
{
	for (unsigned int i = 0; i < r->filter_count; i++)
		filters[i] = r->filters[i];
	return (struct extprof_recorded_options){
		.size = sizeof(struct extprof_recorded_options), .modes = *r->mode ? r->mode : NULL, .since_at = r->span.since,
		.until_at = r->span.until, .filters = filters, .filter_count = r->filter_count, .slowest = r->slowest,
		.request_label = *r->by ? r->by : NULL, .idle = r->idle, .html = true, .labels_can_lack = true,
	};
}

/* -- JSON ---------------------------------------------------------------------------------------------- */

json_t *serve_page__ns(uint64_t ns)
{
	return json_sprintf("%" PRIu64, ns);
}

json_t *serve_page__json_of(int (*write)(void *context, FILE *to, struct extprof_error *e), void *context, struct extprof_error *e)
{
	char *text = NULL;
	size_t length = 0;
	FILE *to = open_memstream(&text, &length);
	json_t *value = NULL;
	int err = to ? write(context, to, e) : serve__fail(e, EXTPROF_INTERNAL, ENOMEM, "out of memory for the page");

	if (to && fclose(to) && !err)
		err = serve__fail(e, EXTPROF_INTERNAL, ENOMEM, "out of memory for the page");
	if (!err && length <= JSON_MAX)
		value = json_loadb(text, length, 0, NULL);
	if (!err && !value)
		serve__fail(e, EXTPROF_INTERNAL, ENOMEM, "the page would be too large: choose a shorter time");
	free(text);
	return value;
}

struct column {
	json_t *list;
	unsigned int most;
	bool named;
};

static int take_row(void *context, int columns, const char *const *values)
{
	struct column *c = context;
	bool is_name = !c->named;

	c->named = true;
	if (is_name || !columns)
		return 0;
	if (json_array_size(c->list) == c->most)
		return -ENOBUFS;
	return values[0] && json_array_append_new(c->list, json_string(values[0])) ? -ENOMEM : 0;
}

json_t *serve_page__column(struct extprof_recorded *r, const char *sql, unsigned int most)
{
	struct extprof_error e = { .size = sizeof(e) };
	struct column c = { .list = json_array(), .most = most };

	if (c.list && extprof_recorded_sql(r, sql, take_row, &c, &e) == -ENOMEM) {
		json_decref(c.list);
		return NULL;
	}
	return c.list;
}

/* -- HTML ---------------------------------------------------------------------------------------------- */

/* A name in the data cannot end the element that the data is in. */
static int write_piece(const char *piece, size_t size, void *context)
{
	FILE *to = context;

	for (size_t i = 0; i < size; i++) {
		if (piece[i] == '<' ? fputs("\\u003c", to) == EOF : fputc(piece[i], to) == EOF)
			return -1;
	}
	return 0;
}

int serve_page__write_html(const struct serve_making *m, const char *title, const char *script, json_t *data, struct extprof_error *e)
{
	int err = 0;

	if (!data)
		return serve__fail(e, EXTPROF_INTERNAL, ENOMEM, "out of memory for the page");
	fprintf(m->to, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"generator\" content=\"extprof\">"
		"<meta name=\"viewport\" content=\"width=device-width\">\n<title>%s</title>\n<style nonce=\"%s\">%s</style></head>\n"
		"<body><main id=\"page\"><noscript>This page needs its scripts.</noscript></main>\n"
		"<script type=\"application/json\" id=\"data\">", title, m->nonce, serve_css);
	if (json_dump_callback(data, write_piece, m->to, JSON_COMPACT))
		err = -ENOMEM;
	fprintf(m->to, "</script>\n<script nonce=\"%s\">\n%s%s</script></body></html>\n", m->nonce, serve_common_js, script);
	json_decref(data);
	return err || ferror(m->to) ? serve__fail(e, EXTPROF_INTERNAL, ENOMEM, "out of memory for the page, or it is too large") : 0;
}

/* -- pages of the library -------------------------------------------------------------------------------- */

/* Modes, best first: that of all states shows what the others do not. */
static const char *const best[] = { "wall", "cpu", "offcpu", "gvl" };

void serve_page__choose_mode(const struct serve_request *r, const struct serve_files *f, char *mode, size_t size)
{
	struct extprof_error e = { .size = sizeof(e) };
	json_t *modes = NULL, *name;
	size_t i, k = f->count;

	snprintf(mode, size, "%s", r->mode);
	/* The newest one that can be read. */
	while (!*mode && !modes && k--) {
		struct extprof_recorded *one;

		if (!serve_file__is_of(&f->list[k], &r->span) || extprof_recorded_open(&one, f->list[k].path, -1, &e))
			continue;
		modes = serve_page__column(one, "SELECT name FROM modes ORDER BY id", 64);
		extprof_recorded_close(one);
	}
	for (size_t b = 0; b <= sizeof(best) / sizeof(best[0]) && !*mode; b++)
		json_array_foreach(modes, i, name)
			if (!*mode && (b == sizeof(best) / sizeof(best[0]) || !strcmp(json_string_value(name), best[b])))
				snprintf(mode, size, "%s", json_string_value(name));
	json_decref(modes);
}

static int write_report(const struct serve_making *m, const struct serve_files *f, const char *format, struct extprof_error *e)
{
	const char *filters[SERVE_FILTERS];
	struct extprof_recorded_options o = serve_page__options(m->request, filters);
	struct extprof_recorded *r;
	char mode[sizeof(m->request->mode)];
	int err;

	serve_page__choose_mode(m->request, f, mode, sizeof(mode));
	/* A program reads all modes. */
	if (!o.modes && m->request->page != SERVE_SAVE)
		o.modes = mode;
	o.gzip = m->request->page == SERVE_SAVE && serve_saved__by_name(format)->gzip;
	err = serve_files__open(f, &m->request->span, &r, e);
	if (!err)
		err = extprof_recorded_write(r, format, &o, m->to, e);
	extprof_recorded_close(r);
	return err;
}

static void name_span(char *to, size_t size, const struct serve_span *span)
{
	time_t seconds = (time_t)(span->since / 1000000000);
	struct tm tm;
	size_t n;

	localtime_r(&seconds, &tm);
	n = strftime(to, size, "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(to + n, size - n, " (%.3f s)", (double)(span->until - span->since) / 1e9);
}

static int write_diff(const struct serve_making *m, const struct serve_files *f, struct extprof_error *e)
{
	const struct serve_request *q = m->request;
	bool with_first = q->with.since < q->span.since;
	const struct serve_span *spans[2] = { with_first ? &q->with : &q->span, with_first ? &q->span : &q->with };
	struct extprof_recorded *sides[2] = { NULL, NULL };
	const char *filters[SERVE_FILTERS];
	char names[2][64], mode[sizeof(q->mode)];
	struct extprof_diff_options o = {
		.size = sizeof(o), .mode = mode, .filters = filters, .filter_count = q->filter_count, .names = { names[0], names[1] },
		.html = true, .idle = q->idle,
	};
	int err = 0;

	serve_page__options(q, filters);
	serve_page__choose_mode(q, f, mode, sizeof(mode));
	for (int i = 0; i < 2 && !err; i++) {
		o.since_at[i] = spans[i]->since;
		o.until_at[i] = spans[i]->until;
		name_span(names[i], sizeof(names[i]), spans[i]);
		err = serve_files__open(f, spans[i], &sides[i], e);
	}
	if (!err)
		err = extprof_recorded_diff(sides[0], sides[1], "flamegraph", &o, m->to, e);
	extprof_recorded_close(sides[0]);
	extprof_recorded_close(sides[1]);
	return err;
}

int serve_page__write(const struct serve_making *m, struct extprof_error *e)
{
	struct serve_files files = { 0 };
	int err = serve_files__find(&files, m->sources, e);

	if (!err) {
		switch (m->request->page) {
		case SERVE_TIMELINE: err = serve_timeline__write(m, &files, e); break;
		case SERVE_FLAMEGRAPH: err = write_report(m, &files, "flamegraph", e); break;
		case SERVE_HEATMAP: err = write_report(m, &files, "heatmap", e); break;
		case SERVE_REQUESTS: err = serve_requests__write(m, &files, e); break;
		case SERVE_DIFF: err = write_diff(m, &files, e); break;
		case SERVE_SAVE: err = write_report(m, &files, m->request->format, e); break;
		}
	}
	serve_files__free(&files);
	return err;
}
