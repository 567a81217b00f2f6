/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/aside.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/deadline.h"

/* Time for one step, ns.  More is done if nobody else has something to be done. */
#define VM_TIME 5000000ull
#define USER_TIME 10000000ull
/* Time at the end of a recording, ns.  The ring holds less than what takes so long, unless stacks are all new. */
#define VM_TIME_AT_END 700000000ull
#define USER_TIME_AT_END 1000000000ull

/* Bytes of all samples that wait. */
#define ASIDE_BUDGET (64ull << 20)

struct aside_sample {
	struct aside_sample *next;
	size_t size;		/* of the event */
	bool has_details;
	struct wait_details details;
	struct sample_event event;	/* with all that belongs to it behind */
};

/* Samples of one VM that wait, oldest first. */
struct aside_queue {
	struct vm *vm;
	struct budget_share share;
	struct aside_sample *first, **end;
};

void aside__init(struct aside *a)
{
	memset(a, 0, sizeof(*a));
	a->budget.max = ASIDE_BUDGET;
}

/* -- time ------------------------------------------------------------------------------------ */

void aside__begin_turn(struct aside *a)
{
	a->turn++;
}

static struct aside_user *user_of(struct aside *a, const struct vm *vm)
{
	uint32_t user = vm->frames.user, i = 0;

	while (i < a->user_count && a->users[i].user != user)
		i++;
	if (i == BUDGET_USERS_MAX)
		i--;
	else if (i == a->user_count)
		a->users[a->user_count++] = (struct aside_user){ .user = user };
	if (a->users[i].turn != a->turn) {
		a->users[i].turn = a->turn;
		a->users[i].spent = 0;
	}
	return &a->users[i];
}

uint32_t aside__place_of(struct aside *a, const struct vm *vm)
{
	return (uint32_t)(user_of(a, vm) - a->users);
}

static uint64_t spent_by(const struct aside *a, const struct vm *vm)
{
	return vm->turn.turn == a->turn ? vm->turn.spent : 0;
}

bool aside__has_time(struct aside *a, const struct vm *vm)
{
	return spent_by(a, vm) < VM_TIME && user_of(a, vm)->spent < USER_TIME;
}

void aside__spend(struct aside *a, struct vm *vm, uint64_t ns)
{
	struct aside_user *user = user_of(a, vm);

	vm->turn.spent = spent_by(a, vm) + ns;
	vm->turn.turn = a->turn;
	user->spent += ns;
	if (!a->ends)
		return;
	vm->turn.at_end += ns;
	user->at_end += ns;
}

void aside__begin_end(struct aside *a, struct vm *const *vms, uint32_t count)
{
	a->ends = true;
	for (uint32_t i = 0; i < count; i++)
		if (vms[i])
			vms[i]->turn.at_end = 0;
	for (uint32_t i = 0; i < a->user_count; i++)
		a->users[i].at_end = 0;
}

void aside__end_end(struct aside *a)
{
	a->ends = false;
}

uint64_t aside__left_at_end(struct aside *a, const struct vm *vm)
{
	uint64_t of_user = user_of(a, vm)->at_end, of_vm = vm->turn.at_end;

	if (of_user >= USER_TIME_AT_END || of_vm >= VM_TIME_AT_END)
		return 0;
	of_user = USER_TIME_AT_END - of_user;
	of_vm = VM_TIME_AT_END - of_vm;
	return of_user < of_vm ? of_user : of_vm;
}

bool aside__has_had_all(struct aside *a, const struct vm *vm)
{
	return a->ends && !aside__left_at_end(a, vm);
}

/* Can all names of a sample be read now, or will there never be more of them? */
static bool can_read(const struct vm *vm)
{
	return vm->exited || !vm->space || vm->symbols.work >= SYMBOLS_SAMPLE_WORK;
}

/* -- samples that wait ------------------------------------------------------------------------- */

static struct aside_queue *queue_of(struct aside *a, struct vm *vm)
{
	struct aside_queue *q = vm->turn.waiting;

	if (q)
		return q;
	q = array__reserve(&a->queues, a->count, 1, &a->room, UINT32_MAX, sizeof(*a->queues)) ? NULL : calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->vm = vm;
	q->share = (struct budget_share){ .of = &a->budget, .user = vm->frames.user };
	q->end = &q->first;
	a->queues[a->count++] = q;
	vm->turn.waiting = q;
	return q;
}

