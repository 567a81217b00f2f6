/* SPDX-License-Identifier: BSD-2-Clause */
/* Control groups, in directories as they are mounted in the three layouts, and in files as /proc has them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/cgroup.h"
#include "test.h"

static char top[64];

static void make(const char *directory)
{
	char command[256];

	snprintf(command, sizeof(command), "mkdir -p '%s/%s'", top, directory);
	CHECK_INT(system(command), 0);
}

/* %s in a line is the directory of this test. */
static void write_mounts(const char *lines)
{
	char path[128], text[2048], *to = text;
	FILE *f;

	for (const char *s = lines; *s; s++) {
		if (s[0] == '%' && s[1] == 's') {
			to += sprintf(to, "%s", top);
			s++;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
	snprintf(path, sizeof(path), "%s/mountinfo", top);
	f = fopen(path, "w");
	CHECK(f != NULL);
	fputs(text, f);
	fclose(f);
}

static int find(struct cgroup *c, const char *wanted, struct diag *d)
{
	char path[128], full[256];

	snprintf(path, sizeof(path), "%s/mountinfo", top);
	snprintf(full, sizeof(full), wanted[0] == '%' ? "%s%s" : "%.0s%s", top, wanted[0] == '%' ? wanted + 2 : wanted);
	return cgroup__find(c, path, full, d);
}

static void expect(const char *wanted, const char *path, const char *hierarchy)
{
	struct cgroup c;
	struct diag d = { 0 };
	int err = find(&c, wanted, &d);

	CHECK_INT(err, path ? 0 : -ENOENT);
	if (path) {
		CHECK_STRING(c.path, path);
		CHECK_STRING(c.hierarchy, hierarchy);
	} else {
		CHECK(strstr(d.text, "there is no cgroup"));
		CHECK(!c.path);
	}
	cgroup__free(&c);
}

static void begin(void)
{
	snprintf(top, sizeof(top), "/tmp/cgroup-test-XXXXXX");
	CHECK(mkdtemp(top) != NULL);
}

static void end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	CHECK_INT(system(command), 0);
}

TEST(cgroup_in_the_hybrid_layout)
{
	begin();
	make("unified/web/a b");
	make("memory/web");
	make("memory/docker/x");
	write_mounts("30 22 0:27 / %s rw - tmpfs tmpfs rw\n"
		     "34 30 0:31 / %s/memory rw,relatime shared:4 - cgroup cgroup rw,memory\n"
		     "40 30 0:37 / %s/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n");
	expect("/web", "/web", "");
	expect("/web/a b", "/web/a b", "");
	expect("%s/unified/web", "/web", "");
	expect("%s/memory/web", "/web", "rw,memory");
	expect("/docker/x", "/docker/x", "rw,memory");
	expect("/unified/web", NULL, NULL);
	expect("/nosuchgroup", NULL, NULL);
	expect("/we", NULL, NULL);
	end();
}

TEST(cgroup_of_a_part_of_the_tree)
{
	begin();
	make("sub tree/web");
	write_mounts("31 30 0:28 /docker/1f %s/sub\\040tree rw - cgroup2 cgroup rw\n");
	expect("/web", "/docker/1f/web", "");
	expect("/docker/1f/web", "/docker/1f/web", "");
	expect("/docker/1f", "/docker/1f", "");
	expect("/docker", NULL, NULL);
	end();
}

TEST(cgroup_all_and_nothing_mounted)
{
	struct diag d = { 0 };
	struct cgroup c;

	begin();
	write_mounts("30 22 0:27 / %s rw - tmpfs tmpfs rw\nno mount\n- -\n1 2 3:4 / - cgroup2\n");
	CHECK_INT(find(&c, "/", &d), 0);
	CHECK(cgroup__is_in(&c, ""));
	CHECK(cgroup__has(&c, getpid()));
	CHECK_INT(find(&c, "/any", &d), 0);
	CHECK(cgroup__is_in(&c, "1:cpu:/any\n"));
	CHECK(!cgroup__is_in(&c, "1:cpu:/anywhere\n"));
	cgroup__free(&c);
	end();
}

TEST(cgroup_of_a_process)
{
	static const char text[] = "9:name=systemd:/web/x\n4:cpu,cpuacct:/docker\n1:memory:/web\n0::/app/web\n";
	static const struct {
		const char *path, *hierarchy;
		bool is;
	} cases[] = {
		{ "/app", "", true }, { "/app/web", "", true }, { "/app/we", "", false }, { "/app/web/x", "", false },
		{ "/web", "", false }, { "/web", "rw,memory", true }, { "/web", "rw,xattr,name=systemd", true },
		{ "/docker", "rw,cpu,cpuacct", true }, { "/docker", "rw,cpu", false }, { "/docker", "rw,memory", false },
		{ "/docker", NULL, true }, { "/nowhere", NULL, false },
	};
	struct cgroup c;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		c = (struct cgroup){ .path = (char *)cases[i].path, .hierarchy = (char *)cases[i].hierarchy };
		CHECK_INT(cgroup__is_in(&c, text), cases[i].is);
	}
	c = (struct cgroup){ .path = (char *)"/app", .hierarchy = (char *)"" };
	CHECK(!cgroup__is_in(&c, ""));
	CHECK(!cgroup__is_in(&c, "0::"));
	CHECK(!cgroup__is_in(&c, "0:/app"));
	CHECK(!cgroup__is_in(&c, "::\n:\n\n"));
}

TEST(cgroup_path)
{
	static const struct {
		const char *text, *path;	/* NULL: unknown */
	} cases[] = {
		{ "0::/app/web\n", "/app/web" }, { "9:name=systemd:/\n4:memory:/docker/1f\n1:cpu:/x\n0::/app\n", "/app" },
		{ "0::/app\n9:name=systemd:/longer\n", "/app" }, { "9:name=systemd:/longer\n0::/app\n", "/app" },
		/* A unit, of which some hierarchies have the slice alone. */
		{ "9:devices:/system.slice\n1:name=systemd:/system.slice/app.service\n", "/system.slice/app.service" },
		/* Groups of version 1, where version 2 is mounted and not used. */
		{ "9:name=systemd:/\n4:memory:/docker/1f\n1:cpu:/x\n0::/\n", "/docker/1f" }, { "2:cpu:/a\n1:memory:/b\n", "/a" },
		{ "2:cpu:/\n0::/\n", "/" }, { "2:cpu:/\n", "/" }, { "0::/a b:c\n", "/a b:c" }, { "0::/a", "/a" },
		{ "0::/a\033[31m\n", "/a\\x1B[31m" },
		{ "", NULL }, { "\n\n", NULL }, { "0:/a\n", NULL }, { "0::\n", NULL }, { "0::a\n", NULL }, { ":::/a", NULL }, { ":", NULL },
	};
	static char large[10000] = "0::/";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *path = cgroup__path(cases[i].text);

		if (!path != !cases[i].path || (path && strcmp(path, cases[i].path)))
			test__fail(__FILE__, __LINE__, "\"%s\": %s", cases[i].text, path ? path : "NULL");
		free(path);
	}
	memset(large + 4, 'x', sizeof(large) - 5);
	{
		char *path = cgroup__path(large);

		CHECK(path && strlen(path) <= 4096 + 4);
		free(path);
	}
}
