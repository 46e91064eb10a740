# SPDX-License-Identifier: Apache-2.0
# The table of run.sh: reads raw measurements (program, variant, repetition, user, system, elapsed, KiB, verdict) and prints
# one line per program: native seconds, then each variant's user time as a multiple of native's (least of the
# repetitions) with the spread of the repetitions, and the geometric means.  With -v summary=FILE also writes them there.
BEGIN { FS = OFS = "\t"; nv = split(variants, v, " ") }
!/^#/ {
    key = $1 SUBSEP $2
    if (!($1 in seen)) { seen[$1] = 1; order[++np] = $1 }
    if ($8 != "ok") { bad[key] = $8; next }
    if (!(key in least) || $4 < least[key]) least[key] = $4
    if (!(key in most) || $4 > most[key]) most[key] = $4
    if ($7 > rss[key]) rss[key] = $7
}
function cell(key, base,   ratio, spread) {
    if (key in bad) return sprintf("%14s", bad[key])
    if (!(key in least) || base <= 0) return sprintf("%14s", "-")
    ratio = least[key] / base
    spread = least[key] > 0 ? 100 * (most[key] / least[key] - 1) : 0
    return sprintf("%8.2f +%3.0f%%", ratio, spread)
}
END {
    line = sprintf("%-10s %9s", "program", "native s")
    for (i = 1; i <= nv; i++) line = line sprintf("%14s", v[i] "  ")
    print line
    for (p = 1; p <= np; p++) {
        base = least[order[p], "native"]
        line = sprintf("%-10s %9.3f", order[p], base)
        if (summary) printf "%s\t%.6f", order[p], base > summary
        for (i = 1; i <= nv; i++) {
            key = order[p] SUBSEP v[i]
            line = line cell(key, base)
            if (!(key in bad) && key in least && base > 0) {
                sum[i] += log(least[key] / base); count[i]++
                if (summary) printf "\t%.4f", least[key] / base > summary
            } else if (summary) printf "\t" > summary
        }
        if (summary) print "" > summary
        print line
    }
    line = sprintf("%-20s", "geometric mean")
    if (summary) printf "geomean\t" > summary
    for (i = 1; i <= nv; i++) {
        line = line (count[i] ? sprintf("%8.2f %5s", exp(sum[i] / count[i]), count[i] < np ? "(" count[i] ")" : "") : sprintf("%14s", "-"))
        if (summary) printf "\t%s", count[i] ? sprintf("%.4f", exp(sum[i] / count[i])) : "" > summary
    }
    if (summary) print "" > summary
    print line
    print "ratios of user CPU time to native, least of the repetitions; +n%: the slowest repetition above the fastest"
}
