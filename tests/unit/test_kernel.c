/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of the kernel: their names, and the frames of samples. */
#include "test.h"

#include <errno.h>

#include "no_memory.h"
#include "profile_fixture.h"

static struct kernel_frames kernel_frames;

/* As the kernel writes it: not sorted, with data, aliases and modules. */
static const char kallsyms[] =
	"ffffffff81000000 T _stext\n"
	"ffffffff81000000 T _text\n"
	"ffffffff81002000 t do_syscall_64\n"
	"ffffffff81001000 T entry_SYSCALL_64_after_hwframe\n"
	"ffffffff81003000 t __pfx___x64_sys_read\n"
	"ffffffff81003010 T __x64_sys_read\n"
	"ffffffff81004000 T vfs_read\n"
	"ffffffff81004000 W weak_alias_of_vfs_read\n"
	"ffffffff81005000 T bpf_trace_run2\n"
	"ffffffff81006000 T __traceiter_sys_enter\n"
	"ffffffff81007000 D data\n"
	"0000000000000010 A fixed_percpu_data\n"
	"nonsense\n"
	"zz T no_number\n"
	"\n"
	"ffffffff81008000 T\n"
	"ffffffffc0000000 t ext4_read\t[ext4]\n"
	"ffffffffc0000100 t ext4_write\t[ext4]\n"
	"ffffffffc0001000 t bpf_prog_00d1_syscall_enter\t[bpf]\n"
	"ffffffff81009000 T evil\033[31m;name\n";

static int read_symbols(struct kernel_symbols *s, const char *text)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text) + 1, "r");
	int err = kernel_symbols__read(s, f);

	fclose(f);
	return err;
}

static const char *name_of(const struct kernel_symbols *s, uint64_t address)
{
	struct kernel_symbol symbol;

	return kernel_symbols__find(s, address, &symbol) ? "none" : symbol.name;
}

TEST(kernel_symbols_are_found_by_address)
{
	struct kernel_symbols s = { 0 };
	struct kernel_symbol symbol;

	CHECK_INT(read_symbols(&s, kallsyms), 0);
	CHECK_STRING(name_of(&s, 0), "none");
	CHECK_STRING(name_of(&s, 0xffffffff80ffffffull), "none");
	CHECK_STRING(name_of(&s, 0xffffffff81000000ull), "_text");	/* the shorter one */
	CHECK_STRING(name_of(&s, 0xffffffff81000fffull), "_text");
	CHECK_STRING(name_of(&s, 0xffffffff81001000ull), "entry_SYSCALL_64_after_hwframe");
	CHECK_STRING(name_of(&s, 0xffffffff81002abcull), "do_syscall_64");
	CHECK_STRING(name_of(&s, 0xffffffff8100300full), "__pfx___x64_sys_read");
	CHECK_STRING(name_of(&s, 0xffffffff81003010ull), "__x64_sys_read");
	CHECK_STRING(name_of(&s, 0xffffffff81004321ull), "vfs_read");
	/* Data is no function: what is there is behind the one before. */
	CHECK_STRING(name_of(&s, 0xffffffff81007000ull), "__traceiter_sys_enter");
	/* Far behind the last one of a part of the memory. */
	CHECK_STRING(name_of(&s, 0xffffffff81009000ull + KERNEL_FUNCTION_MAX - 1), "evil\033[31m;name");
	CHECK_STRING(name_of(&s, 0xffffffff81009000ull + KERNEL_FUNCTION_MAX), "none");
	CHECK_STRING(name_of(&s, UINT64_MAX), "none");
	CHECK_INT(kernel_symbols__find(&s, 0xffffffffc0000100ull, &symbol), 0);
	CHECK_STRING(symbol.name, "ext4_write");
	CHECK_STRING(symbol.module, "ext4");
	CHECK_INT(kernel_symbols__find(&s, 0xffffffff81004000ull, &symbol), 0);
	CHECK_STRING(symbol.module, "");
	kernel_symbols__free(&s);
	CHECK_STRING(name_of(&s, 0xffffffff81004000ull), "none");
}

