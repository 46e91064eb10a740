// SPDX-License-Identifier: Apache-2.0
// Containers, whose time goes into the allocator: lists, trees, hash tables, strings that grow, shared pointers, queues.
#include "regions.h"

#include <cstdio>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

static unsigned long sum;

static void work(int rounds)
{
    std::list<int> list;
    std::set<std::string> names;
    std::unordered_map<int, std::vector<int>> table;
    std::deque<std::shared_ptr<std::string>> queue;
    std::multimap<int, std::function<int(int)>> calls;
    std::string text;
    for (int k = 0; k < 10 * rounds; k++) {
        list.push_front(k);
        if (k % 3 == 0)
            list.pop_back();
        names.insert("a name that is too long for its object " + std::to_string(k * 7919 % 1009));
        table[k % 17].push_back(k);
        queue.push_back(std::make_shared<std::string>(static_cast<size_t>(k % 50), 'x'));
        if (queue.size() > 20)
            queue.pop_front();
        long big[5] = {k, k, k, k, k};
        calls.emplace(k % 11, [big](int x) { return static_cast<int>(big[0]) + x; });
        text += "some more text ";
    }
    for (auto &one : table)
        sum += one.second.size();
    for (auto &one : calls)
        sum += static_cast<unsigned long>(one.second(1));
    sum += list.size() + names.size() + text.size() + queue.front()->size();
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
