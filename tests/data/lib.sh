# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases of this folder: the observer "structures", and questions to what it writes.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
for module in structures addresses; do
    must "$PEET_PLAIN_CC" -shared -fPIC -O2 -I"$PEET_SOURCE/schema/include" -o "$module.so" "$here/$module.c"
done

# observe DIR [OPTION...] -- PROG...: a run with the observer; its references must lie in what it calls them
observe() {
    local dir=$1
    shift
    must timeout -k 1 100 "$peet" run -q -d "$dir" --observe ./structures.so "$@" >"$dir.out"
    grep -q "^wrong	0	${early:-0}\$" "$dir/structures.txt" || fail "$dir: $(tail -n 1 "$dir/structures.txt") references are in other objects than said"
}

# field DIR KIND NAME FIELD: of the only structure of that kind and name (a pattern of awk, whole; -v would take its backslashes)
field() {
    name="^($3)\$" awk -F'\t' -v kind="$2" -v want="$4" '
        BEGIN { name = ENVIRON["name"]; n = split("kind name type function file line element objects live bytes bytes_live peak references flags path members", f, " "); for (i = 1; i <= n; i++) at[f[i]] = i }
        $1 == kind && $2 ~ name { print $at[want]; found++ }
        END { if (found != 1) print "(" found + 0 " structures are called " name ")" }' "$1/structures.txt"
}

# has DIR KIND NAME FIELD VALUE...: pairs of what it must be
has() {
    local dir=$1 kind=$2 name=$3
    shift 3
    while [ $# -gt 1 ]; do
        equal "$dir: $1 of $name" "$(field "$dir" "$kind" "$name" "$1")" "$2"
        shift 2
    done
}
