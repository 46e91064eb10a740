# SPDX-License-Identifier: Apache-2.0
# Programs behave as what the plain compiler makes of them: with references that go to views, plainly, simulated in main memory, and with
# all references going to a view.
. "$(dirname "$0")/lib.sh"
seq 1 500 >numbers
programs="conventions ${PEET_THOROUGH:+containers} deep initialise write_faults"
exact="callbacks strings virtual vector local atomics"
for name in $programs $exact; do
    for file in "$PEET_SOURCE"/tests/behaviour/programs/$name.c* "$PEET_SOURCE"/tests/exact/programs/$name.c*; do
        [ -e "$file" ] || continue
        case $file in *.c) plain=$PEET_PLAIN_CC ours=$peetcc ;; *) plain=$PEET_PLAIN_CXX ours=$peetcxx ;; esac
        flags=-O2
        grep -q mavx2 "$file" && flags="-O2 -mavx2"
        "$plain" -w $flags -pthread "$file" -o plain -lm 2>/dev/null || continue
        must "$ours" -w $flags -pthread -fpeet-domains "$file" -o views -lm
        ./plain one two <numbers >expected 2>/dev/null
        status=$?
        check() {
            [ "$2" = "$status" ] || fail "$name, $1: status $2, not $status: $(head -3 err)"
            same expected got "$name, $1"
        }
        ./views one two <numbers >got 2>err
        check plainly $?
        "$peet" run --quiet -d out -- ./views one two <numbers >got 2>err
        check "in main memory" $?
        viewed 3 1 ./views one two <numbers >got 2>err
        check "in a view" $?
        count=$((${count:-0} + 1))
    done
done
[ "${count:-0}" -ge 10 ] || fail "only ${count:-0} programs were found"
echo "$count programs"
