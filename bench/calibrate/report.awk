# SPDX-License-Identifier: Apache-2.0
# Predicted against measured run times: each program's error after one common factor (the geometric mean of measured /
# predicted), their mean, and Spearman's rank correlation of times and of cycles per instruction.
# Called by calibrate.sh; input: program, measured, noise, predicted, instructions, tab-separated, a heading first.
BEGIN { FS = "\t" }
NR > 1 {
    n++
    name[n] = $1; measured[n] = $2; noise[n] = $3; predicted[n] = $4
    m_cpi[n] = $2 / $5; p_cpi[n] = $4 / $5
    logs += log($2 / $4)
}
function rank(v, i,    j, r) {
    r = 1
    for (j = 1; j <= n; j++)
        if (v[j] < v[i])
            r++
        else if (v[j] == v[i] && j != i)
            r += 0.5
    return r
}
function spearman(a, b,    i, x, y, sx, sy, xx, yy, xy) {
    for (i = 1; i <= n; i++) {
        x = rank(a, i); y = rank(b, i)
        sx += x; sy += y; xx += x * x; yy += y * y; xy += x * y
    }
    return (n * xy - sx * sy) / sqrt((n * xx - sx * sx) * (n * yy - sy * sy))
}
END {
    factor = exp(logs / n)
    printf "%-10s %12s %7s %12s %8s %8s %8s %8s\n", "program", "measured", "noise", "predicted", "ratio", "error", "CPI", "CPI pred"
    for (i = 1; i <= n; i++) {
        e = predicted[i] * factor / measured[i] - 1
        error = e < 0 ? -e : e
        sum += error; raw = predicted[i] / measured[i] - 1; raws += raw < 0 ? -raw : raw
        noises += noise[i]
        printf "%-10s %9.2f Mc %5.1f %% %9.2f Mc %8.2f %+6.1f %% %8.3f %8.3f\n", name[i], measured[i] / 1e6, 100 * noise[i], predicted[i] / 1e6,
            predicted[i] / measured[i], 100 * e, m_cpi[i], p_cpi[i]
    }
    printf "\n%d programs; one factor for all: measured = %.3f * predicted\n", n, factor
    printf "mean absolute error of relative times: %.1f %% (without the factor: %.1f %%)\n", 100 * sum / n, 100 * raws / n
    printf "rank correlation of times: %.3f, of cycles per instruction: %.3f\n", spearman(measured, predicted), spearman(m_cpi, p_cpi)
    printf "noise of the measurements (median over least, mean): %.1f %%\n", 100 * noises / n
}
