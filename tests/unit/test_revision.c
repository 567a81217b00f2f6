/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of attributes, and the commit of a directory.  This process is the target; tests/live has repositories of git's. */
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "process/own_name.h"
#include "process/revision.h"
#include "profile/report_version.h"

#define COMMIT "0123456789abcdef0123456789abcdef01234567"
#define OTHER "fedcba9876543210fedcba9876543210fedcba98"

TEST(attributes_of_a_list)
{
	static const struct {
		const char *list, *key, *value;
	} cases[] = {
		{ NULL, "a", "" }, { "", "a", "" }, { "a=1", "a", "1" }, { "a=1,a=2", "a", "1" }, { "b=2,a=1", "a", "1" }, { "a", "a", "" },
		{ "a=", "a", "" }, { "a=,a=2", "a", "2" }, { " a = 1 ,b=2", "a", "1" }, { "ab=1", "a", "" }, { "a=x%2Cy%3Dz", "a", "x,y=z" },
		{ "a%2Cb=1", "a,b", "1" }, { ",,,a=1,,", "a", "1" }, { "a=b=c", "a", "b=c" }, { "a=%4", "a", "%4" }, { "a=%zz", "a", "%zz" },
		{ "a=x%1B[31my", "a", "x\\x1B[31my" }, { "a=123456789", "a", "123456789" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char value[64];
		bool found = attributes__find(cases[i].list, cases[i].key, value, sizeof(value));

		CHECK_STRING(value, cases[i].value);
		CHECK(found == (*cases[i].value != '\0'));
	}
}

TEST(attributes_that_do_not_fit_are_cut_at_a_character)
{
	char value[5];

	CHECK(attributes__find("a=xyz%C3%A4%C3%A4", "a", value, sizeof(value)));
	CHECK_STRING(value, "xyz");
}

TEST(attributes_are_read_as_they_were_written)
{
	static const char text[] = "a b,c=d%41;\"e\\f\x80\xc3\xa4";
	struct text list = { 0 };
	char value[64];

	attributes__add(&list, "x", "1", 1);
	attributes__add(&list, "key", text, strlen(text));
	CHECK(attributes__find(list.data, "key", value, sizeof(value)));
	CHECK_STRING(value, "a b,c=d%41;\"e\\f\\x80\xc3\xa4");
	for (const char *c = list.data; *c; c++)
		CHECK(*c > ' ' && *c < 0x7f);
	text__free(&list);
}

TEST(revision_is_of_hexadecimal_digits)
{
	static const struct {
		const char *text;
		bool is;
	} cases[] = {
		{ COMMIT, true }, { "0123456", true }, { "012345", false }, { "", false }, { "0123456g", false }, { "v1.2.3.4", false },
		{ COMMIT "0123456789abcdef01234567", true }, { COMMIT "0123456789abcdef012345678", false }, { "ABCDEF01", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK(revision__is_one(cases[i].text, strlen(cases[i].text)) == cases[i].is);
}

TEST(revision_of_an_environment)
{
	static const struct {
		const char *text;
		size_t size;
		const char *list;
	} cases[] = {
#define ENVIRONMENT(text) text, sizeof(text)
		{ ENVIRONMENT("A=b\0KAMAL_VERSION=" COMMIT), "vcs.ref.head.revision=" COMMIT },
		{ ENVIRONMENT("KAMAL_VERSION=" COMMIT "_uncommitted_ab12"), "vcs.ref.head.revision=" COMMIT "_uncommitted_ab12" },
		{ ENVIRONMENT("KAMAL_VERSION=latest\0GIT_SHA=0123456"), "vcs.ref.head.revision=0123456" },
		{ ENVIRONMENT("GIT_COMMIT=\0COMMIT_SHA=x,service.name=evil"), NULL },
		{ ENVIRONMENT("GIT_COMMIT=0123456_,service.name=evil"), "vcs.ref.head.revision=0123456_%2Cservice.name%3Devil" },
		{ ENVIRONMENT("OTEL_RESOURCE_ATTRIBUTES=vcs.ref.head.revision=abcdef0\0GIT_COMMIT=0123456"),
		  "vcs.ref.head.revision=abcdef0,vcs.ref.head.revision=0123456" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *list = own_name__of_environment(cases[i].text, cases[i].size);

		CHECK_STRING(list ? list : "none", cases[i].list ? cases[i].list : "none");
		free(list);
	}
}

/* -- files ------------------------------------------------------------------------------------------------- */

static char top[32];

static void make(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	for (char *slash = strchr(path + strlen(top) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	if (!text) {
		mkdir(path, 0700);
		return;
	}
	f = fopen(path, "w");
	if (!f)
		abort();
	fputs(text, f);
	fclose(f);
}

static void is(const char *directory, const char *list)
{
	struct target_files files;
	char path[256], *got;

	target_files__of_process(&files, getpid(), 0, NULL);
	snprintf(path, sizeof(path), "%s%s%s", top, *directory ? "/" : "", directory);
	got = revision__read(&files, path);
	CHECK_STRING(got ? got : "none", list ? list : "none");
	free(got);
}

static void make_top(void)
{
	strcpy(top, "/tmp/extprof-test-XXXXXX");
	if (!mkdtemp(top))
		abort();
}

static void remove_top(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", top);
	CHECK(!system(command));
}

#define OF(commit) "vcs.ref.head.revision=" commit
#define ON_MAIN ",vcs.ref.head.name=main"

TEST(revision_of_a_checkout)
{
	make_top();
	make("app/config/x", "");
	is("app/config", NULL);
	make(".git/HEAD", "ref: refs/heads/main\n");
	is("app/config", NULL);
	make(".git/packed-refs", "# pack-refs with: peeled fully-peeled sorted \n" OTHER " refs/heads/mainly\n" OTHER " refs/heads/x/refs/heads/main\n" COMMIT
	     " refs/heads/main\n^" OTHER "\n");
	is("", OF(COMMIT) ON_MAIN);
	is("app/config", OF(COMMIT) ON_MAIN);
	make(".git/refs/heads/main", OTHER "\n");
	is("app/config", OF(OTHER) ON_MAIN);
	/* A repository within it. */
	make("app/.git/HEAD", COMMIT "\n");
	is("app/config", OF(COMMIT));
	is("", OF(OTHER) ON_MAIN);
	/* What a deployment says is meant for this directory alone. */
	make("app/config/REVISION", "abcdef0123\n");
	is("app/config", OF("abcdef0123"));
	is("app", OF(COMMIT));
	make("app/config/REVISION", "release 7\n");
	is("app/config", OF(COMMIT));
	remove_top();
}

TEST(revision_of_a_worktree)
{
	make_top();
	make("main/.git/HEAD", "ref: refs/heads/main\n");
	make("main/.git/refs/heads/main", COMMIT "\n");
	make("main/.git/refs/heads/side", OTHER "\n");
	make("main/.git/worktrees/side/HEAD", "ref: refs/heads/side\n");
	make("main/.git/worktrees/side/commondir", "../..\n");
	make("side/.git", "gitdir: ../main/.git/worktrees/side\n");
	is("side", OF(OTHER) ",vcs.ref.head.name=side");
	is("main", OF(COMMIT) ON_MAIN);
	make("side/.git", "gitdir: nowhere\n");
	is("side", NULL);
	remove_top();
}

TEST(revision_of_files_that_are_not_gits)
{
	static const char *const heads[] = {
		"", "\n", "ref: ", "ref: refs/../secret\n", "ref: secret\n", "ref: refs/heads/ma in\n", "ref: refs//heads\n", "0123\n", COMMIT "x\n",
		"ref: refs/heads/missing\n",
	};
	char line[600];

	make_top();
	make(".git/secret", COMMIT "\n");
	make(".git/refs/x", "");
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		make(".git/HEAD", heads[i]);
		is("", NULL);
	}
	memset(line, 'a', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	make(".git/HEAD", line);
	is("", NULL);
	/* What cannot be read may be a repository: the one above it is another one. */
	make("app/x", "");
	make(".git/HEAD", COMMIT "\n");
	is("app", OF(COMMIT));
	make("app/.git/HEAD", "nothing\n");
	is("app", NULL);
	remove_top();
	make_top();
	snprintf(line, sizeof(line), "%s/fifo", top);
	CHECK(!mkfifo(line, 0600));
	make(".git/x", "");
	snprintf(line, sizeof(line), "%s/.git/HEAD", top);
	CHECK(!mkfifo(line, 0600));
	snprintf(line, sizeof(line), "%s/REVISION", top);
	CHECK(!symlink("fifo", line));
	is("", NULL);
	remove_top();
}

/* -- of a profile ------------------------------------------------------------------------------------------ */

static void is_text(const struct report_version *v, const char *wanted)
{
	struct text text = { 0 };

	report_version__add_text(v, &text);
	CHECK_STRING(text__string(&text), wanted);
	text__free(&text);
}

TEST(version_of_processes)
{
	struct report_version v = { 0 }, other = { 0 };

	is_text(&v, "");
	report_version__add(&v, NULL, 1);
	report_version__add(&v, "service.name=x", 1);
	is_text(&v, "");
	report_version__add(&v, OF(COMMIT) ",deployment.name=v1", 100);
	is_text(&v, "commit 0123456789ab; deployment v1");
	report_version__add(&v, OF(COMMIT), 50);
	report_version__add(&v, OF(COMMIT), 150);
	is_text(&v, "commit 0123456789ab; deployment v1");
	report_version__add(&other, OF(OTHER), 200);
	report_version__join(&v, &other);
	is_text(&v, "several commits, first 0123456789ab, last fedcba987654; deployment v1");
	report_version__add(&v, OF(COMMIT) ",deployment.name=v2", 300);
	is_text(&v, "several commits, first 0123456789ab, last 0123456789ab; several deployments, first v1, last v2");
	memset(&v, 0, sizeof(v));
	report_version__join(&v, &other);
	is_text(&v, "commit fedcba987654");
}
