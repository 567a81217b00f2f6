/* SPDX-License-Identifier: BSD-2-Clause */
/* One of the VM's own probes, in the files of all rubies that are followed. */
#ifndef EXTPROF_RUBY_PROBE_H
#define EXTPROF_RUBY_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "source/source.h"

struct bpf_program;
struct extprof_bpf;
struct attached_file;
struct places;

struct ruby_probe {
	const char *name;		/* of RB_DEBUG_EXT_PROBE_PROVIDER */
	size_t semaphore;		/* offset of its address in struct rb_debug_ext_section */
	struct bpf_program *program;	/* that runs at the probe */
	int places;			/* the BPF map of that name; set by ruby_probe__open() */
	struct attached_file *files;
	uint32_t count;
	size_t room;
	bool rests;
	/* The same as in struct source_target, for the rubies that were added. */
	int (*read)(const void *engine, uint32_t vm, uint64_t address, void *to, size_t size);
	const void *engine;
};

/* Have the probe looked for in the files of rubies.  `name` is set. */
int ruby_probe__create(const struct ruby_probe *p, struct places *places, struct diag *d);
/* Before the object is loaded: have the program loaded, and make room for the places of one more probe. */
int ruby_probe__configure(struct ruby_probe *p, struct extprof_bpf *skel, struct bpf_program *program, struct diag *d);
void ruby_probe__open(struct ruby_probe *p, struct extprof_bpf *skel);

/*
 * Have the program run at the probe in the target, and in every other process that runs the same file.
 * 0, also if it does so already; or -errno with the diagnosis.
 */
int ruby_probe__add(struct ruby_probe *p, const struct source_target *target, struct diag *d);

/* It runs nowhere, and its semaphores are as they were, until it goes on: in these files, and in those that were added
 * meanwhile. */
void ruby_probe__rest(struct ruby_probe *p);
/* 0, also if it does not rest; or -errno with the diagnosis. */
int ruby_probe__resume(struct ruby_probe *p, struct diag *d);

/* It runs nowhere any more, and its semaphores are as they were. */
void ruby_probe__detach(struct ruby_probe *p);

#endif /* EXTPROF_RUBY_PROBE_H */
