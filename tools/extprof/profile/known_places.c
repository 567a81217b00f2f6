/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/known_places.h"

#include <string.h>

#include "frames/owner.h"
#include "wire/states.h"

const struct known_place known_places[] = {
	{ "sidekiq", "Sidekiq::BasicFetch#retrieve_work", 1u << STATE_IO | 1u << STATE_SLEEP, false, false },
	{ "sidekiq", "Sidekiq::Scheduled::Poller#initial_wait", 1u << STATE_CONDVAR, false, false },
	{ "sidekiq", "Sidekiq::Scheduled::Poller#wait", 1u << STATE_CONDVAR | 1u << STATE_SLEEP, false, false },
	{ "sidekiq", "Sidekiq::CLI#launch", 1u << STATE_IO, true, false },
	{ "puma", "Puma::Cluster#run", 1u << STATE_IO, true, false },
	{ "puma", "block in Puma::Cluster::Worker#run", 1u << STATE_IO, true, false },
	{ "unicorn", "Unicorn::HttpServer#worker_loop", 1u << STATE_IO, true, false },
	{ "unicorn", "Unicorn::SelectWaiter#get_readers", 1u << STATE_IO, true, false },
	{ "pitchfork", "Pitchfork::SelectWaiter#get_readers", 1u << STATE_IO, true, false },
	{ "resque", "Resque::Worker#work", 1u << STATE_SLEEP, true, false },
	{ "async-container", "block in Async::Container::Group#select", 1u << STATE_IO, true, false },
	/* Fibers of falcon, and of what it is made of: connections between two requests, what accepts them, what looks after both. */
	{ "protocol-http1", "Protocol::HTTP1::Connection#read_request_line", 1u << STATE_PARKED, false, false },
	{ "io-endpoint", "IO::Endpoint::Wrapper#socket_accept", 1u << STATE_PARKED, false, false },
	{ "async-http", "block in Async::HTTP::Server#run", 1u << STATE_PARKED, false, false },
	{ "falcon", "block in Falcon::Service::Server#run", 1u << STATE_PARKED, false, false },
	{ "async-service", "block in Async::Service::Managed::HealthChecker#health_checker", 1u << STATE_PARKED, false, false },
	{ "async-pool", "block in Async::Pool::Controller#start_gardener", 1u << STATE_PARKED, false, true },
	/* Requests that wait for what it reads have fibers of their own. */
	{ "async-http", "block in Async::HTTP::Protocol::HTTP2::Connection#read_in_background", 1u << STATE_PARKED, false, true },
};
const uint32_t known_place_count = sizeof(known_places) / sizeof(known_places[0]);

bool known_places__is_labelled_rest(const struct frame *f)
{
	struct owner o;

	for (uint32_t i = 0; i < known_place_count; i++) {
		const struct known_place *p = &known_places[i];

		if (!p->labelled || strcmp(f->name, p->method))
			continue;
		owner__find(f->path, NULL, &o);
		return o.kind == OWNER_GEM && o.name_length == strlen(p->gem) && !memcmp(o.name, p->gem, o.name_length);
	}
	return false;
}
