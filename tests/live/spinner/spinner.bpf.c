// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Holds a CPU with its interrupts disabled for some time, as a slow driver does.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

const volatile __u64 length = 0;	// ns
// The process of interest, by its pid in this namespace.
const volatile __u64 ns_dev = 0, ns_ino = 0;
const volatile __u32 pid = 0;

// How often the process was held, and for how long in sum, in ns.
__u64 spins, spun;

static long is_over(__u32 i, __u64 *until)
{
	return bpf_ktime_get_ns() >= *until;
}

SEC("perf_event")
int spin(void *ctx)
{
	__u64 start = bpf_ktime_get_ns(), until = start + length;
	struct bpf_pidns_info current = {};

	// A bound of some ms, whatever the clock says.
	bpf_loop(1 << 18, is_over, &until, 0);
	if (!bpf_get_ns_current_pid_tgid(ns_dev, ns_ino, &current, sizeof(current)) && current.tgid == pid) {
		spins++;
		spun += bpf_ktime_get_ns() - start;
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
