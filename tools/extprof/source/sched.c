/* SPDX-License-Identifier: BSD-2-Clause */
/* Times that threads do not run, told by the scheduler: see bpf/sched.bpf.c. */
#include "source/call_kinds.h"
#include "source/sched.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/deadline.h"
#include "base/map64.h"
#include "base/proc_file.h"
#include "extprof.skel.h"
#include "source/permission.h"
#include "source/ruby_probe.h"
#include "source/sched_parts.h"

/* The inode of the outermost pid namespace, include/linux/proc_ns.h, since 3.8. */
#define OUTERMOST_PIDNS 0xeffffffcu

/* The kernel's programs know threads by their tids in the outermost namespace.  Are those that are seen from here
 * the same? */
static bool sees_tids(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == OUTERMOST_PIDNS;
}

static void detach(struct source *s)
{
	for (int i = 0; i < s->program_count; i++) {
		bpf_link__destroy(s->links[i]);
		s->links[i] = NULL;
	}
}

static void sched__destroy(struct source *s)
{
	if (!s)
		return;
	ruby_probe__detach(&s->probe);
	cpu_timers__close(&s->timers);
	detach(s);
	for (int i = 0; i < LIVES; i++)
		bpf_link__destroy(s->life_links[i]);
	bpf_link__destroy(s->tids_link);
	map64__free(&s->tids);
	free(s);
}

/* Is more asked for than the kernel can tell? */
static bool has_probe(const struct source *s)
{
	return s->options.details & (WAIT_DETAIL_HOLDER | WAIT_DETAIL_WAKER);
}

static int sched__create(struct source **source, const struct source_options *o, struct diag *d)
{
	struct source *s;
	int err;

	*source = NULL;
	if (o->size != sizeof(*o))
		return diag__set(d, DIAG_INTERNAL, EINVAL, "wrong size of source_options");
	if (o->rate < 1 || o->rate > SOURCE_RATE_MAX)
		return diag__set(d, DIAG_USAGE, EINVAL, "the rate must be 1 to %u per second", SOURCE_RATE_MAX);
	s = calloc(1, sizeof(*s));
	if (!s)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	s->options = *o;
	s->nested = !sees_tids();
	s->threads_fd = s->details_fd = s->looks_fd = s->gvl_waits_fd = -1;
	s->probe.name = "thread_state";
	s->probe.semaphore = offsetof(struct rb_debug_ext_section, thread_semaphore);
	s->quantum = o->each_wait ? 0 : 1000000000ull / o->rate;
	err = has_probe(s) ? ruby_probe__create(&s->probe, o->places, d) : 0;
	if (err) {
		free(s);
		return err;
	}
	*source = s;
	return 0;
}

/* Can a program run in a thread that has got a CPU?  For --waker one runs at the end of system calls on every kernel: their
 * results tell whether a wait timed out. */
static bool can_end_on_cpu(const struct source *s)
{
	return !(s->options.details & WAIT_DETAIL_WAKER) && libbpf_find_vmlinux_btf_id("sched_exit_tp", BPF_TRACE_RAW_TP) > 0;
}

