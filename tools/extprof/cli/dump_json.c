/* SPDX-License-Identifier: BSD-2-Clause */
/* A dump for programs. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/dump.h"

static json_t *frame_of(const struct extprof_frame *f)
{
	static const char *const kinds[] = {
		[EXTPROF_FRAME_RUBY] = "ruby", [EXTPROF_FRAME_C] = "c", [EXTPROF_FRAME_BUILTIN] = "builtin",
		[EXTPROF_FRAME_GC] = "gc", [EXTPROF_FRAME_NATIVE] = "native",
	};
	const char *kind = (unsigned int)f->kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[f->kind] : NULL;

	return json_pack("{s:s, s:s*, s:o*, s:o*, s:s, s:s*, s:o*}", "name", f->name, "path", f->path[0] ? f->path : NULL,
			 "line", f->line ? json_integer(f->line) : NULL, "approximate",
			 f->approximate ? json_true() : NULL, "kind", kind ? kind : "other", "module", f->module[0] ? f->module : NULL,
			 "address", f->address ? json_integer((json_int_t)f->address) : NULL);
}

/* Power of two. */
#define TEXTS 1024u

/* The output, and texts of frames that were written already: threads have most of them in common. */
struct writer {
	FILE *to;
	/* By address; if two texts have the same place, the later one. */
	struct {
		const struct extprof_frame *frame;
		char *text;
	} texts[TEXTS];
};

static void writer__free(struct writer *w)
{
	for (uint32_t i = 0; i < TEXTS; i++)
		free(w->texts[i].text);
	free(w);
}

/* NULL: out of memory. */
static const char *text_of(struct writer *w, const struct extprof_frame *f)
{
	uint32_t place = (uint32_t)((uintptr_t)f * 0x9e3779b97f4a7c15ull >> 40) & (TEXTS - 1);
	json_t *object;

	if (w->texts[place].frame == f)
		return w->texts[place].text;
	object = frame_of(f);
	free(w->texts[place].text);
	w->texts[place].text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	w->texts[place].frame = w->texts[place].text ? f : NULL;
	json_decref(object);
	return w->texts[place].text;
}

/*
 * Write an object without its end, and begin an array in it: what follows is never in memory as a whole.  It takes
 * the object, NULL: out of memory.  0, -ENOMEM, or -EIO: see ferror().
 */
static int begin(json_t *object, const char *array, FILE *to)
{
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	size_t length = text ? strlen(text) : 0;
	int err = -ENOMEM;

	json_decref(object);
	if (!length)
		return err;
	text[length - 1] = '\0';
	err = fprintf(to, "%s,\"%s\":[", text, array) < 0 ? -EIO : 0;
	free(text);
	return err;
}

static int end(FILE *to)
{
	return fputs("]}", to) == EOF ? -EIO : 0;
}

static int write_frame(struct writer *w, const struct extprof_frame *f, bool first)
{
	const char *text = text_of(w, f);

	if (!text)
		return -ENOMEM;
	return (!first && putc(',', w->to) == EOF) || fputs(text, w->to) == EOF ? -EIO : 0;
}

/* NULL: it has none. */
static json_t *labels_of(const struct extprof_dump_fiber *f)
{
	json_t *object = f->label_count ? json_object() : NULL;

	for (size_t i = 0; i < f->label_count && object; i++)
		json_object_set_new(object, f->labels[i]->key, json_string(f->labels[i]->value));
	return object;
}

/* The current one is the first, if it is known. */
static const char *fiber_state(const struct extprof_dump_thread *t, const struct extprof_dump_fiber *f)
{
	return f->current ? "current" : f->resumes ? "resuming" : f->created ? "created" :
		t->fibers[0]->current ? "parked" : "unknown";
}

