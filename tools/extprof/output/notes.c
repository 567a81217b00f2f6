/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/notes.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/share.h"
#include "output/process_table.h"
#include "profile/unit.h"

static void add_kernel_note(const struct report_meta *m, struct text *out)
{
	text__addf(out, "functions of the kernel without names: in %" PRIu64 " samples ([kernel]: ", m->unnamed_kernel);
	if (m->why_unnamed_kernel == -EPERM)
		text__adds(out, "the kernel hides its addresses; with the sysctl kernel.kptr_restrict=1 root sees them, "
			   "and others that have CAP_SYSLOG)\n");
	else if (m->why_unnamed_kernel)
		text__addf(out, "/proc/kallsyms could not be read: %s)\n", strerror(-m->why_unnamed_kernel));
	else
		text__adds(out, "they were loaded during the recording, or there were too many)\n");
}

/* --focus shows a part: how large is the rest? */
static void add_left_out(const struct report *r, struct text *out)
{
	uint64_t all = r->samples + r->left_out;
	struct text amount = { 0 };

	if (!r->left_out)
		return;
	unit__add_with_name(&r->metric, r->left_out, &amount);
	text__addf(out, "left out by --focus: %s, %.1f %% of all; shares are of the rest\n", text__string(&amount),
		   share__percent(r->left_out, all));
	text__free(&amount);
}

/* Add a note about the threads that no Ruby code has made. */
static void add_native_note(const struct report *r, struct text *out)
{
	const struct thread_rows *s = r->threads;
	uint32_t count = 0, ended = 0;

	for (uint32_t i = 0; s && i < s->count; i++) {
		count += !s->rows[i].account.thread;
		ended += !s->rows[i].account.thread && s->rows[i].ended;
	}
	if (count)
		text__addf(out, "native threads: %" PRIu32 " without Ruby code, %" PRIu32 " of them ended: the VM's timer, those in which "
			   "it looks up names of hosts, and those of libraries\n", count, ended);
}

/* Add what happened to the objects of mode heap. */
static void add_objects(const struct report_meta *m, struct text *out)
{
	if (!m->mode->lives)
		return;
	text__addf(out, "of %" PRIu64 " sampled objects %" PRIu64 " died", m->objects_before + m->objects_sampled, m->objects_died);
	if (m->objects_ended)
		text__addf(out, ", %" PRIu64 " went with their process", m->objects_ended);
	if (m->objects_before)
		text__addf(out, "; %" PRIu64 " of them are from files before", m->objects_before);
	text__adds(out, "\n");
	if (m->objects_refused)
		text__addf(out, "objects not followed: %" PRIu64 " samples, which have no place in the table of their process (it is full, "
			   "and a larger --alloc-interval needs less; or it was not asked for yet)\n", m->objects_refused);
	if (m->objects_forgotten)
		text__addf(out, "objects not known: %" PRIu64 " sampled ones may live (the process was not asked for so long that it has "
			   "forgotten them, or extprof had no room for them)\n", m->objects_forgotten);
	if (m->objects_not_asked)
		text__addf(out, "no table of objects: in %" PRIu32 " of the processes (%s: the memory could not be written)\n",
			   m->objects_not_asked, strerror(-m->why_objects_not_asked));
	if (m->why_objects_unknown)
		text__addf(out, "what lives is not known of all processes: %s\n", strerror(-m->why_objects_unknown));
}

