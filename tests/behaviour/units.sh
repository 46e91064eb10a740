#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Several translation units: inline functions and templates in COMDAT groups, some units plain, relocatable links.
. "$(dirname "$0")/../tools/common.sh"
cd "$work" || exit 99
cat >common.h <<'C'
#include <string>
#include <vector>
inline int shared_static() { static int n = 100; return ++n; }
template <class T> struct Box {
    std::vector<T> items;
    virtual ~Box() = default;
    virtual T total() const { T t{}; for (const T &i : items) t = t + i; return t; }
    static inline int made = 0;
    Box() { made++; }
};
struct Key { inline bool operator()(int a, int b) const { return (a ^ 5) < (b ^ 5); } };
int from_a(int);
int from_b(int);
extern "C" int from_c(int);
C
cat >a.cpp <<'C'
#include "common.h"
#include <algorithm>
int from_a(int n)
{
    Box<int> b;
    for (int i = 0; i < n; i++)
        b.items.push_back(i * 7 % 13);
    std::sort(b.items.begin(), b.items.end(), Key());
    Box<std::string> s;
    s.items = {"a", "b", std::to_string(n)};
    return b.total() + b.items[0] + shared_static() + static_cast<int>(s.total().size());
}
C
sed 's/from_a/from_b/; s/7 % 13/5 % 11/' a.cpp >b.cpp
echo 'int from_c(int n) { int s = 0; for (int i = 0; i < n; i++) s += i & n; return s; }' >c.c
cat >main.cpp <<'C'
#include "common.h"
#include <cstdio>
int main()
{
    int sum = 0;
    for (int i = 1; i < 60; i++)
        sum += from_a(i) * 3 + from_b(i) + from_c(i);
    std::printf("%d %d %d\n", sum, shared_static(), Box<int>::made);
}
C
build() { # NAME cxx-for-a cxx-for-b cc cxx-for-main level
    "$2" $6 -c a.cpp -o "$1.a.o" && "$3" $6 -c b.cpp -o "$1.b.o" && "$4" $6 -c c.c -o "$1.c.o" && "$5" $6 -c main.cpp -o "$1.m.o"
}
for level in -O2 ${PEET_THOROUGH:+-O0}; do
    build plain "$PEET_PLAIN_CXX" "$PEET_PLAIN_CXX" "$PEET_PLAIN_CC" "$PEET_PLAIN_CXX" $level || fail "plain units"
    "$PEET_PLAIN_CXX" -o plain plain.[abcm].o && ./plain >want || fail "plain program"
    build all "$PEETCXX" "$PEETCXX" "$PEETCC" "$PEETCXX" $level || fail "peetcc refused a unit at $level"
    build some "$PEETCXX" "$PEET_PLAIN_CXX" "$PEETCC" "$PEETCXX" $level || fail "peetcc refused a unit at $level"
    build other "$PEET_PLAIN_CXX" "$PEETCXX" "$PEET_PLAIN_CC" "$PEETCXX" $level || fail "peetcc refused a unit at $level"
    for order in abcm mcba bamc; do # what is plain and what is not matters in each order; units that are all recorded in one
        for name in all some other; do
            [ $name != all ] || [ $order = abcm ] || [ -n "${PEET_THOROUGH:-}" ] || continue
            objects=()
            for ((i = 0; i < 4; i++)); do objects+=("$name.${order:i:1}.o"); done
            "$PEETCXX" -o prog "${objects[@]}" || fail "link of $name in the order $order at $level"
            ./prog >got || fail "plain run of $name, $order, $level: status $?"
            cmp want got || fail "$name, $order, $level: other output"
            timeout -k 5 60 "$PEET" run --quiet -d out --observe counts -- ./prog >got || fail "peet run of $name, $order, $level: status $?"
            cmp want got || fail "$name, $order, $level under peet run: other output"
        done
    done
    "$PEETCXX" -r -o joined.o all.a.o all.b.o && "$PEETCXX" -o prog joined.o all.c.o all.m.o && timeout -k 5 60 "$PEET" run --quiet -d out -- ./prog >got || fail "relocatable link at $level"
    cmp want got || fail "relocatable link at $level: other output"
done
exit 0
