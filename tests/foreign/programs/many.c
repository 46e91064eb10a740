/* SPDX-License-Identifier: Apache-2.0 */
/* Many programs, each of which lives in some part of the C library or of libm: WORK says which one this is. */
#define _GNU_SOURCE
#include "regions.h"

#include <complex.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <regex.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <wchar.h>
#include <wctype.h>

static double total;
static unsigned long sum;
static char text[4096] __attribute__((aligned(4096))), other[4096] __attribute__((aligned(4096)));

static unsigned next_number(void)
{
    static unsigned number = 1;
    return number = number * 1103515245u + 12345u;
}

static void powers(int rounds)
{
    for (int k = 1; k < 100 * rounds; k++)
        total += pow(k / 7.0, 1.37) + powf((float)k, 0.3f) + exp2(k % 30) + log1p(k) + cbrt(k);
}

static void trigonometry(int rounds)
{
    for (int k = 1; k < 50 * rounds; k++)
        total += sin(k) + cos(k * 1e5) + tan(k / 9.0) + atan2(k, 7) + asin(1.0 / k) + sinf((float)k) + cosf((float)k);
}

static void hyperbolic(int rounds)
{
    for (int k = 1; k < 50 * rounds; k++)
        total +=
            sinh(k / 50.0) + tanh(k / 90.0) + acosh(k + 1) + erf(k / 100.0) + tgamma(1 + k % 10) + lgamma(k) + j0(k);
}

static void rounding(int rounds)
{
    for (int k = 1; k < 100 * rounds; k++) {
        int exponent;
        total += fmod(k * 3.7, 1.3) + remainder(k, 0.7) + frexp(k, &exponent) + ldexp(k, -3) + hypot(k, 4) +
            nearbyint(k / 3.0);
        total += nextafter(k, 0) + (double)lrint(k / 7.0) + logb(k) + scalbn(k, 3) + fdim(k, 10) + exponent;
    }
}

static void complex_numbers(int rounds)
{
    for (int k = 1; k < 40 * rounds; k++) {
        double complex z = k / 3.0 + I / k;
        total += creal(cexp(z / 100) + csqrt(z) + clog(z)) + cabs(z) + carg(z) + cimag(cpow(z, 0.5));
    }
}

static void long_doubles(int rounds)
{
    for (int k = 1; k < 60 * rounds; k++)
        total += (double)(sinl(k) + expl(k / 100.0L) + logl(k) + sqrtl(k) + powl(k, 0.7L));
}

static void integers_as_text(int rounds)
{
    for (int k = 0; k < 40 * rounds; k++)
        sum += (unsigned long)snprintf(text, sizeof text, "%d %5u %-8lx|%o %+d %llu %jd %zu %hhd %p", k, k * 7u,
            k * 99l, k, -k, k * 123456789012ull, (intmax_t)k, sizeof k, k, (void *)(long)k);
}

static void reals_as_text(int rounds)
{
    for (int k = 0; k < 20 * rounds; k++)
        sum += (unsigned long)snprintf(text, sizeof text, "%f %e %g %.10f %a %Lf %12.3f %-12.1e", k / 3.0, k * 1e20,
            k / 1e5, k / 7.0, k / 9.0, k / 11.0L, -k / 13.0, k * 1e-200);
}

static void text_as_numbers(int rounds)
{
    for (int k = 0; k < 30 * rounds; k++) {
        int a, n;
        double b;
        char word[20];
        snprintf(text, sizeof text, "%d %.3f word%d 0x%x", k, k / 8.0, k, k);
        n = sscanf(text, "%d %lf %19s", &a, &b, word);
        sum += (unsigned long)(n + a) + strtoul(strrchr(text, ' ') + 1, NULL, 16) + (unsigned long)atoi(text) +
            (unsigned long)strtod(text, NULL);
    }
}

static void searches(int rounds)
{
    memset(text, 'a', 2000);
    text[2000] = 0;
    for (int k = 0; k < 20 * rounds; k++) {
        text[next_number() >> 8 & 1023] ^= 3;
        sum += (unsigned long)memchr(text, 'b', 2000) + strcspn(text, "xyz") +
            (unsigned long)(strpbrk(text, "bc") != NULL);
        sum += (unsigned long)(memmem(text, 2000, "abab", 4) != NULL) + (unsigned long)(strstr(text, "bb") != NULL) +
            strnlen(text, 1500);
        sum += (unsigned long)(strcasestr(text, "AB") != NULL) + (unsigned long)(memrchr(text, 'b', 2000) != NULL) +
            (unsigned long)(rawmemchr(text, 0) != NULL);
    }
}