static int sched__configure(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	bool on_cpu = can_end_on_cpu(s), native = s->options.native;
	struct bpf_program *programs[PROGRAMS_MAX] = {
		/* A kernel that tells when a thread has got a CPU has its stack read then. */
		native && !on_cpu ? skel->progs.waits_switch_native : skel->progs.waits_switch, skel->progs.waits_wakeup,
		on_cpu ? (native ? skel->progs.waits_on_cpu_native : skel->progs.waits_on_cpu) :
			 (native ? skel->progs.waits_call_ends_native : skel->progs.waits_call_ends),
		skel->progs.waits_waking,
	}, *lives[LIVES] = { skel->progs.waits_new, skel->progs.waits_exit, skel->progs.waits_exec };
	int err;

	/* When the call has ended, the kernel has left the functions in which the thread waited. */
	if (s->options.kernel && !on_cpu) {
		diag__set(d, DIAG_NO_BPF, ENOSYS, "this kernel does not tell when a thread has got a CPU, so in which "
			  "functions of the kernel it waited cannot be read: Linux 6.16 and later do");
		diag__hint(d, "leave the functions of the kernel out, or measure what runs: mode cpu");
		return -ENOSYS;
	}
	s->ends_on_cpu = on_cpu;
	memcpy(s->programs, programs, sizeof(programs));
	memcpy(s->lives, lives, sizeof(lives));
	/* The last one is for who asks. */
	s->program_count = s->options.details & WAIT_DETAIL_WAKER ? PROGRAMS_MAX : PROGRAMS_MAX - 1;
	for (int i = 0; i < s->program_count; i++)
		bpf_program__set_autoload(programs[i], true);
	for (int i = 0; i < LIVES; i++)
		bpf_program__set_autoload(lives[i], true);
	bpf_program__set_autoload(skel->progs.waits_tids, s->nested);
	s->look = s->options.details & WAIT_DETAIL_HOLDER ? skel->progs.waits_look : NULL;
	if (s->look)
		bpf_program__set_autoload(s->look, true);
	skel->bss->wait_quantum = s->quantum;
	skel->rodata->waits_as_figures = s->options.figures;
	skel->rodata->states_sampled = s->options.states ? s->options.states : ~0u;
	skel->rodata->waits_end_on_cpu = s->ends_on_cpu;
	call_kinds__copy(skel->rodata->call_kinds);
	skel->rodata->details_wanted = s->options.details;
	err = bpf_map__set_max_entries(skel->maps.threads, SCHED_THREADS_MAX);
	if (!err && s->options.figures)
		err = bpf_map__set_max_entries(skel->maps.gvl_waits, TARGETS_MAX);
	if (!err && s->options.details)
		err = bpf_map__set_max_entries(skel->maps.all_details, SCHED_THREADS_MAX);
	if (!err && has_probe(s))
		err = bpf_map__set_max_entries(skel->maps.gvl_looks, 4 * TARGETS_MAX);
	if (!err && has_probe(s))
		return ruby_probe__configure(&s->probe, skel, skel->progs.waits_state_changed, d);
	return err ? diag__set(d, DIAG_INTERNAL, -err, "cannot make the table of threads") : 0;
}

static int attach_all(struct bpf_program *const *programs, struct bpf_link **links, int count, struct diag *d)
{
	for (int i = 0; i < count; i++) {
		int err;

		links[i] = bpf_program__attach(programs[i]);
		if (links[i])
			continue;
		err = -errno;
		if (err == -EPERM || err == -EACCES)
			return permission__missing(d, err, "attach a BPF program to a tracepoint");
		return diag__set(d, DIAG_NO_BPF, -err, "cannot attach to the scheduler: %s", strerror(-err));
	}
	return 0;
}

static int sched__open(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	int err;

	s->threads_fd = bpf_map__fd(skel->maps.threads);
	s->details_fd = bpf_map__fd(skel->maps.all_details);
	s->looks_fd = bpf_map__fd(skel->maps.gvl_looks);
	s->gvl_waits_fd = bpf_map__fd(skel->maps.gvl_waits);
	s->interval = (volatile uint64_t *)&skel->bss->waits_interval;
	s->gvl_waits_lost = &skel->bss->gvl_waits_lost;
	s->full = &skel->bss->threads_full;
	s->accounts_lost = &skel->bss->accounts_lost;
	s->paused = (volatile uint32_t *)&skel->bss->waits_paused;
	s->ended_unseen = &skel->bss->waits_ended_unseen;
	*s->paused = WAITS_RESTING;
	ruby_probe__open(&s->probe, skel);
	err = attach_all(s->lives, s->life_links, LIVES, d);
	if (!err && s->look)
		err = cpu_timers__open(&s->timers, s->look, libbpf_num_possible_cpus(), LOOK_PERIOD, d);
	if (err)
		return err;
	if (!s->nested)
		return 0;
	s->tids_link = bpf_program__attach_iter(skel->progs.waits_tids, NULL);
	return s->tids_link ? 0 : diag__set(d, DIAG_NO_BPF, errno, "cannot list the threads of this pid namespace: %s",
					    strerror(errno));
}

