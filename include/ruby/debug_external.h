#ifndef RUBY_DEBUG_EXTERNAL_H                       /*-*-C-*-vi:se ft=c:*/
#define RUBY_DEBUG_EXTERNAL_H
/**
 * @file
 * @brief  How another process reads what this Ruby process is running.
 *
 * A Ruby built with this interface publishes, in its own memory, where its
 * threads and fibers are, what each of their control frames runs, and the
 * names, files and lines of that code.  A profiler or a debugger in another
 * process (or an eBPF program in the kernel) reads it; nothing in the Ruby
 * process runs for it, and nothing has to be switched on.
 *
 * This header is the whole contract.  It includes no Ruby header, and a reader
 * never needs to know the layout of one of Ruby's own structures: where one
 * has to be read, the offset is published in struct rb_debug_ext_section.  It
 * can be included from C99, C++11 and eBPF programs.
 *
 * Conventions:
 *  - All integers are in the byte order of the process.  Structures have no
 *    padding; their sizes are asserted at the end of this file.
 *  - An *address* is a virtual address in the process, held in 64 bits; 0 is
 *    "none".  An *offset* is in bytes.
 *  - An address, a directory or an offset in the section that is 0 is not
 *    published: a reader does without what it leads to.  The offsets from
 *    ec_vm_stack to lines_entry_line are exceptions.  They are always there, and 0
 *    is an offset.  ec_slot, ec_label and thread_ec are not 0 in any process.
 *  - A later minor version may add values to an enumeration and bits to a word of
 *    flags.  A reader shows an unknown value as unknown, and ignores an unknown bit.
 *  - Fields named `reserved` are 0 until a later minor version gives them a
 *    meaning.
 *  - Order: what is said here to be stored before something else is so for a
 *    reader on another CPU only if that reads with acquire ordering: with a fence
 *    (on aarch64 dmb ishld; on x86-64 the compiler's is enough) between the read
 *    of what was stored last and that of what was stored before.  A read of
 *    several words at once has no order.  A sequence lock needs one fence after
 *    the first read of its generation and one before the second; a thread's
 *    state is read before what is said of that state, and once more after a
 *    fence.  A reader that has interrupted or stopped the thread that stores
 *    needs none.
 *  - Nothing has to be written.  A reader that can only read, as one of a core
 *    file, loses what grace_until, alloc_interval and live_until say.
 *  - Memory of another process can change or go away between two reads, and a
 *    hostile process can put anything there.  A reader must check every read
 *    and bound every loop and length; the limits below are for that.
 *
 * How to read a stack:
 *  1. Find the section (see "Discovery"), check magic, abi_major and sizes.
 *  2. Find an execution context ("EC", the state of one thread or fiber):
 *     the running one of a native thread is the pointer at (thread pointer +
 *     tls_current_ec), every one is in the table of ECs.
 *  3. At the EC, read ec_vm_stack, ec_vm_stack_size and ec_cfp.  The control
 *     frames are an array of frame_size bytes each, from the address in ec_cfp
 *     (the innermost frame) up to vm_stack + 8 * vm_stack_size (exclusive).
 *     A NULL cfp or vm_stack means that nothing runs there.
 *  4. From each frame read ext_debug (the id of a record) and pc.
 *  5. Look up the record of each id, compose the name ("Names"), map the pc
 *     to a line ("Lines").
 *
 * Steps 2 to 4 are consistent at any machine instruction of the thread that
 * is interrupted or stopped: ec->cfp is stored after the frame is complete,
 * with one store, and frames above it in memory (its callers) do not change
 * identity while it is current.
 */

#if defined(__bpf__) || defined(__BPF__)
/* eBPF programs have no libc.  vmlinux.h, if used, comes first and has these. */
# ifndef __VMLINUX_H__
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INT64_TYPE__ int64_t;
# endif
#else
# include <stdint.h>
#endif

#define RB_DEBUG_EXT_ABI_MAJOR 1 /**< changes when a reader has to be rewritten */
#define RB_DEBUG_EXT_ABI_MINOR 1 /**< grows when fields are added at a tail */

/* -- Discovery ------------------------------------------------------------
 *
 * The section is in the ELF file that holds the VM: the executable, or
 * libruby.so.  Any of these three leads to its address before relocation (add
 * the load bias):
 *  - the ELF section called "rb_debug_ext" (kept by strip);
 *  - the dynamic symbol "rb_debug_ext_root";
 *  - an ELF note in a PT_NOTE segment, with owner "ruby-debug-ext" and
 *    type RB_DEBUG_EXT_NOTE_TYPE.  Its 8 bytes of description are a signed
 *    distance, from the description itself to the section.
 *
 * exec() replaces the section with all other memory, and the pid stays: find it
 * again.  A process can have loaded two files that hold a VM.  Each has a section
 * of its own; that of a VM that was never started stays STARTING.
 */
#define RB_DEBUG_EXT_SECTION_NAME "rb_debug_ext"
#define RB_DEBUG_EXT_SYMBOL_NAME "rb_debug_ext_root"
#define RB_DEBUG_EXT_NOTE_OWNER "ruby-debug-ext"
#define RB_DEBUG_EXT_NOTE_TYPE 0x52444558u

/** The first 8 bytes of the section, without a terminating NUL. */
#define RB_DEBUG_EXT_MAGIC "RBDBGEXT"

/* -- Limits that readers may rely on -------------------------------------- */

#define RB_DEBUG_EXT_SECTION_SIZE_MAX (1u << 20) /**< largest section_size */
#define RB_DEBUG_EXT_STRIDE_MAX 4096u          /**< largest size of a record, slot or entry */
#define RB_DEBUG_EXT_FRAME_SIZE_MAX 256u       /**< largest frame_size */
#define RB_DEBUG_EXT_VM_STACK_MAX (1u << 30)   /**< most words of a VM stack */
#define RB_DEBUG_EXT_STRING_MAX 65535u         /**< longest string, in bytes */
#define RB_DEBUG_EXT_LINES_MAX (16u << 20)     /**< longest line table, in bytes */
#define RB_DEBUG_EXT_NAME_DEPTH_MAX 64         /**< how deep the composition of a name goes */
#define RB_DEBUG_EXT_NAME_MAX (16u << 10)      /**< longest composed name, in bytes */
#define RB_DEBUG_EXT_RECORDS_PER_CHUNK 1024u
#define RB_DEBUG_EXT_RECORD_CHUNKS_MAX (1u << 21)
#define RB_DEBUG_EXT_SLOTS_PER_CHUNK 64u
#define RB_DEBUG_EXT_SLOT_CHUNKS_MAX (1u << 16)
#define RB_DEBUG_EXT_THREAD_NAME_MAX 64u       /**< with the terminating NUL; longer ones are cut */
#define RB_DEBUG_EXT_RACTOR_NAME_MAX 32u       /**< the same for names of ractors */
#define RB_DEBUG_EXT_JIT_LOG_MAX (1u << 26)    /**< most entries of the JIT code log */
#define RB_DEBUG_EXT_LABELS_MAX 64u            /**< records of one set of labels */
#define RB_DEBUG_EXT_LABEL_MARKS 3u            /**< marks of an EC, see ec_label_marks */
#define RB_DEBUG_EXT_LABEL_RECORDS_MAX 32768u  /**< records of labels, retired ones included */
#define RB_DEBUG_EXT_LABEL_KEY_MAX 128u        /**< bytes of a label's key; longer ones are cut */
#define RB_DEBUG_EXT_LABEL_VALUE_MAX 256u      /**< the same for values */

/* -- The section ----------------------------------------------------------- */

