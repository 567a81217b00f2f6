/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/reader.h"

#include <errno.h>
#include <string.h>

#include "remote/session.h"
#include "source/bpf_session.h"

/* The name of a source among these that only the kernel can serve; NULL: there is none. */
static const char *missing_source(uint32_t sources)
{
	if (sources & 1u << SOURCE_ALLOC)
		return "alloc";
	if (sources & 1u << SOURCE_SYSCALL)
		return "syscall";
	return sources & 1u << SOURCE_EVENT ? "event" : NULL;
}

/* Figures that need the probes are missing, and each of them says so. */
static const uint32_t probes_of_figures = 1u << SOURCE_ALLOC | 1u << SOURCE_GC;

static uint32_t wanted_sources(const struct session_options *options)
{
	return options->source_options.figures ? options->sources & ~probes_of_figures : options->sources;
}

static int open_remote(struct session **session, const struct session_options *options, enum reader_kind kind,
		       struct diag *d)
{
	const char *mode = missing_source(wanted_sources(options));

	if (mode && options->source_options.call_figures) {
		diag__set(d, DIAG_USAGE, EINVAL, "the time in system calls needs eBPF: only the kernel sees each call");
		diag__hint(d, "leave the system calls out, or use the reader ebpf");
		return -EINVAL;
	}
	if (options->source_options.details) {
		diag__set(d, DIAG_USAGE, EINVAL, "the files, the holders and the wakers of waits need eBPF: they are read in the "
			  "thread itself");
		diag__hint(d, "leave them out, or use the reader ebpf");
		return -EINVAL;
	}
	if (options->source_options.plain) {
		diag__set(d, DIAG_USAGE, EINVAL, "processes without a ruby need eBPF (--all-native)");
		diag__hint(d, "leave them out, or use the reader ebpf");
		return -EINVAL;
	}
	if (options->source_options.kernel) {
		diag__set(d, DIAG_USAGE, EINVAL, "the functions of the kernel need eBPF: only the kernel sees its own stacks");
		diag__hint(d, "leave them out, or use the reader ebpf");
		return -EINVAL;
	}
	if (!mode)
		return remote_session__open(session, options, kind == READER_STOP, d);
	diag__set(d, DIAG_USAGE, EINVAL, "mode %s needs eBPF: a reader that looks from outside does not see each event", mode);
	diag__hint(d, "without eBPF there are the modes cpu, wall, offcpu, gvl and gc");
	return -EINVAL;
}

int reader__open(struct session **session, const struct session_options *options, enum reader_kind *kind,
		 struct diag *why, struct diag *d)
{
	int err;

	memset(why, 0, sizeof(*why));
	if (*kind == READER_NONBLOCKING || *kind == READER_STOP)
		return open_remote(session, options, *kind, d);
	err = bpf_session__open(session, options, d);
	/* A user who asks for the kernel's tick does not want another reader. */
	if (!err || *kind == READER_EBPF || (d->code != DIAG_PERMISSION && d->code != DIAG_NO_BPF) ||
	    options->source_options.timer == TIMER_TICK || missing_source(wanted_sources(options)) || options->source_options.details ||
	    options->source_options.kernel || options->source_options.plain) {
		*kind = READER_EBPF;
		return err;
	}
	*why = *d;
	/* The registers of a thread that runs are those of one that is stopped. */
	*kind = options->source_options.native && options->sources & 1u << SOURCE_CPU ? READER_STOP : READER_NONBLOCKING;
	return open_remote(session, options, *kind, d);
}
