/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/gc_pauses.h"
#include "recording/schema.h"
#include "wire/states.h"

static const char *const unit_names[] = { [UNIT_COUNT] = "count", [UNIT_NS] = "ns", [UNIT_BYTES] = "bytes" };

static int write_names(struct recording_writer *w, const struct mode *const *list, uint32_t count)
{
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++)
		err = recording_writer__mode(w, &(struct recording_mode){
			.id = i + 1, .name = list[i]->name, .value_name = list[i]->value.name,
			.value_unit = unit_names[list[i]->value.unit], .count_name = list[i]->count.name,
			.count_unit = unit_names[list[i]->count.unit],
			.source = list[i] == &mode_syscall_latency ? "latency" : "" });
	for (uint32_t i = 0; i < FRAME_KINDS && !err; i++)
		err = recording_writer__kind(w, i, frame_kind_names[i], frame_kind__is_code((uint8_t)i));
	for (uint32_t i = 0; i < STATE_MAX && !err; i++)
		err = recording_writer__state(w, i, state_names[i]);
	return err;
}

/* The number of a frame of a profile before a restart.  FRAME_NO_ROOM is another one. */
#define FRAME_STALE (UINT32_MAX - 1)

/* -- frames ------------------------------------------------------------------------------------ */

/* The id of a frame, new if need be; 0: out of memory, or too many. */
static uint32_t id_of(struct recording_sink *s, uint32_t number)
{
	if (number < s->id_count && s->ids[number])
		return s->ids[number];
	if (number == FRAME_NO_ROOM && s->no_room)
		return s->no_room;
	/* The frame for what has no room is in no list: it is told by its parts as any other one. */
	if (number >= s->id_count) {
		uint32_t count = number == FRAME_NO_ROOM ? s->id_count : number + 1;

		if (array__reserve(&s->ids, s->id_count, count - s->id_count, &s->id_room,
				   FRAMES_MAX + FRAMES_NO_CODE_MAX + 2, sizeof(*s->ids)))
			return 0;
		memset(s->ids + s->id_count, 0, (count - s->id_count) * sizeof(*s->ids));
		s->id_count = count;
	}
	if (array__reserve(&s->frames, s->frame_count, 1, &s->frame_room, RECORDING_FRAMES_MAX, sizeof(*s->frames)))
		return 0;
	s->frames[s->frame_count++] = (struct frame_state){ .number = number, .row = s->row };
	if (number == FRAME_NO_ROOM)
		s->no_room = s->frame_count;
	else
		s->ids[number] = s->frame_count;
	return s->frame_count;
}

static uint64_t hash_text(const char *text, uint64_t seed)
{
	return hash__bytes(text, strlen(text), seed);
}

/* A hash of all that a row has; never 0. */
static uint64_t hash_frame(const struct frame *f)
{
	const uint64_t numbers[] = {
		f->address, (uint64_t)(uint32_t)f->line << 32 | (uint32_t)f->first_line,
		(uint64_t)f->pid << 32 | f->tid,
		(uint64_t)f->kind << 40 | (uint64_t)f->known << 32 | (uint64_t)f->role << 24 | (uint64_t)f->state << 16 |
		(uint64_t)f->missing << 8 | (uint64_t)f->approximate << 1 | f->bracketed,
	};
	uint64_t hash = hash__bytes(numbers, sizeof(numbers), 0);

	hash = hash_text(f->name, hash);
	hash = hash_text(f->path, hash);
	hash = hash_text(f->module, hash);
	hash = hash_text(f->key, hash);
	hash = hash_text(f->wider, hash);
	return hash ? hash : 1;
}

static int write_frame(struct recording_sink *s, uint32_t id, const struct frame *f)
{
	uint64_t hash = hash_frame(f);

	if (s->frames[id - 1].hash == hash)
		return 0;
	s->frames[id - 1].hash = hash;
	return recording_writer__frame(s->writer, id, f);
}

int recording_sink__look(struct recording_sink *s)
{
	int err = 0;

	for (; s->frames_seen < s->frame_count && !err; s->frames_seen++) {
		const struct frame_state *state = &s->frames[s->frames_seen];
		const struct frame *f;

		if (state->number == FRAME_NO_ROOM || !s->source.file)
			continue;
		err = s->source.name(s->source.context, state->number);
		f = frame_table__get(s->source.frames, state->number);
		if (!err && f->kind == FRAME_RUBY && *f->path)
			err = s->source.file(s->source.context, state->row, f->path);
	}
	return err;
}

/* The frames that have come since the last block. */
static int write_new_frames(struct recording_sink *s)
{
	int err = recording_sink__look(s);

	for (; s->frames_written < s->frame_count && !err; s->frames_written++) {
		uint32_t number = s->frames[s->frames_written].number;

		if (number != FRAME_NO_ROOM)
			err = s->source.name(s->source.context, number);
		if (!err)
			err = write_frame(s, s->frames_written + 1, frame_table__get(s->source.frames, number));
	}
	return err;
}

