# SPDX-License-Identifier: Apache-2.0
# peetcc in all of a compiler's modes; what it is held against is plain clang.
. "$(dirname "$0")/lib.sh"
write_sum
plain=$PEET_PLAIN_CC
must "$plain" -O2 -o sum_plain sum.c
./sum_plain 500 >expected

# Modes that make no code give what clang gives.
"$plain" -E sum.c >plain.i && must "$peetcc" -Werror -E sum.c >peet.i
same plain.i peet.i "preprocessed"
"$plain" -M sum.c >plain.d && must "$peetcc" -Werror -M sum.c >peet.d
same plain.d peet.d "dependencies"
for question in -dumpmachine -dumpversion -print-search-dirs -print-prog-name=ld -print-file-name=libc.so; do
    "$plain" $question >plain.txt && must "$peetcc" $question >peet.txt
    same plain.txt peet.txt "$question"
done
must "$peetcc" -fsyntax-only -Werror sum.c
"$peetcc" --version >version.txt || fail "--version"
grep -q 'clang version' <<<"$(head -n 1 version.txt)" || fail "the first line of --version is not clang's"
grep -q '^peetcc ' version.txt || fail "--version does not name peetcc"
[ "$("$peetcc" --peet-prefix)" = "$PEET_PREFIX" ] || fail "--peet-prefix"

# Compile, assemble and link, at once and in steps; every level, by turns PIE or not, with PEET_THOROUGH both.
now="-fPIE -pie" next="-fno-pie -no-pie"
for level in -O0 -O1 -O2 -O3 -Os -Og; do
    pies=("$now" ${PEET_THOROUGH:+"$next"})
    pie=$now now=$next next=$pie
    for pie in "${pies[@]}"; do
        # shellcheck disable=SC2086
        must "$peetcc" -Werror -Wall $level $pie -g -o sum sum.c
        ./sum 500 >got || fail "sum $level $pie: status $?"
        same expected got "$level $pie"
    done
done
must "$peetcc" -O2 -Werror -S -o sum.s sum.c
must "$peetcc" -Werror -c -o sum_s.o sum.s
must "$peetcc" -O2 -Werror -MD -MF sum.dep -c -o sum.o sum.c
grep -q 'sum\.o: sum\.c' sum.dep || fail "dependency file"
for object in sum.o sum_s.o; do
    grep -q '\.peet\.schema' < <(readelf -SW $object) || fail "$object carries no schema"
    must "$peetcc" -o sum $object
    ./sum 500 >got && same expected got "$object"
done
must "$peetcc" -march=native -O3 -o sum sum.c
./sum 500 >got && same expected got "-march=native"
"$peetcc" -O2 -Werror -x c -o sum - <sum.c || fail "source on standard input"
./sum 500 >got && same expected got "standard input"
must "$peetcc" -O2 -save-temps=obj -o sum sum.c
./sum 500 >got && same expected got "-save-temps"
must "$peetcc" -O2 -emit-llvm -c -o sum.bc sum.c
must "$peetcc" -o sum sum.bc
./sum 500 >got && same expected got "from bitcode"
must "$peetcc" -O2 -o sum -- sum.c
./sum 500 >got && same expected got "after --"
printf -- '-O2 "sum.c"\n-o sum_response -fpeet-derive=0' >arguments
must "$peetcc" @arguments
./sum_response 500 >got && same expected got "response file"
for granularity in iteration block ref; do
    must "$peetcc" -O2 -fpeet-granularity=$granularity -o sum sum.c
    ./sum 500 >got && same expected got "granularity $granularity"
done

