/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mutate PID SECONDS SEED: changes what a ruby tells readers, at random, and puts it back: the section, its tables, records
 * and their texts, threads, fibers, frames, the JIT log, the objects that live.  What Ruby itself needs is changed for a few
 * microseconds, or now and then for longer, which may end the process.  Says how many changes it made; status 3: the process
 * has ended.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ruby/debug_external.h"

#define MAPPING_MAX (64ul << 20)
#define SECOND 1000000000ull

static int mem;
static uint64_t section, state, changes, kinds[10];
static struct rb_debug_ext_section s;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static uint64_t random64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 2685821657736338717ull;
}

static uint64_t below(uint64_t n)
{
	return n ? (random64() >> 16) % n : 0;
}

static bool get(uint64_t address, void *to, size_t size)
{
	return address && pread(mem, to, size, (off_t)address) == (ssize_t)size;
}

static uint64_t word(uint64_t address)
{
	uint64_t value = 0;

	return get(address, &value, sizeof(value)) ? value : 0;
}

static bool find_section(pid_t pid)
{
	char path[64], line[4096];
	uint64_t start, end;
	char may[8];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	while (maps && !section && fgets(line, sizeof(line), maps)) {
		char *bytes;
		size_t size;

		if (sscanf(line, "%lx-%lx %4s", &start, &end, may) != 3 || may[1] != 'w' || end - start > MAPPING_MAX)
			continue;
		size = end - start;
		bytes = malloc(size);
		for (size_t at = 0; bytes && get(start, bytes, size) && at + sizeof(s) <= size; at += 8) {
			memcpy(&s, bytes + at, sizeof(s));
			if (memcmp(s.magic, RB_DEBUG_EXT_MAGIC, sizeof(s.magic)) || s.abi_major != RB_DEBUG_EXT_ABI_MAJOR || s.state != RB_DEBUG_EXT_READY)
				continue;
			section = start + at;
			break;
		}
		free(bytes);
	}
	if (maps)
		fclose(maps);
	return section;
}

static uint64_t record_at(uint32_t id)
{
	uint64_t chunk = word(s.records_dir + id / RB_DEBUG_EXT_RECORDS_PER_CHUNK * 8ull);

	return chunk ? chunk + (uint64_t)(id % RB_DEBUG_EXT_RECORDS_PER_CHUNK) * s.record_size : 0;
}

static uint64_t slot_at(uint64_t dir, uint32_t end, uint32_t size)
{
	uint32_t slot = 1 + (uint32_t)below(end > 1 ? end - 1 : 1);
	uint64_t chunk = word(dir + slot / RB_DEBUG_EXT_SLOTS_PER_CHUNK * 8ull);

	return chunk ? chunk + (uint64_t)(slot % RB_DEBUG_EXT_SLOTS_PER_CHUNK) * size : 0;
}

static uint64_t frame_of(uint64_t ec)
{
	uint64_t cfp = word(ec + s.ec_cfp), end = word(ec + s.ec_vm_stack) + 8 * word(ec + s.ec_vm_stack_size);
	uint64_t count = s.frame_size && cfp < end ? (end - cfp) / s.frame_size : 0;

	return count ? cfp + below(count < 64 ? count : 64) * s.frame_size : 0;
}