/* Ask the kernel for the tids of all threads that are seen from here.  0 or -errno. */
static int read_tids(struct source *s)
{
	int fd = bpf_iter_create(bpf_link__fd(s->tids_link)), err = 0;
	struct sched_tid tids[512];
	ssize_t n = 0;

	map64__clear(&s->tids);
	if (fd < 0)
		return fd;
	while (!err && (n = read(fd, tids, sizeof(tids))) > 0)
		for (size_t i = 0; !err && i < (size_t)n / sizeof(tids[0]); i++)
			if (map64__get(&s->tids, tids[i].seen_as) == MAP64_NONE)
				err = map64__add(&s->tids, tids[i].seen_as, tids[i].global);
	if (n < 0)
		err = -errno;
	close(fd);
	return err;
}

/* The thread may be anywhere: what is seen of it first tells where it was. */
static void add_thread(struct source *s, const struct source_target *target, uint32_t tid)
{
	struct sched_thread t = {
		.account = { .process = target->process, .vm = target->vm },
		.off = OFF_UNKNOWN,
		.seen_as = tid,
	};
	uint32_t global = s->nested ? map64__get(&s->tids, tid) : tid;
	struct proc_status status;

	/* The kernel tells of one that was made meanwhile. */
	if (global == MAP64_NONE)
		return;
	if (proc_status__read(&status, target->pid, (pid_t)tid))
		return;
	t.switches = status.voluntary + status.involuntary;
	t.account.voluntary = t.account.voluntary_before = status.voluntary;
	t.account.involuntary = t.account.involuntary_before = status.involuntary;
	if (status.inner)	/* its number in its own pid namespace */
		t.account.tid = status.inner;
	if (s->quantum)
		for (int i = 0; i < STATE_MAX; i++) {
			uint64_t random = 0;

			if (getrandom(&random, sizeof(random), GRND_NONBLOCK) == sizeof(random))
				t.owed[i] = random % s->quantum;
		}
	t.account.first = t.since = deadline__now();
	/* One that was made meanwhile is there already. */
	if (bpf_map_update_elem(s->threads_fd, &global, &t, BPF_NOEXIST) && errno == E2BIG)
		s->lost++;
}

/* Threads that are made from now on are told by the kernel. */
static int add_threads(struct source *s, const struct source_target *target)
{
	struct dirent *entry;
	char path[PROC_PATH_MAX];
	int err = s->nested ? read_tids(s) : 0;
	DIR *dir;

	if (err)
		return err;
	proc__path(path, target->pid, 0, "task");
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			add_thread(s, target, (uint32_t)strtoul(entry->d_name, NULL, 10));
	closedir(dir);
	return 0;
}

/* Nobody was told of threads that ended while the sums were put together. */
static void forget_ended(struct source *s)
{
	uint64_t unseen = *s->ended_unseen;
	uint32_t *key = NULL, next, gone = 0;
	char path[PROC_PATH_MAX];
	struct sched_thread t;

	for (uint32_t n = 0; unseen != s->ended_seen && n <= SCHED_THREADS_MAX; n++) {
		bool more = !bpf_map_get_next_key(s->threads_fd, key, &next);

		/* The walk would begin anew at a key that is gone. */
		if (gone)
			bpf_map_delete_elem(s->threads_fd, &gone);
		gone = 0;
		if (!more)
			break;
		key = &next;
		if (bpf_map_lookup_elem(s->threads_fd, key, &t) || !t.seen_as)
			continue;
		proc__path(path, (pid_t)t.seen_as, 0, "comm");
		if (access(path, F_OK))
			gone = next;
	}
	s->ended_seen = unseen;
}

