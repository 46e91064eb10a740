/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime's side of foreign.h: the fixed places, misses, and what the runtime itself calls of foreign code, which
 * is not the program's.  For that, each function in this library's table of addresses leads to a piece of code that
 * leaves the subject's world, calls, and comes back:
 *
 *     cmpq $0, %fs:world;  jne 1f;  jmp *function
 *  1: popq %fs:from;  movq $0, %fs:world;  call *function
 *     (world = on);  pushq %fs:from;  ret
 *
 * Arguments on the stack stay where they are.  No such function may call the subject back: those that do are recorded
 * as if the program had called them.
 */
#include "arch/x86_64/frame.h"
#include "foreign/foreign.h"
#include "slots.h"
#include "world/world.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <peet/error.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { STACK_BYTES = 1 << 20, THUNK_BYTES = 96, THUNKS_BYTES = 256 << 10 };

void peet__foreign_dispatch(uint64_t *frame);
void peet__stub_foreign_yield(uint64_t *frame);
void peet__stub_foreign(void);
void peet__stub_cpuid(void);
void peet__stub_maps(void);
void peet__foreign_maps(uint64_t *frame);
extern const char peet__foreign_miss_jump[], peet__foreign_miss_return[], peet__foreign_native_return[];

_Thread_local volatile uint64_t peet__foreign_world;
_Thread_local volatile uint64_t peet__foreign_from;
int peet__foreign_on;

static struct {
    peet_foreign_find *find;
    peet_foreign_improve *improve;
    int (*is_foreign)(uint64_t pc);
    int (*is_translated)(uint64_t pc);
    uint8_t *thunks, *at;
} foreign;

/* Before foreign code maps memory.  Where it does not say where, the kernel would look for a place among what the
 * host has mapped, so that addresses would depend on the modules of the run; this is a wish that nothing stands against. */
void peet__foreign_maps(uint64_t *frame)
{
    static uint64_t at = PEET__FOREIGN_MAPS_BASE;
    enum { STEP = 1 << 16 };
    const uint64_t bytes = frame[RSI];
    if (frame[RDI] || frame[R10] & (MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_32BIT) ||
        bytes >= PEET__FOREIGN_MAPS_END - at - STEP)
        return;
    frame[RDI] = at;
    at += (bytes / STEP + 2) * STEP;
}