TEST(kernel_symbols_can_be_hidden_or_missing)
{
	struct kernel_symbols s = { 0 };

	CHECK_INT(read_symbols(&s, "0000000000000000 T _text\n0000000000000000 t do_syscall_64\n"), -EPERM);
	CHECK_INT(read_symbols(&s, "ffffffff81000000 D data\n"), -ENOENT);
	CHECK_INT(read_symbols(&s, "\n"), -ENOENT);
	CHECK_INT(s.count, 0);
	no_memory = true;
	CHECK_INT(read_symbols(&s, kallsyms), -ENOMEM);
	no_memory = false;
	CHECK(!s.list && !s.names);
}

/* -- frames ---------------------------------------------------------------------------------- */

/* Innermost first, behind the frames that the sample has by now. */
static void in_kernel(const uint64_t *functions, uint16_t count)
{
	struct sample_machine *m = (struct sample_machine *)&sample.frames[sample.event.nr_frames];

	memset(m, 0, sizeof(*m));
	m->nr_kernel = count;
	memcpy(m->address, functions, count * sizeof(*functions));
	sample.event.flags |= SAMPLE_HAS_MACHINE;
}

static size_t size_with(uint16_t count)
{
	return sizeof(sample.event) + sample.event.nr_frames * sizeof(struct sample_frame) + SAMPLE_MACHINE_HEAD +
	       count * sizeof(uint64_t);
}

#define KERNEL(...) do { \
	const uint64_t list[] = { __VA_ARGS__ }; \
	in_kernel(list, sizeof(list) / sizeof(list[0])); \
	resolve__event(&resolver, &sample, size_with(sizeof(list) / sizeof(list[0]))); \
} while (0)

static void set_up_kernel(const char *text)
{
	set_up();
	memset(&kernel_frames, 0, sizeof(kernel_frames));
	kernel_frames.err = read_symbols(&kernel_frames.symbols, text);
	resolver.kernel = &kernel_frames;
	start();
	frame(size_id, 0);
	frame(foo_id, 0);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
}

static void tear_down_kernel(void)
{
	kernel_frames__free(&kernel_frames);
	tear_down();
}

TEST(kernel_frames_are_below_those_of_ruby)
{
	set_up_kernel(kallsyms);
	/* Return addresses: that of entry_ is the first byte behind it. */
	KERNEL(0xffffffff81004000, 0xffffffff81003020, 0xffffffff81002010, 0xffffffff81002000);
	/* In a collection, and in a thread without Ruby code. */
	sample.event.gc_phase = RB_DEBUG_EXT_GC_MARK;
	KERNEL(0xffffffff81002000);
	sample.event.gc_phase = 0;
	sample.event.kind = SAMPLE_NATIVE;
	sample.event.nr_frames = 0;
	KERNEL(0xffffffffc0000108);
	CHECK_STRING(folded(), "Foo#foo;Array#size;[GC mark];do_syscall_64_[k] 1\n"
		     "Foo#foo;Array#size;entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];__x64_sys_read_[k];vfs_read_[k] 1\n"
		     "[native thread ruby];ext4_write_[k] 1\n");
	CHECK_INT(resolver.received[SOURCE_CPU].whole, 3);
	CHECK_INT(kernel_frames.unnamed, 0);
	tear_down_kernel();
}

/* By which the kernel ran the program that took the sample. */
TEST(kernel_frames_leave_out_the_tracing)
{
	set_up_kernel(kallsyms);
	KERNEL(0xffffffffc0001010, 0xffffffff81005010, 0xffffffff81006010, 0xffffffff81002010);
	KERNEL(0xffffffffc0001010, 0xffffffff81005010);
	CHECK_STRING(folded(), "Foo#foo;Array#size 1\nFoo#foo;Array#size;do_syscall_64_[k] 1\n");
	/* Not where something else ran in between. */
	KERNEL(0xffffffff81002010, 0xffffffff81005010);
	CHECK_STRING(folded(), "Foo#foo;Array#size 1\nFoo#foo;Array#size;bpf_trace_run2_[k];do_syscall_64_[k] 1\n"
		     "Foo#foo;Array#size;do_syscall_64_[k] 1\n");
	tear_down_kernel();
}

