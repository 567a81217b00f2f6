/* SPDX-License-Identifier: BSD-2-Clause */
/* VMs that fork makes: whose names their symbols have. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/text.h"
#include "fake.h"
#include "process/target.h"
#include "ruby/vm.h"

static struct rb_debug_ext_section section;
static struct fake ruby;
static struct symbol_table table;
static struct text out;
static struct diag diag;
static uint32_t foo, bar;
static struct vm *parent;

/* The target is this process, with a section that a test has filled. */
static struct vm *open_own(void)
{
	struct target target = { .pid = getpid(), .pidfd = -1, .key = { .pid = (uint32_t)getpid() } };
	struct vm *vm;
	int err;

	target.section = (uintptr_t)&section;
	target.space = address_space__open(getpid(), &err);
	if (!target.space || vm__open(&vm, &target, &table, &diag))
		abort();
	vm->confirmed = true;
	return vm;
}

static void set_up(void)
{
	fake__init(&ruby, &section);
	section.pid = (uint32_t)getpid();
	foo = fake__record(&ruby, RB_DEBUG_EXT_NAMED, "Foo", 0, 0);
	bar = fake__record(&ruby, RB_DEBUG_EXT_METHOD, "bar", foo, 0);
	fake__set_path(fake__get(&ruby, bar), "/app/foo.rb");
	fake__set_code(fake__get(&ruby, bar), 20, 30);
	parent = open_own();
}

static void tear_down(void)
{
	symbol_table__free(&table);
	text__free(&out);
}

static struct vm *fork_vm(struct vm *of)
{
	return vm__fork(of, (uint32_t)getpid(), section.records_end, deadline__now());
}

/* Its memory is the one that we have. */
static void bind(struct vm *vm)
{
	struct address_space *space;
	int err;

	space = address_space__open(getpid(), &err);
	CHECK_INT(vm__bind(vm, space), 0);
}

static const char *name_in(struct vm *vm, uint32_t id)
{
	const struct symbol *s = symbols__get(&vm->symbols, id);

	text__clear(&out);
	if (s)
		symbols__add_name(s, &out);
	return text__string(&out);
}

TEST(vm_child_has_what_its_parent_had_described)
{
	const struct symbol *s;
	struct vm *child;

	set_up();
	child = fork_vm(parent);
	/* Nobody had asked for it before: it is read in the parent. */
	s = symbols__get(&child->symbols, bar);
	CHECK_STRING(name_in(child, bar), "Foo#bar");
	CHECK_INT(symbols__line(s, fake__pc(fake__get(&ruby, bar), 2)), 32);
	/* One symbol for both. */
	CHECK_INT(s->number, symbols__get(&parent->symbols, bar)->number);
	/* Also when the child has ended, and the parent after it. */
	vm__set_exited(child);
	CHECK_STRING(name_in(child, bar), "Foo#bar");
	vm__set_exited(parent);
	CHECK_STRING(name_in(child, bar), "Foo#bar");
	vm__close(child);
	vm__close(parent);
	tear_down();
}

TEST(vm_child_does_not_take_later_code_of_its_parent)
{
	uint32_t later, end;
	struct vm *child;

	set_up();
	child = fork_vm(parent);
	end = section.records_end;
	later = fake__record(&ruby, RB_DEBUG_EXT_METHOD, "of_parent", foo, 0);
	CHECK(later >= end);
	CHECK_STRING(name_in(parent, later), "Foo#of_parent");
	/* In the child the same id is something else, and cannot be read yet. */
	CHECK_STRING(name_in(child, later), "[too much to read]");
	/* Its memory was not opened before it ended. */
	vm__set_exited(child);
	CHECK_STRING(name_in(child, later), "[exited before resolved]");
	vm__close(child);
	vm__close(parent);
	tear_down();
}

TEST(vm_child_reads_its_own_memory_when_it_is_open)
{
	uint32_t own;
	struct vm *child;

	set_up();
	child = fork_vm(parent);
	own = fake__record(&ruby, RB_DEBUG_EXT_METHOD, "of_child", foo, 0);
	/* Seen before it can be read: the frame gets its name later. */
	CHECK_STRING(name_in(child, own), "[too much to read]");
	bind(child);
	CHECK_INT(symbols__update(&child->symbols, false), 0);
	CHECK_STRING(name_in(child, own), "Foo#of_child");
	vm__close(parent);
	vm__close(child);
	tear_down();
}

