#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Loop kernels on the machine x86 against llvm-mca: cycles for one iteration in the steady state, of the same machine code.
# kernels.txt has the kernels; each becomes a function of its own, whose loop is cut out of the compiler's assembly for
# llvm-mca and executed under peet with a flat memory and perfect branch prediction, which is what llvm-mca assumes.
# Called by CTest for a part of the kernels and by people for all:
#
#   kernels.sh [--prefix DIR] [--mcpu NAME]... [--only REGEX] [--limits] [--documented] [WORK_FOLDER]
#
# A core in order (bonnell) is given what llvm-mca's pipeline in order assumes; --documented: it is as the manuals have it.
# Prints a table for each mcpu, with the median and the 90th percentile of the relative differences; --limits: fails if
# these are above 10% and 25%.  DIR is a build directory or an installation.
set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
prefix=${PEET_PREFIX:-$here/../../build}
mcpus=() only=. limits= documented= work= kernels=${PEET_KERNELS:-$here/kernels.txt}
while [ $# -gt 0 ]; do
    case $1 in
    --prefix) prefix=$2; shift ;;
    --mcpu) mcpus+=("$2"); shift ;;
    --only) only=$2; shift ;;
    --limits) limits=yes ;;
    --documented) documented=yes ;;
    -*) sed -n '3,13s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    *) work=$1 ;;
    esac
    shift
