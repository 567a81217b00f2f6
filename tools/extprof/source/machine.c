/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/machine.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text.h"

#define BTF_FILE "/sys/kernel/btf/vmlinux"

/* The inode of the first pid namespace of a machine (PROC_PID_INIT_INO of the kernel). */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu

struct look {
	void (*each)(void *context, const struct machine_check *check);
	void *context;
};

__attribute__((format(printf, 4, 5)))
static struct machine_check result(const char *name, enum machine_verdict verdict, enum diag_code code,
				   const char *format, ...)
{
	struct machine_check c = { .name = name, .verdict = verdict, .code = code };
	char raw[sizeof(c.text)];
	va_list args;

	va_start(args, format);
	vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	text__clean(c.text, sizeof(c.text), raw);
	return c;
}

__attribute__((format(printf, 2, 3)))
static void advise(struct machine_check *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(c->advice, sizeof(c->advice), format, args);
	va_end(args);
}

static void tell(const struct look *l, const struct machine_check *c)
{
	l->each(l->context, c);
}

/* The first line of a file of the kernel's; "" if it cannot be read. */
static void read_line(const char *path, char *line, size_t size)
{
	FILE *f = fopen(path, "re");

	if (!f || !fgets(line, (int)size, f))
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (f)
		fclose(f);
}

static long read_number(const char *path, long otherwise)
{
	char line[64], *end;
	long n;

	read_line(path, line, sizeof(line));
	n = strtol(line, &end, 10);
	return end == line ? otherwise : n;
}

static void look_at_kernel(const struct look *l)
{
	struct machine_check c;
	unsigned int major = 0, minor = 0;
	struct utsname u;

	if (uname(&u))
		return;
	sscanf(u.release, "%u.%u", &major, &minor);
	if (major > 5 || (major == 5 && minor >= 11)) {
		c = result("kernel", MACHINE_GOOD, DIAG_OK, "Linux %s, %s", u.release, u.machine);
	} else {
		c = result("kernel", MACHINE_BAD, DIAG_NO_BPF, "Linux %s, %s", u.release, u.machine);
		advise(&c, "samples by the kernel need Linux 5.11 or later; --reader nonblocking needs none");
	}
	tell(l, &c);
}

/* Returns the kernel's types, or NULL. */
static struct btf *look_at_types(const struct look *l)
{
	struct btf *btf = access(BTF_FILE, R_OK) ? NULL : btf__load_vmlinux_btf();
	struct machine_check c;

	if (libbpf_get_error(btf))
		btf = NULL;
	if (btf) {
		c = result("BTF", MACHINE_GOOD, DIAG_OK, "the kernel describes its types");
	} else {
		c = result("BTF", MACHINE_BAD, DIAG_NO_BPF, "the kernel does not describe its types (no %s)", BTF_FILE);
		advise(&c, "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, as those of all common "
		       "distributions are since 2021");
	}
	tell(l, &c);
	return btf;
}

/* How the end of a wait is noticed, which decides what the modes of waits cost. */
static void look_at_waits(const struct look *l, const struct btf *btf)
{
	struct machine_check c;

	if (!btf)
		return;
	if (btf__find_by_name_kind(btf, "btf_trace_sched_exit_tp", BTF_KIND_TYPEDEF) > 0) {
		c = result("waits", MACHINE_GOOD, DIAG_OK, "the kernel tells a thread that it has got a CPU");
	} else {
		c = result("waits", MACHINE_LIMITED, DIAG_OK,
			   "the kernel does not tell a thread that it has got a CPU (Linux 6.16 and later do)");
		advise(&c, "modes wall, offcpu and gvl run a program at the end of each system call of the machine, "
		       "some 0.3 us each");
	}
	tell(l, &c);
}

static bool has_capability(unsigned int cap)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	return !syscall(SYS_capget, &header, data) && (data[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap));
}

