/* The timer that extprof uses, on each CPU, with no program behind it: what of the cost of
 * sampling is the interrupt itself.   ticker RATE, until killed. */
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
    struct perf_event_attr attr;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const unsigned long rate = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;

    if (!rate) {
        fprintf(stderr, "usage: ticker RATE\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* not after the one that measures */
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_CPU_CLOCK;
    attr.sample_period = 1000000000 / rate;
    attr.exclude_idle = 1;
    for (int cpu = 0; cpu < cpus; cpu++) {
        if (syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC) < 0) {
            perror("ticker: perf_event_open");
            return 1;
        }
    }
    pause();
    return 0;
}
