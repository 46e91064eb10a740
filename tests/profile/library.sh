# SPDX-License-Identifier: Apache-2.0
# Calls within a library that peetcc has not compiled: recursion, a loop with branches, a callback from its middle. Loops are no calls.
. "$(dirname "$0")/../lib.sh"
cat >library.c <<'END'
static int inner(int n) { return n < 2 ? n : inner(n - 1) + inner(n - 2); }
int fibonacci(int n) { return inner(n); }
int by_stubs(int n) { return n < 2 ? n : by_stubs(n - 1) + by_stubs(n - 2); } /* by way of the stub, in case somebody else defines it */
int walk(const int *list, int n, int (*look)(int))
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (list[i] % 3 == 0)
            sum += look(list[i]);
        else if (list[i] % 7 == 0)
            sum ^= list[i];
        else
            sum--;
    }
    return sum;
}
END
cat >main.c <<'END'
int fibonacci(int n), by_stubs(int n), walk(const int *list, int n, int (*look)(int));
static int list[1000];
__attribute__((noinline)) static int seen(int x) { return x & 1; }
int main(void)
{
    for (int i = 0; i < 1000; i++)
        list[i] = i;
    return (fibonacci(16) + by_stubs(16) + walk(list, 1000, seen)) < 0;
}
END
must "$PEET_PLAIN_CC" -O0 -shared -fPIC -o library.so library.c
must "$peetcc" -O1 -o main main.c ./library.so
calls() { jq "[.profile.functions[] | select(.name == \"$1\") | .calls] | add // 0" out/stats.json; }
arcs() {
    jq ".profile as \$p | [\$p.calls[] | select(.caller == \"$1\" and .callee == \"$2\") | .calls] | add // 0" out/stats.json
}
for machine in ideal bus; do
    must "$peet" run -q --foreign=record --machine $machine --observe profile -d out -- ./main
    equal "calls of fibonacci()" "$(calls fibonacci)" 1
    equal "calls of inner()" "$(calls inner)" 3193
    equal "calls of by_stubs()" "$(calls by_stubs)" 3193
    equal "main() calls by_stubs()" "$(arcs main by_stubs)" 1
    equal "by_stubs() calls stubs" "$(arcs by_stubs .plt)" 3192
    equal "calls of seen()" "$(calls seen)" 334
    equal "calls of walk()" "$(calls walk)" 1
    equal "walk() calls itself" "$(arcs walk walk)" 0
    equal "walk() calls seen()" "$(arcs walk seen)" 334
done
exit 0
