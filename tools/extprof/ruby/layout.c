/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/layout.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/deadline.h"

/* Sizes of the first version.  Structures only grow, so every 1.x has at least these fields; what a newer header has
 * at their tails can be missing. */
#define SECTION_SIZE_LEAST 640u
#define RECORD_SIZE_LEAST 64u
#define EC_SLOT_SIZE_LEAST 64u
#define THREAD_SLOT_SIZE_LEAST 192u
#define JIT_ENTRY_SIZE_LEAST 16u

/* Between thread pointer and TLS variable: static TLS is small. */
#define TLS_DISTANCE_MAX (1ll << 30)

#define HEAD_SIZE offsetof(struct rb_debug_ext_section, state)

static int wrong(struct diag *d, const char *what, unsigned long long value)
{
	diag__set(d, DIAG_VERSION, EPROTO,
		  "the debugging interface of this ruby is not usable: %s is %llu", what, value);
	diag__hint(d, "the section rb_debug_ext is damaged, or was written by another program; "
		   "this extprof reads version %d.x", RB_DEBUG_EXT_ABI_MAJOR);
	return -EPROTO;
}

static int check_head(const struct rb_debug_ext_section *s, struct diag *d)
{
	if (memcmp(s->magic, RB_DEBUG_EXT_MAGIC, sizeof(s->magic)))
		return diag__set(d, DIAG_NO_INTERFACE, EPROTO,
				 "there is no section rb_debug_ext where one should be");
	if (s->abi_major != RB_DEBUG_EXT_ABI_MAJOR) {
		diag__set(d, DIAG_VERSION, EPROTO,
			  "version %u.%u of the debugging interface is not supported",
			  s->abi_major, s->abi_minor);
		diag__hint(d, "this extprof reads version %d.x: take the extprof that was built "
			   "with that ruby", RB_DEBUG_EXT_ABI_MAJOR);
		return -EPROTO;
	}
	/* Rubies were built with a draft of the interface.  It had the same number, and neither waits nor ractors. */
	if (s->section_size >= HEAD_SIZE && s->section_size < SECTION_SIZE_LEAST) {
		diag__set(d, DIAG_VERSION, EPROTO, "this ruby has a draft of the debugging interface that is not "
			  "supported: its section has %u bytes, and version %u.%u needs %u", s->section_size,
			  RB_DEBUG_EXT_ABI_MAJOR, RB_DEBUG_EXT_ABI_MINOR, SECTION_SIZE_LEAST);
		diag__hint(d, "build that ruby again, with the patches that this extprof came with");
		return -EPROTO;
	}
	if (s->section_size < SECTION_SIZE_LEAST || s->section_size > RB_DEBUG_EXT_SECTION_SIZE_MAX)
		return wrong(d, "section_size", s->section_size);
	return 0;
}

/* The process runs, and has nothing to read. */
static int unavailable(const struct rb_debug_ext_section *s, struct diag *d)
{
	if (s->unavailable == RB_DEBUG_EXT_NO_ADDRESS_SPACE) {
		diag__set(d, DIAG_NO_INTERFACE, ENOMEM, "this ruby has no debugging interface: "
			  "the limit of its address space left too little for it when it started");
		diag__hint(d, "start it with more: ulimit -v (RLIMIT_AS), or LimitAS= of systemd");
	} else if (s->unavailable == RB_DEBUG_EXT_SWITCHED_OFF) {
		diag__set(d, DIAG_NO_INTERFACE, EOPNOTSUPP, "this ruby has no debugging interface: "
			  "it was started with RUBY_EXTERNAL_DEBUG=0");
		diag__hint(d, "start it without RUBY_EXTERNAL_DEBUG in its environment");
		return -EOPNOTSUPP;
	} else {
		diag__set(d, DIAG_NO_INTERFACE, ENOMEM, "this ruby has no debugging interface: "
			  "it got no memory for it when it started");
		diag__hint(d, "start it again when the machine has more memory");
	}
	return -ENOMEM;
}

/* How much of it this extprof knows, in bytes.  The rest of a process's memory is not the section. */
static uint32_t known_size(const struct rb_debug_ext_section *s)
{
	return s->section_size < sizeof(*s) ? s->section_size : (uint32_t)sizeof(*s);
}

