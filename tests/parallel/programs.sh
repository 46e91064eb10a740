# SPDX-License-Identifier: Apache-2.0
# programs.sh WORK: programs from elsewhere, built with peetcc, on simulated processors; docs/PROGRAMS.md has its results.  Nothing
# is fetched or built here.  The folder PEET_PROGRAMS holds the programs (without it, the case is skipped):
#
#   peet/DIRECTORY      where a program has been built with peetcc
#   native/DIRECTORY    the same, built with the plain compiler; may be left out
#   programs.list       one program a line (# begins a comment):  NAME | DIRECTORY | PROCESSORS | CHECK | COMMAND
#                       with a space on either side of each of the four bars
#
# PROCESSORS are numbers, separated by spaces.  COMMAND is one for bash, executed in the directory: in it, %p is the number of
# processors, and RUN stands before the program that is to be simulated:  sed s/^1$/%p/ input | RUN ./BARNES
# CHECK:  same            standard output is the native program's (without one: the recorded program's, run plainly)
#         same REGEX      so it is without the lines that match (grep -E)
#         near REGEX      so it is, but numbers with a decimal point may differ by 2 in 10,000; REGEX may be left out
#         files PATTERN   the files that match have the same contents, but for one byte in 1000
#         says TEXT       the program says so itself
# Exit statuses have to be equal, too, and two runs have to have the same stream of events.
. "$(dirname "$0")/lib.sh"
[ -n "${PEET_PROGRAMS:-}" ] || skip "PEET_PROGRAMS does not name a folder of programs"
list=$PEET_PROGRAMS/programs.list
[ -r "$list" ] || skip "there is no $list"
[ -z "${PEET_PROGRAMS_ONLY:-}" ] || echo "only: $PEET_PROGRAMS_ONLY"
limit=${PEET_PROGRAMS_SECONDS:-600}
machine=${PEET_PROGRAMS_MACHINE:-ideal}
export PATH=$PEET_PREFIX/bin:$PATH
TIMEFORMAT=%U

# run OUTPUT DIRECTORY COMMAND: sets status and seconds (user time)
run() {
    seconds=$({ time (cd "$2" && timeout -k 5 "$limit" bash -o pipefail -c "$3" >"$work/$1" 2>"$work/$1.err" </dev/null && exit 0
        echo $? >"$work/status"); } 2>&1)
    status=0
    [ ! -f status ] || status=$(cat status)
    rm -f status
}

# numbers within the tolerance, everything else the same
near() {
    awk 'FNR == NR { line[FNR] = $0; n = FNR; next }
        {
            a = line[FNR]; b = $0; x = a; y = b
            gsub(/-?[0-9]+\.[0-9]+(e[-+]?[0-9]+)?/, "#", x); gsub(/-?[0-9]+\.[0-9]+(e[-+]?[0-9]+)?/, "#", y)
            gsub(/ +/, " ", x); gsub(/ +/, " ", y)
            if (x != y) bad = 1
            while (match(a, /-?[0-9]+\.[0-9]+(e[-+]?[0-9]+)?/)) {
                u = substr(a, RSTART, RLENGTH); a = substr(a, RSTART + RLENGTH)
                match(b, /-?[0-9]+\.[0-9]+(e[-+]?[0-9]+)?/)
                v = substr(b, RSTART, RLENGTH); b = substr(b, RSTART + RLENGTH)
                size = u < 0 ? -u : u + 0
                if ((u > v ? u - v : v - u) > 2e-4 * (size > 1 ? size : 1)) bad = 1
            }
        }
        END { exit bad || FNR != n }' "$1" "$2"
}

# one byte in 1000 may differ: padding that nobody wrote
alike() {
    [ "$(stat -c %s "$1")" = "$(stat -c %s "$2")" ] && [ $(($(cmp -l "$1" "$2" | wc -l) * 1000)) -le "$(stat -c %s "$1")" ]
}

check() {
    local kind=$1 argument=$2 path
    case $kind in
    same | near)
        grep -E -v "${argument:-^$}" expected | grep -v '^ *$' >expected.lines
        grep -E -v "${argument:-^$}" output | grep -v '^ *$' >output.lines
        [ -s expected.lines ] || [ ! -s expected ] || fail "$name: nothing is left to compare"
        if [ "$kind" = same ]; then cmp -s expected.lines output.lines; else near expected.lines output.lines; fi ;;
    files)
        for path in $(cd "$reference" && echo $argument); do
            alike "$reference/$path" "$subject/$path" || return 1
        done ;;
    says) grep -F -q -e "$argument" output ;;
    *) fail "$name: unknown check '$kind'" ;;
    esac
}

failures=0 runs=0
printf '%-16s %4s  %-8s %9s %9s %7s %14s  %s\n' program p correct native,s peet,s times cycles events
# field: cuts the first field off $line
field() {
    printf -v "$1" %s "${line%% | *}"
    line=${line#* | }
}
while read -r line; do
    case $line in '' | '#'*) continue ;; esac
    field name && field directory && field processors && field how && command=$line
    name=${name//[[:space:]]/} directory=${directory//[[:space:]]/}
    [[ " ${PEET_PROGRAMS_ONLY:-$name} " = *" $name "* ]] || continue
    read -r kind argument <<<"$how"
    subject=$PEET_PROGRAMS/peet/$directory reference=$PEET_PROGRAMS/native/$directory
    [ -d "$subject" ] || { echo "$name: no $subject" && failures=$((failures + 1)) && continue; }
    [ -d "$reference" ] || reference=$subject
    for p in $processors; do
        this=${command//%p/$p} verdict=yes first=''
        run expected "$reference" "${this//RUN /}"
        native=$seconds native_status=$status
        for time in 1 2; do
            if [ "$kind" = files ] && [ "$reference" != "$subject" ]; then
                (cd "$subject" && rm -f $argument)
            fi
            run output "$subject" "${this//RUN /peet run --quiet --machine $machine --cores $p --observe hash -d $work/run -- }"
            hash='' cycles=''
            if [ "$status" != "$native_status" ]; then
                verdict="status $status, not $native_status: $(head -n 1 output.err)"
            elif ! check "$kind" "$argument"; then
                verdict="NO"
                mkdir -p "kept/$name.$p" && cp expected output "kept/$name.$p/"
            fi
            [ ! -f run/stats.json ] || { hash=$(value run/stats.json hash.hash) && cycles=$(value run/stats.json time.cycles); }
            [ "$hash" = "${first:=$hash}" ] || verdict="TWO STREAMS OF EVENTS"
            rm -rf run
            [ "$verdict" = yes ] || break
        done
        runs=$((runs + 1))
        [ "$verdict" = yes ] || failures=$((failures + 1))
        printf '%-16s %4d  %-8s %9s %9s %7s %14s  %s\n' "$name" "$p" "$verdict" "$native" "$seconds" \
            "$(awk -v a="$native" -v b="$seconds" 'BEGIN { if (a < 0.02) print "-"; else printf "%.0f", b / a }')" "$cycles" "$hash"
    done
done <"$list"
echo "$runs runs, $failures failures"
[ $runs -gt 0 ] && [ $failures = 0 ]