/** rb_debug_ext_section::state */
enum rb_debug_ext_state {
    RB_DEBUG_EXT_STARTING = 0, /**< the VM is not initialised yet: only magic, versions and sizes are valid */
    RB_DEBUG_EXT_READY = 1,    /**< everything is valid, but ruby_description can be empty for a moment */
    RB_DEBUG_EXT_ENDED = 2,    /**< the VM is being destroyed: do not read further */
    /** Since abi_minor 1.  The process runs and cannot be read: only magic,
     *  versions, sizes and `unavailable` are valid.  It stays so until exec(). */
    RB_DEBUG_EXT_UNAVAILABLE = 3
};

/** rb_debug_ext_section::unavailable.  Ruby comes first: where there is little
 *  address space, tables are smaller, and if Ruby could need all of it to start,
 *  there are none. */
enum rb_debug_ext_unavailable {
    RB_DEBUG_EXT_NO_ADDRESS_SPACE = 1, /**< RLIMIT_AS (ulimit -v) leaves too little */
    RB_DEBUG_EXT_NO_MEMORY = 2,        /**< the system gave none */
    RB_DEBUG_EXT_SWITCHED_OFF = 3      /**< it was started with RUBY_EXTERNAL_DEBUG=0 */
};

/** rb_debug_ext_section::gc_phase */
enum rb_debug_ext_gc_phase {
    RB_DEBUG_EXT_GC_NONE = 0,
    RB_DEBUG_EXT_GC_ENTER = 1,   /**< in the collector, in no phase of those below */
    RB_DEBUG_EXT_GC_MARK = 2,
    RB_DEBUG_EXT_GC_SWEEP = 3,
    RB_DEBUG_EXT_GC_COMPACT = 4
};

/** Why a collection began: one of the first five bits.  Why it marks all
 *  objects: the others, 0 if it does not. */
enum rb_debug_ext_gc_cause {
    RB_DEBUG_EXT_GC_BY_NEWOBJ = 1,      /**< no free slot */
    RB_DEBUG_EXT_GC_BY_MALLOC = 2,      /**< memory allocated besides slots */
    RB_DEBUG_EXT_GC_BY_METHOD = 4,      /**< GC.start, GC.compact and others */
    RB_DEBUG_EXT_GC_BY_CAPI = 8,        /**< rb_gc() */
    RB_DEBUG_EXT_GC_BY_STRESS = 16,
    RB_DEBUG_EXT_GC_MAJOR_BY_NOFREE = 256,    /**< sweeping has freed too few slots */
    RB_DEBUG_EXT_GC_MAJOR_BY_OLDGEN = 512,    /**< too many old objects */
    RB_DEBUG_EXT_GC_MAJOR_BY_SHADY = 1024,    /**< too many objects without write barriers */
    RB_DEBUG_EXT_GC_MAJOR_BY_FORCE = 2048,    /**< it was asked for */
    RB_DEBUG_EXT_GC_MAJOR_BY_OLDMALLOC = 4096 /**< too much memory of old objects */
};

enum rb_debug_ext_gc_flags {
    RB_DEBUG_EXT_GC_MAJOR = 1,           /**< it marks all objects, else young ones only */
    RB_DEBUG_EXT_GC_IMMEDIATE_MARK = 2,  /**< it marks in one step */
    RB_DEBUG_EXT_GC_IMMEDIATE_SWEEP = 4, /**< it sweeps in one step */
    RB_DEBUG_EXT_GC_COMPACTING = 8       /**< it moves objects */
};

/*
 * The heap.  Since abi_minor 1.  rb_debug_ext_section::heap says where the default
 * collector counts slots and memory for itself: nothing is stored for readers.
 *
 * Objects are in slots, slots of one size are in a pool, and a pool has pages.  Pools
 * lie one behind the other; the offsets in rb_debug_ext_heap are in a pool.  Slots in
 * use, for all pools together, are allocated - freed - ended: objects that live, and
 * those that have died and were not swept yet.  GC.stat has the same sums:
 * heap_live_slots, heap_available_slots (slots), heap_final_slots (ended),
 * heap_allocated_pages (pages, and those at empty_pages), malloc_increase_bytes.
 *
 * The counters grow while Ruby code runs.  A reader reads all pools with one call;
 * it may then be off by what is allocated or freed in that time.  The addresses stay
 * the same as long as the process runs its program, in its children by fork too.
 */
struct rb_debug_ext_heap {
    uint64_t pools;            /**< address of the first pool; 0: the collector does not tell */
    uint64_t empty_pages;      /**< address of 8 bytes: how many pages no pool has */
    uint64_t malloc_bytes;     /**< address of 8 bytes: of malloc since the last collection, less what was freed */
    uint64_t malloc_bytes_limit; /**< address of 8 bytes: when there are more of these, a collection begins */
    uint32_t page_size;        /**< bytes of a page */
    uint16_t pool_count;       /**< how many pools */
    uint16_t pool_size;        /**< bytes from one pool to the next */
    /* Offsets in a pool.  All are 8 byte fields but slot_size, which has 2. */
    uint16_t slot_size;        /**< bytes of a slot */
    uint16_t slots;            /**< slots in its pages */
    uint16_t pages;            /**< its pages */
    uint16_t allocated;        /**< objects that were made in it, ever */
    uint16_t freed;            /**< slots that became free again, ever */
    uint16_t ended;            /**< objects that have died and wait for their finalizers */
    uint32_t reserved;
};

/**
 * The root of everything.  It lives as long as the process and does not move.
 * `section_size` tells how much of it the process has: fields beyond it are
 * absent, read them as 0.
 */
struct rb_debug_ext_section {
    uint8_t magic[8];
    uint16_t abi_major;
    uint16_t abi_minor;
    uint32_t section_size;        /**< bytes of this structure in the process */
    uint32_t state;               /**< enum rb_debug_ext_state; stored last */
    /** The process that this memory describes.  Another value than the pid of
     *  the process means a child between fork (or vfork) and the point where
     *  Ruby has adapted its tables: do not read further yet.  It stays so in a
     *  child that C code makes with fork() or clone() and that runs no Ruby: do
     *  not wait for it.  The pid is the one in the pid namespace of the process. */
    uint32_t pid;

    /* Sizes of the other structures of this header in the process: strides of
     * arrays, in bytes.  At least the size this header gives for 1.0, and at most
     * RB_DEBUG_EXT_STRIDE_MAX. */
    uint16_t record_size;
    uint16_t ec_slot_size;
    uint16_t thread_slot_size;
    uint16_t jit_entry_size;

    /* Current EC of a native thread: 8 bytes at (thread pointer +
     * tls_current_ec).  The thread pointer is fs base on x86-64, tpidr_el0 on
     * aarch64.  NULL: the thread runs no Ruby code. */
    int64_t tls_current_ec;

    /* Offsets in an execution context, all 8 byte fields but ec_slot. */
    uint16_t ec_vm_stack;         /**< address of the VM stack's lowest word */
    uint16_t ec_vm_stack_size;    /**< its size in words of 8 bytes */
    uint16_t ec_cfp;              /**< address of the innermost control frame */
    uint16_t ec_slot;             /**< uint32_t: index in the table of ECs, 0 none */
    uint16_t ec_label;            /**< uint32_t: label set in force, 0 none; see "Labels" */
    uint16_t ec_jit_entry_sp;     /**< 0, and will stay so: not published */

    /* Offsets in a control frame, all 8 byte fields but frame_ext_debug. */
    uint16_t frame_size;          /**< bytes from one frame to its caller's */
    uint16_t frame_pc;            /**< address: the *next* instruction, see "Lines" */
    uint16_t frame_ext_debug;     /**< uint32_t: id of a record.  The uint32_t behind it: see "Lines" */
    uint16_t frame_jit_return;    /**< not 0: JIT code may own the pc, see "Lines" */
    uint16_t frame_self;          /**< address of the receiver, for identity only */
    uint16_t frame_ep;            /**< address of the environment, for identity only */

