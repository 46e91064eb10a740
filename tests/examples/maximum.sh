# SPDX-License-Identifier: Apache-2.0
# maximum: both forms give the plain program's output, plainly and on any number of processors; one processor executes the
# same instructions as two.
. "$(dirname "$0")/lib.sh"
plain maximum.plain -O2 "$examples/maximum/maximum.c"
must "$peetcc" -O2 -o maximum "$examples/maximum/maximum.c"
for form in function marker; do
    for arguments in "1 1" "2 1000" "7 333" "64 100"; do
        must ./maximum.plain $arguments $form >expected
        must ./maximum $arguments $form >got
        same expected got "peetcc's program, run plainly, $arguments $form"
        for cores in 1 2 5; do
            must "$peet" run --quiet --machine ideal --cores $cores -d out.$cores -- ./maximum $arguments $form >got
            same expected got "simulated on $cores processors, $arguments $form"
        done
    done
done
# usage errors pass through
"$peet" run --quiet -d bad -- ./maximum 0 >/dev/null 2>&1
[ $? = 2 ] || fail "the subject's exit status is not passed on"
