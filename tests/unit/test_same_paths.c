/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that are the same in two versions of a program. */
#include "test.h"

#include <string.h>

#include "recording/same_paths.h"

TEST(same_paths_of_two_versions)
{
	static const struct {
		const char *before, *after;
		bool same;
	} cases[] = {
		{ "/a/x.rb", "/a/x.rb", true },
		{ "/a/x.rb", "/b/x.rb", false },
		{ "/g/gems/rack-3.1.8/lib/rack.rb", "/other/gems/rack-3.2.0/lib/rack.rb", true },
		{ "/g/gems/rack-3.1.8/lib/a.rb", "/g/gems/rack-3.2.0/lib/b.rb", false },
		{ "/g/gems/rack-3.1.8/lib/c.rb", "/g/gems/rack-session-3.2.0/lib/c.rb", false },
		{ "/g/gems/rack-3.1.8/lib/d.rb", "/srv/lib/d.rb", false },
		{ "(eval at /g/gems/rack-3.1.8/lib/e.rb:3)", "(eval at /g/gems/rack-3.2.0/lib/e.rb:3)", true },
		{ "(eval at /g/gems/rack-3.1.8/lib/f.rb:3)", "/g/gems/rack-3.2.0/lib/f.rb:3)", false },
		{ "/g/bundler/gems/shop-0123456789ab/lib/g.rb", "/g/bundler/gems/shop-ba9876543210/lib/g.rb", true },
		{ "/usr/lib/ruby/3.4.0/net/http.rb", "/opt/lib/ruby/3.5.0/net/http.rb", true },
		{ "/h/.asdf/installs/ruby/3.4.1/lib/ruby/3.4.0/set.rb", "/h/.asdf/installs/ruby/3.5.0/lib/ruby/3.5.0/set.rb", true },
		{ "/usr/lib/ruby/site_ruby/3.4.0/rubygems.rb", "/opt/lib/ruby/site_ruby/3.5.0/rubygems.rb", true },
		{ "/usr/lib/ruby/3.4.0/net/a.rb", "/usr/lib/ruby/3.4.0/net/b.rb", false },
		{ "/srv/releases/20261128093000/app/h.rb", "/srv/releases/20261129101500/app/h.rb", true },
		{ "/srv/releases/20261128093000/app/i.rb", "/srv/releases/20261129101500/i.rb", false },
		{ "/srv/releases/20261128093000/app/j.rb", "/opt/releases/20261129101500/app/j.rb", false },
		{ "/srv/releases/1234567/app/k.rb", "/srv/releases/7654321/app/k.rb", false },
		{ "/srv/releases/20261128093000x/l.rb", "/srv/releases/20261129101500x/l.rb", false },
		{ "/srv/releases/x/releases/20261128093000/m.rb", "/srv/releases/x/releases/20261129101500/m.rb", true },
		{ "/app/one/n.rb", "/app/two/n.rb", true },
		{ "/app/one/o.rb", "/app/one/o.rb", true },
		{ "/app/two/p.rb", "/app/two/p.rb", true },
		{ "/app/onen.rb", "/app/two/n.rb", false },
		{ "<internal:kernel>", "<internal:kernel>", true },
	};
	struct same_paths s = { .count = 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *before = same_paths__shown(&s, cases[i].before, "/app/one", 0);
		const char *after = same_paths__shown(&s, cases[i].after, "/app/two", 1);

		CHECK(before && after);
		CHECK_STRING(before, cases[i].before);
		if ((before == after) != cases[i].same)
			fprintf(stderr, "%s and %s\n", cases[i].before, cases[i].after);
		CHECK((before == after) == cases[i].same);
	}
	CHECK_STRING(same_paths__version(&s, "rack", 0), "3.1.8");
	CHECK_STRING(same_paths__version(&s, "rack", 1), "3.2.0");
	CHECK(!same_paths__version(&s, "rack-session", 0) && !same_paths__version(&s, "nothing", 1));
	CHECK_STRING(same_paths__version(&s, "rack-session", 1), "3.2.0");
	same_paths__free(&s);
}
