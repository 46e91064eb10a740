# SPDX-License-Identifier: Apache-2.0
# Waiting for many descriptors: as in the plain run; and a timeout of simulated hours takes no host time.
. "$(dirname "$0")/lib.sh"
build polling
both polling
cat >long.c <<'C'
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    int fds[2];
    struct timespec t, u;
    pipe(fds);
    struct pollfd p = {fds[0], POLLIN, 0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    int n = poll(&p, 1, 7200000);
    sleep(3600);
    clock_gettime(CLOCK_MONOTONIC, &u);
    printf("%d %ld\n", n, (long)(u.tv_sec - t.tv_sec));
    return 0;
}
C
must "$peetcc" -O1 -w -D_GNU_SOURCE -o long long.c
equal "two hours and one" "$(timeout 60 "$peet" run --quiet --machine ideal -d out -- ./long)" "0 10800"
exit 0
