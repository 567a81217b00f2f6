/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A sample of SOURCE_ALLOC: `value` is the bytes that it stands for, `state` the type of the object (enum
 * rb_debug_ext_type), `detail` its class, and `count` how many objects it stands for.  Or `state` is ALLOC_MALLOC: memory
 * of malloc, of which the class is not known, and `count` is 0.  `more` is the serial of the object in the VM's table of
 * those that live, 0 none.
 */
#ifndef EXTPROF_WIRE_ALLOC_H
#define EXTPROF_WIRE_ALLOC_H

#define ALLOC_MALLOC 0x100u	/* no RB_DEBUG_EXT_TYPE */

#endif /* EXTPROF_WIRE_ALLOC_H */
