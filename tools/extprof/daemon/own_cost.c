/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/own_cost.h"

/* A burst, such as the change of a file, is one window. */
#define ABOVE_MOST 2
#define ROOM_LEAST 5
/* It goes up if twice the use would be so much of the budget at most: it must not go down again at once. */
#define ROOM_SHARE 0.8
/* A lower rate has helped if it uses so much of what it used before at most. */
#define HELP_SHARE 0.85
/* Windows until it tries again. */
#define STAY 30

/* The next window. */
static void restart(struct own_cost *c, uint64_t now, double used)
{
	c->since = now;
	c->used = used;
}

void own_cost__changed(struct own_cost *c, uint32_t rate, uint64_t now, double used)
{
	c->rate = rate;
	c->above = c->room = 0;
	c->told = c->told && rate == 1;
	restart(c, now, used);
}

void own_cost__begin(struct own_cost *c, double share, uint64_t window, uint32_t rate, uint64_t now, double used)
{
	*c = (struct own_cost){ .share = share, .window = window, .most = rate, .starts = true };
	own_cost__changed(c, rate, now, used);
}

/* Half as high, until the use would be within the budget if it were as the rate is. */
static uint32_t lower(const struct own_cost *c, double share)
{
	uint32_t rate = c->rate;

	do {
		rate /= 2;
		share /= 2;
	} while (rate > 1 && share > c->share);
	return rate ? rate : 1;
}

/* The rate that it would have had on the way down. */
static uint32_t higher(const struct own_cost *c)
{
	uint32_t rate = c->most;

	while (rate / 2 > c->rate)
		rate /= 2;
	return rate;
}

enum own_cost_change own_cost__look(struct own_cost *c, uint64_t now, double used, uint32_t *rate, double *share)
{
	*rate = c->rate;
	*share = 0;
	if (c->share <= 0)
		return OWN_COST_SAME;
	if (now < c->since + c->window)
		return OWN_COST_SAME;
	if (c->starts) {
		c->starts = false;
		restart(c, now, used);
		return OWN_COST_SAME;
	}
	*share = (used - c->used) / ((double)(now - c->since) / 1e9);
	restart(c, now, used);
	c->above = *share > c->share ? c->above + 1 : 0;
	c->room = 2 * *share <= ROOM_SHARE * c->share ? c->room + 1 : 0;
	c->stay -= c->stay > 0;
	/* The lower rate has helped.  What is used later has a reason of its own. */
	if (*share <= c->share || *share <= HELP_SHARE * c->before_share)
		c->before_rate = 0;
	if (c->above >= ABOVE_MOST && c->before_rate > c->rate) {
		*rate = c->before_rate;
		c->before_rate = 0;
		c->stay = STAY;
		return OWN_COST_BACK;
	}
	if (c->above >= ABOVE_MOST && c->rate > 1 && !c->stay) {
		*rate = lower(c, *share);
		c->before_share = *share;
		c->before_rate = c->rate;
		return OWN_COST_LOWER;
	}
	if (c->above >= ABOVE_MOST && c->rate == 1 && !c->told) {
		c->told = true;
		return OWN_COST_LOWEST;
	}
	if (c->room >= ROOM_LEAST && c->rate < c->most) {
		*rate = higher(c);
		c->before_rate = 0;
		return OWN_COST_HIGHER;
	}
	return OWN_COST_SAME;
}
