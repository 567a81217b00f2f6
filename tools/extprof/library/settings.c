/* SPDX-License-Identifier: BSD-2-Clause */
#include "library/settings.h"
#include "library/triggers.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "library/error.h"
#include "options/modes.h"
#include "options/values.h"
#include "output/output.h"
#include "source/source.h"

/* Bytes of a name. */
#define DEPLOYMENT_MAX 128u

static int out_of_memory(struct extprof_error *error)
{
	return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory");
}

/* The groups that the formats want, from a list with commas. */
static int add_formats(const char *list, uint32_t *labels, struct extprof_error *error)
{
	while (*list) {
		size_t length = strcspn(list, ",");
		char *name = strndup(list, length);
		const struct output_format *format;

		if (!name)
			return out_of_memory(error);
		format = output__by_name(name);
		if (!format)
			error__not_one_of(EXTPROF_FORMATS, "format", name, error);
		free(name);
		if (!format)
			return -EINVAL;
		*labels |= format->labels;
		list += length + (list[length] == ',');
	}
	return 0;
}

static int set_groups(struct settings *s, const struct extprof_recording_options *o, struct extprof_error *error)
{
	s->group_by_default = !o->groups;
	if (o->groups && groups__parse(o->groups, &s->groups))
		return error__not_one_of(EXTPROF_GROUPS, "list of different keys", o->groups, error);
	if (groups__has(&s->groups, GROUP_RECORDING) || groups__has(&s->groups, GROUP_HOST))
		return error__set(error, DIAG_USAGE, EINVAL, "what is recorded is one recording of one machine: extprof report of "
				  "several files can group by it");
	/* A user who names the key wants each thread. */
	s->groups.patterns_allowed = !groups__has(&s->groups, GROUP_THREAD);
	if (o->threads && !groups__has(&s->groups, GROUP_THREAD_PATTERN))
		groups__add(&s->groups, GROUP_THREAD);
	return o->formats ? add_formats(o->formats, &s->labels, error) : 0;
}

static bool has_mode(const struct settings *s, const struct mode *mode)
{
	for (uint32_t i = 0; i < s->mode_count; i++)
		if (s->modes[i] == mode)
			return true;
	return false;
}

static int set_syscalls(struct settings *s, const struct extprof_recording_options *o, struct extprof_error *error)
{
	struct text why = { 0 };
	int err = o->syscalls ? syscall_set__parse(&s->syscalls, o->syscalls, &why) : 0;

	if (err)
		error__set(error, DIAG_USAGE, -err, "%s", text__string(&why));
	text__free(&why);
	s->syscall_latency = o->syscall_latency;
	for (uint32_t i = 0; i < s->mode_count && o->syscall_latency; i++)
		if (s->modes[i] == &mode_syscall)
			s->modes[i] = &mode_syscall_latency;
	return err;
}

static int copy_text(char **copy, const char *text)
{
	*copy = text ? strdup(text) : NULL;
	return text && !*copy ? -ENOMEM : 0;
}

static int set_deployment(struct recording_settings *r, const struct extprof_recording_options *o, struct extprof_error *error)
{
	if (o->deployment && (!*o->deployment || strlen(o->deployment) > DEPLOYMENT_MAX))
		return error__set(error, DIAG_USAGE, EINVAL, "the name of a deployment has 1 to %u bytes", DEPLOYMENT_MAX);
	if (copy_text(&r->deployment, o->deployment))
		return out_of_memory(error);
	r->settings.deployment = r->deployment;
	return 0;
}

static int set_events(struct recording_settings *r, const struct extprof_recording_options *o,
		      struct extprof_error *error)
{
	struct settings *s = &r->settings;
	struct text why = { 0 };
	int err = 0;

