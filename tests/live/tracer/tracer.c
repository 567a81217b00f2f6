// SPDX-License-Identifier: BSD-2-Clause
/*
 * A tracer of the probes of include/ruby/debug_external.h, for tests: libbpf's own USDT
 * support and no code of extprof.
 *
 *     tracer PID FILE SECTION PROBE...
 *
 * FILE holds the VM of PID (-1: any process that runs it, and no names), SECTION is the
 * address of its struct rb_debug_ext_section, in hexadecimal. Says "attached" when it is,
 * then, for each hit, "PROBE PID TID ARG...", in the order of the kernel's ring; for alloc the
 * name of the class follows. SIGINT or end of input: detaches, prints what is left, then
 * "lost N" and "end".
 *
 *     tracer layout
 *
 * prints the names and offsets of what the tests read of the section.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "event.h"
#include "ruby/debug_external.h"
#include "tracer.skel.h"

#define PROBES_MAX 8
#define TEXT_MAX 256

static pid_t pid;
static struct rb_debug_ext_section section;
static char **probes;
static volatile sig_atomic_t stop;

static void
on_signal(int sig)
{
    stop = 1;
}

static int
peek(uint64_t address, void *buffer, size_t size)
{
    struct iovec local = {buffer, size}, remote = {(void *)(uintptr_t)address, size};

    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 : -1;
}

/* Reads a record and its text as the header says; one try. */
static int
peek_record(uint32_t id, struct rb_debug_ext_record *r, char *text, uint32_t *length)
{
    const uint64_t entry = section.records_dir + id / RB_DEBUG_EXT_RECORDS_PER_CHUNK * 8;
    uint64_t chunk, again, at;
    uint32_t generation;

    *length = 0;
    if (peek(entry, &chunk, sizeof(chunk)) || !chunk)
        return -1;
    at = chunk + (uint64_t)(id % RB_DEBUG_EXT_RECORDS_PER_CHUNK) * section.record_size;
    if (peek(at, r, sizeof(*r)))
        return -1;
    if (r->name && !peek(r->name, length, sizeof(*length))) {
        if (*length > TEXT_MAX)
            *length = TEXT_MAX;
        if (peek(r->name + sizeof(*length), text, *length))
            *length = 0;
    }
    if (peek(at, &generation, sizeof(generation)) || peek(entry, &again, sizeof(again)))
        return -1;
    return (generation & 1) || generation != r->generation || again != chunk ? -1 : 0;
}

/* The names of classes that the tests use, by the header's rules. */
static void
print_name(uint32_t id, int depth)
{
    struct rb_debug_ext_record r;
    uint32_t length;
    char text[TEXT_MAX];

    if (depth > 8 || !id || !section.records_dir || peek_record(id, &r, text, &length)) {
        putchar('?');
        return;
    }
    switch (r.kind) {
    case RB_DEBUG_EXT_NAMED:
    case RB_DEBUG_EXT_INTERNAL:
        fwrite(text, 1, length, stdout);
        break;
    case RB_DEBUG_EXT_ANON_CLASS:
        printf("#<anonymous subclass of ");
        print_name(r.ref1, depth + 1);
        putchar('>');
        break;
    case RB_DEBUG_EXT_NESTED:
        print_name(r.ref1, depth + 1);
        printf("::%.*s", (int)length, text);
        break;
    default:
        putchar('?');
    }
}

static int
on_event(void *context, void *data, size_t size)
{
    const struct event *e = data;

    printf("%s %u %u", probes[e->probe], e->tgid, e->tid);
    for (unsigned i = 0; i < e->argc && i < ARGS_MAX; i++)
        printf(" %llu", (unsigned long long)e->args[i]);
    if (pid > 0 && strcmp(probes[e->probe], "alloc") == 0) {
        printf(" | ");
        print_name((uint32_t)e->args[0], 0);
    }
    putchar('\n');
    return 0;
}

static int
on_message(enum libbpf_print_level level, const char *format, va_list args)
{
    return level <= LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

#define OFFSET(field) printf(#field " %zu\n", offsetof(struct rb_debug_ext_section, field))

int
main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct bpf_link *links[PROBES_MAX] = {0};
    struct tracer_bpf *skel;
    struct ring_buffer *ring;
    int n, status = 1;

    if (argc == 2 && strcmp(argv[1], "layout") == 0) {
        OFFSET(alloc_semaphore), OFFSET(ec_semaphore), OFFSET(thread_semaphore), OFFSET(gc_semaphore);
        OFFSET(malloc_semaphore);
        OFFSET(alloc_interval), OFFSET(gc_count);
        return 0;
    }
    if (argc < 5 || argc - 4 > PROBES_MAX) {
        fprintf(stderr, "usage: tracer PID FILE SECTION PROBE...\n");
        return 64;
    }
    pid = atoi(argv[1]);
    probes = argv + 4;
    n = argc - 4;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    libbpf_set_print(on_message);

    if (pid > 0 && (peek(strtoull(argv[3], NULL, 16), &section, sizeof(section)) ||
                    memcmp(section.magic, RB_DEBUG_EXT_MAGIC, 8) != 0)) {
        fprintf(stderr, "no section at %s\n", argv[3]);
        return 1;
    }
    skel = tracer_bpf__open_and_load();
    if (!skel)
        return 1;
    ring = ring_buffer__new(bpf_map__fd(skel->maps.ring), on_event, NULL, NULL);
    if (!ring)
        goto out;
    for (int i = 0; i < n; i++) {
        LIBBPF_OPTS(bpf_usdt_opts, opts, .usdt_cookie = i);
        links[i] = bpf_program__attach_usdt(skel->progs.on_probe, pid, argv[2],
                                            RB_DEBUG_EXT_PROBE_PROVIDER, probes[i], &opts);
        if (!links[i]) {
            fprintf(stderr, "%s: %s\n", probes[i], strerror(errno));
            goto out;
        }
    }
    printf("attached\n");
    fflush(stdout);

    while (!stop) {
        struct pollfd fds[2] = {{.fd = ring_buffer__epoll_fd(ring), .events = POLLIN}, {.fd = 0, .events = POLLIN}};
        char c;
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        if (fds[1].revents && read(0, &c, 1) <= 0)
            stop = 1;
        ring_buffer__consume(ring);
        fflush(stdout);
    }
    for (int i = 0; i < n; i++) {
        bpf_link__destroy(links[i]);
        links[i] = NULL;
    }
    ring_buffer__consume(ring);
    printf("lost %llu\n", (unsigned long long)(skel->bss->lost + skel->bss->unread));
    printf("end\n");
    status = fflush(stdout) ? 1 : 0;
out:
    for (int i = 0; i < n; i++)
        bpf_link__destroy(links[i]);
    ring_buffer__free(ring);
    tracer_bpf__destroy(skel);
    return status;
}
