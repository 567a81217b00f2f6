/* An extension whose native stacks are known at every point.  Built with -O2 -fomit-frame-pointer. */
#include <pthread.h>
#include <ruby.h>
#include <ruby/thread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* A function of its own, also if another one has the same code, and never the last thing that its caller does. */
#define FUNCTION __attribute__((noinline, noclone, no_icf)) static
#define AFTER() __asm__ volatile("" ::: "memory")

FUNCTION void burn(long n)
{
	for (long i = 0; i < n * 1000; i++)
		__asm__ volatile("" : "+r"(i));
}

/* -- a chain of known depth ------------------------------------------------------------------ */

#define LINK(name, next) FUNCTION void name(long n) { next(n); AFTER(); }
LINK(chain_5, burn)
LINK(chain_4, chain_5)
LINK(chain_3, chain_4)
LINK(chain_2, chain_3)
LINK(chain_1, chain_2)

static VALUE ext_chain(VALUE self, VALUE n)
{
	chain_1(NUM2LONG(n));
	AFTER();
	return self;
}

/* -- known shares ------------------------------------------------------------------------------ */

LINK(heavy, burn)
LINK(light, burn)

static VALUE ext_shares(VALUE self, VALUE n)
{
	heavy(3 * NUM2LONG(n));
	light(NUM2LONG(n));
	AFTER();
	return self;
}

/* -- C, Ruby, C, Ruby -------------------------------------------------------------------------- */

FUNCTION VALUE call_pong(VALUE self, long depth, long n)
{
	VALUE result = rb_funcall(self, rb_intern("pong"), 2, LONG2NUM(depth), LONG2NUM(n));

	AFTER();
	return result;
}

static VALUE ext_ping(VALUE self, VALUE depth, VALUE n)
{
	if (!NUM2LONG(depth)) {
		burn(NUM2LONG(n));
		AFTER();
		return self;
	}
	call_pong(self, NUM2LONG(depth) - 1, NUM2LONG(n));
	AFTER();
	return self;
}

/* A method in C that calls another one in C, without Ruby code between. */
static VALUE ext_direct(VALUE self, VALUE n)
{
	rb_funcall(self, rb_intern("chain"), 1, n);
	AFTER();
	return self;
}

/* -- a callback of libc ------------------------------------------------------------------------ */

FUNCTION int compare(const void *a, const void *b)
{
	VALUE result = rb_yield_values(2, LONG2NUM(*(const long *)a), LONG2NUM(*(const long *)b));

	AFTER();
	return NUM2INT(result);
}

static VALUE ext_sorted(VALUE self)
{
	long list[64];

	for (long i = 0; i < 64; i++)
		list[i] = i * 37 % 64;
	qsort(list, 64, sizeof(list[0]), compare);
	AFTER();
	return LONG2NUM(list[0]);
}

/* -- functions that leave by longjmp ------------------------------------------------------------ */

FUNCTION VALUE raises(VALUE n)
{
	burn(NUM2LONG(n));
	rb_raise(rb_eRuntimeError, "known");
	return n;
}

FUNCTION VALUE cleanup(VALUE n)
{
	burn(NUM2LONG(n));
	AFTER();
	return n;
}

FUNCTION VALUE ensured(VALUE n)
{
	VALUE result = rb_ensure(raises, n, cleanup, n);

	AFTER();
	return result;
}

FUNCTION void after_jump(long n)
{
	burn(n);
	AFTER();
}

static VALUE ext_jumps(VALUE self, VALUE n)
{
	int state = 0;

	rb_protect(ensured, n, &state);
	rb_set_errinfo(Qnil);
	after_jump(NUM2LONG(n));
	AFTER();
	return INT2NUM(state);
}

/* -- unusual frames ------------------------------------------------------------------------------ */

FUNCTION void aligned(long n)
{
	__attribute__((aligned(64))) volatile char room[256];

	room[0] = (char)n;
	__asm__ volatile("" :: "r"(room) : "memory");
	burn(n + (room[0] == 77));
	AFTER();
}

FUNCTION void variable(long n)
{
	volatile char *room = __builtin_alloca((size_t)(n % 7 + 1) * 64);

	room[0] = 1;
	__asm__ volatile("" :: "r"(room) : "memory");
	aligned(n);
	AFTER();
}

