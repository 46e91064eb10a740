/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known N: main() has a loop of N rounds, each with one direct call, one indirect call and one conditional branch, and returns at its end.  So a trace of
 * it has N calls, N indirect calls, 2 N returns and main()'s, and N conditional branches, whatever the compiler makes of the rest.  N has
 * five digits, so that no loop is needed to read it.
 */
static volatile int sink;

__attribute__((noinline)) static void direct(int round)
{
    sink = round;
}

__attribute__((noinline)) static void indirect(int round)
{
    sink += round;
}

static void (*volatile callee)(int) = indirect;

int main(int argc, char **argv)
{
    const char *digits = argv[argc - 1];
    const int rounds = (digits[0] - '0') * 10000 + (digits[1] - '0') * 1000 + (digits[2] - '0') * 100 +
        (digits[3] - '0') * 10 + digits[4] - '0';
    int round = 0;

    do {
        direct(round);
        callee(round);
    } while (++round < rounds);
    return 0;
}
