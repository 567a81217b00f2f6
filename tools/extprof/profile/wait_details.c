/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/wait_details.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "process/open_file.h"
#include "wire/states.h"

/* -- files ------------------------------------------------------------------------------------- */

static void add_address(const struct wait_file *file, const uint8_t *address, uint16_t port, struct text *out)
{
	char text[INET6_ADDRSTRLEN] = "";
	bool six = file->family == ABOUT_INET6;

	inet_ntop(six ? AF_INET6 : AF_INET, address, text, sizeof(text));
	text__addf(out, six ? "[%s]:%u" : "%s:%u", text, port);
}

static void add_socket(const struct wait_file *file, struct text *out)
{
	uint32_t size = file->path_size < sizeof(file->path) ? file->path_size : sizeof(file->path);

	text__adds(out, "socket");
	if (file->family == ABOUT_UNIX && size > 1) {
		/* The name of an abstract socket begins with a 0 and may contain others. */
		bool abstract = !file->path[0];

		text__adds(out, abstract ? " to @" : " to ");
		text__add_clean(out, file->path + abstract,
				abstract ? size - 1 : strnlen(file->path, size), ABOUT_PATH_SIZE);
	} else if ((file->family == ABOUT_INET || file->family == ABOUT_INET6) && file->peer_port) {
		text__adds(out, " to ");
		add_address(file, file->peer, file->peer_port, out);
	} else if ((file->family == ABOUT_INET || file->family == ABOUT_INET6) && file->port) {
		text__adds(out, " at ");
		add_address(file, file->address, file->port, out);
	} else {
		text__addf(out, " %" PRIu64, file->inode);
	}
}

static const char *kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[FILE_REGULAR] = "file", [FILE_DIRECTORY] = "directory", [FILE_PIPE] = "pipe",
		[FILE_SOCKET] = "socket", [FILE_DEVICE] = "device", [FILE_TERMINAL] = "terminal",
		[FILE_EVENTFD] = "eventfd", [FILE_TIMERFD] = "timerfd", [FILE_SIGNALFD] = "signalfd",
		[FILE_PIDFD] = "pidfd", [FILE_INOTIFY] = "inotify", [FILE_EPOLL] = "epoll",
	};

	return kind < sizeof(names) / sizeof(names[0]) && names[kind] ? names[kind] : "file";
}

void about__add_file(const struct wait_file *file, pid_t pid, struct text *out)
{
	bool has_path = file->kind == FILE_REGULAR || file->kind == FILE_DIRECTORY || file->kind == FILE_DEVICE ||
			file->kind == FILE_TERMINAL || file->kind == FILE_PIPE;
	char path[PATH_MAX];

	if (file->kind == FILE_SOCKET) {
		add_socket(file, out);
	} else if (has_path && pid && open_file__path(pid, file, path, sizeof(path))) {
		text__addf(out, "%s ", kind_name(file->kind));
		/* The kernel's text for a pipe without a name. */
		if (!strncmp(path, "pipe:[", 6))
			text__addf(out, "%" PRIu64, file->inode);
		else
			text__add_clean(out, path, strlen(path), PATH_MAX);
	} else if (file->kind == FILE_PIPE) {
		text__addf(out, "pipe %" PRIu64, file->inode);
	} else if (has_path) {
		text__addf(out, "%s, closed before its name was read", kind_name(file->kind));
	} else {
		text__addf(out, "%s, file descriptor %" PRIu32, kind_name(file->kind), file->fd - 1);
	}
}

static void add_file_of(struct vm *vm, const struct wait_file *file, struct text *out)
{
	about__add_file(file, vm->space && !vm->exited ? vm->space->pid : 0, out);
}

/* -- threads ------------------------------------------------------------------------------------- */

/* " in Object#burn" */
static void add_method(struct vm *vm, uint32_t id, struct text *out)
{
	const struct symbol *symbol = NULL;

	if (id >= RB_DEBUG_EXT_ID_FIRST && !(id >> 31))
		symbol = symbols__get(&vm->symbols, id);
	if (id == RB_DEBUG_EXT_ID_IFUNC) {
		text__adds(out, " in a block in C");
	} else if (symbol) {
		text__adds(out, " in ");
		symbols__add_name(symbol, out);
	}
}

