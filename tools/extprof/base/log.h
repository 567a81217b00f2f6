/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines for who asked what is being done. */
#ifndef EXTPROF_LOG_H
#define EXTPROF_LOG_H

struct log_to {
	void (*line)(void *context, const char *line);	/* NULL: nobody asked */
	void *context;
};

/* One line, without a newline.  Texts of other processes have been cleaned by the caller. */
void log_to__line(const struct log_to *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif /* EXTPROF_LOG_H */
