#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What others read in the traces that we write, against our own counts of the same run: DynamoRIO's cache simulator (hits and misses of one core's
# data cache, against bus) and ChampSim (instructions, loads, stores, branches by kind; what its reader takes for them against `peet trace print`, what
# its processor executes against that and the observer `counts`).
#
#   bench/traces.sh [--dynamorio DIR] [--champsim DIR] [--prefix DIR] [PROGRAM...]
#
# The DIRs are source trees, DynamoRIO's without its submodules is enough; of ChampSim, config.sh must have been run, nothing more (objects go to its
# .csconfig/peet). Needs libfmt, liblzma, zlib and bzip2 for ChampSim. --prefix's DIR is a build directory or an installation (default: build/ of
# this tree). Prints a table; what is not given is skipped and says so; status 1 if anything differs.
. "$(dirname "$0")/lib.sh"
dynamorio= champsim= selected=
options "prefix dynamorio champsim" "$@"
[ -n "$dynamorio$champsim" ] || usage
begin
cxx=${BENCH_CXX:-c++}
geometries='32768,8,64 4096,4,64 16384,1,32 65536,16,128 2048,2,16'
programs='fft:8 2|radix:20000 2|lu:48 16|cg:500 3 1|hash:2000 3|matmul:32 16 2|quicksort:5000 1|edit:200 1|lz:20000 1|chase:2000 2|text:1000 1|vm:500 1|queens:6|known:20000'
known $(tr '|' '\n' <<<"$programs" | cut -d : -f 1)

# drcachesim and champsim: small programs of ours that call theirs
if [ -n "$dynamorio" ]; then
    there=$dynamorio/clients/drcachesim
    [ -r "$there/reader/file_reader.cpp" ] || { echo "traces.sh: no DynamoRIO in $dynamorio" >&2; exit 2; }
    flags="-std=c++17 -O2 -w -DLINUX -DUNIX -DX86 -DX64 -DX86_64 -I$there -I$there/common -I$there/reader -I$there/simulator -I$dynamorio/core/lib -I$dynamorio/common -I$dynamorio/ext/droption"
    sources=$(ls "$there"/simulator/{cache,cache_simulator,cache_stats,caching_device,caching_device_stats,create_cache_replacement_policy,policy_*,prefetcher,simulator,snoop_filter}.cpp \
        "$there"/reader/{reader,reader_base,file_reader,config_reader,config_reader_helpers,v2p_reader}.cpp "$there"/common/{trace_entry,mutex_dbg_owned}.cpp)
    "$cxx" $flags "$here/tools/drcachesim.cpp" $sources -o "$work/drcachesim" -pthread || exit 2
