// SPDX-License-Identifier: Apache-2.0
// A thread's drmemtrace file through DynamoRIO's own reader and cache simulator (clients/drcachesim), one core, LRU, no prefetcher.
// Linked with their sources, which are not part of peet; bench/traces.sh says how.
//
//   drcachesim FILE LINE_BYTES CACHE_BYTES WAYS     prints what drcachesim prints
#include "cache_simulator_create.h"
#include "file_reader.h"

#include <cstdlib>
#include <iostream>
#include <memory>

using namespace dynamorio::drmemtrace;

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    cache_simulator_knobs_t knobs;
    knobs.num_cores = 1;
    knobs.line_size = std::atoi(argv[2]);
    knobs.L1D_size = knobs.L1I_size = std::strtoull(argv[3], nullptr, 10);
    knobs.L1D_assoc = knobs.L1I_assoc = std::atoi(argv[4]);
    knobs.LL_size = 64 << 20;
    knobs.data_prefetcher = "none";
    std::unique_ptr<analysis_tool_t> tool(cache_simulator_create(knobs));
    file_reader_t<std::ifstream *> reader(argv[1], 0), end;
    if (!tool || !*tool || !reader.init())
        return 1;
    std::string error = tool->initialize_stream(&reader);
    for (; error.empty() && reader != end; ++reader)
        if (!tool->process_memref(*reader))
            error = tool->get_error_string();
    if (!error.empty()) {
        std::cerr << error << "\n";
        return 1;
    }
    return !tool->print_results();
}
