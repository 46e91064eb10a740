# SPDX-License-Identifier: Apache-2.0
# Output of several threads comes in simulated-time order: thread k works 6 - k units a round, so its round r ends at
# (6 - k) (r + 1) units, and the order of the lines follows.  And flockfile() keeps lines whole.
. "$(dirname "$0")/lib.sh"
build turns
# no two ends at one time: times are compared as (6 - k) (r + 1), ties left out
for k in 0 1 2 3 4 5; do for r in 0 1 2; do echo "$(((6 - k) * (r + 1))) $k.$r"; done; done | sort -n >ends
for how in stdio file; do
    must "$peet" run --quiet --machine ideal --cores 6 -d out -- ./turns $how >got
    equal "lines, $how" "$(sort got | xargs)" "$(cut -d' ' -f2 ends | sort | xargs)"
    last=0
    while read -r line; do
        unit=$(awk -v l="$line" '$2 == l { print $1 }' ends)
        [ "$unit" -ge "$last" ] || fail "$how: $line comes too late: $(xargs <got)"
        last=$unit
    done <got
done
for cores in 1 3 6; do
    must "$peet" run --quiet --machine ideal --cores $cores -d out -- ./turns locked >got
    equal "whole lines on $cores" "$(sort got | xargs)" "$(cut -d' ' -f2 ends | sed 's/$/!/' | sort | xargs)"
done
# into a pipe, too
"$peet" run --quiet --machine ideal --cores 6 -d out -- ./turns locked | cat >piped
must "$peet" run --quiet --machine ideal --cores 6 -d out -- ./turns locked >got
cmp got piped || fail "the order depends on where the output goes"
exit 0
