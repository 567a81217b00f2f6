/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Modes of what lives.  A recording has the state at its end, so that of several ones is that of the last of them which knows
 * it: of each process by itself, since one may have ended well and another one not.
 *
 * Samples have the time when their object was made.  A report of a time has what was made in it and lived at its end.  A
 * comparison, and what is shown of a moment, is of all that lived then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "recording/profile_parts.h"
#include "recording/schema.h"

/* Processes of all recordings that have different pids. */
#define STATES_MAX (1u << 20)
/* Objects of one side of a comparison. */
#define OBJECTS_MAX (4u << 20)

static bool has_states(const struct recording_profile *p)
{
	for (uint32_t i = 0; i < p->mode_count; i++)
		if (p->modes[i]->lives)
			return true;
	return false;
}

/* Has that recording any?  It is awake. */
static bool has_states_in(const struct recording_profile *p, const struct input *in)
{
	for (uint32_t i = 0; i < p->mode_count; i++)
		if (p->modes[i]->lives && recording_reader__has_mode(in->reader, p->modes[i]->name))
			return true;
	return false;
}

bool recording_states__are_whole(const struct recording_profile *p)
{
	return (p->compares || p->filter.cuts) && has_states(p);
}

bool recording_states__has(const struct recording_profile *p, const struct input *in, const struct recording_sample *s)
{
	return in->number_of[s->mode] >= 0 && p->modes[in->number_of[s->mode]]->lives;
}

bool recording_states__counts(const struct recording_profile *p, const struct input *in, const struct recording_sample *s)
{
	if (!recording_states__has(p, in, s))
		return true;
	return !in->is_late && s->time >= in->made_since && s->time <= in->until &&
	       !(in->told_later && in->told_later[in->tables->threads[s->thread].process]);
}

/* -- which recording has the state of a process ------------------------------------------------ */

static uint64_t key_of(const struct input *in, int pid)
{
	const char *host = recording_reader__host(in->reader);

	return hash__bytes(host, strlen(host), hash__mix((uint64_t)(uint32_t)pid << 1 | in->is_after));
}

/* While the processes of a recording are read. */
struct finding {
	struct recording_profile *p;
	const struct input *in;
	uint64_t end;
	bool knows_all;		/* it does not say of which it has the state */
};

/* "pid, has ended or is told". */
static int take_process(void *context, sqlite3_stmt *s)
{
	struct finding *f = context;
	struct last_states *states = &f->p->states;
	int pid = (int)row__amount(s, 0);
	uint64_t key = key_of(f->in, pid);
	uint32_t number;

	if (!f->knows_all && !row__amount(s, 1))
		return 0;
	number = map64__get(&states->map, key);
	if (number == MAP64_NONE) {
		if (array__reserve(&states->list, states->count, 1, &states->room, STATES_MAX, sizeof(*states->list)) ||
		    map64__add(&states->map, key, states->count))
			return -ENOMEM;
		number = states->count++;
		states->list[number].end = 0;
	}
	if (f->end >= states->list[number].end)
		states->list[number] = (struct last_state){ .input = (uint32_t)(f->in - f->p->inputs), .end = f->end };
	return 0;
}

static int take_flag(void *context, sqlite3_stmt *s)
{
	*(bool *)context = row__amount(s, 0) != 0;
	return 0;
}

#define TOLD "FROM events WHERE kind=(SELECT id FROM strings WHERE text='" RECORDING_LIVES "')"

