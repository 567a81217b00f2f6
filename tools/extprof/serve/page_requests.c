/* SPDX-License-Identifier: BSD-2-Clause */
/* How long requests took, by the value of a label, and which ones were the longest. */
#include <errno.h>
#include <string.h>

#include "serve/pages.h"
#include "serve_requests_js.h"

#define VALUES_SHOWN 100u
#define SLOWEST 30u
#define LABELS_SHOWN 64u

struct writing {
	struct extprof_recorded *recorded;
	struct extprof_recorded_options options;
};

static int write_requests(void *context, FILE *to, struct extprof_error *e)
{
	struct writing *w = context;

	return extprof_recorded_requests(w->recorded, "json", &w->options, to, e);
}

/* Keys of labels, of the newest recording of that time that has some. */
static json_t *labels_of(const struct serve_making *m, const struct serve_files *f)
{
	json_t *labels = NULL;

	for (size_t i = f->count; i-- && !json_array_size(labels);) {
		struct extprof_error e = { .size = sizeof(e) };
		struct extprof_recorded *r;

		if (!serve_file__is_of(&f->list[i], &m->request->span) || extprof_recorded_open(&r, f->list[i].path, -1, &e))
			continue;
		json_decref(labels);
		labels = serve_page__column(r, "SELECT DISTINCT s.text FROM frames f JOIN kinds k ON k.id = f.kind JOIN strings s ON "
					    "s.id = f.key WHERE k.name = 'label' ORDER BY 1", LABELS_SHOWN);
		extprof_recorded_close(r);
	}
	return labels ? labels : json_array();
}

int serve_requests__write(const struct serve_making *m, const struct serve_files *f, struct extprof_error *e)
{
	const char *filters[SERVE_FILTERS], *key = m->request->by;
	struct writing w = { .options = serve_page__options(m->request, filters) };
	json_t *data = json_object(), *labels = labels_of(m, f), *by = NULL, *slowest = NULL;
	uint64_t begin = 0, end = 0;
	int err;

	if (!*key)
		key = json_array_size(labels) ? json_string_value(json_array_get(labels, 0)) : "";
	err = serve_files__open(f, &m->request->span, &w.recorded, e);
	if (!err && *key)
		err = extprof_recorded_times(w.recorded, &begin, &end, e);
	w.options.request_label = *key ? key : NULL;
	w.options.modes = NULL;
	if (!err && *key) {
		w.options.requests_by = key;
		w.options.top = VALUES_SHOWN;
		by = serve_page__json_of(write_requests, &w, e);
		w.options.requests_by = NULL;
		w.options.top = w.options.slowest = SLOWEST;
		slowest = by ? serve_page__json_of(write_requests, &w, e) : NULL;
		err = by && slowest ? 0 : -EIO;
	}
	extprof_recorded_close(w.recorded);
	json_object_set_new(data, "by", by ? by : json_null());
	json_object_set_new(data, "slowest", slowest ? slowest : json_null());
	json_object_set_new(data, "begin", serve_page__ns(begin));
	json_object_set_new(data, "end", serve_page__ns(end));
	json_object_set_new(data, "key", json_string(key));
	json_object_set_new(data, "labels", labels);
	json_object_set_new(data, "since", serve_page__ns(m->request->span.since));
	json_object_set_new(data, "until", serve_page__ns(m->request->span.until));
	if (err) {
		json_decref(data);
		return err;
	}
	return serve_page__write_html(m, "extprof: requests", serve_requests_js, data, e);
}
