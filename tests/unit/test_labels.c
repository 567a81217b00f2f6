/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of labels: chains of records that extend others, vanish and lie. */
#include "test.h"

#include "fake.h"
#include "memory_fake.h"
#include "ruby/labels.h"
#include "ruby/symbols.h"

static struct rb_debug_ext_section section;
static struct fake vm;
static struct memory_fake memory;
static struct layout layout;
static struct symbol_table table;
static struct symbols symbols;
static struct diag diag;

static void set_up(void)
{
	fake__init(&vm, &section);
	memory_fake__init(&memory);
	layout__read(&layout, &memory.memory, (uintptr_t)&section, &diag);
	symbols__init(&symbols, &table, &layout, &memory.memory);
}

static void tear_down(void)
{
	symbols__free(&symbols);
	symbol_table__free(&table);
}

/* value NULL: the key has none from here on. */
static uint32_t label(const char *key, const char *value, uint32_t outer)
{
	uint32_t id = fake__record(&vm, RB_DEBUG_EXT_LABEL, key, outer, 0);

	if (value)
		fake__set_path(fake__get(&vm, id), value);
	return id;
}

/* "=value", or the state as a word. */
static const char *find(uint32_t set, const char *key)
{
	static char text[RB_DEBUG_EXT_LABEL_VALUE_MAX + 2];
	const struct label_record *value;

	switch (labels__find(&symbols, set, key, &value)) {
	case LABEL_SET:
		snprintf(text, sizeof(text), "=%.*s", value->value_length, value->value);
		return text;
	case LABEL_NOT_SET: return "not set";
	case LABEL_EXPIRED: return "expired";
	case LABEL_UNREAD: return "unread";
	}
	return "?";
}

TEST(labels_are_those_of_the_innermost_record)
{
	uint32_t a, b, none, inner;

	set_up();
	a = label("request", "GET /x", 0);
	b = label("tenant", "42", a);
	none = label("request", NULL, b);
	inner = label("request", "", none);
	CHECK_STRING(find(0, "request"), "not set");
	CHECK_STRING(find(a, "request"), "=GET /x");
	CHECK_STRING(find(a, "tenant"), "not set");
	CHECK_STRING(find(a, "reques"), "not set");
	CHECK_STRING(find(a, "requests"), "not set");
	CHECK_STRING(find(b, "request"), "=GET /x");
	CHECK_STRING(find(b, "tenant"), "=42");
	CHECK_STRING(find(none, "request"), "not set");
	CHECK_STRING(find(none, "tenant"), "=42");
	CHECK_STRING(find(inner, "request"), "=");
	/* What is known is not read again. */
	memory.reads = 0;
	CHECK_STRING(find(inner, "tenant"), "=42");
	CHECK_INT(memory.reads, 0);
	tear_down();
}

TEST(labels_that_expired_are_no_others)
{
	uint32_t gone, inner, method;

	set_up();
	gone = fake__record(&vm, RB_DEBUG_EXT_NONE, NULL, 0, 0);
	inner = label("tenant", "42", gone);
	method = fake__record(&vm, RB_DEBUG_EXT_METHOD, "request", 0, 0);
	CHECK_STRING(find(gone, "request"), "expired");
	CHECK_STRING(find(inner, "tenant"), "=42");
	CHECK_STRING(find(inner, "request"), "expired");
	/* A record of another kind, and an id that no record has, are no labels. */
	CHECK_STRING(find(method, "request"), "unread");
	CHECK_STRING(find(vm.next_id + 100, "request"), "unread");
	/* The texts that were read stay when the record is gone. */
	memset(fake__get(&vm, inner), 0, sizeof(struct rb_debug_ext_record));
	CHECK_STRING(find(inner, "tenant"), "=42");
	tear_down();
}

TEST(labels_of_a_process_that_lies_are_bounded)
{
	static char longest[4096];
	const struct label_record *r;
	uint32_t a, b, deep = 0, wide;

	set_up();
	a = label("a", "1", 0);
	b = label("b", "2", a);
	fake__get(&vm, a)->ref1 = b;	/* a ring */
	CHECK_STRING(find(b, "c"), "unread");
	CHECK_INT(labels__at(&symbols, b, 3, &r), LABEL_SET);
	CHECK_INT(labels__at(&symbols, b, 100, &r), LABEL_NOT_SET);
	for (int i = 0; i < 70; i++)
		deep = label(i ? "deep" : "outermost", "1", deep);
	CHECK_STRING(find(deep, "outermost"), "unread");
	memset(longest, 'v', sizeof(longest) - 1);
	wide = label("wide", longest, 0);
	CHECK_INT((int)strlen(find(wide, "wide")), 1 + RB_DEBUG_EXT_LABEL_VALUE_MAX);
	tear_down();
}

TEST(labels_are_forgotten_when_they_are_many_and_read_again)
{
	struct symbol value = { .state = SYMBOL_OK };
	uint32_t a, b;

	set_up();
	a = label("a", "1", 0);
	b = label("b", "2", a);
	CHECK_STRING(find(b, "a"), "=1");
	value.part.kind = RB_DEBUG_EXT_LABEL;
	value.part.name = (char *)"many";
	value.part.name_length = 4;
	for (uint32_t i = 0; i < LABELS_KEPT_MAX + 10; i++) {
		value.id = 1000000 + i;
		CHECK_INT(labels__keep(&symbols.labels, &value), 0);
	}
	CHECK(symbols.labels.count <= LABELS_KEPT_MAX);
	CHECK_STRING(find(b, "a"), "=1");
	tear_down();
}
