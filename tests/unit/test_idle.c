/* SPDX-License-Identifier: BSD-2-Clause */
/* Which waits are a thread's rest: stacks as servers have them, and stacks of requests that look similar. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "no_memory.h"
#include "profile/idle.h"
#include "profile/report.h"
#include "profile/transform.h"
#include "source/mode.h"
#include "wire/states.h"

#define MS 1000000ull
#define SECOND (1000 * MS)
#define WINDOW (10000 * MS)

#define PUMA "/g/gems/puma-6.4.2/lib/puma/"
#define SPAWN "R block in Puma::ThreadPool#spawn_thread@" PUMA "thread_pool.rb:100:110"
#define POOL_REST SPAWN ";C Thread::Mutex#synchronize;R block (2 levels) in Puma::ThreadPool#spawn_thread@" PUMA \
	"thread_pool.rb:110:115;C Thread::ConditionVariable#wait;C Thread::Mutex#sleep"
#define REQUEST SPAWN ";R Puma::Server#process_client@" PUMA "server.rb:400:420"
#define RACK "R Rack::Head#call@/g/gems/rack-3.1/lib/rack/head.rb:10:12"
#define SHOP "R Shop#call@/srv/shop/app/shop.rb:5:9"
/* A pool of the application's own: in a loop, and with while. */
#define APP_POOL "R block (2 levels) in Jobs.start@/srv/shop/jobs.rb:20:21;R Kernel#loop@<internal:kernel>:160:168;" \
	"R block (3 levels) in Jobs.start@/srv/shop/jobs.rb:21:"
#define WHILE_POOL "R block in Pool.start@/srv/shop/pool.rb:30:"

static struct tree tree;
static struct frame_table frames;
static struct idle found;
static struct {
	char text[256];
	uint32_t number;
} known[256];
static uint32_t known_count;

static void set_up(void)
{
	tree__free(&tree);
	frame_table__free(&frames);
	known_count = 0;
	if (tree__init(&tree) || frame_table__init(&frames))
		abort();
}

static void tear_down(void)
{
	idle__free(&found);
	tree__free(&tree);
	frame_table__free(&frames);
}

/* "R name@path:first:line", "C name", "M mark", "T worker 1", "N native", "F fibers", "S 6 queue", "L value", "P puma",
 * "X": a label is set, "A function", "K function of the kernel". */
static void parse(char *text, struct frame *f)
{
	static const struct {
		char letter;
		uint8_t kind, role;
	} kinds[] = {
		{ 'R', FRAME_RUBY, 0 }, { 'C', FRAME_C, 0 }, { 'M', FRAME_MARK, 0 }, { 'G', FRAME_GC, 0 }, { 'N', FRAME_THREAD, ROLE_NATIVE },
		{ 'T', FRAME_THREAD, ROLE_RUBY }, { 'F', FRAME_THREAD, ROLE_FIBERS }, { 'U', FRAME_THREAD, ROLE_UNKNOWN },
		{ 'S', FRAME_STATE, 0 }, { 'L', FRAME_LABEL, 0 }, { 'P', FRAME_PROCESS, 0 }, { 'X', FRAME_MODE, 0 },
		{ 'A', FRAME_NATIVE, 0 }, { 'K', FRAME_KERNEL, 0 }, { 'B', FRAME_NO_RUBY, 0 }, { 'D', FRAME_DETAIL, 0 }, { 'W', FRAME_MODE, 0 },
	};
	char *name = text[1] ? text + 2 : text + 1, *at = strchr(name, '@');

	*f = (struct frame)FRAME_INIT(0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].letter == *text) {
			f->kind = kinds[i].kind;
			f->role = kinds[i].role;
		}
	f->name = name;
	if (f->kind == FRAME_STATE) {
		f->state = (uint8_t)strtoul(name, &name, 10);
		f->name = name + 1;
	} else if (f->kind == FRAME_LABEL) {
		f->key = "request";
		f->known = *name ? KNOWN : KNOWN_NOT_SET;
	} else if (f->kind == FRAME_THREAD) {
		f->wider = "worker *";
		f->tid = 100 + (uint32_t)name[0] + 7 * (uint32_t)strlen(name);
	} else if (f->kind == FRAME_PROCESS) {
		f->pid = 1 + (uint32_t)name[0];
	} else if (at) {
		char *line = strrchr(at, ':'), *first;

		*at = '\0';
		f->line = atoi(line + 1);
		*line = '\0';
		first = strrchr(at + 1, ':');
		f->first_line = atoi(first + 1);
		*first = '\0';
		f->path = at + 1;
	}
}

static uint32_t number_of(const char *text)
{
	struct frame f;
	char copy[256];

	for (uint32_t i = 0; i < known_count; i++)
		if (!strcmp(known[i].text, text))
			return known[i].number;
	snprintf(copy, sizeof(copy), "%s", text);
	parse(copy, &f);
	snprintf(known[known_count].text, sizeof(known[0].text), "%s", text);
	known[known_count].number = frame_table__later(&frames, (enum frame_kind)f.kind);
	if (frame_table__set(&frames, known[known_count].number, &f))
		abort();
	return known[known_count++].number;
}

/* Frames with ; between, outermost first. */
static void add(const char *stack, uint64_t ms)
{
	const struct weight weight = { .value = ms * MS, .count = 1 };
	char copy[2048], *rest = copy, *one;
	uint32_t list[64], count = 0;

	snprintf(copy, sizeof(copy), "%s", stack);
	while ((one = strsep(&rest, ";")))
		list[count++] = number_of(one);
	if (tree__add(&tree, list, count, &weight))
		abort();
}

