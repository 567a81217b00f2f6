/* SPDX-License-Identifier: BSD-2-Clause */
/* How much memory processes have, now and then, for a recording. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "engine/state.h"
#include "process/proc.h"

/* How often each process is looked at. */
#define FIGURES_INTERVAL SECOND
/* Processes of one look, which takes some 10 us for each.  Of more, each has its turn less often. */
#define FIGURES_AT_ONCE 64u

/* Resident memory, bytes; 0: it has none any more, or it cannot be read. */
static uint64_t resident_of(const struct process *p)
{
	char path[PROC_PATH_MAX], text[128];
	unsigned long long all, resident;
	ssize_t n;
	int fd;

	proc__path(path, p->pid, 0, "statm");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	/* The file of another process with that pid has been read if this one has ended. */
	if (sscanf(text, "%llu %llu", &all, &resident) != 2 || (p->target.pidfd >= 0 && !target__has_pid(&p->target)))
		return 0;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

int engine__record_figures(struct engine *e, uint64_t now, bool last)
{
	uint32_t left = FIGURES_AT_ONCE, count = e->set.count;
	int err = 0;

	if (!last && now < e->next_record_figures)
		return 0;
	e->next_record_figures = now + FIGURES_INTERVAL;
	for (uint32_t i = 0; i < count && left && !err; i++) {
		const struct process *p = e->set.list[e->figures_turn++ % count];
		uint64_t resident;

		if (!p || p->freed || p->row == PROCESS_NONE || !p->vm)
			continue;
		left--;
		resident = resident_of(p);
		if (resident)
			err = recording_sink__figure(&e->recording, now, p->row, resident);
	}
	return err;
}
