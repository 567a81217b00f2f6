/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof daemon: its configuration, and what goes from its folder. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/config.h"
#include "daemon/folder.h"
#include "daemon/notify.h"
#include "daemon/own_cost.h"
#include "options/table.h"

#define SECOND 1000000000ull

static char why[256];

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fputs(text, f) >= 0);
	fclose(f);
	CHECK(!chmod(path, 0644));
}

/* -- the configuration ------------------------------------------------------------------------ */

static int read_config(struct config *c, const char *text)
{
	int err;

	write_file("test_daemon.conf", text);
	why[0] = 0;
	err = config__read(c, "test_daemon.conf", OPTION_OF_DAEMON, why, sizeof(why));
	unlink("test_daemon.conf");
	return err;
}

TEST(daemon_config)
{
	struct config c = { 0 };

	CHECK_INT(read_config(&c, "# all of it\n\n rate = 19\r\nmode=cpu,wall\n\tnative\nkernel = true\nsources = no\n"
			      "name = puma * 5\nkeep-for=30d"), 0);
	CHECK_INT(c.count, 6);
	CHECK_STRING(c.list[0].argument, "--rate=19");
	CHECK_INT(c.list[0].id, OPTION_BY_RATE);
	CHECK_STRING(c.list[1].argument, "--mode=cpu,wall");
	CHECK_STRING(c.list[2].argument, "--native");
	CHECK_STRING(c.list[3].argument, "--kernel");
	CHECK_STRING(c.list[4].argument, "--name=puma * 5");
	CHECK_STRING(c.list[5].argument, "--keep-for=30d");
	config__free(&c);
	CHECK_INT(read_config(&c, ""), 0);
	CHECK_INT(c.count, 0);
	config__free(&c);
}

TEST(daemon_config_that_is_wrong)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "rate = 19\nrat = 5\n", "line 2: there is no option \"rat\"" },
		{ "pid = 5\n", "line 1: there is no option \"pid\"" },
		{ "output = /etc/passwd\n", "line 1: there is no option" },
		{ "config = other\n", "line 1: there is no option" }, { "help\n", "line 1: there is no option" },
		{ "rate\n", "line 1: rate needs a value: rate = N" }, { "\n\nrate = \n", "line 3: rate needs a value" },
		{ "native = maybe\n", "line 1: native is true or false" }, { "= 5\n", "line 1: there is no option \"\"" },
		{ "--rate = 5\n", "line 1: there is no option \"--rate\"" },
	};
	char many[4096] = "", *big;
	struct config c = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (read_config(&c, cases[i].text) != -EINVAL || !strstr(why, cases[i].says))
			test__fail(__FILE__, __LINE__, "\"%s\": %s", cases[i].text, why);
		config__free(&c);
	}
	for (int i = 0; i <= CONFIG_OPTIONS_MAX; i++)
		strcat(many, "native\n");
	CHECK_INT(read_config(&c, many), -E2BIG);
	config__free(&c);
	big = malloc(CONFIG_SIZE_MAX + 2);
	memset(big, '#', CONFIG_SIZE_MAX + 1);
	big[CONFIG_SIZE_MAX + 1] = 0;
	CHECK_INT(read_config(&c, big), -E2BIG);
	free(big);
	CHECK_INT(config__read(&c, "/", OPTION_OF_DAEMON, why, sizeof(why)), -EINVAL);
	CHECK_INT(config__read(&c, "gone", OPTION_OF_DAEMON, why, sizeof(why)), -ENOENT);
	CHECK(!mkfifo("test_daemon.fifo", 0600));
	CHECK_INT(config__read(&c, "test_daemon.fifo", OPTION_OF_DAEMON, why, sizeof(why)), -EINVAL);
	unlink("test_daemon.fifo");
	if (geteuid())
		return;
	write_file("test_daemon.conf", "rate = 5\n");
	CHECK(!chmod("test_daemon.conf", 0664));
	CHECK_INT(config__read(&c, "test_daemon.conf", OPTION_OF_DAEMON, why, sizeof(why)), -EPERM);
	CHECK(!chmod("test_daemon.conf", 0644) && !chown("test_daemon.conf", 1, (gid_t)-1));
	CHECK_INT(config__read(&c, "test_daemon.conf", OPTION_OF_DAEMON, why, sizeof(why)), -EPERM);
	unlink("test_daemon.conf");
}

/* -- the folder ------------------------------------------------------------------------------- */

#define FOLDER "test_daemon_folder"
#define NAME(second) FOLDER "/extprof-20261127-1015" second "-042Z.extprof"
#define KIB 1024

