/* SPDX-License-Identifier: BSD-2-Clause */
/* The rubies of the machine, by the options of a recording. */
#include <errno.h>
#include <string.h>

#include "engine/rubies.h"
#include "extprof.h"
#include "library/error.h"
#include "library/settings.h"

/* A process decides how long a search in its memory lasts. */
#define FIND_TIMEOUT 5000000000ull

struct finding {
	extprof_ruby_fn each;
	void *context;
	uint32_t found;
};

static void on_ruby(void *context, const struct ruby_found *found)
{
	struct finding *f = context;
	struct extprof_ruby ruby = {
		.size = sizeof(ruby), .pid = found->pid, .command = found->command, .ruby_version = found->ruby_version,
		.text = "", .advice = "",
	};

	if (found->err) {
		ruby.code = (int)found->diag->code;
		ruby.text = found->diag->text;
		ruby.advice = found->diag->hint;
	}
	f->found++;
	f->each(f->context, &ruby);
}

int extprof_find(const struct extprof_recording_options *options, extprof_ruby_fn each, void *context,
		 struct extprof_error *error)
{
	struct finding f = { .each = each, .context = context };
	struct recording_settings s = { 0 };
	struct extprof_recording_options o;
	struct cgroup cgroup = { 0 };
	struct rubies r = { 0 };
	struct diag d = { 0 };
	int err;

	if (!each)
		return error__set(error, DIAG_USAGE, EINVAL, "nobody is told: `each' is NULL");
	err = options__copy(&o, sizeof(o), options, error);
	if (err || (err = recording_options__check_reserved(&o, error)) || (err = recording_settings__select(&s, &o, error)))
		goto cleanup;
	err = o.cgroup ? cgroup__find(&cgroup, "/proc/self/mountinfo", o.cgroup, &d) : 0;
	if (error__from(error, err, &d))
		goto cleanup;
	err = rubies__look(&r, &s.settings.selection, &cgroup, FIND_TIMEOUT, on_ruby, &f);
	if (err)
		error__set(error, DIAG_INTERNAL, -err, "the processes could not be looked at: %s", strerror(-err));
	else if (!f.found)
		err = error__set(error, DIAG_NO_PROCESS, ESRCH, "no ruby is there that was asked for; %u processes were looked at"
				 ", %u may not be read, %u did not answer", r.processes, r.unreadable, r.late);
cleanup:
	cgroup__free(&cgroup);
	recording_settings__free(&s);
	return err;
}
