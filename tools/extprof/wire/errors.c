/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/errors.h"

struct reason {
	const char *key;
	const char *text;
};

static const struct reason losses[LOSS_MAX] = {
#define LOSS(id, name, k, t) [id] = { .key = k, .text = t },
#define TRUNC(id, name, k, t)
#include "wire/errors.def"
#undef LOSS
#undef TRUNC
};

static const struct reason truncs[TRUNC_MAX] = {
#define LOSS(id, name, k, t)
#define TRUNC(id, name, k, t) [id] = { .key = k, .text = t },
#include "wire/errors.def"
#undef LOSS
#undef TRUNC
};

const char *loss__key(unsigned int id)
{
	return id < LOSS_MAX && losses[id].key ? losses[id].key : "?";
}

const char *loss__text(unsigned int id)
{
	return id < LOSS_MAX && losses[id].text ? losses[id].text : "?";
}

const char *trunc__key(unsigned int id)
{
	return id < TRUNC_MAX && truncs[id].key ? truncs[id].key : "?";
}

const char *trunc__text(unsigned int id)
{
	return id < TRUNC_MAX && truncs[id].text ? truncs[id].text : "?";
}