static int sink__frame(struct sink *sink, uint32_t number, const struct frame *f)
{
	struct recording_sink *s = (struct recording_sink *)sink;
	uint32_t id = number < s->id_count ? s->ids[number] : 0;

	/* A frame that is not in the file yet is written with its block. */
	return !s->ended && id && id <= s->frames_written ? write_frame(s, id, f) : 0;
}

/* -- processes --------------------------------------------------------------------------------- */

static int write_process(struct recording_sink *s, uint32_t row, const struct process_row *p)
{
	struct recording_process r = {
		.id = s->process_base + row + 1, .pid = p->pid, .uid = p->uid, .command = p->command,
		.ruby = p->ruby_version, .cgroup = p->cgroup, .ended = p->ended, .cwd = p->cwd,
		.executable = p->executable, .resource = p->resource,
		.flags = (p->replaced ? RECORDING_REPLACED : 0) | (p->watched ? RECORDING_WATCHED : 0),
		.began = p->started, .ended_at = p->ended_at, .cpu = p->cpu_time, .cpu_unfollowed = p->cpu_time_unfollowed,
		.cpu_samples = p->cpu_taken,
	};

	if (p->parent != PROCESS_NONE)
		r.parent = s->process_base + p->parent + 1;
	if (p->frame && !(r.frame = id_of(s, p->frame)))
		return -ENOMEM;
	return recording_writer__process(s->writer, &r);
}

static int write_new_processes(struct recording_sink *s)
{
	int err = 0;

	for (; s->processes_written < s->source.processes->count && !err; s->processes_written++)
		err = write_process(s, s->processes_written, &s->source.processes->rows[s->processes_written]);
	return err;
}

static int sink__process(struct sink *sink, uint32_t row, const struct process_row *p)
{
	struct recording_sink *s = (struct recording_sink *)sink;

	return !s->ended && row < s->processes_written ? write_process(s, row, p) : 0;
}

/* The id of a thread; 0: it is not known, or out of memory. */
static uint32_t thread_of(struct recording_sink *s, const struct sink_origin *origin)
{
	uint32_t process = origin->process == PROCESS_NONE ? 0 : s->process_base + origin->process + 1;
	uint32_t frame = origin->thread_frame ? id_of(s, origin->thread_frame) : 0, id;
	uint64_t key = (uint64_t)process << 32 | frame;

	if (!process && !frame)
		return 0;
	id = map64__get(&s->threads, key);
	if (id != MAP64_NONE)
		return id;
	id = s->thread_count + 1;
	if (recording_writer__thread(s->writer, id, process, frame) || map64__add(&s->threads, key, id))
		return 0;
	return s->thread_count = id;
}

/* -- samples ------------------------------------------------------------------------------------- */

static int write_losses(struct recording_sink *s)
{
	int err = 0;

	for (unsigned int i = 0; i < LOSS_MAX && !err; i++) {
		if (s->lost[i])
			err = recording_writer__event(s->writer, &(struct recording_event){
				.time = s->last_time, .kind = "lost", .text = loss__key(i), .number = s->lost[i] });
		s->lost[i] = 0;
	}
	return err;
}

static int flush(struct recording_sink *s)
{
	int err = write_losses(s);

	/* A process can have a new frame. */
	if (!err)
		err = write_new_processes(s);
	if (!err)
		err = write_new_frames(s);
	return err ? err : recording_writer__flush(s->writer);
}

/* The stack of some frames of a sample; -ENOMEM: there is none. */
static int stack_of(struct recording_sink *s, uint32_t count, uint32_t *stack)
{
	*stack = count ? recording_writer__stack(s->writer, s->stack, count) : 0;
	return count && !*stack ? -ENOMEM : 0;
}

static int add_frames(struct recording_sink *s, const uint32_t *frames, uint32_t count, uint32_t *n)
{
	for (uint32_t i = 0; i < count; i++) {
		s->stack[*n] = id_of(s, frames[i]);
		if (!s->stack[(*n)++])
			return -ENOMEM;
	}
	return 0;
}

static int labels_of(struct recording_sink *s, const struct sink_sample *sample, uint32_t *labels)
{
	uint32_t n = 0;

	return add_frames(s, sample->labels, sample->label_count, &n) ? -ENOMEM : stack_of(s, n, labels);
}

static int sink__sample(struct sink *sink, const struct sink_sample *sample)
{
	struct recording_sink *s = (struct recording_sink *)sink;
	struct recording_sample row = {
		.time = sample->time, .state = sample->source == SOURCE_SCHED ? (uint8_t)sample->state : STATE_RUNNING,
		.fiber = sample->origin.fiber, .marks = sample->label_marks,
	};
	int err = 0;

	if (sample->context)
		row.context = *sample->context;
	if (recording_writer__is_full(s->writer, sample->time, sample->view_count))
		err = flush(s);
	if (err || !sample->view_count)
		return err;
	s->row = sample->origin.process;
	row.thread = thread_of(s, &sample->origin);
	err = labels_of(s, sample, &row.labels);
	for (uint32_t i = 0; i < sample->view_count && !err; i++) {
		const struct sink_view *v = &sample->views[i];
		uint32_t n = 0;

		err = add_frames(s, sample->frames + sample->groups, sample->count - sample->groups, &n);
		if (!err)
			err = add_frames(s, v->below, v->below_count, &n);
		if (!err)
			err = stack_of(s, n, &row.stack);
		if (err)
			break;
		row.mode = (uint8_t)(v->mode + 1);
		row.value = v->weight.value;
		row.count = v->weight.count;
		err = recording_writer__sample(s->writer, &row);
	}
	s->last_time = sample->time;
	return recording_writer__why(s->writer, NULL) ? recording_writer__why(s->writer, NULL) : err;
}

