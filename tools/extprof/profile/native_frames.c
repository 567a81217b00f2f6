/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How native functions are put among the frames of Ruby: see "Native stacks" in the contract.  The native stack falls
 * into segments at the functions of vm_exec, and the Ruby frames into groups at those that have such a function of their
 * own.  Group and function of the same number belong together, so the native functions between two of vm_exec were called
 * by the methods in C at the inner end of a group.
 */
#include "profile/native_frames.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

/* Numbers of native functions, innermost first: [begin, end). */
struct segment {
	uint32_t begin, end;
};

struct joining {
	struct native_frames *f;
	struct frame_table *t;
	struct vm *vm;
	const struct sample_event *e;
	const struct sample_machine *m;
	const struct sample_frame *frames;
	uint32_t *stack, *count;
	uint32_t nr;		/* native functions */
	const uint64_t *address;	/* of them */
	uint64_t jit_start, jit_end, exec_start, exec_end;
	bool done;		/* f->doing is in the stack */
	int err;
};

void native_frames__free(struct native_frames *f)
{
	native__destroy(f->native);
	free(f->list);
	map64__free(&f->numbers);
	f->native = NULL;
	f->list = NULL;
	f->count = 0;
	f->room = 0;
}

void native_frames__restart(struct native_frames *f)
{
	f->joined = f->apart = 0;
	memset(f->ends, 0, sizeof(f->ends));
}

static void append(struct joining *j, uint32_t number)
{
	if (number == FRAME_MERGED)
		j->err = -ENOMEM;
	else
		j->stack[(*j->count)++] = number;
}

static void append_mark(struct joining *j, enum frame_kind kind, const char *name)
{
	struct frame frame = FRAME_INIT((uint8_t)kind);

	frame.name = name;
	frame.bracketed = true;
	append(j, frame_table__add(j->t, &frame));
}

/* -- native functions ------------------------------------------------------------------------- */

/* The number of an address in a file; MAP64_NONE: there is no room. */
static uint32_t number_of(struct native_frames *f, const struct native_place *p)
{
	uint64_t key = hash__mix((uint64_t)p->file << 44 ^ p->address);
	uint32_t number;

	while ((number = map64__get(&f->numbers, key)) != MAP64_NONE) {
		if (f->list[number].file == p->file && f->list[number].address == p->address)
			return number;
		key++;
	}
	if (array__reserve(&f->list, f->count, 1, &f->room, NATIVE_ADDRESSES_MAX, sizeof(*f->list)) ||
	    map64__add(&f->numbers, key, f->count))
		return MAP64_NONE;
	f->list[f->count] = (struct native_address){ .file = p->file, .address = p->address };
	native__want_names(f->native, p->file);
	return f->count++;
}

static bool is_jit(const struct joining *j, uint32_t i)
{
	return j->address[i] >= j->jit_start && j->address[i] < j->jit_end;
}

/* Is it the function that runs Ruby code? */
static bool is_exec(const struct joining *j, uint32_t i)
{
	uint64_t address = j->address[i] - (i != 0);

	return address >= j->exec_start && address < j->exec_end;
}

static bool is_of_vm(const struct joining *j, uint32_t i)
{
	return j->f->place[i].of_vm || is_jit(j, i);
}

static const char no_file[] = "native code in no file", late_mark[] = ": not read in time",
		  refused_mark[] = ": no permission to read it";

/* The file of the function, and why nothing is known of it. */
static void append_file(struct joining *j, const char *path, const char *why)
{
	struct text name = { 0 };

	text__adds(&name, basename(path));
	text__adds(&name, why);
	if (name.failed)
		j->err = -ENOMEM;
	else
		append_mark(j, FRAME_NATIVE, text__string(&name));
	text__free(&name);
}

static void append_native(struct joining *j, uint32_t i)
{
	const struct native_place *p = &j->f->place[i];
	uint32_t number = p->file == NATIVE_NO_FILE ? MAP64_NONE : number_of(j->f, p);

	if (p->file == NATIVE_NO_FILE && p->late)
		append_file(j, p->late, late_mark);
	else if (p->file == NATIVE_NO_FILE && p->refused)
		append_file(j, p->refused, refused_mark);
	else if (p->file == NATIVE_NO_FILE)
		append_mark(j, FRAME_NATIVE, no_file);
	else if (number == MAP64_NONE && p->file == NATIVE_IN_MAP)
		append_mark(j, FRAME_NATIVE, no_file);
	else if (number == MAP64_NONE)
		append_mark(j, FRAME_NATIVE, basename(native__path(j->f->native, p->file)));
	else
		append(j, frame_table__code_of(j->t, code__make(CODE_NATIVE, number, 0, false), &j->vm->frames));
}