static int write_fiber(struct writer *w, const struct extprof_dump_thread *t, const struct extprof_dump_fiber *f,
		       bool again, bool first)
{
	static const char *const proofs[] = {
		[EXTPROF_PROOF_NONE] = "none", [EXTPROF_PROOF_OFF_CPU] = "off-cpu",
		[EXTPROF_PROOF_EQUAL] = "equal", [EXTPROF_PROOF_STOPPED] = "stopped",
		[EXTPROF_PROOF_CORE] = "core", [EXTPROF_PROOF_WAIT] = "wait",
	};
	json_t *object;
	int err = 0;

	if (!first)
		putc(',', w->to);
	object = json_pack("{s:I, s:b, s:s, s:s, s:b, s:s*, s:I, s:o*, s:s*, s:o*, s:o*, s:b, s:o*, s:s*, s:s*, s:s*, s:s*, s:s*}", "id", (json_int_t)f->serial, "root", f->root,
			   "state", fiber_state(t, f), "proof",
			   proofs[f->proof], "torn", f->torn, "lost", f->lost, "left_out", (json_int_t)f->left_out,
			   "moved", again ? json_boolean(f->moved) : NULL, "source", f->source, "resumed_by",
			   f->resumed_by ? json_integer((json_int_t)f->resumed_by) : NULL, "resumes",
			   f->resumes ? json_integer((json_int_t)f->resumes) : NULL, "nonblocking", f->nonblocking,
			   "labels", labels_of(f), "labels_lost", f->labels_lost,
			   "native_lost", f->native_lost, "trace_id", f->trace_id, "span_id", f->span_id,
			   "trace_lost", f->trace_lost);
	err = begin(object, "frames", w->to);
	/* Innermost first, as in a backtrace of Ruby's. */
	for (size_t i = f->created ? 0 : f->stack->count; i-- > 0 && !err;)
		err = write_frame(w, f->stack->frames[i], i == f->stack->count - 1);
	return err ? err : end(w->to);
}

static json_t *call_of(const struct extprof_dump_thread *t)
{
	if (t->call < 0)
		return NULL;
	return json_pack("{s:I, s:s*, s:o*, s:s*}", "number", (json_int_t)t->call, "name", t->call_name, "fd",
			 t->call_fd >= 0 ? json_integer(t->call_fd) : NULL, "file", t->call_file);
}

static json_t *wait_of(const struct extprof_dump_thread *t)
{
	static const char *const kinds[] = {
		[EXTPROF_WAIT_SLEEP] = "sleep", [EXTPROF_WAIT_JOIN] = "join", [EXTPROF_WAIT_MUTEX] = "mutex",
		[EXTPROF_WAIT_MUTEX_SLEEP] = "mutex-sleep", [EXTPROF_WAIT_CONDVAR] = "condvar",
		[EXTPROF_WAIT_QUEUE] = "queue", [EXTPROF_WAIT_SIZED_QUEUE] = "sized-queue", [EXTPROF_WAIT_IO] = "io",
		[EXTPROF_WAIT_IO_READ] = "io-read", [EXTPROF_WAIT_IO_WRITE] = "io-write",
		[EXTPROF_WAIT_IO_SELECT] = "io-select", [EXTPROF_WAIT_PROCESS] = "process",
		[EXTPROF_WAIT_RACTOR] = "ractor", [EXTPROF_WAIT_NOGVL] = "nogvl",
	};

	static const char *const owners[] = {
		[EXTPROF_OWNER_BEFORE] = "before", [EXTPROF_OWNER_NOW] = "now", [EXTPROF_OWNER_NOBODY] = "nobody",
	};
	static const char *const limits[] = { [EXTPROF_LIMIT_NONE] = "none", [EXTPROF_LIMIT_TIME] = "time" };

	if (t->wait <= 0 || (unsigned int)t->wait >= sizeof(kinds) / sizeof(kinds[0]))
		return NULL;
	return json_pack("{s:s, s:o*, s:o*, s:o*, s:s*, s:b, s:s*, s:s*}", "kind", kinds[t->wait], "thread",
			 t->wait_thread ? json_integer((json_int_t)t->wait_thread) : NULL, "object",
			 t->wait_object ? json_integer((json_int_t)t->wait_object) : NULL, "fd",
			 t->wait_fd >= 0 ? json_integer(t->wait_fd) : NULL, "file", t->wait_file, "deadlock",
			 t->deadlocked, "owner", t->wait == EXTPROF_WAIT_MUTEX ? owners[t->wait_owner] : NULL, "limit",
			 limits[t->wait_limit]);
}