static int find_in(struct recording_profile *p, struct input *in, struct diag *d)
{
	struct finding f = { .p = p, .in = in };
	uint64_t begin;
	const char *why;
	bool told = false;
	int err = recording_account__times(in->reader, &begin, &f.end, d);

	if (!err)
		err = recording_profile__rows_of(in, 0, 1, "SELECT EXISTS(SELECT 1 " TOLD ") WHERE ?<?", take_flag, &told, d);
	if (err)
		return err;
	in->is_late = in->begin >= in->until || in->begin + (f.end - begin) < in->since;
	if (in->is_late || !has_states_in(p, in))
		return 0;
	/* Older recordings tell nothing of it; one that did not end has no state at all. */
	f.knows_all = !told && recording_reader__ended(in->reader, &why);
	if (!told && !f.knows_all)
		return 0;
	err = recording_profile__rows_of(in, 0, INT64_MAX, "SELECT pid, flags & 1 OR coalesce(e.text, '')<>'' OR p.id IN (SELECT process "
					 TOLD ") FROM processes p LEFT JOIN strings e ON e.id=p.ended JOIN strings r ON r.id=p.ruby "
					 "WHERE p.id BETWEEN ? AND ? AND r.text<>''", take_process, &f, d);
	return err == -ENOMEM ? recording_profile__no_memory(d) : err;
}

int recording_states__find(struct recording_profile *p, struct diag *d)
{
	int err = 0;

	if (!has_states(p))
		return 0;
	for (uint32_t i = 0; i < p->count; i++) {
		const struct recording_span *span = p->inputs[i].is_after ? &p->filter.second : &p->filter.span;
		struct input *in = &p->inputs[i];

		if (!recording_states__are_whole(p))
			in->made_since = in->since ? in->since : recording_span__before(span, in->begin, in->wall, in->later);
	}
	for (uint32_t i = 0; i < p->count && p->count > 1 && !err; i++) {
		struct input *in = &p->inputs[i];
		bool woken = !recording_reader__awake(in->reader);

		err = woken ? recording_reader__wake(in->reader, d) : 0;
		if (!err)
			err = find_in(p, in, d);
		if (woken)
			recording_reader__sleep(in->reader);
		if (err)
			return recording_profile__failed_in(p, in, err, d);
	}
	return 0;
}

int recording_states__choose(const struct recording_profile *p, struct input *in)
{
	if (!p->states.count)
		return 0;
	in->told_later = calloc(in->tables->process_count, sizeof(*in->told_later));
	if (!in->told_later)
		return -ENOMEM;
	for (uint32_t id = 1; id < in->tables->process_count; id++) {
		uint32_t number = map64__get(&p->states.map, key_of(in, in->tables->processes[id].pid));

		in->told_later[id] = number != MAP64_NONE && p->states.list[number].input != (uint32_t)(in - p->inputs);
	}
	return 0;
}

/* -- objects of two states --------------------------------------------------------------------- */

/* Neither another process nor another thread of it makes one at the same ns. */
static uint64_t key_of_object(const struct input *in, const struct recording_sample *s)
{
	const struct process_entry *process = &in->tables->processes[in->tables->threads[s->thread].process];
	const char *host = recording_reader__host(in->reader);

	return hash__bytes(host, strlen(host), hash__mix(hash__mix(s->time) ^ (uint64_t)(uint32_t)process->pid));
}

int recording_states__square(struct recording_profile *p, const struct input *in, const struct recording_sample *s, double amount,
			     double *square, double *before)
{
	struct seen_objects *seen = &p->seen_objects;
	uint64_t key = key_of_object(in, s);
	uint32_t number = map64__get(&seen->map, key);

	if (in->is_after && number != MAP64_NONE) {
		double was = seen->amounts[number];

		/* It can have grown. */
		*square = (amount - was) * (amount - was);
		*before = was * was;
		seen->amounts[number] = 0;
	} else if (!in->is_after && number == MAP64_NONE && seen->count < OBJECTS_MAX) {
		/* Where there is no room, the noise is shown as more than it is. */
		if (array__reserve(&seen->amounts, seen->count, 1, &seen->room, OBJECTS_MAX, sizeof(*seen->amounts)) ||
		    map64__add(&seen->map, key, seen->count))
			return -ENOMEM;
		seen->amounts[seen->count++] = amount;
	}
	return 0;
}

void recording_states__free(struct recording_profile *p)
{
	map64__free(&p->states.map);
	free(p->states.list);
	map64__free(&p->seen_objects.map);
	free(p->seen_objects.amounts);
}