/* ns that are idle. */
static uint64_t find(uint64_t window)
{
	uint64_t sum = 0;

	idle__free(&found);
	found = (struct idle){ .tree = &tree, .frames = &frames, .window = window };
	if (idle__find(&found))
		abort();
	for (uint32_t i = 1; i < tree.node_count; i++)
		sum += found.is[i] ? tree.nodes[i].self.value : 0;
	return sum;
}

#define CHECK_IDLE(ms) CHECK_INT(find(WINDOW) / MS, ms)

/* Only that thread, all the time. */
static uint64_t alone(const char *stack)
{
	char text[2048];

	set_up();
	snprintf(text, sizeof(text), "P puma;T worker 1;%s", stack);
	add(text, WINDOW / MS);
	return find(WINDOW) / MS;
}

#define IS_IDLE(stack) CHECK_INT(alone(stack), WINDOW / MS)
#define IS_WORK(stack) CHECK_INT(alone(stack), 0)

TEST(idle_pool_of_a_server)
{
	set_up();
	add("P puma;T worker 1;" POOL_REST ";S 7 condvar", 6000);
	add("P puma;T worker 1;" POOL_REST ";S 1 runnable", 10);
	add("P puma;T worker 1;" POOL_REST ";S 2 gvl", 20);
	add("P puma;T worker 1;" POOL_REST, 30);
	/* Waits of requests, and what looks like the rest of the pool within one. */
	add("P puma;T worker 1;" REQUEST ";" RACK ";" SHOP ";C Thread::ConditionVariable#wait;C Thread::Mutex#sleep;S 7 condvar", 500);
	add("P puma;T worker 1;" REQUEST ";" RACK ";" SHOP ";C Thread::Queue#pop;S 6 queue", 500);
	add("P puma;T worker 1;" REQUEST ";" RACK ";" SHOP ";C Kernel#sleep;S 4 sleep", 500);
	add("P puma;T worker 1;" REQUEST ";" RACK ";" SHOP ";C IO#read;S 3 io read socket", 500);
	add("P puma;T worker 1;" REQUEST ";" RACK ";C Thread::ConditionVariable#wait;S 7 condvar", 500);
	add("P puma;T worker 1;" REQUEST ";R Puma::Client#finish@" PUMA "client.rb:200:210;C IO.select;S 3 io pselect6", 500);
	add("P puma;T worker 1;" REQUEST ";R Puma::Client#finish@" PUMA "client.rb:200:210;C IO#wait_readable;S 3 io ppoll socket", 500);
	/* The rest of a thread that has a label is work; so is a lock of the pool itself. */
	add("P puma;T worker 1;X;" POOL_REST ";S 7 condvar", 100);
	add("P puma;T worker 1;L GET /;X;" POOL_REST ";S 7 condvar", 100);
	add("P puma;T worker 1;" SPAWN ";C Thread::Mutex#synchronize;S 5 mutex", 100);
	CHECK_IDLE(6000);
	CHECK_INT(found.count, 1);
	CHECK_STRING(found.waits[0].method, "Thread::ConditionVariable#wait");
	/* However long it is. */
	CHECK_INT(find(0) / MS, 6000);
	/* A group that is no label of the program. */
	add("P puma;T worker 2;L a.extprof;" POOL_REST ";S 7 condvar;D [eventfd]", 1000);
	CHECK_IDLE(7000);
	tear_down();
}

TEST(idle_stuck_request_is_none)
{
	/* The only thing that was seen of its thread. */
	IS_WORK(REQUEST ";" RACK ";" SHOP ";C Thread::Queue#pop;S 6 queue");
	IS_WORK(REQUEST ";" RACK ";" SHOP ";R Kernel#loop@<internal:kernel>:160:168;R block in Shop#call@/srv/shop/app/shop.rb:9:10;"
		"C Thread::Queue#pop;S 6 queue");
	IS_WORK(REQUEST ";" RACK ";R ConnectionPool#checkout@/g/gems/connection_pool-2.4/lib/connection_pool.rb:9:10;"
		"C Thread::ConditionVariable#wait;S 7 condvar");
	IS_WORK(REQUEST ";" RACK ";" SHOP ";C Thread#join;S 8 join");
	IS_WORK(REQUEST ";C Thread#join;S 8 join");
	IS_WORK(REQUEST ";" RACK ";C IO::Event::Selector::EPoll#select;S 3 io epoll_wait");
	IS_WORK(REQUEST ";" RACK ";" SHOP ";C IO.select;S 3 io pselect6");
	IS_WORK(SPAWN ";C Process.wait;S 9 process");
	IS_WORK(SPAWN ";C Thread::Mutex#lock;S 5 mutex");
	IS_WORK(SPAWN ";C Thread::SizedQueue#push;S 6 queue");
	IS_WORK(SPAWN ";C IO#read;S 3 io read socket");
	IS_WORK(SPAWN ";C TCPServer#accept;S 11 native futex");
	/* Something of the stack is not known. */
	IS_WORK("M truncated: 3 frames more;" POOL_REST ";S 7 condvar");
	IS_WORK(SPAWN ";M unreadable record;C Thread::Queue#pop;S 6 queue");
	IS_WORK("B no ruby code;S 7 condvar");
	/* A task of a pool of a gem that waits for another one: only code of that gem. */
	IS_WORK("R block in C::Pool#work@/g/gems/c-1.3/c.rb:1:2;R Kernel#loop@<internal:kernel>:160:168;R block in C::Pool#loop@/g/gems/c-1.3/c.rb:3:4;"
		"R C::Pool#run_task@/g/gems/c-1.3/c.rb:5:6;R C::Safe#execute@/g/gems/c-1.3/c.rb:7:8;R C::Future#value@/g/gems/c-1.3/c.rb:9:9;"
		"C Thread::ConditionVariable#wait;S 7 condvar");
	tear_down();
}

