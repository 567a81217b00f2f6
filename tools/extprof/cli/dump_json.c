/* SPDX-License-Identifier: BSD-2-Clause */
/* A dump for programs. */
#include <errno.h>
#include <jansson.h>

#include "cli/dump.h"

/* json_pack() has formats for text that may be NULL and for parts that it takes over. */
static json_t *frame_of(const struct extprof_frame *f)
{
	static const char *const kinds[] = {
		[EXTPROF_FRAME_RUBY] = "ruby", [EXTPROF_FRAME_C] = "c", [EXTPROF_FRAME_BUILTIN] = "builtin",
		[EXTPROF_FRAME_GC] = "gc", [EXTPROF_FRAME_NATIVE] = "native",
	};
	const char *kind = (unsigned int)f->kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[f->kind] : NULL;

	return json_pack("{s:s, s:s*, s:o*, s:o*, s:s}", "name", f->name, "path", f->path[0] ? f->path : NULL,
			 "line", f->line ? json_integer(f->line) : NULL, "approximate",
			 f->approximate ? json_true() : NULL, "kind", kind ? kind : "other");
}

static json_t *fiber_of(const struct extprof_dump_fiber *f, bool again)
{
	static const char *const proofs[] = {
		[EXTPROF_PROOF_NONE] = "none", [EXTPROF_PROOF_OFF_CPU] = "off-cpu",
		[EXTPROF_PROOF_EQUAL] = "equal", [EXTPROF_PROOF_STOPPED] = "stopped",
		[EXTPROF_PROOF_CORE] = "core",
	};
	json_t *frames = json_array();

	/* Innermost first, as in a backtrace of Ruby's. */
	for (size_t i = f->created ? 0 : f->stack.count; i-- > 0;)
		json_array_append_new(frames, frame_of(f->stack.frames[i]));
	return json_pack("{s:I, s:b, s:s, s:s, s:b, s:s*, s:i, s:o*, s:s*, s:o}", "id", (json_int_t)f->serial,
			 "root", f->root, "state", f->current ? "current" : f->created ? "created" : "parked",
			 "proof", proofs[f->proof], "torn", f->torn, "lost", f->lost, "left_out", (int)f->left_out,
			 "moved", again ? json_boolean(f->moved) : NULL, "source", f->source, "frames", frames);
}

static json_t *call_of(const struct extprof_dump_thread *t)
{
	if (t->call < 0)
		return NULL;
	return json_pack("{s:I, s:s*, s:o*, s:s*}", "number", (json_int_t)t->call, "name", t->call_name, "fd",
			 t->call_fd >= 0 ? json_integer(t->call_fd) : NULL, "file", t->call_file);
}

static json_t *thread_of(const struct extprof_dump_thread *t, bool again)
{
	static const char *const states[] = {
		[EXTPROF_THREAD_CREATED] = "created", [EXTPROF_THREAD_RUNNING] = "running",
		[EXTPROF_THREAD_READY] = "ready", [EXTPROF_THREAD_BLOCKED] = "blocked",
		[EXTPROF_THREAD_SLEEPING] = "sleeping",
	};
	const char *state = (unsigned int)t->state < sizeof(states) / sizeof(states[0]) ? states[t->state] : NULL;
	char kernel[2] = { t->kernel_state, '\0' };
	json_t *fibers = json_array();

	for (size_t i = 0; i < t->fiber_count; i++)
		json_array_append_new(fibers, fiber_of(&t->fibers[i], again));
	return json_pack("{s:I, s:i, s:o*, s:s*, s:b, s:b, s:s, s:s, s:o*, s:o*, s:s*, s:b, s:o*, s:s*, s:o*, s:o}",
			 "id", (json_int_t)t->serial, "ractor", (int)t->ractor,
			 "tid", t->tid ? json_integer(t->tid) : NULL, "name", t->name[0] ? t->name : NULL,
			 "main", t->main, "shares_native_threads", t->shared,
			 "state", state ? state : "unknown", "text", dump__state(t),
			 "for_ns", t->since == UINT64_MAX ? NULL : json_integer((json_int_t)t->since),
			 "gvl_holder", t->gvl_holder ? json_integer((json_int_t)t->gvl_holder) : NULL,
			 "kernel_state", kernel[0] ? kernel : NULL, "off_cpu", t->off_cpu, "call", call_of(t),
			 "gc", t->gc, "ran", again ? json_boolean(t->ran) : NULL, "fibers", fibers);
}

int dump_json__write(const struct extprof_dump_result *r, bool again, FILE *to)
{
	json_t *threads = json_array(), *newer = json_array(), *all;
	bool failed;

	for (size_t i = 0; i < r->thread_count; i++)
		if (json_array_append_new(threads, thread_of(&r->threads[i], again)))
			goto no_memory;
	for (size_t i = 0; i < r->newer_count; i++)
		if (json_array_append_new(newer, json_string(r->newer[i])))
			goto no_memory;
	all = json_pack("{s:i, s:s, s:s, s:s, s:o*, s:I, s:o*, s:i, s:i, s:i, s:i, s:o, s:o}", "pid", (int)r->pid,
			"command", r->command, "ruby_version", r->ruby_version, "ruby_description",
			r->ruby_description, "time_ns", r->time ? json_integer((json_int_t)r->time) : NULL,
			"duration_ns", (json_int_t)r->duration, "stopped_ns",
			r->stopped ? json_integer((json_int_t)r->stopped) : NULL, "torn", (int)r->torn,
			"lost", (int)r->lost, "left_out", (int)r->left_out, "retried", (int)r->retried,
			"threads", threads, "newer_files", newer);
	if (!all)
		return -ENOMEM;
	failed = json_dumpf(all, to, JSON_COMPACT) || putc('\n', to) == EOF;
	json_decref(all);
	return failed && !ferror(to) ? -ENOMEM : 0;
no_memory:
	json_decref(threads);
	json_decref(newer);
	return -ENOMEM;
}
