/* SPDX-License-Identifier: BSD-2-Clause */
/* The values of options, from text.  All return 0, or -errno and leave the result as it was. */
#ifndef EXTPROF_OPTIONS_VALUES_H
#define EXTPROF_OPTIONS_VALUES_H

#include <stdint.h>
#include <sys/types.h>

/* "99", "10k", "10khz", "250 Hz": per second, 1 to EXTPROF_RATE_MAX; or -EINVAL. */
int value__rate(const char *text, uint32_t *rate);
/* "5", "0.5", "5s", "300ms", "2m", "1h", "7d" in ns, from 1 ms to a year; or -EINVAL. */
int value__duration(const char *text, uint64_t *duration);
/* "512k", "64 KiB", "1M", "4096" in bytes, from 1 KiB to 1 GiB; or -EINVAL. */
int value__size(const char *text, uint64_t *size);
/* The same up to 1 TiB; or -EINVAL. */
int value__bytes(const char *text, uint64_t *size);
/* "1h" or "100MB": a time in ns, from 100 ms on, or a size in bytes, 256 KiB to 1 TiB; the other one is 0. */
int value__rotation(const char *text, uint64_t *time, uint64_t *size);
/* 1 to most, decimal; or -EINVAL. */
int value__number(const char *text, unsigned long most, unsigned long *number);
int value__pid(const char *text, pid_t *pid);

/* Pids that are listed one after the other.  Zero-initialise. */
struct pid_list {
	pid_t *pids;
	uint32_t count;
};

/* Add the pids of "77,78", each of them once.  -EINVAL with *wrong at what is no pid; -ENOMEM. */
int value__pids(const char *text, struct pid_list *list, const char **wrong);
void pid_list__free(struct pid_list *list);

/* The name of a user, or a number.  -ENOENT: there is no user of that name. */
int value__user(const char *text, uid_t *user);

/*
 * A cgroup as /proc/PID/cgroup shows it: it begins with / and ends without one.  The text may also
 * be a directory below /sys/fs/cgroup.  The caller frees it.  -EINVAL, -ENOMEM.
 */
int value__cgroup(const char *text, char **cgroup);

#endif /* EXTPROF_OPTIONS_VALUES_H */