TEST(idle_threads_of_gems_and_the_library)
{
	IS_IDLE(POOL_REST ";S 7 condvar");
	IS_IDLE("R block in Puma::Reactor#run@" PUMA "reactor.rb:20:21;R Puma::Reactor#select_loop@" PUMA "reactor.rb:50:55;"
		"C NIO::Selector#select;S 3 io epoll_wait");
	IS_IDLE("R block in Puma::Server#run@" PUMA "server.rb:20:21;R Puma::Server#handle_servers@" PUMA "server.rb:50:55;"
		"C IO.select;S 3 io pselect6");
	IS_IDLE("R block in Timeout.create_timeout_thread@/usr/lib/ruby/3.4.0/timeout.rb:100:102;C Thread::Queue#pop;S 6 queue");
	IS_IDLE("R block in Reaper.spawn_thread@/g/gems/activerecord-8.1/lib/reaper.rb:40:43;C Kernel#sleep;S 4 sleep");
	IS_IDLE("R block in Sidekiq::Component#safe_thread@/g/gems/sidekiq-8.0/c.rb:1:2;R Sidekiq::Component#watchdog@/g/gems/sidekiq-8.0/c.rb:5:6;"
		"R block in Sidekiq::Poller#start@/g/gems/sidekiq-8.0/p.rb:5:6;R Sidekiq::Poller#wait@/g/gems/sidekiq-8.0/p.rb:9:10;"
		"C Thread::Queue#pop;S 6 queue");
	IS_IDLE("R block in Puma::Cluster::Worker#run@" PUMA "worker.rb:20:21;C IO#wait_readable;S 3 io ppoll pipe");
	/* A monitor of the library between. */
	IS_IDLE("R block in Q#run@/g/gems/q-1.0/q.rb:10:11;C Monitor#synchronize;R block (2 levels) in Q#run@/g/gems/q-1.0/q.rb:11:12;"
		"R MonitorMixin::ConditionVariable#wait@/usr/lib/ruby/3.4.0/monitor.rb:100:106;C Monitor#wait_for_cond;"
		"C Thread::ConditionVariable#wait;S 7 condvar");
	/* One method more than a pool's client is away. */
	IS_WORK("R block in Puma::Server#run@" PUMA "server.rb:20:21;R Puma::Server#handle@" PUMA "server.rb:50:55;"
		"R Puma::Server#more@" PUMA "server.rb:60:65;C IO.select;S 3 io pselect6");
	/* That gem calls another one. */
	IS_WORK("R block in Puma::Server#run@" PUMA "server.rb:20:21;" RACK ";C Thread::Queue#pop;S 6 queue");
	tear_down();
}

/* The sleeper of Sidekiq's scheduler is a connection pool's. */
#define POLLER "R block in Sidekiq::Component#safe_thread@/g/gems/sidekiq-8.0/c.rb:1:2;R Sidekiq::Component#watchdog@/g/gems/sidekiq-8.0/c.rb:5:6;" \
	"R block in Sidekiq::Scheduled::Poller#start@/g/gems/sidekiq-8.0/s.rb:5:6;"
#define SLEEPER ";R ConnectionPool::TimedStack#pop@/g/gems/connection_pool-3.0/t.rb:5:6;R block in ConnectionPool::TimedStack#pop@/g/gems/connection_pool-3.0/t.rb:5:7;" \
	"R ConnectionPool::TimedStack#wait_until@/g/gems/connection_pool-3.0/t.rb:15:16;C Thread::ConditionVariable#wait;C Thread::Mutex#sleep;S 7 condvar"
#define FETCH "R block in Sidekiq::Component#safe_thread@/g/gems/sidekiq-8.0/c.rb:1:2;R Sidekiq::Processor#run@/g/gems/sidekiq-8.0/p.rb:5:6;"
#define REDIS ";R RedisClient#blocking_call@/g/gems/redis-client-0.2/r.rb:5:6;C IO#wait_readable;S 3 io ppoll socket"

TEST(idle_sockets_only_where_they_are_known)
{
	IS_IDLE(FETCH "R Sidekiq::BasicFetch#retrieve_work@/g/gems/sidekiq-8.0/f.rb:5:6" REDIS);
	IS_IDLE(POLLER "R Sidekiq::Scheduled::Poller#initial_wait@/g/gems/sidekiq-8.0/s.rb:5:6" SLEEPER);
	IS_IDLE(POLLER "R Sidekiq::Scheduled::Poller#wait@/g/gems/sidekiq-8.0/s.rb:5:6" SLEEPER);
	IS_WORK(POLLER "R Sidekiq::Scheduled::Poller#enqueue@/g/gems/sidekiq-8.0/s.rb:5:6" SLEEPER);
	IS_WORK(POLLER "R Sidekiq::Scheduled::Poller#wait@/g/gems/sidekiq-8.0/s.rb:5:6" REDIS);
	IS_WORK(FETCH "R MailJob#perform@/srv/shop/m.rb:5:6" SLEEPER);
	IS_WORK(FETCH "R Sidekiq::Processor#process@/g/gems/sidekiq-8.0/f.rb:5:6" REDIS);
	IS_WORK(FETCH "R Sidekiq::BasicFetch#retrieve_work@/srv/shop/f.rb:5:6" REDIS);
	IS_WORK(FETCH "R MailJob#perform@/srv/shop/m.rb:5:6;R Sidekiq::BasicFetch#retrieve_work@/g/gems/sidekiq-8.0/f.rb:5:6" REDIS);
	IS_WORK(FETCH "R Sidekiq::BasicFetch#retrieve_work@/g/gems/sidekiq-8.0/f.rb:5:6;C Thread::Mutex#lock;S 5 mutex");
	tear_down();
}

