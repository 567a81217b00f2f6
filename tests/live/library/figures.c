/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * figures PID: figures and the modes alloc, gc, cpu and event in one recording, until the process ends.  Prints a line
 * "key value" for each figure that is known, and "MODE TOTAL LOST" for each mode.
 */
#include <extprof.h>
#include <inttypes.h>
#include <stdlib.h>

static const char *const modes[] = { "alloc", "gc", "cpu", "event" };

static int print_mode(struct extprof_recording *r, const char *mode, struct extprof_error *error)
{
	struct extprof_report *report;
	int err = extprof_recording_report_mode(r, mode, NULL, &report, error);

	if (!err)
		printf("%s %" PRIu64 " %" PRIu64 "\n", mode, extprof_report_facts(report)->total,
		       extprof_report_accounting(report)->lost);
	extprof_report_destroy(report);
	return err;
}

int main(int argc, char **argv)
{
	static const char *const event[] = { "page-faults" };
	pid_t pid = argc > 1 ? atoi(argv[1]) : 0;
	struct extprof_error error = { .size = sizeof(error) };
	struct extprof_recording_options o = {
		.size = sizeof(o), .pids = &pid, .pid_count = 1, .rate = 999, .modes = "alloc,gc,cpu,event", .events = event,
		.event_count = 1, .event_period = 1, .figures = true, .alloc_interval = 64 << 10,
	};
	const struct extprof_figures_result *result;
	struct extprof_recording *r = NULL;
	int err;

	if ((err = extprof_recording_create(&r, &o, &error)) || (err = extprof_recording_open(r, &error)) ||
	    (err = extprof_recording_begin(r, &error)))
		goto failed;
	printf("begun\n");
	fflush(stdout);
	if ((err = extprof_recording_run(r, &error)) || (err = extprof_recording_finish(r, &error)) ||
	    (err = extprof_recording_figures(r, &result, &error)))
		goto failed;
	for (size_t i = 0; i < result->total->value_count; i++)
		if (result->total->values[i]->known)
			printf("%s %" PRIu64 "\n", result->total->values[i]->key, result->total->values[i]->value);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]) && !err; i++)
		err = print_mode(r, modes[i], &error);
failed:
	if (err)
		fprintf(stderr, "figures: %s\n", error.text);
	extprof_recording_destroy(r);
	return err != 0;
}