fi
if [ -n "$champsim" ]; then
    [ -r "$champsim/.csconfig/core_inst.inc" ] || { echo "traces.sh: no ChampSim in $champsim, or its config.sh has not been run" >&2; exit 2; }
    champsim=$(cd "$champsim" && pwd)
    configuration=$(sed -n 's/.*generated_environment<\(0x[0-9a-f]*\)> final.*/\1/p' "$champsim/.csconfig/core_inst.inc")
    flags="-std=c++17 -O2 -w -DCHAMPSIM_BUILD=$configuration -I$champsim/inc -I$champsim/.csconfig"
    generated=$champsim/.csconfig/module_decl.inc # its Makefile makes it
    [ -e "$generated" ] || make -s -C "$champsim" .csconfig/module_decl.inc .csconfig/legacy_bridge.h >/dev/null 2>&1
    [ -e "$generated" ] || { echo "traces.sh: ChampSim's Makefile does not make $generated" >&2; exit 2; }
    mkdir -p "$champsim/.csconfig/peet" && cd "$champsim/.csconfig/peet" || exit 2
    for source in "$champsim"/src/*.cc "$champsim"/{branch/hashed_perceptron,btb/basic_btb,prefetcher/no,replacement/lru}/*.cc; do
        case $source in */main.cc | */*_printer.cc) continue ;; esac
        object=$(basename "$source" .cc).o
        [ "$object" -nt "$source" ] && [ "$object" -nt ../core_inst.inc ] || echo "$source"
    done | xargs -r -P 2 -n 3 "$cxx" $flags -c || exit 2
    "$cxx" $flags "$here/tools/champsim.cpp" ./*.o -o "$work/champsim" -lfmt -llzma -lz -lbz2 || exit 2
    cd "$OLDPWD" || exit 2
fi
[ -n "$dynamorio" ] || echo "drcachesim: skipped, no --dynamorio"
[ -n "$champsim" ] || echo "ChampSim: skipped, no --champsim"

differ=0
# row PROGRAM WHAT OURS THEIRS
row() {
    compared=$((compared + 1))
    [ "$3" = "$4" ] && return
    differ=1
    printf '%-10s %s: ours %s, theirs %s: DIFFERENT\n' "$1" "$2" "$3" "$4"
}
printf '%-10s %12s %12s %17s %17s\n' program instructions references drcachesim champsim
while IFS=: read -r name args; do
    [ -z "$selected" ] || case $selected in *" $name "*) ;; *) continue ;; esac
    source=$here/programs/$name.c
    [ "$name" != known ] || source=$here/tools/known.c
    "$prefix/bin/peetcc" -O2 -o "$work/$name" "$source" -lm || exit 1
    "$prefix/bin/peet" run -q -m ideal --ranges off --observe trace --observe counts,convention=plain -d "$work/run" -- "$work/$name" $args >/dev/null || exit 1
    compared=0
    if [ -n "$dynamorio" ]; then
        "$prefix/bin/peet" trace convert --to drmemtrace "$work/run" "$work/drmemtrace" || exit 1
        for geometry in $geometries; do
            IFS=, read -r cache ways line <<<"$geometry"
            "$prefix/bin/peet" run -q --from "$work/run" -m "bus,cache=$cache,ways=$ways,line=$line" -d "$work/bus" || exit 1
            "$work/drcachesim" "$work/drmemtrace/trace/context.0.trace" "$line" "$cache" "$ways" 2>"$work/theirs" || { cat "$work/theirs"; exit 1; }
            for what in Hits Misses; do
                theirs=$(awk -v what="$what:" '/L1D0/ { on = 1 } on && $1 == what { gsub(",", "", $2); print $2; exit }' "$work/theirs")
                ours=$(awk -v what="${what,,}" '/"totals"/ { on = in_bus } /^ *"bus"/ { in_bus = 1 } on && $1 == "\"" what "\":" { sub(",", "", $2); print $2; exit }' "$work/bus/stats.json")
                row "$name" "${what,,} $((cache / 1024)) KiB, $ways, $line" "$ours" "$theirs"
            done
        done
        rm -rf "$work/drmemtrace"
    fi
    cells=$compared compared=0
    if [ -n "$champsim" ]; then
        "$prefix/bin/peet" trace convert --to champsim "$work/run" "$work/champsim.d" || exit 1
        "$work/champsim" "$work/champsim.d/context.0.champsimtrace" >"$work/theirs" || { tail -n 3 "$work/theirs"; exit 1; }
        read -r -a theirs <<<"$(sed -n 's/^reader //p' "$work/theirs")"
        read -r -a model <<<"$(sed -n 's/^model //p' "$work/theirs")"
        read -r -a ours <<<"$("$prefix/bin/peet" trace print --limit 1000000000 "$work/run" | awk '
            $1 ~ /^[0-9]+$/ { # ChampSim reads one record ahead for targets and never gives the last one: nor do we
                insns += held; loads += l; stores += s; taken += t; if (kind) kinds[kind]++
                held = 1; l = s = t = 0; kind = ""
                for (i = 4; i <= NF; i++)
                    if ($i ~ /^[LSM][0-9a-f]+,[0-9]+$/) { l += $i !~ /^S/; s += $i !~ /^L/ }
                    else if ($i == "taken") t = 1
                    else if ($i ~ /^(jump|indirect-jump|branch|call|indirect-call|return)$/) kind = $i
            }
            END { print insns + 0, loads + 0, stores + 0, kinds["jump"] + 0, kinds["indirect-jump"] + 0, kinds["branch"] + 0, taken + 0,
                  kinds["call"] + 0, kinds["indirect-call"] + 0, kinds["return"] + 0, 0, held, l, s }')"
        i=0
        for what in instructions loads stores jumps "indirect jumps" "conditional branches" "taken ones" calls "indirect calls" returns others; do
            row "$name" "$what" "${ours[i]}" "${theirs[i]}"
            i=$((i + 1))
        done
        # its processor: all but the taken ones
        wanted=("${ours[0]}" "${ours[2]}" "${ours[1]}" "${ours[@]:3:3}" "${ours[@]:7:4}")
        simulated=("${model[@]:0:2}" "${model[@]:3}")
        i=0
        for what in instructions stores loads jumps "indirect jumps" "conditional branches" calls "indirect calls" returns others; do
            row "$name" "$what executed" "${wanted[i]}" "${simulated[i]}"
            i=$((i + 1))
        done
        # the observer's totals, which have the last record
        read -r -a counted <<<"$(python3 -c 'import json, sys; c = json.load(open(sys.argv[1]))["counts"]; print(c["instructions"], c["writes"], c["reads"])' "$work/run/stats.json")"
        row "$name" "instructions counted" "${counted[0]}" $((model[0] + ours[11]))
        row "$name" "writes counted" "${counted[1]}" $((model[1] + ours[13]))
        row "$name" "reads counted" "${counted[2]}" $((model[3] + ours[12]))
        if [ "$name" = known ]; then # what the program says of itself
            i=3
            for what in calls "indirect calls" returns; do
                row "$name" "$what, known" "$((args * (i < 5 ? 1 : 2)))" "${simulated[i + 3]}"
                i=$((i + 1))
            done
            row "$name" "conditional branches, known" "$args" "${simulated[5]}"
        fi
        rm -rf "$work/champsim.d"
    fi
    read -r insns refs <<<"$(awk '/"totals"/ { on = 1 } on && /"instructions":/ { i = $2 + 0 } on && /"reads":/ { r = $2 + 0 } on && /"writes":/ { print i, r + $2; exit }' "$work/run/stats.json")"
    printf '%-10s %12s %12s %17s %17s\n' "$name" "$insns" "$refs" "$cells compared" "$compared compared"
    rm -rf "$work/run" "$work/bus"
done <<<"${programs//|/$'\n'}"
exit $differ
