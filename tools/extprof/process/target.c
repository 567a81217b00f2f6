/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/elf_search.h"
#include "base/text.h"

/* Images looked at in one process; rubies with gems have some hundreds. */
#define IMAGES_MAX 4096

/* A file mapped with its beginning (where the ELF header is). */
struct image {
	uint64_t start, end, offset;	/* first mapping */
	uint64_t inode;
	bool is_exe, ruby_name;
	char path[PATH_MAX];
};

int target__read_error(const struct target *t, int err, const char *what, struct diag *d)
{
	switch (err) {
	case -EPERM:
	case -EACCES:
		diag__set(d, DIAG_PERMISSION, -err, "no permission to read %s of process %d",
			  what, t->pid);
		diag__hint(d, "run extprof as the user of the process (and see "
			   "/proc/sys/kernel/yama/ptrace_scope), as root, or with CAP_SYS_PTRACE");
		break;
	case -ESRCH:
	case -ENOENT:
		diag__set(d, DIAG_NO_PROCESS, -err, "process %d has ended", t->pid);
		break;
	default:
		diag__set(d, DIAG_INTERNAL, -err, "cannot read %s of process %d: %s",
			  what, t->pid, strerror(-err));
	}
	return err;
}

bool target__exited(const struct target *t)
{
	struct pollfd p = { .fd = t->pidfd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

bool target__executed(const struct target *t)
{
	return t->space && !address_space__lives(t->space);
}

bool target__has_pid(const struct target *t)
{
	/* Nothing is sent.  Until it has been waited for it is found. */
	return !syscall(SYS_pidfd_send_signal, t->pidfd, 0, NULL, 0) || errno != ESRCH;
}

void target__refresh(struct target *t)
{
	char path[64], raw[sizeof(t->command)];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", t->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, raw, sizeof(raw) - 1);
		close(fd);
	}
	if (n <= 0 || !target__has_pid(t))
		return;
	while (n > 0 && !raw[n - 1])
		n--;
	for (ssize_t i = 0; i < n; i++)
		if (!raw[i])
			raw[i] = ' ';
	raw[n] = '\0';
	text__clean(t->command, sizeof(t->command), raw);
}

/* The last number of "NSpid:", and what is wrong with the pid. */
static int read_status(struct target *t, struct diag *d)
{
	char path[64], line[256];
	int tgid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", t->pid);
	f = fopen(path, "re");
	if (!f)
		return diag__set(d, DIAG_NO_PROCESS, ESRCH, "no such process: %d", t->pid);
	while (fgets(line, sizeof(line), f)) {
		char state, *last;

		if (sscanf(line, "State: %c", &state) == 1 && (state == 'Z' || state == 'X')) {
			fclose(f);
			return diag__set(d, DIAG_NO_PROCESS, ESRCH,
					 "process %d has ended (it is a zombie)", t->pid);
		}
		if (sscanf(line, "Tgid: %d", &tgid) == 1)
			continue;
		if (!strncmp(line, "NSpid:", 6) && (last = strrchr(line, '\t')))
			t->key.pid = (uint32_t)strtoul(last + 1, NULL, 10);
	}
	fclose(f);
	if (tgid && tgid != t->pid) {
		diag__set(d, DIAG_NO_PROCESS, ESRCH, "%d is a thread, not a process", t->pid);
		diag__advise(d, ADVICE_PID, tgid);
		return -ESRCH;
	}
	if (!t->key.pid)	/* kernels without NSpid: no namespaces either */
		t->key.pid = (uint32_t)t->pid;
	return 0;
}

int target__open(struct target *t, pid_t pid, struct diag *d)
{
	char path[64];
	struct stat st;
	int err;

	memset(t, 0, sizeof(*t));
	t->pid = pid;
	t->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (t->pidfd < 0 && errno == ENOSYS)
		return diag__set(d, DIAG_NO_BPF, ENOSYS,
				 "this kernel is too old: it has no pidfd_open (Linux 5.3)");
	if (t->pidfd < 0 && errno != EINVAL && errno != ENOENT)
		return diag__set(d, DIAG_NO_PROCESS, errno, "no such process: %d", pid);
	err = read_status(t, d);
	if (!err && t->pidfd < 0)
		err = diag__set(d, DIAG_NO_PROCESS, ESRCH, "no such process: %d", pid);
	if (err)
		goto cleanup;
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	if (stat(path, &st)) {
		err = target__read_error(t, -errno, "the namespace", d);
		goto cleanup;
	}
	t->key.pidns = (uint32_t)st.st_ino;
	target__refresh(t);
	if (target__has_pid(t))
		return 0;
	err = diag__set(d, DIAG_NO_PROCESS, ESRCH, "process %d has ended", pid);
cleanup:
	target__close(t);
	return err;
}

void target__close(struct target *t)
{
	if (!t)
		return;
	address_space__close(t->space);
	t->space = NULL;
	if (t->pidfd >= 0)
		close(t->pidfd);
	t->pidfd = -1;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* All images, the executable first, then those that are called ruby. */
static int read_maps(const struct target *t, struct image **images, int *count, struct diag *d)
{
	char path[64], line[PATH_MAX + 128];
	uint64_t exe_inode = 0;
	struct stat st;
	int err = 0, room = 0;
	FILE *f;

	*images = NULL;
	*count = 0;
	snprintf(path, sizeof(path), "/proc/%d/exe", t->pid);
	if (!stat(path, &st))
		exe_inode = st.st_ino;
	snprintf(path, sizeof(path), "/proc/%d/maps", t->pid);
	f = fopen(path, "re");
	if (!f)
		return target__read_error(t, -errno, "the memory map", d);
	while (fgets(line, sizeof(line), f)) {
		uint64_t start, end, offset, inode;
		struct image *image;
		int at = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %" SCNx64 " %*x:%*x %" SCNu64 " %n",
			   &start, &end, &offset, &inode, &at) < 4 || !at)
			continue;
		if (!inode || offset || line[at] != '/')
			continue;
		if (*count >= IMAGES_MAX)
			break;
		if (*count == room) {
			int bigger = room ? room * 2 : 16;
			struct image *p = realloc(*images, bigger * sizeof(*p));

			if (!p) {
				err = diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
				break;
			}
			*images = p;
			room = bigger;
		}
		image = &(*images)[(*count)++];
		memset(image, 0, sizeof(*image));
		image->start = start;
		image->end = end;
		image->offset = offset;
		image->inode = inode;
		image->is_exe = inode == exe_inode;
		line[strcspn(line, "\n")] = '\0';
		snprintf(image->path, sizeof(image->path), "%s", line + at);
		image->ruby_name = strstr(base_name(image->path), "ruby") != NULL;
	}
	/* An empty map, and no file: reading it is refused that way too. */
	if (!err && ferror(f))
		err = target__read_error(t, -errno, "the memory map", d);
	fclose(f);
	if (err) {
		free(*images);
		*images = NULL;
	}
	return err;
}