    /* Offset in a thread (rb_debug_ext_thread::thread), an 8 byte field. */
    uint16_t thread_ec;           /**< address of the EC the thread runs, or ran last */

    /* Offsets in a table of lines that the VM has for itself, see "Lines". */
    uint16_t lines_entries;       /**< address of an array of entries */
    uint16_t lines_count;         /**< uint32_t: how many entries */
    uint16_t lines_index;         /**< address of the index */
    uint16_t lines_entry_size;    /**< bytes from one entry to the next */
    uint16_t lines_entry_line;    /**< int32_t in an entry: the line */

    /** Offset in an EC of an 8 byte field.  The field holds a pc.  If the innermost
     *  frame has the same pc, the instruction before that pc has not run, see
     *  "Lines". */
    uint16_t ec_resume_pc;
    /** Since abi_minor 1.  Offset in an EC of RB_DEBUG_EXT_LABEL_MARKS uint16_t; 0: there
     *  are none.  See "Labels". */
    uint16_t ec_label_marks;

    /* Records: records_dir is the address of an array of addresses of chunks,
     * each of RB_DEBUG_EXT_RECORDS_PER_CHUNK records.  The record of an id is
     * at dir[id / RECORDS_PER_CHUNK] + id % RECORDS_PER_CHUNK * record_size.
     * A chunk of which all records have expired is given back: its address
     * becomes 0, and its memory can become that of another one.  In a chunk
     * that stays, a page of such records is given back: they read as zero,
     * their generations too. */
    uint64_t records_dir;
    uint32_t records_end;         /**< ids below this have been given out at least once */
    /** Grows when the name of an existing record may compose to another text
     *  (a class was named), and with each id that is given out anew once all have
     *  been used, see RB_DEBUG_EXT_ID_FIRST: forget what was cached then. */
    uint32_t names_generation;

    /* The same two levels for ECs and threads, RB_DEBUG_EXT_SLOTS_PER_CHUNK to
     * a chunk.  Slot 0 is never used.  Slots are reused, chunks never freed. */
    uint64_t ec_dir;
    uint64_t thread_dir;
    uint32_t ec_slots_end;        /**< slots below this have been used at least once */
    uint32_t thread_slots_end;

    /* Garbage collection, by Ruby's default collector: others do not tell.
     * gc_tid is stored before the phase. */
    uint32_t gc_phase;            /**< enum rb_debug_ext_gc_phase */
    uint32_t gc_tid;              /**< native thread that collects, valid while gc_phase is not 0 */
    uint64_t gc_count;            /**< entries into the collector: each step of a collection */

    /* The holder of the GVL of the main ractor, also in the table of ractors. */
    uint32_t gvl_thread_slot;     /**< index in the table of threads, 0 nobody */
    /** Since abi_minor 1.  The native thread that compiles for the JIT at this
     *  moment, in the pid namespace of the process; 0: none.  See "Compiling". */
    uint32_t jit_compile_tid;

    /* JIT: code is in [jit_start, jit_end).  jit_log is the address of an
     * append-only array of struct rb_debug_ext_jit_entry, of which jit_log_len
     * are complete; jit_log_generation grows when code was thrown away and the
     * log began anew.  Read the generation, then the length, the entries, and
     * the generation again: what was read belongs to it only if it has not
     * changed.  Code that was thrown away leaves its place to other code: an
     * address that was seen in one generation has no line in another.  Filled
     * in when the JIT starts, which can be after READY.  0: not published. */
    uint64_t jit_start;
    uint64_t jit_end;
    uint64_t jit_log;
    uint32_t jit_log_len;
    uint32_t jit_log_generation;

    /* Statistics of the tables. */
    uint64_t records_live;        /**< records in use */
    uint64_t records_retired;     /**< retired and still readable */
    uint64_t records_expired;     /**< retired and gone, ever */
    uint64_t records_failed;      /**< not made: out of memory or of ids */
    uint64_t bytes;               /**< memory held for records, strings and line tables */
    uint32_t grace_seconds;       /**< a retired record is readable for at least this long ... */
    uint32_t grace_records;       /**< ... or until this many more have retired, if that is sooner; see grace_until
                                   *   and grace_bytes */

    char ruby_version[32];        /**< "3.4.5", NUL terminated */
    char ruby_description[128];   /**< as `ruby -v`, NUL terminated, cut when longer */

    /** Names of code that is gone cost memory, so more of them are kept only while
     *  a reader asks.  A reader that looks ids up some time after it has seen them
     *  stores here the time until which it will do so, in seconds of
     *  CLOCK_MONOTONIC and at most grace_seconds from now.  It stores a later time
     *  before that time has come.  Otherwise, and after that, grace_records_unasked
     *  are kept in place of grace_records, and code that goes leaves no lines.
     *  To store it is optional: a reader that does not finds some ids of code that
     *  is gone expired, never another name. */
    uint64_t grace_until;
    uint32_t grace_records_unasked; /**< retired records kept when nobody asks */
    /** Texts and tables of lines of code and classes that are gone, in bytes:
     *  beyond it the oldest retired records expire, down to what records of
     *  living code refer to.  A text that several records have counts for each. */
    uint32_t grace_bytes;

    /* Probes, see there: addresses of their semaphores; 0: no such probe in
     * this build. */
    uint64_t alloc_semaphore;     /**< of `alloc` */
    uint64_t ec_semaphore;        /**< of `ec_new` and `ec_free` */
    uint64_t thread_semaphore;    /**< of `thread_state` */
    uint64_t gc_semaphore;        /**< of `gc_phase` */
    /** Mean distance of two samples of `alloc` and of `malloc` in bytes.  A tracer may store
     *  another one (0: RB_DEBUG_EXT_ALLOC_INTERVAL); it is used each time that
     *  a distance is drawn, that is after a sample or a collection.  To store it
     *  is optional: the weights are right for the interval that is there. */
    uint64_t alloc_interval;

    /** Functions in C that JIT code calls without storing the pc are in
     *  [jit_leaf_start, jit_leaf_end), two addresses, see "Lines".  Filled in
     *  with jit_start; 0 where that is not known, as without optimization. */
    uint64_t jit_leaf_start;
    uint64_t jit_leaf_end;

    /* Since abi_minor 1: the collection that runs, or ran last; a collection can
     * take many steps.  Stored when it begins, before the first MARK.  0 in a
     * process of minor 0. */
    uint32_t gc_cause;            /**< enum rb_debug_ext_gc_cause, several bits */
    uint32_t gc_flags;            /**< enum rb_debug_ext_gc_flags */
    uint64_t gc_cycles;           /**< collections that have begun */
    uint64_t gc_major_cycles;     /**< of these, those that mark all objects */

    /* Since abi_minor 1.  Ractors: the same two levels as for ECs and threads.
     * ractor_dir is 0 where there is no table. */
    uint64_t ractor_dir;
    uint32_t ractor_slots_end;
    uint32_t ractor_slot_size;    /**< bytes from one slot to the next */

    /* Since abi_minor 1.  Offsets to which fiber resumed which, see "Threads and
     * fibers".  0: not published. */
    uint16_t ec_fiber;            /**< in an EC, 8 bytes: address of the fiber whose EC it is */
    uint16_t fiber_prev;          /**< in a fiber, 8 bytes: address of another fiber */
    uint16_t fiber_ec;            /**< in a fiber: its EC itself, not an address of it */

    /* Since abi_minor 1.  What kind a frame is, see "Native stacks". */
    uint16_t ep_flags;            /**< in an environment, 8 bytes: flags */
    uint32_t frame_flag_set;      /**< always set in these flags; 0: flags are not published */
    uint32_t frame_flag_finish;   /**< set: the native function that runs this frame was called for it */
    uint32_t frame_flag_cframe;   /**< set: the frame is one of C, not of Ruby code */

