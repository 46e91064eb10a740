/* SPDX-License-Identifier: Apache-2.0 */
/* Names of C++ functions as people read them: symbols after the Itanium C++ ABI. */
#include "names.h"
#include "suite.h"

#include <string.h>

static const struct {
    const char *symbol, *shown;
} cases[] = {
    {"main", "main"},
    {"_Znot_a_name", "_Znot_a_name"},
    {"", ""},
    {"_Z1fiPKc", "f(int, char const*)"},
    {"_ZN2ns1A3addEv", "ns::A::add()"},
    {"_ZNK2ns1A3getEv", "ns::A::get() const"},
    {"_ZN12_GLOBAL__N_11fEi", "(anonymous namespace)::f(int)"},
    /* the type of the result goes */
    {"_Z5totalIdET_RKSt6vectorIS0_SaIS0_EE", "total<double>(std::vector<double, ...> const&)"},
    {"_Z5twicePFivE", "twice(int (*)())"},
    {"_ZN2ns4makeIiEESt6vectorIT_SaIS2_EEv", "ns::make<int>()"},
    /* long arguments */
    {"_ZNSt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEiSt4lessIS5_ESaISt4pairIKS5_iEEEixEOS5_",
        "std::map<...>::operator[](std::basic_string<char, ...>&&)"},
    {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, ...>::push_back(int const&)"},
    /* operators have brackets of their own */
    {"_ZlsRSoRK1A", "operator<<(std::ostream&, A const&)"},
    {"_ZN1AltERKS_", "A::operator<(A const&)"},
    {"_ZN1AptEv", "A::operator->()"},
    {"_ZN1AclEii", "A::operator()(int, int)"},
    {"_ZN1AixEi", "A::operator[](int)"},
    {"_ZN1AcvbEv", "A::operator bool()"},
    {"_Znwm", "operator new(unsigned long)"},
    {"_ZN1AltIiEEbT_", "A::operator< <int>(int)"},
    {"_ZssRK1AS1_", "operator<=>(A const&, A const&)"},
    /* lambdas, clones, thunks */
    {"_ZZ4mainENKUlddE_clEdd", "main::{lambda(double, double)#1}::operator()(double, double) const"},
    {"_Z4slowv.cold", "slow() [clone .cold]"},
    {"_ZThn8_N1B1fEv", "non-virtual thunk to B::f()"},
    {"_ZGVZ4mainE1a", "guard variable for main::a"},
};

static void test_names(void)
{
    char buffer[200];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *shown = peet_cli_name(cases[i].symbol, buffer, sizeof(buffer));
        if (strcmp(shown, cases[i].shown) != 0)
            fprintf(stderr, "%s: '%s', not '%s'\n", cases[i].symbol, shown, cases[i].shown);
        CU_ASSERT_STRING_EQUAL(shown, cases[i].shown);
    }
}

static void test_room(void)
{
    char buffer[40];
    memset(buffer, 'x', sizeof(buffer));
    CU_ASSERT_STRING_EQUAL(peet_cli_name("_ZN2ns1A3addEv", buffer, 13), "ns::A::add()");
    CU_ASSERT_STRING_EQUAL(peet_cli_name("_ZN2ns1A3addEv", buffer, 12), "_ZN2ns1A3addEv");
    CU_ASSERT_EQUAL(buffer[13], 'x');
}

static void test_in_text(void)
{
    static const char *const texts[][2] = {{"_ZN2ns1A3addEv (a.cpp:12)", "ns::A::add() (a.cpp:12)"},
        {"thread 2 reads (_Z1fv)", "thread 2 reads (f())"}, {"_Z1fv, _Z1gv.cold", "f(), g() [clone .cold]"},
        {"_Znot_a_name (a.c:1)", "_Znot_a_name (a.c:1)"}, {"a_Z1fv /x/_Z1fv", "a_Z1fv /x/_Z1fv"}, {"", ""}};
    char buffer[60];
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        CU_ASSERT_STRING_EQUAL(peet_cli_names_in(texts[i][0], buffer, sizeof(buffer)), texts[i][1]);
    CU_ASSERT_STRING_EQUAL(peet_cli_names_in("_Z1fv (1)", buffer, 7), "_Z1fv (1)"); /* no room */
}

static void test_all(void)
{
    json_t *value = json_pack("{s:[s, i, {s:s}], s:s}", "list", "_Z1fv", 3, "deep", "_Z1gv", "_Z1hv", "plain");
    peet_cli_name_all(value);
    json_t *wanted = json_pack("{s:[s, i, {s:s}], s:s}", "list", "f()", 3, "deep", "g()", "_Z1hv", "plain");
    CU_ASSERT(json_equal(value, wanted));
    json_decref(value);
    json_decref(wanted);
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"names", test_names}, {"room", test_room}, {"in a text", test_in_text}, {"all texts of a value", test_all}};
    return RUN_SUITE("names", tests);
}
