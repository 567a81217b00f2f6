/* SPDX-License-Identifier: BSD-2-Clause */
/* Which groups and labels of recordings are shown, and whether recordings have them. */
#include <errno.h>
#include <string.h>

#include "profile/group_names.h"
#include "recording/profile_parts.h"

/* "a, b": keys that frames of the recording have, some of them. */
static void list_labels(const struct input *in, struct text *out)
{
	const char *last[8];
	uint32_t count = 0;

	for (uint32_t id = 1; id < in->tables->frame_count && count < sizeof(last) / sizeof(last[0]); id++) {
		const struct frame *f = &in->tables->frames[id];
		bool known = f->kind != FRAME_LABEL || !*f->key;

		for (uint32_t i = 0; i < count && !known; i++)
			known = !strcmp(last[i], f->key);
		if (known)
			continue;
		text__addf(out, "%s%s", count ? ", " : "", f->key);
		last[count++] = f->key;
	}
}

/* Has the recording labels of `show`? */
void recording_groups__look(struct recording_profile *p, const struct input *in)
{
	const struct recording_tables *t = in->tables;

	int has_traces = -1;	/* each block is looked at for that */

	for (int i = 0; i < p->show.label_count; i++) {
		if (p->keys[i] && trace__part_of_label(p->keys[i]) >= 0) {
			if (has_traces < 0)
				has_traces = recording_reader__has_traces(in->reader);
			if (has_traces)
				p->keys[i] = NULL;
		}
		for (uint32_t id = 1; id < t->frame_count && p->keys[i]; id++)
			if (t->frames[id].kind == FRAME_LABEL && !strcmp(t->frames[id].key, p->keys[i]))
				p->keys[i] = NULL;
	}
}

/* No recording has one of them: when all have been read. */
int recording_groups__check(const struct recording_profile *p, struct diag *d)
{
	if (request_choice__chooses(&p->filter.requests) && !p->has_request_label)
		return diag__set(d, DIAG_USAGE, EINVAL, "no sample of the recording has the label \"%s\"", p->filter.requests.label);
	for (int i = 0; i < p->show.label_count && !p->filter.labels_can_lack; i++)
		if (p->keys[i])
			return diag__set(d, DIAG_USAGE, EINVAL, "no sample of the recording has %s\"%s\"; %s%s",
					 trace__part_of_label(p->keys[i]) < 0 ? "the label " : "a trace, or the label ", p->keys[i],
					 p->known_keys.length ? "it has: " : "it has no labels at all", text__string(&p->known_keys));
	return 0;
}

/* All samples of a recording have one name and one host: each is shown as the value of a label. */
static int name_inputs(struct recording_profile *p, enum input_label label, enum group_key key, struct diag *d)
{
	p->input_labels[label] = -1;
	if (!groups__has(&p->show, key))
		return 0;
	p->input_labels[label] = groups__name_as_label(&p->show, key);
	if (p->input_labels[label] < 0)
		return diag__set(d, DIAG_USAGE, E2BIG, "%s and labels: at most %d groups in all", group_names[key], GROUP_LABELS_MAX);
	for (uint32_t i = 0; i < p->count; i++) {
		struct frame f = FRAME_INIT(FRAME_LABEL);
		const char *host = recording_reader__host(p->inputs[i].reader);

		f.key = group_names[key];
		f.name = label == INPUT_HOST ? host : recording_reader__name(p->inputs[i].reader);
		p->inputs[i].frames[label] = *f.name ? frame_table__add(&p->frames, &f) :
					     group_names__add_label(&p->frames, f.key, LABEL_NOT_SET, NULL, false);
		if (!p->inputs[i].frames[label])
			return recording_profile__no_memory(d);
	}
	return 0;
}

static bool is_of_input(const struct recording_profile *p, int label)
{
	return label == p->input_labels[INPUT_NAME] || label == p->input_labels[INPUT_HOST];
}

/* Processes of different machines can have one pid. */
bool recording_groups__has_several_hosts(const struct recording_profile *p)
{
	const char *first = "";

	for (uint32_t i = 0; i < p->count; i++) {
		const char *host = recording_reader__host(p->inputs[i].reader);

		/* One that does not say it can be of the same one. */
		if (*first && *host && strcmp(first, host))
			return true;
		first = *first ? first : host;
	}
	return false;
}

/* The groups that are shown, and what is shown of samples that have no value of a label. */
int recording_groups__choose(struct recording_profile *p, const struct groups *wanted, struct diag *d)
{
	static const enum label_state states[] = { LABEL_NOT_SET, LABEL_EXPIRED, LABEL_UNREAD };
	static const enum frame_known knowns[] = { KNOWN_NOT_SET, KNOWN_EXPIRED, KNOWN_UNREAD };
	int err = 0;

	list_labels(&p->inputs[0], &p->known_keys);
	p->show = wanted ? *wanted : p->view.groups;
	p->shown_by_default = !wanted;
	p->host_by_default = !wanted && p->view.group_by_default && recording_groups__has_several_hosts(p);
	if (p->host_by_default)
		groups__add(&p->show, GROUP_HOST);
	for (int part = 0; part < TRACE_PARTS; part++)
		p->trace_label[part] = -1;
	err = name_inputs(p, INPUT_NAME, GROUP_RECORDING, d);
	if (!err)
		err = name_inputs(p, INPUT_HOST, GROUP_HOST, d);
	for (int i = 0; i < p->show.label_count && !err; i++) {
		const char *key = p->show.labels[i];
		int part = trace__part_of_label(key);
		uint32_t *frames = p->no_label[i];

		if (part >= 0 && !is_of_input(p, i))
			p->trace_label[part] = i;

		for (size_t j = 0; j < sizeof(states) / sizeof(states[0]); j++)
			frames[knowns[j]] = group_names__add_label(&p->frames, key, states[j], NULL, false);
		frames[KNOWN_CROWDED] = group_names__add_crowded(&p->frames, FRAME_LABEL, key);
		if (!frames[KNOWN_NOT_SET] || !frames[KNOWN_EXPIRED] || !frames[KNOWN_UNREAD] || !frames[KNOWN_CROWDED])
			return recording_profile__no_memory(d);
		p->label_keys[i] = frame_table__get(&p->frames, frames[KNOWN_NOT_SET])->key;
		p->keys[i] = wanted && !is_of_input(p, i) ? p->label_keys[i] : NULL;
	}
	return err;
}
