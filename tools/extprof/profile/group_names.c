/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/group_names.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "profile/command_name.h"

/* One * for each number in the name.  It is done before the text is cleaned, which adds digits. */
static void add_pattern(const char *name, size_t length, struct text *out)
{
	struct text pattern = { 0 };
	size_t i = 0;

	while (i < length) {
		if (!isdigit((unsigned char)name[i])) {
			text__add(&pattern, &name[i++], 1);
			continue;
		}
		text__adds(&pattern, "*");
		while (i < length && isdigit((unsigned char)name[i]))
			i++;
	}
	text__add_clean(out, text__string(&pattern), pattern.length, length);
	out->failed |= pattern.failed;
	text__free(&pattern);
}

int group_names__set_thread(struct frame_table *t, const struct thread *thread)
{
	size_t length = strnlen(thread->name, sizeof(thread->name));
	struct text name = { 0 }, pattern = { 0 };
	struct frame f;
	int err = -ENOMEM;

	thread__frame(thread, &name, &f);
	if (thread->ractor > 1)
		text__adds(&pattern, "ractor * ");
	if (length)
		add_pattern(thread->name, length, &pattern);
	else
		text__adds(&pattern, thread->flags & RB_DEBUG_EXT_THREAD_MAIN ? "main" : "#*");
	f.wider = text__string(&pattern);
	if (!name.failed && !pattern.failed)
		err = frame_table__set(t, (uint32_t)thread->frame, &f);
	text__free(&name);
	text__free(&pattern);
	return err;
}

/* The frame of a thread that is no Ruby thread; its name is in `name`. */
static struct frame no_thread(const char *comm, size_t size, uint32_t tid, bool unknown, struct text *name)
{
	struct frame f = FRAME_INIT(FRAME_THREAD);

	text__add_clean(name, comm, strnlen(comm, size), size);
	f.role = unknown ? ROLE_UNKNOWN : ROLE_NATIVE;
	f.tid = tid;
	f.name = text__string(name);
	return f;
}

uint32_t group_names__add_no_thread(struct frame_table *t, const char *comm, size_t size, uint32_t tid, bool unknown)
{
	struct text name = { 0 }, pattern = { 0 };
	struct frame f = no_thread(comm, size, tid, unknown, &name);
	uint32_t number = 0;

	add_pattern(comm, strnlen(comm, size), &pattern);
	f.wider = text__string(&pattern);
	if (!name.failed && !pattern.failed)
		number = frame_table__add(t, &f);
	text__free(&name);
	text__free(&pattern);
	return number;
}

void group_names__add_native(const char *comm, size_t size, uint32_t tid, struct text *out)
{
	struct text name = { 0 };
	struct frame f = no_thread(comm, size, tid, false, &name);

	frame__add_inside(&f, out);
	out->failed |= name.failed;
	text__free(&name);
}

static uint8_t known_of(enum label_state state)
{
	switch (state) {
	case LABEL_SET: return KNOWN;
	case LABEL_NOT_SET: return KNOWN_NOT_SET;
	case LABEL_EXPIRED: return KNOWN_EXPIRED;
	default: return KNOWN_UNREAD;
	}
}

static void add_key(const char *key, struct text *out)
{
	text__add_clean(out, key, strlen(key), RB_DEBUG_EXT_LABEL_KEY_MAX);
}

uint32_t group_names__add_label(struct frame_table *t, const char *label, enum label_state state,
				const struct label_record *value, bool known)
{
	struct frame f = FRAME_INIT(FRAME_LABEL);
	struct text key = { 0 }, name = { 0 };
	uint32_t number = 0;

	add_key(label, &key);
	if (state == LABEL_SET)
		text__add_clean(&name, value->value, value->value_length, RB_DEBUG_EXT_LABEL_VALUE_MAX);
	f.known = known_of(state);
	f.key = text__string(&key);
	f.name = text__string(&name);
	if (!key.failed && !name.failed)
		number = known ? frame_table__find(t, &f) : frame_table__add(t, &f);
	text__free(&key);
	text__free(&name);
	return number;
}

uint32_t group_names__add_crowded(struct frame_table *t, enum frame_kind kind, const char *label)
{
	struct frame f = FRAME_INIT((uint8_t)kind);
	struct text key = { 0 };
	uint32_t number;

	add_key(label, &key);
	f.known = KNOWN_CROWDED;
	f.key = text__string(&key);
	number = key.failed ? 0 : frame_table__add(t, &f);
	text__free(&key);
	return number;
}

int group_names__set_process(struct frame_table *t, const struct process_row *row, bool with_resource)
{
	struct frame f = FRAME_INIT(FRAME_PROCESS);
	struct text command = { 0 };
	int err;

	command_name__add(row->command, &command);
	f.pid = (uint32_t)row->pid;
	f.name = text__string(&command);
	f.wider = row->cgroup ? row->cgroup : "";
	f.module = with_resource && row->resource ? row->resource : "";
	err = command.failed ? -ENOMEM : frame_table__set(t, row->frame, &f);
	text__free(&command);
	return err;
}