    /* Since abi_minor 1.  See "Compiling". */
    uint32_t jit_compile_id;      /**< record of the code that is compiled, or was last, 0 unknown */
    uint64_t jit_compile_count;   /**< how often compiling has begun */

    /* Since abi_minor 1.  See "Labels". */
    uint32_t label_records;       /**< records of labels, retired ones included */
    uint16_t ec_context;          /**< offset in an EC, 8 bytes: address of a record of the program's own, 0 none */
    /** Since abi_minor 1.  Why the state is UNAVAILABLE: enum rb_debug_ext_unavailable. */
    uint16_t unavailable;
    uint64_t labels_refused;      /**< labels not set: too many sets or labels in a set, or no memory */

    /* Since abi_minor 1.  See "Native stacks". */
    uint64_t exec_start;          /**< the function that runs Ruby code is in [exec_start, exec_end) */
    uint64_t exec_end;
    uint32_t jit_flags;           /**< enum rb_debug_ext_jit_flags; filled in before jit_start */

    /* Since abi_minor 1.  Frames of a JIT that keeps what runs in descriptors, see
     * "Frames with descriptors".  All 0 where ids and pcs are in all frames. */
    uint16_t jit_frame_kind;      /**< enum rb_debug_ext_jit_frame_kind */
    uint16_t jit_frame_slot;      /**< so many bytes below the address at frame_jit_return is that of the descriptor */
    uint32_t jit_frame_c;         /**< the value at frame_jit_return of a frame of C */
    uint16_t jit_desc_pc;         /**< offset in a descriptor, 8 bytes: as frame_pc */
    uint16_t jit_desc_id;         /**< offset in a descriptor, 4 bytes: id of a record */

    /** Since abi_minor 1.  As alloc_semaphore, of the probe `malloc`. */
    uint64_t malloc_semaphore;

    /* Since abi_minor 1.  See "Objects that live". */
    /** A reader that wants the table stores here the time until which it does, in
     *  seconds of CLOCK_MONOTONIC and at most RB_DEBUG_EXT_LIVE_SECONDS from now.  It
     *  stores a later time before that time has come, and never an earlier one:
     *  another reader may have stored that. */
    uint64_t live_until;
    uint64_t live;                /**< address of an array of struct rb_debug_ext_live, 0 none yet */
    uint32_t live_end;            /**< so many entries are in use; at most RB_DEBUG_EXT_LIVE_MAX */
    uint32_t live_entry_size;     /**< bytes from one entry to the next */
    uint32_t live_generation;     /**< sequence lock */
    uint32_t live_clears;         /**< how often it was emptied because nobody asked */
    uint64_t live_cycles;         /**< gc_cycles when the collector last took out what had died ... */
    uint64_t live_major_cycles;   /**< ... and gc_major_cycles */
    uint64_t live_refused;        /**< samples that are not in it: it was full, or there was no memory */

    /** Since abi_minor 1.  How full the heap is. */
    struct rb_debug_ext_heap heap;
};

/** rb_debug_ext_section::jit_flags */
enum rb_debug_ext_jit_flags {
    RB_DEBUG_EXT_JIT_FRAME_POINTER = 1 /**< JIT code keeps a frame pointer */
};

/** rb_debug_ext_section::jit_frame_kind */
enum rb_debug_ext_jit_frame_kind {
    RB_DEBUG_EXT_JIT_FRAME_WHOLE = 0,     /**< ids and pcs are in all frames */
    RB_DEBUG_EXT_JIT_FRAME_DESCRIPTOR = 1 /**< frames of JIT code have descriptors */
};

/* -- Records: what an id stands for ---------------------------------------- */

/** No record.  The outermost frame of each stack has this id and is no code.  Another
 *  frame has it if there was no memory to describe its code: show it as unknown. */
#define RB_DEBUG_EXT_ID_NONE 0u
/** A frame that the VM pushed for its own purposes: do not show it. */
#define RB_DEBUG_EXT_ID_INTERNAL 1u
/** A block implemented in C. */
#define RB_DEBUG_EXT_ID_IFUNC 2u
/** Ids from here on are given out; all ids are below 2**31.  Where RLIMIT_AS limits
 *  address space the bound can be lower, but not below 2**23. */
#define RB_DEBUG_EXT_ID_FIRST 3u

/** rb_debug_ext_record::kind */
enum rb_debug_ext_kind {
    RB_DEBUG_EXT_NONE = 0,     /**< not described (yet) */
    /* Code.  `name` is what the code calls itself. */
    RB_DEBUG_EXT_METHOD = 1,   /**< method in Ruby; ref1: owner's class record; ref2: see below */
    RB_DEBUG_EXT_CMETHOD = 2,  /**< method in C; ref1: owner's class record; no path, no lines */
    RB_DEBUG_EXT_BMETHOD = 3,  /**< method from a block (define_method); ref1, ref2: as METHOD */
    RB_DEBUG_EXT_BLOCK = 4,    /**< ref1: record of the method (or body) it is in; level: depth, from 1 */
    RB_DEBUG_EXT_RESCUE = 5,   /**< ref1: record of the code it belongs to */
    RB_DEBUG_EXT_ENSURE = 6,   /**< ref1: record of the code it belongs to */
    RB_DEBUG_EXT_EVAL = 7,     /**< evaluated string; ref1: record of the code that it runs in */
    RB_DEBUG_EXT_BODY = 8,     /**< main program, file, class or module body */
    RB_DEBUG_EXT_INTERNAL = 9, /**< a frame of the VM's own: only `name` */
    /* Classes and modules: owners of methods, on no stack themselves. */
    RB_DEBUG_EXT_NAMED = 16,       /**< name: full path ("A::B"), or a temporary name given to it */
    RB_DEBUG_EXT_ANON_CLASS = 17,  /**< ref1: superclass */
    RB_DEBUG_EXT_ANON_MODULE = 18,
    RB_DEBUG_EXT_SINGLETON = 19,   /**< singleton class of a class or module; ref1: that */
    RB_DEBUG_EXT_INSTANCE_SINGLETON = 20, /**< singleton class of another object; ref1: its class */
    RB_DEBUG_EXT_REFINEMENT = 21,  /**< ref1: module it is defined in; ref2: refined class */
    RB_DEBUG_EXT_NESTED = 22,      /**< constant `name` in the unnamed ref1 */
    /* Since abi_minor 1: in no frame, but at ec_label of an EC. */
    RB_DEBUG_EXT_LABEL = 32        /**< see "Labels" */
};

/** rb_debug_ext_record::flags */
enum rb_debug_ext_flags {
    /** The code or class is gone; the record expires after the grace period.
     *  One that other records refer to retires when the last of them expires. */
    RB_DEBUG_EXT_RETIRED = 1,
    /** The code is shared by several methods, of which the record names one. */
    RB_DEBUG_EXT_SHARED = 2,
    /** Part of Ruby itself, written in Ruby. */
    RB_DEBUG_EXT_BUILTIN = 4,
    /** `lines` is a table that the VM has for itself. */
    RB_DEBUG_EXT_LINES_INSNS = 8
};

/**
 * 64 bytes.  A record is complete before its id can be in any frame.  After
 * that only flags, lines and, for classes, kind, name and refs change.
 *
 * A METHOD or BMETHOD with ref2 has its code from there: path, lines, code,
 * code_size and first_line are those of the record ref2, its own are 0.
 *
 * `generation` is a sequence lock: odd while the record is being written, and
 * larger after it was, or 0 again when its memory was given back.  As an id is
 * not used again before all others, one generation before and after a read
 * means one record, if the entry of records_dir is the same after that.  To
 * read a record and its strings: read the record, read what it points to, read
 * the generation again, then the entry of records_dir again; if the generation
 * was odd or either differs, begin anew, a few times at most.  A record that
 * has expired has kind RB_DEBUG_EXT_NONE, or is in no chunk.
 */
