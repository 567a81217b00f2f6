/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OTLP profiles: a message ProfilesData of opentelemetry-proto, as protocol buffers or as JSON.  Its body is that of a
 * request to /v1development/profiles, too.
 *
 * A resource for each process, a scope in it for each mode, a profile in that for each sample type.  docs/otlp.md says
 * which receiver wants what.
 */
#include "output/otlp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"

#ifndef EXTPROF_VERSION
#define EXTPROF_VERSION "unknown"
#endif

/* Fields whose type is a message, a text or bytes have this type on the wire. */
#define WIRE_LENGTH 2u
/* Field numbers of what is written piece by piece. */
#define DATA_RESOURCES 1u
#define DATA_DICTIONARY 2u
#define RESOURCE_RESOURCE 1u
#define RESOURCE_SCOPES 2u
#define SCOPE_SCOPE 1u
#define SCOPE_PROFILES 2u
#define PROFILE_SAMPLES 2u

int otlp__pack_scope(const struct report *r, struct otlp_list *to)
{
	Otlp__InstrumentationScope scope = OTLP__INSTRUMENTATION_SCOPE__INIT;

	/* They are only read. */
	scope.name = (char *)otlp__scope_name(r->meta.mode);
	scope.version = (char *)EXTPROF_VERSION "+otlp." OTLP_SCHEMA;
	return otlp_list__append_message(to, &scope.base);
}

/* -- protocol buffers ------------------------------------------------------------------------------------- */

static size_t number_size(uint64_t n)
{
	size_t size = 1;

	for (; n >> 7; n >>= 7)
		size++;
	return size;
}

/* The size of a field with its number and length. */
static size_t field_size(size_t length)
{
	return 1 + number_size(length) + length;
}

static void put(struct otlp *x, FILE *to, const void *data, size_t length)
{
	errno = 0;
	if (!x->err && length && fwrite(data, 1, length, to) != length)
		x->err = errno ? -errno : -EIO;
}

/* The number is below 16, so that it needs one byte. */
static void put_field(struct otlp *x, FILE *to, uint32_t number, size_t length)
{
	uint8_t head[1 + 10];
	size_t n = 0;

	head[n++] = (uint8_t)(number << 3 | WIRE_LENGTH);
	for (; length >> 7; length >>= 7)
		head[n++] = (uint8_t)(length | 0x80);
	head[n++] = (uint8_t)length;
	put(x, to, head, n);
}

static size_t list_size(const struct otlp_list *l)
{
	size_t size = 0;

	for (uint32_t i = 0; i < l->count; i++)
		size += field_size(l->items[i].length);
	return size;
}

static void put_list(struct otlp *x, FILE *to, uint32_t number, const struct otlp_list *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		put_field(x, to, number, l->items[i].length);
		put(x, to, otlp_list__item(l, i), l->items[i].length);
	}
}

static size_t profile_size(const struct otlp_profile *p)
{
	return p->head.length + list_size(&p->samples);
}

/* The profiles of one scope: the chain from that one on. */
static size_t scope_size(const struct otlp *x, const struct otlp_profile *p, const struct otlp_list *scope)
{
	uint32_t report = p->report;
	size_t size = list_size(scope);

	for (;; p = &x->profiles[p->next - 1]) {
		size += field_size(profile_size(p));
		if (!p->next || x->profiles[p->next - 1].report != report)
			return size;
	}
}

/* Number + 1 of the first profile of the next scope; 0: there is none. */
static uint32_t next_scope(const struct otlp *x, uint32_t profile)
{
	uint32_t report = x->profiles[profile - 1].report;

	while (profile && x->profiles[profile - 1].report == report)
		profile = x->profiles[profile - 1].next;
	return profile;
}

static void put_scope(struct otlp *x, FILE *to, uint32_t first, const struct otlp_list *scope)
{
	uint32_t end = next_scope(x, first);

	put_field(x, to, RESOURCE_SCOPES, scope_size(x, &x->profiles[first - 1], scope));
	put_list(x, to, SCOPE_SCOPE, scope);
	for (uint32_t i = first; i != end; i = x->profiles[i - 1].next) {
		const struct otlp_profile *p = &x->profiles[i - 1];

		put_field(x, to, SCOPE_PROFILES, profile_size(p));
		put(x, to, p->head.bytes, p->head.length);
		put_list(x, to, PROFILE_SAMPLES, &p->samples);
	}
}

static void put_resource(struct otlp *x, FILE *to, const struct otlp_resource *r, const struct otlp_list *scopes)
{
	struct otlp_list packed = { 0 };
	size_t size;

	if (otlp__pack_resource(r, &packed))
		x->err = x->err ? x->err : -ENOMEM;
	size = list_size(&packed);
	for (uint32_t i = r->first_profile; i; i = next_scope(x, i))
		size += field_size(scope_size(x, &x->profiles[i - 1], &scopes[x->profiles[i - 1].report]));
	put_field(x, to, DATA_RESOURCES, size);
	put_list(x, to, RESOURCE_RESOURCE, &packed);
	for (uint32_t i = r->first_profile; i; i = next_scope(x, i))
		put_scope(x, to, i, &scopes[x->profiles[i - 1].report]);
	otlp_list__free(&packed);
}