	if (o->event_count > EVENTS_MAX)
		return error__set(error, DIAG_USAGE, EINVAL, "at most %u events can be recorded together", EVENTS_MAX);
	if (!o->event_count && has_mode(s, &mode_event))
		return error__set(error, DIAG_USAGE, EINVAL, "mode event: which event? page-faults, FILE:SYMBOL, "
				  "CATEGORY:NAME, ...");
	r->events = calloc(o->event_count + 1, sizeof(*r->events));
	if (!r->events)
		return out_of_memory(error);
	for (size_t i = 0; i < o->event_count && !err; i++)
		err = event_spec__parse(&r->events[i], o->events[i], &why);
	if (err)
		error__set(error, DIAG_USAGE, -err, "%s", text__string(&why));
	text__free(&why);
	s->events = r->events;
	s->event_count = (uint32_t)o->event_count;
	s->event_period = o->event_period;
	return err;
}

static int set_states(struct settings *s, const struct extprof_recording_options *o, struct extprof_error *error)
{
	if (o->states && states__parse(o->states, &s->states))
		return error__not_one_of(EXTPROF_STATES, "list of states", o->states, error);
	s->sources = o->sources;
	s->details = (o->files ? WAIT_DETAIL_FILE : 0) | (o->holders ? WAIT_DETAIL_HOLDER : 0) |
		   (o->wakers ? WAIT_DETAIL_WAKER : 0);
	if (!o->waits)
		return 0;
	if (!strcmp(o->waits, "each"))
		s->waits = WAITS_EACH;
	else if (!strcmp(o->waits, "rate"))
		s->waits = WAITS_RATE;
	else
		return error__not_one_of(EXTPROF_WAITS, "choice of waits", o->waits, error);
	return 0;
}

/* Whose code it is, and which of it is shown. */
static int set_code(struct settings *s, const struct extprof_recording_options *o, struct extprof_error *error)
{
	int err = o->app ? apps__name(&s->apps, o->app, error) : 0;

	s->idle = o->idle;
	s->idle_apart = o->idle_apart;
	return err ? err : transform__set(&s->transform, o->focus, o->hide, o->collapse, error);
}

/* The kernel adds up waits and calls, or sends them. */
static int check_figures(const struct settings *s, struct extprof_error *error)
{
	for (uint32_t i = 0; i < s->mode_count && s->figures; i++) {
		if (s->modes[i]->has_states)
			return error__set(error, DIAG_USAGE, EINVAL, "figures are not measured with mode %s: they have the sums of all "
					  "waits, and the mode has samples of them", s->modes[i]->name);
		if (s->syscall_figures && s->modes[i]->sources & 1u << SOURCE_SYSCALL)
			return error__set(error, DIAG_USAGE, EINVAL, "system calls are added up for the figures, or are samples of mode "
					  "%s: leave one of the two out", s->modes[i]->name);
	}
	return 0;
}

static bool has_states(const struct settings *s)
{
	for (uint32_t i = 0; i < s->mode_count; i++)
		if (s->modes[i]->has_states)
			return true;
	return false;
}

