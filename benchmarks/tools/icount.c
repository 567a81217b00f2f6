/* A plugin for qemu-user that counts the instructions of the guest, JIT code included.
 *
 *   qemu-x86_64 -plugin icount.so,out=FILE PROGRAM
 *
 * Each getsid(0) of the guest writes a line with the count so far, so that a program can
 * mark the ends of what it wants counted; nothing in Ruby calls getsid otherwise. The end
 * of the process writes "end COUNT". Debian ships no qemu-plugin.h: the prototypes are
 * those of plugin API version 1 (qemu 4.2 to 8.2).
 *
 * The counter is one word, not atomic: guest threads that run truly at once may lose
 * counts. Ruby threads do not, under the GVL. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef uint64_t plugin_id;
struct tb;
struct insn;
enum inline_op { INLINE_ADD_U64 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct tb *, enum inline_op, void *, uint64_t);
size_t qemu_plugin_tb_n_insns(const struct tb *);
struct insn *qemu_plugin_tb_get_insn(const struct tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct insn *);
void qemu_plugin_register_vcpu_insn_exec_inline(struct insn *, enum inline_op, void *, uint64_t);
void qemu_plugin_register_vcpu_syscall_cb(plugin_id,
    void (*)(plugin_id, unsigned, int64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
             uint64_t, uint64_t, uint64_t));
void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void *), void *);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

enum { GETSID = 124, PAGE = 4096, INSN_MAX = 15 }; /* x86-64 */

static uint64_t count;
static FILE *out;
static pid_t owner;

/* An instruction that crosses a page ends a block before it and begins the next, but is in the
 * number of both. So blocks that end near a page's end count each instruction as it runs. */
static void
block_translated(plugin_id id, struct tb *tb)
{
    const size_t n = qemu_plugin_tb_n_insns(tb);

    (void)id;
    if (n > 1 && qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, n - 1)) % PAGE > PAGE - INSN_MAX) {
        for (size_t i = 0; i < n; i++)
            qemu_plugin_register_vcpu_insn_exec_inline(qemu_plugin_tb_get_insn(tb, i), INLINE_ADD_U64, &count, 1);
        return;
    }
    qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64, &count, n);
}

static void
syscall_entered(plugin_id id, unsigned cpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3,
                uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
    (void)id, (void)cpu, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
    if (number == GETSID && getpid() == owner) fprintf(out, "%" PRIu64 "\n", count);
}

static void
finished(plugin_id id, void *data)
{
    (void)id, (void)data;
    if (getpid() != owner) return; /* a forked child has the parent's counts in it */
    fprintf(out, "end %" PRIu64 "\n", count);
    fclose(out);
}

EXPORT int
qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    owner = getpid();
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "out=", 4) == 0) out = fopen(argv[i] + 4, "w");
    }
    if (!out) {
        fprintf(stderr, "icount: out=FILE is missing or cannot be written\n");
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
    qemu_plugin_register_vcpu_syscall_cb(id, syscall_entered);
    qemu_plugin_register_atexit_cb(id, finished, NULL);
    return 0;
}
