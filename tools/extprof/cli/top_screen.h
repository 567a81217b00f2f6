/* SPDX-License-Identifier: BSD-2-Clause */
/* The terminal of extprof top. */
#ifndef EXTPROF_TOP_SCREEN_H
#define EXTPROF_TOP_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "extprof.h"

enum top_style { TOP_PLAIN, TOP_BOLD, TOP_TITLE, TOP_DIM };

struct top_screen;

/*
 * Take the terminal of standard output over; keys come from standard input, or from /dev/tty if that is no terminal.
 * Ctrl-Z and a change of its size are handled.  On failure *screen is NULL and the terminal as before.
 */
int top_screen__open(struct top_screen **screen, struct extprof_error *e);
/* Give it back as it was.  NULL is fine. */
void top_screen__close(struct top_screen *s);

/* To be polled: readable if there are keys. */
int top_screen__fd(const struct top_screen *s);
/* The next key, as for top_state__key(); 0: there is none now, or only the size has changed.  -EIO: the terminal is gone. */
int top_screen__key(struct top_screen *s, uint32_t *key);
/* Its size has changed, or it is to be drawn anyway, since the last call. */
bool top_screen__resized(struct top_screen *s);

unsigned int top_screen__width(const struct top_screen *s);
unsigned int top_screen__height(const struct top_screen *s);

/* Draw: clear, then lines from the top, then show them. */
void top_screen__begin(struct top_screen *s);
void top_screen__line(struct top_screen *s, unsigned int y, const char *text, enum top_style style);
void top_screen__show(struct top_screen *s);

#endif /* EXTPROF_TOP_SCREEN_H */
