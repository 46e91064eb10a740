/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gem5's functions that mark a region of interest.  Compiled code notes their calls itself
 * (compiler-pass/accesses.cpp); here they only exist, and do nothing: the library that defines them elsewhere consists
 * of instructions that no processor has.  A program's own definitions come first.
 */
#include <stdint.h>

#define EMPTY(name, ...) \
    __attribute__((visibility("default"), weak)) void name(__VA_ARGS__); \
    __attribute__((visibility("default"), weak)) void name(__VA_ARGS__) {}

EMPTY(map_m5_mem, void)
EMPTY(unmap_m5_mem, void)
EMPTY(m5_work_begin, uint64_t work, uint64_t thread)
EMPTY(m5_work_end, uint64_t work, uint64_t thread)
EMPTY(m5_reset_stats, uint64_t delay_ns, uint64_t period_ns)
EMPTY(m5_dump_stats, uint64_t delay_ns, uint64_t period_ns)
EMPTY(m5_dump_reset_stats, uint64_t delay_ns, uint64_t period_ns)
EMPTY(m5_checkpoint, uint64_t delay_ns, uint64_t period_ns)
EMPTY(m5_switch_cpu, void)
