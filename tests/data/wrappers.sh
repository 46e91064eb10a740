# SPDX-License-Identifier: Apache-2.0
# A program's own allocators: hidden behind them, named after their callers, or told apart by call path.
. "$(dirname "$0")/lib.sh"
cat >wrappers.c <<'END'
#include <stdlib.h>
struct leaf { volatile int a; };
struct tree { struct tree *left, *right; volatile long key; };
__attribute__((noinline)) void *get_memory(size_t n) { void *raw = malloc(n); if (!raw) abort(); return raw; }
static inline void *get_more(size_t n) { return get_memory(n + 8); }
static struct tree *root;
static volatile int done;
__attribute__((noinline)) void plant(void) { root = get_memory(sizeof *root); root->key = 1; }
__attribute__((noinline)) void grow(int n) { for (int i = 0; i < n; i++) { struct leaf *one = get_more(sizeof *one); one->a = i; } }
__attribute__((noinline)) void twice(int n) { grow(n); plant(); done = 1; }
int main(void)
{
    plant();
    grow(3);
    twice(5);
    return 0;
}
END
for flags in -O0 -O2; do
    must "$peetcc" $flags -g -o wrappers wrappers.c
    observe plain -- ./wrappers
    has plain heap raw function get_memory objects 10
    observe named --allocator 'get_*' -- ./wrappers
    has named heap root function plant type 'struct tree' objects 2 bytes 48 references 2 flags 2
    has named heap one function grow type 'struct leaf' objects 8 references 8 flags 0
    observe paths --data-depth 3 --allocator 'get_*' -- ./wrappers
    equal "paths at $flags" "$(awk -F'\t' '$1 == "heap" { print $2, $8, $15 }' paths/structures.txt | sort | tr '\n' ';')" \
        'one 3 main:14 > grow:9;one 5 main:15 > twice:10 > grow:9;root 1 main:13 > plant:8;root 1 main:15 > twice:10 > plant:8;'
done
must "$peetcc" -O0 -o wrappers wrappers.c
observe bare --allocator 'get_*' -- ./wrappers
has bare heap 'plant[+]0x.*' objects 2 bytes 48

# A name that stands for nobody is said.
said() { # said TEXT OPTION...: a run says TEXT and nothing else
    local text=$1
    shift
    must "$peet" run -q -d said "$@" >out 2>log
    equal "what is said with $*" "$(cat log)" "$text"
}
said "" --observe dtrack --allocator 'get_*' -- ./wrappers
said "peet: --allocator: no function 'get_memry' has called malloc() or the like; did you mean 'get_memory'?" \
    --observe dtrack --allocator get_memory --allocator get_memry -- ./wrappers
said "peet: --allocator: no module asks for data structures, so that nothing is named after 'get_*'; --observe dtrack does" \
    --allocator 'get_*' -- ./wrappers
must "$peet" run -q -d recorded --observe trace --observe dtrack --allocator get_memory -- ./wrappers
said "" --observe dtrack --from recorded
said "peet: --from: --allocator is without effect: the trace has the call paths that its own run was asked for" \
    --observe dtrack --from recorded --allocator plant
said "peet: --from: --data-depth is without effect: the trace has the call paths that its own run was asked for" \
    --observe dtrack --from recorded --data-depth 2
# Who calls the allocator with a stack that is not aligned, which malloc() does not mind, gets memory here too, and the call is noted.
cat >unaligned.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static __attribute__((noinline)) int *unaligned(size_t n)
{
    void *p;
    __asm__ volatile("mov %%rsp, %%rbx\n\tand $-16, %%rsp\n\tsub $136, %%rsp\n\tcall *%2\n\tmov %%rbx, %%rsp"
                     : "=a"(p), "+D"(n)
                     : "r"(&malloc)
                     : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
    return p;
}
int main(void)
{
    volatile int *p = unaligned(400);
    *p = 5;
    printf("%d\n", *p);
    return 0;
}
END
must "$peetcc" -O2 -g -o unaligned unaligned.c
for depth in 1 3; do
    equal "output with an unaligned stack" "$("$peet" run -q -o dtrack --data-depth $depth -d unaligned.out -- ./unaligned)" 5
    "$PEET_PREFIX/tests/json-get" unaligned.out/stats.json totals.instructions >/dev/null || fail "no results"
done
exit 0
