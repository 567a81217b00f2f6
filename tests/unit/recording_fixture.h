/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile that is recorded meanwhile, and reports of the file. */
#ifndef RECORDING_FIXTURE_H
#define RECORDING_FIXTURE_H

#include "profile_fixture.h"

#include <unistd.h>

#include "recording/profile.h"
#include "recording/sink.h"

#define FILE_NAME "test_recording_profile.extprof"

static struct recording_sink sink;

static inline int name_frame(void *context, uint32_t number)
{
	(void)context;
	return frame_names__take(&frames, number, &table);
}

static const struct mode *both[] = { &mode_cpu, &mode_wall };
static struct recording_view view;

/* A fixture that records.  0, or an error. */
static inline int set_up_recording(uint32_t modes)
{
	struct recording_source source = { .frames = &frames, .processes = &processes, .name = name_frame };
	struct recording_writer *writer;

	unlink(FILE_NAME);
	set_up();
	fake__thread(&ruby, 3, 30, "worker 1", NULL);
	fake__thread(&ruby, 4, 40, "worker 2", NULL);
	processes.rows[0].pid = 77;
	strcpy(processes.rows[0].command, "puma");
	strcpy(processes.rows[0].ruby_version, "3.4.5");
	groups__add(&resolver.groups, GROUP_PROCESS);
	groups__add(&resolver.groups, GROUP_THREAD);
	memset(&view, 0, sizeof(view));
	view.groups = resolver.groups;
	if (resolve__set_modes(&resolver, both, modes) ||
	    recording_writer__create(&writer, FILE_NAME, (uid_t)-1, (gid_t)-1, 10000000, &diag) ||
	    recording_sink__init(&sink, writer, &source, both, modes) ||
	    sinks__add(&resolver.sinks, &sink.sink))
		return -1;
	return recording_account__begin(writer, &view, 1000, 1700000000, 10000000);
}

static inline void tear_down_recording(void)
{
	recording_sink__free(&sink);
	tear_down();
	unlink(FILE_NAME);
}

/* Samples of two threads: stacks of different depths, a line that is not exact, some that are truncated. */
static inline void send_samples(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		start();
		for (uint32_t j = test__random() % 4; j > 0; j--)
			frame(j % 2 ? foo_id : bar_id, 10 * (test__random() % 3));
		if (i % 5 == 0)
			frame(size_id, 0);
		frame(block_id, 0);
		frame(main_id, 0);
		sample.event.time = 1000 + i * 10000000ull;
		sample.event.value = i % 3 ? 10000000 : test__random();
		sample.event.count = 1;
		sample.event.thread = 3 + i % 2;
		sample.event.thread_slot = 30 + 10 * (i % 2);
		sample.event.tid = 100 + i % 2;
		sample.event.source = i % 4 ? SOURCE_CPU : SOURCE_SCHED;
		sample.event.state = i % 4 ? 0 : STATE_IO;
		if (i % 50 == 0) {
			sample.event.truncated = TRUNC_DEPTH;
			sample.event.left_out = i;
		}
		if (i % 70 == 0)
			sample.event.gc_phase = RB_DEBUG_EXT_GC_MARK;
		send(1);
	}
}

static inline void send_some(void)
{
	send_samples(3000);
}

static inline void name_all(void)
{
	resolve__name_threads(&resolver, &vm);
	resolve__name_processes(&resolver);
	resolve__describe(&resolver, &table);
}

/* What the live profile shows of a mode. */
static inline int build_live(struct report *r, uint32_t mode, const struct output_format *format)
{
	struct report_view v = {
		.mode = both[mode], .mode_frame = resolver.mode_frames[mode], .by_value = format->by_value || !both[mode]->by_count,
	};
	struct groups groups = resolver.groups;
	int err;

	groups__add_mask(&groups, format->labels);
	err = report__build(r, &tree, &frames, &groups, format->detail, &v);
	if (err)
		return err;
	strcpy(r->meta.command, "puma <app>");
	strcpy(r->meta.ended, "Ctrl-C");
	r->meta.pid = 77;
	r->meta.duration = 30.5;
	r->meta.modes = resolver.mode_count;
	r->meta.period = 10000000;
	r->meta.cpu_time = 12345678;
	r->meta.accounting.taken = 3001;
	r->meta.accounting.whole = 2940;
	r->meta.accounting.truncated[TRUNC_DEPTH] = 60;
	r->meta.accounting.lost[LOSS_RING_FULL] = 1;
	return processes__copy(&r->processes, &processes);
}

static inline int write_reports(struct report *list, uint32_t count, const struct output_format *format, char *to, size_t size)
{
	struct output_options o = { .top = 20 };
	FILE *f = fmemopen(to, size - 1, "w");
	int err;

	memset(to, 0, size);
	err = format->write(list, count, &o, f);
	fclose(f);
	return err;
}

static inline void end_recording(void)
{
	struct reports reports = { 0 };

	name_all();
	for (uint32_t i = 0; i < resolver.mode_count; i++)
		reports.count += !build_live(&reports.list[i], i, &output_summary);
	if (recording_sink__end(&sink) || recording_account__end(sink.writer, &reports) ||
	    recording_writer__end(sink.writer))
		test__fail(__FILE__, __LINE__, "the recording cannot be ended");
	sink.ended = true;
	reports__free(&reports);
}

static inline int read_reports(const struct recording_filter *filter, const struct recording_request *request, struct reports *reports)
{
	struct recording_profile *p = NULL;
	struct recording_reader *r = NULL;
	int err = recording_reader__open(&r, FILE_NAME, NULL, &diag);

	memset(reports, 0, sizeof(*reports));
	if (!err)
		err = recording_profile__create(&p, &r, 1, filter, &diag);
	if (!err)
		err = recording_profile__reports(p, request, reports, &diag);
	recording_profile__destroy(p);
	recording_reader__close(r);
	return err;
}

/* --group-by of the next report; NULL: as it was recorded. */
static const char *group_by;

static inline int read_report(const char *modes, const char *filter, struct reports *reports, const struct output_format *format)
{
	struct groups groups;
	struct recording_request request = {
		.detail = format->detail, .labels = format->labels, .by_value = format->by_value,
		.timeline = format->timeline,
	};
	struct recording_filter f = { .modes = modes };
	int err = filter ? recording_filter__add(&f, filter) : 0;

	memset(reports, 0, sizeof(*reports));
	if (!err && group_by) {
		err = groups__parse(group_by, &groups);
		f.groups = &groups;
	}
	return err ? err : read_reports(&f, &request, reports);
}

#endif /* RECORDING_FIXTURE_H */
