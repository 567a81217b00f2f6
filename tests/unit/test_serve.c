/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is answered by extprof serve, and where it listens. */
#include "test.h"

#include <errno.h>
#include <termios.h>
#include <sys/resource.h>
#include <sys/ioctl.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine/calls.h"
#include "serve/listen.h"
#include "serve/request.h"
#include "serve/saved.h"

static const char token[] = "0123456789abcdef0123456789abcdef";

TEST(serve_knows_its_own_names_alone)
{
	static const char *const good[] = { "127.0.0.1", "127.0.0.1:80", "localhost", "LOCALHOST:65535", "[::1]", "[::1]:7777", "127.0.0.2",
		"127.1.2.3:80" };
	static const char *const bad[] = {
		"", "evil", "127.0.0.1.evil", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:80x", "127.0.0.1:123456", "localhost.evil", "localhost@evil", "::1",
		"[::1]x", "128.0.0.1", "127.0.0.2x", "127.0.0.256", "127.1", "0127.0.0.1", "127.0.0.1.", "127.0.0.1:-1", "127.0.0.1 :80", " 127.0.0.1", "127.0.0.1:80:80", "0.0.0.0",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK(serve_request__knows_host(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!serve_request__knows_host(bad[i]));
	CHECK(!serve_request__knows_host(NULL));
}

static int begin(const char *rest)
{
	struct serve_request r;
	char path[256];

	snprintf(path, sizeof(path), "/%s%s", token, rest);
	return serve_request__begin(&r, path, token);
}

TEST(serve_wants_the_secret)
{
	static const char *const without[] = {
		"", "/", "//", "/0123", "0123456789abcdef0123456789abcdef/", "/0123456789abcdef0123456789abcdef", "/0123456789abcdef0123456789abcdee/",
		"/1123456789abcdef0123456789abcdef/", "/0123456789ABCDEF0123456789abcdef/", "//0123456789abcdef0123456789abcdef/",
		"/0123456789abcdef0123456789abcdef0/",
	};
	char made[2][SERVE_TOKEN + 1];
	struct serve_request r;

	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		CHECK_INT(serve_request__begin(&r, without[i], token), -EACCES);
	CHECK_INT(begin("/"), 0);
	CHECK_INT(begin("/flamegraph"), 0);
	CHECK_INT(begin("/flamegraph/"), -ENOENT);
	CHECK_INT(begin("/../"), -ENOENT);
	CHECK_INT(begin("//"), -ENOENT);
	CHECK_INT(begin("/flamegrap"), -ENOENT);
	CHECK_INT(serve_token__make(made[0]), 0);
	CHECK_INT(serve_token__make(made[1]), 0);
	CHECK_INT(strspn(made[0], "0123456789abcdef"), SERVE_TOKEN);
	CHECK_INT(strlen(made[0]), SERVE_TOKEN);
	CHECK(strcmp(made[0], made[1]) != 0);
}

/* Pairs with & between.  The first error, or that of the end. */
static int ask(struct serve_request *r, enum serve_page page, const char *pairs)
{
	char copy[8192], *save = NULL;
	int err = 0;

	memset(r, 0, sizeof(*r));
	r->page = page;
	snprintf(copy, sizeof(copy), "%s", pairs);
	for (char *pair = strtok_r(copy, "&", &save); pair && !err; pair = strtok_r(NULL, "&", &save)) {
		char *value = strchr(pair, '=');

		if (value)
			*value++ = 0;
		err = serve_request__add(r, pair, value);
	}
	return err ? err : serve_request__end(r);
}

TEST(serve_takes_what_a_page_has)
{
	static const struct { enum serve_page page; const char *pairs; int result; } cases[] = {
		{ SERVE_TIMELINE, "", 0 },
		{ SERVE_TIMELINE, "since=5&until=6&mode=wall&idle=1", 0 },
		{ SERVE_TIMELINE, "since=5&until=6&with-since=7&with-until=8", 0 },
		{ SERVE_TIMELINE, "since=6&until=6", -EINVAL },
		{ SERVE_TIMELINE, "since=7&until=6", -EINVAL },
		{ SERVE_TIMELINE, "with-since=7", -EINVAL },
		{ SERVE_TIMELINE, "with-until=7", -EINVAL },
		{ SERVE_TIMELINE, "since=0", -EINVAL },
		{ SERVE_TIMELINE, "since=", -EINVAL },
		{ SERVE_TIMELINE, "since", -EINVAL },
		{ SERVE_TIMELINE, "since=+5", -EINVAL },
		{ SERVE_TIMELINE, "since=5 ", -EINVAL },
		{ SERVE_TIMELINE, "since=9223372036854775807", 0 },
		{ SERVE_TIMELINE, "since=9223372036854775808", -EINVAL },
		{ SERVE_TIMELINE, "since=99999999999999999999999", -EINVAL },
		{ SERVE_TIMELINE, "since=5&since=5", -EINVAL },
		{ SERVE_TIMELINE, "mode=wall&mode=wall", -EINVAL },
		{ SERVE_TIMELINE, "mode=../x", -EINVAL },
		{ SERVE_TIMELINE, "mode=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", -EINVAL },
		{ SERVE_TIMELINE, "idle=0", -EINVAL },
		{ SERVE_TIMELINE, "file=x", -EINVAL },
		{ SERVE_TIMELINE, "format=json", -EINVAL },
		{ SERVE_SAVE, "format=json", 0 },
		{ SERVE_SAVE, "format=flamegraph", -EINVAL },
		{ SERVE_SAVE, "", -EINVAL },
		{ SERVE_FLAMEGRAPH, "by=k&filter=label:k=v&filter=thread=x&slowest=10", 0 },
		{ SERVE_FLAMEGRAPH, "slowest=100001", -EINVAL },
		{ SERVE_FLAMEGRAPH, "slowest=1&slowest=2", -EINVAL },
		{ SERVE_FLAMEGRAPH, "by=a\x1f", -EINVAL },
		{ SERVE_FLAMEGRAPH, "filter=a&filter=a&filter=a&filter=a&filter=a&filter=a&filter=a&filter=a&filter=a", -EINVAL },
		{ SERVE_FLAMEGRAPH, "with-since=7&with-until=8", -EINVAL },
		{ SERVE_DIFF, "since=1&until=2&with-since=7&with-until=8", 0 },
		{ SERVE_DIFF, "since=1&until=2", -EINVAL },
		{ SERVE_DIFF, "with-since=7&with-until=8", -EINVAL },
		{ SERVE_DIFF, "since=1&until=2&with-since=8&with-until=8", -EINVAL },
	};
	struct serve_request r;
	char text[SERVE_TEXT + 8];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(ask(&r, cases[i].page, cases[i].pairs), cases[i].result);
	/* As long as there is room. */
	memset(text, 'x', sizeof(text));
	memcpy(text, "by=", 3);
	text[3 + SERVE_TEXT - 1] = 0;
	CHECK_INT(ask(&r, SERVE_REQUESTS, text), 0);
	CHECK_INT(strlen(r.by), SERVE_TEXT - 1);
	text[3 + SERVE_TEXT - 1] = 'x';
	text[3 + SERVE_TEXT] = 0;
	CHECK_INT(ask(&r, SERVE_REQUESTS, text), -EINVAL);
}

TEST(serve_listens_where_nobody_else_comes)
{
	static const struct { const char *text; int result; int family; } cases[] = {
		{ SERVE_ADDRESS, 0, AF_INET }, { "7777", 0, AF_INET }, { "127.1.2.3:65535", 0, AF_INET }, { "localhost:0", 0, AF_INET },
		{ "[::1]:0", 0, AF_INET6 }, { "./socket", 0, AF_UNIX }, { "/x", 0, AF_UNIX },
		{ "", -EINVAL, 0 }, { ":", -EINVAL, 0 }, { ":80", -EINVAL, 0 }, { "127.0.0.1", -EINVAL, 0 }, { "127.0.0.1:", -EINVAL, 0 },
		{ "127.0.0.1:65536", -EINVAL, 0 }, { "127.0.0.1:-1", -EINVAL, 0 }, { "0.0.0.0:80", -EINVAL, 0 }, { "128.0.0.1:80", -EINVAL, 0 },
		{ "::1:80", -EINVAL, 0 }, { "[::]:80", -EINVAL, 0 }, { "[::ffff:127.0.0.1]:80", -EINVAL, 0 }, { "[:80", -EINVAL, 0 }, { "[]:80", -EINVAL, 0 },
		{ "example.com:80", -EINVAL, 0 }, { "127.0.0.1:80:80", -EINVAL, 0 },
	};
	struct serve_address a;
	char why[160], path[200];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(serve_address__parse(&a, cases[i].text, why, sizeof(why)), cases[i].result);
		CHECK_INT(cases[i].result ? 0 : a.addr.ss_family, cases[i].family);
	}
	memset(path, '/', sizeof(path));
	path[sizeof(path) - 1] = 0;
	CHECK_INT(serve_address__parse(&a, path, why, sizeof(why)), -EINVAL);
}

TEST(serve_removes_its_own_socket_alone)
{
	char folder[] = "/tmp/extprof-unit-XXXXXX", path[64], why[160];
	struct serve_listener l, other;
	struct serve_address a;
	struct stat st;

	CHECK(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/s", folder);
	CHECK_INT(serve_address__parse(&a, path, why, sizeof(why)), 0);
	CHECK_INT(serve_listener__open(&l, &a), 0);
	CHECK_INT(lstat(path, &st), 0);
	CHECK_INT(st.st_mode & 0777, 0600);
	/* The second one takes nothing away. */
	CHECK_INT(serve_listener__open(&other, &a), -EADDRINUSE);
	serve_listener__close(&other);
	CHECK_INT(lstat(path, &st), 0);
	/* Somebody has put another one there. */
	CHECK_INT(unlink(path), 0);
	CHECK_INT(serve_listener__open(&other, &a), 0);
	serve_listener__close(&l);
	CHECK_INT(lstat(path, &st), 0);
	serve_listener__close(&other);
	CHECK(lstat(path, &st) && errno == ENOENT);
	CHECK_INT(rmdir(folder), 0);
	CHECK(!serve_saved__by_name("x"));
	CHECK_STRING(serve_saved__by_name("firefox")->suffix, ".firefox.json.gz");
}

/* In a process of its own: it is for good.  A number for the first thing that is not as it has to be; 0: all is. */
static int try_all(const char *path, const char *other)
{
	char *const argv[] = { (char *)(uintptr_t)"/bin/true", NULL };
	int fd, page = memfd_create("page", 0), sockets[2];

	if (page < 0 || confine__calls(0))
		return 1;
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, (char[4]){ 0 }, 4) != 4)
		return 2;
	if (open(path, O_WRONLY) >= 0 || errno != EACCES || open(path, O_RDWR) >= 0 || open(path, O_RDONLY | O_TRUNC) >= 0)
		return 3;
	if (open(other, O_CREAT | O_RDONLY, 0600) >= 0 || errno != EACCES || open("/tmp", O_TMPFILE | O_RDWR, 0600) >= 0 || !mkdir(other, 0700))
		return 4;
	if (!unlink(path) || !rename(path, other) || !link(path, other) || !symlink(path, other) || !chmod(path, 0777) || !truncate(path, 0))
		return 5;
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || !socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 6;
	if (execve(argv[0], argv, NULL) != -1 || errno != EACCES || fork() >= 0 || !kill(getppid(), 0))
		return 7;
	if (!tgkill(getppid(), getppid(), 0) || !prlimit(getppid(), RLIMIT_CORE, NULL, NULL) || !setpriority(PRIO_PROCESS, (id_t)getppid(), 0))
		return 9;
	/* A call that is refused is not even told that this is no terminal. */
	if (!ioctl(page, TIOCSTI, "x") || errno != EACCES || !ioctl(page, TIOCLINUX, "x") || errno != EACCES || (!ioctl(page, TCGETS, NULL) || errno != ENOTTY))
		return 10;
	/* The page itself. */
	return write(page, "x", 1) == 1 && !ftruncate(page, 0) ? 0 : 8;
}

TEST(serve_confines_who_reads_recordings)
{
	char path[] = "/tmp/extprof-unit-XXXXXX", other[64];
	int fd = mkstemp(path), status = 0;
	struct stat st;
	pid_t pid;

	CHECK(fd >= 0);
	CHECK_INT(write(fd, "text", 4), 4);
	close(fd);
	snprintf(other, sizeof(other), "%s.other", path);
	pid = fork();
	if (!pid)
		_exit(try_all(path, other));
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), 0);
	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_size, 4);
	CHECK(stat(other, &st) && errno == ENOENT);
	CHECK_INT(unlink(path), 0);
}
