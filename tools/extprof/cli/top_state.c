/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles the keys of extprof top. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <wchar.h>

#include "cli/top_view.h"

static const char *const view_names[TOP_VIEWS] = {
	[TOP_METHODS] = "method", [TOP_LINES] = "line", [TOP_STATES] = "state", [TOP_THREADS] = "thread",
	[TOP_PROCESSES] = "process",
};

static const char *const sort_names[TOP_SORTS] = {
	[TOP_BY_SELF] = "self", [TOP_BY_TOTAL] = "total", [TOP_BY_NAME] = "name",
	[TOP_BY_GROWTH] = "growth",
};

/* The steps of + and -, ns. */
static const uint64_t intervals[] = {
	TOP_INTERVAL_MIN, 200000000, 500000000, 1000000000, 2000000000, 5000000000, 10000000000, 30000000000,
	60000000000, 300000000000, 600000000000, TOP_INTERVAL_MAX,
};
#define INTERVALS (sizeof(intervals) / sizeof(intervals[0]))

const char *top_view__name(enum top_view view)
{
	return (unsigned int)view < TOP_VIEWS ? view_names[view] : NULL;
}

const char *top_sort__name(enum top_sort sort)
{
	return (unsigned int)sort < TOP_SORTS ? sort_names[sort] : NULL;
}

int top_view__by_name(const char *name, enum top_view *view)
{
	for (int i = 0; i < TOP_VIEWS; i++) {
		if (strcmp(name, view_names[i]))
			continue;
		*view = (enum top_view)i;
		return 0;
	}
	return -EINVAL;
}

int top_sort__by_name(const char *name, enum top_sort *sort)
{
	for (int i = 0; i < TOP_SORTS; i++) {
		if (strcmp(name, sort_names[i]))
			continue;
		*sort = (enum top_sort)i;
		return 0;
	}
	return -EINVAL;
}

void top_state__init(struct top_state *s, uint64_t interval, uint32_t modes)
{
	memset(s, 0, sizeof(*s));
	s->interval = interval;
	s->modes = modes;
}

void top_state__clamp(struct top_state *s, uint32_t page, uint32_t count)
{
	uint32_t last = count > page ? count - page : 0;

	if (s->first > last)
		s->first = last;
}

static void scroll(struct top_state *s, int64_t by, uint32_t page, uint32_t count)
{
	int64_t first = (int64_t)s->first + by;

	s->first = first < 0 ? 0 : first > UINT32_MAX ? UINT32_MAX : (uint32_t)first;
	top_state__clamp(s, page, count);
}

static void add_letter(struct top_state *s, uint32_t letter)
{
	char bytes[16];
	mbstate_t state = { 0 };
	size_t length = strlen(s->typed), more = wcrtomb(bytes, (wchar_t)letter, &state);

	if (letter < ' ' || letter == 0x7f || more == (size_t)-1 || length + more >= sizeof(s->typed))
		return;
	memcpy(s->typed + length, bytes, more);
	s->typed[length + more] = '\0';
}

/* The last letter, with all its bytes. */
static void remove_letter(struct top_state *s)
{
	size_t length = strlen(s->typed);

	while (length && (s->typed[--length] & 0xc0) == 0x80)
		;
	s->typed[length] = '\0';
}

/* A filter is being typed: it holds already. */
static enum top_action type(struct top_state *s, uint32_t key)
{
	switch (key) {
	case TOP_KEY_ENTER:
		s->typing = false;
		break;
	case TOP_KEY_ESCAPE:
		s->typing = false;
		s->typed[0] = '\0';
		break;
	case TOP_KEY_BACKSPACE:
		remove_letter(s);
		break;
	default:
		if (key >= TOP_KEY_UP)
			return TOP_NOTHING;
		add_letter(s, key);
		break;
	}
	strcpy(s->filter, s->typed);
	s->first = 0;
	return TOP_DRAW;
}

static enum top_action change_interval(struct top_state *s, bool longer)
{
	size_t i;

	for (i = 0; longer && i < INTERVALS; i++)
		if (intervals[i] > s->interval)
			break;
	for (i = longer ? i : INTERVALS; !longer && i > 0; i--)
		if (intervals[i - 1] < s->interval)
			break;
	if (longer ? i == INTERVALS : !i)
		return TOP_NOTHING;
	s->interval = intervals[longer ? i : i - 1];
	return TOP_INTERVAL;
}

static enum top_action show(struct top_state *s, enum top_view view)
{
	s->choice.view = view;
	s->first = 0;
	return TOP_DRAW;
}

enum top_action top_state__key(struct top_state *s, uint32_t key, uint32_t page, uint32_t count)
{
	if (s->typing)
		return type(s, key);
	/* Any key ends the help. */
	if (s->help && key != 'q') {
		s->help = false;
		return TOP_DRAW;
	}
	if (s->recorded && (key == 'p' || key == ' ' || key == 'r' || key == 'c'))
		return TOP_NOTHING;
	switch (key) {
	case '[':
	case TOP_KEY_LEFT:
		return s->recorded ? TOP_BACK : TOP_NOTHING;
	case ']':
	case TOP_KEY_RIGHT:
		return s->recorded ? TOP_FORWARD : TOP_NOTHING;
	case 'q':
	case 'Q':
		return TOP_QUIT;
	case 'h':
	case '?':
		s->help = true;
		return TOP_DRAW;
	case 's':
		s->choice.sort = (s->choice.sort + 1) % (s->lives ? TOP_SORTS : TOP_BY_GROWTH);
		return TOP_DRAW;
	case 'S':
		s->choice.reverse = !s->choice.reverse;
		return TOP_DRAW;
	case '/':
		s->typing = true;
		s->typed[0] = '\0';
		return TOP_DRAW;
	case TOP_KEY_ESCAPE:
		s->filter[0] = '\0';
		s->first = 0;
		return TOP_DRAW;
	case 'p':
	case ' ':
		s->paused = !s->paused;
		return s->paused ? TOP_DRAW : TOP_RESUME;
	case 'r':
		return TOP_RESET;
	case 'c':
		s->choice.all = !s->choice.all;
		return TOP_DRAW;
	case 't':
		s->choice.by_thread = !s->choice.by_thread;
		s->first = 0;
		return TOP_DRAW;
	case 'v':
	case '\t':
		return show(s, (s->choice.view + 1) % TOP_VIEWS);
	case '1': case '2': case '3': case '4': case '5':
		return show(s, (enum top_view)(key - '1'));
	case 'm':
		s->mode = (s->mode + 1) % (s->modes ? s->modes : 1);
		s->first = 0;
		return TOP_DRAW;
	case '+':
	case '=':
		return change_interval(s, true);
	case '-':
		return change_interval(s, false);
	case TOP_KEY_UP:
	case 'k':
		scroll(s, -1, page, count);
		return TOP_DRAW;
	case TOP_KEY_DOWN:
	case 'j':
		scroll(s, 1, page, count);
		return TOP_DRAW;
	case TOP_KEY_PAGE_UP:
		scroll(s, -(int64_t)page, page, count);
		return TOP_DRAW;
	case TOP_KEY_PAGE_DOWN:
		scroll(s, page, page, count);
		return TOP_DRAW;
	case TOP_KEY_HOME:
		s->first = 0;
		return TOP_DRAW;
	case TOP_KEY_END:
		scroll(s, UINT32_MAX, page, count);
		return TOP_DRAW;
	}
	return TOP_NOTHING;
}
