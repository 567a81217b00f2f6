/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A flame graph in one file: SVG, or the same SVG in an HTML page.  The frames
 * are drawn here once, for viewers without scripts; in a browser the script
 * (flamegraph.js) draws them from the data at the end, and again for every
 * zoom and search.  flame_choice.h tells which frames are in the file.
 *
 * Layout constants here and in the script agree.
 *
 * The data, `D`, is the tree in preorder, as runs.  A run starts `up` frames above the end
 * of the run before, and goes from child to child: [up,self,hidden,label,label,...].
 * Only the last frame of a run has samples of its own (`self`) or samples of children that
 * are left out (`hidden`).  `root` has both numbers for the root.  -N instead of a label
 * repeats the last label N times.  So a frame takes as many bytes as the number of its label.
 *
 * A graph that compares has `diff`: `own`, of each node its amounts before and after, and the sums of the squares of both;
 * `hidden`, the same of children that are left out, each after the number of its node; and these of the whole.  `groups`:
 * so many levels are threads and other groups.
 *
 * An HTML page runs no script but those that have the number of this file, and loads nothing.
 */
#include "output/flamegraph.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/columns.h"
#include "base/share.h"
#include "output/flame_choice.h"
#include "profile/unit.h"

#include "flame_head_js.h"
#include "flame_tree_js.h"
#include "flamegraph_css.h"
#include "flamegraph_js.h"

#define WIDTH 1200.0
#define ROW 17
#define PAD 10.0
#define TOP 92
#define NOTE 16
#define FOOT 30
#define META_COLUMNS 178	/* of the letters of these lines, in the width of the graph */
#define CHAR 7.25
#define MIN_WIDTH 0.25
#define INNER (WIDTH - 2 * PAD)

/* Hue, range of hues, saturation and lightness at least. */
static const int colors[FLAME_KINDS][4] = {
	[FLAME_APPLICATION] = { 76, 20, 62, 58 },
	[FRAME_RUBY] = { 8, 28, 80, 62 },
	[FRAME_C] = { 44, 12, 80, 58 },
	[FRAME_BUILTIN] = { 24, 16, 55, 72 },
	[FRAME_NATIVE] = { 216, 20, 55, 70 },
	[FRAME_KERNEL] = { 352, 12, 45, 70 },
	[FRAME_GC] = { 268, 20, 45, 68 },
	[FRAME_NO_RUBY] = { 200, 20, 45, 68 },
	[FRAME_THREAD] = { 140, 30, 30, 72 },
	[FRAME_MARK] = { 0, 1, 0, 74 },
	[FRAME_PROCESS] = { 100, 24, 30, 72 },
	[FRAME_CGROUP] = { 70, 16, 30, 72 },
	[FRAME_STATE] = { 172, 20, 40, 70 },
	[FRAME_CLASS] = { 172, 20, 40, 70 },
	[FRAME_CALL] = { 172, 20, 40, 70 },
	[FRAME_EVENT] = { 172, 20, 40, 70 },
	[FRAME_DETAIL] = { 320, 20, 30, 76 },
	[FRAME_LABEL] = { 310, 24, 30, 74 },
};

static const char *kind_name(int kind)
{
	return kind == FLAME_APPLICATION ? "application" : frame_kind_names[kind];
}

struct page {
	const struct report *r;
	const struct flame_diff *diff;	/* NULL: the frames have the colours of their kinds */
	const struct flame_part *part;	/* NULL: there is the graph alone */
	struct flame_choice choice;
	struct text out;
	bool idle;		/* a line says what is left out */
	unsigned int top;	/* where the frames begin */
};

/* The script computes the same from UTF-16 units.  For text that is not ASCII the
 * shades differ, but the colour of a kind does not. */
