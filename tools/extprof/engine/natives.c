/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machine code of the processes that are followed: what the kernel needs to know of it, and its names.  Mappings and files
 * are read in threads: a searcher of its own does it, so that they and rubies do not wait for one another.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "engine/state.h"

/* Time to read names at the end.  A function without a name by then is shown by its file. */
#define NAMES_TIMEOUT (2 * SECOND)
/* A map that is being written anew is tried again. */
#define NAMES_STEP (50 * MS)

int engine__open_natives(struct engine *e, struct diag *d)
{
	struct unwind_maps maps;
	int err;

	if (!e->settings.native || !session__unwind(e->session, &maps))
		return 0;
	err = native__create(&e->native_frames.native, &maps);
	if (!err)
		err = searcher__create(&e->native_searcher, &e->settings.executor);
	if (err)
		return diag__set(d, DIAG_INTERNAL, -err, "cannot read native code: %s", strerror(-err));
	/* If the processes were chosen, each may have all. */
	if (e->settings.selection.all)
		native__share(e->native_frames.native, &native_bounds);
	if (e->settings.no_demangle)
		native__names_as_in_file(e->native_frames.native);
	e->native_frames.vm = e->settings.native_vm;
	e->resolver.native = &e->native_frames;
	return 0;
}

int engine__natives_fd(const struct engine *e)
{
	return e->native_searcher ? searcher__fd(e->native_searcher) : -1;
}

void engine__add_natives(struct engine *e, const struct process *p, const struct vm *vm)
{
	if (e->resolver.native)
		native__add(e->native_frames.native, vm->number, p->pid, vm->symbols.share.user, vm->layout.section.exec_start);
	engine__executed_natives(e, p, vm);
}

void engine__executed_natives(struct engine *e, const struct process *p, const struct vm *vm)
{
	if (e->resolver.native && p->executed_at)
		native__executed(e->native_frames.native, vm->number, p->executed_at);
}

void engine__fork_natives(struct engine *e, const struct process *p, const struct vm *parent, const struct vm *vm)
{
	if (e->resolver.native)
		native__fork(e->native_frames.native, parent->number, vm->number, p->pid);
}

void engine__end_natives(struct engine *e, const struct vm *vm)
{
	if (e->resolver.native)
		native__end(e->native_frames.native, vm->number);
}

void engine__remove_natives(struct engine *e, const struct vm *vm)
{
	if (e->resolver.native)
		native__remove(e->native_frames.native, vm->number);
}

/* Have a thread do it.  -errno: none can. */
static int submit(struct engine *e, struct native_work *w)
{
	struct search *search = search__new(0, 0, NULL);
	int err = -ENOMEM;

	if (search) {
		search->native = w;
		err = search__submit(e->native_searcher, search);
		if (!err)
			return 0;
		search->native = NULL;
		search__free(search);
	}
	native__failed(e->native_frames.native, w);
	return err;
}

static void take_done(struct engine *e)
{
	struct search *search;

	while ((search = search__next(e->native_searcher))) {
		native__done(e->native_frames.native, search->native);
		search->native = NULL;
		search__free(search);
	}
}

void engine__step_natives(struct engine *e)
{
	struct native *n = e->native_frames.native;
	struct native_work *w;
	uint32_t files;

	if (!e->resolver.native)
		return;
	take_done(e);
	/* One that cannot be done is wanted again: in the next step. */
	while ((w = native__next_work(n)) && !submit(e, w))
		;
	native__publish(n);
	files = native__read_files(n);
	if (files && files != e->native_files_told) {
		log_to__line(&e->settings.log, "native code: the rules of %" PRIu32 " files have been read", files);
		e->native_files_told = files;
	}
}

void engine__want_maps(struct engine *e)
{
	if (e->resolver.native)
		native__want_maps(e->native_frames.native);
}

void engine__restart_natives(struct engine *e)
{
	/* Objects that live keep their frames. */
	if (e->resolver.native && !e->heap)
		native__restart_maps(e->native_frames.native);
}

void engine__finish_natives(struct engine *e)
{
	uint64_t until = deadline__now() + NAMES_TIMEOUT, now;
	struct native *n = e->native_frames.native;
	struct native_work *w;

	engine__want_maps(e);
	while (e->resolver.native && native__wants_names(n) && (now = deadline__now()) < until) {
		struct pollfd fd = { .fd = searcher__fd(e->native_searcher), .events = POLLIN };

		while ((w = native__next_names(n)) && !submit(e, w))
			;
		if (native__wants_names(n))
			poll(&fd, 1, (int)((until - now < NAMES_STEP ? until - now : NAMES_STEP) / MS) + 1);
		take_done(e);
	}
	if (e->resolver.native)
		native__end_maps(n);
}
