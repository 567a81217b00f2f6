/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/block.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Before the compressed part: the format; the length before compression, and CRC 32 of what is compressed.  The
 * checksum that zlib has itself misses changes of one bit: it was seen. */
#define OUTER_SIZE 9u

/* The columns, in their order. */
enum column {
	COLUMN_THREADS,		/* each thread, and how many samples it has */
	COLUMN_PERIODS,		/* from the sample before, in whole periods */
	COLUMN_RESIDUES,	/* the rest of that time */
	COLUMN_MODES,
	COLUMN_STATES,
	COLUMN_DICTIONARY,	/* the stacks, those with most samples first */
	COLUMN_STACKS,		/* places in the dictionary */
	COLUMN_LABELS,
	COLUMN_VALUES,
	COLUMN_COUNTS,
	COLUMN_FIBERS,
	COLUMN_CONTEXTS,	/* the traces with their spans, sorted */
	COLUMN_TRACES,		/* places among them, from 1 */
	COLUMN_MARKS,		/* of labels; 0: as the sample of the thread before, else 1 more */
	COLUMNS
};

/* Which columns a block has, as bits, by its format.  They are there in the order of enum column. */
#define OLDEST_COLUMNS ((1u << COLUMN_FIBERS) - 1)
#define USUAL_COLUMNS (OLDEST_COLUMNS | 1u << COLUMN_FIBERS)
#define TRACE_COLUMNS (1u << COLUMN_CONTEXTS | 1u << COLUMN_TRACES)
#define MARK_COLUMNS (1u << COLUMN_MARKS)

static bool has(uint32_t columns, enum column column)
{
	return columns >> column & 1;
}

static unsigned int count_of(uint32_t columns)
{
	return (unsigned int)__builtin_popcount(columns);
}

/* 0: there is no such format. */
static uint32_t columns_of(uint8_t format)
{
	switch (format) {
	case BLOCK_FORMAT_WITHOUT_FIBERS: return OLDEST_COLUMNS;
	case BLOCK_FORMAT: return USUAL_COLUMNS;
	case BLOCK_FORMAT_WITH_TRACES: return USUAL_COLUMNS | TRACE_COLUMNS;
	case BLOCK_FORMAT_WITH_MARKS: return USUAL_COLUMNS | MARK_COLUMNS;
	case BLOCK_FORMAT_WITH_BOTH: return USUAL_COLUMNS | TRACE_COLUMNS | MARK_COLUMNS;
	default: return 0;
	}
}

static uint8_t format_of(bool traces, bool marks)
{
	if (marks)
		return traces ? BLOCK_FORMAT_WITH_BOTH : BLOCK_FORMAT_WITH_MARKS;
	return traces ? BLOCK_FORMAT_WITH_TRACES : BLOCK_FORMAT;
}

/* Before the columns: number of samples, period, first time, length of each column. */
#define HEADER_SIZE_OF(columns) (4u + 8u + 8u + 4u * (columns))
#define CONTEXT_SIZE sizeof(struct trace_context)
_Static_assert(CONTEXT_SIZE == 24, "it is bytes only");
/* Bytes that one sample can take in these columns. */
#define SAMPLE_BYTES_MAX (8u + 10u + 10u + 1u + 1u + 5u + 3u + 5u + 10u + 10u + 5u + CONTEXT_SIZE + 3u + 7u)
_Static_assert(BLOCK_SAMPLES_MAX * SAMPLE_BYTES_MAX + HEADER_SIZE_OF(COLUMNS) <= BLOCK_RAW_MAX, "all samples find room");

int block_codec__init(struct block_codec *c)
{
	c->raw = malloc(BLOCK_RAW_MAX);
	c->data = malloc(BLOCK_SIZE_MAX);
	c->stacks = malloc(BLOCK_SAMPLES_MAX * sizeof(*c->stacks));
	c->contexts = malloc(BLOCK_SAMPLES_MAX * sizeof(*c->contexts));
	c->last = malloc(BLOCK_MODES * BLOCK_STATES * sizeof(*c->last));
	c->samples = malloc(BLOCK_SAMPLES_MAX * sizeof(*c->samples));
	return c->raw && c->data && c->stacks && c->contexts && c->last && c->samples ? 0 : -ENOMEM;
}

void block_codec__free(struct block_codec *c)
{
	free(c->raw);
	free(c->data);
	free(c->stacks);
	free(c->contexts);
	free(c->last);
	free(c->samples);
	memset(c, 0, sizeof(*c));
}

/* -- encoding -------------------------------------------------------------------------------- */

