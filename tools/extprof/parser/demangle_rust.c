/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A name is a tree that is written without its ends: a letter says what comes, a number refers to what was there before.  Such
 * references can make much of few bytes, so depth, steps and output are bounded.  As in most programs that show names, hashes
 * of crates and types of numbers are left out.
 */
#include "parser/demangle_rust.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistr.h>

#define DEPTH_MAX 96u		/* rustc's own reader has 500; a level has some 100 bytes of stack here */
#define STEPS_MAX 8192u		/* paths, types and constants that are read */
#define LETTERS_MAX 256u	/* of one identifier that is not ASCII */
#define LIFETIMES_MAX 1000u	/* that one binder brings */

struct reader {
	const char *name;	/* behind "_R" */
	size_t length, at;
	char *to;
	size_t written, room;
	unsigned int depth, steps;
	uint64_t lifetimes;	/* that are bound here */
	bool quiet;		/* what is read is not written */
	bool open;		/* see open_path() */
	bool failed;
};

static void path(struct reader *r, bool in_type);
static void type(struct reader *r);
static void constant(struct reader *r);

/* -- writing ------------------------------------------------------------------------------------- */

static void put_bytes(struct reader *r, const char *text, size_t n)
{
	if (r->failed || r->quiet)
		return;
	if (n > r->room - r->written) {
		r->failed = true;
		return;
	}
	memcpy(r->to + r->written, text, n);
	r->written += n;
}

static void put(struct reader *r, const char *text)
{
	put_bytes(r, text, strlen(text));
}

static void put_number(struct reader *r, uint64_t n, unsigned int base)
{
	char digits[24];
	size_t at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[n % base];
		n /= base;
	} while (n);
	put_bytes(r, digits + at, sizeof(digits) - at);
}

static void put_letter(struct reader *r, uint32_t c)
{
	uint8_t bytes[6];
	int n = u8_uctomb(bytes, c, sizeof(bytes));

	r->failed |= n < 0;
	if (n > 0)
		put_bytes(r, (const char *)bytes, (size_t)n);
}

/* -- reading ------------------------------------------------------------------------------------- */

static char peek(const struct reader *r)
{
	return r->at < r->length && !r->failed ? r->name[r->at] : '\0';
}

static bool take(struct reader *r, char c)
{
	if (peek(r) != c)
		return false;
	r->at++;
	return true;
}

/* The next one, which must be there. */
static char next(struct reader *r)
{
	char c = peek(r);

	r->failed |= !c;
	r->at += !r->failed;
	return c;
}

static bool enter(struct reader *r)
{
	if (r->depth == DEPTH_MAX || ++r->steps > STEPS_MAX)
		r->failed = true;
	if (r->failed)
		return false;
	r->depth++;
	return true;
}

static void leave(struct reader *r)
{
	r->depth--;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'z' ? 10 + c - 'a' : c >= 'A' && c <= 'Z' ? 36 + c - 'A' : -1;
}

/* A number of base 62 that ends with '_', which alone is 0. */
static uint64_t number(struct reader *r)
{
	uint64_t n = 0;

	if (take(r, '_'))
		return 0;
	while (!take(r, '_')) {
		int d = digit(next(r));

		if (d < 0 || __builtin_mul_overflow(n, 62, &n) || __builtin_add_overflow(n, (uint64_t)d, &n)) {
			r->failed = true;
			return 0;
		}
	}
	r->failed |= n == UINT64_MAX;
	return n + 1;
}

/* One that is there only behind that letter: 0 if not. */
static uint64_t optional(struct reader *r, char letter)
{
	uint64_t n = take(r, letter) ? number(r) : UINT64_MAX;

	r->failed |= n != UINT64_MAX && n > UINT64_MAX - 2;
	return n + 1;
}

struct identifier {
	const char *text;
	size_t length;
	bool encoded;		/* in Punycode, as it is not ASCII */
};

static struct identifier read_identifier(struct reader *r)
{
	struct identifier id = { .encoded = take(r, 'u') };
	size_t n = 0;

	if (peek(r) < '0' || peek(r) > '9')
		r->failed = true;
	if (!take(r, '0'))
		while (peek(r) >= '0' && peek(r) <= '9' && n <= r->length)
			n = 10 * n + (size_t)(next(r) - '0');
	/* It separates the length from an identifier that begins with a digit or with '_'. */
	take(r, '_');
	if (r->failed || n > r->length - r->at) {
		r->failed = true;
		return id;
	}
	id.text = r->name + r->at;
	id.length = n;
	r->at += n;
	return id;
}

