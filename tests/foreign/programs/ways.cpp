// SPDX-License-Identifier: Apache-2.0
// Ways in and out of libraries.
#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

static jmp_buf out_of_sort;
static volatile sig_atomic_t handled;

static int plain_order(const void *a, const void *b)
{
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

static int jumping_order(const void *a, const void *b)
{
    if (*static_cast<const int *>(a) == 7)
        longjmp(out_of_sort, 3);
    return plain_order(a, b);
}

static int throwing_order(const void *a, const void *b)
{
    if (*static_cast<const int *>(a) == 7)
        throw std::runtime_error("seven");
    return plain_order(a, b);
}

static void fill(std::vector<int> &v)
{
    for (size_t k = 0; k < v.size(); k++)
        v[k] = static_cast<int>(k * 7919 % 1009);
}

static void sorts()
{
    std::vector<int> v(1000);
    fill(v);
    qsort(v.data(), v.size(), sizeof v[0], plain_order);
    std::cout << std::is_sorted(v.begin(), v.end()) << '\n';
    fill(v);
    if (setjmp(out_of_sort) == 0)
        qsort(v.data(), v.size(), sizeof v[0], jumping_order);
    else
        std::cout << "jumped\n";
    fill(v);
    try {
        qsort(v.data(), v.size(), sizeof v[0], throwing_order);
    } catch (const std::exception &e) {
        std::cout << "caught " << e.what() << '\n';
    }
}

static void texts()
{
    std::ostringstream os;
    std::map<std::string, int> m;
    for (int k = 0; k < 300; k++) {
        os << k << ' ' << k * 1.5 << '\n';
        m[std::to_string(k * 7919 % 1000)] = k;
    }
    const std::string s = os.str();
    const std::regex pair("([0-9]+) ([0-9.]+)");
    std::cout << s.size() << ' ' << m.size() << ' ' << std::distance(std::sregex_iterator(s.begin(), s.end(), pair), std::sregex_iterator()) << '\n';
    char *text = nullptr;
    if (asprintf(&text, "%s %5.2f %x", "formatted", 3.14159, 255) > 0)
        std::cout << text << '\n';
    free(text);
    try {
        std::stoi("none");
    } catch (const std::invalid_argument &) {
        std::cout << "no number\n";
    }
}

static void on_signal(int)
{
    handled = handled + static_cast<int>(strlen("abc"));
}

static void processes()
{
    std::cout.flush();
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    kill(getpid(), SIGUSR1);
    std::cout << "handled " << handled << std::endl;
    if (system("exit 3") >= 0)
        std::cout << "a shell" << std::endl;
    const pid_t child = fork();
    if (child == 0) {
        printf("the child: %s %.3f\n", "ways", 0.25);
        exit(5);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::cout << "child " << WEXITSTATUS(status) << std::endl;
    if (FILE *pipe = popen("echo from a pipe", "r")) {
        char line[100];
        while (fgets(line, sizeof line, pipe))
            std::cout << line;
        pclose(pipe);
    }
}

static void last()
{
    puts("the last");
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        static const char *volatile nothing;
        (void)argv;
        return static_cast<int>(strlen(nothing));
    }
    atexit(last);
    sorts();
    texts();
    processes();
    return 0;
}
