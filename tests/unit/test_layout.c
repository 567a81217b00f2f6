/* SPDX-License-Identifier: BSD-2-Clause */
/* The section is untrusted: each field is corrupted in turn. */
#include "test.h"

#include "fake.h"
#include "ruby/layout.h"
#include "memory_fake.h"

#define SECTION_SIZE_DRAFT 472u

static struct rb_debug_ext_section section;
static struct fake vm;
static struct layout layout;
static struct diag diag;

static int check(void)
{
	memset(&layout, 0, sizeof(layout));
	memset(&diag, 0, sizeof(diag));
	return layout__check(&layout, &section, sizeof(section), &diag);
}

TEST(layout_takes_a_good_section)
{
	fake__init(&vm, &section);
	CHECK_INT(check(), 0);
	/* A later minor version has more fields and larger structures. */
	section.abi_minor = 7;
	section.section_size = 664;
	section.record_size = 96;
	section.ec_slot_size = 80;
	section.thread_slot_size = 256;
	section.jit_entry_size = 32;
	CHECK_INT(check(), 0);
}

#define FIELD(name) { #name, offsetof(struct rb_debug_ext_section, name), \
	sizeof(((struct rb_debug_ext_section *)0)->name) }

static const struct {
	struct {
		const char *name;
		size_t offset, size;
	} field;
	uint64_t value;
	int code;
} bad[] = {
	{ FIELD(abi_major), 0, DIAG_VERSION },
	{ FIELD(abi_major), 2, DIAG_VERSION },
	{ FIELD(abi_major), 0xffff, DIAG_VERSION },
	{ FIELD(section_size), 0, DIAG_VERSION },
	{ FIELD(section_size), 19, DIAG_VERSION },
	{ FIELD(section_size), 472, DIAG_VERSION },
	{ FIELD(section_size), 583, DIAG_VERSION },
	{ FIELD(section_size), 0xffffffff, DIAG_VERSION },
	{ FIELD(state), 4, DIAG_VERSION },
	{ FIELD(state), 0xffffffff, DIAG_VERSION },
	{ FIELD(record_size), 0, DIAG_VERSION },
	{ FIELD(record_size), 63, DIAG_VERSION },
	{ FIELD(record_size), 68, DIAG_VERSION },
	{ FIELD(record_size), 0xfff8, DIAG_VERSION },
	{ FIELD(ec_slot_size), 56, DIAG_VERSION },
	{ FIELD(thread_slot_size), 184, DIAG_VERSION },
	{ FIELD(jit_entry_size), 8, DIAG_VERSION },
	{ FIELD(jit_entry_size), 25, DIAG_VERSION },
	{ FIELD(tls_current_ec), 1, DIAG_VERSION },
	{ FIELD(tls_current_ec), 1ull << 31, DIAG_VERSION },
	{ FIELD(tls_current_ec), 1ull << 63, DIAG_VERSION },
	{ FIELD(ec_vm_stack), 1, DIAG_VERSION },
	{ FIELD(ec_vm_stack_size), 4, DIAG_VERSION },
	{ FIELD(ec_vm_stack_size), offsetof(struct fake_ec, vm_stack), DIAG_VERSION },
	{ FIELD(ec_cfp), 3, DIAG_VERSION },
	{ FIELD(ec_cfp), offsetof(struct fake_ec, vm_stack), DIAG_VERSION },
	{ FIELD(ec_cfp), offsetof(struct fake_ec, vm_stack_size), DIAG_VERSION },
	{ FIELD(ec_slot), 2, DIAG_VERSION },
	{ FIELD(ec_resume_pc), 4, DIAG_VERSION },
	{ FIELD(ec_context), 4, DIAG_VERSION },
	{ FIELD(ec_label_marks), 3, DIAG_VERSION },
	{ FIELD(ec_resume_pc), offsetof(struct fake_ec, vm_stack), DIAG_VERSION },
	{ FIELD(ec_resume_pc), offsetof(struct fake_ec, vm_stack_size), DIAG_VERSION },
	{ FIELD(ec_resume_pc), offsetof(struct fake_ec, cfp), DIAG_VERSION },
	{ FIELD(thread_ec), 1, DIAG_VERSION },
	{ FIELD(frame_size), 0, DIAG_VERSION },
	{ FIELD(frame_size), 24, DIAG_VERSION },
	{ FIELD(frame_size), 60, DIAG_VERSION },
	{ FIELD(frame_size), 264, DIAG_VERSION },
	{ FIELD(frame_size), 0xfff8, DIAG_VERSION },
	{ FIELD(frame_pc), 4, DIAG_VERSION },
	{ FIELD(frame_pc), 64, DIAG_VERSION },
	{ FIELD(frame_pc), 0xfff8, DIAG_VERSION },
	{ FIELD(frame_ext_debug), 1, DIAG_VERSION },
	{ FIELD(frame_ext_debug), 64, DIAG_VERSION },
	{ FIELD(frame_ext_debug), offsetof(struct fake_frame, pc), DIAG_VERSION },
	{ FIELD(frame_jit_return), 2, DIAG_VERSION },
	{ FIELD(frame_jit_return), 72, DIAG_VERSION },
	{ FIELD(frame_jit_return), offsetof(struct fake_frame, pc), DIAG_VERSION },
	{ FIELD(frame_jit_return), offsetof(struct fake_frame, ext_debug), DIAG_VERSION },
	{ FIELD(records_dir), 0, DIAG_VERSION },
	{ FIELD(records_dir), 0x1001, DIAG_VERSION },
	{ FIELD(ec_dir), 0x1004, DIAG_VERSION },
	{ FIELD(thread_dir), 0x1004, DIAG_VERSION },
};