struct rb_debug_ext_record {
    uint32_t generation;
    uint8_t kind;          /**< enum rb_debug_ext_kind */
    uint8_t flags;         /**< enum rb_debug_ext_flags */
    uint16_t level;        /**< BLOCK: how many blocks deep, from 1 */
    uint32_t ref1;         /**< id of another record, by kind; 0 none */
    uint32_t ref2;
    uint64_t name;         /**< address of a struct rb_debug_ext_string, 0 none */
    uint64_t path;         /**< the file as Ruby shows it; address of a string, 0 none */
    uint64_t lines;        /**< address of a table, see "Lines"; 0 none */
    uint64_t code;         /**< address of the first instruction, 0 none; CMETHOD since abi_minor 1: of its C function */
    uint32_t code_size;    /**< in instruction words of 8 bytes */
    uint32_t first_line;   /**< line of `def` or of the opening, 0 none */
    uint64_t vm_private;   /**< the VM's own: readers ignore it */
};

/** Text, in any encoding (mostly UTF-8), not terminated.  Treat it as bytes. */
struct rb_debug_ext_string {
    uint32_t length;       /**< bytes that follow; at most RB_DEBUG_EXT_STRING_MAX */
    /* char bytes[length]; */
};

/*
 * Names.  The text of a record is composed, so that it holds no address and
 * is the same in every process:
 *
 *   METHOD, CMETHOD, BMETHOD  owner is SINGLETON of X:           text(X) "." name
 *                             owner is INSTANCE_SINGLETON of C:  "#<instance of " text(C) ">." name
 *                             owner is another record:           text(owner) "#" name
 *                             no owner:                          name
 *                             SHARED, and named by a BLOCK, RESCUE, ENSURE or EVAL
 *                             (which cannot tell in which method it runs):  name
 *   BLOCK                     "block in " text(ref1), or, level > 1,
 *                             "block (" level " levels) in " text(ref1)
 *   RESCUE, ENSURE, EVAL      "rescue in ", "ensure in ", "eval in " text(ref1)
 *   BODY, INTERNAL, NAMED     name
 *   ANON_CLASS                "#<anonymous subclass of " text(ref1) ">", without ref1 "#<anonymous class>"
 *   ANON_MODULE               "#<anonymous module>"
 *   SINGLETON                 "#<singleton of " text(ref1) ">"
 *   INSTANCE_SINGLETON        "#<singleton of #<instance of " text(ref1) ">>"
 *   REFINEMENT                "#<refinement " text(ref1) " of " text(ref2) ">"
 *   NESTED                    text(ref1) "::" name
 *   anything else             "?"
 *
 * At most RB_DEBUG_EXT_NAME_DEPTH_MAX records deep; "?" beyond.  A refinement
 * refers to two records, so that depth alone bounds nothing: the text of what
 * is named is cut after RB_DEBUG_EXT_NAME_MAX bytes, be it within a character,
 * and no reference needs to be followed after that.  The methods
 * Module#debug_name, Method#debug_name, UnboundMethod#debug_name and
 * Thread::Backtrace::Location#debug_label return the same texts.
 */

/**
 * Lines.  The pc of a frame is the address of the instruction after the one
 * that runs, except before the first.  With
 *
 *     i = (pc - record.code) / 8;  if (i > 0) i = i - 1;
 *
 * i is the position of an instruction word, and the record's table leads from
 * it to a line.  If pc is outside [code, code + 8 * code_size] there is none.
 *
 * While the code lives, the record has the flag LINES_INSNS, and `lines` is
 * the address of a structure in which the section's lines_* are offsets.  The
 * line of position i is that of entry number (rank(i) - 1), or of entry 0 when
 * there is but one.  rank(i) is looked up in the index:
 *
 *     uint64_t first[6];       i < 54:  (first[i / 9] >> (i % 9 * 7)) & 127
 *     struct {                 i >= 54: with k = i - 54, b = &block[k / 512]:
 *         uint32_t rank, pad;  b->rank
 *         uint64_t ranks;       + (k / 64 % 8 ? (b->ranks >> ((k / 64 % 8 - 1) * 9)) & 511 : 0)
 *         uint64_t bits[8];     + the number of bits set in b->bits[k / 64 % 8], up to bit k % 64
 *     } block[];
 *
 * The index has room for positions up to code_size - 1, and no more: its first
 * part is cut at (code_size + 8) / 9 words.
 *
 * Without that flag, `lines` is the address of a struct rb_debug_ext_lines.
 * Its `data` is a list of pairs: how many instruction words after the position
 * of the pair before (unsigned LEB128), and how many lines after its line
 * (signed LEB128).  The first pair counts from position 0 and from first_line.
 * The line is the one of the last pair at or before i.
 *
 * The pc of a frame that is not the innermost one is exact, if the frame that it
 * called is no clause.  When a RESCUE or ENSURE clause begins, the frame that it
 * belongs to, which is the next outer one, gets the pc where it will go on.  Since
 * abi_minor 1 the second 32 bits at frame_ext_debug of the clause's frame are a signed
 * number of words of 8 bytes: the pc of the next outer frame plus these is the pc
 * that it had when it was left, by the call that raised for example, and is exact.
 * They are 0 in other frames, and in a process of minor 0: there the line of the
 * frame below a clause is approximate.  Ruby's own backtraces leave this frame out.
 *
 * For the innermost frame
 *  - if the field at ec_resume_pc of the EC has the same value, the pc does not
 *    tell the line: it can be the pc of the instruction that runs next;
 *  - else it is exact if the frame's jit_return is 0;
 *  - else, if jit_leaf_end is not 0, it is exact while the native thread runs
 *    neither JIT code, in [jit_start, jit_end), nor what is in
 *    [jit_leaf_start, jit_leaf_end).  In JIT code, which does not store the pc
 *    at each instruction, take the line from the native instruction pointer and
 *    the JIT code log.
 * The native instruction pointer is that of user space, also for a thread that
 * is in the kernel.  A reader without the native instruction pointer takes the
 * line of the pc and marks it as approximate.  So does a reader that finds no line
 * in this way.  A signal handler that interrupts JIT code looks like C code that
 * the JIT code has called.
 */
struct rb_debug_ext_lines {
    uint32_t size;         /**< bytes of data; at most RB_DEBUG_EXT_LINES_MAX */
    /* uint8_t data[size]; */
};

/** 16 bytes: JIT code [start, start + size) with start = jit_start + offset
 *  runs for instruction word `index` of the code of record `id`, or for those
 *  after it on the same line; see rb_debug_ext_section::jit_log.  Methods can
 *  share code: the record of the frame may be another one with the same
 *  `code`.  Where entries overlap (code that got shorter is followed by other
 *  code), the one with the greatest start holds, of several the last in the
 *  log.  The line of an address that no entry covers is not known. */
struct rb_debug_ext_jit_entry {
    uint32_t offset;
    uint32_t size;
    uint32_t id;
    uint32_t index;        /**< position of the instruction itself, not of the next */
};

/*
 * Compiling.  While jit_compile_tid is not 0, this native thread compiles, and
 * does not run, the code of its innermost frame.  jit_compile_id is the record
 * of this code, as rb_debug_ext_jit_entry::id has it.  The pc of the frame is
 * then, other than "Lines" says, the address of the first instruction that is
 * compiled: i = (pc - record.code) / 8, and exact, also if it is that in
 * ec_resume_pc.  jit_compile_id and _count are stored before jit_compile_tid,
 * and only one thread compiles at a time.  The collector can run meanwhile: what
 * gc_phase says of the thread goes first then.
 */

