/* SPDX-License-Identifier: BSD-2-Clause */
/* Places in files, looked up once.  The notes of this program are those of test_usdt.c. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
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

static struct ruby_file open_self(void)
{
	struct ruby_file f = { .fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC) };

	CHECK_INT(fstat(f.fd, &f.st), 0);
	return f;
}

static struct places *wanted(void)
{
	struct places *p = places__new();

	CHECK(!places__any(p));
	CHECK_INT(places__want(p, "test_provider", "twice"), 0);
	CHECK_INT(places__want(p, "test_provider", "twice"), 0);
	CHECK_INT(places__want(p, "test_provider", "no_such"), 0);
	CHECK_INT(places__want(p, NULL, "test_places_function"), 0);
	CHECK(places__any(p));
	return p;
}

static int get(struct places *p, const struct ruby_file *f, const char *provider, const char *name, uint64_t *section)
{
	memset(&d, 0, sizeof(d));
	return places__get(p, f, provider, name, &usdt, section, &d);
}

TEST(places_are_found_once)
{
	struct ruby_file f = open_self(), other = f;
	struct places *p = wanted();
	uint64_t section = 1;

	/* Nobody has looked. */
	CHECK(get(p, &f, "test_provider", "twice", NULL) < 0 && d.text[0]);
	places__look(p, &f);
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
	/* The answer comes from memory: the file need not be open. */
	close(f.fd);
	f.fd = -1;
	places__look(p, &f);
	CHECK_INT(get(p, &f, "test_provider", "twice", NULL), 0);
	/* Another file, or the same one after a change. */
	other.st.st_ino++;
	CHECK(get(p, &other, "test_provider", "twice", NULL) < 0);
	other = f;
	other.st.st_mtim.tv_nsec ^= 1;
	CHECK(get(p, &other, "test_provider", "twice", NULL) < 0);
	/* Of the last reference. */
	CHECK(places__hold(p) == p);
	places__release(p);
	CHECK_INT(get(p, &f, "test_provider", "twice", NULL), 0);
	places__release(p);
	places__release(NULL);
}

TEST(places_of_files_that_are_none)
{
	struct ruby_file f = { .fd = open("/etc/hostname", O_RDONLY | O_CLOEXEC) };
	struct places *p = wanted();

	fstat(f.fd, &f.st);
	places__look(p, &f);
	CHECK(get(p, &f, "test_provider", "twice", NULL) < 0 && d.text[0]);
	CHECK(get(p, &f, NULL, "test_places_function", NULL) < 0 && d.text[0]);
	close(f.fd);
	/* The section is in no part of the file that is loaded. */
	f = open_self();
	f.offset = UINT64_MAX / 2;
	places__look(p, &f);
	uint64_t section;
	CHECK_INT(get(p, &f, "test_provider", "twice", NULL), 0);
	CHECK_INT(get(p, &f, "test_provider", "twice", &section), -ENOENT);
	close(f.fd);
	places__release(p);
}

TEST(places_are_bounded)
{
	struct places *p = places__new();
	struct ruby_file f = { .fd = open("/etc/hostname", O_RDONLY | O_CLOEXEC) };
	char name[32];
	int err = 0;

	for (int i = 0; !err && i < 1000; i++) {
		snprintf(name, sizeof(name), "probe%d", i);
		err = places__want(p, "test_provider", name);
	}
	CHECK_INT(err, -E2BIG);
	for (f.st.st_ino = 1; f.st.st_ino <= PLACES_FILES_MAX + 1; f.st.st_ino++)
		places__look(p, &f);
	f.st.st_ino = PLACES_FILES_MAX + 1;
	CHECK_INT(get(p, &f, "test_provider", "probe0", NULL), -E2BIG);
	CHECK(strstr(d.text, "different rubies"));
	close(f.fd);
	places__release(p);
}

static void *look(void *argument)
{
	struct places *p = argument;
	struct ruby_file f = open_self();

	for (int i = 0; i < 20; i++) {
		f.st.st_ino = (ino_t)(i + 1);
		places__look(p, &f);
	}
	close(f.fd);
	places__release(p);
	return NULL;
}

TEST(places_by_many_threads)
{
	struct places *p = wanted();
	struct ruby_file f = open_self();
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, look, places__hold(p));
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	for (f.st.st_ino = 1; f.st.st_ino <= 20; f.st.st_ino++)
		CHECK_INT(get(p, &f, "test_provider", "twice", NULL), 0);
	close(f.fd);
	places__release(p);
}
