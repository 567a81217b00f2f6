/* SPDX-License-Identifier: BSD-2-Clause */
/* What tracer.bpf.c sends to tracer.c. */
#ifndef TRACER_EVENT_H
#define TRACER_EVENT_H

#define ARGS_MAX 5

struct event {
    __u32 probe;
    __u32 tgid;
    __u32 tid;
    __u32 argc;
    __u64 args[ARGS_MAX];
};

#endif
