/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples of events that the user names. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "extprof.skel.h"
#include "source/cpu_timers.h"
#include "source/event_spec.h"
#include "source/permission.h"
#include "source/places.h"
#include "source/source.h"
#include "source/tracefs.h"
#include "source/usdt.h"

/* A file with places of an event. */
struct event_file {
	dev_t device;
	ino_t inode;
	uint64_t owner;		/* of a ruby: the user who runs it */
	int fd;
	struct usdt places;
	struct usdt_links links;
};

struct event {
	const struct event_spec *spec;
	uint64_t period;
	struct bpf_program *program;
	struct cpu_timers counters;	/* of EVENT_PERF */
	uint64_t tracepoint;		/* of EVENT_TRACEPOINT */
	struct bpf_link *trace_link;
	struct event_file *files;	/* of EVENT_FUNCTION and EVENT_USDT */
	uint32_t file_count;
	size_t file_room;
};

struct source {
	struct event events[EVENTS_MAX];
	uint32_t count;
	int cpus;		/* possible ones */
	bool attached, native;
};

static bool is_in_code(const struct event *e)
{
	return e->spec->kind == EVENT_FUNCTION || e->spec->kind == EVENT_USDT;
}

/* Is the file that of each ruby? */
static bool is_of_ruby(const struct event *e)
{
	return is_in_code(e) && !strcmp(e->spec->first, EVENT_FILE_RUBY);
}

/* The diagnosis is of an event that was named, or of a file of it: say which. */
static int name_event(const struct event *e, int err, struct diag *d)
{
	char text[sizeof(d->text)];

	snprintf(text, sizeof(text), "event %s: %.440s", e->spec->label, d->text);
	memcpy(d->text, text, sizeof(text));
	return err;
}

/* -- places in code ------------------------------------------------------------------------------ */

static int attach_file(const struct event *e, struct event_file *f, struct diag *d)
{
	int err = usdt__attach(e->program, f->fd, f->places.places, f->places.count, &f->links, d);

	return err ? name_event(e, err, d) : 0;
}

/* The provider of the event, for places__want() and the like; NULL for a function. */
static const char *provider(const struct event *e)
{
	return e->spec->kind == EVENT_USDT ? e->spec->second : NULL;
}

static const char *name(const struct event *e)
{
	return e->spec->kind == EVENT_USDT ? e->spec->third : e->spec->second;
}

static bool has_room(const struct event *e, const struct source_target *ruby)
{
	uint32_t of_user = 0;

	for (uint32_t i = 0; i < e->file_count && ruby; i++)
		of_user += e->files[i].owner == ruby->file->owner;
	return rubies__have_room(e->file_count, of_user);
}

/* Find the places in the file; it takes the descriptor, also if it fails.  ruby: NULL: a file that the user has named. */
static int add_file(struct event *e, int fd, const struct source_target *ruby, struct diag *d)
{
	struct event_file *f;
	struct stat st;
	int err;

	if (ruby)
		st = ruby->file->st;
	if ((!ruby && fstat(fd, &st)) || !has_room(e, ruby) ||
	    array__reserve(&e->files, e->file_count, 1, &e->file_room, RUBIES_MAX, sizeof(*e->files))) {
		close(fd);
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "there is no room for another file of event %s", e->spec->label);
	}
	f = &e->files[e->file_count];
	memset(f, 0, sizeof(*f));
	f->fd = fd;
	f->device = st.st_dev;
	f->inode = st.st_ino;
	f->owner = ruby ? ruby->file->owner : 0;
	if (ruby)
		err = places__get(ruby->places, ruby->file, provider(e), name(e), &f->places, NULL, d);
	else
		err = places__find(fd, provider(e), name(e), &f->places, d);
	if (err) {
		close(fd);
		return name_event(e, err, d);
	}
	e->file_count++;
	return 0;
}

/* A name without a directory is that of a library. */
static int open_library(const char *name)
{
	static const char *const directories[] = {
#if defined(__x86_64__)
		"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
		"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
#endif
		"/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib",
	};

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		char path[640];
		int fd;

		snprintf(path, sizeof(path), "%s/%s", directories[i], name);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0)
			return fd;
	}
	errno = ENOENT;
	return -1;
}

