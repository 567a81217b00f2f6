/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose code a path is, and what the application is said to call. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "frames/owner.h"
#include "library/report.h"
#include "no_memory.h"
#include "process/proc.h"
#include "profile/owner_dirs.h"
#include "profile_fixture.h"

/* "gem rack 3.1.8" */
static const char *owner_of(const char *path, const struct owner_rules *rules)
{
	static char said[256];
	struct text t = { 0 };
	struct owner o;
	char name[128] = "", version[128] = "";

	owner__find(path, rules, &o);
	if (o.name)
		snprintf(name, sizeof(name), "%.*s", (int)o.name_length, o.name);
	if (o.version)
		snprintf(version, sizeof(version), "%.*s", (int)o.version_length, o.version);
	owner__add_text(o.kind, name, version, &t);
	snprintf(said, sizeof(said), "%s", text__string(&t));
	text__free(&t);
	return said;
}

#define CHECK_OWNER(path, rules, expected) CHECK_STRING(owner_of(path, rules), expected)

TEST(owner_of_gems)
{
	static const struct {
		const char *path, *owner;
	} truth[] = {
		{ "/usr/lib/ruby/gems/3.4.0/gems/rack-3.1.8/lib/rack/builder.rb", "gem rack 3.1.8" },
		{ "/usr/local/bundle/gems/puma-6.4.2/lib/puma/server.rb", "gem puma 6.4.2" },
		{ "/srv/shop/vendor/bundle/ruby/3.4.0/gems/pg-1.5/lib/pg.rb", "gem pg 1.5" },
		{ "/srv/shop/vendor/bundle/ruby/3.4.0/bundler/gems/rails-8b1f5a2c3d4e/activerecord/lib/active_record.rb",
		  "gem rails 8b1f5a2c3d4e" },
		{ "/b/ruby/3.4.0/bundler/gems/rails-deadbeefcafe/lib/x.rb", "gem rails deadbeefcafe" },
		{ "/g/gems/nokogiri-1.18.0-x86_64-linux-gnu/lib/nokogiri.rb", "gem nokogiri 1.18.0" },
		{ "/g/gems/google-protobuf-4.29.1-x86_64-linux/lib/g.rb", "gem google-protobuf 4.29.1" },
		{ "/g/gems/net-http2-0.18.5/lib/x.rb", "gem net-http2 0.18.5" },
		{ "/g/gems/foo-1-bar-2.0/lib/x.rb", "gem foo-1-bar 2.0" },
		{ "/g/gems/rails-8.1.0.beta1/lib/x.rb", "gem rails 8.1.0.beta1" },
		{ "/g/gems/tick-7/lib/x.rb", "gem tick 7" },
		/* rvm has a version of ruby below a directory of that name, too. */
		{ "/home/u/.rvm/gems/ruby-3.4.5/gems/rack-3.0/lib/rack.rb", "gem rack 3.0" },
		{ "/g/gems/outer-1.0/vendor/gems/inner-2.0/lib/x.rb", "gem inner 2.0" },
		{ "/usr/lib/ruby/gems/3.4.0/specifications/json-2.9.1.gemspec", "gem json 2.9.1" },
		{ "/usr/lib/ruby/gems/3.4.0/specifications/default/set-1.1.1.gemspec", "gem set 1.1.1" },
		/* What a gem evaluates is its own, however often. */
		{ "(eval at /g/gems/erb-4.0/lib/erb.rb:33)", "gem erb 4.0" },
		{ "(eval at (eval at /g/gems/erb-4.0/lib/erb.rb:33):7)", "gem erb 4.0" },
		/* These are none. */
		{ "/srv/shop/gems/billing/lib/x.rb", "the application" },
		{ "/srv/shop/gems/billing-v2/lib/x.rb", "the application" },
		{ "/srv/shop/gems/-1.0/lib/x.rb", "the application" },
		{ "/srv/gemsx/rack-3.0/lib/x.rb", "the application" },
		{ "/srv/shop/gems/x-1.0.rb", "the application" },
		{ "/srv/shop/shop-1.0.gemspec", "the application" },
		{ "/srv/shop/specifications/.gemspec", "the application" },
		{ "/b/bundler/gems/rails-xyz/lib/x.rb", "the application" },
	};

	for (size_t i = 0; i < sizeof(truth) / sizeof(truth[0]); i++)
		CHECK_OWNER(truth[i].path, NULL, truth[i].owner);
}

