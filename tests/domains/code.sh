# SPDX-License-Identifier: Apache-2.0
# What is recorded does not change with -fpeet-domains: counts equal callgrind's, function by function, and addresses lackey's, of
# the plain program; the schema's code has the plain program's lengths.
. "$(dirname "$0")/lib.sh"
command -v valgrind >/dev/null || skip "valgrind is missing"
programs=$PEET_SOURCE/tests/exact/programs
# references through gs but for those of the recording's own words (PEET_CONTROL_ADDRESS, at a fixed address)
to_views() {
    objdump -d "$1" | grep '%gs:' | grep -c -v '%gs:0x7ffd00'
}
for flags in "-O2" "-O2 -fpeet-granularity=ref"; do
    must "$peetcc" $flags -w "$programs/strings.c" -o without -lm
    must "$peetcc" $flags -w -fpeet-domains "$programs/strings.c" -o with -lm
    [ "$(to_views with)" -gt 20 ] || fail "$flags: few references go to views"
    [ "$(to_views without)" = 0 ] || fail "$flags: references go to views without the option"
done
# as the environment says it for all that a script compiles
export PEET_PASS_OPTIONS=domains=1 PEET_TOOLS=$PEET_PREFIX/tests/tools
must bash "$PEET_SOURCE/tests/exact/exact.sh" "$programs/hash.c" -O2 -DSMALL
must bash "$PEET_SOURCE/tests/exact/addresses.sh" "$programs/strings.c" -Os -DSMALL
must bash "$PEET_SOURCE/tests/exact/addresses.sh" "$programs/local.c" -O2 -fPIC -DSMALL
