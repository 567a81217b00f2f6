/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/server.h"

#include <errno.h>
#include <stdio.h>

#ifndef EXTPROF_MICROHTTPD

int server__check(char *why, size_t size)
{
	snprintf(why, size, "this extprof was built without libmicrohttpd: install libmicrohttpd-dev, and build it again");
	return -ENOSYS;
}

int server__run(const struct server_options *o, char *why, size_t size)
{
	(void)o;
	return server__check(why, size);
}

#else

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "serve/making.h"
#include "serve/microhttpd.h"

#define SECOND 1000000000ull
#define WAIT_MS 1000

/* A connection, from its begin to its end. */
struct client {
	struct client *next;
	int fd;
	uint64_t since;		/* it has been there */
	uint64_t asks_since;	/* the request has been arriving; 0: it is there */
};

/* A request that has a page. */
struct job {
	struct job *next;
	struct MHD_Connection *connection;
	int fd;				/* of the connection, to see that it is gone */
	struct serve_request request;
	char nonce[SERVE_NONCE + 1];
	struct making making;
	enum { JOB_WAITS, JOB_RUNS, JOB_OVER } state;
	unsigned int status;
	char error[512];
};

/* The state of a request between two calls. */
struct state {
	struct job *job;	/* NULL: there is none */
	bool has_body;
};

struct server {
	const struct server_options *options;
	const struct microhttpd *http;
	struct MHD_Daemon *daemon;
	struct client *clients;
	struct job *jobs;	/* the oldest one first */
	unsigned int running;
	bool ends, resumed;	/* resumed: libmicrohttpd has something to do, which no descriptor says */
	int fd;			/* of the listener, for libmicrohttpd, which closes it */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* -- answers ------------------------------------------------------------------------------------------- */

/*
 * No page loads or sends anything.  Scripts are those that have the nonce; a graph has a policy of its own beside this one, with
 * a nonce that it alone knows, and is apart from the other pages: a script in it would see none of them.
 */
static int add_policy(const struct server *s, struct MHD_Response *response, const struct serve_request *r, const char *nonce)
{
	char policy[512];
	static const struct { const char *name, *value; } fixed[] = {
		{ "X-Content-Type-Options", "nosniff" }, { "Referrer-Policy", "no-referrer" }, { "Cache-Control", "no-store" },
		{ "Cross-Origin-Opener-Policy", "same-origin" }, { "Cross-Origin-Resource-Policy", "same-origin" },
		{ "X-Frame-Options", "SAMEORIGIN" },
	};

	/* An error is shown in the frame of the page that asked. */
	if (!r || r->page == SERVE_SAVE)
		snprintf(policy, sizeof(policy), "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox");
	else if (serve_page__is_graph(r))
		snprintf(policy, sizeof(policy), "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; "
			 "form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts");
	else
		snprintf(policy, sizeof(policy), "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; frame-src 'self'; "
			 "base-uri 'none'; form-action 'none'; frame-ancestors 'none'", nonce, nonce);
	if (s->http->add_response_header(response, "Content-Security-Policy", policy) != MHD_YES)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (s->http->add_response_header(response, fixed[i].name, fixed[i].value) != MHD_YES)
			return -ENOMEM;
	return 0;
}

static enum MHD_Result answer_error(const struct server *s, struct MHD_Connection *c, unsigned int status, const char *text)
{
	char body[640];
	int length = snprintf(body, sizeof(body), "extprof: %s\n", text);
	struct MHD_Response *response = s->http->create_response_from_buffer((size_t)length, body, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result = MHD_NO;

	if (!response)
		return MHD_NO;
	if (!add_policy(s, response, NULL, "") &&
	    s->http->add_response_header(response, "Content-Type", "text/plain; charset=utf-8") == MHD_YES &&
	    (status != 405 || s->http->add_response_header(response, "Allow", "GET") == MHD_YES))
		result = s->http->queue_response(c, status, response);
	s->http->destroy_response(response);
	return result;
}

static enum MHD_Result answer_page(const struct server *s, struct MHD_Connection *c, struct job *job)
{
	const char *suffix = serve_page__suffix(&job->request);
	struct MHD_Response *response;
	enum MHD_Result result = MHD_NO;
	char name[128];
	struct stat st;

