/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks of compiled code, called by the stubs with all registers saved: an atomic or volatile access
 * waits for its turn, a time stamp becomes the simulated clock's, a marker becomes a note.  The host, whose
 * own compiled code may come by here too, and constructors that run before there is a host have no turns.
 */
#include "internal.h"
#include "frame.h"

#include <peet/module.h>
#include <string.h>

void peet__hook_turn(uint64_t *frame, const uint64_t *xmm);
void peet__hook_clock(uint64_t *frame, const uint64_t *xmm);
void peet__hook_mark(uint64_t *frame, const uint64_t *xmm);

void peet__control_hooks(int simulated)
{
    peet__ctl->concurrent = 0;
    peet__ctl->turn = simulated ? (void *)peet__stub_turn : (void *)peet__stub_none;
    peet__ctl->clock = simulated ? (void *)peet__stub_clock : (void *)peet__stub_none;
    peet__ctl->mark = simulated ? (void *)peet__stub_mark : (void *)peet__stub_none;
    peet__ctl->outside = simulated ? (void *)peet__stub_outside : (void *)peet__stub_none;
    peet__ctl->back = simulated ? (void *)peet__stub_return : (void *)peet__stub_none;
    peet__ctl->viewed = peet__ctl->away = 0;
}

PUBLIC void peet_rt_set_concurrent(int on)
{
    peet__ctl->concurrent = on && peet__rt.simulated;
    if (peet__foreign_on)
        peet__foreign_concurrent(on);
}

static uint32_t word_at(const uint64_t *frame, unsigned offset)
{
    uint32_t word;
    memcpy(&word, (const char *)frame[PC] + offset, sizeof word);
    return word;
}

static uint32_t word_of(const uint64_t *frame)
{
    return word_at(frame, PEET_HOOK_WORD);
}

static inline uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* A register that is live as a whole, though only its lowest byte was set, keeps above it what was there before.  If that
 * is a place in a ring, it depends on when the host has looked.  Places are multiples of eight. */
static inline uint64_t set_part(uint64_t value)
{
    return value - PEET__RINGS_BASE < PEET__RINGS_BYTES ? value % 8 : value;
}

/* Registers that hold nothing differ from turn to turn of a loop that waits, and may be left from the host: only the
 * live ones count. */
static uint64_t hash_of(const uint64_t *frame, const uint64_t *xmm, uint32_t live)
{
    static const uint8_t place[16] = {RAX, RCX, RDX, RBX, 0, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15};
    static uint64_t unlike;
    enum { SP = 4, GENERAL = 0xffff & ~(1 << SP) };
    const uint32_t bytes = live & PEET_HOOK_NARROW ? word_at(frame, PEET_HOOK_WORD2) >> 16 : 0;
    uint64_t hash = mix(0, (uint64_t)frame); /* the stack pointer */
    for (uint32_t left = live & GENERAL; left != 0; left &= left - 1) {
        const unsigned r = (unsigned)__builtin_ctz(left);
        hash = mix(hash, bytes >> r & 1 ? (uint8_t)frame[place[r]] : set_part(frame[place[r]]));
    }
    if (live & PEET_HOOK_FLAGS)
        hash = mix(hash, frame[FLAGS]);
    if (live & PEET_HOOK_VECTORS) /* more than is looked at here: it may always have changed */
        hash = mix(hash, ++unlike);
    if (xmm) {
        uint32_t live_xmm = word_at(frame, PEET_HOOK_WORD2);
        for (unsigned r = 0; r < 16; r++)
            if (live_xmm >> r & 1)
                hash = mix(mix(hash, xmm[2 * r]), xmm[2 * r + 1]);
    }
    return hash;
}

/* An event at a place where compiled code keeps all its registers. */
static uint64_t event_at(uint64_t *frame, unsigned type, unsigned nargs, const uint64_t *args)
{
    struct peet_ctx *ctx = peet__rt.current;
    uint64_t *outer = ctx->stub_frame;
    ctx->stub_frame = frame;
    uint64_t result = peet_rt_event(type, nargs, args);
    ctx->stub_frame = outer;
    return result;
}

void peet__hook_turn(uint64_t *frame, const uint64_t *xmm)
{
    if (!peet__ctl->concurrent || peet__rt.capturing || !peet__is_subject())
        return;
    uint64_t args[2] = {frame[PC], hash_of(frame, xmm, word_of(frame))};
    event_at(frame, PEET_ABSTRACT_ATOMIC, 2, args);
}

/* As monotonic clocks do, it shows an hour at cycle 0: programs take a time stamp near 0 for none. */
void peet__hook_clock(uint64_t *frame, const uint64_t *xmm)
{
    uint64_t cycles = 3600 * peet_rt_frequency_hz();
    (void)xmm;
    if (!peet__rt.capturing) {
        if (!peet__is_subject())
            return;
        cycles += event_at(frame, PEET_ABSTRACT_CLOCK, 0, NULL);
    }
    frame[RAX] = (uint32_t)cycles;
    frame[RDX] = cycles >> 32;
    if ((word_of(frame) & 0xff) == PEET_HOOK_RDTSCP)
        frame[RCX] = peet_rt_cpu();
}

/* Magic numbers of the simulators whose markers these are. */
enum { SNIPER_ROI_START = 1, SNIPER_ROI_END = 2, ZSIM_ROI_BEGIN = 1025, ZSIM_ROI_END = 1026 };

void peet__hook_mark(uint64_t *frame, const uint64_t *xmm)
{
    unsigned type = 0, nargs = 0;
    uint64_t number = 0;
    (void)xmm;
    if (peet__rt.capturing || !peet__is_subject())
        return;
    switch (word_of(frame) & 0xff) {
    case PEET_HOOK_MARK_BEGIN:
        type = PEET_ABSTRACT_ROI_BEGIN;
        break;
    case PEET_HOOK_MARK_END:
        type = PEET_ABSTRACT_ROI_END;
        break;
    case PEET_HOOK_MARK_PHASE:
        type = PEET_ABSTRACT_PHASE;
        number = (uint32_t)frame[RDI];
        nargs = 1;
        break;
    case PEET_HOOK_MARK_SNIPER:
        type = frame[RAX] == SNIPER_ROI_START ? PEET_ABSTRACT_ROI_BEGIN
            : frame[RAX] == SNIPER_ROI_END    ? PEET_ABSTRACT_ROI_END
                                              : 0;
        break;
    case PEET_HOOK_MARK_ZSIM:
        type = frame[RCX] == ZSIM_ROI_BEGIN ? PEET_ABSTRACT_ROI_BEGIN
            : frame[RCX] == ZSIM_ROI_END    ? PEET_ABSTRACT_ROI_END
                                            : 0;
        break;
    }
    if (type)
        peet_rt_note(type, nargs, &number);
}
