/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistr.h>

#include "base/array.h"

void text__free(struct text *t)
{
	if (!t)
		return;
	free(t->data);
	memset(t, 0, sizeof(*t));
}

int text__write(struct text *t, FILE *to)
{
	int err = 0;

	if (t->failed)
		err = -ENOMEM;
	else if (t->length && fwrite(t->data, 1, t->length, to) != t->length)
		err = -errno;
	text__free(t);
	return err;
}

void text__clear(struct text *t)
{
	t->length = 0;
	t->failed = false;
	if (t->data)
		t->data[0] = '\0';
}

void text__add(struct text *t, const char *data, size_t length)
{
	if (t->limit && length > t->limit - t->length)
		length = t->limit - t->length;
	if (t->failed || !length)
		return;
	/* The NUL behind it too. */
	if (length == SIZE_MAX ||
	    array__reserve(&t->data, t->length, length + 1, &t->room, SIZE_MAX, 1)) {
		t->failed = true;
		return;
	}
	memcpy(t->data + t->length, data, length);
	t->length += length;
	t->data[t->length] = '\0';
}

void text__adds(struct text *t, const char *string)
{
	text__add(t, string, strlen(string));
}

void text__addf(struct text *t, const char *format, ...)
{
	char small[256], *big;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(small, sizeof(small), format, args);
	va_end(args);
	if (n < 0) {
		t->failed = true;
		return;
	}
	if ((size_t)n < sizeof(small)) {
		text__add(t, small, n);
		return;
	}
	big = malloc((size_t)n + 1);
	if (!big) {
		t->failed = true;
		return;
	}
	va_start(args, format);
	vsnprintf(big, (size_t)n + 1, format, args);
	va_end(args);
	text__add(t, big, n);
	free(big);
}

const char *text__string(const struct text *t)
{
	return t->data ? t->data : "";
}

/* Length of the valid UTF-8 character at s, 0 if there is none. */
static size_t utf8__length(const unsigned char *s, size_t left, uint32_t *code)
{
	int n = u8_mbtoucr(code, s, left);

	return n > 0 ? (size_t)n : 0;
}

/* Characters that a terminal or a browser does not show as themselves. */
static bool code__deceives(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) ||	/* C0, DEL, C1 */
	       c == 0x00ad ||				/* soft hyphen */
	       c == 0x061c || (c >= 0x200b && c <= 0x200f) ||	/* marks, joiners */
	       (c >= 0x2028 && c <= 0x202e) ||		/* separators, embeddings */
	       (c >= 0x2060 && c <= 0x206f) ||		/* invisible operators, isolates */
	       c == 0xfeff || (c >= 0xfff0 && c <= 0xfffb) ||
	       (c >= 0xe0000 && c <= 0xe0fff) ||	/* tags */
	       (c & 0xfffe) == 0xfffe;			/* not characters, not in XML */
}

/* One cleaned character into `out`; returns how many bytes it took. */
static size_t clean__step(const unsigned char *s, size_t left, char out[16], size_t *out_length)
{
	uint32_t c;
	size_t n = utf8__length(s, left, &c);

	if (!n) {
		*out_length = (size_t)snprintf(out, 16, "\\x%02X", s[0]);
		return 1;
	}
	if (code__deceives(c)) {
		*out_length = (size_t)snprintf(out, 16, c < 0x80 ? "\\x%02X" : "\\u{%X}", c);
		return n;
	}
	memcpy(out, s, n);
	*out_length = n;
	return n;
}

void text__add_clean(struct text *t, const char *data, size_t length, size_t max)
{
	const unsigned char *s = (const unsigned char *)data;
	size_t head = max / 2, used = 0, i = 0, tail, start;
	char out[16];
	size_t n;

	/* Most names are short: no cut is needed if even the worst case fits. */
	if (length <= max) {
		while (i < length) {
			i += clean__step(s + i, length - i, out, &n);
			text__add(t, out, n);
		}
		return;
	}
	while (i < length) {
		size_t step = clean__step(s + i, length - i, out, &n);

		if (used + n > head)
			break;
		text__add(t, out, n);
		used += n;
		i += step;
	}
	text__adds(t, "...");
	tail = max > head + 3 ? max - head - 3 : 0;
	start = length - tail > i ? length - tail : i;
	/* The rest does not begin in the middle of a character. */
	while (start < length && (s[start] & 0xc0) == 0x80)
		start++;
	while (start < length) {
		start += clean__step(s + start, length - start, out, &n);
		text__add(t, out, n);
	}
}

void text__clean(char *to, size_t size, const char *from)
{
	const unsigned char *s = (const unsigned char *)from;
	size_t length = strlen(from), used = 0, i = 0, n;
	char out[16];

	while (i < length) {
		i += clean__step(s + i, length - i, out, &n);
		if (used + n >= size)
			break;
		memcpy(to + used, out, n);
		used += n;
	}
	to[used] = '\0';
}

/* The number after the last space, if nothing follows it; else NULL. */
static const char *number_at_end(const char *string)
{
	const char *at = strrchr(string, ' ');
	size_t digits = at ? strspn(at + 1, "0123456789") : 0;

	if (!digits)
		return NULL;
	string = at + 1 + digits;
	if (*string == '.')
		string += 1 + strspn(string + 1, "0123456789");
	return *string ? NULL : at + 1;
}

void text__add_folded(struct text *t, const char *string)
{
	const char *number = number_at_end(string);

	/* Readers split the line at ";" and at the last space before a count, and no dialect quotes
	 * them.  So other characters replace them.  A number at the end of the last frame could be
	 * read as a count. */
	for (; *string; string++)
		text__add(t, *string == ';' ? ":" : string + 1 == number ? "_" : string, 1);
}

void text__add_xml(struct text *t, const char *string)
{
	for (; *string; string++) {
		switch (*string) {
		case '&': text__adds(t, "&amp;"); break;
		case '<': text__adds(t, "&lt;"); break;
		case '>': text__adds(t, "&gt;"); break;
		case '"': text__adds(t, "&quot;"); break;
		case '\'': text__adds(t, "&#39;"); break;
		default: text__add(t, string, 1);
		}
	}
}

void text__add_json(struct text *t, const char *string)
{
	for (; *string; string++) {
		unsigned char c = (unsigned char)*string;

		/* < > &: so that </script>, <!-- and ]]> cannot appear. */
		if (c == '"' || c == '\\')
			text__addf(t, "\\%c", c);
		else if (c < 0x20 || c == '<' || c == '>' || c == '&' || c == 0x7f)
			text__addf(t, "\\u%04x", c);
		else
			text__add(t, string, 1);
	}
}
