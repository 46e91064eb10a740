#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One case of the runtime's end-to-end tests: run.sh CASE SUBJECT HOST_DIR WORK_DIR [SWITCH]
# The subject runs as `peet run` would start it, but with a host that only logs.
set -u
case_name=$1 subject=$2 hosts=$3 work=$4 switch=${5:-assembly}
work=$work/$case_name.$switch
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1

fail() {
    echo "FAILED: $*"
    echo "--- output"; cat out 2>/dev/null
    echo "--- errors"; cat err 2>/dev/null
    echo "--- log"; tail -5 log 2>/dev/null
    exit 1
}

# simulate MODE: with the settings in $settings and a small ring, so that checks yield often
settings=
simulate() {
    env PEET_CONFIG=none PEET_LIB="$hosts" PEET_TEST_LOG="$work/log" PEET_TEST_LIMIT="${limit:-50}" \
        PEET_SWITCH="$switch" $settings setarch -R "$subject" "$@" >out 2>err
    status=$?
}

expect_status() { [ "$status" = "$1" ] || fail "status $status, not $1"; }
expect_output() { printf "$1" | cmp -s - out || fail "output is not: $1"; }
expect_log() { grep -q -- "$1" log || fail "the log lacks: $1"; }
expect_error() { grep -q -- "$1" err || fail "the diagnostics lack: $1"; }
expect_words() { # as many as the subject says it has recorded, and $1 more
    said=$(sed -n 's/^words //p' out)
    got=$(sed -n 's/^words \([0-9]*\) .*/\1/p' log)
    [ $((said + $1)) = "$got" ] || fail "recorded $said + $1 words, $got came"
}
handlers='atexit\ndestructor\n'

case $case_name in
exit)
    simulate return;     expect_status 7;  expect_output "$handlers"; expect_log '^PROGRAM_EXIT 7$'; expect_log '^words 4 '
    simulate exit;       expect_status 8;  expect_output "$handlers"; expect_log '^PROGRAM_EXIT 8$'
    simulate _exit;      expect_status 9;  expect_output '';          expect_log '^PROGRAM_EXIT 9$'
    simulate quick_exit; expect_status 10; expect_output '';          expect_log '^PROGRAM_EXIT 10$'
    simulate exec;       expect_status 21; expect_output 'replaced\n'; expect_log '^PROGRAM_EXIT 0$'; expect_log '^words 2 '
    expect_error 'replaces itself by sh: the simulation ends here'
    simulate doall-exit; expect_status 55; expect_output "$handlers"; expect_log '^PROGRAM_EXIT 55$'
    ;;
crash)
    simulate abort; expect_status 134; expect_log '^CRASHED signal 6: '
    simulate term;  expect_status 143; expect_log '^CRASHED signal 15: Terminated'
    simulate segv;  expect_status 139; expect_log '^CRASHED signal 11: .* at address 0x8 in context 0'
    expect_log '^pc known'
    expect_log '^words 2 ' # also those of the turn that crashed
    ;;
host)
    # what goes wrong outside the subject is not laid at its door
    settings=PEET_TEST_HOST_FAULT=1
    simulate return; expect_status 139; expect_error 'a simulator or peet itself failed.*libpeet-host.so'
    settings=; hosts=/nowhere
    simulate return; expect_status 1; expect_error 'cannot load the simulation host: /nowhere/libpeet-host.so'
    switch=sideways
    simulate return; expect_status 1; expect_error 'PEET_SWITCH=sideways: choose assembly or ucontext'
    ;;
overflow)
    simulate overflow;       expect_status 139; expect_log 'stack overflow: context 0 has used up its stack of 8388608 bytes'
    simulate doall-overflow; expect_status 139; expect_log 'stack overflow: context 3 has used up its stack of 1048576 bytes'
    settings=PEET_GUARD=mprotect # as on kernels before 6.13
    simulate overflow;       expect_status 139; expect_log 'stack overflow: context 0 has used up its stack of 8388608 bytes'
    simulate doall-overflow; expect_status 139; expect_log 'stack overflow: context 3 has used up its stack of 1048576 bytes'
    ;;
