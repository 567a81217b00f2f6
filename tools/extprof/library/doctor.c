/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells what extprof can do on this machine, and with which of its rubies. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/rubies.h"
#include "extprof.h"
#include "library/error.h"
#include "source/machine.h"

/* A process decides how long a search in its memory lasts. */
#define RUBIES_TIMEOUT 5000000000ull

_Static_assert((int)EXTPROF_CHECK_GOOD == (int)MACHINE_GOOD, "EXTPROF_CHECK_GOOD");
_Static_assert((int)EXTPROF_CHECK_LIMITED == (int)MACHINE_LIMITED, "EXTPROF_CHECK_LIMITED");
_Static_assert((int)EXTPROF_CHECK_BAD == (int)MACHINE_BAD, "EXTPROF_CHECK_BAD");

struct telling {
	extprof_check_fn each;
	void *context;
	uint32_t rubies;	/* that can be profiled */
};

static void tell(const struct telling *t, struct extprof_check *check)
{
	check->size = sizeof(*check);
	t->each(t->context, check);
}

static void on_machine(void *context, const struct machine_check *c)
{
	struct extprof_check check = {
		.name = c->name, .verdict = (enum extprof_check_verdict)c->verdict, .code = (int)c->code,
		.text = c->text, .advice = c->advice,
	};

	tell(context, &check);
}

static void on_ruby(void *context, const struct ruby_found *found)
{
	struct telling *t = context;
	char name[32], text[sizeof(found->diag->text) + 256];
	struct extprof_check check = { .name = name, .pid = found->pid, .text = text, .advice = "" };

	snprintf(name, sizeof(name), "ruby %d", found->pid);
	if (!found->err) {
		snprintf(text, sizeof(text), "%s: ruby %s with the interface", found->command, found->ruby_version);
		t->rubies++;
	} else {
		snprintf(text, sizeof(text), "%s: %s", found->command, found->diag->text);
		check.verdict = EXTPROF_CHECK_BAD;
		check.code = (int)found->diag->code;
		check.advice = found->diag->hint;
	}
	tell(t, &check);
}

int extprof_doctor(extprof_check_fn each, void *context, struct extprof_error *error)
{
	struct telling t = { .each = each, .context = context };
	struct extprof_check check = { .name = "rubies", .advice = "" };
	const struct selection all = { .all = true };
	const struct cgroup any = { 0 };
	struct rubies r;
	char text[192];
	int n, err;

	if (!each)
		return error__set(error, DIAG_USAGE, EINVAL, "nobody is told: `each' is NULL");
	machine__look(on_machine, &t);
	err = rubies__look(&r, &all, &any, RUBIES_TIMEOUT, on_ruby, &t);
	if (err)
		return error__set(error, DIAG_INTERNAL, -err, "the processes could not be looked at: %s", strerror(-err));
	n = snprintf(text, sizeof(text), "%u of %u processes can be profiled", t.rubies, r.processes);
	if (r.unreadable)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "; %u may not be read", r.unreadable);
	if (r.late)
		snprintf(text + n, sizeof(text) - (size_t)n, "; %u did not answer in time", r.late);
	check.text = text;
	if (!t.rubies) {
		check.verdict = EXTPROF_CHECK_LIMITED;
		check.code = (int)DIAG_NO_INTERFACE;
		/* A process that may not be read can have this ruby. */
		check.advice = r.unreadable ? "run extprof as root, or as the user of your program, which has to run with the ruby of "
					      "extprof: README.md, \"Use it with your application\""
					    : "start your program with the ruby of extprof: README.md, \"Use it with your application\"";
	}
	tell(&t, &check);
	return 0;
}
