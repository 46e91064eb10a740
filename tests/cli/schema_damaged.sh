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

# Every byte in turn set to a few values: either it still reads, or it is refused; nothing else.
step=$((size / 150 + 1)) refused=0 read=0
for ((at = 0; at < size; at += step)); do
    for byte in '\000' '\377' '\200'; do
        damage $at $byte
        "$peet" schema --json broken >out.json 2>err.txt
        case $? in
        0) read=$((read + 1)) && must "$json_get" out.json summary.functions >/dev/null ;;
        1 | 2) refused=$((refused + 1)) && grep -q '^peet: ' err.txt || fail "byte $at: $(cat err.txt)" ;;
        *) fail "byte $at set to $byte: status $?: $(cat err.txt)" ;;
        esac
    done
done
echo "$refused refused, $read still readable"
[ $refused -gt 0 ] || fail "no damage was noticed"

# Cut short.
for keep in 1000 4096 $((offset + 5)) $((offset + size / 2)); do
    head -c "$keep" sum >broken && chmod +x broken
    refuses 2 '^peet: .*broken' "$peet" schema broken
done

