/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that a process names.  This process is the target; tests/live has those of other users. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/mapped_file.h"
#include "process/target_file.h"

static char directory[] = "/tmp/extprof-test-XXXXXX", path[PATH_MAX];

static const char *in_directory(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void make_directory(void)
{
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	if (!mkdtemp(directory))
		abort();
}

static void make_file(const char *name, const char *text, size_t size)
{
	int fd = open(in_directory(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void remove_files(void)
{
	static const char *const names[] = { "a.rb", "fifo", "link", "magic", "long", "sparse", "to-fifo" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(in_directory(names[i]));
	rmdir(directory);
}

static struct target_files of_self(void)
{
	struct target_files f;

	target_files__of_process(&f, getpid(), 0, NULL);
	return f;
}

static int line_of(struct target_files *f, const char *name, int32_t line, char to[TARGET_FILE_LINE_MAX + 1])
{
	size_t size = 0;
	int err = target_file__line(f, in_directory(name), line, to, &size);

	to[size] = '\0';
	return err;
}

TEST(mapping_lines_are_parsed)
{
	char code[] = "7f00a000-7f00c000 r-xp 00003000 fe:01 42      /usr/lib/a file.so\n";
	char data[] = "7f00c000-7f00d000 rw-p 00000000 00:00 0 \n", vdso[] = "7ffd0000-7ffd2000 r-xp 00000000 00:00 0      [vdso]";
	char cut[] = "7f00a000-7f00c000 r-xp 0000", none[] = "VmFlags: rd ex\n";
	struct mapping m;

	CHECK(mapping__parse(code, 42, &m) && m.start == 0x7f00a000 && m.end == 0x7f00c000 && m.offset == 0x3000);
	CHECK(m.device == (0xfeull << 32 | 1) && m.inode == 42 && m.is_code && m.is_exe);
	CHECK_STRING(m.path, "/usr/lib/a file.so");
	CHECK(mapping__parse(data, 0, &m) && !m.inode && !m.is_code && !m.is_exe && !*m.path);
	CHECK(mapping__parse(vdso, 42, &m) && m.is_code && !m.is_exe);
	CHECK_STRING(m.path, "[vdso]");
	CHECK(!mapping__parse(cut, 42, &m) && !mapping__parse(none, 42, &m));
}

TEST(target_file_has_lines)
{
	struct target_files f = of_self();
	static char text[300000], line[TARGET_FILE_LINE_MAX + 1];
	struct stat st;
	size_t size;

	make_directory();
	make_file("a.rb", "first\nsecond\n\nlast", 19);
	CHECK_INT(line_of(&f, "a.rb", 1, line), 0);
	CHECK_STRING(line, "first");
	CHECK_INT(line_of(&f, "a.rb", 2, line), 0);
	CHECK_STRING(line, "second");
	CHECK_INT(line_of(&f, "a.rb", 3, line), -ENOENT);
	CHECK_INT(line_of(&f, "a.rb", 4, line), 0);
	CHECK_STRING(line, "last");
	CHECK_INT(line_of(&f, "a.rb", 5, line), -ENOENT);
	CHECK_INT(line_of(&f, "a.rb", 0, line), -ENOENT);
	CHECK_INT(line_of(&f, "a.rb", INT32_MAX, line), -ENOENT);
	CHECK_INT(line_of(&f, "none", 1, line), -ENOENT);
	/* Lines that are read in two parts, and one that is longer than is shown. */
	memset(text, 'x', sizeof(text));
	text[65530] = text[65560] = '\n';
	make_file("long", text, sizeof(text));
	CHECK_INT(line_of(&f, "long", 2, line), 0);
	CHECK_INT(strlen(line), 29);
	CHECK_INT(line_of(&f, "long", 3, line), 0);
	CHECK_INT(strlen(line), TARGET_FILE_LINE_MAX);
	CHECK_INT(target_file__stat(&f, in_directory("a.rb"), &st), 0);
	CHECK_INT(st.st_size, 19);
	/* By their ends.  A line without an end may still be written. */
	CHECK_INT(target_file__line_that_ends(&f, in_directory("a.rb"), "cond", line, &size), 0);
	CHECK(size == 6 && !memcmp(line, "second", 6));
	CHECK_INT(target_file__line_that_ends(&f, in_directory("a.rb"), "", line, &size), 0);
	CHECK(size == 5 && !memcmp(line, "first", 5));
	CHECK_INT(target_file__line_that_ends(&f, in_directory("a.rb"), "last", line, &size), -ENOENT);
	CHECK_INT(target_file__line_that_ends(&f, in_directory("a.rb"), "xsecond", line, &size), -ENOENT);
	CHECK_INT(target_file__line_that_ends(&f, in_directory("long"), "xxx", line, &size), 0);
	CHECK_INT(size, 29);
	remove_files();
}

TEST(target_file_opens_no_other_kind_of_file)
{
	struct target_files f = of_self();
	char line[TARGET_FILE_LINE_MAX + 1], target[PATH_MAX], event[4096];
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), fd;
	struct stat st;

	make_directory();
	make_file("a.rb", "first\n", 6);
	CHECK_INT(mkfifo(in_directory("fifo"), 0600), 0);
	CHECK(inotify_add_watch(watch, path, IN_OPEN | IN_ACCESS) >= 0);
	strcpy(target, path);
	CHECK_INT(symlink(target, in_directory("to-fifo")), 0);
	CHECK_INT(symlink("a.rb", in_directory("link")), 0);
	CHECK_INT(symlink("/proc/self/root/etc/hostname", in_directory("magic")), 0);
	CHECK_INT(line_of(&f, "fifo", 1, line), -EINVAL);
	CHECK_INT(line_of(&f, "to-fifo", 1, line), -EINVAL);
	CHECK_INT(target_file__stat(&f, in_directory("fifo"), &st), -EINVAL);
	CHECK_INT(target_file__open_elf(&f, path, &st), -EINVAL);
	/* It was looked at, and not opened. */
	CHECK_INT(read(watch, event, sizeof(event)), -1);
	CHECK_INT(errno, EAGAIN);
	CHECK_INT(target_file__stat(&f, "/dev/null", &st), -EINVAL);
	CHECK_INT(target_file__stat(&f, directory, &st), -EINVAL);
	/* The helper's own: it would be of another process, and has what nobody else may see. */
	CHECK_INT(target_file__line(&f, "/proc/self/environ", 1, line, &(size_t){ 0 }), -EINVAL);
	CHECK_INT(target_file__stat(&f, "/sys/kernel/notes", &st), -EINVAL);
	CHECK_INT(line_of(&f, "magic", 1, line), -ELOOP);
	CHECK_INT(line_of(&f, "link", 1, line), 0);
	CHECK_STRING(line, "first");
	/* Larger than source files are. */
	make_file("sparse", "", 0);
	CHECK_INT(truncate(path, (off_t)TARGET_FILE_SOURCE_MAX + 1), 0);
	CHECK_INT(line_of(&f, "sparse", 1, line), -EFBIG);
	fd = target_file__open_elf(&f, path, &st);
	CHECK(fd >= 0);
	close(fd);
	CHECK_INT(truncate(path, (off_t)TARGET_FILE_ELF_MAX + 1), 0);
	CHECK_INT(target_file__open_elf(&f, path, &st), -EFBIG);
	close(watch);
	remove_files();
}

TEST(target_file_that_is_mapped)
{
	struct target_files f = of_self();
	uint64_t offset = 1;
	struct stat st, exe;
	int fd = mapped_file__open_at(&f, (uintptr_t)&of_self, &offset, &st);

	CHECK(fd >= 0);
	CHECK_INT(stat("/proc/self/exe", &exe), 0);
	CHECK_INT(st.st_ino, exe.st_ino);
	CHECK(offset < (uint64_t)exe.st_size);
	CHECK(fcntl(fd, F_GETFL) >= 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
	close(fd);
	/* The stack has no file. */
	CHECK_INT(mapped_file__open_at(&f, (uintptr_t)&f, &offset, &st), -ENOENT);
	/* Without the kernel's links, by its path; but not another file that has the path now. */
	make_directory();
	make_file("a.rb", "first\n", 6);
	CHECK_INT(stat(in_directory("a.rb"), &exe), 0);
	struct mapping m = { .start = 1, .end = 2, .inode = exe.st_ino, .path = path };
	fd = target_file__open_mapped(&f, &m, &st);
	CHECK(fd >= 0);
	close(fd);
	m.inode++;
	CHECK_INT(target_file__open_mapped(&f, &m, &st), -ENOENT);
	remove_files();
}

TEST(target_file_of_a_process_that_has_ended)
{
	struct target_files f;
	struct stat st;

	target_files__of_process(&f, INT_MAX, 0, NULL);
	CHECK_INT(target_file__stat(&f, "/etc/hostname", &st), -ENOENT);
	CHECK(target_file__open_elf(&f, "/proc/self/exe", &st) < 0);
}

TEST(target_file_of_a_core_file)
{
	struct target_files f;
	struct stat st, core = { .st_uid = geteuid(), .st_gid = getegid() };

	target_files__of_core(&f, &core);
	make_directory();
	make_file("a.rb", "first\n", 6);
	CHECK_INT(target_file__stat(&f, in_directory("a.rb"), &st), 0);
	/* What the user names is meant as it is, also by links of the kernel, or below the working directory. */
	target_files__of_user(&f);
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(chdir(directory) == 0);
	int fd = target_file__open_elf(&f, "a.rb", &st);
	CHECK(fd >= 0);
	close(fd);
	fd = target_file__open_elf(&f, "/proc/self/exe", &st);
	CHECK(fd >= 0);
	close(fd);
	CHECK(fchdir(here) == 0);
	close(here);
	/* Of another user's core file it is not ours to read what we may. */
	core.st_uid = 12345;
	target_files__of_core(&f, &core);
	CHECK_INT(target_file__open_elf(&f, path, &st), -EACCES);
	remove_files();
}
