/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/daemon_stuck.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/dump.h"
#include "cli/messages.h"
#include "daemon/dumps.h"
#include "daemon/stillness.h"

#define SECOND 1000000000ull
/* Between two looks: so many of them in the time of the trigger. */
#define LOOKS 8u
#define LOOK_LEAST (SECOND / 5)
#define LOOK_MOST (5 * SECOND)
/* The time of a thread's wait, which Ruby notes in steps of 10 ms, and that of a look. */
#define TIME_ERROR SECOND
/* That wait to be told.  More are dropped. */
#define MESSAGES_MAX 32u
/* Threads that a message names. */
#define NAMED_MAX 2u

struct daemon_stuck {
	uint64_t length;		/* ns */
	char text[80];			/* the trigger */
	const struct folder *folder;
	uint64_t keep_for;		/* s */
	int stop_fd;			/* readable: it is to end */
	pthread_t thread;
	pthread_mutex_t lock;		/* for what follows */
	pid_t pids[STILL_PROCESSES_MAX];
	size_t pid_count;
	struct stuck_message {
		char *text;
		bool fires;		/* it is put into the recording */
	} messages[MESSAGES_MAX];
	unsigned int message_count;
};

/* -- messages ------------------------------------------------------------------------------------- */

/* Takes the text. */
static void put_message(struct daemon_stuck *s, char *text, bool fires)
{
	pthread_mutex_lock(&s->lock);
	if (text && s->message_count < MESSAGES_MAX)
		s->messages[s->message_count++] = (struct stuck_message){ text, fires };
	else
		free(text);
	pthread_mutex_unlock(&s->lock);
}

static unsigned int take_messages(struct daemon_stuck *s, struct stuck_message *to)
{
	unsigned int count;

	pthread_mutex_lock(&s->lock);
	count = s->message_count;
	memcpy(to, s->messages, count * sizeof(*to));
	s->message_count = 0;
	pthread_mutex_unlock(&s->lock);
	return count;
}

/* -- one process ---------------------------------------------------------------------------------- */

/* What a dump says of a process. */
struct finding {
	const struct daemon_stuck *stuck;
	const struct extprof_dump_result *dump;
	const struct extprof_dump_thread *threads[NAMED_MAX];	/* with work */
	unsigned int count;		/* of all that have */
	bool is_new;			/* one of them was in no dump before */
	char what[256];
};

/* Has it neither run nor begun another wait for so long? */
static bool is_still(const struct daemon_stuck *s, struct still_process *p, const struct extprof_dump_thread *t, uint64_t now)
{
	const struct still_thread *task = t->shared || !t->tid ? NULL : still_process__thread(p, t->tid);

	if (t->since != UINT64_MAX && t->since + TIME_ERROR < s->length)
		return false;
	return task ? now >= task->since && now - task->since >= s->length : t->since != UINT64_MAX;
}

static bool has_label(const struct extprof_dump_thread *t)
{
	for (size_t i = 0; i < t->fiber_count; i++)
		if (!t->fibers[i]->created && (t->fibers[i]->label_count || t->fibers[i]->trace_id))
			return true;
	return false;
}

/* Of what the thread runs; never 0. */
static uint64_t place_of(const struct extprof_dump_thread *t)
{
	const struct extprof_stack *s = t->fiber_count ? t->fibers[0]->stack : NULL;
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; s && i < s->count; i++) {
		for (const char *c = s->frames[i]->name; *c; c++)
			hash = (hash ^ (unsigned char)*c) * 0x100000001b3ull;
		hash = (hash ^ (uint32_t)s->frames[i]->line) * 0x100000001b3ull;
	}
	return hash | 1;
}

/*
 * A thread that was told, went on, and waits in the same place again waits there for work: it reads what somebody sends it
 * now and then.  A label says that it has some.
 */
static bool is_known(const struct still_thread *task, const struct extprof_dump_thread *t)
{
	return task && task->place == place_of(t) && !t->deadlocked && !has_label(t);
}

/* Is a thread with work, or several, at a standstill, and none at work? */
static bool is_stuck(const struct daemon_stuck *s, struct still_process *p, const struct extprof_dump_result *r, uint64_t now,
		     struct finding *f)
{
	*f = (struct finding){ .stuck = s, .dump = r };
	for (size_t i = 0; i < r->thread_count; i++) {
		const struct extprof_dump_thread *t = r->threads[i];
		const struct still_thread *task = t->tid ? still_process__thread(p, t->tid) : NULL;

		if (t->idle || t->state == EXTPROF_THREAD_CREATED || is_known(task, t))
			continue;
		if (!is_still(s, p, t, now))
			return false;
		if (f->count < NAMED_MAX)
			f->threads[f->count] = t;
		f->count++;
		f->is_new |= !task || !task->told;
	}
	return f->count && f->is_new;
}