TEST(layout_refuses_each_corrupt_field)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int err;

		fake__init(&vm, &section);
		memcpy((char *)&section + bad[i].field.offset, &bad[i].value, bad[i].field.size);
		err = check();
		if (err != -EPROTO || (int)diag.code != bad[i].code || !diag.text[0] ||
		    !diag.hint[0])
			test__fail(__FILE__, __LINE__, "%s = %#llx: %d, status %d, \"%s\"",
				   bad[i].field.name, (unsigned long long)bad[i].value, err,
				   diag.code, diag.text);
	}
}

TEST(layout_refuses_each_corrupt_byte_of_the_magic)
{
	for (int i = 0; i < 8; i++) {
		fake__init(&vm, &section);
		section.magic[i] ^= 0x20;
		CHECK_INT(check(), -EPROTO);
		CHECK_INT(diag.code, DIAG_NO_INTERFACE);
	}
}

TEST(layout_refuses_a_short_read)
{
	fake__init(&vm, &section);
	for (uint32_t size = 0; size < sizeof(section); size++)
		CHECK(layout__check(&layout, &section, size, &diag) < 0);
}

TEST(layout_refuses_a_draft)
{
	fake__init(&vm, &section);
	section.abi_minor = 0;
	section.section_size = SECTION_SIZE_DRAFT;
	/* What is behind it in that process is not the section's. */
	memset((char *)&section + SECTION_SIZE_DRAFT, 0xff, sizeof(section) - SECTION_SIZE_DRAFT);
	CHECK_INT(check(), -EPROTO);
	CHECK_INT(diag.code, DIAG_VERSION);
	CHECK(strstr(diag.text, "draft") && strstr(diag.text, "472 bytes"));
	CHECK(strstr(diag.hint, "build that ruby again"));
}

TEST(layout_says_when_the_vm_starts_or_ends)
{
	fake__init(&vm, &section);
	/* Nothing but the head is valid then. */
	memset((char *)&section + offsetof(struct rb_debug_ext_section, pid), 0xff,
	       sizeof(section) - offsetof(struct rb_debug_ext_section, pid));
	section.state = RB_DEBUG_EXT_STARTING;
	CHECK_INT(check(), -EAGAIN);
	CHECK_INT(diag.code, DIAG_NOT_READY);
	section.state = RB_DEBUG_EXT_ENDED;
	CHECK_INT(check(), -ESRCH);
}

