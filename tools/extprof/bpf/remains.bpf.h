/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * When a process ends, send the records of its youngest ids with their texts and lines.  User space reads names some
 * time after the sample, and the memory of a process that lives for milliseconds is gone by then.  Names that the
 * process has from its parent are read in the parent.
 *
 * The memory of the process is still there: since Linux 6.16 the kernel gives it up after sched_process_exit.  On older
 * ones nothing is sent.
 */
#ifndef EXTPROF_REMAINS_BPF_H
#define EXTPROF_REMAINS_BPF_H

#include "wire/lines.h"

/* Records of a process that lived so long, ns; older ones have been read but for the last ones. */
#define REMAINS_YOUNG 2000000000ull
#define REMAINS_OF_YOUNG 2048u
#define REMAINS_OF_OLD 256u
/* They are sent in rounds of so many: the verifier follows each loop once. */
#define REMAINS_ROUND 64u

/* Pieces of a table of lines. */
#define REMAINS_PIECES 8u

struct remains {
	struct memory_event event;
	uint8_t bytes[MEMORY_PIECE_MAX];
	struct rb_debug_ext_section section;
	struct rb_debug_ext_record record;
	uint64_t chunk;		/* address of the chunk of records that was read last */
	uint32_t chunk_number;
	uint32_t users;		/* programs that are at it: one can preempt another one */
	uint64_t path;		/* that was sent last: neighbours have the same */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct remains);
} remains SEC(".maps");

static __always_inline struct remains *remains__get(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&remains, &zero);
}

/* 0, or the piece was not sent.  Not static: the verifier follows it once. */
__weak __noinline int remains_piece(uint64_t address, uint32_t length)
{
	struct remains *r = remains__get();
	uint64_t size = length;

	walk_opaque(size);
	if (!r || !address || !size || size > MEMORY_PIECE_MAX ||
	    bpf_ringbuf_query(&lifecycle, BPF_RB_AVAIL_DATA) > LIFECYCLE_RING_SIZE / 2)
		return -1;
	if (bpf_probe_read_user(r->bytes, size, (const void *)address))
		return -1;
	r->event.address = address;
	r->event.length = (uint32_t)size;
	return (int)bpf_ringbuf_output(&lifecycle, &r->event, sizeof(r->event) + size, BPF_RB_NO_WAKEUP);
}

/* More than a piece, or nothing if it is too much. */
__weak __noinline int remains_bytes(uint64_t address, uint32_t length)
{
	if (!address || length > REMAINS_PIECES * MEMORY_PIECE_MAX)
		return -1;
	for (uint32_t i = 0; i < REMAINS_PIECES; i++) {
		uint32_t from = i * MEMORY_PIECE_MAX;

		if (from >= length)
			break;
		if (remains_piece(address + from, length - from > MEMORY_PIECE_MAX ? MEMORY_PIECE_MAX : length - from))
			return -1;
	}
	return 0;
}

/* A length of 4 bytes, and so many bytes. */
__weak __noinline int remains_sized(uint64_t address)
{
	uint32_t length = 0;

	if (!address || read_target(&length, sizeof(length), address) || length > RB_DEBUG_EXT_STRING_MAX)
		return -1;
	return remains_bytes(address, length + (uint32_t)sizeof(length));
}

/* The table of lines that the VM uses itself. */
__weak __noinline int remains_lines(uint64_t address)
{
	struct remains *r = remains__get();
	uint64_t entries = 0, index = 0, at, size;
	uint32_t count = 0;

	if (!r || !address)
		return -1;
	at = address + r->section.lines_entries;
	if (read_target(&entries, sizeof(entries), at) || remains_piece(at, sizeof(entries)))
		return -1;
	at = address + r->section.lines_index;
	if (read_target(&index, sizeof(index), at) || remains_piece(at, sizeof(index)))
		return -1;
	at = address + r->section.lines_count;
	if (read_target(&count, sizeof(count), at) || remains_piece(at, sizeof(count)))
		return -1;
	if (!count || count > REMAINS_PIECES * MEMORY_PIECE_MAX)
		return 0;
	if (remains_bytes(entries, count * r->section.lines_entry_size))
		return -1;
	if (count == 1)
		return 0;
	size = lines__index_size(r->record.code_size);
	return size > REMAINS_PIECES * MEMORY_PIECE_MAX ? -1 : remains_bytes(index, (uint32_t)size);
}

