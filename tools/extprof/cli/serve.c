/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof serve: recordings as pages for a browser of this machine. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/messages.h"
#include "cli/recorded.h"
#include "cli/signals.h"
#include "serve/server.h"

/* No exit status: a signal ends it before it serves. */
#define INTERRUPTED 256

static int fail(struct extprof_error *e, int code, int err, const char *text)
{
	message__set(e, code, -err, "%s", text);
	return message__fail(e);
}

static int listen_at(struct serve_listener *l, struct serve_address *address, const char *text, struct extprof_error *e)
{
	char why[160];
	int err = serve_address__parse(address, text ? text : SERVE_ADDRESS, why, sizeof(why));

	if (err)
		return fail(e, EXTPROF_USAGE, err, why);
	err = serve_listener__open(l, address);
	if (!err)
		return STATUS_OK;
	message__set(e, EXTPROF_OUTPUT, -err, "cannot listen at %s: %s", text ? text : SERVE_ADDRESS, strerror(-err));
	return message__fail(e);
}

/* One that is not there is told at the begin, not by each page.  A folder can have damaged ones, and others. */
static int check_sources(const struct serve_sources *sources, struct extprof_error *e)
{
	struct serve_files files = { 0 };
	int status = serve_files__find(&files, sources, e) ? message__fail(e) : STATUS_OK;

	for (size_t i = 0; !status && i < files.count; i++) {
		const struct serve_file *file = &files.list[i];
		int of_it;

		if (!file->unreadable)
			continue;
		message__set(e, EXTPROF_RECORDING, EBADMSG, file->of_folder ? "%s is left out: %s" : "%s: %s", file->path, file->unreadable);
		of_it = message__fail(e);
		status = file->of_folder ? STATUS_OK : of_it;
	}
	serve_files__free(&files);
	return status;
}

struct checking {
	const struct serve_sources *sources;
	struct extprof_error *error;
};

static int check_all(void *context)
{
	const struct checking *c = context;

	return check_sources(c->sources, c->error);
}

/* The recordings can be anybody's. */
static int check_apart(const struct serve_sources *sources, const struct signals *signals, struct extprof_error *e)
{
	struct checking c = { sources, e };
	int status = serve_apart(check_all, &c, &signals->old_mask, signals->interrupt_fd);

	if (status == -EINTR)
		return INTERRUPTED;
	if (status == -ENOSYS)
		return fail(e, EXTPROF_INTERNAL, status, "there are no filters of system calls here (seccomp)");
	if (status == -EBADMSG)
		return fail(e, EXTPROF_RECORDING, status, "the process that looks into the recordings has ended: one of them is damaged");
	return status < 0 ? fail(e, EXTPROF_INTERNAL, status, "no process can be started to look into the recordings") : status;
}

static int serve(const struct options *o, const struct signals *signals)
{
	const struct serve_sources sources = { .names = (const char *const *)o->files, .count = o->file_count };
	struct serve_listener listener = { .fd = -1 };
	struct extprof_error e = { .size = sizeof(e) };
	struct serve_address address;
	char token[SERVE_TOKEN + 1], why[320];
	struct server_options server = {
		.sources = &sources, .listener = &listener, .token = token, .mask = &signals->old_mask, .end_fd = signals->interrupt_fd,
	};
	int err, status;

	err = server__check(why, sizeof(why));
	if (err)
		return fail(&e, EXTPROF_INTERNAL, err, why);
	if (serve_token__make(token))
		return fail(&e, EXTPROF_INTERNAL, -EIO, "there are no random numbers for the secret");
	status = check_apart(&sources, signals, &e);
	if (status == INTERRUPTED)
		return STATUS_OK;
	if (!status)
		status = listen_at(&listener, &address, o->values[OPTION_LISTEN].text, &e);
	if (!status) {
		printf("%s/%s/\n", listener.url, token);
		status = message__flush(STATUS_OK);
	}
	if (!status && (err = server__run(&server, why, sizeof(why))))
		status = fail(&e, EXTPROF_INTERNAL, err, why);
	serve_listener__close(&listener);
	return status;
}

static int run(int argc, char **argv, bool implied)
{
	struct extprof_error e = { .size = sizeof(e) };
	struct signals signals;
	struct options o;
	int err, status;

	(void)implied;
	err = options__parse(&o, &command_line_serve, argc, argv, 0);
	if (err) {
		status = err == -ENOMEM ? STATUS_INTERNAL : STATUS_USAGE;
	} else if (signals__open(&signals, &e)) {
		status = message__fail(&e);
	} else {
		/* A write to who is gone is an error of that write. */
		signal(SIGPIPE, SIG_IGN);
		/* The process that has started this may ignore it: then no process would have a status. */
		signal(SIGCHLD, SIG_DFL);
		signals__block(&signals);
		status = serve(&o, &signals);
		signals__close(&signals);
	}
	options__free(&o);
	return status;
}

const struct command command_serve = {
	.name = "serve",
	.summary = "show recordings as pages in a browser",
	.line = &command_line_serve,
	.run = run,
	.power = POWER_NONE,
};
