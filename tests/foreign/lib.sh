# SPDX-License-Identifier: Apache-2.0
# For the cases here: see ../lib.sh.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
compare=$PEET_PREFIX/tests/tools/foreign_compare
programs=$here/programs

# build NAME: the program as ./NAME, and without the pass as ./NAME.plain; c-PART and cpp-PART: that part of many.c, of many.cpp
build() {
    local source=$programs/$1.c cc=$peetcc plain=$PEET_PLAIN_CC part=()
    case $1 in
    c-* | cpp-*) source=$programs/many.${1%%-*} part=("-DWORK=${1#*-}") ;;
    esac
    [ -e "$source" ] || source=$programs/$1.cpp
    [[ $source != *.cpp ]] || cc=$peetcxx plain=$PEET_PLAIN_CXX
    must "$cc" -O2 -w "${part[@]}" -o "$1" "$source" -lm
    must "$plain" -DPLAIN -O2 -w "${part[@]}" -o "$1.plain" "$source" -lm
}

# record NAME ARGUMENT...: its region, recorded with all that it calls; results in ./NAME.out.  Functions of libraries have the
# names of the files themselves, which the comparisons know.
record() {
    PEET_DEBUG_DIR=/nonexistent must "$peet" run -q --foreign=record --roi=only --observe counts -d "$1.out" -- "./$@" >"$1.printed"
}
