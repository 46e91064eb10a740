/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Banks and their rows over time.
 */
#include "dram.h"

#include <stdlib.h>

int peet_sim_dram_init(struct peet_sim_dram *d, const struct peet_sim_dram_config *config)
{
    size_t nbanks = (size_t)config->channels * config->ranks * config->banks;

    memset(d, 0, sizeof *d);
    d->config = *config;
    d->line_shift = (unsigned)__builtin_ctz(config->line_bytes);
    d->channel_shift = (unsigned)__builtin_ctz(config->channels);
    d->row_shift = (unsigned)__builtin_ctz(config->row_bytes / config->line_bytes);
    d->bank_shift = (unsigned)__builtin_ctz(config->ranks * config->banks);
    d->banks = calloc(nbanks, sizeof *d->banks);
    d->buses = calloc(config->channels, sizeof *d->buses);
    for (size_t i = 0; d->buses && i < config->channels; i++)
        d->buses[i].apart = config->apart;
    for (size_t i = 0; d->banks && i < nbanks; i++)
        for (int p = 0; p < PEET_SIM_DRAM_PERIODS; p++)
            d->banks[i].periods[p].row = UINT64_MAX;
    return d->banks && d->buses ? 0 : -1;
}

void peet_sim_dram_fini(struct peet_sim_dram *d)
{
    free(d->banks);
    free(d->buses);
    d->banks = NULL;
    d->buses = NULL;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/** Not while all banks refresh: at the beginning of every interval but the first. */
static uint64_t refreshed(const struct peet_sim_dram *d, uint64_t time)
{
    uint64_t every = d->config.refresh_every_cycles, phase;

    if (!every || time < every)
        return time;
    phase = time % every;
    return phase < d->config.refresh_cycles ? time - phase + d->config.refresh_cycles : time;
}

/** Was there a refresh, which closes all rows, between two times? */
static int refresh_between(const struct peet_sim_dram *d, uint64_t from, uint64_t to)
{
    uint64_t every = d->config.refresh_every_cycles;

    return every && from / every != to / every;
}

/** The period of a row that a request at this time may still join, or NULL. */
static struct peet_sim_dram_period *open_row(const struct peet_sim_dram *d, struct peet_sim_dram_bank *bank,
    uint64_t row, uint64_t now)
{
    struct peet_sim_dram_period *p = bank->periods;

    if (p[0].row == row)
        return refresh_between(d, p[0].last_used, later(now, p[0].last_used)) ? NULL : &p[0];
    /* an earlier period: it ends with the precharge for the next one */
    for (int i = 1; i < PEET_SIM_DRAM_PERIODS && p[i].row != UINT64_MAX; i++)
        if (p[i].row == row &&
            later(now, p[i].open_from) + d->config.cas_cycles <= p[i - 1].activated -
                    (p[i - 1].activated >= d->config.precharge_cycles ? d->config.precharge_cycles : 0))
            return &p[i];
    return NULL;
}

uint64_t peet_sim_dram_access(struct peet_sim_dram *d, uint64_t address, int write, uint64_t now)
{
    const struct peet_sim_dram_config *c = &d->config;
    const uint64_t line = address >> d->line_shift, channel = line & (c->channels - 1);
    const uint64_t row_of_bank = line >> d->channel_shift >> d->row_shift, row = row_of_bank >> d->bank_shift;
    const uint64_t number = (row_of_bank ^ row) & ((1ull << d->bank_shift) - 1);
    struct peet_sim_dram_bank *bank = &d->banks[(channel << d->bank_shift) + number];
    uint64_t column, data, asked = now;
    /* a row that was open for this request alone, long before what is known */
    struct peet_sim_dram_period *p, fleeting;

    now = refreshed(d, now + c->overhead_cycles / 2);
    p = open_row(d, bank, row, now);
    if (!p && c->apart && bank->periods->row != UINT64_MAX &&
        now + c->row_active_cycles + c->precharge_cycles < bank->periods->activated) {
        fleeting = (struct peet_sim_dram_period){.row = row, .activated = now, .open_from = now + c->activate_cycles};
        p = &fleeting;
        d->stats.row_empty++;
        column = p->open_from;
    } else if (p) {
        d->stats.row_hits++;
        column = later(now, p->open_from);
    } else {
        struct peet_sim_dram_period *top = bank->periods, fresh = {.row = row};
        uint64_t activate = now;

        if (top->row == UINT64_MAX || refresh_between(d, top->last_used, later(now, top->last_used))) {
            d->stats.row_empty++;
            activate = later(now, top->row == UINT64_MAX ? 0 : top->last_used);
        } else {
            d->stats.row_conflicts++;
            activate = later(later(now, top->last_used), top->activated + c->row_active_cycles) + c->precharge_cycles;
        }
        fresh.activated = refreshed(d, activate);
        fresh.open_from = fresh.last_used = fresh.activated + c->activate_cycles;
        memmove(&top[1], &top[0], (PEET_SIM_DRAM_PERIODS - 1) * sizeof *top);
        *top = fresh;
        p = top;
        column = fresh.open_from;
    }
    data = peet_sim_server_request(&d->buses[channel], column + c->cas_cycles, c->burst_cycles);
    if (data > c->cas_cycles && data - c->cas_cycles > p->last_used)
        p->last_used = data - c->cas_cycles;
    data += c->burst_cycles + (c->overhead_cycles - c->overhead_cycles / 2);
    *(write ? &d->stats.writes : &d->stats.reads) += 1;
    d->stats.latency_cycles += data - asked;
    return data;
}
