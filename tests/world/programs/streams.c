/* SPDX-License-Identifier: Apache-2.0 */
/* Streams over pipes between threads, and what printf and scanf make of their arguments. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

static int ends[2];
enum { LINES = 300 };

static void *writer(void *arg)
{
    FILE *f = fdopen(ends[1], "w");
    int mode = (int)(intptr_t)arg;
    if (mode % 3 == 1)
        setvbuf(f, NULL, _IOLBF, 0);
    else if (mode % 3 == 2)
        setvbuf(f, NULL, _IONBF, 0);
    for (int k = 0; k < LINES; k++) {
        switch (k % 5) {
        case 0:
            fprintf(f, "%d %s %.3f\n", k, "formatted", k / 8.0);
            break;
        case 1:
            fputs("a line by fputs, rather long, so that buffers fill at odd places\n", f);
            break;
        case 2:
            for (const char *p = "character by character"; *p; p++)
                k % 2 ? fputc(*p, f) : putc_unlocked(*p, f);
            putc('\n', f);
            break;
        case 3: {
            static char big[9000];
            memset(big, 'b', sizeof big);
            fwrite(big, 1, k % 7 ? (size_t)k : sizeof big, f);
            putc('\n', f);
            break;
        }
        default:
            fprintf(f, "%*d|%-*s|%5.2s\n", 8, k, 12, "left", "cut");
            if (k % 100 == 4)
                fflush(f);
        }
    }
    fclose(f);
    return NULL;
}

static uint64_t sum;

static void take(const char *bytes, size_t n)
{
    for (size_t k = 0; k < n; k++)
        sum = sum * 1099511628211u + (unsigned char)bytes[k];
}

static void over_pipe(int mode)
{
    char line[20000], *grown = NULL;
    size_t room = 0, all = 0;
    pthread_t t;
    pipe(ends);
    fcntl(ends[0], F_SETPIPE_SZ, 4096); /* full again and again */
    pthread_create(&t, NULL, writer, (void *)(intptr_t)mode);
    FILE *f = fdopen(ends[0], "r");
    sum = 0;
    for (int k = 0;; k++) {
        ssize_t n;
        if (mode / 3 == 0) {
            if (!fgets(line, k % 3 ? 200 : sizeof line, f))
                break;
            take(line, n = (ssize_t)strlen(line));
        } else if (mode / 3 == 1) {
            if ((n = getline(&grown, &room, f)) < 0)
                break;
            take(grown, (size_t)n);
        } else if (mode / 3 == 2) {
            if ((n = (ssize_t)fread(line, 1, 1 + (size_t)k * 7 % sizeof line, f)) == 0)
                break;
            take(line, (size_t)n);
        } else {
            int c = k % 2 ? getc(f) : getc_unlocked(f);
            if (c == EOF)
                break;
            line[0] = (char)c;
            take(line, n = 1);
        }
        all += (size_t)n;
    }
    printf("mode %d: %zu %llx eof %d error %d\n", mode, all, (unsigned long long)sum, feof(f) != 0, ferror(f) != 0);
    fclose(f);
    pthread_join(t, NULL);
    free(grown);
}

static void *numbers(void *arg)
{
    FILE *f = fdopen(ends[1], "w");
    (void)arg;
    for (int k = 0; k < 500; k++) {
        fprintf(f, "%d %d.5 word%d\n", k, k, k);
        if (k % 10 == 0)
            fflush(f);
    }
    fclose(f);
    return NULL;
}

static void scanned(void)
{
    pthread_t t;
    int n, count = 0, bad = 0;
    double x;
    char word[20];
    pipe(ends);
    pthread_create(&t, NULL, numbers, NULL);
    FILE *f = fdopen(ends[0], "r");
    while (fscanf(f, "%d %lf %19s", &n, &x, word) == 3) {
        bad += n != count || x != count + 0.5 || atoi(word + 4) != count;
        count++;
    }
    printf("scanned %d, %d wrong\n", count, bad);
    fclose(f);
    pthread_join(t, NULL);
}

static int checked(char *to, size_t room, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(to, room, format, args);
    va_end(args);
    return n;
}

static void formats(void)
{
    char text[200], *made, set[20];
    int n, m, o;
    short h;
    signed char c;
    long l;
    long double ld;
    printf("%d %5d %-5d| %05d %+d %x %o %llu %hhd\n", 1, 2, 3, 4, 5, 255, 8, 18446744073709551615ull, (signed char)300);
    printf("%f %.2e %g %Lf %a\n", 1.5, 12345.678, 0.0001, 2.25L, 1.0);
    printf("%s %.3s %10s| %-10s| %c %% %p\n", "string", "precision", "right", "left", 'c', (void *)NULL);
    printf("%2$s %1$s\n", "second", "first");
    printf("%ls %lc\n", L"wide", (wint_t)L'w');
    printf("%n%s%n\n", &n, "counted", &m);
    printf("%d %d\n", n, m);
    printf("%s|%d\n", (char *)NULL, 1);
    n = checked(text, 8, "%s %d", "cut short", 42);
    printf("%d %s|\n", n, text);
    printf("%d ", sprintf(text, "%*.*f", 10, 3, 3.14159));
    puts(text);
    printf("%d ", asprintf(&made, "%s-%zu-%td", "made", (size_t)7, (ptrdiff_t)-7));
    puts(made);
    free(made);
    dprintf(1, "%s", "");
    fflush(stdout);
    dprintf(1, "by %s\n", "dprintf");
    printf("%d: ", sscanf("12 0x1f word 3.5 -7 99 [abc]x 123456", "%d %i %s %Lf %hhd %hd [%[a-c]]x %3ld", &n, &m, text, &ld, &c, &h, set, &l));
    printf("%d %d %s %Lf %d %d %s %ld\n", n, m, text, ld, c, h, set, l);
    o = sscanf("5 six", "%d %d", &n, &m);
    printf("%d %d\n", o, n);
    printf("%d", sscanf("skip 8", "%*s %d%n", &n, &m));
    printf(" %d %d\n", n, m);
    printf("%d\n", sscanf("", "%d", &n));
    l = strtol("  -42xyz", &made, 10);
    printf("%ld %s %lu %f\n", l, made, strtoul("ffz", NULL, 16), strtod("2.5e3", NULL));
    errno = 0;
    made = NULL;
    l = strtol("1", &made, 99);
    printf("%ld %s\n", l, strerror(errno));
}

int main(void)
{
    for (int mode = 0; mode < 12; mode++)
        over_pipe(mode);
    scanned();
    formats();
    FILE *f = tmpfile();
    for (int k = 0; k < 3000; k++)
        fprintf(f, "%d\n", k);
    rewind(f);
    int k = 0, n;
    while (fscanf(f, "%d", &n) == 1 && n == k)
        k++;
    printf("file %d\n", k);
    fseek(f, 10, SEEK_SET);
    n = fgetc(f);
    printf("%d %d\n", n, ungetc('x', f));
    n = fgetc(f);
    printf("%c%c\n", n, fgetc(f));
    fclose(f);
    return 0;
}
