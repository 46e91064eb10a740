// SPDX-License-Identifier: Apache-2.0
// Ways in which a program with threads can end: endings.sh runs each in a process of its own.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <mutex>
#include <pthread.h>
#include <semaphore.h>
#include <stdexcept>
#include <thread>
#include <time.h>
#include <unistd.h>

static void ms(long n)
{
    timespec t = {n / 1000, n % 1000 * 1000000};
    nanosleep(&t, nullptr);
}

static void say(const char *what)
{
    puts(what);
    fflush(stdout);
}

static std::atomic<bool> main_has_spoken{true};

static void *says_later(void *what)
{
    do
        ms(20);
    while (!main_has_spoken);
    say((const char *)what);
    return nullptr;
}

static void *exits(void *)
{
    exit(7);
}

static void *waits(void *)
{
    for (;;)
        pause();
}

static void at_exit()
{
    say("atexit");
}

struct says {
    const char *what;
    ~says()
    {
        say(what);
    }
};
static says global{"global destructor"};
static thread_local says own{"thread_local destructor"};
static pthread_t first, main_id;

static void *joins_main(void *)
{
    pthread_join(main_id, nullptr);
    say("joined main");
    return nullptr;
}

static void *cancels_main(void *)
{
    ms(5);
    pthread_cancel(main_id);
    pthread_join(main_id, nullptr); // its destructors have run, however late the computer came to them
    say("main is gone");
    return nullptr;
}

static void handler(void *what)
{
    say((const char *)what);
}

static void *value_destructor(void *)
{
    ms(10);
    return nullptr;
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "";
    pthread_t t;
    main_id = pthread_self();
    auto is = [&](const char *name) { return strcmp(which, name) == 0; };
    if (is("list")) {
        puts("main_exits exit_in_thread return_with_threads last_thread_ends main_is_joined main_is_cancelled "
             "handlers_of_main terminate_in_thread destroyed_joinable thread_local_of_main main_exits_and_thread_exits "
             "exception_out_of_noexcept quick_exit_in_thread exit_twice swallowed_unwinding _exit_in_thread key_of_main "
             "abort_in_thread raise_in_thread");
        return 0;
    }
    atexit(at_exit);
    if (is("main_exits")) {
        main_has_spoken = false;
        pthread_create(&t, nullptr, says_later, (void *)"later");
        say("main leaves");
        main_has_spoken = true;
        pthread_exit(nullptr);
    }
    if (is("exit_in_thread")) {
        pthread_create(&t, nullptr, exits, nullptr);
        pthread_join(t, nullptr);
        say("not reached");
    }
    if (is("return_with_threads")) {
        for (int i = 0; i < 5; i++)
            pthread_create(&t, nullptr, waits, nullptr);
        ms(5);
        return 5;
    }
    if (is("last_thread_ends")) {
        for (int i = 0; i < 3; i++)
            pthread_create(&t, nullptr, says_later, (void *)"one more");
        pthread_exit((void *)9);
    }
    if (is("main_is_joined")) {
        pthread_create(&t, nullptr, joins_main, nullptr);
        ms(5);
        say("main leaves");
        pthread_exit(nullptr);
    }
    if (is("main_is_cancelled")) {
        says local{"local destructor"};
        pthread_create(&t, nullptr, cancels_main, nullptr);
        for (;;)
            pause();
    }
    if (is("handlers_of_main")) {
        pthread_cleanup_push(handler, (void *)"handler");
        says local{"local destructor"};
        pthread_exit(nullptr);
        pthread_cleanup_pop(0);
    }
    if (is("terminate_in_thread")) {
        std::set_terminate([] {
            say("terminate");
            _exit(33);
        });
        std::thread([] { throw std::runtime_error("nobody catches it"); }).join();
    }
    if (is("destroyed_joinable")) {
        std::set_terminate([] {
            say("terminate");
            _exit(34);
        });
        std::thread u([] {});
    }
    if (is("thread_local_of_main")) {
        own.what = "main's thread_local destructor";
        std::thread([] { own.what = "a thread's thread_local destructor"; }).join();
        return 3;
    }
    if (is("main_exits_and_thread_exits")) {
        pthread_create(&t, nullptr, [](void *) -> void * {
            ms(10);
            exit(8);
        }, nullptr);
        pthread_exit(nullptr);
    }
    if (is("exception_out_of_noexcept")) {
        std::set_terminate([] {
            say("terminate");
            _exit(35);
        });
        std::thread([]() noexcept { throw 1; }).join();
    }
    if (is("quick_exit_in_thread")) {
        at_quick_exit([] { say("at_quick_exit"); });
        std::thread([] { quick_exit(4); }).join();
    }
    if (is("exit_twice")) {
        pthread_create(&t, nullptr, exits, nullptr);
        ms(50);
        say("not reached");
    }
    if (is("swallowed_unwinding")) {
        signal(SIGABRT, [](int) { _exit(36); });
        pthread_create(&t, nullptr, [](void *) -> void * {
            try {
                pthread_exit(nullptr);
            } catch (...) {
                say("swallowed");
            }
            return nullptr;
        }, nullptr);
        pthread_join(t, nullptr);
    }
    if (is("_exit_in_thread"))
        std::thread([] { _exit(6); }).join();
    if (is("key_of_main")) {
        pthread_key_t key;
        pthread_key_create(&key, [](void *) { say("destructor of main's value"); });
        pthread_setspecific(key, &key);
        pthread_create(&t, nullptr, value_destructor, nullptr);
        pthread_exit(nullptr);
    }
    if (is("abort_in_thread")) {
        signal(SIGABRT, [](int) {
            say("aborted");
            _exit(37);
        });
        std::thread([] { abort(); }).join();
    }
    if (is("raise_in_thread")) {
        static pthread_t seen;
        signal(SIGUSR1, [](int) { seen = pthread_self(); });
        std::thread([] {
            raise(SIGUSR1);
            say(pthread_equal(seen, pthread_self()) ? "in the thread" : "elsewhere");
        }).join();
        return 2;
    }
    say("unknown case");
    return 99;
}
