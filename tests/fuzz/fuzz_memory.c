/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of a ruby, which changes while it is read: the section, records and names, lines, labels, threads and fibers,
 * mutexes, the JIT code log, the heap, objects that live.  See memory_image.h for what an input is.
 */
#include <stdio.h>

#include "base/deadline.h"
#include "memory_image.h"
#include "need.h"
#include "process/own_name.h"
#include "remote/locks.h"
#include "remote/snapshot.h"
#include "ruby/heap_size.h"
#include "ruby/live_table.h"
#include "ruby/vm.h"

#define IDS 24u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed);

static struct memory_image image;

static void look_at_symbol(struct symbols *s, uint32_t id, uint64_t pc)
{
	const struct symbol *symbol = symbols__get(s, id), *code;
	struct text text = { 0 };
	int32_t line;

	if (!symbol)
		return;
	symbols__is_complete(symbol);
	code = symbols__code(symbol);
	symbols__add_name(symbol, &text);
	need(text.length < 4 * RB_DEBUG_EXT_NAME_MAX);
	need_clean(text__string(&text), text.length, false);
	text__clear(&text);
	symbols__add_path(symbol, &text);
	need_clean(text__string(&text), text.length, false);
	text__free(&text);
	symbols__has_lines(symbol);
	symbols__line(symbol, pc);
	if (code)
		symbols__line(symbol, code->code + 8);
	symbols__jit_line(s, symbol, pc, 1, &line);
	symbols__jit_line(s, symbol, s->layout->section.jit_start + (pc & 0xffff), deadline__now(), &line);
}

static void look_at_labels(struct symbols *s, uint32_t set)
{
	const struct label_record *record;
	struct text text = { 0 };

	for (uint32_t i = 0; i <= RB_DEBUG_EXT_LABELS_MAX && labels__at(s, set, i, &record) == LABEL_SET; i++) {
		need(record->key_length <= RB_DEBUG_EXT_LABEL_KEY_MAX && record->value_length <= RB_DEBUG_EXT_LABEL_VALUE_MAX);
		text__add_clean(&text, record->key, record->key_length, TEXT_NAME_MAX);
		if (record->value)
			text__add_clean(&text, record->value, record->value_length, TEXT_NAME_MAX);
	}
	labels__find(s, set, "key", &record);
	need_clean(text__string(&text), text.length, false);
	text__free(&text);
}

static void look_at_stack(struct vm *vm, const struct snapshot_ec *ec)
{
	const struct sample_frame *frames = ec->event ? (const struct sample_frame *)(ec->event + 1) : NULL;

	need(!ec->lost == (ec->event != NULL));
	if (!frames)
		return;
	need(ec->event->nr_frames <= SAMPLE_FRAMES_MAX && ec->size >= sizeof(*ec->event) + ec->event->nr_frames * sizeof(*frames));
	for (uint32_t i = 0; i < ec->event->nr_frames && i < 2 * IDS; i++)
		look_at_symbol(&vm->symbols, frames[i].id, frames[i].pc);
	look_at_labels(&vm->symbols, (uint32_t)ec->event->label);
}

static void look_at_threads(struct vm *vm)
{
	struct snapshot_source source = { .layout = &vm->layout, .memory = &vm->memory, .frozen = PROOF_CORE };
	struct snapshot s = { 0 };
	struct text text = { 0 };

	if (!snapshot__take(&s, &source)) {
		locks__read(&s, &source);
		need(s.bytes <= SNAPSHOT_BYTES_MAX + (1u << 20));
		for (uint32_t i = 0; i < s.thread_count; i++) {
			const struct snapshot_thread *t = &s.threads[i];

			need((uint64_t)t->first_ec + t->ec_count <= s.ec_count);
			if (i < IDS)
				threads__note(&vm->threads, t->t.serial, t->slot, t->t.tid);
			for (uint32_t k = 0; i < IDS && k < t->ec_count && k < IDS; k++)
				look_at_stack(vm, &s.ecs[t->first_ec + k]);
		}
	}
	snapshot__free(&s);
	threads__name_young(&vm->threads);
	threads__refresh(&vm->threads, true);
	for (uint32_t i = 0; i < vm->threads.count; i++) {
		thread__add_label(&vm->threads.list[i], &text);
		need_clean(text__string(&text), text.length, false);
		text__clear(&text);
	}
	text__free(&text);
}

