/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/triggers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock_steps.h"
#include "base/utc.h"
#include "engine/state.h"
#include "profile/figures.h"
#include "profile/label_marks.h"
#include "wire/states.h"

/* A second, by tenths. */
#define TENTHS 10u
#define TENTH (SECOND / TENTHS)
/* Between two marks of a trigger for one program, where that is all that they do: the recording can be of days. */
#define MARK_INTERVAL (10 * SECOND)
/* What the programs of one user may fire in that time. */
#define MARKS_OF_USER 200u
/* Between two looks at memory. */
#define MEMORY_INTERVAL SECOND
/* Programs, and fibers with labels, that are looked at together. */
#define WINDOWS_MAX (1u << 16)
#define LANES_MAX (1u << 16)
/* Time of a fiber without a sample, though all its time is sampled: what follows is another request. */
#define GAP SECOND

/* The last second of a program, for one trigger. */
struct trigger_window {
	uint64_t tenth;		/* number of the newest one; 0: none yet */
	uint64_t sums[TENTHS];
	bool above;		/* it was above the limit when it was looked at last */
	uint64_t told;		/* CLOCK_MONOTONIC, ns: when it fired last; 0: never */
};

/* A fiber, or a thread without one, for one trigger. */
struct trigger_lane {
	uint64_t label;		/* hash of the value that it has; 0 none */
	uint64_t mark;		/* of the piece of work, see sink_sample::label_marks; 0: not known */
	uint64_t since, last;	/* CLOCK_MONOTONIC, ns: of that value, and of the last sample */
	bool fired;
};

/* The index of the key in a list that grows; MAP64_NONE: there is no room. */
static uint32_t find(struct map64 *map, uint64_t key, void *list, size_t *room, uint32_t *count, uint32_t max, size_t size)
{
	uint32_t i = map64__get(map, key);

	if (i != MAP64_NONE)
		return i;
	/* The list is full, also of programs and fibers that have ended: begin anew. */
	if (*count == max) {
		map64__clear(map);
		*count = 0;
	}
	if (array__reserve(list, *count, 1, room, max, size))
		return MAP64_NONE;
	memset(*(char **)list + *count * size, 0, size);
	return map64__add(map, key, *count) ? MAP64_NONE : (*count)++;
}

static struct trigger_window *window_of(struct triggers *t, uint32_t trigger, uint32_t vm)
{
	uint32_t i = find(&t->window_map, (uint64_t)trigger << 32 | vm, &t->windows, &t->window_room, &t->window_count, WINDOWS_MAX,
			  sizeof(*t->windows));

	return i == MAP64_NONE ? NULL : &t->windows[i];
}

static struct trigger_lane *lane_of(struct triggers *t, uint32_t trigger, const struct sink_origin *o)
{
	/* Serials of threads are beyond the slots of fibers. */
	uint64_t fiber = o->fiber ? o->fiber : 1ull << 40 | o->thread;
	uint64_t key = hash__mix(fiber ^ (uint64_t)o->vm << 44 ^ (uint64_t)trigger << 60);
	uint32_t i = find(&t->lane_map, key, &t->lanes, &t->lane_room, &t->lane_count, LANES_MAX, sizeof(*t->lanes));

	return i == MAP64_NONE ? NULL : &t->lanes[i];
}

/* -- firing ---------------------------------------------------------------------------------------- */

/* Say it to whoever shows it, with the time of the clock, and put it into the file.  `text` is clean, of TRIGGER_TEXT. */
static void tell(struct triggers *t, uint32_t row, uint64_t time, const char *text)
{
	struct engine *e = t->engine;
	char at[UTC_SIZE], all[TRIGGER_TEXT + UTC_SIZE];

	t->fired++;
	snprintf(all, sizeof(all), "%s %s", utc__text(at, time + (uint64_t)clock_offsets__read().wall, false), text);
	text__clean(t->last, sizeof(t->last), all);
	if (!*t->in_file)
		snprintf(t->in_file, sizeof(t->in_file), "%s", t->last);
	if (e->recording.writer && !e->recording_ended)
		recording_sink__trigger(&e->recording, time, row, text);
}

/* Say how many were too many for that user. */
static void tell_left_out(struct triggers *t, struct trigger_user *u, uint64_t time)
{
	char text[TRIGGER_TEXT];

	if (!u->left_out)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " more for programs of user %" PRIu32 ", which are not told one by one", u->left_out, u->uid);
	u->left_out = 0;
	tell(t, PROCESS_NONE, time, text);
}

static struct trigger_user *user_of(struct triggers *t, uint32_t uid)
{
	uint32_t i = 0;

