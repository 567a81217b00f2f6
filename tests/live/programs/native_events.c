/* An extension whose native stacks are known where it allocates, calls the kernel, and causes events.  Built with -O2
 * -fomit-frame-pointer. */
#include <ruby.h>
#include <sys/mman.h>
#include <unistd.h>

/* A function of its own, also if another one has the same code, and never the last thing that its caller does. */
#define FUNCTION __attribute__((noinline, noclone, no_icf)) static
#define AFTER() __asm__ volatile("" ::: "memory")
#define LINK(name, next) FUNCTION void name(long n) { next(n); AFTER(); }

/* -- allocations --------------------------------------------------------------------------------- */

FUNCTION void make(long n)
{
	for (long i = 0; i < n; i++)
		rb_str_new("known", 5);
	AFTER();
}

LINK(heavy, make)
LINK(light, make)

static VALUE ext_makes(VALUE self, VALUE n)
{
	heavy(3 * NUM2LONG(n));
	light(NUM2LONG(n));
	AFTER();
	return self;
}

FUNCTION void reserve(long n)
{
	for (long i = 0; i < n; i++)
		rb_str_new(NULL, 10000);
	AFTER();
}

LINK(reserve_1, reserve)

static VALUE ext_reserves(VALUE self, VALUE n)
{
	reserve_1(NUM2LONG(n));
	AFTER();
	return self;
}

/* -- system calls, through Ruby code, too -------------------------------------------------------- */

FUNCTION void ask(long n)
{
	for (long i = 0; i < n; i++)
		getppid();
	AFTER();
}

LINK(ask_1, ask)

FUNCTION VALUE call_onward(VALUE self, long depth, VALUE n)
{
	VALUE result = rb_funcall(self, rb_intern("onward"), 2, LONG2NUM(depth), n);

	AFTER();
	return result;
}

static VALUE ext_asks(VALUE self, VALUE depth, VALUE n)
{
	if (NUM2LONG(depth))
		call_onward(self, NUM2LONG(depth) - 1, n);
	else
		ask_1(NUM2LONG(n));
	AFTER();
	return self;
}

/* -- page faults --------------------------------------------------------------------------------- */

FUNCTION void touch(long n)
{
	volatile char *room = mmap(NULL, (size_t)n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise((void *)room, (size_t)n * 4096, MADV_NOHUGEPAGE);
	for (long i = 0; i < n; i++)
		room[i * 4096] = 1;
	munmap((void *)room, (size_t)n * 4096);
}

LINK(touch_1, touch)

static VALUE ext_touches(VALUE self, VALUE n)
{
	touch_1(NUM2LONG(n));
	AFTER();
	return self;
}

/* -- a function that is an event ----------------------------------------------------------------- */

__attribute__((noinline, noclone, visibility("default"))) void event_here(long n)
{
	__asm__ volatile("" :: "r"(n) : "memory");
}

FUNCTION void pass(long n)
{
	for (long i = 0; i < n; i++)
		event_here(i);
	AFTER();
}

LINK(pass_1, pass)

static VALUE ext_passes(VALUE self, VALUE n)
{
	pass_1(NUM2LONG(n));
	AFTER();
	return self;
}

void Init_native_events(void)
{
	VALUE events = rb_define_module("Events");

	rb_define_singleton_method(events, "makes", ext_makes, 1);
	rb_define_singleton_method(events, "reserves", ext_reserves, 1);
	rb_define_singleton_method(events, "asks", ext_asks, 2);
	rb_define_singleton_method(events, "touches", ext_touches, 1);
	rb_define_singleton_method(events, "passes", ext_passes, 1);
}
