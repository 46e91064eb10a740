#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stores become visible after a finite time, as in real machines: a program that waits in loops on ordinary memory ends under every model, in
# both modes of interaction, however lazily buffers drain.
. "$(dirname "$0")/lib.sh"
must "$peetcc" -O2 -pthread -fpeet-domains -o coarse "$here/programs/waits.c"
must "$peetcc" -O2 -pthread -fpeet-domains -fpeet-granularity=ref -o fine "$here/programs/waits.c"
echo "10 10" >want.txt
for model in sc tso pso pc wo rc; do
    must timeout -k 1 60 "$peet" run -q -d out --cores 2 --consistency "consistency,model=$model,visible=50000" --consistency-sync sync -- ./coarse >got.txt
    same want.txt got.txt "$model, synchronisations only"
    for drain in lazy timed random; do
        must timeout -k 1 60 "$peet" run -q -d out --cores 2 --consistency "consistency,model=$model,drain=$drain" -- ./fine >got.txt
        same want.txt got.txt "$model, each reference, drain $drain"
    done
done
# nothing is visible by itself: it is when everybody waits for it
must timeout -k 1 60 "$peet" run -q -d out --cores 2 --consistency consistency,model=rc,drain=lazy,visible=0 -- ./fine >got.txt
same want.txt got.txt "no bound"
