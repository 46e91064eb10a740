# SPDX-License-Identifier: Apache-2.0
# Sourced by the benches but run.sh: what their options have in common, a folder to work in, user time.
set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
prefix=$here/../build
CC=${BENCH_CC:-clang-22}

# usage: the script's own first comment
usage() {
    awk 'NR > 2 && !/^#/ { exit } NR > 2 { sub(/^# ?/, ""); print }' "$0" >&2
    exit 2
}

# options NAMES ARGUMENT...: "--NAME VALUE" sets the variable NAME; other words are added to $selected if the script has set that, and an error if not
options() {
    local allowed=" $1 "
    shift
    while [ $# -gt 0 ]; do
        if [[ $1 == --?* && $allowed == *" ${1#--} "* ]]; then
            [ $# -ge 2 ] || usage
            printf -v "${1#--}" %s "$2"
            shift
        elif [[ $1 != -* && -v selected ]]; then
            selected="$selected $1 "
        else
            usage
        fi
        shift
    done
}

# begin: $prefix is looked for, $work made
begin() {
    prefix=$(cd "$prefix" 2>/dev/null && pwd) || { echo "${0##*/}: no folder $prefix: build first" >&2; exit 2; }
    work=$(mktemp -d) || exit 2
    trap 'rm -rf "$work"' EXIT
    "$CC" -O2 -o "$work/peet-time" "$here/tools/peet-time.c" || exit 2
}

# user COMMAND...: its user time in seconds; what it says is in $work/out and $work/err
user() {
    "$work/peet-time" -o "$work/out" -e "$work/err" "$@" </dev/null | awk '{ print $1 }'
}
