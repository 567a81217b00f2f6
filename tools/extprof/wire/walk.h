/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The walker: from a thread pointer, or from an EC, to the Ruby thread and the
 * (id, pc) pairs of its frames.
 *
 * One copy for the BPF program and for user space.  The includer defines
 *
 *	long read_target(void *to, uint32_t size, uint64_t address);
 *
 * (0, or an error) before it includes this.  Nothing here trusts what it
 * reads; the offsets in target_config have been validated by layout.c.
 *
 * Every loop has a constant bound: the BPF verifier needs it, and a target
 * that lies about its geometry must not cost more than an honest one.
 */
#ifndef EXTPROF_WALK_H
#define EXTPROF_WALK_H

#include "wire/sample.h"
#include "wire/unwind.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* Makes the compiler test and use the same register.  Only then does the verifier
 * know the bound of the value that is used. */
#ifdef __bpf__
#define walk_opaque(var) asm volatile("" : "+r"(var))
#else
#define walk_opaque(var) ((void)0)
#endif

/* The head of the section, through jit_compile_tid: one read serves the state, the pid,
 * the tables of threads, the garbage collector and the compiler. */
#define WALK_SECTION_HEAD __builtin_offsetof(struct rb_debug_ext_section, jit_start)

/* The fields that tell which EC and which thread a slot belongs to. */
#define WALK_EC_HEAD __builtin_offsetof(struct rb_debug_ext_ec, reserved)

#define WALK_SLOTS_MAX (RB_DEBUG_EXT_SLOT_CHUNKS_MAX * RB_DEBUG_EXT_SLOTS_PER_CHUNK)

/* Chunks that SAMPLE_FRAMES_MAX frames of the largest size need. */
#define WALK_CHUNKS_MAX (SAMPLE_FRAMES_MAX / (WALK_CHUNK_BYTES / WALK_FRAME_SIZE_MAX))
/* They are read in rounds of so many: see walk_round(). */
#define WALK_ROUND_CHUNKS 32u
#define WALK_ROUNDS_MAX ((WALK_CHUNKS_MAX + WALK_ROUND_CHUNKS - 1) / WALK_ROUND_CHUNKS)
/* All chunks that are wanted have been read, or as many as can be. */
#define WALK_DONE (-1)

typedef uint64_t __attribute__((may_alias)) walk_u64;

/* Working memory of one walk: far beyond a BPF stack.  Each source has its own on
 * each CPU, as a timer may interrupt the walk of another source. */
struct walk_scratch {
	union {
		struct rb_debug_ext_section section;
		/* 8 more bytes: a field at the largest masked offset ends inside. */
		uint8_t chunk[WALK_CHUNK_BYTES + 8];
	};
	struct walk_chunk {
		volatile uint32_t done;		/* frames before this chunk */
		volatile uint32_t n;		/* frames in this chunk */
		uint32_t wanted, per_chunk;	/* frames */
		uint64_t cfp;			/* address of the first one */
		uint32_t frame_size;
		uint32_t id, pc, jit;		/* offsets */
		uint32_t ep, ep_flags;		/* offsets */
		uint32_t flag_set, flag_finish, flag_cframe;
		volatile int64_t left;		/* what the frame before said about the pc of the next one */
	} now;
	struct rb_debug_ext_ec ec;		/* its head */
	struct walk_variable {			/* of a thread: where its record is */
		uint64_t base, modules, count, address;
	} variable;
	volatile uint32_t index;		/* of this scratch in the BPF map; for the includer */
	uint32_t users;				/* programs that are at it; for the includer */
	uint64_t sent;				/* events; for the includer */
	uint8_t stack[WALK_EC_SPAN_MAX + 8];	/* fields of an EC, see target_config::ec_span */
	struct sample_event event;
	struct sample_frame frames[SAMPLE_FRAMES_MAX];
	/* Room behind the last frame: it follows those that there are.  For the includer. */
	struct sample_machine machine_room;
	/* The state of the walk in user space: see bpf/unwind.bpf.h. */
	struct unwind_state {
		struct user_registers first_registers;	/* of the function that runs; for the includer */
		volatile uint64_t ip, sp, bp, lr;	/* bp: rbp or x29; lr: x30 of aarch64, the caller's address where `exact` */
		uint64_t jit_start, jit_end;
		uint64_t changed_from, changed_to;	/* see unwind_changes: all of them are between */
		uint32_t first, mappings;	/* see unwind_process */
		uint32_t count;			/* functions so far */
		uint8_t end;			/* enum unwind_end */
		volatile uint8_t bp_lost;	/* the value of `bp` is not that of the function's caller */
		volatile uint8_t exact;		/* `ip` is where it was interrupted, not where a call returns to */
		volatile uint8_t no_return;	/* the last return address was 0 */
	} unwind;
	uint64_t native[NATIVE_FRAMES_MAX];
	uint32_t machine_size;			/* bytes of it that are sent; for the includer */
};

