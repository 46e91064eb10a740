# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases: compiling litmus tests, and the outcomes of an exploration.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
litmus=$PEET_PREFIX/tests/litmus-tool
table=$here/table.txt

# outcomes_of OUTDIR: what the executions printed, sorted; one that did not end with exit() is named by how it ended
outcomes_of() {
    awk -F'"' '/"end": / { how = $4 } /"output": / { text = $4; sub(/\\n$/, "", text); print how == "exit" ? text : how }' \
        <(sed -n '/^ "exploration": {/,/^ }/p' "$1/stats.json") | sort -u
}

# complete OUTDIR: has the exploration made all executions that it wanted to?
complete() {
    [ "$("$PEET_PREFIX/tests/json-get" "$1/stats.json" exploration.complete)" = true ]
}

# token_of OUTDIR OUTCOME: the token of the first execution that printed it
token_of() {
    awk -F'"' -v want="$2" '/"token": / { token = $4 } /"output": / { text = $4; sub(/\\n$/, "", text); if (text == want) { print token; exit } }' \
        <(sed -n '/^ "exploration": {/,/^ }/p' "$1/stats.json")
}

# explore OUTDIR CORES MODEL PROGRAM ARGS...: all executions under a model; MODEL plain: no views, sequentially consistent by nature
explore() {
    local out=$1 cores=$2 model=$3 options=()
    shift 3
    [ "$model" = plain ] || options=(--consistency "consistency,model=$model")
    timeout -k 1 "${LITMUS_SECONDS:-300}" "$peet" run -q -d "$out" --cores "$cores" "${options[@]}" --explore all --explore-limit 1000000 -- "$@" >"$out.txt" 2>&1
    case $? in
    0 | 4) ;; # 4: an execution fails, which is for the caller to judge
    *) cat "$out.txt" && fail "exploring $* under $model" ;;
    esac
    complete "$out" || fail "$* under $model: not all was explored"
}

# compile_for MODEL OUT SOURCE OPTIONS...
compile_for() {
    local model=$1 out=$2 source=$3
    shift 3
    if [ "$model" = plain ]; then
        must "$peetcc" -pthread -fpeet-granularity=ref "$@" -o "$out" "$source"
    else
        must "$peetcc" -pthread -fpeet-domains -fpeet-granularity=ref "$@" -o "$out" "$source"
    fi
}
