#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs of SPLASH-3 out of a full system against peet's own record of the same sources (docs/TRACES.md): fft, lu (both), radix at once in one
# system, fmm, ocean (both) in another, four threads each; how many instructions, calls and returns are the same.
#
#   bench/splash.sh [--prefix DIR] [--kernel FILE] [--into DIR] [--only NAMES] [--alone yes] [--ordered yes] SPLASH
#
# SPLASH is the folder of SPLASH-3 (https://github.com/SakalisC/Splash-3).  DIR of --prefix is a build directory or an installation (default: build/ of
# this tree).  --into: where programs, traces and comparisons stay (default: a folder that is removed).  --only "fft radix": these alone.
# --alone yes: each in a system of its own.  --ordered yes: threads draw their numbers, by which they share the work, one after the other in the order of
# their creation, main() first; as the sources are, who comes first draws first.
# Needs m4; for the systems qemu-system-x86_64 and cpio, and a kernel as peet-qemu has it.  Without QEMU the programs are made and
# recorded, and the script ends there.
. "$(dirname "$0")/lib.sh"
into= kernel= only= alone= ordered= selected=
options "prefix into kernel only alone ordered" "$@"
read -r splash <<<"$selected"
[ -n "$splash" ] && [ -d "$splash/codes" ] || usage
splash=$(cd "$splash" && pwd)
begin
into=${into:-$work/splash}
mkdir -p "$into" && into=$(cd "$into" && pwd) || exit 2
command -v m4 >/dev/null || { echo "splash.sh: no m4" >&2; exit 2; }

# What is put into each file: a thread is marked where it begins, main() once although it works, too.
cat >"$into/mark.h" <<'END'
#include <peet/marker.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
__attribute__((weak)) _Thread_local unsigned splash_number; /* the thread's, from 1; 0: not marked */
__attribute__((weak)) _Atomic unsigned splash_threads, splash_drawn;
#ifdef SPLASH_ORDERED
__attribute__((weak, noinline)) void splash_turn(void)
{
    while (splash_drawn + 1 != splash_number)
        usleep(100);
}
#define SPLASH_DRAW splash_turn();
#define SPLASH_DRAWN splash_drawn = splash_number;
#else
#define SPLASH_DRAW
#define SPLASH_DRAWN
#endif
#define SPLASH_MARK \
    if (!splash_number) { \
        splash_number = ++splash_threads; \
        peet_marker(SPLASH_PROGRAM * 256 + splash_number - 1); \
    }
#ifdef SPLASH_INPUT /* in the system there is nobody to type it */
static inline void splash_input(void)
{
    int ends[2];

    if (pipe(ends) || write(ends[1], SPLASH_INPUT, strlen(SPLASH_INPUT)) < 0 || dup2(ends[0], 0))
        _exit(3);
    close(ends[1]);
}
#else
#define splash_input()
#endif
END

# system | name | its folder | the function of its threads | arguments
list() {
    cat <<'END'
1|fft|kernels/fft|SlaveStart|-m10 -p4
1|lu.contiguous|kernels/lu/contiguous_blocks|SlaveStart|-n64 -b8 -p4
1|lu.non-contiguous|kernels/lu/non_contiguous_blocks|SlaveStart|-n64 -b8 -p4
1|radix|kernels/radix|slave_sort|-n8192 -r256 -p4
2|fmm|apps/fmm|ParallelExecute|
2|ocean.contiguous|apps/ocean/contiguous_partitions|slave|-n18 -p4
2|ocean.non-contiguous|apps/ocean/non_contiguous_partitions|slave|-n18 -p4
END
}

