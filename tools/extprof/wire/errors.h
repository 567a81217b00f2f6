/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reasons of loss and truncation, generated from errors.def. */
#ifndef EXTPROF_ERRORS_H
#define EXTPROF_ERRORS_H

enum loss_reason {
	LOSS_NONE = 0,
#define LOSS(id, name, key, text) LOSS_##name = id,
#define TRUNC(id, name, key, text)
#include "wire/errors.def"
#undef LOSS
#undef TRUNC
};

enum trunc_reason {
	TRUNC_NONE = 0,
#define LOSS(id, name, key, text)
#define TRUNC(id, name, key, text) TRUNC_##name = id,
#include "wire/errors.def"
#undef LOSS
#undef TRUNC
};

/* Sizes of the arrays of counters: room to append without a new layout. */
#define LOSS_MAX 32
#define TRUNC_MAX 16

#ifndef __bpf__
/* "?" for an id that errors.def does not have. */
const char *loss__key(unsigned int id);
const char *loss__text(unsigned int id);
const char *trunc__key(unsigned int id);
const char *trunc__text(unsigned int id);
#endif

#endif /* EXTPROF_ERRORS_H */
