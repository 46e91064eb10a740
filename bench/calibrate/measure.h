/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measurements of the processor that this runs on, in the units that they come in: nanoseconds and bytes.  Every
 * figure is the best of several tries, so that what else the machine does can only make it slower if it never stops.
 */
#ifndef PEET_BENCH_MEASURE_H
#define PEET_BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

/** measure_ghz() - cycles of a dependent addition each nanosecond */
double measure_ghz(void);

/**
 * measure_chase_ns() - one step of a pointer chase through n nodes in random order
 * @stride_bytes: from one node to the next in memory, at least 16
 * @colour_bytes: node i stands i * colour_bytes % stride_bytes further on, so that pages' nodes are in different sets
 * @large_pages: ask the kernel for them, so that translation costs nothing; else ask for small ones
 * Returns: 0 without memory
 */
double measure_chase_ns(size_t n, size_t stride_bytes, size_t colour_bytes, int large_pages);

/** measure_chains_ns() - the same with @chains chases at a time in @bytes of memory, for each of their steps */
double measure_chains_ns(unsigned chains, size_t bytes, size_t stride_bytes);

/** measure_read_gbs() - bytes each nanosecond that @threads read from memory together */
double measure_read_gbs(unsigned threads, size_t bytes_each);

/** measure_branch_ns() - a branch that goes either way at random, beyond one that always goes the same way, for each misprediction */
double measure_branch_ns(void);

/** measure_line_bytes() - the distance from which on a second access is no longer to the same line */
size_t measure_line_bytes(size_t far_bytes);

#endif
