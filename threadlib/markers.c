/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that mark regions of interest in programs written for other simulators and suites: gem5's and
 * PARSEC's.  Compiled code notes their calls itself (compiler-pass/accesses.cpp); here they only exist, and do
 * nothing, so that such programs link without the library that defines them elsewhere.  A library or
 * program that does define them comes first.
 */
#include <stdint.h>

#define EMPTY(name, ...) \
    __attribute__((visibility("default"), weak)) void name(__VA_ARGS__); \
    __attribute__((visibility("default"), weak)) void name(__VA_ARGS__) {}

EMPTY(__parsec_bench_begin, int benchmark)
EMPTY(__parsec_bench_end, void)
EMPTY(__parsec_roi_begin, void)
EMPTY(__parsec_roi_end, void)

EMPTY(map_m5_mem, void)
EMPTY(unmap_m5_mem, void)
EMPTY(m5_work_begin, uint64_t work, uint64_t thread)
EMPTY(m5_work_end, uint64_t work, uint64_t thread)
EMPTY(m5_reset_stats, uint64_t delay_ns, uint64_t period_ns)
EMPTY(m5_dump_stats, uint64_t delay_ns, uint64_t period_ns)
EMPTY(m5_dump_reset_stats, uint64_t delay_ns, uint64_t period_ns)
EMPTY(m5_checkpoint, uint64_t delay_ns, uint64_t period_ns)
EMPTY(m5_switch_cpu, void)
