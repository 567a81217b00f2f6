/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * seed_memory: writes an input for fuzz_memory, a small ruby with all that it can have.
 *   cc -I include -I tests/fuzz -I tools/extprof tests/fuzz/seed_memory.c -o /tmp/seed && /tmp/seed | gzip -9n > tests/fuzz/corpus/memory/ruby.gz
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "memory_image.h"
#include "ruby/debug_external.h"

/* Where things are, as distances from the base. */
enum {
	RECORDS_DIR = 0x1000, EC_DIR = 0x1010, THREAD_DIR = 0x1020, RACTOR_DIR = 0x1030, EC = 0x1100, THREAD = 0x1400, FIBER = 0x1500,
	MUTEX = 0x1600, POOLS = 0x1700, COUNTERS = 0x1800, LIVE = 0x1900, LINES = 0x1b00, ENTRIES = 0x1c00, STRINGS = 0x2000, JIT_LOG = 0x3000,
	STACK = 0x4000, CODE = 0x8000, RECORDS = 0x10000, THREADS = 0x20000, ECS = 0x24000, RACTORS = 0x28000,
};
#define AT(x) (IMAGE_BASE + (uint64_t)(x))
#define STACK_WORDS 128u

static uint32_t strings = STRINGS;

static void patch(uint32_t at, const void *bytes, size_t length, uint16_t after)
{
	struct memory_patch p = { at, (uint16_t)length, after };

	fwrite(&p, sizeof(p), 1, stdout);
	fwrite(bytes, 1, length, stdout);
}

static void word(uint32_t at, uint64_t value)
{
	patch(at, &value, sizeof(value), 0);
}

static uint64_t string(const char *text)
{
	uint32_t length = (uint32_t)strlen(text), at = strings;

	patch(at, &length, sizeof(length), 0);
	patch(at + sizeof(length), text, length, 0);
	strings += sizeof(length) + (length + 7) / 8 * 8;
	return AT(at);
}

static void record(uint32_t id, uint8_t kind, const char *name, uint32_t ref1, uint32_t ref2, uint8_t flags)
{
	struct rb_debug_ext_record r = { .generation = 2, .kind = kind, .flags = flags, .ref1 = ref1, .ref2 = ref2, .level = kind == RB_DEBUG_EXT_BLOCK ? 2 : 0 };

	if (name)
		r.name = string(name);
	if (kind == RB_DEBUG_EXT_METHOD || kind == RB_DEBUG_EXT_BODY || kind == RB_DEBUG_EXT_BLOCK) {
		r.path = string("/app/a.rb");
		r.lines = AT(flags & RB_DEBUG_EXT_LINES_INSNS ? LINES : LINES + 0x80);
		r.code = AT(CODE + 0x100 * id);
		r.code_size = 8;
		r.first_line = 10 * id;
	}
	if (kind == RB_DEBUG_EXT_LABEL)
		r.path = string("value");
	patch(RECORDS + id * sizeof(r), &r, sizeof(r), 0);
}

static void frame(uint32_t number, uint32_t id, uint32_t code)
{
	uint32_t at = STACK + 8 * STACK_WORDS - 64 * (number + 1);

	word(at + 8, id);
	word(at + 24, code ? AT(CODE + 0x100 * code + 16) : 0);
	word(at + 48, number == 2 ? 0x30000 : 0);
}

