/* SPDX-License-Identifier: BSD-2-Clause */
/* The map that a JIT writes of its functions, also one that lies. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "parser/perf_map.h"

/* What is in a map of this text: "ADDRESS+SIZE NAME;" for each function. */
static const char *functions_of(const char *map, size_t size)
{
	static struct symbols_piece piece;
	static char text[8192];
	struct symbols_place at = { 0 };
	int fd = memfd_create("map", MFD_CLOEXEC), pieces = 0;
	size_t length = 0;

	if (write(fd, map, size) != (ssize_t)size)
		return "not written";
	for (; at.table < SYMBOLS_END && pieces < 10000; pieces++) {
		if (perf_map__read(fd, size, &at, &piece))
			return "an error";
		for (uint32_t i = 0; i < piece.size;) {
			struct elf_symbol s;

			memcpy(&s, (char *)piece.data + i, sizeof(s));
			if (s.length > SYMBOL_NAME_MAX || i + sizeof(s) + s.length > piece.size)
				return "a name that is too long";
			if (length + s.length + 64 < sizeof(text))
				length += (size_t)sprintf(text + length, "%llx+%llx %.*s;", (unsigned long long)s.address,
							  (unsigned long long)s.size, (int)s.length, (char *)piece.data + i + sizeof(s));
			i += (uint32_t)((sizeof(s) + s.length + 7) / 8 * 8);
		}
		if (piece.next.table < SYMBOLS_END && piece.next.entry <= at.entry)
			return "it does not go on";
		at = piece.next;
	}
	close(fd);
	text[length] = '\0';
	return at.table == SYMBOLS_END ? text : "no end";
}

TEST(perf_map_lines)
{
	static const char map[] =
		"7f0000001000 20 one\n0x7f0000002000 0x30 LazyCompile:~two /app/a.js:1\n7F00000030AB  5  three\r\n"
		/* None of a function. */
		"\n \n7f 0 no size\n7f\n7f \nzz 5 a\n7f zz a\n-7f 5 a\n 7f 5 a\n7f,5 a\n12345678123456781 5 a\n"
		"ffffffffffffffff 2 beyond\n7f0000001000 20 one again\n"
		/* Code without a name. */
		"8f 5\n8f 6 \n7f 5 being writ";

	CHECK_STRING(functions_of(map, sizeof(map) - 1),
		     "7f0000001000+20 one;7f0000002000+30 LazyCompile:~two /app/a.js:1;7f00000030ab+5 three;7f0000001000+20 one again;8f+5 ;8f+6 ;");
	CHECK_STRING(functions_of("", 0), "");
	CHECK_STRING(functions_of("7f 5 a\0b\n7f 6 c\n", 16), "7f+5 ;7f+6 c;");
}

/* Lines that are longer than what is read at once, and more functions than are in one piece. */
TEST(perf_map_long_lines_and_many)
{
	size_t size = 0, room = 1 << 20;
	char *map = malloc(room), expected[64];
	const char *found;

	size += (size_t)sprintf(map, "1 1 ");
	memset(map + size, 'x', 2000);
	size += 2000;
	size += (size_t)sprintf(map + size, "\n2 1 ");
	/* Within it there is what looks like a line, behind an end that is none. */
	memset(map + size, 'y', 200000);
	memcpy(map + size + 65536, "3 1 no", 6);
	size += 200000;
	size += (size_t)sprintf(map + size, "\n4 1 four\n");
	found = functions_of(map, size);
	CHECK(!strncmp(found, "1+1 xxx", 7) && strlen(found) >= SYMBOL_NAME_MAX + 4);
	CHECK(strstr(found, "x;") && !strstr(found, "3+1"));
	CHECK(!strcmp(strchr(strstr(found, "x;") + 2, '4'), "4+1 four;"));
	size = 0;
	for (int i = 0; i < 20000; i++)
		size += (size_t)sprintf(map + size, "%x 10 function_%d\n", 0x1000 + 16 * i, i);
	found = functions_of(map, size);
	for (int i = 0; i < 100; i++) {
		snprintf(expected, sizeof(expected), "%x+10 function_%d;", 0x1000 + 16 * i, i);
		CHECK(strstr(found, expected));
	}
	free(map);
}

TEST(perf_map_of_random_bytes)
{
	static const char letters[] = "0123456789abcdefx \n\r";
	char map[512];

	for (int i = 0; i < 20000; i++) {
		size_t size = test__random() % sizeof(map);
		const char *found;

		for (size_t j = 0; j < size; j++)
			map[j] = letters[test__random() % (sizeof(letters) - 1)];
		found = functions_of(map, size);
		CHECK(!*found || strchr(found, '+'));
	}
}

/* Of a large one the last lines are read, and of the first of them that is whole. */
TEST(perf_map_of_which_the_end_is_read)
{
	static struct symbols_piece piece;
	struct symbols_place at = { 0 };
	static const char lines[] = "5 1 five\n6 1 six\n";
	int fd = memfd_create("map", MFD_CLOEXEC);
	uint64_t size = PERF_MAP_MAX + 100;
	struct elf_symbol s;

	CHECK(!ftruncate(fd, (off_t)size));
	CHECK(pwrite(fd, "1 1 one\n", 8, 0) == 8);
	CHECK(pwrite(fd, "2 1 two is cut\n3 1 three\n", 26, 96) == 26);
	CHECK(pwrite(fd, "\n", 1, (off_t)(size - sizeof(lines))) == 1);
	CHECK(pwrite(fd, lines, sizeof(lines) - 1, (off_t)(size - sizeof(lines) + 1)) == sizeof(lines) - 1);
	CHECK_INT(perf_map__read(fd, size, &at, &piece), 0);
	memcpy(&s, piece.data, sizeof(s));
	CHECK(s.address == 3 && !memcmp((char *)piece.data + sizeof(s), "three", 5));
	CHECK_INT(piece.size, 3 * 32);
	/* It has become shorter. */
	CHECK(!ftruncate(fd, 0));
	CHECK_INT(perf_map__read(fd, PERF_MAP_MAX, &at, &piece), 0);
	CHECK(!piece.size && piece.next.table == SYMBOLS_END);
	close(fd);
}
