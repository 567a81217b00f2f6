/* SPDX-License-Identifier: BSD-2-Clause */
/* From the options of a caller to the settings of the engine. */
#ifndef EXTPROF_LIBRARY_SETTINGS_H
#define EXTPROF_LIBRARY_SETTINGS_H

#include "engine/settings.h"
#include "extprof.h"
#include "profile/unit.h"

/* Zero-initialise. */
struct recording_settings {
	struct settings settings;	/* points into this structure */
	pid_t *pids;
	char *name, *cgroup, *deployment;
	struct event_spec *events;
};

/*
 * Fill all of it but the selection of processes from the options, whose size is that of the structure.  0, -EINVAL or
 * -ENOMEM, with *error filled; the caller frees in both cases.
 */
int recording_settings__set(struct recording_settings *r, const struct extprof_recording_options *o,
			    struct extprof_error *error);
/* 0, or -EINVAL: reserved bytes are not 0.  recording_settings__set() has looked at them. */
int recording_options__check_reserved(const struct extprof_recording_options *o, struct extprof_error *error);
/* Copy which processes are chosen.  Returns like recording_settings__set(). */
int recording_settings__select(struct recording_settings *r, const struct extprof_recording_options *o,
			       struct extprof_error *error);
void recording_settings__free(struct recording_settings *r);

/* Add the directories of the application.  0, -EINVAL, -E2BIG or -ENOMEM with *error. */
int apps__name(struct owner_dirs *dirs, const char *list, struct extprof_error *error);

/* Set how the stacks are shown; NULL: nothing of that kind.  The caller frees it in any case.  Returns like
 * recording_settings__set(). */
int transform__set(struct transform *t, const char *focus, const char *hide, const char *collapse, struct extprof_error *error);

/* How the stacks of recordings are shown, and whose code they are.  Zero-initialise. */
struct shape {
	struct transform transform;
	struct owner_dirs apps;
};

/* The same of all of it; NULL: nothing of that kind.  The caller frees in any case. */
int shape__set(struct shape *s, const char *app, const char *focus, const char *hide, const char *collapse,
	       struct extprof_error *error);
void shape__free(struct shape *s);

/* *choice stays NULL without a name.  0 or -EINVAL. */
int unit__find(const char *name, const struct unit_choice **choice, struct extprof_error *error);

#endif /* EXTPROF_LIBRARY_SETTINGS_H */