TEST(kernel_frames_without_names)
{
	struct report r;

	set_up_kernel("0000000000000000 T _text\n");
	CHECK_INT(kernel_frames.err, -EPERM);
	KERNEL(0xffffffff81004000, 0xffffffff81003020);
	CHECK_STRING(folded(), "Foo#foo;Array#size;[kernel] 1\n");
	CHECK_INT(kernel_frames.unnamed, 1);
	/* The text of an address is in no output. */
	build_report(&r, REPORT_BY_CODE);
	for (uint32_t i = 0; i < r.label_count; i++)
		CHECK(!r.labels[i].frame.address);
	report__free(&r);
	tear_down_kernel();

	/* A module that came later, between functions that have names, and a name with bytes that do harm. */
	set_up_kernel(kallsyms);
	KERNEL(0xffffffffd0000000, 0xffffffffd0000010, 0xffffffff81002010, 0xffffffff81009010);
	CHECK_STRING(folded(), "Foo#foo;Array#size;evil\\x1B[31m:name_[k];do_syscall_64_[k];[kernel] 1\n");
	CHECK_INT(kernel_frames.unnamed, 1);
	tear_down_kernel();
}

TEST(kernel_frames_can_be_too_many)
{
	uint64_t list[KERNEL_FRAMES_MAX];

	set_up_kernel(kallsyms);
	for (uint32_t i = 0; i < KERNEL_FRAMES_MAX; i++)
		list[i] = 0xffffffff81002010;
	in_kernel(list, KERNEL_FRAMES_MAX);
	resolve__event(&resolver, &sample, size_with(KERNEL_FRAMES_MAX));
	CHECK(strstr(folded(), "Foo#foo;Array#size;[truncated: more functions of the kernel];do_syscall_64_[k];"));
	CHECK_INT(resolver.received[SOURCE_CPU].whole, 1);
	tear_down_kernel();
}

TEST(kernel_frames_that_make_no_sense)
{
	static const uint64_t list[KERNEL_FRAMES_MAX] = { 0xffffffff81002010 };

	set_up_kernel(kallsyms);
	in_kernel(list, 2);
	resolve__event(&resolver, &sample, size_with(1));	/* one is missing */
	resolve__event(&resolver, &sample, size_with(0) - 1);
	resolve__event(&resolver, &sample, size_with(0) - SAMPLE_MACHINE_HEAD);
	in_kernel(list, KERNEL_FRAMES_MAX);
	((struct sample_machine *)&sample.frames[sample.event.nr_frames])->nr_kernel = KERNEL_FRAMES_MAX + 1;
	resolve__event(&resolver, &sample, size_with(KERNEL_FRAMES_MAX + 1));
	CHECK_INT(resolver.received[SOURCE_CPU].lost[LOSS_MALFORMED], 4);
	CHECK_STRING(folded(), "");
	loss_hit[LOSS_MALFORMED] += 4;
	/* Who does not want them does not get them. */
	resolver.kernel = NULL;
	in_kernel(list, 1);
	resolve__event(&resolver, &sample, size_with(1));
	CHECK_STRING(folded(), "Foo#foo;Array#size 1\n");
	tear_down_kernel();
}

TEST(kernel_frames_of_a_new_window)
{
	set_up_kernel(kallsyms);
	KERNEL(0xffffffff81002010, 0xffffffffd0000000);
	frame_table__free(&frames);
	frame_table__init(&frames);
	tree__free(&tree);
	tree__init(&tree);
	CHECK_INT(resolve__restart(&resolver), 0);
	CHECK_INT(kernel_frames.unnamed, 0);
	KERNEL(0xffffffff81004000);
	CHECK_STRING(folded(), "Foo#foo;Array#size;vfs_read_[k] 1\n");
	tear_down_kernel();
}

TEST(kernel_frames_without_memory)
{
	set_up_kernel(kallsyms);
	/* Stacks and nodes that are there already need none. */
	resolve__event(&resolver, &sample, sizeof(sample.event) + sample.event.nr_frames * sizeof(struct sample_frame));
	no_memory = true;
	KERNEL(0xffffffff81002010);
	no_memory = false;
	CHECK_INT(resolver.received[SOURCE_CPU].lost[LOSS_NO_MEMORY], 1);
	loss_hit[LOSS_NO_MEMORY]++;
	KERNEL(0xffffffff81002010);
	CHECK_STRING(folded(), "Foo#foo;Array#size 1\nFoo#foo;Array#size;do_syscall_64_[k] 1\n");
	tear_down_kernel();
}
