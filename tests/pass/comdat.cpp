// SPDX-License-Identifier: Apache-2.0
// A function of a section group brings its schema into the same group.
// RUN: -O0 -std=c++17
// CHECK: .section .peet.schema,"aoG",@progbits,.L{{.*}},_ZN1SC2Ev,comdat
// CHECK: .section .peet.schema,"aoG",@progbits,.L{{.*}},_Z6squareIiET_S0_,comdat
struct S {
    int v;
    inline S() : v(3) {}
};
template <class T> T square(T x)
{
    return x * x;
}
int use()
{
    S s;
    return square(s.v);
}
