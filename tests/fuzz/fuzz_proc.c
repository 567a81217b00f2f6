/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of a process in a made-up /proc: `status`, `stat`, `maps`, `cgroup`, `mountinfo`, and those of a thread.  A process
 * chooses its name, its groups, the paths that it maps and the names of its control groups.  The input is the text of all of
 * them, one after the other.
 */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "need.h"
#include "process/cgroup.h"
#include "process/mapping.h"
#include "remote/task.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define THREAD 7

static const char *const files[] = { "stat", "status", "syscall", "schedstat" };
static char directory[] = "/dev/shm/extprof-fuzz-XXXXXX";
static int top = -1, thread = -1;

static void remove_all(void)
{
	char path[64];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlinkat(thread, files[i], 0);
	unlinkat(top, "mountinfo", 0);
	snprintf(path, sizeof(path), "%d", THREAD);
	unlinkat(top, path, AT_REMOVEDIR);
	rmdir(directory);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char path[64];

	(void)argc;
	(void)argv;
	need(mkdtemp(directory));
	atexit(remove_all);
	snprintf(path, sizeof(path), "%s/%d", directory, THREAD);
	need(!mkdir(path, 0700));
	top = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	thread = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	need(top >= 0 && thread >= 0);
	return 0;
}

static void make(int dir, const char *name, const char *text, size_t length)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	need(fd >= 0 && write(fd, text, length) == (ssize_t)length);
	close(fd);
}

static void look_at_mappings(const char *text, size_t length)
{
	char *copy = strdup(text), *rest = copy, *line;
	struct mapping m;

	need(copy);
	while ((line = strsep(&rest, "\n"))) {
		if (!mapping__parse(line, 5, &m))
			continue;
		need(m.start <= m.end);
		need(m.path >= copy && m.path + strlen(m.path) <= copy + length);
	}
	free(copy);
}

static void look_at_groups(const char *text)
{
	struct cgroup c = { .path = (char *)(uintptr_t)"/app" };
	char *path = cgroup__path(text);

	cgroup__is_in(&c, text);
	if (path) {
		need_clean(path, strlen(path), false);
		/* What was said to be its group is. */
		if (!strchr(path, '\\'))
			need(*path == '/');
	}
	free(path);
}

static void look_at_mounts(void)
{
	char path[PATH_MAX];
	struct cgroup c = { 0 };
	struct diag d = { 0 };

	snprintf(path, sizeof(path), "%s/mountinfo", directory);
	if (!cgroup__find(&c, path, "/app", &d))
		cgroup__free(&c);
}

static void look_at_thread(void)
{
	struct tasks tasks = { .pid = THREAD, .dir = top, .mapped = true };
	struct task task;
	uint64_t runs;
	pid_t tid;

	tasks__look(&tasks, THREAD, &task);
	need(task.call >= -1 || task.off_cpu);
	tasks__runs(&tasks, THREAD, &runs);
	tid = tasks__tid(&tasks, 3);
	need(tid == 0 || tid == THREAD);
	if (tid)
		need(tasks__inner_tid(&tasks, tid) == 3);
	map64__free(&tasks.map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	size_t length;
	struct proc_status status;
	struct proc_stat stat;

	need(text);
	length = strlen(text);
	proc_status__parse(&status, text);
	proc_stat__parse(&stat, text);
	look_at_mappings(text, length);
	look_at_groups(text);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		make(thread, files[i], text, length);
	make(top, "mountinfo", text, length);
	look_at_thread();
	look_at_mounts();
	free(text);
	return 0;
}