# Several sources of several languages, a static library, a shared object.
printf 'int twice(int x);\nint twice(int x) { return 2 * x; }\n' >twice.c
printf '.text\n.globl three\nthree: mov $3, %%eax\nret\n.section .note.GNU-stack,"",@progbits\n' >three.s
printf '#define FOUR 4\n.text\n.globl four\nfour: mov $FOUR, %%eax\nret\n.section .note.GNU-stack,"",@progbits\n' >four.S
printf '#include <stdio.h>\nint twice(int), three(void), four(void);\nint main(void) { return twice(1) * 100 + three() * 10 + four() == 234 ? 0 : 1; }\n' >use.c
must "$peetcc" -Werror -O2 -o use use.c twice.c three.s four.S && must ./use
must "$peetcc" -Werror -O2 -c twice.c three.s four.S use.c
must ar rc libtwice.a twice.o
must "$peetcc" -o use use.o three.o four.o -L. -ltwice && must ./use
must "$peetcc" -Werror -O2 -shared -fPIC -Wl,-soname,libtwice.so -o libtwice.so twice.c
must "$peetcc" -O2 -o use use.o three.o four.o libtwice.so -Wl,-rpath,"$PWD" && must ./use
must "$peetcc" -r -o both.o twice.o three.o && must "$peetcc" -o use use.o both.o four.o && must ./use
# The runtime must be found before the C library, whatever the user links.
readelf -d use | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >needed
[ "$(head -n 1 needed)" = libpeet-rt.so ] || fail "libpeet-rt.so is not the first library: $(cat needed)"

# An allocator in an archive is the program's, as with the plain linker, wherever the archive is found.
cat >own.c <<'END'
#include <stddef.h>
static char pool[1 << 20];
static size_t used;
void *malloc(size_t n)
{
    void *p = pool + used;
    used += (n + 15) & ~15ul;
    return p;
}
void free(void *p)
{
    (void)p;
}
int is_own(void *p);
int is_own(void *p)
{
    return (char *)p >= pool && (char *)p < pool + sizeof pool;
}
END
cat >allocates.c <<'END'
#include <stdlib.h>
int is_own(void *p);
int main(void)
{
    void *p = malloc(100);
    const int own = is_own(p);
    free(p);
    return !own;
}
END
must "$peetcc" -O2 -c own.c && must ar rc libown.a own.o
if [ "${PEET_SANITIZED:-OFF}" = OFF ]; then # a sanitizer has an allocator of its own
    for place in libown.a '-L. -lown' '-L . -l own' 'libown.a -lm' '-lm libown.a' '-lm own.o'; do
        must "$peetcc" -O1 -o allocates allocates.c $place
        ./allocates || fail "$place: malloc() is not the program's"
        must "$peet" run --quiet -d out -- ./allocates
        readelf -d allocates | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >needed
        [ "$(awk '/^lib(peet-rt.so|c.so.6)$/ && !n++' needed)" = libpeet-rt.so ] || fail "$place: libpeet-rt.so comes after the C library: $(cat needed)"
    done
fi

# C++: exceptions, templates, static initialisers.
cat >words.cc <<'END'
#include <algorithm>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
static std::map<std::string, int> words{{"one", 1}, {"two", 2}};
template <class T> T at(const std::map<std::string, T> &m, const std::string &k)
{
    auto i = m.find(k);
    if (i == m.end())
        throw std::out_of_range(k);
    return i->second;
}
int main()
{
    try {
        std::cout << at(words, "one") + at(words, "two") << "\n" << at(words, "three");
    } catch (const std::exception &e) {
        std::cout << "no " << e.what() << "\n";
    }
}
END
for level in -O0 -O2; do
    "$PEET_PLAIN_CXX" $level -o words_plain words.cc && ./words_plain >expected
    name=peetcc++
    [ $level = -O0 ] || name=peetc++
    must "$PEET_PREFIX/bin/$name" -Werror $level -o words words.cc
    ./words >got && same expected got "$name $level"
done

# peet's headers are found.
printf '#include <peet/raw.h>\nint abi = PEET_RAW_ABI;\n' >header.c
must "$peetcc" -Werror -c header.c
no_leftovers