static __always_inline uint64_t walk__field(const struct walk_scratch *s, uint32_t offset)
{
	/* Validated offsets are always below the mask.  The verifier needs the mask. */
	return *(const walk_u64 *)&s->chunk[offset & (WALK_CHUNK_BYTES - 1)];
}

static __always_inline uint64_t walk__stack_field(const struct walk_scratch *s, uint32_t offset)
{
	return *(const walk_u64 *)&s->stack[offset & (WALK_EC_SPAN_MAX - 1)];
}

/* Not 0: what kind frames are is wanted, for native stacks.  The includer can define it. */
#ifndef walk_wants_flags
#define walk_wants_flags 0
#endif

/* Is it known what the process runs?  Not 0: its threads can be sampled. */
static __always_inline int walk__is_known(const struct target_config *cfg)
{
	return cfg->section || cfg->flags & TARGET_PLAIN;
}

/* Check that the memory at `section` still is the section of this process.
 * Sets event.kind, event.gc_phase and SAMPLE_COMPILES.  Returns 0 or a loss_reason. */
static __always_inline int walk__section(struct walk_scratch *s, const struct target_config *cfg,
					 uint32_t tid)
{
	if (read_target(&s->section, WALK_SECTION_HEAD, cfg->section))
		return LOSS_SECTION_READ;
	/* Not memcmp: clang 14 makes a call of it, and BPF has no such function. */
	if (*(const walk_u64 *)s->section.magic != *(const walk_u64 *)RB_DEBUG_EXT_MAGIC)
		return LOSS_SECTION_CHANGED;
	switch (s->section.state) {
	case RB_DEBUG_EXT_STARTING:
		s->event.kind = SAMPLE_STARTING;
		return 0;
	case RB_DEBUG_EXT_READY:
		break;
	default:
		s->event.kind = SAMPLE_ENDED;
		return 0;
	}
	/* Until a child of fork has taken its first step, its section still has the parent's pid.
	 * Its stack is whole all the same. */
	if (s->section.pid != cfg->pid && !(cfg->flags & TARGET_FORKED))
		return LOSS_FORKED;
	s->event.kind = SAMPLE_RUBY;
	if (s->section.gc_phase && s->section.gc_tid == tid)
		s->event.gc_phase = s->section.gc_phase;
	if (s->section.jit_compile_tid && s->section.jit_compile_tid == tid)
		s->event.flags |= SAMPLE_COMPILES;
	return 0;
}

/* The address of a slot in a table of two levels; 0: there is no such slot, or the
 * table could not be read. */
static __always_inline uint64_t walk__slot(uint64_t dir, uint32_t end, uint32_t size, uint32_t slot)
{
	uint64_t chunk;

	if (!dir || !slot || slot >= end || slot >= WALK_SLOTS_MAX ||
	    read_target(&chunk, sizeof(chunk), dir + 8ull * (slot / RB_DEBUG_EXT_SLOTS_PER_CHUNK)) ||
	    !chunk)
		return 0;
	return chunk + (uint64_t)(slot % RB_DEBUG_EXT_SLOTS_PER_CHUNK) * size;
}

