/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/search.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/deadline.h"
#include "process/mapped_file.h"
#include "process/section_search.h"

/* How long searcher__destroy() waits for searches that run. */
#define END_TIMEOUT 1000000000ull

struct searcher {
	struct executor executor;
	pthread_mutex_t lock;
	pthread_cond_t work, ended;
	struct search *waiting, **waiting_end;
	struct search *done, **done_end;
	uint32_t threads, idle, queued;	/* threads: of our own, or work that the executor has */
	uint32_t running;		/* searches */
	bool closing, left;		/* left: searcher__destroy() is over, the last thread frees it */
	int done_fd;		/* counts what is done */
	int close_fd;		/* readable: searches are to end */
};

struct search *search__new(uint32_t process, pid_t pid, struct symbol_table *table)
{
	struct search *search = calloc(1, sizeof(*search));

	if (!search)
		return NULL;
	search->process = process;
	search->pid = pid;
	search->table = table;
	search->target.pidfd = search->file.fd = -1;
	return search;
}

void search__free(struct search *search)
{
	if (!search)
		return;
	vm__close(search->vm);
	target__close(&search->target);
	ruby_file__close(&search->file);
	places__release(search->places);
	native_work__free(search->native);
	context_look__free(search->context);
	free(search);
}

/* Open the file of the VM, and find in it what is wanted. */
static void look_at_file(struct search *search)
{
	struct target *t = &search->target;
	struct ruby_file *f = &search->file;
	struct target_files files;

	target_files__of_process(&files, t->pid, t->thread, t->deadline);
	f->owner = files.owner;
	f->fd = mapped_file__open_at(&files, search->vm->layout.address, &f->offset, &f->st);
	places__look(search->places, f, t->deadline);
}

void search__run(struct search *search, struct deadline *deadline)
{
	uint64_t before = deadline__now();
	struct target *t = &search->target;

	if (search->native) {
		native_work__run(search->native, deadline);
		return;
	}
	if (search->context) {
		context_look__run(search->context, deadline);
		return;
	}
	search->err = t->pidfd < 0 ? target__open(t, search->pid, &search->diag) : 0;
	t->deadline = deadline;
	if (!search->err)
		search->err = target__find_section(t, &search->diag);
	if (!search->err)
		search->err = vm__open(&search->vm, t, search->table, &search->diag);
	else if (search->plain && t->space && (search->diag.code == DIAG_NOT_RUBY || search->diag.code == DIAG_NO_INTERFACE))
		vm__open_plain(&search->vm, t, search->table, &search->diag);
	if (search->vm)
		target__refresh(t);
	if (!search->err && search->places)
		look_at_file(search);
	t->deadline = NULL;
	/* The deadline is over when the search is. */
	if (t->space)
		t->space->deadline = NULL;
	if (search->vm)
		vm__set_deadline(search->vm, NULL);
	search->took = deadline__now() - before;
}

static void free_searcher(struct searcher *s)
{
	struct search *lists[] = { s->waiting, s->done };

	for (int i = 0; i < 2; i++) {
		for (struct search *search = lists[i], *next; search; search = next) {
			next = search->next;
			search__free(search);
		}
	}
	if (s->done_fd >= 0)
		close(s->done_fd);
	if (s->close_fd >= 0)
		close(s->close_fd);
	pthread_cond_destroy(&s->work);
	pthread_cond_destroy(&s->ended);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Do the first search that waits.  The lock is held, and free meanwhile. */
static void run_first(struct searcher *s)
{
	struct search *search = s->waiting;

	s->queued--;
	s->running++;
	s->waiting = search->next;
	if (!s->waiting)
		s->waiting_end = &s->waiting;
	search->next = NULL;
	pthread_mutex_unlock(&s->lock);

	deadline__start(&search->deadline, s->close_fd, UINT64_MAX);
	search__run(search, &search->deadline);

	pthread_mutex_lock(&s->lock);
	s->running--;
	*s->done_end = search;
	s->done_end = &search->next;
	if (!s->left)
		eventfd_write(s->done_fd, 1);
	pthread_cond_signal(&s->ended);
}

/* One thread or work less.  Gives the lock back. */
static void leave(struct searcher *s)
{
	bool last = !--s->threads && s->left;

	pthread_cond_signal(&s->ended);
	pthread_mutex_unlock(&s->lock);
	if (last)
		free_searcher(s);
}

static void *run(void *argument)
{
	struct searcher *s = argument;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		while (!s->waiting && !s->closing) {
			s->idle++;
			pthread_cond_wait(&s->work, &s->lock);
			s->idle--;
		}
		if (s->closing)
			break;
		run_first(s);
	}
	leave(s);
	return NULL;
}

