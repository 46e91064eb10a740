# SPDX-License-Identifier: Apache-2.0
# Libraries recorded by default: a build with a sanitizer goes on with ranges and says so in its results, where an option that asks for recording
# is refused; every other build records them.
. "$(dirname "$0")/lib.sh"
write_sum
must "$peetcc" -O2 -o sum sum.c
./sum 3 >expected
for default in PEET_FOREIGN=record PEET_FOREIGN=auto; do
    must env $default "$peet" run -q --machine bus -d out -- ./sum 3 >out.txt
    same expected out.txt "$default"
    case ${PEET_SANITIZED:-OFF} in
    OFF)
        equal "$default" "$(value out/stats.json config.foreign)" record
        [ "$(value out/stats.json foreign.functions)" -gt 100 ] || fail "$default: nothing is recorded"
        "$json_get" out/stats.json not_recorded >/dev/null 2>&1 && fail "$default: a run that is recorded says that it is not" ;;
    *)
        equal "$default" "$(value out/stats.json config.foreign)" ranges
        grep -q AddressSanitizer <(value out/stats.json not_recorded) || fail "$default: the results do not say why" ;;
    esac
done
[ "${PEET_SANITIZED:-OFF}" = OFF ] || refuses 2 'not in a build with AddressSanitizer' "$peet" run -q --foreign=record -d out -- ./sum 3
# Who wants no references of libraries' calls wants no code of theirs.
must env PEET_FOREIGN=record "$peet" run -q --ranges=off -d out -- ./sum 3 >out.txt
equal "--ranges=off" "$(value out/stats.json config.foreign)" ranges
exit 0
