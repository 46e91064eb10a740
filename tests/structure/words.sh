#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One word for one thing (docs/WORDS.md): names that gave way to the field's do not come back as identifiers, and the
# functions of the machines and of machine code can be found by their names, because no macro pastes those together.
set -u
cd "${1:-$PEET_SOURCE}" || exit 99
failed=0

# The code of a file, without comments and texts.
code() {
    perl -0777 -ne 's{/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"}{$&=~tr/\n//cdr}gse; print' "$1"
}

# retired FOLDER "WORDS": none of them is an identifier there
retired() {
    local folder=$1 words=$2 file found
    [ -n "$(ls "$folder"/*.c 2>/dev/null)" ] || { echo "FAIL: no such folder: $folder"; failed=1; return; }
    for file in "$folder"/*.[ch]; do
        found=$(code "$file" | grep -nwE "${words// /|}" | sed -n '1,3p')
        [ -z "$found" ] || { echo "FAIL: $file: a name that docs/WORDS.md has another word for"; echo "$found"; failed=1; }
    done
}
retired simulators/bus "course going group_way group_ways loop_way QUICK QUICK_READ QUICK_WRITE quick plan plans made maker recency floor losses grains sole told halves noted asking odd sooner settled"
retired schema/jit "maker cold add_cold wanted nwanted hop hops path_maker on_path native_heat direct_heat"
retired schema/decode "native_heat direct_heat"
retired schema/trace "turn turns nturns peet_turn peet_turns"
retired mapper/host "turn turns peet_turn peet_turns"
retired runtime/plain "turn turns nturns"
retired simulators/dtrack "lately find_lately is_odd"
retired simulators/x86 "x86_node x86_edge x86_tape_ref grains"

# A function whose name is pasted together: static ... name_##x(
pasted=$(grep -nE '^[^"]*\b(static|void|int|uint[0-9]+_t)\b[^=;]*##[a-z_]*\(' simulators/*/*.[ch] schema/*/*.[ch])
[ -z "$pasted" ] || { echo "FAIL: functions that cannot be found by their names:"; echo "$pasted"; failed=1; }
exit $failed
