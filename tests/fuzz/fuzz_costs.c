/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the reader of the table of costs.  The input is what stands behind the header of a table; or, if its first byte is even, changes
 * to the small table that the unit test has: pairs of a place and a value.  Whatever the bytes are, the reader answers or says why not.
 */
#include "program/costs.h"
#include "small_costs.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t room[SMALL_COSTS_ROOM], *bytes;
    size_t n = small_costs(room);
    struct peet_error error = { 0, "" };
    struct peet_costs *costs;

    if (!size)
        return 0;
    if (data[0] & 1)
        n = 16 + size - 1;
    bytes = malloc(n); /* of the exact size, so that the sanitizer sees the end */
    if (!bytes)
        abort();
    memcpy(bytes, room, 12);
    for (unsigned i = 0; i < 4; i++)
        bytes[12 + i] = (uint8_t)((n - 16) >> 8 * i);
    if (data[0] & 1)
        memcpy(bytes + 16, data + 1, size - 1);
    else {
        memcpy(bytes + 16, room + 16, n - 16);
        for (size_t i = 1; i + 1 < size; i += 2)
            bytes[16 + data[i] % (n - 16)] = data[i + 1];
    }
    if (peet_costs_read(bytes, n, "fuzz", &costs, &error)) {
        if (!error.message[0])
            abort();
        free(bytes);
        return 0;
    }
    for (size_t i = 0; peet_costs_name(costs, i); i++) {
        static const struct peet_opcode opcodes[] = { { .name = "ADD" }, { .name = "ADDX" }, { .name = "XOR", .variant = 256 }, { .name = "NONE" } };
        const struct peet_processor *p;

        error = (struct peet_error){ 0, "" };
        if (peet_costs_processor(costs, peet_costs_name(costs, i), &p, &error)) {
            if (!error.message[0])
                abort();
            continue;
        }
        for (unsigned r = 0; r < p->nresources; r++)
            for (unsigned part = 0; part < p->resources[r].nparts; part++)
                if (p->resources[r].parts[part] >= p->nresources || !p->resources[r].name)
                    abort();
        for (unsigned o = 0; o < sizeof opcodes / sizeof *opcodes; o++) {
            const struct peet_cost *c = peet_costs_of(costs, p, &opcodes[o]);

            for (unsigned u = 0; u < c->nuses; u++)
                if (c->uses[u].resource >= p->nresources || c->uses[u].end_cycle < c->uses[u].first_cycle)
                    abort();
            for (unsigned w = 0; w < c->nwrites; w++)
                (void)*(volatile const uint16_t *)&c->writes[w];
            for (unsigned a = 0; a < c->nadvances; a++)
                (void)*(volatile const int8_t *)&c->advances[a];
        }
    }
    peet_costs_close(costs);
    free(bytes);
    return 0;
}