TEST(owner_of_the_library_and_of_ruby)
{
	static const struct {
		const char *path, *owner;
	} truth[] = {
		{ "/usr/lib/ruby/3.4.0/net/http.rb", "net (standard library)" },
		{ "/usr/lib/ruby/3.4.0/set.rb", "set (standard library)" },
		{ "/usr/lib/ruby/3.4.0/x86_64-linux/rbconfig.rb", "rbconfig (standard library)" },
		{ "/usr/lib/x86_64-linux-gnu/ruby/3.4.0/json.rb", "json (standard library)" },
		{ "/opt/r/lib/ruby/site_ruby/3.4.0/rubygems/specification.rb", "rubygems (standard library)" },
		{ "/usr/lib/ruby/vendor_ruby/rack.rb", "rack (standard library)" },
		{ "/home/u/.rbenv/versions/3.4.5/lib/ruby/3.4.0/json/common.rb", "json (standard library)" },
		{ "<internal:array>", "Ruby itself" },
		{ "<internal:/usr/lib/ruby/3.4.0/rubygems/core_ext/kernel_require.rb>", "Ruby itself" },
		{ "/srv/ruby/3.4.0/x.rb", "the application" },
		{ "/srv/lib/ruby/tools/x.rb", "the application" },
		{ "app.rb", "the application" }, { "-e", "the application" }, { "(irb)", "the application" },
		{ "(eval at /srv/app.rb:3)", "the application" },
		{ "(eval at :3)", "the application" }, { "(eval at )", "the application" },
		{ "", "unknown code" },
	};

	for (size_t i = 0; i < sizeof(truth) / sizeof(truth[0]); i++)
		CHECK_OWNER(truth[i].path, NULL, truth[i].owner);
}