/*
 * Native stacks.  Since abi_minor 1, a reader that has unwound the native stack
 * of the same thread can put the two together.  The flags of a frame are the 8
 * bytes at (the address in frame_ep + ep_flags).  If frame_flag_set is not set
 * in them, that environment is on its way to the heap at this moment, and they
 * are no flags.
 *
 *  - A frame with frame_flag_finish begins a native call of the interpreter (or
 *    of JIT code): that runs this frame and those it calls, up to the next one
 *    with frame_flag_cframe or frame_flag_finish.
 *  - A frame with frame_flag_cframe is of a function in C.  For a CMETHOD it is
 *    at record.code; its native frame lies between those of the interpreter that
 *    called it and that it calls.  The address is that in the file plus the load
 *    bias of this process: not the same in another process.
 *
 *  - [exec_start, exec_end) are the instructions of one function, and each native
 *    call of it runs one frame with frame_flag_finish that is not one of C: the
 *    native frames with a pc in there are these frames, in the same order.  Frames
 *    that the VM pushed for its own purposes (ids NONE and INTERNAL) do not count,
 *    and the innermost frame with the flag can be one whose call is about to begin
 *    or has just ended.
 *  - JIT code has no unwind tables.  With RB_DEBUG_EXT_JIT_FRAME_POINTER in jit_flags
 *    there is one native frame for each entry into [jit_start, jit_end), also in the
 *    stubs and exits there: code in it calls other code in it without a native frame.
 *    While a thread is in there, or in a function that was called from there, the
 *    frame pointer there (rbp on x86-64, x29 on aarch64) is fp, the caller's frame
 *    pointer is at fp, its pc at fp + 8, and its stack pointer is fp + 16.  There is
 *    an exception for a thread that was interrupted right in there.  In the first two
 *    instructions of an entry, and after the last pop of an exit, rbp is the caller's:
 *    the caller's pc is at the stack pointer then, or 8 above it.
 *
 * Some calls have native frames and no frame here: methods that the interpreter
 * or JIT code calls as a function, without a frame of their own.
 */

/*
 * Frames with descriptors.  A JIT that compiles what a frame runs into a constant
 * has no need to store it in the frame.  No Ruby does so that has this header, but
 * one can without a new abi_major.  A reader that does not know a jit_frame_kind
 * cannot read stacks of that process.  With RB_DEBUG_EXT_JIT_FRAME_DESCRIPTOR, let
 * j be the 8 bytes at frame_jit_return of a frame:
 *
 *  - j is 0: the interpreter runs the frame, id and pc are in it;
 *  - j is jit_frame_c: the frame is one of C, its id is in it;
 *  - else the 8 bytes at (j - jit_frame_slot) are the address of a descriptor.  The
 *    id and the pc of the frame are in that, and those in the frame mean nothing.
 *    The descriptor is there before the frame is current, and each call stores that
 *    of its place: the pc is exact for frames that are not the innermost one.
 */

/*
 * Labels.  Since abi_minor 1.  A program says for what it works at the moment,
 * for example `request=GET /x`: Fiber.with_labels in Ruby, or
 * rb_profile_with_labels() in C.  The uint32_t at ec_label of an EC is the id of a
 * record of kind LABEL, or 0.  Its `name` is the key of a label, its `path` the
 * value (0: inside, this key has no value), its `level` how many records the set
 * has, from 1.  ref1 is the set that it extends, 0 none.  So a set is a chain of
 * at most RB_DEBUG_EXT_LABELS_MAX records, and each level is one less than the one
 * before.  The value of a key is that of the first record with this key, counted
 * from the record at ec_label.
 *
 * Texts are in UTF-8 as far as they can be converted.  A record of this kind does
 * not change.  It retires and expires as others do, but has no part in what keeps
 * those of code: of retired ones there are at most grace_records, or
 * grace_records_unasked.  There are fewer when RB_DEBUG_EXT_LABEL_RECORDS_MAX is
 * reached: the oldest ones expire before a new one is refused.  Two ids can be the
 * same set.  A fiber begins with the set of the EC that made it, a thread with none:
 * it can outlive the work that made it.
 *
 * Two pieces of work can have the same set one after the other, such as two requests
 * for the same page.  The marks at ec_label_marks tell them apart.  The first one is of
 * the record with level 1 of the set in force, the second of that with level 2, the
 * third of that with level 3.  A mark is another number, never 0, each time that such a
 * record comes into force, in this EC or another.  It stays while more labels are set
 * in this work, and when these are gone.  A record with a higher level has the third
 * one, which stays when this record alone comes into force again.  A mark of a level
 * that the set does not have means nothing.  Numbers come again after 65535 of them.  A
 * fiber that begins with the set of another EC has marks of its own.
 *
 * The 8 bytes at ec_context of an EC belong to the program, too: an address, which
 * rb_profile_context_set() stores.  By convention it is that of a thread context
 * record as OpenTelemetry (OTEP 4947) defines it.  Fibers and threads begin with 0.
 */

/* -- Threads and fibers ----------------------------------------------------- */

/** rb_debug_ext_thread::state */
enum rb_debug_ext_thread_state {
    RB_DEBUG_EXT_THREAD_NONE = 0,      /**< the slot is free */
    RB_DEBUG_EXT_THREAD_CREATED = 1,   /**< no native thread yet */
    RB_DEBUG_EXT_THREAD_RUNNING = 2,   /**< has the GVL of its ractor */
    RB_DEBUG_EXT_THREAD_READY = 3,     /**< waits for the GVL */
    RB_DEBUG_EXT_THREAD_BLOCKED = 4,   /**< in a blocking region (I/O, system call), without the GVL */
    RB_DEBUG_EXT_THREAD_SLEEPING = 5,  /**< in sleep, join, or waiting for a mutex, queue or condition */
    RB_DEBUG_EXT_THREAD_DEAD = 6
};

/** rb_debug_ext_thread::wait_kind.  wait_object is for identity only, if it is
 *  an object. */
enum rb_debug_ext_wait_kind {
    RB_DEBUG_EXT_WAIT_NONE = 0,        /**< unknown */
    RB_DEBUG_EXT_WAIT_SLEEP = 1,       /**< Kernel#sleep, Thread.stop */
    RB_DEBUG_EXT_WAIT_JOIN = 2,        /**< Thread#join; wait_thread_slot: that thread */
    RB_DEBUG_EXT_WAIT_MUTEX = 3,       /**< Mutex#lock, Monitor#enter; wait_object: the Mutex, wait_thread_slot:
                                        *   whose it was when the wait began */
    RB_DEBUG_EXT_WAIT_MUTEX_SLEEP = 4, /**< Mutex#sleep; wait_object: the Mutex */
    RB_DEBUG_EXT_WAIT_CONDVAR = 5,     /**< ConditionVariable#wait; wait_object: that */
    RB_DEBUG_EXT_WAIT_QUEUE = 6,       /**< Queue#pop, SizedQueue#pop; wait_object: the queue */
    RB_DEBUG_EXT_WAIT_SIZED_QUEUE = 7, /**< SizedQueue#push, which has no room; wait_object: the queue */
    RB_DEBUG_EXT_WAIT_IO = 8,          /**< a system call on wait_fd */
    RB_DEBUG_EXT_WAIT_IO_READ = 9,     /**< reads, or waits until it can */
    RB_DEBUG_EXT_WAIT_IO_WRITE = 10,
    RB_DEBUG_EXT_WAIT_IO_SELECT = 11,  /**< IO.select */
    RB_DEBUG_EXT_WAIT_PROCESS = 12,    /**< Process.wait; wait_object: its first argument, in 64 bits */
    RB_DEBUG_EXT_WAIT_RACTOR = 13,     /**< wait_object: 1 receives, 2 takes, 4 yields, or several */
    RB_DEBUG_EXT_WAIT_NOGVL = 14       /**< a function in C, see wait_func */
};

