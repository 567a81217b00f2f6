/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/kernel_frames.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"

/* Beside the number of a frame: it is a part of how the kernel runs a program at a tracepoint. */
#define IS_TRACING 0x80000000u
#define NUMBER(value) ((value) & ~IS_TRACING)

/* Addresses are as many as the kernel's code has calls: the map begins anew before it is larger than this. */
#define NUMBERS_MAX (256u << 10)

void kernel_frames__load(struct kernel_frames *k)
{
	k->err = kernel_symbols__load(&k->symbols);
}

void kernel_frames__free(struct kernel_frames *k)
{
	kernel_symbols__free(&k->symbols);
	map64__free(&k->numbers);
	memset(k, 0, sizeof(*k));
}

void kernel_frames__restart(struct kernel_frames *k)
{
	map64__clear(&k->numbers);
	k->unnamed = k->unnamed_frame = 0;
}

/* Macros of the kernel make these names, include/trace/ and kernel/trace/. */
static bool is_tracing(const struct kernel_symbol *symbol)
{
	static const char *const prefixes[] = {
		"bpf_trace_run", "__bpf_trace_", "__traceiter_", "__probestub_", "bpf_trampoline_", "trace_call_bpf",
		"perf_trace_", "perf_syscall_", "perf_call_bpf_",
	};

	if (!strcmp(symbol->module, "bpf"))
		return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(symbol->name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* [kernel]: functions without names.  0: out of memory. */
static uint32_t unnamed_frame(struct kernel_frames *k, struct frame_table *t)
{
	struct frame f = FRAME_INIT(FRAME_KERNEL);

	f.name = "kernel";
	f.bracketed = true;
	if (!k->unnamed_frame)
		k->unnamed_frame = frame_table__add(t, &f);
	return k->unnamed_frame;
}

static uint32_t frame_of(struct kernel_frames *k, struct frame_table *t, const struct kernel_symbol *symbol)
{
	struct frame f = FRAME_INIT(FRAME_KERNEL);
	struct text name = { 0 }, module = { 0 };
	uint32_t number = 0;

	text__add_clean(&name, symbol->name, strlen(symbol->name), TEXT_NAME_MAX);
	text__add_clean(&module, symbol->module, strlen(symbol->module), TEXT_NAME_MAX);
	if (!name.failed && !module.failed) {
		f.name = text__string(&name);
		f.module = text__string(&module);
		number = frame_table__add(t, &f);
	}
	text__free(&name);
	text__free(&module);
	/* There may be no room for a new one. */
	return number ? number : unnamed_frame(k, t);
}

/* The number of a frame, with IS_TRACING; 0: out of memory. */
static uint32_t look_up(struct kernel_frames *k, struct frame_table *t, uint64_t address)
{
	struct kernel_symbol symbol;
	uint32_t value = map64__get(&k->numbers, address);

	if (value != MAP64_NONE)
		return value;
	if (kernel_symbols__find(&k->symbols, address, &symbol))
		value = unnamed_frame(k, t);
	else
		value = frame_of(k, t, &symbol) | (is_tracing(&symbol) ? IS_TRACING : 0);
	if (k->numbers.count >= NUMBERS_MAX)
		map64__clear(&k->numbers);
	return NUMBER(value) && !map64__add(&k->numbers, address, value) ? value : 0;
}

/* The innermost function runs at its address.  The other functions have the address of the instruction after the call,
 * which can be the first one of another function. */
static uint64_t address_of(const struct sample_machine *m, uint32_t i)
{
	return i ? m->address[i] - 1 : m->address[i];
}

static const char more_mark[] = "truncated: more functions of the kernel";

bool kernel_frames__is_mark(const struct frame *f)
{
	return f->kind == FRAME_MARK && !strcmp(f->name, more_mark);
}

static int append(uint32_t number, uint32_t *stack, uint32_t *count)
{
	stack[*count] = number;
	*count += number != 0;
	return number ? 0 : -ENOMEM;
}

int kernel_frames__add(struct kernel_frames *k, struct frame_table *t, const struct sample_machine *m, uint32_t *stack,
		       uint32_t *count)
{
	struct frame more = FRAME_INIT(FRAME_MARK);
	uint32_t unnamed = unnamed_frame(k, t), first = 0, last = 0, value = 0;
	bool has_unnamed = false;

	while (first < m->nr_kernel && (value = look_up(k, t, address_of(m, first))) & IS_TRACING)
		first++;
	if (!unnamed || (first < m->nr_kernel && !value))
		return -ENOMEM;
	more.name = more_mark;
	more.bracketed = true;
	if (m->nr_kernel == KERNEL_FRAMES_MAX && append(frame_table__add(t, &more), stack, count))
		return -ENOMEM;
	for (uint32_t i = m->nr_kernel; i-- > first;) {
		uint32_t number = NUMBER(look_up(k, t, address_of(m, i)));

		has_unnamed |= number == unnamed;
		/* Where names are hidden that is one frame, not one for each function. */
		if ((number != unnamed || last != unnamed) && append(number, stack, count))
			return -ENOMEM;
		last = number;
	}
	k->unnamed += has_unnamed;
	return 0;
}