/* We saw nothing during the pause.  Forget what each thread was doing, and do not count the pause in its lifetime. */
static bool go_on(void *context, uint32_t tid, struct sched_thread *t)
{
	const struct source *s = context;
	(void)tid;

	/* One that was made meanwhile begins to be measured now. */
	if (t->account.first >= s->stopped_at - s->pause)
		t->account.first = s->stopped_at;
	else
		t->account.first += s->pause;
	t->off = OFF_UNKNOWN;
	t->woken = t->blocked = t->runnable = t->stopped = 0;
	t->sent = t->settled = 0;
	return true;
}

static int attach_programs(struct source *s, struct diag *d)
{
	int err = s->links[0] ? 0 : attach_all(s->programs, s->links, s->program_count, d);

	if (err)
		detach(s);
	return err;
}

static int sched__start(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	int err = attach_programs(s, d);

	(void)skel;
	if (!err)
		err = ruby_probe__resume(&s->probe, d);
	if (!err)
		err = cpu_timers__start(&s->timers, d);
	if (err)
		return err;
	if (*s->paused != WAITS_HELD) {
		/* A walk begins anew at a thread that is gone. */
		*s->paused = WAITS_HELD;
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	}
	return 0;
}

static void sched__go(struct source *s, uint64_t now)
{
	s->pause = now - s->stopped_at;
	s->stopped_at = now;
	sched__each(s, go_on, s);
	*s->paused = WAITS_RUN;
	forget_ended(s);
}

static void sched__pause(struct source *s)
{
	if (*s->paused)
		return;
	*s->paused = WAITS_HELD;
	s->stopped_at = deadline__now();
}

/* New threads are added meanwhile, and the accounts of ended ones are sent. */
static void sched__rest(struct source *s)
{
	*s->paused = WAITS_RESTING;
	cpu_timers__stop(&s->timers);
	detach(s);
	/* A running program is an RCU reader.  This call waits until all that run now have ended. */
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	forget_ended(s);
	ruby_probe__rest(&s->probe);
}

static int sched__add(struct source *s, const struct source_target *target, struct diag *d)
{
	int err = add_threads(s, target);

	/* It may have ended meanwhile. */
	if (err && err != -ENOENT && err != -ESRCH)
		return diag__set(d, DIAG_PERMISSION, -err, "cannot list the threads of process %d: %s",
				 target->pid, strerror(-err));
	return has_probe(s) && target->section ? ruby_probe__add(&s->probe, target, d) : 0;
}

/* Figures have been taken of it by now.  Else its account is lost. */
static void drop_thread(struct source *s, const uint32_t *tid, uint32_t process)
{
	struct sched_thread t;

	if (!bpf_map_lookup_elem(s->threads_fd, tid, &t) && t.account.process == process &&
	    !bpf_map_delete_elem(s->threads_fd, tid) && !s->options.figures)
		s->lost++;
}

/* Threads that are not known are not measured. */
static void sched__drop(struct source *s, uint32_t process)
{
	uint32_t *key = NULL, next, last;

	for (uint32_t n = 0; n <= SCHED_THREADS_MAX && !bpf_map_get_next_key(s->threads_fd, key, &next); n++) {
		/* The walk would begin anew at a key that is gone. */
		if (key)
			drop_thread(s, key, process);
		last = next;
		key = &last;
	}
	if (key)
		drop_thread(s, key, process);
}

static void sched__detach(struct source *s)
{
	cpu_timers__close(&s->timers);
	detach(s);
	ruby_probe__detach(&s->probe);
}

static void sched__follow(struct source *s)
{
	if (s->timers.cpus)
		cpu_timers__follow(&s->timers);
}

/* Short waits that were added up with the old quantum become samples of the new quantum. */
static int sched__set_rate(struct source *s, struct extprof_bpf *skel, uint32_t rate, struct diag *d)
{
	(void)d;
	s->options.rate = rate;
	s->quantum = s->options.each_wait ? 0 : 1000000000ull / rate;
	skel->bss->wait_quantum = s->quantum;
	return 0;
}