	while (i < t->user_count && t->users[i].uid != uid)
		i++;
	if (i == TRIGGER_USERS_MAX)
		return &t->users[i - 1];
	if (i == t->user_count)
		t->users[t->user_count++] = (struct trigger_user){ .uid = uid };
	return &t->users[i];
}

static bool has_share(struct triggers *t, uint32_t uid, uint64_t time)
{
	struct trigger_user *u = user_of(t, uid);

	if (!u->from || time >= u->from + MARK_INTERVAL) {
		tell_left_out(t, u, time);
		u->from = time;
		u->told = 0;
	}
	if (u->told < MARKS_OF_USER) {
		u->told++;
		return true;
	}
	u->left_out++;
	return false;
}

/* How long before it the time is kept: a slow request from its begin on. */
static uint64_t before(const struct triggers *t, const struct trigger *trigger)
{
	uint64_t around = t->engine->settings.around;

	return trigger->kind == TRIGGER_LABEL ? around + trigger->limit : around;
}

/* It goes on: nothing is told. */
static void keep(struct triggers *t, const struct trigger *trigger, uint64_t time)
{
	engine__keep_segments(t->engine, time, before(t, trigger));
}

/* "process 42 puma: ... (gvl>50%)", not too often for each trigger and program; files stay in any case. */
__attribute__((format(printf, 6, 7)))
static void fire(struct triggers *t, const struct trigger *trigger, uint32_t row, uint32_t program, uint64_t time,
		 const char *format, ...)
{
	struct engine *e = t->engine;
	const struct process_row *p = row < e->rows.count ? &e->rows.rows[row] : NULL;
	struct trigger_window *w = window_of(t, (uint32_t)(trigger - e->settings.triggers), program);
	char what[128], text[TRIGGER_TEXT], clean[TRIGGER_TEXT];
	va_list args;

	keep(t, trigger, time);
	if (!w || (w->told && time < w->told + (e->settings.around ? SECOND : MARK_INTERVAL)))
		return;
	w->told = time;
	if (!has_share(t, p ? p->uid : 0, time))
		return;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	if (p)
		snprintf(text, sizeof(text), "process %d %.80s: %s (%s)", p->pid, p->command, what, trigger->text);
	else
		snprintf(text, sizeof(text), "%s (%s)", what, trigger->text);
	text__clean(clean, sizeof(clean), text);
	tell(t, row, time, clean);
}

int engine__trigger(struct engine *e, const char *why, struct diag *d)
{
	struct triggers *t = &e->triggers;
	char clean[TRIGGER_TEXT - 32];

	if (!e->segments.base || e->recording_ended)
		return diag__set(d, DIAG_USAGE, EINVAL, "there is no recording in several files");
	t->engine = e;
	engine__keep_segments(e, deadline__now(), e->settings.around);
	text__clean(clean, sizeof(clean), why ? why : "asked for");
	tell(t, PROCESS_NONE, deadline__now(), clean);
	return 0;
}

size_t engine__pids(const struct engine *e, pid_t *pids, size_t room)
{
	size_t count = 0;

	for (uint32_t i = 0; i < e->set.count && count < room; i++) {
		const struct process *p = e->set.list[i];

		if (p && p->vm && !p->freed && p->state == PROCESS_SAMPLED)
			pids[count++] = p->pid;
	}
	return count;
}

/* -- within a second ------------------------------------------------------------------------------- */

/* Forget what is more than a second older than that tenth. */
static void move(struct trigger_window *w, uint64_t tenth)
{
	if (w->tenth + TENTHS <= tenth) {
		/* It was quiet for a second. */
		memset(w->sums, 0, sizeof(w->sums));
		w->above = false;
		w->tenth = tenth;
	}
	while (w->tenth < tenth)
		w->sums[++w->tenth % TENTHS] = 0;
}

/* The part of a time that is in that tenth. */
static uint64_t overlap(uint64_t begin, uint64_t end, uint64_t tenth)
{
	uint64_t from = tenth * TENTH, until = from + TENTH;

	from = begin > from ? begin : from;
	until = end < until ? end : until;
	return until > from ? until - from : 0;
}

/* The sum of the last second with this.  A time is spread over the second that it was in. */
static uint64_t add(struct trigger_window *w, uint64_t time, uint64_t amount, enum unit unit)
{
	uint64_t begin = amount < time ? time - amount : 0, sum = 0;

	move(w, time / TENTH);
	for (uint64_t tenth = w->tenth - TENTHS + 1; tenth <= w->tenth; tenth++) {
		if (unit == UNIT_NS)
			w->sums[tenth % TENTHS] += overlap(begin, time, tenth);
		else if (tenth == time / TENTH)
			w->sums[tenth % TENTHS] += amount;
		sum += w->sums[tenth % TENTHS];
	}
	return sum;
}