TEST(owner_by_directories)
{
	const char *const apps[] = { "/srv/shop" }, *const cwds[] = { "/srv/shop/bin" }, *const root[] = { "/" };
	const char *const within[] = { "/g/gems/rack-3.0" }, *const above[] = { "/g/gems" };
	const struct owner_rules named = { .apps = apps, .app_count = 1, .only_apps = true, .cwds = cwds, .cwd_count = 1 };
	const struct owner_rules by_cwd = { .apps = within, .app_count = 1, .cwds = within, .cwd_count = 1 };
	const struct owner_rules daemon = { .apps = root, .app_count = 1, .cwds = root, .cwd_count = 1 };
	const struct owner_rules over = { .apps = above, .app_count = 1, .cwds = above, .cwd_count = 1 };

	CHECK_OWNER("/srv/shop/app/models/post.rb", &named, "the application");
	CHECK_OWNER("/srv/shopping/app.rb", &named, "other code");
	CHECK_OWNER("/etc/hook.rb", &named, "other code");
	CHECK_OWNER("/srv/shop/vendor/bundle/ruby/3.4.0/gems/pg-1.5/lib/pg.rb", &named, "gem pg 1.5");
	CHECK_OWNER("server.rb", &named, "the application");
	CHECK_OWNER("(eval at server.rb:3)", &named, "the application");
	/* Who works in a gem works on it. */
	CHECK_OWNER("/g/gems/rack-3.0/lib/rack.rb", &by_cwd, "the application");
	CHECK_OWNER("/g/gems/puma-6.0/lib/puma.rb", &by_cwd, "gem puma 6.0");
	/* Who works above them does not. */
	CHECK_OWNER("/g/gems/rack-3.0/lib/rack.rb", &over, "gem rack 3.0");
	CHECK_OWNER("/g/gems/rack-3.0/lib/rack.rb", &daemon, "gem rack 3.0");
	CHECK_OWNER("/usr/lib/ruby/3.4.0/set.rb", &daemon, "set (standard library)");
	CHECK_OWNER("/srv/x.rb", &daemon, "the application");
	CHECK_STRING(owner__short_path("/srv/shop/app/x.rb", &named), "app/x.rb");
	CHECK_STRING(owner__short_path("/srv/shopping/x.rb", &named), "/srv/shopping/x.rb");
	CHECK_STRING(owner__short_place("/srv/shop/app/x.rb", &named), "app/x.rb");
	CHECK_STRING(owner__short_place("/srv/shop/vendor/bundle/ruby/3.4.0/gems/pg-1.5/lib/pg.rb", &named), "pg-1.5/lib/pg.rb");
	CHECK_STRING(owner__short_place("/b/bundler/gems/rails-deadbeefcafe/lib/x.rb", &named), "rails-deadbeefcafe/lib/x.rb");
	CHECK_STRING(owner__short_place("/usr/lib/ruby/3.4.0/set.rb", &named), "/usr/lib/ruby/3.4.0/set.rb");
	CHECK_STRING(owner__short_place("(eval at /g/gems/erb-4.0/lib/erb.rb:33)", &named), "erb-4.0/lib/erb.rb:33)");
	CHECK_STRING(owner__short_place("/g/specifications/json-2.9.1.gemspec", &named), "specifications/json-2.9.1.gemspec");
	CHECK_STRING(owner__short_place("", &named), "");
}

/* What RubyGems and Bundler install to start a script of a gem has its name and is in a bin/. */
TEST(owner_of_what_starts_a_gem)
{
	static const char *const paths[] = { "/g/gems/puma-8.0.2/bin/puma", "/r/lib/ruby/gems/3.4.0/gems/bundler-2.6.9/exe/bundle" };
	const char *const cwds[] = { "/srv/shop" };
	const struct owner_rules rules = { .scripts = paths, .script_count = 2, .apps = cwds, .app_count = 1, .cwds = cwds, .cwd_count = 1 };

	CHECK_OWNER("/g/bin/puma", &rules, "gem puma 8.0.2");
	CHECK_OWNER("/usr/local/bin/puma", &rules, "gem puma 8.0.2");
	CHECK_OWNER("/srv/shop/vendor/bundle/ruby/3.4.0/bin/puma", &rules, "gem puma 8.0.2");
	CHECK_OWNER("/usr/bin/bundle", &rules, "gem bundler 2.6.9");
	CHECK_OWNER("/usr/bin/bundle", NULL, "the application");
	CHECK_OWNER("/usr/local/bin/report", &rules, "the application");
	CHECK_OWNER("/srv/puma", &rules, "the application");
	CHECK_OWNER("/bin", &rules, "the application");
	CHECK_OWNER("puma", &rules, "the application");
	CHECK_OWNER("/srv/bin/lib/puma", &rules, "the application");
	CHECK(owner__is_script(paths[0]));
	CHECK(owner__is_script(paths[1]));
	CHECK(!owner__is_script("/g/gems/puma-8.0.2/lib/puma"));
	CHECK(!owner__is_script("/g/gems/puma-8.0.2/lib/bin/puma"));
	CHECK(!owner__is_script("/g/gems/puma-8.0.2/bin"));
	CHECK(!owner__is_script("/g/gems/puma-8.0.2/bin/"));
	CHECK(!owner__is_script("/usr/bin/puma"));
	CHECK(!owner__is_script("bin"));
	CHECK(!owner__is_script(""));
}