static int open_checked(const char *path, uint64_t inode)
{
	/* The target chooses the path: it may be a FIFO or a device. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (inode && st.st_ino != inode)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The file as the process has it mapped: deleted, replaced and in another
 * mount namespace or not. */
static int open_image(const struct target *t, const struct image *image)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char path[128];
	struct stat st;
	int root, fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, t->pid,
		 image->start, image->end);
	fd = open_checked(path, 0);
	if (fd >= 0)
		return fd;
	/* map_files needs CAP_CHECKPOINT_RESTORE; these do not. */
	if (image->is_exe) {
		snprintf(path, sizeof(path), "/proc/%d/exe", t->pid);
		fd = open_checked(path, 0);
		if (fd >= 0)
			return fd;
	}
	snprintf(path, sizeof(path), "/proc/%d/root", t->pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, root, image->path, &how, sizeof(how));
	close(root);
	/* Another inode: the file was replaced after it had been mapped. */
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_ino != image->inode)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* True if what is at the address begins as a section does. */
static bool has_magic(const struct target *t, uint64_t address)
{
	char magic[8];

	return !memory__read(&t->space->memory, address, magic, sizeof(magic)) &&
	       !memcmp(magic, RB_DEBUG_EXT_MAGIC, sizeof(magic));
}

static bool search_image(struct target *t, const struct image *image, struct elf_budget *budget,
			 struct elf_finding *f)
{
	bool ok = false;
	int fd = -1;

	memset(f, 0, sizeof(*f));
	if (image->is_exe || image->ruby_name)
		fd = open_image(t, image);
	if (fd >= 0) {
		ok = !elf__search_file(fd, image->offset, budget, f);
		close(fd);
	}
	if (!ok || f->how == ELF_NOT_FOUND) {
		struct elf_finding m;

		if (!elf__search_memory(&t->space->memory, image->start, budget, &m)) {
			m.is_ruby |= ok && f->is_ruby;
			*f = m;
			ok = true;
		}
	}
	if (!ok || !f->has_load)
		return false;
	if (f->how == ELF_NOT_FOUND)
		return false;
	t->section = f->section + (image->start - f->load_vaddr);
	return has_magic(t, t->section);
}

