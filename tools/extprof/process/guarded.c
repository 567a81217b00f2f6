/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/guarded.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/proc_file.h"
#include "base/text.h"
#include "parser/helper.h"

/* Bytes of one answer; larger reads are made in parts. */
#define PART (64u << 10)
#define WRITE_MAX 64u
#define USERS_MAX 64u

enum operation { READ_MEMORY = 1, WRITE_MEMORY, READ_BY_PID, OPEN_FILE };

struct request {
	uint32_t operation, file, number;
	pid_t pid, thread;
	uint64_t address, length;
	cpu_set_t cpus;		/* where the thread that asks may run; none: not known */
	char data[WRITE_MAX];
};

struct answer {
	uint64_t blocked;	/* how long it was; ns */
	char data[PART];
};

_Static_assert(sizeof(struct answer) <= HELPER_ANSWER_MAX, "an answer fits");

/* -- in the helper ----------------------------------------------------------------------------------- */

void guarded__path(char *to, pid_t pid, pid_t thread, enum guarded_file file, uint32_t number)
{
	static const char *const names[GUARDED_FILES] = {
		[GUARDED_CMDLINE] = "cmdline", [GUARDED_MAPS] = "maps", [GUARDED_ENVIRON] = "environ",
	};
	char fdinfo[32];

	snprintf(fdinfo, sizeof(fdinfo), "fdinfo/%" PRIu32, number);
	proc__path(to, pid, thread, file == GUARDED_FDINFO ? fdinfo : names[file]);
}

static int begin(void)
{
	return chdir("/") ? -errno : 0;
}

static int open_file(const struct request *q)
{
	char at[PROC_PATH_MAX];
	int fd;

	guarded__path(at, q->pid, q->thread, q->file, q->number);
	fd = open(at, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static ssize_t transfer(const struct request *q, int mem, char *data)
{
	struct iovec local = { .iov_base = data, .iov_len = q->length };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)q->address, .iov_len = q->length };
	char byte;
	ssize_t n;
	int err;

	/*
	 * While it waits for a page, process_vm_readv() does not hold the lock of the memory, as a read of the file does:
	 * that would hold up the process, and whoever attaches a probe to it.  It reads what the process has at that
	 * moment.  If the memory that was opened has a user after that, it was that one.
	 */
	if (q->operation == READ_MEMORY && q->pid) {
		n = process_vm_readv(q->pid, &local, 1, &remote, 1, 0);
		if (n < 0 && errno != EFAULT)	/* its first thread has ended, or it may only be read by the file */
			n = pread(mem, data, q->length, (off_t)q->address);
		err = errno;
		if (!pread(mem, &byte, 1, GUARDED_NO_ADDRESS))
			return 0;
		errno = err;
	} else if (q->operation == READ_MEMORY) {
		n = pread(mem, data, q->length, (off_t)q->address);
	} else if (q->operation == WRITE_MEMORY) {
		n = pwrite(mem, q->data, q->length, (off_t)q->address);
	} else {
		n = process_vm_readv(q->pid, &local, 1, &remote, 1, 0);
	}
	if (n < 0)	/* helper__ask() returns EIO for other reasons */
		return errno == EIO ? -EFAULT : -errno;
	if (q->operation == WRITE_MEMORY && (size_t)n != q->length)
		return n ? -EFAULT : -ESRCH;
	return n;
}

/*
 * A reader that looks at a thread goes to the CPU of the thread, so that the thread does not run meanwhile.  The helper
 * has to be there too: on another CPU it would let the thread run.
 */
static void go_to(const cpu_set_t *cpus)
{
	static cpu_set_t at;

	if (!CPU_EQUAL(cpus, &at) && CPU_COUNT(cpus) && !sched_setaffinity(0, sizeof(*cpus), cpus))
		at = *cpus;
}

/* How often this process had to wait. */
static long waits(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) ? 0 : u.ru_nvcsw;
}

static int work(const void *data, size_t size, int *fd, void *to)
{
	const struct request *q = data;
	struct answer *a = to;
	uint64_t began;
	long before;
	ssize_t n;

	if (size != sizeof(*q) || q->length > (q->operation == WRITE_MEMORY ? WRITE_MAX : PART) || q->file >= GUARDED_FILES)
		return -EINVAL;
	go_to(&q->cpus);
	began = deadline__now();
	before = waits();
	if (q->operation == OPEN_FILE) {
		n = open_file(q);
		if (n >= 0)
			*fd = (int)n, n = 0;
	} else {
		n = transfer(q, *fd, a->data);
	}
	if (n < 0)
		return (int)n;
	/* Time that it was ready to run is nobody's fault. */
	a->blocked = waits() != before ? deadline__now() - began : 0;
	return (int)(sizeof(a->blocked) + (q->operation == WRITE_MEMORY ? 0 : (size_t)n));
}

static const struct helper_role role = {
	.name = "extprof-read", .answer_size = sizeof(struct answer), .short_answers = true, .patient = true,
	.begin = begin, .work = work,
};

/* -- in the program ---------------------------------------------------------------------------------- */

/* How much of an allowance was used. */
struct allowance {
	uid_t user;
	uint64_t since;		/* CLOCK_MONOTONIC, ns */
	uint64_t blocked;	/* ns */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct allowance users[USERS_MAX], all;
static uint32_t user_count;

static void add(struct allowance *a, uint64_t now, uint64_t ns)
{
	if (now - a->since > GUARDED_SHARE_TIME) {
		a->since = now;
		a->blocked = 0;
	}
	a->blocked += ns;
}

/* Users beyond the bound share the last place. */
static struct allowance *allowance_of(uid_t user, uint64_t now)
{
	struct allowance *old = NULL;