/*
 * Find the Ruby thread of the EC.  Sets event.thread, or leaves it 0: then the
 * sample lacks the name of its thread and is not lost.  One that the caller knows is in there already.
 *
 * This must be done during the sample, because slots are reused: the slot of a
 * fiber as soon as the fiber ends.  Only the thread that runs an EC writes the
 * EC's slot, and this thread is interrupted now.  So the fields of one read belong
 * together, unless the interrupt came during a write: then the generation is odd.
 * s->section has just been read.
 */
static __always_inline void walk__identify(struct walk_scratch *s, const struct target_config *cfg,
					   uint64_t ec)
{
	uint64_t at;

	/* Without a slot it is an EC without a stack: a thread that starts or ends.  The fields that native stacks are
	 * compared with are read in any case, as s->ec has those of a walk before. */
	if (!s->event.ec_slot || (s->event.thread && !walk_wants_flags))
		return;
	s->event.flags |= SAMPLE_THREAD_UNREAD;
	at = walk__slot(s->section.ec_dir, s->section.ec_slots_end, cfg->ec_slot_size,
			s->event.ec_slot);
	if (!at || read_target(&s->ec, WALK_EC_HEAD, at) || s->ec.generation & 1 ||
	    s->ec.ec != ec || !s->ec.thread_slot || !s->ec.thread_serial)
		return;
	s->event.thread = s->ec.thread_serial;
	s->event.thread_slot = s->ec.thread_slot;
	s->event.flags &= (uint8_t)~SAMPLE_THREAD_UNREAD;
}

/* Where the EC's frames are.  0, or an error. */
static __always_inline int walk__stack(struct walk_scratch *s, const struct target_config *cfg,
				       uint64_t ec, uint64_t *stack, uint64_t *words, uint64_t *cfp)
{
	uint64_t span = cfg->ec_span;

	if (!span)
		return read_target(stack, sizeof(*stack), ec + cfg->ec_vm_stack) ||
		       read_target(words, sizeof(*words), ec + cfg->ec_vm_stack_size) ||
		       read_target(cfp, sizeof(*cfp), ec + cfg->ec_cfp);
	walk_opaque(span);
	if (span > WALK_EC_SPAN_MAX || read_target(s->stack, span, ec + cfg->ec_first))
		return -1;
	*stack = walk__stack_field(s, cfg->ec_vm_stack - cfg->ec_first);
	*words = walk__stack_field(s, cfg->ec_vm_stack_size - cfg->ec_first);
	*cfp = walk__stack_field(s, cfg->ec_cfp - cfg->ec_first);
	return 0;
}

/* These fields of an EC are neighbours in this ruby. */
struct walk_tail {
	uint32_t slot, label;
	uint64_t resume_pc;	/* 0: this ruby has none */
	uint64_t context;	/* address of a struct trace_record, 0 none */
	uint16_t marks[RB_DEBUG_EXT_LABEL_MARKS];	/* of the labels */
	uint16_t behind;
};
#define WALK_CONTEXT_WORDS ((int)(sizeof(struct trace_context) / 8))
#define WALK_RECORD_WORDS ((sizeof(struct trace_record) + 7) / 8)
#define WALK_RECORD_VALID __builtin_offsetof(struct trace_record, valid)
#define WALK_TAIL_HEAD __builtin_offsetof(struct walk_tail, context)
#define WALK_TAIL_MARKS __builtin_offsetof(struct walk_tail, marks)

