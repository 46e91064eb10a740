// SPDX-License-Identifier: Apache-2.0
// Virtual calls, exceptions with clean-up, templates, containers and algorithms of the standard library.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Node {
    virtual ~Node() = default;
    virtual long value(long x) const = 0;
};

struct Constant : Node {
    long c;
    explicit Constant(long c) : c(c) {}
    long value(long) const override { return c; }
};

struct Argument : Node {
    long value(long x) const override { return x; }
};

template <class Op> struct Binary : Node {
    std::unique_ptr<Node> left, right;
    Binary(std::unique_ptr<Node> l, std::unique_ptr<Node> r) : left(std::move(l)), right(std::move(r)) {}
    long value(long x) const override { return Op()(left->value(x), right->value(x)); }
};

struct Divide {
    long operator()(long a, long b) const
    {
        if (b == 0)
            throw std::domain_error("division by zero");
        return a / b;
    }
};

struct Guard {
    long &n;
    explicit Guard(long &n) : n(n) { n++; }
    ~Guard() { n += 100; }
};

std::unique_ptr<Node> build(int depth, unsigned &seed)
{
    seed = seed * 1103515245u + 12345u;
    if (depth == 0) {
        if (seed >> 16 & 1)
            return std::make_unique<Constant>(seed >> 20 & 15);
        return std::make_unique<Argument>();
    }
    auto l = build(depth - 1, seed), r = build(depth - 1, seed);
    switch (seed >> 17 & 3) {
    case 0: return std::make_unique<Binary<std::plus<long>>>(std::move(l), std::move(r));
    case 1: return std::make_unique<Binary<std::minus<long>>>(std::move(l), std::move(r));
    case 2: return std::make_unique<Binary<std::bit_xor<long>>>(std::move(l), std::move(r));
    default: return std::make_unique<Binary<Divide>>(std::move(l), std::move(r));
    }
}

__attribute__((noinline)) long evaluate(const Node &n, long x, long &guards)
{
    Guard g(guards);
    return n.value(x);
}

} // namespace

int main()
{
    unsigned seed = 2;
    long sum = 0, failures = 0, guards = 0;
    for (int t = 0; t < 6; t++) {
        auto tree = build(6, seed);
        for (long x = 0; x < 40; x++) {
            try {
                sum += evaluate(*tree, x, guards);
            } catch (const std::exception &e) {
                failures += static_cast<long>(std::string(e.what()).size());
            }
        }
    }
    std::vector<std::string> names;
    std::map<std::string, int> count;
    for (int i = 0; i < 500; i++)
        names.push_back("name" + std::to_string(i * 7919 % 211));
    std::sort(names.begin(), names.end());
    for (const auto &n : names)
        count[n]++;
    auto most = std::max_element(count.begin(), count.end(), [](auto &a, auto &b) { return a.second < b.second; });
    std::printf("%ld %ld %ld %zu %s %d\n", sum, failures, guards, count.size(), most->first.c_str(), most->second);
    return 0;
}
