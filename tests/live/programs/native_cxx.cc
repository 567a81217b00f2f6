// An extension in C++ whose functions are known.
#include <ruby.h>

namespace truth {

template<class T> struct Worker {
	__attribute__((noipa)) static void run(T n)
	{
		for (T i = 0; i < n * 1000; i++)
			__asm__ volatile("" : "+r"(i));
	}
};

// The class has a name that only this file knows.
namespace {
struct Inner {
	long n;
	__attribute__((noipa)) void operator()(const char *) const
	{
		Worker<long>::run(n);
		__asm__ volatile("" ::: "memory");
	}
};
}

}

static VALUE ext_run(VALUE self, VALUE n)
{
	truth::Inner{ NUM2LONG(n) }("known");
	__asm__ volatile("" ::: "memory");
	return self;
}

// An exception becomes one of Ruby's where C++ ends, and one of C++ again behind the Ruby code between.
#define NOIPA __attribute__((noipa))
#define STAYS __asm__ volatile("" ::: "memory")

NOIPA static void thrower(long n)
{
	truth::Worker<long>::run(n);
	throw 1;
}

NOIPA static void caught(long n)
{
	truth::Worker<long>::run(n);
	STAYS;
}

NOIPA static void after(long n)
{
	truth::Worker<long>::run(n);
	STAYS;
}

static VALUE ext_inner(VALUE self, VALUE n)
{
	try {
		thrower(NUM2LONG(n));
	} catch (int) {
		caught(NUM2LONG(n));
	}
	rb_raise(rb_eRuntimeError, "it was thrown");
	return self;
}

NOIPA static VALUE call_ruby(VALUE n)
{
	VALUE value = rb_funcall(rb_path2class("Cxx"), rb_intern("between"), 1, n);

	STAYS;
	return value;
}

static VALUE ext_outer(VALUE self, VALUE n)
{
	int state = 0;

	try {
		rb_protect(call_ruby, n, &state);
		if (state) {
			rb_set_errinfo(Qnil);
			throw 2L;
		}
	} catch (long) {
		after(NUM2LONG(n));
	}
	STAYS;
	return self;
}

extern "C" void Init_native_cxx(void)
{
	VALUE cxx = rb_define_module("Cxx");

	rb_define_singleton_method(cxx, "run", RUBY_METHOD_FUNC(ext_run), 1);
	rb_define_singleton_method(cxx, "inner", RUBY_METHOD_FUNC(ext_inner), 1);
	rb_define_singleton_method(cxx, "outer", RUBY_METHOD_FUNC(ext_outer), 1);
}
