/* An extension whose functions are stuck in known places.  Built with -O2 -fomit-frame-pointer. */
#include <ruby.h>
#include <ruby/thread.h>
#include <alloca.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

/* A function of its own, also if another one has the same code, and never the last thing that its caller does. */
#define FUNCTION __attribute__((noinline, noclone, no_icf)) static
#define AFTER() __asm__ volatile("" ::: "memory")

static int silent[2];
static volatile int go_on;

/* The call itself, so that no function of libc is in between. */
#ifdef __x86_64__
#define CALL_READ 0
#define CALL_WRITE 1
#define CALL_EPOLL_WAIT 232

__attribute__((always_inline)) static inline long call(long number, long a, long b, long c, long d)
{
	register long fourth __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
	return result;
}

/* As libc does it: the number is an operand of the instruction before. */
__attribute__((always_inline)) static inline long call_poll(struct pollfd *p, int ms)
{
	long result;

	__asm__ volatile("mov $7, %%eax\n\tsyscall" : "=&a"(result) : "D"(p), "S"(1l), "d"((long)ms) : "rcx", "r11", "memory");
	return result;
}
#else
#define CALL_READ 63
#define CALL_WRITE 64
#define CALL_EPOLL_WAIT 22	/* epoll_pwait */
#define CALL_PPOLL 73

__attribute__((always_inline)) static inline long call(long number, long a, long b, long c, long d)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = 0;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
	return x0;
}

__attribute__((always_inline)) static inline long call_poll(struct pollfd *p, int ms)
{
	struct timespec limit = { ms / 1000, ms % 1000 * 1000000l };

	return call(CALL_PPOLL, (long)p, 1, (long)&limit, 0);
}
#endif

/* -- read(2), with the GVL --------------------------------------------------------------------- */

FUNCTION void read_here(void)
{
	char byte;

	if (read(silent[0], &byte, 1) != 1)
		abort();
	AFTER();
}

FUNCTION void read_2(void) { read_here(); AFTER(); }
FUNCTION void read_1(void) { read_2(); AFTER(); }

static VALUE ext_read(VALUE self)
{
	read_1();
	AFTER();
	return self;
}

/* A frame of a size that is known when it runs: it is found by rbp, which nobody below has saved. */
FUNCTION void framed(long n)
{
	char *room = alloca((size_t)n);
	long result;

	__asm__ volatile("" : "+r"(room) :: "memory");
	result = call(CALL_READ, silent[0], (long)room, 1, 0);
	if (result != 1)
		abort();
	AFTER();
}

static VALUE ext_framed(VALUE self)
{
	framed(100 + (long)(self & 1));
	AFTER();
	return self;
}

/* -- poll(2) with a time limit, which goes on after a stop as restart_syscall(2) ------------------------------------ */

FUNCTION void polled(long n)
{
	char *room = alloca((size_t)n);
	struct pollfd p = { .fd = silent[0], .events = POLLIN };
	long result;

	__asm__ volatile("" : "+r"(room) :: "memory");
	result = call_poll(&p, 1000000);
	if (result != 1)
		abort();
	AFTER();
}

static VALUE ext_polled(VALUE self)
{
	polled(100 + (long)(self & 1));
	AFTER();
	return self;
}

/* -- write(2), of which a part is done ----------------------------------------------------------------------- */

static char much[1 << 20];

FUNCTION void written(long n, int fd)
{
	char *room = alloca((size_t)n);
	long result;

	__asm__ volatile("" : "+r"(room) :: "memory");
	result = call(CALL_WRITE, fd, (long)much, sizeof(much), 0);
	if (result != sizeof(much))
		abort();
	AFTER();
}

static VALUE ext_written(VALUE self, VALUE fd)
{
	written(100 + (long)(self & 1), NUM2INT(fd));
	AFTER();
	return self;
}

/* -- epoll_wait(2), which no stop restarts --------------------------------------------------------- */

