/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/report_version.h"

#include <stdio.h>
#include <string.h>

#include "base/attributes.h"

/* So much of a commit tells it apart. */
#define SHOWN_DIGITS 12

static void note(struct version_span *s, const char *name, uint64_t at)
{
	if (!*name)
		return;
	if (!*s->first) {
		snprintf(s->first, sizeof(s->first), "%s", name);
		snprintf(s->last, sizeof(s->last), "%s", name);
		s->first_at = s->last_at = at;
		return;
	}
	s->several |= strcmp(s->first, name) || strcmp(s->last, name);
	if (at < s->first_at) {
		snprintf(s->first, sizeof(s->first), "%s", name);
		s->first_at = at;
	}
	if (at >= s->last_at) {
		snprintf(s->last, sizeof(s->last), "%s", name);
		s->last_at = at;
	}
}

static void join(struct version_span *s, const struct version_span *of)
{
	note(s, of->first, of->first_at);
	note(s, of->last, of->last_at);
	s->several |= of->several;
}

void report_version__add(struct report_version *v, const char *resource, uint64_t at)
{
	char name[sizeof(v->commit.first)];

	if (attributes__find(resource, ATTRIBUTES_COMMIT, name, sizeof(name)))
		note(&v->commit, name, at);
	if (attributes__find(resource, ATTRIBUTES_DEPLOYMENT, name, sizeof(name)))
		note(&v->deployment, name, at);
}

void report_version__join(struct report_version *v, const struct report_version *of)
{
	join(&v->commit, &of->commit);
	join(&v->deployment, &of->deployment);
}

/* A commit in short; other texts are whole. */
static void add_short(const char *name, struct text *to)
{
	bool is_commit = strspn(name, "0123456789abcdefABCDEF") == strlen(name);

	text__add(to, name, is_commit ? strnlen(name, SHOWN_DIGITS) : strlen(name));
}

void version_span__add_text(const struct version_span *s, struct text *to)
{
	add_short(s->first, to);
	if (!s->several)
		return;
	text__adds(to, "..");
	add_short(s->last, to);
}

static void add_words(const struct version_span *s, const char *what, const char *before, struct text *to)
{
	if (!*s->first)
		return;
	text__addf(to, s->several ? "%sseveral %ss, first " : "%s%s ", before, what);
	add_short(s->first, to);
	if (!s->several)
		return;
	text__adds(to, ", last ");
	add_short(s->last, to);
}

void report_version__add_text(const struct report_version *v, struct text *to)
{
	add_words(&v->commit, "commit", "", to);
	add_words(&v->deployment, "deployment", *v->commit.first ? "; " : "", to);
}

static json_t *string_or_null(const char *text)
{
	return *text ? json_string(text) : json_null();
}

json_t *report_version__json(const struct report_version *v)
{
	if (!*v->commit.first && !*v->deployment.first)
		return json_null();
	return json_pack("{s:o, s:o, s:b, s:o, s:o, s:b}", "commit", string_or_null(v->commit.first), "last_commit",
			 string_or_null(v->commit.last), "several_commits", v->commit.several, "deployment",
			 string_or_null(v->deployment.first), "last_deployment", string_or_null(v->deployment.last),
			 "several_deployments", v->deployment.several);
}