/* 0, or an error. */
static __always_inline int walk__ec_tail(const struct target_config *cfg, uint64_t ec, struct walk_tail *tail)
{
	int together = cfg->ec_resume_pc == cfg->ec_slot + 8 && cfg->ec_label == cfg->ec_slot + 4;

	__builtin_memset(tail, 0, sizeof(*tail));
	if (together && cfg->ec_context == cfg->ec_slot + WALK_TAIL_HEAD && cfg->ec_label_marks == cfg->ec_slot + WALK_TAIL_MARKS)
		return read_target(tail, sizeof(*tail), ec + cfg->ec_slot) ? -1 : 0;
	if (together) {
		if (read_target(tail, WALK_TAIL_HEAD, ec + cfg->ec_slot) ||
		    (cfg->ec_context && read_target(&tail->context, sizeof(tail->context), ec + cfg->ec_context)))
			return -1;
	} else if (read_target(&tail->slot, sizeof(tail->slot), ec + cfg->ec_slot) ||
	    (cfg->ec_label && read_target(&tail->label, sizeof(tail->label), ec + cfg->ec_label)) ||
	    (cfg->ec_resume_pc &&
	     read_target(&tail->resume_pc, sizeof(tail->resume_pc), ec + cfg->ec_resume_pc)) ||
	    (cfg->ec_context && read_target(&tail->context, sizeof(tail->context), ec + cfg->ec_context))) {
		return -1;
	}
	/* The label was read first: the program writes its mark before it comes into force. */
	return cfg->ec_label_marks && read_target(tail->marks, sizeof(tail->marks), ec + cfg->ec_label_marks) ? -1 : 0;
}

/*
 * Read the record of a trace.  The thread that it is of is interrupted, and is the one that may write it: so one valid
 * copy is enough.  A program that does not keep to that, or frees the record, changes it during the read: so two
 * copies have to be equal.  The address is the program's, and a wrong one costs the sample only its trace.
 */
static __always_inline void walk__context(struct walk_scratch *s, uint64_t address)
{
	/* Words: the verifier of BPF demands the alignment. */
	uint64_t first[WALK_RECORD_WORDS] = { 0 }, again[WALK_RECORD_WORDS] = { 0 };
	walk_u64 *to = (walk_u64 *)&s->event.context;

	if (!address)
		return;
	if (read_target(first, sizeof(struct trace_record), address) ||
	    read_target(again, sizeof(struct trace_record), address)) {
		s->event.trace_state = TRACE_UNREAD;
		return;
	}
	if (((const uint8_t *)first)[WALK_RECORD_VALID] != TRACE_VALID ||
	    ((const uint8_t *)again)[WALK_RECORD_VALID] != TRACE_VALID ||
	    first[0] != again[0] || first[1] != again[1] || first[2] != again[2]) {
		s->event.trace_state = TRACE_NOT_VALID;
		return;
	}
	if (!(first[0] | first[1]))
		return;
	for (int i = 0; i < WALK_CONTEXT_WORDS; i++)
		to[i] = first[i];
	s->event.trace_state = TRACE_SET;
}

/* The C library's table of modules: where its address is from the thread pointer, bytes of a module in it, and where its length is. */
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#define WALK_MODULES 8
#else
#define WALK_MODULES 0
#endif
#define WALK_MODULE_SIZE 16u
#define WALK_MODULES_COUNT (-16)

/* The address of the record that a library has published for the thread; 0: there is none. */
static __always_inline uint64_t walk__thread_context(struct walk_scratch *s, const struct target_config *cfg, uint64_t tp)
{
	/* The stack of a BPF program has no room for it. */
	struct walk_variable *v = &s->variable;

	if (!cfg->context_module || !tp)
		return 0;
	v->base = tp;
	if (cfg->context_module != TRACE_IN_THREAD) {
		if (read_target(&v->modules, sizeof(v->modules), tp + WALK_MODULES) ||
		    read_target(&v->count, sizeof(v->count), v->modules + (uint64_t)WALK_MODULES_COUNT))
			goto unread;
		/* The thread has not used the module: its part is allocated then. */
		if (v->count < cfg->context_module)
			return 0;
		if (read_target(&v->base, sizeof(v->base), v->modules + (uint64_t)cfg->context_module * WALK_MODULE_SIZE))
			goto unread;
		if (!v->base || v->base == ~0ull)
			return 0;
	}
	if (!read_target(&v->address, sizeof(v->address), v->base + (uint64_t)cfg->context_offset))
		return v->address;
unread:
	s->event.trace_state = TRACE_UNREAD;
	return 0;
}

