#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What others read in the traces that we write, against our own counts of the same run: DynamoRIO's cache simulator (hits and misses of one core's
# data cache, against bus) and ChampSim's reader (instructions, loads, stores, branches by kind, against `peet trace print`).
#
#   bench/traces.sh [--dynamorio DIR] [--champsim DIR] [--prefix DIR] [PROGRAM...]
#
# The DIRs are source trees, DynamoRIO's without its submodules is enough; of ChampSim, config.sh must have been run. Needs libfmt, liblzma, zlib and bzip2 for
# ChampSim. PEET's DIR is a build directory or an installation (default: build/ of this tree). Prints a table; status 1 if anything differs.
. "$(dirname "$0")/lib.sh"
dynamorio= champsim= selected=
options "prefix dynamorio champsim" "$@"
[ -n "$dynamorio$champsim" ] || usage
begin
cxx=${BENCH_CXX:-c++}
geometries='32768,8,64 4096,4,64 16384,1,32 65536,16,128 2048,2,16'
programs='fft:8 2|radix:20000 2|lu:48 16|cg:500 3 1|hash:2000 3|matmul:32 16 2|quicksort:5000 1|edit:200 1|lz:20000 1|chase:2000 2|text:1000 1|vm:500 1|queens:6'
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
    [ -r "$champsim/src/tracereader.cc" ] || { echo "traces.sh: no ChampSim in $champsim" >&2; exit 2; }
    "$cxx" -std=c++17 -O2 -w -I"$champsim/inc" -I"$champsim/.csconfig" "$here/tools/champsim.cpp" "$champsim/src/tracereader.cc" -o "$work/champsim" -lfmt -llzma -lz -lbz2 || exit 2
fi

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
    "$prefix/bin/peetcc" -O2 -o "$work/$name" "$here/programs/$name.c" -lm || exit 1
    "$prefix/bin/peet" run -q -m ideal --ranges off --observe trace -d "$work/run" -- "$work/$name" $args >/dev/null || exit 1
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
        read -r -a theirs <<<"$("$work/champsim" "$work/champsim.d/context.0.champsimtrace")"
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
                  kinds["call"] + 0, kinds["indirect-call"] + 0, kinds["return"] + 0, 0 }')"
        i=0
        for what in instructions loads stores jumps "indirect jumps" "conditional branches" "taken ones" calls "indirect calls" returns others; do
            row "$name" "$what" "${ours[i]}" "${theirs[i]}"
            i=$((i + 1))
        done
        rm -rf "$work/champsim.d"
    fi
    read -r insns refs <<<"$(awk '/"totals"/ { on = 1 } on && /"instructions":/ { i = $2 + 0 } on && /"reads":/ { r = $2 + 0 } on && /"writes":/ { print i, r + $2; exit }' "$work/run/stats.json")"
    printf '%-10s %12s %12s %17s %17s\n' "$name" "$insns" "$refs" "$cells compared" "$compared compared"
    rm -rf "$work/run" "$work/bus"
done <<<"${programs//|/$'\n'}"
exit $differ
