/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the Ruby stack at each openat() of a process, until the process ends or SECONDS are over.
 * The BPF program is this example's own; libextprof says where the stacks are, and gives the names.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <extprof.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "open_stacks.skel.h"
#include "wire/sample.h"

#define NUMBER 1	/* of the only target */

static int print_stack(void *context, void *data, size_t size)
{
	struct extprof_error error = { .size = sizeof(error) };
	const struct sample_event *event = data;
	const struct extprof_stack *stack;

	if (extprof_target_resolve(context, data, size, &stack, &error)) {
		fprintf(stderr, "open_stacks: %s\n", error.text);
		return 0;
	}
	printf("openat in thread %u\n", event->tid);
	for (size_t i = stack->count; i-- > 0;)
		printf("\t%s %s:%d\n", stack->frames[i]->name, stack->frames[i]->path,
		       stack->frames[i]->line);
	fflush(stdout);
	return 0;
}

/* Load the program with what its shared parts need to know of the machine. */
static struct open_stacks_bpf *load(void)
{
	struct open_stacks_bpf *skel = open_stacks_bpf__open();
	int cpus = libbpf_num_possible_cpus();

	if (!skel || cpus < 1)
		goto failed;
	skel->rodata->cpus = (unsigned int)cpus;
	skel->rodata->wakeup_bytes = 0;	/* at each sample */
	if (bpf_map__set_max_entries(skel->maps.scratch, (unsigned int)cpus) ||
	    open_stacks_bpf__load(skel))
		goto failed;
	return skel;
failed:
	open_stacks_bpf__destroy(skel);
	return NULL;
}

static void print_counters(struct open_stacks_bpf *skel)
{
	struct counter_key key = { .process = NUMBER, .source = SOURCE_SYSCALL };
	struct source_counters c = { 0 };
	unsigned long long truncated = 0, lost = 0;

	bpf_map_lookup_elem(bpf_map__fd(skel->maps.counters), &key, &c);
	for (int i = 0; i < TRUNC_MAX; i++)
		truncated += c.truncated[i];
	for (int i = 0; i < LOSS_MAX; i++)
		lost += c.lost[i];
	printf("calls %llu = whole %llu + truncated %llu + lost %llu\n", (unsigned long long)c.taken,
	       (unsigned long long)c.whole, truncated, lost);
}

int main(int argc, char **argv)
{
	struct extprof_error error = { .size = sizeof(error) };
	struct extprof_target *target = NULL;
	struct open_stacks_bpf *skel = NULL;
	struct ring_buffer *ring = NULL;
	pid_t pid = argc == 3 ? atoi(argv[1]) : 0;
	time_t end;
	int status = 1;

	if (pid <= 0) {
		fprintf(stderr, "usage: open_stacks PID SECONDS\n");
		return 2;
	}
	skel = load();
	if (!skel) {
		fprintf(stderr, "open_stacks: cannot load the BPF program: %s\n", strerror(errno));
		goto cleanup;
	}
	if (extprof_target_open(&target, pid, &error) ||
	    extprof_target_add(target, bpf_map__fd(skel->maps.targets), NUMBER, &error)) {
		fprintf(stderr, "open_stacks: %s\n%s\n", error.text, error.hint);
		goto cleanup;
	}
	ring = ring_buffer__new(bpf_map__fd(skel->maps.samples), print_stack, target, NULL);
	if (!ring || open_stacks_bpf__attach(skel)) {
		fprintf(stderr, "open_stacks: cannot attach: %s\n", strerror(errno));
		goto cleanup;
	}
	printf("attached\n");
	fflush(stdout);
	end = time(NULL) + atoi(argv[2]);
	while (time(NULL) < end && !kill(pid, 0))
		ring_buffer__poll(ring, 100);
	open_stacks_bpf__detach(skel);
	ring_buffer__consume(ring);
	print_counters(skel);
	status = 0;
cleanup:
	ring_buffer__free(ring);
	extprof_target_close(target);
	open_stacks_bpf__destroy(skel);
	return status;
}
