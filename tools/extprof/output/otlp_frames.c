/* SPDX-License-Identifier: BSD-2-Clause */
/* The dictionary: texts, attributes, functions, locations, stacks. */
#include "output/otlp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define STACKS_MAX (16u << 20)

/* An index of a table; 0 after an error. */
static int32_t checked(struct otlp *x, uint32_t number)
{
	if (number < OTLP_ITEMS_MAX)
		return (int32_t)number;
	x->err = x->err ? x->err : -ENOMEM;
	return 0;
}

static int32_t add(struct otlp *x, enum otlp_table table, const ProtobufCMessage *m)
{
	return checked(x, otlp_list__message(&x->tables[table], m));
}

int32_t otlp__string(struct otlp *x, const char *text)
{
	return checked(x, otlp_list__number(&x->tables[OTLP_STRINGS], text, strlen(text)));
}

static int32_t attribute(struct otlp *x, const char *key, Otlp__AnyValue *value)
{
	Otlp__KeyValueAndUnit a = OTLP__KEY_VALUE_AND_UNIT__INIT;

	a.key_strindex = otlp__string(x, key);
	a.value = value;
	return add(x, OTLP_ATTRIBUTES, &a.base);
}

int32_t otlp__attribute(struct otlp *x, const char *key, const char *text)
{
	Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;

	value.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	/* It is only read. */
	value.string_value = (char *)text;
	return attribute(x, key, &value);
}

int32_t otlp__number_attribute(struct otlp *x, const char *key, int64_t number)
{
	Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;

	value.value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
	value.int_value = number;
	return attribute(x, key, &value);
}

static int32_t true_attribute(struct otlp *x, const char *key)
{
	Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;

	value.value_case = OTLP__ANY_VALUE__VALUE_BOOL_VALUE;
	value.bool_value = true;
	return attribute(x, key, &value);
}

/*
 * The zero value of each, which is a message without a field.  The link is one, too: the schema would rather have 16 and
 * 8 bytes of 0 in it, which Parca refuses; and collectors write none.
 */
void otlp__begin_tables(struct otlp *x)
{
	for (int i = 0; i < OTLP_TABLES; i++)
		checked(x, otlp_list__number(&x->tables[i], "", 0));
}

/* -- locations ---------------------------------------------------------------------------------------- */

/* Ruby code is in none: its files have their place in the function. */
static int32_t mapping_of(struct otlp *x, const struct frame *f)
{
	Otlp__Mapping mapping = OTLP__MAPPING__INIT;
	struct text name = { 0 };
	int32_t index, build_id;

	if (f->kind == FRAME_KERNEL)
		text__addf(&name, "[%s]", *f->module ? f->module : "kernel");
	else if (f->kind == FRAME_NATIVE)
		text__adds(&name, f->module);
	if (name.failed)
		x->err = -ENOMEM;
	if (!name.length) {
		text__free(&name);
		return 0;
	}
	mapping.filename_strindex = otlp__string(x, text__string(&name));
	text__free(&name);
	/* Addresses are those in the file, wherever it was mapped. */
	if (f->kind == FRAME_NATIVE && *f->key) {
		build_id = otlp__attribute(x, "process.executable.build_id.gnu", f->key);
		mapping.attribute_indices = &build_id;
		mapping.n_attribute_indices = 1;
	}
	index = add(x, OTLP_MAPPINGS, &mapping.base);
	return index;
}

/* Names that others have too end with what tells them apart: viewers add up by name.  The bare one is the system's. */
static int32_t function_of(struct otlp *x, const struct report_label *l)
{
	Otlp__Function function = OTLP__FUNCTION__INIT;

	function.name_strindex = otlp__string(x, *l->name ? l->name : "[unknown]");
	if (l->bare && l->name[l->bare])
		function.system_name_strindex = checked(x, otlp_list__number(&x->tables[OTLP_STRINGS], l->name, l->bare));
	function.filename_strindex = otlp__string(x, l->frame.path);
	function.start_line = l->frame.first_line > 0 ? l->frame.first_line : 0;
	return add(x, OTLP_FUNCTIONS, &function.base);
}

/* NULL: it is nothing that an interpreter or a compiler has made. */
static const char *type_of(const struct frame *f)
{
	switch (f->kind) {
	case FRAME_RUBY:
	case FRAME_C:
	case FRAME_BUILTIN:
	case FRAME_GC: return "ruby";
	case FRAME_NATIVE: return "native";
	case FRAME_KERNEL: return "kernel";
	default: return NULL;
	}
}

