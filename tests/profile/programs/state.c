/* SPDX-License-Identifier: Apache-2.0 */
/* A state machine by tail calls within a parser that calls itself. */
#include <stdio.h>
#define NOINLINE __attribute__((noinline))
static const char *at;
static NOINLINE long sum(void);
static NOINLINE long digits(long value) { while (*at >= '0' && *at <= '9') value = value * 10 + *at++ - '0'; return value; }
static NOINLINE long number(void) { return digits(0); }
static NOINLINE long group(void) { at++; long v = sum(); at++; return v; }
static NOINLINE long factor(void) { return *at == '(' ? group() : number(); }
static NOINLINE long product(void) { long v = factor(); while (*at == '*') { at++; v *= factor(); } return v; }
static NOINLINE long sum(void) { long v = product(); while (*at == '+') { at++; v += product(); } return v; }
static NOINLINE long parse(const char *text) { at = text; return sum(); }
int main(void)
{
    long total = 0;
    for (int i = 0; i < 5; i++)
        total += parse("1+2*(3+4*(5+6))*(7+(8*9))+10*(11)") + parse("((((((2))))))");
    printf("%ld\n", total);
    return 0;
}