static void append_doing(struct joining *j)
{
	for (uint32_t i = 0; i < j->f->doing_count && !j->done; i++)
		append(j, j->f->doing[i]);
	j->done = true;
}

/* The outermost of the last functions of the VM in the innermost segment: the collector and the compiler are called by
 * these, and what they call follows.  The end of the segment: there is none. */
static uint32_t place_of_doing(const struct joining *j, struct segment s)
{
	uint32_t i = s.begin;

	while (i < s.end && !is_of_vm(j, i))
		i++;
	if (i == s.end)
		return s.end;
	while (i + 1 < s.end && is_of_vm(j, i + 1))
		i++;
	return i;
}

/* The functions of a segment, outermost first; those of the VM that follow one another are one frame, if they are not wanted by
 * their names.  The outermost of these has none, if the caller is a frame that stands for them. */
static void append_segment(struct joining *j, struct segment s, bool stands_for_vm)
{
	bool folded = stands_for_vm, innermost = !s.begin && j->f->doing_count;
	uint32_t doing = innermost ? place_of_doing(j, s) : UINT32_MAX;

	for (uint32_t i = s.end; i-- > s.begin && !j->err;) {
		if (i == doing) {
			append_doing(j);
			folded = true;
		}
		if (j->f->vm ? !is_jit(j, i) : !is_of_vm(j, i)) {
			append_native(j, i);
			folded = false;
		} else if (!folded && !j->f->vm && !is_jit(j, i)) {
			append_mark(j, FRAME_NATIVE, "vm");
			folded = true;
		}
	}
}

static const char *why_ended(uint32_t end)
{
	switch (end) {
	case UNWIND_END_DEPTH: return "truncated: more native functions";
	case UNWIND_END_NO_FILE: return "truncated: native code in no file";
	case UNWIND_END_NO_RULES: return "truncated: a native function without unwind rules";
	case UNWIND_END_RULE: return "truncated: a native function with other unwind rules";
	case UNWIND_END_FP: return "truncated: a native function's frame pointer is lost";
	case UNWIND_END_STACK: return "truncated: the native stack is not readable";
	case UNWIND_END_ORDER: return "truncated: the native stack is not in order";
	case UNWIND_END_JIT: return "truncated: code of a JIT";
	case UNWIND_END_CHANGED: return "truncated: a library was loaded there";
	case UNWIND_END_FIBER: return "truncated: the native stack of another fiber";
	default: return NULL;
	}
}

static const char left_out_mark[] = "native functions left out";
/* The stack came before extprof had read the mappings of its process, or the rules of a file. */
static const char no_mappings_mark[] = "truncated: mappings not read yet";
static const char no_rules_mark[] = "truncated: unwind rules not read yet";
static const char no_permission_mark[] = "truncated: no permission to read the file of a native function";

static const char *why_it_ended(const struct joining *j)
{
	const struct native_place *last = &j->f->place[j->nr ? j->nr - 1 : 0];

	if (!j->m)
		return NULL;
	if (j->m->native_end == UNWIND_END_NO_FILE && !j->nr)
		return no_mappings_mark;
	if (j->m->native_end == UNWIND_END_NO_RULES && j->nr && (last->late || last->rule != UNWIND_NONE))
		return no_rules_mark;
	if (j->m->native_end == UNWIND_END_NO_RULES && j->nr && last->refused)
		return no_permission_mark;
	return why_ended(j->m->native_end);
}

bool native_frames__is_mark(const struct frame *f)
{
	if (f->kind != FRAME_MARK)
		return false;
	for (uint32_t i = 0; i < UNWIND_ENDS; i++)
		if (why_ended(i) && !strcmp(why_ended(i), f->name))
			return true;
	return !strcmp(left_out_mark, f->name) || !strcmp(no_mappings_mark, f->name) || !strcmp(no_rules_mark, f->name) ||
	       !strcmp(no_permission_mark, f->name);
}

/* -- Ruby frames ------------------------------------------------------------------------------ */

