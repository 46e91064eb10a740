# SPDX-License-Identifier: Apache-2.0
# Timers with descriptors: as in the plain run; and one of simulated hours takes no host time.
. "$(dirname "$0")/lib.sh"
build timerfd
both timerfd
cat >long.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    struct itimerspec two = {{0, 0}, {7200, 0}};
    struct timespec t, u;
    uint64_t n = 0;
    int fd = timerfd_create(CLOCK_BOOTTIME, 0);
    clock_gettime(CLOCK_MONOTONIC, &t);
    timerfd_settime(fd, 0, &two, NULL);
    read(fd, &n, sizeof n);
    clock_gettime(CLOCK_MONOTONIC, &u);
    printf("%ld %ld\n", (long)n, (long)(u.tv_sec - t.tv_sec));
    return 0;
}
C
must "$peetcc" -O1 -w -D_GNU_SOURCE -o long long.c
equal "two hours" "$(timeout 60 "$peet" run --quiet --machine ideal -d out -- ./long)" "1 7200"
exit 0