static void copies(int rounds)
{
    for (int k = 0; k < 40 * rounds; k++) {
        const size_t n = next_number() >> 10 & 1023;
        memset(text, k, n + 1);
        text[n] = 0;
        memcpy(other, text, n + 1);
        memmove(other + 5, other, n + 1);
        sum += (unsigned long)(stpcpy(other + 2048, text) - other) + (unsigned long)(strncpy(other, text, 700) != NULL);
        strcat(strcpy(other, "begin "), text);
        sum += (unsigned long)(mempcpy(other, text, n / 2) != NULL) + strlen(strncat(strcpy(other, "x"), text, 10));
    }
}

static void comparisons(int rounds)
{
    for (int k = 0; k < 60 * rounds; k++) {
        const size_t n = next_number() >> 10 & 511;
        memset(text, 'q', 1000), memset(other, 'q', 1000);
        text[1000] = other[1000] = 0;
        text[n] = 'Q';
        sum += (unsigned long)(strcmp(text, other) + strncmp(text, other, 300) + memcmp(text, other, 1000) +
            strcasecmp(text, other));
        sum += (unsigned long)(strncasecmp(text, other, 400) + strverscmp("file10", k % 2 ? "file9" : "file11") +
            strcoll(text, other));
    }
}

static int by_number(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return x < y ? -1 : x > y;
}

static int by_number_and(const void *a, const void *b, void *what)
{
    ++*(unsigned long *)what;
    return by_number(a, b);
}

static void sorting(int rounds)
{
    static unsigned numbers[400];
    const size_t n = rounds < 20 ? 20 * (size_t)rounds : 400;
    for (size_t k = 0; k < n; k++)
        numbers[k] = next_number();
    qsort(numbers, n, sizeof *numbers, by_number);
    for (size_t k = 0; k < n; k++)
        sum += bsearch(&numbers[k], numbers, n, sizeof *numbers, by_number) != NULL;
    for (size_t k = 0; k < n; k++)
        numbers[k] = next_number();
    qsort_r(numbers, n, sizeof *numbers, by_number_and, &sum);
    sum += (unsigned long)(lfind(&numbers[n / 2], numbers, &(size_t){n}, sizeof *numbers, by_number) != NULL);
}

static void streams_in_memory(int rounds)
{
    FILE *f = fmemopen(text, sizeof text, "w+");
    for (int k = 0; k < 20 * rounds && f; k++) {
        rewind(f);
        fprintf(f, "line %d\n", k);
        fputs("and another one\n", f);
        fputc('x', f);
        fflush(f);
        rewind(f);
        while (fgets(other, 100, f) && other[0])
            sum += strlen(other);
    }
    if (f)
        fclose(f);
}

static void streams_in_files(int rounds)
{
    FILE *f = tmpfile();
    char *line = NULL;
    size_t room = 0;
    for (int k = 0; k < 30 * rounds && f; k++)
        fprintf(f, "%d of %d\n", k, rounds);
    if (f) {
        rewind(f);
        while (getline(&line, &room, f) > 0)
            sum += strlen(line) + (unsigned long)getc(f);
        sum += (unsigned long)ftell(f) + fread(text, 1, 100, f);
        fclose(f);
    }
    free(line);
}

static void expressions(int rounds)
{
    regex_t e;
    regmatch_t found[3];
    if (regcomp(&e, "([a-z]+)-([0-9]+)", REG_EXTENDED))
        return;
    for (int k = 0; k < 4 * rounds; k++) {
        snprintf(text, sizeof text, "some words, then word-%d and more", k);
        sum += (unsigned long)(regexec(&e, text, 3, found, 0) == 0 ? found[2].rm_so : 0);
    }
    regfree(&e);
}