static void tables(void)
{
	struct rb_debug_ext_thread t = {
		.generation = 2, .state = RB_DEBUG_EXT_THREAD_SLEEPING, .since = 5, .tid = 77, .ractor = 1, .serial = 9, .thread = AT(THREAD), .flags = 1,
		.wait_kind = RB_DEBUG_EXT_WAIT_MUTEX, .state_seq = 4, .wait_object = AT(MUTEX), .wait_fd = UINT32_MAX, .name = "worker",
	};
	struct rb_debug_ext_ec e = { .generation = 2, .thread_slot = 1, .ec = AT(EC), .serial = 5, .flags = 1, .thread_serial = 9 };
	struct rb_debug_ext_ractor r = { .generation = 2, .id = 1, .flags = 1, .main_thread_slot = 1, .name = "main" };

	patch(THREADS + sizeof(t), &t, sizeof(t), 0);
	t = (struct rb_debug_ext_thread){
		.generation = 2, .state = RB_DEBUG_EXT_THREAD_RUNNING, .tid = 78, .ractor = 1, .serial = 10, .thread = AT(THREAD + 16),
	};
	patch(THREADS + 2 * sizeof(t), &t, sizeof(t), 0);
	patch(ECS + sizeof(e), &e, sizeof(e), 0);
	e = (struct rb_debug_ext_ec){ .generation = 2, .thread_slot = 2, .ec = AT(EC + 0x80), .serial = 6, .flags = 1, .thread_serial = 10 };
	patch(ECS + 2 * sizeof(e), &e, sizeof(e), 0);
	e = (struct rb_debug_ext_ec){ .generation = 2, .thread_slot = 2, .ec = AT(EC + 0x100), .serial = 7, .thread_serial = 10 };
	patch(ECS + 3 * sizeof(e), &e, sizeof(e), 0);
	patch(RACTORS + sizeof(r), &r, sizeof(r), 0);
	word(RECORDS_DIR, AT(RECORDS));
	word(EC_DIR, AT(ECS));
	word(THREAD_DIR, AT(THREADS));
	word(RACTOR_DIR, AT(RACTORS));
	word(THREAD + 8, AT(EC));
	word(THREAD + 24, AT(EC + 0x80));
	word(MUTEX + 16, AT(FIBER));
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t ec = EC + 0x80 * i;

		word(ec + 8, AT(STACK));
		word(ec + 16, STACK_WORDS);
		word(ec + 24, AT(STACK + 8 * STACK_WORDS - 64 * 6));
		word(ec + 32, i + 1);
		word(ec + 40, 21);
		word(ec + 48, AT(CODE + 0x300 + 16));
		word(ec + 56, 0x0003000200010000ull);
		word(ec + 64, AT(FIBER + 0x40 * i));
		word(FIBER + 0x40 * i, i ? AT(FIBER) : 0);
	}
	for (uint32_t i = 0; i < 6; i++)
		frame(i, (const uint32_t[]){ 0, 3, 6, 8, 7, 12 }[i], (const uint32_t[]){ 0, 3, 6, 8, 0, 12 }[i]);
}

static void records(void)
{
	static const uint8_t pairs[] = { 6, 0, 0, 0, 0, 0, 2, 1, 3, 0x7f };

	record(3, RB_DEBUG_EXT_BODY, "<main>", 0, 0, 0);
	record(4, RB_DEBUG_EXT_NAMED, "Foo", 0, 0, 0);
	record(5, RB_DEBUG_EXT_SINGLETON, NULL, 4, 0, 0);
	record(6, RB_DEBUG_EXT_METHOD, "foo", 4, 0, RB_DEBUG_EXT_LINES_INSNS);
	record(7, RB_DEBUG_EXT_CMETHOD, "size\x1b[2J\xff", 5, 0, 0);
	record(8, RB_DEBUG_EXT_BLOCK, NULL, 6, 0, 0);
	record(9, RB_DEBUG_EXT_RESCUE, NULL, 8, 0, 0);
	record(10, RB_DEBUG_EXT_REFINEMENT, NULL, 4, 5, 0);
	record(11, RB_DEBUG_EXT_NESTED, "Bar", 14, 0, 0);
	record(12, RB_DEBUG_EXT_BMETHOD, "defined", 10, 6, 0);
	record(13, RB_DEBUG_EXT_EVAL, NULL, 12, 0, 0);
	record(14, RB_DEBUG_EXT_ANON_CLASS, NULL, 4, 0, 0);
	record(15, RB_DEBUG_EXT_ANON_MODULE, NULL, 0, 0, 0);
	record(16, RB_DEBUG_EXT_INSTANCE_SINGLETON, NULL, 11, 0, 0);
	record(17, RB_DEBUG_EXT_METHOD, "shared", 16, 0, RB_DEBUG_EXT_SHARED);
	record(18, RB_DEBUG_EXT_ENSURE, NULL, 17, 0, RB_DEBUG_EXT_RETIRED);
	record(19, RB_DEBUG_EXT_INTERNAL, "internal", 0, 0, 0);
	record(20, RB_DEBUG_EXT_LABEL, "key", 0, 0, 0);
	record(21, RB_DEBUG_EXT_LABEL, "user", 20, 0, 0);
	patch(LINES + 0x80, pairs, sizeof(pairs), 0);
	word(LINES, AT(ENTRIES));
	word(LINES + 8, 3);
	word(LINES + 16, AT(ENTRIES + 0x40));
	for (uint32_t i = 0; i < 3; i++)
		word(ENTRIES + 8 * i, 60 + i);
	word(ENTRIES + 0x40, 0x0000000100000000ull);
}

