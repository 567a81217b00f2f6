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

extern "C" void Init_native_cxx(void)
{
	rb_define_singleton_method(rb_define_module("Cxx"), "run", RUBY_METHOD_FUNC(ext_run), 1);
}