/* A file of so many KiB that was last written to at that time. */
static void make(const char *name, unsigned int kib, time_t written)
{
	struct timespec times[2] = { { .tv_sec = written }, { .tv_sec = written } };
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	char block[KIB];

	CHECK(fd >= 0);
	memset(block, 1, sizeof(block));
	for (unsigned int i = 0; i < kib; i++)
		CHECK(write(fd, block, sizeof(block)) == sizeof(block));
	CHECK(!futimens(fd, times));
	close(fd);
}

static bool is_there(const char *name)
{
	return !access(name, F_OK);
}

static void set_up(struct folder *f)
{
	CHECK_INT(system("rm -rf " FOLDER), 0);
	CHECK_INT(folder__open(f, FOLDER, why, sizeof(why)), 0);
	make(NAME("30"), 64, 1000);
	make(NAME("31"), 64, 2000);
	/* One that kill -9 has ended. */
	make(NAME("32"), 4, 3000);
	make(NAME("32") "-wal", 60, 3500);
	make(NAME("32") "-shm", 32, 3000);
	make(NAME("33"), 64, 4000);
	make(FOLDER "/mine.extprof", 64, 10);
	make(FOLDER "/extprof-20261127-101530-042Z.extprof.svg", 64, 10);
	make(FOLDER "/extprof-2026112x-101530-042Z.extprof", 64, 10);
	CHECK(!symlink("/etc/passwd", NAME("29")) && !mkdir(NAME("28"), 0700));
}

static void tear_down(struct folder *f)
{
	folder__close(f);
	CHECK_INT(system("rm -r " FOLDER), 0);
}

TEST(daemon_folder_by_age)
{
	struct folder_state state;
	struct folder f;

	set_up(&f);
	CHECK_INT(folder__tidy(&f, NULL, 0, UINT64_MAX, &state), 0);
	CHECK(state.files == 4 && !state.removed && state.newest == 4000);
	CHECK(state.bytes >= 288 * KIB && state.bytes <= 400 * KIB);
	/* The log beside it was written to later. */
	CHECK_INT(folder__tidy(&f, NULL, 3200, UINT64_MAX, &state), 0);
	CHECK(state.files == 2 && state.removed == 2 && !is_there(NAME("30")) && !is_there(NAME("31")) && is_there(NAME("32")));
	CHECK_INT(folder__tidy(&f, NAME("33"), 9000, UINT64_MAX, &state), 0);
	CHECK(state.files == 1 && !is_there(NAME("32")) && !is_there(NAME("32") "-wal") && !is_there(NAME("32") "-shm"));
	CHECK(is_there(NAME("33")) && is_there(NAME("29")) && is_there(NAME("28")) && is_there(FOLDER "/mine.extprof"));
	CHECK(is_there(FOLDER "/extprof-20261127-101530-042Z.extprof.svg") && is_there(FOLDER "/extprof-2026112x-101530-042Z.extprof"));
	tear_down(&f);
}

TEST(daemon_folder_by_size)
{
	struct folder_state state;
	struct folder f;

	set_up(&f);
	CHECK_INT(folder__tidy(&f, NULL, 0, 240 * KIB, &state), 0);
	CHECK(state.removed == 1 && !is_there(NAME("30")) && is_there(NAME("31")) && state.removed_bytes >= 64 * KIB);
	/* The one that is written is the oldest by its name. */
	CHECK_INT(folder__tidy(&f, NAME("31"), 0, 1, &state), 0);
	CHECK(state.files == 1 && is_there(NAME("31")) && !is_there(NAME("33")) && !is_there(NAME("32") "-wal"));
	CHECK_INT(folder__make_room(&f, NAME("31")), -ENOENT);
	CHECK_INT(folder__make_room(&f, NULL), 0);
	CHECK(!is_there(NAME("31")));
	CHECK_INT(folder__make_room(&f, NULL), -ENOENT);
	tear_down(&f);
}

