// SPDX-License-Identifier: Apache-2.0
// races: count
// A race in a member function of a template, called through a lambda: the table has their C++ names, and the lines.
#include <string>
#include <thread>
#include <vector>

static long count;

template <class Key, class Value> struct store {
    std::vector<Value> values;
    __attribute__((noinline)) void add(const Key &key, const Value &value)
    {
        values.push_back(value);
        count += (long)key.size();
    }
};

int main()
{
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; t++)
        threads.emplace_back([] {
            store<std::string, std::vector<std::string>> own;
            own.add("key", {"value"});
        });
    for (auto &thread : threads)
        thread.join();
    return 0;
}
