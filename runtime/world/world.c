/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world outside the subject: which functions of the C library lead where.  world_entry.S has the entries, the
 * other files world_*.c what they lead to under simulation.  In a plain run an entry leads to the C library's function
 * from its first call on; under simulation all are bound before the subject's first constructor of the executable runs.
 */
#include "world/world.h"
#include "views/domain_internal.h"

#include <dlfcn.h>
#include <peet/module.h>
#include "program/program.h"

static int simulating;
static int noting; /* recorded on the computer's own processors */

/* Noted there as well: memory, strings, sorting; what is formatted. */
static int is_noted(unsigned which)
{
    return noting &&
        (which <= PEET__WORLD_qsort_r || (which >= PEET__WORLD_printf && which <= PEET__WORLD___vasprintf_chk) ||
            which == PEET__WORLD_puts || which == PEET__WORLD_fputs || which == PEET__WORLD_fputs_unlocked);
}

/* The kernel reads the set before it looks at what to do with it (Abseil asks so, too). */
int peet__world_readable(const void *at, size_t bytes)
{
    enum { NOTHING = -1, SET_BYTES = 8 };
    const uint64_t ends[] = {(uint64_t)at, (uint64_t)at + bytes - 1};
    for (int k = 0; k < 2; k++)
        if (peet__raw_syscall(SYS_rt_sigprocmask, NOTHING, (long)(ends[k] & -(uint64_t)SET_BYTES), 0, SET_BYTES, 0,
                0) == -EFAULT)
            return 0;
    return 1;
}

int peet__ranges = 1;

/* AddressSanitizer's allocator sets memory while it holds its locks: a note may suspend the context there, and the host
 * would wait for the lock for ever.  A subject has that allocator if the sanitizer comes before this library. */
static int ranges_can_be_noted(void)
{
#ifdef PEET_SANITIZED
    Dl_info theirs, ours;
    return !dladdr(dlsym(RTLD_DEFAULT, "malloc"), &theirs) || !dladdr(&simulating, &ours) ||
        theirs.dli_fbase == ours.dli_fbase;
#else
    return 1;
#endif
}

#define PEET_X(name) extern const char peet__sim_##name[];
PEET__WORLD(PEET_X)
#undef PEET_X

static const struct {
    const char *name;
    const void *simulated;
} functions[] = {
#define PEET_X(name) {#name, peet__sim_##name},
    PEET__WORLD(PEET_X)
#undef PEET_X
};

const char *peet__world_name(unsigned which)
{
    return functions[which].name;
}

static void bind(unsigned which)
{
    void *real = peet__world_lookup(functions[which].name);
    int of_cxx = functions[which].name[0] == '_' && functions[which].name[1] == 'Z'; /* which do without */
    peet__world_real[which] = real;
    if (real || of_cxx)
        peet__world_to[which] = simulating || !real || is_noted(which) ? (void *)functions[which].simulated : real;
}

void *peet__world_bind(unsigned which)
{
    unsigned k = which / 2;
    bind(k);
    if (!peet__world_to[k])
        peet__die(127, "the C library does not define %s", functions[k].name);
    return which & 1 ? peet__world_real[k] : peet__world_to[k];
}

void peet__world_begin(void)
{
    simulating = peet__rt.capturing;
    noting = peet__real_on();
    peet__ranges = ranges_can_be_noted();
    for (unsigned k = 0; k < (simulating || noting ? PEET__WORLD_COUNT : 0); k++)
        bind(k);
}

PUBLIC void peet_rt_note_ranges(int on)
{
    peet__ranges = on && ranges_can_be_noted();
}

void peet__range_slowly(unsigned what, const void *destination, const void *source, size_t bytes)
{
    uint64_t to = (uint64_t)destination, from = (uint64_t)source;
    if (peet__domains_on() && to)
        peet__domain_stored_outside(to, bytes);
    if (!peet__ranges)
        return;
    while (bytes) {
        const size_t piece = bytes < PEET__PIECE_BYTES ? bytes : PEET__PIECE_BYTES;
        const uint64_t args[] = {what, to, from, piece};
        if (peet__real_on())
            peet_rt_real_note(PEET_ABSTRACT_RANGE, 4, args);
        else if (peet__range_room(1))
            peet__range_write(what, to, from, piece);
        else
            peet_rt_note(PEET_ABSTRACT_RANGE, 4, args);
        bytes -= piece;
        to += piece;
        from += piece;
        what |= PEET_SYNTHETIC_MORE;
    }
}

void peet__syscall_note(long number, size_t bytes)
{
    uint64_t args[] = {(uint64_t)number, bytes};
    peet_rt_note(PEET_ABSTRACT_SYSCALL, 2, args);
}

__attribute__((weak, visibility("hidden"))) void peet__cancellation_point(void);

void peet__world_cancellation_point(void)
{
    if (peet__cancellation_point)
        peet__cancellation_point();
}
