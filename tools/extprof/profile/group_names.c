/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/group_names.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* Longest command in the name of a process, in bytes. */
#define COMMAND_MAX 48

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
	struct frame f = FRAME_INIT(FRAME_THREAD);
	struct text name = { 0 }, pattern = { 0 };
	int err = -ENOMEM;

	thread__add_bare_name(thread, &name);
	if (thread->ractor > 1)
		text__adds(&pattern, "ractor * ");
	if (length)
		add_pattern(thread->name, length, &pattern);
	else
		text__adds(&pattern, thread->flags & RB_DEBUG_EXT_THREAD_MAIN ? "main" : "#*");
	f.role = thread->serial & THREAD_FIBERS ? ROLE_FIBERS : ROLE_RUBY;
	f.tid = thread->tid;
	f.name = text__string(&name);
	f.wider = text__string(&pattern);
	if (!name.failed && !pattern.failed)
		err = frame_table__set(t, (uint32_t)thread->frame, &f);
	text__free(&name);
	text__free(&pattern);
	return err;
}

uint32_t group_names__add_no_thread(struct frame_table *t, const char *comm, size_t size, uint32_t tid, bool unknown)
{
	struct frame f = FRAME_INIT(FRAME_THREAD);
	struct text name = { 0 }, pattern = { 0 };
	size_t length = strnlen(comm, size);
	uint32_t number = 0;

	text__add_clean(&name, comm, length, size);
	add_pattern(comm, length, &pattern);
	f.role = unknown ? ROLE_UNKNOWN : ROLE_NATIVE;
	f.tid = tid;
	f.name = text__string(&name);
	f.wider = text__string(&pattern);
	if (!name.failed && !pattern.failed)
		number = frame_table__add(t, &f);
	text__free(&name);
	text__free(&pattern);
	return number;
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

/* The next word of a line: its length, 0 at the end. */
static size_t next_word(const char **line)
{
	*line += strspn(*line, " ");
	return strcspn(*line, " ");
}

static bool is_word(const char *word, size_t length, const char *text)
{
	return strlen(text) == length && !strncmp(word, text, length);
}

/* Without its directory, in place. */
static void cut_directory(const char **word, size_t *length)
{
	for (size_t i = *length; i > 0; i--) {
		if ((*word)[i - 1] != '/')
			continue;
		/* "/" at the end is no directory in front of a name. */
		if (i == *length)
			break;
		*word += i;
		*length -= i;
		break;
	}
}

/* "ruby", "ruby3.4", "ruby-3.4.5" */
static bool is_ruby(const char *word, size_t length)
{
	if (length < 4 || strncmp(word, "ruby", 4))
		return false;
	for (size_t i = 4; i < length; i++)
		if (!isdigit((unsigned char)word[i]) && word[i] != '.' && word[i] != '-')
			return false;
	return true;
}

enum option { OPTION_ALONE, OPTION_WITH_VALUE, OPTION_PROGRAM };

/* How an option of ruby treats the next word: not at all, as its value, or as the text of a program. */
static enum option option_of(const char *word, size_t length)
{
	static const char *const with_value[] = {
		"--disable", "--dump", "--enable", "--encoding", "--external-encoding",
		"--internal-encoding", "--parser",
	};

	for (size_t i = 0; i < sizeof(with_value) / sizeof(with_value[0]); i++)
		if (is_word(word, length, with_value[i]))
			return OPTION_WITH_VALUE;
	if (word[1] == '-')
		return OPTION_ALONE;
	/* Letters can be put together; the rest of the word is the value of one that has a value. */
	for (size_t i = 1; i < length; i++) {
		if (word[i] == 'e')
			return OPTION_PROGRAM;
		if (strchr("CEIXr", word[i]))
			return i + 1 < length ? OPTION_ALONE : OPTION_WITH_VALUE;
		if (strchr("0FKTWix", word[i]))
			break;
	}
	return OPTION_ALONE;
}

/* Go from a ruby to its script.  False: it has none. */
static bool find_script(const char **word, size_t *length)
{
	const char *at = *word + *length;
	bool options = true;

	for (;;) {
		size_t n = next_word(&at);
		enum option option = OPTION_ALONE;

		/* "-" is standard input. */
		if (!n || is_word(at, n, "-"))
			return false;
		if (*at != '-' || !options) {
			*word = at;
			*length = n;
			return true;
		}
		if (is_word(at, n, "--"))
			options = false;
		else
			option = option_of(at, n);
		if (option == OPTION_PROGRAM)
			return false;
		at += n;
		if (option == OPTION_WITH_VALUE) {
			n = next_word(&at);
			at += n;
		}
	}
}

void group_names__add_command(const char *line, struct text *out)
{
	const char *word = line, *after;
	size_t length = next_word(&word), n;

	cut_directory(&word, &length);
	if (is_ruby(word, length) && find_script(&word, &length))
		cut_directory(&word, &length);
	if (is_word(word, length, "bundle") || is_word(word, length, "bundler")) {
		after = word + length;
		n = next_word(&after);
		if (is_word(after, n, "exec")) {
			after += n;
			n = next_word(&after);
			if (n) {
				word = after;
				length = n;
				cut_directory(&word, &length);
			}
		}
	}
	/* A title such as "puma: cluster worker 0: 42 [app]". */
	if (length > 1 && word[length - 1] == ':')
		length--;
	text__add_clean(out, word, length, COMMAND_MAX);
}

int group_names__set_process(struct frame_table *t, const struct process_row *row)
{
	struct frame f = FRAME_INIT(FRAME_PROCESS);
	struct text command = { 0 };
	int err;

	group_names__add_command(row->command, &command);
	f.pid = (uint32_t)row->pid;
	f.name = text__string(&command);
	f.wider = row->cgroup ? row->cgroup : "";
	err = command.failed ? -ENOMEM : frame_table__set(t, row->frame, &f);
	text__free(&command);
	return err;
}
