/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/names.h"

struct composition {
	const struct names *names;
	struct text *out;
	int parts;
};

static void compose(struct composition *c, uint32_t id, int depth);

static void add_name(struct composition *c, const struct name_part *p)
{
	text__add(c->out, p->name ? p->name : "?", p->name ? p->name_length : 1);
}

static const struct name_part *part_at(struct composition *c, uint32_t id, int depth)
{
	if (!id || depth > RB_DEBUG_EXT_NAME_DEPTH_MAX || ++c->parts > NAMES_PARTS_MAX ||
	    c->out->length >= RB_DEBUG_EXT_NAME_MAX)
		return NULL;
	return c->names->part(c->names->context, id);
}

/* "Foo#", "Foo.", "#<instance of Foo>." before the name of a method at that depth.  A singleton
 * class is not named itself, so it adds nothing. */
static void compose_owner(struct composition *c, uint32_t id, int depth)
{
	const struct name_part *owner = part_at(c, id, depth);

	switch (owner ? owner->kind : RB_DEBUG_EXT_NONE) {
	case RB_DEBUG_EXT_SINGLETON:
		compose(c, owner->ref1, depth + 1);
		text__adds(c->out, ".");
		break;
	case RB_DEBUG_EXT_INSTANCE_SINGLETON:
		text__adds(c->out, "#<instance of ");
		compose(c, owner->ref1, depth + 1);
		text__adds(c->out, ">.");
		break;
	default:
		compose(c, id, depth + 1);
		text__adds(c->out, "#");
	}
}

static void compose_in(struct composition *c, const char *prefix, const struct name_part *p,
		       int depth)
{
	text__adds(c->out, prefix);
	compose(c, p->ref1, depth + 1);
}

/* The code that a block or clause is in. */
static void compose_place(struct composition *c, const struct name_part *p, int depth)
{
	const struct name_part *place = part_at(c, p->ref1, depth + 1);

	/* Methods of several classes run it: any owner would be wrong for some. */
	if (place && place->kind == RB_DEBUG_EXT_METHOD && place->flags & RB_DEBUG_EXT_SHARED) {
		add_name(c, place);
		return;
	}
	compose(c, p->ref1, depth + 1);
}

static void compose(struct composition *c, uint32_t id, int depth)
{
	const struct name_part *p = part_at(c, id, depth);

	if (!p) {
		text__adds(c->out, "?");
		return;
	}
	switch (p->kind) {
	case RB_DEBUG_EXT_METHOD:
	case RB_DEBUG_EXT_CMETHOD:
	case RB_DEBUG_EXT_BMETHOD:
		if (p->ref1)
			compose_owner(c, p->ref1, depth);
		add_name(c, p);
		break;
	case RB_DEBUG_EXT_BLOCK:
		if (p->level > 1)
			text__addf(c->out, "block (%u levels) in ", p->level);
		else
			text__adds(c->out, "block in ");
		compose_place(c, p, depth);
		break;
	case RB_DEBUG_EXT_RESCUE:
		text__adds(c->out, "rescue in ");
		compose_place(c, p, depth);
		break;
	case RB_DEBUG_EXT_ENSURE:
		text__adds(c->out, "ensure in ");
		compose_place(c, p, depth);
		break;
	case RB_DEBUG_EXT_EVAL:
		text__adds(c->out, "eval in ");
		compose_place(c, p, depth);
		break;
	case RB_DEBUG_EXT_BODY:
	case RB_DEBUG_EXT_INTERNAL:
	case RB_DEBUG_EXT_NAMED:
		add_name(c, p);
		break;
	case RB_DEBUG_EXT_ANON_CLASS:
		if (!p->ref1) {
			text__adds(c->out, "#<anonymous class>");
			break;
		}
		compose_in(c, "#<anonymous subclass of ", p, depth);
		text__adds(c->out, ">");
		break;
	case RB_DEBUG_EXT_ANON_MODULE:
		text__adds(c->out, "#<anonymous module>");
		break;
	case RB_DEBUG_EXT_SINGLETON:
		compose_in(c, "#<singleton of ", p, depth);
		text__adds(c->out, ">");
		break;
	case RB_DEBUG_EXT_INSTANCE_SINGLETON:
		compose_in(c, "#<singleton of #<instance of ", p, depth);
		text__adds(c->out, ">>");
		break;
	case RB_DEBUG_EXT_REFINEMENT:
		compose_in(c, "#<refinement ", p, depth);
		text__adds(c->out, " of ");
		compose(c, p->ref2, depth + 1);
		text__adds(c->out, ">");
		break;
	case RB_DEBUG_EXT_NESTED:
		compose(c, p->ref1, depth + 1);
		text__adds(c->out, "::");
		add_name(c, p);
		break;
	default:
		text__adds(c->out, "?");
	}
}

void names__compose(const struct names *n, uint32_t id, struct text *out)
{
	struct composition c = { .names = n, .out = out };

	compose(&c, id, 1);
}
