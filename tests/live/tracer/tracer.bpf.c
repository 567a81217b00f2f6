// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Sends each hit of a USDT probe, with its arguments, to user space.
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>
#include "event.h"

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 64 << 20);
} ring SEC(".maps");

__u64 lost, unread;

SEC("usdt")
int on_probe(struct pt_regs *ctx)
{
    struct event *e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
    __u64 id = bpf_get_current_pid_tgid();
    int argc = bpf_usdt_arg_cnt(ctx);

    if (!e) {
        __sync_fetch_and_add(&lost, 1);
        return 0;
    }
    e->probe = bpf_usdt_cookie(ctx);
    e->tgid = id >> 32;
    e->tid = id;
    e->argc = argc;
    for (int i = 0; i < ARGS_MAX; i++) {
        long value = 0;
        if (i < argc && bpf_usdt_arg(ctx, i, &value))
            __sync_fetch_and_add(&unread, 1);
        e->args[i] = value;
    }
    bpf_ringbuf_submit(e, 0);
    return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
