/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/requests_by.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static const double percents[BY_PERCENTILES] = { 50, 95, 99, 100 };

/* -- values ---------------------------------------------------------------------------------------- */

/* The frame of the label in a set; NULL: it is not set. */
static const struct frame *frame_of(const struct requests *r, uint32_t labels, const char *key)
{
	const struct recording_tables *t = r->tables;
	const struct frame *unknown = NULL;

	for (uint32_t s = labels; s; s = t->stacks[s].parent) {
		const struct frame *f = &t->frames[t->stacks[s].frame];

		if (!strcmp(f->key, key))
			return f;
		if (!*f->key && f->known > KNOWN_NOT_SET)
			unknown = f;
	}
	return unknown;
}

static uint32_t add_value(struct requests_by *b, uint64_t hash, const char *name, bool missing)
{
	struct requests_by_value *v;

	if (array__reserve(&b->values, b->value_count, 1, &b->value_room, REQUESTS_BY_VALUES_MAX + 8, sizeof(*b->values)))
		return MAP64_NONE;
	v = &b->values[b->value_count];
	*v = (struct requests_by_value){ .name = strdup(name), .missing = missing };
	if (!v->name)
		return MAP64_NONE;
	b->value_count++;
	return map64__add(&b->map, hash, b->value_count - 1) ? MAP64_NONE : b->value_count - 1;
}

static uint32_t value_by_name(struct requests_by *b, const char *name, bool missing)
{
	uint64_t hash = hash__bytes(name, strlen(name), missing);
	uint32_t number;

	while ((number = map64__get(&b->map, hash)) != MAP64_NONE) {
		const struct requests_by_value *v = &b->values[number];

		if (v->missing == missing && !strcmp(v->name, name))
			return number;
		hash++;
	}
	/* A few have no value, by the reason. */
	if (!missing && b->value_count >= (b->values_max ? b->values_max : REQUESTS_BY_VALUES_MAX))
		return value_by_name(b, "[one of too many values]", true);
	return add_value(b, hash, name, missing);
}

/* The number of the value that a request has; MAP64_NONE: out of memory. */
static uint32_t value_of(struct requests_by *b, const struct requests *r, uint32_t labels)
{
	const struct frame *f = frame_of(r, labels, b->key);
	struct text name = { 0 };
	uint32_t number;

	if (f && f->known == KNOWN)
		return value_by_name(b, f->name, false);
	if (f && f->known != KNOWN_NOT_SET && *f->key)
		frame__add_text(f, &name);
	else
		text__addf(&name, f && f->known != KNOWN_NOT_SET ? "[%s: not read]" : "[no %s]", b->key);
	number = name.failed ? MAP64_NONE : value_by_name(b, text__string(&name), true);
	text__free(&name);
	return number;
}

/* -- requests -------------------------------------------------------------------------------------- */

static void add_mean(struct requests_by_mean *m, const struct request_of_value *q)
{
	m->count++;
	m->length += (double)q->length;
	for (int i = 0; i < REQUEST_PARTS; i++)
		m->parts[i] += (double)q->parts[i];
}

static void divide(struct requests_by_mean *m)
{
	if (!m->count)
		return;
	m->length /= (double)m->count;
	for (int i = 0; i < REQUEST_PARTS; i++)
		m->parts[i] /= (double)m->count;
}

static int add(struct requests_by *b, const struct request *q, uint32_t value)
{
	uint32_t max = b->max ? b->max : REQUESTS_BY_MAX;
	struct request_of_value *to;

	if (b->count == max) {
		b->left_out++;
		return 0;
	}
	if (array__reserve(&b->list, b->count, 1, &b->room, max, sizeof(*b->list)))
		return -ENOMEM;
	to = &b->list[b->count++];
	*to = (struct request_of_value){ .length = request__length(q), .value = value };
	/* Somebody can have made up all of them. */
	if (__builtin_add_overflow(to->length, q->before, &to->most) || __builtin_add_overflow(to->most, q->after, &to->most))
		to->most = UINT64_MAX;
	for (int i = 0; i < REQUEST_PARTS; i++)
		to->parts[i] = (float)q->parts[i];
	add_mean(&b->values[value].all, to);
	return 0;
}