TEST(idle_pool_of_the_application)
{
	const char *rest = "P app;T worker 1;" APP_POOL "22;C Thread::Queue#pop;S 6 queue";

	set_up();
	add(rest, 7000);
	/* Jobs: lambdas that are written elsewhere, one of them with as deep a name, and a method. */
	add("P app;T worker 1;" APP_POOL "23;R block in Jobs.start@/srv/shop/jobs.rb:10:11;C Kernel#sleep;S 4 sleep", 1000);
	add("P app;T worker 1;" APP_POOL "23;R block (4 levels) in Jobs.start@/srv/shop/jobs.rb:12:12;C Thread::Queue#pop;S 6 queue", 1000);
	add("P app;T worker 1;" APP_POOL "23;C BasicObject#instance_exec;R block (4 levels) in Jobs.start@/srv/shop/jobs.rb:12:12;"
	    "C Thread::Queue#pop;S 6 queue", 500);
	add("P app;T worker 1;" APP_POOL "23;R Jobs#run@/srv/shop/jobs.rb:40:41;R Kernel#loop@<internal:kernel>:160:168;"
	    "R block in Jobs#run@/srv/shop/jobs.rb:41:42;C Thread::Queue#pop;S 6 queue", 500);
	CHECK_IDLE(7000);
	/* Of a longer profile it is another thread's story: it can have been made for one request. */
	CHECK_INT(find(2 * WINDOW), 0);
	CHECK_INT(find(0), 0);
	/* All on one line: what loop calls is written there, a lambda is not. */
	IS_IDLE("R block in <main>@/srv/a.rb:3:3;R Kernel#loop@<internal:kernel>:160:168;R block (2 levels) in <main>@/srv/a.rb:3:3;"
		"C Thread::Queue#pop;S 6 queue");
	IS_WORK("R block in <main>@/srv/a.rb:3:3;R Kernel#loop@<internal:kernel>:160:168;R block (2 levels) in <main>@/srv/a.rb:3:3;"
		"R block in <main>@/srv/a.rb:3:3;C Thread::Queue#pop;S 6 queue");
	IS_WORK("R block in <main>@/srv/a.rb:3:3;R Kernel#loop@<internal:kernel>:160:168;R block (2 levels) in <main>@/srv/a.rb:3:3;"
		"C Array#each;R block in <main>@/srv/a.rb:3:3;C Thread::Queue#pop;S 6 queue");
	tear_down();
}

TEST(idle_pool_that_goes_on)
{
	set_up();
	add("P app;T worker 1;" WHILE_POOL "31;C Thread::Queue#pop;S 6 queue", 9800);
	/* One thread that waits in its own code, all the time: for an answer, as far as anyone can tell. */
	CHECK_IDLE(0);
	add("P app;T worker 1;X;" WHILE_POOL "32;R Job#perform@/srv/shop/job.rb:1:2;C Kernel#sleep;S 4 sleep", 200);
	CHECK_IDLE(9800);
	/* What else it does is not behind that code. */
	add("P app;T worker 1;R Other#work@/srv/shop/job.rb:1:2;C Kernel#sleep;S 4 sleep", 1000);
	CHECK_IDLE(0);
	/* In a method of its own the same; other places than a queue are not clear there. */
	set_up();
	add("P app;T worker 1;R block in W#start@/srv/w.rb:1:1;R W#run@/srv/w.rb:3:4;C Thread::Queue#pop;S 6 queue", 5000);
	add("P app;T worker 1;R block in W#start@/srv/w.rb:1:1;R W#run@/srv/w.rb:3:5;C Kernel#sleep;S 4 sleep", 1000);
	add("P app;T worker 1;R block in W#start@/srv/w.rb:1:1;R W#run@/srv/w.rb:3:5;C Thread::ConditionVariable#wait;S 7 condvar", 1000);
	add("P app;T worker 1;R block in W#start@/srv/w.rb:1:1;R W#run@/srv/w.rb:3:6;R W#work@/srv/w.rb:9:9", 3000);
	CHECK_IDLE(5000);
	tear_down();
}

TEST(idle_other_threads_of_the_application)
{
	IS_IDLE("R block in <main>@/srv/a.rb:3:4;R Kernel#loop@<internal:kernel>:160:168;R block (2 levels) in <main>@/srv/a.rb:4:5;"
		"C Kernel#sleep;S 4 sleep");
	IS_WORK("R block in <main>@/srv/a.rb:3:4;C Kernel#sleep;S 4 sleep");
	IS_IDLE("R block in <main>@/srv/a.rb:3:4;C TCPServer#accept;S 3 io ppoll socket");
	IS_WORK("R block in <main>@/srv/a.rb:3:4;C TCPSocket#read;S 3 io ppoll socket");
	IS_WORK("R block in <main>@/srv/a.rb:3:4;R Ftp#get@/srv/a.rb:9:10;C TCPServer#accept;S 3 io ppoll socket");
	/* A window of top is too short to call sleep a rest. */
	set_up();
	add("P a;T timer;R block in <main>@/srv/a.rb:3:4;R Kernel#loop@<internal:kernel>:160:168;"
	    "R block (2 levels) in <main>@/srv/a.rb:4:5;C Kernel#sleep;S 4 sleep", 2000);
	CHECK_INT(find(2000 * MS), 0);
	tear_down();
}

#define OTHER "P app;T other;" APP_POOL "23;R Jobs#run@/srv/shop/jobs.rb:40:41"

