#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Who includes whom: tests, examples, bench -> cli -> mapper -> { threadlib, runtime } -> schema;
# threadlib -> runtime; simulators -> schema; compiler-pass -> schema.  No circles.
set -u
cd "${1:-$PEET_SOURCE}" || exit 99
declare -A allowed=(
    [schema]="schema"
    [compiler-pass]="compiler-pass schema"
    [runtime]="runtime schema"
    [threadlib]="threadlib runtime schema"
    [simulators]="simulators schema"
    [mapper]="mapper threadlib runtime schema"
    [cli]="cli mapper threadlib runtime schema"
)
headers=$(find "${!allowed[@]}" -name '*.h' -o -name '*.inc' -o -name '*.def' 2>/dev/null)
status=0 checked=0
for folder in "${!allowed[@]}"; do
    while IFS=: read -r file line text; do
        name=$(sed -E 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]([^>"]+)[>"].*/\1/' <<<"$text")
        checked=$((checked + 1))
        # beside the including file, then in its own folder, then anywhere in the tree
        [ -e "$(dirname "$file")/$name" ] && target=$(realpath --relative-to=. "$(dirname "$file")/$name") ||
            target=$(grep -E "(^|/)${name//./\\.}\$" <<<"$headers" | sort | awk -v own="$folder/" 'index($0, own) == 1 { print; found = 1; exit } { last = last ? last : $0 } END { if (!found && last) print last }')
        [ -n "$target" ] || continue # a system header
        owner=${target%%/*}
        case " ${allowed[$folder]} " in
        *" $owner "*) ;;
        *)
            echo "FAIL: $file:$line: $folder includes $target of $owner"
            status=1
            ;;
        esac
    done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' "$folder" --include='*.[chS]' --include='*.cpp' --include='*.inc')
done
echo "$checked includes looked at"
[ "$checked" -gt 0 ] || status=1
exit $status