FUNCTION void epoll_framed(long n)
{
	char *room = alloca((size_t)n);
	int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event e = { .events = EPOLLIN };
	long result;

	epoll_ctl(fd, EPOLL_CTL_ADD, silent[0], &e);
	__asm__ volatile("" : "+r"(room) :: "memory");
	result = call(CALL_EPOLL_WAIT, fd, (long)&e, 1, -1);
	if (result != 1)
		abort();
	AFTER();
}

static VALUE ext_epoll(VALUE self)
{
	epoll_framed(100 + (long)(self & 1));
	AFTER();
	return self;
}

/* -- a condition variable, without the GVL -------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

FUNCTION void cond_here(void)
{
	pthread_mutex_lock(&mutex);
	while (!go_on)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	AFTER();
}

FUNCTION void cond_1(void) { cond_here(); AFTER(); }

FUNCTION void *cond_body(void *unused)
{
	cond_1();
	AFTER();
	return unused;
}

static VALUE ext_cond(VALUE self)
{
	rb_nogvl(cond_body, NULL, RUBY_UBF_IO, NULL, 0);
	AFTER();
	return self;
}

/* -- a loop, with the GVL and without ------------------------------------------------------------------- */

FUNCTION void spin_here(void)
{
	while (!go_on)
		__asm__ volatile("" ::: "memory");
}

FUNCTION void spin_2(void) { spin_here(); AFTER(); }
FUNCTION void spin_1(void) { spin_2(); AFTER(); }

static VALUE ext_spin(VALUE self)
{
	spin_1();
	AFTER();
	return self;
}

FUNCTION void *spin_body(void *unused)
{
	spin_1();
	AFTER();
	return unused;
}

static VALUE ext_spin_without(VALUE self)
{
	rb_nogvl(spin_body, NULL, RUBY_UBF_IO, NULL, 0);
	AFTER();
	return self;
}

/* -- C, Ruby, C ----------------------------------------------------------------------------------------- */

FUNCTION VALUE call_pong(VALUE self, long depth, VALUE what)
{
	VALUE result = rb_funcall(self, rb_intern("pong"), 2, LONG2NUM(depth), what);

	AFTER();
	return result;
}

static VALUE ext_ping(VALUE self, VALUE depth, VALUE what)
{
	if (NUM2LONG(depth))
		call_pong(self, NUM2LONG(depth) - 1, what);
	else if (RTEST(what))
		spin_1();
	else
		read_1();
	AFTER();
	return self;
}

/* -- a callback of libc ------------------------------------------------------------------------------- */

FUNCTION int compare(const void *a, const void *b)
{
	VALUE result = rb_yield_values(2, LONG2NUM(*(const long *)a), LONG2NUM(*(const long *)b));

	AFTER();
	return NUM2INT(result);
}

static VALUE ext_sorted(VALUE self)
{
	long list[2] = { 2, 1 };

	qsort(list, 2, sizeof(list[0]), compare);
	AFTER();
	return LONG2NUM(list[0]);
}

void Init_native_stuck(void)
{
	VALUE stuck = rb_define_module("Stuck");

	if (pipe(silent))
		abort();
	rb_define_singleton_method(stuck, "read", ext_read, 0);
	rb_define_singleton_method(stuck, "framed", ext_framed, 0);
	rb_define_singleton_method(stuck, "polled", ext_polled, 0);
	rb_define_singleton_method(stuck, "written", ext_written, 1);
	rb_define_singleton_method(stuck, "epoll", ext_epoll, 0);
	rb_define_singleton_method(stuck, "cond", ext_cond, 0);
	rb_define_singleton_method(stuck, "spin", ext_spin, 0);
	rb_define_singleton_method(stuck, "spin_without", ext_spin_without, 0);
	rb_define_singleton_method(stuck, "ping", ext_ping, 2);
	rb_define_singleton_method(stuck, "sorted", ext_sorted, 0);
}
