# SPDX-License-Identifier: Apache-2.0
# A damaged schema: a message and a status from both verbs that read it, never a crash, never a run.
. "$(dirname "$0")/lib.sh"
write_sum
must "$peetcc" -O2 -o sum sum.c
offset=$(readelf -SW sum | sed 's/^ *\[ *//' | awk '$2 == ".peet.schema" { print $5 }')
size=$(readelf -SW sum | sed 's/^ *\[ *//' | awk '$2 == ".peet.schema" { print $6 }')
[ -n "$offset" ] || fail "no .peet.schema section"
offset=$((16#$offset)) size=$((16#$size))

# damage AT BYTES(octal escapes): a copy "broken" of sum with these bytes there
damage() {
    cp sum broken
    printf "$2" | dd of=broken bs=1 seek=$((offset + $1)) conv=notrunc 2>/dev/null
}

# The head of the section: whatever stands there, it cannot be all ones.
damage 0 '\377\377\377\377\377\377\377\377'
refuses 2 '^peet: .*broken' "$peet" schema broken
refuses 2 '^peet: .*broken' "$peet" run -- ./broken
absent peet.out

# Bytes all over the section: each change is noticed.  The sanitized build, in which the fuzzers read damaged schemas, tries every 24th.
every=1
[ -z "${PEET_SANITIZED:-}" ] || [ "$PEET_SANITIZED" = OFF ] || [ -n "${PEET_THOROUGH:-}" ] || every=24
must python3 "$here/damage.py" "$peet" sum $offset $size $every

byte_at() { od -An -tu1 -j $((offset + $1)) -N 1 sum | tr -d ' '; }
# A run says so, too, and nothing is started.
damage $((size / 2)) "\\$(printf %03o $(($(byte_at $((size / 2))) ^ 16)))"
refuses 2 '^peet: .*broken.*damaged schema' "$peet" run -- ./broken
absent peet.out

# An erased record is no padding.
cp sum broken
dd if=/dev/zero of=broken bs=1 seek=$offset count=$size conv=notrunc 2>/dev/null
refuses 2 '^peet: .*broken' "$peet" schema broken

# What something else than peetcc has linked carries the checksums of the compiler alone; they are looked at.
must "$peetcc" -O2 -fPIC -c -o sum.o sum.c
must ld -shared -o broken sum.o "$PEET_PREFIX/lib/libpeet-rt.so"
must "$peet" schema broken >/dev/null
name=$(grep -abo 'sum.c' broken | sed -n 1p | cut -d: -f1)
printf 'x' | dd of=broken bs=1 seek=$((name + 1)) conv=notrunc 2>/dev/null
refuses 2 '^peet: .*broken.*damaged schema' "$peet" schema broken

# An object that was damaged before it was linked is named by peetcc.
name=$(grep -abo 'sum.c' sum.o | sed -n 1p | cut -d: -f1)
printf 'x' | dd of=sum.o bs=1 seek=$((name + 1)) conv=notrunc 2>/dev/null
"$peetcc" -o linked sum.o 2>err.txt && fail "a damaged object was linked"
grep -q '^peetcc: .*damaged schema' err.txt || fail "peetcc said: $(cat err.txt)"

# Cut short.
for keep in 1000 4096 $((offset + 5)) $((offset + size / 2)); do
    head -c "$keep" sum >broken && chmod +x broken
    refuses 2 '^peet: .*broken' "$peet" schema broken
done