TEST(idle_main_threads)
{
	set_up();
	add("P app;T main;R <main>@/srv/bin/rails:1:4;R Puma::Launcher#run@" PUMA "launcher.rb:1:9;C Thread#join;S 8 join", 9900);
	add("P app;T main;R <main>@/srv/bin/rails:1:4", 100);
	/* It is the only thread. */
	CHECK_IDLE(0);
	add(OTHER, 10000);
	CHECK_IDLE(9900);
	/* It does other things. */
	add("P app;T main;R <main>@/srv/bin/rails:1:4", 200);
	CHECK_INT(find(10200 * MS), 0);
	/* Its own program waits: it is not the server's. */
	set_up();
	add(OTHER, 10000);
	add("P app;T main;R <main>@/srv/a.rb:1:4;R Batch#run@/srv/a.rb:9:11;C Thread#join;S 8 join", 10000);
	CHECK_IDLE(0);
	add("P b;T main;R <main>@/srv/a.rb:1:4;C Array#each;R block in <main>@/srv/a.rb:4:4;C Thread#join;S 8 join", 10000);
	CHECK_IDLE(0);
	add("P b;T other;R block in <main>@/srv/a.rb:3:4", 10000);
	CHECK_IDLE(10000);
	/* A request on a main thread. */
	add("P c;T other;R block in <main>@/srv/a.rb:3:4", 10000);
	add("P c;T main;R <main>@/srv/bin/unicorn:1:4;R Unicorn::HttpServer#process_client@/g/gems/unicorn-6.1/u.rb:1:2;" SHOP
	    ";C Thread#join;S 8 join", 10000);
	CHECK_IDLE(10000);
	tear_down();
}

TEST(idle_loops_of_fibers)
{
	IS_IDLE("R block in Async::Container#run@/g/gems/async-container-0.18/c.rb:1:2;R Async::Scheduler#run_once!@/g/gems/async-2.2/s.rb:1:2;"
		"C IO::Event::Selector::EPoll#select;S 3 io epoll_wait");
	IS_IDLE("R <main>@/srv/bin/falcon:1:2;R Async::Scheduler#run_once!@/g/gems/async-2.2/s.rb:1:2;"
		"C IO::Event::Selector::URing#select;S 3 io io_uring_enter");
	IS_WORK("R block in <main>@/srv/a.rb:3:4;R Shop#call@/srv/shop/app/shop.rb:5:9;R Async::Scheduler#run_once!@/g/gems/async-2.2/s.rb:1:2;"
		"C IO::Event::Selector::EPoll#select;S 3 io epoll_wait");
	/* What a fiber waits for is no rest, but for the places of idle_fibers_of_a_server. */
	IS_WORK("R block in Async::Task#run@/g/gems/async-2.2/t.rb:1:2;C IO::Event::Selector::EPoll#transfer;S 14 parked");
	IS_WORK("R block in Async::Task#run@/g/gems/async-2.2/t.rb:1:2;C IO#read;S 3 io read");
	set_up();
	add("P a;F worker;" POOL_REST ";S 7 condvar", 10000);
	add("P a;U worker;" POOL_REST ";S 7 condvar", 10000);
	add("P a;" POOL_REST ";S 7 condvar", 10000);
	CHECK_IDLE(0);
	tear_down();
}

#define FIBER "R block in Async::Task#schedule@/g/gems/async-2.46.0/t.rb:1:2;R block in Async::Task#run@/g/gems/async-2.46.0/t.rb:5:6;"
#define EACH "R Async::HTTP::Protocol::HTTP1::Server#each@/g/gems/async-http-0.105.0/s.rb:1:2;"
#define HTTP1 "R Protocol::HTTP1::Connection#"
#define READ_LINE "R Protocol::HTTP1::Connection#read_line?@/g/gems/protocol-http1-0.41.1/c.rb:8:9;C IO#wait_readable;" \
	"R Async::Scheduler#io_wait@/g/gems/async-2.46.0/s.rb:1:2;C IO::Event::Selector::EPoll#io_wait;S 14 parked"
#define PARKED_SLEEP "C Kernel#sleep;R Async::Scheduler#kernel_sleep@/g/gems/async-2.46.0/s.rb:3:4;C IO::Event::Selector::EPoll#transfer;S 14 parked"

/* ms that are idle of 10 s in which a fiber waits there. */
static uint64_t of_fiber(const char *stack)
{
	char text[2048];

	set_up();
	snprintf(text, sizeof(text), "P falcon;F main;%s", stack);
	add(text, WINDOW / MS);
	return find(WINDOW) / MS;
}

