/* SPDX-License-Identifier: BSD-2-Clause */
/* Accounts of the recordings of a profile, and of its reports: processes, threads, losses, times. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "recording/profile_parts.h"

/* The time that was recorded between the two. */
static int set_duration(const struct input *in, uint64_t from, uint64_t until, struct report_meta *m, struct diag *d)
{
	int err;

	m->duration = 0;
	m->paused = 0;
	if (until <= from)
		return 0;
	err = recording_account__paused(in->reader, from, until, &m->paused, d);
	m->duration = (double)(until - from - m->paused) / 1e9;
	return err;
}

/* The rows of processes are of all modes that were asked for, as those of a recording that has ended are of all. */
static void count_rows(const struct recording_profile *p, const struct input *in, struct report *report)
{
	struct accounting *all = &report->meta.all_modes;

	memset(all, 0, sizeof(*all));
	for (uint32_t i = 0; i < report->processes.count && i + 1 < in->counted; i++) {
		const uint64_t *counts = &in->counts[(i + 1) * (size_t)p->mode_count];
		struct process_row *row = &report->processes.rows[i];
		uint64_t sum = 0;

		row->cpu_taken = 0;
		for (uint32_t mode = 0; mode < p->mode_count; mode++) {
			sum += counts[mode];
			row->cpu_taken += p->modes[mode] == &mode_cpu ? counts[mode] : 0;
		}
		row->kernel = (struct source_counters){ .taken = sum, .whole = sum };
		row->received = (struct received){ .whole = sum };
		all->taken += sum;
		all->whole += sum;
		all->cpu_taken += row->cpu_taken;
	}
}

/* Complete the fields for a recording that has not ended, or for a part of a recording. */
static int complete_meta(const struct recording_profile *p, const struct input *in, uint32_t mode, struct report *report,
			 struct diag *d)
{
	struct report_meta *m = &report->meta;
	uint64_t from = in->since > in->begin ? in->since : in->begin, until;
	bool is_part = in->since || in->until != UINT64_MAX;
	const char *why;
	bool ended = recording_reader__ended(in->reader, &why);
	int err;

	m->modes = p->mode_count;
	if (!is_part || !in->wall || __builtin_add_overflow(in->wall, from - in->begin, &m->part_began))
		m->part_began = 0;
	/* That of the account is the first one of all of the recording. */
	if (is_part && (!ended || *m->trigger)) {
		err = recording_window__trigger(in, report, d);
		if (err)
			return err;
	}
	if (ended) {
		uint64_t end = in->begin + (uint64_t)(m->duration * 1e9) + m->paused;

		until = in->until < end ? in->until : end;
		m->whole = is_part ? m->duration : 0;
		return is_part ? set_duration(in, from, until, m, d) : 0;
	}
	m->period = recording_profile__period(p, in, mode, false);
	m->started = (time_t)recording_reader__number(in->reader, "started_unix_s");
	m->started_at = in->begin;
	until = in->until < in->last ? in->until : in->last;
	m->accounting.taken = m->accounting.whole = in->rows[mode];
	snprintf(m->ended, sizeof(m->ended), "the recording did not end");
	count_rows(p, in, report);
	for (uint32_t i = 0; i < report->processes.count; i++) {
		const struct process_row *row = &report->processes.rows[i];

		if (report->processes.count == 1) {
			m->pid = row->pid;
			snprintf(m->command, sizeof(m->command), "%s", row->command);
		}
		if (!*m->ruby_version)
			snprintf(m->ruby_version, sizeof(m->ruby_version), "%s", row->ruby_version);
	}
	return set_duration(in, from, until, m, d);
}

int recording_profile__read_account(const struct recording_profile *p, const struct input *in, uint32_t mode, struct report *report,
			struct diag *d)
{
	const struct report_meta counted = report->meta;
	bool cuts = p->filter.cuts;
	int err = recording_account__read(in->reader, in->tables, in->ids[mode], cuts ? in->since : 0, cuts ? in->until : UINT64_MAX,
					  report, d);

	if (err) {
		report__free(report);
		return err;
	}
	/* These fields were counted from the samples that were asked for: keep them. */
	report->meta.mode = counted.mode;
	report->meta.stacks = counted.stacks;
	report->meta.merged = counted.merged;
	report->meta.version = in->version;
	err = complete_meta(p, in, mode, report, d);
	if (!err && cuts)
		err = recording_window__account(p, in, mode, report, d);
	if (err)
		report__free(report);
	return err;
}

/* Processes of several machines can have one number.  0 or -ENOMEM. */
static int set_hosts(struct recording_profile *p, const struct input *in, struct report *part)
{
	const char *host = p->several_hosts ? strings__intern(&p->frames.strings, recording_reader__host(in->reader)) : "";

	for (uint32_t i = 0; host && i < part->processes.count; i++)
		part->processes.rows[i].host = host;
	for (uint32_t i = 0; host && part->threads && i < part->threads->count; i++)
		part->threads->rows[i].host = host;
	return host ? 0 : -ENOMEM;
}

