/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The data that the BPF programs and user space exchange: the configuration of a target, the samples in the ring
 * buffer, the counters.  Both sides use the same layout (asserted below); new fields are added at a tail.
 */
#ifndef EXTPROF_SAMPLE_H
#define EXTPROF_SAMPLE_H

#include "ruby/debug_external.h"
#include "wire/errors.h"
#include "wire/thinning.h"
#include "wire/trace.h"

/* Frames of one sample; of a deeper stack the innermost ones are kept. */
#define SAMPLE_FRAMES_MAX 16384u

/* Functions of the kernel in one sample; of a deeper stack the innermost ones are kept. */
#define KERNEL_FRAMES_MAX 127u
/* The same in user space. */
#define NATIVE_FRAMES_MAX 512u

/* Frames are copied in chunks of at most this many bytes and frames. */
#define WALK_CHUNK_BYTES 4096u
#define WALK_CHUNK_FRAMES 64u

/* Bounds of the stride of frames that the walker accepts. */
#define WALK_FRAME_SIZE_MIN 32u
#define WALK_FRAME_SIZE_MAX RB_DEBUG_EXT_FRAME_SIZE_MAX

/* Fields of an EC that are within so many bytes are read at once. */
#define WALK_EC_SPAN_MAX 64u

/* Largest VM stack believed, in words of 8 bytes (8 GiB).  Ruby's default is 1 MiB. */
#define WALK_STACK_WORDS_MAX ((uint64_t)RB_DEBUG_EXT_VM_STACK_MAX)

/* Processes that are followed at the same time. */
#define TARGETS_MAX 8192u

#define TASK_COMM_SIZE 16u

/* The source that made the sample.  Ids are part of recordings: append only. */
enum sample_source {
	SOURCE_CPU = 0,		/* a timer, in the thread that it interrupted */
	SOURCE_SCHED = 1,	/* a time that a thread was not running */
	SOURCE_SYSCALL = 2,	/* a system call */
	SOURCE_EVENT = 3,	/* a tracepoint, uprobe or perf event of the user's choice */
	SOURCE_ALLOC = 4,	/* the probe `alloc` */
	SOURCE_GC = 5,		/* the probe `gc_phase` */
	SOURCE_MAX
};

enum sample_kind {
	SAMPLE_RUBY = 1,	/* frames follow, maybe none */
	SAMPLE_NATIVE = 2,	/* a thread without an EC: timer, native library */
	SAMPLE_STARTING = 3,	/* the VM is not initialised yet */
	SAMPLE_ENDED = 4,	/* the VM is being destroyed */
	SAMPLE_EXITING = 5,	/* the thread is past its user space life */
	/* Events of SOURCE_SCHED that are no samples: */
	SAMPLE_RESUMED = 6,	/* the thread whose stack was sent with SAMPLE_WAITS has a CPU again */
	SAMPLE_ACCOUNT = 7,	/* a thread has ended: see struct account_event */
	SAMPLE_DETAILS = 8,	/* more of the wait that the next samples of this CPU are of: see struct wait_details */
	SAMPLE_HOLD = 9,	/* a look at who has a GVL: see struct hold_event */
};

/* sample_event::flags */
#define SAMPLE_IN_KERNEL 1u	/* the timer interrupted the kernel; not told by --timer=tick */
#define SAMPLE_THREAD_UNREAD 2u	/* the EC has a slot, but it could not be read */
#define SAMPLE_WAITS 4u		/* SOURCE_SCHED: how long is told later, by SAMPLE_RESUMED with the same thread and detail */
#define SAMPLE_COMPILES 8u	/* the JIT compiles in this thread: from the pc of the innermost frame on, see "Compiling" */
#define SAMPLE_HAS_DETAILS 16u	/* SOURCE_SCHED: a SAMPLE_DETAILS was sent before */
#define SAMPLE_LIVES 32u	/* SAMPLE_ACCOUNT: the thread has not ended, and its account is sent again later */
#define SAMPLE_SHARED 64u	/* SAMPLE_ACCOUNT: from looks, of threads that share native threads beside the kernel's accounts */

#define SAMPLE_HAS_MACHINE 128u	/* of samples: a struct sample_machine follows the frames */