TEST(idle_fibers_of_a_server)
{
	/* A connection between two requests; the same in a request; an answer that the application waits for. */
	CHECK_INT(of_fiber(FIBER EACH HTTP1 "read_request_line@/g/gems/protocol-http1-0.41.1/c.rb:1:2;" READ_LINE), 10000);
	CHECK_INT(of_fiber("X;" FIBER EACH HTTP1 "read_request_line@/g/gems/protocol-http1-0.41.1/c.rb:1:2;" READ_LINE), 0);
	CHECK_INT(of_fiber(FIBER EACH SHOP ";" HTTP1 "read_request_line@/g/gems/protocol-http1-0.41.1/c.rb:1:2;" READ_LINE), 0);
	CHECK_INT(of_fiber(FIBER EACH HTTP1 "read_headers@/g/gems/protocol-http1-0.41.1/c.rb:1:2;" READ_LINE), 0);
	CHECK_INT(of_fiber(FIBER EACH SHOP ";" HTTP1 "read_response_line@/g/gems/protocol-http1-0.41.1/c.rb:1:2;" READ_LINE), 0);
	CHECK_INT(of_fiber(FIBER EACH SHOP ";" PARKED_SLEEP), 0);
	CHECK_INT(of_fiber(FIBER PARKED_SLEEP), 0);
	CHECK_INT(of_fiber(FIBER "R block in Async::Service::Managed::HealthChecker#health_checker@/g/gems/async-service-0.25.0/h.rb:1:2;"
			   PARKED_SLEEP), 10000);
	/* The application has methods of such names. */
	CHECK_INT(of_fiber(FIBER "R block in Async::Service::Managed::HealthChecker#health_checker@/srv/shop/h.rb:1:2;" PARKED_SLEEP), 0);
	/* The first request has made it. */
	CHECK_INT(of_fiber("X;" FIBER "R block in Async::Pool::Controller#start_gardener@/g/gems/async-pool-0.12.0/c.rb:1:2;"
			   "R Async::Pool::Controller#wait@/g/gems/async-pool-0.12.0/c.rb:5:6;C Thread::ConditionVariable#wait;" PARKED_SLEEP), 10000);
	CHECK_STRING(found.waits[0].method, "block in Async::Pool::Controller#start_gardener");
	/* The master waits for its children, and has no other thread. */
	IS_IDLE("R <main>@/g/bin/falcon:1:25;R Async::Container::Group#select@/g/gems/async-container-0.38.0/g.rb:1:2;"
		"C Thread.handle_interrupt;R block in Async::Container::Group#select@/g/gems/async-container-0.38.0/g.rb:3:4;C IO.select;S 3 io pselect6");
	tear_down();
}

TEST(idle_native_threads)
{
	set_up();
	add("P a;N ruby;B native thread ruby;S 3 io epoll_wait", 10000);
	add("P a;N resolver;B native thread ruby;S 3 io poll socket", 10000);
	CHECK_IDLE(10000);
	CHECK_STRING(found.waits[0].method, "io epoll_wait");
	/* On a busy machine it waits for a CPU: that is no work. */
	add("P a;N ruby;B native thread ruby;S 1 runnable", 5000);
	CHECK_IDLE(10000);
	add("P a;N ruby;B native thread ruby;S 3 io write", 2000);
	CHECK_IDLE(0);
	tear_down();
}

/* What is below the code does not matter: functions of --native and --kernel, and what stands for some. */
TEST(idle_with_native_functions)
{
	const char *const below[] = {
		"A poll", "A vm;A poll;K do_syscall_64;K schedule", "M native functions left out", "M truncated: a library was loaded there;A poll",
		"M truncated: more functions of the kernel;K schedule",
	};
	char text[1024];
	uint64_t all = 0;

	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		snprintf(text, sizeof(text), POOL_REST ";%s;S 7 condvar", below[i]);
		IS_IDLE(text);
	}
	/* Something else that is not known. */
	IS_WORK(POOL_REST ";M unknown frame;S 7 condvar");
	IS_WORK(POOL_REST ";M unknown frame;A poll;S 7 condvar");
	/* One wait, in several stacks. */
	set_up();
	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		snprintf(text, sizeof(text), "P a;N ruby;B native thread ruby;%s;S 3 io epoll_wait", below[i]);
		add(text, 1000);
		snprintf(text, sizeof(text), "P app;T main;R <main>@/srv/bin/rails:1:4;R Puma::Launcher#run@" PUMA
			 "launcher.rb:1:9;C Thread#join;%s;S 8 join", below[i]);
		add(text, WINDOW / MS / 5);
		all += 1000 + WINDOW / MS / 5;
	}
	add(OTHER, WINDOW / MS);
	CHECK_INT(find(WINDOW) / MS, all);
	add("P a;N ruby;B native thread ruby;A poll;S 3 io write", 1000);
	CHECK_INT(find(WINDOW) / MS, WINDOW / MS);
	tear_down();
}

/* -- in reports ---------------------------------------------------------------------------------- */

static struct report report;

static int build(const struct report_view *given)
{
	struct report_view view = given ? *given : (struct report_view){ 0 };

	report__free(&report);
	view.mode = view.mode ? view.mode : &mode_wall;
	view.by_value = true;
	view.window = WINDOW;
	return report__build(&report, &tree, &frames, NULL, REPORT_BY_CODE, &view);
}

static const struct report_label *label(const char *name)
{
	for (uint32_t i = 0; i < report.label_count; i++)
		if (!strncmp(report.labels[i].name, name, strlen(name)))
			return &report.labels[i];
	return NULL;
}

static void add_server(const char *mode)
{
	char text[2048];

	for (int i = 1; i <= 3; i++) {
		snprintf(text, sizeof(text), "%sP puma;T worker %d;%s;S 7 condvar", mode, i, POOL_REST);
		add(text, 5000);
		snprintf(text, sizeof(text), "%sP puma;T worker %d;%s;%s;%s;C Kernel#sleep;S 4 sleep", mode, i, REQUEST, RACK, SHOP);
		add(text, 2000);
	}
	snprintf(text, sizeof(text), "%sP puma;T worker 9;R block in Reaper.run@/g/gems/r-1.0/r.rb:40:43;C Kernel#sleep;S 4 sleep", mode);
	add(text, 4000);
}

static const char *line(void)
{
	static char said[512];
	struct text t = { 0 };

	report__add_idle(&report, &t);
	snprintf(said, sizeof(said), "%s", text__string(&t));
	text__free(&t);
	return said;
}

