// SPDX-License-Identifier: Apache-2.0
// A program whose path depends on addresses: containers ordered by pointer, stack and heap addresses in
// the control flow, time and identity of the process.  Equal addresses give equal event streams.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

unsigned long mix(unsigned long h, const void *p)
{
    h ^= reinterpret_cast<uintptr_t>(p);
    return h * 0x9e3779b97f4a7c15ul ^ h >> 29;
}

__attribute__((noinline)) unsigned long wander(unsigned long h, int n)
{
    char local[100];
    h = mix(h, local);
    for (unsigned long i = 0; i < h % 13; i++)
        local[i] = static_cast<char>(h >> i);
    return n == 0 ? h + static_cast<unsigned char>(local[0]) : wander(h, n - 1);
}

thread_local int private_word = 7;

} // namespace

int main(int argc, char **argv)
{
    std::set<const void *> ordered;
    std::map<std::string, void *> named;
    std::vector<void *> blocks;
    unsigned long h = 1;
    for (int i = 0; i < 400; i++) {
        void *p = std::malloc(16 + static_cast<size_t>(i) * 37 % 5000);
        std::memset(p, i, 16);
        blocks.push_back(p);
        ordered.insert(p);
        named["block " + std::to_string(i * 7919 % 401)] = p;
        if (i % 3 == 0) {
            ordered.erase(blocks[static_cast<size_t>(i) / 2]);
            std::free(blocks[static_cast<size_t>(i) / 2]);
            blocks[static_cast<size_t>(i) / 2] = nullptr;
        }
    }
    void *big = std::malloc(3 << 20);
    h = mix(h, big);
    for (const void *p : ordered)
        h = mix(h, p);
    for (auto &n : named)
        h = mix(h, n.second);
    h = mix(h, &private_word);
    h = mix(h, &h);
    h = mix(h, stdout);
    h = mix(h, reinterpret_cast<void *>(&std::printf));
    h = wander(h, static_cast<int>(h % 50));
    for (void *p : blocks)
        std::free(p);
    std::free(big);
    std::printf("%lx %d\n", h, argc > 1 ? std::atoi(argv[1]) : 0);
    return 0;
}
