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

#include "base/utc.h"
#include "cli/clock.h"
#include "cli/dump.h"
#include "cli/messages.h"
#include "daemon/dumps.h"
#include "daemon/stillness.h"
#include "daemon/stuck.h"

#define SECOND 1000000000ull
/* Between two looks: so many of them in the time of the trigger. */
#define LOOKS 8u
#define LOOK_LEAST (SECOND / 5)
#define LOOK_MOST (5 * SECOND)
/* Bytes of what is said of the threads of a process: with its name and that of a file it is an event of a recording. */
#define WHAT_SIZE 200
/* Bytes of a line of the log. */
#define MESSAGE_SIZE 1024
/* That wait to be told.  More are dropped. */
#define MESSAGES_MAX 32u

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

/* Takes the text; NULL: there was no memory for it. */
static void put_message(struct daemon_stuck *s, char *text, bool fires)
{
	char clean[MESSAGE_SIZE];

	if (text) {
		extprof_clean(clean, sizeof(clean), text);
		free(text);
		text = strdup(clean);
	}
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

/* A finding on its way into the log and a file. */
struct telling {
	struct daemon_stuck *stuck;
	const struct stuck_finding *found;
	char process[96];		/* "process 42 puma: cluster worker 1" */
	char what[WHAT_SIZE];
	int err;			/* of the file */
};

/* Write one thread: "worker 1" sleeping in futex, deadlock. */
static void write_thread(const struct extprof_dump_thread *t, FILE *to)
{
	dump__write_name(t, to);
	fprintf(to, " %s%s%s%s%s", dump__state(t), t->call_name ? " in " : "", t->call_name ? t->call_name : "",
		t->wait_file ? " " : "", t->wait_file ? t->wait_file : "");
	if (t->deadlocked)
		fputs(", deadlock", to);
}

/* "2 threads with work, and none has run for 30 s: "worker 1" sleeping, deadlock; main blocked".  Nothing without memory. */
static void describe(struct telling *tell)
{
	const struct stuck_finding *f = tell->found;
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return;
	fprintf(to, "%u thread%s with work, and none has run for %.3g s: ", f->count, f->count == 1 ? "" : "s",
		(double)tell->stuck->length / 1e9);
	for (unsigned int i = 0; i < f->count && i < STUCK_NAMED_MAX; i++) {
		fputs(i ? "; " : "", to);
		write_thread(f->threads[i], to);
	}
	if (f->count > STUCK_NAMED_MAX)
		fprintf(to, "; and %u more", f->count - STUCK_NAMED_MAX);
	if (!fclose(to))
		extprof_clean(tell->what, sizeof(tell->what), text);
	free(text);
}

static int write_dump(void *context, FILE *to)
{
	const struct telling *tell = context;
	char at[UTC_SIZE];

	fprintf(to, "trigger %s of extprof daemon, %s\nprocess %d: %s\n\n", tell->stuck->text, utc__text(at, utc__now(), false),
		tell->found->dump->pid, tell->what);
	return dump_text__write(tell->found->dump, false, false, to);
}

/* The command without the folder of its program: "ruby app.rb", "puma: cluster worker 1". */
static void name_process(struct telling *tell)
{
	const struct extprof_dump_result *r = tell->found->dump;
	size_t word = strcspn(r->command, " ");
	char command[60];

	while (word && r->command[word - 1] != '/')
		word--;
	extprof_clean(command, sizeof(command), r->command + word);
	snprintf(tell->process, sizeof(tell->process), "process %d %s", r->pid, command);
}

/* A text that is too long is cut at its end: so the name of the file is in front. */
static int tell_finding(void *context, const struct stuck_finding *f)
{
	struct telling *tell = context;
	struct daemon_stuck *s = tell->stuck;
	time_t now = time(NULL), before = (uint64_t)now > s->keep_for ? now - (time_t)s->keep_for : 0;
	char name[DUMP_NAME_SIZE] = "no dump, there are enough of this place";
	char *text;

	tell->found = f;
	name_process(tell);
	describe(tell);
	if (f->wants_dump) {
		tell->err = dumps__write(s->folder, f->dump->pid, write_dump, tell, name);
		dumps__tidy(s->folder, before);
	}
	if (tell->err)
		return tell->err;
	if (asprintf(&text, "%s: %s: %s (%s)", tell->process, name, tell->what, s->text) < 0)
		text = NULL;
	put_message(s, text, true);
	return 0;
}

/* It is tried again, and told when it is so for the first time.  e: why there is no dump at all. */
static void tell_failure(const struct telling *tell, pid_t pid, const struct extprof_error *e)
{
	struct daemon_stuck *s = tell->stuck;
	char *text;
	int n;

	if (tell->err)
		n = asprintf(&text, "%s: the dump cannot be written, and it is tried again: %s: %s (%s)", tell->process, strerror(-tell->err),
			     tell->what, s->text);
	else
		n = asprintf(&text, "%s: process %d cannot be dumped, and it is tried again: %s", s->text, pid,
			     *e->text ? e->text : "out of memory");
	put_message(s, n < 0 ? NULL : text, tell->err);
}

static void judge(struct daemon_stuck *s, struct still_process *p, uint64_t now)
{
	const struct extprof_dump_options options = { .size = sizeof(options), .pid = p->pid, .interrupt_fd = &s->stop_fd };
	struct telling tell = { .stuck = s };
	const struct extprof_dump_result *r = NULL;
	struct extprof_error e = { .size = sizeof(e) };
	struct extprof_dump *dump;

	if (!extprof_dump_open(&dump, &options, &e) && extprof_dump_take(dump, &r, &e))
		r = NULL;
	/* It begins, has ended, or is about to: that is no failure. */
	if (!r && (e.code == EXTPROF_NO_PROCESS || e.code == EXTPROF_NOT_READY))
		p->again = now + s->length;
	else if (stuck__judge(p, r, now, s->length, tell_finding, &tell) == STUCK_FAILED)
		tell_failure(&tell, p->pid, &e);
	extprof_dump_close(dump);
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
	struct daemon_stuck *s;
	int err;

	*stuck = NULL;
	if (!*o->stuck)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return message__set(e, EXTPROF_INTERNAL, ENOMEM, "out of memory");
	daemon_stuck__parse(o->stuck, &s->length);
	snprintf(s->text, sizeof(s->text), "%s", o->stuck);
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

unsigned int daemon_stuck__step(struct daemon_stuck *s, struct extprof_recording *recording)
{
	struct stuck_message messages[MESSAGES_MAX];
	struct extprof_error e = { .size = sizeof(e) };
	unsigned int count, fired = 0;

	if (!s)
		return 0;
	pthread_mutex_lock(&s->lock);
	if (extprof_recording_processes(recording, s->pids, STILL_PROCESSES_MAX, &s->pid_count, &e))
		s->pid_count = 0;
	pthread_mutex_unlock(&s->lock);
	count = take_messages(s, messages);
	for (unsigned int i = 0; i < count; i++) {
		fprintf(stderr, "extprof: %s%s\n", messages[i].fires ? "trigger: " : "", messages[i].text);
		if (messages[i].fires && extprof_recording_trigger(recording, messages[i].text, &e))
			fprintf(stderr, "extprof: the recording does not know of it: %s\n", e.text);
		else
			fired += messages[i].fires;
		free(messages[i].text);
	}
	return fired;
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