static void free_first(struct aside_queue *q)
{
	struct aside_sample *s = q->first;

	q->first = s->next;
	if (!q->first)
		q->end = &q->first;
	budget__add(&q->share, -(int64_t)(offsetof(struct aside_sample, event) + s->size));
	free(s);
}

/* The queues that are empty go. */
static void drop_empty(struct aside *a)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		struct aside_queue *q = a->queues[i];

		if (q->first) {
			a->queues[kept++] = q;
			continue;
		}
		q->vm->turn.waiting = NULL;
		free(q);
	}
	a->count = kept;
}

void aside__free(struct aside *a)
{
	for (uint32_t i = 0; i < a->count; i++)
		while (a->queues[i]->first)
			free_first(a->queues[i]);
	drop_empty(a);
	free(a->queues);
	a->queues = NULL;
	a->room = 0;
}

static enum resolve_turn put(struct aside_queue *q, const struct sample_event *e, size_t size, const struct wait_details *details)
{
	size_t bytes = offsetof(struct aside_sample, event) + size;
	struct aside_sample *s = budget__has(&q->share, bytes) ? malloc(bytes) : NULL;

	if (!s)
		return TURN_NEVER;
	budget__add(&q->share, (int64_t)bytes);
	s->next = NULL;
	s->size = size;
	s->has_details = details;
	if (details)
		s->details = *details;
	memcpy(&s->event, e, size);
	*q->end = s;
	q->end = &s->next;
	return TURN_LATER;
}

enum resolve_turn aside__turn(struct aside *a, struct vm *vm, const struct sample_event *e, size_t size,
			      const struct wait_details *details)
{
	struct aside_queue *q;

	if (!a->open || (!vm->turn.waiting && can_read(vm) && aside__has_time(a, vm)))
		return TURN_NOW;
	q = queue_of(a, vm);
	return q ? put(q, e, size, details) : TURN_NEVER;
}

/* -- taking them -------------------------------------------------------------------------------- */

static void skip(struct aside_queue *q, struct resolver *c)
{
	for (; q->first; free_first(q))
		resolve__skip(c, &q->first->event, q->first->size);
}

static void resolve_first(struct aside *a, struct aside_queue *q, struct resolver *c)
{
	struct aside_sample *s = q->first;
	uint64_t before = deadline__now();

	c->details = s->has_details ? &s->details : NULL;
	resolve__event(c, &s->event, s->size);
	c->details = NULL;
	aside__spend(a, q->vm, deadline__now() - before);
	free_first(q);
}

/* Whose user has had less of the turn, or who has, if it is the same user. */
static bool comes_first(struct aside *a, const struct aside_queue *q, const struct aside_queue *than)
{
	uint64_t of_user = user_of(a, q->vm)->spent, of_other = user_of(a, than->vm)->spent;

	return of_user != of_other ? of_user < of_other : spent_by(a, q->vm) < spent_by(a, than->vm);
}

static struct aside_queue *choose(struct aside *a, struct resolver *c)
{
	struct aside_queue *best = NULL;

	for (uint32_t i = 0; i < a->count; i++) {
		struct aside_queue *q = a->queues[i];

		if (aside__has_had_all(a, q->vm))
			skip(q, c);
		if (q->first && can_read(q->vm) && (!best || comes_first(a, q, best)))
			best = q;
	}
	return best;
}

void aside__serve(struct aside *a, struct resolver *c, uint64_t until)
{
	struct aside_queue *q;

	while (a->count && (q = choose(a, c))) {
		resolve_first(a, q, c);
		if (deadline__now() >= until)
			break;
	}
	drop_empty(a);
}

bool aside__has_samples_of(const struct aside *a, uint32_t process)
{
	for (uint32_t i = 0; i < a->count; i++)
		for (const struct aside_sample *s = a->queues[i]->first; s; s = s->next)
			if (s->event.process == process)
				return true;
	return false;
}

void aside__skip(struct aside *a, struct resolver *c)
{
	for (uint32_t i = 0; i < a->count; i++)
		skip(a->queues[i], c);
	drop_empty(a);
}
