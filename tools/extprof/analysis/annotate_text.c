/* SPDX-License-Identifier: BSD-2-Clause */
/* Annotated source for a terminal, and as a page. */
#include <inttypes.h>
#include <string.h>

#include "analysis/annotate.h"
#include "base/columns.h"
#include "base/share.h"
#include "base/text.h"
#include "profile/unit.h"

/* Lines that are shown around one that took something. */
#define AROUND 4u
#define TAB 8u
#define LINE_MAX_BYTES 4096u

static double percent(const struct annotation *a, uint64_t amount)
{
	return share__percent(amount, a->r->samples);
}

/* The text of a line, clean, with blanks for tabs. */
static void add_source(const struct annotated_line *l, struct text *to)
{
	uint32_t length = l->length && l->text[l->length - 1] == '\r' ? l->length - 1 : l->length, column = 0;
	struct text wide = { 0 };

	for (uint32_t i = 0; i < length && i < LINE_MAX_BYTES; i++) {
		if (l->text[i] != '\t') {
			text__add(&wide, &l->text[i], 1);
			column++;
			continue;
		}
		do
			text__adds(&wide, " ");
		while (++column % TAB);
	}
	text__add_clean(to, text__string(&wide), wide.length, LINE_MAX_BYTES * 4);
	to->failed |= wide.failed;
	text__free(&wide);
}

/* Is the line, or one near to it, of use? */
static bool is_near(const struct annotation *a, uint32_t line)
{
	uint32_t from = line > AROUND ? line - AROUND : 1, to = line + AROUND < a->count ? line + AROUND : a->count;

	if (a->first)
		return line >= a->first && line <= a->last;
	for (uint32_t i = from; i <= to; i++)
		if (a->lines[i].total)
			return true;
	return false;
}

static void add_head(const struct annotation *a, const struct annotate_options *o, struct text *out)
{
	struct text self = { 0 }, total = { 0 };

	unit__add_with_name(&a->r->metric, a->self, &self);
	unit__add_with_name(&a->r->metric, a->total, &total);
	text__addf(out, "%s: mode %s, self %s (%.1f %%), total %s (%.1f %%)\n", a->path, a->r->meta.mode->name, text__string(&self),
		   percent(a, a->self), text__string(&total), percent(a, a->total));
	if (a->r->left_out)
		text__addf(out, "left out by --focus: %.1f %% of all; shares are of the rest\n", share__percent(a->r->left_out,
			   a->r->left_out + a->r->samples));
	text__addf(out, "source: %s%s%s\n", o->source, o->changed ? "\nCHANGED: " : "", o->changed ? o->changed : "");
	text__free(&self);
	text__free(&total);
}

static void add_amount(const struct annotation *a, uint64_t amount, bool shown, struct text *out)
{
	struct text t = { 0 };

	if (shown)
		unit__add_amount(a->r->metric.unit, amount, &t);
	if (shown)
		text__addf(out, "%10s %5.1f %%  ", text__string(&t), percent(a, amount));
	else
		text__addf(out, "%20s", "");
	out->failed |= t.failed;
	text__free(&t);
}

static void add_text_line(const struct annotation *a, const struct annotate_options *o, uint32_t line, struct text *out)
{
	const struct annotated_line *l = &a->lines[line];
	struct text source = { 0 };
	bool hot = percent(a, l->self) >= 5;

	text__adds(out, o->color && hot ? "\033[1;31m" : o->color && !l->total ? "\033[2m" : "");
	add_amount(a, l->self, l->self, out);
	add_amount(a, l->total, l->total, out);
	text__addf(out, "%s%5" PRIu32 " | ", l->approximate ? "~" : " ", line);
	if (l->text)
		add_source(l, &source);
	if (o->width > 60)
		columns__add_start(out, text__string(&source), o->width - 50);
	else
		text__adds(out, text__string(&source));
	text__addf(out, "%s\n", o->color ? "\033[0m" : "");
	out->failed |= source.failed;
	text__free(&source);
}

