/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows windows of extprof top, on a screen or as text. */
#include "cli/top_show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/recorded.h"

static void head_of(const struct top_show *t, struct top_head *h)
{
	top_windows__head(t->windows, t->state.mode, t->state.choice.all, h);
	h->message = t->message[0] ? t->message : NULL;
	h->clock = t->clock[0] ? t->clock : NULL;
	h->span = t->span[0] ? t->span : NULL;
}

int top_show__choose(struct top_show *t, const struct top_row ***rows, uint32_t *count)
{
	t->state.choice.filter = t->state.filter;
	return top_model__choose(top_windows__model(t->windows, t->state.mode), &t->state.choice, rows, count);
}

/* The column where the texts of the help begin. */
#define HELP_INDENT 12

static void draw_help(struct top_show *t, unsigned int width, unsigned int height)
{
	unsigned int y = 2;
	char part[128];
	const char *line;

	top_screen__line(t->screen, 0, "extprof top - keys", TOP_BOLD);
	for (unsigned int i = 0; (line = top_view__help(i)); i++) {
		y += !*line;
		for (int indent = 0; *line && y < height; indent = HELP_INDENT) {
			size_t room = width - (size_t)indent, n = strlen(line);

			/* Between two words, if it has several lines. */
			if (n > room)
				for (n = room; n > 0 && line[n] != ' '; n--)
					;
			if (!n)
				n = room;
			snprintf(part, sizeof(part), "%*s%.*s", indent, "", (int)n, line);
			top_screen__line(t->screen, y++, part, TOP_PLAIN);
			line += n;
			line += strspn(line, " ");
		}
	}
}

static void draw_rows(struct top_show *t, unsigned int width, unsigned int height)
{
	uint64_t sum = top_windows__sum(t->windows, t->state.mode, t->state.choice.all);
	struct top_line head[TOP_HEAD_LINES], line = { 0 };
	const struct top_row **rows = NULL;
	struct top_more more;
	struct top_head h;
	uint32_t count = 0;

	head_of(t, &h);
	t->state.lives = h.lives;
	top_view__head(&t->state, &h, width, head);
	for (unsigned int i = 0; i < TOP_HEAD_LINES; i++)
		top_screen__line(t->screen, i, head[i].text, i + 1 == TOP_HEAD_LINES ? TOP_TITLE : i ? TOP_PLAIN : TOP_BOLD);
	if (top_show__choose(t, &rows, &count))
		return;
	top_state__clamp(&t->state, height - TOP_HEAD_LINES, count);
	for (unsigned int i = 0; i + TOP_HEAD_LINES < height && t->state.first + i < count; i++) {
		top_windows__more(t->windows, rows[t->state.first + i], t->state.choice.all, &more);
		top_view__row(&t->state, &h, rows[t->state.first + i], &more, sum, width, &line);
		top_screen__line(t->screen, TOP_HEAD_LINES + i, line.text, TOP_PLAIN);
	}
	if (!count)
		top_screen__line(t->screen, TOP_HEAD_LINES + 1, !h.window ? "  measuring" : *t->state.filter ?
				 "  nothing has the text of the filter (Esc: all)" : "  nothing in this interval", TOP_DIM);
	free(rows);
}

void top_show__draw(struct top_show *t)
{
	unsigned int width = top_screen__width(t->screen), height = top_screen__height(t->screen);
	char text[64];

	top_screen__begin(t->screen);
	if (width < TOP_WIDTH_MIN || height < TOP_HEIGHT_MIN) {
		snprintf(text, sizeof(text), "at least %ux%u, q: quit", TOP_WIDTH_MIN, TOP_HEIGHT_MIN);
		top_screen__line(t->screen, 0, text, TOP_PLAIN);
	} else if (t->state.help) {
		draw_help(t, width, height);
	} else {
		draw_rows(t, width, height);
	}
	top_screen__show(t->screen);
}

int top_show__flush(struct extprof_error *e)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return message__set(e, EXTPROF_OUTPUT, errno, "cannot write to standard output: %s", strerror(errno));
}

int top_show__print(struct top_show *t, struct extprof_error *e)
{
	uint64_t sum;
	struct top_line head[TOP_HEAD_LINES], line = { 0 };
	unsigned int width = recorded__width(), top = t->rows;
	const struct top_row **rows;
	struct top_more more;
	struct top_head h;
	uint32_t count;

	for (uint32_t mode = 0; mode < top_windows__count(t->windows); mode++) {
		t->state.mode = mode;
		sum = top_windows__sum(t->windows, mode, t->state.choice.all);
		head_of(t, &h);
		top_view__head(&t->state, &h, width, head);
		for (unsigned int i = 0; i < TOP_HEAD_LINES; i++)
			puts(head[i].text);
		if (top_show__choose(t, &rows, &count))
			return message__set(e, EXTPROF_INTERNAL, ENOMEM, "out of memory");
		for (uint32_t i = 0; i < count && i < top; i++) {
			top_windows__more(t->windows, rows[i], t->state.choice.all, &more);
			top_view__row(&t->state, &h, rows[i], &more, sum, width, &line);
			puts(line.text);
		}
		free(rows);
		puts("");
	}
	return top_show__flush(e);
}
