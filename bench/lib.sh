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

# listed FILE: the names of the programs in it
listed() {
    sed -n 's/^\([a-z][^ |]*\) *|.*/\1/p' "$1"
}

# known NAME...: ends the script if a word of $selected is none of these
known() {
    local name
    for name in $selected; do
        case " $* " in *" $name "*) ;; *) echo "${0##*/}: no program '$name'; there are: $*" >&2; exit 2 ;; esac
    done
}

# user COMMAND...: its user time in seconds; what it says is in $work/out and $work/err
user() {
    "$work/peet-time" -o "$work/out" -e "$work/err" "$@" </dev/null | awk '{ print $1 }'
}

# host_processor: vendor, family and model of the processor that this runs on
host_processor() {
    awk -F': ' '/^vendor_id/ { v = $2 } /^cpu family/ { f = $2 } /^model\t/ { print v, f, $2; exit }' /proc/cpuinfo
}

# host_preset [PROCESSOR]: the name of the preset that stands for it, which the presets' key `processors` says; status 1: none
host_preset() {
    local host=${1:-$(host_processor)} file
    for file in "$prefix"/share/peet/presets/*.cfg; do
        sed -n 's/^processors = "\(.*\)";.*/\1/p' "$file" | awk -v host="$host" '
            { split(host, h, " ")
              for (i = 3; i <= NF; i++) {
                  n = split($i, range, "-")
                  if ($1 == h[1] && $2 == h[2] && h[3] + 0 >= range[1] + 0 && h[3] + 0 <= range[n] + 0)
                      found = 1
              } }
            END { exit !found }' && { basename "$file" .cfg; return 0; }
    done
    return 1
}