static void sched__facts(const struct source *s, struct source_facts *facts)
{
	memset(facts, 0, sizeof(*facts));
	if (s->quantum)
		snprintf(facts->text, sizeof(facts->text), "waits measured, one stack each %.3g ms of them",
			 (double)s->quantum / 1e6);
	else
		snprintf(facts->text, sizeof(facts->text), "waits measured, the stack of each");
}

void sched__waits(const struct source *s, struct session_waits *waits)
{
	*waits = (struct session_waits){
		.stopped_at = s->stopped_at, .quantum = s->quantum, .states = s->options.states,
		.details = s->options.details, .ends_on_cpu = s->ends_on_cpu,
	};
}

struct key_of_process {
	uint32_t process, key;
};

static int by_process(const void *a, const void *b)
{
	const struct key_of_process *one = a, *other = b;

	if (one->process != other->process)
		return one->process < other->process ? -1 : 1;
	return one->key < other->key ? -1 : one->key > other->key;
}

static void settle(const struct source *s, uint32_t key, settle_callback callback, void *context)
{
	struct sched_thread t;

	if (bpf_map_lookup_elem(s->threads_fd, &key, &t) || !callback(context, t.seen_as, &t))
		return;
	t.since = s->stopped_at;
	bpf_map_update_elem(s->threads_fd, &key, &t, BPF_EXIST);
}

void sched__each(const struct source *s, settle_callback callback, void *context)
{
	struct key_of_process *list = NULL;
	uint32_t *key = NULL, next, count = 0;
	struct sched_thread t;
	size_t room = 0;

	/* All threads of a process follow each other, so that the caller reads its data once. */
	for (uint32_t n = 0; n <= SCHED_THREADS_MAX && !bpf_map_get_next_key(s->threads_fd, key, &next); n++) {
		key = &next;
		/* Without memory for that it is settled out of order. */
		if (array__reserve(&list, count, 1, &room, SCHED_THREADS_MAX + 1, sizeof(*list)))
			settle(s, next, callback, context);
		else if (!bpf_map_lookup_elem(s->threads_fd, key, &t))
			list[count++] = (struct key_of_process){ t.account.process, next };
	}
	if (count)
		qsort(list, count, sizeof(*list), by_process);
	for (uint32_t i = 0; i < count; i++)
		settle(s, list[i].key, callback, context);
	free(list);
}

bool sched__wait_details(const struct source *s, uint32_t process, uint32_t tid, struct wait_details *details)
{
	struct details_key key = { .process = process, .tid = tid };

	return s->options.details && !bpf_map_lookup_elem(s->details_fd, &key, details);
}

bool sched__last_look(const struct source *s, uint32_t process, uint32_t ractor, struct hold_event *e)
{
	struct gvl_key key = { .process = process, .ractor = ractor ? ractor : 1 };
	struct gvl_watch w;

	if (!s->look || bpf_map_lookup_elem(s->looks_fd, &key, &w) || !w.waits)
		return false;
	*e = (struct hold_event){
		.e = { .time = w.time, .ip = w.ip, .source = SOURCE_SCHED, .kind = SAMPLE_HOLD, .vm = w.peer.vm,
		       .process = process, .detail = w.number + 1, .extra = key.ractor, .state = w.look },
		.peer = w.peer,
	};
	return true;
}

const struct source_ops source_sched = {
	.id = SOURCE_SCHED,
	.create = sched__create,
	.configure = sched__configure,
	.open = sched__open,
	.start = sched__start,
	.go = sched__go,
	.pause = sched__pause,
	.rest = sched__rest,
	.set_rate = sched__set_rate,
	.add = sched__add,
	.adds_all = true,
	.drop = sched__drop,
	.detach = sched__detach,
	.follow = sched__follow,
	.facts = sched__facts,
	.destroy = sched__destroy,
};
