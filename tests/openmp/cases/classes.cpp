// SPDX-License-Identifier: Apache-2.0
// C++: constructors and destructors of private copies, iterators, exceptions inside regions, threadprivate objects, std::thread beside
// OpenMP.
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <omp.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static int threads = 4;
static int live, made;

struct counted {
    int value;
    counted(int v = 0) : value(v) { count(1); }
    counted(const counted &other) : value(other.value) { count(1); }
    counted &operator=(const counted &other) = default;
    ~counted() { count(-1); }
    static void count(int change)
    {
#pragma omp atomic
        live += change;
        if (change > 0) {
#pragma omp atomic
            made++;
        }
    }
};
#pragma omp declare reduction(sum : counted : omp_out.value += omp_in.value) initializer(omp_priv = counted(0))

static void privates()
{
    counted a(7), b(1);
    int total = 0;
#pragma omp parallel firstprivate(a) private(b) reduction(+ : total)
    {
        b.value = omp_get_thread_num();
        a.value += b.value;
        total += a.value;
    }
    std::printf("privates: %d, live %d\n", total, live);
}

static void lastprivate_object()
{
    counted a(3);
#pragma omp parallel for lastprivate(a) schedule(monotonic : dynamic, 3)
    for (int i = 0; i < 40; i++)
        a.value = i;
    std::printf("lastprivate: %d, live %d\n", a.value, live);
}

static void reduction_object()
{
    counted s(5);
#pragma omp parallel for reduction(sum : s)
    for (int i = 0; i < 100; i++)
        s.value += i;
    std::printf("reduction: %d, live %d\n", s.value, live);
}

static void tasks_with_objects()
{
    int total = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 20; i++) {
        counted c(i);
        std::string text(100, static_cast<char>('a' + i));
#pragma omp task firstprivate(c, text) shared(total)
        {
#pragma omp atomic
            total += c.value + static_cast<int>(text.size());
        }
    }
    std::printf("tasks: %d, live %d\n", total, live);
}

static void taskloop_with_objects()
{
    counted c(2);
    int total = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop firstprivate(c) reduction(+ : total) num_tasks(5)
    for (int i = 0; i < 30; i++)
        total += c.value * i;
    std::printf("taskloop: %d, live %d\n", total, live);
}

static void iterators()
{
    std::vector<int> v(500);
    std::iota(v.begin(), v.end(), 0);
    long sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(guided)
    for (std::vector<int>::iterator it = v.begin(); it < v.end(); ++it)
        sum += *it;
#pragma omp parallel for reduction(+ : sum)
    for (auto &x : v)
        sum += x;
    std::printf("iterators: %ld\n", sum);
}

static void exceptions_inside()
{
    int caught = 0;
#pragma omp parallel for reduction(+ : caught) schedule(dynamic, 2)
    for (int i = 0; i < 40; i++) {
        try {
            if (i % 4 == 1)
                throw std::runtime_error("number " + std::to_string(i));
        } catch (const std::exception &e) {
            caught += std::atoi(e.what() + 7);
        }
    }
    std::printf("exceptions: %d\n", caught);
}

static counted own(11);
#pragma omp threadprivate(own)

static void threadprivate_object()
{
    int sum = 0;
#pragma omp parallel
    own.value += omp_get_thread_num();
#pragma omp parallel reduction(+ : sum)
    sum += own.value;
    own.value = 11;
    std::printf("threadprivate: %d\n", sum);
}

static void copyprivate_object()
{
    int sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        std::string s;
#pragma omp single copyprivate(s)
        s = "a text that does not fit into the object itself";
        sum += static_cast<int>(s.size());
    }
    std::printf("copyprivate: %d\n", sum);
}

static void lambdas()
{
    int sum = 0;
    auto add = [&](int x) {
#pragma omp atomic
        sum += x;
    };
#pragma omp parallel for
    for (int i = 0; i < 50; i++)
        add(i);
    std::printf("lambdas: %d\n", sum);
}

static void beside_threads()
{
    int results[3] = {0, 0, 0};
    std::vector<std::thread> others;
    for (int t = 0; t < 3; t++)
        others.emplace_back([&results, t] {
            int sum = 0;
#pragma omp parallel num_threads(2 + t) reduction(+ : sum)
            sum += omp_get_num_threads() * 100 + omp_get_thread_num();
#pragma omp parallel for num_threads(2) reduction(+ : sum) schedule(dynamic)
            for (int i = 0; i < 20; i++)
                sum += i;
            results[t] = sum;
        });
    for (auto &t : others)
        t.join();
    std::printf("beside threads: %d %d %d\n", results[0], results[1], results[2]);
}

static void containers()
{
    std::vector<std::vector<int>> lists(16);
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 50 + i; k++)
            lists[static_cast<size_t>(i)].push_back(k);
    size_t n = 0;
    for (auto &l : lists)
        n += l.size();
    std::printf("containers: %zu\n", n);
}

int main(int argc, char **argv)
{
    threads = argc > 1 ? std::atoi(argv[1]) : 4;
    omp_set_num_threads(threads);
    privates();
    lastprivate_object();
    reduction_object();
    tasks_with_objects();
    taskloop_with_objects();
    iterators();
    exceptions_inside();
    threadprivate_object();
    copyprivate_object();
    lambdas();
    beside_threads();
    containers();
}
