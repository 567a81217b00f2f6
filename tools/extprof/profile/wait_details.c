/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/wait_details.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "process/open_file.h"
#include "profile/group_names.h"
#include "profile/holders.h"
#include "profile/resolve_parts.h"
#include "profile/wait_text.h"
#include "wire/states.h"

/* -- files ------------------------------------------------------------------------------------- */

static void add_address(const struct wait_file *file, const uint8_t *address, uint16_t port, struct text *out)
{
	char text[INET6_ADDRSTRLEN] = "";
	bool six = file->family == WAIT_DETAIL_INET6;

	inet_ntop(six ? AF_INET6 : AF_INET, address, text, sizeof(text));
	text__addf(out, six ? "[%s]:%u" : "%s:%u", text, port);
}

static void add_socket(const struct wait_file *file, struct text *out)
{
	uint32_t size = file->path_size < sizeof(file->path) ? file->path_size : sizeof(file->path);

	text__adds(out, "socket");
	if (file->family == WAIT_DETAIL_UNIX && size > 1) {
		/* The name of an abstract socket begins with a 0 and may contain others. */
		bool abstract = !file->path[0];

		text__adds(out, abstract ? " to @" : " to ");
		text__add_clean(out, file->path + abstract,
				abstract ? size - 1 : strnlen(file->path, size), WAIT_DETAIL_PATH_SIZE);
	} else if ((file->family == WAIT_DETAIL_INET || file->family == WAIT_DETAIL_INET6) && file->peer_port) {
		text__adds(out, " to ");
		add_address(file, file->peer, file->peer_port, out);
	} else if ((file->family == WAIT_DETAIL_INET || file->family == WAIT_DETAIL_INET6) && file->port) {
		text__adds(out, " at ");
		add_address(file, file->address, file->port, out);
	} else {
		text__addf(out, " %" PRIu64, file->inode);
	}
}

void details__add_file(const struct wait_file *file, pid_t pid, struct text *out)
{
	bool has_path = file->kind == FILE_REGULAR || file->kind == FILE_DIRECTORY || file->kind == FILE_DEVICE ||
			file->kind == FILE_TERMINAL || file->kind == FILE_PIPE;
	char path[PATH_MAX];

	if (file->kind == FILE_SOCKET) {
		add_socket(file, out);
	} else if (has_path && pid && open_file__path(pid, file, path, sizeof(path))) {
		text__addf(out, "%s ", wait_text__kind(file->kind));
		/* The kernel's text for a pipe without a name. */
		if (!strncmp(path, "pipe:[", 6))
			text__addf(out, "%" PRIu64, file->inode);
		else
			text__add_clean(out, path, strlen(path), PATH_MAX);
	} else if (file->kind == FILE_PIPE) {
		text__addf(out, "pipe %" PRIu64, file->inode);
	} else if (has_path) {
		text__addf(out, "%s, closed before its name was read", wait_text__kind(file->kind));
	} else {
		text__addf(out, "%s, file descriptor %" PRIu32, wait_text__kind(file->kind), file->fd - 1);
	}
}

static void add_file_of(struct vm *vm, const struct wait_file *file, struct text *out)
{
	details__add_file(file, vm->space && !vm->exited ? vm->space->pid : 0, out);
}

/* -- threads ------------------------------------------------------------------------------------- */

static const struct symbol *symbol_of(struct vm *vm, uint32_t id)
{
	const struct symbol *symbol = id >= RB_DEBUG_EXT_ID_FIRST && !(id >> 31) ? symbols__get(&vm->symbols, id) : NULL;

	return symbol && symbol->state == SYMBOL_OK ? symbol : NULL;
}

void details__read_names(struct vm *vm, const struct wait_peer *p)
{
	symbol_of(vm, p->id);
	for (uint32_t i = 0; i < PEER_CALLERS; i++)
		symbol_of(vm, p->ruby[i].id);
	if (p->thread)
		threads__note(&vm->threads, p->thread, p->slot, p->tid);
}

/* Where a thread was. */
struct place {
	const struct symbol *method;	/* the innermost one; NULL: not known */
	const struct symbol *ruby;	/* that, or the code that called it; NULL: not known */
	int32_t line;			/* of `ruby`; 0 unknown */
	bool approximate;
	char *path;			/* of `ruby`, clean, malloc'd; NULL: none */
};

/* `symbol` has no line of a program: it is a part of Ruby itself, or evaluated without a name. */
static bool is_of_ruby(const struct symbol *symbol)
{
	return symbol->path && symbol->path_length >= 10 && !memcmp(symbol->path, "<internal:", 10);
}

