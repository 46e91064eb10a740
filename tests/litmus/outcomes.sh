#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The outcomes that exploration finds for litmus tests, against what the enumerators allow.
# outcomes.sh FOLDER MODEL OPTIMISATION quick|triples|all|random|returned [FIRST COUNT]
#   plain, sc, tso, pso: the sets are those of the abstract machines.  pc, wo, rc: those that the module's own buffers and queues reach when all
#   their steps are made from all states; nothing that the axioms forbid; and all that the literature says is seen ("rc+" in the table).
# quick: every eighth test of at most three threads, with PEET_THOROUGH every fourth; triples: all of at most three; random: COUNT small tests by chance, from number FIRST;
# returned: as random, but threads return what they have loaded, so that they end with loads, fences and locked operations;
# some of the table beside those by chance.
. "$(dirname "$0")/lib.sh"
model=$2 level=$3 which=$4
allowed=$model
[ "$model" = plain ] && allowed=sc
if [ "$which" = random ] || [ "$which" = returned ]; then
    first=${5:-1} many=${6:-40}
    [ -z "${PEET_THOROUGH:-}" ] || [ "$first" -le 2 ] || first=$((first - 2)) many=$((many + 5))
    must "$litmus" random "$first" "$many" $([ "$which" = returned ] && echo ends) >table.txt
    [ "$which" = returned ] && grep -E '^(amd5|amd10|iwp2.8.a|SB\+mfence\+po|SB\+xchg-loads) ;' "$table" >>table.txt
    table=$PWD/table.txt
fi
every=8 index=0
[ -z "${PEET_THOROUGH:-}" ] || every=4
while read -r name threads; do
    index=$((index + 1))
    case $which in
    quick)
        [ $((index % every)) = 1 ] && [ "$threads" -le 3 ] || continue
        # three fences take half of the time where stores reach each processor by itself
        case $model.$name in pc.SB3+mfences | wo.SB3+mfences | rc.SB3+mfences) [ -n "${PEET_THOROUGH:-}" ] || continue ;; esac
        ;;
    triples) [ "$threads" -le 3 ] || continue ;;
    esac
    echo "$name" "$threads"
done < <("$litmus" list "$table") >chosen.txt
# the enumerators need not look at the others
awk 'NR == FNR { chosen[$1]; next } /^#/ || $1 in chosen' chosen.txt "$table" >only.txt
table=$PWD/only.txt
must "$litmus" generate "$table" >program.c
compile_for "$model" program program.c "-$level"
must "$litmus" allowed "$allowed" "$table" >allowed.txt
case $allowed in
sc | tso | pso) cp allowed.txt reached.txt ;;
*) must "$litmus" reach "$allowed" "$table" >reached.txt ;;
esac
count=0 bad=0
while read -r name threads; do
    explore out $((threads + 1)) "$model" ./program "$name" $([ "$which" = returned ] && echo returned)
    outcomes_of out >got.txt
    awk -F'\t' -v name="$name" '$1 == name { print $2 }' allowed.txt | sort -u >may.txt
    awk -F'\t' -v name="$name" '$1 == name { print $2 }' reached.txt | sort -u >want.txt
    count=$((count + 1))
    extra=$(comm -23 got.txt may.txt) missing=$(comm -13 got.txt want.txt) more=$(comm -23 got.txt want.txt)
    if [ -n "$extra" ]; then
        echo "$name: found, but forbidden under $allowed: $extra"
        bad=$((bad + 1))
    fi
    if [ -n "$missing$more" ]; then
        echo "$name: under $allowed not found: $missing; not reached otherwise: $more"
        bad=$((bad + 1))
    fi
    if "$litmus" seen "$allowed" "$table" "$name" && ! "$litmus" meets "$table" "$name" <got.txt; then
        echo "$name: the outcome of the literature was not found under $allowed"
        bad=$((bad + 1))
    fi
done <chosen.txt
echo "$count tests under $model at -$level: $bad differences"
[ "$count" -ge 10 ] && [ "$bad" -eq 0 ]