TEST(daemon_folder_is_ours)
{
	struct folder f, other;
	struct stat st;
	pid_t child;
	int status;

	CHECK_INT(system("rm -rf " FOLDER), 0);
	CHECK_INT(folder__open(&f, FOLDER, why, sizeof(why)), 0);
	CHECK(!stat(FOLDER, &st) && (st.st_mode & 07777) == 0700);
	/* The lock is that of a process. */
	child = fork();
	if (!child)
		_exit(folder__open(&other, FOLDER, why, sizeof(why)) == -EBUSY && strstr(why, "another extprof daemon") &&
		      other.fd == -1 && other.lock == -1 ? 0 : 1);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	/* A child that lives on does not hold it. */
	child = fork();
	if (!child)
		for (;;)
			pause();
	folder__close(&f);
	CHECK_INT(folder__open(&other, FOLDER, why, sizeof(why)), 0);
	folder__close(&other);
	CHECK(!kill(child, SIGKILL) && waitpid(child, &status, 0) == child);
	CHECK(!chmod(FOLDER, 0770));
	CHECK_INT(folder__open(&f, FOLDER, why, sizeof(why)), -EPERM);
	CHECK(!chmod(FOLDER, 0755));
	if (!geteuid()) {
		CHECK(!chown(FOLDER, 1, (gid_t)-1));
		CHECK_INT(folder__open(&f, FOLDER, why, sizeof(why)), -EPERM);
		CHECK(!chown(FOLDER, 0, (gid_t)-1));
	}
	/* A link in the place of the lock is not followed. */
	CHECK(!unlink(FOLDER "/.lock") && !symlink("/tmp/extprof-test-lock", FOLDER "/.lock"));
	CHECK(folder__open(&f, FOLDER, why, sizeof(why)) == -ELOOP && access("/tmp/extprof-test-lock", F_OK));
	CHECK(!unlink(FOLDER "/.lock"));
	CHECK_INT(folder__open(&f, "test_daemon_gone/x", why, sizeof(why)), -ENOENT);
	CHECK_INT(folder__open(&f, "/dev/null", why, sizeof(why)), -ENOTDIR);
	CHECK_INT(rmdir(FOLDER), 0);
}

/* -- systemd ---------------------------------------------------------------------------------- */

TEST(daemon_notifies)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = "test_daemon.socket" };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char text[64] = "", pid[16];

	unlink(at.sun_path);
	CHECK(fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof(at)));
	unsetenv("NOTIFY_SOCKET");
	notify__send("READY=1");
	CHECK(recv(fd, text, sizeof(text), 0) < 0 && errno == EAGAIN);
	setenv("NOTIFY_SOCKET", "test_daemon.socket", 1);
	notify__send("READY=1");
	CHECK(recv(fd, text, sizeof(text), 0) < 0);
	setenv("NOTIFY_SOCKET", "/nonexistent", 1);
	notify__send("READY=1");
	close(fd);
	unlink(at.sun_path);
	/* An abstract one. */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	memset(at.sun_path, 0, sizeof(at.sun_path));
	strcpy(at.sun_path + 1, "extprof-test-daemon");
	CHECK(!bind(fd, (struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 20)));
	setenv("NOTIFY_SOCKET", "@extprof-test-daemon", 1);
	notify__send("READY=1");
	CHECK(recv(fd, text, sizeof(text), 0) == 7 && !strncmp(text, "READY=1", 7));
	close(fd);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	CHECK_INT(notify__interval(), 0);
	setenv("WATCHDOG_USEC", "3000000", 1);
	CHECK_INT(notify__interval(), 1500000000);
	setenv("WATCHDOG_PID", "1", 1);
	CHECK_INT(notify__interval(), 0);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_PID", pid, 1);
	CHECK_INT(notify__interval(), 1500000000);
	setenv("WATCHDOG_USEC", "x", 1);
	CHECK_INT(notify__interval(), 0);
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

/* -- what it costs itself --------------------------------------------------------------------------- */

TEST(daemon_budget_values)
{
	double share;
	uint64_t window;

	CHECK(!value__budget("1%", &share, &window) && share > 0.00999 && share < 0.01001 && window == 60 * SECOND);
	CHECK(!value__budget("2.5%/30s", &share, &window) && share == 0.025 && window == 30 * SECOND);
	CHECK(!value__budget("100%/1m", &share, &window) && share == 1);
	CHECK_INT(value__budget("1", &share, &window), -EINVAL);
	CHECK_INT(value__budget("%", &share, &window), -EINVAL);
	CHECK_INT(value__budget("0%", &share, &window), -EINVAL);
	CHECK_INT(value__budget("101%", &share, &window), -EINVAL);
	CHECK_INT(value__budget("1%/", &share, &window), -EINVAL);
	CHECK_INT(value__budget("1%/10ms", &share, &window), -EINVAL);
	CHECK_INT(value__budget("1%/2h", &share, &window), -EINVAL);
	CHECK_INT(value__budget("1%x", &share, &window), -EINVAL);
	CHECK_INT(value__budget("nan%", &share, &window), -EINVAL);
}

static struct own_cost cost;
static uint64_t at;
static double used;

/* A window in which it used that share of a CPU; the new rate counts at once.  What it says. */
static enum own_cost_change window(double share)
{
	enum own_cost_change change;
	uint32_t rate;
	double seen;

	/* It looks more often than a window is over. */
	for (int i = 0; i < 4; i++) {
		at += 15 * SECOND;
		used += 15 * share;
		change = own_cost__look(&cost, at, used, &rate, &seen);
		if (i < 3 && change != OWN_COST_SAME)
			return (enum own_cost_change)99;
	}
	if (rate != cost.rate)
		own_cost__changed(&cost, rate, at, used);
	return change;
}

