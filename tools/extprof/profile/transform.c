/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/transform.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bits that say what a frame is to the transformation. */
#define IS_FOCUS 1u
#define IS_HIDDEN 2u
#define IS_GROUP 4u
#define IS_CODE 8u
#define IS_OF_CALLER 16u	/* it has no owner but what calls it: a C method */
#define IS_END 32u		/* nothing that it calls is shown */

/* How the place of a node's stack was made. */
struct place {
	uint32_t node;		/* in the new tree */
	uint32_t gem;		/* the frame of the gem of which the node's code is; 0 none */
	bool inside;		/* the stack goes through what is looked for */
	bool ended;		/* and through that whose callers are looked for: the rest of it is not shown */
};

struct transformation {
	const struct transform *t;
	const struct tree *tree;
	const struct frame_table *frames;
	const struct owner_rules *rules;
	struct transformed *to;
	bool has_focus, has_end;
	bool *needed;		/* by node: it is above an end, or one itself; NULL: all are */
	uint8_t *kinds;		/* by frame */
	uint32_t *gems;		/* by frame: number of the gem's frame; 0: none */
	struct place *places;	/* by node */
	struct map64 gem_of;	/* number of the text of the gem's directory, or of its name -> number of its frame */
};

/* -- frames -------------------------------------------------------------------------------------- */

bool transform__is_file(const char *pattern, const char *path)
{
	const char *slash;

	for (const char *part = path; part; part = slash ? slash + 1 : NULL) {
		if (!fnmatch(pattern, part, FNM_LEADING_DIR))
			return true;
		slash = strchr(part, '/');
	}
	return false;
}

static bool matches_text(const char *pattern, const char *text, size_t length)
{
	char name[256];

	if (length >= sizeof(name))
		return false;
	memcpy(name, text, length);
	name[length] = '\0';
	return !strcmp(pattern, name) || !fnmatch(pattern, name, 0);
}

bool transform__is_method(const char *pattern, const struct frame *f)
{
	return *f->name && (!strcmp(pattern, f->name) || !fnmatch(pattern, f->name, 0));
}

static bool matches(const struct transform_rule *r, const struct frame *f, const struct owner *o)
{
	switch (r->what) {
	case TRANSFORM_APP: return o->kind == OWNER_APP;
	/* Some gems come with Ruby: they are parts of its standard library. */
	case TRANSFORM_GEM: return (o->kind == OWNER_GEM || o->kind == OWNER_STDLIB) && o->name && matches_text(r->pattern, o->name, o->name_length);
	case TRANSFORM_METHOD: return transform__is_method(r->pattern, f);
	default: return *f->path && transform__is_file(r->pattern, f->path);
	}
}

/* The number of a new frame.  There is room. */
static uint32_t add_frame(struct transformation *t, const struct frame *f)
{
	t->to->frames.list[t->to->frames.count] = *f;
	return t->to->frames.count++;
}

/* The frame of a gem; 0: out of memory. */
static uint32_t gem_frame(struct transformation *t, const struct owner *o)
{
	struct strings *s = &t->to->strings;
	struct frame f = FRAME_INIT(FRAME_RUBY);
	uint32_t root = strings__number(s, o->root, o->root_length), number;
	uint32_t key = t->t->versions_are_one ? strings__number(s, o->name, o->name_length) : root;
	struct text name = { 0 };
	char parts[2][256];

	if (root == MAP64_NONE || key == MAP64_NONE)
		return 0;
	number = map64__get(&t->gem_of, key);
	if (number != MAP64_NONE)
		return number;
	snprintf(parts[0], sizeof(parts[0]), "%.*s", (int)o->name_length, o->name);
	snprintf(parts[1], sizeof(parts[1]), "%.*s", (int)o->version_length, o->version);
	owner__add_text(OWNER_GEM, parts[0], parts[1], &name);
	/* The directory is what tells whose the frame is, too. */
	f.path = s->list[root];
	f.name = name.failed ? NULL : strings__intern(s, text__string(&name));
	f.bracketed = true;
	text__free(&name);
	if (!f.name)
		return 0;
	number = add_frame(t, &f);
	return map64__add(&t->gem_of, key, number) ? 0 : number;
}

