/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/command_name.h"

#include <ctype.h>
#include <string.h>

/* Longest command in the name of a process, in bytes. */
#define COMMAND_MAX 48

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

void command_name__add(const char *line, struct text *out)
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
