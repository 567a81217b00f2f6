/* The timer that extprof uses, on each CPU, with no program behind it: what of the cost of
 * sampling is the interrupt itself.   ticker RATE, until killed. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
    struct perf_event_attr attr;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_CPU_CLOCK;
    attr.freq = 1;
    attr.sample_freq = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    for (int cpu = 0; cpu < cpus; cpu++) {
        if (syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC) < 0) {
            perror("ticker: perf_event_open");
            return 1;
        }
    }
    pause();
    return 0;
}
