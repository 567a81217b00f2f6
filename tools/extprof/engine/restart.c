/* SPDX-License-Identifier: BSD-2-Clause */
/* A new window of a recording: what was reported is forgotten, and with it what is needed no more. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/state.h"

/* So many rows of processes that have ended are not worth the work of dropping them. */
#define ROWS_TIDY 512u

/* The frames of objects that live keep the names that they have now.  0 or -ENOMEM. */
static int name_held(struct engine *e)
{
	if (!e->heap)
		return 0;
	/* Those of code are in the table, as long as it stays. */
	if (symbol_table__is_crowded(&e->table))
		return engine__name_frames(e);
	for (uint32_t i = 0; i < e->set.vm_count; i++)
		if (e->set.vms[i])
			resolve__name_threads(&e->resolver, e->set.vms[i]);
	resolve__name_processes(&e->resolver);
	return 0;
}

/* Stacks, and the frames that others have of them. */
static int forget_stacks(struct engine *e)
{
	struct frame_table frames;
	struct tree tree;

	if (tree__init(&tree))
		return -ENOMEM;
	if (frame_table__init(&frames)) {
		tree__free(&tree);
		return -ENOMEM;
	}
	if (name_held(e) || engine__restart_heap(e, &frames)) {
		tree__free(&tree);
		frame_table__free(&frames);
		return -ENOMEM;
	}
	tree__free(&e->tree);
	frame_table__free(&e->frames);
	native_lines__free(&e->native_lines);
	e->tree = tree;
	e->frames = frames;
	gc_pauses__free(&e->pauses);
	for (uint32_t i = 0; i < e->set.vm_count; i++)
		if (e->set.vms[i]) {
			threads__restart(&e->set.vms[i]->threads);
			e->set.vms[i]->frames.used = 0;
		}
	engine__restart_natives(e);
	return resolve__restart(&e->resolver);
}

/* Drop the rows of processes that have ended, with `sums` those of the others, too.  -ENOMEM: all is as it was. */
static int drop_rows(struct engine *e, bool sums)
{
	bool *kept = calloc(e->rows.count + 1u, sizeof(*kept));
	uint32_t *number = calloc(e->rows.count + 1u, sizeof(*number));
	int err = kept && number ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < e->set.count; i++) {
		struct process *p = e->set.list[i];

		/* The row of many processes is not kept: there may be room for each of them now. */
		if (p && p->row < PROCESS_ROWS_MAX)
			kept[p->row] = true;
	}
	if (!err && e->first_row != PROCESS_NONE)
		kept[e->first_row] = e->first_row < PROCESS_ROWS_MAX;
	for (uint32_t i = 0; !err && i < e->rows.count; i++)
		if (!kept[i])
			e->cpu_time_dropped += e->rows.rows[i].cpu_time;
	if (!err)
		(sums ? processes__restart : processes__drop)(&e->rows, kept, number);
	for (uint32_t i = 0; !err && i < e->set.count; i++) {
		struct process *p = e->set.list[i];

		if (p && p->row != PROCESS_NONE)
			p->row = number[p->row];
	}
	if (!err && e->first_row != PROCESS_NONE)
		e->first_row = number[e->first_row];
	free(kept);
	free(number);
	return err;
}

static int forget_rows(struct engine *e)
{
	int err = drop_rows(e, true);

	for (uint32_t i = 0; !err && i < e->set.count; i++)
		if (e->set.list[i])
			e->set.list[i]->cpu_before = 0;
	memset(e->kernel, 0, sizeof(e->kernel));
	if (!err)
		e->cpu_time_dropped = 0;
	return err;
}

void engine__tidy(struct engine *e)
{
	const bool has_process_frames = e->settings.mode_count && e->resolver.groups.count;

	for (uint32_t i = 0; i < e->set.vm_count; i++)
		if (e->set.vms[i])
			threads__tidy(&e->set.vms[i]->threads);
	/* Frames of processes have the numbers of rows, and so have recordings. */
	if (!has_process_frames && !e->recording.writer && e->rows.count > 2 * e->set.live + ROWS_TIDY) {
		engine__tell_losses(e, false);
		drop_rows(e, false);
	}
}

/* A VM that is closed lives on as the parent of others. */
static void forget_symbols(struct engine *e)
{
	if (!symbol_table__is_crowded(&e->table))
		return;
	for (uint32_t i = 0; i < e->set.vm_count; i++)
		for (struct vm *vm = e->set.vms[i]; vm; vm = vm->parent)
			symbols__restart(&vm->symbols);
	symbol_table__free(&e->table);
}

int engine__forget(struct engine *e, struct diag *d)
{
	struct session_losses losses;
	struct source_facts facts;

	engine__tell_losses(e, true);
	e->table.asked_max = (uint64_t)SYMBOLS_ASKED_MAX * (e->set.live + 1u);
	/* Rows first: the frames of all that stay are forgotten with the stacks. */
	if (forget_rows(e) || states__restart(&e->states) || forget_stacks(e))
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	forget_symbols(e);
	e->from = e->resumed_at;
	e->paused_here = 0;
	if (e->paused) {
		e->paused_all += e->from - e->paused_since;
		e->paused_since = e->from;
	}
	e->lost_events = session__lost_events(e->session) + e->refused_events;
	session__losses(e->session, &losses);
	e->lost_accounts = losses.threads;
	if (e->sources & 1u << SOURCE_GC) {
		session__facts(e->session, SOURCE_GC, &facts);
		e->begun_before = facts.begun_before;
	}
	e->snapshot = false;
	e->fresh = true;
	return 0;
}

int engine__restart(struct engine *e, struct diag *d)
{
	if (!e->snapshot)
		return diag__set(d, DIAG_USAGE, EINVAL, "there is no snapshot that can be forgotten");
	/* Its ids of processes and its account are those of one window. */
	if (e->recording.writer)
		return diag__set(d, DIAG_USAGE, EBUSY, "a recording that is written into a file has one window");
	engine__remember_idle(e);
	return engine__forget(e, d);
}