/* A path can be as long as it likes, and made of what confuses. */
TEST(owner_of_hostile_paths)
{
	static const char *const pieces[] = {
		"/", "gems", "bundler", "lib", "ruby", "bin", "exe", "3.4.0", "-", ".", "1", "(eval at ", ":1)", "<internal:", "a-1.0", "deadbeef",
	};
	static char path[9000];
	struct owner o;

	for (int i = 0; i < 20000; i++) {
		size_t length = 0, count = test__random() % 40;

		for (size_t n = 0; n < count; n++)
			length += (size_t)snprintf(path + length, sizeof(path) - length, "%s", pieces[test__random() % 16]);
		path[length] = '\0';
		owner__find(path, NULL, &o);
		CHECK(o.kind < OWNER_KINDS);
		CHECK((o.kind == OWNER_GEM) == (o.name && o.version && o.root));
		CHECK(!o.name || (o.name >= path && o.name + o.name_length <= path + length));
		CHECK(!owner__is_script(path) || o.kind == OWNER_GEM);
	}
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	owner__find(path, NULL, &o);
	CHECK_INT(o.kind, OWNER_NONE);
}

TEST(owner_dirs_are_named)
{
	struct owner_dirs d = { 0 }, cwds = { 0 };
	struct owner_rules rules;
	char many[OWNER_DIRS_MAX * 8 + 64] = "";

	CHECK_INT(owner_dirs__name(&d, "/srv/a//,/srv/b,/srv/a"), 0);
	CHECK_INT(d.count, 2);
	CHECK_STRING(d.list[0], "/srv/a");
	CHECK_INT(owner_dirs__name(&d, "not/there"), -EINVAL);
	CHECK_INT(owner_dirs__name(&d, ",/x"), -EINVAL);
	CHECK_INT(owner_dirs__name(&d, "."), 0);
	CHECK_INT(d.count, 3);
	CHECK(d.list[2][0] == '/');
	for (unsigned int i = 0; i <= OWNER_DIRS_MAX; i++)
		sprintf(many + strlen(many), "%s/no/%u", i ? "," : "", i);
	CHECK_INT(owner_dirs__name(&d, many), -E2BIG);
	CHECK_INT(owner_dirs__add_cwd(&cwds, NULL), 0);
	CHECK_INT(owner_dirs__add_cwd(&cwds, "/srv/c"), 0);
	owner_dirs__rules(&d, &cwds, &rules);
	CHECK(rules.only_apps && rules.app_count == OWNER_DIRS_MAX && rules.cwd_count == 1);
	owner_dirs__free(&d);
	owner_dirs__rules(&d, &cwds, &rules);
	CHECK(!rules.only_apps && rules.app_count == 1);
	CHECK_STRING(rules.apps[0], "/srv/c");
	owner_dirs__free(&cwds);
}

/* -- reports ----------------------------------------------------------------------------------- */

static uint32_t gem_id, gem2_id, set_id;

static uint32_t method(const char *name, const char *path, uint32_t owner, uint32_t line)
{
	uint32_t id = fake__record(&ruby, RB_DEBUG_EXT_METHOD, name, owner, 0);

	fake__set_path(fake__get(&ruby, id), path);
	fake__set_code(fake__get(&ruby, id), 10, line);
	return id;
}

/*
 * <main>: Foo#foo calls a gem (3 samples), Array#size by itself (5), Array#size below the gem (2), and Foo#bar (4), which
 * the gem calls with another gem (1) and itself.
 */
