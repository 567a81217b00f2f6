/* SPDX-License-Identifier: BSD-2-Clause */
/* The BPF programs of a recording are loaded, or why not. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/bpf_session_parts.h"
#include "source/permission.h"

/* A sample of 10,000 frames is 160 KiB.  One process has a fourth. */
#define RING_MIN (8u << 20)
#define RING_MAX (64u << 20)

/* libbpf reports by one callback for the whole process, without a context. */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char first_log[256];
static const struct log_to *log_all;

/* All that libbpf says, line by line: the verifier's log of a program that is refused is one text. */
static void forward_log(const char *format, va_list args)
{
	va_list copy;
	char *all, *rest, *line;

	va_copy(copy, args);
	if (vasprintf(&all, format, copy) >= 0) {
		for (rest = all; (line = strsep(&rest, "\n"));)
			if (*line)
				log_to__line(log_all, "%s", line);
		free(all);
	}
	va_end(copy);
}

static int keep_log(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[sizeof(first_log)];

	if (log_all && log_all->line)
		forward_log(format, args);
	if (level != LIBBPF_WARN || first_log[0])
		return 0;
	/* The first one is the cause; the others follow from it. */
	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\n")] = '\0';
	snprintf(first_log, sizeof(first_log), "%s", line);
	return 0;
}

static int load_failed(const struct session_options *o, int err, const char *log, struct diag *d)
{
	bool tick = o->source_options.timer == TIMER_TICK;

	/* The verifier refuses with EACCES too. */
	if (err == -EPERM || (err == -EACCES && !permission__granted())) {
		permission__missing(d, err, "load a BPF program");
		goto advise;
	}
	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		diag__set(d, DIAG_NO_BPF, -err,
			  "this kernel does not describe its types (no /sys/kernel/btf/vmlinux)");
		diag__hint(d, "extprof needs a kernel built with CONFIG_DEBUG_INFO_BTF=y, "
			   "as those of all common distributions are since 2021");
		return err;
	}
	diag__set(d, DIAG_NO_BPF, -err, "this kernel does not take the BPF program: %s%s%s",
		  strerror(-err), log[0] ? "; " : "", log);
	diag__hint(d, "extprof needs Linux 5.11 or later with CONFIG_BPF_SYSCALL, "
		   "CONFIG_BPF_EVENTS and CONFIG_PERF_EVENTS");
advise:
	if (tick && permission__granted())
		diag__advise(d, ADVICE_CLOCK, 0);
	return err;
}

static uint32_t ring_size(uint32_t rate, int cpus)
{
	/* A second of stacks of 100 frames on all CPUs. */
	uint64_t wanted = (uint64_t)rate * (uint32_t)cpus * 1700;
	uint32_t size = RING_MIN;

	while (size < wanted && size < RING_MAX)
		size *= 2;
	return size;
}

static uint32_t own_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (uint32_t)st.st_ino;
}

/* Those of sources are chosen by the sources; those that follow processes are needed in any case. */
static int choose_programs(struct bpf_session *s, struct diag *d)
{
	static const char always[] = "process_";
	struct bpf_program *program;

	bpf_object__for_each_program(program, s->skel->obj)
		bpf_program__set_autoload(program, !strncmp(bpf_program__name(program), always,
							    sizeof(always) - 1));
	for (uint32_t i = 0; i < s->source_count; i++) {
		int err = s->sources[i].ops->configure(s->sources[i].source, s->skel, d);

		if (err)
			return err;
		s->skel->rodata->source_slots[s->sources[i].ops->id] = i;
	}
	return 0;
}

int bpf_session__load(struct bpf_session *s, const struct session_options *o, struct diag *d)
{
	uint32_t ring = ring_size(o->source_options.rate, s->cpus);
	libbpf_print_fn_t old;
	int err = 0;

	pthread_mutex_lock(&log_lock);
	first_log[0] = '\0';
	log_all = &o->log;
	old = libbpf_set_print(keep_log);
	/* libbpf raises RLIMIT_MEMLOCK for kernels before 5.11, which charge maps to it.
	 * If it may not, it goes on. */
	s->skel = extprof_bpf__open();
	if (!s->skel) {
		err = load_failed(o, -errno, first_log, d);
		goto cleanup;
	}
	err = choose_programs(s, d);
	if (!err)
		err = bpf_session__configure_unwind(s, o, d);
	if (err)
		goto cleanup;
	/* The warnings so far are about features that the sources asked for and the kernel lacks.  They are no cause of
	 * a failure. */
	first_log[0] = '\0';
	s->skel->bss->sampling_paused = 1;
	s->skel->rodata->cpus = (uint32_t)s->cpus;
	s->skel->rodata->ring_size = ring;
	s->skel->rodata->wakeup_bytes = ring / 8;
	s->skel->rodata->kernel_stacks = o->source_options.kernel;
	s->skel->rodata->tell_all = o->tell_all;
	s->skel->rodata->watch_children = !o->follow_children;
	s->skel->rodata->reader_pidns = own_pid_namespace();
	if ((err = bpf_map__set_max_entries(s->skel->maps.samples, ring)) ||
	    (err = bpf_map__set_max_entries(s->skel->maps.scratch, (uint32_t)s->cpus * s->source_count)) ||
	    (err = bpf_map__set_max_entries(s->skel->maps.counters, TARGETS_MAX * s->source_count)) ||
	    (err = extprof_bpf__load(s->skel)))
		err = load_failed(o, err, first_log, d);
cleanup:
	libbpf_set_print(old);
	log_all = NULL;
	pthread_mutex_unlock(&log_lock);
	return err;
}
