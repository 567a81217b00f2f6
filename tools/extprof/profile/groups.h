/* SPDX-License-Identifier: BSD-2-Clause */
/* --group-by: what the outermost frames of the stacks are. */
#ifndef EXTPROF_GROUPS_H
#define EXTPROF_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "ruby/debug_external.h"

enum group_key {
	GROUP_PROCESS = 1,
	GROUP_THREAD,
	GROUP_THREAD_PATTERN,	/* digits of the thread's name replaced: job-* */
	GROUP_CGROUP,
	GROUP_RECORDING,	/* the file that it is read from; of reports of files alone */
	GROUP_HOST,		/* the machine that it was made on; the same */
	GROUP_COMMAND,		/* what a process runs: the workers of a cluster are one */
	GROUP_SERVICE,		/* what a process is a part of, see profile/service.h */
	GROUP_TRACE,		/* only as a text: it becomes the label trace_id */
	GROUP_SPAN,		/* the same: span_id */
	GROUP_KEYS,		/* of those that have a name: group_names */
	GROUP_LABEL = GROUP_KEYS,	/* label number (key - GROUP_LABEL) of struct groups */
#define GROUP_LABELS_MAX 4
	GROUP_RESOURCE = GROUP_LABEL + GROUP_LABELS_MAX	/* attribute number (key - GROUP_RESOURCE) of struct groups */
};

#define GROUP_RESOURCES_MAX 4
#define GROUP_RESOURCE_KEY_MAX 127	/* bytes */
#define GROUPS_MAX (GROUP_TRACE - 1 + GROUP_LABELS_MAX + GROUP_RESOURCES_MAX)
#define GROUP_LABEL_PREFIX "label:"
#define GROUP_RESOURCE_PREFIX "resource:"

/* Outermost first. */
struct groups {
	uint8_t count;
	uint8_t keys[GROUPS_MAX];	/* enum group_key, each at most once */
	uint8_t label_count;
	char labels[GROUP_LABELS_MAX][RB_DEBUG_EXT_LABEL_KEY_MAX + 1];	/* their keys */
	uint8_t resource_count;
	char resources[GROUP_RESOURCES_MAX][GROUP_RESOURCE_KEY_MAX + 1];	/* keys of attributes of a process */
	bool patterns_allowed;		/* GROUP_THREAD may become GROUP_THREAD_PATTERN if threads are many */
};

extern const char *const group_names[GROUP_KEYS];

/* "process,label:request", "none": 0 or -EINVAL. */
int groups__parse(const char *text, struct groups *g);
/* Append the text that groups__parse() makes the same groups of; "": none. */
void groups__add_text(const struct groups *g, struct text *out);
bool groups__has(const struct groups *g, enum group_key key);
/* Do they ask for what a process says of itself? */
bool groups__has_resources(const struct groups *g);
static inline bool group__is_label(uint8_t key)
{
	return key >= GROUP_LABEL && key < GROUP_RESOURCE;
}

/* Add a key as the innermost one, unless it is there. */
void groups__add(struct groups *g, enum group_key key);

/* Add the keys of a mask (1u << enum group_key) as innermost ones, unless they are there. */
void groups__add_mask(struct groups *g, uint32_t mask);

/* In place of a key, its name as the key of a label.  The number of the label; -1: there are too many. */
int groups__name_as_label(struct groups *g, enum group_key key);

void groups__remove(struct groups *g, uint8_t key);

/* Add a key as the outermost one, unless it is there. */
void groups__add_outermost(struct groups *g, enum group_key key);

#endif /* EXTPROF_GROUPS_H */
