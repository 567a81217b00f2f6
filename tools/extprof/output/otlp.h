/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of a file of OTLP profiles.  All messages are kept packed, so that both forms of the file, protocol buffers and
 * JSON, are of the same bytes.
 */
#ifndef EXTPROF_OTLP_H
#define EXTPROF_OTLP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map64.h"
#include "output/output.h"
#include "otlp_profiles.pb-c.h"

/* The version of opentelemetry-proto whose field numbers these are. */
#define OTLP_SCHEMA "1.10"

/* A list of texts of bytes.  As a table of the dictionary, each is in it once. */
struct otlp_list {
	uint8_t *bytes;
	size_t length, room;
	struct otlp_item {
		size_t at, length;
	} *items;
	uint32_t count;
	size_t item_room;
	struct map64 map;	/* by hash; of a table */
};

#define OTLP_ITEMS_MAX (64u << 20)

/* At the end of a list, as a new item.  0 or -ENOMEM. */
int otlp_list__append(struct otlp_list *l, const void *data, size_t length);
/* The number of an item, which is added if it is new.  OTLP_NONE: out of memory. */
#define OTLP_NONE UINT32_MAX
uint32_t otlp_list__number(struct otlp_list *l, const void *data, size_t length);
/* The same of a message. */
uint32_t otlp_list__message(struct otlp_list *l, const ProtobufCMessage *m);
int otlp_list__append_message(struct otlp_list *l, const ProtobufCMessage *m);
void otlp_list__free(struct otlp_list *l);
static inline const uint8_t *otlp_list__item(const struct otlp_list *l, uint32_t i)
{
	return l->bytes + l->items[i].at;
}

/* In the order of the fields of ProfilesDictionary. */
enum otlp_table {
	OTLP_MAPPINGS, OTLP_LOCATIONS, OTLP_FUNCTIONS, OTLP_LINKS, OTLP_STRINGS, OTLP_ATTRIBUTES, OTLP_STACKS, OTLP_TABLES
};

/* One process. */
struct otlp_resource {
	const struct report *report;	/* that had it first */
	uint32_t label;			/* of its process there; OTLP_NONE: it is not known */
	const struct process_row *row;	/* NULL: there is none */
	uint64_t amount;		/* in the first report that has it */
	uint32_t number;
	uint32_t first_profile;		/* of its chain: number + 1; 0: none */
	uint32_t last_profile;
};

/* One sample type of one process. */
struct otlp_profile {
	uint32_t resource, report;
	struct otlp_list head;		/* one item: all of it but the samples */
	struct otlp_list samples;
	uint32_t next;			/* of the same resource: number + 1; 0: none */
};

struct otlp {
	const struct report *reports;
	uint32_t count;
	struct otlp_list tables[OTLP_TABLES];
	struct otlp_resource *resources;
	uint32_t resource_count;
	size_t resource_room;
	struct map64 resource_map;
	struct otlp_profile *profiles;
	uint32_t profile_count;
	size_t profile_room;
	/* The tree of the stacks of all reports: each node is a location and the node of its caller. */
	struct otlp_stack {
		uint32_t parent, location;
		uint32_t number;	/* in the table; 0: no sample has it yet */
		uint32_t depth;
	} *stacks;
	uint32_t stack_count;
	size_t stack_room;
	struct map64 stack_map;
	int32_t *indices;		/* of the stack that is being written */
	size_t index_room;
	int err;			/* the first one, -errno */
};

/* -- otlp_frames.c: the dictionary ------------------------------------------------------------------ */

/* Indices of tables.  After an error they are 0. */
int32_t otlp__string(struct otlp *x, const char *text);
/* key: not "".  An attribute of a text, or of a number. */
int32_t otlp__attribute(struct otlp *x, const char *key, const char *text);
int32_t otlp__number_attribute(struct otlp *x, const char *key, int64_t number);
/* Element 0 of each table. */
void otlp__begin_tables(struct otlp *x);
/* The location of each label of a report; the caller frees it.  NULL: out of memory. */
uint32_t *otlp__locations(struct otlp *x, const struct report *r);
/* A node of the tree of stacks below another one, of which 0 is the root. */
uint32_t otlp__stack_node(struct otlp *x, uint32_t parent, uint32_t location);
/* The stack that ends there. */
int32_t otlp__stack(struct otlp *x, uint32_t node);

/* -- otlp_resources.c: processes ---------------------------------------------------------------------- */

/* The resource of a process of a report; label: OTLP_NONE: none.  OTLP_NONE: out of memory. */
uint32_t otlp__resource(struct otlp *x, const struct report *r, uint32_t label);
/* Its packed message, as the only item of a list.  0 or -ENOMEM. */
int otlp__pack_resource(const struct otlp_resource *from, struct otlp_list *to);

/* -- otlp_profiles.c ----------------------------------------------------------------------------------- */

/* All profiles of a report. */
void otlp__add_report(struct otlp *x, uint32_t report);
/* The name of what a mode measures, for receivers: "process_cpu", "off_cpu", "wall". */
const char *otlp__scope_name(const struct mode *mode);

/* -- otlp.c and otlp_json.c: the file ------------------------------------------------------------------ */

/* Its packed message, as the only item of a list.  0 or -ENOMEM. */
int otlp__pack_scope(const struct report *r, struct otlp_list *to);
/* order: of the resources.  scopes: by report.  0 or -errno. */
int otlp__write_json(struct otlp *x, const uint32_t *order, const struct otlp_list *scopes, FILE *to);

#endif /* EXTPROF_OTLP_H */
