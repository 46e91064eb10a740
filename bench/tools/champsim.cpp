// SPDX-License-Identifier: Apache-2.0
// A ChampSim trace through ChampSim: what its reader takes each record for, and what its processor does with them.  Linked with its sources but main.cc,
// which are not part of peet; bench/traces.sh says how.
//
//   champsim FILE     prints two lines after what ChampSim itself says:
//     reader instructions loads stores jumps indirect-jumps conditional taken calls indirect-calls returns others
//     model  instructions stores loads-sent loads jumps indirect-jumps conditional calls indirect-calls returns others
//
// ChampSim stops when its reader is at the end, with the last instructions still in the processor.  So the trace is followed by records that do nothing,
// more than the processor holds.  It counts no load that takes its value from a store before it reaches the cache: "loads-sent" are the
// others, and "loads" are those of a second run, in which no instruction stores anything.
#include "champsim.h"
#include "core_inst.inc"
#include "environment.h"
#include "instruction.h"
#include "phase_info.h"
#include "tracereader.h"

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <vector>

using configured = champsim::configured::generated_environment<CHAMPSIM_BUILD>;

const std::size_t NUM_CPUS = configured::num_cpus; // what main.cc would say
const unsigned BLOCK_SIZE = configured::block_size, PAGE_SIZE = configured::page_size;
const unsigned LOG2_BLOCK_SIZE = champsim::lg2(BLOCK_SIZE), LOG2_PAGE_SIZE = champsim::lg2(PAGE_SIZE);

namespace champsim {
std::vector<phase_stats> main(environment &env, std::vector<phase_info> &phases, std::vector<tracereader> &traces);
}

namespace {
constexpr long padding = 4096;

struct padded {
    champsim::tracereader trace;
    bool stores;
    std::shared_ptr<long> given = std::make_shared<long>(0); // all of them, also those that do nothing
    long more = padding;

    ooo_model_instr operator()()
    {
        ++*given;
        if (trace.eof()) {
            more--;
            return ooo_model_instr{0, input_instr{}};
        }
        auto insn = trace();
        if (!stores)
            insn.destination_memory.clear();
        return insn;
    }
    [[nodiscard]] bool eof() const
    {
        return trace.eof() && more <= 0;
    }
};

struct outcome {
    long instructions, stores, loads, branches[BRANCH_OTHER + 1];
};

outcome simulate(const char *file, bool stores)
{
    auto env = std::make_unique<configured>();
    padded reader{get_tracereader(file, 0, false, false), stores};
    const auto given = reader.given;
    std::vector<champsim::tracereader> traces;
    traces.emplace_back(std::move(reader));
    std::vector<champsim::phase_info> phases{{"Simulation", false, std::numeric_limits<long long>::max(), {0}, {file}}};
    outcome found{};
    const champsim::channel *data =
        nullptr; // the core's queue of its data cache; another one is that of the walker of page tables

    for (CACHE &cache : env->cache_view())
        if (cache.NAME == "cpu0_L1D")
            data = cache.upper_levels.back(); // before anything runs: the cache turns them
    const auto stats = champsim::main(*env, phases, traces).front();
    const O3_CPU &cpu = env->cpu_view().front();
    const auto held = static_cast<long>(cpu.input_queue.size() + cpu.IFETCH_BUFFER.size() + cpu.DIB_HIT_BUFFER.size() +
        cpu.DECODE_BUFFER.size() + cpu.DISPATCH_BUFFER.size() + cpu.ROB.size());
    if (!data || held >= padding || cpu.num_retired + held != *given) {
        std::fprintf(stderr, "champsim: %ld given, %lld retired, %ld held\n", *given, cpu.num_retired, held);
        std::exit(1);
    }
    found.instructions = cpu.num_retired - (padding - held);
    found.stores = static_cast<long>(data->sim_stats.WQ_TO_CACHE);
    found.loads = static_cast<long>(data->sim_stats.RQ_TO_CACHE);
    for (int kind = 0; kind <= BRANCH_OTHER; kind++)
        found.branches[kind] =
            stats.sim_cpu_stats.front().total_branch_types.value_or(static_cast<branch_type>(kind), 0);
    return found;
}
} // namespace

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    unsigned long long instructions = 0, loads = 0, stores = 0, taken = 0, branches[NOT_BRANCH + 1] = {};
    auto reader = get_tracereader(argv[1], 0, false, false);
    while (!reader.eof()) {
        const auto insn = reader();
        instructions++;
        loads += insn.source_memory.size();
        stores += insn.destination_memory.size();
        branches[insn.branch]++;
        taken += insn.branch == BRANCH_CONDITIONAL && insn.branch_taken;
    }
    const outcome run = simulate(argv[1], true), without = simulate(argv[1], false);
    std::printf("\nreader %llu %llu %llu", instructions, loads, stores);
    std::printf(" %llu %llu %llu %llu", branches[BRANCH_DIRECT_JUMP], branches[BRANCH_INDIRECT],
        branches[BRANCH_CONDITIONAL], taken);
    std::printf(" %llu %llu %llu %llu\n", branches[BRANCH_DIRECT_CALL], branches[BRANCH_INDIRECT_CALL],
        branches[BRANCH_RETURN], branches[BRANCH_OTHER]);
    std::printf("model %ld %ld %ld %ld", run.instructions, run.stores, run.loads, without.loads);
    for (const int kind : {BRANCH_DIRECT_JUMP, BRANCH_INDIRECT, BRANCH_CONDITIONAL, BRANCH_DIRECT_CALL,
             BRANCH_INDIRECT_CALL, BRANCH_RETURN, BRANCH_OTHER})
        std::printf(" %ld", run.branches[kind]);
    std::printf("\n");
}
