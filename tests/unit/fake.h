/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A VM by hand: a section, records, ECs and frames, built as
 * ruby/debug_external.h says.  The unit tests read it in their own process,
 * fake_target lets extprof read it from outside.
 */
#ifndef FAKE_H
#define FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ruby/debug_external.h"

#define FAKE_CHUNKS 4
#define FAKE_TLS (-64)

/* Frame fields in another order than Ruby's, as readers must use the offsets. */
struct fake_frame {
	uint64_t self;
	uint64_t ext_debug;
	uint64_t ep;
	uint64_t pc;
	uint64_t other[2];
	uint64_t jit_return;
	uint64_t more;
};

struct fake_ec {
	uint64_t junk;
	uint64_t cfp;
	uint32_t slot, label;
	uint64_t resume_pc;
	uint64_t context;
	uint16_t marks[4];
	uint64_t vm_stack;
	uint64_t vm_stack_size;
	uint64_t jit_sp[2];
};

/* What a thread's slot points to. */
struct fake_thread {
	uint64_t junk;
	uint64_t ec;
};

struct fake {
	struct rb_debug_ext_section *section;
	uint64_t records_dir[FAKE_CHUNKS];
	uint64_t ec_dir[1], thread_dir[1];
	uint32_t next_id;
};

/* Fill the section for this process, still STARTING; no record yet. */
void fake__fill(struct fake *f, struct rb_debug_ext_section *section);
/* The same, READY. */
void fake__init(struct fake *f, struct rb_debug_ext_section *section);

/* New record; name and path may be NULL.  Returns its id. */
uint32_t fake__record(struct fake *f, int kind, const char *name, uint32_t ref1, uint32_t ref2);
struct rb_debug_ext_record *fake__get(struct fake *f, uint32_t id);
void fake__set_name(struct rb_debug_ext_record *r, const char *name, size_t length);
void fake__set_path(struct rb_debug_ext_record *r, const char *path);

/* Code of `words` words from line `first`, one line for each two words.
 * Returns the pc while the instruction at `word` runs. */
void fake__set_code(struct rb_debug_ext_record *r, uint32_t words, uint32_t first);
uint64_t fake__pc(const struct rb_debug_ext_record *r, uint32_t word);

/* An EC with room for so many frames and nothing on it. */
struct fake_ec *fake__ec(uint32_t frames);
/* Fill slot number `slot` of a thread that runs `ec`, or that of an EC; the
 * tables grow to it. */
struct rb_debug_ext_thread *fake__thread(struct fake *f, uint32_t slot, uint64_t serial,
					 const char *name, const struct fake_ec *ec);
struct rb_debug_ext_ec *fake__ec_slot(struct fake *f, struct fake_ec *ec, uint32_t slot,
				      uint32_t thread_slot);

/* In the order that the contract demands: the frame first, then cfp. */
static inline struct fake_frame *fake__push(struct fake_ec *ec, uint32_t id, uint64_t pc)
{
	struct fake_frame *frame = (struct fake_frame *)ec->cfp - 1;

	frame->self = frame->ep = frame->more = 0x1111;
	frame->jit_return = 0;
	frame->pc = pc;
	frame->ext_debug = id;
	__atomic_store_n(&ec->cfp, (uint64_t)frame, __ATOMIC_RELEASE);
	return frame;
}

static inline void fake__pop(struct fake_ec *ec)
{
	__atomic_store_n(&ec->cfp, ec->cfp + sizeof(struct fake_frame), __ATOMIC_RELEASE);
}

#endif /* FAKE_H */
