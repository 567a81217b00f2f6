/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Events of the user's choice: sample_event::detail of SOURCE_EVENT is the number of the event, from 0. */
#ifndef EXTPROF_WIRE_EVENT_H
#define EXTPROF_WIRE_EVENT_H

/* Events of one recording; a power of 2. */
#define EVENT_SLOTS 8u

#endif /* EXTPROF_WIRE_EVENT_H */
