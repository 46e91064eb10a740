// SPDX-License-Identifier: Apache-2.0
// Recording code between a comparison and its use must leave the flags alone: only mov and lea.
// RUN: -O2
// CHECK-LABEL: both:
// CHECK: ucomisd
// CHECK-NOT: {{(add|sub|inc|dec|xor|and|or|test)[bwlq]}}
// CHECK: j{{ne|p|e|np}}
void leave(void);
void other(void);
void both(double a, double b)
{
    if (a == b)
        leave();
    else
        other();
}
