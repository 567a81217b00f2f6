/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that nobody vouches for are parsed in a helper without rights (helper.h, sandbox.h).  If a file makes it crash,
 * loop or grow, that costs the answer about this file.
 */
#ifndef EXTPROF_PARSER_H
#define EXTPROF_PARSER_H

#include "base/deadline.h"
#include "parser/elf_context.h"
#include "parser/elf_places.h"
#include "parser/elf_section.h"
#include "parser/elf_symbols.h"
#include "parser/elf_unwind.h"
#include "parser/perf_map.h"

/* A file that is open for reading. */
struct parser_file {
	int fd;
	uint64_t size;
	uint64_t owner;		/* see helper_request */
	struct deadline *deadline;	/* NULL none */
};

/*
 * So long may one answer take, of time and of CPU time: 2 s.  For programs that are built with sanitizers, before the first
 * answer: those parse many times more slowly.
 */
void parser__allow(unsigned int seconds);

/*
 * Same contract as elf__search_file() and elf_places__find().  They also have the errors of helper__ask(): -ETIMEDOUT
 * it took too long, -EINTR the deadline is over, -EIO the helper has crashed, -EBUSY too many helpers hang.  Any thread
 * may call them.
 */
int parser__search(const struct parser_file *file, uint64_t offset, struct elf_budget *budget, struct elf_finding *f);
int parser__find(const struct parser_file *file, uint64_t offset, const struct elf_wish *wishes, uint32_t count,
		 struct usdt *found, int32_t *results, uint64_t *section);

/* Same contract as elf_unwind__rows() and elf_symbols__read(), with the errors of helper__ask().  The results are
 * within bounds, but not trusted. */
int parser__rows(const struct parser_file *file, const struct unwind_place *from, struct unwind_rows *rows);
/* The same of elf_context__find(). */
int parser__context(const struct parser_file *file, struct elf_context *c);
/* The same of perf_map__read(). */
int parser__map(const struct parser_file *file, const struct symbols_place *from, struct symbols_piece *piece);
int parser__symbols(const struct parser_file *file, const struct symbols_place *from, struct symbols_piece *piece);

#endif /* EXTPROF_PARSER_H */
