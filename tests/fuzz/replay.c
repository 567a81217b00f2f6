/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay NAME SECONDS FILE...: the short form of a fuzzer, for whoever has no libFuzzer and no time: each input as it is, and
 * then so many seconds of inputs that are changed blindly, always in the same way.  An input that takes a minute ends it.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "need.h"

#define SIZE_MAX_OF_INPUT (256u << 10)
#define PATIENCE 60u

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

#define FUZZER(name)									\
	int test_##name(const uint8_t *data, size_t size);				\
	int init_##name(int *argc, char ***argv) __attribute__((weak));		\
	size_t mutate_##name(uint8_t *data, size_t size, size_t room, unsigned int seed) __attribute__((weak));
#include "fuzzers.def"
#undef FUZZER

static const struct fuzzer {
	const char *name;
	int (*test)(const uint8_t *data, size_t size);
	int (*init)(int *argc, char ***argv);
	size_t (*mutate)(uint8_t *data, size_t size, size_t room, unsigned int seed);
} fuzzers[] = {
#define FUZZER(name) { #name, test_##name, init_##name, mutate_##name },
#include "fuzzers.def"
#undef FUZZER
};

static uint64_t state = 88172645463325252ull;

static uint32_t below(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? (uint32_t)(state >> 32) % n : 0;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room)
{
	static const uint64_t words[] = { 0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, 1ull << 63, UINT64_MAX };
	size_t at = below((uint32_t)size), n = 1u << below(4);

	if (!size || (size < room && !below(8))) {
		memmove(data + at + 1, data + at, size - at);
		data[at] = (uint8_t)below(256);
		return size + 1;
	}
	n = n < size - at ? n : size - at;
	switch (below(5)) {
	case 0:
		data[at] ^= (uint8_t)(1u << below(8));
		return size;
	case 1:
		memcpy(data + at, &words[below(sizeof(words) / sizeof(words[0]))], n);
		return size;
	case 2:
		memmove(data + at, data + below((uint32_t)(size - n + 1)), n);
		return size;
	case 3:
		memmove(data + at, data + at + n, size - at - n);
		return size - n;
	default:
		data[at] = (uint8_t)below(256);
		return size;
	}
}

static size_t read_file(const char *path, uint8_t *data)
{
	FILE *f = fopen(path, "re");
	size_t size;

	need(f != NULL);
	size = fread(data, 1, SIZE_MAX_OF_INPUT, f);
	fclose(f);
	return size;
}

static void test(const struct fuzzer *f, const uint8_t *data, size_t size)
{
	/* Of its own size, so that a read behind it is seen. */
	uint8_t *copy = malloc(size ? size : 1);

	need(copy != NULL);
	memcpy(copy, data, size);
	alarm(PATIENCE);
	f->test(copy, size);
	alarm(0);
	free(copy);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

int main(int argc, char **argv)
{
	static uint8_t data[SIZE_MAX_OF_INPUT];
	const struct fuzzer *f = NULL;
	uint64_t until;
	uint32_t changed = 0;

	for (size_t i = 0; argc > 3 && i < sizeof(fuzzers) / sizeof(fuzzers[0]); i++)
		if (!strcmp(fuzzers[i].name, argv[1]))
			f = &fuzzers[i];
	if (!f) {
		fprintf(stderr, "replay NAME SECONDS FILE...\n");
		return 2;
	}
	if (f->init)
		f->init(&argc, &argv);
	for (int i = 3; i < argc; i++)
		test(f, data, read_file(argv[i], data));
	for (until = now() + 1000u * strtoul(argv[2], NULL, 10); now() < until; changed++) {
		size_t size = read_file(argv[3 + below((uint32_t)argc - 3)], data);

		for (uint32_t times = 1 + below(6); times; times--)
			size = f->mutate ? f->mutate(data, size, sizeof(data), below(UINT32_MAX)) : LLVMFuzzerMutate(data, size, sizeof(data));
		test(f, data, size);
	}
	printf("ok   %s: %d inputs, %u changed\n", argv[1], argc - 3, changed);
	return 0;
}
