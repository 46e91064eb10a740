#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ahead_all.sh BUILD [SEEDS]: ahead.sh for all protocols of the bus and of numa, five geometries, and 2, 4 and 16 processors.  SEEDS: 1-7 if not given, which are
# 1,365 runs of random threaded programs, each one ahead and block by block.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
PEET_PREFIX=$(cd "$1" && pwd)
export PEET_PREFIX PEET_TOOLS=$PEET_PREFIX/tests/tools PEET_PLAIN_CC=${PEET_PLAIN_CC:-clang-22} PEET_PLAIN_CXX=${PEET_PLAIN_CXX:-clang++-22} ROUNDS=${ROUNDS:-60}
machines=(ideal)
for protocol in write-once synapse berkeley illinois mesi msi moesi firefly dragon through; do
    for geometry in cache=1KiB,line=16,ways=1 cache=2KiB,line=16,ways=2 cache=4KiB,line=64,ways=4 cache=32KiB,line=64,ways=8 cache=8KiB,line=32,ways=64; do
        machines+=("bus,protocol=$protocol,$geometry")
    done
done
for protocol in msi mesi moesi; do
    for geometry in cache=1KiB,line=16,ways=1 cache=2KiB,line=16,ways=2 cache=4KiB,line=64,ways=4 cache=32KiB,line=64,ways=8 cache=8KiB,line=32,ways=64; do
        machines+=("numa,protocol=$protocol,$geometry")
    done
done
exec bash "$here/ahead.sh" "${2:-1-7}" "2 4 16" "${machines[@]}"
