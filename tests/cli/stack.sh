# SPDX-License-Identifier: Apache-2.0
# The main thread's stack is what the shell's limit says, or --stack; who runs out of it is told what to do.
. "$(dirname "$0")/lib.sh"
cat >deep.c <<'END_OF_C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
__attribute__((noinline)) static long depth(long n) { return n == 0 ? 0 : 1 + depth(n - 1) * 3 % 7; }
int main(int argc, char **argv)
{
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    printf("%ld %lu\n", depth(atol(argv[1])), (unsigned long)limit.rlim_cur);
}
END_OF_C
must "$peetcc" -O1 -o deep deep.c
limited() { (ulimit -S -s "$1" && shift && "$@"); }
ulimit -S -s 65536 2>/dev/null || skip "the stack's limit cannot be raised here"
plain=$(./deep 1000000) || fail "the program needs more than 64 MiB by itself"

equal "64 MiB by the shell's limit" "$(limited 65536 "$peet" run -q -d out -- ./deep 1000000)" "$plain"
equal "in the configuration" "$(value out/stats.json config.stack_bytes)" 67108864
equal "64 MiB by the option" "$(limited 8192 "$peet" run -q --stack 64M -d out -- ./deep 1000000)" "$plain"
must cp out/config.cfg again.cfg
equal "64 MiB by the configuration" "$(limited 8192 "$peet" run -q -c again.cfg -d out)" "$plain"
if (ulimit -S -s unlimited) 2>/dev/null; then
    equal "no limit" "$(limited unlimited "$peet" run -q -d out -- ./deep 1000000 | cut -d' ' -f1)" "${plain%% *}"
    # Where memory is limited, a stack without a limit takes a part of it.
    [ -n "${PEET_SANITIZED:-}" ] && [ "$PEET_SANITIZED" != OFF ] ||
        equal "limited memory" "$( (ulimit -v 3000000; limited unlimited "$peet" run -q -d out -- ./deep 1000000) | cut -d' ' -f1)" "${plain%% *}"
fi

# Too small: named, with the remedy.
status=0
limited 8192 "$peet" run -q -d out -- ./deep 1000000 2>err.txt || status=$?
[ $status -eq 139 ] || fail "8 MiB: status $status"
grep -q 'stack overflow.*its stack of 8388608 bytes.*or --stack' err.txt || fail "8 MiB: $(head -3 err.txt)"

refuses 2 "^peet: --stack: '1T' is not a size" "$peet" run --stack 1T -- ./deep 1
refuses 2 "^peet: --stack: '1K' is not a size" "$peet" run --stack 1K -- ./deep 1

# Threads that do not say how much they want have 8 MiB: what the shell allows would move their stacks, and every run be another.
cat >thread.c <<'END_OF_C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static long depth(long n) { return n == 0 ? 0 : 1 + depth(n - 1) * 3 % 7; }
static void *run(void *arg) { return (void *)depth(atol(arg)); }
int main(int argc, char **argv)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, run, argv[1]);
    pthread_join(thread, &result);
    printf("%ld\n", (long)result);
}
END_OF_C
must "$peetcc" -O1 -pthread -o thread thread.c
status=0
limited 65536 "$peet" run -q -d out -- ./thread 1000000 2>err.txt || status=$?
[ $status -eq 139 ] || fail "a thread's 8 MiB: status $status"
grep -q 'stack overflow: context 1 has used up its stack of 8388608 bytes.*attributes (OMP_STACKSIZE in OpenMP) can give it more' err.txt || fail "a thread's 8 MiB: $(head -3 err.txt)"
for kib in 8192 65536 unlimited; do
    limited $kib "$peet" run -q -o hash -d out.$kib -- ./thread 1000 >said.txt || fail "a limit of $kib KiB"
    hashes="${hashes:-} $("$json_get" out.$kib/stats.json hash.hash)"
done
[ "$(tr ' ' '\n' <<<"$hashes" | sort -u | grep -c .)" = 1 ] || fail "the shell's limit changes the run: $hashes"