TEST(idle_is_apart_in_reports)
{
	struct report_view view = { .shows_idle = true };

	set_up();
	add_server("");
	CHECK_INT(build(NULL), 0);
	CHECK_INT(report.samples, 6000 * MS);
	CHECK_INT(report.nodes[0].total, 6000 * MS);
	CHECK_INT(report.idle.amount, 19000 * MS);
	CHECK_INT(report.idle.shown, false);
	CHECK_INT(report.idle.thread_count, 4);
	CHECK_INT(report.idle.row_count, 2);
	CHECK_STRING(report.idle.rows[0].thread, "worker *");
	CHECK_STRING(report.idle.rows[0].method, "Thread::ConditionVariable#wait");
	CHECK_INT(report.idle.rows[0].threads, 3);
	CHECK_INT(report.idle.rows[0].amount, 15000 * MS);
	CHECK_STRING(report.idle.rows[1].thread, "worker 9");
	CHECK_INT(report.idle.rows[1].amount, 4000 * MS);
	CHECK_INT(report.idle.threads[0].ns, 5000 * MS);
	CHECK_STRING(line(), "idle: 4 threads, 76.0 % of all (19.000 s), left out without --idle: worker * (3) in "
		     "Thread::ConditionVariable#wait, worker 9 in Kernel#sleep");
	/* Nothing of it is left, in any list. */
	CHECK(!label("Thread::ConditionVariable#wait") && !label("block in Reaper.run") && label("Kernel#sleep"));
	CHECK_INT(label("Kernel#sleep")->total, 6000 * MS);
	CHECK_INT(label("block in Puma::ThreadPool#spawn_thread")->total, 6000 * MS);
	for (uint32_t i = 0; i < report.methods.count; i++)
		CHECK(report.methods.list[i].total);
	/* All of it with --idle. */
	CHECK_INT(build(&view), 0);
	CHECK_INT(report.samples, 25000 * MS);
	CHECK_INT(report.idle.amount, 19000 * MS);
	CHECK(report.idle.shown && strstr(line(), "76.0 % of all (19.000 s)") && strstr(line(), ", shown as others: "));
	CHECK_INT(label("Thread::ConditionVariable#wait")->total, 15000 * MS);
	report__free(&report);
	tear_down();
}

TEST(idle_and_other_views)
{
	struct transform only_app = { 0 };
	struct report_view view = { .transform = &only_app };
	const char *wrong;

	set_up();
	add_server("");
	add("P puma;T worker 2;" REQUEST ";" RACK ";C Kernel#sleep;S 4 sleep", 1000);
	if (transform__add(&only_app, TRANSFORM_FOCUS, "app", &wrong))
		abort();
	CHECK_INT(build(&view), 0);
	CHECK_INT(report.samples, 6000 * MS);
	CHECK_INT(report.left_out, 1000 * MS);
	CHECK_INT(report.idle.amount, 19000 * MS);
	transform__free(&only_app);
	/* Of a mode that has no waits nothing is told. */
	view = (struct report_view){ .mode = &mode_cpu };
	CHECK_INT(build(&view), 0);
	CHECK_INT(report.idle.row_count, 0);
	CHECK_STRING(line(), "");
	/* One of two modes. */
	set_up();
	add_server("W wall;");
	add("W cpu;P puma;T worker 1;" REQUEST, 700);
	view = (struct report_view){ .mode_frame = number_of("W wall") };
	CHECK_INT(build(&view), 0);
	CHECK_INT(report.samples, 6000 * MS);
	CHECK_INT(report.idle.amount, 19000 * MS);
	report__free(&report);
	tear_down();
}

TEST(idle_and_nothing_else)
{
	set_up();
	add("P puma;T worker 1;" POOL_REST ";S 7 condvar", 6000);
	CHECK_INT(build(NULL), 0);
	CHECK_INT(report.samples, 6000 * MS);
	CHECK(report.idle.shown && label("Thread::ConditionVariable#wait"));
	/* One sample of something else is something to show. */
	add("P puma;T worker 1;" REQUEST, 10);
	CHECK_INT(build(NULL), 0);
	CHECK_INT(report.samples, 10 * MS);
	CHECK(!report.idle.shown && !label("Thread::ConditionVariable#wait"));
	report__free(&report);
	tear_down();
}

/* -- windows of one recording ----------------------------------------------------------------------- */

static struct idle_history history;

/* A window of so many seconds with these threads, stacks that end with NULL: ms that are idle.  Numbers of frames begin anew. */
static uint64_t window(unsigned int seconds, const char *const *stacks)
{
	struct idle one;
	uint64_t sum = 0;

	set_up();
	for (; *stacks; stacks++)
		add(*stacks, seconds * 1000);
	one = (struct idle){ .tree = &tree, .frames = &frames, .window = seconds * 1000 * MS, .history = &history };
	if (idle__find(&one))
		abort();
	for (uint32_t i = 1; i < tree.node_count; i++)
		sum += one.is[i] ? tree.nodes[i].self.value : 0;
	idle__free(&one);
	one = (struct idle){ .tree = &tree, .frames = &frames, .window = seconds * 1000 * MS };
	if (idle_history__add(&history, &one))
		abort();
	return sum / MS;
}

#define WINDOW_OF(seconds, ...) window(seconds, (const char *const[]){ __VA_ARGS__, NULL })
#define LOOP "R Kernel#loop@<internal:kernel>:160:168;R block (2 levels) in Reaper.start@/srv/r.rb:2:3"
#define REAPER "P app;T reaper;R block in Reaper.start@/srv/r.rb:1:2;" LOOP ";C Kernel#sleep;S 4 sleep"
#define CLERK "P app;T clerk;" WHILE_POOL
#define BUSY "P app;T busy;R block in <main>@/srv/b.rb:9:9"

