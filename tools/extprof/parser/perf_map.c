/* SPDX-License-Identifier: BSD-2-Clause */
#include "parser/perf_map.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define WINDOW 65536u

/* A hexadecimal number; *at is behind it then.  False: there is none. */
static bool read_hex(const char **at, const char *end, uint64_t *value)
{
	const char *p = *at;
	unsigned int digits = 0;

	if (end - p > 2 && p[0] == '0' && p[1] == 'x')
		p += 2;
	*value = 0;
	for (; p < end && digits < 17; p++, digits++) {
		char c = *p;
		int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? 10 + c - 'a' : c >= 'A' && c <= 'F' ? 10 + c - 'A' : -1;

		if (d < 0)
			break;
		*value = *value << 4 | (uint64_t)d;
	}
	*at = p;
	return digits && digits <= 16;
}

/* At least one blank.  False: there is none. */
static bool pass_blanks(const char **at, const char *end)
{
	const char *p = *at;

	while (p < end && *p == ' ')
		p++;
	if (p == *at)
		return false;
	*at = p;
	return true;
}

/* One line, without its end, which is there in what is read.  False: the piece is full. */
static bool take_line(struct symbols_piece *piece, const char *line, const char *end, uint64_t there)
{
	struct elf_symbol s = { .binding = SYMBOL_GLOBAL, .end = (uint32_t)there };
	size_t length;

	if (line < end && end[-1] == '\r')
		end--;
	if (!read_hex(&line, end, &s.address) || !pass_blanks(&line, end) || !read_hex(&line, end, &s.size) ||
	    (line < end && !pass_blanks(&line, end)) || !s.size || s.size > UINT64_MAX - s.address)
		return true;
	length = (size_t)(end - line) < SYMBOL_NAME_MAX ? (size_t)(end - line) : SYMBOL_NAME_MAX;
	if (memchr(line, '\0', length))
		length = 0;
	if (sizeof(piece->data) - piece->size < sizeof(s) + length + 8)
		return false;
	s.length = (uint16_t)length;
	memcpy((char *)piece->data + piece->size, &s, sizeof(s));
	memcpy((char *)piece->data + piece->size + sizeof(s), line, length);
	piece->size += (uint32_t)((sizeof(s) + length + 7) / 8 * 8);
	return true;
}

uint64_t perf_map__begin(uint64_t size)
{
	return size > PERF_MAP_MAX ? size - PERF_MAP_MAX : 0;
}

int perf_map__read(int fd, uint64_t size, const struct symbols_place *from, struct symbols_piece *piece)
{
	static char window[WINDOW];
	uint64_t begin = perf_map__begin(size), at = from->entry;
	/* The window begins within a line: of one that is longer than a window, or of one whose beginning is not read. */
	bool cut = begin && !at;

	piece->size = 0;
	piece->next = (struct symbols_place){ .table = SYMBOLS_END };
	size -= begin;
	while (at < size) {
		size_t wanted = size - at < WINDOW ? (size_t)(size - at) : WINDOW;
		ssize_t n = pread(fd, window, wanted, (off_t)(begin + at));
		const char *line = window, *end = window + (n > 0 ? n : 0), *newline;

		if (n < 0)
			return -errno;
		while (line < end && (newline = memchr(line, '\n', (size_t)(end - line)))) {
			if (!cut && !take_line(piece, line, newline, at + (uint64_t)(newline + 1 - window))) {
				piece->next = (struct symbols_place){ .entry = (uint32_t)(at + (uint64_t)(line - window)) };
				return 0;
			}
			cut = false;
			line = newline + 1;
		}
		if (line == window) {
			/* The line has no end here: it is the last one, or too long. */
			if ((size_t)n < WINDOW)
				return 0;
			cut = true;
			line = end;
		}
		at += (uint64_t)(line - window);
	}
	return 0;
}
