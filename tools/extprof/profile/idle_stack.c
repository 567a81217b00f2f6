/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/idle_stack.h"

#include <string.h>

#include "profile/kernel_frames.h"
#include "profile/native_frames.h"
#include "wire/states.h"

/* C methods, and methods of Ruby itself. */
static const struct {
	uint8_t state, place;
	const char *method;
} places[] = {
	{ STATE_SLEEP, PLACE_SLEEP, "Kernel#sleep" },
	{ STATE_SLEEP, PLACE_SLEEP, "Thread.stop" },
	{ STATE_QUEUE, PLACE_QUEUE, "Thread::Queue#pop" },
	{ STATE_QUEUE, PLACE_QUEUE, "Thread::SizedQueue#pop" },
	{ STATE_CONDVAR, PLACE_CONDVAR, "Thread::ConditionVariable#wait" },
	{ STATE_JOIN, PLACE_JOIN, "Thread#join" },
	{ STATE_JOIN, PLACE_JOIN, "Thread#value" },
	{ STATE_IO, PLACE_SELECT, "IO.select" },
	{ STATE_IO, PLACE_SELECT, "Kernel#select" },
	{ STATE_IO, PLACE_SELECT, "NIO::Selector#select" },
	{ STATE_IO, PLACE_ACCEPT, "TCPServer#accept" },
	{ STATE_IO, PLACE_ACCEPT, "UNIXServer#accept" },
	{ STATE_IO, PLACE_ACCEPT, "Socket#accept" },
	{ STATE_IO, PLACE_REACTOR, "IO::Event::Selector::EPoll#select" },
	{ STATE_IO, PLACE_REACTOR, "IO::Event::Selector::URing#select" },
	{ STATE_IO, PLACE_REACTOR, "IO::Event::Selector::Select#select" },
};

bool idle__is_named(const struct owner *o, const char *name)
{
	return o->name && strlen(name) == o->name_length && !memcmp(name, o->name, o->name_length);
}

static bool is_same_owner(const struct owner *a, const struct owner *b)
{
	if (a->kind != b->kind || a->name_length != b->name_length || a->version_length != b->version_length)
		return false;
	return (!a->name_length || !memcmp(a->name, b->name, a->name_length)) &&
	       (!a->version_length || !memcmp(a->version, b->version, a->version_length));
}

/* Nothing of it may say that there is work, or that something is not known. */
static bool take_group(struct idle_stack *k, const struct idle *s, uint32_t node)
{
	const struct frame *f = idle__frame(s, node);

	switch (f->kind) {
	case FRAME_THREAD:
		k->thread = node;
		return f->known == KNOWN && f->role != ROLE_UNKNOWN;
	case FRAME_MODE:
		/* Another one than that of the mode says that a label is set.  Labels of the groups may be no labels of the
		 * program: the name of the recording. */
		k->labelled |= s->tree->nodes[node].frame != s->mode_frame;
		return true;
	default:
		return true;
	}
}

static bool is_known(const struct frame *f)
{
	if (f->kind == FRAME_MARK || f->kind == FRAME_GC)
		return false;
	return f->missing == MISSING_NOTHING || f->missing == MISSING_LINE;
}

bool idle__is_machine(const struct frame *f)
{
	return f->kind == FRAME_NATIVE || f->kind == FRAME_KERNEL || native_frames__is_mark(f) || kernel_frames__is_mark(f);
}

bool idle_stack__take(struct idle_stack *k, const struct idle *s, uint32_t state)
{
	const struct tree *tree = s->tree;
	uint32_t first = IDLE_DEPTH_MAX;

	memset(k, 0, sizeof(*k));
	for (uint32_t i = tree->nodes[state].parent; i; i = tree->nodes[i].parent) {
		const struct frame *f = idle__frame(s, i);

		if (!frame_kind__is_code(f->kind)) {
			if (!take_group(k, s, i))
				return false;
			continue;
		}
		/* In which functions it waits is no matter, nor whether that is known. */
		if (first == IDLE_DEPTH_MAX && idle__is_machine(f))
			continue;
		if (!first || !is_known(f))
			return false;
		k->nodes[--first] = i;
	}
	k->count = IDLE_DEPTH_MAX - first;
	memmove(k->nodes, k->nodes + first, k->count * sizeof(*k->nodes));
	return k->thread && k->count;
}

/* Ways to call a block at once: what they are given on their own line is written there. */
static bool calls_at_once(const char *name)
{
	return !strcmp(name, "Kernel#loop") || !strcmp(name, "Thread::Mutex#synchronize") || !strcmp(name, "Monitor#synchronize");
}

/* Is that a block which is written where the thread's own code calls it? */
static bool is_written_there(const struct idle_stack *k, const struct idle *s, const struct idle_line *own,
			     const struct idle_line *l)
{
	const struct frame *f = l->frame, *of = own->frame;

	/* A lambda is called by the code itself. */
	if (l->at == own->at + 1 || of->line <= 0 || f->first_line != of->line || strcmp(f->path, of->path))
		return false;
	if (f->first_line > of->first_line)
		return true;
	/* All of it is on one line. */
	for (uint32_t i = own->at + 1; i < l->at; i++)
		if (!calls_at_once(idle__frame(s, k->nodes[i])->name))
			return false;
	return f->first_line == of->first_line;
}

static bool begins_program(const struct frame *f)
{
	return !strcmp(f->name, "<main>") || !strcmp(f->name, "<top (required)>");
}

void idle_stack__read(struct idle_stack *k, const struct idle *s)
{
	const struct idle_line *own = &k->ruby[0];
	bool top = true;

	for (uint32_t i = 0; i < k->count; i++) {
		const struct frame *f = idle__frame(s, k->nodes[i]);
		struct idle_line *l = &k->ruby[k->ruby_count];

		k->loops |= !strcmp(f->name, "Kernel#loop") && f->kind != FRAME_RUBY;
		if (f->kind != FRAME_RUBY)
			continue;
		owner__find(f->path, s->rules, &l->owner);
		if (l->owner.kind == OWNER_RUBY) {
			k->loops |= !strcmp(f->name, "Kernel#loop");
			continue;
		}
		l->frame = f;
		l->at = i;
		k->ruby_count++;
	}
	if (!k->ruby_count)
		return;
	k->ruby[0].own = true;
	k->is_main = !strcmp(k->ruby[0].frame->name, "<main>");
	k->one_owner = true;
	k->methods = 1;
	for (uint32_t i = 1; i < k->ruby_count; i++) {
		struct idle_line *l = &k->ruby[i];

		if (l->owner.kind == OWNER_STDLIB && idle__is_named(&l->owner, "monitor"))
			continue;
		k->inner = i;
		top &= begins_program(l->frame);
		l->own = is_written_there(k, s, own, l) || (k->is_main && top);
		if (l->own) {
			own = l;
			continue;
		}
		k->methods++;
		k->foreign |= idle__is_app(&l->owner);
		k->one_owner &= is_same_owner(&l->owner, &k->ruby[0].owner);
	}
	k->direct = k->ruby[k->inner].own;
}

enum idle_place idle_stack__place(const struct idle_stack *k, const struct idle *s, uint8_t state, const char **method)
{
	for (uint32_t i = k->ruby[k->inner].at + 1; i < k->count; i++) {
		const struct frame *f = idle__frame(s, k->nodes[i]);

		for (size_t j = 0; j < sizeof(places) / sizeof(places[0]); j++)
			if (places[j].state == state && !strcmp(places[j].method, f->name)) {
				*method = f->name;
				return (enum idle_place)places[j].place;
			}
	}
	return PLACE_NONE;
}