/* sample_frame::flags */
#define FRAME_JIT_RETURN 1u	/* the frame's jit_return is not 0 */
#define FRAME_RESUMES 2u	/* the innermost frame's pc is that in the EC's ec_resume_pc */
/* Flags of samples with native frames, see "Native stacks" in the contract. */
#define FRAME_KNOWN 4u		/* the next two are known */
#define FRAME_FINISH 8u		/* a native call of the interpreter was made for the frame */
#define FRAME_OF_C 16u

struct sample_frame {
	uint32_t id;
	uint32_t flags;
	uint64_t pc;
};

struct sample_event {
	uint64_t time;		/* CLOCK_MONOTONIC, ns */
	uint64_t ip;		/* user space instruction pointer, 0 unknown */
	uint32_t vm;		/* target_config::vm */
	uint32_t tid;		/* in the target's pid namespace */
	uint32_t cpu;
	uint32_t ec_slot;	/* 0 none */
	uint32_t left_out;	/* outer frames that are not in frames */
	uint16_t nr_frames;
	uint8_t kind;		/* enum sample_kind */
	uint8_t truncated;	/* enum trunc_reason */
	uint8_t gc_phase;	/* of a collection in this thread, else 0 */
	uint8_t flags;
	uint16_t source;	/* enum sample_source */
	uint64_t value;		/* what it stands for, in the unit of the source: ns, bytes */
	uint64_t label;		/* id of the label set of the EC, 0 none */
	char comm[TASK_COMM_SIZE];	/* of a thread that is no Ruby thread, or not known */
	uint64_t thread;	/* serial of the Ruby thread, 0 none or unknown */
	uint32_t thread_slot;	/* where it was at that time */
	uint32_t process;	/* target_config::process */
	uint64_t count;		/* how many events it stands for: samples, waits, calls, objects */
	uint64_t detail;	/* by source: a number of a system call, a class */
	uint32_t state;		/* by source: of the thread */
	uint32_t extra;		/* by source */
	uint64_t more;		/* by source; SOURCE_SCHED: ns that it was runnable then, `extra` waits: a sample of its own */
	struct trace_context context;	/* of the EC; 0 if trace_state is not TRACE_SET */
	uint8_t trace_state;	/* enum trace_state */
	uint8_t reserved;
	uint16_t label_marks[RB_DEBUG_EXT_LABEL_MARKS];	/* of the EC, see "Labels" in ruby/debug_external.h; 0 none */
	/* struct sample_frame frames[nr_frames], innermost first */
	/* struct sample_machine, if SAMPLE_HAS_MACHINE */
};

/* The functions that ran or waited below the innermost frame.  Only the addresses that are there are sent. */
struct sample_machine {
	uint16_t nr_kernel, nr_native;
	uint8_t native_end;	/* enum unwind_end of wire/unwind.h: why the native ones end there; 0: they were not asked for */
	uint8_t reserved[3];
	/* nr_kernel of them in the kernel, innermost first; then nr_native in the process, innermost first. */
	uint64_t address[KERNEL_FRAMES_MAX + NATIVE_FRAMES_MAX];
};
#define SAMPLE_MACHINE_HEAD (sizeof(struct sample_machine) - (KERNEL_FRAMES_MAX + NATIVE_FRAMES_MAX) * sizeof(uint64_t))

/* NULL: the event has none.  It belongs to the event if the event has the room. */
static inline const struct sample_machine *sample__machine(const struct sample_event *e)
{
	const struct sample_frame *frames = (const struct sample_frame *)(e + 1);

	return e->flags & SAMPLE_HAS_MACHINE ? (const struct sample_machine *)(frames + e->nr_frames) : (void *)0;
}

/* Users whose parts of the ring are told apart; the others share the last place. */
#define RING_USERS_MAX 64u

/* Bytes that a process, or all of one user, have sent since the reader began to read. */
struct ring_use {
	uint32_t turn;		/* of the reader: see ring_turn in bpf/common.bpf.h */
	uint32_t bytes;		/* in that turn */
};

/* target_config::flags */
#define TARGET_FORKED 1u	/* made by fork: until its own first step its section names its parent */
#define TARGET_SHARED 2u	/* its memory is its parent's: vfork, posix_spawn */
#define TARGET_WATCHED 4u	/* not to be sampled, only its CPU time is of interest */
#define TARGET_EXITED 8u
#define TARGET_PLAIN 16u	/* no ruby: its samples have no Ruby frames, and there is no section */