static void mark_told(struct still_process *p, const struct extprof_dump_result *r)
{
	for (size_t i = 0; i < r->thread_count; i++) {
		const struct extprof_dump_thread *t = r->threads[i];
		struct still_thread *task = t->tid ? still_process__thread(p, t->tid) : NULL;

		if (!task || t->idle || t->state == EXTPROF_THREAD_CREATED)
			continue;
		task->told = true;
		task->place = place_of(t);
	}
}

/* "2 threads with work have not run for 30 s: "worker 1" sleeping, deadlock; main blocked". */
static void describe(struct finding *f)
{
	FILE *to = fmemopen(f->what, sizeof(f->what), "w");

	if (!to)
		return;
	fprintf(to, "%u thread%s with work, and none has run for %.3g s: ", f->count, f->count == 1 ? "" : "s",
		(double)f->stuck->length / 1e9);
	for (unsigned int i = 0; i < f->count && i < NAMED_MAX; i++) {
		const struct extprof_dump_thread *t = f->threads[i];

		fputs(i ? "; " : "", to);
		dump__write_name(t, to);
		fprintf(to, " %s%s%s%s%s", dump__state(t), t->call_name ? " in " : "", t->call_name ? t->call_name : "",
			t->wait_file ? " " : "", t->wait_file ? t->wait_file : "");
		if (t->deadlocked)
			fputs(", deadlock", to);
	}
	if (f->count > NAMED_MAX)
		fprintf(to, "; and %u more", f->count - NAMED_MAX);
	fclose(to);
	f->what[sizeof(f->what) - 1] = '\0';
}

static int write_dump(void *context, FILE *to)
{
	const struct finding *f = context;
	time_t now = time(NULL);
	char at[32] = "";
	struct tm tm;

	if (gmtime_r(&now, &tm))
		strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", &tm);
	fprintf(to, "trigger %s of extprof daemon, %s\nprocess %d: %s\n\n", f->stuck->text, at, f->dump->pid, f->what);
	return dump_text__write(f->dump, false, false, to);
}

/* The command without the folder of its program: "ruby app.rb", "puma: cluster worker 1". */
static void shorten(const char *command, char *to, size_t size)
{
	size_t word = strcspn(command, " ");

	while (word && command[word - 1] != '/')
		word--;
	extprof_clean(to, size, command + word);
}

static void keep(struct daemon_stuck *s, struct finding *f)
{
	time_t now = time(NULL), before = (uint64_t)now > s->keep_for ? now - (time_t)s->keep_for : 0;
	char name[DUMP_NAME_SIZE], command[96], *text = NULL;
	int err;

	describe(f);
	shorten(f->dump->command, command, sizeof(command));
	err = dumps__write(s->folder, f->dump->pid, write_dump, f, name);
	if (asprintf(&text, "process %d %.60s: %s (%s), %s%s", f->dump->pid, command, f->what, s->text,
		     err ? "the dump cannot be written: " : "", err ? strerror(-err) : name) < 0)
		text = NULL;
	put_message(s, text, true);
	dumps__tidy(s->folder, before);
}

static void failed(struct daemon_stuck *s, pid_t pid, const struct extprof_error *e)
{
	char *text;

	/* It has ended, or is about to. */
	if (e->code == EXTPROF_NO_PROCESS || e->code == EXTPROF_NOT_READY)
		return;
	if (asprintf(&text, "%s: process %d cannot be dumped: %s", s->text, pid, e->text) < 0)
		text = NULL;
	put_message(s, text, false);
}

static void judge(struct daemon_stuck *s, struct still_process *p, uint64_t now)
{
	const struct extprof_dump_options options = { .size = sizeof(options), .pid = p->pid, .interrupt_fd = &s->stop_fd };
	const struct extprof_dump_result *r;
	struct extprof_error e = { .size = sizeof(e) };
	struct extprof_dump *dump;
	struct finding f;

	if (extprof_dump_open(&dump, &options, &e)) {
		failed(s, p->pid, &e);
	} else if (extprof_dump_take(dump, &r, &e)) {
		failed(s, p->pid, &e);
	} else if (is_stuck(s, p, r, now, &f)) {
		mark_told(p, r);
		keep(s, &f);
	}
	extprof_dump_close(dump);
	still_process__judged(p, now, s->length);
}

