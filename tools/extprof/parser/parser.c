/* SPDX-License-Identifier: BSD-2-Clause */
#include "parser/parser.h"

#include <errno.h>
#include <string.h>

#include "base/elf_machine.h"
#include "parser/helper.h"
#include "parser/mini_debug.h"
#include "parser/sandbox.h"

#define SECOND 1000000000ull

/* An honest file takes some milliseconds. */
static unsigned int answer_seconds = 2;

enum parser_work { SEARCH, FIND, ROWS, SYMBOLS, MAP, CONTEXT };

struct request {
	uint64_t size, offset;
	struct elf_budget budget;	/* of SEARCH */
	uint32_t work, count;
	uint32_t seconds;		/* of CPU time */
	struct unwind_place rows_from;
	struct symbols_place symbols_from;
	struct elf_wish wishes[ELF_WISHES_MAX];
};

struct answer {
	struct elf_budget budget;
	union {
		struct elf_finding finding;
		struct unwind_rows rows;
		struct symbols_piece symbols;
		struct elf_context context;
		struct {
			uint64_t section;
			int32_t results[ELF_WISHES_MAX];
			struct usdt found[ELF_WISHES_MAX];
		};
	};
};

_Static_assert(sizeof(struct request) <= HELPER_REQUEST_MAX && sizeof(struct answer) <= HELPER_ANSWER_MAX, "messages");

static int work(const void *data, size_t size, int *fd, void *to)
{
	const struct request *r = data;
	struct answer *answer = to;
	int err;

	if (size != sizeof(*r) || *fd < 0 || r->count > ELF_WISHES_MAX)
		return -EINVAL;
	err = sandbox__limit_cpu(r->seconds);
	if (err)
		return err;
	answer->budget = r->budget;
	if (r->work == SEARCH)
		return elf__search_file(*fd, r->size, r->offset, &answer->budget, &answer->finding);
	elf_budget__init(&answer->budget);
	if (r->work == ROWS)
		return elf_unwind__rows(*fd, r->size, ELF_MACHINE, &answer->budget, &r->rows_from, &answer->rows);
	if (r->work == SYMBOLS)
		return elf_symbols__read(*fd, r->size, &answer->budget, &r->symbols_from, &answer->symbols);
	if (r->work == CONTEXT)
		return elf_context__find(*fd, r->size, &answer->budget, &answer->context);
	if (r->work == MAP)
		return perf_map__read(*fd, r->size, &r->symbols_from, &answer->symbols);
	return elf_places__find(*fd, r->size, r->offset, &answer->budget, r->wishes, r->count, answer->found,
				answer->results, &answer->section);
}

static int begin(void)
{
	/* Without room for it some names are missing. */
	mini_debug__prepare();
	return sandbox__enter();
}

static const struct helper_role role = {
	.name = "extprof-parser",
	.answer_size = sizeof(struct answer),
	.begin = begin,
	.work = work,
};

static int ask(const struct parser_file *file, struct request *r, struct answer *answer)
{
	const struct helper_request request = {
		.data = r, .size = sizeof(*r), .fd = file->fd, .owner = file->owner, .timeout = answer_seconds * SECOND,
		.deadline = file->deadline,
	};
	int err = sandbox__prepare();

	r->seconds = answer_seconds;
	return err ? err : helper__ask(&role, &request, answer, NULL);
}

void parser__allow(unsigned int seconds)
{
	answer_seconds = seconds;
}

int parser__search(const struct parser_file *file, uint64_t offset, struct elf_budget *budget, struct elf_finding *f)
{
	struct request r = { .work = SEARCH, .size = file->size, .offset = offset, .budget = *budget };
	struct answer answer = { 0 };
	int err = ask(file, &r, &answer);

	*f = answer.finding;
	/* The answer is not trusted.  Without one, the file has cost all that it may. */
	budget->exceeded |= answer.budget.exceeded;
	if (answer.budget.bytes < budget->bytes)
		budget->bytes = answer.budget.bytes;
	if (answer.budget.reads < budget->reads)
		budget->reads = answer.budget.reads;
	if (f->build_id.size > sizeof(f->build_id.bytes) || (uint32_t)f->how > ELF_BY_NOTE)
		return -EIO;
	return err;
}

int parser__find(const struct parser_file *file, uint64_t offset, const struct elf_wish *wishes, uint32_t count,
		 struct usdt *found, int32_t *results, uint64_t *section)
{
	struct request r = { .work = FIND, .size = file->size, .offset = offset, .count = count };
	struct answer answer;
	int err;

	memcpy(r.wishes, wishes, count * sizeof(*wishes));
	err = ask(file, &r, &answer);
	if (err && err != -E2BIG)
		return err;
	for (uint32_t i = 0; i < count; i++)
		if (answer.found[i].count > USDT_PLACES_MAX || answer.results[i] > 0)
			return -EIO;
	memcpy(found, answer.found, count * sizeof(*found));
	memcpy(results, answer.results, count * sizeof(*results));
	*section = answer.section;
	return err;
}

int parser__rows(const struct parser_file *file, const struct unwind_place *from, struct unwind_rows *rows)
{
	struct request r = { .work = ROWS, .size = file->size, .rows_from = *from };
	struct answer answer = { 0 };
	int err = ask(file, &r, &answer);

	*rows = answer.rows;
	return rows->count > UNWIND_ROWS_AT_ONCE || rows->part_count > UNWIND_PARTS_MAX ||
	       rows->build_id.size > sizeof(rows->build_id.bytes) ? -EIO : err;
}

static int read_symbols(enum parser_work of, const struct parser_file *file, const struct symbols_place *from, struct symbols_piece *piece)
{
	struct request r = { .work = of, .size = file->size, .symbols_from = *from };
	struct answer answer = { 0 };
	int err = ask(file, &r, &answer);

	*piece = answer.symbols;
	return !err && piece->size > sizeof(piece->data) ? -EIO : err;
}

int parser__symbols(const struct parser_file *file, const struct symbols_place *from, struct symbols_piece *piece)
{
	return read_symbols(SYMBOLS, file, from, piece);
}

int parser__map(const struct parser_file *file, const struct symbols_place *from, struct symbols_piece *piece)
{
	return read_symbols(MAP, file, from, piece);
}

int parser__context(const struct parser_file *file, struct elf_context *c)
{
	struct request r = { .work = CONTEXT, .size = file->size };
	struct answer answer = { 0 };
	int err = ask(file, &r, &answer);

	*c = answer.context;
	return !err && c->count > ELF_CONTEXT_WORDS_MAX ? -EIO : err;
}
