/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How to come from the registers of a function to those of its caller, for each range of machine code: what the compiler
 * says in .eh_frame, made smaller.  The CFA is the stack pointer's value in the caller.
 *
 * Of x86-64 the instruction pointer, the stack pointer and rbp are followed; the return address is in the 8 bytes below the
 * CFA.  Of aarch64 also x30, the link register: the return address is there or in memory.  x29 is the frame pointer.
 */
#ifndef EXTPROF_UNWIND_H
#define EXTPROF_UNWIND_H

#include "wire/sample.h"

/* unwind_row::rule.  It tells what the CFA is; fp is rbp or x29: */
enum unwind_rule {
	UNWIND_NONE = 0,	/* no function is here that has a rule */
	UNWIND_SP = 1,		/* sp + 8 * cfa */
	UNWIND_FP = 2,		/* fp + 8 * cfa */
	UNWIND_FP_DEREF = 3,	/* what is at fp - 8 * cfa: the function has aligned its stack */
	UNWIND_SP_DEREF = 4,	/* x86-64: a register that the function keeps on its stack, and a number: UNWIND_DEREF_PLUS */
	UNWIND_PLT = 5,		/* x86-64: sp + 8, and in each 16 bytes from number `cfa` on sp + 16 */
	UNWIND_SIGNAL = 6,	/* the kernel has called a signal handler: the registers are in its frame */
	UNWIND_OUTERMOST = 7,	/* the first function of a thread or of a fiber: there is no caller */
	UNWIND_OTHER = 8,	/* something else, which is not followed */
	UNWIND_RULES
};
/*
 * Of UNWIND_SP_DEREF: what is at sp - UNWIND_RED_ZONE + 8 * (cfa & UNWIND_DEREF_WORDS), and 8 * (cfa >> UNWIND_DEREF_PLUS) more.
 * A function may use so many bytes below its stack pointer.
 */
#define UNWIND_RED_ZONE 128u
#define UNWIND_DEREF_WORDS 0x3ffu
#define UNWIND_DEREF_PLUS 10
#define UNWIND_DEREF_PLUS_WORDS 0x3fu
#define UNWIND_BEGINS 0x80u	/* beside the rule: a function begins with this row */

/* unwind_row::saved.  Where the caller's registers are. */
#define UNWIND_SAME 0u		/* where they were */
#define UNWIND_LOST 0xffu	/* the frame pointer's value is lost */

/* x86-64: rbp is at CFA - 8 * saved, of 1 to 0xfd. */
#define UNWIND_AT_RBP 0xfeu	/* at rbp */

/*
 * aarch64: a place, in UNWIND_PLACE_WORDS.  It is counted from the register that the CFA is counted from, upwards, or from the
 * CFA downwards.
 */
#define UNWIND_SAVED_PAIR 0x40u	/* x29 is there, and x30 in the next 8 bytes */
#define UNWIND_SAVED_LR 0x80u	/* x30 is there; x29 is where it was */
#define UNWIND_SAVED_FAR 0xc0u	/* x29 is there, and x30 16 bytes above: another register is between them */
#define UNWIND_SAVED 0xc0u	/* which of these */
#define UNWIND_PLACE_CFA 0x20u	/* at CFA - 8 * (1 + words); without it at register + 8 * words */
#define UNWIND_PLACE_WORDS 0x1fu

/* The registers of a thread that lead to the callers of its function. */
struct user_registers {
	uint64_t ip, sp;
	uint64_t bp;		/* rbp, x29 */
	uint64_t lr;		/* x30 of aarch64 */
};

/* For the code from `pc` to that of the next row. */
struct unwind_row {
	uint32_t pc;		/* bytes from the lowest address of the file's code */
	uint16_t cfa;
	uint8_t rule;		/* enum unwind_rule, UNWIND_BEGINS */
	uint8_t saved;
};

/* Where a file's code is in a process. */
struct unwind_mapping {
	uint64_t start, end;
	uint64_t base;		/* address in the process of pc 0 */
	uint32_t first_row, rows;	/* no rows: the file has no rules, or they are not known yet */
};

/*
 * The mappings of a process are one behind the other, by address.  The kernel can replace an entry, and give its memory
 * to another one, while a program reads it: `table` is one word, and `vm` says whose it is.
 */
struct unwind_process {
	uint64_t table;		/* number of the first mapping | how many << 16 | what was seen << 32 */
	uint32_t vm;
	uint32_t unnoted;	/* what was seen */
};

/*
 * Where a process has mapped code since it is followed: the last changes, number i at [i % UNWIND_CHANGES].  Code that
 * comes to a place where something else was is in here before the system call ends, so before anybody can run it.
 *
 * A walk never takes new code for the code that was there before.  A look at the mappings first reads the number of
 * changes so far, `seen`.  The look then finds everything that was mapped before.  A walk by these mappings distrusts
 * the places of all changes from number `seen` on, and everything if one of these is not here any more.  A change is
 * noted whatever is published then, so it does not matter when that is.
 */
#define UNWIND_CHANGES 32u
struct unwind_changes {
	uint64_t count;
	struct unwind_change {
		uint64_t from, to;	/* addresses of pages; the lowest 12 bits are those of its number + 1 */
	} list[UNWIND_CHANGES];
};
#define UNWIND_CHANGE_NUMBER 0xfffu
/* Counters that are read before a look at the mappings. */
struct unwind_seen {
	uint32_t changes;	/* the lowest bits of unwind_changes::count */
	uint32_t unnoted;	/* changes of any process for which there was no room */
};

/* Steps of a binary search: of so many mappings of one process, and rows of one file. */
#define UNWIND_MAPPINGS_MAX 8192u
#define UNWIND_MAPPING_STEPS 14
#define UNWIND_ROW_STEPS 23

/* Why the stack ends there.  Ids are part of recordings: append only. */
enum unwind_end {
	UNWIND_END_NONE = 0,	/* it was not followed at all */
	UNWIND_END_OUTERMOST = 1,	/* it is whole */
	UNWIND_END_DEPTH = 2,	/* deeper than the reader follows */
	UNWIND_END_NO_FILE = 3,	/* code in no file that is known */
	UNWIND_END_NO_RULES = 4,	/* a file, or a place in it, without rules */
	UNWIND_END_RULE = 5,	/* a rule that is not followed */
	UNWIND_END_FP = 6,	/* the rule needs the frame pointer, and its value is lost */
	UNWIND_END_STACK = 7,	/* the stack could not be read */
	UNWIND_END_ORDER = 8,	/* the caller's frame would be within the function's */
	UNWIND_END_JIT = 9,	/* code of a JIT without a frame pointer */
	UNWIND_END_CHANGED = 10,	/* something was mapped there: it is not known yet what */
	UNWIND_END_FIBER = 11,	/* it is the stack of another fiber than the Ruby frames are */
	UNWIND_ENDS
};

typedef char unwind_assert_mapping[sizeof(struct unwind_mapping) == 32 ? 1 : -1];
typedef char unwind_assert_process[sizeof(struct unwind_process) == 16 ? 1 : -1];
typedef char unwind_assert_mappings[UNWIND_MAPPINGS_MAX < 1u << 16 ? 1 : -1];
typedef char unwind_assert_row[sizeof(struct unwind_row) == 8 ? 1 : -1];

#endif /* EXTPROF_UNWIND_H */
