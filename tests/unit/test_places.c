/* SPDX-License-Identifier: BSD-2-Clause */
/* Places in files, looked up once.  The notes of this program are those of test_usdt.c. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "source/places.h"

extern const char __ehdr_start[];
int test_places_function(void);

/* The table of symbols of this program has it. */
int test_places_function(void)
{
	return 7;
}

static struct diag d;
static struct usdt usdt;

static uint64_t before_relocation(uint64_t address)
{
	return address - (uint64_t)(uintptr_t)__ehdr_start;
}

static struct ruby_file open_file(const char *path)
{
	struct ruby_file f = { .fd = open(path, O_RDONLY | O_CLOEXEC) };

	if (fstat(f.fd, &f.st))
		abort();
	return f;
}

static struct ruby_file open_self(void)
{
	return open_file("/proc/self/exe");
}

static struct places *wanted(void)
{
	struct places *p = places__new();

	if (places__any(p) || places__want(p, "test_provider", "twice") || places__want(p, "test_provider", "twice") ||
	    places__want(p, "test_provider", "no_such") || places__want(p, NULL, "test_places_function") || !places__any(p))
		abort();
	return p;
}

static int get(struct places *p, const struct ruby_file *f, const char *provider, const char *name, uint64_t *section)
{
	memset(&d, 0, sizeof(d));
	return places__get(p, f, provider, name, &usdt, section, &d);
}

TEST(places_are_found_once)
{
	struct ruby_file f = open_self(), other;
	struct places *p = wanted();
	uint64_t section = 1;

	/* Nobody has looked. */
	CHECK(get(p, &f, "test_provider", "twice", NULL) < 0 && d.text[0]);
	CHECK_INT(ruby_file__number(&f), 0);
	places__look(p, &f, NULL);
	CHECK_INT(get(p, &f, "test_provider", "twice", &section), 0);
	CHECK_INT(usdt.count, 2);
	/* Offset 0 of the file is where its header is loaded. */
	CHECK_INT(section, 0);
	CHECK_INT(get(p, &f, NULL, "test_places_function", NULL), 0);
	CHECK_INT(usdt.count, 1);
	CHECK_INT(usdt.places[0].address, before_relocation((uint64_t)(uintptr_t)test_places_function));
	/* What is not there, and what is not wanted. */
	CHECK_INT(get(p, &f, "test_provider", "no_such", NULL), -ENOENT);
	CHECK(strstr(d.text, "no_such") && d.code == DIAG_NO_INTERFACE);
	CHECK(get(p, &f, "test_provider", "bare", NULL) < 0);
	CHECK(get(p, &f, NULL, "twice", NULL) < 0);
	/* The answer comes from memory: the file need not be open, and a file is parsed once. */
	other = open_self();
	places__look(p, &other, NULL);
	CHECK(other.known == f.known);
	CHECK_INT(ruby_file__number(&other), ruby_file__number(&f));
	ruby_file__close(&other);
	/* Another file, or the same one after a change, has another number, whatever is in it. */
	other = open_self();
	other.st.st_ino++;
	places__look(p, &other, NULL);
	CHECK(ruby_file__number(&other) && ruby_file__number(&other) != ruby_file__number(&f));
	CHECK_INT(get(p, &other, "test_provider", "twice", NULL), 0);
	ruby_file__close(&other);
	other = open_self();
	other.st.st_mtim.tv_nsec ^= 1;
	places__look(p, &other, NULL);
	CHECK(ruby_file__number(&other) && ruby_file__number(&other) != ruby_file__number(&f));
	ruby_file__close(&other);
	/* Of the last reference: the file has one. */
	places__release(p);
	CHECK_INT(get(p, &f, "test_provider", "twice", NULL), 0);
	ruby_file__close(&f);
	places__release(NULL);
}

TEST(places_of_files_that_are_none)
{
	struct ruby_file f = open_file("/etc/passwd");
	struct places *p = wanted();
	uint64_t section;

	places__look(p, &f, NULL);
	CHECK(get(p, &f, "test_provider", "twice", NULL) < 0 && d.text[0]);
	CHECK(get(p, &f, NULL, "test_places_function", NULL) < 0 && d.text[0]);
	ruby_file__close(&f);
	/* The section is in no part of the file that is loaded. */
	f = open_self();
	f.offset = UINT64_MAX / 2;
	places__look(p, &f, NULL);
	CHECK_INT(get(p, &f, "test_provider", "twice", NULL), 0);
	CHECK_INT(get(p, &f, "test_provider", "twice", &section), -ENOENT);
	ruby_file__close(&f);
	places__release(p);
}

