/* SPDX-License-Identifier: BSD-2-Clause */
/* From reports to files. */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output_file.h"
#include "profile_fixture.h"

static struct extprof_error error;

TEST(output_escapes_names_everywhere)
{
	const char *evil = "</script>]]><img src=x onerror=alert(1)>;\"'&\\\033[2J";
	const char *s;

	set_up();
	fake__set_name(fake__get(&ruby, bar_id), evil, strlen(evil));
	fake__set_path(fake__get(&ruby, bar_id), "<p>;\"\n");
	start();
	frame(bar_id, 0);
	frame(main_id, 0);
	send(1);
	s = folded();
	CHECK(!strchr(s, '\033') && strstr(s, "<main>;Foo#</script>]]><img src=x onerror=alert(1)>:\"'&\\\\x1B[2J 1\n"));
	for (int html = 0; html < 2; html++) {
		const char *first, *last;

		s = render(&output_flamegraph, false, html);
		CHECK(!strchr(s, '\033'));
		CHECK(!strstr(s, "<img") && !strstr(s, "<p>") && !strstr(s, "<app>"));
		/* One script, which ends where we end it. */
		first = strstr(s, "</script>");
		CHECK(first != NULL);
		last = strstr(first + 1, "</script>");
		CHECK(last == NULL);
		if (!html) {
			first = strstr(s, "<script><![CDATA[");
			CHECK(first != NULL);
			CHECK(strstr(first, "]]>") == strstr(first, "]]></script>"));
		}
		CHECK(strstr(s, "\\u003c/script\\u003e]]\\u003e") != NULL);
	}
	s = render(&output_summary, false, false);
	CHECK(!strchr(s, '\033'));
	tear_down();
}

TEST(output_file_appears_whole_or_not_at_all)
{
	char directory[] = "/tmp/extprof-test-XXXXXX", path[64], link[64], content[64] = "";
	struct output_file file;
	struct stat st;
	FILE *f;

	CHECK(mkdtemp(directory) != NULL);
	snprintf(path, sizeof(path), "%s/out", directory);
	snprintf(link, sizeof(link), "%s/link", directory);
	f = fopen(path, "w");
	fputs("before", f);
	fclose(f);
	chmod(path, 0640);
	CHECK_INT(symlink("out", link), 0);

	/* Discarded: as it was. */
	CHECK_INT(output_file__open(&file, link, NULL, &error), 0);
	fputs("after", file.stream);
	output_file__discard(&file);
	f = fopen(path, "r");
	CHECK(fgets(content, sizeof(content), f) != NULL);
	fclose(f);
	CHECK_STRING(content, "before");

	/* Committed, through the link, which stays one. */
	CHECK_INT(output_file__open(&file, link, NULL, &error), 0);
	fputs("after", file.stream);
	CHECK_INT(output_file__commit(&file, &error), 0);
	f = fopen(path, "r");
	CHECK(fgets(content, sizeof(content), f) != NULL);
	fclose(f);
	CHECK_STRING(content, "after");
	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_mode & 0777, 0640);
	CHECK_INT(lstat(link, &st), 0);
	CHECK(S_ISLNK(st.st_mode));

	/* No trace of temporary files. */
	unlink(link);
	unlink(path);
	CHECK_INT(rmdir(directory), 0);

	/* Refused before anything is recorded. */
	CHECK(output_file__open(&file, "/dev/null/x", NULL, &error) < 0);
	CHECK_INT(output_file__check("/dev/null/x", NULL, &error), -ENOTDIR);
	/* It would be written to a hidden file, and could not be renamed. */
	CHECK_INT(output_file__check("", NULL, &error), -ENOENT);
	CHECK_INT(error.code, EXTPROF_OUTPUT);
	CHECK_INT(output_file__open(&file, "", NULL, &error), -ENOENT);
	CHECK_STRING(error.text, "cannot write a file without a name: No such file or directory");
	CHECK_INT(error.code, EXTPROF_OUTPUT);
	CHECK(output_file__open(&file, "/tmp", NULL, &error) < 0);
	CHECK_INT(error.code, EXTPROF_OUTPUT);

	/* A device is written to, and a full one is an error. */
	CHECK_INT(output_file__open(&file, "/dev/full", NULL, &error), 0);
	fputs("x", file.stream);
	CHECK(output_file__commit(&file, &error) < 0);
	CHECK_INT(error.code, EXTPROF_OUTPUT);
	CHECK_STRING(error.text, "cannot write /dev/full: No space left on device");
	CHECK_INT(stat("/dev/full", &st), 0);
	CHECK(S_ISCHR(st.st_mode));
}

TEST(output_is_chosen_by_name_and_suffix)
{
	CHECK(output__by_name("folded") == &output_folded);
	CHECK(output__by_name("nonsense") == NULL);
	CHECK(output__by_path("a.b.SVG") == &output_flamegraph);
	CHECK(output__by_path("x.html") == &output_flamegraph);
	CHECK(output__by_path("x.txt") == &output_folded);
	CHECK(output__by_path("x") == NULL);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? 0 : st.st_mode & 07777;
}