contexts)
    settings="PEET_TEST_WORKERS=15000"
    simulate contexts; expect_status 0; expect_output "contexts kept apart\n$handlers"
    settings="PEET_TEST_WORKERS=15000 PEET_GUARD=mprotect"
    simulate contexts; expect_status 0; expect_output "contexts kept apart\n$handlers"
    ;;
environ)
    # the user's environment arrives whole, also what looks like peet's; the run's settings do not
    env -i A=1 LONG="$(seq 1 3000 | tr '\n' ' ')" EMPTY= PEET_CONFIG=mine PEET_OWN=1 LAST='x y' env -0 >strings
    env -i A=1 LONG="$(seq 1 3000 | tr '\n' ' ')" EMPTY= PEET_OWN=1 LAST='x y' env >want
    printf '%s\nenviron\narg with blank\n\n' "$subject" >>want
    printf 'atexit\ndestructor\n' >>want
    settings="PEET_ENVIRON_FD=7 SHELL=other"
    simulate environ 'arg with blank' '' 7<strings
    expect_status 0
    cmp -s want out || fail "$(diff want out | sed -n '1,10p')"
    settings="KEEP=1"
    simulate environ
    grep -q '^KEEP=1$' out && ! grep -q '^PEET_' out || fail "without a descriptor, the process's own minus PEET_*"
    ;;
addresses)
    simulate addresses
    expect_status 0
    mv out first
    mkdir -p a/directory/with/a/much/longer/name/than/the/one/before
    cd a/directory/with/a/much/longer/name/than/the/one/before || exit 1
    settings="PEET_TEST_BALLAST=1 BIG=$(seq 1 3000 | tr '\n' ,)"
    limit=7 simulate addresses
    cmp -s "$work/first" out || fail "addresses moved: $(diff "$work/first" out)"
    ;;
signals)
    settings=PEET_TIMERS=host # this host has no simulated time
    simulate deferred; expect_status 0; expect_output "signals waited\n$handlers"
    [ "$(grep -c '^SIGNAL_ENTER 14' log)" -ge 100 ] || fail "signals are not in the stream"
    simulate deferred-count; expect_status 0; expect_words 4
    # an iteration begins with its own start, whatever came before it
    simulate doall-signals; expect_status 0
    awk '/^DOALL_START/ && last ~ /^SIGNAL/ { exit 1 } { last = $0 }' log || fail "a handler ran between iterations"
    # the handler runs after the host has finished, in code that is not simulated any more
    simulate exit-signals; expect_status 0; expect_output "$handlers"
    simulate at-once; expect_status 0; expect_output "signals at once\n$handlers"
    ;;
allocation)
    simulate allocation; expect_status 0; expect_output "allocation works\n$handlers"
    settings=PEET_TEST_NOTE_ALLOCATIONS=1
    simulate allocation; expect_status 0; expect_log '^ALLOC '; expect_log '^FREE '
    # every FREE is of a live block, says the log
    awk '$1 == "ALLOC" { if (live[$2]) exit 1; live[$2] = 1 }
         $1 == "FREE" { if (!live[$2]) exit 1; live[$2] = 0 }' log || fail "the log frees what is not live"
    settings=
    simulate double-free; expect_status 134; expect_error 'free(0x2000.*double free'; expect_log '^CRASHED signal 6'
    ;;
library)
    # its constructor runs before the host is there, its destructor after main: both are observed
    simulate library; expect_status 0
    expect_output "atexit\ndestructor\nstatic destructor of a library\n"
    expect_log '^words 120005 '
    ;;
*) # modes that check themselves
    simulate "$case_name"
    expect_status 0
    grep -q FAILED out && fail "see the output"
    [ "$(tail -2 out)" = "$(printf "$handlers")" ] || fail "no proper end"
    [ "$case_name" != processes ] || [ "$(grep -c '^PHASE 9$' log)" = 1 ] || fail "a child wrote the host's log"
    [ "$case_name" != words ] || expect_words 0
    ;;
esac
exit 0
