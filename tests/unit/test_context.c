/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the contexts of threads are: of a program that says it, and of words that ld.so, or a liar, has written. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory_fake.h"
#include "process/context_search.h"

/* It is beside the tests. */
static const char *program_path(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, "context_program");
	return path;
}

TEST(context_of_a_program_is_where_it_says)
{
	struct context_files *files = context_files__new();
	const char *path = program_path();
	struct memory_fake fake;
	struct trace_place place;
	struct context_look *look;
	int in[2], out[2];
	char line[64] = "";
	pid_t pid;

	memory_fake__init(&fake);
	CHECK(!pipe(in) && !pipe(out));
	pid = fork();
	if (!pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(path, path, (char *)NULL);
		_exit(1);
	}
	CHECK(read(out[0], line, sizeof(line) - 1) > 0);
	look = context_look__new(files, pid, 1);
	context_look__run(look, NULL);
	CHECK(look->found && look->variable.is_program && context_look__place(look, &fake.memory, &place));
	CHECK_INT((int)place.module, (int)TRACE_IN_THREAD);
	CHECK_INT((int)place.offset, atoi(line));
	/* No word of its memory was needed. */
	CHECK_INT(fake.reads, 0);
	context_look__free(look);
	close(in[1]);
	close(in[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* This one is without: and is known to be from now on. */
	for (int i = 0; i < 2; i++) {
		look = context_look__new(files, getpid(), 1);
		context_look__run(look, NULL);
		CHECK(!look->found && !look->err && !context_look__place(look, &fake.memory, &place) && !place.module);
		context_look__free(look);
	}
	look = context_look__new(files, pid, 1);
	context_look__run(look, NULL);
	CHECK(!look->found && look->err);
	context_look__free(look);
	close(out[0]);
	close(out[1]);
	context_files__release(files);
}

/* What a look before has found. */
static uint64_t before;

/* Looks at a process with such a memory map; %1$s and %2$lu are path and inode of the file. */
static struct context_look *look_at_map_of(struct context_files *files, pid_t pid, const char *path, const char *format)
{
	struct context_look *look = context_look__new(files, pid, 1);
	struct stat st;
	char *text;
	FILE *maps;

	if (stat(path, &st) || asprintf(&text, format, path, (unsigned long)st.st_ino) < 0)
		abort();
	look->before = before;
	maps = fmemopen(text, strlen(text), "r");
	context_look__read(look, maps, 0, NULL);
	fclose(maps);
	free(text);
	return look;
}

/* The file is the program that has the variable. */
static struct context_look *look_at_map(struct context_files *files, const char *format)
{
	return look_at_map_of(files, getpid(), program_path(), format);
}

TEST(context_of_musl_is_told_by_the_last_line_of_the_map)
{
	static const char of_glibc[] =
		"10000-11000 r--p 00000000 00:01 %2$lu    %1$s\n"
		"11000-12000 r-xp 00001000 00:01 %2$lu    %1$s\n"
		"7f0000000000-7f0000001000 r--p 00000000 00:01 99    /nowhere/ld-linux-x86-64.so.2\n";
	static const char of_musl[] =
		"10000-11000 r--p 00000000 00:01 %2$lu    %1$s\n"
		"11000-12000 r-xp 00001000 00:01 %2$lu    %1$s\n"
		"7f0000000000-7f0000001000 r--p 00000000 00:01 99    /nowhere/ld-musl-x86_64.so.1\n";
	struct context_files *files = context_files__new();
	struct context_look *look = look_at_map(files, of_glibc);
	char cut[sizeof(of_glibc)];

	CHECK(look->found && !look->old_table);
	CHECK(look->variable.bias == 0x10000 - look->variable.of.load_vaddr);
	context_look__free(look);
	look = look_at_map(files, of_musl);
	CHECK(look->found && look->old_table);
	context_look__free(look);
	/* The end of the map is missing, which could have it. */
	memcpy(cut, of_glibc, sizeof(cut));
	cut[sizeof(cut) - 5] = '\0';
	look = look_at_map(files, cut);
	CHECK(look->found && look->old_table);
	context_look__free(look);
	context_files__release(files);
}

TEST(context_of_the_file_of_before_counts_first)
{
	static const char two[] =
		"10000-11000 r-xp 00000000 00:01 %2$lu    %1$s\n"
		"20000-21000 r-xp 00000000 00:01 %2$lu    %1$s\n"
		"30000-31000 r-xp 00000000 00:01 %2$lu    %1$s\n";
	static const char one[] = "20000-21000 r-xp 00000000 00:01 %2$lu    %1$s\n";
	struct context_files *files = context_files__new();
	struct context_look *first = look_at_map(files, one), *look;

	CHECK(first->found && first->file && first->whole && !first->maps_before);
	look = look_at_map(files, two);
	CHECK(look->found && look->file != first->file && look->variable.bias == 0x10000 - look->variable.of.load_vaddr);
	context_look__free(look);
	before = first->file;
	look = look_at_map(files, two);
	CHECK(look->found && look->maps_before && look->file == first->file);
	CHECK(look->variable.bias == 0x20000 - look->variable.of.load_vaddr);
	context_look__free(look);
	/* It is not mapped any more, or at another place. */
	look = look_at_map(files, "10000-11000 r-xp 00000000 00:01 99    /nowhere\n");
	CHECK(!look->found && !look->maps_before && look->whole);
	context_look__free(look);
	look = look_at_map(files, "30000-31000 r-xp 00000000 00:01 %2$lu    %1$s\n");
	CHECK(look->found && !look->maps_before && look->file != first->file);
	context_look__free(look);
	before = 0;
	context_look__free(first);
	context_files__release(files);
}

TEST(context_lines_of_the_map_are_not_split)
{
	struct context_files *files = context_files__new();
	char format[5000], padding[4400];
	struct context_look *look;

	/* A path is longer than PATH_MAX if it has a new line in each place, which is written as \012. */
	for (size_t length = 4100; length < 4300; length++) {
		memset(padding, 'x', length);
		padding[length] = '\0';
		snprintf(format, sizeof(format),
			 "10000-11000 r--p 00000000 00:01 98    /%s"
			 "10000-11000 r-xp 00000000 00:01 %%2$lu    %%1$s\n", padding);
		look = look_at_map(files, format);
		CHECK(!look->found);
		context_look__free(look);
	}
	context_files__release(files);
}

static const char one_file[] = "10000-11000 r-xp 00000000 00:01 %2$lu    %1$s\n";

/* With these bytes, and for nobody but its owner. */
static void write_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
}

/* The program of the tests; 0: it cannot be read. */
static size_t read_program(char *to, size_t room)
{
	FILE *f = fopen(program_path(), "rb");
	size_t size = f ? fread(to, 1, room, f) : 0;

	if (f)
		fclose(f);
	return size;
}

TEST(context_files_are_remembered_with_what_they_have)
{
	struct context_files *files = context_files__new();
	char path[] = "/tmp/extprof-context.XXXXXX", image[65536];
	size_t size = read_program(image, sizeof(image));
	struct context_look *look;
	int fd = mkstemp(path);

	CHECK(fd >= 0 && size > 4096);
	close(fd);
	write_file(path, image, size);
	look = look_at_map_of(files, getpid(), path, one_file);
	CHECK(look->found);
	context_look__free(look);
	/* It is not opened a second time. */
	write_file(path, "nothing", 7);
	look = look_at_map_of(files, getpid(), path, one_file);
	CHECK(look->found && look->variable.of.found && look->variable.of.has_program);
	context_look__free(look);
	context_files__release(files);
	/* Nor is one that is none of this kind. */
	files = context_files__new();
	look = look_at_map_of(files, getpid(), path, one_file);
	CHECK(!look->found);
	context_look__free(look);
	write_file(path, image, size);
	look = look_at_map_of(files, getpid(), path, one_file);
	CHECK(!look->found);
	context_look__free(look);
	context_files__release(files);
	unlink(path);
}

TEST(context_files_of_one_user_say_nothing_to_another)
{
	struct context_files *files = context_files__new();
	char path[] = "/tmp/extprof-context.XXXXXX", image[65536];
	size_t size = read_program(image, sizeof(image));
	struct context_look *look;
	int fd = mkstemp(path), ready[2];
	char byte;
	pid_t pid;

	CHECK(fd >= 0 && size > 4096 && !pipe(ready));
	close(fd);
	write_file(path, image, size);
	/* Without root it has our rights. */
	pid = fork();
	if (!pid) {
		if (!geteuid() && (setgid(65534) || setuid(65534)))
			_exit(1);
		/* Also if the test fails.  Another user clears it. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	/* That one may not read it: this time nothing is known, and the next time it is tried again. */
	look = look_at_map_of(files, pid, path, one_file);
	CHECK(look->found == (geteuid() != 0));
	context_look__free(look);
	chmod(path, 0644);
	look = look_at_map_of(files, pid, path, one_file);
	CHECK(look->found);
	context_look__free(look);
	write_file(path, "nothing", 7);
	look = look_at_map_of(files, getpid(), path, one_file);
	CHECK(look->found == (geteuid() != 0));
	context_look__free(look);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	unlink(path);
	context_files__release(files);
}

/* Threads have the memory of modules on this side of the thread pointer. */
#if defined(__x86_64__)
#define DISTANCE(n) (-(n))
#else
#define DISTANCE(n) (n)
#endif

static struct context_look look;
static uint64_t words[4];

/* What is told of a library whose only word is of that kind. */
static bool place_of(uint16_t how, uint16_t by_name, uint64_t first, uint64_t second, struct trace_place *place)
{
	struct memory_fake fake;

	memory_fake__init(&fake);
	memset(&look, 0, sizeof(look));
	look.found = true;
	look.variable.bias = (uintptr_t)words - 0x1000;
	look.variable.of = (struct elf_context){ .found = 1, .has_load = 1, .has_program = 1, .program = -8, .offset = 0x30, .count = 1 };
	look.variable.of.words[0] = (struct elf_context_word){ .how = how, .by_name = by_name, .address = 0x1000 };
	words[0] = first;
	words[1] = second;
	return context_look__place(&look, &fake.memory, place);
}

static bool is_in_thread(const struct trace_place *place, int64_t distance)
{
	return place->module == TRACE_IN_THREAD && place->offset == distance;
}

TEST(context_words_are_believed_within_bounds)
{
	struct memory_fake fake;
	struct trace_place place;

	CHECK(place_of(CONTEXT_OFFSET, 0, (uint64_t)DISTANCE(64ll), 0, &place) && is_in_thread(&place, DISTANCE(64)));
	CHECK(!place_of(CONTEXT_OFFSET, 0, 0, 0, &place) && !place.module);
	CHECK(!place_of(CONTEXT_OFFSET, 0, 0xdeadbeef0000, 0, &place) && !place.module);
	CHECK(!place_of(CONTEXT_OFFSET, 0, (uint64_t)-DISTANCE(64ll), 0, &place) && !place.module);
	CHECK(!place_of(CONTEXT_OFFSET, 0, (uint64_t)DISTANCE(1ll << 24), 0, &place) && !place.module);
	CHECK(place_of(CONTEXT_MODULE, 0, 5, 0, &place) && place.module == 5 && place.offset == 0x30);
	CHECK(!place_of(CONTEXT_MODULE, 0, 0, 0, &place) && !place.module);
	CHECK(!place_of(CONTEXT_MODULE, 0, TRACE_IN_THREAD, 0, &place) && !place.module);
	CHECK(!place_of(CONTEXT_MODULE, 0, 1ull << 32, 0, &place) && !place.module);
	CHECK(!place_of(99, 0, 1, 1, &place) && !place.module);
	/* Another C library has another table. */
	CHECK(place_of(CONTEXT_MODULE, 0, 5, 0, &place));
	memory_fake__init(&fake);
	look.old_table = true;
	CHECK(!context_look__place(&look, &fake.memory, &place) && !place.module);
}

TEST(context_of_another_library_of_the_same_name)
{
	struct trace_place place;

	CHECK(place_of(CONTEXT_MODULE, 1, 5, 0x30, &place) && place.module == 5 && place.offset == 0x30);
	CHECK(!place_of(CONTEXT_MODULE, 1, 5, 0x28, &place) && !place.module);
	/* What is bound to the library itself has no offset that ld.so writes. */
	CHECK(place_of(CONTEXT_MODULE, 0, 5, 0x28, &place) && place.module == 5 && place.offset == 0x30);
}

TEST(context_descriptors_have_an_address_or_a_distance)
{
	uint64_t *low = mmap((void *)0x200000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	uint64_t index[2] = { 7, 0x30 };
	struct trace_place place;

	CHECK(place_of(CONTEXT_DESCRIPTOR, 0, 1, (uint64_t)DISTANCE(128ll), &place) && is_in_thread(&place, DISTANCE(128)));
	CHECK(!place_of(CONTEXT_DESCRIPTOR, 0, 1, (uint64_t)-DISTANCE(128ll), &place) && !place.module);
	CHECK(place_of(CONTEXT_DESCRIPTOR, 0, 1, (uintptr_t)index, &place) && place.module == 7 && place.offset == 0x30);
	/* It has not been used yet. */
	CHECK(!place_of(CONTEXT_DESCRIPTOR, 0, 0, 0, &place) && !place.module);
	CHECK(!place_of(CONTEXT_DESCRIPTOR, 0, 1, 0xdeadbeef0000, &place) && !place.module);
	index[1] = 0x38;
	CHECK(!place_of(CONTEXT_DESCRIPTOR, 0, 1, (uintptr_t)index, &place) && !place.module);
	/* Memory of a program at a fixed address can be at one that is as small as a distance. */
	CHECK(low == (void *)0x200000);
	low[0] = 9;
	low[1] = 0x30;
	CHECK(place_of(CONTEXT_DESCRIPTOR, 0, 1, 0x200000, &place) && place.module == 9 && place.offset == 0x30);
	low[1] = 0x38;
	CHECK(!place_of(CONTEXT_DESCRIPTOR, 0, 1, 0x200000, &place) && !place.module);
	munmap(low, 4096);
	/* There is nothing now: on x86-64 that is no distance either. */
	CHECK(place_of(CONTEXT_DESCRIPTOR, 0, 1, 0x200000, &place) == (DISTANCE(1) > 0));
}

TEST(context_of_a_file_that_lies)
{
	struct elf_context c;
	int fd = memfd_create("context", MFD_CLOEXEC);
	char image[65536];
	struct elf_budget budget;
	FILE *f = fopen(program_path(), "rb");
	size_t size = f ? fread(image, 1, sizeof(image), f) : 0;

	CHECK(fd >= 0 && size > 4096 && size < sizeof(image));
	fclose(f);
	srand(1);
	CHECK(!ftruncate(fd, (off_t)size));
	for (int i = 0; i < 3000; i++) {
		size_t at[4];

		for (int j = 0; j < 4; j++) {
			/* The headers of the file and of its sections, or anywhere. */
			at[j] = (size_t)rand() % (j < 2 ? 1024 : size);
			if (j == 3)
				at[j] = size - 1 - (size_t)rand() % 2048;
			image[at[j]] ^= (char)(1 + rand() % 255);
		}
		CHECK(pwrite(fd, image, size, 0) == (ssize_t)size);
		elf_budget__init(&budget);
		elf_context__find(fd, i % 2 ? size : (uint64_t)rand() % size, &budget, &c);
		CHECK(c.count <= ELF_CONTEXT_WORDS_MAX);
		if (i % 20 == 19) {
			f = fopen(program_path(), "rb");
			CHECK(f && fread(image, 1, size, f) == size);
			fclose(f);
		}
	}
	close(fd);
}