/* The kind of the frame that has this environment: FRAME_KNOWN, FRAME_FINISH, FRAME_OF_C; 0: the kind is not known. */
static __always_inline uint32_t walk__flags(const struct walk_scratch *s, uint64_t ep)
{
	uint64_t flags = 0;

	if (!s->now.flag_set || read_target(&flags, sizeof(flags), ep + s->now.ep_flags) || !(flags & s->now.flag_set))
		return 0;
	return FRAME_KNOWN | (flags & s->now.flag_finish ? FRAME_FINISH : 0) |
	       (flags & s->now.flag_cframe ? FRAME_OF_C : 0);
}

/* Copy (id, flags, pc) of each frame in the chunk to s->frames. */
static __always_inline int walk__chunk(struct walk_scratch *s)
{
	uint32_t offset = 0, done = s->now.done;
	int64_t left = s->now.left;

	for (uint32_t i = 0; i < WALK_CHUNK_FRAMES; i++) {
		struct sample_frame *f = &s->frames[(done + i) & (SAMPLE_FRAMES_MAX - 1)];
		uint64_t id;

		if (i >= s->now.n)
			break;
		id = walk__field(s, offset + s->now.id);
		f->id = (uint32_t)id;
		/* Below a clause: where the frame was left, not where it will go on. */
		f->pc = walk__field(s, offset + s->now.pc) + (uint64_t)left * 8;
		left = (int64_t)id >> 32;
		f->flags = walk__field(s, offset + s->now.jit) ? FRAME_JIT_RETURN : 0;
		if (walk_wants_flags)
			f->flags |= walk__flags(s, walk__field(s, offset + s->now.ep));
		offset += s->now.frame_size;
	}
	s->now.left = left;
	return 0;
}

/*
 * In the BPF program these loops are global functions: the verifier follows each once, and not once for each chunk and
 * each round.  (The verifier does not track the contents of the scratch memory, which keeps the number of states small
 * as well.)
 */
#ifndef walk_chunk
#define walk_chunk(s) walk__chunk(s)
#endif
#ifndef walk_round
#define walk_round(s) walk__round(s)
#endif

/* Read and copy some chunks.  0: there are more, WALK_DONE, or a loss_reason. */
static __always_inline int walk__round(struct walk_scratch *s)
{
	for (uint32_t c = 0; c < WALK_ROUND_CHUNKS; c++) {
		uint32_t done = s->now.done, left = s->now.wanted - done;
		uint64_t bytes;

		if (done >= s->now.wanted)
			return WALK_DONE;
		s->now.n = left > s->now.per_chunk ? s->now.per_chunk : left;
		bytes = (uint64_t)s->now.n * s->now.frame_size;
		walk_opaque(bytes);
		if (bytes == 0 || bytes > WALK_CHUNK_BYTES)
			return LOSS_GEOMETRY;
		if (read_target(s->chunk, bytes, s->now.cfp + (uint64_t)done * s->now.frame_size)) {
			if (done == 0)
				return LOSS_FRAMES_READ;
			s->event.truncated = TRUNC_FRAMES_READ;
			return WALK_DONE;
		}
		walk_chunk(s);
		s->now.done = done + s->now.n;
	}
	return 0;
}

/* Copy the frames in [cfp, cfp + total * frame_size).  Sets event.nr_frames,
 * left_out and truncated.  Returns 0 or a loss_reason. */
