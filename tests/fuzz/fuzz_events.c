/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What comes out of the rings of the kernel: samples, waits, collections, allocations, system calls, and what happens to
 * processes; of any content and length, through an engine to its report.  An input has a byte that chooses the modes, and
 * then events: a byte that chooses the ring, two bytes of length, and so many bytes.
 */
#include "engine_fixture.h"
#include "need.h"
#include "output/output.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A number of a process that there is none of. */
#define NOBODY 0x3ffffff0u

static struct {
	const uint8_t *at, *end;
} input;
static struct session_ops ops;

/* The processes of this machine are none of the input's business. */
static void choose_processes(uint8_t *event, size_t size)
{
	struct process_event ev;

	if (size < sizeof(ev))
		return;
	memcpy(&ev, event, sizeof(ev));
	if (ev.kind == PROCESS_MEMORY)
		return;
	ev.pid = ev.pid % 4 == 1 ? (uint32_t)pid : ev.pid % 4 == 2 ? NOBODY : ev.pid % 4 ? NOBODY + 1 : 0;
	memcpy(event, &ev, sizeof(ev));
}

/* Events of one ring, until one of the other comes. */
static int drain(bool lifecycle, session_callback callback, void *context)
{
	int count = 0;

	while (input.end - input.at >= 3 && (input.at[0] & 1) == lifecycle) {
		size_t size = input.at[1] | (size_t)input.at[2] << 8;
		uint8_t *event;
		bool more;

		input.at += 3;
		if (size > (size_t)(input.end - input.at))
			size = (size_t)(input.end - input.at);
		event = malloc(size ? size : 1);
		need(event != NULL);
		memcpy(event, input.at, size);
		input.at += size;
		if (lifecycle)
			choose_processes(event, size);
		more = callback(context, event, size);
		free(event);
		count++;
		if (!more)
			return -ECANCELED;
	}
	return count;
}

static int drain_samples(struct session *s, session_callback callback, void *context)
{
	(void)s;
	return drain(false, callback, context);
}

static int drain_lifecycle(struct session *s, session_callback callback, void *context)
{
	(void)s;
	return drain(true, callback, context);
}

static void choose_modes(uint8_t choice)
{
	static const struct mode *const sets[][4] = {
		{ &mode_cpu }, { &mode_wall }, { &mode_gvl, &mode_cpu }, { &mode_offcpu, &mode_gc }, { &mode_alloc, &mode_gc, &mode_cpu },
		{ &mode_heap }, { &mode_syscall }, { &mode_event, &mode_cpu },
	};

	settings = (struct settings){
		.size = sizeof(settings), .selection = { .pids = pids, .pid_count = 1, .subprocesses = true }, .command = true,
		.reader = READER_EBPF, .rate = 99, .figures = choice & 8, .native = choice & 16, .kernel = choice & 32, .idle = choice & 64,
		.lines = choice & 128, .interrupt_fd = -1, .alloc_interval = 512 << 10, .details = UINT32_MAX,
	};
	for (int i = 0; i < 4 && sets[choice & 7][i]; i++)
		settings.modes[settings.mode_count++] = sets[choice & 7][i];
	/* Not with modes that show waits. */
	if ((choice & 7) == 1 || (choice & 7) == 2 || (choice & 7) == 3)
		settings.figures = false;
	groups__parse("thread,label:key", &settings.groups);
}

static void report(void)
{
	struct report_request request = { .detail = REPORT_BY_LINE };
	const struct output_options options = { .top = 20 };
	struct reports reports;
	char *text = NULL;
	size_t length = 0;
	FILE *to;

	if (engine__reports(e, &request, &reports, &diag))
		return;
	to = open_memstream(&text, &length);
	need(to != NULL);
	output_summary.write(reports.list, reports.count, &options, to);
	fclose(to);
	need_clean(text, length, true);
	free(text);
	reports__free(&reports);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	fake__init(&ruby, &section);
	method = fake__record(&ruby, RB_DEBUG_EXT_BODY, "<main>", 0, 0);
	fake__thread(&ruby, 3, 30, "worker\x1b[2J", NULL);
	pids[0] = pid = make_ruby();
	need(pid > 0);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct process *p;
	uint8_t choice = size ? *data : 0;

	fake_session__init();
	ops = *fake_session.session.ops;
	ops.drain = drain_samples;
	ops.drain_lifecycle = drain_lifecycle;
	/* To look into libraries takes long, and is another subject. */
	ops.set_context = NULL;
	fake_session.session.ops = &ops;
	input.at = data + (size ? 1 : 0);
	input.end = data + size;
	choose_modes(choice);
	fake_session.has_figures = settings.figures;
	fake_session.has_waits = choice & 2;
	diag.text[0] = '\0';
	e = NULL;
	if (engine__create(&e, &settings, &diag))
		return 0;
	p = engine__open(e, &diag) ? NULL : first();
	/* Nor are the files of this program. */
	if (p)
		p->knows_revision = true;
	if (p && attach(p, 7)) {
		for (int i = 0; i < 64 && input.end - input.at >= 3; i++)
			if (engine__step(e, &diag))
				break;
		if (!engine__finish(e, &diag))
			report();
	}
	need_clean(diag.text, strlen(diag.text), false);
	engine__destroy(e);
	return 0;
}
