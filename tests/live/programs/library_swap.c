/* Two libraries of the same size, with other names and frames: SECOND makes the other one.  Built with -O2
 * -fomit-frame-pointer. */
#define FUNCTION __attribute__((noinline, noclone)) static
#define AFTER() __asm__ volatile("" ::: "memory")

#ifdef SECOND
#define NAME(x) b_##x
#define ROOM 408
#else
#define NAME(x) a_##x
#define ROOM 24
#endif

FUNCTION void NAME(burn)(long n)
{
	for (long i = 0; i < n * 1000; i++)
		__asm__ volatile("" : "+r"(i));
}

FUNCTION void NAME(inner)(long n)
{
	volatile char room[ROOM];

	room[0] = (char)n;
	__asm__ volatile("" :: "r"(room) : "memory");
	NAME(burn)(n + (room[0] == 77));
	AFTER();
}

FUNCTION void NAME(outer)(long n)
{
	NAME(inner)(n);
	AFTER();
}

void entry(long n)
{
	NAME(outer)(n);
	AFTER();
}