/* Options that are for modes which are not measured. */
static int check_modes(const struct settings *s, const struct extprof_recording_options *o,
		       struct extprof_error *error)
{
	bool syscall = has_mode(s, &mode_syscall), event = has_mode(s, &mode_event), waits = has_states(s);
	const struct {
		const char *option, *modes;
		bool wrong;
	} checks[] = {
		{ "syscall", "mode syscall", o->syscalls && !syscall },
		{ "latency", "mode syscall", o->syscall_latency && !syscall },
		{ "event", "mode event", o->event_count && !event },
		{ "period", "the modes event and syscall", o->event_period && !event && !syscall },
		{ "state", "the modes wall, offcpu and gvl", o->states && !waits },
		{ "waits", "the modes wall, offcpu and gvl", o->waits && !waits },
		{ "fd", "the modes wall, offcpu and gvl", o->files && !waits },
		{ "holder", "the modes wall, offcpu and gvl", o->holders && !waits },
		{ "waker", "the modes wall, offcpu and gvl", o->wakers && !waits },
		{ "alloc-interval", "the modes alloc and heap", o->alloc_interval && !has_mode(s, &mode_alloc) &&
		  !has_mode(s, &mode_heap) },
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (checks[i].wrong)
			return error__set(error, DIAG_USAGE, EINVAL, "--%s is for %s, not for what is measured",
					  checks[i].option, checks[i].modes);
	if (o->event_period && !event && o->syscall_latency)
		return error__set(error, DIAG_USAGE, EINVAL, "--period and --latency: of each call the duration is measured");
	return 0;
}

/* Where native stacks can be followed. */
static int set_native(struct settings *s, const struct extprof_recording_options *o, struct extprof_error *error)
{
	s->native = o->native;
	s->all_native = o->all_native;
	s->native_vm = o->native_vm;
	s->no_demangle = o->no_demangle;
	s->native_lines = o->native_lines;
	s->inlined = o->inlined;
	if ((o->native_lines || o->inlined) && !o->native)
		return error__set(error, DIAG_USAGE, EINVAL, "--%s needs --native", o->native_lines ? "native-lines" : "inline");
	if (o->all_native && !o->native)
		return error__set(error, DIAG_USAGE, EINVAL, "--all-native needs --native");
	if (o->all_native && !has_mode(s, &mode_cpu) && !has_mode(s, &mode_wall) && !has_mode(s, &mode_offcpu) &&
	    !has_mode(s, &mode_syscall) && !has_mode(s, &mode_event))
		return error__set(error, DIAG_USAGE, EINVAL, "--all-native is for the modes cpu, wall, offcpu, syscall and event, not "
				  "for what is measured");
	if (o->native_vm && !o->native)
		return error__set(error, DIAG_USAGE, EINVAL, "--native-vm needs --native");
	if (o->no_demangle && !o->native)
		return error__set(error, DIAG_USAGE, EINVAL, "--no-demangle needs --native");
	if (o->native && s->timer == TIMER_TICK)
		return error__set(error, DIAG_USAGE, EINVAL, "--native needs the timer clock");
	return 0;
}

/* Where the kernel's stack is not that of the thread. */
static int set_kernel(struct settings *s, const struct extprof_recording_options *o, struct extprof_error *error)
{
	s->kernel = o->kernel;
	if (o->kernel && s->timer == TIMER_TICK)
		return error__set(error, DIAG_USAGE, EINVAL, "--kernel needs the timer clock: the scheduler's tick does not "
				  "tell which function of the kernel it interrupted");
	if (o->kernel && o->wakers)
		return error__set(error, DIAG_USAGE, EINVAL, "--kernel is not for --waker: with that a stack is read when the "
				  "system call ends, and the kernel has left the functions in which the thread waited");
	return 0;
}

static int set_reader(struct settings *s, const struct extprof_recording_options *o, struct extprof_error *error)
{
	for (int i = 0; o->reader && i < READER_KINDS; i++) {
		s->reader = (enum reader_kind)i;
		if (!strcmp(o->reader, reader_names[i]))
			return 0;
	}
	return o->reader ? error__not_one_of(EXTPROF_READERS, "reader", o->reader, error) : 0;
}

/* The files of a recording, if there are several. */
static int set_rotation(struct settings *s, const struct extprof_recording_options *o, struct extprof_error *error)
{
	s->keep = o->keep;
	if (o->keep && !o->rotate && !o->triggers)
		return error__set(error, DIAG_USAGE, EINVAL, "--keep is for --rotate and --trigger: without them there is one file");
	if (o->keep > SETTINGS_KEEP_MAX)
		return error__set(error, DIAG_USAGE, EINVAL, "--keep: at most %u files", SETTINGS_KEEP_MAX);
	if (o->rotate && value__rotation(o->rotate, &s->rotate_time, &s->rotate_size))
		return error__set(error, DIAG_USAGE, EINVAL, "--rotate: %s is no time of at least 100ms (s, ms, m, h) and no size "
				  "of 256KB to 1TB (KB, MB, GB, TB)", o->rotate);
	return 0;
}

/* One of an older version is smaller, and one of a newer version may be larger. */
static int set_executor(struct settings *s, const struct extprof_executor *given, struct extprof_error *error)
{
	struct extprof_executor all;
	int err = given ? options__copy(&all, sizeof(all), given, error) : 0;

	if (!given || err)
		return err;
	if (!all.submit)
		return error__set(error, DIAG_USAGE, EINVAL, "the executor has no submit");
	s->executor = (struct executor){ .submit = all.submit, .context = all.context };
	return 0;
}

NO_PADDING(extprof_recording_options, reserved3);
NO_PADDING(extprof_executor, context);
NO_PADDING(extprof_write_options, reserved);
NO_PADDING(extprof_dump_options, reserved);
NO_PADDING(extprof_recorded_options, host);
NO_PADDING(extprof_diff_options, collapse);
NO_PADDING(extprof_annotate_options, hide);

int recording_options__check_reserved(const struct extprof_recording_options *o, struct extprof_error *error)
{
	int err = options__check_reserved(o->reserved, sizeof(o->reserved), error);

	return err ? err : options__check_reserved(o->reserved3, sizeof(o->reserved3), error);
}

int recording_settings__set(struct recording_settings *r, const struct extprof_recording_options *o,
			    struct extprof_error *error)
{
	static int (*const parts[])(struct settings *s, const struct extprof_recording_options *o, struct extprof_error *e) = {
		set_native, set_kernel, set_reader, set_groups, set_states, set_code, set_syscalls, set_rotation, triggers__set,
	};
	char implied[OPTION_MODES_SIZE];
	const char *mode_list = o->modes ? o->modes : option__implied_modes(o, implied);
	struct settings *s = &r->settings;
	int err;

