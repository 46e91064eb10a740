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
# As a default it gives way, and says so.
must env PEET_FOREIGN=record "$peet" run -q --consistency=consistency --cores 2 -d out -- ./two 2>report
grep -q 'not recorded: the run has a model of consistency' report || fail "nobody says that libraries are not recorded: $(cat report)"
equal "the configuration's foreign" "$(value out/stats.json config.foreign)" ranges
"$peet" run -q --foreign=all -d out -- ./two 2>report && fail "--foreign=all was taken"
grep -q 'record|ranges|off' report || fail "the choices are not named: $(cat report)"
must "$peet" run -q --foreign=off -d out -- ./two
must "$peet" run -q --foreign=record -d out -- ./two
