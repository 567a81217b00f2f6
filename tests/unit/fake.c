/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A VM keeps what it made for good: tell the leak checker that it is no leak. */
static void *keep(void *p)
{
	static void **kept;
	static size_t count;

	kept = realloc(kept, (count + 1) * sizeof(*kept));
	if (!p || !kept)
		abort();
	kept[count++] = p;
	return p;
}

static void *zeroed(size_t size)
{
	return keep(calloc(1, size));
}

void fake__fill(struct fake *f, struct rb_debug_ext_section *s)
{
	memset(f, 0, sizeof(*f));
	memset(s, 0, sizeof(*s));
	f->section = s;
	f->next_id = RB_DEBUG_EXT_ID_FIRST;
	for (int i = 0; i < FAKE_CHUNKS; i++)
		f->records_dir[i] = (uintptr_t)zeroed(RB_DEBUG_EXT_RECORDS_PER_CHUNK *
						      sizeof(struct rb_debug_ext_record));
	f->ec_dir[0] = (uintptr_t)zeroed(RB_DEBUG_EXT_SLOTS_PER_CHUNK *
					 sizeof(struct rb_debug_ext_ec));
	f->thread_dir[0] = (uintptr_t)zeroed(RB_DEBUG_EXT_SLOTS_PER_CHUNK *
					     sizeof(struct rb_debug_ext_thread));
	memcpy(s->magic, RB_DEBUG_EXT_MAGIC, sizeof(s->magic));
	s->abi_major = RB_DEBUG_EXT_ABI_MAJOR;
	s->abi_minor = RB_DEBUG_EXT_ABI_MINOR;
	s->section_size = sizeof(*s);
	s->pid = (uint32_t)getpid();
	s->record_size = sizeof(struct rb_debug_ext_record);
	s->ec_slot_size = sizeof(struct rb_debug_ext_ec);
	s->thread_slot_size = sizeof(struct rb_debug_ext_thread);
	s->jit_entry_size = sizeof(struct rb_debug_ext_jit_entry);
	s->tls_current_ec = FAKE_TLS;
	s->ec_vm_stack = offsetof(struct fake_ec, vm_stack);
	s->ec_vm_stack_size = offsetof(struct fake_ec, vm_stack_size);
	s->ec_cfp = offsetof(struct fake_ec, cfp);
	s->ec_slot = offsetof(struct fake_ec, slot);
	s->ec_label = offsetof(struct fake_ec, label);
	s->ec_jit_entry_sp = offsetof(struct fake_ec, jit_sp);
	s->ec_resume_pc = offsetof(struct fake_ec, resume_pc);
	s->ec_context = offsetof(struct fake_ec, context);
	s->ec_label_marks = offsetof(struct fake_ec, marks);
	s->frame_size = sizeof(struct fake_frame);
	s->frame_pc = offsetof(struct fake_frame, pc);
	s->frame_ext_debug = offsetof(struct fake_frame, ext_debug);
	s->frame_jit_return = offsetof(struct fake_frame, jit_return);
	s->frame_self = offsetof(struct fake_frame, self);
	s->frame_ep = offsetof(struct fake_frame, ep);
	s->thread_ec = offsetof(struct fake_thread, ec);
	s->records_dir = (uintptr_t)f->records_dir;
	s->records_end = RB_DEBUG_EXT_ID_FIRST;
	s->ec_dir = (uintptr_t)f->ec_dir;
	s->thread_dir = (uintptr_t)f->thread_dir;
	s->ec_slots_end = s->thread_slots_end = 1;
	strcpy(s->ruby_version, "3.4.5");
	strcpy(s->ruby_description, "ruby 3.4.5 (fake)");
}

void fake__init(struct fake *f, struct rb_debug_ext_section *s)
{
	fake__fill(f, s);
	__atomic_store_n(&s->state, RB_DEBUG_EXT_READY, __ATOMIC_RELEASE);
}

struct rb_debug_ext_record *fake__get(struct fake *f, uint32_t id)
{
	struct rb_debug_ext_record *chunk =
		(void *)(uintptr_t)f->records_dir[id / RB_DEBUG_EXT_RECORDS_PER_CHUNK];

	return &chunk[id % RB_DEBUG_EXT_RECORDS_PER_CHUNK];
}

static uint64_t string(const char *data, size_t length)
{
	uint32_t size = (uint32_t)length;
	char *s = zeroed(sizeof(size) + length + 1);

	memcpy(s, &size, sizeof(size));
	memcpy(s + sizeof(size), data, length);
	return (uintptr_t)s;
}

