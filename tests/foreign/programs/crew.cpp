// SPDX-License-Identifier: Apache-2.0
// Threads that all work in libraries: streams in memory, libm, exceptions, a shared tree, standard output, futures.
#include <cmath>
#include <cstdio>
#include <future>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

static std::mutex guard;
static std::map<std::string, double> results;

static int &initialised_once()
{
    static int value = [] { return std::snprintf(nullptr, 0, "%d %f", 17, 1.5); }();
    return value;
}

static void member(int number)
{
    double sum = initialised_once();
    for (int k = 0; k < 100; k++) {
        std::ostringstream name;
        name << number << ':' << k;
        sum += std::sin(k * number) + std::pow(k, 0.3);
        try {
            if (k % 10 == 9)
                throw std::string(name.str());
        } catch (const std::string &caught) {
            std::lock_guard<std::mutex> hold(guard);
            results[caught] = sum;
        }
    }
    std::lock_guard<std::mutex> hold(guard);
    std::printf("a member is done\n");
}

int main()
{
    std::vector<std::thread> crew;
    for (int k = 1; k <= 4; k++)
        crew.emplace_back(member, k);
    for (auto &one : crew)
        one.join();
    auto later = std::async(std::launch::async, [] { return std::stoi("42"); });
    double sum = 0;
    for (auto &one : results)
        sum += one.second;
    std::printf("%zu %.9f %d\n", results.size(), sum, later.get());
    return 0;
}