int requests_by__add(struct requests_by *b, const struct requests *r)
{
	int err = 0;

	for (uint32_t i = 0; i < r->chosen && !err; i++) {
		const struct request *q = &r->list[i];
		uint32_t value = value_of(b, r, q->labels);

		if (value == MAP64_NONE)
			return -ENOMEM;
		if (q->cut_begin || q->cut_end)
			b->values[value].cut++;
		else
			err = add(b, q, value);
	}
	return err;
}

void requests_by__free(struct requests_by *b)
{
	for (uint32_t i = 0; i < b->value_count; i++)
		free(b->values[i].name);
	free(b->values);
	free(b->list);
	map64__free(&b->map);
	b->values = NULL;
	b->list = NULL;
	b->value_count = b->count = 0;
}

/* -- percentiles ----------------------------------------------------------------------------------- */

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_length(const void *a, const void *b, void *context)
{
	const struct request_of_value *list = context, *x = &list[*(const uint32_t *)a], *y = &list[*(const uint32_t *)b];

	return x->value != y->value ? compare(x->value, y->value) : compare(x->length, y->length);
}

static int by_most(const void *a, const void *b, void *context)
{
	const struct request_of_value *list = context, *x = &list[*(const uint32_t *)a], *y = &list[*(const uint32_t *)b];

	return x->value != y->value ? compare(x->value, y->value) : compare(x->most, y->most);
}

/* The place of a percentile among n, from 0. */
static uint32_t place_of(double percent, uint32_t n)
{
	uint64_t hundredths = (uint64_t)(percent * 100);

	return (uint32_t)(((uint64_t)n * hundredths + 9999) / 10000) - 1;
}

static int by_slowness(const void *a, const void *b)
{
	const struct requests_by_value *x = a, *y = b;
	int c = compare(y->seen[BY_P95], x->seen[BY_P95]);

	if (!c)
		c = compare(y->all.count, x->all.count);
	return c ? c : strcmp(x->name, y->name);
}

/* Those of one value are order[first] to order[first + n - 1]. */
static void set_percentiles(struct requests_by *b, const uint32_t *order, uint32_t first, uint32_t n, bool most)
{
	struct requests_by_value *v = &b->values[b->list[order[first]].value];

	for (int i = 0; i < BY_PERCENTILES; i++) {
		const struct request_of_value *q = &b->list[order[first + place_of(percents[i], n)]];

		*(most ? &v->most[i] : &v->seen[i]) = most ? q->most : q->length;
	}
	for (uint32_t i = 0; i < n && !most; i++)
		if (b->list[order[first + i]].length >= v->seen[BY_P95])
			add_mean(&v->slow, &b->list[order[first + i]]);
}

int requests_by__sort(struct requests_by *b)
{
	uint32_t *order = malloc((b->count + 1u) * sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (int most = 0; most < 2; most++) {
		for (uint32_t i = 0; i < b->count; i++)
			order[i] = i;
		if (b->count)
			qsort_r(order, b->count, sizeof(*order), most ? by_most : by_length, b->list);
		for (uint32_t i = 0, n; i < b->count; i += n) {
			for (n = 1; i + n < b->count && b->list[order[i + n]].value == b->list[order[i]].value;)
				n++;
			set_percentiles(b, order, i, n, most);
		}
	}
	free(order);
	for (uint32_t i = 0; i < b->value_count; i++) {
		divide(&b->values[i].all);
		divide(&b->values[i].slow);
	}
	if (b->value_count)
		qsort(b->values, b->value_count, sizeof(*b->values), by_slowness);
	return 0;
}
