/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/histogram.h"

#include <math.h>

uint64_t histogram__count(const struct histogram *h)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < HISTOGRAM_CLASSES; i++)
		sum += h->counts[i];
	return sum;
}

uint64_t histogram__percentile(const struct histogram *h, double percent, uint64_t longest)
{
	uint64_t wanted = (uint64_t)ceil(percent / 100 * (double)histogram__count(h)), sum = 0;

	for (uint32_t i = 0; i < HISTOGRAM_CLASSES; i++) {
		sum += h->counts[i];
		if (sum && sum >= wanted)
			return histogram__end(i) < longest ? histogram__end(i) : longest;
	}
	return 0;
}

void histogram__add(struct histogram *to, const struct histogram *h)
{
	for (uint32_t i = 0; i < HISTOGRAM_CLASSES; i++)
		to->counts[i] += h->counts[i];
}

void histogram__difference(struct histogram *to, const struct histogram *h, const struct histogram *before)
{
	for (uint32_t i = 0; i < HISTOGRAM_CLASSES; i++)
		to->counts[i] = h->counts[i] - (before ? before->counts[i] : 0);
}
