#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# From each instruction of recorded code, and of what recording has added behind it, the unwinder finds the caller.
. "$(dirname "$0")/../lib.sh"
here=$here/unwind
must "$PEET_PLAIN_CC" -D_GNU_SOURCE -O1 -I"$PEET_SOURCE/schema/include" -I"$PEET_SOURCE/runtime" -c -o step.o "$here/step.c"
for flags in -O2 -O0 -O1 "-O2 -fno-omit-frame-pointer" "-O2 -fpeet-granularity=ref" "-O2 -fpeet-domains -fpeet-granularity=ref" "-O3 -march=x86-64-v3" "-Os -g"; do
    must "$PEET_PREFIX/bin/peetcc" $flags -c -o subject.o "$here/subject.c"
    must "$PEET_PREFIX/bin/peetcc" -o unwind step.o subject.o
    timeout -k 1 60 ./unwind >out.txt 2>err.txt || fail "$flags: $(cat err.txt out.txt)"
    echo "$flags: $(cat out.txt)"
done