/* `ip`, `time`: of a look in the thread itself; else 0. */
static struct place place_of(struct vm *vm, const struct wait_peer *p, uint64_t ip, uint64_t time)
{
	struct place place = { .method = symbol_of(vm, p->id) };
	const struct peer_frame *f = NULL;
	struct text path = { 0 };

	for (uint32_t i = 0; i < PEER_CALLERS && !f; i++) {
		const struct symbol *symbol = symbol_of(vm, p->ruby[i].id);

		if (!symbol || is_of_ruby(symbol))
			continue;
		f = &p->ruby[i];
		place.ruby = symbol;
	}
	if (!f)
		return place;
	place.line = symbols__line(place.ruby, f->pc);
	if (f->flags & FRAME_JIT_RETURN && symbols__has_lines(place.ruby))
		place.approximate = !(ip && (symbols__jit_line(&vm->symbols, place.ruby, ip, time, &place.line) ||
					     layout__stores_pc(&vm->layout, ip))) && place.line;
	symbols__add_path(place.ruby, &path);
	place.path = path.failed || !path.length ? NULL : strdup(path.data);
	text__free(&path);
	return place;
}

/* "Kernel#sleep in Object#held, a.rb:8" */
static void add_place(const struct place *place, struct text *out)
{
	const char *base = place->path ? strrchr(place->path, '/') : NULL;

	if (place->method)
		symbols__add_name(place->method, out);
	if (place->ruby && place->ruby != place->method) {
		text__adds(out, place->method ? " in " : "");
		symbols__add_name(place->ruby, out);
	}
	if (!place->method && !place->ruby)
		text__adds(out, "a method that is not known");
	if (!place->path)
		return;
	text__addf(out, ", %s", base && base[1] ? base + 1 : place->path);
	if (place->line > 0)
		text__addf(out, ":%s%" PRId32, place->approximate ? "~" : "", place->line);
}

/* NULL: it is not known, or it is no thread. */
static const struct thread *peer_thread(struct resolver *c, const struct wait_peer *p, struct vm **vm)
{
	struct sample_event of = { .vm = p->vm, .process = p->process };
	uint32_t row = PROCESS_NONE;

	*vm = p->kind == PEER_THREAD && p->thread ? c->vm_of(c->context, &of, &row) : NULL;
	return *vm ? threads__note(&(*vm)->threads, p->thread, p->slot, p->tid) : NULL;
}

/* "thread burner (77) in Object#burn, a.rb:8".  Returns its tid; 0: it is not known. */
static uint32_t add_peer(struct resolver *c, const struct wait_peer *p, struct text *out)
{
	struct vm *vm;
	const struct thread *thread = peer_thread(c, p, &vm);
	struct place place;
	uint32_t tid;

	if (!thread) {
		text__adds(out, "a thread that is not known");
		return 0;
	}
	thread__add_name(thread, out);
	tid = thread->tid;
	place = place_of(vm, p, 0, 0);
	if (place.method || place.ruby) {
		text__adds(out, " in ");
		add_place(&place, out);
	}
	free(place.path);
	return tid;
}

/* "woken by thread producer (78) in Thread::Queue#push".  *tid: 0 if it is no thread of the process that waits. */
static void add_waker(struct resolver *c, const struct sample_event *e, struct text *out, uint32_t *tid, enum thread_role *role)
{
	const struct wait_peer *p = e->state == STATE_GVL ? &c->details->gvl_waker : &c->details->waker;

	*tid = 0;
	*role = p->kind == PEER_TASK ? ROLE_NATIVE : ROLE_RUBY;

	switch (p->kind) {
	case PEER_NOBODY:
		text__adds(out, "not woken in the recording");
		return;
	case PEER_INTERRUPT:
		text__adds(out, "woken by an interrupt");
		return;
	case PEER_TIMER:
		text__adds(out, "woken by a timer");
		return;
	}
	text__adds(out, "woken by ");
	if (p->kind == PEER_TASK && p->process) {
		group_names__add_native(p->comm, sizeof(p->comm), p->tid, out);
		*tid = p->tid;
	} else if (p->kind == PEER_TASK) {
		text__adds(out, "process ");
		text__add_clean(out, p->comm, strnlen(p->comm, sizeof(p->comm)), sizeof(p->comm));
		if (p->tid)
			text__addf(out, " (%" PRIu32 ")", p->tid);
		*tid = p->tid;
	} else {
		*tid = add_peer(c, p, out);
	}
	/* For another process it is a pid, or the tid there. */
	if (p->process != e->process)
		*tid = 0;
}

