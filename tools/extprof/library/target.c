/* SPDX-License-Identifier: BSD-2-Clause */
/* One process for a BPF program of the caller's: where its stacks are, and their names. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/deadline.h"
#include "library/error.h"
#include "library/report.h"
#include "parser/helper.h"
#include "process/section_search.h"
#include "process/target.h"
#include "profile/frame_names.h"
#include "profile/resolve.h"
#include "ruby/name_retention.h"
#include "ruby/vm.h"

/* A process decides how long a search in its memory lasts, and a read of it. */
#define OPEN_TIMEOUT 10000000000ull
#define READS_TIMEOUT 2000000000ull

/* Texts of frames that are kept; then they are read again. */
#define STRINGS_MAX (64u << 10)

struct extprof_target {
	struct target target;
	struct vm *vm;
	uint32_t number;		/* of its samples; 0: they are not sent yet */
	struct symbol_table table;
	struct frame_table table_of_frames;
	struct strings texts;		/* that are composed */
	struct resolver resolver;
	struct deadline deadline;	/* of the search, then of the reads for one stack */
	uint64_t ask_at;		/* for names to be kept; CLOCK_MONOTONIC, ns */
	struct extprof_frame *frames;
	const struct extprof_frame **path;
	size_t frame_room, path_room;
	struct extprof_stack stack;
};

static struct vm *vm_of(void *context, const struct sample_event *e, uint32_t *row)
{
	struct extprof_target *t = context;

	(void)e;
	*row = PROCESS_NONE;
	return t->vm;
}

/* Without permission to write names may expire, and are shown as such then. */
static void keep_names(struct extprof_target *t)
{
	uint64_t now = deadline__now();

	if (now < t->ask_at || !t->vm->space)
		return;
	t->ask_at = now + NAME_RETENTION_INTERVAL;
	name_retention__ask(t->vm->space, &t->vm->layout);
}

int extprof_target_open(struct extprof_target **target, pid_t pid, struct extprof_error *error)
{
	struct extprof_target *t = calloc(1, sizeof(*t));
	struct diag d = { 0 };
	int err;

	*target = NULL;
	if (!t)
		return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory");
	helpers__hold();
	t->target.pidfd = -1;
	t->resolver.frames = &t->table_of_frames;
	t->resolver.vm_of = vm_of;
	t->resolver.context = t;
	err = frame_table__init(&t->table_of_frames);
	if (err) {
		diag__set(&d, DIAG_INTERNAL, ENOMEM, "out of memory");
		goto cleanup;
	}
	err = target__open(&t->target, pid, &d);
	if (err) {
		t->target.pidfd = -1;
		goto cleanup;
	}
	deadline__start(&t->deadline, -1, deadline__now() + OPEN_TIMEOUT);
	t->target.deadline = &t->deadline;
	if ((err = target__find_section(&t->target, &d)) || (err = vm__open(&t->vm, &t->target, &t->table, &d)))
		goto cleanup;
	vm__set_deadline(t->vm, &t->deadline);
	keep_names(t);
	*target = t;
	t = NULL;
cleanup:
	extprof_target_close(t);
	return error__from(error, err, &d);
}

int extprof_target_add(struct extprof_target *t, int map_fd, uint32_t number, struct extprof_error *error)
{
	struct target_config config;
	int err;

	if (!number)
		return error__set(error, DIAG_USAGE, EINVAL, "the number of a target is 1 or more");
	layout__config(&t->vm->layout, &config);
	config.process = number;
	config.vm = number;
	err = bpf_map_update_elem(map_fd, &t->target.key, &config, BPF_ANY);
	if (err)
		return error__set(error, DIAG_INTERNAL, -err, "cannot add process %d to the map of targets: %s",
				  t->target.pid, strerror(-err));
	t->number = number;
	return 0;
}

/* Frames that are known are forgotten when they are many: nobody has them any more.  0 or -ENOMEM. */
static int tidy(struct extprof_target *t)
{
	int err;

	if (t->table_of_frames.strings.count + t->texts.count <= STRINGS_MAX && t->table_of_frames.count <= STRINGS_MAX)
		return 0;
	frame_table__free(&t->table_of_frames);
	strings__free(&t->texts);
	err = frame_table__init(&t->table_of_frames);
	return err ? err : resolve__restart(&t->resolver);
}

static int describe(struct extprof_target *t, uint32_t count)
{
	if (array__reserve(&t->frames, 0, count, &t->frame_room, UINT32_MAX, sizeof(*t->frames)) ||
	    array__reserve(&t->path, 0, count, &t->path_room, UINT32_MAX, sizeof(*t->path)))
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t number = t->resolver.stack[i];

		if (frame_names__take(&t->table_of_frames, number, &t->table) ||
		    frame__show(&t->frames[i], frame_table__get(&t->table_of_frames, number), &t->texts))
			return -ENOMEM;
		t->path[i] = &t->frames[i];
	}
	return 0;
}

int extprof_target_resolve(struct extprof_target *t, const void *data, size_t size,
			   const struct extprof_stack **stack, struct extprof_error *error)
{
	const struct sample_event *e = data;
	uint32_t count = 0;
	int err;

	*stack = NULL;
	/* Ids mean something else in another process. */
	if (size >= sizeof(*e) && (!t->number || e->process != t->number))
		return error__set(error, DIAG_USAGE, EINVAL, "this is a sample of process number %u, and the target "
				  "has number %u", e->process, t->number);
	deadline__start(&t->deadline, -1, deadline__now() + READS_TIMEOUT);
	keep_names(t);
	/* Names that have changed since, and work for one more stack. */
	symbols__update(&t->vm->symbols, false);
	err = tidy(t);
	if (!err)
		err = resolve__stack(&t->resolver, data, size, &count);
	if (!err)
		err = describe(t, count);
	if (err == -EINVAL)
		return error__set(error, DIAG_USAGE, EINVAL, "these %zu bytes are no sample", size);
	if (err)
		return error__set(error, DIAG_INTERNAL, -err, "the stack could not be resolved: %s",
				  strerror(-err));
	t->stack = (struct extprof_stack){ .frames = t->path, .count = count, .value = e->value };
	*stack = &t->stack;
	return 0;
}

void extprof_target_close(struct extprof_target *t)
{
	if (!t)
		return;
	vm__close(t->vm);
	target__close(&t->target);
	symbol_table__free(&t->table);
	frame_table__free(&t->table_of_frames);
	strings__free(&t->texts);
	free(t->frames);
	free(t->path);
	free(t);
	helpers__release();
}
