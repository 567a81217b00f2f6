/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/bpf_session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/map64.h"
#include "extprof.skel.h"
#include "source/figures.h"
#include "source/permission.h"
#include "source/sched.h"
#include "wire/counters.h"

/* A sample of 10,000 frames is 160 KiB. */
#define RING_MIN (4u << 20)
#define RING_MAX (64u << 20)

/* The BPF programs of a recording. */
struct bpf_session {
	struct session session;
	struct extprof_bpf *skel;
	/* Those that are used, in the order of their ids. */
	struct used_source {
		const struct source_ops *ops;
		struct source *source;
		bool started;
	} sources[SOURCE_MAX];
	uint32_t source_count;
	struct ring_buffer *samples, *lifecycle;
	int epoll_fd;
	int cpus;		/* possible ones */
	uint32_t numbers;	/* given out */
	session_callback callback;
	void *context;
	/* What user space counted, by process and source.  The kernel adds to its own counters at any time, so these
	 * are not added to those. */
	struct map64 added_index;
	struct source_counters *added;
	uint32_t added_count;
	size_t added_room;
	struct unwind_maps unwind;	/* rows NULL: native stacks are not wanted */
};

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
	/* Half a second of stacks of 100 frames on all CPUs. */
	uint64_t wanted = (uint64_t)rate * (uint32_t)cpus * 1700 / 2;
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

