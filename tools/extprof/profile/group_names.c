/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/group_names.h"

#include <ctype.h>
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

void group_names__add_thread(const struct thread *thread, struct text *out)
{
	size_t length = strnlen(thread->name, sizeof(thread->name));

	thread__add_label(thread, out);
	text__adds(out, thread->serial & THREAD_FIBERS ? "\n[parked fibers of thread " : "\n[thread ");
	if (thread->ractor > 1)
		text__adds(out, "ractor * ");
	if (length)
		add_pattern(thread->name, length, out);
	else
		text__adds(out, thread->flags & RB_DEBUG_EXT_THREAD_MAIN ? "main" : "#*");
	text__addf(out, "]\n%u", thread->tid);
}

void group_names__add_no_thread(const char *comm, size_t size, uint32_t tid, bool unknown,
				struct text *out)
{
	const char *kind = unknown ? "[unknown thread " : "[native thread ";
	size_t length = strnlen(comm, size);

	text__adds(out, kind);
	text__add_clean(out, comm, length, size);
	if (tid)
		text__addf(out, " (%u)", tid);
	text__addf(out, "]\n%s", kind);
	add_pattern(comm, length, out);
	text__addf(out, "]\n%u", tid);
}

static void add_label_key(const char *before, const char *key, struct text *out)
{
	text__adds(out, before);
	text__add_clean(out, key, strlen(key), RB_DEBUG_EXT_LABEL_KEY_MAX);
}

void group_names__add_label(const char *key, enum label_state state, const struct label_record *value,
			    struct text *out)
{
	add_label_key(state == LABEL_NOT_SET ? "[no " : "[", key, out);
	switch (state) {
	case LABEL_SET:
		text__adds(out, "=");
		text__add_clean(out, value->value, value->value_length, RB_DEBUG_EXT_LABEL_VALUE_MAX);
		break;
	case LABEL_NOT_SET:
		break;
	case LABEL_EXPIRED:
		text__adds(out, ": expired");
		break;
	case LABEL_UNREAD:
		text__adds(out, ": not read");
		break;
	}
	text__adds(out, "]");
}

void group_names__add_crowded_label(const char *key, struct text *out)
{
	add_label_key("[", key, out);
	text__adds(out, ": one of too many values]");
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

/* What an option of ruby does with the next word: nothing, it is its value, or the word is the
 * text of a program. */
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

void group_names__add_process(const struct process_row *row, struct text *out)
{
	struct text command = { 0 };

	group_names__add_command(row->command, &command);
	out->failed |= command.failed;
	text__addf(out, row->pid ? "[process %d" : "[process", row->pid);
	if (command.length)
		text__addf(out, " %s", command.data);
	text__adds(out, "]\n");
	if (row->cgroup)
		text__addf(out, "[cgroup %s]", row->cgroup);
	else
		text__adds(out, "[unknown cgroup]");
	text__addf(out, "\n%d", row->pid);
	text__free(&command);
}
