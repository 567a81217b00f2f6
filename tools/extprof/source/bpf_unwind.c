/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of native stacks, which user space writes and the BPF programs read. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "source/bpf_session_parts.h"
#include "source/permission.h"

/* Configure what all sources need for native stacks. */
int bpf_session__configure_unwind(struct bpf_session *s, const struct session_options *o, struct diag *d)
{
	int err;

	if (!o->source_options.native)
		return 0;
	/* A function of Linux 6.2. */
	if (libbpf_find_vmlinux_btf_id("bpf_cast_to_kern_ctx", BPF_TRACE_FENTRY) <= 0) {
		diag__set(d, DIAG_NO_BPF, ENOSYS, "native stacks need Linux 6.2 or later");
		diag__hint(d, "leave them out");
		return -ENOSYS;
	}
	s->skel->rodata->native_stacks = 1;
	bpf_program__set_autoload(s->skel->progs.note_mapped, true);
	if ((err = bpf_map__set_max_entries(s->skel->maps.unwind_rows, UNWIND_ROWS_MAX)) ||
	    (err = bpf_map__set_max_entries(s->skel->maps.unwind_mappings, UNWIND_ALL_MAPPINGS_MAX)) ||
	    (err = bpf_map__set_max_entries(s->skel->maps.unwind_processes, TARGETS_MAX)) ||
	    (err = bpf_map__set_max_entries(s->skel->maps.unwind_changes, TARGETS_MAX)))
		return diag__set(d, DIAG_INTERNAL, -err, "cannot make the tables for native stacks");
	return 0;
}

/* The memory of an array that user space writes.  NULL: errno says why. */
static void *map_array(struct bpf_map *map, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* The kernel notes changes by itself. */
static int set_unwind(const struct unwind_maps *maps, uint32_t vm, const struct unwind_process *process, uint64_t hash)
{
	(void)hash;
	if (process)
		return bpf_map_update_elem(maps->processes, &vm, process, BPF_ANY);
	return bpf_map_delete_elem(maps->processes, &vm);
}

static struct unwind_seen unwind_seen(const struct unwind_maps *maps, uint32_t vm)
{
	struct unwind_seen seen = { .unnoted = (uint32_t)*maps->unnoted };
	struct unwind_changes c;

	if (!bpf_map_lookup_elem(maps->changes, &vm, &c))
		seen.changes = (uint32_t)c.count;
	return seen;
}

static void forget_unwind(const struct unwind_maps *maps, uint32_t vm)
{
	bpf_map_delete_elem(maps->processes, &vm);
	bpf_map_delete_elem(maps->changes, &vm);
}

int bpf_session__open_unwind(struct bpf_session *s, const struct session_options *o, struct diag *d)
{
	if (!o->source_options.native)
		return 0;
	s->unwind.set = set_unwind;
	s->unwind.seen = unwind_seen;
	s->unwind.unnoted = &s->skel->bss->unwind_unnoted;
	s->unwind.forget = forget_unwind;
	s->unwind.processes = bpf_map__fd(s->skel->maps.unwind_processes);
	s->unwind.changes = bpf_map__fd(s->skel->maps.unwind_changes);
	s->skel->links.note_mapped = bpf_program__attach(s->skel->progs.note_mapped);
	if (!s->skel->links.note_mapped) {
		int err = -errno;

		if (err == -EPERM || err == -EACCES)
			return permission__missing(d, err, "attach a BPF program to a tracepoint");
		diag__set(d, DIAG_NO_BPF, -err, "cannot see when libraries are loaded: %s", strerror(-err));
		diag__hint(d, "leave native stacks out");
		return err;
	}
	s->unwind.rows = map_array(s->skel->maps.unwind_rows, UNWIND_ROWS_MAX * sizeof(struct unwind_row));
	s->unwind.mappings = s->unwind.rows ? map_array(s->skel->maps.unwind_mappings,
							UNWIND_ALL_MAPPINGS_MAX * sizeof(struct unwind_mapping)) : NULL;
	return s->unwind.mappings ? 0 : diag__set(d, DIAG_NO_BPF, errno, "cannot map the rules for native stacks: %s",
						  strerror(errno));
}

void bpf_session__close_unwind(struct bpf_session *s)
{
	if (s->unwind.rows)
		munmap(s->unwind.rows, UNWIND_ROWS_MAX * sizeof(struct unwind_row));
	if (s->unwind.mappings)
		munmap(s->unwind.mappings, UNWIND_ALL_MAPPINGS_MAX * sizeof(struct unwind_mapping));
}