TEST(layout_says_why_there_is_nothing_to_read)
{
	fake__init(&vm, &section);
	memset((char *)&section + offsetof(struct rb_debug_ext_section, pid), 0,
	       sizeof(section) - offsetof(struct rb_debug_ext_section, pid));
	section.state = RB_DEBUG_EXT_UNAVAILABLE;
	section.unavailable = RB_DEBUG_EXT_NO_ADDRESS_SPACE;
	CHECK_INT(check(), -ENOMEM);
	CHECK_INT(diag.code, DIAG_NO_INTERFACE);
	CHECK(strstr(diag.text, "the limit of its address space"));
	CHECK(strstr(diag.hint, "ulimit -v"));
	section.unavailable = RB_DEBUG_EXT_NO_MEMORY;
	CHECK_INT(check(), -ENOMEM);
	CHECK_INT(diag.code, DIAG_NO_INTERFACE);
	CHECK(strstr(diag.text, "no memory"));
	section.unavailable = RB_DEBUG_EXT_SWITCHED_OFF;
	CHECK_INT(check(), -EOPNOTSUPP);
	CHECK_INT(diag.code, DIAG_NO_INTERFACE);
	CHECK(strstr(diag.text, "RUBY_EXTERNAL_DEBUG=0"));
}

TEST(layout_takes_no_address_of_0_for_the_current_ec)
{
	fake__init(&vm, &section);
	section.tls_current_ec = 0;
	CHECK_INT(check(), -EPROTO);
	CHECK_INT(diag.code, DIAG_VERSION);
	CHECK(strstr(diag.text, "tls_current_ec is 0"));
}

TEST(layout_refuses_frames_with_descriptors)
{
	fake__init(&vm, &section);
	section.jit_frame_kind = RB_DEBUG_EXT_JIT_FRAME_DESCRIPTOR;
	CHECK_INT(check(), -EPROTO);
	CHECK_INT(diag.code, DIAG_VERSION);
	CHECK(strstr(diag.text, "descriptors"));
}

TEST(layout_cuts_what_may_grow)
{
	fake__init(&vm, &section);
	section.records_end = 0xffffffff;
	section.ec_slots_end = section.thread_slots_end = 0xffffffff;
	section.jit_log_len = 0xffffffff;
	section.jit_log = 0x1001;
	memset(section.ruby_version, 'x', sizeof(section.ruby_version));
	memset(section.ruby_description, 'x', sizeof(section.ruby_description));
	CHECK_INT(check(), 0);
	CHECK_INT(layout.section.records_end, 1u << 31);
	CHECK_INT(layout.section.ec_slots_end, 1u << 22);
	CHECK_INT(layout.section.jit_log_len, RB_DEBUG_EXT_JIT_LOG_MAX);
	CHECK_INT(layout.section.jit_log, 0);
	CHECK_INT(strlen(layout.section.ruby_version), 31);
	CHECK_INT(strlen(layout.section.ruby_description), 127);
}

/* Where JIT code stores the pc before what it calls: what is neither its own code nor a leaf. */
TEST(layout_says_where_the_pc_is_stored)
{
	static const struct {
		uint64_t ip;
		bool stored;
	} at[] = {
		{ 0, false }, { 1, true }, { 0x4fffff, true }, { 0x500000, false }, { 0x5fffff, false },
		{ 0x600000, true }, { 0x6fffff, true }, { 0x700000, false }, { 0x7000ff, false },
		{ 0x700100, true }, { UINT64_MAX, true },
	};
	/* Not all of it is there. */
	static const struct {
		uint64_t start, end, leaf_start, leaf_end;
		uint16_t resume_pc;
	} missing[] = {
		{ 0, 0, 0, 0, 24 }, { 0x500000, 0x600000, 0, 0, 24 },
		{ 0x500000, 0, 0x700000, 0x700100, 24 }, { 0, 0, 0x700000, 0x700100, 24 },
		{ 0x500000, 0x600000, 0x700000, 0, 24 }, { 0x500000, 0x600000, 0, 0x700100, 24 },
		{ 0x500000, 0x600000, 0x700100, 0x700000, 24 },
		{ 0x500000, 0x600000, 0x700000, 0x700100, 0 },
	};

	fake__init(&vm, &section);
	section.jit_start = 0x500000;
	section.jit_end = 0x600000;
	section.jit_leaf_start = 0x700000;
	section.jit_leaf_end = 0x700100;
	CHECK_INT(check(), 0);
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		if (layout__stores_pc(&layout, at[i].ip) != at[i].stored)
			test__fail(__FILE__, __LINE__, "%#llx", (unsigned long long)at[i].ip);
	}
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		section.jit_start = missing[i].start;
		section.jit_end = missing[i].end;
		section.jit_leaf_start = missing[i].leaf_start;
		section.jit_leaf_end = missing[i].leaf_end;
		section.ec_resume_pc = missing[i].resume_pc;
		CHECK_INT(check(), 0);
		for (size_t j = 0; j < sizeof(at) / sizeof(at[0]); j++) {
			if (layout__stores_pc(&layout, at[j].ip))
				test__fail(__FILE__, __LINE__, "case %zu: %#llx", i, (unsigned long long)at[j].ip);
		}
	}
}