static int write_thread(struct writer *w, const struct extprof_dump_thread *t, bool again, bool first)
{
	static const char *const states[] = {
		[EXTPROF_THREAD_CREATED] = "created", [EXTPROF_THREAD_RUNNING] = "running",
		[EXTPROF_THREAD_READY] = "ready", [EXTPROF_THREAD_BLOCKED] = "blocked",
		[EXTPROF_THREAD_SLEEPING] = "sleeping",
	};
	const char *state = (unsigned int)t->state < sizeof(states) / sizeof(states[0]) ? states[t->state] : NULL;
	char kernel[2] = { t->kernel_state, '\0' };
	json_t *object;
	int err;

	if (!first)
		putc(',', w->to);
	object = json_pack("{s:I, s:i, s:o*, s:s*, s:b, s:b, s:s, s:s, s:o*, s:o*, s:s*, s:b, s:o*, s:s*, s:o*, s:o*}",
			 "id", (json_int_t)t->serial, "ractor", (int)t->ractor,
			 "tid", t->tid ? json_integer(t->tid) : NULL, "name", t->name[0] ? t->name : NULL,
			 "main", t->main, "shares_native_threads", t->shared,
			 "state", state ? state : "unknown", "text", dump__state(t),
			 "for_ns", t->since == UINT64_MAX ? NULL : json_integer((json_int_t)t->since),
			 "gvl_holder", t->gvl_holder ? json_integer((json_int_t)t->gvl_holder) : NULL,
			 "kernel_state", kernel[0] ? kernel : NULL, "off_cpu", t->off_cpu, "call", call_of(t),
			 "gc", t->gc, "wait", wait_of(t), "ran", again ? json_boolean(t->ran) : NULL);
	err = begin(object, "fibers", w->to);
	for (size_t i = 0; i < t->fiber_count && !err; i++)
		err = write_fiber(w, t, t->fibers[i], again, !i);
	return err ? err : end(w->to);
}

int dump_json__write(const struct extprof_dump_result *r, bool again, FILE *to)
{
	json_t *newer = json_array(), *object;
	struct writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w) {
		json_decref(newer);
		return -ENOMEM;
	}
	w->to = to;
	for (size_t i = 0; i < r->newer_count; i++) {
		if (json_array_append_new(newer, json_string(r->newer[i]))) {
			json_decref(newer);
			writer__free(w);
			return -ENOMEM;
		}
	}
	object = json_pack("{s:i, s:s, s:s, s:s, s:s, s:o*, s:I, s:o*, s:I, s:I, s:I, s:I, s:o, s:o*, s:o*, s:o*}", "pid", (int)r->pid,
			   "command", r->command, "interface", r->interface, "ruby_version", r->ruby_version, "ruby_description",
			   r->ruby_description, "time_ns", r->time ? json_integer((json_int_t)r->time) : NULL,
			   "duration_ns", (json_int_t)r->duration, "stopped_ns",
			   r->stopped ? json_integer((json_int_t)r->stopped) : NULL, "torn", (json_int_t)r->torn,
			   "lost", (json_int_t)r->lost, "left_out", (json_int_t)r->left_out, "retried",
			   (json_int_t)r->retried, "newer_files", newer, "core_missing_bytes",
			   r->core_missing ? json_integer((json_int_t)r->core_missing) : NULL, "thread_stops",
			   r->stops ? json_integer(r->stops) : NULL, "longest_thread_stop_ns",
			   r->stops ? json_integer((json_int_t)r->longest_stop) : NULL);
	err = begin(object, "threads", to);
	for (size_t i = 0; i < r->thread_count && !err; i++)
		err = write_thread(w, r->threads[i], again, !i);
	writer__free(w);
	if (!err)
		err = end(to);
	if (!err && putc('\n', to) == EOF)
		err = -EIO;
	return !err || (err == -EIO && ferror(to)) ? 0 : -ENOMEM;
}