PUBLIC int peet_rt_foreign_prepare(peet_foreign_find *find, peet_foreign_improve *improve, int64_t *out_world)
{
    const size_t bytes = PEET_FOREIGN_END - PEET_FOREIGN_LOW;
    void *low = mmap((void *)(uintptr_t)PEET_FOREIGN_LOW, bytes, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (low != (void *)(uintptr_t)PEET_FOREIGN_LOW)
        return PEET_ENOMEM;
    uint8_t *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        return PEET_ENOMEM;
    foreign.find = find;
    foreign.improve = improve;
    peet__foreign_state->stack = (uint64_t)(stack + STACK_BYTES);
    peet__foreign_state->miss_jump = (uint64_t)peet__foreign_miss_jump;
    peet__foreign_state->miss_return = (uint64_t)peet__foreign_miss_return;
    peet__foreign_state->yield = (uint64_t)peet__stub_foreign;
    peet__foreign_state->cpuid = (uint64_t)peet__stub_cpuid;
    peet__foreign_state->maps = (uint64_t)peet__stub_maps;
    peet__foreign_state->native_return = (uint64_t)peet__foreign_native_return;
    *out_world = (int64_t)((uint64_t)&peet__foreign_world - peet__fs_base());
    return 0;
}

/* On the translator's stack, with everything saved in the frame. */
void peet__foreign_dispatch(uint64_t *frame)
{
    (void)frame;
    volatile struct peet_foreign_state *const s = peet__foreign_state;
    const uint64_t target = s->target, link = s->link;
    s->link = 0;
    struct peet__visit visit = peet__visit_begin();
    s->to = foreign.find(target, (enum peet_foreign_kind)s->kind, link);
    peet__visit_end(visit);
}

/* -------------------------------------------------------------------------------- objects come and go */

static void (*objects_changed)(int of_subject);

/* In place of the function that the dynamic linker calls for debuggers. */
static void tell_objects(void)
{
    if (!peet__foreign_on || _r_debug.r_state != RT_CONSISTENT)
        return;
    const int of_subject = peet__rt.in_subject;
    struct peet__visit visit = peet__visit_begin();
    objects_changed(of_subject);
    peet__visit_end(visit);
}

PUBLIC int peet_rt_foreign_watch(void (*changed)(int of_subject))
{
    enum { ALIGNED = 16 };                                     /* as functions are: nothing else lies there */
    static const uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */
    const uint8_t *const at = (const uint8_t *)_r_debug.r_brk;
    const int skip = at && memcmp(at, landing, sizeof landing) == 0 ? (int)sizeof landing : 0;
    if (!at || (uint64_t)at % ALIGNED != 0 || at[skip] != 0xc3)
        return PEET_EUNSUPPORTED;
    objects_changed = changed;
    return peet__foreign_replace((uint64_t)at, (const void *)tell_objects);
}

/* ------------------------------------------------------------------------------- what this library calls */

static void put(const void *bytes, size_t n)
{
    const uint8_t *from = bytes;
    while (n--)
        *foreign.at++ = *from++;
}

static void put32(int64_t value)
{
    int32_t word = (int32_t)value;
    put(&word, sizeof word);
}
#define CODE(text) put(text, sizeof text - 1)

/* A thunk for a function; itself if there is no room. */
static uint64_t thunk(uint64_t function)
{
    const int64_t world = (int64_t)((uint64_t)&peet__foreign_world - peet__fs_base()),
                  from = (int64_t)((uint64_t)&peet__foreign_from - peet__fs_base());
    if (foreign.at + THUNK_BYTES > foreign.thunks + THUNKS_BYTES)
        return function;
    uint8_t *const place = foreign.at;
    put(&function, sizeof function);
    CODE("\x64\x48\x83\x3c\x25"); /* cmpq $0, %fs:world */
    put32(world);
    CODE("\x00\x75\x06\xff\x25"); /* jne 1f; jmp *place */
    put32(place - (foreign.at + 4));
    CODE("\x64\x8f\x04\x25"); /* 1: popq %fs:from */
    put32(from);
    CODE("\x64\x48\xc7\x04\x25"); /* movq $0, %fs:world */
    put32(world);
    put32(0);
    CODE("\xff\x15"); /* call *place */
    put32(place - (foreign.at + 4));
    CODE("\x50\x48\x8b\x04\x25"); /* push %rax; mov on, %rax */
    put32(PEET_FOREIGN_LOW + PEET_FOREIGN_ON);
    CODE("\x64\x48\x89\x04\x25"); /* mov %rax, %fs:world */
    put32(world);
    CODE("\x58\x64\xff\x34\x25"); /* pop %rax; pushq %fs:from */
    put32(from);
    CODE("\xc3");
    foreign.at = place + THUNK_BYTES;
    return (uint64_t)place + sizeof function;
}

/* These call back, do not return, or return twice. */
static int calls_back(const char *name)
{
    static const char *const names[] = {"exit", "abort", "dlopen", "dlclose", "_setjmp", "__sigsetjmp", "getcontext",
        "setcontext", "swapcontext", "makecontext", "__cxa_finalize", "quick_exit"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(name, names[k]) == 0)
            return 1;
    return 0;
}

static void redirect(void **slot, const char *name, int defined)
{
    if (!defined && foreign.is_foreign((uint64_t)*slot) && !calls_back(name))
        peet__slot_set(slot, (void *)thunk((uint64_t)*slot)); /* one that cannot be written stays as it is */
}

static void redirect_own_calls(void)
{
    const struct link_map *map = _r_debug.r_map;
    while (map && map->l_ld != _DYNAMIC)
        map = map->l_next;
    if (map)
        peet__slots(map, redirect);
}

ssize_t peet__sim_read(int fd, void *bytes, size_t n);

/* What a library asks of the kernel by itself, as streams do, and other contexts may have to go on for.  Not write():
 * fflush() has the library's own lock meanwhile, for which others would wait in the kernel. */
static const struct {
    uint16_t which;
    void *by;
} asked[] = {{PEET__WORLD_read, (void *)peet__sim_read}};
enum { NASKED = sizeof asked / sizeof *asked };
static uint64_t asked_at[NASKED];

PUBLIC uint64_t peet_rt_foreign_instead(uint64_t pc)
{
    for (unsigned k = 0; k < NASKED; k++)
        if (asked_at[k] && asked_at[k] == pc)
            return (uint64_t)asked[k].by;
    return peet__allocator_instead(pc);
}

#define PEET_X(name) PEET__WORLD_##name,
static const uint16_t plain[] = {PEET__WORLD_MEMORY(PEET_X) PEET__WORLD_STRING(PEET_X) PEET__WORLD_SORT(PEET_X)};
static const uint16_t streams[] = {PEET__WORLD_STDIO(PEET_X) PEET__WORLD_FORMAT(PEET_X)};
static const uint16_t turns[] = {PEET__WORLD_TURNS(PEET_X)};
#undef PEET_X
static void *simulated_streams[sizeof streams / sizeof *streams];

/* Functions whose references the runtime notes itself are the C library's own now, and recorded as any other: they are
 * called from where the program calls them, or, for streams and what takes its turn, from the functions that wait for
 * others first. */
static void bind_world(void)
{
    uint8_t recorded[PEET__WORLD_COUNT] = {[PEET__WORLD_qsort] = 1, [PEET__WORLD_qsort_r] = 1};
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++)
        if (peet__world_real[plain[k]])
            peet__world_to[plain[k]] = peet__world_real[plain[k]];
    for (size_t k = 0; k < sizeof streams / sizeof *streams; k++) {
        simulated_streams[k] = peet__world_to[streams[k]];
        recorded[streams[k]] = 1;
    }
    for (size_t k = 0; k < sizeof turns / sizeof *turns; k++)
        recorded[turns[k]] = 1;
    for (unsigned k = 0; k < NASKED; k++)
        asked_at[k] = (uint64_t)peet__world_real[asked[k].which];
    for (unsigned k = 0; k < PEET__WORLD_COUNT; k++)
        if (peet__world_real[k] && !recorded[k] && foreign.is_foreign((uint64_t)peet__world_real[k]))
            peet__world_real[k] = (void *)thunk((uint64_t)peet__world_real[k]);
    peet__foreign_concurrent(0);
}

