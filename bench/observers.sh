#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What each observer costs: the sequential programs of bench/programs on one processor and the threaded ones of bench/threads on four, on the machines
# ideal, bus, numa and x86, with each observer and without, in turns; user time, the least of several.
#
#   bench/observers.sh [--prefix DIR] [--reps N] [--machines LIST] [--observers LIST] [--programs LIST]
#
# DIR is a build directory or an installation (default: build/ of this tree).  LISTs are words with blanks between them.  Prints a line for each program
# and machine, with the machine's time alone and each observer's multiple of it, and the least, the geometric mean and the greatest of each.
. "$(dirname "$0")/lib.sh"
reps=3 machines="ideal bus numa x86" observers="counts timeline profile graph graph,data=on references dtrack"
programs="radix lu hash quicksort vm queens lu4 radix4 water4"
options "prefix reps machines observers programs" "$@"
begin

# arguments LIST NAME: the quick ones of its line, and the libraries
field() {
    awk -F'|' -v name="$2" -v n="$3" '{ key = $1; gsub(/[ \t]/, "", key) } key == name { gsub(/^[ \t]+|[ \t]+$/, "", $n); print $n; exit }' "$here/$1/programs.list"
}

printf '%-10s %-6s %8s' program machine "alone s"
for observer in $observers; do printf ' %13s' "$observer"; done
echo
for program in $programs; do
    cores=1 suite=programs name=$program
    if [[ $program == *4 ]]; then cores=4 suite=threads name=${program%4}; fi
    arguments=$(field $suite $name 2)
    arguments=${arguments//\$THREADS/$cores}
    # shellcheck disable=SC2046
    "$prefix/bin/peetcc" -O2 -g -pthread -o "$work/$program" "$here/$suite/$name.c" $(field $suite $name 4) || exit 1
    for machine in $machines; do
        run=("$prefix/bin/peet" run --quiet --machine "$machine" --cores $cores -d "$work/results")
        for ((rep = 0; rep < reps; rep++)); do
            # shellcheck disable=SC2086
            for observer in alone $observers; do
                with=()
                [ $observer = alone ] || with=(--observe "$observer")
                echo "$observer $(user "${run[@]}" "${with[@]}" -- "$work/$program" $arguments)"
            done
        done | awk -v program=$program -v machine="$machine" -v list="alone $observers" '
            !($1 in least) || $2 < least[$1] { least[$1] = $2 }
            END {
                n = split(list, names, " ")
                printf "%-10s %-6s %8.2f", program, machine, least["alone"]
                for (i = 2; i <= n; i++) printf " %13.2f", (least["alone"] > 0 ? least[names[i]] / least["alone"] : 0)
                print ""
            }'
    done
done | tee "$work/rows"
awk '{ for (i = 4; i <= NF; i++) { k = $2 SUBSEP i; s[k] += log($i > 0 ? $i : 1); n[k]++; if (!(k in lo) || $i < lo[k]) lo[k] = $i; if ($i > hi[k]) hi[k] = $i }
       if (!($2 in seen)) { seen[$2] = 1; order[++m] = $2 } most = NF }
     END { for (j = 1; j <= m; j++) { line = sprintf("%-10s %-6s %8s", "mean", order[j], ""); range = sprintf("%-10s %-6s %8s", "range", order[j], "")
             for (i = 4; i <= most; i++) { k = order[j] SUBSEP i; line = line sprintf(" %13.2f", exp(s[k] / n[k])); range = range sprintf(" %13s", sprintf("%.2f-%.1f", lo[k], hi[k])) }
             print line; print range } }' "$work/rows"
