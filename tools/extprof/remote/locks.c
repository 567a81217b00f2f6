/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/locks.h"

#include <errno.h>

/* Words of the object that are looked at: it has flags and a class first.  Words of the structure that it points to. */
#define OBJECT_WORDS 5u
#define OBJECT_HEAD 2u
#define INSIDE_WORDS 2u
/* User space. */
#define ADDRESS_MIN 4096u
#define ADDRESS_MAX (1ull << 56)

/* Where a mutex has its owner. */
struct place {
	bool known, inside;
	uint32_t word, at;	/* of the object; inside: of the structure that this one points to */
};

struct locks {
	struct snapshot *s;
	const struct memory *memory;
	struct map64 fibers;	/* address of a fiber -> number of its thread */
	struct place place;
};

static bool waits_for_mutex(const struct rb_debug_ext_thread *t)
{
	return t->state == RB_DEBUG_EXT_THREAD_SLEEPING && t->wait_kind == RB_DEBUG_EXT_WAIT_MUTEX && t->wait_object;
}

static bool fatal(int err)
{
	return err && err != -EFAULT;
}

static int index_fibers(struct locks *l, uint64_t fiber_ec)
{
	for (uint32_t i = 0; i < l->s->thread_count; i++) {
		const struct snapshot_thread *t = &l->s->threads[i];

		for (uint32_t k = t->first_ec; k < t->first_ec + t->ec_count; k++) {
			uint64_t fiber = l->s->ecs[k].e.ec - fiber_ec;

			if (map64__get(&l->fibers, fiber) == MAP64_NONE && map64__add(&l->fibers, fiber, i))
				return -ENOMEM;
		}
	}
	return 0;
}

static bool is_address(uint64_t word)
{
	return word >= ADDRESS_MIN && word < ADDRESS_MAX && !(word & 7);
}

/* Look for the address of a fiber in the words.  Its thread, or MAP64_NONE. */
static uint32_t find_fiber(const struct locks *l, const uint64_t *words, uint32_t begin, uint32_t end, uint32_t *at)
{
	for (*at = begin; *at < end; ++*at) {
		uint32_t number = is_address(words[*at]) ? map64__get(&l->fibers, words[*at]) : MAP64_NONE;

		if (number != MAP64_NONE)
			return number;
	}
	return MAP64_NONE;
}

/* The number of the thread that has the mutex; MAP64_NONE: not found.  0 or -errno. */
static int find_owner(struct locks *l, uint64_t mutex, uint32_t *number)
{
	uint64_t object[OBJECT_WORDS], inside[INSIDE_WORDS];
	struct place p = { .known = true };
	int err = memory__read(l->memory, mutex, object, sizeof(object));

	*number = MAP64_NONE;
	if (err)
		return fatal(err) ? err : 0;
	*number = find_fiber(l, object, OBJECT_HEAD, OBJECT_WORDS, &p.word);
	if (*number == MAP64_NONE)
		p.inside = true;
	for (p.word = p.inside ? OBJECT_HEAD : p.word; p.inside && p.word < OBJECT_WORDS; p.word++) {
		if (!is_address(object[p.word]))
			continue;
		err = memory__read(l->memory, object[p.word], inside, sizeof(inside));
		if (fatal(err))
			return err;
		*number = err ? MAP64_NONE : find_fiber(l, inside, 0, INSIDE_WORDS, &p.at);
		if (*number != MAP64_NONE)
			break;
	}
	if (*number != MAP64_NONE)
		l->place = p;
	return 0;
}

/* The owner of a mutex was not found.  Is the place empty where the owner of another mutex was found?  0 or -errno. */
static int look_at_place(const struct locks *l, uint64_t mutex, bool *empty)
{
	uint64_t word = 0;
	int err;

	*empty = false;
	if (!l->place.known)
		return 0;
	err = memory__read(l->memory, mutex + 8ull * l->place.word, &word, sizeof(word));
	if (!err && l->place.inside)
		err = memory__read(l->memory, word + 8ull * l->place.at, &word, sizeof(word));
	*empty = !err && !word;
	return fatal(err) ? err : 0;
}

static int read_owners(struct locks *l)
{
	uint32_t number;
	bool empty;
	int err = 0;

	for (uint32_t i = 0; i < l->s->thread_count && !err; i++) {
		struct snapshot_thread *t = &l->s->threads[i];

		if (!waits_for_mutex(&t->t))
			continue;
		err = find_owner(l, t->t.wait_object, &number);
		if (err || number == MAP64_NONE)
			continue;
		t->lock = LOCK_OWNED;
		t->lock_owner = l->s->threads[number].t.serial;
	}
	for (uint32_t i = 0; i < l->s->thread_count && !err; i++) {
		struct snapshot_thread *t = &l->s->threads[i];

		if (!waits_for_mutex(&t->t) || t->lock != LOCK_UNKNOWN)
			continue;
		err = look_at_place(l, t->t.wait_object, &empty);
		if (!err && empty)
			t->lock = LOCK_FREE;
	}
	return err;
}

/* Forget what is said of threads that have not waited all the time. */
static int verify(struct locks *l, const struct layout *layout)
{
	for (uint32_t i = 0; i < l->s->thread_count; i++) {
		struct snapshot_thread *t = &l->s->threads[i];
		struct rb_debug_ext_thread now;
		int err;

		if (t->lock == LOCK_UNKNOWN)
			continue;
		err = tables__read_thread(layout, l->memory, t->slot, &now);
		if (fatal(err) && err != -EAGAIN && err != -EINVAL)
			return err;
		if (err || now.serial != t->t.serial || now.state_seq != t->t.state_seq || !waits_for_mutex(&now))
			t->lock = LOCK_UNKNOWN;
	}
	return 0;
}

int locks__read(struct snapshot *s, const struct snapshot_source *source)
{
	const struct rb_debug_ext_section *section = &source->layout->section;
	struct locks l = { .s = s, .memory = source->memory };
	bool any = false;
	int err = 0;

	for (uint32_t i = 0; i < s->thread_count && !any; i++)
		any = waits_for_mutex(&s->threads[i].t);
	if (any && section->ec_fiber && section->fiber_prev) {
		err = index_fibers(&l, section->fiber_ec);
		if (!err)
			err = read_owners(&l);
		if (!err && !source->frozen)
			err = verify(&l, source->layout);
	}
	map64__free(&l.fibers);
	return err;
}