	for (uint32_t i = 0; i < user_count; i++) {
		if (users[i].user == user)
			return &users[i];
		if (now - users[i].since > GUARDED_SHARE_TIME)
			old = &users[i];
	}
	if (!old)
		old = user_count < USERS_MAX ? &users[user_count++] : &users[USERS_MAX - 1];
	if (now - old->since > GUARDED_SHARE_TIME)
		*old = (struct allowance){ .user = user, .since = now };
	return old;
}

/* Add to what was used.  How long the next read may take; 0: there is no allowance left. */
static uint64_t charge(uid_t user, uint64_t ns)
{
	uint64_t now = deadline__now(), left;
	struct allowance *a;

	pthread_mutex_lock(&lock);
	a = allowance_of(user, now);
	add(a, now, ns);
	add(&all, now, ns);
	left = a->blocked < GUARDED_SHARE ? GUARDED_SHARE - a->blocked : 0;
	if (left > GUARDED_TIMEOUT)
		left = GUARDED_TIMEOUT;
	/* Many users at once: each read of a process that answers has time enough in this, too. */
	if (left > GUARDED_SHORT_TIMEOUT && all.blocked > GUARDED_SHARE_OF_ALL)
		left = GUARDED_SHORT_TIMEOUT;
	pthread_mutex_unlock(&lock);
	return left;
}

/* Bytes of the answer, or -errno. */
static int ask(const struct guarded *g, struct request *q, int mem, struct answer *a, int *fd)
{
	struct helper_request r = { .data = q, .size = sizeof(*q), .fd = mem, .owner = g->user, .deadline = g->deadline };
	int n;

	if (sched_getaffinity(0, sizeof(q->cpus), &q->cpus))
		CPU_ZERO(&q->cpus);
	r.timeout = charge(g->user, 0);
	if (!r.timeout)
		return -ETIMEDOUT;
	n = helper__ask(&role, &r, a, fd);
	/* Somebody has killed it. */
	if (n == -EIO)
		n = helper__ask(&role, &r, a, fd);
	if (n == -ETIMEDOUT)
		charge(g->user, r.timeout);
	if (n == -EBUSY)
		return -ETIMEDOUT;
	/* No process can be made, or no file opened, now. */
	if (n == -EAGAIN || n == -EMFILE || n == -ENFILE)
		return -EBUSY;
	if (n < 0)
		return n;
	if (n < (int)sizeof(a->blocked) || n > (int)sizeof(*a))
		return -EIO;
	if (a->blocked)
		charge(g->user, a->blocked);
	return n - (int)sizeof(a->blocked);
}

static int in_parts(const struct guarded *g, struct request *q, int mem, char *to, size_t length)
{
	struct answer a;

	while (length) {
		size_t part = length < PART ? length : PART;
		int n;

		q->length = part;
		n = ask(g, q, mem, &a, NULL);
		if (n < 0)
			return n;
		if (!n && q->operation == READ_MEMORY)
			return -ESRCH;
		if ((size_t)n != part)
			return -EFAULT;
		memcpy(to, a.data, part);
		to += part;
		length -= part;
		q->address += part;
	}
	return 0;
}

int guarded__read(const struct guarded *g, pid_t pid, int mem, uint64_t address, void *to, size_t length)
{
	struct request q = { .operation = READ_MEMORY, .pid = pid, .address = address };

	return in_parts(g, &q, mem, to, length);
}

int guarded__read_pid(const struct guarded *g, pid_t pid, uint64_t address, void *to, size_t length)
{
	struct request q = { .operation = READ_BY_PID, .pid = pid, .address = address };

	return in_parts(g, &q, -1, to, length);
}

int guarded__write(const struct guarded *g, int mem, uint64_t address, const void *from, size_t length)
{
	struct request q = { .operation = WRITE_MEMORY, .address = address, .length = length };
	struct answer a;

	if (length > WRITE_MAX)
		return -EINVAL;
	memcpy(q.data, from, length);
	return ask(g, &q, mem, &a, NULL);
}

FILE *guarded__open(const struct guarded *g, pid_t pid, pid_t thread, enum guarded_file file, size_t max, int *err)
{
	struct request q = { .operation = OPEN_FILE, .file = file, .number = g->number, .pid = pid, .thread = thread };
	struct text text = { .limit = max };
	struct answer a;
	FILE *f = NULL;
	int fd = -1, n;

	n = ask(g, &q, -1, &a, &fd);
	q = (struct request){ .operation = READ_MEMORY, .length = PART };
	/* The helper has given the open file: its next part is where the last one ended. */
	while (n >= 0 && text.length < max && (n = ask(g, &q, fd, &a, NULL)) > 0) {
		text__add(&text, a.data, (size_t)n);
		q.address += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	/* It has a buffer of its own, which it frees when it is closed. */
	if (n >= 0 && !text.failed)
		f = fmemopen(NULL, text.length + 1, "w+");
	*err = n < 0 ? n : f ? 0 : -ENOMEM;
	if (f && text.length)
		fwrite(text.data, 1, text.length, f);
	if (f)
		rewind(f);
	text__free(&text);
	return f;
}
