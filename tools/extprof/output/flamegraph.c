/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A flame graph in one file: SVG, or the same SVG in an HTML page.  The frames
 * are drawn here once, for viewers without scripts; in a browser the script
 * (flamegraph.js) draws them from the data at the end, and again for every
 * zoom and search.
 *
 * Layout constants here and in the script agree.
 */
#include "output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flamegraph_css.h"
#include "flamegraph_js.h"

#define WIDTH 1200.0
#define ROW 17
#define PAD 10.0
#define TOP 92
#define FOOT 30
#define CHAR 7.25
#define MIN_WIDTH 0.25

/* Hue, range of hues, saturation and lightness at least. */
static const int colors[LABEL_KINDS][4] = {
	[LABEL_RUBY] = { 8, 28, 80, 62 },
	[LABEL_C] = { 44, 12, 80, 58 },
	[LABEL_BUILTIN] = { 24, 16, 55, 72 },
	[LABEL_GC] = { 268, 20, 45, 68 },
	[LABEL_NATIVE] = { 200, 20, 45, 68 },
	[LABEL_THREAD] = { 140, 30, 30, 72 },
	[LABEL_OTHER] = { 0, 1, 0, 74 },
	[LABEL_PROCESS] = { 100, 24, 30, 72 },
	[LABEL_CGROUP] = { 70, 16, 30, 72 },
};

struct page {
	const struct report *r;
	struct text out;
	uint32_t rows;
};

/* The script computes the same from the UTF-16 units; for other than ASCII
 * the shades differ, the kind never does. */
static void add_color(struct text *out, const struct report_label *l)
{
	const int *base = colors[l->kind];
	uint32_t hash = 0;

	for (const char *s = l->name; *s; s++)
		hash = hash * 31 + (unsigned char)*s;
	text__addf(out, "hsl(%u,%u%%,%u%%)", base[0] + hash % (unsigned int)base[1],
		   base[2] + (hash >> 5) % 10, base[3] + (hash >> 9) % 12);
}

static void add_title(struct page *p, const struct report_node *n, const struct report_label *l)
{
	struct text place = { 0 };

	text__adds(&p->out, "<title>");
	text__add_xml(&p->out, l->name);
	report__add_place(l->path, p->r->detail == REPORT_BY_LINE ? l->line : l->first_line, l->approximate, &place);
	if (place.length) {
		text__adds(&p->out, " (");
		text__add_xml(&p->out, place.data);
		text__adds(&p->out, ")");
	}
	text__addf(&p->out, " \xe2\x80\x94 %" PRIu64 " samples, %.2f %%</title>", n->total,
		   100.0 * (double)n->total / (double)p->r->samples);
	text__free(&place);
}

/* As many characters of the name as fit. */
static void add_label(struct page *p, const char *name, double width)
{
	long fit = (long)((width - 6) / CHAR), seen = 0;
	struct text cut = { 0 };
	const char *s = name;

	while (*s) {
		seen += (*s & 0xc0) != 0x80;
		s++;
	}
	if (seen <= fit) {
		text__adds(&cut, name);
	} else if (fit > 2) {
		for (s = name, seen = 0; *s && (seen < fit - 1 || (*s & 0xc0) == 0x80); s++)
			seen += (*s & 0xc0) != 0x80;
		text__add(&cut, name, (size_t)(s - name));
		text__adds(&cut, "\xe2\x80\xa6");
	}
	text__add_xml(&p->out, text__string(&cut));
	text__free(&cut);
}

static void add_frames(struct page *p)
{
	const struct report *r = p->r;
	double scale = r->samples ? (WIDTH - 2 * PAD) / (double)r->samples : 0;
	/* Where the next child of the node at each depth begins. */
	double *next = calloc(r->node_count + 1u, sizeof(*next));

	if (!next) {
		p->out.failed = true;
		return;
	}
	for (uint32_t i = 0; i < r->node_count; i++) {
		const struct report_node *n = &r->nodes[i];
		double x = next[n->depth], width = (double)n->total * scale;
		unsigned int y = TOP + (p->rows - 1 - n->depth) * ROW;

		next[n->depth] += (double)n->total;
		next[n->depth + 1] = x;
		if (width < MIN_WIDTH)
			continue;
		text__addf(&p->out, "<g class=\"f\" data-n=\"%u\">", i);
		if (i)
			add_title(p, n, &r->labels[n->label]);
		text__addf(&p->out, "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" fill=\"",
			   PAD + x * scale, y, width > 0.65 ? width - 0.4 : MIN_WIDTH, ROW - 1);
		if (i)
			add_color(&p->out, &r->labels[n->label]);
		else
			text__adds(&p->out, "#d8d8d8");
		text__adds(&p->out, "\"/>");
		if (width > 3 * CHAR) {
			text__addf(&p->out, "<text x=\"%.2f\" y=\"%u\">", PAD + x * scale + 3,
				   y + ROW - 5);
			add_label(p, i ? r->labels[n->label].name : "all", width);
			text__adds(&p->out, "</text>");
		}
		text__adds(&p->out, "</g>\n");
	}
	free(next);
}

