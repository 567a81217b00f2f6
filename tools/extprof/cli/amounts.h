/* SPDX-License-Identifier: BSD-2-Clause */
/* Amounts as people read them. */
#ifndef EXTPROF_CLI_AMOUNTS_H
#define EXTPROF_CLI_AMOUNTS_H

#include <stdint.h>

#define AMOUNT_TEXT 32

/* "1.234 s", "3.50 ms", "0.5 us" */
const char *amount__time(uint64_t ns, char text[AMOUNT_TEXT]);
/* "768.0 KiB" */
const char *amount__bytes(double bytes, char text[AMOUNT_TEXT]);
/* "12,345" */
const char *amount__count(uint64_t count, char text[AMOUNT_TEXT]);

#endif /* EXTPROF_CLI_AMOUNTS_H */
