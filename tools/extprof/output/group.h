/* SPDX-License-Identifier: BSD-2-Clause */
/* The outermost frames, which are no code but say whose samples these are.  Formats that have a place of
 * their own for that do not show them as frames. */
#ifndef EXTPROF_GROUP_H
#define EXTPROF_GROUP_H

#include "profile/report.h"

/* Append what the label of a group stands for, without its kind and its number: "worker 1" of
 * "[thread worker 1 (42)]", "puma" of "[process 42 puma]", "native thread ruby". */
void group__add_name(const struct report_label *label, struct text *out);

#endif /* EXTPROF_GROUP_H */