/**
 * 192 bytes, one per Ruby thread.  `generation` is a sequence lock for all
 * fields but state, since, tid, state_seq, ready_at and those of waits, which
 * are stored on their own.  `thread` and `serial` do not change while the slot
 * is in use; `serial` of a slot that is free means nothing.
 *
 * The wait_* fields are stored before the state becomes BLOCKED or SLEEPING,
 * and stay until the next wait: they say what the thread waits for then, what
 * it has waited for if it is READY, and nothing if it is RUNNING.  They belong
 * together if state_seq was the same before and after they were read.
 *
 * state_seq is stored before the state.  A reader on another CPU that finds
 * state BLOCKED or SLEEPING, reads the stack, and finds state and state_seq as
 * they were, has read the stack of one wait: the thread ran no Ruby code
 * meanwhile.  It needs loads with acquire ordering, in this order: state_seq,
 * state, the stack, a fence (on aarch64 dmb ishld), state, state_seq.
 *
 * `since` is for how long a wait has lasted already.  For sums, the time in
 * READY is from ready_at to when the thread runs again.  ready_at is stored by
 * whoever makes the thread READY, before the state, and kept while it runs.
 */
struct rb_debug_ext_thread {
    uint32_t generation;
    uint32_t state;        /**< enum rb_debug_ext_thread_state */
    uint64_t since;        /**< when it entered the state: CLOCK_MONOTONIC in ns, in steps of up to 10 ms */
    uint32_t tid;          /**< native thread in the process's pid namespace; 0: on none now */
    uint32_t ractor;       /**< number of its ractor, from 1 */
    uint64_t serial;       /**< number of the thread, from 1, never reused */
    uint64_t thread;       /**< address of the thread, see thread_ec; 0: slot is free */
    uint64_t thread_pointer; /**< of its native thread, 0 unknown */
    uint32_t flags;        /**< bit 0: main thread of its ractor; bit 1: shares native threads (M:N) */
    /* Since abi_minor 1: why it waits, see below.  0 in a process of minor 0. */
    uint32_t wait_kind;    /**< enum rb_debug_ext_wait_kind */
    uint64_t state_seq;    /**< changes of the state: +1 before each */
    uint64_t ready_at;     /**< when it became READY last: CLOCK_MONOTONIC in ns, exact; 0 never */
    uint64_t wait_object;  /**< by kind */
    uint64_t wait_func;    /**< NOGVL: address of the function in C that runs without the GVL */
    uint32_t wait_fd;      /**< IO, IO_READ, IO_WRITE: file descriptor, else UINT32_MAX */
    uint32_t wait_thread_slot; /**< by kind: index in the table of threads, 0 none */
    uint64_t reserved[4];
    char name[RB_DEBUG_EXT_THREAD_NAME_MAX]; /**< NUL terminated, empty: none */
};

/*
 * Which fiber resumed which.  With f = the 8 bytes at (EC + ec_fiber), the
 * address of a fiber, and p = those at (f + fiber_prev), the EC of the fiber
 * that resumed f, and which goes on when f yields or ends, is at p + fiber_ec.
 * p is 0 for the root fiber of a thread, for a fiber that is parked (it has
 * yielded), and for one that was entered by Fiber#transfer.  So from the EC of a
 * thread this list leads over all fibers that have begun to resume another, at
 * most to the root fiber.  An EC of a thread that is in neither this list nor
 * running waits to be resumed.  These words belong to the VM: look each EC up in
 * the table of ECs, and end after as many as that has.
 */

/**
 * 64 bytes, one per EC: the root fiber of each thread and every fiber that has
 * a stack.  A slot with ec == 0 is free.  An EC is running when its thread's
 * thread_ec is it, else it is parked.
 *
 * Nothing in a slot changes while it is in use, with one exception: in a child of
 * fork(), the EC that forked becomes the root.  If the tls_current_ec of a native
 * thread points to an EC, only this thread writes the slot of that EC: a reader
 * that has interrupted the thread, and finds the generation even and `ec` equal,
 * knows by thread_serial which thread it is, without reading again.
 */
struct rb_debug_ext_ec {
    uint32_t generation;   /**< sequence lock */
    uint32_t thread_slot;  /**< index in the table of threads */
    uint64_t ec;           /**< address of the execution context, 0: slot is free */
    uint64_t serial;       /**< number of the EC, from 1, never reused */
    uint32_t flags;        /**< bit 0: root fiber of its thread; bit 1, since abi_minor 1: fiber made as
                            *   non-blocking, a scheduler can run others while it waits */
    uint32_t reserved32;
    uint64_t thread_serial; /**< of its thread; if that has ended, thread_slot may be of another */
    uint64_t reserved[3];
};

/**
 * 64 bytes, one per ractor, from when its first thread is made until after the
 * state of this thread has become DEAD.  Since abi_minor 1.
 *
 * `generation` is a sequence lock for all fields but gvl_thread_slot and
 * ready_count, which are stored on their own and change with the states of
 * threads: right after that of the thread that stores them.  Between the two a
 * reader sees one of them as it was.  In a slot that is free only `id` means
 * anything.
 */
struct rb_debug_ext_ractor {
    uint32_t generation;
    uint32_t id;               /**< as rb_debug_ext_thread::ractor, never reused; 0: slot is free */
    uint32_t flags;            /**< bit 0: main ractor */
    uint32_t main_thread_slot; /**< its first thread, index in the table of threads */
    uint32_t gvl_thread_slot;  /**< its thread that is RUNNING, index in the table of threads, 0 none */
    uint32_t ready_count;      /**< how many of its threads are READY: they wait for its GVL */
    uint64_t reserved;
    char name[RB_DEBUG_EXT_RACTOR_NAME_MAX]; /**< NUL terminated, empty: none */
};

#define RB_DEBUG_EXT_RACTOR_MAIN 1u
#define RB_DEBUG_EXT_THREAD_MAIN 1u
#define RB_DEBUG_EXT_THREAD_MN 2u
#define RB_DEBUG_EXT_EC_ROOT 1u
#define RB_DEBUG_EXT_EC_NONBLOCKING 2u