static void count(struct triggers *t, const struct trigger *trigger, const struct sink_sample *s, uint64_t amount, enum unit unit)
{
	struct trigger_window *w = window_of(t, (uint32_t)(trigger - t->engine->settings.triggers), s->origin.vm);
	bool was_above, late = w && w->tenth > s->time / TENTH;
	char text[64];
	uint64_t sum;

	if (!w)
		return;
	sum = add(w, s->time, amount, unit);
	was_above = w->above;
	/* A late sample does not say that it is below now. */
	if (sum <= trigger->limit) {
		w->above = was_above && late;
		return;
	}
	w->above = true;
	if (was_above) {
		keep(t, trigger, s->time);
		return;
	}
	if (unit == UNIT_NS)
		snprintf(text, sizeof(text), "%.0f %%", (double)sum / 1e7);
	else
		snprintf(text, sizeof(text), "%" PRIu64 "%s", sum, unit == UNIT_BYTES ? " bytes" : "");
	fire(t, trigger, s->origin.process, s->origin.vm, s->time, "%s within a second", text);
}

static void count_mode(struct triggers *t, const struct trigger *trigger, const struct sink_sample *s)
{
	for (uint32_t i = 0; i < s->view_count; i++) {
		const struct sink_view *v = &s->views[i];

		if (t->engine->settings.modes[v->mode] == trigger->mode)
			count(t, trigger, s, trigger->by_count ? v->weight.count : v->weight.value,
			      trigger->by_count ? UNIT_COUNT : trigger->mode->value.unit);
	}
}

/* The length of a wait, ns.  Two modes can show one; in a mode its holders have shares of it. */
static uint64_t length_of(const struct sink_sample *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->view_count && s->views[i].mode == s->views[0].mode; i++)
		sum += s->views[i].weight.value;
	return sum;
}

static void count_state(struct triggers *t, const struct trigger *trigger, const struct sink_sample *s)
{
	if (s->source == SOURCE_SCHED && s->state == trigger->state && s->view_count)
		count(t, trigger, s, length_of(s), UNIT_NS);
}

/* -- labels ---------------------------------------------------------------------------------------- */

/* The value that the sample has for the key, and its mark; NULL: none.  *unknown: it may have one that could not be read. */
static const struct frame *label_of(const struct engine *e, const struct sink_sample *s, const char *key, uint64_t *mark, bool *unknown)
{
	*unknown = false;
	*mark = 0;
	for (uint32_t i = 0; i < s->label_count; i++) {
		const struct frame *f = engine__frame(e, s->labels[i]);

		if (f->kind != FRAME_LABEL || (*f->key && strcmp(f->key, key)))
			continue;
		if (*f->key && f->known == KNOWN) {
			*mark = label_marks__of(s->label_marks, i);
			return f;
		}
		*unknown |= f->known != KNOWN_NOT_SET;
	}
	return NULL;
}

static void follow_label(struct triggers *t, const struct trigger *trigger, const struct sink_sample *s)
{
	bool unknown;
	uint64_t mark;
	const struct frame *f = label_of(t->engine, s, trigger->key, &mark, &unknown);
	struct trigger_lane *lane = lane_of(t, (uint32_t)(trigger - t->engine->settings.triggers), &s->origin);
	uint64_t length = s->source == SOURCE_SCHED ? length_of(s) : 0;
	uint64_t begin = length < s->time ? s->time - length : s->time;
	uint64_t label = f ? hash__bytes(f->name, strlen(f->name), 1) | 1 : 0;

	if (!lane || s->time < lane->last)
		return;
	/* The request may go on. */
	if (unknown && !f && begin <= lane->last + GAP) {
		lane->last = s->time;
		return;
	}
	/* Two requests of one value have two marks. */
	if (label != lane->label || (mark && lane->mark && mark != lane->mark) || begin > lane->last + GAP) {
		lane->label = label;
		lane->mark = 0;
		/* Time up to the last sample of the other value belongs to that one. */
		lane->since = begin > lane->last ? begin : lane->last;
		lane->fired = false;
	}
	lane->mark = mark ? mark : lane->mark;
	lane->last = s->time;
	if (!label || s->time - lane->since <= trigger->limit)
		return;
	if (lane->fired) {
		keep(t, trigger, s->time);
		return;
	}
	lane->fired = true;
	fire(t, trigger, s->origin.process, s->origin.vm, s->time, "%s=%.60s for %.3f s so far", trigger->key, f->name,
	     (double)(s->time - lane->since) / 1e9);
}

/* -- the sink -------------------------------------------------------------------------------------- */

