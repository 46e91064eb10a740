/* SPDX-License-Identifier: Apache-2.0 */
/* A gibibyte of shared memory and 64 views of it, each of which stores to some pages of its own: what that takes. */
#include "ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t peet_rt_event(unsigned type, unsigned nargs, const uint64_t *args);

static uint64_t ask(uint64_t what, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t args[4] = {what, a, b, c};
    return peet_rt_event(19, 4, args);
}

/* KiB of a line of /proc/self/status. */
static long status(const char *name)
{
    char line[200];
    long value = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0)
            value = atol(line + strlen(name) + 1);
    fclose(f);
    return value;
}

enum { PAGE = 4096, VIEWS = 64, STORES = 50 };
static const size_t bytes = 1ul << 30;

int main(void)
{
    volatile unsigned char *memory = malloc(bytes);
    long bad = 0;
    for (size_t at = 0; at < bytes; at += PAGE)
        memory[at] = 1;
    const long anonymous = status("RssAnon"), tables = status("VmPTE");
    for (uint64_t v = 1; v < VIEWS; v++) {
        ask(ASK_GO, v, 0, 0);
        for (size_t k = 0; k < STORES; k++)
            memory[(k * 5003 + v * 37) % (bytes / PAGE) * PAGE] = (unsigned char)(100 + v);
    }
    for (uint64_t v = 1; v < VIEWS; v++) {
        ask(ASK_GO, v, 0, 0);
        for (size_t k = 0; k < STORES; k++)
            bad += memory[(k * 5003 + v * 37) % (bytes / PAGE) * PAGE] != 100 + v;
        bad += memory[(v + 12345) * PAGE] != 1;
    }
    ask(ASK_GO, 0, 0, 0);
    for (size_t at = 0; at < bytes; at += PAGE)
        bad += memory[at] != 1;
    uint64_t pages = 0;
    for (uint64_t v = 1; v < VIEWS; v++)
        pages += ask(ASK_PAGES, v, 0, 0);
    const long copies = (long)(pages * PAGE / 1024), grown = status("RssAnon") - anonymous, more = status("VmPTE") - tables;
    printf("%ld wrong, %lu pages copied, %ld KiB for %ld KiB of copies, %ld KiB of page tables\n", bad, (unsigned long)pages, grown, copies, more);
    return bad || pages < (VIEWS - 1) * STORES || pages > (VIEWS - 1) * (STORES + 10) || grown > copies + copies / 2 + 16384 || more > 65536;
}