/* -- Probes ------------------------------------------------------------------
 *
 * Places where the process tells a tracer that something happens: a nop, for
 * a breakpoint or an eBPF program (uprobe).  The notes of these probes are in
 * the ELF section ".note.stapsdt" of the file that holds the VM, in the format
 * of SystemTap's <sys/sdt.h>, with RB_DEBUG_EXT_PROBE_PROVIDER as provider.
 * Every argument is an unsigned integer of 64 bits in a register.
 *
 *   probe         arguments                                   semaphore
 *   ec_new        ec, serial, thread serial                   ec_semaphore
 *   ec_free       ec, serial, thread serial                   ec_semaphore
 *   thread_state  thread serial, old state, new state, tid    thread_semaphore
 *   gc_phase      phase, tid, count, cause and flags          gc_semaphore
 *   alloc         id, size, weight, type, address, serial     alloc_semaphore
 *   malloc        size, weight, address                       malloc_semaphore
 *
 * A probe fires only while its semaphore, a uint16_t, is not 0.  The kernel
 * adds 1 while there are uprobes on the probe that name the semaphore as their
 * reference counter, and subtracts it after the last one, also when the tracer
 * was killed.  A child that fork() makes inherits the semaphores as they are:
 * that of a probe which nobody traces in the child falls when the probe is
 * reached there for the first time.
 *
 * ec_new, ec_free: an EC got its stack, and is in the table of ECs; or is not
 * in the table any more, and gives its stack up.  The serials are those in the
 * table.  Each fires in the thread that makes or frees the EC.  This can be another
 * thread than the EC's own.  In a child after fork(), the ECs that the child does
 * not have are not reported as freed.
 *
 * thread_state: the state of a thread changed (enum rb_debug_ext_thread_state).
 * tid is the native thread that it runs on, for DEAD the one it ran on, 0 if
 * none.  It fires in the thread itself, but for CREATED in its creator, for
 * READY in the one that woke it up, if one did, and for DEAD in its creator if
 * it could not be started.  A slot that becomes free is not reported.
 *
 * gc_phase: rb_debug_ext_section::gc_phase changed.  tid is gc_tid, count is
 * gc_count.  The fourth argument, which abi_minor 0 does not have, is gc_cause
 * in the lower 32 bits and gc_flags in the upper ones.
 *
 * alloc: an object is about to be allocated, by the code in the current frame.
 * id is the record of its class: RB_DEBUG_EXT_ID_INTERNAL for what is the VM's
 * own, 0 if there is no memory for a record.  size is that of the slot, in
 * bytes; memory that the object gets elsewhere does not count.  The probe fires
 * for samples: their distance is random, distributed exponentially with a mean
 * of alloc_interval bytes, for each size of slots and each ractor on its own.
 * weight is the number of bytes that the sample stands for.  The expected sum
 * of weights is the number of bytes allocated, and the expected sum of weight
 * divided by size the number of objects, for any class.
 *
 * type, address and serial are arguments since abi_minor 1.  type is the kind of
 * the object (enum rb_debug_ext_type).  address is that of the slot; the object is
 * not in it yet when the probe fires.  The slot is that object's until the
 * object is collected, or moved by compaction; no probe tells either.  serial is
 * that of its entry in the table of "Objects that live", 0: it has none.
 *
 * Sampling begins, in each ractor and for each size of slots, when the slots
 * that it has at hand are used up: after one page of 64 KiB at most.  It ends
 * where the slots that are at hand then are used up.  While nobody listens
 * nothing is tested when an object is allocated.  Only Ruby's default collector
 * has this probe.
 *
 * malloc: since abi_minor 1.  Memory was allocated with xmalloc() and its like, by
 * the code in the current frame, or a C extension reported memory of its own with
 * rb_gc_adjust_memory_usage().  size is how large it is in bytes, as the allocator
 * rounds it, or by how much realloc() made it larger.  address is where it is, 0 if
 * that is not known.  The probe fires for samples, and weight means the same as for
 * alloc; all threads share one distance.  The probe fires in the thread that
 * allocates, which can be one without a frame.  What it is allocated for is not
 * known: most often for an object that a method in the current frame makes or
 * changes.  No probe tells when it is freed.  Sampling begins when a ractor has used
 * up the slots of one size that it has at hand.  It ends when memory is allocated
 * next.  While nobody listens, nothing is tested when memory is allocated.  Only
 * Ruby's default collector has this probe.
 */
/** The argument type of `alloc`: RUBY_T_* of ruby/internal/value_type.h. */
enum rb_debug_ext_type {
    RB_DEBUG_EXT_TYPE_OBJECT = 1,
    RB_DEBUG_EXT_TYPE_CLASS = 2,
    RB_DEBUG_EXT_TYPE_MODULE = 3,
    RB_DEBUG_EXT_TYPE_FLOAT = 4,
    RB_DEBUG_EXT_TYPE_STRING = 5,
    RB_DEBUG_EXT_TYPE_REGEXP = 6,
    RB_DEBUG_EXT_TYPE_ARRAY = 7,
    RB_DEBUG_EXT_TYPE_HASH = 8,
    RB_DEBUG_EXT_TYPE_STRUCT = 9,
    RB_DEBUG_EXT_TYPE_BIGNUM = 10,
    RB_DEBUG_EXT_TYPE_FILE = 11,
    RB_DEBUG_EXT_TYPE_DATA = 12,
    RB_DEBUG_EXT_TYPE_MATCH = 13,
    RB_DEBUG_EXT_TYPE_COMPLEX = 14,
    RB_DEBUG_EXT_TYPE_RATIONAL = 15,
    RB_DEBUG_EXT_TYPE_SYMBOL = 20,
    RB_DEBUG_EXT_TYPE_IMEMO = 26,   /**< the VM's own: environments, method entries, call caches, ... */
    RB_DEBUG_EXT_TYPE_ICLASS = 28   /**< the VM's own: a module in the ancestors of a class */
};

/*
 * Objects that live.  Since abi_minor 1.  While a reader asks for it (live_until),
 * each allocation that is sampled gets an entry in a table.  What the probe `alloc`
 * tells is sampled then also if nobody listens to the probe.  The collector takes
 * out the entries of objects that died: of young ones at the end of each marking,
 * of others at the end of that of a major collection.  So what is in the table lived
 * when marking last ended, or is younger.
 *
 * The table is an array of live_end entries at the address in `live`, in the order of
 * their serials.  live_generation is a sequence lock: odd while entries are taken out
 * or moved.  An entry is complete before live_end tells of it.  To read: the
 * generation, live_end, the entries, and the generation again; if that was odd or has
 * changed, begin anew, a few times at most.
 *
 * If nobody asks any more, the table is emptied at the next allocation that is
 * sampled or the next collection, and live_clears grows: what was in it may live.  A
 * child that fork() makes has a copy of the table, and of the objects.
 */
struct rb_debug_ext_live {
    uint64_t serial;       /**< number of the object in its process, from 1, never reused */
    uint64_t address;      /**< of its slot now, for identity only */
    uint32_t id;           /**< record of its class, as the probe tells it */
    uint32_t type;         /**< enum rb_debug_ext_type */
    uint64_t size;         /**< of the slot that it was made in, in bytes */
    uint64_t weight;       /**< bytes of slots that it stands for: weight / size objects */
    /** What it takes now, in bytes, with memory besides its slot if it is an OBJECT, STRING,
     *  ARRAY, HASH, STRUCT or BIGNUM: when the first collection ended that it lived through,
     *  and anew with each major one.  0: there was none yet. */
    uint64_t bytes;
    uint64_t cycle;        /**< gc_cycles when it was made */
    uint64_t reserved;
};

#define RB_DEBUG_EXT_LIVE_MAX (1u << 18)  /**< most entries */
#define RB_DEBUG_EXT_LIVE_SECONDS 60u     /**< see live_until */

#define RB_DEBUG_EXT_PROBE_PROVIDER "ruby_ext"
#define RB_DEBUG_EXT_ALLOC_INTERVAL (512u << 10) /**< alloc_interval at first */

/* -- The same layout for every compiler ------------------------------------- */

#define RB_DEBUG_EXT_ASSERT(name, expr) \
    typedef char rb_debug_ext_assert_##name[(expr) ? 1 : -1]
RB_DEBUG_EXT_ASSERT(section, sizeof(struct rb_debug_ext_section) == 696);
RB_DEBUG_EXT_ASSERT(heap, sizeof(struct rb_debug_ext_heap) == 56);
RB_DEBUG_EXT_ASSERT(record, sizeof(struct rb_debug_ext_record) == 64);
RB_DEBUG_EXT_ASSERT(jit_entry, sizeof(struct rb_debug_ext_jit_entry) == 16);
RB_DEBUG_EXT_ASSERT(thread, sizeof(struct rb_debug_ext_thread) == 192);
RB_DEBUG_EXT_ASSERT(ractor, sizeof(struct rb_debug_ext_ractor) == 64);
RB_DEBUG_EXT_ASSERT(ec, sizeof(struct rb_debug_ext_ec) == 64);
RB_DEBUG_EXT_ASSERT(live, sizeof(struct rb_debug_ext_live) == 64);
#undef RB_DEBUG_EXT_ASSERT

#endif /* RUBY_DEBUG_EXTERNAL_H */
