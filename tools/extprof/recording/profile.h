/* SPDX-License-Identifier: BSD-2-Clause */
/* From a recording back to reports, the same that the live profile gave. */
#ifndef EXTPROF_RECORDING_PROFILE_H
#define EXTPROF_RECORDING_PROFILE_H

#include "profile/report.h"
#include "profile/tree.h"
#include "profile/unit.h"
#include "recording/account.h"
#include "recording/reader.h"

/* Which samples count: all conditions hold. */
#define RECORDING_CONDITIONS_MAX 16

enum recording_key {
	KEY_PROCESS,		/* command or pid */
	KEY_THREAD,		/* name or tid */
	KEY_METHOD,		/* of any frame of the stack */
	KEY_FILE,
	KEY_STATE,
	KEY_LABEL		/* the value of a label */
};

struct recording_filter {
	uint64_t since, until;	/* ns after the begin; until 0: to the end */
	struct recording_condition {
		enum recording_key key;
		char label[128];
		char pattern[256];	/* as for fnmatch(3) */
	} list[RECORDING_CONDITIONS_MAX];
	uint32_t count;
	const char *modes;	/* "cpu,gc"; NULL: all */
	const struct groups *groups;	/* --group-by; NULL: as it was recorded */
};

/* Add "method=Foo*", "label:request=GET *".  0; -EINVAL: it is none; -E2BIG. */
int recording_filter__add(struct recording_filter *f, const char *text);

struct recording_profile;

/* What of the recording is asked for is added up.  The filter is not needed afterwards.  The reader is. */
int recording_profile__create(struct recording_profile **profile, struct recording_reader *reader,
			      const struct recording_filter *filter, struct diag *d);
void recording_profile__destroy(struct recording_profile *p);

struct recording_request {
	enum report_detail detail;
	uint32_t labels;			/* as in struct report_request */
	const struct unit_choice *unit;
	bool by_value;
};

/* The reports of all modes that were asked for. */
int recording_profile__reports(struct recording_profile *p, const struct recording_request *request,
			       struct reports *reports, struct diag *d);

#endif /* EXTPROF_RECORDING_PROFILE_H */
