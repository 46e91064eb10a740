// SPDX-License-Identifier: Apache-2.0
// races: none
// Threads give back what others have allocated, of many sizes, in turn: what the allocator writes between the blocks is
// its own matter.
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

static struct {
    std::mutex mutex;
    char *block;
} slots[16];

static void work(unsigned thread)
{
    unsigned state = thread + 1;
    for (int i = 0; i < 400; i++) {
        state = state * 1103515245 + 12345;
        auto &slot = slots[state >> 16 & 15];
        const size_t bytes = (state >> 20 & 255) * 40 + 8;
        std::lock_guard<std::mutex> hold(slot.mutex);
        char *block = static_cast<char *>(malloc(bytes));
        for (size_t at = 0; at < bytes; at += 8)
            block[at] = static_cast<char>(i);
        free(slot.block);
        slot.block = block;
    }
}

int main()
{
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; t++)
        threads.emplace_back(work, t);
    for (auto &thread : threads)
        thread.join();
    for (auto &slot : slots)
        free(slot.block);
    return 0;
}