/* An address to change something at.  *needed: Ruby reads it too. */
static uint64_t place(uint32_t kind, bool *needed)
{
	static const size_t texts[] = { offsetof(struct rb_debug_ext_record, name), offsetof(struct rb_debug_ext_record, path),
					offsetof(struct rb_debug_ext_record, lines) };
	const uint64_t dirs[] = { s.records_dir, s.ec_dir, s.thread_dir, s.ractor_dir };
	const uint16_t fields[] = { s.ec_cfp, s.ec_vm_stack, s.ec_vm_stack_size, s.ec_slot, s.ec_label, s.ec_resume_pc, s.ec_fiber };
	uint64_t ec, at;

	*needed = false;
	switch (kind) {
	case 0:
		return section + 24 + below(sizeof(s) - 24);
	case 1:
		*needed = true;
		return dirs[below(4)] + 8 * below(4);
	case 2:
		at = record_at((uint32_t)below(s.records_end));
		/* vm_private is Ruby's own. */
		return at ? at + below(offsetof(struct rb_debug_ext_record, vm_private)) : 0;
	case 3:
		at = record_at((uint32_t)below(s.records_end));
		at = at ? word(at + texts[below(3)]) : 0;
		return at ? at + below(24) : 0;
	case 4:
		at = slot_at(s.thread_dir, s.thread_slots_end, s.thread_slot_size);
		return at ? at + below(s.thread_slot_size) : 0;
	case 5:
		at = slot_at(s.ec_dir, s.ec_slots_end, s.ec_slot_size);
		return at ? at + below(s.ec_slot_size) : 0;
	case 6:
		*needed = true;
		at = slot_at(s.ec_dir, s.ec_slots_end, s.ec_slot_size);
		ec = at ? word(at + offsetof(struct rb_debug_ext_ec, ec)) : 0;
		return ec ? ec + fields[below(7)] : 0;
	case 7:
		at = slot_at(s.ec_dir, s.ec_slots_end, s.ec_slot_size);
		ec = at ? word(at + offsetof(struct rb_debug_ext_ec, ec)) : 0;
		at = ec ? frame_of(ec) : 0;
		if (!at || below(10))
			return at ? at + s.frame_ext_debug : 0;
		*needed = true;
		return at + below(s.frame_size);
	case 8:
		return s.jit_log ? s.jit_log + below(s.jit_log_len + 1ull) * s.jit_entry_size : 0;
	default:
		return s.live ? s.live + below(s.live_end + 1ull) * s.live_entry_size + below(64) : 0;
	}
}

static uint64_t other_value(uint64_t before)
{
	static const uint64_t values[] = { 0, 1, 2, 0x7f, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, 1ull << 63, UINT64_MAX };

	switch (below(6)) {
	case 0:
		return before ^ 1ull << below(64);
	case 1:
		return values[below(sizeof(values) / sizeof(values[0]))];
	case 2:
		return random64();
	case 3:
		return before + 1 - 2 * below(2);
	case 4:
		return section + below(sizeof(s));
	default:
		return before + 8 * below(4096);
	}
}

static bool change(void)
{
	uint32_t kind = (uint32_t)below(10);
	size_t size = 1u << below(4);
	bool needed;
	uint64_t at = place(kind, &needed) & ~(uint64_t)(size - 1), before = 0, after, there = 0;
	struct timespec t = { 0, 0 };

	if (at < 4096 || !get(at, &before, size))
		return get(section, s.magic, sizeof(s.magic));
	after = other_value(before);
	if (pwrite(mem, &after, size, (off_t)at) != (ssize_t)size)
		return false;
	changes++;
	kinds[kind]++;
	/* As short as can be, or for a read, or for a sample. */
	if (!(needed && below(1000)) && !below(4))
		t.tv_nsec = (long)below(below(25) ? 20000 : 5000000);
	if (t.tv_nsec)
		nanosleep(&t, NULL);
	/* Unless Ruby has stored something there. */
	if (get(at, &there, size) && !memcmp(&there, &after, size))
		return pwrite(mem, &before, size, (off_t)at) == (ssize_t)size;
	return true;
}

int main(int argc, char **argv)
{
	uint64_t until;
	char path[64];
	bool lives = true;

	if (argc != 4)
		return 2;
	snprintf(path, sizeof(path), "/proc/%s/mem", argv[1]);
	mem = open(path, O_RDWR | O_CLOEXEC);
	state = strtoull(argv[3], NULL, 10) * 2 + 88172645463325253ull;
	if (mem < 0 || !find_section(atoi(argv[1]))) {
		fprintf(stderr, "mutate: no section in %s\n", argv[1]);
		return 2;
	}
	for (until = now() + (uint64_t)(atof(argv[2]) * 1e9); lives && now() < until;) {
		struct rb_debug_ext_section copy;

		/* What grows: ids, slots, the log. */
		if (changes % 1024 == 0 && get(section, &copy, sizeof(copy)) && copy.records_end >= s.records_end && copy.records_dir == s.records_dir)
			s = copy;
		lives = change();
	}
	printf("%lu changes", changes);
	for (int i = 0; i < 10; i++)
		printf(" %lu", kinds[i]);
	printf("\n");
	return lives ? 0 : 3;
}
