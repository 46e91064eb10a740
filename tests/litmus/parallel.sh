#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs without data races give under every model, in both modes of interaction, what they give without one.
# parallel.sh FOLDER MODEL...: each model with one way to drain its buffers, another one for each program; with PEET_THOROUGH, all with all.
. "$(dirname "$0")/lib.sh"
drains=(lazy timed random)
for source in "$here"/programs/{stencil,tasks}.c "$PEET_SOURCE"/tests/parallel/programs/{barrier,buffer,cache,matmul,queens}.c; do
    name=$(basename "$source" .c)
    must "$peetcc" -O2 -fopenmp -pthread -o plain "$source"
    must "$peetcc" -O2 -fopenmp -pthread -fpeet-domains -o coarse "$source"
    must "$peetcc" -O2 -fopenmp -pthread -fpeet-domains -fpeet-granularity=ref -o fine "$source"
    must timeout -k 1 60 "$peet" run -q -d out --cores 4 -- ./plain >want.txt
    drains=("${drains[@]:1}" "${drains[0]}")
    for model in "${@:2}"; do
        some=${drains[0]} drains=("${drains[@]:1}" "${drains[0]}")
        [ -z "${PEET_THOROUGH:-}" ] || some="lazy timed random"
        must timeout -k 1 60 "$peet" run -q -d out --cores 4 --consistency "consistency,model=$model" --consistency-sync sync -- ./coarse >got.txt
        same want.txt got.txt "$name under $model, synchronisations only"
        for drain in $some; do
            must timeout -k 1 60 "$peet" run -q -d out --cores 4 --consistency "consistency,model=$model,drain=$drain,depth=8" -- ./fine >got.txt
            same want.txt got.txt "$name under $model, each reference, drain $drain"
        done
    done
done