static void look_at_capabilities(const struct look *l)
{
	static const struct {
		unsigned int cap;
		const char *name, *takes;
	} wanted[] = {
		{ CAP_BPF, "CAP_BPF", "samples by the kernel" },
		{ CAP_PERFMON, "CAP_PERFMON", "samples by the kernel" },
		{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "processes of other users" },
	};
	bool admin = has_capability(CAP_SYS_ADMIN);

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		bool sampling = wanted[i].cap != CAP_SYS_PTRACE;
		bool has = has_capability(wanted[i].cap) || (admin && sampling);
		struct machine_check c = result(wanted[i].name, has ? MACHINE_GOOD : sampling ? MACHINE_BAD : MACHINE_LIMITED,
						has || !sampling ? DIAG_OK : DIAG_PERMISSION, "%s: for %s",
						has ? "yes" : "no", wanted[i].takes);

		if (!has && sampling)
			advise(&c, "run extprof as root, or with CAP_BPF and CAP_PERFMON; without them processes "
			       "of your own are read from outside (--reader nonblocking)");
		else if (!has)
			advise(&c, "without it extprof sees processes of your own user only");
		tell(l, &c);
	}
}

/* A program that does nothing, of the kind that samples. */
static void look_at_loading(const struct look *l)
{
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "extprof_doctor", "GPL", nothing, 2, NULL);
	struct machine_check c;

	if (fd >= 0) {
		close(fd);
		c = result("BPF", MACHINE_GOOD, DIAG_OK, "the kernel takes a program");
	} else {
		bool forbidden = fd == -EPERM || fd == -EACCES;

		c = result("BPF", MACHINE_BAD, forbidden ? DIAG_PERMISSION : DIAG_NO_BPF,
			   "the kernel refuses a program: %s", strerror(-fd));
		if (forbidden)
			advise(&c, "see the lines on capabilities, lockdown and seccomp");
		else
			advise(&c, "extprof needs a kernel with CONFIG_BPF_SYSCALL, CONFIG_BPF_EVENTS and "
			       "CONFIG_PERF_EVENTS");
	}
	tell(l, &c);
}

static void look_at_timers(const struct look *l)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = 99, .freq = 1, .disabled = 1,
	};
	long paranoid = read_number("/proc/sys/kernel/perf_event_paranoid", 2);
	long max = read_number("/proc/sys/kernel/perf_event_max_sample_rate", 0);
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	struct machine_check c;

	if (fd >= 0) {
		close(fd);
		c = result("timers", MACHINE_GOOD, DIAG_OK, "the kernel gives a timer of a CPU, up to %ld Hz", max);
	} else {
		int err = errno;

		c = result("timers", MACHINE_BAD, err == EPERM || err == EACCES ? DIAG_PERMISSION : DIAG_NO_BPF,
			   "the kernel refuses a timer of a CPU: %s (perf_event_paranoid is %ld)", strerror(err),
			   paranoid);
		advise(&c, "CAP_PERFMON is needed; some kernels also want kernel.perf_event_paranoid below 3");
	}
	tell(l, &c);
}

/* This is its meaning in the kernel as published.  The kernel of a distribution can be stricter: the check of timers shows that. */
static void look_at_paranoid(const struct look *l)
{
	long paranoid = read_number("/proc/sys/kernel/perf_event_paranoid", LONG_MIN);
	struct machine_check c;

	if (paranoid == LONG_MIN)
		c = result("perf paranoid", MACHINE_LIMITED, DIAG_OK, "kernel.perf_event_paranoid cannot be read");
	else
		c = result("perf paranoid", MACHINE_GOOD, DIAG_OK, "%ld: timers of a CPU %s", paranoid,
			   paranoid > 0 ? "are for those with CAP_PERFMON" : "are for all users");
	tell(l, &c);
}

static void look_at_lockdown(const struct look *l)
{
	struct machine_check c;
	char line[128], *chosen;

	read_line("/sys/kernel/security/lockdown", line, sizeof(line));
	chosen = strchr(line, '[');
	if (!chosen || !strncmp(chosen, "[none]", 6)) {
		c = result("lockdown", MACHINE_GOOD, DIAG_OK, "%s", chosen ? "none" : "the kernel has none");
	} else if (!strncmp(chosen, "[integrity]", 11)) {
		c = result("lockdown", MACHINE_GOOD, DIAG_OK, "integrity, which lets extprof read");
	} else {
		c = result("lockdown", MACHINE_BAD, DIAG_PERMISSION, "confidentiality: BPF programs must not read memory");
		advise(&c, "boot with lockdown=integrity, or use --reader nonblocking");
	}
	tell(l, &c);
}