static void add_head(struct page *p)
{
	const struct report_meta *m = &p->r->meta;
	struct text line = { 0 };
	double x = PAD;

	text__addf(&p->out, "<text class=\"title\" x=\"%g\" y=\"24\">", PAD);
	text__add_xml(&p->out, m->command);
	text__addf(&p->out, "</text>\n<text class=\"meta\" x=\"%g\" y=\"42\">pid %d, ruby ", PAD,
		   m->pid);
	text__add_xml(&p->out, m->ruby_version);
	text__adds(&p->out, ", ");
	text__add_xml(&p->out, m->source);
	text__addf(&p->out, " for %.1f s</text>\n", m->duration);
	accounting__add_line(&m->accounting, &line);
	text__addf(&p->out, "<text class=\"meta\" x=\"%g\" y=\"58\">", PAD);
	text__add_xml(&p->out, text__string(&line));
	text__adds(&p->out, "</text>\n<g class=\"legend\">");
	text__free(&line);
	for (int i = 0; i < LABEL_KINDS; i++) {
		text__addf(&p->out, "<rect x=\"%g\" y=\"68\" width=\"12\" height=\"12\" rx=\"2\" "
			   "fill=\"hsl(%d,%d%%,%d%%)\"/><text x=\"%g\" y=\"78\">", x,
			   colors[i][0] + colors[i][1] / 2, colors[i][2], colors[i][3] + 6, x + 16);
		text__add_xml(&p->out, label_kind_names[i]);
		text__adds(&p->out, "</text>");
		x += 30 + 7.2 * (double)strlen(label_kind_names[i]);
	}
	text__adds(&p->out, "</g>\n");
	x += 16;
	text__addf(&p->out, "<foreignObject x=\"%g\" y=\"62\" width=\"204\" height=\"26\">"
		   "<input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"search\" type=\"search\" "
		   "placeholder=\"search: regular expression\" title=\"key: /  file:NAME searches for files\"/></foreignObject>\n",
		   x);
	text__addf(&p->out, "<text id=\"flip\" class=\"button\" x=\"%g\" y=\"78\">flip</text>\n"
		   "<text id=\"reset\" class=\"button\" x=\"%g\" y=\"78\" style=\"display:none\">"
		   "reset</text>\n<text id=\"matched\" x=\"%g\" y=\"78\"></text>\n",
		   x + 214, x + 248, x + 292);
}

static void add_data(struct page *p)
{
	const struct report *r = p->r;
	struct text place = { 0 };
	struct text *out = &p->out;

	text__adds(out, "var D={\"kinds\":[");
	for (int i = 0; i < LABEL_KINDS; i++)
		text__addf(out, "%s\"%s\"", i ? "," : "", label_kind_names[i]);
	text__adds(out, "],\"colors\":[");
	for (int i = 0; i < LABEL_KINDS; i++)
		text__addf(out, "%s[%d,%d,%d,%d]", i ? "," : "", colors[i][0], colors[i][1],
			   colors[i][2], colors[i][3]);
	text__adds(out, "],\n\"labels\":[");
	for (uint32_t i = 0; i < r->label_count; i++) {
		const struct report_label *l = &r->labels[i];

		text__adds(out, i ? ",\n[\"" : "\n[\"");
		text__add_json(out, l->name);
		text__adds(out, "\",\"");
		text__clear(&place);
		report__add_place(l->path, r->detail == REPORT_BY_LINE ? l->line : l->first_line, l->approximate,
				  &place);
		text__add_json(out, text__string(&place));
		text__addf(out, "\",%d]", l->kind);
	}
	text__adds(out, "],\n\"parent\":[");
	for (uint32_t i = 0; i < r->node_count; i++)
		text__addf(out, "%s%u", i ? "," : "", r->nodes[i].parent);
	text__adds(out, "],\n\"label\":[");
	for (uint32_t i = 0; i < r->node_count; i++)
		text__addf(out, "%s%u", i ? "," : "", i ? r->nodes[i].label : 0);
	text__adds(out, "],\n\"self\":[");
	for (uint32_t i = 0; i < r->node_count; i++)
		text__addf(out, "%s%" PRIu64, i ? "," : "", r->nodes[i].self);
	text__adds(out, "]};\n");
	text__free(&place);
}

static int write_flamegraph(const struct report *r, const struct output_options *o, FILE *to)
{
	struct page p = { .r = r };
	struct text *out = &p.out;
	unsigned int height;
	int err = 0;

	p.rows = 1;
	for (uint32_t i = 0; i < r->node_count; i++)
		if (r->nodes[i].depth + 1 > p.rows)
			p.rows = r->nodes[i].depth + 1;
	height = TOP + p.rows * ROW + FOOT;
	if (o->html) {
		text__adds(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
			   "<meta name=\"generator\" content=\"extprof\"><title>");
		text__add_xml(out, r->meta.command);
		text__adds(out, "</title>\n<style>body { margin: 0; }\n");
		text__adds(out, flamegraph_css);
		text__adds(out, "</style></head>\n<body>");
	} else {
		text__adds(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	}
	text__addf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"graph\" width=\"%g\" "
		   "height=\"%u\" viewBox=\"0 0 %g %u\">\n", WIDTH, height, WIDTH, height);
	if (!o->html) {
		text__adds(out, "<style><![CDATA[\n");
		text__adds(out, flamegraph_css);
		text__adds(out, "]]></style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	}
	add_head(&p);
	text__adds(out, "<g id=\"frames\">\n");
	add_frames(&p);
	text__addf(out, "</g>\n<text id=\"details\" x=\"%g\" y=\"%u\"></text>\n", PAD, height - 12);
	if (o->html)
		text__adds(out, "</svg>\n<script>\n");
	else
		text__adds(out, "<script><![CDATA[\n");
	add_data(&p);
	text__adds(out, flamegraph_js);
	text__adds(out, o->html ? "</script></body></html>\n" : "]]></script>\n</svg>\n");
	if (out->failed)
		err = -ENOMEM;
	else if (fwrite(out->data, 1, out->length, to) != out->length)
		err = -errno;
	text__free(out);
	return err;
}

const struct output_format output_flamegraph = {
	.name = "flamegraph",
	.suffixes = { ".svg", ".html", ".htm" },
	.help = "a picture to search and zoom, SVG or (by suffix) HTML",
	.detail = REPORT_BY_CODE,
	.write = write_flamegraph,
};
