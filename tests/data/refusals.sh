# SPDX-License-Identifier: Apache-2.0
# Rules that cannot be: said clearly, before the program starts where that is possible.
. "$(dirname "$0")/lib.sh"
echo 'int grid[100]; int main(void) { for (int i = 0; i < 100; i++) ((volatile int *)grid)[i] = i; return 0; }' >grid.c
must "$peetcc" -O2 -g -o grid grid.c
refused() { # refused TEXT OPTION...: the run fails with status 2 and a message that has TEXT; no results
    local text=$1 status=0
    shift
    rm -rf out
    "$peet" run -q -d out "$@" -- ./grid >log 2>&1 || status=$?
    equal "status of $*" "$status" 2
    grep -qF -- "$text" log || fail "$*: no '$text' in: $(cat log)"
    [ ! -e out/stats.json ] || fail "$*: there are results"
}
refused "did you mean 'grid'?" --machine bus --perfect gird
refused "did you mean 'grid'?" --remap pad=gridd:64
refused "no such thing as perfect memory" --perfect grid
sed 's/return 0/system("touch ran"); return 0/; s/^/#include <stdlib.h>\n/' grid.c >ran.c
must "$peetcc" -O2 -g -o ran.grid ran.c
"$peet" run -q -d out --perfect grid -- ./ran.grid >log 2>&1 && fail "perfect memory of ideal"
[ ! -e ran ] || fail "refused after the run"
refused "pad=NAME:64" --remap pad=grid
refused "not of the form pad=NAME:BYTES" --remap padd=grid:64
refused "not a power of two" --remap align=grid:48
refused "cannot be 4 bytes apart" --remap stride=grid:8:4
refused "neither a name nor a range" --remap pad=0x10:64
refused "not a number from 1 to 32" --data-depth 0
printf 'perfect = "grid";\nremap = ( "pad=grid:64", "align=grid:128" );\nallocators = [ "get" ];\ndata_depth = 2;\n' >run.cfg
must "$peet" run -q -c run.cfg --machine bus -d out -- ./grid
must "$peet" run -q -c out/config.cfg -d again -- ./grid
equal "time by the effective configuration" "$(value out/stats.json time.cycles)" "$(value again/stats.json time.cycles)"
grep -q 'pad=grid:64' out/config.cfg || fail "no rules in the effective configuration"