done
[ ${#mcpus[@]} -gt 0 ] || mcpus=(skylake-avx512 sapphirerapids znver4)
prefix=$(cd "$prefix" && pwd) || exit 2
CC=${PEET_PLAIN_CC:-clang-22} MCA=${PEET_MCA:-llvm-mca-22}
command -v "$MCA" >/dev/null || { echo "kernels: $MCA is missing" >&2; exit 77; }
if [ -z "$work" ]; then
    work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work" && cd "$work" || exit 2
few=1024 many=5120

# One function for each kernel; main() runs them all, n times round each loop.
generate() {
    cat <<'END'
#include <stdlib.h>
typedef double V __attribute__((vector_size(32)));
enum { ROOM = 6200 };
static double P[ROOM] __attribute__((aligned(64))), Q[ROOM] __attribute__((aligned(64))), R[ROOM] __attribute__((aligned(64)));
static long U[ROOM] __attribute__((aligned(64))), W[ROOM] __attribute__((aligned(64)));
static unsigned char S[ROOM];
#define KERNEL __attribute__((noinline)) static long
#define ARGUMENTS long n, double *restrict p, double *restrict q, double *restrict r, long *restrict u, long *restrict v, \
    unsigned char *restrict s, long k, long m, double c, double e
END
    local name class before body result
    while IFS='@' read -r name class before body result; do
        echo "KERNEL kernel_$name(ARGUMENTS)"
        echo "{"
        echo "    $before"
        echo "#pragma clang loop vectorize(disable) interleave(disable) unroll(disable)"
        echo "    for (long i = 0; i < n; i++) { $body }"
        echo "    return $result;"
        echo "}"
    done
    echo "int main(int argc, char **argv)"
    echo "{"
    echo "    long n = atol(argv[1]), k = atol(argv[2]), m = atol(argv[3]), x = 0;"
    echo "    double c = atof(argv[4]), e = atof(argv[5]);"
    while IFS='@' read -r name class before body result; do
        # Every kernel finds the same data: indices that stay inside, numbers without surprises.
        echo "    for (long i = 0; i < ROOM; i++) { P[i] = 1.5 + i; Q[i] = 2.5 + i; R[i] = 3.5; U[i] = (i * 7 + 5) % 4096; W[i] = i; S[i] = i * 37 + 1; }"
        echo "    x ^= kernel_$name(n, P, Q, R, U, W, S, k, m, c, e);"
    done <list
    echo "    return x == 12345;"
    echo "}"
}
grep -v '^#' "$kernels" | sed 's/ *@ */@/g' | grep -E "^($only)" >list
generate <list >kernels.c

# The loop of a function of one block: from the label that the last jump goes back to, up to that jump.
loop_of() {
    awk -v f="kernel_$1" '
        $0 ~ "^" f ":" { on = 1; n = 0; next }
        on && /^\.Lfunc_end/ { exit }
        on { line[n++] = $0 }
        END {
            for (i = n - 1; i >= 0 && !found; i--)
                if (line[i] ~ /^[ \t]+j[a-z]+[ \t]+\.LBB/) {
                    split(line[i], w, /[ \t]+/); label = w[3]
                    for (j = i; j >= 0; j--)
                        if (index(line[j], label ":") == 1) { found = 1; break }
                }
            if (!found) exit
            for (k = j + 1; k <= i + 1; k++) {
                if (line[k] ~ /^\.L/ || line[k] ~ /^[ \t]+call/) { print "BRANCHES"; exit } # or calls
                if (line[k] !~ /^[ \t]*[.#]/) print line[k]
            }
        }' "$2"
}

# Where a register is cleared to break a false dependence and so on, both see the same instructions.
overall=0
without= # what this computer cannot execute
grep -qw avx512vl /proc/cpuinfo || without=-mno-avx512f
for mcpu in "${mcpus[@]}"; do
    flags="-O2 -march=$mcpu $without -mprefer-vector-width=256 -fno-slp-vectorize -ffp-contract=off -fno-math-errno"
    "$CC" $flags -S -fno-asynchronous-unwind-tables -o "$mcpu.s" kernels.c || exit 1
    "$prefix/bin/peetcc" $flags -g -o "$mcpu" kernels.c -lm || exit 1
    # Results in program order, no branch beside what sets its flags, no wait for addresses, operands of folded loads late at no cost.
    assumed=
    case $mcpu in
    atom | bonnell) [ "$documented" ] || assumed=,result_order=program,branch_pairing=off,l1_load_cycles=1,folded_loads=model ;;
    esac
    for n in $few $many; do
        "$prefix/bin/peet" run -q -d "$mcpu.$n" --machine "x86,preset=none,mcpu=$mcpu,memory=flat,branch=perfect,partial_writes=rename,stores_cycle=64$assumed${PEET_X86:+,$PEET_X86}" \
            -- "./$mcpu" $n 3 5 1.25 0.75 || exit 1
    done
    # All loops are regions of one file, which llvm-mca is asked of once; those in which stores are forwarded, of another.
    : >"$mcpu.forward.s"
    : >"$mcpu.others.s"
    while IFS='@' read -r name class rest; do
        loop=$(loop_of "$name" "$mcpu.s")
        [ -n "$loop" ] && [[ $loop != *BRANCHES* ]] || continue
        [ "$class" = forward ] && file=$mcpu.forward.s || file=$mcpu.others.s
        printf '# LLVM-MCA-BEGIN %s@%s\n%s\n# LLVM-MCA-END\n' "$name" "$class" "$loop" >>"$file"
    done <list
    for file in forward others; do
        [ -s "$mcpu.$file.s" ] || continue
        alias=
        [ $file = forward ] && alias=-noalias=false
        for i in 500 1000; do
            "$MCA" -mcpu="$mcpu" $alias -iterations=$i "$mcpu.$file.s" >"$mcpu.$file.$i" || exit 1
        done
        awk 'FNR == 1 { files++ } / Code Region - / { region = $NF }
            /^Total Cycles:/ { if (files == 1) few[region] = $3; else { split(region, w, "@"); printf "%s %s %.4f\n", w[1], w[2], ($3 - few[region]) / 500 } }' \
            "$mcpu.$file".{500,1000}
    done >"$mcpu.mca"
    awk -v few=$few -v many=$many -v mcpu="$mcpu" -v limits="$limits" '
        function absolute(x) { return x < 0 ? -x : x }
        FILENAME ~ /csv$/ {
            split($0, f, ",")
            if (f[1] == "function" && f[2] ~ /"kernel_/) {
                gsub(/"/, "", f[2]); sub(/^kernel_/, "", f[2])
                cycles[FILENAME, f[2]] = f[5]
            }
            next
        }
        FNR == 1 { printf "%-20s %-10s %10s %10s %8s   %s\n", "kernel", "class", "llvm-mca", "peet", "differs", mcpu }
        {
            peet = (cycles[mcpu "." many "/x86-stacks.csv", $1] - cycles[mcpu "." few "/x86-stacks.csv", $1]) / (many - few)
            d = 100 * (peet - $3) / $3
            printf "%-20s %-10s %10.2f %10.2f %7.1f%%\n", $1, $2, $3, peet, d
            list[n++] = absolute(d)
        }
        END {
            if (!n) exit 1
            for (i = 1; i < n; i++)
                for (j = i; j && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
            median = n % 2 ? list[(n - 1) / 2] : (list[n / 2 - 1] + list[n / 2]) / 2
            ninth = list[int(0.9 * n + 0.999) - 1]
            printf "%s: %d kernels, median of differences %.1f%%, 90th percentile %.1f%%\n\n", mcpu, n, median, ninth
            exit limits != "" && (median > 10 || ninth > 25)
        }' "$mcpu.$few/x86-stacks.csv" "$mcpu.$many/x86-stacks.csv" "$mcpu.mca" || overall=1
done
exit $overall
