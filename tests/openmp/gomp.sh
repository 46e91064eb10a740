#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A library compiled by gcc, whose calls of libgomp are taken: the same output as with libgomp itself, one hash, and a refusal
# by name of what is not there.
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "gcc is not installed"
cat >main.c <<'END'
void library(void);
int main(void)
{
    int all = 0;
#pragma omp parallel reduction(+ : all)
    all++;
    library();
    return all == 0;
}
END
for level in -O0 -O2; do
    gcc $level -fopenmp -shared -fPIC -o libgcc_made.so "$here/gomp.c" || fail "gcc failed"
    gcc -fopenmp -o native main.c -L. -lgcc_made -Wl,-rpath,"$PWD" || fail "gcc failed"
    "$peetcc" -O2 -fopenmp -o prog main.c -L. -lgcc_made -Wl,-rpath,"$PWD" || fail "peetcc failed"
    ./native >native.out || fail "native: status $?"
    for machine in "-n 4 -m ideal" "-n 4 -m bus" "-n 3 -m x86,preset=zen4" "-n 1"; do
        for ((run = 0; run < 2; run++)); do
            # shellcheck disable=SC2086
            "$peet" run -q $machine -o hash -d results -- ./prog >prog.out || fail "$level $machine: status $?"
            cmp native.out prog.out || fail "$level $machine: another output"
            jq .hash.hash results/stats.json >hash.$run
        done
        cmp hash.0 hash.1 || fail "$level $machine: two hashes"
    done
done
# a program that has no directives itself: the library's OpenMP is peet's all the same
cat >calls.c <<'END'
void library(void);
int main(void)
{
    library();
    return 0;
}
END
gcc -fopenmp -o native calls.c -L. -lgcc_made -Wl,-rpath,"$PWD" || fail "gcc failed"
"$peetcc" -O2 -o calls calls.c -L. -lgcc_made -Wl,-rpath,"$PWD" || fail "peetcc failed"
./native >native.out || fail "native: status $?"
for machine in "-n 4 -m ideal" "-n 2 -m bus --foreign=ranges"; do
    # shellcheck disable=SC2086
    timeout -k 1 100 "$peet" run -q $machine -d results -- ./calls >prog.out || fail "$machine, no directives: status $?"
    cmp native.out prog.out || fail "$machine, no directives: another output"
    [ "$(jq '.contexts | length' results/stats.json)" -ge 4 ] || fail "$machine, no directives: no threads"
done

cat >absent.c <<'END'
void library(void)
{
    int a[50] = {0};
#pragma omp parallel for ordered(1)
    for (int i = 1; i < 50; i++) {
#pragma omp ordered depend(sink : i - 1)
        a[i] = a[i - 1] + 1;
#pragma omp ordered depend(source)
    }
}
END
gcc -fopenmp -shared -fPIC -o libgcc_made.so absent.c || fail "gcc failed"
status=0
"$peet" run -q -n 2 -d results -- ./prog >prog.out 2>err || status=$?
[ $status != 0 ] || fail "what is not there was not refused"
grep -q 'GOMP_[a-z_]*doacross[a-z_]*(), which is not there' err || fail "not refused by name: $(cat err)"
