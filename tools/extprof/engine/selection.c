/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes are recorded: their user, name and cgroup.  A process changes all of these while it runs: a
 * worker drops its privileges, sets its title, is moved into another cgroup.  So they are looked at again and again.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/state.h"
#include "process/proc.h"

/* How often to look again, at the most. */
#define SELECT_INTERVAL (250 * MS)
#define SELECT_INTERVAL_MOST SECOND	/* of many processes; then by SELECT_SHARE */
/* To look takes at most one part in so many of the time. */
#define SELECT_SHARE 50

/* Does the pattern match the name of the process, of its program, or of the script that it runs? */
static bool has_name(pid_t pid, const char *pattern)
{
	char text[4096];
	size_t n;
	FILE *f;

	proc__comm(pid, 0, text, sizeof(text));
	if (text[0] && !fnmatch(pattern, text, 0))
		return true;
	f = proc__open(pid, 0, GUARDED_CMDLINE);
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	/* "puma: cluster worker 0: 123" is a title, "/usr/bin/ruby -W0 bin/puma" are arguments. */
	for (const char *s = text; s < text + n; s += strlen(s) + 1) {
		if (s != text && *s == '-')
			continue;
		if (!fnmatch(pattern, basename(s), 0) || !fnmatch(pattern, s, 0))
			return true;
		if (s != text)
			break;	/* the script; what follows are its arguments */
	}
	return false;
}

bool selection__accepts(const struct selection *sel, const struct cgroup *cgroup, pid_t pid)
{
	char path[PROC_PATH_MAX];
	struct stat st;

	proc__path(path, pid, 0, "");
	if (sel->by_user && (stat(path, &st) || st.st_uid != sel->user))
		return false;
	if (sel->name && !has_name(pid, sel->name))
		return false;
	return !cgroup->path || cgroup__has(cgroup, pid);
}

bool engine__accepts(const struct engine *e, pid_t pid)
{
	return selection__accepts(&e->settings.selection, &e->cgroup, pid);
}

static bool has_conditions(const struct engine *e)
{
	return e->settings.selection.by_user || e->settings.selection.name || e->cgroup.path;
}

/*
 * The record of the process so far stays as it is.  The process goes on under another number, as one that is not
 * recorded: the kernel still has to tell of its children, and the process can fit the selection again.
 */
static void leave(struct engine *e, struct process *p)
{
	struct target_config config = { .process = session__new_number(e->session), .started = p->started };
	struct process *next;

	/* It can be told that it has ended meanwhile. */
	engine__figures_leave(e, p);
	next = p->state == PROCESS_SAMPLED ? process_set__add(&e->set, config.process, p->pid) : NULL;
	if (!next)
		return;
	next->key = p->key;
	next->parent = p->parent;
	next->started = p->started;
	next->from = deadline__now();
	next->uid = p->uid;
	memcpy(next->comm, p->comm, sizeof(next->comm));
	next->followed = p->followed;
	next->refused = true;
	engine__read_cpu_time(e, p);
	next->cpu_seen = p->cpu_seen;
	engine__drop(e, p, &config);
	next->target = p->target;
	memset(&p->target, 0, sizeof(p->target));
	p->target.pidfd = -1;
}

void engine__select(struct engine *e, uint64_t now)
{
	uint32_t count = e->set.count;
	uint64_t from = deadline__cpu_time(), took, interval;

	if (now < e->select_at || !has_conditions(e))
		return;
	for (uint32_t i = 0; i < count; i++) {
		struct process *p = e->set.list[i];

		if (!p || p->wanted || p->freed || (!p->refused && (p->state != PROCESS_SAMPLED || p->shares_vm)) ||
		    engine__accepts(e, p->pid) != p->refused)
			continue;
		if (!p->refused) {
			/* One that ends loses its user and its arguments first.  Its end will be told. */
			if (!proc__is_exiting(p->pid, 0) || proc__other_thread(p->pid))
				leave(e, p);
			continue;
		}
		p->refused = false;
		backoff__reset(&p->backoff, now);
	}
	/* Helpers do a part of it. */
	took = deadline__now() - now;
	interval = engine__interval(SELECT_INTERVAL, SELECT_INTERVAL_MOST, from);
	e->select_at = now + (took * SELECT_SHARE > interval ? took * SELECT_SHARE : interval);
}
