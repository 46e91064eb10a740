# SPDX-License-Identifier: Apache-2.0
# PARMACS: the example's output is that of its plain run, whatever the number of processes and of processors, compiled by
# peetcc or another compiler; every macro expands to something that compiles, in SPLASH-2's forms and in SPLASH-3's.
. "$(dirname "$0")/lib.sh"
command -v m4 >/dev/null || skip "m4 is not installed"
macros=$PEET_SOURCE/examples/parmacs/peet.m4
must m4 -Ulen -Uindex "$macros" "$PEET_SOURCE/examples/parmacs/heat.c.in" >heat.c
must "$PEET_PLAIN_CC" -O2 -pthread -o heat.plain heat.c -lm
build heat heat.c -Wall -Wextra -Werror
must ./heat.plain 1 >expected 2>/dev/null
for processes in 1 3 8; do
    must ./heat.plain $processes >output 2>/dev/null
    same expected output "the plain program with $processes processes"
    must ./heat $processes >output 2>/dev/null
    same expected output "recorded, with $processes processes"
    for cores in 1 2 8; do
        must "$peet" run --quiet --cores $cores -d run -- ./heat $processes >output 2>took
        same expected output "$processes processes on $cores processors"
    done
done
# CLOCK shows simulated time: 1 GHz, 1000 cycles a microsecond
must "$peet" run --quiet --cores 8 -d run -- ./heat 8 >output 2>took
took=$(sed -n 's/ microseconds$//p' took)
[ "$took" -gt 0 ] && [ $((took * 1000)) -le "$(value run/stats.json time.cycles)" ] || fail "the program says that it took '$took'"

# the rest of the macros, old and new
cat >all.c.in <<'END'
#include <stdio.h>
MAIN_ENV
EXTERN_ENV
BARDEC(before)
PAUSEDEC(flags, 4)
EVENTDEC(single)
LOCKDEC(lock)
ULOCKDEC(other)
ALOCKDEC(many, 3)
CONDVARDEC(condition)
GSDEC(loop)
long sum, turns, released, ids;
void child(void)
{
    long i, me;
    LOCK(lock) me = ids++; UNLOCK(lock)
    BARRIER(before, 4);
    WAITPAUSE(flags, me);
    CLEARPAUSE(flags, me);
    if (me < 3) { SETPAUSE(flags, me + 1); } else { SETEVENT(single); }
    WAITEVENT(single);
    for (int again = 0; again < 2; again++)
        for (;;) {
            GETSUB(loop, i, 9, 4);
            if (i < 0)
                break;
            ALOCK(many, i % 3);
            ULOCK(other); sum += i; turns++; UUNLOCK(other);
            AULOCK(many, i % 3);
        }
    LOCK(AGETL(many, 2)); UNLOCK(AGETL(many, 2));
    LOCK(lock);
    if (++released == 4) { CONDVARBCAST(condition); }
    while (released < 4) { CONDVARWAIT(condition, lock); }
    UNLOCK(lock);
    ACQUIRE_FENCE; RELEASE_FENCE; FULL_FENCE;
}
int main(void)
{
    long i, *memory;
    MAIN_INITENV(, 1000)
    LOCKINIT(lock); ULOCKINIT(other); ALOCKINIT(many, 3); BARINIT(before); PAUSEINIT(flags, 4); EVENTINIT(single); CONDVARINIT(condition);
    GSINIT(loop);
    G_INIT(1000); NU_INIT(1, 2);
    memory = (long *)NU_MALLOC(8, 0)
    NU_FREE(memory);
    for (i = 0; i < 4; i++)
        CREATE(child)
    SETPAUSE(flags, 0);
    WAIT_FOR_END(4)
    printf("%ld %ld\n", sum, turns);
    MAIN_END
}
END
must m4 -Ulen -Uindex "$macros" all.c.in >all.c
build all all.c
must timeout 60 ./all >output
[ "$(cat output)" = "90 20" ] || fail "all macros: $(cat output)"
for cores in 1 4; do
    must timeout 60 "$peet" run --quiet --cores $cores -d run -- ./all >output
    [ "$(cat output)" = "90 20" ] || fail "all macros on $cores processors: $(cat output)"
done
