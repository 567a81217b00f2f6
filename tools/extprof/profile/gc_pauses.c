/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/gc_pauses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "wire/gc.h"

static void sum__add(struct gc_pause_sum *s, uint64_t length)
{
	s->count++;
	s->total += length;
	if (length > s->longest)
		s->longest = length;
}

enum gc_reason gc_reason__of(uint32_t cause)
{
	static const struct {
		uint32_t bit;
		enum gc_reason reason;
	} reasons[] = {
		{ RB_DEBUG_EXT_GC_BY_NEWOBJ, GC_REASON_NEWOBJ }, { RB_DEBUG_EXT_GC_BY_MALLOC, GC_REASON_MALLOC },
		{ RB_DEBUG_EXT_GC_BY_METHOD, GC_REASON_METHOD }, { RB_DEBUG_EXT_GC_BY_CAPI, GC_REASON_CAPI },
		{ RB_DEBUG_EXT_GC_BY_STRESS, GC_REASON_STRESS },
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (cause & reasons[i].bit)
			return reasons[i].reason;
	return GC_REASON_UNKNOWN;
}

struct gc_pause_parts gc_pause_parts__of(const struct sample_event *e)
{
	struct gc_pause_parts p = {
		.parts = {
			[GC_PART_MARK] = gc__mark_ns(e), [GC_PART_SWEEP] = gc__sweep_ns(e), [GC_PART_COMPACT] = gc__compact_ns(e),
		},
		.length = e->value, .waited = e->more < e->value ? e->more : e->value,
		.reason = gc_reason__of(e->extra & 0xffff), .told = e->extra & 0xffff,
		.major = e->extra >> 16 & RB_DEBUG_EXT_GC_MAJOR,
	};
	uint64_t of_phases = p.parts[GC_PART_MARK] + p.parts[GC_PART_SWEEP] + p.parts[GC_PART_COMPACT];

	p.parts[GC_PART_OTHER] = p.length > of_phases ? p.length - of_phases : 0;
	/* In a pause without marking, sweeping and compaction, the section still has the reason of the collection
	 * before. */
	if (p.reason != GC_REASON_UNKNOWN && !of_phases) {
		p.reason = GC_REASON_NOTHING;
		p.major = false;
	}
	return p;
}

static struct gc_pause_thread *find_row(struct gc_pauses *p, uint64_t thread)
{
	for (uint32_t i = 0; i < p->thread_count; i++)
		if (p->threads[i].frame == thread)
			return &p->threads[i];
	return NULL;
}

/* NULL: out of memory. */
static struct gc_pause_thread *row_of(struct gc_pauses *p, uint64_t thread)
{
	struct gc_pause_thread *row = find_row(p, thread);

	if (!row && p->thread_count >= GC_THREADS_MAX - 1) {
		thread = 0;
		row = find_row(p, thread);
	}
	if (row)
		return row;
	if (array__reserve(&p->threads, p->thread_count, 1, &p->thread_room, GC_THREADS_MAX, sizeof(*p->threads)))
		return NULL;
	p->threads[p->thread_count] = (struct gc_pause_thread){ .frame = thread };
	return &p->threads[p->thread_count++];
}

int gc_pauses__add(struct gc_pauses *p, const struct sample_event *e, uint64_t thread)
{
	struct gc_pause_thread *row = row_of(p, thread);
	struct gc_pause_parts pause = gc_pause_parts__of(e);

	if (!row)
		return -ENOMEM;
	for (uint32_t i = 0; i < GC_PARTS; i++)
		if (pause.parts[i])
			sum__add(&p->parts[i], pause.parts[i]);
	sum__add(&p->all, pause.length);
	p->waited += pause.waited;
	sum__add(&row->sum, pause.length);
	sum__add(&p->reasons[pause.major][pause.reason], pause.length);
	p->told += pause.told;
	p->lengths.counts[histogram__class(pause.length)]++;
	return 0;
}

static void sum__merge(struct gc_pause_sum *s, const struct gc_pause_sum *from)
{
	s->count += from->count;
	s->total += from->total;
	if (from->longest > s->longest)
		s->longest = from->longest;
}

int gc_pauses__merge(struct gc_pauses *p, const struct gc_pauses *from, uint64_t frames)
{
	for (uint32_t i = 0; i < from->thread_count; i++) {
		const struct gc_pause_thread *thread = &from->threads[i];
		uint64_t frame = thread->frame ? thread->frame + frames : 0;
		struct gc_pause_thread *row = row_of(p, frame);

		if (!row)
			return -ENOMEM;
		sum__merge(&row->sum, &thread->sum);
		if (thread->name && row->frame && gc_pauses__set_name(p, row->frame, thread->name))
			return -ENOMEM;
	}
	sum__merge(&p->all, &from->all);
	p->waited += from->waited;
	for (int i = 0; i < GC_PARTS; i++)
		sum__merge(&p->parts[i], &from->parts[i]);
	for (int major = 0; major < 2; major++)
		for (int i = 0; i < GC_REASONS; i++)
			sum__merge(&p->reasons[major][i], &from->reasons[major][i]);
	p->told += from->told;
	histogram__add(&p->lengths, &from->lengths);
	return 0;
}

int gc_pauses__set_name(struct gc_pauses *p, uint64_t thread, const char *name)
{
	for (uint32_t i = 0; thread && i < p->thread_count; i++) {
		struct gc_pause_thread *row = &p->threads[i];
		char *copy;

		if (row->frame != thread || (row->name && !strcmp(row->name, name)))
			continue;
		copy = strdup(name);
		if (!copy)
			return -ENOMEM;
		free(row->name);
		row->name = copy;
	}
	return 0;
}

uint64_t gc_pauses__percentile(const struct gc_pauses *p, double percent)
{
	return histogram__percentile(&p->lengths, percent, p->all.longest);
}

const char *gc_part__name(enum gc_part part)
{
	static const char *const names[GC_PARTS] = { "mark", "sweep", "compact", "other" };

	return part < GC_PARTS ? names[part] : "?";
}

const char *gc_reason__name(enum gc_reason reason)
{
	static const char *const names[GC_REASONS] = {
		"reason not told", "no free slot", "malloc", "GC.start", "rb_gc", "GC.stress", "nothing to do",
	};

	return reason < GC_REASONS ? names[reason] : "?";
}

int gc_pauses__copy(struct gc_pauses *to, const struct gc_pauses *p)
{
	*to = *p;
	to->threads = NULL;
	to->thread_count = 0;
	to->thread_room = 0;
	if (array__reserve(&to->threads, 0, p->thread_count, &to->thread_room, GC_THREADS_MAX, sizeof(*to->threads)))
		goto failed;
	for (; to->thread_count < p->thread_count; to->thread_count++) {
		struct gc_pause_thread *row = &to->threads[to->thread_count];

		*row = p->threads[to->thread_count];
		row->name = row->name ? strdup(row->name) : NULL;
		if (!row->name && p->threads[to->thread_count].name)
			goto failed;
	}
	return 0;
failed:
	gc_pauses__free(to);
	return -ENOMEM;
}

void gc_pauses__free(struct gc_pauses *p)
{
	for (uint32_t i = 0; i < p->thread_count; i++)
		free(p->threads[i].name);
	free(p->threads);
	memset(p, 0, sizeof(*p));
}
