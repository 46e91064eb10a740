/* SPDX-License-Identifier: Apache-2.0 */
/* Weak and aliased symbols, hidden visibility, common symbols, sections of one's own. */
#include <stdio.h>

extern int missing(int) __attribute__((weak));
__attribute__((weak)) int replaceable(int x) { return x + 1; }
int original(int x);
int original(int x) { return x * 2; }
int alias(int x) __attribute__((alias("original")));
__attribute__((visibility("hidden"))) int hidden(int x);
int hidden(int x) { return x ^ 3; }
__attribute__((section("text.mine"))) static int elsewhere(int x) { return x - 9; }
__attribute__((cold, noinline)) static int unlikely(int x) { return x % 17; }
__attribute__((hot, noinline)) static int likely(int x) { return x & 31 ? x : unlikely(x); }
int shared_counter;
__attribute__((section("mydata"))) int placed[4] = {1, 2, 3, 4};
extern int __start_mydata[], __stop_mydata[];

int main(void)
{
    long sum = 0;
    for (int i = 0; i < 200; i++) {
        sum += missing ? missing(i) : 7;
        sum += replaceable(i) + alias(i) + hidden(i) + elsewhere(i) + likely(i);
        shared_counter += i;
    }
    for (int *p = __start_mydata; p < __stop_mydata; p++)
        sum += *p;
    printf("%ld %d\n", sum, shared_counter);
    return 0;
}
