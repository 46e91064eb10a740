/* SPDX-License-Identifier: Apache-2.0 */
/* One library call, chosen by the first argument; what it references is written down in ranges.sh.  Nothing else here calls the
 * library between begin and end of main(). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/uio.h>
#include <fcntl.h>
#include <unistd.h>
#include <wchar.h>

static char a[100000] = "alpha beta gamma", b[100000] = "alphabet", c[100000];
static wchar_t w[20] = L"wide", x[20];
void *volatile sink;

static int by_int(const void *p, const void *q)
{
    return *(const int *)p - *(const int *)q;
}

/* Compared without the library: the choice must not show. */
static int is(const char *p, const char *q)
{
    for (; *p && *p == *q; p++, q++)
        ;
    return *p == *q;
}
#define CASE(name) if (is(which, name))

/* References of a comparison, byte by byte: words, then bytes, of each string. */
static unsigned long references(const char *p, const char *q, size_t most)
{
    size_t n = 0;
    while (n < most && p[n] && p[n] == q[n])
        n++;
    n += n < most;
    return 2 * (n / 8 + n % 8);
}

/* Strings of all lengths that differ anywhere or nowhere, up to the end of a page and over it. */
static unsigned long compare_many(void)
{
    enum { PAGE = 4096, LONGEST = 27 };
    static char two[2][2 * PAGE] __attribute__((aligned(PAGE)));
    unsigned long all = 0;
    for (unsigned k = 0; k < 4000; k++) {
        const unsigned length = k * 7 % LONGEST, differs = k * 11 % (LONGEST + 10), most = k * 13 % (LONGEST + 20);
        char *const p = two[0] + PAGE - k % 61, *const q = two[1] + PAGE - k % 53;
        for (unsigned i = 0; i < 2 * LONGEST; i++) {
            p[i] = (char)(i < length ? 1 + (i + k) % 255 : i == length ? 0 : -1);
            q[i] = i <= length ? p[i] : 2;
        }
        q[differs] ^= 0x80;
        all += references(p, q, SIZE_MAX) + references(p, q, most);
        sink = (void *)(intptr_t)(strcmp(p, q) + strncmp(p, q, most));
    }
    return all;
}

int main(int argc, char **argv)
{
    const char *which = argv[1];
    volatile size_t n = 1000, zero = 0;
    size_t k;
    for (k = 100; k < 5000; k++)
        ((volatile char *)a)[k] = ((volatile char *)b)[k] = (char)(k % 7 + 1);
    CASE("none") sink = NULL;
    CASE("memcpy") sink = memcpy(c, a, n + 3);
    CASE("memcpy-long") sink = memcpy(c, a, n * 50);
    CASE("memcpy-none") sink = memcpy(c, a, zero);
    CASE("memmove") sink = memmove(a + 5, a, n);
    CASE("mempcpy") sink = mempcpy(c, a, n);
    CASE("memset") sink = memset(c, 1, n + 7);
    CASE("bzero") bzero(c, n);
    CASE("memcmp-equal") sink = (void *)(intptr_t)memcmp(a + 200, b + 200, n);
    CASE("memcmp") sink = (void *)(intptr_t)memcmp(a, b, n); /* differ at byte 5 */
    CASE("bcmp") sink = (void *)(intptr_t)(bcmp(a + 100, b + 101, n) != 0); /* at the first */
    CASE("memchr") sink = memchr(a, 'b', n); /* at 6 */
    CASE("memchr-not") sink = memchr(a, 255, n);
    CASE("memrchr") sink = memrchr(a, 'g', 16); /* at 11 */
    CASE("rawmemchr") sink = rawmemchr(a, 'g');
    CASE("memmem") sink = memmem(a, n, "gamma", 5); /* at 11 */
    CASE("memccpy") sink = memccpy(c, a, 'b', n);
    CASE("strlen") sink = (void *)strlen(a); /* 16 */
    CASE("strnlen") sink = (void *)strnlen(a, 10);
    CASE("strnlen-end") sink = (void *)strnlen(a, n);
    CASE("strcpy") sink = strcpy(c, a);
    CASE("stpcpy") sink = stpcpy(c, b);
    CASE("strncpy") sink = strncpy(c, b, 5);
    CASE("strncpy-pad") sink = strncpy(c, b, 100); /* 9 and 91 */
    CASE("strcat") sink = strcat(a, b); /* 17 to find the end, 9 copied */
    CASE("strncat") sink = strncat(a, b, 4); /* 17, 4, and a terminator */
    CASE("strcmp") sink = (void *)(intptr_t)strcmp(a, b); /* up to 5 */
    CASE("strcmp-many") {
        const unsigned long all = compare_many();
        if (argc > 2)
            printf("%lu", all);
    }
    CASE("strcmp-equal") sink = (void *)(intptr_t)strcmp(a, a + zero);
    CASE("strncmp") sink = (void *)(intptr_t)strncmp(a, b, 3 + zero);
    CASE("strcasecmp") sink = (void *)(intptr_t)strcasecmp("ALPHAx", b);
    CASE("strchr") sink = strchr(a, 'b');
    CASE("strchr-not") sink = strchr(a, 'z');
    CASE("strrchr") sink = strrchr(a, 'a');
    CASE("strstr") sink = strstr(a, b + 6 + zero); /* "et" at 7 */
    CASE("strstr-not") sink = strstr(b, a + zero);
    CASE("strspn") sink = (void *)strspn(a, "ahlp"); /* 5, set of 5 */
    CASE("strcspn") sink = (void *)strcspn(a, "mno"); /* 13 */
    CASE("strpbrk") sink = strpbrk(a, "xyz"); /* 17 */
    CASE("strtok") sink = strtok(a, " "); /* 6 bytes, 2 of the set, 1 written */
    CASE("strdup") sink = strdup(a);
    CASE("strtol") sink = (void *)strtol("12345 ", NULL, 10);
    CASE("wcslen") sink = (void *)wcslen(w); /* 5 of 4 bytes */
    CASE("wmemcpy") sink = wmemcpy(x, w, 7 + zero);
    CASE("sprintf") sink = (void *)(intptr_t)sprintf(c, "%s!", b); /* 4 of the format, 9, 10 written */
    CASE("snprintf") sink = (void *)(intptr_t)snprintf(c, 4, "%.3s%d", b, (int)n); /* 7, 3; 4 written */
    CASE("qsort") {
        int v[] = {3, 1};
        qsort(v, 2, sizeof *v, by_int);
        sink = v;
    }
    CASE("file") {
        int fd = open("ranges.txt", O_RDWR | O_CREAT | O_TRUNC, 0600);
        struct iovec v[] = {{c, 3}, {c + 16, 8}};
        sink = (void *)write(fd, a, n); /* 125 words */
        lseek(fd, 0, SEEK_SET);
        sink = (void *)read(fd, c, 64 + zero); /* 8 words */
        sink = (void *)readv(fd, v, 2);        /* 3 bytes, a word */
        sink = (void *)pread(fd, c, n, 996);   /* 4 bytes are left */
        sink = (void *)read(fd, c, zero);
        close(fd);
    }
    CASE("stdio") {
        FILE *f = fopen("ranges.txt", "w+");
        sink = (void *)fwrite(a, 8, 5, f);  /* 5 words */
        sink = (void *)(intptr_t)fputs(b, f); /* 9: a word and a byte */
        rewind(f);
        sink = (void *)fread(c, 1, n, f);   /* 48: 6 words */
        rewind(f);
        sink = fgets(c, 10, f);             /* 10: a word, 2 bytes */
        fclose(f);
    }
    return 0;
}