/* RFC 3492, with '_' where that has '-'. */
static void put_decoded(struct reader *r, const struct identifier *id)
{
	uint32_t letters[LETTERS_MAX], count = 0, n = 128, i = 0, bias = 72;
	size_t at = id->length;

	while (at && id->text[at - 1] != '_')
		at--;
	if (at > LETTERS_MAX) {
		r->failed = true;
		return;
	}
	for (; count + 1 < at; count++)
		letters[count] = (uint8_t)id->text[count];
	while (at < id->length) {
		uint32_t old = i, weight = 1, delta;

		for (uint32_t k = 36;; k += 36) {
			uint32_t threshold = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias, d;
			char c = at < id->length ? id->text[at++] : '\0';
			uint32_t part;

			d = c >= 'a' && c <= 'z' ? (uint32_t)(c - 'a') : c >= '0' && c <= '9' ? 26u + (uint32_t)(c - '0') : 36;
			if (d == 36 || __builtin_mul_overflow(d, weight, &part) || __builtin_add_overflow(i, part, &i)) {
				r->failed = true;
				return;
			}
			if (d < threshold)
				break;
			if (__builtin_mul_overflow(weight, 36 - threshold, &weight)) {
				r->failed = true;
				return;
			}
		}
		if (++count > LETTERS_MAX || __builtin_add_overflow(n, i / count, &n) || n > 0x10ffff || (n >= 0xd800 && n < 0xe000)) {
			r->failed = true;
			return;
		}
		delta = (i - old) / (old ? 2 : 700);
		delta += delta / count;
		for (bias = 0; delta > 455; bias += 36)
			delta /= 35;
		bias += 36 * delta / (delta + 38);
		i %= count;
		memmove(letters + i + 1, letters + i, (count - 1 - i) * sizeof(*letters));
		letters[i++] = n;
	}
	for (uint32_t j = 0; j < count; j++)
		put_letter(r, letters[j]);
}

static void put_identifier(struct reader *r, const struct identifier *id)
{
	if (r->failed)
		return;
	if (id->encoded)
		put_decoded(r, id);
	else
		put_bytes(r, id->text, id->length);
}

/* Read once more what begins there, behind 'B'. */
static void refer(struct reader *r, void (*read)(struct reader *r, bool flag), bool flag)
{
	size_t before = r->at - 1, back;
	uint64_t to = number(r);

	if (r->failed || to >= before) {
		r->failed = true;
		return;
	}
	/* Nothing is written, so it need not be read twice.  That could take for ever. */
	if (r->quiet)
		return;
	back = r->at;
	r->at = (size_t)to;
	read(r, flag);
	r->at = back;
}

static void type_again(struct reader *r, bool flag)
{
	(void)flag;
	type(r);
}

static void constant_again(struct reader *r, bool flag)
{
	(void)flag;
	constant(r);
}

/* -- lifetimes ----------------------------------------------------------------------------------- */

static void put_lifetime(struct reader *r, uint64_t n)
{
	uint64_t depth;
	char c;

	if (n > r->lifetimes) {
		r->failed = true;
		return;
	}
	put(r, "'");
	if (!n) {
		put(r, "_");
		return;
	}
	depth = r->lifetimes - n;
	c = (char)('a' + depth % 26);
	if (depth < 26) {
		put_bytes(r, &c, 1);
	} else {
		put(r, "_");
		put_number(r, depth, 10);
	}
}

/* "for<'a> " of functions and traits.  How many lifetimes it binds, which the caller takes away at its end. */
static uint64_t binder(struct reader *r)
{
	uint64_t n = optional(r, 'G');

	if (n > LIFETIMES_MAX)
		r->failed = true;
	if (r->failed || !n)
		return 0;
	put(r, "for<");
	for (uint64_t i = 0; i < n; i++) {
		put(r, i ? ", " : "");
		r->lifetimes++;
		put_lifetime(r, 1);
	}
	put(r, "> ");
	return n;
}

/* -- paths --------------------------------------------------------------------------------------- */

static void argument(struct reader *r)
{
	if (take(r, 'L'))
		put_lifetime(r, number(r));
	else if (take(r, 'K'))
		constant(r);
	else
		type(r);
}

/* Up to the 'E'. */
static void arguments(struct reader *r)
{
	for (bool first = true; !r->failed && !take(r, 'E'); first = false) {
		put(r, first ? "" : ", ");
		argument(r);
	}
}

/* Where an implementation is, which is not shown. */
static void skip_impl_path(struct reader *r)
{
	bool quiet = r->quiet;

	r->quiet = true;
	optional(r, 's');
	path(r, false);
	r->quiet = quiet;
}

