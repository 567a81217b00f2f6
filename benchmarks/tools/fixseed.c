/* LD_PRELOAD for counted runs: getrandom and getentropy give the same bytes each time, so
 * that Ruby's hash seed, the only source of noise in an instruction count, is fixed.
 * FIXSEED=N picks another constant. For tests only: it makes every random number known. */
#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>

static unsigned state;

static void
fill(unsigned char *p, size_t n)
{
    if (!state) {
        const char *s = getenv("FIXSEED");
        state = 2463534242u + 2654435761u * (unsigned)(s ? atoi(s) : 0);
    }
    while (n--) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        *p++ = (unsigned char)(state >> 11);
    }
}

ssize_t
getrandom(void *buf, size_t n, unsigned flags)
{
    (void)flags;
    fill(buf, n);
    return (ssize_t)n;
}

int
getentropy(void *buf, size_t n)
{
    fill(buf, n);
    return 0;
}