/* -- frames -------------------------------------------------------------------------------------- */

/* The number of a frame with that name and place; `tid` and `role`: of the thread that it names, 0: none.  0: out of memory. */
static uint32_t detail_frame(struct resolver *c, const char *key, const struct text *name, const struct place *place, uint32_t tid,
			     enum thread_role role)
{
	struct frame f = FRAME_INIT(FRAME_DETAIL);
	uint32_t frame;

	f.bracketed = true;
	if (!c->crowded_details) {
		f.name = "one of too many";
		c->crowded_details = frame_table__add(c->frames, &f);
	}
	if (name->failed)
		return 0;
	f.key = key;
	f.name = text__string(name);
	f.tid = tid;
	f.role = (uint8_t)role;
	if (place && place->path) {
		f.path = place->path;
		f.line = place->line;
		f.approximate = place->approximate;
	}
	frame = frame_table__add(c->frames, &f);
	return frame ? frame : c->crowded_details;
}

/* One frame with that name.  0 or -ENOMEM. */
static int add_frame(struct resolver *c, const char *key, const struct text *name, uint32_t tid, enum thread_role role, uint32_t *stack,
		     uint32_t *count)
{
	stack[*count] = detail_frame(c, key, name, NULL, tid, role);
	return stack[(*count)++] ? 0 : -ENOMEM;
}

/*
 * The frames of who holds something: where the thread is, and which thread that is.  Its method and line come first, so
 * that threads which do the same are one.  NULL as thread: it is not known.
 */
static int holder_frames(struct resolver *c, const char *before, const struct wait_peer *p, uint64_t ip, uint64_t time,
			 uint32_t frames[2])
{
	struct vm *vm;
	const struct thread *thread = p ? peer_thread(c, p, &vm) : NULL;
	struct place place = { .path = NULL };
	struct text text = { 0 };

	text__adds(&text, before);
	if (thread) {
		place = place_of(vm, p, ip, time);
		add_place(&place, &text);
	} else {
		text__adds(&text, "a thread that is not known");
	}
	frames[0] = detail_frame(c, DETAIL_HOLDER, &text, &place, 0, ROLE_RUBY);
	frames[1] = 0;
	if (thread && groups__has(&c->groups, GROUP_THREAD)) {
		text__clear(&text);
		/* place_of() may have moved it. */
		thread = peer_thread(c, p, &vm);
		thread__add_name(thread, &text);
		frames[1] = detail_frame(c, DETAIL_HOLDER_THREAD, &text, NULL, thread->tid, ROLE_RUBY);
	}
	free(place.path);
	text__free(&text);
	return frames[0] ? 0 : -ENOMEM;
}

/* -- who had the GVL ------------------------------------------------------------------------------- */

struct sharing {
	struct resolver *c;
	const struct sample_event *e;
	struct wait_share *shares;
	uint32_t *count;
	uint32_t others;	/* frame of those that found no room; 0: there are none */
};

static uint32_t smallest_from(const struct sharing *s, uint32_t from)
{
	uint32_t smallest = from;

	for (uint32_t i = from; i < *s->count; i++)
		if (s->shares[i].ns < s->shares[smallest].ns)
			smallest = i;
	return smallest;
}

/* Add to the share with these frames.  Without room, the smallest one goes to the first place, which is then for all that
 * found no room.  0 or -ENOMEM. */
static int add_share(struct sharing *s, const uint32_t frames[2], uint64_t ns)
{
	struct wait_share *list = s->shares;
	struct wait_share first;
	uint32_t i = 0;

	while (i < *s->count && (list[i].frame != frames[0] || list[i].thread_frame != frames[1]))
		i++;
	if (i < WAIT_SHARES_MAX) {
		list[i].frame = frames[0];
		list[i].thread_frame = frames[1];
		list[i].ns = (i < *s->count ? list[i].ns : 0) + ns;
		*s->count += i == *s->count;
		return 0;
	}
	if (!s->others) {
		struct text text = { 0 };

		text__adds(&text, "GVL held by one of too many");
		s->others = detail_frame(s->c, DETAIL_HOLDER, &text, NULL, 0, ROLE_RUBY);
		text__free(&text);
		i = smallest_from(s, 0);
		first = list[i];
		list[i] = list[0];
		list[0] = (struct wait_share){ .frame = s->others, .ns = first.ns };
	}
	i = smallest_from(s, 1);
	list[0].ns += list[i].ns;
	list[i] = (struct wait_share){ frames[0], frames[1], ns };
	return s->others ? 0 : -ENOMEM;
}