/* Find what the frame of that number is. */
static int look_at(struct transformation *t, uint32_t number)
{
	static const uint8_t marks[] = {
		[TRANSFORM_FOCUS] = IS_FOCUS, [TRANSFORM_HIDE] = IS_HIDDEN, [TRANSFORM_CALLERS] = IS_END,
	};
	const struct frame *f = &t->frames->list[number];
	uint8_t kind = frame_kind__is_above(f->kind) ? IS_GROUP :
		       frame_kind__is_code(f->kind) ? IS_CODE : 0;
	struct owner o = { .kind = OWNER_NONE };

	if (f->kind == FRAME_C || f->kind == FRAME_BUILTIN || f->kind == FRAME_NATIVE)
		kind |= IS_OF_CALLER;
	if (f->kind == FRAME_RUBY)
		owner__find(f->path, t->rules, &o);
	for (uint32_t i = 0; kind & IS_CODE && f->kind <= FRAME_NATIVE && i < t->t->count; i++)
		if (matches(&t->t->rules[i], f, &o))
			kind |= marks[t->t->rules[i].action];
	t->kinds[number] = kind;
	if (!t->t->gems || o.kind != OWNER_GEM)
		return 0;
	t->gems[number] = gem_frame(t, &o);
	return t->gems[number] ? 0 : -ENOMEM;
}

static uint32_t add_mark(struct transformation *t, const char *name)
{
	struct frame f = FRAME_INIT(FRAME_MARK);

	f.name = name;
	f.bracketed = true;
	return add_frame(t, &f);
}

static int look_at_frames(struct transformation *t)
{
	struct frame_table *to = &t->to->frames;
	uint32_t count = t->frames->count;
	bool *used = calloc(count + 1u, sizeof(*used));
	int err = 0;

	/* Each frame can be of another gem; and three marks. */
	to->list = malloc((2 * (size_t)count + 3) * sizeof(*to->list));
	t->kinds = calloc(count + 1u, sizeof(*t->kinds));
	t->gems = calloc(count + 1u, sizeof(*t->gems));
	if (!used || !to->list || !t->kinds || !t->gems) {
		free(used);
		return -ENOMEM;
	}
	memcpy(to->list, t->frames->list, count * sizeof(*to->list));
	to->count = count;
	t->to->hidden = add_mark(t, "hidden");
	t->to->others = add_mark(t, "other methods");
	t->to->merged = add_frame(t, &t->frames->list[FRAME_MERGED]);
	for (uint32_t i = 1; i < t->tree->node_count; i++)
		used[t->tree->nodes[i].frame] = true;
	for (uint32_t i = 0; i < count && !err; i++)
		if (used[i])
			err = look_at(t, i);
	free(used);
	return err;
}

/* -- the tree ------------------------------------------------------------------------------------ */

static bool is_group(const struct transformation *t, uint32_t node)
{
	return !node || (t->to->tree.nodes[node].frame < t->frames->count &&
			 t->kinds[t->to->tree.nodes[node].frame] & IS_GROUP);
}

/* Whatever line of it runs. */
static bool is_same_method(const struct frame *a, const struct frame *b)
{
	return a->kind == b->kind && a->first_line == b->first_line && !strcmp(a->name, b->name) &&
	       !strcmp(a->path, b->path) && !strcmp(a->module, b->module) && a->bracketed == b->bracketed;
}

/* The node below which the frame is; not that of the same method, of which the innermost line is shown. */
static uint32_t parent_for(const struct transformation *t, uint32_t node, uint32_t frame)
{
	const struct tree *to = &t->to->tree;

	if (!t->t->recursion || is_group(t, node) || !(t->kinds[frame] & IS_CODE) ||
	    !is_same_method(frame_table__get(&t->to->frames, to->nodes[node].frame), &t->frames->list[frame]))
		return node;
	return to->nodes[node].parent;
}

/* The place of a node whose frame is shown in one way or another. */
static int put(struct transformation *t, uint32_t frame, const struct place *above, struct place *place)
{
	uint8_t kind = t->kinds[frame];
	struct tree *to = &t->to->tree;

	if (kind & IS_HIDDEN)
		return 0;
	place->gem = kind & IS_OF_CALLER ? above->gem : t->gems[frame];
	if (!place->gem)
		return tree__child(to, parent_for(t, above->node, frame), frame, &place->node);
	if (place->gem == above->gem)
		return 0;
	return tree__child(to, above->node, place->gem, &place->node);
}

