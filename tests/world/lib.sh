# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases: programs that are run plainly and simulated.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
programs=$here/programs

# build NAME [FLAG...]: plain.NAME and NAME
build() {
    local name=$1
    shift
    must "$PEET_PLAIN_CC" -O1 -pthread -D_GNU_SOURCE -o "plain.$name" "$programs/$name.c" "$@"
    must "$peetcc" -O1 -pthread -D_GNU_SOURCE -o "$name" "$programs/$name.c" "$@"
}
# both NAME [ARGUMENT...]: the output is that of the plain program: plainly, and simulated on 1 and 4 processors
both() {
    local name=$1 cores
    shift
    timeout 60 "./plain.$name" "$@" >want 2>want.err </dev/null
    local status=$?
    timeout 60 "./$name" "$@" >got 2>got.err </dev/null
    equal "status of $name $*, not simulated" $? $status
    cmp -s want got || fail "$name $*, not simulated: $(diff want got | sed -n '1,5p')"
    for cores in 1 4; do
        timeout 60 "$peet" run --quiet --machine ideal --cores $cores -d out -- "./$name" "$@" >got 2>got.err </dev/null
        equal "status of $name $* on $cores: $(tail -3 got.err)" $? $status
        cmp -s want got || fail "$name $* on $cores: $(diff want got | sed -n '1,5p')"
    done
}