/* The last host that became the report's: most rows have that of the row before. */
struct kept_host {
	const char *from, *to;
};

static int keep_host(struct strings *strings, struct kept_host *last, const char **host)
{
	if (*host && *host != last->from) {
		last->from = *host;
		last->to = strings__intern(strings, *host);
		if (!last->to)
			return -ENOMEM;
	}
	*host = *host ? last->to : NULL;
	return 0;
}

/* Their texts become the report's.  0 or -ENOMEM. */
static int keep_hosts(struct report *report)
{
	struct kept_host last = { NULL, NULL };
	int err = 0;

	for (uint32_t i = 0; i < report->processes.count && !err; i++)
		err = keep_host(&report->strings, &last, &report->processes.rows[i].host);
	for (uint32_t i = 0; report->threads && i < report->threads->count && !err; i++)
		err = keep_host(&report->strings, &last, &report->threads->rows[i].host);
	return err;
}

int recording_profile__account(struct recording_profile *p, struct input *in, struct diag *d)
{
	const struct input *first = &p->inputs[p->first[in->is_after]];
	struct together_part of = {
		.name = recording_reader__name(in->reader), .host = recording_reader__host(in->reader), .frames = p->account_frames,
		.later = first->begin + in->later - in->begin, .first = in == first,
	};
	int err = 0;

	for (uint32_t mode = 0; mode < p->mode_count && !err; mode++) {
		uint32_t account = p->compares ? in->is_after : mode;
		struct report part = { 0 };

		if (p->filter.cuts && (in->outside || !in->ids[mode]))
			continue;
		of.maps = p->count > RECORDINGS_ROWS_MAX ? &p->maps[account] : NULL;
		err = recording_profile__read_account(p, in, mode, &part, d);
		if (!err && set_hosts(p, in, &part))
			err = recording_profile__no_memory(d);
		if (!err)
			err = together__add(&p->accounts[account], &part, &of, d);
		report__free(&part);
	}
	p->account_frames += in->tables->frame_count;
	return err;
}

int recording_profile__account_again(struct recording_profile *p, struct diag *d)
{
	int err = 0;

	p->account_frames = 0;
	for (uint32_t mode = 0; mode < p->mode_count; mode++) {
		report__free(&p->accounts[mode]);
		together_maps__free(&p->maps[mode]);
	}
	for (uint32_t i = 0; i < p->count && !err; i++) {
		err = recording_profile__enter(p, &p->inputs[i], d);
		if (!err)
			err = recording_profile__account(p, &p->inputs[i], d);
		recording_profile__leave(p, &p->inputs[i]);
		if (err)
			recording_profile__failed_in(p, &p->inputs[i], err, d);
	}
	return err;
}

void recording_profile__move_account(const struct recording_profile *p, struct report *account, struct report *report)
{
	const struct report_meta counted = report->meta;

	report->meta = account->meta;
	/* These fields were counted from the samples that were asked for. */
	report->meta.mode = counted.mode;
	report->meta.stacks = counted.stacks;
	report->meta.merged = counted.merged;
	report->meta.modes = p->mode_count;
	together__move(report, account);
}

/* For recordings of one time it is that time. */
static int set_common_duration(const struct recording_profile *p, uint32_t mode, struct report *report)
{
	uint64_t ns = recording_pieces__sum(p, 1u << mode, false);

	report->meta.duration = (double)ns / 1e9;
	return ns == UINT64_MAX ? -ENOMEM : 0;
}

int recording_profile__give_account(struct recording_profile *p, uint32_t mode, struct report *report)
{
	recording_profile__move_account(p, &p->accounts[mode], report);
	if (p->filter.cuts && (keep_hosts(report) || set_common_duration(p, mode, report)))
		return -ENOMEM;
	/* There is not one. */
	report->meta.rates_differ = p->other_rate[mode] != NULL;
	if (report->meta.rates_differ)
		report->meta.rate = 0;
	if (report->meta.rates_differ)
		report->meta.period = 0;
	for (uint32_t i = 0; i < p->mode_count; i++)
		if (p->other_rate[i])
			report->meta.cpu_period = 0;
	return 0;
}

uint64_t recording_profile__window(const struct recording_profile *p, bool is_after)
{
	uint64_t longest = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct input *in = &p->inputs[i];
		uint64_t from = in->since > in->begin ? in->since : in->begin, until = in->until < in->last ? in->until : in->last;

		if (in->is_after == is_after && until > from && until - from > longest)
			longest = until - from;
	}
	return longest;
}
