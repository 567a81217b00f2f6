/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How to come from the registers of a function to those of its caller, for each range of machine code of x86-64: what
 * the compiler says in .eh_frame, made smaller.  Only the instruction pointer, the stack pointer and rbp are followed.
 * The return address is in the 8 bytes below the CFA, the stack pointer's value in the caller.
 */
#ifndef EXTPROF_UNWIND_H
#define EXTPROF_UNWIND_H

#include "wire/sample.h"

/* unwind_row::rule.  It tells what the CFA is: */
enum unwind_rule {
	UNWIND_NONE = 0,	/* no function is here that has a rule */
	UNWIND_RSP = 1,		/* rsp + 8 * cfa */
	UNWIND_RBP = 2,		/* rbp + 8 * cfa */
	UNWIND_RBP_DEREF = 3,	/* what is at rbp - 8 * cfa: the function has aligned its stack */
	UNWIND_PLT = 4,		/* rsp + 8, and in each 16 bytes from number `cfa` on rsp + 16 */
	UNWIND_SIGNAL = 5,	/* the kernel has called a signal handler: the registers are in its frame */
	UNWIND_OUTERMOST = 6,	/* the first function of a thread or of a fiber: there is no caller */
	UNWIND_OTHER = 7,	/* something else, which is not followed */
	UNWIND_RULES
};
#define UNWIND_BEGINS 0x80u	/* beside the rule: a function begins with this row */

/* unwind_row::rbp.  Where that of the caller is: */
#define UNWIND_RBP_SAME 0u	/* where it was; 1 to 0xfd: at CFA - 8 * that */
#define UNWIND_RBP_AT_RBP 0xfeu	/* at rbp */
#define UNWIND_RBP_LOST 0xffu

/* For the code from `pc` to that of the next row. */
struct unwind_row {
	uint32_t pc;		/* bytes from the lowest address of the file's code */
	uint16_t cfa;
	uint8_t rule;		/* enum unwind_rule, UNWIND_BEGINS */
	uint8_t rbp;
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
	UNWIND_END_RBP = 6,	/* the rule needs rbp, and its value is lost */
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
