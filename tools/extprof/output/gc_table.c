/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/gc_table.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/columns.h"
#include "profile/unit.h"

static void add_time(uint64_t ns, struct text *out)
{
	struct text text = { 0 };

	unit__add_amount(UNIT_NS, ns, &text);
	text__addf(out, "  %10s", text__string(&text));
	text__free(&text);
}

static void add_sum(const struct gc_pause_sum *s, struct text *out)
{
	text__addf(out, "%8" PRIu64, s->count);
	add_time(s->total, out);
	add_time(s->longest, out);
}

/* Columns of a row without the name; where there is no room for one of this length, the columns of percentiles, which
 * such a row has not, are the name's. */
#define ROW_WIDTH 58u
#define PERCENTILES_WIDTH 24
#define NAME_WIDTH_MIN 30u

static void add_row(const struct gc_pause_sum *s, const char *name, size_t width, struct text *out)
{
	size_t room = width > ROW_WIDTH + NAME_WIDTH_MIN ? width - ROW_WIDTH : 0;

	if (!s->count)
		return;
	add_sum(s, out);
	if (!width || room) {
		text__addf(out, "%*s  ", PERCENTILES_WIDTH, "");
	} else {
		text__adds(out, "  ");
		room = width > ROW_WIDTH - PERCENTILES_WIDTH + NAME_WIDTH_MIN ? width - ROW_WIDTH + PERCENTILES_WIDTH : NAME_WIDTH_MIN;
	}
	columns__add_ends(out, name, width ? room : columns__of(name), false);
	text__adds(out, "\n");
}

static void add_reasons(const struct gc_pauses *p, size_t width, struct text *out)
{
	char name[48];

	for (uint32_t major = 0; major < 2 && p->told; major++) {
		for (uint32_t i = 0; i < GC_REASONS; i++) {
			bool collects = i != GC_REASON_UNKNOWN && i != GC_REASON_NOTHING;

			snprintf(name, sizeof(name), collects ? "%s, %s" : "%.0s%s", major ? "major" : "minor",
				 gc_reason__name(i));
			add_row(&p->reasons[major][i], name, width, out);
		}
	}
}

static int by_total(const void *a, const void *b, void *context)
{
	const struct gc_pauses *p = context;
	uint64_t x = p->threads[*(const uint32_t *)a].sum.total, y = p->threads[*(const uint32_t *)b].sum.total;

	return x < y ? 1 : x > y ? -1 : 0;
}

static void add_threads(const struct gc_pauses *p, unsigned int top, size_t width, struct text *out)
{
	uint32_t order[GC_THREADS_MAX];

	for (uint32_t i = 0; i < p->thread_count; i++)
		order[i] = i;
	qsort_r(order, p->thread_count, sizeof(*order), by_total, (void *)p);
	for (uint32_t i = 0; i < p->thread_count && i < top; i++) {
		const struct gc_pause_thread *t = &p->threads[order[i]];

		add_row(&t->sum, t->name ? t->name : t->frame ? "[unknown thread]" : "[other threads]", width, out);
	}
	if (p->thread_count > top)
		text__addf(out, "%10s(%" PRIu32 " more threads)\n", "", p->thread_count - top);
}

static void add_notes(const struct report *r, struct text *out)
{
	const struct report_meta *m = &r->meta;
	struct text waited = { 0 }, ran = { 0 }, samples = { 0 };

	unit__add_amount(UNIT_NS, r->pauses->waited, &waited);
	unit__add_amount(UNIT_NS, r->pauses->all.total - r->pauses->waited, &ran);
	text__addf(out, "of the total the threads waited %s for a CPU and ran for %s", text__string(&waited), text__string(&ran));
	/* Numbers of samples of different rates are no time. */
	if (m->period) {
		unit__add_amount(UNIT_NS, m->gc_samples * m->period, &samples);
		text__addf(out, "; that is %s by samples", text__string(&samples));
	}
	text__adds(out, "\n");
	text__free(&waited);
	text__free(&ran);
	text__free(&samples);
	if (m->pauses_begun_before)
		text__addf(out, "pauses that may have begun before the recording: %" PRIu64 ", not counted\n",
			   m->pauses_begun_before);
	if (m->pauses_not_ended)
		text__addf(out, "pauses that had not ended with the recording: %" PRIu64 ", not counted\n",
			   m->pauses_not_ended);
	if (m->pauses_lost)
		text__addf(out, "pauses lost: %" PRIu64 ", not counted\n", m->pauses_lost);
}

void gc_table__add(const struct report *r, const struct output_options *o, unsigned int top, struct text *out)
{
	const struct gc_pauses *p = r->pauses;
	const char *bold = o->color ? "\033[1m" : "", *dim = o->color ? "\033[2m" : "", *end = o->color ? "\033[0m" : "";
	size_t from;

	text__addf(out, "\n%sPauses for garbage collection%s\n%s%8s  %10s  %10s  %10s  %10s%s\n", bold, end, dim, "number",
		   "total", "longest", "p50", "p99", end);
	add_sum(&p->all, out);
	add_time(gc_pauses__percentile(p, 50), out);
	add_time(gc_pauses__percentile(p, 99), out);
	text__adds(out, "  all\n");
	for (uint32_t i = 0; i < GC_PARTS; i++)
		add_row(&p->parts[i], gc_part__name(i), o->width, out);
	add_reasons(p, o->width, out);
	add_threads(p, top, o->width, out);
	from = out->length;
	add_notes(r, out);
	columns__wrap(out, from, o->width);
}