static bool is_code(const struct joining *j, uint32_t i)
{
	return j->frames[i].id > RB_DEBUG_EXT_ID_INTERNAL;
}

/* Those that the VM pushed for its own purposes are no methods. */
static bool is_of_c(const struct joining *j, uint32_t i)
{
	return is_code(j, i) && j->frames[i].flags & FRAME_OF_C;
}

/* Is the frame the outermost one of a native call of the interpreter? */
static bool is_outermost_of_call(const struct joining *j, uint32_t i)
{
	return is_code(j, i) && !is_of_c(j, i) && j->frames[i].flags & FRAME_FINISH;
}

static void append_ruby(struct joining *j, uint32_t i)
{
	if (j->f->shown[i])
		append(j, j->f->shown[i]);
}

/* Where the function in C of a frame begins; 0: not known. */
static uint64_t function_of(const struct joining *j, uint32_t i)
{
	uint32_t number = map64__get(&j->vm->symbols.map, j->frames[i].id);
	const struct symbol *s = number == MAP64_NONE ? NULL : j->vm->symbols.table->list[number];

	return s && s->state == SYMBOL_OK && s->part.kind == RB_DEBUG_EXT_CMETHOD ? s->code : 0;
}

/* Leave out what the interpreter has called for itself: the loop that runs instructions, and machine code of YJIT.
 * They are no functions of interest. */
static struct segment without_loop(const struct joining *j, struct segment s)
{
	bool loop = true;

	while (s.end > s.begin && (is_jit(j, s.end - 1) || (loop && is_of_vm(j, s.end - 1)))) {
		loop &= is_jit(j, s.end - 1);
		s.end--;
	}
	return s;
}

static bool has_other_than_vm(const struct joining *j, struct segment s)
{
	for (uint32_t i = s.begin; i < s.end; i++)
		if (!is_of_vm(j, i))
			return true;
	return false;
}

/* Leave out how the program or a thread begins, and then the VM in it.  What remains are functions of a library that the VM has
 * called without a method, as that of a thread which an extension has made. */
static struct segment without_beginning(const struct joining *j, struct segment s)
{
	/* _start() is in the program, and what calls main() is in libc.  Another thread, and a fiber, begin in libc or in the VM. */
	if (s.end > s.begin && j->f->place[s.end - 1].rule == UNWIND_OUTERMOST)
		s.end--;
	while (s.end > s.begin && !is_of_vm(j, s.end - 1))
		s.end--;
	while (s.end > s.begin && is_of_vm(j, s.end - 1))
		s.end--;
	return s;
}

/* Functions before the first method in C of a group: how the VM calls it is left out, a function of a library that has called it
 * is not. */
static void append_callers(struct joining *j, struct segment s)
{
	s = without_loop(j, s);
	if (has_other_than_vm(j, s))
		append_segment(j, s, true);
}

/* Methods in C, frames [begin, end), and the native functions that they are in. */
static void append_c(struct joining *j, uint32_t begin, uint32_t end, struct segment s, bool innermost, bool outermost)
{
	bool all_found = true, left_out = false;
	struct segment inner;

	if (begin == end && j->f->vm) {
		append_segment(j, s, false);
		return;
	}
	if (begin == end) {
		s = without_loop(j, s);
		/* Between two calls of the interpreter that is how the VM calls itself. */
		if (innermost || has_other_than_vm(j, s))
			append_segment(j, s, false);
		return;
	}
	for (uint32_t i = end; i-- > begin && !j->err;) {
		uint64_t function = function_of(j, i);

		inner = s;
		while (function && inner.end > inner.begin && j->f->place[inner.end - 1].function != function)
			inner.end--;
		if (function && inner.end > inner.begin) {
			/* The functions in between belong to the method before, or were called before the first one. */
			struct segment between = { inner.end, s.end };

			if (i + 1 < end || j->f->vm)
				append_segment(j, between, true);
			else
				append_callers(j, between);
			s = inner;
		} else {
			all_found = false;
		}
		append_ruby(j, i);
	}
	/* If the functions of all methods were found, we know which method called what.  The one method that has just begun or ended
	 * has called all in its segment, but for the functions that a thread begins with. */
	if (all_found || (end - begin == 1 && !outermost)) {
		append_segment(j, s, true);
		return;
	}
	/* The last functions were called by the innermost method. */
	inner = s;
	for (inner.end = s.begin; inner.end < s.end && !is_of_vm(j, inner.end); inner.end++)
		;
	for (uint32_t i = inner.end; i < s.end; i++)
		left_out |= j->f->vm || !is_of_vm(j, i);
	if (left_out)
		append_mark(j, FRAME_MARK, left_out_mark);
	append_segment(j, inner, false);
}

