/* SPDX-License-Identifier: BSD-2-Clause */
/* The set of processes, and the searches for their rubies. */
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/deadline.h"
#include "engine/process_set.h"

static struct process_set set;
static struct processes rows;

static void set_up(void)
{
	process_set__init(&set, &rows);
}

static void tear_down(void)
{
	process_set__free(&set);
	processes__free(&rows);
}

TEST(process_set_forgets_what_has_ended)
{
	struct process *kept;

	set_up();
	kept = process_set__add(&set, 7, 100);
	for (uint32_t i = 0; i < 100000; i++) {
		struct process *p = process_set__add(&set, 1000 + i, 200);

		if (!p || process_set__find(&set, 1000 + i) != p)
			CHECK(p && process_set__find(&set, 1000 + i) == p);
		process_set__remove(&set, p);
		if (process_set__find(&set, 1000 + i))
			CHECK(!process_set__find(&set, 1000 + i));
	}
	CHECK(process_set__find(&set, 7) == kept);
	CHECK_INT(set.live, 1);
	/* Neither list nor map grows with those that were. */
	CHECK(set.count < 2048);
	CHECK(set.by_number.count < 2048);
	tear_down();
}

/* A child can end before it is looked at: it began in the group of its parent. */
TEST(process_set_child_has_the_cgroup_of_its_parent)
{
	struct process *parent, *child, *other;

	set_up();
	parent = process_set__add(&set, 1, 55);
	child = process_set__add(&set, 2, 56);
	other = process_set__add(&set, 3, 57);
	CHECK(parent && child && other);
	child->parent = 1;
	CHECK(process__row(&set, parent) && !rows.rows[parent->row].cgroup);
	rows.rows[parent->row].cgroup = strdup("/app");
	CHECK(process__row(&set, child) && process__row(&set, other));
	CHECK_STRING(rows.rows[child->row].cgroup, "/app");
	CHECK(rows.rows[child->row].cgroup != rows.rows[parent->row].cgroup && !rows.rows[other->row].cgroup);
	tear_down();
}

TEST(process_set_finds_by_pid_what_lives)
{
	struct process *old, *young;

	set_up();
	old = process_set__add(&set, 1, 55);
	young = process_set__add(&set, 2, 56);
	CHECK(process_set__by_pid(&set, 55) == old);
	old->state = PROCESS_ENDED;
	CHECK(!process_set__by_pid(&set, 55));
	young->pid = 55;	/* the pid is another one's now */
	CHECK(process_set__by_pid(&set, 55) == young);
	tear_down();
}

TEST(process_set_accounts_cpu_time_to_the_state)
{
	static struct vm vm;
	struct process *p;

	set_up();
	p = process_set__add(&set, 1, 55);
	p->wanted = true;
	process__account_cpu(&set, p, 100);	/* before it is attached */
	p->vm = &vm;
	process__account_cpu(&set, p, 350);
	process__account_cpu(&set, p, 300);	/* a clock that was read late */
	p->vm = NULL;
	process__account_cpu(&set, p, 390);	/* it runs something else */
	p->state = PROCESS_ENDED;
	p->ended_sampled = true;
	process__account_cpu(&set, p, 400);
	CHECK_INT(rows.rows[p->row].cpu_time, 250 + 10);
	CHECK_INT(rows.rows[p->row].cpu_time_unfollowed, 100 + 40);
	/* One of all processes of the machine has a row only as a ruby. */
	p = process_set__add(&set, 2, 56);
	process__account_cpu(&set, p, 1000);
	CHECK_INT(p->row, PROCESS_NONE);
	p->vm = &vm;
	process__account_cpu(&set, p, 1010);
	CHECK_INT(rows.rows[p->row].cpu_time, 10);
	CHECK_INT(rows.rows[p->row].cpu_time_unfollowed, 1000);
	process__account_cpu(&set, p, 1030);
	CHECK_INT(rows.rows[p->row].cpu_time, 30);
	CHECK_INT(rows.rows[p->row].cpu_time_unfollowed, 1000);
	/* One that is refused has none. */
	p = process_set__add(&set, 3, 57);
	p->refused = true;
	process__account_cpu(&set, p, 1000);
	CHECK_INT(p->cpu_before, 0);
	tear_down();
}

TEST(process_set_has_a_row_for_all_that_are_too_many)
{
	struct process *p = NULL;

	set_up();
	for (uint32_t i = 0; i < PROCESS_ROWS_MAX + 10; i++) {
		p = process_set__add(&set, 1 + i, (pid_t)(1 + i));
		p->wanted = true;
		process__account_cpu(&set, p, 5);
	}
	CHECK_INT(rows.count, PROCESS_ROWS_MAX + 1);
	CHECK_INT(p->row, PROCESS_ROWS_MAX);
	CHECK_STRING(rows.rows[p->row].command, "[one of too many processes]");
	CHECK_INT(rows.rows[p->row].pid, 0);
	CHECK_INT(rows.rows[p->row].cpu_time_unfollowed, 50);
	CHECK_INT(rows.rows[PROCESS_ROWS_MAX - 1].cpu_time_unfollowed, 5);
	tear_down();
}