static uint32_t location_of(struct otlp *x, const struct report_label *l)
{
	const struct frame *f = &l->frame;
	const char *type = type_of(f);
	Otlp__Location location = OTLP__LOCATION__INIT;
	Otlp__Line line = OTLP__LINE__INIT, *lines[1] = { &line };
	int32_t attributes[3];

	location.mapping_index = mapping_of(x, f);
	location.address = f->kind == FRAME_NATIVE ? f->address : 0;
	line.function_index = function_of(x, l);
	/* A line without a file is no place. */
	line.line = *f->path && f->line > 0 ? f->line : 0;
	location.n_lines = 1;
	location.lines = lines;
	location.attribute_indices = attributes;
	if (type)
		attributes[location.n_attribute_indices++] = otlp__attribute(x, "profile.frame.type", type);
	attributes[location.n_attribute_indices++] =
		otlp__attribute(x, "extprof.frame.kind", f->kind < FRAME_KINDS ? frame_kind_names[f->kind] : "unknown");
	if (f->approximate && line.line)
		attributes[location.n_attribute_indices++] = true_attribute(x, "extprof.line.approximate");
	return (uint32_t)add(x, OTLP_LOCATIONS, &location.base);
}

/* Which labels are frames of stacks that have samples. */
static void find_used(const struct report *r, bool *labels, bool *nodes)
{
	/* Children of a node come after it. */
	for (uint32_t i = r->node_count; i-- > 1;) {
		const struct report_node *n = &r->nodes[i];
		bool is_leaf = n->weight.count || n->weight.value;

		nodes[i] |= is_leaf;
		nodes[n->parent] |= nodes[i];
		/* A stack without code ends with whose it is. */
		labels[n->label] |= n->depth > r->group_count ? nodes[i] : is_leaf;
	}
}

uint32_t *otlp__locations(struct otlp *x, const struct report *r)
{
	bool *labels = calloc(r->label_count + 1u, sizeof(*labels)), *nodes = calloc(r->node_count + 1u, sizeof(*nodes));
	uint32_t *locations = calloc(r->label_count + 1u, sizeof(*locations));

	if (labels && nodes && locations) {
		find_used(r, labels, nodes);
		for (uint32_t i = 0; i < r->label_count && !x->err; i++)
			if (labels[i])
				locations[i] = location_of(x, &r->labels[i]);
	} else {
		free(locations);
		locations = NULL;
	}
	free(labels);
	free(nodes);
	return locations;
}

/* -- stacks -------------------------------------------------------------------------------------------- */

uint32_t otlp__stack_node(struct otlp *x, uint32_t parent, uint32_t location)
{
	uint64_t key = (uint64_t)parent << 32 | location;
	uint32_t node = map64__get(&x->stack_map, key);

	if (node != MAP64_NONE || x->err)
		return x->err ? 0 : node;
	if (!x->stack_count && !array__reserve(&x->stacks, 0, 1, &x->stack_room, STACKS_MAX, sizeof(*x->stacks)))
		x->stacks[x->stack_count++] = (struct otlp_stack){ 0 };
	if (!x->stack_count || array__reserve(&x->stacks, x->stack_count, 1, &x->stack_room, STACKS_MAX, sizeof(*x->stacks)) ||
	    map64__add(&x->stack_map, key, x->stack_count)) {
		x->err = -ENOMEM;
		return 0;
	}
	x->stacks[x->stack_count] = (struct otlp_stack){
		.parent = parent, .location = location, .depth = x->stacks[parent].depth + 1,
	};
	return x->stack_count++;
}

int32_t otlp__stack(struct otlp *x, uint32_t node)
{
	Otlp__Stack stack = OTLP__STACK__INIT;

	if (!node || x->err)
		return 0;
	if (x->stacks[node].number)
		return (int32_t)x->stacks[node].number;
	if (array__reserve(&x->indices, 0, x->stacks[node].depth, &x->index_room, STACKS_MAX, sizeof(*x->indices))) {
		x->err = -ENOMEM;
		return 0;
	}
	for (uint32_t i = node; i; i = x->stacks[i].parent)
		x->indices[stack.n_location_indices++] = (int32_t)x->stacks[i].location;
	stack.location_indices = x->indices;
	x->stacks[node].number = (uint32_t)add(x, OTLP_STACKS, &stack.base);
	return (int32_t)x->stacks[node].number;
}
