/* An extension whose functions wait: in which of them, and for how long, is known.  Built with -O2 -fomit-frame-pointer. */
#include <ruby.h>
#include <ruby/thread.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A function of its own, also if another one has the same code, and never the last thing that its caller does. */
#define FUNCTION __attribute__((noinline, noclone, no_icf)) static
#define AFTER() __asm__ volatile("" ::: "memory")
#define LINK(name, next) FUNCTION void name(long us) { next(us); AFTER(); }

/* ns that passed in functions that wait, by this program's clock. */
static long long waited;

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* -- waits with the GVL -------------------------------------------------------------------------- */

#define HOLD(name) \
	FUNCTION void name(long us) \
	{ \
		struct timespec t = { us / 1000000, us % 1000000 * 1000 }; \
		long long from = now(); \
		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL); \
		__atomic_fetch_add(&waited, now() - from, __ATOMIC_RELAXED); \
	}

HOLD(hold)
LINK(hold_2, hold)
LINK(hold_1, hold_2)

static VALUE ext_hold(VALUE self, VALUE us)
{
	hold_1(NUM2LONG(us));
	AFTER();
	return self;
}

/* A lock that nobody gives: no function of libc but syscall() knows of it. */
FUNCTION void futex_here(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };
	long long from = now();
	int word = 1;

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &t, NULL, 0);
	__atomic_fetch_add(&waited, now() - from, __ATOMIC_RELAXED);
}

LINK(futex_1, futex_here)

static VALUE ext_futex(VALUE self, VALUE us)
{
	futex_1(NUM2LONG(us));
	AFTER();
	return self;
}

/* -- without the GVL ----------------------------------------------------------------------------- */

static int silent[2];

FUNCTION void poll_here(long us)
{
	struct pollfd fd = { .fd = silent[0], .events = POLLIN };
	long long from = now();

	poll(&fd, 1, (int)(us / 1000));
	__atomic_fetch_add(&waited, now() - from, __ATOMIC_RELAXED);
}

LINK(poll_1, poll_here)

FUNCTION void *poll_body(void *us)
{
	poll_1(*(long *)us);
	AFTER();
	return NULL;
}

static VALUE ext_poll(VALUE self, VALUE us)
{
	long n = NUM2LONG(us);

	rb_thread_call_without_gvl(poll_body, &n, NULL, NULL);
	AFTER();
	return self;
}

/* Nothing waits but for the GVL. */
static long long without_gvl_until;

FUNCTION void *nothing(void *unused)
{
	without_gvl_until = now();
	return unused;
}

static VALUE ext_contend(VALUE self)
{
	rb_thread_call_without_gvl(nothing, NULL, NULL, NULL);
	__atomic_fetch_add(&waited, now() - without_gvl_until, __ATOMIC_RELAXED);
	AFTER();
	return self;
}

/* -- C, Ruby, C ---------------------------------------------------------------------------------- */

FUNCTION VALUE call_onward(VALUE self, long depth, VALUE us)
{
	VALUE result = rb_funcall(self, rb_intern("onward"), 2, LONG2NUM(depth), us);

	AFTER();
	return result;
}

static VALUE ext_again(VALUE self, VALUE depth, VALUE us)
{
	if (NUM2LONG(depth))
		call_onward(self, NUM2LONG(depth) - 1, us);
	else
		hold_1(NUM2LONG(us));
	AFTER();
	return self;
}

/* -- two fibers ---------------------------------------------------------------------------------- */

HOLD(hold_here)
HOLD(hold_there)

FUNCTION void resumer(VALUE fiber)
{
	rb_fiber_resume(fiber, 0, NULL);
	AFTER();
}

FUNCTION void yielder(void)
{
	rb_fiber_yield(0, NULL);
	AFTER();
}

static VALUE ext_resumes(VALUE self, VALUE fiber, VALUE us)
{
	for (int i = 0; i < 10; i++) {
		resumer(fiber);
		hold_here(NUM2LONG(us));
	}
	AFTER();
	return self;
}

static VALUE ext_yields(VALUE self, VALUE us)
{
	for (int i = 0; i < 10; i++) {
		hold_there(NUM2LONG(us));
		yielder();
	}
	AFTER();
	return self;
}

static VALUE ext_waited(VALUE self)
{
	return LL2NUM(__atomic_exchange_n(&waited, 0, __ATOMIC_RELAXED));
}

void Init_native_waits(void)
{
	VALUE waits = rb_define_module("Waits");

	if (pipe(silent))
		abort();
	rb_ext_ractor_safe(true);
	rb_define_singleton_method(waits, "hold", ext_hold, 1);
	rb_define_singleton_method(waits, "futex", ext_futex, 1);
	rb_define_singleton_method(waits, "poll", ext_poll, 1);
	rb_define_singleton_method(waits, "contend", ext_contend, 0);
	rb_define_singleton_method(waits, "again", ext_again, 2);
	rb_define_singleton_method(waits, "resumes", ext_resumes, 2);
	rb_define_singleton_method(waits, "yields", ext_yields, 1);
	rb_define_singleton_method(waits, "waited", ext_waited, 0);
}