static void others(void)
{
	struct rb_debug_ext_jit_entry log[2] = { { 0, 16, 6, 0 }, { 16, 32, 8, 1 } };
	struct rb_debug_ext_live live[2] = { { .serial = 1, .address = 64, .id = 4, .type = 5, .size = 40, .weight = 4000 },
					     { .serial = 3, .address = 128, .id = 4, .type = 1, .size = 80, .weight = 800, .bytes = 80 } };

	patch(JIT_LOG, log, sizeof(log), 0);
	patch(LIVE, live, sizeof(live), 0);
	for (uint32_t i = 0; i < 2; i++) {
		word(POOLS + 64 * i, 40);
		word(POOLS + 64 * i + 8, 1000);
		word(POOLS + 64 * i + 16, 2);
		word(POOLS + 64 * i + 24, 500);
		word(POOLS + 64 * i + 32, 100);
	}
	word(COUNTERS, 3);
	word(COUNTERS + 8, 70000);
	word(COUNTERS + 16, 16 << 20);
}

int main(void)
{
	struct rb_debug_ext_section s = {
		.abi_major = RB_DEBUG_EXT_ABI_MAJOR, .abi_minor = RB_DEBUG_EXT_ABI_MINOR, .section_size = sizeof(s), .state = RB_DEBUG_EXT_READY, .pid = 77,
		.record_size = sizeof(struct rb_debug_ext_record), .ec_slot_size = sizeof(struct rb_debug_ext_ec),
		.thread_slot_size = sizeof(struct rb_debug_ext_thread), .jit_entry_size = sizeof(struct rb_debug_ext_jit_entry), .tls_current_ec = -64,
		.ec_vm_stack = 8, .ec_vm_stack_size = 16, .ec_cfp = 24, .ec_slot = 32, .ec_label = 40, .ec_resume_pc = 48, .ec_label_marks = 56,
		.frame_size = 64, .frame_ext_debug = 8, .frame_pc = 24, .frame_jit_return = 48, .frame_ep = 16, .thread_ec = 8,
		.lines_entries = 0, .lines_count = 8, .lines_index = 16, .lines_entry_size = 8, .lines_entry_line = 0,
		.records_dir = AT(RECORDS_DIR), .records_end = 22, .names_generation = 1, .ec_dir = AT(EC_DIR), .thread_dir = AT(THREAD_DIR),
		.ec_slots_end = 4, .thread_slots_end = 3, .gvl_thread_slot = 2, .jit_start = 0x30000, .jit_end = 0x40000, .jit_log = AT(JIT_LOG), .jit_log_len = 2,
		.ruby_version = "3.4.5", .ruby_description = "ruby 3.4.5 (made up)", .grace_seconds = 60, .jit_leaf_start = 0x50000, .jit_leaf_end = 0x60000,
		.ractor_dir = AT(RACTOR_DIR), .ractor_slots_end = 2, .ractor_slot_size = sizeof(struct rb_debug_ext_ractor),
		.ec_fiber = 64, .fiber_prev = 0, .fiber_ec = 8, .label_records = 2, .live = AT(LIVE), .live_end = 2,
		.live_entry_size = sizeof(struct rb_debug_ext_live), .live_generation = 2,
		.heap = { .pools = AT(POOLS), .empty_pages = AT(COUNTERS), .malloc_bytes = AT(COUNTERS + 8), .malloc_bytes_limit = AT(COUNTERS + 16),
			  .page_size = 65536, .pool_count = 2, .pool_size = 64, .slot_size = 0, .slots = 8, .pages = 16, .allocated = 24, .freed = 32, .ended = 40 },
	};

	memcpy(s.magic, RB_DEBUG_EXT_MAGIC, sizeof(s.magic));
	patch(0, &s, sizeof(s), 0);
	tables();
	records();
	others();
	/* What changes while it is read: a name's record is written, the log begins anew, a class gets a name. */
	patch(RECORDS + 17 * 64, &(uint32_t){ 3 }, 4, 60);
	patch(RECORDS + 17 * 64, &(uint32_t){ 4 }, 4, 62);
	patch(offsetof(struct rb_debug_ext_section, names_generation), &(uint32_t){ 2 }, 4, 90);
	patch(offsetof(struct rb_debug_ext_section, jit_log_generation), &(uint32_t){ 1 }, 4, 120);
	return 0;
}
