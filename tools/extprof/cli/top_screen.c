/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/top_screen.h"

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "cli/messages.h"
#include "cli/top_view.h"

struct top_screen {
	SCREEN *screen;
	FILE *input;		/* NULL: standard input */
	int fd;			/* of the keys */
	int width, height;	/* when last asked */
};

/* How long a key may be that begins with Esc, ms. */
#define ESCAPE_DELAY 25

static bool has_capability(const char *name)
{
	const char *value = tigetstr(name);

	return value && value != (const char *)-1;
}

int top_screen__open(struct top_screen **screen, struct extprof_error *e)
{
	const char *term = getenv("TERM");
	struct top_screen *s = calloc(1, sizeof(*s));
	int err = 0;

	*screen = NULL;
	if (!s)
		return message__set(e, EXTPROF_INTERNAL, ENOMEM, "out of memory");
	s->fd = STDIN_FILENO;
	if (!isatty(STDIN_FILENO)) {
		s->input = fopen("/dev/tty", "re");
		if (!s->input) {
			err = message__set(e, EXTPROF_OUTPUT, errno, "there is no terminal to read keys from: %s",
					strerror(errno));
			snprintf(e->hint, sizeof(e->hint), "without keys: extprof top --batch");
			goto cleanup;
		}
		s->fd = fileno(s->input);
	}
	set_escdelay(ESCAPE_DELAY);
	/* initscr() would end the program. */
	s->screen = newterm(NULL, stdout, s->input ? s->input : stdin);
	/* A terminal that cannot place its cursor would show one line for ever: TERM=dumb. */
	if (!s->screen || !has_capability("cup")) {
		err = message__set(e, EXTPROF_OUTPUT, ENOTTY, "the terminal cannot be used: %s is not known here, or has no screen",
				term && *term ? term : "a terminal without TERM");
		snprintf(e->hint, sizeof(e->hint), "set TERM, for example to xterm, or use extprof top --batch");
		goto cleanup;
	}
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	intrflush(stdscr, FALSE);
	curs_set(0);
	*screen = s;
	s = NULL;
cleanup:
	top_screen__close(s);
	return err;
}

void top_screen__close(struct top_screen *s)
{
	if (!s)
		return;
	if (s->screen) {
		endwin();
		delscreen(s->screen);
	}
	if (s->input)
		fclose(s->input);
	free(s);
}

int top_screen__fd(const struct top_screen *s)
{
	return s->fd;
}

int top_screen__key(struct top_screen *s, uint32_t *key)
{
	struct pollfd poll_fd = { .fd = s->fd, .events = POLLIN };
	wint_t c;

	*key = 0;
	switch (get_wch(&c)) {
	case ERR:
		/* A terminal that is gone has no keys and is readable all the time. */
		return poll(&poll_fd, 1, 0) > 0 && poll_fd.revents & (POLLHUP | POLLERR | POLLNVAL) ? -EIO : 0;
	case KEY_CODE_YES:
		switch (c) {
		case KEY_UP: *key = TOP_KEY_UP; break;
		case KEY_DOWN: *key = TOP_KEY_DOWN; break;
		case KEY_LEFT: *key = TOP_KEY_LEFT; break;
		case KEY_RIGHT: *key = TOP_KEY_RIGHT; break;
		case KEY_PPAGE: *key = TOP_KEY_PAGE_UP; break;
		case KEY_NPAGE: *key = TOP_KEY_PAGE_DOWN; break;
		case KEY_HOME: *key = TOP_KEY_HOME; break;
		case KEY_END: *key = TOP_KEY_END; break;
		case KEY_ENTER: *key = TOP_KEY_ENTER; break;
		case KEY_BACKSPACE: *key = TOP_KEY_BACKSPACE; break;
		}
		return 0;
	}
	switch (c) {
	case '\r':
	case '\n': *key = TOP_KEY_ENTER; break;
	case 033: *key = TOP_KEY_ESCAPE; break;
	case 0x7f:
	case '\b': *key = TOP_KEY_BACKSPACE; break;
	case 'L' - '@':
		clearok(stdscr, TRUE);
		s->width = 0;
		break;
	default: *key = c; break;
	}
	return 0;
}

bool top_screen__resized(struct top_screen *s)
{
	bool changed = s->width != COLS || s->height != LINES;

	s->width = COLS;
	s->height = LINES;
	return changed;
}

unsigned int top_screen__width(const struct top_screen *s)
{
	(void)s;
	return COLS > 0 ? (unsigned int)COLS : 0;
}

unsigned int top_screen__height(const struct top_screen *s)
{
	(void)s;
	return LINES > 0 ? (unsigned int)LINES : 0;
}

void top_screen__begin(struct top_screen *s)
{
	(void)s;
	erase();
}

/* How many bytes of the text fit into so many columns. */
static int fitting(const char *text, int columns)
{
	mbstate_t state = { 0 };
	int bytes = 0;

	while (text[bytes]) {
		wchar_t c;
		size_t n = mbrtowc(&c, text + bytes, MB_CUR_MAX, &state);
		int width = n && n <= MB_CUR_MAX ? wcwidth(c) : -1;

		columns -= width < 0 ? 1 : width;
		if (columns < 0)
			break;
		bytes += n && n <= MB_CUR_MAX ? (int)n : 1;
	}
	return bytes;
}

void top_screen__line(struct top_screen *s, unsigned int y, const char *text, enum top_style style)
{
	static const attr_t attributes[] = {
		[TOP_PLAIN] = A_NORMAL, [TOP_BOLD] = A_BOLD, [TOP_TITLE] = A_REVERSE, [TOP_DIM] = A_DIM,
	};

	if ((int)y >= LINES)
		return;
	attrset(attributes[style]);
	/* More would go on in the next line, over what is there. */
	mvaddnstr((int)y, 0, text, fitting(text, COLS));
	/* The titles go from one side to the other. */
	for (int x = getcurx(stdscr); style == TOP_TITLE && getcury(stdscr) == (int)y && x < COLS; x++)
		addch(' ');
	attrset(A_NORMAL);
	(void)s;
}

void top_screen__show(struct top_screen *s)
{
	(void)s;
	refresh();
}