static int find_places(struct event *e, struct diag *d)
{
	bool has_directory = strchr(e->spec->first, '/');
	int fd, err;

	fd = has_directory ? open(e->spec->first, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : open_library(e->spec->first);
	if (fd < 0) {
		err = -errno;
		diag__set(d, DIAG_USAGE, -err, "cannot open %s: %s", e->spec->first, strerror(-err));
		diag__hint(d, has_directory ? "FILE is a path as extprof sees it, also of a program in a container: "
			   "/proc/PID/root/..." : "a name without a directory is looked for in the usual directories of "
			   "libraries, and ruby is the file that holds the VM; else write the path");
		return name_event(e, err, d);
	}
	err = add_file(e, fd, NULL, d);
	/* The user has named this file, so an error is the user's mistake. */
	if (err && d->code != DIAG_PERMISSION && err != -ENOMEM)
		d->code = DIAG_USAGE;
	return err;
}

/* -- the source ---------------------------------------------------------------------------------- */

static void event__destroy(struct source *s)
{
	struct usdt_bin bin = { 0 };

	if (!s)
		return;
	for (uint32_t i = 0; i < s->count; i++) {
		struct event *e = &s->events[i];

		cpu_timers__close(&e->counters);
		bpf_link__destroy(e->trace_link);
		for (uint32_t j = 0; j < e->file_count; j++) {
			usdt__detach(&e->files[j].links, &bin);
			close(e->files[j].fd);
		}
		free(e->files);
	}
	usdt_bin__empty(&bin);
	free(s);
}

/* Does it come while the kernel is entered, before it has the registers of user space? */
static bool comes_at_any_time(const struct event_spec *spec)
{
	return (spec->kind == EVENT_PERF && spec->perf_type != PERF_TYPE_SOFTWARE) ||
	       (spec->kind == EVENT_TRACEPOINT && !strcmp(spec->first, "nmi"));
}

static int create_event(struct event *e, const struct event_spec *spec, const struct source_options *o, struct diag *d)
{
	uint64_t period = o->event_period;
	int err = 0;

	if (o->native && comes_at_any_time(spec)) {
		diag__set(d, DIAG_USAGE, EINVAL, "event %s: native stacks cannot be followed, as it comes also while the kernel is "
			  "entered and has no registers yet", spec->label);
		diag__hint(d, "leave native stacks out, or choose an event of the kernel or of a function");
		return -EINVAL;
	}
	e->spec = spec;
	e->period = period ? period : spec->period;
	if (is_of_ruby(e) && (err = places__want(o->places, provider(e), name(e))))
		diag__set(d, DIAG_INTERNAL, -err, "cannot note event %s: %s", spec->label, strerror(-err));
	else if (is_in_code(e) && !is_of_ruby(e))
		err = find_places(e, d);
	else if (spec->kind == EVENT_TRACEPOINT)
		err = tracefs__id(spec->first, spec->second, &e->tracepoint, d);
	return err;
}

static int event__create(struct source **source, const struct source_options *o, struct diag *d)
{
	struct source *s;

	*source = NULL;
	if (o->size != sizeof(*o))
		return diag__set(d, DIAG_INTERNAL, EINVAL, "wrong size of source_options");
	if (!o->event_count || o->event_count > EVENTS_MAX)
		return diag__set(d, DIAG_USAGE, EINVAL, "mode event needs 1 to %u events", EVENTS_MAX);
	s = calloc(1, sizeof(*s));
	if (!s)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	s->native = o->native;
	s->cpus = libbpf_num_possible_cpus();
	if (s->cpus < 1) {
		event__destroy(s);
		return diag__set(d, DIAG_INTERNAL, ENODEV, "cannot count the CPUs");
	}
	for (uint32_t i = 0; i < o->event_count; i++) {
		int err = create_event(&s->events[s->count++], &o->events[i], o, d);

		if (err) {
			event__destroy(s);
			return err;
		}
	}
	*source = s;
	return 0;
}

static struct bpf_program *program_of(const struct source *s, struct extprof_bpf *skel, const struct event *e, uint32_t number)
{
	const char *kind = e->spec->kind == EVENT_PERF ? "perf" : e->spec->kind == EVENT_TRACEPOINT ? "trace" : "probe";
	char name[32];

	snprintf(name, sizeof(name), "%s_%s_%u", s->native ? "native" : "event", kind, number);
	return bpf_object__find_program_by_name(skel->obj, name);
}

static int event__configure(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	for (uint32_t i = 0; i < s->count; i++) {
		struct event *e = &s->events[i];

		e->program = program_of(s, skel, e, i);
		if (!e->program)
			return diag__set(d, DIAG_INTERNAL, ENOENT, "there is no program for event %u", i);
		bpf_program__set_autoload(e->program, true);
		if (is_in_code(e))
			usdt__prepare(e->program);
		skel->rodata->event_period[i] = e->period;
		/* perf itself counts its own events. */
		skel->rodata->event_every[i] = e->spec->kind == EVENT_PERF ? 1 : e->period;
	}
	return 0;
}

static int event__open(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	(void)skel;
	for (uint32_t i = 0; i < s->count; i++) {
		struct event *e = &s->events[i];
		int err;

		if (e->spec->kind != EVENT_PERF)
			continue;
		err = cpu_timers__open_event(&e->counters, e->program, s->cpus, e->period, e->spec->perf_type,
					     e->spec->perf_config, d);
		if (err)
			return name_event(e, err, d);
	}
	return 0;
}

static int start_tracepoint(struct event *e, struct diag *d)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = e->tracepoint,
		.sample_period = 1,
	};
	/* The program runs on each CPU, whatever the one of the event. */
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC), err = -errno;

	if (fd >= 0) {
		/* The link has the file from now on. */
		e->trace_link = bpf_program__attach_perf_event(e->program, fd);
		if (e->trace_link)
			return 0;
		err = -errno;
		close(fd);
	}
	if (err == -EPERM || err == -EACCES)
		permission__missing(d, err, "attach a BPF program to a tracepoint");
	else
		diag__set(d, DIAG_NO_BPF, -err, "cannot attach to the tracepoint: %s", strerror(-err));
	return name_event(e, err, d);
}