static uint8_t *put_fixed(uint8_t *to, uint64_t number, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		*to++ = (uint8_t)(number >> 8 * i);
	return to;
}

/* Seven bits a byte, the lowest first; the highest bit says that more follow. */
static uint8_t *put(uint8_t *to, uint64_t number)
{
	while (number >= 128) {
		*to++ = (uint8_t)(number | 128);
		number >>= 7;
	}
	*to++ = (uint8_t)number;
	return to;
}

/* Small numbers of both signs are small. */
static uint64_t zigzag(int64_t number)
{
	return (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_context(const void *a, const void *b)
{
	return memcmp(a, b, CONTEXT_SIZE);
}

static const struct trace_context no_context;

static bool has_context(const struct recording_sample *s)
{
	return by_context(&s->context, &no_context);
}

/* The order of all fields, so that it does not depend on the sort. */
static int by_thread_and_time(const void *a, const void *b)
{
	const struct recording_sample *x = a, *y = b;
	int c = compare(x->thread, y->thread);

	if (!c && !(c = compare(x->time, y->time)) && !(c = compare(x->mode, y->mode)) &&
	    !(c = compare(x->stack, y->stack)) && !(c = compare(x->state, y->state)) &&
	    !(c = compare(x->labels, y->labels)) && !(c = compare(x->fiber, y->fiber)) &&
	    !(c = by_context(&x->context, &y->context)) && !(c = compare(x->marks, y->marks)) &&
	    !(c = compare(x->value, y->value)))
		c = compare(x->count, y->count);
	return c;
}

static int by_stack(const void *a, const void *b)
{
	return compare(((const struct block_stack *)a)->stack, ((const struct block_stack *)b)->stack);
}

static int by_samples(const void *a, const void *b)
{
	const struct block_stack *x = a, *y = b;
	int c = compare(y->samples, x->samples);

	return c ? c : compare(x->stack, y->stack);
}

/* The stacks of the samples, sorted by stack, each with its rank.  The dictionary is put at *to. */
static uint32_t rank_stacks(struct block_codec *c, const struct recording_sample *samples, uint32_t count,
			    uint8_t **to)
{
	struct block_stack *list = c->stacks;
	uint32_t n = 0;
	uint32_t before = 0;

	for (uint32_t i = 0; i < count; i++)
		list[i] = (struct block_stack){ .stack = samples[i].stack };
	qsort(list, count, sizeof(*list), by_stack);
	for (uint32_t i = 0; i < count; i++) {
		if (!n || list[n - 1].stack != list[i].stack)
			list[n++] = (struct block_stack){ .stack = list[i].stack };
		list[n - 1].samples++;
	}
	qsort(list, n, sizeof(*list), by_samples);
	for (uint32_t i = 0; i < n; i++) {
		list[i].rank = i;
		*to = put(*to, zigzag((int64_t)list[i].stack - before));
		before = list[i].stack;
	}
	qsort(list, n, sizeof(*list), by_stack);
	return n;
}

/* The traces with their spans of the samples, sorted and each once.  They are put at *to.  Returns how many. */
static uint32_t sort_contexts(struct block_codec *c, const struct recording_sample *samples, uint32_t count, uint8_t **to)
{
	uint32_t n = 0, once = 0;

	for (uint32_t i = 0; i < count; i++)
		if (has_context(&samples[i]))
			c->contexts[n++] = samples[i].context;
	qsort(c->contexts, n, CONTEXT_SIZE, by_context);
	for (uint32_t i = 0; i < n; i++)
		if (!once || by_context(&c->contexts[once - 1], &c->contexts[i]))
			c->contexts[once++] = c->contexts[i];
	memcpy(*to, c->contexts, once * CONTEXT_SIZE);
	*to += once * CONTEXT_SIZE;
	return once;
}

/* Its place among them, from 1; 0: it has none. */
static uint64_t place_of_context(const struct block_codec *c, uint32_t contexts, const struct recording_sample *s)
{
	const struct trace_context *found = has_context(s) ?
		bsearch(&s->context, c->contexts, contexts, CONTEXT_SIZE, by_context) : NULL;

	return found ? (uint64_t)(found - c->contexts) + 1 : 0;
}

/* 0 says: as the last sample of that mode and state.  `which`: 0 value, 1 count. */
static uint8_t *put_amount(struct block_codec *c, uint8_t *to, const struct recording_sample *s, int which)
{
	uint64_t *last = &c->last[s->mode * BLOCK_STATES + s->state][which];
	uint64_t amount = which ? s->count : s->value;

	to = put(to, amount == *last ? 0 : amount + 1);
	*last = amount;
	return to;
}

static uint8_t *put_column(struct block_codec *c, uint8_t *to, enum column column, uint32_t stacks,
			   uint32_t contexts, const struct recording_sample *samples, uint32_t count, uint64_t base, uint64_t period)
{
	uint32_t run = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct recording_sample *s = &samples[i], *before = i ? s - 1 : NULL;
		bool first = !before || before->thread != s->thread;
		uint64_t distance, periods;

		run = first ? 1 : run + 1;
		switch (column) {
		case COLUMN_THREADS:
			if (i + 1 < count && s[1].thread == s->thread)
				break;
			to = put(to, s->thread - (i >= run ? samples[i - run].thread : 0));
			to = put(to, run);
			break;
		case COLUMN_PERIODS:
		case COLUMN_RESIDUES:
			distance = s->time - (first ? base : before->time);
			periods = (distance + period / 2) / period;
			to = put(to, column == COLUMN_PERIODS ? periods :
				 zigzag((int64_t)(distance - periods * period)));
			break;
		case COLUMN_MODES:
			*to++ = s->mode;
			break;
		case COLUMN_STATES:
			*to++ = s->state;
			break;
		case COLUMN_STACKS:
			to = put(to, ((struct block_stack *)bsearch(&(struct block_stack){ .stack = s->stack },
				      c->stacks, stacks, sizeof(*c->stacks), by_stack))->rank);
			break;
		case COLUMN_LABELS:
			to = put(to, zigzag((int64_t)s->labels - (first ? 0 : before->labels)));
			break;
		case COLUMN_FIBERS:
			to = put(to, zigzag((int64_t)s->fiber - (first ? 0 : before->fiber)));
			break;
		case COLUMN_TRACES:
			to = put(to, place_of_context(c, contexts, s));
			break;
		case COLUMN_MARKS:
			to = put(to, s->marks == (first ? 0 : before->marks) ? 0 : s->marks + 1);
			break;
		case COLUMN_VALUES:
			to = put_amount(c, to, s, 0);
			break;
		case COLUMN_COUNTS:
			to = put_amount(c, to, s, 1);
			break;
		default:
			break;
		}
	}
	return to;
}

long block__encode(struct block_codec *c, struct recording_sample *samples, uint32_t count, uint64_t period)
{
	uint64_t base = UINT64_MAX;
	uLongf size = BLOCK_SIZE_MAX - OUTER_SIZE;
	uint32_t stacks = 0, contexts = 0;
	bool traces = false, marks = false;
	uint8_t *header = c->raw, *to;
	uint32_t columns;

	if (!count || count > BLOCK_SAMPLES_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++) {
		const struct recording_sample *s = &samples[i];

		if (s->time > BLOCK_NUMBER_MAX || s->value > BLOCK_NUMBER_MAX || s->count > BLOCK_NUMBER_MAX ||
		    s->marks > BLOCK_MARKS_MAX)
			return -EINVAL;
		if (s->time < base)
			base = s->time;
		traces |= has_context(s);
		marks |= s->marks != 0;
	}
	c->data[0] = format_of(traces, marks);
	columns = columns_of(c->data[0]);
	to = c->raw + HEADER_SIZE_OF(count_of(columns));
	if (!period || period > BLOCK_NUMBER_MAX)
		period = 1;
	qsort(samples, count, sizeof(*samples), by_thread_and_time);
	memset(c->last, 0, BLOCK_MODES * BLOCK_STATES * sizeof(*c->last));
	header = put_fixed(header, count, 4);
	header = put_fixed(header, period, 8);
	header = put_fixed(header, base, 8);
	for (int i = 0; i < COLUMNS; i++) {
		uint8_t *begin = to;

		if (!has(columns, (enum column)i))
			continue;
		if (i == COLUMN_DICTIONARY)
			stacks = rank_stacks(c, samples, count, &to);
		else if (i == COLUMN_CONTEXTS)
			contexts = sort_contexts(c, samples, count, &to);
		else
			to = put_column(c, to, (enum column)i, stacks, contexts, samples, count, base, period);
		header = put_fixed(header, (uint64_t)(to - begin), 4);
	}
	put_fixed(c->data + 1, (uint64_t)(to - c->raw), 4);
	put_fixed(c->data + 5, crc32(0, c->raw, (uInt)(to - c->raw)), 4);
	if (compress2(c->data + OUTER_SIZE, &size, c->raw, (uLong)(to - c->raw), 1) != Z_OK)
		return -EINVAL;
	return (long)(OUTER_SIZE + size);
}

/* -- decoding -------------------------------------------------------------------------------- */

struct cursor {
	const uint8_t *at, *end;
};

static uint64_t get_fixed(const uint8_t *from, unsigned int bytes)
{
	uint64_t number = 0;

	for (unsigned int i = 0; i < bytes; i++)
		number |= (uint64_t)from[i] << 8 * i;
	return number;
}

static bool get(struct cursor *c, uint64_t *number)
{
	*number = 0;
	for (unsigned int shift = 0; shift < 64 && c->at < c->end; shift += 7) {
		uint8_t byte = *c->at++;

		if (shift == 63 && byte > 1)
			return false;
		*number |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return true;
	}
	return false;
}

static bool get_signed(struct cursor *c, int64_t *number)
{
	uint64_t raw;

	if (!get(c, &raw))
		return false;
	*number = (int64_t)(raw >> 1 ^ -(raw & 1));
	return true;
}

/* A number of 32 bits that is told as its difference. */
static bool get_number(struct cursor *c, uint32_t *number)
{
	int64_t difference, sum;

	if (!get_signed(c, &difference) || __builtin_add_overflow((int64_t)*number, difference, &sum) ||
	    sum < 0 || sum > UINT32_MAX)
		return false;
	*number = (uint32_t)sum;
	return true;
}

static bool get_dictionary(struct block_codec *c, struct cursor *from, uint32_t count, uint32_t *stacks)
{
	uint32_t stack = 0;

	for (*stacks = 0; from->at < from->end; ++*stacks) {
		if (*stacks == count || !get_number(from, &stack))
			return false;
		c->stacks[*stacks].stack = stack;
	}
	return true;
}

/* Bytes of some length, as they are. */
static bool get_contexts(struct block_codec *c, struct cursor *from, uint32_t count, uint32_t *contexts)
{
	size_t bytes = (size_t)(from->end - from->at);

	*contexts = (uint32_t)(bytes / CONTEXT_SIZE);
	if (bytes % CONTEXT_SIZE || *contexts > count)
		return false;
	memcpy(c->contexts, from->at, bytes);
	from->at = from->end;
	return true;
}

/* None, if the block has no such column. */
static bool get_context(const struct block_codec *c, struct cursor *cursors, uint32_t columns, uint32_t contexts,
			struct trace_context *to)
{
	uint64_t place = 0;

	if (has(columns, COLUMN_TRACES) && (!get(&cursors[COLUMN_TRACES], &place) || place > contexts))
		return false;
	*to = place ? c->contexts[place - 1] : no_context;
	return true;
}

/* The same. */
static bool get_marks(struct cursor *cursors, uint32_t columns, uint64_t *marks)
{
	uint64_t raw = 0;

	if (!has(columns, COLUMN_MARKS))
		return true;
	if (!get(&cursors[COLUMN_MARKS], &raw) || raw > BLOCK_MARKS_MAX + 1)
		return false;
	if (raw)
		*marks = raw - 1;
	return true;
}

static bool get_time(struct cursor *columns, uint64_t period, uint64_t *time)
{
	uint64_t periods, whole;
	int64_t residue, distance, sum;

	if (!get(&columns[COLUMN_PERIODS], &periods) || !get_signed(&columns[COLUMN_RESIDUES], &residue) ||
	    __builtin_mul_overflow(periods, period, &whole) || whole > BLOCK_NUMBER_MAX ||
	    __builtin_add_overflow((int64_t)whole, residue, &distance) || distance < 0 ||
	    __builtin_add_overflow((int64_t)*time, distance, &sum))
		return false;
	*time = (uint64_t)sum;
	return true;
}

static bool get_amount(struct cursor *from, uint64_t *last, uint64_t *amount)
{
	uint64_t raw;

	if (!get(from, &raw) || raw > BLOCK_NUMBER_MAX + 1ull)
		return false;
	if (raw)
		*last = raw - 1;
	*amount = *last;
	return true;
}

/* The samples of one thread, which begin at c->samples[i]. */
static bool get_run(struct block_codec *c, struct cursor *cursors, uint32_t columns, uint32_t i, uint32_t end,
		    uint32_t thread, uint32_t stacks, uint32_t contexts, uint64_t base, uint64_t period)
{
	uint64_t time = base, marks = 0, place;
	uint32_t labels = 0, fiber = 0;

	for (; i < end; i++) {
		struct recording_sample *s = &c->samples[i];
		uint64_t *last;

		if (!get_time(cursors, period, &time) || !get(&cursors[COLUMN_STACKS], &place) ||
		    place >= stacks || !get_number(&cursors[COLUMN_LABELS], &labels) ||
		    (has(columns, COLUMN_FIBERS) && !get_number(&cursors[COLUMN_FIBERS], &fiber)) ||
		    !get_context(c, cursors, columns, contexts, &s->context) || !get_marks(cursors, columns, &marks))
			return false;
		s->time = time;
		s->marks = marks;
		s->thread = thread;
		s->stack = c->stacks[place].stack;
		s->labels = labels;
		s->fiber = fiber;
		s->mode = *cursors[COLUMN_MODES].at++;
		s->state = *cursors[COLUMN_STATES].at++;
		last = c->last[s->mode * BLOCK_STATES + s->state];
		if (!get_amount(&cursors[COLUMN_VALUES], &last[0], &s->value) ||
		    !get_amount(&cursors[COLUMN_COUNTS], &last[1], &s->count))
			return false;
	}
	return true;
}

static bool get_samples(struct block_codec *c, struct cursor *cursors, uint32_t columns, uint32_t count, uint64_t base,
			uint64_t period)
{
	uint32_t stacks, contexts = 0, i = 0;
	uint64_t thread = 0;

	if (cursors[COLUMN_MODES].end - cursors[COLUMN_MODES].at != count ||
	    cursors[COLUMN_STATES].end - cursors[COLUMN_STATES].at != count ||
	    !get_dictionary(c, &cursors[COLUMN_DICTIONARY], count, &stacks) ||
	    (has(columns, COLUMN_CONTEXTS) && !get_contexts(c, &cursors[COLUMN_CONTEXTS], count, &contexts)))
		return false;
	memset(c->last, 0, BLOCK_MODES * BLOCK_STATES * sizeof(*c->last));
	while (i < count) {
		uint64_t more, run;

		if (!get(&cursors[COLUMN_THREADS], &more) || !get(&cursors[COLUMN_THREADS], &run) ||
		    (i && !more) || more > UINT32_MAX - thread || !run || run > count - i)
			return false;
		thread += more;
		if (!get_run(c, cursors, columns, i, i + (uint32_t)run, (uint32_t)thread, stacks, contexts, base, period))
			return false;
		i += (uint32_t)run;
	}
	for (int column = 0; column < COLUMNS; column++)
		if (has(columns, (enum column)column) && cursors[column].at != cursors[column].end)
			return false;
	return true;
}

long block__decode(struct block_codec *c, const void *data, size_t size)
{
	const uint8_t *outer = data, *at;
	struct cursor cursors[COLUMNS] = { 0 };
	uint64_t count, period, base;
	uLongf length, got;
	uLong used;
	uint32_t columns;
	int number = 0;

	if (size <= OUTER_SIZE || size > BLOCK_SIZE_MAX)
		return -EBADMSG;
	columns = columns_of(outer[0]);
	if (!columns)
		return -EBADMSG;
	length = (uLongf)get_fixed(outer + 1, 4);
	got = length;
	used = size - OUTER_SIZE;
	/* Data that is longer than its length says cannot be written beyond c->raw + length. */
	if (length < HEADER_SIZE_OF(count_of(columns)) || length > BLOCK_RAW_MAX ||
	    uncompress2(c->raw, &got, outer + OUTER_SIZE, &used) != Z_OK || got != length ||
	    used != size - OUTER_SIZE || crc32(0, c->raw, (uInt)length) != get_fixed(outer + 5, 4))
		return -EBADMSG;
	count = get_fixed(c->raw, 4);
	period = get_fixed(c->raw + 4, 8);
	base = get_fixed(c->raw + 12, 8);
	if (!count || count > BLOCK_SAMPLES_MAX || !period || base > BLOCK_NUMBER_MAX)
		return -EBADMSG;
	at = c->raw + HEADER_SIZE_OF(count_of(columns));
	length -= HEADER_SIZE_OF(count_of(columns));
	for (int i = 0; i < COLUMNS; i++) {
		uint64_t bytes;

		if (!has(columns, (enum column)i))
			continue;
		bytes = get_fixed(c->raw + 20 + 4 * number++, 4);
		if (bytes > length)
			return -EBADMSG;
		cursors[i] = (struct cursor){ at, at + bytes };
		at += bytes;
		length -= bytes;
	}
	if (length || !get_samples(c, cursors, columns, (uint32_t)count, base, period))
		return -EBADMSG;
	c->period = period;
	return (long)count;
}