static void look_at_ptrace(const struct look *l)
{
	long scope = read_number("/proc/sys/kernel/yama/ptrace_scope", 0);
	bool needed = !has_capability(CAP_SYS_PTRACE);
	struct machine_check c = result("ptrace scope", scope && needed ? MACHINE_LIMITED : MACHINE_GOOD, DIAG_OK,
					"%ld: %s", scope, scope == 0 ? "processes of your own can be read" :
					scope == 1 ? "only root and a parent may read a process" :
					"only root may read a process");

	if (scope && needed)
		advise(&c, "run extprof as root, or set kernel.yama.ptrace_scope=0, or start the program by extprof: "
		       "extprof record -- ruby app.rb");
	tell(l, &c);
}

static long status_field(const char *name, long otherwise)
{
	FILE *f = fopen("/proc/self/status", "re");
	size_t length = strlen(name);
	long value = otherwise;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, length) && line[length] == ':')
			value = strtol(line + length + 1, NULL, 10);
	if (f)
		fclose(f);
	return value;
}

static void look_at_container(const struct look *l)
{
	bool filtered = status_field("Seccomp", 0) == 2;
	struct machine_check c = result("seccomp", filtered ? MACHINE_LIMITED : MACHINE_GOOD, DIAG_OK,
					filtered ? "a filter looks at system calls of extprof" : "no filter");
	unsigned long first = 0, start = 0, count = 0;
	bool own_users, own_pids;
	struct stat st;
	char line[128];

	if (filtered)
		advise(&c, "if BPF or timers are refused above, let the container's profile allow bpf, perf_event_open "
		       "and process_vm_readv");
	tell(l, &c);

	read_line("/proc/self/uid_map", line, sizeof(line));
	own_users = sscanf(line, "%lu %lu %lu", &first, &start, &count) == 3 && (first || start || count != 4294967295ul);
	own_pids = !stat("/proc/self/ns/pid", &st) && st.st_ino != FIRST_PID_NAMESPACE;
	c = result("namespaces", own_users ? MACHINE_BAD : own_pids ? MACHINE_LIMITED : MACHINE_GOOD,
		   own_users ? DIAG_PERMISSION : DIAG_OK, "%s",
		   own_users ? "extprof is in a user namespace: its capabilities do not count for BPF" :
		   own_pids ? "extprof is in a pid namespace: it sees the processes of this container" : "those of the machine");
	if (own_users)
		advise(&c, "run extprof outside of it, or use --reader nonblocking");
	else if (own_pids)
		advise(&c, "run extprof outside of it, or with the pid namespace of the machine, to see others");
	tell(l, &c);
}

static void look_at_descriptors(const struct look *l)
{
	long max = sysconf(_SC_OPEN_MAX);
	struct machine_check c = result("descriptors", max >= 1024 ? MACHINE_GOOD : MACHINE_LIMITED, DIAG_OK,
					"%ld may be open; a process takes two", max);

	if (max < 1024)
		advise(&c, "ulimit -n 65536 lets extprof follow more processes at once");
	tell(l, &c);
}

/* A process that runs has been given a CPU at least once. */
static void look_at_counts(const struct look *l)
{
	unsigned long slices = 0;
	struct machine_check c;
	char line[128];
	bool counted;

	read_line("/proc/self/schedstat", line, sizeof(line));
	counted = sscanf(line, "%*u %*u %lu", &slices) == 1 && slices;
	c = result("schedstat", counted ? MACHINE_GOOD : MACHINE_LIMITED, DIAG_OK, "%s",
		   counted ? "the kernel counts how long threads run" : "the kernel does not count how long threads run");
	if (!counted)
		advise(&c, "extprof daemon --trigger 'stuck>TIME' needs a kernel with CONFIG_SCHED_INFO, and an old one delayacct as an option "
		       "of its command line");
	tell(l, &c);
}

static int no_print(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

void machine__look(void (*each)(void *context, const struct machine_check *check), void *context)
{
	const struct look l = { .each = each, .context = context };
	libbpf_print_fn_t old = libbpf_set_print(no_print);
	struct btf *btf;

	look_at_kernel(&l);
	btf = look_at_types(&l);
	look_at_capabilities(&l);
	look_at_loading(&l);
	look_at_timers(&l);
	look_at_paranoid(&l);
	look_at_waits(&l, btf);
	look_at_lockdown(&l);
	look_at_ptrace(&l);
	look_at_container(&l);
	look_at_descriptors(&l);
	look_at_counts(&l);
	btf__free(btf);
	libbpf_set_print(old);
}
