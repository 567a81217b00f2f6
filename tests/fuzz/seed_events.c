/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * seed_events MODES: writes an input for fuzz_events, an event of each kind.
 *   cc -I include -I tools/extprof tests/fuzz/seed_events.c -o /tmp/seed && for i in 0 1 2 3 4 5 6 7; do /tmp/seed $i > tests/fuzz/corpus/events/$i; done
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/alloc.h"
#include "wire/gc.h"
#include "wire/lifecycle.h"
#include "wire/sample.h"
#include "wire/states.h"
#include "wire/syscall.h"
#include "wire/wait_details.h"

/* The process, the VM and the code of fuzz_events. */
#define PROCESS 1u
#define VM 7u
#define CODE 3u

static void send(int lifecycle, const void *event, size_t size)
{
	const unsigned char head[] = { (unsigned char)lifecycle, (unsigned char)size, (unsigned char)(size >> 8) };

	fwrite(head, 1, sizeof(head), stdout);
	fwrite(event, 1, size, stdout);
}

static struct sample_event sample(enum sample_source source, enum sample_kind kind)
{
	return (struct sample_event){
		.time = 1000000000, .vm = VM, .tid = 42, .kind = (uint8_t)kind, .source = (uint16_t)source, .value = 10000000, .count = 1, .comm = "ruby",
		.thread = 30, .thread_slot = 3, .process = PROCESS,
	};
}

/* With a stack, and functions of the kernel and of native code. */
static void send_stack(struct sample_event e)
{
	struct {
		struct sample_event e;
		struct sample_frame frames[2];
		struct sample_machine machine;
	} s = { e, { { .id = CODE, .flags = FRAME_KNOWN | FRAME_FINISH }, { 0 } }, { .nr_kernel = 1, .nr_native = 2, .address = { 0xffffffff81000000, 0x400000, 0x400100 } } };

	s.e.nr_frames = 2;
	send(0, &s, sizeof(s.e) + sizeof(s.frames));
	s.e.flags |= SAMPLE_HAS_MACHINE;
	send(0, &s, sizeof(s.e) + sizeof(s.frames) + SAMPLE_MACHINE_HEAD + 3 * sizeof(uint64_t));
}

static void send_waits(void)
{
	struct wait_details details = { .e = sample(SOURCE_SCHED, SAMPLE_DETAILS), .file = { .path = "\0socket" }, .holder = { .comm = "holder" } };
	struct hold_event hold = { .e = sample(SOURCE_SCHED, SAMPLE_HOLD), .peer = { .comm = "peer" } };
	struct account_event account = { .e = sample(SOURCE_SCHED, SAMPLE_ACCOUNT), .account = { .process = PROCESS, .tid = 42, .comm = "ruby" } };
	struct sample_event e = sample(SOURCE_SCHED, SAMPLE_RUBY);

	send(0, &details, sizeof(details));
	send(0, &hold, sizeof(hold));
	e.flags = SAMPLE_HAS_DETAILS;
	for (uint32_t state = 0; state < STATE_MAX; state++) {
		e.state = state;
		send_stack(e);
	}
	e.flags = SAMPLE_WAITS;
	e.detail = 5;
	send_stack(e);
	e.kind = SAMPLE_RESUMED;
	e.state = STATE_IO;
	send(0, &e, sizeof(e));
	send(0, &account, sizeof(account));
}

static void send_processes(void)
{
	struct process_event e = {
		.time = 2000000000, .kind = PROCESS_FORKED, .process = 2, .pid = 2, .parent = PROCESS, .vm = 8, .parent_vm = VM, .records_end = 4, .comm = "child",
	};
	struct {
		struct memory_event e;
		char bytes[16];
	} memory = { .e = { .kind = PROCESS_MEMORY, .process = 2, .vm = 8, .length = 16, .address = 0x1000 } };

	send(1, &e, sizeof(e));
	e.kind = PROCESS_EXECUTED;
	send(1, &e, sizeof(e));
	send(1, &memory, sizeof(memory));
	e.kind = PROCESS_EXITED;
	e.exit_code = 9;
	send(1, &e, sizeof(e));
	e.kind = PROCESS_FREED;
	send(1, &e, sizeof(e));
	e.kind = PROCESS_EXITED;
	e.process = PROCESS;
	send(1, &e, sizeof(e));
}

int main(int argc, char **argv)
{
	int modes = argc > 1 ? atoi(argv[1]) : 0;
	struct sample_event e;

	putchar(modes | (modes & 1 ? 0x38 : 0xc0));
	for (int kind = SAMPLE_RUBY; kind <= SAMPLE_EXITING; kind++)
		send_stack(sample(SOURCE_CPU, (enum sample_kind)kind));
	send_waits();
	for (int source = SOURCE_SYSCALL; source < SOURCE_MAX; source++) {
		e = sample((enum sample_source)source, SAMPLE_RUBY);
		e.detail = CODE;
		e.gc_phase = RB_DEBUG_EXT_GC_MARK;
		send_stack(e);
	}
	send_processes();
	e = sample(SOURCE_CPU, SAMPLE_NATIVE);
	send(0, &e, sizeof(e));
	return 0;
}
