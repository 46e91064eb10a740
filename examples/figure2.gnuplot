# SPDX-License-Identifier: Apache-2.0
# Draws the three charts of demo.sh.  Called with: data (folder), type (png or svg), caches, lines (lists of texts),
# cores_c, config_c (the run of chart c).
# Columns of points.tsv: processors, then cycles of every configuration, then utilisation of every configuration.
set datafile separator "\t"
if (type eq "svg") {
    set terminal svg size 900,600 font "Helvetica,15" background "white"
} else {
    set terminal pngcairo size 1200,800 font "Sans,17" background "white"
}
points = data."/points.tsv"
n = words(configs)
title_of(i) = sprintf("cache %s", system(sprintf("echo '%s' | tr '_' ' '", word(configs, i))))
colour(i) = word("#0072b2 #56b4e9 #d55e00 #e69f00 #009e73 #cc79a7", i)
set for [i=1:6] linetype i linecolor rgb colour(i) linewidth 2.5 pointtype 2*i+3 pointsize 1.4
set border 3 linewidth 1.2
set tics nomirror out
set grid ytics linetype 1 linecolor rgb "#dddddd" linewidth 1
set logscale x 2
set xtics (1, 2, 4, 8, 16)
set xrange [0.93:17.2]
set xlabel "processors"

set output data."/execution-time.".type
set title "(a) Execution time of shallow"
set ylabel "execution time, million cycles"
set yrange [0:*]
set offsets 0, 0, graph 0.05, 0
set key outside top center horizontal maxcols 2 width 2
plot for [i=1:n] points using 1:(column(1+i)/1e6) with linespoints linetype i title title_of(i)

set output data."/bus-utilisation.".type
set title "(b) Average bus utilisation"
set ylabel "bus utilisation, %"
set offsets 0, 0, 0, 0
set yrange [0:105]
plot for [i=1:n] points using 1:(100*column(1+n+i)) with linespoints linetype i title title_of(i)

set output data."/bus-over-time.".type
unset logscale x
set xtics auto
set xrange [0:*]
set xlabel "time, million cycles"
set title sprintf("(c) Bus utilisation over time: %s processors, %s", cores_c, title_of(int(config_c)))
set ylabel "bus utilisation, %"
set yrange [0:105]
unset key
set style fill solid 1.0 noborder
plot data."/windows.tsv" using ($1/1e6):(100*$2) with fillsteps linecolor rgb "#9cc9e8", \
     data."/windows.tsv" using ($1/1e6):(100*$2) with steps linecolor rgb "#004c78" linewidth 1.2