/* -- searches ------------------------------------------------------------------- */

static pid_t start_sleeper(void)
{
	pid_t pid = fork();

	if (!pid) {
		execlp("sleep", "sleep", "60", (char *)NULL);
		_exit(1);
	}
	return pid;
}

TEST(search_answers_for_each_process_that_was_submitted)
{
	struct symbol_table table = { 0 };
	struct searcher *s;
	uint32_t seen = 0, answers = 0;
	uint64_t until = deadline__now() + 20000000000ull;
	pid_t pid = start_sleeper();

	CHECK_INT(searcher__create(&s, NULL), 0);
	for (uint32_t i = 0; i < 30; i++)
		/* Each third one does not exist. */
		CHECK_INT(search__submit(s, search__new(i, i % 3 ? pid : 1 << 23, &table)), 0);
	while (answers < 30 && deadline__now() < until) {
		struct pollfd fd = { .fd = searcher__fd(s), .events = POLLIN };
		struct search *search;

		poll(&fd, 1, 1000);
		while ((search = search__next(s))) {
			bool exists = search->process % 3;

			answers++;
			seen |= 1u << search->process;
			CHECK(search->err != 0);
			CHECK(!search->vm);
			/* The program may still be the copy of ours that has not executed sleep. */
			if (exists ? search->diag.code != DIAG_NOT_RUBY && search->diag.code != DIAG_NOT_READY :
				     search->diag.code != DIAG_NO_PROCESS)
				CHECK_STRING(search->diag.text, exists ? "no ruby" : "no process");
			search__free(search);
		}
	}
	CHECK_INT(answers, 30);
	CHECK_INT(seen, (1u << 30) - 1);
	searcher__destroy(s);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST(search_that_nobody_waits_for_is_freed)
{
	struct symbol_table table = { 0 };
	struct searcher *s;

	for (int i = 0; i < 20; i++) {
		CHECK_INT(searcher__create(&s, NULL), 0);
		for (uint32_t j = 0; j < 20; j++)
			CHECK_INT(search__submit(s, search__new(j, getppid(), &table)), 0);
		searcher__destroy(s);
	}
	searcher__destroy(NULL);
}

/* An executor that keeps work for later. */
struct later {
	void (*work[32])(void *argument);
	void *arguments[32];
	uint32_t count;
	int err;
	bool first_at_once;	/* the first work is done before the second one is refused */
};

static int keep(void *context, void (*work)(void *argument), void *argument)
{
	struct later *l = context;

	if (l->first_at_once && l->count) {
		l->work[--l->count](l->arguments[0]);
		return -EAGAIN;
	}
	if (l->err)
		return l->err;
	l->work[l->count] = work;
	l->arguments[l->count++] = argument;
	return 0;
}

TEST(search_by_an_executor)
{
	struct symbol_table table = { 0 };
	struct later later = { 0 };
	struct executor executor = { .submit = keep, .context = &later };
	struct search *search;
	struct searcher *s;

	CHECK_INT(searcher__create(&s, &executor), 0);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_INT(search__submit(s, search__new(i, 1 << 23, &table)), 0);
	CHECK_INT(later.count, 3);
	CHECK(!search__next(s));
	/* In any order: the searches keep theirs. */
	for (uint32_t i = 3; i--;)
		later.work[i](later.arguments[i]);
	for (uint32_t i = 0; i < 3; i++) {
		search = search__next(s);
		CHECK(search && search->process == i && search->diag.code == DIAG_NO_PROCESS);
		search__free(search);
	}
	/* Refused: it stays the caller's. */
	later.err = -EAGAIN;
	search = search__new(7, 1 << 23, &table);
	CHECK_INT(search__submit(s, search), -EAGAIN);
	CHECK(!search__next(s));
	search__free(search);
	/* Refused, but the work of another one has done it by then: that work is for the other one. */
	later = (struct later){ 0 };
	CHECK_INT(search__submit(s, search__new(8, 1 << 23, &table)), 0);
	CHECK_INT(later.count, 1);
	later.first_at_once = true;
	search = search__new(9, 1 << 23, &table);
	CHECK_INT(search__submit(s, search), -EAGAIN);
	search__free(search);
	search = search__next(s);
	CHECK(search && search->process == 8);
	search__free(search);
	searcher__destroy(s);
}

TEST(search_work_that_comes_late)
{
	struct symbol_table table = { 0 };
	struct later later = { 0 };
	struct executor executor = { .submit = keep, .context = &later };
	struct searcher *s;

	CHECK_INT(searcher__create(&s, &executor), 0);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_INT(search__submit(s, search__new(i, getppid(), &table)), 0);
	searcher__destroy(s);
	/* The last one frees it all: a sanitizer sees if not. */
	for (uint32_t i = 0; i < 3; i++)
		later.work[i](later.arguments[i]);
}
