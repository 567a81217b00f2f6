/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the Ruby stacks of one second of a process, each with its number of samples.
 *
 *	cc -o stacks stacks.c $(pkg-config --cflags --libs extprof)
 *	sudo ./stacks PID
 */
#include <extprof.h>
#include <inttypes.h>
#include <stdlib.h>

static void print_stacks(struct extprof_report *report)
{
	const struct extprof_accounting *a = extprof_report_accounting(report);
	const struct extprof_stack *s;

	while ((s = extprof_report_next(report))) {
		printf("%" PRIu64 "\n", s->value);
		for (size_t i = s->count; i-- > 0;) {
			const struct extprof_frame *f = s->frames[i];

			printf("\t%s", f->name);
			if (f->line)
				printf(" %s:%s%d", f->path, f->approximate ? "~" : "", f->line);
			printf("\n");
		}
	}
	printf("samples taken %" PRIu64 " = whole %" PRIu64 " + truncated %" PRIu64 " + lost %" PRIu64 "\n",
	       a->taken, a->whole, a->truncated, a->lost);
}

int main(int argc, char **argv)
{
	pid_t pid = argc == 2 ? atoi(argv[1]) : 0;
	struct extprof_error error = { .size = sizeof(error) };
	struct extprof_recording_options options = {
		.size = sizeof(options), .pids = &pid, .pid_count = 1, .rate = 999,
		.duration = 1000000000, .lines = true,
	};
	struct extprof_recording *recording = NULL;
	struct extprof_report *report = NULL;
	int err;

	if (pid <= 0) {
		fprintf(stderr, "usage: stacks PID\n");
		return 2;
	}
	if ((err = extprof_recording_create(&recording, &options, &error)) ||
	    (err = extprof_recording_open(recording, &error)) ||
	    (err = extprof_recording_begin(recording, &error)) ||
	    (err = extprof_recording_run(recording, &error)) ||
	    (err = extprof_recording_finish(recording, &error)) ||
	    (err = extprof_recording_report(recording, &report, &error)))
		fprintf(stderr, "stacks: %s\n%s\n", error.text, error.hint);
	else
		print_stacks(report);
	extprof_report_destroy(report);
	extprof_recording_destroy(recording);
	return err ? 1 : 0;
}