/* "thread burner (77) in Object#burn" */
static void add_party(struct resolver *c, const struct wait_party *p, struct text *out)
{
	struct sample_event of = { .vm = p->vm, .process = p->process };
	uint32_t row = PROCESS_NONE;
	struct vm *vm = p->kind == PARTY_THREAD && p->thread ? c->vm_of(c->context, &of, &row) : NULL;
	const struct thread *thread = vm ? threads__note(&vm->threads, p->thread, p->slot, p->tid) : NULL;

	if (!thread) {
		text__adds(out, "a thread that is not known");
		return;
	}
	thread__add_name(thread, out);
	add_method(vm, p->id, out);
}

/* "woken by thread producer (78) in Thread::Queue#push" */
static void add_waker(struct resolver *c, const struct sample_event *e, struct text *out)
{
	const struct wait_party *p = e->state == STATE_GVL ? &c->about->gvl_waker : &c->about->waker;

	switch (p->kind) {
	case PARTY_NOBODY:
		text__adds(out, "not woken in the recording");
		return;
	case PARTY_INTERRUPT:
		text__adds(out, "woken by an interrupt");
		return;
	case PARTY_TIMER:
		text__adds(out, "woken by a timer");
		return;
	}
	text__adds(out, "woken by ");
	if (p->kind == PARTY_TASK) {
		text__adds(out, p->process ? "native thread " : "process ");
		text__add_clean(out, p->comm, strnlen(p->comm, sizeof(p->comm)), sizeof(p->comm));
		if (p->tid)
			text__addf(out, " (%" PRIu32 ")", p->tid);
	} else {
		add_party(c, p, out);
	}
}

/* "held by thread burner (77) in Object#burn" */
static void add_holder(struct resolver *c, const struct sample_event *e, struct text *out)
{
	const struct wait_party *p = e->state == STATE_GVL ? &c->about->gvl_holder : &c->about->holder;

	text__adds(out, e->state == STATE_JOIN ? "joins " : "held by ");
	add_party(c, p, out);
}

/* -- frames -------------------------------------------------------------------------------------- */

/* One frame with that name.  0 or -ENOMEM. */
static int add_frame(struct resolver *c, const char *key, const struct text *name, uint32_t *stack, uint32_t *count)
{
	struct frame f = FRAME_INIT(FRAME_DETAIL);
	uint32_t frame;

	f.bracketed = true;
	if (!c->crowded_about) {
		f.name = "one of too many";
		c->crowded_about = frame_table__add(c->frames, &f);
	}
	if (name->failed)
		return -ENOMEM;
	f.key = key;
	f.name = text__string(name);
	frame = frame_table__add(c->frames, &f);
	stack[*count] = frame ? frame : c->crowded_about;
	return stack[(*count)++] ? 0 : -ENOMEM;
}

int about__frames(struct resolver *c, struct vm *vm, const struct sample_event *e, uint32_t *stack, uint32_t *count)
{
	const struct wait_about *about = c->about;
	struct text text = { 0 };
	int err = 0;

	if (!(e->flags & SAMPLE_HAS_ABOUT))
		return 0;
	if (!about) {
		text__adds(&text, "what it waited for was not received");
		err = add_frame(c, "", &text, stack, count);
		goto cleanup;
	}
	if (e->state == STATE_IO && c->about_wanted & ABOUT_FILE && about->file.fd) {
		add_file_of(vm, &about->file, &text);
		err = add_frame(c, "file", &text, stack, count);
	}
	if (!err && c->about_wanted & ABOUT_HOLDER &&
	    (e->state == STATE_GVL || e->state == STATE_MUTEX || e->state == STATE_JOIN)) {
		text__clear(&text);
		add_holder(c, e, &text);
		err = add_frame(c, "holder", &text, stack, count);
	}
	/* For a wait for a CPU, for memory, or for leave to go on, no waker is told. */
	if (!err && c->about_wanted & ABOUT_WAKER && e->state != STATE_RUNNABLE && e->state != STATE_FAULT &&
	    e->state != STATE_STOPPED) {
		text__clear(&text);
		add_waker(c, e, &text);
		err = add_frame(c, "waker", &text, stack, count);
	}
cleanup:
	text__free(&text);
	return err;
}