static void nested(struct reader *r, bool in_type)
{
	char space = next(r);
	struct identifier id;
	uint64_t n;

	if (digit(space) < 10)
		r->failed = true;
	path(r, in_type);
	n = optional(r, 's');
	id = read_identifier(r);
	if (space >= 'a') {
		put(r, id.length ? "::" : "");
		put_identifier(r, &id);
		return;
	}
	/* It has no name in the program: "{closure#0}". */
	put(r, "::{");
	if (space == 'C')
		put(r, "closure");
	else if (space == 'S')
		put(r, "shim");
	else
		put_bytes(r, &space, 1);
	put(r, id.length ? ":" : "");
	put_identifier(r, &id);
	put(r, "#");
	put_number(r, n, 10);
	put(r, "}");
}

static void path(struct reader *r, bool in_type)
{
	struct identifier id;
	char kind;

	if (!enter(r))
		return;
	kind = next(r);
	switch (kind) {
	case 'C':
		optional(r, 's');
		id = read_identifier(r);
		put_identifier(r, &id);
		break;
	case 'M':
	case 'X':
	case 'Y':
		if (kind != 'Y')
			skip_impl_path(r);
		put(r, "<");
		type(r);
		if (kind != 'M') {
			put(r, " as ");
			path(r, true);
		}
		put(r, ">");
		break;
	case 'N':
		nested(r, in_type);
		break;
	case 'I':
		path(r, in_type);
		put(r, in_type ? "<" : "::<");
		arguments(r);
		put(r, ">");
		break;
	case 'B':
		refer(r, path, in_type);
		break;
	default:
		r->failed = true;
	}
	leave(r);
}

/* -- types --------------------------------------------------------------------------------------- */

static const char *basic(char c)
{
	static const char *const names[26] = {
		"i8", "bool", "char", "f64", "str", "f32", NULL, "u8", "isize", "usize", NULL, "i32", "u32", "i128", "u128", "_", NULL, NULL,
		"i16", "u16", "()", "...", NULL, "i64", "u64", "!",
	};

	return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

static void reference(struct reader *r, bool is_mutable)
{
	uint64_t n = take(r, 'L') ? number(r) : 0;

	put(r, "&");
	if (n) {
		put_lifetime(r, n);
		put(r, " ");
	}
	put(r, is_mutable ? "mut " : "");
	type(r);
}

static void function(struct reader *r)
{
	uint64_t bound = binder(r);

	put(r, take(r, 'U') ? "unsafe " : "");
	if (take(r, 'K')) {
		put(r, "extern \"");
		if (take(r, 'C')) {
			put(r, "C");
		} else {
			struct identifier id = read_identifier(r);

			r->failed |= id.encoded;
			for (size_t i = 0; i < id.length && !r->failed; i++)
				put_bytes(r, id.text[i] == '_' ? "-" : id.text + i, 1);
		}
		put(r, "\" ");
	}
	put(r, "fn(");
	arguments(r);
	put(r, ")");
	if (!take(r, 'u')) {
		put(r, " -> ");
		type(r);
	}
	r->lifetimes -= bound;
}

/* A path whose "<" stays open for what follows, if it has one: r->open. */
static void open_path(struct reader *r, bool flag)
{
	if (!enter(r))
		return;
	r->open = false;
	if (take(r, 'B')) {
		refer(r, open_path, flag);
	} else if (take(r, 'I')) {
		path(r, true);
		put(r, "<");
		arguments(r);
		r->open = true;
	} else {
		path(r, true);
		/* A `dyn` within it has closed its own. */
		r->open = false;
	}
	leave(r);
}

static void dyn_trait(struct reader *r)
{
	bool open;

	open_path(r, true);
	open = r->open;
	while (take(r, 'p')) {
		struct identifier id = read_identifier(r);

		put(r, open ? ", " : "<");
		open = true;
		put_identifier(r, &id);
		put(r, " = ");
		type(r);
	}
	put(r, open ? ">" : "");
}

static void dyn(struct reader *r)
{
	uint64_t bound, n;

	put(r, "dyn ");
	bound = binder(r);
	for (bool first = true; !r->failed && !take(r, 'E'); first = false) {
		put(r, first ? "" : " + ");
		dyn_trait(r);
	}
	r->lifetimes -= bound;
	if (!take(r, 'L')) {
		r->failed = true;
		return;
	}
	n = number(r);
	if (n) {
		put(r, " + ");
		put_lifetime(r, n);
	}
}

static void tuple(struct reader *r)
{
	unsigned int count = 0;

	put(r, "(");
	for (; !r->failed && !take(r, 'E'); count++) {
		put(r, count ? ", " : "");
		type(r);
	}
	put(r, count == 1 ? ",)" : ")");
}

static void type(struct reader *r)
{
	char c;

	if (!enter(r))
		return;
	c = next(r);
	if (basic(c)) {
		put(r, basic(c));
		leave(r);
		return;
	}
	switch (c) {
	case 'A':
	case 'S':
		put(r, "[");
		type(r);
		if (c == 'A') {
			put(r, "; ");
			constant(r);
		}
		put(r, "]");
		break;
	case 'T':
		tuple(r);
		break;
	case 'R':
	case 'Q':
		reference(r, c == 'Q');
		break;
	case 'P':
	case 'O':
		put(r, c == 'P' ? "*const " : "*mut ");
		type(r);
		break;
	case 'F':
		function(r);
		break;
	case 'D':
		dyn(r);
		break;
	case 'B':
		refer(r, type_again, false);
		break;
	default:
		/* A path, whose letter it is. */
		r->at -= !r->failed;
		path(r, true);
	}
	leave(r);
}

/* -- constants ----------------------------------------------------------------------------------- */

/* Hexadecimal digits up to '_'.  False: it has more than 64 bits. */
static bool hex(struct reader *r, uint64_t *value, struct identifier *digits)
{
	digits->text = r->name + r->at;
	*value = 0;
	while (!r->failed && !take(r, '_')) {
		char c = next(r);

		if (digit(c) < 0 || digit(c) > 15)
			r->failed = true;
		*value = *value << 4 | (uint64_t)(digit(c) & 15);
	}
	digits->length = r->failed ? 0 : (size_t)(r->name + r->at - digits->text) - 1;
	/* Zeros at its begin say nothing; 0 itself is one digit. */
	while (digits->length > 1 && *digits->text == '0') {
		digits->text++;
		digits->length--;
	}
	r->failed |= !digits->length;
	return digits->length <= 16;
}

static void put_char(struct reader *r, uint64_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
		r->failed = true;
		return;
	}
	put(r, "'");
	if (c == '\'' || c == '\\' || c == '\n' || c == '\r' || c == '\t') {
		put(r, "\\");
		put_letter(r, c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : (uint32_t)c);
	} else if (c < 0x20 || c > 0x7e) {
		put(r, "\\u{");
		put_number(r, c, 16);
		put(r, "}");
	} else {
		put_letter(r, (uint32_t)c);
	}
	put(r, "'");
}