	if (fstat(job->making.page, &st))
		return MHD_NO;
	response = s->http->create_response_from_fd((size_t)st.st_size, job->making.page);
	if (!response)
		return MHD_NO;
	job->making.page = -1;
	snprintf(name, sizeof(name), "attachment; filename=\"extprof%s\"", suffix ? suffix : "");
	if (!add_policy(s, response, &job->request, job->nonce) &&
	    s->http->add_response_header(response, "Content-Type", serve_page__type(&job->request)) == MHD_YES &&
	    (!suffix || s->http->add_response_header(response, "Content-Disposition", name) == MHD_YES))
		result = s->http->queue_response(c, 200, response);
	s->http->destroy_response(response);
	return result;
}

/* -- requests -------------------------------------------------------------------------------------------- */

struct values {
	struct serve_request *request;
	const char *host;
	unsigned int hosts, wrong;
};

static enum MHD_Result take_argument(void *context, enum MHD_ValueKind kind, const char *key, size_t key_size, const char *value,
				     size_t size)
{
	struct values *v = context;

	(void)kind;
	/* A zero byte would end it. */
	v->wrong += !value || strlen(key) != key_size || strlen(value) != size || serve_request__add(v->request, key, value);
	return MHD_YES;
}

static enum MHD_Result take_header(void *context, enum MHD_ValueKind kind, const char *key, size_t key_size, const char *value,
				   size_t size)
{
	struct values *v = context;

	(void)kind;
	(void)key_size;
	(void)size;
	if (!strcasecmp(key, "Host")) {
		v->host = value;
		v->hosts++;
	}
	return MHD_YES;
}

/* The status of the error that it is answered with; 0: it has a page. */
static unsigned int check(const struct server *s, struct MHD_Connection *c, const char *url, const char *method,
			  struct serve_request *request, const char **why)
{
	struct values v = { .request = request };
	int err;