static void add_color(struct page *p, const struct report_label *l)
{
	const int *base = colors[flame_choice__kind(&p->choice, p->r, l)];
	uint32_t hash = 0;

	for (const char *s = l->name; *s; s++)
		hash = hash * 31 + (unsigned char)*s;
	text__addf(&p->out, "hsl(%u,%u%%,%u%%)", base[0] + hash % (unsigned int)base[1],
		   base[2] + (hash >> 5) % 10, base[3] + (hash >> 9) % 12);
}

/* Grey where the change may be noise, else red for more and blue for less; darker for more of a change.  The script
 * computes the same. */
static void add_change_color(struct text *out, const struct flame_change *c)
{
	double most = c->before > c->after ? c->before : c->after, part = most > 0 ? (c->after - c->before) / most : 0;

	if (!c->decided)
		text__adds(out, "hsl(0,0%,86%)");
	else
		text__addf(out, "hsl(%d,85%%,%.0f%%)", part > 0 ? 8 : 214, 88 - 28 * (part > 0 ? part : -part));
}

static void add_change(struct text *out, const struct flame_change *c)
{
	text__addf(out, "before %.2f %%, after %.2f %% (%+.2f%s)", 100 * c->before, 100 * c->after, 100 * (c->after - c->before),
		   c->decided ? "" : ", may be noise");
}

static void add_title(struct page *p, uint32_t node, const struct report_label *l)
{
	const struct report_node *n = &p->r->nodes[node];
	struct text place = { 0 };

	text__adds(&p->out, "<title>");
	text__add_xml(&p->out, l->name);
	report__add_place(l->frame.path, report__line(p->r, l),
			  l->frame.approximate, &place);
	if (place.length) {
		text__adds(&p->out, " (");
		text__add_xml(&p->out, place.data);
		text__adds(&p->out, ")");
	}
	text__adds(&p->out, " \xe2\x80\x94 ");
	if (p->diff) {
		add_change(&p->out, &p->diff->changes[node]);
		text__adds(&p->out, "</title>");
	} else {
		unit__add_with_name(&p->r->metric, n->total, &p->out);
		text__addf(&p->out, ", %.2f %%</title>", share__percent(n->total, p->r->samples));
	}
	text__free(&place);
}

/* Draw as much of the name as fits. */
static void add_label(struct page *p, const char *name, double width)
{
	size_t fit = (size_t)((width - 6) / CHAR);
	struct text cut = { 0 };

	if (fit > 2 || columns__of(name) <= fit)
		columns__add_start(&cut, name, fit);
	text__add_xml(&p->out, text__string(&cut));
	text__free(&cut);
}