static VALUE ext_frames(VALUE self, VALUE n)
{
	variable(NUM2LONG(n));
	AFTER();
	return self;
}

/* -- a signal handler ----------------------------------------------------------------------------- */

static volatile long handler_burns;

static void handler(int number)
{
	(void)number;
	burn(handler_burns);
	AFTER();
}

FUNCTION void interrupted(void)
{
	raise(SIGUSR2);
	AFTER();
}

static VALUE ext_signal(VALUE self, VALUE n)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	sigaction(SIGUSR2, &action, NULL);
	handler_burns = NUM2LONG(n);
	interrupted();
	AFTER();
	return self;
}

/* -- two fibers ------------------------------------------------------------------------------------- */

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

static VALUE ext_resumes(VALUE self, VALUE fiber, VALUE n)
{
	for (long i = NUM2LONG(n); i > 0; i--)
		resumer(fiber);
	AFTER();
	return self;
}

static VALUE ext_yields(VALUE self, VALUE n)
{
	for (long i = NUM2LONG(n); i > 0; i--)
		yielder();
	AFTER();
	return self;
}

/* -- a block in C ------------------------------------------------------------------------------------ */

FUNCTION VALUE in_block(RB_BLOCK_CALL_FUNC_ARGLIST(value, n))
{
	burn(NUM2LONG(n));
	AFTER();
	return value;
}

static VALUE ext_blocks(VALUE self, VALUE n)
{
	rb_block_call(self, rb_intern("each"), 0, NULL, in_block, n);
	AFTER();
	return self;
}

/* -- without the GVL, and with it again ---------------------------------------------------------------- */

FUNCTION void *again(void *n)
{
	rb_funcall(rb_path2class("Truth"), rb_intern("chain"), 1, LONG2NUM((long)n));
	AFTER();
	return NULL;
}

FUNCTION void *without(void *n)
{
	burn((long)n);
	rb_thread_call_with_gvl(again, n);
	AFTER();
	return NULL;
}

static VALUE ext_nogvl(VALUE self, VALUE n)
{
	rb_nogvl(without, (void *)NUM2LONG(n), RUBY_UBF_IO, NULL, 0);
	AFTER();
	return self;
}

/* -- a function that a library has made of a method ------------------------------------------------------ */

static VALUE ext_closure(VALUE self, VALUE address, VALUE n)
{
	((long (*)(long))NUM2ULL(address))(NUM2LONG(n));
	AFTER();
	return self;
}

/* -- a thread that is none of Ruby's ------------------------------------------------------------------------ */

static void *foreign(void *n)
{
	burn((long)n);
	AFTER();
	return NULL;
}

FUNCTION void *joins(void *n)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, foreign, n))
		pthread_join(thread, NULL);
	AFTER();
	return NULL;
}

static VALUE ext_foreign(VALUE self, VALUE n)
{
	rb_nogvl(joins, (void *)NUM2LONG(n), RUBY_UBF_IO, NULL, 0);
	AFTER();
	return self;
}

void Init_native_truth(void)
{
	VALUE truth = rb_define_module("Truth");

	rb_ext_ractor_safe(true);
	rb_define_singleton_method(truth, "chain", ext_chain, 1);
	rb_define_singleton_method(truth, "shares", ext_shares, 1);
	rb_define_singleton_method(truth, "ping", ext_ping, 2);
	rb_define_singleton_method(truth, "direct", ext_direct, 1);
	rb_define_singleton_method(truth, "sorted", ext_sorted, 0);
	rb_define_singleton_method(truth, "jumps", ext_jumps, 1);
	rb_define_singleton_method(truth, "frames", ext_frames, 1);
	rb_define_singleton_method(truth, "signal", ext_signal, 1);
	rb_define_singleton_method(truth, "resumes", ext_resumes, 2);
	rb_define_singleton_method(truth, "yields", ext_yields, 1);
	rb_define_singleton_method(truth, "blocks", ext_blocks, 1);
	rb_define_singleton_method(truth, "nogvl", ext_nogvl, 1);
	rb_define_singleton_method(truth, "closure", ext_closure, 2);
	rb_define_singleton_method(truth, "foreign", ext_foreign, 1);
}
