/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Labels of a target: for what it worked.  See "Labels" in ruby/debug_external.h.  A program can use many,
 * so they are no symbols: they are forgotten when there are too many, and read again.
 */
#ifndef EXTPROF_LABELS_H
#define EXTPROF_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "base/map64.h"

/* Records that are kept of one VM, and bytes of their texts. */
#define LABELS_KEPT_MAX (1u << 16)
#define LABELS_BYTES_MAX (16u << 20)

struct symbol;
struct symbols;

struct label_record {
	uint32_t ref1;		/* the set that it extends, 0 none */
	bool expired;		/* nothing else is known */
	uint16_t key_length, value_length;
	char *key;		/* bytes as they are */
	char *value;		/* the same; NULL: the key has no value in this set */
};

/* Zero-initialise.  A part of struct symbols. */
struct labels {
	struct map64 map;	/* id -> number in list */
	struct label_record *list;
	uint32_t count;
	size_t room;
	uint64_t bytes;
	struct budget_share *share;	/* NULL: none */
	bool wanted;		/* labels were asked for: records are read ahead */
};

enum label_state {
	LABEL_SET,
	LABEL_NOT_SET,
	LABEL_EXPIRED,		/* the record's grace period was over */
	LABEL_UNREAD,		/* the process has ended, there was no time, or it makes no sense */
};

/*
 * The value of a key in a set.  LABEL_SET: *value is valid until the next call for this VM.
 * A copy made by fork asks its parent for sets of before, if it cannot read them itself.
 */
enum label_state labels__find(struct symbols *s, uint32_t set, const char *key, const struct label_record **value);

/* The record `number` of a set, from the innermost one (0) on, the same way.  LABEL_NOT_SET: there are no
 * more; a record without a value is LABEL_SET. */
enum label_state labels__at(struct symbols *s, uint32_t set, uint32_t number, const struct label_record **record);

/*
 * The innermost record of a set, which becomes the set that the record extends.  LABEL_NOT_SET: there are no more.  The
 * caller ends after RB_DEBUG_EXT_LABELS_MAX records: a target can make a ring of them.
 */
enum label_state labels__next(struct symbols *s, uint32_t *set, const struct label_record **record);

/* Keep a record of kind LABEL that was read; nothing of *value is taken.  0 or -errno. */
int labels__keep(struct labels *l, const struct symbol *value);

void labels__free(struct labels *l);

#endif /* EXTPROF_LABELS_H */