TEST(idle_by_what_was_before)
{
	/* A second does not show that it sleeps for a minute; five do. */
	for (int i = 0; i < 4; i++)
		CHECK_INT(WINDOW_OF(1, REAPER, BUSY), 0);
	CHECK_INT(WINDOW_OF(1, REAPER, BUSY), 1000);
	/* One of another process with the same stack and number is another one, and so is one of another number. */
	CHECK_INT(WINDOW_OF(1, "P b;T reaper;R block in Reaper.start@/srv/r.rb:1:2;" LOOP ";C Kernel#sleep;S 4 sleep", BUSY), 0);
	CHECK_INT(WINDOW_OF(1, "P app;T reapers;R block in Reaper.start@/srv/r.rb:1:2;" LOOP ";C Kernel#sleep;S 4 sleep", BUSY), 0);
	idle_history__free(&history);
	/* It does not sleep in a loop: whatever was before. */
	for (int i = 0; i < 8; i++)
		CHECK_INT(WINDOW_OF(1, "P app;T reaper;R block in Reaper.start@/srv/r.rb:1:2;C Kernel#sleep;S 4 sleep", BUSY), 0);
	idle_history__free(&history);
	tear_down();
}

TEST(idle_not_of_threads_that_came_later)
{
	int i;

	/* A thread of a request lives shorter than the history. */
	for (i = 0; i < 20; i++)
		CHECK_INT(WINDOW_OF(1, BUSY), 0);
	CHECK_INT(WINDOW_OF(1, REAPER, BUSY), 0);
	for (i = 0; i < 10; i++)
		CHECK_INT(WINDOW_OF(1, REAPER, BUSY), 0);
	/* The history does not go back for ever: within a minute from then on it has lived all the time. */
	for (i = 0; i < 60 && !WINDOW_OF(1, REAPER, BUSY); i++)
		;
	CHECK(i > 20 && i < 55);
	idle_history__free(&history);
	tear_down();
}

TEST(idle_of_a_pool_that_went_on_before)
{
	const char *rest = CLERK "31;C Thread::Queue#pop;S 6 queue";

	/* For an answer, as far as anyone can tell. */
	CHECK_INT(WINDOW_OF(2, rest, BUSY), 0);
	/* Then it has a job: what it waits for in it is none of its rest, before or after. */
	CHECK_INT(WINDOW_OF(2, CLERK "32;R Job#perform@/srv/shop/job.rb:1:2;C Kernel#sleep;S 4 sleep", BUSY), 0);
	CHECK_INT(WINDOW_OF(2, rest, BUSY), 2000);
	CHECK_INT(WINDOW_OF(2, CLERK "32;R Job#perform@/srv/shop/job.rb:1:2;C Thread::Queue#pop;S 6 queue", BUSY), 0);
	CHECK_INT(WINDOW_OF(2, rest, BUSY), 2000);
	/* Labels are no code; and what has one is work. */
	CHECK_INT(WINDOW_OF(2, "P app;T clerk;X;" WHILE_POOL "31;C Thread::Queue#pop;S 6 queue", BUSY), 0);
	CHECK_INT(WINDOW_OF(2, rest, BUSY), 2000);
	idle_history__free(&history);
	tear_down();
}

TEST(idle_main_threads_in_short_windows)
{
	const char *joins = "P app;T main;R <main>@/srv/bin/rails:1:4;C Thread#join;S 8 join";

	/* It did something else before. */
	CHECK_INT(WINDOW_OF(1, "P app;T main;R <main>@/srv/bin/rails:1:3", BUSY), 0);
	for (int i = 0; i < 20; i++)
		CHECK_INT(WINDOW_OF(1, joins, BUSY), 0);
	idle_history__free(&history);
	for (int i = 0; i < 3; i++)
		CHECK_INT(WINDOW_OF(1, joins, BUSY), 1000);
	/* Another line is another wait. */
	CHECK_INT(WINDOW_OF(1, "P app;T main;R <main>@/srv/bin/rails:1:5;C Thread#join;S 8 join", BUSY), 0);
	idle_history__free(&history);
	tear_down();
}

TEST(idle_history_is_bounded)
{
	char stack[256];
	uint32_t most = 0;

	set_up();
	for (uint32_t i = 0; i < 100; i++) {
		/* Threads come and go. */
		set_up();
		for (uint32_t j = 0; j < 100; j++) {
			snprintf(stack, sizeof(stack), "P app;T %.*s;R run@/srv/r.rb:%u:1;C Kernel#sleep;S 4 sleep", (int)(j % 50), "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
				 i * 100 + j);
			add(stack, 1000);
		}
		CHECK(!idle_history__add(&history, &(struct idle){ .tree = &tree, .frames = &frames, .window = 2000 * MS }));
		most = history.count > most ? history.count : most;
		CHECK(idle_history__window(&history) <= 2 * IDLE_HISTORY_SPAN + 2 * SECOND);
	}
	/* Three for each stack, of a minute of windows of 2 s at most. */
	CHECK(most > 3000 && most < 33 * 301);
	idle_history__free(&history);
	CHECK_INT(history.count, 0);
	tear_down();
}

TEST(idle_history_without_memory)
{
	int err = -ENOMEM;

	set_up();
	add_server("");
	for (unsigned int at = 1; err && at < 2000; at++) {
		const struct idle one = { .tree = &tree, .frames = &frames, .window = WINDOW };

		no_memory_at = at;
		err = idle_history__add(&history, &one);
		no_memory_at = 0;
		CHECK(!err || (err == -ENOMEM && !history.count));
	}
	CHECK_INT(err, 0);
	CHECK(history.count > 10);
	idle_history__free(&history);
	tear_down();
}

TEST(idle_without_memory)
{
	int err = -ENOMEM;

	set_up();
	add_server("");
	for (unsigned int at = 1; err && at < 2000; at++) {
		no_memory_at = at;
		err = build(NULL);
		CHECK(!err || err == -ENOMEM);
	}
	no_memory_at = 0;
	CHECK_INT(err, 0);
	CHECK_INT(report.samples, 6000 * MS);
	report__free(&report);
	tear_down();
}