static void begin_cost(double share, uint32_t rate)
{
	at = 1000 * SECOND;
	used = 7;
	own_cost__begin(&cost, share, 60 * SECOND, rate, at, used);
	/* That of the start. */
	window(0.9);
}

TEST(daemon_lowers_its_rate)
{
	begin_cost(0.01, 19);
	/* One window is no reason, two are. */
	CHECK(window(0.03) == OWN_COST_SAME && window(0.005) == OWN_COST_SAME && window(0.03) == OWN_COST_SAME && cost.rate == 19);
	CHECK(window(0.03) == OWN_COST_LOWER);
	/* 9 would be 1.5 %, 4 is 0.75 %. */
	CHECK_INT(cost.rate, 4);
	/* There is room for twice as much in five windows. */
	for (int i = 0; i < 4; i++)
		CHECK_INT(window(0.003), OWN_COST_SAME);
	CHECK_INT(window(0.0045), OWN_COST_SAME);
	for (int i = 0; i < 4; i++)
		CHECK_INT(window(0.003), OWN_COST_SAME);
	CHECK_INT(window(0.003), OWN_COST_HIGHER);
	CHECK_INT(cost.rate, 9);
	for (int i = 0; i < 4; i++)
		CHECK_INT(window(0), OWN_COST_SAME);
	CHECK_INT(window(0), OWN_COST_HIGHER);
	CHECK_INT(cost.rate, 19);
	for (int i = 0; i < 20; i++)
		CHECK_INT(window(0), OWN_COST_SAME);
	CHECK_INT(cost.rate, 19);
}

/* Other things cost: a low rate would tell less for nothing. */
TEST(daemon_rate_that_does_not_help)
{
	begin_cost(0.01, 100);
	CHECK(window(0.03) == OWN_COST_SAME && window(0.03) == OWN_COST_LOWER);
	CHECK_INT(cost.rate, 25);
	CHECK(window(0.028) == OWN_COST_SAME && window(0.027) == OWN_COST_BACK);
	CHECK_INT(cost.rate, 100);
	for (int i = 0; i < 29; i++)
		CHECK_INT(window(0.03), OWN_COST_SAME);
	CHECK_INT(window(0.03), OWN_COST_LOWER);
	/* This time it helps, and more is needed. */
	CHECK(window(0.012) == OWN_COST_SAME && window(0.012) == OWN_COST_LOWER);
	CHECK_INT(cost.rate, 12);
}

/* A lower rate that has helped is no reason to go back when more is used later. */
TEST(daemon_rate_that_has_helped)
{
	/* Lower, higher, and as much again. */
	begin_cost(0.01, 19);
	CHECK(window(0.019) == OWN_COST_SAME && window(0.019) == OWN_COST_LOWER);
	CHECK_INT(cost.rate, 9);
	for (int i = 0; i < 4; i++)
		CHECK_INT(window(0.003), OWN_COST_SAME);
	CHECK_INT(window(0.003), OWN_COST_HIGHER);
	CHECK_INT(cost.rate, 19);
	CHECK(window(0.019) == OWN_COST_SAME && window(0.019) == OWN_COST_LOWER);
	CHECK_INT(cost.rate, 9);
	/* Within the budget, and then as much at the low rate. */
	CHECK_INT(window(0.0095), OWN_COST_SAME);
	CHECK(window(0.019) == OWN_COST_SAME && window(0.019) == OWN_COST_LOWER);
	CHECK_INT(cost.rate, 4);
	/* Less, and still above the budget. */
	begin_cost(0.01, 100);
	CHECK(window(0.03) == OWN_COST_SAME && window(0.03) == OWN_COST_LOWER);
	CHECK_INT(cost.rate, 25);
	CHECK(window(0.012) == OWN_COST_SAME && window(0.03) == OWN_COST_LOWER);
	CHECK_INT(cost.rate, 6);
}

TEST(daemon_lowest_rate)
{
	begin_cost(0.0001, 3);
	CHECK(window(0.5) == OWN_COST_SAME && window(0.5) == OWN_COST_LOWER);
	CHECK_INT(cost.rate, 1);
	CHECK(window(0.2) == OWN_COST_SAME && window(0.2) == OWN_COST_LOWEST && window(0.2) == OWN_COST_SAME);
	CHECK_INT(cost.rate, 1);
	/* Without a budget nothing changes. */
	begin_cost(0, 19);
	for (int i = 0; i < 10; i++)
		CHECK_INT(window(2), OWN_COST_SAME);
	CHECK_INT(cost.rate, 19);
}
