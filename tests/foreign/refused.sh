#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What cannot be recorded yet is refused by name; an unknown choice as well.
. "$(dirname "$0")/lib.sh"
cat >two.c <<'END'
#include <pthread.h>
static void *other(void *p) { return p; }
int main(void) { pthread_t t; return pthread_create(&t, 0, other, 0) || pthread_join(t, 0); }
END
must "$peetcc" -O2 -fpeet-domains -fpeet-granularity=ref -o two two.c
for way in --explore=all --consistency=consistency; do
    "$peet" run -q --foreign=record $way --cores 2 -d out -- ./two 2>report && fail "$way was taken"
    grep -q 'foreign=record.*not with' report || fail "the refusal of $way does not say why: $(cat report)"
done
# As a default it gives way, and the results say why; at the end it is said where unseen code has taken more than 1 % of the time.
cat >spend.c <<'END'
long plain_spend(long n) { volatile long sum = 0; for (long i = 0; i < n; i++) sum += i; return sum; }
END
must "$PEET_PLAIN_CC" -O1 -c -o spend.o spend.c
gives_way()
{
    local why=$1; shift
    must env PEET_FOREIGN=record "$peet" run "$@" 2>report
    equal "the configuration's foreign" "$(value out/stats.json config.foreign)" ranges
    [[ $(value out/stats.json not_recorded) == *"$why"* ]] || fail "the results do not say why: $(value out/stats.json not_recorded)"
}
gives_way 'model of consistency' -q --consistency=consistency --cores 2 -d out -- ./two
gives_way 'explored' -q --explore=all --cores 2 -d out -- ./two
# Memory that the translator needs is taken: the program's own code has nothing to do with it.
cat >taken.c <<'END'
#include <sys/mman.h>
__attribute__((constructor)) static void take(void)
{
    mmap((void *)0x7fa00000, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}
END
must "$PEET_PLAIN_CC" -O1 -shared -fPIC -o taken.so taken.c
cat >spends.c <<'END'
long plain_spend(long n);
int main(void) { return plain_spend(300000000) == 0; }
END
must "$peetcc" -O2 -o spends spends.c spend.o ./taken.so -Wl,--no-as-needed -Wl,-rpath,.
"$peet" run -q --foreign=record -d out -- ./spends 2>report && fail "memory that is taken was used"
grep -q 'foreign=record: the memory from' report || fail "the refusal does not say what is taken: $(cat report)"
gives_way 'the memory from' -d out -- ./spends
grep -q 'libraries are not recorded: the memory from' report || fail "the summary does not say it: $(cat report)"
must "$peet" run -q --foreign=record -d out -- ./two
[ "$(value out/stats.json not_recorded 2>/dev/null)" = "" ] || fail "a run that is recorded says that it is not"
"$peet" run -q --foreign=all -d out -- ./two 2>report && fail "--foreign=all was taken"
grep -q 'record|ranges|off' report || fail "the choices are not named: $(cat report)"
must "$peet" run -q --foreign=off -d out -- ./two
must "$peet" run -q --foreign=record -d out -- ./two
