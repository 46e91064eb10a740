/* SPDX-License-Identifier: Apache-2.0 */
/* C++: containers, strings, virtual functions, streams. */
#include "kernels.h"

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

static uint64_t sorted()
{
    std::vector<uint32_t> v(2000);
    uint64_t seed = 31;
    for (uint32_t &x : v)
        x = (uint32_t)(bench_random(&seed) >> 32);
    std::sort(v.begin(), v.end());
    return v[777];
}

static uint64_t trees()
{
    std::map<uint64_t, uint64_t> m;
    uint64_t seed = 32, sum = 0;
    for (int i = 0; i < 1000; i++)
        m[bench_random(&seed) % 700] += (uint64_t)i;
    for (const auto &one : m)
        sum = sum * 3 + one.second;
    return sum;
}

static uint64_t tables()
{
    std::unordered_map<uint64_t, uint64_t> m;
    uint64_t seed = 33, sum = 0;
    for (int i = 0; i < 2000; i++)
        m[bench_random(&seed) % 900]++;
    for (uint64_t i = 0; i < 1000; i++) {
        auto at = m.find(i);
        sum += at == m.end() ? 0 : at->second * i;
    }
    return sum;
}

static uint64_t strings()
{
    std::vector<std::string> words;
    std::string all;
    uint64_t seed = 34, sum = 0;
    for (int i = 0; i < 200; i++) {
        std::string w;
        for (uint64_t n = 3 + bench_random(&seed) % 20; n; n--)
            w += (char)('a' + bench_random(&seed) % 26);
        words.push_back(w);
    }
    std::sort(words.begin(), words.end());
    for (const std::string &w : words) {
        all += w + ' ';
        sum += all.find(w);
    }
    return sum + all.size();
}

struct shape {
    virtual ~shape() = default;
    virtual double area() const = 0;
};
struct square : shape {
    double side;
    explicit square(double s) : side(s) {}
    double area() const override
    {
        return side * side;
    }
};
struct circle : shape {
    double radius;
    explicit circle(double r) : radius(r) {}
    double area() const override
    {
        return 3.0 * radius * radius;
    }
};

static uint64_t shapes()
{
    std::vector<std::unique_ptr<shape>> all;
    double sum = 0;
    for (int i = 0; i < 300; i++) {
        if (i % 3)
            all.push_back(std::make_unique<square>(i));
        else
            all.push_back(std::make_unique<circle>(i));
    }
    for (int round = 0; round < 10; round++)
        for (const auto &one : all)
            sum += one->area();
    return bench_mix_double(0, sum);
}

static uint64_t streams()
{
    std::ostringstream out;
    for (int i = 0; i < 200; i++)
        out << i * 37 << ' ' << i * 0.25 << " word\n";
    std::istringstream in(out.str());
    std::string word;
    uint64_t count = 0;
    while (in >> word)
        count += word.size();
    return count;
}

KERNELS({"sorted", sorted}, {"trees", trees}, {"tables", tables}, {"strings", strings}, {"shapes", shapes},
    {"streams", streams})
