/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The arguments of the VM's own probes.  Programs on probes can be preempted: see hit::preemptible. */
#ifndef EXTPROF_PROBE_BPF_H
#define EXTPROF_PROBE_BPF_H

#include "bpf/common.bpf.h"
#include "wire/usdt.h"

/* No attach cookies: they need Linux 5.15.  Few of the entries are used. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct usdt_key);
	__type(value, struct usdt_arguments);
} probe_places SEC(".maps") __weak;

static __always_inline int probe__argument(bpf_user_pt_regs_t *regs, const struct usdt_arguments *at,
					   uint32_t i, uint64_t *value)
{
	uint64_t offset = at->offset[i];

	if (offset > sizeof(*regs) - sizeof(*value))
		return -1;
	return bpf_probe_read_kernel(value, sizeof(*value), (void *)regs + offset) ? -1 : 0;
}

/* The first arguments, in that process.  Three of them there must be, a fourth one that the probe does not have
 * is 0.  0 or -1. */
static __always_inline int probe__arguments(bpf_user_pt_regs_t *regs, const struct target_config *cfg,
					    uint64_t arguments[4])
{
	struct usdt_key key = { .distance = cfg->section - regs__ip(regs), .file = cfg->file };
	struct usdt_arguments *at = bpf_map_lookup_elem(&probe_places, &key);

	if (!at || probe__argument(regs, at, 0, &arguments[0]) || probe__argument(regs, at, 1, &arguments[1]) ||
	    probe__argument(regs, at, 2, &arguments[2]))
		return -1;
	if (probe__argument(regs, at, 3, &arguments[3]))
		arguments[3] = 0;
	return 0;
}

/* Argument number `i`, from 0, or 0: the probe does not have it. */
static __always_inline uint64_t probe__later_argument(bpf_user_pt_regs_t *regs, const struct target_config *cfg, uint32_t i)
{
	struct usdt_key key = { .distance = cfg->section - regs__ip(regs), .file = cfg->file };
	struct usdt_arguments *at = bpf_map_lookup_elem(&probe_places, &key);
	uint64_t value = 0;

	return at && !probe__argument(regs, at, i, &value) ? value : 0;
}

#endif /* EXTPROF_PROBE_BPF_H */
