/* SPDX-License-Identifier: BSD-2-Clause */
/* A time of recordings as reports: what was there at that moment. */
#include <errno.h>
#include <string.h>

#include "library/error.h"
#include "library/recorded.h"
#include "library/report.h"

_Static_assert(EXTPROF_RECORDED_PAST == RECORDING_PAST, "they are the same");

int extprof_recorded_reports(struct extprof_recorded *r, const struct extprof_recorded_options *options,
			     struct extprof_report **reports, size_t room, size_t *count, struct extprof_error *error)
{
	struct extprof_recorded_options o;
	struct reports made = { 0 };
	int err = OPTIONS_TAKE(&o, options, error);

	*count = 0;
	if (!err)
		err = recorded__window(r, &o, &made, error);
	if (!err && made.count > room)
		err = error__set(error, DIAG_USAGE, E2BIG, "there are %u modes, and room for %zu reports", made.count, room);
	for (uint32_t i = 0; i < made.count && !err; i++) {
		/* The report is taken in any case. */
		struct report one = made.list[i];

		memset(&made.list[i], 0, sizeof(made.list[i]));
		if (library_report__create(&reports[*count], &one))
			err = error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory for the report");
		else
			++*count;
	}
	reports__free(&made);
	for (size_t i = *count; err && i-- > 0;)
		extprof_report_destroy(reports[i]);
	if (err)
		*count = 0;
	return err;
}
