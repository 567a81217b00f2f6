/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several recordings as one database in memory, to be asked in SQL: those of a folder, or of several machines.  It has the tables
 * of a recording but `sources`, and without mode heap, which is a state of each.  Numbers of rows are others than in the files.  Times are those of the recording that began first:
 * those of other boots and machines are moved by the clocks of the day.
 */
#ifndef EXTPROF_JOIN_H
#define EXTPROF_JOIN_H

#include "base/deadline.h"
#include "recording/reader.h"

/*
 * `since`, `until`: samples have times from the one to the other, ns since 1970; 0: all.  The caller closes *db, also after an
 * error; the deadline has to live as long.  0 or negative errno with *d; -ETIME: the deadline is over.
 */
int recording_join(sqlite3 **db, struct recording_reader *const *readers, uint32_t count, uint64_t since, uint64_t until,
		   struct deadline *deadline, struct diag *d);

#endif /* EXTPROF_JOIN_H */
