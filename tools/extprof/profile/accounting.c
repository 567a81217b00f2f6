/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/accounting.h"

#include <inttypes.h>

uint64_t received__sum(const struct received *got)
{
	uint64_t n = got->whole;

	for (int i = 0; i < TRUNC_MAX; i++)
		n += got->truncated[i];
	for (int i = 0; i < LOSS_MAX; i++)
		n += got->lost[i];
	return n;
}

void received__add(struct received *sum, const struct received *r)
{
	sum->whole += r->whole;
	for (int i = 0; i < TRUNC_MAX; i++)
		sum->truncated[i] += r->truncated[i];
	for (int i = 0; i < LOSS_MAX; i++)
		sum->lost[i] += r->lost[i];
}

void accounting__settle(struct accounting *a, const struct source_counters *kernel,
			const struct received *got)
{
	uint64_t sent = kernel->whole;

	a->taken = kernel->taken;
	a->whole = got->whole;
	for (int i = 0; i < TRUNC_MAX; i++) {
		a->truncated[i] = got->truncated[i];
		sent += kernel->truncated[i];
	}
	for (int i = 0; i < LOSS_MAX; i++)
		a->lost[i] = kernel->lost[i] + got->lost[i];
	if (sent > received__sum(got))
		a->lost[LOSS_UNACCOUNTED] += sent - received__sum(got);
}

void accounting__add(struct accounting *a, const struct accounting *other)
{
	a->taken += other->taken;
	a->cpu_taken += other->cpu_taken;
	a->whole += other->whole;
	for (int i = 0; i < TRUNC_MAX; i++)
		a->truncated[i] += other->truncated[i];
	for (int i = 0; i < LOSS_MAX; i++)
		a->lost[i] += other->lost[i];
}

uint64_t accounting__truncated(const struct accounting *a)
{
	uint64_t n = 0;

	for (int i = 0; i < TRUNC_MAX; i++)
		n += a->truncated[i];
	return n;
}

uint64_t accounting__lost(const struct accounting *a)
{
	uint64_t n = 0;

	for (int i = 0; i < LOSS_MAX; i++)
		n += a->lost[i];
	return n;
}

uint64_t accounting__known_losses(const struct source_counters *kernel, const struct received *got)
{
	uint64_t n = 0;

	for (int i = 0; i < LOSS_MAX; i++)
		n += kernel->lost[i] + got->lost[i];
	return n;
}

bool accounting__balanced(const struct accounting *a)
{
	return a->taken == a->whole + accounting__truncated(a) + accounting__lost(a);
}

static void add_reasons(struct text *out, const uint64_t *counts, unsigned int max,
			const char *(*key)(unsigned int))
{
	const char *separator = " (";

	for (unsigned int i = 0; i < max; i++) {
		if (!counts[i])
			continue;
		text__addf(out, "%s%s: %" PRIu64, separator, key(i), counts[i]);
		separator = ", ";
	}
	if (*separator == ',')
		text__adds(out, ")");
}

void accounting__add_line(const struct accounting *a, struct text *out)
{
	text__addf(out, "samples taken %" PRIu64 " = whole %" PRIu64 " + truncated %" PRIu64,
		   a->taken, a->whole, accounting__truncated(a));
	add_reasons(out, a->truncated, TRUNC_MAX, trunc__key);
	text__addf(out, " + lost %" PRIu64, accounting__lost(a));
	add_reasons(out, a->lost, LOSS_MAX, loss__key);
	if (!accounting__balanced(a))
		text__adds(out, " [the sums do not agree: this is a bug in extprof]");
}