	if (!mode_list)
		mode_list = mode_cpu.name;
	s->size = sizeof(*s);
	s->command = o->command;
	s->hold_command = o->command && o->hold_command;
	s->rate = o->rate ? o->rate : EXTPROF_RATE_DEFAULT;
	s->duration = o->duration;
	if (o->delay && o->start_paused)
		return error__set(error, DIAG_USAGE, EINVAL, "--start-paused waits for a signal, and --delay for a time: leave one "
				  "of them out");
	s->delay = o->delay;
	s->start_paused = o->start_paused;
	s->alloc_interval = o->alloc_interval ? o->alloc_interval : RB_DEBUG_EXT_ALLOC_INTERVAL;
	s->lines = o->lines;
	if (o->verbose && o->log)
		s->log = (struct log_to){ .line = o->log, .context = o->log_context };
	s->interrupt_fd = o->interrupt_fd ? *o->interrupt_fd : -1;
	if ((err = set_executor(s, o->executor, error)))
		return err;
	if ((err = recording_options__check_reserved(o, error)))
		return err;
	if (s->rate > SOURCE_RATE_MAX)
		return error__set(error, DIAG_USAGE, EINVAL, "%u is no rate: 1 to %u per second", s->rate,
				  SOURCE_RATE_MAX);
	if (modes__parse(mode_list, s->modes, &s->mode_count))
		return error__not_one_of(EXTPROF_MODES, "list of different modes", mode_list, error);
	s->figures = o->figures;
	s->syscall_figures = o->figures && o->syscall_figures;
	if (o->timer && timer__by_name(o->timer, &s->timer))
		return error__not_one_of(EXTPROF_TIMERS, "timer", o->timer, error);
	err = check_modes(s, o, error);
	if (!err)
		err = check_figures(s, error);
	for (size_t i = 0; !err && i < sizeof(parts) / sizeof(parts[0]); i++)
		err = parts[i](s, o, error);
	if (err)
		return err;
	err = set_deployment(r, o, error);
	return err ? err : set_events(r, o, error);
}

int recording_settings__select(struct recording_settings *r, const struct extprof_recording_options *o,
			       struct extprof_error *error)
{
	if (!o->all && !o->pid_count)
		return error__set(error, DIAG_USAGE, EINVAL, "no processes are chosen: set pids or all");
	if (o->pid_count > UINT32_MAX / sizeof(*o->pids) || (o->pid_count && !o->pids))
		return error__set(error, DIAG_USAGE, EINVAL, "pid_count does not fit pids");
	r->pids = calloc(o->pid_count + 1, sizeof(*r->pids));
	if (!r->pids || copy_text(&r->name, o->name) || copy_text(&r->cgroup, o->cgroup))
		return out_of_memory(error);
	if (o->pid_count)
		memcpy(r->pids, o->pids, o->pid_count * sizeof(*r->pids));
	r->settings.selection = (struct selection){
		.pids = r->pids, .pid_count = (uint32_t)o->pid_count, .all = o->all,
		.subprocesses = o->subprocesses, .by_user = o->by_user, .user = o->user,
		.name = r->name, .cgroup = r->cgroup,
	};
	return 0;
}

void recording_settings__free(struct recording_settings *r)
{
	free(r->pids);
	free(r->name);
	free(r->cgroup);
	free(r->deployment);
	free(r->events);
	owner_dirs__free(&r->settings.apps);
	transform__free(&r->settings.transform);
	memset(r, 0, sizeof(*r));
}

int apps__name(struct owner_dirs *dirs, const char *list, struct extprof_error *error)
{
	switch (owner_dirs__name(dirs, list)) {
	case 0: return 0;
	case -ENOMEM: return out_of_memory(error);
	case -E2BIG: return error__set(error, DIAG_USAGE, E2BIG, "--app: more than %u directories", OWNER_DIRS_MAX);
	default: return error__set(error, DIAG_USAGE, EINVAL, "--app %s: there is no such directory; one of another "
				   "machine has its whole path", list);
	}
}

static int add_rules(struct transform *t, enum transform_action action, const char *option, const char *list,
		     struct extprof_error *error)
{
	const char *wrong = list;

