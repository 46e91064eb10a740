#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# posix_suite.sh FOLDER [OPTION-OF-peet-run...]: cases of the Open POSIX Test Suite (LTP has it as
# testcases/open_posix_testsuite), brought along by the user.  Each case runs plainly, which is the independent
# answer, and under peet run, which has to agree wherever the plain run passes.  Says SKIPPED if the folder is
# not there.  PEET_POSIX_ONLY: an extended pattern of cases; without it, those of threads and semaphores ("." is all
# interfaces, which takes an hour); PEET_POSIX_SECONDS: for one case, 60; PEET_POSIX_KEEP: a folder where programs and
# verdicts of plain runs stay for the next time.
. "$(dirname "$0")/../tools/common.sh"
folder=${1:-${PEET_POSIX_SUITE:-}}
[ $# -gt 0 ] && shift
[ -n "$folder" ] && [ -d "$folder/conformance/interfaces" ] ||
    skip "the Open POSIX Test Suite is not at '${folder:-PEET_POSIX_SUITE}': give its folder"
folder=$(cd "$folder" && pwd)
keep=${PEET_POSIX_KEEP:-$work/keep}
mkdir -p "$keep"
only=${PEET_POSIX_ONLY:-^(pthread_|sem_)}

# What is known to differ, by the limit that it meets (docs/GUIDE.md, section 8): shown, and not counted as a failure.
known() { # NAME: says the reason, or fails
    case $1 in
    pthread_barrierattr_getpshared/2-1) echo "a barrier between processes, with an alarm to come" ;;
    sem_timedwait/9-1) echo "a child of fork() finds semaphores as they were initialised" ;;
    pthread_detach/4-3 | pthread_create/14-1) echo "counts seconds in which children run, which take no simulated time" ;;
    pthread_attr_setschedpolicy/2-1 | pthread_create/1-6 | pthread_create/11-1 | pthread_setschedparam/5-1)
        echo "priorities and processor clocks of the kernel's have no effect" ;;
    pthread_atfork/3-3 | pthread_cond_*/4-[123] | pthread_equal/2-1 | pthread_join/6-3 | pthread_kill/8-1 | \
        pthread_mutex_lock/3-1 | pthread_mutex_trylock/4-3 | pthread_once/6-1 | pthread_sigmask/18-1)
        echo "runs until many signals or seconds have gone by: long in simulated time" ;;
    aio_error/2-1 | aio_fsync/5-1 | aio_suspend/4-1 | aio_suspend/9-1) echo "reading and writing a file takes no simulated time" ;;
    clock_settime/*) echo "simulated clocks cannot be set" ;;
    clock/1-1 | fork/8-1 | fork/22-1 | timer_create/1[01]-1)
        echo "computes until processor time of a second or more has gone by: long in simulated time" ;;
    timer_getoverrun/2-3) echo "a timer of a nanosecond, for a second: long in simulated time" ;;
    mq_timedsend/16-1)
        echo "gives a child a second to begin, which takes no time" ;;
    clock_nanosleep/1-5 | clock_nanosleep/9-1 | fork/1-1 | nanosleep/[37]-2 | mq_send/12-1 | mq_send/5-2 | mq_timedsend/5-[123])
        echo "a child takes the computer's time, beside its parent's simulated seconds" ;;
    mmap/1[34]-1) echo "times of files are the computer's" ;;
    sched_setparam/2-2 | sched_setparam/9-1) echo "priorities have no effect" ;;
    sigqueue/9-1) echo "signals that wait are not counted against the limit of the kernel's" ;;
    *) return 1 ;;
    esac
}

verdict() { # STATUS
    case $1 in
    0) echo PASS ;;
    1) echo FAIL ;;
    2) echo UNRESOLVED ;;
    4) echo UNSUPPORTED ;;
    5) echo UNTESTED ;;
    124 | 137) echo HUNG ;;
    *) echo "status $1" ;;
    esac
}

flags=(-std=gnu99 -D_POSIX_C_SOURCE=200809L -D_XOPEN_SOURCE=700 -D_GNU_SOURCE -w -O1 -g -I"$folder/include")
more=()
[ -f "$folder/lib/common.c" ] && more=("$folder/lib/common.c") # where newer versions have main()
agree=0 differ=0 limits=0 skipped=0 plain_fails=0
for source in "$folder"/conformance/interfaces/*/*.c; do
    name=$(basename "$(dirname "$source")")/$(basename "$source" .c)
    [[ $name =~ $only ]] || continue
    grep -q 'main *(' "$source" || continue
    here=$keep/${name//\//.}
    if [ ! -s "$here.verdict" ]; then
        (cd "$(dirname "$source")" && "$PEET_PLAIN_CC" "${flags[@]}" -o "$here.plain" "$source" "${more[@]}" -pthread -lrt -lm) 2>"$here.errors" ||
            { skipped=$((skipped + 1)); echo "does not compile: $name"; continue; }
        (cd "$keep" && timeout -k 1 ${PEET_POSIX_SECONDS:-60} "$here.plain" >/dev/null 2>&1) 2>/dev/null
        verdict $? >"$here.verdict"
    fi
    want=$(cat "$here.verdict")
    [ "$want" = PASS ] || { plain_fails=$((plain_fails + 1)); continue; }
    (cd "$(dirname "$source")" && "$PEETCC" "${flags[@]}" -o "$here.peet" "$source" "${more[@]}" -pthread -lrt -lm) 2>"$here.errors" ||
        { echo "DIFFERS: $name: peetcc refused it"; differ=$((differ + 1)); continue; }
    (cd "$keep" && timeout -k 1 ${PEET_POSIX_SECONDS:-60} "$PEET" run --quiet "$@" -d "$work/out" -- "$here.peet" >"$work/said" 2>&1) 2>/dev/null
    got=$(verdict $?)
    if [ "$got" = "$want" ]; then
        agree=$((agree + 1))
    elif reason=$(known "$name"); then
        echo "known: $name: $got: $reason"
        limits=$((limits + 1))
    else
        echo "DIFFERS: $name: $got, plainly $want"
        grep -v '^pass' "$work/said" | sed -n "1,${PEET_POSIX_LINES:-4}p" | sed 's/^/    /'
        differ=$((differ + 1))
    fi
done
echo "$agree agree, $differ differ, $limits meet known limits, $skipped skipped, $plain_fails do not pass plainly"
[ $differ = 0 ]
