/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole files that say they are recordings: opened, checked, reported and asked in SQL. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output/output.h"
#include "recording/join.h"
#include "recording/profile.h"
#include "recording/samples_table.h"

/* The recording by itself, or together with itself. */
static void report(struct recording_reader *r, uint32_t count)
{
	struct recording_reader *const readers[2] = { r, r };
	const struct recording_request request = { .detail = REPORT_BY_NAME };
	const struct recording_request timeline = {
		.detail = output_firefox.detail, .by_value = true, .labels = output_firefox.labels, .timeline = true, .shows_idle = count > 1,
	};
	const struct recording_request resources = { .detail = output_otlp.detail, .labels = output_otlp.labels };
	const struct output_options options = { .top = 20 };
	struct recording_filter filter = { 0 };
	struct recording_profile *profile;
	struct reports reports;
	struct diag d = { 0 };
	struct groups groups;
	FILE *to = fopen("/dev/null", "w");

	recording_filter__add(&filter, "method=*");
	if (count > 1 && !groups__parse("recording,thread", &groups))
		filter.groups = &groups;
	if (!recording_profile__create(&profile, readers, count, &filter, &d)) {
		if (!recording_profile__reports(profile, &request, &reports, &d)) {
			output_summary.write(reports.list, reports.count, &options, to);
			reports__free(&reports);
		}
		if (!recording_profile__reports(profile, &timeline, &reports, &d)) {
			output_firefox.write(reports.list, reports.count, &options, to);
			reports__free(&reports);
		}
		if (!recording_profile__reports(profile, &resources, &reports, &d)) {
			output_otlp.write(reports.list, reports.count, &options, to);
			output_otlp_json.write(reports.list, reports.count, &options, to);
			reports__free(&reports);
		}
		recording_profile__destroy(profile);
	}
	/* A time of it as if it alone had been recorded. */
	filter.cuts = true;
	filter.span.since = 1000000000;
	filter.span.until = 3000000000;
	if (!recording_profile__create(&profile, readers, count, &filter, &d)) {
		for (int i = 0; i < 2; i++)
			if (!recording_profile__reports(profile, &request, &reports, &d)) {
				output_summary.write(reports.list, reports.count, &options, to);
				reports__free(&reports);
			}
		recording_profile__destroy(profile);
	}
	fclose(to);
}

static const char statements[] = "SELECT * FROM samples; SELECT * FROM top_methods; SELECT stack_text(stack), label(labels, 'a') FROM samples; "
	"SELECT * FROM requests";

/* Together with itself, all of it and a time. */
static void ask_joined(struct recording_reader *r, struct deadline *deadline)
{
	struct recording_reader *const readers[2] = { r, r };
	const uint64_t begin = recording_reader__wall(r), times[2][2] = { { 0, 0 }, { begin + 1, begin + 1000000000 } };

	for (int i = 0; i < 2; i++) {
		struct diag d = { 0 };
		sqlite3 *db;
		int err = recording_join(&db, readers, 2, times[i][0], times[i][1], deadline, &d);

		if (!err && samples_table__register(db) == SQLITE_OK)
			sqlite3_exec(db, statements, NULL, NULL, NULL);
		if (err && !d.text[0])
			abort();
		sqlite3_close_v2(db);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* SQLite wants a file with a name. */
	static const char path[] = "fuzz_recording.tmp";
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct recording_reader *r;
	struct recording_check check;
	struct deadline deadline;
	struct diag d = { 0 };

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	deadline__start(&deadline, -1, deadline__now() + 10000000000ull);
	if (!recording_reader__open(&r, path, &deadline, &d)) {
		recording_reader__verify(r, &check, &d);
		report(r, 1);
		report(r, 2);
		ask_joined(r, &deadline);
		if (samples_table__register(recording_reader__database(r)) == SQLITE_OK)
			sqlite3_exec(recording_reader__database(r), statements, NULL, NULL, NULL);
		recording_reader__close(r);
	} else if (!d.text[0]) {
		abort();
	}
	close(fd);
	return 0;
}
