// SPDX-License-Identifier: Apache-2.0
// C++'s clocks and sleeps are the C library's.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
using namespace std::chrono;

int main()
{
    auto start = steady_clock::now();
    std::this_thread::sleep_for(milliseconds(250));
    auto took = steady_clock::now() - start;
    printf("sleep_for %d\n", took >= milliseconds(250) && took < milliseconds(250) + microseconds(10));
    auto until = system_clock::now() + seconds(2);
    std::this_thread::sleep_until(until);
    auto late = system_clock::now() - until;
    printf("sleep_until %d\n", late >= seconds(0) && late < microseconds(10));
    std::mutex m;
    std::condition_variable c;
    std::unique_lock<std::mutex> lock(m);
    start = steady_clock::now();
    bool timeout = c.wait_for(lock, milliseconds(30)) == std::cv_status::timeout;
    took = steady_clock::now() - start;
    printf("wait_for %d %d\n", timeout, took >= milliseconds(30) && took < milliseconds(30) + microseconds(10));
    printf("year %d\n", (int)(duration_cast<hours>(system_clock::now().time_since_epoch()).count() / 24 / 365.2425 + 1970));
    return 0;
}
