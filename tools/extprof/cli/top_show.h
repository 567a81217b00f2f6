/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows windows of extprof top, on a screen or as text.  They are live ones, or those of recordings. */
#ifndef EXTPROF_TOP_SHOW_H
#define EXTPROF_TOP_SHOW_H

#include "cli/top.h"
#include "cli/top_screen.h"

struct top_show {
	struct top_windows *windows;
	struct top_screen *screen;	/* NULL: text */
	struct top_state state;
	unsigned int rows;		/* of text */
	char message[320];		/* for the head; "": none */
	char clock[16];			/* when the last window ended; "": not shown */
	char span[64];			/* of a recording, see struct top_head; "": live */
};

/* The rows of the view.  0 or -ENOMEM; the caller frees *rows. */
int top_show__choose(struct top_show *s, const struct top_row ***rows, uint32_t *count);
/* On the screen. */
void top_show__draw(struct top_show *s);
/* Print all modes as text, one after the other.  0 or -errno with *e filled. */
int top_show__print(struct top_show *s, struct extprof_error *e);
/* Flush the text that was printed.  0 or -errno with *e filled. */
int top_show__flush(struct extprof_error *e);

#endif /* EXTPROF_TOP_SHOW_H */
