/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/rubies.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/deadline.h"
#include "base/text.h"
#include "engine/relations.h"
#include "engine/search.h"
#include "parser/helper.h"

static bool is_chosen(const struct selection *sel, const struct cgroup *cgroup, const struct relations *all,
		      const struct relation *r)
{
	bool wanted = sel->all;

	for (uint32_t i = 0; i < sel->pid_count; i++) {
		/* Conditions do not hold for who was named. */
		if (r->pid == sel->pids[i])
			return true;
		wanted = wanted || (sel->subprocesses && relation__is_below(all, r, sel->pids[i]));
	}
	return wanted && selection__accepts(sel, cgroup, r->pid);
}

static int submit_all(struct searcher *s, const struct selection *sel, const struct cgroup *cgroup,
		      struct symbol_table *table, uint32_t *submitted)
{
	struct relations all = { 0 };
	int err = relations__read(&all, sel->subprocesses);

	for (uint32_t i = 0; !err && i < all.count; i++) {
		struct search *search;

		if (!is_chosen(sel, cgroup, &all, &all.list[i]))
			continue;
		search = search__new(0, all.list[i].pid, table);
		err = search ? search__submit(s, search) : -ENOMEM;
		if (err)
			search__free(search);
		else
			(*submitted)++;
	}
	relations__free(&all);
	return err;
}

static void take(struct rubies *r, const struct search *search,
		 void (*each)(void *context, const struct ruby_found *found), void *context)
{
	struct ruby_found found = { .pid = search->pid, .command = search->target.command, .ruby_version = "",
				    .err = search->err, .diag = &search->diag };
	char version[64];

	r->processes++;
	if (search->err && search->diag.code == DIAG_NO_PROCESS) {
		r->processes--;	/* it has ended */
		return;
	}
	if (search->err && search->diag.code == DIAG_PERMISSION) {
		r->unreadable++;
		return;
	}
	if (search->err && search->diag.code == DIAG_NOT_RUBY)
		return;
	if (search->vm) {
		text__clean(version, sizeof(version), search->vm->layout.section.ruby_version);
		found.ruby_version = version;
	}
	each(context, &found);
}

int rubies__look(struct rubies *r, const struct selection *sel, const struct cgroup *cgroup, uint64_t timeout,
		 void (*each)(void *context, const struct ruby_found *found), void *context)
{
	uint64_t until = deadline__now() + timeout;
	struct symbol_table *table = calloc(1, sizeof(*table));
	struct searcher *s;
	uint32_t submitted = 0, done = 0;
	int err = table ? searcher__create(&s, NULL) : -ENOMEM;

	memset(r, 0, sizeof(*r));
	if (err) {
		free(table);
		return err;
	}
	helpers__hold();
	err = submit_all(s, sel, cgroup, table, &submitted);
	while (done < submitted) {
		uint64_t now = deadline__now();
		struct pollfd p = { .fd = searcher__fd(s), .events = POLLIN };
		struct search *search = search__next(s);

		if (search) {
			take(r, search, each, context);
			search__free(search);
			done++;
		} else if (now >= until || (poll(&p, 1, (int)((until - now) / 1000000u) + 1) < 0 && errno != EINTR)) {
			break;
		}
	}
	r->late = submitted - done;
	r->processes += r->late;
	searcher__destroy(s);
	helpers__release();
	/* A search that is left to itself uses the table when it ends. */
	if (!r->late) {
		symbol_table__free(table);
		free(table);
	}
	return err;
}