/* What all sources need for native stacks. */
static int configure_unwind(struct bpf_session *s, const struct session_options *o, struct diag *d)
{
	int err;

	if (!o->source_options.native)
		return 0;
	/* A function of Linux 6.2. */
	if (libbpf_find_vmlinux_btf_id("bpf_cast_to_kern_ctx", BPF_TRACE_FENTRY) <= 0) {
		diag__set(d, DIAG_NO_BPF, ENOSYS, "native stacks need Linux 6.2 or later");
		diag__hint(d, "leave them out");
		return -ENOSYS;
	}
	s->skel->rodata->native_stacks = 1;
	bpf_program__set_autoload(s->skel->progs.note_mapped, true);
	if ((err = bpf_map__set_max_entries(s->skel->maps.unwind_rows, UNWIND_ROWS_MAX)) ||
	    (err = bpf_map__set_max_entries(s->skel->maps.unwind_mappings, UNWIND_ALL_MAPPINGS_MAX)) ||
	    (err = bpf_map__set_max_entries(s->skel->maps.unwind_processes, TARGETS_MAX)) ||
	    (err = bpf_map__set_max_entries(s->skel->maps.unwind_changes, TARGETS_MAX)))
		return diag__set(d, DIAG_INTERNAL, -err, "cannot make the tables for native stacks");
	return 0;
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

static int load(struct bpf_session *s, const struct session_options *o, struct diag *d)
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
		err = configure_unwind(s, o, d);
	if (err)
		goto cleanup;
	/* What the sources have asked the kernel for, and it lacks, is no cause of a failure. */
	first_log[0] = '\0';
	s->skel->rodata->cpus = (uint32_t)s->cpus;
	s->skel->rodata->wakeup_bytes = ring / 4;
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

/* The memory of an array that user space writes.  NULL: errno says why. */
static void *map_array(struct bpf_map *map, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static int set_unwind(const struct unwind_maps *maps, uint32_t vm, const struct unwind_process *process)
{
	if (process)
		return bpf_map_update_elem(maps->processes, &vm, process, BPF_ANY);
	return bpf_map_delete_elem(maps->processes, &vm);
}

static struct unwind_seen unwind_seen(const struct unwind_maps *maps, uint32_t vm)
{
	struct unwind_seen seen = { .unnoted = (uint32_t)*maps->unnoted };
	struct unwind_changes c;

	if (!bpf_map_lookup_elem(maps->changes, &vm, &c))
		seen.changes = (uint32_t)c.count;
	return seen;
}

static void forget_unwind(const struct unwind_maps *maps, uint32_t vm)
{
	bpf_map_delete_elem(maps->processes, &vm);
	bpf_map_delete_elem(maps->changes, &vm);
}

static int open_unwind(struct bpf_session *s, const struct session_options *o, struct diag *d)
{
	if (!o->source_options.native)
		return 0;
	s->unwind.set = set_unwind;
	s->unwind.seen = unwind_seen;
	s->unwind.unnoted = &s->skel->bss->unwind_unnoted;
	s->unwind.forget = forget_unwind;
	s->unwind.processes = bpf_map__fd(s->skel->maps.unwind_processes);
	s->unwind.changes = bpf_map__fd(s->skel->maps.unwind_changes);
	s->skel->links.note_mapped = bpf_program__attach(s->skel->progs.note_mapped);
	if (!s->skel->links.note_mapped) {
		int err = -errno;

		if (err == -EPERM || err == -EACCES)
			return permission__missing(d, err, "attach a BPF program to a tracepoint");
		diag__set(d, DIAG_NO_BPF, -err, "cannot see when libraries are loaded: %s", strerror(-err));
		diag__hint(d, "leave native stacks out");
		return err;
	}
	s->unwind.rows = map_array(s->skel->maps.unwind_rows, UNWIND_ROWS_MAX * sizeof(struct unwind_row));
	s->unwind.mappings = s->unwind.rows ? map_array(s->skel->maps.unwind_mappings,
							UNWIND_ALL_MAPPINGS_MAX * sizeof(struct unwind_mapping)) : NULL;
	return s->unwind.mappings ? 0 : diag__set(d, DIAG_NO_BPF, errno, "cannot map the rules for native stacks: %s",
						  strerror(errno));
}

static void close_unwind(struct bpf_session *s)
{
	if (s->unwind.rows)
		munmap(s->unwind.rows, UNWIND_ROWS_MAX * sizeof(struct unwind_row));
	if (s->unwind.mappings)
		munmap(s->unwind.mappings, UNWIND_ALL_MAPPINGS_MAX * sizeof(struct unwind_mapping));
}

static int on_record(void *context, void *data, size_t size)
{
	struct bpf_session *s = context;

	return s->callback(s->context, data, size) ? 0 : -ECANCELED;
}

static int open_ring(struct bpf_session *s, struct bpf_map *map, struct ring_buffer **ring, struct diag *d)
{
	struct epoll_event e = { .events = EPOLLIN };

	*ring = ring_buffer__new(bpf_map__fd(map), on_record, s, NULL);
	if (!*ring || epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, ring_buffer__epoll_fd(*ring), &e))
		return diag__set(d, DIAG_NO_BPF, errno, "cannot map the ring buffer: %s", strerror(errno));
	return 0;
}

static int follow_processes(struct bpf_session *s, struct diag *d)
{
	struct bpf_program *programs[] = { s->skel->progs.process_fork, s->skel->progs.process_exec,
					   s->skel->progs.process_exit, s->skel->progs.process_free };
	struct bpf_link **links[] = { &s->skel->links.process_fork, &s->skel->links.process_exec,
				      &s->skel->links.process_exit, &s->skel->links.process_free };

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		*links[i] = bpf_program__attach(programs[i]);
		if (!*links[i]) {
			int err = -errno;

			if (err == -EPERM || err == -EACCES)
				return permission__missing(d, err, "attach a BPF program to a tracepoint");
			return diag__set(d, DIAG_NO_BPF, -err,
					 "cannot follow the processes of this kernel: %s", strerror(-err));
		}
	}
	return 0;
}

static int create_sources(struct bpf_session *s, const struct session_options *o, struct diag *d)
{
	for (uint32_t id = 0; id < SOURCE_MAX; id++) {
		struct used_source *used = &s->sources[s->source_count];
		int err;

		if (!(o->sources & 1u << id))
			continue;
		used->ops = source__by_id(id);
		if (!used->ops)
			return diag__set(d, DIAG_INTERNAL, EINVAL, "there is no source %u", id);
		err = used->ops->create(&used->source, &o->source_options, d);
		if (err)
			return err;
		s->source_count++;
	}
	return 0;
}

static int open_sources(struct bpf_session *s, struct diag *d)
{
	int err = 0;

	for (uint32_t i = 0; i < s->source_count && !err; i++)
		err = s->sources[i].ops->open(s->sources[i].source, s->skel, d);
	return err;
}

static void bpf_session__stop(struct session *session)
{
	struct bpf_session *s = (struct bpf_session *)session;

	for (uint32_t i = 0; i < s->source_count; i++) {
		if (s->sources[i].started)
			s->sources[i].ops->stop(s->sources[i].source);
		s->sources[i].started = false;
	}
}