	switch (list ? transform__add(t, action, list, &wrong) : 0) {
	case 0: return 0;
	case -ENOMEM: return out_of_memory(error);
	case -E2BIG: return error__set(error, DIAG_USAGE, E2BIG, "--focus and --hide: more than %u in all", TRANSFORM_RULES_MAX);
	default: return error__set(error, DIAG_USAGE, EINVAL, "--%s: \"%.*s\" is not %sgem:NAME, a METHOD or a FILE", option,
				   (int)strcspn(wrong, ","), wrong, action == TRANSFORM_FOCUS ? "app, " : "");
	}
}

int transform__set(struct transform *t, const char *focus, const char *hide, const char *collapse, struct extprof_error *error)
{
	int err = add_rules(t, TRANSFORM_FOCUS, "focus", focus, error);

	if (!err)
		err = add_rules(t, TRANSFORM_HIDE, "hide", hide, error);
	if (!err && collapse && transform__collapse(t, collapse))
		err = error__set(error, DIAG_USAGE, EINVAL, "--collapse: %s is not gems or recursion, or both with a comma", collapse);
	return err;
}

int shape__set(struct shape *s, const char *app, const char *focus, const char *hide, const char *collapse,
	       struct extprof_error *error)
{
	int err = app ? apps__name(&s->apps, app, error) : 0;

	return err ? err : transform__set(&s->transform, focus, hide, collapse, error);
}

void shape__free(struct shape *s)
{
	owner_dirs__free(&s->apps);
	transform__free(&s->transform);
}

int unit__find(const char *name, const struct unit_choice **choice, struct extprof_error *error)
{
	*choice = name ? unit__by_name(name) : NULL;
	return name && !*choice ? error__not_one_of(EXTPROF_UNITS, "unit", name, error) : 0;
}

int extprof_recording_check(const struct extprof_recording_options *options, struct extprof_error *error)
{
	struct extprof_recording_options o;
	struct recording_settings r = { 0 };
	int err = options__copy(&o, sizeof(o), options, error);

	if (!err)
		err = recording_settings__set(&r, &o, error);
	recording_settings__free(&r);
	return err;
}

int extprof_recording_check_unit(const struct extprof_recording_options *options, const char *unit,
				 struct extprof_error *error)
{
	struct extprof_recording_options o;
	struct recording_settings r = { 0 };
	const struct unit_choice *choice;
	int err = options__copy(&o, sizeof(o), options, error);

	if (!err)
		err = recording_settings__set(&r, &o, error);
	if (!err)
		err = unit__find(unit, &choice, error);
	for (uint32_t i = 0; !err && choice && i < r.settings.mode_count; i++)
		if (!unit__fits(choice, r.settings.modes[i]))
			err = error__set(error, DIAG_USAGE, EINVAL, "mode %s counts %s", r.settings.modes[i]->name,
					 unit__all_of(r.settings.modes[i]));
	recording_settings__free(&r);
	return err;
}