/* The numbers of the functions of vm_exec agree with the Ruby frames: *ahead is 1 if the innermost of these has none yet,
 * or not any more. */
static bool can_join(const struct joining *j, uint32_t *ahead)
{
	uint32_t calls = 0, functions = 0;

	if (j->m->native_end != UNWIND_END_OUTERMOST || j->e->truncated || !j->exec_start)
		return false;
	for (uint32_t i = 0; i < j->e->nr_frames; i++) {
		if (is_code(j, i) && !(j->frames[i].flags & FRAME_KNOWN))
			return false;
		calls += is_outermost_of_call(j, i);
	}
	for (uint32_t i = 0; i < j->nr; i++)
		functions += is_exec(j, i);
	*ahead = calls - functions;
	return calls == functions || calls == functions + 1;
}

/* The segment between two functions of vm_exec: number 0 is the innermost. */
static struct segment segment_of(const struct joining *j, uint32_t number)
{
	struct segment s = { 0, 0 };
	uint32_t i = 0;

	for (; i < j->nr && number; i++) {
		if (is_exec(j, i)) {
			number--;
			s.begin = i + 1;
		}
	}
	for (; i < j->nr && !is_exec(j, i); i++)
		;
	s.end = number ? s.begin : i;
	return s;
}

/* All Ruby frames from the outermost on, each group with its segment. */
static void join(struct joining *j, uint32_t ahead)
{
	uint32_t end = j->e->nr_frames, groups = 0;

	for (uint32_t i = 0; i < end; i++)
		groups += is_outermost_of_call(j, i);
	for (uint32_t number = groups; !j->err; number--) {
		/* Beyond the last one are the frames that no vm_exec runs. */
		uint32_t begin = number < groups ? end - 1 : end, c = end;
		struct segment s = { 0, 0 };

		if (number >= ahead)
			s = segment_of(j, number - ahead);
		/* The function that runs the group's Ruby code. */
		if (j->f->vm && number < groups && number >= ahead && s.end < j->nr)
			append_native(j, s.end);
		while (begin && !is_outermost_of_call(j, begin - 1))
			begin--;
		while (c > begin && !is_of_c(j, c - 1))
			append_ruby(j, --c);
		/* Before the first Ruby code there are the beginning of the program and of threads. */
		if (number == groups && (groups || begin < c) && !j->f->vm)
			s = without_beginning(j, s);
		if (number == groups && begin == c && groups && !j->f->vm)
			append_segment(j, s, true);
		else if (number >= ahead)
			append_c(j, begin, c, s, number == ahead, number == groups);
		else
			while (c > begin)
				append_ruby(j, --c);
		if (!number)
			return;
		end = begin;
	}
}

/* Not joined: the functions that were called last, up to the first one of the VM. */
static void append_leaf(struct joining *j)
{
	const char *why = why_it_ended(j);
	struct segment s = { 0, 0 };
	bool left_out = why != NULL;

	while (s.end < j->nr && !is_of_vm(j, s.end))
		s.end++;
	for (uint32_t i = s.end; i < j->nr; i++)
		left_out |= j->f->vm || !is_of_vm(j, i);
	if (left_out)
		append_mark(j, FRAME_MARK, why ? why : left_out_mark);
	append_segment(j, s, false);
}

/* A thread without Ruby code. */
static void append_all(struct joining *j)
{
	const char *why = why_it_ended(j);

	if (why)
		append_mark(j, FRAME_MARK, why);
	append_segment(j, (struct segment){ 0, j->nr }, false);
}