TEST(places_are_bounded)
{
	struct ruby_file first = open_file("/etc/passwd"), f = first;
	struct places *p = places__new();
	char name[ELF_WISH_NAME_MAX + 1];
	int err = 0;

	for (int i = 0; !err && i < 1000; i++) {
		snprintf(name, sizeof(name), "probe%d", i);
		err = places__want(p, "test_provider", name);
	}
	CHECK_INT(err, -E2BIG);
	memset(name, 'x', ELF_WISH_NAME_MAX);
	name[ELF_WISH_NAME_MAX] = '\0';
	CHECK(places__want(p, "test_provider", name) < 0);
	/* However many there are, each is told what is in it: those that nobody uses are forgotten. */
	for (int i = 1; i <= (int)PLACES_FILES_MAX * 2; i++) {
		f.known = NULL;
		f.st.st_ino = (ino_t)i;
		places__look(p, &f, NULL);
		CHECK_INT(ruby_file__number(&f), i);
		CHECK_INT(get(p, &f, "test_provider", "probe0", NULL), -EINVAL);
		f.fd = -1;
		ruby_file__close(&f);
		f.fd = first.fd;
	}
	ruby_file__close(&first);
	places__release(p);
}

/* One user may have many rubies, and still others have room. */
TEST(rubies_leave_room_for_other_users)
{
	CHECK(rubies__have_room(0, 0));
	CHECK(rubies__have_room(RUBIES_OF_ALL_MAX - 1, RUBIES_OF_ALL_MAX - 1));
	CHECK(!rubies__have_room(RUBIES_OF_ALL_MAX, RUBIES_OF_ALL_MAX));
	CHECK(rubies__have_room(RUBIES_OF_ALL_MAX, 0));
	CHECK(rubies__have_room(RUBIES_OF_ALL_MAX + 10, RUBIES_OF_USER_MIN - 1));
	CHECK(!rubies__have_room(RUBIES_OF_ALL_MAX + 10, RUBIES_OF_USER_MIN));
	CHECK(!rubies__have_room(RUBIES_MAX, 0));
}

/* A file that is kept has its number, however many others come. */
TEST(places_keep_the_number_of_a_file_in_use)
{
	struct ruby_file first = open_file("/etc/passwd"), f = first, again;
	struct places *p = wanted();
	struct known_file *kept;
	uint32_t number;

	places__look(p, &first, NULL);
	number = ruby_file__number(&first);
	kept = ruby_file__keep(&first);
	ruby_file__close(&first);
	f.fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	for (int i = 1; i <= (int)PLACES_FILES_MAX + 10; i++) {
		int fd = f.fd;

		f.known = NULL;
		f.st.st_ino = (ino_t)i;
		places__look(p, &f, NULL);
		f.fd = -1;
		ruby_file__close(&f);
		f.fd = fd;
	}
	again = open_file("/etc/passwd");
	places__look(p, &again, NULL);
	CHECK_INT(ruby_file__number(&again), number);
	ruby_file__close(&again);
	ruby_file__forget(kept);
	ruby_file__forget(NULL);
	close(f.fd);
	places__release(p);
}

/* The caller's end stops a search that would go on. */
TEST(places_end_with_the_deadline)
{
	struct ruby_file f = open_self();
	struct places *p = wanted();
	struct deadline deadline;

	deadline__start(&deadline, -1, 0);
	places__look(p, &f, &deadline);
	CHECK(get(p, &f, "test_provider", "twice", NULL) == 0 || strstr(d.text, "in time"));
	ruby_file__close(&f);
	/* That is not remembered of the file. */
	f = open_self();
	places__look(p, &f, NULL);
	CHECK_INT(get(p, &f, "test_provider", "twice", NULL), 0);
	ruby_file__close(&f);
	places__release(p);
}

static void *look(void *argument)
{
	struct places *p = argument;

	for (int i = 0; i < 20; i++) {
		struct ruby_file f = open_self();

		f.st.st_ino = (ino_t)(i + 1);
		places__look(p, &f, NULL);
		ruby_file__close(&f);
	}
	places__release(p);
	return NULL;
}

TEST(places_by_many_threads)
{
	struct places *p = wanted();
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, look, places__hold(p));
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	for (int i = 1; i <= 20; i++) {
		struct ruby_file f = open_self();

		f.st.st_ino = (ino_t)i;
		places__look(p, &f, NULL);
		CHECK_INT(get(p, &f, "test_provider", "twice", NULL), 0);
		CHECK(ruby_file__number(&f) <= 20);
		ruby_file__close(&f);
	}
	places__release(p);
}
