#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every source file says its licence and is of readable size.  Pages that lead through the source name files and functions that are there.
# No script pipes into a reader that may end before the writer: with pipefail the writer's SIGPIPE would fail the script, now and then.
set -u
cd "${1:-$PEET_SOURCE}" || exit 99
status=0 names=0
folders="schema compiler-pass runtime threadlib mapper simulators cli examples tests bench docs"

find ${folders% docs} dev -type f \( -name '*.[chS]' -o -name '*.cpp' -o -name '*.sh' -o -name CMakeLists.txt -o -name dev \) -print0 |
    xargs -0 awk '
        FNR <= 3 && /SPDX-License-Identifier: Apache-2.0/ { licensed[FILENAME] }
        { lines[FILENAME] = FNR }
        END {
            for (file in lines) {
                files++
                if (!(file in licensed))
                    bad = bad "FAIL: " file " has no SPDX line\n"
                if (lines[file] > 850)
                    bad = bad "FAIL: " file " has " lines[file] " lines, more than 850\n"
            }
            printf "%s%d files looked at\n", bad, files
            exit bad != "" || !files
        }' || status=1

# `folder/file.c`, `function()` in these pages; the example of a new machine is not there.
words=$(grep -rhoE --include='*.[chS]' --include='*.cpp' '[A-Za-z_][A-Za-z_0-9]*' $folders | sort -u)
for page in CONTRIBUTING.md docs/ARCHITECTURE.md docs/ENGINE.md docs/WALKS.md docs/WORDS.md; do
    while IFS= read -r name; do
        case $name in
        *'<'* | *' '* | *'{'* | simulators/tiny/*) ;;
        *'()')
            names=$((names + 1))
            name=${name%'()'}
            grep -qxF "${name##*[:>]}" <<<"$words" || { echo "FAIL: $page: there is no function $name()"; status=1; }
            ;;
        */*)
            [[ $name =~ ^(${folders// /|})/ ]] || continue
            names=$((names + 1))
            compgen -G "$name" >/dev/null || { echo "FAIL: $page: there is no $name"; status=1; }
            ;;
        esac
    done < <(awk '/^```/ { quoted = !quoted; next } !quoted' "$page" | grep -oE '`[^`]+`' | tr -d '`' | sort -u)
done
echo "$names names looked up"

# instead of `writer | head -n 3`: writer | sed -n 1,3p; instead of `writer | grep -q x`: grep -q x < <(writer)
early=$(grep -nE '[^|]\|[[:space:]]*(head\b|grep -[a-zA-Z]*[qm]|awk .*(print|\{) *[^|]*; *exit)' dev $(find tests bench tools examples -name '*.sh' ! -path tests/structure/sources.sh))
[ -z "$early" ] || { echo "FAIL: a pipe into a reader that may end first:"; echo "$early"; status=1; }
# what stands behind the end of a case never runs
behind=$(find tests -name '*.sh' -exec awk '/^exit 0$/ { last[FILENAME] = FNR } { end[FILENAME] = FNR } END { for (f in last) if (last[f] < end[f]) print f ":" last[f] }' {} +)
[ -z "$behind" ] || { echo "FAIL: there is more behind the exit:"; echo "$behind"; status=1; }
[ "$names" -gt 100 ] || status=1
exit $status
