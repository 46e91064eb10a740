# SPDX-License-Identifier: Apache-2.0
# The tables of run.sh, from its measurements: for each suite and number of processors one line a program, native CPU
# seconds (user and system), then each variant's as a multiple of it, the least of the repetitions; then the geometric
# means, and the speed of the simulated machines in instructions.  Writes the same as ratios and geomeans, tables of their own.
BEGIN { FS = "\t"; nv = split(variants, v, " ")
        print "suite\tprogram\tprocessors\tvariant\tnative_s\tcpu_s\tratio\tspread\tinstructions\tmax_rss_kib\tverdict" > ratios
        print "suite\tprocessors\tvariant\tratio\tleast\tmost\tprograms\tmillion_instructions_a_second" > geomeans }
NR > 1 {
    table = $1 SUBSEP $3
    if (!(table in known)) { known[table] = 1; tables[++nt] = table }
    row = table SUBSEP $2
    if (!(row in known)) { known[row] = 1; programs[table] = programs[table] " " $2 }
    key = row SUBSEP $4; t = $6 + $7
    if ($10 != "ok") { bad[key] = $10; next }
    if (!(key in least) || t < least[key]) least[key] = t
    if (!(key in most) || t > most[key]) most[key] = t
    if ($9 > rss[key]) rss[key] = $9
    insns[key] = $11
}
function width(i) { return length(v[i]) + 1 > 7 ? length(v[i]) + 1 : 7 }
function times(r) { return sprintf(r < 100 ? "%.2f" : "%.0f", r) }
function print_table(table,   part, names, n, i, p, key, base, r, line, sum, count, low, high, speed, timed) {
    split(table, part, SUBSEP)
    printf "\n%s, %d processor%s: times native\n%-9s%8s", part[1], part[2], (part[2] > 1 ? "s" : ""), "program", "native"
    for (i = 1; i <= nv; i++) printf "%*s", width(i), v[i]
    print ""
    n = split(programs[table], names, " ")
    for (p = 1; p <= n; p++) {
        base = least[table, names[p], "native"]
        printf "%-9s%8.3f", names[p], base
        for (i = 1; i <= nv; i++) {
            key = table SUBSEP names[p] SUBSEP v[i]
            r = base > 0 && key in least && !(key in bad) ? least[key] / base : 0
            printf "%*s", width(i), ((key in bad) ? bad[key] : r ? times(r) : "-")
            if (key in least || key in bad)
                printf "%s\t%s\t%d\t%s\t%.6f\t%s\t%s\t%s\t%s\t%d\t%s\n", part[1], names[p], part[2], v[i], base,
                    ((key in least) ? sprintf("%.6f", least[key]) : ""), (r ? sprintf("%.4f", r) : ""),
                    (r ? sprintf("%.3f", most[key] / least[key] - 1) : ""), insns[key], rss[key], ((key in bad) ? bad[key] : "ok") > ratios
            if (!r) continue
            sum[i] += log(r); count[i]++
            if (count[i] == 1 || r < low[i]) low[i] = r
            if (count[i] == 1 || r > high[i]) high[i] = r
            if (insns[key] > 0) { speed[i] += log(insns[key] / least[key] / 1e6); timed[i]++ }
        }
        print ""
    }
    printf "%-17s", "geometric mean"
    for (i = 1; i <= nv; i++) {
        printf "%*s", width(i), (count[i] ? times(exp(sum[i] / count[i])) (count[i] < n ? "*" : "") : "-")
        if (count[i]) { if (count[i] < n) partial = 1
            printf "%s\t%d\t%s\t%.4f\t%.4f\t%.4f\t%d\t%s\n", part[1], part[2], v[i], exp(sum[i] / count[i]), low[i], high[i],
                count[i], (timed[i] ? sprintf("%.2f", exp(speed[i] / timed[i])) : "") > geomeans }
    }
    printf "\n%-17s", "million insns/s"
    for (i = 1; i <= nv; i++) printf "%*s", width(i), (timed[i] ? sprintf("%.0f", exp(speed[i] / timed[i])) : "-")
    print ""
}
END {
    for (i = 1; i <= nt; i++) print_table(tables[i])
    print "\nCPU time (user and system) against native's, the least of the repetitions"
    if (partial) print "* not all programs have a figure"
}
