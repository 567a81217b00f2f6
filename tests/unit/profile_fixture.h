/* SPDX-License-Identifier: BSD-2-Clause */
/* A ruby in our own memory, its samples, and the profile that they make: each file that includes this has
 * one of its own. */
#ifndef PROFILE_FIXTURE_H
#define PROFILE_FIXTURE_H

#include "test.h"

#include <stdio.h>
#include <string.h>

#include "fake.h"
#include "memory_fake.h"
#include "output/output.h"
#include "profile/frame_names.h"
#include "profile/report.h"
#include "profile/resolve.h"
#include "profile/tree.h"

static struct rb_debug_ext_section section;
static struct fake ruby;
static struct memory_fake memory;
static struct tree tree;
static struct symbol_table table;
static struct frame_table frames;
static struct tree_sink tree_sink;
static struct vm vm;
static struct processes processes;
static struct resolver resolver;
/* What the report shows; as in the profile unless a test says something else. */
static const struct groups *show;
static struct diag diag;
static uint32_t main_id, foo_id, bar_id, size_id, block_id;

static struct {
	struct sample_event event;
	struct sample_frame frames[SAMPLE_FRAMES_MAX];
	struct sample_machine room;	/* behind the last frame */
} sample;

/* The row of the process whose samples are sent. */
static uint32_t vm_row;

static inline struct vm *vm_of(void *context, const struct sample_event *e, uint32_t *row)
{
	(void)context;
	*row = vm_row;
	return e->vm == 1 ? &vm : NULL;
}

static inline void set_up(void)
{
	uint32_t foo, array;

	fake__init(&ruby, &section);
	memory_fake__init(&memory);
	vm.confirmed = false;
	main_id = fake__record(&ruby, RB_DEBUG_EXT_BODY, "<main>", 0, 0);
	foo = fake__record(&ruby, RB_DEBUG_EXT_NAMED, "Foo", 0, 0);
	array = fake__record(&ruby, RB_DEBUG_EXT_NAMED, "Array", 0, 0);
	foo_id = fake__record(&ruby, RB_DEBUG_EXT_METHOD, "foo", foo, 0);
	bar_id = fake__record(&ruby, RB_DEBUG_EXT_METHOD, "bar", foo, 0);
	size_id = fake__record(&ruby, RB_DEBUG_EXT_CMETHOD, "size", array, 0);
	block_id = fake__record(&ruby, RB_DEBUG_EXT_BLOCK, NULL, foo_id, 0);
	for (uint32_t id = main_id; id <= block_id; id++) {
		if (id == foo || id == array || id == size_id)
			continue;
		fake__set_path(fake__get(&ruby, id), "app.rb");
		fake__set_code(fake__get(&ruby, id), 10, id * 100);
	}
	show = NULL;
	processes__free(&processes);
	frame_table__free(&frames);
	vm_row = 0;
	tree__init(&tree);
	frame_table__init(&frames);
	memset(&resolver, 0, sizeof(resolver));
	resolver.frames = &frames;
	tree_sink__init(&tree_sink, &tree);
	sinks__add(&resolver.sinks, &tree_sink.sink);
	resolver.vm_of = vm_of;
	resolver.processes = &processes;
	processes__add(&processes);
	layout__read(&vm.layout, &memory.memory, (uintptr_t)&section, &diag);
	symbols__init(&vm.symbols, &table, &vm.layout, &memory.memory);
	threads__init(&vm.threads, &vm.layout, &memory.memory);
}

static inline void tear_down(void)
{
	symbols__free(&vm.symbols);
	threads__free(&vm.threads);
	symbol_table__free(&table);
	tree__free(&tree);
	frame_table__free(&frames);
	processes__free(&processes);
}

static inline void start(void)
{
	memset(&sample, 0, sizeof(sample));
	sample.event.kind = SAMPLE_RUBY;
	sample.event.vm = 1;
	sample.event.tid = 42;
	strcpy(sample.event.comm, "ruby");
}

/* Innermost first, as in the ring buffer; the pc runs at word `word`. */
static inline void frame(uint32_t id, uint32_t word)
{
	struct sample_frame *f = &sample.frames[sample.event.nr_frames++];

	f->id = id;
	f->pc = id >= RB_DEBUG_EXT_ID_FIRST && id < ruby.next_id ? fake__pc(fake__get(&ruby, id), word) : 0;
}

static inline void send(int times)
{
	for (int i = 0; i < times; i++)
		resolve__event(&resolver, &sample, sizeof(sample.event) +
			       sample.event.nr_frames * sizeof(struct sample_frame));
}

static inline int build_report(struct report *r, enum report_detail detail)
{
	int err = frame_names__take_all(&frames, &table);

	return err ? err : report__build(r, &tree, &frames, show ? show : &resolver.groups, detail, NULL);
}

/* The report in folded form. */
static char written[1 << 16];

static inline const char *render(const struct output_format *format, bool by_line, bool html)
{
	struct output_options o = { .html = html, .top = 20 };
	struct report r;
	FILE *f = fmemopen(written, sizeof(written) - 1, "w");

	memset(written, 0, sizeof(written));
	build_report(&r, by_line ? REPORT_BY_LINE : format->detail);
	strcpy(r.meta.command, "ruby <app>.rb & \"co\"");
	strcpy(r.meta.ruby_version, "3.4.5");
	format->write(&r, 1, &o, f);
	fclose(f);
	report__free(&r);
	return written;
}

static inline const char *folded(void)
{
	return render(&output_folded, false, false);
}

/* So many samples of a thread; -t. */
static inline void send_in(uint64_t serial, uint32_t slot, uint32_t tid, int times)
{
	start();
	frame(foo_id, 0);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	sample.event.thread = serial;
	sample.event.thread_slot = slot;
	sample.event.tid = tid;
	send(times);
}

static inline void set_up_threads(void)
{
	set_up();
	groups__add(&resolver.groups, GROUP_THREAD);
	fake__thread(&ruby, 3, 30, "puma;1", NULL);
	fake__thread(&ruby, 4, 40, "", NULL)->flags = RB_DEBUG_EXT_THREAD_MAIN;
	fake__thread(&ruby, 5, 50, "", NULL);
	fake__thread(&ruby, 6, 60, "", NULL)->flags = RB_DEBUG_EXT_THREAD_MAIN;
	((struct rb_debug_ext_thread *)(uintptr_t)ruby.thread_dir[0])[6].ractor = 2;
}

#endif /* PROFILE_FIXTURE_H */