static void bpf_session__close(struct session *session)
{
	struct bpf_session *s = (struct bpf_session *)session;

	if (!s)
		return;
	bpf_session__stop(&s->session);
	for (uint32_t i = 0; i < s->source_count; i++)
		s->sources[i].ops->destroy(s->sources[i].source);
	close_unwind(s);
	ring_buffer__free(s->samples);
	ring_buffer__free(s->lifecycle);
	extprof_bpf__destroy(s->skel);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	map64__free(&s->added_index);
	free(s->added);
	free(s);
}

static int bpf_session__start(struct session *session, struct diag *d)
{
	struct bpf_session *s = (struct bpf_session *)session;
	int err = 0;

	for (uint32_t i = 0; i < s->source_count && !err; i++) {
		err = s->sources[i].ops->start(s->sources[i].source, s->skel, d);
		s->sources[i].started = !err;
	}
	return err;
}

static void bpf_session__pause(struct session *session)
{
	struct bpf_session *s = (struct bpf_session *)session;

	for (uint32_t i = 0; i < s->source_count; i++)
		if (s->sources[i].started && s->sources[i].ops->pause)
			s->sources[i].ops->pause(s->sources[i].source);
}

static void bpf_session__rest(struct session *session)
{
	struct bpf_session *s = (struct bpf_session *)session;

	for (uint32_t i = 0; i < s->source_count; i++)
		if (s->sources[i].ops->rest)
			s->sources[i].ops->rest(s->sources[i].source);
}

static int bpf_session__set_rate(struct session *session, uint32_t rate, struct diag *d)
{
	struct bpf_session *s = (struct bpf_session *)session;
	int err = 0;

	/* That of what runs is the first one, and the only one that can refuse a rate. */
	for (uint32_t i = 0; i < s->source_count && !err; i++)
		if (s->sources[i].ops->set_rate)
			err = s->sources[i].ops->set_rate(s->sources[i].source, s->skel, rate, d);
	return err;
}

static void bpf_session__follow(struct session *session)
{
	struct bpf_session *s = (struct bpf_session *)session;

	for (uint32_t i = 0; i < s->source_count; i++)
		if (s->sources[i].ops->follow)
			s->sources[i].ops->follow(s->sources[i].source);
}

static void bpf_session__detach(struct session *session)
{
	struct bpf_session *s = (struct bpf_session *)session;

	for (uint32_t i = 0; i < s->source_count; i++)
		if (s->sources[i].ops->detach)
			s->sources[i].ops->detach(s->sources[i].source);
}

static int bpf_session__add_ruby(struct session *session, const struct source_target *target, uint32_t *failed,
				 struct diag *d)
{
	struct bpf_session *s = (struct bpf_session *)session;
	struct diag next;
	int first = 0;

	for (uint32_t i = 0; i < s->source_count; i++) {
		int err = s->sources[i].ops->add ? s->sources[i].ops->add(s->sources[i].source, target, first ? &next : d) : 0;

		if (err)
			*failed |= 1u << s->sources[i].ops->id;
		if (!first)
			first = err;
	}
	return first;
}

static uint32_t bpf_session__new_number(struct session *session)
{
	struct bpf_session *s = (struct bpf_session *)session;

	return NUMBER_MAKE(++s->numbers, (uint32_t)s->cpus, (uint32_t)s->cpus);
}

static int bpf_session__set_target(struct session *session, const struct target_key *key, const struct target_config *config)
{
	struct bpf_session *s = (struct bpf_session *)session;

	return bpf_map_update_elem(bpf_map__fd(s->skel->maps.targets), key, config, BPF_ANY);
}

static int bpf_session__add_target(struct session *session, const struct target_key *key, pid_t pid,
				   const struct target_config *config)
{
	struct bpf_session *s = (struct bpf_session *)session;

	(void)pid;
	return bpf_map_update_elem(bpf_map__fd(s->skel->maps.targets), key, config, BPF_NOEXIST);
}

static void bpf_session__remove_target(struct session *session, const struct target_key *key)
{
	struct bpf_session *s = (struct bpf_session *)session;

	bpf_map_delete_elem(bpf_map__fd(s->skel->maps.targets), key);
}

static void bpf_session__drop(struct session *session, const struct target_key *key, uint32_t process,
			      const struct target_config *config)
{
	struct bpf_session *s = (struct bpf_session *)session;

	bpf_session__set_target(session, key, config);
	for (uint32_t i = 0; i < s->source_count; i++)
		if (s->sources[i].ops->drop)
			s->sources[i].ops->drop(s->sources[i].source, process);
}

