// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The probe `gc_phase` of the VM runs gc_phase_changed() in the thread that collects.  A pause lasts from the
 * first phase that is not NONE to NONE.  Its end is a sample.
 */
#include "bpf/probe.bpf.h"
#include "wire/gc.h"

/* Pauses whose beginning was not seen. */
uint64_t gc_partial = 0;

/* By target_config::vm.  User space adds the VMs that it finds, this program those that fork makes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, uint32_t);
	__type(value, struct gc_pause);
} gc_pauses SEC(".maps");

static __always_inline struct gc_pause *pause__find(const struct target_config *cfg)
{
	static const struct gc_pause none = { 0 };
	uint32_t vm = cfg->vm;
	struct gc_pause *p = bpf_map_lookup_elem(&gc_pauses, &vm);

	/* No fork happens in a pause: a child has seen the beginning of its own. */
	if (p || !(cfg->flags & TARGET_FORKED))
		return p;
	bpf_map_update_elem(&gc_pauses, &vm, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&gc_pauses, &vm);
}

/*
 * The value again, of which the verifier knows nothing: it does not track what is in maps.  Linux before 6.4
 * verifies the walk of the stack once for each way to get there in which it knows other values.
 */
static __always_inline uint64_t forget(uint64_t *in_map, uint64_t value)
{
	*(volatile uint64_t *)in_map = value;
	return *(volatile uint64_t *)in_map;
}

/* How many collections there were, as gc__pack_cycles() has it. */
static __always_inline uint64_t read_cycles(uint64_t section)
{
	uint64_t cycles[2];	/* gc_cycles, gc_major_cycles */

	if (read_target(cycles, sizeof(cycles), section + __builtin_offsetof(struct rb_debug_ext_section, gc_cycles)))
		return 0;
	return gc__pack_cycles(cycles[0], cycles[1]);
}

/* Send the pause with its thread.  That needs no frames: a stack that cannot be read loses no pause. */
static __always_inline void send_pause(struct hit *h, uint64_t ip)
{
	int reason = 0;
	struct walk_scratch *s = hit__walk(h, 0, ip, &reason);

	if (!s)
		return;
	if (reason == LOSS_TLS_READ || reason == LOSS_EC_READ || reason == LOSS_GEOMETRY || reason == LOSS_FRAMES_READ) {
		reason = 0;
		s->event.kind = SAMPLE_RUBY;
	}
	s->event.ip = read_cycles(h->cfg->section);
	s->event.nr_frames = 0;
	s->event.truncated = 0;
	hit__send(h, s, reason);
	scratch__leave(s);
}

SEC("uprobe")
int gc_phase_changed(bpf_user_pt_regs_t *regs)
{
	struct hit h = { .source = SOURCE_GC, .preemptible = 1 };
	uint64_t arguments[4];	/* phase, tid, gc_count, cause and flags */
	uint64_t now = bpf_ktime_get_ns();
	struct gc_pause *p;
	uint32_t vm;

	if (hit__find(&h) || !h.cfg->section || h.cfg->flags & TARGET_WATCHED)
		return 0;
	p = pause__find(h.cfg);
	if (!p)
		return 0;	/* it is being attached to */
	if (probe__arguments(regs, h.cfg, arguments) || arguments[0] > RB_DEBUG_EXT_GC_COMPACT) {
		h.loss = LOSS_PROBE;
		goto sample;
	}
	if (p->phase) {
		p->times[p->phase & 7] += now - p->since;
	} else {
		__builtin_memset(p->times, 0, sizeof(p->times));
		p->start = now;
		p->waited = task__run_delay(h.task);
		p->partial = arguments[0] != RB_DEBUG_EXT_GC_ENTER || arguments[2] <= p->known;
	}
	p->since = now;
	p->phase = (uint32_t)arguments[0];
	if (p->phase || sampling_paused)
		return 0;
	if (p->partial) {
		__sync_fetch_and_add(&gc_partial, 1);
		return 0;
	}
	h.value = now - p->start;
	h.count = 1;
	h.more = task__run_delay(h.task) - p->waited;
	h.detail = forget(&p->scratch, gc__pack(p->times[RB_DEBUG_EXT_GC_MARK]) |
				       gc__pack(p->times[RB_DEBUG_EXT_GC_SWEEP]) << 32);
	h.state = (uint32_t)forget(&p->scratch, gc__pack(p->times[RB_DEBUG_EXT_GC_COMPACT]));
	h.extra = (uint32_t)forget(&p->scratch, (arguments[3] & 0xffff) | (arguments[3] >> 32 & 0xffff) << 16);
	/* A VM that fork made needs the entry only during its pauses. */
	vm = h.cfg->vm;
	if (h.cfg->flags & TARGET_FORKED && !p->known)
		bpf_map_delete_elem(&gc_pauses, &vm);
sample:
	if (!hit__count(&h))
		send_pause(&h, regs__ip(regs));
	return 0;
}