static int take(struct transformation *t, uint32_t i)
{
	const struct tree_node *n = &t->tree->nodes[i];
	const struct place *above = &t->places[n->parent];
	struct place *place = &t->places[i];
	struct tree *to = &t->to->tree;
	uint8_t kind = t->kinds[n->frame];
	uint32_t node;
	int err;

	*place = *above;
	if (t->needed && !t->needed[i] && !above->ended)
		return 0;
	if (kind & IS_GROUP) {
		place->gem = 0;
		err = tree__child(to, above->node, n->frame, &place->node);
	} else {
		/* Frames below an end are not shown, so their focus does not count. */
		place->inside = above->inside || (kind & IS_FOCUS && !above->ended);
		place->ended = above->ended || kind & IS_END;
		/* Outside of the focus the place stays with the groups. */
		err = place->inside && !above->ended ? put(t, n->frame, above, place) : 0;
	}
	if (!err && place->inside && !t->has_end)
		t->to->places[i] = place->node;
	if (err || !n->samples)
		return err;
	if ((t->has_focus && !place->inside) || (t->has_end && !place->ended))
		return 0;
	node = place->node;
	/* Something has to stand for it. */
	if (!(kind & IS_GROUP) && is_group(t, node))
		err = tree__child(to, node, t->to->hidden, &node);
	if (err)
		return err;
	tree_node__add(&to->nodes[node], n->samples, &n->self, n->squares);
	to->samples += n->samples;
	to->merged += n->frame == FRAME_MERGED ? n->samples : 0;
	t->to->places[i] = node;
	return 0;
}

/* Nothing is made of stacks that have no end. */
static int find_needed(struct transformation *t)
{
	const struct tree_node *nodes = t->tree->nodes;

	t->needed = calloc(t->tree->node_count, sizeof(*t->needed));
	if (!t->needed)
		return -ENOMEM;
	/* Parents come before children. */
	for (uint32_t i = t->tree->node_count; i-- > 1;) {
		t->needed[i] |= (t->kinds[nodes[i].frame] & IS_END) != 0;
		t->needed[nodes[i].parent] |= t->needed[i];
	}
	return 0;
}

int transform__apply(const struct transform *transform, const struct tree *tree, const struct frame_table *frames,
		     const struct owner_rules *rules, struct transformed *to)
{
	struct transformation t = {
		.t = transform, .tree = tree, .frames = frames, .rules = rules, .to = to,
	};
	int err = -ENOMEM;

	memset(to, 0, sizeof(*to));
	for (uint32_t i = 0; i < transform->count; i++) {
		t.has_focus |= transform->rules[i].action == TRANSFORM_FOCUS;
		t.has_end |= transform->rules[i].action == TRANSFORM_CALLERS;
	}
	t.places = calloc(tree->node_count, sizeof(*t.places));
	to->places = malloc(tree->node_count * sizeof(*to->places));
	if (to->places)
		memset(to->places, 0xff, tree->node_count * sizeof(*to->places));
	if (!t.places || !to->places || tree__init(&to->tree) || look_at_frames(&t) || (t.has_end && find_needed(&t)))
		goto cleanup;
	/* Each node of the new tree is of one of the old tree, or it stands for the frames that one has not. */
	to->tree.node_max = 2 * tree->node_count + 1;
	t.places[0].inside = !t.has_focus;
	err = 0;
	/* Parents come before children. */
	for (uint32_t i = 1; i < tree->node_count && !err; i++)
		err = take(&t, i);
	/* A stack of no frame at all. */
	if (!err && tree->nodes[0].samples && !t.has_focus && !t.has_end) {
		tree_node__add(&to->tree.nodes[0], tree->nodes[0].samples, &tree->nodes[0].self, tree->nodes[0].squares);
		to->tree.samples += tree->nodes[0].samples;
		to->places[0] = 0;
	}
cleanup:
	free(t.kinds);
	free(t.gems);
	free(t.places);
	free(t.needed);
	map64__free(&t.gem_of);
	return err;
}

void transformed__free(struct transformed *to)
{
	tree__free(&to->tree);
	free(to->frames.list);
	strings__free(&to->strings);
	free(to->places);
	memset(to, 0, sizeof(*to));
}