static int triggers__sample(struct sink *sink, const struct sink_sample *s)
{
	struct triggers *t = (struct triggers *)sink;
	const struct settings *settings = &t->engine->settings;

	for (uint32_t i = 0; i < settings->trigger_count; i++) {
		const struct trigger *trigger = &settings->triggers[i];

		if (trigger->kind == TRIGGER_MODE)
			count_mode(t, trigger, s);
		else if (trigger->kind == TRIGGER_STATE)
			count_state(t, trigger, s);
		else if (trigger->kind == TRIGGER_LABEL)
			follow_label(t, trigger, s);
	}
	return 0;
}

static int triggers__pause(struct sink *sink, const struct sink_pause *p)
{
	struct triggers *t = (struct triggers *)sink;
	const struct settings *settings = &t->engine->settings;

	for (uint32_t i = 0; i < settings->trigger_count; i++)
		if (settings->triggers[i].kind == TRIGGER_PAUSE && p->length > settings->triggers[i].limit)
			fire(t, &settings->triggers[i], p->origin.process, p->origin.vm, p->begin + p->length, "the collector paused it for %.1f ms",
			     (double)p->length / 1e6);
	return 0;
}

int engine__open_triggers(struct engine *e, struct diag *d)
{
	static const struct sink_ops ops = { .sample = triggers__sample, .pause = triggers__pause };

	if (!e->settings.trigger_count)
		return 0;
	e->triggers.sink.ops = &ops;
	e->triggers.engine = e;
	return engine__add_sink(e, &e->triggers.sink, d);
}

int engine__check_triggers(const struct engine *e, struct diag *d)
{
	for (uint32_t i = 0; e->reader != READER_EBPF && i < e->settings.trigger_count; i++) {
		const struct trigger *t = &e->settings.triggers[i];

		if (t->kind != TRIGGER_EXIT && t->kind != TRIGGER_PAUSE)
			continue;
		diag__set(d, DIAG_USAGE, EINVAL, "--trigger %s: only the reader ebpf tells of that", t->text);
		if (e->why_reader.text[0])
			diag__hint(d, "which is not used: %.200s", e->why_reader.text);
		return -EINVAL;
	}
	return 0;
}

void engine__trigger_exit(struct engine *e, const struct process *p, bool failed, uint64_t time, const char *how)
{
	for (uint32_t i = 0; i < e->settings.trigger_count; i++)
		if (e->settings.triggers[i].kind == TRIGGER_EXIT && failed && p->ended_sampled)
			fire(&e->triggers, &e->settings.triggers[i], p->row, p->number, time, "it has ended: %s", how);
}

/* It tells once that a process is above, and again when it was below meanwhile. */
static void look_at_memory(struct triggers *t, const struct process *p, uint64_t now)
{
	const struct settings *settings = &t->engine->settings;
	uint64_t resident;

	if (!p || !p->vm || p->freed || engine__read_resident(p, &resident))
		return;
	for (uint32_t i = 0; i < settings->trigger_count; i++) {
		const struct trigger *trigger = &settings->triggers[i];
		bool above = resident > trigger->limit;
		struct trigger_window *w = trigger->kind == TRIGGER_RSS ? window_of(t, i, p->number) : NULL;

		if (!w)
			continue;
		if (above && w->above)
			keep(t, trigger, now);
		else if (above)
			fire(t, trigger, p->row, p->number, now, "it has %.1f MiB of memory", (double)resident / (1 << 20));
		w->above = above;
	}
}

void engine__end_triggers(struct engine *e)
{
	for (uint32_t i = 0; i < e->triggers.user_count; i++)
		tell_left_out(&e->triggers, &e->triggers.users[i], deadline__now());
}

void engine__step_triggers(struct engine *e, uint64_t now)
{
	bool any = false;

	if (now < e->triggers.memory_at || e->paused || !e->started)
		return;
	e->triggers.memory_at = now + MEMORY_INTERVAL;
	for (uint32_t i = 0; i < e->triggers.user_count; i++)
		if (now >= e->triggers.users[i].from + MARK_INTERVAL)
			tell_left_out(&e->triggers, &e->triggers.users[i], now);
	for (uint32_t i = 0; i < e->settings.trigger_count; i++)
		any |= e->settings.triggers[i].kind == TRIGGER_RSS;
	for (uint32_t i = 0; any && i < e->set.count; i++)
		look_at_memory(&e->triggers, e->set.list[i], now);
}

void triggers__free(struct triggers *t)
{
	free(t->windows);
	free(t->lanes);
	map64__free(&t->window_map);
	map64__free(&t->lane_map);
	memset(t, 0, sizeof(*t));
}