static void send_application(void)
{
	uint32_t foo;

	set_up();
	foo = fake__record(&ruby, RB_DEBUG_EXT_NAMED, "Gem", 0, 0);
	gem_id = method("render", "/g/gems/view-1.2/lib/view.rb", foo, 10);
	gem2_id = method("query", "/g/gems/sql-2.0/lib/sql.rb", foo, 20);
	set_id = method("add", "/usr/lib/ruby/3.4.0/set.rb", foo, 30);
#define STACK(times, ...) do {						\
	const uint32_t ids[] = { __VA_ARGS__ };				\
	start();							\
	for (size_t i_ = 0; i_ < sizeof(ids) / sizeof(ids[0]); i_++)	\
		frame(ids[i_], 0);					\
	send(times);							\
} while (0)
	STACK(3, gem_id, foo_id, main_id);
	STACK(5, size_id, foo_id, main_id);
	STACK(2, size_id, gem_id, foo_id, main_id);
	STACK(4, bar_id, gem_id, foo_id, main_id);
	STACK(1, gem2_id, bar_id, gem_id, foo_id, main_id);
	STACK(6, set_id, gem_id, main_id);
}

static const struct report_total *method_total(const struct report *r, const char *name)
{
	for (uint32_t i = 0; i < r->methods.count; i++)
		if (!strcmp(r->labels[r->methods.list[i].label].name, name))
			return &r->methods.list[i];
	return NULL;
}

static const struct report_total *owner_total(const struct report *r, uint8_t kind, const char *name)
{
	for (uint32_t i = 0; i < r->by_owner.count; i++) {
		const struct report_owner *o = &r->owners[r->labels[r->by_owner.list[i].label].owner];

		if (o->kind == kind && !strcmp(o->name, name))
			return &r->by_owner.list[i];
	}
	return NULL;
}

TEST(report_says_whose_code_it_is)
{
	const struct report_total *t;
	struct report r;

	send_application();
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	CHECK_INT(r.samples, 21);
	CHECK_INT(r.by_owner.count, 4);
	t = owner_total(&r, OWNER_APP, "");
	CHECK(t != NULL);
	CHECK_INT(t->self, 9);		/* Foo#bar, and Array#size that it calls */
	CHECK_INT(t->own, 4);
	CHECK_INT(t->total, 21);
	t = owner_total(&r, OWNER_GEM, "view");
	CHECK(t != NULL);
	CHECK_INT(t->self, 5);
	CHECK_INT(t->total, 16);
	t = owner_total(&r, OWNER_GEM, "sql");
	CHECK(t != NULL);
	CHECK_INT(t->self, 1);
	CHECK_INT(t->total, 1);
	t = owner_total(&r, OWNER_STDLIB, "set");
	CHECK(t != NULL);
	CHECK_INT(t->self, 6);
	report__free(&r);
	tear_down();
}

/* <main> of .../bin/serve loads the script of the gem, which calls the application. */
TEST(report_counts_the_start_of_a_gem_for_the_gem)
{
	const struct report_total *t;
	uint32_t stub, script;
	struct report r;

	set_up();
	stub = method("<main>", "/g/bin/serve", 0, 1);
	script = method("<top (required)>", "/g/gems/serve-1.5/exe/serve", 0, 2);
	STACK(4, foo_id, script, stub);
	STACK(3, script, stub);
	STACK(2, stub);
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	t = owner_total(&r, OWNER_APP, "");
	CHECK(t != NULL);
	CHECK_INT(t->self, 4);
	CHECK_INT(t->total, 4);
	t = owner_total(&r, OWNER_GEM, "serve");
	CHECK(t != NULL);
	CHECK_INT(t->self, 5);
	CHECK_INT(t->total, 9);
	report__free(&r);
	tear_down();
}

