// SPDX-License-Identifier: Apache-2.0
// Many programs, each of which lives in some part of the C++ library: WORK says which one this is.
#include "regions.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iomanip>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

static unsigned long sum;

[[maybe_unused]] static void numbers_out(int rounds)
{
    for (int k = 0; k < 10 * rounds; k++) {
        std::ostringstream out;
        out << k << ' ' << k / 7.0 << ' ' << std::hex << k << ' ' << std::setw(10) << std::setfill('.') << k
            << std::fixed << k / 3.0f;
        sum += out.str().size();
    }
}

[[maybe_unused]] static void numbers_in(int rounds)
{
    for (int k = 0; k < 10 * rounds; k++) {
        std::istringstream in("12 3.5 word 99 -7");
        int a, b;
        double d;
        std::string word;
        in >> a >> d >> word >> b;
        sum += static_cast<unsigned long>(a + b) + word.size();
    }
}

[[maybe_unused]] static void trees(int rounds)
{
    std::map<int, int> map;
    std::set<std::string> names;
    unsigned number = 1;
    for (int k = 0; k < 50 * rounds; k++) {
        number = number * 1103515245u + 12345u;
        map[static_cast<int>(number >> 20)]++;
        names.insert(std::to_string(number >> 22));
    }
    sum += map.size() + names.size();
    while (!map.empty())
        map.erase(map.begin());
}

[[maybe_unused]] static void tables(int rounds)
{
    std::unordered_map<std::string, int> table;
    for (int k = 0; k < 40 * rounds; k++)
        table["key number " + std::to_string(k % 97)] += k;
    sum += table.size();
}

[[maybe_unused]] static void strings(int rounds)
{
    for (int k = 0; k < 30 * rounds; k++) {
        std::string s = "a text that is longer than what fits into the object";
        s += std::to_string(k);
        s.insert(3, "inserted").replace(0, 2, "xyz").erase(5, 4);
        sum += s.find("longer") + s.rfind('t') + s.find_first_of("xq") + s.compare("a text") + s.substr(3, 20).size() +
            static_cast<unsigned long>(std::stoi("123")) + static_cast<unsigned long>(std::stod("1.5"));
    }
}

[[maybe_unused]] static void expressions(int rounds)
{
    const std::regex e("([a-z]+)-([0-9]+)");
    const std::string s = "words, a word-123, another-4";
    for (int k = 0; k < rounds; k++)
        for (std::sregex_iterator i(s.begin(), s.end(), e), end; i != end; ++i)
            sum += i->str(1).size();
}

[[maybe_unused]] static void exceptions(int rounds)
{
    for (int k = 0; k < 3 * rounds; k++)
        try {
            if (k % 2)
                throw std::out_of_range("somewhere");
            std::vector<int>().at(static_cast<std::size_t>(k));
        } catch (const std::exception &e) {
            sum += e.what()[0] != 0;
        }
}

[[maybe_unused]] static void numbers_to_chars(int rounds)
{
    char text[64];
    for (int k = 0; k < 50 * rounds; k++) {
        auto end = std::to_chars(text, text + sizeof text, k / 7.0);
        double back = 0;
        std::from_chars(text, end.ptr, back);
        sum += static_cast<unsigned long>(back) + static_cast<unsigned long>(end.ptr - text);
    }
}

[[maybe_unused]] static void random_numbers(int rounds)
{
    std::mt19937 engine(7);
    std::normal_distribution<double> normal;
    std::vector<double> all;
    for (int k = 0; k < 50 * rounds; k++)
        all.push_back(normal(engine));
    std::stable_sort(all.begin(), all.end());
    sum += all.size();
}

static void work(int rounds)
{
    WORK(rounds);
}

void measured(int rounds)
{
    work(rounds);
}

int main(int argc, char **argv)
{
    MEASURE(argc, argv);
    printf("%lu\n", sum);
    return 0;
}
