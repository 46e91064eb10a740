// SPDX-License-Identifier: Apache-2.0
// The standard library at work: containers, algorithms, streams, strings, smart pointers, variants.
#include <algorithm>
#include <cmath>
#include <deque>
#include <iomanip>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

int main()
{
    std::mt19937 random(12345);
    std::vector<int> v(2000);
    std::generate(v.begin(), v.end(), [&] { return static_cast<int>(random() % 1000); });
    auto sorted = v;
    std::stable_sort(sorted.begin(), sorted.end(), [](int a, int b) { return a % 100 < b % 100; });
    std::partial_sum(v.begin(), v.end(), v.begin());
    std::nth_element(v.begin(), v.begin() + 500, v.end(), std::greater<>());
    std::unordered_map<std::string, std::vector<int>> groups;
    for (int x : sorted)
        groups["key" + std::to_string(x % 13)].push_back(x);
    std::map<std::string, long> sums;
    for (auto &[key, values] : groups)
        sums[key] = std::accumulate(values.begin(), values.end(), 0l);
    for (auto &[key, value] : sums)
        std::cout << std::setw(6) << key << '=' << value << ' ';
    std::priority_queue<std::pair<double, int>> queue;
    for (int i = 0; i < 500; i++)
        queue.emplace(std::sin(i) * 100, i);
    double top = 0;
    for (int i = 0; i < 100; i++, queue.pop())
        top += queue.top().first * queue.top().second;
    std::list<std::shared_ptr<int>> shared;
    for (int i = 0; i < 100; i++)
        shared.push_back(std::make_shared<int>(i));
    shared.remove_if([](auto &p) { return *p % 3 == 0; });
    std::variant<int, double, std::string> variant;
    std::size_t length = 0;
    for (int i = 0; i < 90; i++) {
        if (i % 3 == 0)
            variant = i;
        else if (i % 3 == 1)
            variant = i * 0.5;
        else
            variant = std::string(static_cast<size_t>(i), 'x');
        length += std::visit([](auto &&x) -> std::size_t {
            if constexpr (std::is_same_v<std::decay_t<decltype(x)>, std::string>)
                return x.size();
            else
                return static_cast<std::size_t>(x);
        }, variant);
    }
    std::deque<std::optional<std::tuple<int, char>>> deque;
    for (int i = 0; i < 50; i++)
        i % 4 ? deque.push_front(std::make_tuple(i, 'a')) : deque.push_back(std::nullopt);
    std::cout << '\n' << v[500] << ' ' << std::fixed << std::setprecision(3) << top << ' ' << shared.size() << ' ' << length << ' '
              << std::count(deque.begin(), deque.end(), std::nullopt) << '\n';
    return 0;
}