static int no_interface(const struct target *t, const struct image *image,
			const struct elf_finding *f, struct diag *d)
{
	char version[24] = "";

	if (f->version && f->has_load &&
	    memory__read(&t->space->memory, f->version + (image->start - f->load_vaddr), version,
			 sizeof(version) - 1))
		version[0] = '\0';
	diag__set(d, DIAG_NO_INTERFACE, ENOENT,
		  "process %d runs ruby%s%s (%s), which has no external debugging interface",
		  t->pid, version[0] ? " " : "", version, image->path);
	diag__hint(d, "build a ruby with the patches of this project "
		   "(./configure.sh && make install) and run the program with it");
	return -ENOENT;
}

/* Its memory goes before it becomes a zombie, and the pidfd tells only that. */
static bool is_exiting(const struct target *t)
{
	unsigned int flags = 0;
	char path[64], line[512], *rest;
	FILE *f;

	if (target__exited(t))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/stat", t->pid);
	f = fopen(path, "re");
	if (!f)
		return true;
	rest = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	/* state ppid pgrp session tty tpgid flags; PF_EXITING is 4 */
	return rest && sscanf(rest, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && flags & 4;
}

static int find_section(struct target *t, struct diag *d)
{
	struct elf_finding f, ruby_finding = { 0 };
	const struct image *ruby = NULL, *exe;
	struct elf_budget budget;
	struct image *images;
	int count, err;
	uint8_t probe;

	elf_budget__init(&budget);
	t->section = 0;
	address_space__close(t->space);
	t->space = NULL;
	err = read_maps(t, &images, &count, d);
	if (err)
		return err;
	if (!count) {
		err = diag__set(d, DIAG_NOT_RUBY, ENOENT,
				"process %d is not a ruby: it has no program of its own "
				"(a kernel thread)", t->pid);
		goto cleanup;
	}
	t->space = address_space__open(t->pid, &err);
	if (!t->space) {
		target__read_error(t, err, "the memory", d);
		goto cleanup;
	}
	t->space->deadline = t->deadline;
	err = memory__read(&t->space->memory, images[0].start, &probe, 1);
	if (err && err != -EFAULT) {
		target__read_error(t, err, "the memory", d);
		goto cleanup;
	}
	exe = &images[0];
	for (int i = 0; i < count; i++) {
		if (images[i].is_exe) {
			exe = &images[i];
			break;
		}
	}
	/* The likely ones first. */
	for (int pass = 0; pass < 3; pass++) {
		for (int i = 0; i < count; i++) {
			const struct image *image = &images[i];
			int rank = image->is_exe ? 0 : image->ruby_name ? 1 : 2;

			if (rank != pass)
				continue;
			if (t->deadline && deadline__over(t->deadline)) {
				err = -EINTR;
				goto cleanup;
			}
			if (search_image(t, image, &budget, &f)) {
				text__clean(t->image, sizeof(t->image), image->path);
				err = 0;
				goto cleanup;
			}
			if (f.is_ruby && !ruby) {
				ruby = image;
				ruby_finding = f;
			}
		}
	}
	t->section = 0;
	if (ruby) {
		err = no_interface(t, ruby, &ruby_finding, d);
		goto cleanup;
	}
	err = diag__set(d, DIAG_NOT_RUBY, ENOENT, "process %d is not a ruby%s: it runs %s", t->pid,
			budget.exceeded ? " as far as it was searched, which has a limit" : "",
			exe->path);
	diag__hint(d, "give the pid of the ruby itself, not that of a shell or of a wrapper "
		   "that started it; `pgrep -a ruby` lists them");
cleanup:
	free(images);
	return err;
}

int target__find_section(struct target *t, struct diag *d)
{
	int err = find_section(t, d);

	/* A search that was cut short found nothing out. */
	if ((err == -EINTR || err == -ENOENT) && t->deadline && deadline__over(t->deadline))
		err = diag__set(d, DIAG_NOT_READY, EINTR, "there was no time to search process %d",
				t->pid);
	/* What half of a process looks like says nothing about it, and what looks
	 * like two halves of two programs, or another process's, neither. */
	if (err ? is_exiting(t) : !target__has_pid(t))
		return diag__set(d, DIAG_NO_PROCESS, ESRCH, "process %d has ended", t->pid);
	if (t->space && !address_space__lives(t->space)) {
		diag__set(d, DIAG_NOT_READY, EAGAIN, "process %d executes another program", t->pid);
		diag__hint(d, "try again in a moment");
		return -EAGAIN;
	}
	return err;
}