/* -- the thread ----------------------------------------------------------------------------------- */

static void look(struct daemon_stuck *s, struct stillness *still, pid_t *pids)
{
	uint64_t now = clock__now();
	size_t count;

	pthread_mutex_lock(&s->lock);
	count = s->pid_count;
	memcpy(pids, s->pids, count * sizeof(*pids));
	pthread_mutex_unlock(&s->lock);
	/* Without memory it is tried again in the next look. */
	if (stillness__look(still, "/proc", pids, count, now))
		return;
	for (size_t i = 0; i < still->count; i++)
		if (still_process__is_due(&still->list[i], now, s->length))
			judge(s, &still->list[i], now);
}

static void *watch(void *context)
{
	struct daemon_stuck *s = context;
	struct pollfd stop = { .fd = s->stop_fd, .events = POLLIN };
	uint64_t interval = s->length / LOOKS;
	pid_t *pids = calloc(STILL_PROCESSES_MAX, sizeof(*pids));
	struct stillness still = { .count = 0 };

	pthread_setname_np(pthread_self(), "extprof-stuck");
	interval = interval < LOOK_LEAST ? LOOK_LEAST : interval > LOOK_MOST ? LOOK_MOST : interval;
	while (pids && poll(&stop, 1, (int)(interval / 1000000)) <= 0)
		look(s, &still, pids);
	stillness__free(&still);
	free(pids);
	return NULL;
}

static int start(struct daemon_stuck *s, struct extprof_error *e)
{
	sigset_t all, before;
	int err;

	s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->stop_fd < 0)
		return message__set(e, EXTPROF_INTERNAL, errno, "cannot watch for %s: %s", s->text, strerror(errno));
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&s->thread, NULL, watch, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		return 0;
	close(s->stop_fd);
	return message__set(e, EXTPROF_INTERNAL, err, "cannot start a thread: %s", strerror(err));
}

int daemon_stuck__begin(struct daemon_stuck **stuck, const struct options *o, const struct folder *folder, uint64_t keep_for,
			struct extprof_error *e)
{
	const char *text = o->values[OPTION_TRIGGER].text;
	struct daemon_stuck *s;
	int err;

	*stuck = NULL;
	if (!o->values[OPTION_TRIGGER].given)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return message__set(e, EXTPROF_INTERNAL, ENOMEM, "out of memory");
	daemon_stuck__parse(text, &s->length);
	snprintf(s->text, sizeof(s->text), "%s", text);
	s->folder = folder;
	s->keep_for = keep_for;
	pthread_mutex_init(&s->lock, NULL);
	err = start(s, e);
	if (err) {
		pthread_mutex_destroy(&s->lock);
		free(s);
		return err;
	}
	*stuck = s;
	return 0;
}

void daemon_stuck__step(struct daemon_stuck *s, struct extprof_recording *recording)
{
	struct stuck_message messages[MESSAGES_MAX];
	struct extprof_error e = { .size = sizeof(e) };
	unsigned int count;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	if (extprof_recording_processes(recording, s->pids, STILL_PROCESSES_MAX, &s->pid_count, &e))
		s->pid_count = 0;
	pthread_mutex_unlock(&s->lock);
	count = take_messages(s, messages);
	for (unsigned int i = 0; i < count; i++) {
		fprintf(stderr, "extprof: %s%s\n", messages[i].fires ? "trigger: " : "", messages[i].text);
		if (messages[i].fires && extprof_recording_trigger(recording, messages[i].text, &e))
			fprintf(stderr, "extprof: the recording does not know of it: %s\n", e.text);
		free(messages[i].text);
	}
}

void daemon_stuck__end(struct daemon_stuck *s)
{
	const uint64_t one = 1;

	if (!s)
		return;
	if (write(s->stop_fd, &one, sizeof(one)) < 0)
		pthread_cancel(s->thread);
	pthread_join(s->thread, NULL);
	for (unsigned int i = 0; i < s->message_count; i++) {
		fprintf(stderr, "extprof: %s\n", s->messages[i].text);
		free(s->messages[i].text);
	}
	close(s->stop_fd);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