static int bpf_session__fd(const struct session *session)
{
	const struct bpf_session *s = (const struct bpf_session *)session;

	return s->epoll_fd;
}

static int drain(struct bpf_session *s, struct ring_buffer *ring, session_callback callback, void *context)
{
	session_callback old_callback = s->callback;
	void *old_context = s->context;
	int n;

	s->callback = callback;
	s->context = context;
	n = ring_buffer__consume(ring);
	/* The callback of a sample may drain the events of processes: restore its own. */
	s->callback = old_callback;
	s->context = old_context;
	return n;
}

static int bpf_session__drain(struct session *session, session_callback callback, void *context)
{
	struct bpf_session *s = (struct bpf_session *)session;

	return drain(s, s->samples, callback, context);
}

static int bpf_session__drain_lifecycle(struct session *session, session_callback callback, void *context)
{
	struct bpf_session *s = (struct bpf_session *)session;

	return drain(s, s->lifecycle, callback, context);
}

static uint64_t added_key(uint32_t process, enum sample_source source)
{
	return (uint64_t)process << 8 | source;
}

/* MAP64_NONE: user space has counted nothing of it. */
static uint32_t find_added(const struct bpf_session *s, uint32_t process, enum sample_source source)
{
	return s->added_count ? map64__get(&s->added_index, added_key(process, source)) : MAP64_NONE;
}

static void bpf_session__counters(const struct session *session, uint32_t process, enum sample_source source,
		       struct source_counters *counters)
{
	const struct bpf_session *s = (const struct bpf_session *)session;
	struct counter_key key = { .process = process, .source = source };
	uint32_t i = find_added(s, process, source);

	if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.counters), &key, counters))
		memset(counters, 0, sizeof(*counters));
	if (i != MAP64_NONE)
		source_counters__add(counters, &s->added[i]);
}

static void bpf_session__add_counters(struct session *session, uint32_t process, enum sample_source source,
			   const struct source_counters *counters)
{
	struct bpf_session *s = (struct bpf_session *)session;
	uint32_t i = find_added(s, process, source);

	if (i == MAP64_NONE) {
		i = s->added_count;
		/* Without memory the sums do not agree, and the summary says so. */
		if (array__reserve(&s->added, i, 1, &s->added_room, MAP64_NONE, sizeof(*s->added)) ||
		    map64__add(&s->added_index, added_key(process, source), i))
			return;
		s->added[s->added_count++] = (struct source_counters){ 0 };
	}
	source_counters__add(&s->added[i], counters);
}

static struct source *used(const struct session *session, enum sample_source source)
{
	const struct bpf_session *s = (const struct bpf_session *)session;

	for (uint32_t i = 0; i < s->source_count; i++)
		if (s->sources[i].ops->id == source)
			return s->sources[i].source;
	return NULL;
}

static void bpf_session__forget_counters(struct session *session, uint32_t process)
{
	struct bpf_session *s = (struct bpf_session *)session;
	struct counter_key key = { .process = process };

	for (key.source = 0; key.source < SOURCE_MAX; key.source++) {
		uint32_t i = find_added(s, process, key.source);

		bpf_map_delete_elem(bpf_map__fd(s->skel->maps.counters), &key);
		if (i != MAP64_NONE)
			s->added[i] = (struct source_counters){ 0 };
	}
	if (used(session, SOURCE_SCHED))
		sched__forget(used(session, SOURCE_SCHED), process);
}

static uint64_t bpf_session__lost_events(const struct session *session)
{
	const struct bpf_session *s = (const struct bpf_session *)session;

	return s->skel->bss->events_lost + s->skel->bss->targets_full;
}

static void bpf_session__facts(const struct session *session, enum sample_source source, struct source_facts *facts)
{
	const struct bpf_session *s = (const struct bpf_session *)session;

	memset(facts, 0, sizeof(*facts));
	for (uint32_t i = 0; i < s->source_count; i++)
		if (s->sources[i].ops->id == source)
			s->sources[i].ops->facts(s->sources[i].source, facts);
}

static bool bpf_session__waits(const struct session *session, struct session_waits *waits)
{
	const struct source *sched = used(session, SOURCE_SCHED);

	if (sched)
		sched__waits(sched, waits);
	return sched != NULL;
}