static int check_stride(unsigned int size, unsigned int least, const char *what, struct diag *d)
{
	if (size < least || size > RB_DEBUG_EXT_STRIDE_MAX || size % 8)
		return wrong(d, what, size);
	return 0;
}

static int check_frame_field(const struct rb_debug_ext_section *s, unsigned int offset,
			     const char *what, struct diag *d)
{
	if (offset % 8 || offset + 8 > s->frame_size)
		return wrong(d, what, offset);
	return 0;
}

static int check_fields(const struct rb_debug_ext_section *s, struct diag *d)
{
	int err;

	if ((err = check_stride(s->record_size, RECORD_SIZE_LEAST, "record_size", d)) ||
	    (err = check_stride(s->ec_slot_size, EC_SLOT_SIZE_LEAST, "ec_slot_size", d)) ||
	    (err = check_stride(s->thread_slot_size, THREAD_SLOT_SIZE_LEAST, "thread_slot_size", d)) ||
	    (err = check_stride(s->jit_entry_size, JIT_ENTRY_SIZE_LEAST, "jit_entry_size", d)))
		return err;

	/* 0 is not published.  At the thread pointer itself there is something else. */
	if (!s->tls_current_ec || s->tls_current_ec % 8 || s->tls_current_ec > TLS_DISTANCE_MAX ||
	    s->tls_current_ec < -TLS_DISTANCE_MAX)
		return wrong(d, "tls_current_ec", (unsigned long long)s->tls_current_ec);

	if (s->ec_vm_stack % 8)
		return wrong(d, "ec_vm_stack", s->ec_vm_stack);
	if (s->ec_vm_stack_size % 8 || s->ec_vm_stack_size == s->ec_vm_stack)
		return wrong(d, "ec_vm_stack_size", s->ec_vm_stack_size);
	if (s->ec_cfp % 8 || s->ec_cfp == s->ec_vm_stack || s->ec_cfp == s->ec_vm_stack_size)
		return wrong(d, "ec_cfp", s->ec_cfp);
	if (s->ec_slot % 4)
		return wrong(d, "ec_slot", s->ec_slot);
	if (s->ec_label % 4)
		return wrong(d, "ec_label", s->ec_label);
	/* 0: there is none. */
	if (s->ec_resume_pc % 8 ||
	    (s->ec_resume_pc && (s->ec_resume_pc == s->ec_vm_stack || s->ec_resume_pc == s->ec_cfp ||
				 s->ec_resume_pc == s->ec_vm_stack_size)))
		return wrong(d, "ec_resume_pc", s->ec_resume_pc);
	if (s->ec_context % 8)
		return wrong(d, "ec_context", s->ec_context);
	if (s->ec_label_marks % 2)
		return wrong(d, "ec_label_marks", s->ec_label_marks);
	if (s->thread_ec % 8)
		return wrong(d, "thread_ec", s->thread_ec);

	if (s->frame_size < WALK_FRAME_SIZE_MIN || s->frame_size > RB_DEBUG_EXT_FRAME_SIZE_MAX ||
	    s->frame_size % 8)
		return wrong(d, "frame_size", s->frame_size);
	if ((err = check_frame_field(s, s->frame_pc, "frame_pc", d)) ||
	    (err = check_frame_field(s, s->frame_ext_debug, "frame_ext_debug", d)) ||
	    (err = check_frame_field(s, s->frame_jit_return, "frame_jit_return", d)))
		return err;
	if (s->frame_ext_debug == s->frame_pc)
		return wrong(d, "frame_ext_debug", s->frame_ext_debug);
	if (s->frame_jit_return == s->frame_pc || s->frame_jit_return == s->frame_ext_debug)
		return wrong(d, "frame_jit_return", s->frame_jit_return);

	if (s->jit_frame_kind != RB_DEBUG_EXT_JIT_FRAME_WHOLE) {
		diag__set(d, DIAG_VERSION, EPROTO,
			  "this ruby keeps what its frames run in descriptors of kind %u, "
			  "which this extprof cannot read", s->jit_frame_kind);
		diag__hint(d, "take the extprof that was built with that ruby");
		return -EPROTO;
	}
	if (!s->records_dir || s->records_dir % 8)
		return wrong(d, "records_dir", s->records_dir);
	if (s->ec_dir % 8)
		return wrong(d, "ec_dir", s->ec_dir);
	if (s->thread_dir % 8)
		return wrong(d, "thread_dir", s->thread_dir);
	return 0;
}