TEST(vm_child_names_its_class_after_the_fork)
{
	uint32_t anonymous, method;
	struct vm *dead, *child;

	set_up();
	anonymous = fake__record(&ruby, RB_DEBUG_EXT_ANON_CLASS, NULL, foo, 0);
	method = fake__record(&ruby, RB_DEBUG_EXT_METHOD, "run", anonymous, 0);
	CHECK_STRING(name_in(parent, method), "#<anonymous subclass of Foo>#run");
	child = fork_vm(parent);
	dead = fork_vm(parent);
	vm__set_exited(dead);
	bind(child);
	/* What the child does is not seen by the parent: its symbols are in the cache. */
	fake__get(&ruby, anonymous)->kind = RB_DEBUG_EXT_NAMED;
	fake__set_name(fake__get(&ruby, anonymous), "Late", 4);
	CHECK_STRING(name_in(child, method), "Late#run");
	CHECK_STRING(name_in(parent, method), "#<anonymous subclass of Foo>#run");
	CHECK_STRING(name_in(dead, method), "#<anonymous subclass of Foo>#run");
	/* What cannot change is shared nevertheless. */
	CHECK_INT(symbols__get(&child->symbols, bar)->number, symbols__get(&parent->symbols, bar)->number);
	vm__close(dead);
	vm__close(child);
	vm__close(parent);
	tear_down();
}

TEST(vm_names_stay_when_all_are_closed)
{
	const struct symbol *of_parent, *of_child;
	struct vm *child;
	uint32_t own;

	set_up();
	child = fork_vm(parent);
	of_parent = symbols__get(&child->symbols, bar);
	own = fake__record(&ruby, RB_DEBUG_EXT_METHOD, "own", foo, 0);
	bind(child);
	of_child = symbols__get(&child->symbols, own);
	/* The parent ends first, as one that makes a daemon. */
	vm__set_exited(parent);
	vm__close(parent);
	CHECK_STRING(name_in(child, bar), "Foo#bar");
	vm__set_exited(child);
	vm__close(child);
	text__clear(&out);
	symbols__add_name(of_parent, &out);
	text__adds(&out, " ");
	symbols__add_path(of_parent, &out);
	text__adds(&out, " ");
	symbols__add_name(of_child, &out);
	CHECK_STRING(text__string(&out), "Foo#bar /app/foo.rb Foo#own");
	CHECK(symbols__is_complete(of_parent));
	tear_down();
}

/* Each generation makes the next one and ends. */
TEST(vm_generations_without_end)
{
	struct vm *vm, *child;

	set_up();
	vm = parent;
	for (int i = 0; i < 1000; i++) {
		child = fork_vm(vm);
		vm__set_exited(vm);
		vm__close(vm);
		vm = child;
		CHECK(vm->depth <= VM_DEPTH_MAX);
	}
	/* Nobody had asked while it could be read: then it is the last one's to read. */
	bind(vm);
	CHECK_STRING(name_in(vm, bar), "Foo#bar");
	vm__close(vm);
	tear_down();
}

/* What the first of a long line has described, all have, also one that is never read. */
TEST(vm_long_line_keeps_the_names_of_the_first)
{
	struct vm *line[40];

	set_up();
	CHECK_STRING(name_in(parent, bar), "Foo#bar");
	for (int i = 0; i < 40; i++)
		line[i] = fork_vm(i ? line[i - 1] : parent);
	for (int i = 39; i >= 0; i--) {
		CHECK_STRING(name_in(line[i], bar), "Foo#bar");
		vm__set_exited(line[i]);
		vm__close(line[i]);
	}
	vm__close(parent);
	tear_down();
}

/* The kernel could not read how many ids there were: what was read before the fork is true, what was
 * read after it can be of later code. */