/* A process that is followed, and where to find things in it: what the walker
 * needs of the section, after validation. */
struct target_config {
	uint64_t section;	/* address of the section; 0: it is not known (yet) */
	int64_t tls_current_ec;
	uint32_t vm;		/* number of the VM, from 1; each program of each process has its own */
	uint32_t pid;		/* in its own pid namespace */
	uint32_t frame_size;
	uint32_t frames_per_chunk;
	uint16_t ec_vm_stack;
	uint16_t ec_vm_stack_size;
	uint16_t ec_cfp;
	uint16_t ec_slot;
	uint16_t frame_pc;
	uint16_t frame_ext_debug;
	uint16_t frame_jit_return;
	uint16_t ec_slot_size;
	uint64_t exec_id;	/* set by the BPF program at the first sample, + 1 */
	/* One read of `ec_span` bytes from `ec_first` has ec_vm_stack,
	 * ec_vm_stack_size and ec_cfp; 0: they are too far apart for that. */
	uint16_t ec_first;
	uint16_t ec_span;
	uint16_t ec_resume_pc;	/* 0: there is none */
	uint16_t ec_label;	/* 0: there is none */
	uint32_t process;	/* number of the process, from 1, the same for all that it executes */
	uint32_t flags;		/* TARGET_ */
	uint64_t started;	/* CLOCK_BOOTTIME, ns; 0 unknown */
	uint64_t mm;		/* its memory, for the kernel; set with exec_id */
	uint32_t file;		/* number of the file of its ruby, for the places of its probes; 0: not known */
	uint32_t records_end;	/* FORKED: ids below are its parent's; 0 unknown */
	uint16_t frame_ep, ep_flags;	/* as in the section */
	uint32_t frame_flag_set, frame_flag_finish, frame_flag_cframe;	/* frame_flag_set 0: they are not published */
	uint32_t jit_flags;	/* offset of that in the section; 0: it is not published */
	uint32_t user;		/* place among ring_users: of the user who runs it */
	struct ring_use ring;	/* what it has sent; set by the BPF programs */
	uint16_t ec_context;	/* 0: there is none */
	uint16_t ec_label_marks;	/* the same */
	/* The thread-local variable that has the address of a record: see trace_place.  Changed by bpf/context.bpf.c. */
	uint32_t context_module;
	int64_t context_offset;
};

/* A process wherever it is seen from: the inode number of its pid namespace
 * and its pid there. */
struct target_key {
	uint32_t pidns;
	uint32_t pid;
};

/* The key of the counters. */
struct counter_key {
	uint32_t process;	/* target_config::process */
	uint32_t source;	/* enum sample_source */
};

/* The counters of one process and one source, on all CPUs. */
struct source_counters {
	uint64_t taken;		/* times that a thread of it was to be sampled */
	uint64_t missed;	/* times that should have been, and are in none of these */
	uint64_t unfollowed;	/* times while where to find its stacks was not known: no ruby (yet) */
	uint64_t whole;
	uint64_t truncated[TRUNC_MAX];
	uint64_t lost[LOSS_MAX];
};

#define RECORD_ASSERT(name, expr) typedef char record_assert_##name[(expr) ? 1 : -1]
RECORD_ASSERT(frame, sizeof(struct sample_frame) == 16);
RECORD_ASSERT(event, sizeof(struct sample_event) == 160 && __builtin_offsetof(struct sample_event, context) % 8 == 0);
RECORD_ASSERT(machine, sizeof(struct sample_machine) == 5120);
RECORD_ASSERT(config, sizeof(struct target_config) == 144);
RECORD_ASSERT(key, sizeof(struct target_key) == 8);
RECORD_ASSERT(counter_key, sizeof(struct counter_key) == 8);
RECORD_ASSERT(counters, sizeof(struct source_counters) == 8 * (4 + TRUNC_MAX + LOSS_MAX));
RECORD_ASSERT(thinning, sizeof(struct thinning) == 16);
#undef RECORD_ASSERT

#endif /* EXTPROF_SAMPLE_H */
