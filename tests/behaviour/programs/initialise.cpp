// SPDX-License-Identifier: Apache-2.0
// Static initialisation and destruction, guarded local statics, thread_local objects, exceptions of every kind.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <typeinfo>

namespace {

int order;

struct Tracer {
    const char *name;
    explicit Tracer(const char *n) : name(n) { std::printf("+%s %d\n", name, ++order); }
    ~Tracer() { std::printf("-%s %d\n", name, ++order); }
};

Tracer first("first"), second("second");
thread_local Tracer local("thread");
std::string text = std::string("global ") + std::to_string(order);

Tracer &once(int i)
{
    static Tracer a("static a");
    static Tracer b("static b");
    return i & 1 ? a : b;
}

struct Base {
    virtual ~Base() = default;
    virtual int f() const { return 1; }
};
struct Left : virtual Base {
    int f() const override { return 2; }
};
struct Right : virtual Base {};
struct Both : Left, Right {
    int extra = 5;
    int f() const override { return Left::f() + extra; }
};

struct Custom : std::runtime_error {
    int code;
    Custom(int c) : std::runtime_error("custom"), code(c) {}
};

__attribute__((noinline)) void thrower(int kind)
{
    Tracer guard("guard");
    switch (kind) {
    case 0: throw 42;
    case 1: throw Custom(7);
    case 2: throw std::string("text");
    case 3: throw std::make_unique<int>(3);
    case 4: throw std::bad_alloc();
    case 5: { std::string s; static_cast<void>(s.at(5)); break; }
    default: break;
    }
}

int nested(int kind)
{
    try {
        try {
            thrower(kind);
            return 0;
        } catch (int i) {
            std::throw_with_nested(Custom(i));
        } catch (const std::string &) {
            throw;
        }
    } catch (const Custom &c) {
        try {
            std::rethrow_if_nested(c);
        } catch (int i) {
            return i + 1000;
        }
        return c.code;
    } catch (const std::unique_ptr<int> &p) {
        return *p;
    } catch (const std::exception &e) {
        return static_cast<int>(std::string(e.what()).size() > 0) + 50;
    } catch (...) {
        std::exception_ptr p = std::current_exception();
        try {
            std::rethrow_exception(p);
        } catch (const std::string &s) {
            return static_cast<int>(s.size());
        }
    }
    return -1;
}

struct Member {
    Tracer t{"member"};
    std::unique_ptr<int> p;
    Member(int i) try : p(new int(i)) {
        if (i > 2)
            throw Custom(i);
    } catch (const Custom &c) {
        std::printf("in constructor: %d\n", c.code);
    }
};

int noexcept_sum(const std::function<int(int)> &f) noexcept
{
    int s = 0;
    for (int i = 0; i < 50; i++)
        s += f(i);
    return s;
}

} // namespace

int main()
{
    std::ostringstream out;
    for (int kind = 0; kind < 7; kind++)
        out << nested(kind) << ' ';
    for (int i = 0; i < 4; i++) {
        try {
            Member m(i);
            out << *m.p << ' ';
        } catch (const Custom &c) {
            out << "failed " << c.code << ' ';
        }
        out << once(i).name << ' ';
    }
    Both both;
    Base *base = &both;
    out << base->f() << ' ' << (dynamic_cast<Right *>(base) != nullptr) << ' ' << typeid(*base).name() << ' ' << local.name << ' ' << text;
    int captured = 3;
    out << ' ' << noexcept_sum([&](int i) { return i * captured++; });
    std::cout << out.str() << std::endl;
    std::set_terminate([] { std::puts("terminating"); std::fflush(stdout); std::_Exit(5); });
    if (order > 0)
        throw Custom(1);
    return 0;
}