	s->http->get_connection_values_n(c, MHD_HEADER_KIND, take_header, &v);
	*why = "this is not the name that it has here: use the address that extprof serve has printed";
	if (v.hosts != 1 || !serve_request__knows_host(v.host))
		return 421;
	*why = "it only answers GET";
	if (strcmp(method, "GET"))
		return 405;
	err = serve_request__begin(request, url, s->options->token);
	*why = "use the whole address that extprof serve has printed: it ends with a secret";
	if (err == -EACCES)
		return 403;
	*why = "there is no such page";
	if (err)
		return 404;
	s->http->get_connection_values_n(c, MHD_GET_ARGUMENT_KIND, take_argument, &v);
	*why = "the page does not take that";
	return v.wrong || serve_request__end(request) ? 400 : 0;
}

static int client_fd(const struct server *s, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info = s->http->get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

static enum MHD_Result begin_job(struct server *s, struct MHD_Connection *c, const struct serve_request *request, struct state *state)
{
	struct job *job, **at = &s->jobs;
	unsigned int count = 0;

	/* libmicrohttpd does not end while one waits. */
	if (s->ends)
		return answer_error(s, c, 503, "extprof serve ends");
	/* One that is made and not yet taken has its memory, too. */
	for (job = s->jobs; job; job = job->next)
		count++;
	if (count >= SERVER_PAGES)
		return answer_error(s, c, 503, "too many pages are asked for at once");
	job = calloc(1, sizeof(*job));
	if (!job || serve_token__make(job->nonce)) {
		free(job);
		return answer_error(s, c, 500, "out of memory");
	}
	job->connection = c;
	job->fd = client_fd(s, c);
	job->request = *request;
	job->making = (struct making){ .pidfd = -1, .page = -1 };
	state->job = job;
	while (*at)
		at = &(*at)->next;
	*at = job;
	s->http->suspend_connection(c);
	return MHD_YES;
}

static void forget_job(struct server *s, struct job *job)
{
	struct job **at = &s->jobs;

	while (*at && *at != job)
		at = &(*at)->next;
	if (*at)
		*at = job->next;
	making__end(&job->making);
	free(job);
}

/* Called at the headers, for each piece of a body, when all is there, and when the page is. */
static enum MHD_Result handle(void *context, struct MHD_Connection *c, const char *url, const char *method, const char *version,
			      const char *upload_data, size_t *upload_data_size, void **of_request)
{
	struct server *s = context;
	struct state *state = *of_request;
	struct serve_request request;
	unsigned int status;
	const char *why;

	(void)version;
	(void)upload_data;
	if (!state) {
		*of_request = calloc(1, sizeof(*state));
		return *of_request ? MHD_YES : MHD_NO;
	}
	if (*upload_data_size) {
		state->has_body = true;
		*upload_data_size = 0;
		return MHD_YES;
	}
	if (state->job) {
		if (state->job->state != JOB_OVER)
			return MHD_NO;
		return state->job->status == 200 ? answer_page(s, c, state->job) : answer_error(s, c, state->job->status, state->job->error);
	}
	status = check(s, c, url, method, &request, &why);
	if (!status && state->has_body) {
		status = 400;
		why = "a request has no body";
	}
	return status ? answer_error(s, c, status, why) : begin_job(s, c, &request, state);
}

static void request_over(void *context, struct MHD_Connection *c, void **of_request, enum MHD_RequestTerminationCode code)
{
	struct server *s = context;
	struct state *state = *of_request;
	int fd = client_fd(s, c);

	(void)code;
	if (state && state->job)
		forget_job(s, state->job);
	free(state);
	*of_request = NULL;
	/* The next request of the connection has its own time to arrive. */
	for (struct client *k = s->clients; k; k = k->next)
		if (k->fd == fd)
			k->asks_since = now_ns();
}

static void connection_changed(void *context, struct MHD_Connection *c, void **of_socket, enum MHD_ConnectionNotificationCode code)
{
	struct server *s = context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		struct client *k = calloc(1, sizeof(*k));

		*of_socket = k;
		if (!k)
			return;
		k->fd = client_fd(s, c);
		k->since = k->asks_since = now_ns();
		k->next = s->clients;
		s->clients = k;
	} else {
		struct client **at = &s->clients, *k = *of_socket;

		while (*at && *at != k)
			at = &(*at)->next;
		if (*at)
			*at = k->next;
		free(k);
		*of_socket = NULL;
	}
}

/* -- the loop ---------------------------------------------------------------------------------------------- */

/* It has its answer. */
static void resume(struct server *s, struct job *job)
{
	job->state = JOB_OVER;
	s->http->resume_connection(job->connection);
	s->resumed = true;
}

static void begin_making(struct server *s, struct job *job)
{
	int err = making__begin(&job->making, &job->request, s->options->sources, job->nonce, s->options->mask);

	if (!err) {
		job->state = JOB_RUNS;
		s->running++;
		return;
	}
	making__end(&job->making);
	job->status = 500;
	snprintf(job->error, sizeof(job->error), "no process can be started: %s", strerror(-err));
	resume(s, job);
}

static bool is_gone(const struct job *job)
{
	struct pollfd p = { .fd = job->fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) == 1 && p.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

/* Take what is made, stop what nobody waits for any more, and begin with what waits. */
static void step_jobs(struct server *s)
{
	uint64_t now = now_ns();

	for (struct job *job = s->jobs; job; job = job->next) {
		bool gone = job->state != JOB_OVER && (s->ends || is_gone(job));

		if (job->state == JOB_WAITS && !gone) {
			if (s->running < SERVER_MAKING)
				begin_making(s, job);
			continue;
		}
		if (job->state == JOB_OVER || (!gone && !making__is_over(&job->making, now)))
			continue;
		if (gone) {
			s->running -= job->state == JOB_RUNS;
			making__end(&job->making);
			job->status = 503;
			snprintf(job->error, sizeof(job->error), "nobody waits for it any more");
		} else {
			s->running--;
			job->status = making__status(&job->making, job->error, sizeof(job->error));
		}
		resume(s, job);
	}
}

/* One byte now and then keeps no connection. */
static void end_slow_clients(const struct server *s)
{
	uint64_t now = now_ns();

	for (const struct client *k = s->clients; k; k = k->next) {
		bool has_job = false;

		for (const struct job *job = s->jobs; job; job = job->next)
			has_job |= job->fd == k->fd;
		if ((!has_job && now > k->asks_since + SERVER_REQUEST_SECONDS * SECOND && k->asks_since) ||
		    now > k->since + SERVER_CONNECTION_SECONDS * SECOND)
			shutdown(k->fd, SHUT_RDWR);
	}
}

/* Until something happens.  Negative errno if that cannot be waited for. */
static int wait_for_more(struct server *s, int epoll_fd)
{
	struct pollfd fds[2 + SERVER_MAKING] = {
		{ .fd = epoll_fd, .events = POLLIN }, { .fd = s->options->end_fd, .events = POLLIN },
	};
	MHD_UNSIGNED_LONG_LONG ms = WAIT_MS;
	nfds_t count = 2;

	if (s->http->get_timeout(s->daemon, &ms) != MHD_YES || ms > WAIT_MS)
		ms = WAIT_MS;
	ms = s->resumed ? 0 : ms;
	s->resumed = false;
	for (const struct job *job = s->jobs; job && count < sizeof(fds) / sizeof(fds[0]); job = job->next)
		if (job->state == JOB_RUNS)
			fds[count++] = (struct pollfd){ .fd = job->making.pidfd, .events = POLLIN };
	if (poll(fds, count, (int)ms) < 0)
		return errno == EINTR ? 0 : -errno;
	return fds[1].revents ? 1 : 0;
}

static void allow_connections(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur >= SERVER_CONNECTIONS + 200)
		return;
	r.rlim_cur = r.rlim_max < SERVER_CONNECTIONS + 200 ? r.rlim_max : SERVER_CONNECTIONS + 200;
	setrlimit(RLIMIT_NOFILE, &r);
}

/* So many that descriptors for the pages are left. */
static unsigned int connections(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur >= SERVER_CONNECTIONS + 100)
		return SERVER_CONNECTIONS;
	return r.rlim_cur > 200 ? (unsigned int)r.rlim_cur - 100 : 50;
}

int server__check(char *why, size_t size)
{
	return microhttpd__load(why, size) ? 0 : -ENOSYS;
}

int server__run(const struct server_options *o, char *why, size_t size)
{
	struct server s = { .options = o, .http = microhttpd__load(why, size) };
	const union MHD_DaemonInfo *info;
	int err = 0;

	if (!s.http)
		return -ENOSYS;
	allow_connections();
	s.fd = fcntl(o->listener->fd, F_DUPFD_CLOEXEC, 3);
	if (s.fd < 0) {
		snprintf(why, size, "no more files can be opened: %s", strerror(errno));
		return -EMFILE;
	}
	s.daemon = s.http->start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, &s,
		MHD_OPTION_LISTEN_SOCKET, s.fd,
		MHD_OPTION_CONNECTION_LIMIT, connections(),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SERVER_CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, SERVER_REQUEST_SECONDS,
		MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
		MHD_OPTION_NOTIFY_COMPLETED, request_over, &s,
		MHD_OPTION_NOTIFY_CONNECTION, connection_changed, &s,
		MHD_OPTION_END);
	info = s.daemon ? s.http->get_daemon_info(s.daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info) {
		snprintf(why, size, "libmicrohttpd cannot serve here");
		return -EIO;
	}
	while (!err && !s.ends) {
		err = wait_for_more(&s, info->epoll_fd);
		s.ends = err > 0;
		err = err > 0 ? 0 : err;
		if (s.http->run(s.daemon) != MHD_YES && !err)
			err = -EIO;
		step_jobs(&s);
		end_slow_clients(&s);
	}
	if (err)
		snprintf(why, size, "it cannot wait for requests: %s", strerror(-err));
	/* Those that still wait are answered, and closed. */
	s.ends = true;
	step_jobs(&s);
	s.http->run(s.daemon);
	s.http->stop_daemon(s.daemon);
	return err;
}

#endif
