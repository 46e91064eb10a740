# SPDX-License-Identifier: Apache-2.0
# Speed-up curves on the ideal machine, where a block takes its schema cost and synchronisation nothing: four programs on 1 to 16
# processors take the time that their closed form says, to the cycle.  The costs of the pieces come from runs on
# one processor: each line of events.c tells how much a context's own blocks have cost so far.
. "$(dirname "$0")/lib.sh"
for program in doall counter pipeline stencil; do
    build $program "$here/curves/$program.c"
done

# ---- n equal iterations of cost c, S cycles outside of the loop: S + ceil(n / p) c
must "$peet" run --quiet --machine ideal -d run -- ./doall 48 >expected
events one 1 ./doall 48
c=$(awk '$5 == "DOALL_START" { before[$3] = $4 }
    $5 == "DOALL_FINISH" { c = $4 - before[$3]; if (n++ && c != last) exit 1; last = c }
    END { print last }' one) || fail "doall: iterations of different cost"
S=$(($(value run/stats.json time.cycles) - 48 * c))
[ "$c" -gt 1000 ] && [ "$S" -gt 0 ] || fail "doall: an iteration takes $c cycles, the rest $S"
for schedule in static dynamic; do
    for p in {1..16}; do
        must "$peet" run --quiet --machine ideal --cores $p --schedule $schedule -d run -- ./doall 48 >output
        same expected output "doall, $schedule on $p processors"
        got=$(value run/stats.json time.cycles) want=$((S + (48 + p - 1) / p * c))
        [ "$got" = $want ] || fail "doall, $schedule on $p processors: $got cycles, not $want"
    done
done

# ---- p threads count K times: C cycles from the lock to the unlock, W from there to the next lock, a from the common start
# to the first one.  All ask for the lock together; it goes round, and each thread has it again after
# W + C cycles, or when the p - 1 others have had it: turn m = i p + k (k-th thread, i-th time) begins at
#     a + k C + i max(W + C, p C)
for sizes in "100 400" "20 1000" "300 1"; do
    events one 1 ./counter 1 $sizes
    read -r a C W <<<"$(awk '$5 == "BARRIER_WAIT" { start = $4 }
        $5 == "MUTEX_LOCK" { if (n++) { w = $4 - unlock; if (n > 2 && w != W) exit 1; W = w } else a = $4 - start; lock = $4 }
        $5 == "MUTEX_UNLOCK" { c = $4 - lock; if (m++ && c != C) exit 1; C = c; unlock = $4 }
        END { print a, C, W }' one)"
    [ -n "$W" ] && [ "$C" -gt 0 ] || fail "counter $sizes: its turns differ in cost"
    for p in {1..16}; do
        events many $p ./counter $p $sizes
        [ "$(cat output)" = $((6 * p)) ] || fail "counter $p $sizes counts $(cat output)"
        awk -v p=$p -v a="$a" -v C="$C" -v W="$W" '
            $5 == "BARRIER_WAIT" { start = $1 }
            $5 == "MUTEX_LOCK" { if (held) waiting++; else turn($1, $3) }
            $5 == "SYNC_GRANT" && $7 == 25 { turn($1, $3) } # operation 25: MUTEX_LOCK
            $5 == "MUTEX_UNLOCK" { if (waiting) waiting--; else held = 0 } # it goes to the next, or is free
            function turn(time, context,   k, want) {
                held = 1
                k = m % p
                want = start + a + k * C + int(m / p) * (W + C > p * C ? W + C : p * C)
                if (time != want) { printf "turn %d begins at %d, not at %d\n", m, time, want; bad = 1; exit }
                if (m < p) who[k] = context
                if (who[k] != context) { printf "turn %d goes to context %d, not %d\n", m, context, who[k]; bad = 1; exit }
                m++
            }
            END { if (!bad && m != 6 * p) { printf "%d turns\n", m; bad = 1 } exit bad }' many >said ||
            fail "counter $sizes on $p processors (a $a, C $C, W $W): $(cat said)"
    done
done

# ---- a barrier behind each sweep: o cycles of its own and r for each row; the thread with most rows, ceil(n / p), sets the pace
events few 1 ./stencil 1 40
events one 1 ./stencil 1 48
pace() { # P FILE: cycles from barrier to barrier, which must all be equal, the first sweep apart: it begins with what is done once
    awk -v p="$1" '$5 == "BARRIER_WAIT" && ++arrived % p == 0 {
            if (++n > 3 && $1 - before != d) bad = 1
            d = $1 - before; before = $1 }
        END { if (bad || n != 6) exit 1
            print d }' "$2"
}
forty=$(pace 1 few) && fortyeight=$(pace 1 one) || fail "stencil: sweeps of different cost"
r=$(((fortyeight - forty) / 8))
o=$((fortyeight - 48 * r))
[ $((forty - 40 * r)) = $o ] && [ $r -gt 30 ] && [ $o -gt 0 ] && [ $o -lt $r ] || fail "stencil: rows of $r cycles, $o besides"
must "$peet" run --quiet -d run -- ./stencil 1 48 >expected
for p in {1..16}; do
    events many $p ./stencil $p 48
    same expected output "stencil on $p processors"
    got=$(pace $p many) || fail "stencil on $p processors: sweeps of different length"
    want=$(((48 + p - 1) / p * r + o))
    [ "$got" = $want ] || fail "stencil on $p processors: $got cycles a sweep, not $want"
done

# ---- n items go through a pipeline.  An item takes h cycles until it first waits, then L altogether, of which the first stage, the
# slowest, takes c: item i may begin when item i - 1 has left the first stage.  While the first item is there all
# others get as far as their first WAIT; then each follows c behind its predecessor, if there is a processor
# free: as many as p are under way, and a group of p begins as the first of the group before it ends, or when its last has left the
# first stage.  Item i begins at
#     h + floor(i / p) max(L, p c) + (i mod p) c
# and ends L later.  One processor takes item after item: i (h + L) + h.
n=40
must "$peet" run --quiet -d run -- ./pipeline $n >expected
events one 1 ./pipeline $n
read -r h c L <<<"$(awk '$5 == "DOALL_START" { start = $4; waits = 0; posts = 0 }
    $5 == "WAIT" && !waits++ { wait = $4 }
    $5 == "POST" && !posts++ { post = $4 }
    $5 == "DOALL_FINISH" { if (m++ && (wait - start != h || post - wait != c || $4 - wait != L)) exit 1
        h = wait - start; c = post - wait; L = $4 - wait }
    END { print h, c, L }' one)"
[ -n "$L" ] && [ "$L" -gt "$c" ] && [ "$c" -gt $((n * h)) ] && [ $((6 * c)) -gt "$L" ] || fail "pipeline: h ${h:-}, c ${c:-}, L ${L:-}"
for p in {1..16}; do
    events many $p ./pipeline $n
    same expected output "pipeline on $p processors"
    awk -v p=$p -v n=$n -v h="$h" -v c="$c" -v L="$L" '
        $5 == "DOALL_FORK" { fork = $1 }
        $5 == "DOALL_FINISH" { i = $6; finished++
            at = p == 1 ? i * (h + L) + h : h + int(i / p) * (L > p * c ? L : p * c) + i % p * c
            if ($1 - fork != at + L) { printf "item %d ends after %d cycles, not %d\n", i, $1 - fork, at + L; bad = 1; exit } }
        END { if (!bad && finished != n) { printf "%d items\n", finished; bad = 1 } exit bad }' many >said ||
        fail "pipeline on $p processors (h $h, c $c, L $L): $(cat said)"
done