/* The record of an id, with what it refers to.  -1: there is no more room. */
__weak __noinline int remains_record(uint32_t id)
{
	struct remains *r = remains__get();
	uint32_t chunk = id / RB_DEBUG_EXT_RECORDS_PER_CHUNK;
	uint64_t address, size;

	if (!r || chunk >= RB_DEBUG_EXT_RECORD_CHUNKS_MAX)
		return -1;
	if (chunk != r->chunk_number || !r->chunk) {
		address = r->section.records_dir + 8ull * chunk;
		if (read_target(&r->chunk, sizeof(r->chunk), address) || remains_piece(address, sizeof(r->chunk)))
			return -1;
		r->chunk_number = chunk;
	}
	/* The VM gave it back after all its records had expired. */
	if (!r->chunk)
		return 0;
	size = r->section.record_size;
	if (size > sizeof(r->record))
		size = sizeof(r->record);
	address = r->chunk + (uint64_t)(id % RB_DEBUG_EXT_RECORDS_PER_CHUNK) * r->section.record_size;
	walk_opaque(size);
	if (size > sizeof(r->record) || bpf_probe_read_user(&r->record, size, (const void *)address))
		return 0;
	/* A label describes no frame. */
	if (r->record.kind == RB_DEBUG_EXT_NONE || r->record.kind == RB_DEBUG_EXT_LABEL)
		return 0;
	if (remains_piece(address, (uint32_t)size))
		return -1;
	remains_sized(r->record.name);
	if (r->record.path != r->path && !remains_sized(r->record.path))
		r->path = r->record.path;
	if (r->record.flags & RB_DEBUG_EXT_LINES_INSNS)
		remains_lines(r->record.lines);
	else
		remains_sized(r->record.lines);
	return 0;
}

/* The records of the youngest `count` ids below `end`, and no more than a round.  -1: that was all, or there is no more
 * room. */
__weak __noinline int remains_round(uint32_t end, uint32_t count)
{
	for (uint32_t i = 0; i < REMAINS_ROUND; i++)
		if (i >= count || remains_record(end - 1 - i))
			return -1;
	return 0;
}

static __always_inline int remains__is_sampled(uint32_t process)
{
	for (uint32_t source = 0; source < SOURCE_MAX; source++) {
		struct counter_key key = { .process = process, .source = source };
		struct source_counters *c = bpf_map_lookup_elem(&counters, &key);

		if (c && c->taken)
			return 1;
	}
	return 0;
}

/* The current thread is the last one of that process, and ends. */
static __always_inline void remains__send(const struct target_config *cfg, struct task_struct *task)
{
	struct remains *r = remains__get();
	uint64_t age = bpf_ktime_get_boot_ns() - task__started(task);
	uint32_t first, end, most;

	if (!r || !cfg->section || cfg->flags & (TARGET_SHARED | TARGET_WATCHED) || !KERNEL_READ(task, mm) ||
	    !remains__is_sampled(cfg->process))
		return;
	end = records_end(cfg);
	first = cfg->records_end > RB_DEBUG_EXT_ID_FIRST ? cfg->records_end : RB_DEBUG_EXT_ID_FIRST;
	most = age < REMAINS_YOUNG ? REMAINS_OF_YOUNG : REMAINS_OF_OLD;
	if (end > most && first < end - most)
		first = end - most;
	if (first >= end)
		return;
	__sync_fetch_and_add(&r->users, 1);
	if (*(volatile uint32_t *)&r->users != 1)
		goto leave;
	r->event.time = bpf_ktime_get_ns();
	r->event.kind = PROCESS_MEMORY;
	r->event.process = cfg->process;
	r->event.vm = cfg->vm;
	r->chunk = r->path = 0;
	if (read_target(&r->section, sizeof(r->section), cfg->section) ||
	    remains_piece(cfg->section, sizeof(r->section)))
		goto leave;
	/* The oldest ones have been read most likely, if the ring has no room for all. */
	for (uint32_t i = 0; i < REMAINS_OF_YOUNG; i += REMAINS_ROUND)
		if (i >= end - first || remains_round(end - i, end - first - i))
			break;
leave:
	__sync_fetch_and_add(&r->users, -1);
}

#endif /* EXTPROF_REMAINS_BPF_H */