void notes__add(const struct report *r, struct text *out)
{
	const struct report_meta *m = &r->meta;
	uint64_t shown = m->mode->lives ? m->stacks : m->accounting.whole;

	text__adds(out, "\n");
	add_left_out(r, out);
	add_native_note(r, out);
	accounting__add_line(&m->accounting, out);
	text__adds(out, "\n");
	for (unsigned int i = 0; i < LOSS_MAX; i++)
		if (m->accounting.lost[i])
			text__addf(out, "  lost, %s: %s\n", loss__key(i), loss__text(i));
	for (unsigned int i = 0; i < TRUNC_MAX; i++)
		if (m->accounting.truncated[i])
			text__addf(out, "  truncated, %s: %s\n", trunc__key(i), trunc__text(i));
	/* The samples are a Poisson process along the bytes; large objects make it better than this. */
	if (r->metric.unit == UNIT_BYTES && shown)
		text__addf(out, "error by sampling: %.1f %% of the total, %.1f %% of what is a tenth of it (one standard "
			   "deviation)\n", 100 / sqrt((double)shown), 100 / sqrt((double)shown / 10));
	if (m->missed)
		text__addf(out, "missed besides: %" PRIu64 " (the CPU was away, or had interrupts "
			   "disabled, when it was in the process and a sample was due)\n", m->missed);
	if (m->period && m->cpu_time > process_table__sampled(r, m->accounting.cpu_taken) + m->cpu_time / 50 + 20 * m->period)
		text__adds(out, "unsampled: CPU time by the kernel's account that no sample stands for: what was missed, "
			   "and the start and end of threads and processes\n");
	if (r->threads_by_pattern)
		text__addf(out, "threads by pattern: %" PRIu32 " threads whose names differ in numbers are shown "
			   "together, with * for a number (--group-by thread shows each)\n",
			   r->threads_by_pattern);
	if (m->unsampled_cpus)
		text__addf(out, "CPUs not sampled: %" PRIu32 " (they came online during the recording, and "
			   "no timer could be opened there)\n", m->unsampled_cpus);
	if (m->not_added)
		text__addf(out, "not attached to: %" PRIu32 " of the processes (%s)\n", m->not_added,
			   m->why_not_added);
	if (m->intervals_kept)
		text__addf(out, "own distance of allocation samples: %" PRIu32 " of the processes (%s: the memory could "
			   "not be written, so --alloc-interval does not hold there; their amounts are right)\n",
			   m->intervals_kept, strerror(-m->why_interval_kept));
	add_objects(m, out);
	if (m->native_joined || m->native_apart)
		text__addf(out, "native stacks: in %" PRIu64 " samples joined with the Ruby frames, in %" PRIu64 " not (%" PRIu64
			   " stacks were not followed to their end; the frames say why)\n", m->native_joined, m->native_apart,
			   m->native_cut);
	if (m->native_lines[0])
		text__addf(out, "lines of native functions: %s\n", m->native_lines);
	if (m->unnamed_kernel)
		add_kernel_note(m, out);
	if (m->lost_events)
		text__addf(out, "processes not told: %" PRIu64 " (so many forks, execs and exits found no room in "
			   "the kernel: processes can be missing from this profile)\n", m->lost_events);
	if (m->unknown_frames)
		text__addf(out, "frames without a record: %" PRIu64 " of %" PRIu64
			   " ([unknown frame])\n", m->unknown_frames, m->frames);
	if (m->expired_names)
		text__addf(out, "names expired: %" PRIu64 " of %" PRIu64
			   " frames ([retired]: the code was gone before its name was read)\n",
			   m->expired_names, m->frames);
	if (m->exited_names)
		text__addf(out, "names not read before the exit: %" PRIu64 " of %" PRIu64 " frames\n",
			   m->exited_names, m->frames);
	if (m->unreadable_names)
		text__addf(out, "names not readable: %" PRIu64 " of %" PRIu64 " frames\n",
			   m->unreadable_names, m->frames);
	if (m->late_names)
		text__addf(out, "names not read in time: %" PRIu64 " of %" PRIu64
			   " frames ([too much to read]: there was more to read than extprof reads "
			   "in one go)\n", m->late_names, m->frames);
	if (m->partial_names)
		text__addf(out, "names in part only: %" PRIu64 " of %" PRIu64
			   " frames (? is what could not be read)\n", m->partial_names, m->frames);
	if (m->late_lines)
		text__addf(out, "lines not read in time: %" PRIu64 " of %" PRIu64
			   " frames (they are shown without a line)\n", m->late_lines, m->frames);
	if (m->crowded_names)
		text__addf(out, "names beyond the bound: %" PRIu64 " of %" PRIu64
			   " frames ([one of too many names]: the process has more than extprof keeps)\n",
			   m->crowded_names, m->frames);
	if (m->merged)
		text__addf(out, "stacks cut: %" PRIu64 " samples, %.1f %% ([merged] stands for their innermost "
			   "frames: there are more different stacks than extprof keeps, and the rarest "
			   "were merged)\n", m->merged, share__percent(m->merged, m->stacks));
	if (m->unknown_threads)
		text__addf(out, "samples of unknown threads: %" PRIu64 " ([unknown thread]: what the "
			   "process says about them could not be read)\n", m->unknown_threads);
	if (m->expired_labels)
		text__addf(out, "labels expired: %" PRIu64 " times ([KEY: expired]: the program makes more of them "
			   "than it keeps)\n", m->expired_labels);
	if (m->unread_labels)
		text__addf(out, "labels not read: %" PRIu64 " times ([KEY: not read]: the process had ended, or "
			   "there was no time)\n", m->unread_labels);
	if (m->invalid_traces)
		text__addf(out, "trace not valid: %" PRIu64 " samples (the program was changing the record of its span, or says that "
			   "it has none)\n", m->invalid_traces);
	if (m->unread_traces)
		text__addf(out, "trace not read: %" PRIu64 " samples (the address that the program gave has no memory)\n",
			   m->unread_traces);
	/* They are among the samples of what runs, and so of modes that have these. */
	if (m->gc_samples && m->accounting.cpu_taken)
		text__addf(out, "in GC: %" PRIu64 " sample%s, %.1f %%\n", m->gc_samples, m->gc_samples == 1 ? "" : "s",
			   share__percent(m->gc_samples, m->accounting.cpu_taken));
}
