/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/strings.h"
#include "recording/redact.h"
#include "test.h"

static const struct {
	const char *path, *wanted;
} paths[] = {
	{ "", "" },
	{ "app.rb", "app.rb" },
	{ "<internal:kernel>", "<internal:kernel>" },
	{ "/srv/shop/app/models/order.rb", "/redacted/1/order.rb" },
	{ "/srv/shop/app/models/user.rb", "/redacted/1/user.rb" },
	{ "lib/order.rb", "/redacted/2/order.rb" },
	{ "/srv/shop/app/models/", "/redacted/1/" },
	{ "/top.rb", "/redacted/3/top.rb" },
	{ "/home/jo/.rbenv/versions/3.4.5/lib/ruby/gems/3.4.0/gems/rack-3.1.8/lib/rack/builder.rb", "/redacted/gems/rack-3.1.8/lib/rack/builder.rb" },
	{ "/srv/shop/vendor/bundle/ruby/3.4.0/bundler/gems/own-1a2b3c4d5e6f/lib/own.rb", "/redacted/bundler/gems/own-1a2b3c4d5e6f/lib/own.rb" },
	{ "/home/jo/ruby/lib/ruby/3.4.0/net/http.rb", "/redacted/lib/ruby/3.4.0/net/http.rb" },
	{ "/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libc.so.6" },
	{ "(eval at /srv/shop/app/models/order.rb:17)", "(eval at /redacted/1/order.rb:17)" },
	{ "(eval at (eval at /srv/secret.rb:1):2)", "(eval at :2)" },
	{ "(eval at /srv/shop/app/models/order.rb:17 secret)", "(eval at /redacted/1/order.rb:17" },
	{ "(eval at ", "(eval at " },
	{ ":", ":" },
	/* Images have the application there. */
	{ "/usr/src/app/lib/order.rb", "/redacted/4/order.rb" },
	{ "/usr/local/shop/order.rb", "/redacted/5/order.rb" },
	{ "/usr/lib/../../srv/secret/order.so", "/redacted/6/order.so" },
};

TEST(redact_paths)
{
	struct strings folders = { 0 };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct text out = { 0 };

		CHECK(!redact__path(&folders, paths[i].path, &out));
		CHECK_STRING(text__string(&out), paths[i].wanted);
		text__free(&out);
	}
	strings__free(&folders);
}

static const struct {
	const char *name, *wanted;
} jit_names[] = {
	{ "LazyCompile:*render /srv/shop/page.js:12:3", "LazyCompile:*render /redacted/1/page.js:12:3" },
	{ "py::render:/srv/shop/page.py", "py::render:/redacted/1/page.py" },
	{ "Function:~x file:///srv/my shop/page.mjs:1", "Function:~x file:/redacted/2/page.mjs:1" },
	{ "a /usr/lib/a.js /srv/secret/b.js", "a /usr/lib/a.js /redacted/3/b.js" },
	{ "f(app/secret/c.js)", "f(/redacted/4/c.js)" },
	{ "Ljava/lang/String;::hash", "/redacted/5/String;::hash" },
	{ "Builtin:ArrayMap", "Builtin:ArrayMap" },
	{ "a / b", "a /redacted/6/ b" },
	{ "/", "/redacted/6/" },
	{ "", "" },
	/* Behind a path that stays there is another one. */
	{ "f /usr/lib/node/x.js (/srv/secret/app.js:3)", "f /usr/lib/node/x.js (/redacted/3/app.js:3)" },
	{ "/usr/lib/a.js,/srv/secret/b.js", "/usr/lib/a.js,/redacted/3/b.js" },
	{ "f /usr/lib/a.js:3 (secret/b.js:4)", "f /usr/lib/a.js:3 (/redacted/7/b.js:4)" },
	{ "/usr/lib/a.js,my secret/b.js", "/usr/lib/a.js/redacted/8/b.js" },
	{ "f /srv/my app/gems/rack-3.0/lib/rack.rb [secret/b.rb]", "f /redacted/gems/rack-3.0/lib/rack.rb/redacted/9/b.rb]" },
	{ "f /srv/a/b.js,/srv/secret/c.js", "f /redacted/10/b.js,/redacted/3/c.js" },
	/* A relative one with a blank. */
	{ "py::f:my secret/app.py", "py::f:/redacted/11/app.py" },
	{ "f (my secret/app.py:3)", "f (/redacted/11/app.py:3)" },
	{ "f my secret/app.py", "/redacted/12/app.py" },
	{ "a//b", "/redacted/13/b" },
	{ " /:/", " /redacted/6/:/redacted/6/" },
};

TEST(redact_names_of_jits)
{
	struct strings folders = { 0 };

	for (size_t i = 0; i < sizeof(jit_names) / sizeof(jit_names[0]); i++) {
		struct text out = { 0 };

		CHECK(!redact__jit_name(&folders, jit_names[i].name, &out));
		CHECK_STRING(text__string(&out), jit_names[i].wanted);
		text__free(&out);
	}
	strings__free(&folders);
}