/* Streams need not wait for anybody as long as there is nobody, nor take a line away from a terminal that shows none. */
void peet__foreign_concurrent(int concurrent)
{
    const int simulated = concurrent || peet__progress_shown();
    if (concurrent)
        peet__allocator_threads();
    for (size_t k = 0; k < sizeof streams / sizeof *streams; k++)
        if (peet__world_real[streams[k]] && !strstr(peet__world_name(streams[k]), "lockfile") &&
            !strstr(peet__world_name(streams[k]), "open"))
            /* locks are the mapper's from the first, and what a path stands for is the runtime's */
            peet__world_to[streams[k]] = simulated ? simulated_streams[k] : peet__world_real[streams[k]];
}

/* After LOOK_WORDS of foreign code one that waits for the processor gets it if these were nothing but looks, after
 * SLICE_WORDS in any case, as from an operating system: it may be what a loop waits for. */
enum { LOOK_WORDS = 1 << 13, SLICE_WORDS = 1 << 22, PERIOD_MOST = 16, LOOKS = 256 };

/* The same blocks with the same addresses again and again; or too few are there to tell. */
static int only_looks(const uint64_t *words, uint64_t n)
{
    const uint64_t *const end = words + n;
    if (n < LOOKS + PERIOD_MOST)
        return 1;
    for (unsigned period = 1; period <= PERIOD_MOST; period++)
        if (memcmp(end - LOOKS, end - LOOKS - period, LOOKS * sizeof *end) == 0)
            return 1;
    return 0;
}

/* A full ring while there are others. */
static void give_way(void)
{
    struct peet_ctx *ctx = peet__rt.current;
    const uint64_t n = (uint64_t)(peet__ctl->cursor - peet__rt.words);
    ctx->foreign_words += n;
    peet__yield_turn(ctx->foreign_words >= SLICE_WORDS ||
        (ctx->foreign_words >= LOOK_WORDS && only_looks(peet__rt.words, n)));
}

struct improving {
    uint64_t pc;
    int may_leave;
};

static void improve(void *arg)
{
    struct improving *const improving = arg;
    improving->may_leave = foreign.improve(improving->pc);
}

/* A check of foreign code with a full ring. Translating again is nothing for the subject's stack, which may be small. */
void peet__stub_foreign_yield(uint64_t *frame)
{
    struct peet__rt *rt = &peet__rt;
    if (!rt->in_subject || rt->capturing) {
        peet__stub_yield(frame);
        return;
    }
    struct peet_ctx *ctx = rt->current;
    uint64_t *outer = ctx->stub_frame;
    struct peet__visit visit = peet__visit_begin();
    struct improving improving = {.pc = frame[PC]};
    peet__call_on((void *)peet__foreign_state->stack, improve, &improving);
    const int may_leave = improving.may_leave;
    peet__visit_end(visit);
    ctx->stub_frame = frame;
    if (!peet__ctl->concurrent)
        peet__yield_full();
    else if (may_leave)
        give_way();
    else
        peet__yield_whole();
    ctx->stub_frame = outer;
}

/* A trace ends with a system call. */
int peet__foreign_after_system_call(uint64_t pc)
{
    static const uint8_t system_call[] = {0x0f, 0x05};
    return peet__foreign_on && foreign.is_translated(pc) &&
        memcmp((const uint8_t *)pc - sizeof system_call, system_call, sizeof system_call) == 0;
}

PUBLIC int peet_rt_foreign_begin(int (*is_foreign)(uint64_t pc), int (*is_translated)(uint64_t pc))
{
    foreign.is_foreign = is_foreign;
    foreign.is_translated = is_translated;
    foreign.thunks = mmap(NULL, THUNKS_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (foreign.thunks == MAP_FAILED)
        return PEET_ENOMEM;
    foreign.at = foreign.thunks;
    redirect_own_calls();
    bind_world();
    peet__foreign_state->on = 1;
    peet__foreign_on = 1;
    return 0;
}

void peet__foreign_end(void)
{
    if (peet__foreign_on) {
        peet__foreign_state->on = 0;
        peet__foreign_state->yield = (uint64_t)peet__stub_plain;
    }
    peet__foreign_on = 0;
    peet__foreign_world = 0;
    peet__allocator_threads(); /* a child may make real ones */
}
