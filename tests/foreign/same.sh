#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One run is one run: whoever looks on, and whatever else the process holds.  Threads, allocation in all of them, random numbers.
. "$(dirname "$0")/lib.sh"
cat >many.cpp <<'END'
#include <cstdio>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>
static std::mutex guard;
static std::map<std::string, unsigned> all;
static void work(unsigned n)
{
    std::vector<std::string> own;
    for (unsigned k = 0; k < 300; k++) {
        own.push_back("a string that is longer than its object " + std::to_string(k * n));
        if (k % 3 == 0)
            own.erase(own.begin());
    }
    std::lock_guard<std::mutex> hold(guard);
    for (auto &one : own)
        all[one]++;
}
int main()
{
    std::vector<std::thread> threads;
    for (unsigned k = 1; k < 6; k++)
        threads.emplace_back(work, k);
    for (auto &one : threads)
        one.join();
    std::random_device device;
    unsigned number = device();
    if (FILE *f = fopen("/dev/urandom", "rb")) {
        if (fread(&number, sizeof number, 1, f) != 1)
            return 1;
        fclose(f);
    }
    printf("%zu %u\n", all.size(), number);
    return 0;
}
END
must "$peetcxx" -O2 -pthread -o many many.cpp
count=0
for others in "" "--observe counts" "--observe counts --observe dtrack" "--observe profile" ""; do
    count=$((count + 1))
    # shellcheck disable=SC2086
    must "$peet" run -q --foreign=record --cores 3 --observe hash $others -d "out.$count" -- ./many >"printed.$count"
    value "out.$count/stats.json" hash.hash >"hash.$count"
    same "hash.$count" hash.1 "with '$others' the run is another"
    same "printed.$count" printed.1
done
# Processors that run ahead of each other, and an observer that counts blocks meanwhile: the same as block by block.
for others in "" "--observe profile" "--observe hash"; do
    # shellcheck disable=SC2086
    must "$peet" run -q --foreign=record --machine bus,cache=4KiB --cores 3 $others -d out.bus -- ./many >printed.bus
    printf '%s\n' "$(value out.bus/stats.json time.cycles) $(value out.bus/stats.json totals.instructions)" >numbers
    [ -e numbers.1 ] || cp numbers numbers.1
    same numbers numbers.1 "on bus with '$others' the run is another"
done
