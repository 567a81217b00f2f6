/* SPDX-License-Identifier: BSD-2-Clause */
/* A trend for people and for programs. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "analysis/trend.h"
#include "base/json.h"
#include "base/share.h"
#include "profile/unit.h"

/* A bar is that long at 100 %. */
#define BAR 40
#define METHOD_MAX 256u
#define BAR_FROM 88u	/* columns before it */

static double share_of(const struct trend_row *r)
{
	return share__of(r->part, r->all);
}

static void add_amount(const struct trend *t, uint64_t amount, int width, struct text *out)
{
	struct text text = { 0 };

	unit__add_amount(t->metric.unit, amount, &text);
	text__addf(out, " %*s", width, text__string(&text));
	out->failed |= text.failed;
	text__free(&text);
}

static void add_time(uint64_t ns, struct text *out)
{
	time_t seconds = (time_t)(ns / 1000000000u);
	char text[32] = "-";
	struct tm tm;

	if (ns && localtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	text__addf(out, "%-19s", text);
}

static void add_version(const struct trend_row *r, struct text *out)
{
	version_span__add_text(&r->version.commit, out);
	if (*r->version.commit.first && *r->version.deployment.first)
		text__adds(out, " ");
	version_span__add_text(&r->version.deployment, out);
}

/* Columns that the longest one needs; 0: none is known. */
static size_t version_width(const struct trend *t)
{
	size_t widest = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		struct text text = { 0 };

		add_version(&t->rows[i], &text);
		if (text.length > widest)
			widest = text.length;
		text__free(&text);
	}
	return widest;
}

static void add_row(const struct trend *t, const struct trend_row *r, size_t version, struct text *out)
{
	int bar = t->width && t->width < BAR_FROM + version + BAR ? 0 : (int)(share_of(r) * BAR + 0.5);
	size_t begin;

	add_time(r->begin, out);
	text__addf(out, " %9.1f s", r->end > r->begin ? (double)(r->end - r->begin) / 1e9 : 0);
	if (r->without) {
		text__addf(out, " %12s %12s %9s  without this mode\n", "-", "-", "-");
		return;
	}
	add_amount(t, r->all, 12, out);
	add_amount(t, r->part, 12, out);
	if (r->all)
		text__addf(out, " %7.2f %%", 100 * share_of(r));
	else
		text__addf(out, " %9s", "-");
	if (r->compared)
		text__addf(out, "  %s%+7.2f +- %5.2f", r->decided ? " " : "~", 100 * r->change, 100 * r->noise);
	else if (bar || version)
		text__addf(out, "%19s", "");
	if (version) {
		text__adds(out, "  ");
		begin = out->length;
		add_version(r, out);
		if (bar)
			text__addf(out, "%*s", (int)(version - (out->length - begin)), "");
	}
	if (bar)
		text__adds(out, "  ");
	for (int i = 0; i < bar; i++)
		text__adds(out, "#");
	text__adds(out, "\n");
}

int trend__write_text(const struct trend *t, FILE *to)
{
	const char *bold = t->color ? "\033[1m" : "", *dim = t->color ? "\033[2m" : "", *plain = t->color ? "\033[0m" : "";
	size_t version = version_width(t);
	struct text out = { 0 };

	text__addf(&out, "%s", bold);
	text__add_clean(&out, t->method, strlen(t->method), METHOD_MAX);
	text__addf(&out, " and what it calls%s, of each recording, mode %s\n%s%-19s %11s %12s %12s %9s  %16s%s%s\n", plain, t->mode, dim, "begin",
		   "length", "all", "of it", "share", "change", version ? "   version" : "", plain);
	for (uint32_t i = 0; i < t->count; i++)
		add_row(t, &t->rows[i], version, &out);
	text__adds(&out, "change: points against the row before, beside the noise of sampling; ~ is not beyond it\n");
	return text__write(&out, to);
}

int trend__write_table(const struct trend *t, FILE *to)
{
	struct text out = { 0 };

	text__addf(&out, "# trend of ");
	text__add_clean(&out, t->method, strlen(t->method), METHOD_MAX);
	text__addf(&out, ", mode %s, %s\nbegin_ns\tend_ns\tall\tof_it\tshare\tchange\tnoise\tdecided\trecording\tcommit\tlast_commit\tdeployment\tlast_deployment\n", t->mode, t->metric.name);
	for (uint32_t i = 0; i < t->count; i++) {
		const struct trend_row *r = &t->rows[i];

		text__addf(&out, "%" PRIu64 "\t%" PRIu64 "\t", r->begin, r->end);
		if (r->without)
			text__adds(&out, "\t\t\t");
		else
			text__addf(&out, "%" PRIu64 "\t%" PRIu64 "\t%.6f\t", r->all, r->part, share_of(r));
		if (r->compared)
			text__addf(&out, "%.6f\t%.6f\t%d", r->change, r->noise, r->decided);
		else
			text__adds(&out, "\t\t");
		text__addf(&out, "\t%s\t%s\t%s\t%s\t%s\n", r->name, r->version.commit.first, r->version.commit.last,
			   r->version.deployment.first, r->version.deployment.last);
	}
	return text__write(&out, to);
}

/* A recording can say anything. */
static json_t *integer(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

int trend__write_json(const struct trend *t, FILE *to)
{
	struct json j = { .to = to };
	struct text method = { 0 };

	text__add_clean(&method, t->method, strlen(t->method), METHOD_MAX);
	json__open(&j, NULL, '{');
	json__add(&j, "method", json_string(text__string(&method)));
	json__add(&j, "mode", json_string(t->mode));
	json__add(&j, "metric", json_string(t->metric.name));
	json__open(&j, "recordings", '[');
	for (uint32_t i = 0; i < t->count; i++) {
		const struct trend_row *r = &t->rows[i];

		json__open(&j, NULL, '{');
		json__add(&j, "recording", json_string(r->name));
		json__add(&j, "begin_ns", integer(r->begin));
		json__add(&j, "end_ns", integer(r->end));
		json__add(&j, "all", r->without ? json_null() : integer(r->all));
		json__add(&j, "of_it", r->without ? json_null() : integer(r->part));
		json__add(&j, "share", r->all ? json_real(share_of(r)) : json_null());
		json__add(&j, "change", r->compared ? json_real(r->change) : json_null());
		json__add(&j, "noise", r->compared ? json_real(r->noise) : json_null());
		json__add(&j, "decided", r->compared ? json_boolean(r->decided) : json_null());
		json__add(&j, "version", report_version__json(&r->version));
		json__close(&j, '}');
	}
	json__close(&j, ']');
	json__close(&j, '}');
	text__free(&method);
	if (!j.err && fputc('\n', to) < 0)
		j.err = -errno;
	return j.err;
}