/* ns: the timer looks each 1 ms, so a longer time that nobody saw is one whose looks are missing. */
#define HOLD_UNSEEN 2000000ull

static int share_part(void *context, struct hold_seen *seen, uint64_t ns)
{
	struct sharing *s = context;
	const struct wait_peer *first = &s->c->details->gvl_holder;
	uint32_t frames[2];

	/* A thread that waits does not have it: turns in between were too short to be told.  Who had it when the wait began has
	 * had it for so short a time, and nobody knows who for a longer one: looks are missing. */
	if (!seen || (seen->peer.thread == s->e->thread && seen->peer.vm == s->e->vm)) {
		first = ns < HOLD_UNSEEN && first->kind && first->thread != s->e->thread ? first : NULL;
		return holder_frames(s->c, "GVL held by ", first, 0, 0, frames) ? -ENOMEM : add_share(s, frames, ns);
	}
	if (seen->frame && seen->turn == s->c->holds_turn) {
		frames[0] = seen->frame;
		frames[1] = seen->thread_frame;
		return add_share(s, frames, ns);
	}
	if (holder_frames(s->c, "GVL held by ", &seen->peer, seen->ip, seen->time, frames))
		return -ENOMEM;
	seen->frame = frames[0];
	seen->thread_frame = frames[1];
	seen->turn = s->c->holds_turn;
	return add_share(s, frames, ns);
}

int details__shares(struct resolver *c, const struct sample_event *e, struct wait_share *shares, uint32_t *count)
{
	struct sharing s = { .c = c, .e = e, .shares = shares, .count = count };
	const struct wait_details *details = c->details;
	int err;

	*count = 0;
	if (!(e->flags & SAMPLE_HAS_DETAILS) || !details || !(c->details_wanted & WAIT_DETAIL_HOLDER) || e->state != STATE_GVL)
		return 0;
	/* No look tells of so short a time. */
	if (details->gvl_to - details->gvl_from < HOLD_SHORT && details->gvl_holder.kind)
		return share_part(&s, NULL, 1);
	err = !c->holders ? 0 :
	      holders__each(c->holders, e->process, details->ractor, e->thread, details->gvl_from, details->gvl_to, share_part, &s);
	return err || *count ? err : share_part(&s, NULL, 1);
}

/* -- all of them ----------------------------------------------------------------------------------- */

int details__frames(struct resolver *c, struct vm *vm, const struct sample_event *e, uint32_t *stack, uint32_t *count)
{
	const struct wait_details *details = c->details;
	struct text text = { 0 };
	uint32_t frames[2], tid;
	enum thread_role role;
	int err = 0;

	if (!(e->flags & SAMPLE_HAS_DETAILS))
		return 0;
	if (!details) {
		text__adds(&text, "what it waited for was not received");
		err = add_frame(c, "", &text, 0, ROLE_RUBY, stack, count);
		goto cleanup;
	}
	if (e->state == STATE_IO && c->details_wanted & WAIT_DETAIL_FILE && details->file.fd) {
		add_file_of(vm, &details->file, &text);
		err = add_frame(c, "file", &text, 0, ROLE_RUBY, stack, count);
	}
	/* A wait for the GVL has details__shares(). */
	if (!err && c->details_wanted & WAIT_DETAIL_HOLDER && e->state == STATE_MUTEX) {
		err = holder_frames(c, "lock held by ", &details->holder, 0, 0, frames);
		stack[(*count)++] = frames[0];
		if (!err && frames[1])
			stack[(*count)++] = frames[1];
	}
	if (!err && c->details_wanted & WAIT_DETAIL_HOLDER && e->state == STATE_JOIN) {
		text__clear(&text);
		text__adds(&text, "joins ");
		tid = add_peer(c, &details->holder, &text);
		err = add_frame(c, "joined", &text, tid, ROLE_RUBY, stack, count);
	}
	/* For a wait for a CPU, for memory, or for leave to go on, no waker is told. */
	if (!err && c->details_wanted & WAIT_DETAIL_WAKER && e->state != STATE_RUNNABLE && e->state != STATE_FAULT &&
	    e->state != STATE_STOPPED) {
		text__clear(&text);
		add_waker(c, e, &text, &tid, &role);
		err = add_frame(c, "waker", &text, tid, role, stack, count);
	}
cleanup:
	text__free(&text);
	return err;
}
