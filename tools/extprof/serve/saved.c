/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/saved.h"

#include <string.h>

const struct serve_saved serve_saved[] = {
	{ "firefox", ".firefox.json.gz", "application/gzip", true, "profiler.firefox.com" },
	{ "speedscope", ".speedscope.json", "application/json", false, "speedscope.app" },
	{ "pprof", ".pb.gz", "application/gzip", false, "pprof" },
	{ "folded", ".folded", "text/plain; charset=utf-8", false, "flamegraph.pl" },
	{ "json", ".json", "application/json", false, "programs" },
	{ "timeline", ".timeline.json", "application/json", false, "programs" },
	{ 0 }
};

const struct serve_saved *serve_saved__by_name(const char *format)
{
	for (const struct serve_saved *s = serve_saved; s->format; s++)
		if (!strcmp(s->format, format))
			return s;
	return NULL;
}