TEST(layout_survives_random_sections)
{
	struct rb_debug_ext_section good;

	fake__init(&vm, &good);
	for (int i = 0; i < 200000; i++) {
		struct target_config config;
		int bytes = 1 + (int)(test__random() % 8);

		section = good;
		for (int j = 0; j < bytes; j++) {
			/* After the head, which is refused at once. */
			size_t at = 16 + test__random() % (sizeof(section) - 16);

			((uint8_t *)&section)[at] = (uint8_t)test__random();
		}
		if (check())
			continue;
		layout__config(&layout, &config);
		/* What the walker relies on. */
		CHECK(config.frame_size >= 32 && config.frame_size <= 256);
		CHECK(config.frames_per_chunk >= 1 && config.frames_per_chunk <= 64);
		CHECK(config.frames_per_chunk * config.frame_size <= WALK_CHUNK_BYTES);
		CHECK(config.frame_pc + 8u <= config.frame_size);
		CHECK(config.frame_ext_debug + 8u <= config.frame_size);
		CHECK(config.frame_jit_return + 8u <= config.frame_size);
	}
}

TEST(layout_reads_and_refreshes)
{
	static const struct {
		int error, code;
	} failures[] = {
		{ -EFAULT, DIAG_NOT_READY }, { -ESRCH, DIAG_NOT_READY }, { -EINTR, DIAG_NOT_READY },
		{ -EPERM, DIAG_PERMISSION }, { -EACCES, DIAG_PERMISSION },
	};
	struct memory_fake m;

	memory_fake__init(&m);
	fake__init(&vm, &section);
	CHECK_INT(layout__read(&layout, &m.memory, (uintptr_t)&section, &diag), 0);
	CHECK_INT(layout__read(&layout, &m.memory, (uintptr_t)&section + 4, &diag), -EPROTO);
	CHECK_INT(layout__read(&layout, &m.memory, 8, &diag), -EFAULT);
	CHECK_INT(layout__read(&layout, &m.memory, (uintptr_t)&section, &diag), 0);
	/* It goes, or may not be looked at: its content is not what is wrong. */
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		memset(&diag, 0, sizeof(diag));
		m.fail_at = m.reads + 1;
		m.error = failures[i].error;
		CHECK_INT(layout__read(&layout, &m.memory, (uintptr_t)&section, &diag), failures[i].error);
		CHECK_INT(diag.code, failures[i].code);
		CHECK(diag.hint[0]);
	}
	m.error = 0;
	CHECK_INT(layout__read(&layout, &m.memory, (uintptr_t)&section, &diag), 0);
	section.names_generation = 5;
	section.frame_size = 8;		/* does not change what was validated */
	section.jit_start = 1;
	section.jit_end = 2;
	section.jit_leaf_start = 3;
	section.jit_leaf_end = 4;
	CHECK_INT(layout__refresh(&layout, &m.memory), 0);
	CHECK_INT(layout.section.names_generation, 5);
	CHECK_INT(layout.section.frame_size, sizeof(struct fake_frame));
	CHECK_INT(layout.section.jit_leaf_start, 3);
	CHECK_INT(layout.section.jit_leaf_end, 4);
	section.magic[0] = 'x';
	CHECK_INT(layout__refresh(&layout, &m.memory), -ENODATA);
	m.fail_at = m.reads + 1;
	CHECK_INT(layout__refresh(&layout, &m.memory), -EFAULT);
}