TEST(vm_child_without_a_number_of_ids)
{
	struct vm *early, *late, *grandchild;
	uint32_t later;
	uint64_t before;

	set_up();
	before = parent->layout.read_at - 1;
	early = vm__fork(parent, (uint32_t)getpid(), 0, deadline__now());
	CHECK_STRING(name_in(early, bar), "Foo#bar");
	late = vm__fork(parent, (uint32_t)getpid(), 0, before);
	CHECK_STRING(name_in(late, bar), "[too much to read]");
	later = fake__record(&ruby, RB_DEBUG_EXT_METHOD, "later", foo, 0);
	CHECK_INT(symbols__update(&parent->symbols, false), 0);
	CHECK_STRING(name_in(parent, later), "Foo#later");
	CHECK_STRING(name_in(early, later), "[too much to read]");
	/* What a child has of its parent, its own child has too. */
	grandchild = vm__fork(early, (uint32_t)getpid(), 0, before);
	CHECK_STRING(name_in(grandchild, bar), "Foo#bar");
	CHECK_STRING(name_in(grandchild, later), "[too much to read]");
	vm__close(grandchild);
	vm__close(late);
	vm__close(early);
	vm__close(parent);
	tear_down();
}

TEST(vm_refuses_the_memory_of_another)
{
	struct address_space *space;
	struct vm *child;
	int err;

	set_up();
	child = vm__fork(parent, (uint32_t)getpid() + 1, section.records_end, deadline__now());
	space = address_space__open(getpid(), &err);
	/* It has not made its first step, or is another process with that pid. */
	CHECK_INT(vm__bind(child, space), -EAGAIN);
	section.magic[0] ^= 1;
	CHECK_INT(vm__bind(child, space), -ESTALE);
	section.magic[0] ^= 1;
	address_space__close(space);
	vm__close(child);
	vm__close(parent);
	tear_down();
}

TEST(vm_child_has_the_names_of_threads)
{
	const struct thread *thread;
	struct text label = { 0 };
	struct vm *child;

	set_up();
	fake__thread(&ruby, 3, 30, "worker", NULL);
	threads__note(&parent->threads, 30, 3, 77);
	child = fork_vm(parent);
	thread = threads__note(&child->threads, 30, 3, 78);
	CHECK_STRING(thread->name, "worker");
	/* Its own name, as soon as that can be read. */
	fake__thread(&ruby, 3, 30, "renamed", NULL);
	bind(child);
	threads__refresh(&child->threads, true);
	CHECK_STRING(thread->name, "renamed");
	text__free(&label);
	vm__close(child);
	vm__close(parent);
	tear_down();
}

TEST(vm_threads_that_name_themselves_later)
{
	const struct thread *thread;
	int looks = 0;

	set_up();
	/* It is sampled while it starts, is named when it runs, and its slot is that of another one when it has ended. */
	fake__thread(&ruby, 3, 30, "", NULL);
	thread = threads__note(&parent->threads, 30, 3, 77);
	CHECK_STRING(thread->name, "");
	CHECK(threads__name_young(&parent->threads));
	fake__thread(&ruby, 3, 30, "worker", NULL);
	/* Not sampled since. */
	CHECK(!threads__name_young(&parent->threads));
	threads__note(&parent->threads, 30, 3, 77);
	CHECK(threads__name_young(&parent->threads));
	CHECK_STRING(thread->name, "worker");
	threads__note(&parent->threads, 30, 3, 77);
	CHECK(!threads__name_young(&parent->threads));
	fake__thread(&ruby, 3, 31, "another", NULL);
	threads__refresh(&parent->threads, true);
	CHECK_STRING(thread->name, "worker");
	/* One that never has a name is not read for ever. */
	fake__thread(&ruby, 4, 40, "", NULL);
	do
		threads__note(&parent->threads, 40, 4, 78);
	while (threads__name_young(&parent->threads) && ++looks < 100);
	CHECK(looks > 1 && looks < 100);
	vm__close(parent);
	tear_down();
}

static uint64_t remains_sum;

static void keep(struct vm *vm, const void *from, size_t length)
{
	remains__add(&vm->remains, &remains_sum, (uintptr_t)from, from, (uint32_t)length);
}

static void keep_string(struct vm *vm, uint64_t address)
{
	const struct rb_debug_ext_string *s = (const void *)(uintptr_t)address;

	keep(vm, s, sizeof(*s) + s->length);
}

static void keep_record(struct vm *vm, uint32_t id)
{
	const struct rb_debug_ext_record *r = fake__get(&ruby, id);

	keep(vm, &ruby.records_dir[id / RB_DEBUG_EXT_RECORDS_PER_CHUNK], 8);
	keep(vm, r, section.record_size);
	keep_string(vm, r->name);
}

