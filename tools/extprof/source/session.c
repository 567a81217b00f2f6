/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/session.h"

void session__close(struct session *s)
{
	if (s)
		s->ops->close(s);
}

int session__start(struct session *s, struct diag *d)
{
	return s->ops->start(s, d);
}

void session__pause(struct session *s)
{
	s->ops->pause(s);
}

void session__stop(struct session *s)
{
	s->ops->stop(s);
}

void session__detach(struct session *s)
{
	s->ops->detach(s);
}

void session__follow(struct session *s)
{
	s->ops->follow(s);
}

bool session__attaches(const struct session *s)
{
	return s->ops->attaches(s);
}

int session__add_ruby(struct session *s, const struct source_target *target, uint32_t *failed, struct diag *d)
{
	return s->ops->add_ruby(s, target, failed, d);
}

uint32_t session__new_number(struct session *s)
{
	return s->ops->new_number(s);
}

int session__set_target(struct session *s, const struct target_key *key, const struct target_config *config)
{
	return s->ops->set_target(s, key, config);
}

int session__add_target(struct session *s, const struct target_key *key, pid_t pid,
			const struct target_config *config)
{
	return s->ops->add_target(s, key, pid, config);
}

void session__remove_target(struct session *s, const struct target_key *key)
{
	s->ops->remove_target(s, key);
}

void session__drop(struct session *s, const struct target_key *key, uint32_t process, const struct target_config *config)
{
	s->ops->drop(s, key, process, config);
}

int session__fd(const struct session *s)
{
	return s->ops->fd(s);
}

int session__drain(struct session *s, session_callback callback, void *context)
{
	return s->ops->drain(s, callback, context);
}

int session__drain_lifecycle(struct session *s, session_callback callback, void *context)
{
	return s->ops->drain_lifecycle(s, callback, context);
}

void session__counters(const struct session *s, uint32_t process, enum sample_source source,
		       struct source_counters *counters)
{
	s->ops->counters(s, process, source, counters);
}

void session__add_counters(struct session *s, uint32_t process, enum sample_source source,
			   const struct source_counters *counters)
{
	s->ops->add_counters(s, process, source, counters);
}

void session__forget_counters(struct session *s, uint32_t process)
{
	s->ops->forget_counters(s, process);
}

uint64_t session__lost_events(const struct session *s)
{
	return s->ops->lost_events(s);
}

void session__facts(const struct session *s, enum sample_source source, struct source_facts *facts)
{
	s->ops->facts(s, source, facts);
}

struct source *session__source(const struct session *s, enum sample_source source)
{
	return s->ops->source(s, source);
}

bool session__looks_only(const struct session *s)
{
	return s->ops->looks != NULL;
}

void session__accounts(const struct session *s, uint64_t interval, account_callback callback, void *context)
{
	s->ops->accounts(s, interval, callback, context);
}

void session__looks(const struct session *s, uint32_t process, struct session_looks *looks)
{
	s->ops->looks(s, process, looks);
}
