// SPDX-License-Identifier: Apache-2.0
// Programs that live in the C++ library: library++ WORK ROUNDS.  Prints one line, a sum of what was computed.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <regex>
#include <sstream>
#include <string>

static uint64_t maps(long rounds)
{
    std::map<uint32_t, uint64_t> all;
    uint64_t r = 7, sum = 0;
    for (long i = 0; i < rounds; i++) {
        r = r * 6364136223846793005u + 1442695040888963407u;
        const auto key = static_cast<uint32_t>(r >> 52);
        if (i & 1)
            all.erase(key);
        else
            sum += ++all[key ^ 1];
    }
    return sum + all.size();
}

static uint64_t streams(long rounds)
{
    uint64_t sum = 0;
    for (long i = 0; i < rounds; i++) {
        std::ostringstream out;
        for (int k = 0; k < 20; k++)
            out << k * 37 << ' ' << static_cast<double>(i + k) * 0.25 << " word\n";
        sum += out.str().size();
    }
    return sum;
}

static uint64_t expressions(long rounds)
{
    const std::regex pattern("([a-z]+)-([0-9]+)(, |$)");
    const std::string text = "alpha-12, beta-345, gamma-6, delta-7890";
    uint64_t sum = 0;
    for (long i = 0; i < rounds; i++)
        for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
            sum += (*at)[1].length() + std::strtoul((*at)[2].str().c_str(), nullptr, 10);
    return sum;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint64_t (*work)(long rounds);
    } works[] = {{"map", maps}, {"ostream", streams}, {"regex", expressions}};
    for (const auto &one : works)
        if (argc == 3 && std::strcmp(argv[1], one.name) == 0) {
            std::printf("%s %llu\n", argv[1], static_cast<unsigned long long>(one.work(std::strtol(argv[2], nullptr, 10))));
            return 0;
        }
    std::fprintf(stderr, "usage: library++ map|ostream|regex ROUNDS\n");
    return 2;
}
