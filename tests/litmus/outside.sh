#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Explorations of programs that call code which is not recorded: what it is known to reference races with others, and what is not known is said.
. "$(dirname "$0")/lib.sh"
gaps() { sed -n 's/.*"what": "\([a-z_]*\)".*/\1/p' out/stats.json | sort | tr '\n' ' '; }
# is MODEL COMPLETE GAPS OUTCOMES PROGRAM
is() {
    local options=()
    [ "$1" = plain ] || options=(--consistency "consistency,model=$1")
    "$peet" run -q -d out --cores 3 "${options[@]}" --explore all -- "$5" >table.txt 2>&1 || fail "status $? of $5: $(cat table.txt)"
    equal "$5 under $1" "$("$PEET_PREFIX/tests/json-get" out/stats.json exploration.complete) $(gaps)$(outcomes_of out | tr '\n' ';')" "$2 $3$4"
}
program=$here/programs/outside.c

# what memcpy() writes races with who reads it; that nobody comes between two of its bytes is said
compile_for plain copy "$program" -O1 -DCASE_COPY
compile_for views copy.views "$program" -O1 -DCASE_COPY
is plain false "library_functions " "0 0;0 1;1 1;" ./copy
is tso false "library_functions " "0 0;0 1;1 1;" ./copy.views

# a call is a fence, where the machine's is none: said under a model that a fence means something to
compile_for views fence "$program" -O1 -DCASE_FENCE
is sc true "" "0 1;1 0;1 1;" ./fence
is tso false "library_fences " "0 1;1 0;1 1;" ./fence

# a function of an object, or of a library, that peetcc has not compiled
echo 'extern int total; void bump(void); void bump(void) { total++; }' >bump.c
must "$PEET_PLAIN_CC" -O1 -c -o bump.o bump.c
must "$PEET_PLAIN_CC" -O1 -shared -fPIC -o libbump.so bump.c
must "$peetcc" -O1 -pthread -fpeet-granularity=ref -DCASE_CALL -o object "$program" bump.o
must "$peetcc" -O1 -pthread -fpeet-granularity=ref -rdynamic -DCASE_CALL -o library "$program" ./libbump.so
is plain false "unseen_code " "2;" ./object
grep -q "bump() of object, called by thread()" table.txt || fail "it does not say what was called: $(cat table.txt)"
is plain false "unseen_code " "2;" ./library
grep -q "bump() of libbump.so" table.txt || fail "it does not say of which library: $(cat table.txt)"
must "$peetcc" -O1 -pthread -fpeet-granularity=ref -DCASE_CALL -c -o seen.o "$program"
must "$peetcc" -O1 -fpeet-granularity=ref -c -o bump.seen.o bump.c
must "$peetcc" -pthread -o seen seen.o bump.seen.o
is plain true "" "1;2;" ./seen

# the last thread to end comes after no store of others, though main is alone then
compile_for views joined "$program" -O1 -DCASE_JOINED
for model in sc tso pso; do
    is $model true "" "0;2;" ./joined
done
exit 0