void fake__set_name(struct rb_debug_ext_record *r, const char *name, size_t length)
{
	r->name = string(name, length);
}

void fake__set_path(struct rb_debug_ext_record *r, const char *path)
{
	r->path = string(path, strlen(path));
}

uint32_t fake__record(struct fake *f, int kind, const char *name, uint32_t ref1, uint32_t ref2)
{
	uint32_t id = f->next_id++;
	struct rb_debug_ext_record *r;

	if (id >= FAKE_CHUNKS * RB_DEBUG_EXT_RECORDS_PER_CHUNK)
		abort();
	r = fake__get(f, id);
	r->kind = (uint8_t)kind;
	r->ref1 = ref1;
	r->ref2 = ref2;
	r->level = kind == RB_DEBUG_EXT_BLOCK;
	if (name)
		fake__set_name(r, name, strlen(name));
	r->generation = 2;
	f->section->records_end = f->next_id;
	return id;
}

void fake__set_code(struct rb_debug_ext_record *r, uint32_t words, uint32_t first)
{
	uint32_t size = (words + 1) / 2 * 2;
	uint8_t *lines = zeroed(sizeof(size) + size);

	r->code = (uintptr_t)zeroed(8ull * words);
	r->code_size = words;
	r->first_line = first;
	memcpy(lines, &size, sizeof(size));
	for (uint32_t i = 0; i < size; i += 2) {
		lines[sizeof(size) + i] = i ? 2 : 0;	/* two words on */
		lines[sizeof(size) + i + 1] = 1;	/* one line on */
	}
	r->lines = (uintptr_t)lines;
}

uint64_t fake__pc(const struct rb_debug_ext_record *r, uint32_t word)
{
	return r->code + 8ull * (word + 1);
}

struct fake_ec *fake__ec(uint32_t frames)
{
	struct fake_ec *ec = zeroed(sizeof(*ec));
	/* Values and locals grow from the other end of the stack: leave some room for them. */
	size_t words = frames * sizeof(struct fake_frame) / 8 + 64;
	void *stack;

	if (posix_memalign(&stack, 4096, words * 8))
		abort();
	keep(stack);
	memset(stack, 0, words * 8);
	ec->vm_stack = (uintptr_t)stack;
	ec->vm_stack_size = words;
	ec->cfp = ec->vm_stack + words * 8;
	return ec;
}

struct rb_debug_ext_thread *fake__thread(struct fake *f, uint32_t slot, uint64_t serial,
					 const char *name, const struct fake_ec *ec)
{
	struct rb_debug_ext_thread *t = (struct rb_debug_ext_thread *)(uintptr_t)f->thread_dir[0] + slot;
	struct fake_thread *thread = zeroed(sizeof(*thread));

	if (slot >= RB_DEBUG_EXT_SLOTS_PER_CHUNK)
		abort();
	thread->ec = (uintptr_t)ec;
	t->generation++;
	t->state = RB_DEBUG_EXT_THREAD_RUNNING;
	t->tid = t->flags = 0;
	t->ractor = 1;
	t->serial = serial;
	t->thread = (uintptr_t)thread;
	memset(t->name, 0, sizeof(t->name));
	memcpy(t->name, name, strlen(name));
	t->generation++;
	if (f->section->thread_slots_end <= slot)
		f->section->thread_slots_end = slot + 1;
	return t;
}

struct rb_debug_ext_ec *fake__ec_slot(struct fake *f, struct fake_ec *ec, uint32_t slot,
				      uint32_t thread_slot)
{
	struct rb_debug_ext_ec *e = (struct rb_debug_ext_ec *)(uintptr_t)f->ec_dir[0] + slot;
	const struct rb_debug_ext_thread *thread = (const void *)(uintptr_t)f->thread_dir[0];

	if (thread_slot >= RB_DEBUG_EXT_SLOTS_PER_CHUNK)
		abort();
	if (slot >= RB_DEBUG_EXT_SLOTS_PER_CHUNK)
		abort();
	e->generation++;
	e->ec = (uintptr_t)ec;
	e->thread_slot = thread_slot;
	e->thread_serial = thread[thread_slot].serial;
	e->generation++;
	ec->slot = slot;
	if (f->section->ec_slots_end <= slot)
		f->section->ec_slots_end = slot + 1;
	return e;
}
