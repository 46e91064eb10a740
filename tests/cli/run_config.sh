# SPDX-License-Identifier: Apache-2.0
# Configuration files: merged under the command line, refused when wrong, and the effective one gives the same run.
. "$(dirname "$0")/lib.sh"
write_sum
must "$peetcc" -O2 -o sum sum.c
cat >run.cfg <<'END'
version = 1;
cores = 2;
seed = 5;
machine = { module = "bus"; parameters = { protocol = "msi"; cache = "32KiB"; }; };
END
must "$peet" run -q --cores 3 -c run.cfg -m bus,protocol=berkeley -d out -- ./sum 20 >/dev/null
expect() {
    [ "$(value out/stats.json "$1")" = "$2" ] || fail "$1 is $(value out/stats.json "$1"), not $2"
}
expect config.cores 3
expect config.seed 5
expect config.machine.module bus
expect config.machine.parameters.protocol berkeley
expect config.machine.parameters.cache 32768

# The effective configuration alone gives the same run.
must "$peet" run -q -c out/config.cfg -d again -- ./sum 20 >/dev/null
[ "$(value out/stats.json time.cycles)" = "$(value again/stats.json time.cycles)" ] || fail "another run from config.cfg"
sed 's|/again"|/out"|' again/config.cfg >again.cfg
same out/config.cfg again.cfg "effective configuration"
# It also names the program.
must "$peet" run -q -c out/config.cfg -d third >third.txt
[ "$(cat third.txt)" = "$(./sum 20)" ] || fail "program and arguments from the file"

wrong() {
    local text=$1
    printf '%s\n' "$2" >wrong.cfg
    refuses 2 "$text" "$peet" run -c wrong.cfg -- ./sum
    absent peet.out
}
wrong 'wrong.cfg:2' 'cores = 2;
crores = 3;'
wrong 'wrong.cfg.*did you mean' 'polcy = "fcfs";'
wrong 'wrong.cfg:1' 'cores = = 2;'
wrong 'wrong.cfg:1' 'cores = "many";'
wrong 'wrong.cfg:1.*0' 'cores = 0;'
wrong 'wrong.cfg.*version' 'version = 99;'
wrong 'wrong.cfg.*bus.*did you mean' 'machine = { module = "bus"; parameters = { protocl = "msi"; }; };'
wrong 'wrong.cfg' 'machine = "bus'
refuses 2 'nowhere.cfg' "$peet" run -c nowhere.cfg -- ./sum
refuses 2 '^peet: .*\.' "$peet" run -c . -- ./sum
absent peet.out