int annotation__write_text(const struct annotation *a, const struct annotate_options *o, FILE *to)
{
	struct text out = { 0 };
	bool gap = false;

	add_head(a, o, &out);
	text__addf(&out, "\n%18s  %18s   line\n", "self", "total");
	for (uint32_t i = 1; i <= a->count; i++) {
		if (!is_near(a, i)) {
			gap = true;
			continue;
		}
		if (gap)
			text__addf(&out, "%46s |\n", "...");
		gap = false;
		add_text_line(a, o, i, &out);
	}
	return text__write(&out, to);
}

static const char style[] =
	":root { color-scheme: light dark; }\n"
	"body { font: 13px ui-monospace, \"DejaVu Sans Mono\", Menlo, Consolas, monospace; margin: 1em; "
	"background: Canvas; color: CanvasText; }\n"
	"pre { white-space: pre-wrap; overflow-wrap: anywhere; }\n"
	"table { border-collapse: collapse; }\n"
	"td, th { padding: 0 0.8em; text-align: right; white-space: pre; }\n"
	"td:last-child, th:last-child { text-align: left; width: 100%; }\n"
	"tr:target { outline: 2px solid #0b57d0; }\n"
	".n a { color: inherit; opacity: 0.7; text-decoration: none; }\n"
	".changed { font-weight: bold; }\n"
	/* Shares are enough where there is little room. */
	"@media (max-width: 640px) { .a { display: none; } td, th { padding: 0 0.4em; } }\n";

/* An amount and its share; of nothing two empty cells. */
static void add_amount_cells(const struct annotation *a, uint64_t amount, struct text *out)
{
	text__adds(out, "<td class=\"a\">");
	if (amount)
		unit__add_amount(a->r->metric.unit, amount, out);
	text__adds(out, "</td><td>");
	if (amount)
		text__addf(out, "%.1f %%", percent(a, amount));
	text__adds(out, "</td>");
}

static void add_html_line(const struct annotation *a, uint32_t line, struct text *out)
{
	const struct annotated_line *l = &a->lines[line];
	struct text source = { 0 };
	double self = percent(a, l->self);

	text__addf(out, "<tr id=\"L%" PRIu32 "\"", line);
	/* Over white and black: both stay readable. */
	if (self > 0)
		text__addf(out, " style=\"background:rgba(224,64,32,%.2f)\"", 0.08 + 0.4 * (self > 50 ? 1 : self / 50));
	text__adds(out, ">");
	add_amount_cells(a, l->self, out);
	add_amount_cells(a, l->total, out);
	text__addf(out, "<td class=\"n\"><a href=\"#L%" PRIu32 "\">%s%" PRIu32 "</a></td><td>", line, l->approximate ? "~" : "",
		   line);
	if (l->text)
		add_source(l, &source);
	text__add_xml(out, text__string(&source));
	text__adds(out, "</td></tr>\n");
	out->failed |= source.failed;
	text__free(&source);
}

int annotation__write_html(const struct annotation *a, const struct annotate_options *o, FILE *to)
{
	struct text out = { 0 }, head = { 0 };

	add_head(a, &(struct annotate_options){ .source = o->source }, &head);
	text__adds(&out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"generator\" content=\"extprof\">"
		   "<meta name=\"viewport\" content=\"width=device-width\">"
		   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"><title>");
	text__add_xml(&out, a->path);
	text__addf(&out, "</title>\n<style>%s</style></head>\n<body><pre>", style);
	text__add_xml(&out, text__string(&head));
	text__adds(&out, "</pre>\n");
	if (o->changed) {
		text__adds(&out, "<p class=\"changed\">CHANGED: ");
		text__add_xml(&out, o->changed);
		text__adds(&out, "</p>\n");
	}
	text__adds(&out, "<table><tr><th class=\"a\"></th><th>self</th><th class=\"a\"></th><th>total</th><th>line</th><th></th></tr>\n");
	for (uint32_t i = a->first ? a->first : 1; i <= a->count && (!a->last || i <= a->last); i++)
		add_html_line(a, i, &out);
	text__adds(&out, "</table></body></html>\n");
	out.failed |= head.failed;
	text__free(&head);
	return text__write(&out, to);
}
