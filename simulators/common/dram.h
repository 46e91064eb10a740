/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dynamic memory: channels, ranks and banks with open rows, refresh, and a data bus for each channel.  A
 * request that finds its row open costs a column access; a closed bank an activation before it; another row
 * open also a precharge (JEDEC's tCL, tRCD, tRP, tRAS, burst length).  The scheduler is FR-FCFS (Rixner et al.,
 * ISCA 2000) as far as promises allow: a request whose row is still open at its time is served before the
 * misses that wait in the same bank, but a miss is told its time when it is asked for and keeps it, so that
 * later hits do not push it back.  Addresses are spread line by line over channels, then banks, with the row
 * number folded into the bank number so that power-of-two strides do not all meet in one bank.
 * All times in cycles of the caller's clock.
 */
#ifndef PEET_SIM_DRAM_H
#define PEET_SIM_DRAM_H

#include "server.h"

#ifdef __cplusplus
extern "C" {
#endif

struct peet_sim_dram_config {
    uint32_t channels, ranks, banks;                        /* banks for each rank; all powers of two */
    uint32_t row_bytes;                                     /* of one bank; a power of two, a multiple of line_bytes */
    uint32_t line_bytes;                                    /* of a transfer; a power of two */
    uint32_t cas_cycles, activate_cycles, precharge_cycles; /* tCL, tRCD, tRP */
    uint32_t row_active_cycles;                    /* tRAS: from an activation to the next precharge, at least */
    uint32_t burst_cycles;                         /* the data bus, for one line */
    uint32_t refresh_every_cycles, refresh_cycles; /* tREFI, tRFC; 0: never */
    uint32_t overhead_cycles;                      /* controller and way to it, both ways */
    int apart;                                     /* requests may also come long after later ones (server.h) */
};

/** A time during which a bank has a row open. */
struct peet_sim_dram_period {
    uint64_t row, activated, open_from, last_used;
};

enum { PEET_SIM_DRAM_PERIODS = 4 };

struct peet_sim_dram_bank {
    struct peet_sim_dram_period periods[PEET_SIM_DRAM_PERIODS]; /* [0] the newest; row UINT64_MAX: none */
};

struct peet_sim_dram_stats {
    uint64_t reads, writes, row_hits, row_empty, row_conflicts, latency_cycles;
};

struct peet_sim_dram {
    struct peet_sim_dram_config config;
    unsigned line_shift, channel_shift, row_shift,
        bank_shift; /* of lines, channels, lines of a row, banks of a channel */
    struct peet_sim_dram_bank *banks;
    struct peet_sim_server *buses; /* per channel */
    struct peet_sim_dram_stats stats;
};

/** Returns: 0, or -1 without memory; the configuration is taken as valid */
int peet_sim_dram_init(struct peet_sim_dram *d, const struct peet_sim_dram_config *config);
void peet_sim_dram_fini(struct peet_sim_dram *d);

/** peet_sim_dram_access() - read or write one line.  Returns: when it is over (a write: when the data has been taken)
 */
uint64_t peet_sim_dram_access(struct peet_sim_dram *d, uint64_t address, int write, uint64_t now);

#ifdef __cplusplus
}
#endif
#endif
