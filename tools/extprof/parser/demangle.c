/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A function of libstdc++ reads the names of the Itanium ABI; only its object file is linked in.  It is the one that allocates
 * no memory, because the helper may not.  A name in Rust's older form is such a name, with escapes and a hash in it.  Those of the
 * newer form are read here (demangle_rust.h).
 */
#include "parser/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#include "parser/demangle_rust.h"

#define NAME_MAX_BYTES 4096u	/* longer names are not looked at */

#ifdef EXTPROF_DEMANGLE

int __gcclibcxx_demangle_callback(const char *name, void (*take)(const char *text, size_t length, void *context), void *context);

struct output {
	char *to;
	size_t length, room;
	jmp_buf full;
};

/* A short mangled name can stand for gigabytes of text: stop when the room is full. */
static void take(const char *text, size_t length, void *context)
{
	struct output *o = context;

	if (length > o->room - o->length)
		longjmp(o->full, 1);
	memcpy(o->to + o->length, text, length);
	o->length += length;
}

static size_t demangle(const char *name, char *to, size_t room)
{
	struct output o = { .to = to, .room = room };

	return setjmp(o.full) || __gcclibcxx_demangle_callback(name, take, &o) ? 0 : o.length;
}

#else

static size_t demangle(const char *name, char *to, size_t room)
{
	(void)name, (void)to, (void)room;
	return 0;
}

#endif

/* Names of Rust end with "::h" and a hash of 16 digits, which tells two functions of one name apart. */
#define HASH_LENGTH 19u

static bool has_hash(const char *text, size_t length)
{
	const char *hash = text + length - HASH_LENGTH;

	if (length <= HASH_LENGTH || memcmp(hash, "::h", 3))
		return false;
	return strspn(hash + 3, "0123456789abcdef") >= HASH_LENGTH - 3;
}

/* Decode what Rust writes for a character that cannot be in a C++ name.  The length of the escape; 0: there is none. */
static size_t escape(const char *text, size_t length, char *c)
{
	static const struct {
		const char *text;
		char is;
	} escapes[] = {
		{ "$LT$", '<' }, { "$GT$", '>' }, { "$RF$", '&' }, { "$BP$", '*' }, { "$C$", ',' }, { "$LP$", '(' }, { "$RP$", ')' },
		{ "$u20$", ' ' }, { "$u27$", '\'' }, { "$u5b$", '[' }, { "$u5d$", ']' }, { "$u7b$", '{' }, { "$u7d$", '}' },
		{ "$u7e$", '~' }, { "$SP$", '@' },
	};

	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
		size_t n = strlen(escapes[i].text);

		if (n <= length && !memcmp(text, escapes[i].text, n)) {
			*c = escapes[i].is;
			return n;
		}
	}
	return 0;
}

/* Write the name as Rust does, in place: it gets no longer. */
static size_t tidy_rust(char *text, size_t length)
{
	size_t from = 0, to = 0;

	while (from < length) {
		size_t n = escape(text + from, length - from, &text[to]);

		/* A part of a name that begins with an escape has an underscore before it. */
		if (!n && text[from] == '_' && from + 1 < length && text[from + 1] == '$' && (!from || text[from - 1] == ':')) {
			from++;
			continue;
		}
		if (n) {
			from += n;
			to++;
			continue;
		}
		if (text[from] == '.' && from + 1 < length && text[from + 1] == '.') {
			text[to] = text[to + 1] = ':';
			from += 2;
			to += 2;
			continue;
		}
		text[to++] = text[from++];
	}
	return to;
}

/* The suffix ".llvm." and a number, which LLVM adds to names that were local to a file.  NULL: the name has none. */
static const char *llvm_number(const char *name)
{
	const char *mark = strstr(name, ".llvm.");
	size_t digits = mark ? strspn(mark + 6, "0123456789abcdefABCDEF") : 0;

	return digits && (!mark[6 + digits] || mark[6 + digits] == '.') ? mark : NULL;
}

size_t demangle__name(const char *name, char *to, size_t room)
{
	char copy[NAME_MAX_BYTES + 1];
	const char *mark;
	size_t length;

	if (name[0] != '_' || (name[1] != 'R' && name[1] != 'Z'))
		return 0;
	mark = llvm_number(name);
	length = mark ? (size_t)(mark - name) : strlen(name);
	if (length > NAME_MAX_BYTES)
		return 0;
	if (mark) {
		memcpy(copy, name, length);
		copy[length] = '\0';
		name = copy;
	}
	if (name[1] == 'R')
		return demangle_rust__name(name, length, to, room - 1);
	length = demangle(name, to, room);
	/* Its end is behind the text. */
	if (length == room)
		return 0;
	to[length] = '\0';
	return has_hash(to, length) ? tidy_rust(to, length - HASH_LENGTH) : length;
}