static int write_protobuf(struct otlp *x, const uint32_t *order, const struct otlp_list *scopes, FILE *to)
{
	size_t size = 0;

	for (uint32_t i = 0; i < x->resource_count; i++)
		put_resource(x, to, &x->resources[order[i]], scopes);
	for (int i = 0; i < OTLP_TABLES; i++)
		size += list_size(&x->tables[i]);
	put_field(x, to, DATA_DICTIONARY, size);
	for (uint32_t i = 0; i < OTLP_TABLES; i++)
		put_list(x, to, i + 1, &x->tables[i]);
	return x->err;
}

/* -- both forms ------------------------------------------------------------------------------------------- */

static int most_first(const void *a, const void *b, void *context)
{
	const struct otlp_resource *resources = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	if (resources[i].amount != resources[j].amount)
		return resources[i].amount > resources[j].amount ? -1 : 1;
	return i < j ? -1 : i > j;
}

static int write_parts(struct otlp *x, bool json, FILE *to)
{
	struct otlp_list scopes[MODES_MAX] = { 0 };
	uint32_t *order = calloc(x->resource_count + 1u, sizeof(*order));
	int err = order ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < x->count && !err; i++)
		err = otlp__pack_scope(&x->reports[i], &scopes[i]);
	for (uint32_t i = 0; i < x->resource_count && !err; i++)
		order[i] = i;
	if (!err) {
		qsort_r(order, x->resource_count, sizeof(*order), most_first, x->resources);
		err = json ? otlp__write_json(x, order, scopes, to) : write_protobuf(x, order, scopes, to);
	}
	for (uint32_t i = 0; i < x->count; i++)
		otlp_list__free(&scopes[i]);
	free(order);
	return err;
}

static void free_all(struct otlp *x)
{
	for (int i = 0; i < OTLP_TABLES; i++)
		otlp_list__free(&x->tables[i]);
	for (uint32_t i = 0; i < x->profile_count; i++) {
		otlp_list__free(&x->profiles[i].head);
		otlp_list__free(&x->profiles[i].samples);
	}
	map64__free(&x->resource_map);
	map64__free(&x->stack_map);
	free(x->resources);
	free(x->profiles);
	free(x->stacks);
	free(x->indices);
	free(x);
}

static int write_form(const struct report *reports, uint32_t count, bool json, FILE *to)
{
	struct otlp *x = calloc(1, sizeof(*x));
	int err;

	if (!x)
		return -ENOMEM;
	x->reports = reports;
	x->count = count;
	otlp__begin_tables(x);
	for (uint32_t i = 0; i < count && !x->err; i++)
		otlp__add_report(x, i);
	/* Parca refuses a list of no resource. */
	if (!x->err && !x->resource_count)
		otlp__resource(x, &reports[0], OTLP_NONE);
	err = x->err ? x->err : write_parts(x, json, to);
	free_all(x);
	return err;
}

static int write_otlp(const struct report *reports, uint32_t count, const struct output_options *o, FILE *to)
{
	FILE *compressed;
	struct gzip g;
	int err;

	if (!o->gzip)
		return write_form(reports, count, false, to);
	err = gzip__open(&g, to, &compressed);
	if (err)
		return err;
	return gzip__close(&g, compressed, write_form(reports, count, false, compressed));
}

static int write_otlp_json(const struct report *reports, uint32_t count, const struct output_options *o, FILE *to)
{
	FILE *compressed;
	struct gzip g;
	int err;

	if (!o->gzip)
		return write_form(reports, count, true, to);
	err = gzip__open(&g, to, &compressed);
	if (err)
		return err;
	return gzip__close(&g, compressed, write_form(reports, count, true, compressed));
}

const struct output_format output_otlp = {
	.name = "otlp",
	.suffixes = { ".otlp", ".otlp.gz" },
	.help = "OTLP profiles, schema " OTLP_SCHEMA ", for OpenTelemetry collectors, Pyroscope, Parca",
	.detail = REPORT_BY_ADDRESS,
	.labels = 1u << GROUP_PROCESS | 1u << GROUP_THREAD,
	.write = write_otlp,
};

const struct output_format output_otlp_json = {
	.name = "otlp-json",
	.suffixes = { ".otlp.json", ".otlp.json.gz" },
	.help = "the same as JSON",
	.detail = REPORT_BY_ADDRESS,
	.labels = 1u << GROUP_PROCESS | 1u << GROUP_THREAD,
	.write = write_otlp_json,
};
