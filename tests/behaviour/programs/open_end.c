/* SPDX-License-Identifier: Apache-2.0 */
/* A function whose body cannot be reached has no end, and goes on with the next one, as gcc's tests 20031003-1 and 921202-1 do. */
int main(void) { __builtin_unreachable(); }
int behind(void) { return 64; }