static void calendars(int rounds)
{
    for (int k = 0; k < 30 * rounds; k++) {
        struct tm tm;
        const time_t t = 1700000000 + k * 86399l;
        gmtime_r(&t, &tm);
        sum += strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %a %B %j %U", &tm) + (unsigned long)timegm(&tm);
        sum += (unsigned long)(strptime("2024-02-29 12:34:56", "%Y-%m-%d %H:%M:%S", &tm) != NULL) +
            (unsigned long)difftime(t, 0);
        sum += strlen(asctime_r(&tm, other));
    }
}

static void wide_text(int rounds)
{
    wchar_t wide[200], copy[200];
    for (int k = 0; k < 20 * rounds; k++) {
        sum += (unsigned long)swprintf(wide, 200, L"%d wide %ls %.2f", k, L"text", k / 3.0);
        wcscpy(copy, wide);
        sum += wcslen(copy) + (unsigned long)(wcsstr(copy, L"text") != NULL) + (unsigned long)wcscmp(wide, copy) +
            (unsigned long)wcstol(copy, NULL, 10);
        sum += wcstombs(text, wide, sizeof text) + mbstowcs(copy, text, 200) + (unsigned long)towupper(copy[3]);
    }
}

static void characters(int rounds)
{
    for (int k = 0; k < 100 * rounds; k++)
        sum += (unsigned long)(isalpha(k & 127) + toupper(k & 127) + isspace(k & 127) + ispunct(k & 127) +
            tolower(k & 127));
    struct lconv *conventions = localeconv();
    sum += strlen(conventions->decimal_point) + strlen(nl_langinfo(DAY_1)) + strlen(strerror(ENOENT));
    sum += (unsigned long)(setlocale(LC_ALL, "C") != NULL);
}

static void blocks(int rounds)
{
    static void *held[64];
    for (int k = 0; k < 100 * rounds; k++) {
        const unsigned n = next_number(), at = n >> 16 & 63;
        if (n & 1)
            free(held[at]), held[at] = malloc((n >> 4 & 0x3ff) + 1);
        else if (n & 2)
            held[at] = realloc(held[at], (n >> 4 & 0x7ff) + 1);
        else
            free(held[at]), held[at] = calloc((n >> 4 & 63) + 1, 8);
        sum += held[at] != NULL;
    }
    for (int k = 0; k < 64; k++)
        free(held[k]), held[k] = NULL;
}

static void trees(int rounds)
{
    static unsigned keys[400];
    void *root = NULL;
    const int n = rounds < 20 ? 20 * rounds : 400;
    for (int k = 0; k < n; k++) {
        keys[k] = next_number();
        sum += tsearch(&keys[k], &root, by_number) != NULL;
    }
    for (int k = 0; k < n; k++)
        sum += (tfind(&keys[k], &root, by_number) != NULL) + (tdelete(&keys[k], &root, by_number) != NULL);
}

static void random_numbers(int rounds)
{
    unsigned short state[3] = {1, 2, 3};
    srandom(7);
    srand48(9);
    for (int k = 0; k < 100 * rounds; k++)
        sum +=
            (unsigned long)random() + (unsigned long)rand() + (unsigned long)lrand48() + (unsigned long)nrand48(state),
            total += drand48();
}

static void ignored(int signal)
{
    (void)signal;
}

static void handlers(int rounds)
{
    struct sigaction action = {.sa_handler = ignored};
    for (int k = 0; k < 100 * rounds; k++) {
        sigaddset(&action.sa_mask, 1 + k % 30);
        sum += (unsigned long)sigaction(k % 2 ? SIGUSR1 : SIGINT, &action, NULL);
    }
}

static void work(int rounds)
{
    WORK(rounds);
}

void measured(int rounds)
{
    work(rounds);
}

int main(int argc, char **argv)
{
    (void)powers, (void)trigonometry, (void)hyperbolic, (void)rounding, (void)complex_numbers, (void)long_doubles;
    (void)integers_as_text, (void)reals_as_text, (void)text_as_numbers, (void)searches, (void)copies, (void)comparisons;
    (void)sorting, (void)streams_in_memory, (void)streams_in_files, (void)expressions, (void)calendars, (void)wide_text;
    (void)characters, (void)blocks, (void)trees, (void)random_numbers, (void)handlers;
    MEASURE(argc, argv);
    printf("%d\n", total != total + 1 && sum != 1);
    return 0;
}
