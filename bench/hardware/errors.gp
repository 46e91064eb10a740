# SPDX-License-Identifier: Apache-2.0
# The errors of hardware.sh as bars: gnuplot -e "table='...'; picture='...'; machine='...'" errors.gp
set terminal svg size 1200, 480 font "sans,11" background "white"
set output picture
set datafile separator "\t"
set title "Simulated against measured cycles, preset ".machine
set ylabel "error, %"
set style fill solid
set boxwidth 0.8
set grid y
set xtics rotate by -60 nomirror
set key off
plot table using 0:(100 * $7):xtic(1) every ::1 with boxes linecolor "#4070a0", 10 with lines dashtype 2 linecolor "gray", -10 with lines dashtype 2 linecolor "gray"
