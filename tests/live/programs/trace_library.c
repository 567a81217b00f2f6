/* A library that publishes the context of native threads as OTEP 4947 says: in a thread-local variable of that name.  PAD:
 * bytes that are before it, so that there is no room left in the memory that ld.so keeps next to the thread pointer. */
#ifndef PAD
#define PAD 8
#endif
__thread char before[PAD];
__thread void *otel_thread_ctx_v1;

void trace_set(void *record)
{
	before[0] = 1;
	otel_thread_ctx_v1 = record;
}

void *trace_get(void)
{
	return otel_thread_ctx_v1;
}