/* These fields grow while the target runs.  Values beyond the bounds are cut, not refused. */
static void clamp(struct rb_debug_ext_section *s)
{
	const uint32_t slots = RB_DEBUG_EXT_SLOT_CHUNKS_MAX * RB_DEBUG_EXT_SLOTS_PER_CHUNK;

	if (s->records_end > 1u << 31)
		s->records_end = 1u << 31;
	if (s->ec_slots_end > slots)
		s->ec_slots_end = slots;
	if (s->thread_slots_end > slots)
		s->thread_slots_end = slots;
	if (s->jit_log_len > RB_DEBUG_EXT_JIT_LOG_MAX)
		s->jit_log_len = RB_DEBUG_EXT_JIT_LOG_MAX;
	if (s->jit_log % 8)
		s->jit_log = 0;
	/* The target writes these one after the other: none is used before all are there.
	 * Without ec_resume_pc they are of no use. */
	if (s->jit_start >= s->jit_end || s->jit_leaf_start >= s->jit_leaf_end || !s->jit_leaf_start ||
	    !s->ec_resume_pc)
		s->jit_leaf_start = s->jit_leaf_end = 0;
	s->ruby_version[sizeof(s->ruby_version) - 1] = '\0';
	s->ruby_description[sizeof(s->ruby_description) - 1] = '\0';
}

int layout__check(struct layout *l, const void *raw, uint32_t got, struct diag *d)
{
	struct rb_debug_ext_section *s = &l->section;
	int err;

	memset(s, 0, sizeof(*s));
	if (got > sizeof(*s))
		got = sizeof(*s);
	memcpy(s, raw, got);
	if (got < HEAD_SIZE)
		return wrong(d, "the readable size", got);
	err = check_head(s, d);
	if (err)
		return err;
	if (got < known_size(s))
		return wrong(d, "the readable size", got);
	memset((char *)s + known_size(s), 0, sizeof(*s) - known_size(s));
	switch (s->state) {
	case RB_DEBUG_EXT_STARTING:
		diag__set(d, DIAG_NOT_READY, EAGAIN, "this ruby is still starting");
		diag__hint(d, "try again in a moment");
		return -EAGAIN;
	case RB_DEBUG_EXT_READY:
		break;
	case RB_DEBUG_EXT_ENDED:
		return diag__set(d, DIAG_NO_PROCESS, ESRCH, "this ruby is ending");
	case RB_DEBUG_EXT_UNAVAILABLE:
		return unavailable(s, d);
	default:
		return wrong(d, "state", s->state);
	}
	err = check_fields(s, d);
	if (err)
		return err;
	clamp(s);
	return 0;
}

/* The section was found a moment ago.  A failed read now does not mean that it is damaged. */
static int unreadable(struct diag *d, int err)
{
	if (err == -EPERM || err == -EACCES) {
		diag__set(d, DIAG_PERMISSION, -err, "no permission to read the section rb_debug_ext");
		diag__hint(d, "run extprof as the user of the process, as root, or with CAP_SYS_PTRACE");
		return err;
	}
	diag__set(d, DIAG_NOT_READY, -err, "the section rb_debug_ext cannot be read: %s",
		  err == -ESRCH ? "the process ends, or executes another program" : strerror(-err));
	diag__hint(d, "try again in a moment");
	return err;
}

int layout__read(struct layout *l, const struct memory *m, uint64_t address, struct diag *d)
{
	struct rb_debug_ext_section raw = { 0 };
	uint32_t size = SECTION_SIZE_LEAST;
	int err;

	l->address = address;
	l->read_at = deadline__now();
	if (address % 8)
		return wrong(d, "the address of the section", address);
	err = memory__read(m, address, &raw, size);
	/* A later version has more fields behind these. */
	if (!err && known_size(&raw) > size) {
		size = known_size(&raw);
		err = memory__read(m, address + SECTION_SIZE_LEAST, (char *)&raw + SECTION_SIZE_LEAST,
				   size - SECTION_SIZE_LEAST);
	}
	if (err)
		return unreadable(d, err);
	return layout__check(l, &raw, size, d);
}

