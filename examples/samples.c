/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints each sample of a process as it comes, one line each, with tabs between its parts: mode, time, process, thread,
 * its name, its state, value, unit, number, labels, trace, span, and the stack from its outermost frame on.  How many were
 * lost is on stderr.
 *
 *	cc -o samples samples.c $(pkg-config --cflags --libs extprof)
 *	sudo ./samples PID SECONDS [MODES]
 */
#include <extprof.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void print_frame(const struct extprof_frame *f)
{
	printf("%s", f->name);
	if (f->line)
		printf(" %s:%s%d", f->path, f->approximate ? "~" : "", f->line);
}

static int on_sample(void *context, const struct extprof_sample *s)
{
	uint64_t *count = context;

	++*count;
	printf("%s\t%" PRIu64 "\t%d\t%" PRIu32 "\t%s\t%s\t%" PRIu64 "\t%s\t%" PRIu64 "\t", s->mode, s->time, (int)s->pid, s->tid,
	       s->thread ? s->thread->bare : "", extprof_word(EXTPROF_STATES, (size_t)s->state), s->stack->value, s->unit,
	       s->count);
	for (size_t i = 0; i < s->label_count; i++)
		printf("%s%s=%s", i ? ";" : "", s->labels[i]->key, s->labels[i]->bare);
	printf("\t%s\t%s", s->trace_id ? s->trace_id : "", s->span_id ? s->span_id : "");
	for (size_t i = 0; i < s->stack->count; i++) {
		printf("%c", i ? ';' : '\t');
		print_frame(s->stack->frames[i]);
	}
	printf("\n");
	/* Who reads them has gone: a recording that nobody reads ends. */
	return fflush(stdout) ? -32 /* EPIPE */ : 0;
}

static void on_loss(void *context, const struct extprof_loss *l)
{
	(void)context;
	fprintf(stderr, "%" PRIu64 " samples of %s (%d) were lost\n", l->count, l->process, (int)l->pid);
}

int main(int argc, char **argv)
{
	struct extprof_error error = { .size = sizeof(error) };
	struct extprof_options *options = NULL;
	struct extprof_recording *r = NULL;
	uint64_t count = 0;
	int err;

	if (argc < 3) {
		fprintf(stderr, "usage: samples PID SECONDS [MODES]\n");
		return 2;
	}
	if ((err = extprof_options_create(&options)) ||
	    (err = extprof_options_set(options, "pid", argv[1], &error)) ||
	    (err = extprof_options_set(options, "duration", argv[2], &error)) ||
	    (err = extprof_options_set(options, "modes", argc > 3 ? argv[3] : "cpu", &error)) ||
	    (err = extprof_recording_create(&r, extprof_options_get(options), &error)) ||
	    (err = extprof_recording_each_sample(r, on_sample, &count, &error)) ||
	    (err = extprof_recording_each_loss(r, on_loss, NULL, &error)) ||
	    (err = extprof_recording_open(r, &error)) ||
	    (err = extprof_recording_begin(r, &error)) ||
	    (err = extprof_recording_run(r, &error)) ||
	    (err = extprof_recording_finish(r, &error)))
		fprintf(stderr, "samples: %s\n%s\n", error.text, error.hint);
	else
		fprintf(stderr, "%" PRIu64 " samples\n", count);
	extprof_recording_destroy(r);
	extprof_options_destroy(options);
	return err ? 1 : 0;
}