# prepare NAME FOLDER FUNCTION NUMBER: its sources, marked, in $into/NAME; the program for the system, and the one that peetcc makes
prepare() {
    local name=$1 from=$splash/codes/$2 function=$3 number=$4 to=$into/$1 file input=()
    rm -rf "$to" && mkdir -p "$to" && cp "$from"/*.in "$to" || return 1
    # with 8194 places in each row, as they are, the arrays want more memory than a small system has
    [ "$name" != ocean.non-contiguous ] || sed -i 's/^\(#define [IJ]MAX *\)8194/\166/' "$to/decs.h.in"
    [ "$name" != fmm ] || input=(-DSPLASH_INPUT="\"$(sed 's/$/\\n/' "$from/inputs/input.4.256" | tr -d '\n')\"")
    for file in "$to"/*.in; do
        awk -v threads="$function" '
            drawing == 1 && /(^| )LOCK *\(/ { print "SPLASH_DRAW"; drawing = 2 }
            { print }
            drawing && /UNLOCK *\(/ { print "SPLASH_DRAWN"; drawing = 0 }
            $0 ~ "^(int +|void +)?(main|" threads ") *\\(" && !/;/ { inside = /main/ ? "main" : "thread" }
            /^{/ && inside { print inside == "main" ? "splash_input(); SPLASH_MARK" : "SPLASH_MARK"; drawing = inside == "thread"; inside = "" }' "$file" |
            m4 -Ulen -Uindex "$splash/codes/pthread_macros/pthread.m4.stougie" - >"${file%.in}" || return 1
    done
    [ "$(cat "$to"/*.c | grep -c '^SPLASH_MARK\|^splash_input(); SPLASH_MARK\|^SPLASH_DRAW')" = 4 ] || { echo "splash.sh: $name: the marker and the drawing have not four places" >&2; return 1; }
    local flags=(-O2 -pthread -std=c11 -D_XOPEN_SOURCE=500 -D_POSIX_C_SOURCE=200112 -fno-strict-aliasing -w -I"$here/../schema/include" -include "$into/mark.h"
        -DSPLASH_PROGRAM="$number" ${ordered:+-DSPLASH_ORDERED} "${input[@]}")
    "$CC" "${flags[@]}" -fPIE -static -o "$to/system" "$to"/*.c -lm && "$prefix/bin/peetcc" "${flags[@]}" -o "$to/recorded" "$to"/*.c -lm
}

# share FILE: the similarity that a comparison says
share() {
    sed -n 's/^all: \([0-9.]*\)% similar.*/\1/p' "$1"
}

options=()
[ -z "$kernel" ] || options=(--kernel "$kernel")
[ -z "$alone" ] || systems='1 2 3 4 5 6 7'
for system in ${systems:-1 2}; do
    names=() programs=() number=0
    while IFS='|' read -r in name folder function arguments; do
        [ "$in" = $system ] && [[ -z $only || " $only " == *" $name "* ]] || continue
        number=$((number + 1))
        prepare "$name" "$folder" "$function" $number || { echo "splash.sh: $name cannot be made" >&2; exit 1; }
        # shellcheck disable=SC2206
        words=($arguments)
        # fmm leaves a file where it runs
        (cd "$into/$name" && exec "$prefix/bin/peet" run -q --foreign=ranges -m ideal -n 4 -o trace -d own -- ./recorded "${words[@]}" </dev/null >own.out) || exit 1
        names+=("$name")
        [ ${#programs[@]} -eq 0 ] || programs+=(--and)
        programs+=("$into/$name/system" "${words[@]}")
    done < <(list | awk -F '|' -v OFS='|' -v alone="$alone" 'alone { $1 = NR } { print }')
    [ ${#names[@]} -gt 0 ] || continue
    if ! command -v qemu-system-x86_64 >/dev/null; then
        echo "splash.sh: no qemu-system-x86_64: made and recorded: ${names[*]}"
        continue
    fi
    "$prefix/bin/peet-qemu" "${options[@]}" --cpus 4 --memory 2G -d "$into/system$system" "${programs[@]}" || exit 1
    for ((k = 0; k < ${#names[@]}; k++)); do
        for what in instructions calls; do
            "$prefix/bin/peet" compare --what $what --functions common --effort 40000 "$into/system$system/$((k + 1))" "$into/${names[k]}/own" \
                >"$into/${names[k]}/$what" || exit 1
        done
        printf '%-22s instructions %6s %%   calls and returns %6s %%\n' "${names[k]}" "$(share "$into/${names[k]}/instructions")" "$(share "$into/${names[k]}/calls")"
    done
done