/* The work that is given to an executor: one search.  Another work may have done the search already. */
static void run_one(void *argument)
{
	struct searcher *s = argument;

	pthread_mutex_lock(&s->lock);
	if (s->waiting && !s->closing)
		run_first(s);
	leave(s);
}

int searcher__create(struct searcher **result, const struct executor *executor)
{
	struct searcher *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;

	*result = NULL;
	if (!s)
		return -ENOMEM;
	if (executor)
		s->executor = *executor;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->work, &attr);
	pthread_cond_init(&s->ended, &attr);
	pthread_condattr_destroy(&attr);
	s->waiting_end = &s->waiting;
	s->done_end = &s->done;
	s->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->close_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->done_fd < 0 || s->close_fd < 0) {
		int err = -errno;

		free_searcher(s);
		return err;
	}
	*result = s;
	return 0;
}

void searcher__destroy(struct searcher *s)
{
	uint64_t until = deadline__now() + END_TIMEOUT;
	struct timespec t = { .tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000) };
	bool all;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->closing = true;
	eventfd_write(s->close_fd, 1);
	pthread_cond_broadcast(&s->work);
	/* Work that an executor has not begun may be for this very thread. */
	while ((s->executor.submit ? s->running : s->threads) &&
	       pthread_cond_timedwait(&s->ended, &s->lock, &t) != ETIMEDOUT)
		;
	all = !s->threads;
	s->left = !all;
	pthread_mutex_unlock(&s->lock);
	if (all)
		free_searcher(s);
}

int searcher__fd(const struct searcher *s)
{
	return s->done_fd;
}

static int add_thread(struct searcher *s)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	/* Signals are for the threads of the caller. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attr, run, s);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err)
		s->threads++;
	return -err;
}

static void enqueue(struct searcher *s, struct search *search)
{
	search->next = NULL;
	s->queued++;
	*s->waiting_end = search;
	s->waiting_end = &search->next;
}

/* -ENOENT: it does not wait any more. */
static int dequeue(struct searcher *s, struct search *search)
{
	struct search **at = &s->waiting;

	while (*at && *at != search)
		at = &(*at)->next;
	if (!*at)
		return -ENOENT;
	*at = search->next;
	if (!search->next)
		s->waiting_end = at;
	s->queued--;
	return 0;
}

/* The lock is free while the executor is asked: it may do the work at once. */
static int submit_to_executor(struct searcher *s, struct search *search)
{
	int err;

	enqueue(s, search);
	s->threads++;
	pthread_mutex_unlock(&s->lock);
	err = s->executor.submit(s->executor.context, run_one, s);
	pthread_mutex_lock(&s->lock);
	if (err >= 0)
		return 0;
	s->threads--;
	/* Work of another search has taken it: that one's is as good for the other. */
	return dequeue(s, search) ? 0 : err;
}

int search__submit(struct searcher *s, struct search *search)
{
	int err = 0;

	pthread_mutex_lock(&s->lock);
	if (s->executor.submit) {
		err = submit_to_executor(s, search);
		pthread_mutex_unlock(&s->lock);
		return err;
	}
	/* One that hangs must not hold up the others. */
	if (s->queued >= s->idle && s->threads < SEARCH_THREADS_MAX)
		err = add_thread(s);
	if (err && s->threads)
		err = 0;
	if (!err) {
		enqueue(s, search);
		pthread_cond_signal(&s->work);
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

struct search *search__next(struct searcher *s)
{
	struct search *search;
	eventfd_t count;

	pthread_mutex_lock(&s->lock);
	search = s->done;
	if (search) {
		s->done = search->next;
		if (!s->done) {
			s->done_end = &s->done;
			eventfd_read(s->done_fd, &count);
		}
		search->next = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	return search;
}