static int start_event(struct event *e, struct diag *d)
{
	int err = 0;

	if (e->spec->kind == EVENT_PERF)
		return cpu_timers__start(&e->counters, d);
	if (e->spec->kind == EVENT_TRACEPOINT)
		return e->trace_link ? 0 : start_tracepoint(e, d);
	for (uint32_t i = 0; i < e->file_count && !err; i++)
		err = e->files[i].links.attached ? 0 : attach_file(e, &e->files[i], d);
	return err;
}

/* A counter of the hardware samples in an interrupt, which is over before the event is disabled.  Other events can go on. */
static bool event__lingers(const struct source *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->events[i].spec->kind != EVENT_PERF || s->events[i].spec->perf_type == PERF_TYPE_SOFTWARE)
			return true;
	return false;
}

static void event__stop(struct source *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->events[i].spec->kind == EVENT_PERF)
			cpu_timers__stop(&s->events[i].counters);
}

static void event__detach(struct source *s)
{
	struct usdt_bin bin = { 0 };

	for (uint32_t i = 0; i < s->count; i++) {
		struct event *e = &s->events[i];

		bpf_link__destroy(e->trace_link);
		e->trace_link = NULL;
		for (uint32_t j = 0; j < e->file_count; j++)
			usdt__detach(&e->files[j].links, &bin);
	}
	usdt_bin__empty(&bin);
	s->attached = false;
}

static int event__start(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	(void)skel;
	for (uint32_t i = 0; i < s->count; i++) {
		int err = start_event(&s->events[i], d);

		if (err) {
			event__stop(s);
			event__detach(s);
			return err;
		}
	}
	s->attached = true;
	return 0;
}

/* Have the event in the file of this ruby. */
static int add_ruby(struct source *s, struct event *e, const struct source_target *t, struct diag *d)
{
	const struct stat *st = &t->file->st;
	int fd, err;

	if (t->file->fd < 0)
		return diag__set(d, DIAG_PERMISSION, EACCES, "the file of the ruby of process %d cannot be opened", t->pid);
	for (uint32_t i = 0; i < e->file_count; i++)
		if (e->files[i].device == st->st_dev && e->files[i].inode == st->st_ino)
			return 0;
	fd = fcntl(t->file->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return diag__set(d, DIAG_INTERNAL, errno, "too many files are open");
	err = add_file(e, fd, t, d);
	if (!err && s->attached)
		err = attach_file(e, &e->files[e->file_count - 1], d);
	return err;
}

static int event__add(struct source *s, const struct source_target *t, struct diag *d)
{
	int err = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		struct diag of_event = { 0 };
		int one = is_of_ruby(&s->events[i]) ? add_ruby(s, &s->events[i], t, &of_event) : 0;

		/* The others are sampled all the same. */
		if (one && !err) {
			err = one;
			*d = of_event;
		}
	}
	return err;
}

static void event__follow(struct source *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->events[i].spec->kind == EVENT_PERF)
			cpu_timers__follow(&s->events[i].counters);
}

/* "every 100th page-faults, libc.so.6:malloc" */
static void event__facts(const struct source *s, struct source_facts *facts)
{
	struct text t = { 0 };

	memset(facts, 0, sizeof(*facts));
	for (uint32_t i = 0; i < s->count; i++) {
		const struct event *e = &s->events[i];

		text__adds(&t, i ? ", " : "events ");
		text__adds(&t, e->spec->label);
		if (e->period > 1)
			text__addf(&t, " (1 of %" PRIu64 ")", e->period);
		if (e->counters.unsampled > facts->unsampled_cpus)
			facts->unsampled_cpus = e->counters.unsampled;
	}
	snprintf(facts->text, sizeof(facts->text), "%s", text__string(&t));
	text__free(&t);
}

const struct source_ops source_event = {
	.id = SOURCE_EVENT,
	.create = event__create,
	.configure = event__configure,
	.open = event__open,
	.start = event__start,
	.lingers = event__lingers,
	.stop = event__stop,
	.rest = event__detach,
	.detach = event__detach,
	.add = event__add,
	.follow = event__follow,
	.facts = event__facts,
	.destroy = event__destroy,
};