int native_frames__add(struct native_frames *f, struct frame_table *t, struct vm *vm, const struct sample_event *e,
		       const struct sample_frame *frames, uint32_t *stack, uint32_t *count)
{
	const struct sample_machine *m = sample__machine(e);
	struct joining j = {
		.f = f, .t = t, .vm = vm, .e = e, .m = m, .frames = frames, .stack = stack, .count = count,
		.nr = m ? m->nr_native : 0, .address = m ? m->address + m->nr_kernel : NULL,
		.jit_start = vm->layout.section.jit_start, .jit_end = vm->layout.section.jit_end,
		.exec_start = vm->layout.section.exec_start, .exec_end = vm->layout.section.exec_end,
	};
	uint32_t ahead = 0;
	bool exact = true, last_exact = true;

	for (uint32_t i = 0; i < j.nr; i++) {
		native__find(f->native, e->vm, j.address[i], e->time, exact, &f->place[i]);
		last_exact = exact;
		exact = f->place[i].rule == UNWIND_SIGNAL;
	}
	/* The walk found no file at that address: a file that is known there now came later. */
	if (j.nr && m->native_end == UNWIND_END_NO_FILE)
		f->place[j.nr - 1] = (struct native_place){ .file = NATIVE_NO_FILE, .in_no_file = f->place[j.nr - 1].in_no_file };
	/* No rule is of code of a JIT: it is where the walk ends. */
	if (j.nr && (m->native_end == UNWIND_END_NO_FILE || m->native_end == UNWIND_END_NO_RULES) && !is_jit(&j, j.nr - 1))
		native__find_in_map(f->native, e->vm, j.address[j.nr - 1], e->time, last_exact, &f->place[j.nr - 1]);
	if (m && m->native_end < UNWIND_ENDS)
		f->ends[m->native_end]++;
	if (m && (m->native_end == UNWIND_END_NO_FILE || m->native_end == UNWIND_END_CHANGED))
		native__look_again(f->native, e->vm);
	if (!e->nr_frames) {
		append_all(&j);
		if (!m)
			append_mark(&j, FRAME_MARK, left_out_mark);
		append_doing(&j);
		return j.err;
	}
	if (j.nr && can_join(&j, &ahead)) {
		f->joined++;
		join(&j, ahead);
	} else {
		f->apart++;
		for (uint32_t i = e->nr_frames; i-- > 0;)
			append_ruby(&j, i);
		/* Its stack was read from outside. */
		if (!m)
			append_mark(&j, FRAME_MARK, left_out_mark);
		append_leaf(&j);
	}
	append_doing(&j);
	return j.err;
}

/* -- names ------------------------------------------------------------------------------------ */

int native_frames__take(struct native_frames *f, struct frame_table *t, uint32_t number)
{
	struct frame frame = FRAME_INIT(FRAME_NATIVE);
	struct native_address *a;
	struct text name = { 0 };
	const char *path;
	int err;

	if (number >= t->count || code__space(t->codes[number]) != CODE_NATIVE)
		return 0;
	a = &f->list[code__number(t->codes[number])];
	/* A function that had no name when it was asked for may have one now. */
	if (*t->list[number].name && a->named)
		return 0;
	path = native__path(f->native, a->file);
	frame.module = path;
	frame.key = native__build_id(f->native, a->file);
	frame.address = a->address;
	err = native__add_name(f->native, a->file, a->address, &name);
	/* A name that comes from a map can change. */
	a->named = err != -EAGAIN && err != -ETIMEDOUT && a->file != NATIVE_IN_MAP;
	if (a->file == NATIVE_IN_MAP)
		frame.address = native__map_address(f->native, a->address);
	if (err && a->file == NATIVE_IN_MAP) {
		text__adds(&name, no_file);
		frame.module = "";
		frame.bracketed = true;
	} else if (err) {
		text__adds(&name, basename(path));
		if (err == -ETIMEDOUT)
			text__adds(&name, late_mark);
		frame.bracketed = true;
	}
	frame.name = text__string(&name);
	err = name.failed ? -ENOMEM : frame_table__set(t, number, &frame);
	text__free(&name);
	return err;
}

int native_frames__take_all(struct native_frames *f, struct frame_table *t)
{
	int err = 0;

	for (uint32_t i = 0; i < t->count && !err; i++)
		err = native_frames__take(f, t, i);
	return err;
}

bool native_frames__module(const struct native_frames *f, const struct frame_table *t, uint32_t number, struct debug_module *m)
{
	uint32_t address;

	if (number >= t->count || code__space(t->codes[number]) != CODE_NATIVE)
		return false;
	address = code__number(t->codes[number]);
	if (!f->native || address >= f->count || f->list[address].file == NATIVE_IN_MAP)
		return false;
	native__module(f->native, f->list[address].file, m);
	return true;
}