static void add_frames(struct page *p)
{
	const struct report *r = p->r;
	double scale = r->samples ? INNER / (double)r->samples : 0;
	/* Where the next child of the node at each depth begins. */
	double *next = calloc(r->node_count + 1u, sizeof(*next));

	if (!next) {
		p->out.failed = true;
		return;
	}
	for (uint32_t i = 0; i < r->node_count; i++) {
		const struct report_node *n = &r->nodes[i];
		double x = next[n->depth], width = (double)n->total * scale;
		unsigned int y = p->top + (p->choice.rows - 1 - n->depth) * ROW;

		next[n->depth] += (double)n->total;
		next[n->depth + 1] = x;
		if (!p->choice.drawn[i])
			continue;
		text__addf(&p->out, "<g class=\"f\" data-n=\"%u\">", p->choice.number[i]);
		if (i)
			add_title(p, i, &r->labels[n->label]);
		text__addf(&p->out, "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" fill=\"",
			   PAD + x * scale, y, width > 0.65 ? width - 0.4 : MIN_WIDTH, ROW - 1);
		if (i && p->diff)
			add_change_color(&p->out, &p->diff->changes[i]);
		else if (i)
			add_color(p, &r->labels[n->label]);
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

static bool has_kind(const struct page *p, int kind)
{
	for (uint32_t i = 0; i < p->r->label_count; i++)
		if (flame_choice__kind(&p->choice, p->r, &p->r->labels[i]) == kind)
			return true;
	return false;
}

/* A line that is too long is cut.  All of it is shown when the mouse is on it. */
static void add_meta_line(struct page *p, unsigned int y, const char *line)
{
	struct text shown = { 0 };

	columns__add_ends(&shown, line, META_COLUMNS, false);
	text__addf(&p->out, "<text class=\"meta\" x=\"%g\" y=\"%u\">", PAD, y);
	text__add_xml(&p->out, text__string(&shown));
	if (strcmp(text__string(&shown), line)) {
		text__adds(&p->out, "<title>");
		text__add_xml(&p->out, line);
		text__adds(&p->out, "</title>");
	}
	text__adds(&p->out, "</text>\n");
	p->out.failed |= shown.failed;
	text__free(&shown);
}

/* Add the lines that say what was recorded. */
static void add_about(struct page *p)
{
	const struct report_meta *m = &p->r->meta;
	struct text line = { 0 };

	/* Above the frames, also when these are scrolled. */
	text__addf(&p->out, "<g id=\"head\"><rect class=\"page\" width=\"100%%\" height=\"%u\"/>\n", p->top - 2);
	text__addf(&p->out, "<text class=\"title\" id=\"title\" x=\"%g\" y=\"24\">", PAD);
	text__add_xml(&p->out, report__program(p->r));
	text__adds(&p->out, p->diff ? ": before and after</text>\n" : "</text>\n");
	if (p->diff) {
		add_meta_line(p, 42, p->diff->lines[0]);
		add_meta_line(p, 58, p->diff->lines[1]);
		return;
	}
	report__add_whose(p->r, "pid", &line);
	text__addf(&line, ", %s%s, %s for %.1f s", *m->ruby_version ? "ruby " : "no ruby", m->ruby_version, m->source, m->duration);
	add_meta_line(p, 42, text__string(&line));
	text__clear(&line);
	accounting__add_line(&m->accounting, &line);
	add_meta_line(p, 58, text__string(&line));
	if (p->idle) {
		text__clear(&line);
		report__add_idle(p->r, &line);
		add_meta_line(p, 58 + NOTE, text__string(&line));
	}
	p->out.failed |= line.failed;
	text__free(&line);
}

static double add_legend_entry(struct page *p, double x, const char *color, const char *name)
{
	text__addf(&p->out, "<g class=\"entry\" transform=\"translate(%g,%u)\"><rect y=\"-10\" width=\"12\" height=\"12\" rx=\"2\" "
		   "fill=\"%s\"/><text x=\"16\">", x, p->top - 14, color);
	text__add_xml(&p->out, name);
	text__adds(&p->out, "</text></g>");
	return x + 30 + 7.2 * (double)strlen(name);
}

/* Where it ends. */
static double add_legend(struct page *p)
{
	double x = PAD;

	text__adds(&p->out, "<g class=\"legend\">");
	if (p->diff) {
		x = add_legend_entry(p, x, "hsl(8,85%,70%)", "more than before");
		x = add_legend_entry(p, x, "hsl(214,85%,70%)", "less");
		x = add_legend_entry(p, x, "hsl(0,0%,86%)", "no change beyond noise");
	}
	/* The application comes first. */
	for (int n = 0; n < FLAME_KINDS && !p->diff; n++) {
		int i = n ? n - 1 : FLAME_APPLICATION;
		char color[32];

		if (!has_kind(p, i))
			continue;
		snprintf(color, sizeof(color), "hsl(%d,%d%%,%d%%)", colors[i][0] + colors[i][1] / 2, colors[i][2],
			 colors[i][3] + 6);
		x = add_legend_entry(p, x, color, kind_name(i));
	}
	text__adds(&p->out, "</g>\n");
	return x;
}

/* Where the next one can begin.  stays: it is on or off. */
static double add_button(struct page *p, double x, const char *name, const char *stays, const char *help)
{
	text__addf(&p->out, "<g class=\"control%s\" transform=\"translate(%g,%u)\" id=\"%s\" role=\"button\" tabindex=\"0\"%s>"
		   "<title>%s: %s</title><text class=\"button\">%s</text></g>\n", strcmp(name, "reset") ? "" : " gone", x,
		   p->top - 14, name, *stays == 't' ? " aria-pressed=\"false\"" : "", name, help, name);
	return x + 12 + 7.2 * (double)strlen(name);
}

static void add_head(struct page *p)
{
	double x;

	add_about(p);
	if (p->choice.hidden_nodes) {
		text__addf(&p->out, "<text class=\"meta\" id=\"hidden\" x=\"%g\" y=\"%u\">not in this file: %"
			   PRIu32 " frames of %" PRIu32 ", with the ends of ", PAD, p->top - TOP + 58,
			   p->choice.hidden_nodes, p->r->node_count - 1);
		if (!p->diff)
			unit__add_with_name(&p->r->metric, p->choice.hidden_samples, &p->out);
		text__addf(&p->out, p->diff ? "%.2f %%; the frames below them are as wide as with them</text>\n" :
			   " (%.2f %%); the frames below them are as wide as with them</text>\n",
			   share__percent(p->choice.hidden_samples, p->r->samples));
	}
	x = add_legend(p) + 16;
	text__addf(&p->out, "<g class=\"control\" transform=\"translate(%g,%u)\"><foreignObject y=\"-15\" width=\"204\" height=\"26\">"
		   "<input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"search\" type=\"search\" aria-label=\"search\" "
		   "placeholder=\"search: regular expression\" title=\"key: /  file:NAME searches for files\"/></foreignObject></g>\n",
		   x, p->top - 14);
	text__addf(&p->out, "<g class=\"control gone\" id=\"parts\" aria-hidden=\"true\"><foreignObject y=\"-15\" width=\"160\" height=\"26\">"
		   "<select xmlns=\"http://www.w3.org/1999/xhtml\" id=\"part\" aria-label=\"threads and other groups\"></select>"
		   "</foreignObject></g>\n");
	x = add_button(p, x + 214, "flip", "false", "top and bottom change places; key: f");
	x = add_button(p, x, "invert", "true", "the innermost frame first, then what calls it; key: i");
	x = add_button(p, x, "sandwich", "true", "all callers and callees of the frame that is zoomed to; key: s; or shift and a click "
		       "on a frame");
	add_button(p, x, "reset", "false", "no zoom, no search");
	text__addf(&p->out, "<text id=\"matched\" text-anchor=\"end\" x=\"%g\" y=\"24\" role=\"status\"></text>\n</g>\n", WIDTH - PAD);
}

/* A run that is being collected: see the top of the file. */
struct run {
	struct text labels;
	uint32_t up, last, again;	/* the last label, how often it has come again */
	uint32_t node;			/* of the report: its last one */
	bool first;			/* no run has been written yet */
};

static void add_again(struct run *run)
{
	if (run->again)
		text__addf(&run->labels, ",-%" PRIu32, run->again);
	run->again = 0;
}

static void end_run(struct page *p, struct run *run)
{
	if (!run->labels.length)
		return;
	add_again(run);
	text__addf(&p->out, "%s[%" PRIu32 ",%" PRIu64 ",%" PRIu64 "%s]", run->first ? "" : ",\n", run->up,
		   p->r->nodes[run->node].self, p->choice.hidden[run->node], text__string(&run->labels));
	run->first = false;
	p->out.failed |= run->labels.failed;
	text__clear(&run->labels);
}

static void add_runs(struct page *p)
{
	const struct report *r = p->r;
	struct run run = { .first = true };

	for (uint32_t i = 1; i < r->node_count; i++) {
		const struct report_node *n = &r->nodes[i], *last = &r->nodes[run.node];
		uint32_t label = p->choice.label[n->label];

		if (p->choice.number[i] == FLAME_NONE)
			continue;
		if (n->parent != run.node || last->self || p->choice.hidden[run.node] || !run.labels.length) {
			end_run(p, &run);
			run.up = last->depth - r->nodes[n->parent].depth;
			run.last = FLAME_NONE;
		}
		if (label == run.last) {
			run.again++;
		} else {
			add_again(&run);
			text__addf(&run.labels, ",%" PRIu32, label);
			run.last = label;
		}
		run.node = i;
	}
	end_run(p, &run);
	text__free(&run.labels);
}

static void add_change_numbers(struct text *out, const uint64_t own[2], const double squares[2])
{
	text__addf(out, "%" PRIu64 ",%" PRIu64 ",%.9g,%.9g", own[0], own[1], squares[0], squares[1]);
}

/* In the order of the nodes in the file.  0 or -ENOMEM. */
static int add_changes(struct page *p)
{
	struct hidden_change { uint64_t own[2]; double squares[2]; bool some; } *hidden;
	const struct report *r = p->r;
	const struct flame_diff *d = p->diff;
	uint32_t *nearest;	/* the node of the report that the file has of each */
	bool first = true;

	hidden = calloc(r->node_count + 1u, sizeof(*hidden));
	nearest = calloc(r->node_count + 1u, sizeof(*nearest));
	if (!hidden || !nearest) {
		free(hidden);
		free(nearest);
		return -ENOMEM;
	}
	text__addf(&p->out, ",\n\"diff\":{\"all\":[%" PRIu64 ",%" PRIu64 "],\"squares\":[%.9g,%.9g],\"errors\":%g,\n\"own\":[", d->all[0],
		   d->all[1], d->squares[0], d->squares[1], d->errors);
	/* Parents come before children. */
	for (uint32_t i = 0; i < r->node_count; i++) {
		const struct flame_change *c = &d->changes[i];
		struct hidden_change *h;

		nearest[i] = p->choice.number[i] != FLAME_NONE ? i : nearest[r->nodes[i].parent];
		if (nearest[i] == i) {
			text__adds(&p->out, i ? "," : "");
			add_change_numbers(&p->out, c->own, c->squares);
			continue;
		}
		h = &hidden[nearest[i]];
		h->some = true;
		for (int j = 0; j < 2; j++) {
			h->own[j] += c->own[j];
			h->squares[j] += c->squares[j];
		}
	}
	text__adds(&p->out, "],\n\"hidden\":[");
	for (uint32_t i = 0; i < r->node_count; i++) {
		if (!hidden[i].some)
			continue;
		text__addf(&p->out, "%s[%" PRIu32 ",", first ? "" : ",", p->choice.number[i]);
		add_change_numbers(&p->out, hidden[i].own, hidden[i].squares);
		text__adds(&p->out, "]");
		first = false;
	}
	text__adds(&p->out, "]}");
	free(hidden);
	free(nearest);
	return 0;
}

static int add_data(struct page *p)
{
	struct text *out = &p->out;
	int err = 0;

	text__adds(out, "var D={\"kinds\":[");
	for (int i = 0; i < FLAME_KINDS; i++)
		text__addf(out, "%s\"%s\"", i ? "," : "", kind_name(i));
	text__adds(out, "],\"colors\":[");
	for (int i = 0; i < FLAME_KINDS; i++)
		text__addf(out, "%s[%d,%d,%d,%d]", i ? "," : "", colors[i][0], colors[i][1],
			   colors[i][2], colors[i][3]);
	text__addf(out, "],\"top\":%u,\"groups\":%" PRIu32 ",\n\"metric\":[\"%s\",%d],\n\"labels\":[", p->top,
		   p->r->group_count, p->r->metric.name, p->r->metric.unit);
	text__adds(out, text__string(&p->choice.labels));
	text__addf(out, "],\n\"root\":[%" PRIu64 ",%" PRIu64 "],\n\"runs\":[\n", p->r->nodes[0].self,
		   p->choice.hidden[0]);
	add_runs(p);
	text__adds(out, "]");
	if (p->diff)
		err = add_changes(p);
	if (!err && p->part)
		err = p->part->add_data(p->r, &p->choice, out);
	text__adds(out, "};\n");
	return err;
}

/* Nobody who has made a name in the file could know it.  0 or -errno. */
static int make_nonce(char nonce[33])
{
	uint8_t bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(nonce + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int write_page(const struct report *r, const struct flame_diff *diff, const struct flame_part *part, bool html, FILE *to)
{
	struct page p = { .r = r, .diff = diff, .part = part };
	struct text *out = &p.out;
	unsigned int height;
	char nonce[33];
	int err;

	err = make_nonce(nonce);
	if (err)
		return err;
	err = flame_choice__make(&p.choice, r, MIN_WIDTH / INNER * (double)r->samples);
	if (err)
		return err;
	p.idle = !p.diff && p.r->idle.row_count;
	p.top = TOP + (p.choice.hidden_nodes ? NOTE : 0) + (p.idle ? NOTE : 0);
	height = p.top + p.choice.rows * ROW + FOOT;
	if (html) {
		text__adds(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
			   "<meta name=\"generator\" content=\"extprof\">"
			   "<meta name=\"viewport\" content=\"width=device-width\">\n");
		text__addf(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-%s'; "
			   "style-src 'nonce-%s'; base-uri 'none'; form-action 'none'\">\n<title>", nonce, nonce);
		text__add_xml(out, report__program(r));
		text__addf(out, "</title>\n<style nonce=\"%s\">body { margin: 0; }\n", nonce);
		text__adds(out, flamegraph_css);
		text__adds(out, part ? part->css : "");
		text__adds(out, "</style></head>\n<body>");
		text__adds(out, part ? part->body : "");
	} else {
		text__adds(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	}
	text__addf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"graph\" width=\"%g\" "
		   "height=\"%u\" viewBox=\"0 0 %g %u\" role=\"group\" aria-label=\"flame graph\">\n", WIDTH, height, WIDTH, height);
	if (!html) {
		text__adds(out, "<style><![CDATA[\n");
		text__adds(out, flamegraph_css);
		text__adds(out, "]]></style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
	}
	text__adds(out, "<g id=\"frames\" role=\"tree\" aria-label=\"stacks: arrows move, Enter zooms, s shows callers and callees\">\n");
	add_frames(&p);
	text__adds(out, "</g>\n");
	add_head(&p);
	text__addf(out, "<g id=\"foot\" transform=\"translate(0,%u)\"><rect class=\"page\" width=\"100%%\" height=\"%d\"/>"
		   "<text id=\"details\" x=\"%g\" y=\"%d\"></text></g>\n", height - FOOT, FOOT, PAD, FOOT - 12);
	if (html)
		text__addf(out, "</svg>\n<script nonce=\"%s\">\n", nonce);
	else
		text__adds(out, "<script><![CDATA[\n");
	err = add_data(&p);
	text__adds(out, flame_tree_js);
	text__adds(out, flame_head_js);
	text__adds(out, flamegraph_js);
	text__adds(out, part ? part->script : "");
	text__adds(out, html ? "</script></body></html>\n" : "]]></script>\n</svg>\n");
	if (err)
		text__free(out);
	else
		err = text__write(out, to);
	flame_choice__free(&p.choice);
	return err;
}

int flamegraph__write_diff(const struct report *r, const struct flame_diff *d, const struct output_options *o, FILE *to)
{
	return write_page(r, d, NULL, o->html, to);
}

int flamegraph__write_part(const struct report *r, const struct flame_part *part, FILE *to)
{
	return write_page(r, NULL, part, true, to);
}

static int write_flamegraph(const struct report *r, uint32_t count, const struct output_options *o, FILE *to)
{
	return count == 1 ? write_page(r, NULL, NULL, o->html, to) : -EINVAL;
}

const struct output_format output_flamegraph = {
	.name = "flamegraph",
	.suffixes = { ".svg", ".html", ".htm" },
	.help = "a picture to search and zoom, SVG or (by suffix) HTML",
	.detail = REPORT_BY_CODE,
	.by_command = true,
	.write = write_flamegraph,
	.one_mode = true,
};