int layout__confirm(const struct layout *l, const struct memory *m)
{
	uint8_t head[HEAD_SIZE];
	int err = memory__read(m, l->address, head, sizeof(head));

	return err ? err : memcmp(head, &l->section, sizeof(head)) ? -ESTALE : 0;
}

int layout__refresh(struct layout *l, const struct memory *m)
{
	uint64_t now = deadline__now();
	struct rb_debug_ext_section s = { 0 };
	int err = memory__read(m, l->address, &s, known_size(&l->section));

	if (err)
		return err;
	/* The head was validated and must not have changed. */
	if (memcmp(&s, &l->section, HEAD_SIZE))
		return -ENODATA;
	clamp(&s);
	l->read_at = now;
	l->section.state = s.state;
	l->section.pid = s.pid;
	l->section.records_end = s.records_end;
	l->section.names_generation = s.names_generation;
	l->section.ec_slots_end = s.ec_slots_end;
	l->section.thread_slots_end = s.thread_slots_end;
	l->section.gc_count = s.gc_count;
	l->section.jit_start = s.jit_start;
	l->section.jit_end = s.jit_end;
	l->section.jit_leaf_start = s.jit_leaf_start;
	l->section.jit_leaf_end = s.jit_leaf_end;
	l->section.jit_log = s.jit_log;
	l->section.jit_log_len = s.jit_log_len;
	l->section.jit_log_generation = s.jit_log_generation;
	l->section.records_failed = s.records_failed;
	return 0;
}

bool layout__stores_pc(const struct layout *l, uint64_t ip)
{
	const struct rb_debug_ext_section *s = &l->section;

	return ip && s->jit_leaf_end && (ip < s->jit_start || ip >= s->jit_end) &&
	       (ip < s->jit_leaf_start || ip >= s->jit_leaf_end);
}

static uint16_t min16(uint16_t a, uint16_t b)
{
	return a < b ? a : b;
}

static uint16_t max16(uint16_t a, uint16_t b)
{
	return a > b ? a : b;
}

void layout__config(const struct layout *l, struct target_config *config)
{
	const struct rb_debug_ext_section *s = &l->section;
	uint32_t per_chunk = WALK_CHUNK_BYTES / s->frame_size, end;
	uint16_t first;

	memset(config, 0, sizeof(*config));
	config->section = l->address;
	config->tls_current_ec = s->tls_current_ec;
	config->pid = s->pid;
	config->frame_size = s->frame_size;
	config->frames_per_chunk = per_chunk > WALK_CHUNK_FRAMES ? WALK_CHUNK_FRAMES : per_chunk;
	config->ec_vm_stack = s->ec_vm_stack;
	config->ec_vm_stack_size = s->ec_vm_stack_size;
	config->ec_cfp = s->ec_cfp;
	config->ec_slot = s->ec_slot;
	config->ec_label = s->ec_label;
	config->ec_resume_pc = s->ec_resume_pc;
	config->ec_context = s->ec_context;
	config->ec_label_marks = s->ec_label_marks;
	config->frame_pc = s->frame_pc;
	config->frame_ext_debug = s->frame_ext_debug;
	config->frame_jit_return = s->frame_jit_return;
	config->ec_slot_size = s->ec_slot_size;
	if (s->frame_flag_set && s->frame_ep % 8 == 0 && s->frame_ep + 8 <= s->frame_size) {
		config->frame_ep = s->frame_ep;
		config->ep_flags = s->ep_flags;
		config->frame_flag_set = s->frame_flag_set;
		config->frame_flag_finish = s->frame_flag_finish;
		config->frame_flag_cframe = s->frame_flag_cframe;
	}
	if (s->section_size >= offsetof(struct rb_debug_ext_section, jit_flags) + sizeof(s->jit_flags))
		config->jit_flags = offsetof(struct rb_debug_ext_section, jit_flags);
	first = min16(s->ec_vm_stack, min16(s->ec_vm_stack_size, s->ec_cfp));
	end = max16(s->ec_vm_stack, max16(s->ec_vm_stack_size, s->ec_cfp)) + 8;
	if (end - first <= WALK_EC_SPAN_MAX) {
		config->ec_first = first;
		config->ec_span = (uint16_t)(end - first);
	}
}
