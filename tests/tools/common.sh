# SPDX-License-Identifier: Apache-2.0
# Sourced by the end-to-end tests.  From CTest: PEET_PREFIX (the build tree or an installed prefix),
# PEET_TOOLS (the compiled test tools), PEET_PLAIN_CC and PEET_PLAIN_CXX (the compiler without the pass).
# PEET_THOROUGH, if set, makes lists of programs, levels and machines longer: ./dev nightly tests sets it, and also runs the cases with
# the label `thorough`.
set -u
PEET=$PEET_PREFIX/bin/peet
PEETCC=$PEET_PREFIX/bin/peetcc
PEETCXX=$PEET_PREFIX/bin/peetcc++
export PEETCC_CLANG=$PEET_PLAIN_CC PEETCC_CLANGXX=$PEET_PLAIN_CXX
export LC_ALL=C
. "$(dirname "${BASH_SOURCE[0]}")/../stats.sh"

work=$(mktemp -d "${TMPDIR:-/tmp}/peet-test.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAIL: $*"
    exit 1
}

skip() {
    echo "SKIPPED: $*"
    exit 77
}

need_valgrind() {
    command -v valgrind >/dev/null || skip "valgrind is not installed"
}

# compilers_for FILE: sets plain_cc and peet_cc to those of its language
compilers_for() {
    case $1 in
    *.cpp | *.cc) plain_cc=$PEET_PLAIN_CXX peet_cc=$PEETCXX ;;
    *) plain_cc=$PEET_PLAIN_CC peet_cc=$PEETCC ;;
    esac
}

# Valgrind's optimiser off: it removes loads whose value is overwritten before the end of a superblock.
# Chasing off: superblocks do not run across calls and jumps.  See tests/exact/CONVENTIONS.md.
VEX="--vex-iropt-level=0 --vex-guest-chase=no"
CALLGRIND="valgrind --tool=callgrind $VEX --cache-sim=yes --dump-line=no --compress-strings=no --compress-pos=no --demangle=no --skip-plt=no"

# build_both SOURCE FLAGS...: $work/plain/subject without the pass, $work/peet/subject with it; $work/out for results.
build_both()
{
    local source=$1 flag
    local -a plain_flags=()
    shift
    compilers_for "$source"
    mkdir "$work/plain" "$work/peet" "$work/out" || exit 99
    for flag; do
        case $flag in -fpeet-*) ;; *) plain_flags+=("$flag") ;; esac # those are the pass's own
    done
    "$plain_cc" "${plain_flags[@]}" -o "$work/plain/subject" "$source" -lm || fail "the plain compiler refused $source"
    "$peet_cc" "$@" -o "$work/peet/subject" "$source" -lm || fail "peetcc refused $source"
}
