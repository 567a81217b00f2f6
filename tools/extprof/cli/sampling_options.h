/* SPDX-License-Identifier: BSD-2-Clause */
/* Options that say which processes are sampled and how: the same for all commands that sample. */
#ifndef EXTPROF_SAMPLING_OPTIONS_H
#define EXTPROF_SAMPLING_OPTIONS_H

#include "cli/mode_options.h"

enum {
	OPTION_TIMER = 0x400,
	OPTION_ALLOC_INTERVAL,
	OPTION_READER,
	OPTION_NONBLOCKING,
};

#define SAMPLING_STRING_(x) #x
#define SAMPLING_STRING(x) SAMPLING_STRING_(x)

/* Rows of a table for argp, whose filter is options__text(). */
#define READER_OPTIONS \
	{ "reader", OPTION_READER, "READER", 0, "what reads the stacks, %s: programs in the kernel; this program, from " \
	  "outside; the same with a running thread stopped for the read.  The last two need no BPF (default: auto, " \
	  "ebpf where that may be used)", 0 }, \
	{ "nonblocking", OPTION_NONBLOCKING, NULL, 0, "the same as --reader nonblocking", 0 }

/* The same; default_modes: a text. */
#define SAMPLING_OPTIONS(default_modes) \
	{ "mode", 'm', "MODE", 0, "what is shown: %s, or several with commas between (default: " default_modes ")", 0 }, \
	{ "rate", 'r', "N", 0, "samples per second and CPU; 10k or 10khz is 10000 " \
	  "(default: " SAMPLING_STRING(EXTPROF_RATE_DEFAULT) ")", 0 }, \
	{ NULL, 'F', "N", 0, "the same as --rate, as in perf", 0 }, \
	READER_OPTIONS, \
	{ "timer", OPTION_TIMER, "TIMER", 0, "what takes the samples, %s: timers of our own, or the " \
	  "scheduler's tick, which needs no interrupts of ours (default: clock)", 0 }, \
	{ "alloc-interval", OPTION_ALLOC_INTERVAL, "SIZE", 0, "with mode alloc: one sample for each SIZE of memory, " \
	  "on average: 64k, 1M (default: 512k)", 0 }, \
	{ "syscall", OPTION_SYSCALL, "CALLS", 0, "the system calls that mode syscall shows, names or numbers " \
	  "with commas between: openat,write (default: all)", 0 }, \
	{ "latency", OPTION_LATENCY, NULL, 0, "how long system calls took, not how many there were", 0 }, \
	{ "event", 'e', "EVENT", 0, "what mode event shows, -e several times for several: page-faults, " \
	  "context-switches, cycles, ...; CATEGORY:NAME, a tracepoint of the kernel; FILE:SYMBOL, a function; " \
	  "FILE:PROVIDER:NAME, a probe (USDT)", 0 }, \
	{ "count", 'c', "N", 0, "a sample for every Nth event (default: each; 1000000 cycles)", 0 }, \
	{ "waits", OPTION_WAITS, "WHICH", 0, "which waits of the modes wall, offcpu and gvl are samples: each, or as many as the " \
	  "rate says (rate), where a short one stands for others (default: rate for wall alone, else each)", 0 }, \
	{ "duration", 'd', "TIME", 0, "stop after this time: 10, 10s, 500ms, 2m, 1h " \
	  "(default: at Ctrl-C, or when the processes have ended)", 0 }
#define STATE_OPTION \
	{ "state", OPTION_STATE, "STATES", 0, "what the modes wall and offcpu show: %s, or several with commas between " \
	  "(default: all)", 0 }

/* As a parser of argp: ARGP_ERR_UNKNOWN if the option is none of these, and none of the selection. */
error_t sampling_options__parse(struct options *o, int key, char *arg, struct argp_state *state);
/* All options are known: do they fit together?  They are put into o->recording.  `verb`: as of selection_options__finish(). */
error_t sampling_options__finish(struct options *o, const char *verb, struct argp_state *state);

#endif /* EXTPROF_SAMPLING_OPTIONS_H */
