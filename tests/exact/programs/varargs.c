/* SPDX-License-Identifier: Apache-2.0 */
/* Variable arguments: integers, doubles, structures, copies of the list, a small formatter. */
#include <stdarg.h>
#include <stdio.h>

#ifdef SMALL
#define SHARE 4 /* Valgrind is slow */
#else
#define SHARE 1
#endif

struct point { double x, y; };

__attribute__((noinline)) static long sum_int(int n, ...)
{
    va_list ap;
    long sum = 0;
    va_start(ap, n);
    for (int i = 0; i < n; i++)
        sum += va_arg(ap, int);
    va_end(ap);
    return sum;
}

__attribute__((noinline)) static double mixed(const char *types, ...)
{
    va_list ap, again;
    double sum = 0;
    va_start(ap, types);
    va_copy(again, ap);
    for (int pass = 0; pass < 2; pass++) {
        for (const char *t = types; *t; t++)
            switch (*t) {
            case 'i': sum += pass ? va_arg(again, int) : va_arg(ap, int); break;
            case 'l': sum += (double)(pass ? va_arg(again, long) : va_arg(ap, long)); break;
            case 'd': sum += pass ? va_arg(again, double) : va_arg(ap, double); break;
            case 'p': {
                struct point p = pass ? va_arg(again, struct point) : va_arg(ap, struct point);
                sum += p.x * p.y;
                break;
            }
            case 's': sum += *(pass ? va_arg(again, char *) : va_arg(ap, char *)); break;
            }
    }
    va_end(again);
    va_end(ap);
    return sum;
}

static char out[256];

static char *put_number(char *to, unsigned long v, unsigned base)
{
    char digits[24];
    int n = 0;
    do
        digits[n++] = "0123456789abcdef"[v % base];
    while (v /= base);
    while (n)
        *to++ = digits[--n];
    return to;
}

static int vformat(const char *format, va_list ap)
{
    char *to = out;
    for (; *format; format++) {
        if (*format != '%') {
            *to++ = *format;
            continue;
        }
        switch (*++format) {
        case 'd': {
            int v = va_arg(ap, int);
            if (v < 0)
                *to++ = '-';
            to = put_number(to, v < 0 ? 0ul - (unsigned long)v : (unsigned long)v, 10);
            break;
        }
        case 'x': to = put_number(to, va_arg(ap, unsigned long), 16); break;
        case 's':
            for (const char *s = va_arg(ap, const char *); *s; s++)
                *to++ = *s;
            break;
        case 'c': *to++ = (char)va_arg(ap, int); break;
        }
    }
    *to = 0;
    return (int)(to - out);
}

__attribute__((noinline)) static int format(const char *f, ...)
{
    va_list ap;
    va_start(ap, f);
    int n = vformat(f, ap);
    va_end(ap);
    return n;
}

int main(void)
{
    long sum = 0;
    double d = 0;
    for (int i = 0; i < 1500 / SHARE; i++) {
        sum += sum_int(9, i, 2, 3, 4, i, 6, 7, 8, i);
        d += mixed("idlpdsdididdddddi", i, 0.5, 3l, (struct point){1.5, i}, 2.5, "q", 1.0, i, 1.0, 7, 0.25, 1.0, 2.0, 3.0, 4.0, 5.0, i);
        sum += format("%d is %x and %s%c", i - 700, (unsigned long)i * 977, "text", 'a' + i % 26);
    }
    printf("%ld %g %s\n", sum, d, out);
    return 0;
}