TEST(report_says_what_the_application_calls)
{
	const struct report_total *t;
	struct report r;

	send_application();
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	/* Array#size by itself 5, view 5, sql 1, and Foo#bar's own. */
	t = method_total(&r, "Foo#foo");
	CHECK(t != NULL);
	CHECK_INT(t->total, 15);
	CHECK_INT(t->called, 5);
	/* As much: the gem comes first. */
	CHECK_INT(t->calls, CALLS_OWNER);
	CHECK_STRING(r.owners[t->callee].name, "view");
	t = method_total(&r, "Foo#bar");
	CHECK_INT(t->calls, CALLS_OWNER);
	CHECK_STRING(r.owners[t->callee].name, "sql");
	CHECK_INT(t->called, 1);
	/* 11 of view: what it calls of the library is in it. */
	t = method_total(&r, "<main>");
	CHECK_STRING(r.owners[t->callee].name, "view");
	CHECK_INT(t->called, 11);
	t = method_total(&r, "Gem#render");
	CHECK_INT(t->calls, CALLS_UNKNOWN);
	report__free(&r);
	STACK(1, size_id, foo_id, main_id);
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	t = method_total(&r, "Foo#foo");
	CHECK_INT(t->calls, CALLS_LABEL);
	CHECK_STRING(r.labels[t->callee].name, "Array#size");
	CHECK_INT(t->called, 6);
	CHECK_INT(r.lines.list[0].called, r.lines.list[0].self);
	report__free(&r);
	tear_down();
}

/* What of a recursion is called counts once. */
TEST(report_counts_calls_of_recursion_once)
{
	const struct report_total *t;
	struct report r;

	send_application();
	STACK(7, size_id, foo_id, bar_id, foo_id, main_id);
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	t = method_total(&r, "Foo#foo");
	CHECK_INT(t->total, 22);
	CHECK_STRING(r.labels[t->callee].name, "Array#size");
	CHECK_INT(t->called, 12);
	report__free(&r);
	tear_down();
}

TEST(summary_begins_with_the_application)
{
	const char *text, *methods, *lines, *gems, *general;

	send_application();
	text = render(&output_summary, false, false);
	methods = strstr(text, "\nThe application's methods by total\n");
	lines = strstr(text, "\nThe application's lines by total\n");
	gems = strstr(text, "\nGems by ");
	general = strstr(text, "in the method itself");
	CHECK(methods && lines && gems && general && methods < lines && lines < gems && gems < general);
	CHECK(strstr(text, "       9  42.9 %        21 100.0 %  the application\n") != NULL);
	CHECK(strstr(text, "       5  23.8 %        16  76.2 %  gem view 1.2\n") != NULL);
	CHECK(strstr(methods, "23.8 %  gem view 1.2\n") != NULL);
	tear_down();
}

/* The numbers are those of the summary. */
TEST(json_and_table_have_the_application)
{
	const char *text;

	send_application();
	text = render(&output_table, false, false);
	CHECK(strstr(text, "\nkind\tself\tself_percent\ttotal\ttotal_percent\tname\tplace\napp_method\t0\t0.00\t21\t100.00\t<main>\t") != NULL);
	CHECK(strstr(text, "\ngem\t9\t42.86\t21\t100.00\tthe application\t\n") != NULL);
	CHECK(strstr(text, "\ngem\t5\t23.81\t16\t76.19\tgem view 1.2\t\n") != NULL);
	CHECK(strstr(text, "\nmethod\t3\t14.29\t16\t76.19\tGem#render\t/g/gems/view-1.2/lib/view.rb:10\n") != NULL);
	text = render(&output_json, false, false);
	CHECK(strstr(text, "\"application\":{\n\"methods\":{\n\"count\":3,\n\"rows\":[\n{\"name\":\"<main>\"") != NULL);
	CHECK(strstr(text, "\"calls\":{\"name\":\"gem view 1.2\",\"amount\":11,") != NULL);
	CHECK(strstr(text, "\"gems\":{\n\"count\":4,\n\"rows\":[\n{\"name\":\"the application\",\"kind\":\"application\",\"part\":\"\",\"version\":\"\",\"self\":9,")
	      != NULL);
	CHECK(strstr(text, "{\"name\":\"gem view 1.2\",\"kind\":\"gem\",\"part\":\"view\",\"version\":\"1.2\",\"self\":5,") != NULL);
	tear_down();
}