static void look_at_heap(struct vm *vm)
{
	struct live_table live = { 0 };
	struct heap_size heap;
	uint64_t last = 0;

	if (!heap_size__read(&heap, &vm->memory, &vm->layout))
		need(heap.slots && heap.pages);
	/* No time to read it again. */
	if (!live_table__read(&live, &vm->memory, &vm->layout, 0))
		for (uint32_t i = 0; i < live.count; i++) {
			need(live.list[i].serial > last && live.list[i].size);
			last = live.list[i].serial;
		}
	live_table__free(&live);
}

static void look_at_ids(struct vm *vm)
{
	for (uint32_t id = 0; id < IDS; id++) {
		look_at_symbol(&vm->symbols, id, IMAGE_BASE + 8 * id);
		look_at_labels(&vm->symbols, id);
	}
}

static void look_at_child(struct vm *parent, const struct symbol_table *table)
{
	struct vm *child = vm__fork(parent, 78, 0, deadline__now());
	struct address_space *space = calloc(1, sizeof(*space));

	need(child && space);
	space->memory = image.memory;
	space->mem = space->maps = -1;
	space->trusted = true;
	look_at_ids(child);
	if (vm__bind(child, space))
		free(space);
	look_at_ids(child);
	vm__set_exited(child);
	vm__close(child);
	need(table->count <= SYMBOLS_MAX);
}

static void look(struct vm *vm, const struct symbol_table *table)
{
	struct target_config config;

	layout__config(&vm->layout, &config);
	layout__stores_pc(&vm->layout, IMAGE_BASE);
	need(config.frame_size <= WALK_FRAME_SIZE_MAX);
	vm->symbols.labels.wanted = true;
	look_at_ids(vm);
	look_at_threads(vm);
	look_at_heap(vm);
	symbols__update(&vm->symbols, false);
	symbols__prefetch(&vm->symbols, 200);
	look_at_child(vm, table);
	layout__refresh(&vm->layout, &vm->memory);
	layout__confirm(&vm->layout, &vm->memory);
	symbols__update(&vm->symbols, true);
	look_at_ids(vm);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct address_space *space = calloc(1, sizeof(*space));
	struct target target = { .pidfd = -1, .section = IMAGE_BASE };
	struct symbol_table table = { 0 };
	struct diag d = { 0 };
	struct vm *vm;

	need(space != NULL);
	memory_image__init(&image, data, size);
	free(own_name__of_context(&image.memory, IMAGE_BASE + 4096));
	space->memory = image.memory;
	space->mem = space->maps = -1;
	/* What may be told of its process is another subject. */
	space->trusted = true;
	target.space = space;
	memory__read(&space->memory, IMAGE_BASE + offsetof(struct rb_debug_ext_section, pid), &target.key.pid, sizeof(target.key.pid));
	if (vm__open(&vm, &target, &table, &d)) {
		need(d.text[0]);
		need_clean(d.text, strlen(d.text), false);
		address_space__close(target.space);
	} else {
		look(vm, &table);
		vm__close(vm);
	}
	symbol_table__free(&table);
	return 0;
}

/* Mostly the bytes of one patch, or one more word: a byte that is put between two patches moves all that follow. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	struct memory_patch p = { .at = (seed >> 8) % IMAGE_SIZE & ~7u, .length = 8 };
	size_t at = 0, count = 0, chosen;

	while (size - at >= sizeof(p) && ++count) {
		memcpy(&p, data + at, sizeof(p));
		at += sizeof(p);
		at += p.length < size - at ? p.length : size - at;
	}
	if (!count || seed % 8 == 0)
		return LLVMFuzzerMutate(data, size, room);
	chosen = (seed >> 3) % count;
	for (at = 0; chosen--; at += p.length + sizeof(p))
		memcpy(&p, data + at, sizeof(p));
	memcpy(&p, data + at, sizeof(p));
	if (p.length > size - at - sizeof(p))
		p.length = (uint16_t)(size - at - sizeof(p));
	if (seed % 8 == 1) {
		LLVMFuzzerMutate(data + at, sizeof(p), sizeof(p));
	} else if (seed % 8 == 2 && room - size >= sizeof(p) + 8) {
		/* The same place, later, with something else in it. */
		p.length = p.length < 8 ? p.length : 8;
		p.after = (uint16_t)(seed >> 16 & 0xff);
		memmove(data + size + sizeof(p), data + at + sizeof(p), p.length);
		memcpy(data + size, &p, sizeof(p));
		size += sizeof(p) + p.length;
		LLVMFuzzerMutate(data + size - p.length, p.length, p.length);
	} else if (p.length) {
		LLVMFuzzerMutate(data + at + sizeof(p), p.length, p.length);
	}
	return size;
}
