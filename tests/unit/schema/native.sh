#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# native.sh TEST PEETCC SOURCE...: runs the test on real programs, each compiled in two ways.
set -eu
test=$1 peetcc=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
i=0
programs=
for source in "$@"; do
    for flags in -O1 '-O3 -march=x86-64-v3'; do
        i=$((i + 1))
        # shellcheck disable=SC2086
        "$peetcc" $flags -fno-peet-schema-file -o "$dir/p$i" "$source" -lm
        programs="$programs $dir/p$i"
    done
done
# shellcheck disable=SC2086
"$test" $programs
