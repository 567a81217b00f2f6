/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machine code of the processes that are followed: which files they have mapped and where, the rules by which the kernel
 * finds callers, and the names of functions.  Files are shared by all processes that map them, and parsed by a helper
 * without rights (parser/parser.h).
 *
 * Nothing here waits: what could is a work for another thread (native_work.h).  The caller takes works, runs them
 * somewhere, and hands them back.
 */
#ifndef EXTPROF_NATIVE_H
#define EXTPROF_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "native/debug_files.h"
#include "native/native_work.h"
#include "source/unwind_maps.h"

#define NATIVE_FILES_MAX 1024u
#define NATIVE_PROCESSES_MAX 4096u
#define NATIVE_NO_FILE UINT32_MAX
/* A function of a JIT: its address is a number of jit_maps.h, and its file is shown as NATIVE_JIT. */
#define NATIVE_IN_MAP (UINT32_MAX - 1)
#define NATIVE_JIT "[jit]"

struct native;

/* 0 or -ENOMEM. */
int native__create(struct native **native, const struct unwind_maps *maps);
/*
 * Before processes are added: all of one user may have half of what is left of files, rules, names and mappings, and one
 * process half of that (base/budget.h).  A file belongs to who had it first, and its rules to a process that has room for
 * them: what one process has no room for, another one can still have.
 */
struct native_bounds {
	uint64_t files, rules, names, mappings;	/* names in bytes */
};
extern const struct native_bounds native_bounds;	/* all that there is */
void native__share(struct native *n, const struct native_bounds *bounds);
/* Before names are read: those of C++ and Rust are not to be made readable. */
void native__names_as_in_file(struct native *n);
/* NULL is fine. */
void native__destroy(struct native *n);

/*
 * The process runs that VM: its mappings are to be read.  `user`: for whom it takes what is shared.  `vm_code`: an address
 * in the file of the VM, 0 unknown.  A process whose mappings cannot be read has no native stacks.  0 or -ENOMEM: it has
 * none either.
 */
int native__add(struct native *n, uint32_t vm, pid_t pid, uint32_t user, uint64_t vm_code);
/*
 * The same of a process that does not run any more: it has these mappings, by address, and they do not change.  It
 * takes their paths in any case.  `open` opens the file of mapping `number`, once for each file.
 */
struct native_opened {
	int fd;			/* -1: it cannot be opened, and has no rules and no names; else it is taken over */
	bool late;		/* -1: there was no time to open it */
	uint64_t size, owner;	/* as in native_work */
};
int native__add_fixed(struct native *n, uint32_t vm, uint64_t vm_code, struct native_seen *seen, uint32_t count,
		       struct native_opened (*open)(void *context, uint32_t number), void *context);
/* A child that fork made has what its parent has mapped, at the same addresses. */
void native__fork(struct native *n, uint32_t parent, uint32_t vm, pid_t pid);
/* A function of the process was in no file that is known, or in one that another has replaced: look again, but not more
 * often than now and then. */
void native__look_again(struct native *n, uint32_t vm);
/* Look at its mappings now: the next works are that. */
void native__look_now(struct native *n, uint32_t vm);
/* It has executed its program then, CLOCK_MONOTONIC: what was written before is of another one. */
void native__executed(struct native *n, uint32_t vm, uint64_t time);
/* It has ended, or executes something else.  Samples of it can still arrive: what was mapped stays known. */
void native__end(struct native *n, uint32_t vm);
/* No sample of it arrives any more. */
void native__remove(struct native *n, uint32_t vm);

/* The published mappings of a VM, to follow its stacks here.  False: none are (yet).  The view is valid until the next call that
 * publishes or removes. */
bool native__view(const struct native *n, uint32_t vm, struct unwind_view *view);

/* The next work for another thread; NULL: there is none now.  The caller hands it back, or frees it with
 * native_work__free(). */
struct native_work *native__next_work(struct native *n);
/* Only names that are wanted: nothing is sampled any more. */
struct native_work *native__next_names(struct native *n);
/* It has been run.  Takes it. */
void native__done(struct native *n, struct native_work *w);
/* It cannot be run.  Takes it. */
void native__failed(struct native *n, struct native_work *w);
/*
 * There is no more time for rules, or for names: those that are still wanted are late, as those whose work was cut off by its
 * deadline are.  Late ones are not read until native__try_late().
 */
void native__end_rules(struct native *n);
void native__end_names(struct native *n);
/* The same of maps alone: names that nobody knows to be right are dropped. */
void native__end_maps(struct native *n);
void native__try_late(struct native *n);
/* Tell the kernel what has come since the last time. */
void native__publish(struct native *n);
/* How many files have been read for their rules; 0: mappings or files are still to be read, so that some stacks are
 * marked now that will not be marked later. */
uint32_t native__read_files(const struct native *n);
/* Are names of functions still to be read? */
bool native__wants_names(const struct native *n);

/* Where an address of a process is. */
struct native_place {
	uint32_t file;		/* NATIVE_NO_FILE: in none that is known; NATIVE_IN_MAP */
	uint64_t address;	/* in the file */
	uint64_t function;	/* where its function begins, in the process; 0: not known */
	uint32_t rule;		/* enum unwind_rule at that address */
	bool of_vm;		/* the file is that of the VM */
	bool in_no_file;	/* NATIVE_NO_FILE: a look has found code there that is in no file, or in one that is no ELF file */
	const char *late;	/* NATIVE_NO_FILE: the path of its file, which has not been read (yet); NULL: it has, or there is none */
	const char *refused;	/* NATIVE_NO_FILE: the path of its file, which there was no permission to open; NULL: it is not so */
};

/* Find the place of an address in a sample of that time, CLOCK_MONOTONIC, whose walk found something mapped there.
 * `exact`: the address is not one that a call returns to. */
void native__find(struct native *n, uint32_t vm, uint64_t address, uint64_t time, bool exact, struct native_place *place);

/* Code that is in no file: it can be in the map that the JIT of the process writes. */
void native__find_in_map(struct native *n, uint32_t vm, uint64_t address, uint64_t time, bool exact, struct native_place *place);
/* Read again all maps that samples had: they grow. */
void native__want_maps(struct native *n);
/* Nobody has places of NATIVE_IN_MAP any more. */
void native__restart_maps(struct native *n);
/* For NATIVE_IN_MAP: the address in the process; 0: it has no name. */
uint64_t native__map_address(const struct native *n, uint64_t number);

/* Names of that file will be asked for. */
void native__want_names(struct native *n, uint32_t file);
/* Append the name of the function with that address in the file, clean.  -EAGAIN: names are still to be read; -ETIMEDOUT: they
 * were not read in time; -ENOENT: none is known. */
int native__add_name(const struct native *n, uint32_t file, uint64_t address, struct text *out);
/* The path of the file, clean; "": there is no such file. */
const char *native__path(const struct native *n, uint32_t file);
/* Where its debug information is looked for.  Texts and file stay those of `n`. */
void native__module(const struct native *n, uint32_t file, struct debug_module *m);
/* Its build id, in hex; "": none is known. */
const char *native__build_id(const struct native *n, uint32_t file);

#endif /* EXTPROF_NATIVE_H */
