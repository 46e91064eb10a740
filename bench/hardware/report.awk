# SPDX-License-Identifier: Apache-2.0
# Cycles measured and simulated, the error of each program, and means: called by hardware.sh with its table.
BEGIN { FS = "\t" }
NR == 1 { next }
{
    if ($2 != kind) {
        if (NR == 2)
            printf "%-12s %-9s %12s %6s %12s %9s %6s %6s\n", "program", "kind", "measured Mc", "noise", "simulated Mc", "error", "CPI", "sim."
        kind = $2
    }
    printf "%-12s %-9s %12.2f %5.1f%% %12.2f %+8.1f%% %6.3f %6.3f\n", $1, $2, $3 / 1e6, 100 * $4, $5 / 1e6, 100 * $7, $3 / $6, $5 / $6
    size = $7 < 0 ? -$7 : $7
    group = $2 == "threads" ? "two threads" : $2 == "unseen" ? "unseen" : "one thread"
    if (!(kind in kinds)) {
        kinds[kind] = 1
        order[++nkinds] = kind
    }
    if (group != kind) {
        n[kind]++; sum[kind] += size
    }
    n[group]++; sum[group] += size; beyond[group] += size > 0.3
    if (size > worst[group]) {
        worst[group] = size
        name[group] = $1
    }
}
END {
    print "\nmean absolute error, preset " preset ":"
    for (i = 1; i <= nkinds; i++)
        printf "  %-12s %6.1f%%  (%d programs)\n", order[i], 100 * sum[order[i]] / n[order[i]], n[order[i]]
    split("one thread,unseen,two threads", groups, ",")
    for (i = 1; i <= 3; i++)
        if (groups[i] in n)
            printf "%s, %d programs: mean %.1f%%, worst %.1f%% (%s), beyond 30%%: %d\n", groups[i], n[groups[i]],
                100 * sum[groups[i]] / n[groups[i]], 100 * worst[groups[i]], name[groups[i]], beyond[groups[i]]
}
