// SPDX-License-Identifier: BSD-2-Clause
/*
 * Has a timer hold a CPU with its interrupts disabled.
 *
 *     spinner CPU INTERVAL LENGTH PID
 *
 * Every INTERVAL us for LENGTH us.  Says "spinning"; at the end of its input it stops that
 * and says "COUNT NS": how often and how long PID was held.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spinner.skel.h"

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
	};
	struct bpf_link *link = NULL;
	struct spinner_bpf *skel;
	int fd = -1, status = 1;
	struct stat ns;

	if (argc != 5) {
		fprintf(stderr, "usage: spinner CPU INTERVAL LENGTH PID\n");
		return 64;
	}
	attr.sample_period = strtoull(argv[2], NULL, 10) * 1000;
	skel = spinner_bpf__open();
	if (!skel || stat("/proc/self/ns/pid", &ns))
		goto out;
	skel->rodata->length = strtoull(argv[3], NULL, 10) * 1000;
	skel->rodata->pid = strtoul(argv[4], NULL, 10);
	skel->rodata->ns_dev = ns.st_dev;
	skel->rodata->ns_ino = ns.st_ino;
	/* Never more than half of the CPU. */
	if (skel->rodata->length > attr.sample_period / 2 || spinner_bpf__load(skel))
		goto out;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, atoi(argv[1]), -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		goto out;
	link = bpf_program__attach_perf_event(skel->progs.spin, fd);
	if (!link)
		goto out;
	printf("spinning\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	bpf_link__destroy(link);
	link = NULL;
	printf("%llu %llu\n", (unsigned long long)skel->bss->spins, (unsigned long long)skel->bss->spun);
	status = 0;
out:
	if (status)
		fprintf(stderr, "spinner: %s\n", strerror(errno));
	bpf_link__destroy(link);
	if (fd >= 0)
		close(fd);
	spinner_bpf__destroy(skel);
	return status;
}
