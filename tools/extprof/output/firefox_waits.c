/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The markers of waits: what the frames below the code say of one, as fields.  Waits for files have the viewer's own type for
 * that, and waits for sockets one like it: the viewer's type for the network has no place for who waits, for which call and why.
 */
#include "output/firefox.h"

#include <string.h>

#include "profile/wait_text.h"
#include "source/mode.h"

/* Names of the viewer. */
#define TYPE_FILE "FileIO"
#define TYPE_SOCKET "socket"
#define TYPE_WAIT "wait"

/* Keys of the frames; a recording from somebody else can have any. */
static const char *const keys[FIREFOX_DETAILS] = {
	[FIREFOX_FILE] = "file", [FIREFOX_HOLDER] = DETAIL_HOLDER, [FIREFOX_HOLDER_THREAD] = DETAIL_HOLDER_THREAD,
	[FIREFOX_JOINED] = "joined", [FIREFOX_WAKER] = "waker",
};

/* Files of which the viewer's type tells: what has a place in a file system, and pipes. */
static const char *const files[] = { "file", "directory", "pipe", "device", "terminal" };

static bool is_file(const char *kind)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (!strcmp(files[i], kind))
			return true;
	return false;
}

void firefox__read_wait(const struct report *r, const struct moment *m, struct firefox_wait *w)
{
	*w = (struct firefox_wait){ .type = TYPE_WAIT, .file = "" };
	for (uint32_t node = m->node; node; node = r->nodes[node].parent) {
		const struct frame *f = &r->labels[r->nodes[node].label].frame;

		if (!frame_kind__is_below(f->kind))
			break;
		for (size_t i = 0; f->kind == FRAME_DETAIL && i < FIREFOX_DETAILS; i++)
			if (!strcmp(keys[i], f->key))
				w->details[i] = f;
		if (f->kind == FRAME_STATE)
			w->kind = f->name;
	}
	if (!w->kind || m->state != STATE_IO || !state__io_parts(w->kind, &w->call, &w->call_length, &w->file))
		return;
	if (is_file(w->file))
		w->type = TYPE_FILE;
	else if (!strcmp(w->file, "socket"))
		w->type = TYPE_SOCKET;
}

static void add_text(struct firefox *x, const char *key, const char *text)
{
	json__add(&x->json, key, json_string(text));
}

static void add_detail(struct firefox *x, const struct firefox_wait *w, enum firefox_detail detail)
{
	if (w->details[detail])
		add_text(x, keys[detail], w->details[detail]->name);
}

/* Which one it is, and what is done with it. */
static void add_file(struct firefox *x, const struct firefox_wait *w)
{
	bool socket = !strcmp(w->type, TYPE_SOCKET), own = false;
	const struct frame *file = w->details[FIREFOX_FILE];
	const char *name = file ? wait_text__file(file->name, &own) : NULL;

	json__add(&x->json, socket ? "call" : "operation", json_stringn(w->call, w->call_length));
	if (!socket)
		add_text(x, "source", w->file);
	if (name)
		add_text(x, !socket ? "filename" : own ? "address" : "peer", name);
}

void firefox__add_wait(struct firefox *x, const struct moment *m, const struct firefox_wait *w)
{
	add_text(x, "type", w->type);
	if (strcmp(w->type, TYPE_WAIT)) {
		add_file(x, w);
	} else {
		add_text(x, "state", state_names[m->state]);
		if (w->kind)
			add_text(x, "kind", w->kind);
		add_detail(x, w, FIREFOX_FILE);
		add_detail(x, w, FIREFOX_HOLDER);
		add_detail(x, w, FIREFOX_HOLDER_THREAD);
		add_detail(x, w, FIREFOX_JOINED);
	}
	add_detail(x, w, FIREFOX_WAKER);
}

const char *firefox__wait_name(const struct moment *m, const struct firefox_wait *w)
{
	return strcmp(w->type, TYPE_WAIT) ? w->type : state_names[m->state];
}

void firefox__add_wait_schemas(struct firefox *x)
{
	static const char *const in_thread[] = { "marker-chart", "marker-table", "timeline-fileio", NULL };
	static const char *const in_chart[] = { "marker-chart", "marker-table", NULL };

	firefox__open_schema(x, TYPE_FILE, "{marker.data.operation} {marker.data.source} {marker.data.filename}", in_thread);
	firefox__add_field(x, "operation", "string");
	firefox__add_field(x, "source", "string");
	firefox__add_field(x, "filename", "file-path");
	firefox__add_field(x, keys[FIREFOX_WAKER], "string");
	firefox__add_flow_fields(x, true);
	firefox__close_schema(x);
	firefox__open_schema(x, TYPE_SOCKET, "{marker.data.call} {marker.data.peer}{marker.data.address}", in_thread);
	firefox__add_field(x, "call", "string");
	firefox__add_field(x, "peer", "sanitized-string");
	firefox__add_field(x, "address", "sanitized-string");
	firefox__add_field(x, keys[FIREFOX_WAKER], "string");
	firefox__add_flow_fields(x, true);
	firefox__close_schema(x);
	firefox__open_schema(x, TYPE_WAIT, "{marker.data.kind}", in_chart);
	firefox__add_field(x, "state", "string");
	firefox__add_field(x, "kind", "string");
	for (size_t i = 0; i < FIREFOX_DETAILS; i++)
		firefox__add_field(x, keys[i], "string");
	firefox__add_flow_fields(x, false);
	firefox__close_schema(x);
}