static __always_inline int walk__frames(struct walk_scratch *s, const struct target_config *cfg,
					uint64_t cfp, uint64_t total)
{
	int result = 0;

	s->now.done = 0;
	s->now.wanted = total > SAMPLE_FRAMES_MAX ? SAMPLE_FRAMES_MAX : (uint32_t)total;
	s->now.per_chunk = cfg->frames_per_chunk;
	s->now.cfp = cfp;
	s->now.frame_size = cfg->frame_size;
	s->now.id = cfg->frame_ext_debug;
	s->now.pc = cfg->frame_pc;
	s->now.jit = cfg->frame_jit_return;
	s->now.left = 0;
	s->now.ep = cfg->frame_ep;
	s->now.ep_flags = cfg->ep_flags;
	s->now.flag_set = cfg->frame_flag_set;
	s->now.flag_finish = cfg->frame_flag_finish;
	s->now.flag_cframe = cfg->frame_flag_cframe;
	for (uint32_t r = 0; r < WALK_ROUNDS_MAX && !result; r++)
		result = walk_round(s);
	if (result > 0)
		return result;
	if (s->now.done < total && !s->event.truncated)
		s->event.truncated = TRUNC_DEPTH;
	s->event.nr_frames = s->now.done;
	total -= s->now.done;
	s->event.left_out = total > 0xffffffffull ? 0xffffffffu : (uint32_t)total;
	return 0;
}

/*
 * Walk the stack of the execution context at `ec`.  walk__section() has been called.  `tp`: the thread pointer of the
 * thread that runs it; 0: not known.  Returns 0 (then s->event and s->frames are the sample) or a loss_reason.
 */
static __always_inline int walk__ec(struct walk_scratch *s, const struct target_config *cfg, uint64_t ec, uint64_t tp)
{
	uint64_t stack, words, cfp, end, total;
	struct walk_tail tail;
	int reason;

	if (walk__stack(s, cfg, ec, &stack, &words, &cfp) || walk__ec_tail(cfg, ec, &tail))
		return LOSS_EC_READ;
	s->event.ec_slot = tail.slot;
	s->event.label = tail.label;
	__builtin_memcpy(s->event.label_marks, tail.marks, sizeof(tail.marks));
	/* The context of the fiber, if it has one, is exact. */
	walk__context(s, tail.context ? tail.context : walk__thread_context(s, cfg, tp));
	walk__identify(s, cfg, ec);
	if (!stack || !cfp)
		return 0;	/* no frame has been pushed on this EC */

	if (words == 0 || words > WALK_STACK_WORDS_MAX || stack % 8)
		return LOSS_GEOMETRY;
	end = stack + 8 * words;
	if (end < stack || cfp < stack || cfp > end || !cfg->frame_size)
		return LOSS_GEOMETRY;
	if ((end - cfp) % cfg->frame_size)
		return LOSS_GEOMETRY;
	total = (end - cfp) / cfg->frame_size;
	if (!total)
		return 0;
	reason = walk__frames(s, cfg, cfp, total);
	if (!reason && tail.resume_pc && s->frames[0].pc == tail.resume_pc)
		s->frames[0].flags |= FRAME_RESUMES;
	return reason;
}

/*
 * Walk the thread with thread pointer `tp`.  The caller has zeroed s->event
 * and set its time, ip, tid, ...  Returns 0 (then s->event and s->frames are
 * the sample) or a loss_reason.
 */
static __always_inline int walk__thread(struct walk_scratch *s, const struct target_config *cfg,
					uint64_t tp)
{
	uint64_t ec;
	int reason;

	if (cfg->flags & TARGET_PLAIN) {
		s->event.kind = SAMPLE_NATIVE;
		return 0;
	}
	reason = walk__section(s, cfg, s->event.tid);
	if (reason || s->event.kind != SAMPLE_RUBY)
		return reason;
	if (read_target(&ec, sizeof(ec), tp + (uint64_t)cfg->tls_current_ec))
		return LOSS_TLS_READ;
	if (!ec) {
		s->event.kind = SAMPLE_NATIVE;
		return 0;
	}
	return walk__ec(s, cfg, ec, tp);
}

#endif /* EXTPROF_WALK_H */
