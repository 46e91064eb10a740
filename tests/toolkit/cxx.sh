# SPDX-License-Identifier: Apache-2.0
# The toolkit from C++: every header alone, twice, and all together, under several standards; and a module in C++ of two parts.
. "$(dirname "$0")/lib.sh"
write_walk
all=
for header in "$installed"/include/peet/toolkit/*.h; do
    name=$(basename "$header")
    all+="#include <peet/toolkit/$name>"$'\n'
    printf '#include <peet/toolkit/%s>\n#include <peet/toolkit/%s>\n' "$name" "$name" >header.cc
    for compiler in "$PEET_PLAIN_CXX" g++; do
        must "$compiler" -std=c++17 -Wall -Wextra -pedantic -Werror -fsyntax-only -I"$installed/include" header.cc
    done
    cp header.cc header.c
    must "$PEET_PLAIN_CC" -std=c11 -Wall -Wextra -Wno-unused-parameter -Werror -fsyntax-only -I"$installed/include" header.c
    grep -q 'extern "C"' "$header" || fail "$name is not extern \"C\""
done
for standard in c++11 c++20; do
    echo "$all" >all.cc
    must "$PEET_PLAIN_CXX" -std=$standard -Wall -Wextra -Werror -fsyntax-only -I"$installed/include" all.cc
done

# Two passes over 8192 lines: all miss in 32 KiB, and would in a fully associative cache; none does a second time where all have room.
module cache
for standard in c++17 c++20; do
    module_cxx "$PEET_PLAIN_CXX" -std=$standard conflicts
    run small --observe ./conflicts.so,size=32KiB --observe ./cache.so,size=32KiB -- ./walk
    within "cold, $standard" "$(of small conflicts cold_misses)" 8192 8600
    within "capacity, $standard" "$(of small conflicts capacity_misses)" 8192 8600
    equal "conflicts, $standard" "$(of small conflicts conflict_misses)" 0
    equal "misses as of the part in C" $(($(of small conflicts cold_misses) + $(of small conflicts capacity_misses))) "$(of small cache lru_misses)"
done
run large --observe ./conflicts.so,size=1MiB,ways=16 -- ./walk
within "misses where all have room" "$(of large conflicts cold_misses)" 8192 8600
equal "capacity" "$(of large conflicts capacity_misses)" 0

# Two lines in one set of one way drive each other out, 1000 times each, and would not in a fully associative cache.
cat >clash.c <<'END'
static volatile char a[1 << 16] __attribute__((aligned(65536)));
int main(void)
{
    for (int i = 0; i < 1000; i++)
        a[0]++, a[1 << 15]++;
    return 0;
}
END
must "$peetcc" -O1 -o clash clash.c
run clash.out --observe ./conflicts.so,size=32KiB,ways=1 -- ./clash
within "conflicts" "$(of clash.out conflicts conflict_misses)" 1998 2010
run clash.out --observe ./conflicts.so,size=32KiB,ways=2 -- ./clash
within "no conflicts" "$(of clash.out conflicts conflict_misses)" 0 5

# What the module refuses by an exception is a message.
"$peet" run -q --observe ./conflicts.so,size=64,ways=8 -- ./clash 2>err && fail "a cache smaller than a set"
grep -q 'size: less than a set' err || fail "the exception's text is lost: $(cat err)"