static void bpf_session__each_thread(const struct session *session, settle_callback callback, void *context)
{
	sched__each(used(session, SOURCE_SCHED), callback, context);
}

static bool bpf_session__about(const struct session *session, uint32_t process, uint32_t tid, struct wait_about *about)
{
	return sched__about(used(session, SOURCE_SCHED), process, tid, about);
}

static bool bpf_session__unwind(const struct session *session, struct unwind_maps *maps)
{
	const struct bpf_session *s = (const struct bpf_session *)session;

	*maps = s->unwind;
	return s->unwind.rows != NULL;
}

static void bpf_session__begin_interval(struct session *session, uint64_t interval)
{
	sched__set_interval(used(session, SOURCE_SCHED), interval);
}

static int bpf_session__threads_now(const struct session *session, thread_callback callback, void *context)
{
	return sched__each_now(used(session, SOURCE_SCHED), callback, context);
}

static bool bpf_session__gvl_waits(const struct session *session, uint32_t process, struct histogram *to)
{
	const struct source *sched = used(session, SOURCE_SCHED);

	if (sched)
		sched__gvl_waits(sched, process, to);
	return sched != NULL;
}

static bool bpf_session__calls(const struct session *session, call_callback callback, void *context)
{
	const struct source *calls = used(session, SOURCE_SYSCALL);

	return calls && syscall__each_sum(calls, callback, context);
}

static void bpf_session__losses(const struct session *session, struct session_losses *losses)
{
	const struct source *sched = used(session, SOURCE_SCHED), *calls = used(session, SOURCE_SYSCALL);

	if (sched)
		sched__losses(sched, losses);
	if (calls)
		syscall__losses(calls, losses);
}

static const struct session_ops ops = {
	.close = bpf_session__close,
	.start = bpf_session__start,
	.pause = bpf_session__pause,
	.stop = bpf_session__stop,
	.rest = bpf_session__rest,
	.set_rate = bpf_session__set_rate,
	.follow = bpf_session__follow,
	.detach = bpf_session__detach,
	.add_ruby = bpf_session__add_ruby,
	.new_number = bpf_session__new_number,
	.set_target = bpf_session__set_target,
	.add_target = bpf_session__add_target,
	.remove_target = bpf_session__remove_target,
	.drop = bpf_session__drop,
	.fd = bpf_session__fd,
	.drain = bpf_session__drain,
	.drain_lifecycle = bpf_session__drain_lifecycle,
	.counters = bpf_session__counters,
	.add_counters = bpf_session__add_counters,
	.forget_counters = bpf_session__forget_counters,
	.lost_events = bpf_session__lost_events,
	.facts = bpf_session__facts,
	.waits = bpf_session__waits,
	.each_thread = bpf_session__each_thread,
	.about = bpf_session__about,
	.unwind = bpf_session__unwind,
	.begin_interval = bpf_session__begin_interval,
	.threads_now = bpf_session__threads_now,
	.gvl_waits = bpf_session__gvl_waits,
	.calls = bpf_session__calls,
	.losses = bpf_session__losses,
};

int bpf_session__open(struct session **session, const struct session_options *o, struct diag *d)
{
	struct bpf_session *s;
	int err;

	*session = NULL;
	if (o->size != sizeof(*o))
		return diag__set(d, DIAG_INTERNAL, EINVAL, "wrong size of session_options");
	s = calloc(1, sizeof(*s));
	if (!s)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	s->cpus = libbpf_num_possible_cpus();
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->cpus < 1 || s->epoll_fd < 0) {
		err = diag__set(d, DIAG_INTERNAL, ENODEV, "cannot count the CPUs, or wait for events");
		goto cleanup;
	}
	if ((err = create_sources(s, o, d)) || (err = load(s, o, d)) || (err = open_unwind(s, o, d)) ||
	    (err = open_ring(s, s->skel->maps.samples, &s->samples, d)) ||
	    (err = open_ring(s, s->skel->maps.lifecycle, &s->lifecycle, d)) ||
	    (err = open_sources(s, d)) || (err = follow_processes(s, d)))
		goto cleanup;
	s->session.ops = &ops;
	*session = &s->session;
	s = NULL;
cleanup:
	bpf_session__close(s ? &s->session : NULL);
	return err;
}
