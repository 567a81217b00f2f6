/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * For which span of a trace a thread or fiber works: the record that a program leaves at ec_context, or a library for a
 * native thread, as OpenTelemetry defines it (OTEP 4947).
 */
#ifndef EXTPROF_WIRE_TRACE_H
#define EXTPROF_WIRE_TRACE_H

#ifndef __bpf__
#include <stdbool.h>
#include <stdint.h>
#endif

/* Bytes as they are in the record: the first one is the highest of the number. */
struct trace_context {
	uint8_t trace[16];	/* all 0: there is none */
	uint8_t span[8];
};

/* The record in the program.  Attributes follow it. */
struct trace_record {
	struct trace_context context;
	uint8_t valid;		/* TRACE_VALID; another value: the program changes it, or has no span now */
	uint8_t reserved;
	uint16_t attributes;	/* their size in bytes; they are not read */
};
#define TRACE_VALID 1u

enum trace_state {
	TRACE_NONE = 0,		/* there is no record, or one without a trace */
	TRACE_SET = 1,
	TRACE_NOT_VALID = 2,	/* the record says that it is not valid, or it changed during the read */
	TRACE_UNREAD = 3,	/* there is no memory where it should be */
};

/*
 * Where threads of a process have the address of a record in a thread-local variable, `otel_thread_ctx_v1` of some
 * library.  The memory of a module is at one distance from the thread pointer in all threads, or ld.so has allocated it for
 * each thread, and its address is in the thread's table of modules (the dynamic thread vector, DTV).
 */
struct trace_place {
	uint32_t module;	/* 0: there is none; TRACE_IN_THREAD; or its place in the table */
	int64_t offset;		/* from the thread pointer, or in the memory of the module */
};
#define TRACE_IN_THREAD 0xffffffffu
#define TRACE_MODULES_MAX 65536u

typedef char trace_assert_record[sizeof(struct trace_record) == 28 ? 1 : -1];

#ifndef __bpf__
enum trace_part { TRACE_ID, TRACE_SPAN, TRACE_PARTS };

/* The keys of labels that have the two as texts, in all outputs. */
extern const char *const trace_labels[TRACE_PARTS];
/* Which of them it is; -1: another label. */
int trace__part_of_label(const char *key);

bool trace__is_set(const struct trace_context *c);

/* Hexadecimal digits, and a 0. */
#define TRACE_TEXT_SIZE 33
/* False: there is none, and the text is empty. */
bool trace__text(const struct trace_context *c, enum trace_part part, char to[TRACE_TEXT_SIZE]);
#endif

#endif /* EXTPROF_WIRE_TRACE_H */
