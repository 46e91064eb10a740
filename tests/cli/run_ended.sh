# SPDX-License-Identifier: Apache-2.0
# A run that a signal ends leaves whole results of observers; threads, so not in sanitized builds.
. "$(dirname "$0")/lib.sh"
set -m # not "&" in a script: the shell has background jobs ignore SIGINT
# Observers have what happened until then, also if the signal comes to the whole group and from peet.
cat >counting.c <<'END'
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long n;
static void *count(void *arg)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        if (n++ == 10000) {
            puts("ready");
            fflush(stdout);
        }
        pthread_mutex_unlock(&lock);
    }
    return arg;
}
int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, count, 0);
    count(0);
}
END
must "$peetcc" -O1 -pthread -o counting counting.c
for signal in TERM INT HUP; do
    rm -rf out.txt results
    "$peet" run -q --machine bus --cores 4 -o timeline -o profile -d results -- ./counting >out.txt 2>err.txt &
    pid=$!
    for _ in $(seq 200); do grep -q -s ready out.txt && break; sleep 0.05; done
    kill -$signal $pid
    kill -$signal -- -$pid
    wait $pid
    status=$?
    [ $status -gt 128 ] || fail "SIG$signal to the group: status $status"
    [ "$("$json_get" results/stats.json timeline.slices)" -gt 100 ] || fail "SIG$signal to the group: no results: $(cat err.txt)"
    [ -s results/timeline.bin ] || fail "SIG$signal: stats.json names a file that is not there"
    grep -q 'there are no results' err.txt && fail "SIG$signal to the group: $(cat err.txt)"
done
exit 0
