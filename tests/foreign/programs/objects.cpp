// SPDX-License-Identifier: Apache-2.0
// libstdc++: streams, strings, trees, sorting, exceptions.
#include "regions.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

static unsigned long sum;

static int thrower(int k)
{
    if (k % 7 == 3)
        throw std::out_of_range("seven");
    return k;
}

static void work(int rounds)
{
    std::ostringstream out;
    std::map<int, std::string> tree;
    for (int k = 0; k < 3 * rounds; k++) {
        out << k << ' ' << k * 1.25 << std::hex << k << std::dec << '\n';
        tree[k * 37 % 101] = std::to_string(k);
        try {
            sum += static_cast<unsigned long>(thrower(k));
        } catch (const std::exception &e) {
            sum += e.what()[0];
        }
    }
    std::istringstream in(out.str());
    std::string word;
    while (in >> word)
        sum += word.size();
    for (auto &item : tree)
        sum += static_cast<unsigned long>(item.first) * item.second.size();
    std::string sorted = out.str();
    std::sort(sorted.begin(), sorted.end());
    sum += static_cast<unsigned char>(sorted[sorted.size() / 2]);
}

void measured(int rounds)
{
    work(rounds);
}

int main(int argc, char **argv)
{
    MEASURE(argc, argv);
    std::printf("%lu\n", sum);
    return 0;
}
