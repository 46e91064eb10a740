# SPDX-License-Identifier: Apache-2.0
# The schema file beside a linked program: same addresses and symbols, only what a reader needs, and no
# file of the user's in its place.
. "$(dirname "$0")/lib.sh"
write_sum
must "$peetcc" -O2 -g -o sum sum.c
[ -f sum.schema ] || fail "no sum.schema"
nm sum | awk '{ print $1, $NF }' | sort >program.symbols
nm sum.schema | awk '{ print $1, $NF }' | sort >schema.symbols
same program.symbols schema.symbols "symbols"
for section in .text .peet.schema .debug_info .debug_line .symtab; do
    objcopy --dump-section $section=program.bin sum copied 2>/dev/null
    objcopy --dump-section $section=schema.bin sum.schema copied 2>/dev/null
    if [ -f program.bin ]; then
        same program.bin schema.bin "$section"
    fi
    rm -f program.bin schema.bin
    address() { readelf -SW "$1" | sed 's/^ *\[ *//' | awk -v name=$section '$2 == name { print $4, $6 }'; }
    [ "$(address sum)" = "$(address sum.schema)" ] || fail "$section is elsewhere"
done
main=$(nm sum | awk '$3 == "main" { print $1 }')
[ "$(addr2line -e sum 0x"$main")" = "$(addr2line -e sum.schema 0x"$main")" ] || fail "line of main"
[ "$(readelf -n sum | grep 'Build ID')" = "$(readelf -n sum.schema | grep 'Build ID')" ] || fail "build identity"
[ ! -x sum.schema ] || fail "sum.schema is executable"

# Data do not go in: a megabyte of table in the program, none in the schema file.
printf 'char table[1 << 20] = {1};\nint main(void) { return table[0] - 1; }\n' >big.c
must "$peetcc" -O2 -o big big.c && must ./big
[ "$(stat -c %s big.schema)" -lt 100000 ] || fail "big.schema holds data"

# Where there is none.
must "$peetcc" -O2 -fno-peet-schema-file -o without sum.c
PEETCC_NO_SCHEMA_FILE=1 must "$peetcc" -O2 -o without sum.c
absent without.schema
must "$peetcc" -O2 sum.c
absent a.out.schema
must "$peetcc" -O2 -c -o sum.o sum.c
absent sum.o.schema
must "$peetcc" -O2 -o /dev/null sum.c
absent /dev/null.schema
printf 'ret\n.section .note.GNU-stack,"",@progbits\n' >nothing.s
must "$peetcc" -shared -nostdlib -o nothing.so nothing.s
absent nothing.so.schema

# A shared object has one, too.
must "$peetcc" -O2 -shared -fPIC -o libsum.so sum.c
[ -f libsum.so.schema ] || fail "no libsum.so.schema"

# A new link replaces the old file; one that carries no schema removes it; a user's own file stays.
must "$peetcc" -O0 -o sum sum.c
objcopy --dump-section .peet.schema=program.bin sum copied 2>/dev/null
objcopy --dump-section .peet.schema=schema.bin sum.schema copied 2>/dev/null
same program.bin schema.bin "after linking again"
"$PEET_PLAIN_CC" -O2 -c -o plain.o sum.c && must "$peetcc" -o sum plain.o && must ./sum >/dev/null
absent sum.schema
echo "my own" >mine.schema
"$peetcc" -O2 -o mine sum.c 2>warning || fail "link beside a foreign mine.schema"
grep -q '^peetcc: warning: mine.schema exists' warning || fail "no warning"
[ "$(cat mine.schema)" = "my own" ] || fail "mine.schema was overwritten"
# A question to the linker is no link.
cp mine before && "$peetcc" -Wl,--version -o mine >/dev/null 2>&1
[ "$(cat mine.schema)" = "my own" ] || fail "mine.schema"
no_leftovers
