#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Markers of a region of interest, of every kind that is recognised, enclose one and the same piece of work: the
# region's counts are those of the function that does it, but for a few instructions around the markers.
. "$(dirname "$0")/../tools/common.sh"
cat >"$work/subject.c" <<'C'
#include <peet/roi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
void __parsec_roi_begin(void), __parsec_roi_end(void);
void m5_work_begin(uint64_t, uint64_t), m5_work_end(uint64_t, uint64_t);
static int resumed, paused;
static void resume(void) { resumed++; }
static void pause_it(void) { paused++; }
void (*__itt_resume_ptr__3_0)(void) = resume, (*__itt_pause_ptr__3_0)(void) = pause_it;
static void sniper(unsigned long command)
{
    unsigned long result;
    __asm__ __volatile__("mov %1, %%rax\n\txchg %%bx, %%bx\n" : "=a"(result) : "g"(command));
}
static void zsim(unsigned long op)
{
    __asm__ __volatile__("xchg %%rcx, %%rcx;" : : "c"(op));
}
static void mark(int kind, int begin)
{
    switch (kind) {
    case 0: begin ? peet_roi_begin() : peet_roi_end(); break;
    case 1: sniper(begin ? 1 : 2); break;
    case 2: zsim(begin ? 1025 : 1026); break;
    case 3: begin ? __parsec_roi_begin() : __parsec_roi_end(); break;
    case 4: begin ? m5_work_begin(1, 2) : m5_work_end(1, 2); break;
    case 5:
        if (begin) {
            if (__itt_resume_ptr__3_0) __itt_resume_ptr__3_0();
        } else if (__itt_pause_ptr__3_0) __itt_pause_ptr__3_0();
        break;
    case 6: sniper(0x10); zsim(77); break; /* other commands are no marks */
    }
}
static long cells[777];
__attribute__((noinline)) void work(void)
{
    for (int i = 0; i < 5000; i++)
        cells[i * 13 % 777] += i;
}
int main(int argc, char **argv)
{
    long sum = 0;
    int kind = atoi(argv[1]);
    for (int i = 0; i < 1000; i++)
        sum += cells[i % 777]++;
    mark(kind, 1);
    work();
    mark(kind, 0);
    for (int i = 0; i < 1000; i++)
        sum += cells[i % 777];
    printf("%ld\n", sum);
    return 0;
}
C
# the suite's own library of hooks
echo 'void __parsec_roi_begin(void) {} void __parsec_roi_end(void) {}' >"$work/hooks.c"
"$PEET_PLAIN_CC" -c -o "$work/hooks.o" "$work/hooks.c" || fail "hooks"
# number KEY OBJECT: the first number of that key behind the line with OBJECT
number() { awk -v key="\"$1\"" -v object="$2" 'index($0, object) { on = 1 } on && index($0, key ":") { match($0, /[0-9]+/); print substr($0, RSTART, RLENGTH); exit }' "$work/out/stats.json"; }
for level in -O0 -O2; do
    "$PEETCC" $level -o "$work/subject" "$work/subject.c" "$work/hooks.o" || fail "peetcc"
    expected=$("$work/subject" 0) || fail "the plain run"
    for kind in 0 1 2 3 4 5 6; do
        said=$("$PEET" run --quiet --observe counts -d "$work/out" -- "$work/subject" $kind) || fail "peet run"
        [ "$said" = "$expected" ] || fail "kind $kind: the output differs"
        regions=$(number regions '"roi": {')
        if [ $kind = 6 ]; then
            [ "$regions" = 0 ] || fail "$regions regions without a marker"
            continue
        fi
        [ "$regions" = 1 ] || fail "$level, kind $kind: $regions regions"
        for what in instructions reads writes; do
            roi=$(number $what '"roi": {') function=$(number $what '"name": "work"')
            [ "$roi" -ge "$function" ] && [ "$roi" -le $((function + 80)) ] ||
                fail "$level, kind $kind: $roi $what in the region, $function in the function that it encloses"
        done
    done
done
echo "regions found"
