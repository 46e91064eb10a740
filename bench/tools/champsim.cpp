// SPDX-License-Identifier: Apache-2.0
// A ChampSim trace through ChampSim's own reader: what it takes each record for.  Linked with its sources, which are not part of peet;
// bench/traces.sh says how.
//
//   champsim FILE     prints: instructions loads stores jumps indirect-jumps conditional taken calls indirect-calls returns others
#include "instruction.h"
#include "tracereader.h"

#include <cstdio>

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    unsigned long long instructions = 0, loads = 0, stores = 0, taken = 0, branches[16] = {};
    auto reader = get_tracereader(argv[1], 0, false, false);
    while (!reader.eof()) {
        const auto insn = reader();
        instructions++;
        loads += insn.source_memory.size();
        stores += insn.destination_memory.size();
        if (insn.is_branch)
            branches[insn.branch]++;
        taken += insn.branch == BRANCH_CONDITIONAL && insn.branch_taken;
    }
    std::printf("%llu %llu %llu", instructions, loads, stores);
    std::printf(" %llu %llu %llu %llu", branches[BRANCH_DIRECT_JUMP], branches[BRANCH_INDIRECT],
        branches[BRANCH_CONDITIONAL], taken);
    std::printf(" %llu %llu %llu %llu\n", branches[BRANCH_DIRECT_CALL], branches[BRANCH_INDIRECT_CALL],
        branches[BRANCH_RETURN], branches[BRANCH_OTHER]);
}