TEST(vm_that_has_ended_is_named_by_what_remains_of_its_memory)
{
	uint32_t seen, own, plain, lost;
	const struct symbol *s;
	struct vm *child;

	set_up();
	child = fork_vm(parent);
	seen = fake__record(&ruby, RB_DEBUG_EXT_METHOD, "seen", foo, 0);
	own = fake__record(&ruby, RB_DEBUG_EXT_METHOD, "own", foo, 0);
	fake__set_path(fake__get(&ruby, own), "/app/own.rb");
	fake__set_code(fake__get(&ruby, own), 20, 70);
	plain = fake__record(&ruby, RB_DEBUG_EXT_METHOD, "plain", foo, 0);
	fake__set_code(fake__get(&ruby, plain), 20, 90);
	lost = fake__record(&ruby, RB_DEBUG_EXT_METHOD, "lost", foo, 0);
	/* A sample has it, and the memory is not open yet. */
	CHECK_STRING(name_in(child, seen), "[too much to read]");
	keep(child, &section, sizeof(section));
	keep_record(child, seen);
	keep_record(child, own);
	keep_string(child, fake__get(&ruby, own)->path);
	keep_string(child, fake__get(&ruby, own)->lines);
	keep_record(child, plain);
	CHECK_INT(remains_sum, child->remains.bytes);
	vm__set_exited(child);
	CHECK_STRING(name_in(child, seen), "Foo#seen");
	CHECK_STRING(name_in(child, own), "Foo#own");
	s = symbols__get(&child->symbols, own);
	CHECK_STRING(s->path, "/app/own.rb");
	CHECK_INT(symbols__line(s, fake__pc(fake__get(&ruby, own), 2)), 72);
	/* Its lines do not remain, its name does. */
	CHECK_STRING(name_in(child, plain), "Foo#plain");
	CHECK_INT(symbols__line(symbols__get(&child->symbols, plain), fake__pc(fake__get(&ruby, plain), 2)), 0);
	CHECK_STRING(name_in(child, lost), "[exited before resolved]");
	vm__close(child);
	CHECK_INT(remains_sum, 0);
	vm__close(parent);
	tear_down();
}

TEST(vm_that_has_ended_shares_no_name_that_its_parent_gave_later)
{
	uint32_t anonymous, method, own;
	struct vm *child;

	set_up();
	anonymous = fake__record(&ruby, RB_DEBUG_EXT_ANON_CLASS, NULL, 0, 0);
	child = fork_vm(parent);
	/* The parent calls the class Late::Name; in the child the id of Late is another one's. */
	own = fake__record(&ruby, RB_DEBUG_EXT_NAMED, "Late", 0, 0);
	fake__get(&ruby, anonymous)->kind = RB_DEBUG_EXT_NESTED;
	fake__get(&ruby, anonymous)->ref1 = own;
	fake__set_name(fake__get(&ruby, anonymous), "Name", 4);
	CHECK_STRING(name_in(parent, anonymous), "Late::Name");
	fake__set_name(fake__get(&ruby, own), "Qux", 3);
	method = fake__record(&ruby, RB_DEBUG_EXT_METHOD, "m", anonymous, 0);
	keep(child, &section, sizeof(section));
	keep_record(child, own);
	keep_record(child, method);
	vm__set_exited(child);
	CHECK_STRING(name_in(child, own), "Qux");
	CHECK_STRING(name_in(child, method), "?#m");
	vm__close(child);
	vm__close(parent);
	tear_down();
}

static int asked;

static void tell_of_the_end(void *context)
{
	struct vm *vm = context;

	asked++;
	keep(vm, &section, sizeof(section));
	keep_record(vm, bar);
	keep_string(vm, fake__get(&ruby, bar)->path);
	keep_record(vm, foo);
}

TEST(vm_whose_memory_goes_before_its_end_is_told)
{
	set_up();
	vm__set_gone(parent, tell_of_the_end, parent);
	/* The process has ended: each read fails with -ESRCH. */
	address_space__leave(parent->space);
	asked = 0;
	CHECK_STRING(name_in(parent, bar), "Foo#bar");
	CHECK(asked && !parent->exited);
	vm__set_exited(parent);
	CHECK_STRING(name_in(parent, bar), "Foo#bar");
	vm__close(parent);
	tear_down();
}