static void constant(struct reader *r)
{
	struct identifier digits;
	uint64_t value;
	char c;

	if (!enter(r))
		return;
	c = next(r);
	if (c == 'B') {
		refer(r, constant_again, false);
	} else if (c == 'p') {
		put(r, "_");
	} else if (c && strchr("aslxnihtmyoj", c)) {
		put(r, strchr("aslxni", c) && take(r, 'n') ? "-" : "");
		if (hex(r, &value, &digits)) {
			put_number(r, value, 10);
		} else {
			put(r, "0x");
			put_bytes(r, digits.text, digits.length);
		}
	} else if (c == 'b') {
		r->failed |= !hex(r, &value, &digits) || value > 1;
		put(r, value ? "true" : "false");
	} else if (c == 'c') {
		r->failed |= !hex(r, &value, &digits);
		put_char(r, value);
	} else {
		/* Texts and structures: only versions of Rust for trials make these. */
		r->failed = true;
	}
	leave(r);
}

/* -- the name ------------------------------------------------------------------------------------ */

size_t demangle_rust__name(const char *name, size_t length, char *to, size_t room)
{
	struct reader r = { .name = name + 2, .to = to, .room = room };
	const char *end = name + 2;

	if (length < 3 || memcmp(name, "_R", 2))
		return 0;
	/* Compilers mark copies of a function, behind a character that is in no name. */
	while (end < name + length && (digit(*end) >= 0 || *end == '_'))
		end++;
	r.length = (size_t)(end - r.name);
	/* A number is that of a later form. */
	if (digit(peek(&r)) >= 0 && digit(peek(&r)) < 10)
		return 0;
	path(&r, false);
	if (r.at < r.length) {
		/* The crate that has made it of a generic function. */
		r.quiet = true;
		path(&r, false);
		r.quiet = false;
	}
	if (r.at < r.length)
		return 0;
	if (end < name + length) {
		if (*end != '.' && *end != '$')
			return 0;
		put(&r, " [clone ");
		put_bytes(&r, end, (size_t)(name + length - end));
		put(&r, "]");
	}
	return r.failed ? 0 : r.written;
}
