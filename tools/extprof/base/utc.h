/* SPDX-License-Identifier: BSD-2-Clause */
/* Moments in UTC as texts, with all digits: they sort as times do, and no summer time changes them. */
#ifndef EXTPROF_UTC_H
#define EXTPROF_UTC_H

#include <stdbool.h>
#include <stdint.h>

#define UTC_SIZE 40	/* bytes, with the end of the text */

/* CLOCK_REALTIME: ns since 1970. */
uint64_t utc__now(void);

/* "2026-12-01T08:30:00Z", as RFC 3339 has it.  ns: since 1970; `fraction`: with its nine digits. */
const char *utc__text(char to[UTC_SIZE], uint64_t ns, bool fraction);
/* "20261201-083000-042Z", for names of files. */
const char *utc__for_name(char to[UTC_SIZE], uint64_t ns);

#endif /* EXTPROF_UTC_H */