/* What has little is in the rest of its caller; a call that is the only one is not further in. */
TEST(tree_of_calls)
{
	send_application();
	STACK(200, size_id, gem_id, main_id);
	CHECK_STRING(render(&output_tree, false, false), "mode cpu: 221 samples\n"
		     "             total     self  call\n"
		     "       221 100.0 %    0.0 %  <main>  app.rb:300\n"
		     "       206  93.2 %    0.0 %    Gem#render  view-1.2/lib/view.rb:10\n"
		     "       200  90.5 %   90.5 %      Array#size\n"
		     "         6   2.7 %    2.7 %      Gem#add  /usr/lib/ruby/3.4.0/set.rb:30\n"
		     "        15   6.8 %    0.0 %    Foo#foo  app.rb:600\n"
		     "        10   4.5 %    1.4 %      Gem#render  view-1.2/lib/view.rb:10\n"
		     "         5   2.3 %    1.8 %        Foo#bar  app.rb:700\n"
		     "         2   0.9 %    0.9 %        Array#size\n"
		     "         5   2.3 %    2.3 %      Array#size\n");
	tear_down();
}

TEST(summary_says_that_there_is_no_application)
{
	set_up();
	gem_id = method("render", "/g/gems/view-1.2/lib/view.rb", fake__record(&ruby, RB_DEBUG_EXT_NAMED, "Gem", 0, 0), 10);
	STACK(2, gem_id);
	CHECK(strstr(render(&output_summary, false, false), "\nno method belongs to the application (--app DIR ") != NULL);
	CHECK(!strstr(written, "The application's"));
	tear_down();
}

/* Each allocation fails once. */
TEST(report_of_owners_without_memory)
{
	unsigned int at, err = 1;
	struct report r;

	send_application();
	for (at = 1; err && at < 1000; at++) {
		no_memory_at = at;
		err = (unsigned int)-build_report(&r, REPORT_BY_CODE);
		CHECK(!err || err == ENOMEM);
	}
	no_memory_at = 0;
	CHECK(at > 30 && at < 1000);
	CHECK_INT(r.by_owner.count, 4);
	report__free(&r);
	tear_down();
}

TEST(library_tells_owners)
{
	struct extprof_report *report;
	const struct extprof_total *t;
	const struct extprof_stack *s;
	struct report r;
	bool app = false, gem = false;

	send_application();
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	CHECK_INT(library_report__create(&report, &r), 0);
	for (size_t i = 0; (t = extprof_report_total(report, EXTPROF_TOTAL_OWNERS, i)); i++) {
		app |= t->frame->owner == EXTPROF_CODE_APP && t->self == 9 && t->total == 21;
		gem |= t->frame->owner == EXTPROF_CODE_GEM && !strcmp(t->frame->owner_name, "view") &&
		       !strcmp(t->frame->owner_version, "1.2") && t->self == 5 && t->total == 16;
		CHECK_STRING(t->path, "");
	}
	CHECK(app && gem);
	app = gem = false;
	for (size_t i = 0; (t = extprof_report_total(report, EXTPROF_TOTAL_METHODS, i)); i++) {
		if (!strcmp(t->frame->name, "<main>")) {
			CHECK_STRING(t->callee, "gem view 1.2");
			CHECK_INT(t->called, 11);
			app = true;
		}
		gem |= t->frame->owner == EXTPROF_CODE_GEM && !t->callee;
	}
	CHECK(app && gem);
	while ((s = extprof_report_next(report)))
		for (size_t i = 0; i < s->count; i++)
			CHECK(s->frames[i]->kind != EXTPROF_FRAME_C || (s->frames[i]->owner == EXTPROF_CODE_NONE &&
									!*s->frames[i]->owner_name));
	extprof_report_destroy(report);
	tear_down();
}

TEST(proc_tells_where_a_process_works)
{
	char here[4096], *cwd = proc__cwd(getpid());

	CHECK(cwd && getcwd(here, sizeof(here)));
	CHECK_STRING(cwd, here);
	free(cwd);
	CHECK(proc__cwd(0x3fffff) == NULL);
}
