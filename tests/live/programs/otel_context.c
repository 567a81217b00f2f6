/* Publishes a process context as OTEP 4719 says: OtelContext.publish(KIND, MESSAGE) -> was the mapping named?  KIND: "memfd" and
 * "anon" are named by prctl(), "file" is a memfd that is not; "lost" has a payload at an address where nothing is, "busy" never has a
 * time, "huge" says that it is larger than it is. */
#include <ruby.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t published_at, payload;
};

static VALUE publish(VALUE self, VALUE kind, VALUE message)
{
	const char *how = StringValueCStr(kind);
	size_t length = (size_t)RSTRING_LEN(message), size = 65536;
	int fd = strcmp(how, "anon") ? memfd_create("OTEL_CTX", MFD_CLOEXEC) : -1;
	struct header *h;
	struct timespec now;
	int named = 0;

	if (fd >= 0 && ftruncate(fd, (off_t)size))
		rb_sys_fail("ftruncate");
	h = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	if (h == MAP_FAILED || madvise(h, size, MADV_DONTFORK))
		rb_sys_fail("mmap");
	if (fd >= 0)
		close(fd);
	memcpy(h + 1, RSTRING_PTR(message), length);
	memcpy(h->signature, "OTEL_CTX", 8);
	h->version = 2;
	h->size = strcmp(how, "huge") ? (uint32_t)length : 0xfffffff0u;
	h->payload = strcmp(how, "lost") ? (uint64_t)(uintptr_t)(h + 1) : 0x10;
	clock_gettime(CLOCK_BOOTTIME, &now);
	__atomic_store_n(&h->published_at, strcmp(how, "busy") ? (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec : 0, __ATOMIC_SEQ_CST);
	if (strcmp(how, "file"))
		named = !prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, h, size, "OTEL_CTX");
	return named ? Qtrue : Qfalse;
}

void Init_otel_context(void)
{
	rb_define_singleton_method(rb_define_module("OtelContext"), "publish", publish, 2);
}