TEST(output_file_is_private_or_has_the_mode_of_the_old_one)
{
	char directory[] = "/tmp/extprof-test-XXXXXX", path[64];
	struct output_file file;
	mode_t old = umask(0);

	CHECK(mkdtemp(directory) != NULL);
	snprintf(path, sizeof(path), "%s/out", directory);
	CHECK_INT(output_file__open(&file, path, NULL, &error), 0);
	CHECK_INT(access(path, F_OK), -1);
	CHECK_INT(output_file__commit(&file, &error), 0);
	CHECK_INT(mode_of(path), 0600);
	/* What exists keeps its mode, whatever umask is. */
	for (mode_t mode = 0600; mode <= 0666; mode += 066) {
		CHECK_INT(chmod(path, mode), 0);
		CHECK_INT(output_file__open(&file, path, NULL, &error), 0);
		CHECK_INT(output_file__commit(&file, &error), 0);
		CHECK_INT(mode_of(path), mode);
	}
	umask(old);
	unlink(path);
	CHECK_INT(rmdir(directory), 0);
}

/* What needs root is in tests/live/case_cli.py. */
TEST(output_file_of_another_owner_is_refused_or_given)
{
	char directory[] = "/tmp/extprof-test-XXXXXX", path[64];
	struct output_owner owner = { .uid = geteuid(), .gid = getegid() };
	struct output_file file;
	struct stat st;

	CHECK(mkdtemp(directory) != NULL);
	snprintf(path, sizeof(path), "%s/out", directory);
	CHECK_INT(output_file__open(&file, path, &owner, &error), 0);
	CHECK_INT(output_file__commit(&file, &error), 0);
	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_uid, geteuid());
	unlink(path);
	/* A user who may not write there gets nothing: mkdtemp() made it 0700. */
	owner.uid += 1;
	owner.gid += 1;
	CHECK_INT(output_file__open(&file, path, &owner, &error), 0);
	CHECK_INT(output_file__commit(&file, &error), 0);
	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_uid, geteuid());
	unlink(path);
	CHECK_INT(rmdir(directory), 0);
}

static unsigned int count_files(const char *directory)
{
	unsigned int count = 0;
	DIR *d = opendir(directory);

	while (d && readdir(d))
		count++;
	if (d)
		closedir(d);
	return count - 2;
}

TEST(output_file_has_no_name_before_it_is_whole)
{
	char directory[] = "/tmp/extprof-test-XXXXXX", path[64];
	struct output_file file;
	struct stat st;

	CHECK(mkdtemp(directory) != NULL);
	snprintf(path, sizeof(path), "%s/out", directory);
	CHECK_INT(output_file__open(&file, path, NULL, &error), 0);
	/* What kill -9 would leave.  /tmp has files without names, or this test has to find another place. */
	CHECK_INT(count_files(directory), 0);
	fputs("first\n", file.stream);
	CHECK_INT(output_file__publish(&file, &error), 0);
	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_size, 6);
	/* It goes on, and stays if it is given up. */
	fputs("second\n", file.stream);
	CHECK_INT(output_file__publish(&file, &error), 0);
	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_size, 13);
	output_file__discard(&file);
	CHECK_INT(count_files(directory), 1);
	/* Somebody made a file of that name meanwhile: it is replaced. */
	unlink(path);
	CHECK_INT(output_file__open(&file, path, NULL, &error), 0);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	fputs("third\n", file.stream);
	CHECK_INT(output_file__commit(&file, &error), 0);
	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_size, 6);
	CHECK_INT(count_files(directory), 1);
	unlink(path);
	CHECK_INT(rmdir(directory), 0);
}

TEST(output_file_follows_links_as_long_as_they_end)
{
	char directory[] = "/tmp/extprof-test-XXXXXX", path[128], link[128], open_file[32], content[16] = "";
	struct output_file file;
	int fd;

	CHECK(mkdtemp(directory) != NULL);
	/* One that leads to itself. */
	snprintf(path, sizeof(path), "%s/round", directory);
	CHECK_INT(symlink("round", path), 0);
	CHECK_INT(output_file__open(&file, path, NULL, &error), -ELOOP);
	snprintf(link, sizeof(link), "%s/round/x", directory);
	CHECK_INT(output_file__open(&file, link, NULL, &error), -ELOOP);
	unlink(path);
	/* A folder by a link, with .. and a link that is no file so far. */
	snprintf(path, sizeof(path), "%s/folder", directory);
	CHECK_INT(mkdir(path, 0700), 0);
	snprintf(link, sizeof(link), "%s/to", directory);
	CHECK_INT(symlink(path, link), 0);
	snprintf(link, sizeof(link), "%s/to/../to//new", directory);
	CHECK_INT(symlink("./other", link), 0);
	CHECK_INT(output_file__open(&file, link, NULL, &error), 0);
	CHECK_INT(output_file__commit(&file, &error), 0);
	snprintf(path, sizeof(path), "%s/folder/other", directory);
	CHECK_INT(mode_of(path), 0100600 & 07777);
	/* Files that are open, as of a shell's >(...), are written to as they are. */
	fd = open(path, O_RDWR);
	snprintf(open_file, sizeof(open_file), "/dev/fd/%d", fd);
	CHECK_INT(output_file__open(&file, open_file, NULL, &error), 0);
	fputs("into it", file.stream);
	CHECK_INT(output_file__commit(&file, &error), 0);
	CHECK_INT(read(fd, content, sizeof(content) - 1), 7);
	CHECK_STRING(content, "into it");
	close(fd);
	snprintf(path, sizeof(path), "rm -r %s", directory);
	CHECK_INT(system(path), 0);
}