static int sink__pause(struct sink *sink, const struct sink_pause *pause)
{
	struct recording_sink *s = (struct recording_sink *)sink;
	const struct sample_event *e = pause->event;
	struct gc_pause_parts of = gc_pause_parts__of(e);
	struct recording_pause row = {
		.time = e->time, .length = of.length, .waited = of.waited, .mark = of.parts[GC_PART_MARK],
		.sweep = of.parts[GC_PART_SWEEP], .compact = of.parts[GC_PART_COMPACT],
		.thread = thread_of(s, &pause->origin), .cause = e->extra, .reason = gc_reason__name(of.reason),
		.major = of.major,
	};

	return recording_writer__pause(s->writer, &row);
}

static int sink__loss(struct sink *sink, const struct sink_loss *loss)
{
	((struct recording_sink *)sink)->lost[loss->reason] += loss->count;
	return 0;
}

/* Numbers begin anew, ids go on. */
static int sink__restart(struct sink *sink)
{
	struct recording_sink *s = (struct recording_sink *)sink;
	int err = s->ended ? 0 : flush(s);

	memset(s->ids, 0, s->id_count * sizeof(*s->ids));
	for (uint32_t i = 0; i < s->frame_count; i++)
		s->frames[i].number = FRAME_STALE;
	s->no_room = 0;
	map64__clear(&s->threads);
	s->process_base += s->processes_written;
	s->processes_written = 0;
	return err;
}

int recording_sink__init(struct recording_sink *s, struct recording_writer *writer,
			 const struct recording_source *source, const struct mode *const *list, uint32_t mode_count)
{
	static const struct sink_ops ops = {
		.process = sink__process, .frame = sink__frame, .sample = sink__sample, .pause = sink__pause,
		.loss = sink__loss, .restart = sink__restart,
	};

	memset(s, 0, sizeof(*s));
	s->sink.ops = &ops;
	s->source = *source;
	s->writer = writer;
	return write_names(writer, list, mode_count);
}

int recording_sink__tick(struct recording_sink *s, uint64_t now)
{
	int err = s->sink.err;

	if (!err)
		err = recording_writer__why(s->writer, NULL);
	return err || !recording_writer__is_due(s->writer, now) ? err : flush(s);
}

int recording_sink__paused(struct recording_sink *s, uint64_t from, uint64_t until)
{
	int err = s->sink.err;

	return err ? err : recording_writer__event(s->writer, &(struct recording_event){
		.time = from, .kind = RECORDING_PAUSED, .number = until > from ? until - from : 0 });
}

int recording_sink__figure(struct recording_sink *s, uint64_t time, uint32_t row, uint64_t resident)
{
	return s->sink.err ? s->sink.err : recording_writer__figure(s->writer, &(struct recording_figure){
		.time = time, .process = s->process_base + row + 1, .resident = resident });
}

int recording_sink__heap(struct recording_sink *s, uint64_t time, uint32_t row, const struct heap_size *h)
{
	return s->sink.err ? s->sink.err : recording_writer__heap(s->writer, &(struct recording_heap){
		.time = time, .process = s->process_base + row + 1, .live_slots = h->live, .slots = h->slots, .bytes = h->page_bytes,
		.malloc_bytes = h->malloc_bytes });
}

int recording_sink__begin_state(struct recording_sink *s)
{
	int err = s->sink.err ? s->sink.err : flush(s);

	return err ? err : recording_writer__take_all_times(s->writer);
}

int recording_sink__lives(struct recording_sink *s, uint64_t time, uint32_t row, uint64_t objects)
{
	return s->sink.err ? s->sink.err : recording_writer__event(s->writer, &(struct recording_event){
		.time = time, .process = row == PROCESS_NONE ? 0 : s->process_base + row + 1, .kind = RECORDING_LIVES,
		.number = objects });
}

void recording_sink__trigger(struct recording_sink *s, uint64_t time, uint32_t row, const char *text)
{
	/* The writer keeps an error, and it is found in the next step. */
	if (!s->sink.err)
		recording_writer__event(s->writer, &(struct recording_event){
			.time = time, .process = row == PROCESS_NONE ? 0 : s->process_base + row + 1,
			.kind = RECORDING_TRIGGER, .text = text, .number = 1 });
}

int recording_sink__end(struct recording_sink *s)
{
	return s->sink.err ? s->sink.err : flush(s);
}

void recording_sink__free(struct recording_sink *s)
{
	recording_writer__destroy(s->writer);
	free(s->ids);
	free(s->frames);
	map64__free(&s->threads);
	s->writer = NULL;
}
