/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of dirproto.h.  Rows that are not there never happen. */
#include "dirproto.h"

#define HIT(state) {.can_be = 1, .request = PEET_SIM_NO_REQUEST, .next = PEET_SIM_COPY_##state}
#define ASK(what) {.can_be = 1, .request = PEET_SIM_##what}

/* Rows of caches that all three have. */
#define CACHE_COMMON \
    [PEET_SIM_COPY_I] = {[PEET_SIM_LOAD] = ASK(GETS), [PEET_SIM_STORE] = ASK(GETM)}, \
    [PEET_SIM_COPY_S] = {[PEET_SIM_LOAD] = HIT(S), [PEET_SIM_STORE] = ASK(UPGRADE), [PEET_SIM_REPLACE] = ASK(PUTS)}, \
    [PEET_SIM_COPY_M] = {[PEET_SIM_LOAD] = HIT(M), [PEET_SIM_STORE] = HIT(M), [PEET_SIM_REPLACE] = ASK(PUTM)}
#define CACHE_E \
    [PEET_SIM_COPY_E] = {[PEET_SIM_LOAD] = HIT(E), [PEET_SIM_STORE] = HIT(M), [PEET_SIM_REPLACE] = ASK(PUTE)}
#define CACHE_O \
    [PEET_SIM_COPY_O] = { \
        [PEET_SIM_LOAD] = HIT(O), [PEET_SIM_STORE] = ASK(OWNER_UPGRADE), [PEET_SIM_REPLACE] = ASK(PUTO)}

#define HOME(...) {.can_be = 1, .forward = PEET_SIM_NO_FORWARD, __VA_ARGS__}
#define FORWARD(what, ...) {.can_be = 1, .forward = PEET_SIM_FORWARD_##what, __VA_ARGS__}
#define TO(copy_state, noted, home_state) \
    .copy = PEET_SIM_COPY_##copy_state, .note = PEET_SIM_NOTE_##noted, .next = PEET_SIM_HOME_##home_state, \
    .next_empty = PEET_SIM_HOME_##home_state
/* The copy is gone; the home's state if there are others, and if there are none. */
#define GONE(home_state, empty_state) \
    .copy = PEET_SIM_COPY_I, .note = PEET_SIM_NOTE_GONE, .next = PEET_SIM_HOME_##home_state, \
    .next_empty = PEET_SIM_HOME_##empty_state

#define HOME_INVALID(gets) \
    [PEET_SIM_HOME_INVALID] = { \
        [PEET_SIM_GETS] = gets, [PEET_SIM_GETM] = HOME(.from_memory = 1, TO(M, OWNER, EXCLUSIVE))}
#define HOME_SHARED \
    [PEET_SIM_HOME_SHARED] = {[PEET_SIM_GETS] = HOME(.from_memory = 1, TO(S, SHARER, SHARED)), \
        [PEET_SIM_GETM] = HOME(.from_memory = 1, .invalidate = 1, TO(M, OWNER, EXCLUSIVE)), \
        [PEET_SIM_UPGRADE] = HOME(.invalidate = 1, TO(M, OWNER, EXCLUSIVE)), \
        [PEET_SIM_PUTS] = HOME(GONE(SHARED, INVALID))}
#define HOME_OWNED \
    [PEET_SIM_HOME_OWNED] = {[PEET_SIM_GETS] = FORWARD(GETS, TO(S, SHARER, OWNED)), \
        [PEET_SIM_GETM] = FORWARD(GETM, .invalidate = 1, TO(M, OWNER, EXCLUSIVE)), \
        [PEET_SIM_UPGRADE] = HOME(.invalidate = 1, TO(M, OWNER, EXCLUSIVE)), \
        [PEET_SIM_OWNER_UPGRADE] = HOME(.invalidate = 1, TO(M, OWNER, EXCLUSIVE)), \
        [PEET_SIM_PUTS] = HOME(GONE(OWNED, OWNED)), \
        [PEET_SIM_PUTO] = HOME(.to_memory = 1, GONE(SHARED, INVALID))}
#define EXCLUSIVE_COMMON \
    [PEET_SIM_GETS] = FORWARD(GETS, TO(S, SHARER, SHARED)), [PEET_SIM_GETM] = FORWARD(GETM, TO(M, OWNER, EXCLUSIVE)), \
    [PEET_SIM_PUTM] = HOME(.to_memory = 1, GONE(INVALID, INVALID))

#define OWNER(state, memory, home_state) \
    {.can_be = 1, .next = PEET_SIM_COPY_##state, .to_memory = memory, .home = PEET_SIM_HOME_##home_state}
#define OWNER_TAKEN [PEET_SIM_FORWARD_GETM] = OWNER(I, 0, EXCLUSIVE)

static const struct peet_sim_dirproto tables[PEET_SIM_DIRPROTOS] = {
    [PEET_SIM_DIR_MSI] = {.name = "msi",
        .cache = {CACHE_COMMON},
        .home = {HOME_INVALID(HOME(.from_memory = 1, TO(S, SHARER, SHARED))), HOME_SHARED,
            [PEET_SIM_HOME_EXCLUSIVE] = {EXCLUSIVE_COMMON}},
        .owner = {[PEET_SIM_COPY_M] = {[PEET_SIM_FORWARD_GETS] = OWNER(S, 1, SHARED), OWNER_TAKEN}}},
    [PEET_SIM_DIR_MESI] = {.name = "mesi",
        .cache = {CACHE_COMMON, CACHE_E},
        .home = {HOME_INVALID(HOME(.from_memory = 1, TO(E, OWNER, EXCLUSIVE))), HOME_SHARED,
            [PEET_SIM_HOME_EXCLUSIVE] = {EXCLUSIVE_COMMON, [PEET_SIM_PUTE] = HOME(GONE(INVALID, INVALID))}},
        .owner = {[PEET_SIM_COPY_E] = {[PEET_SIM_FORWARD_GETS] = OWNER(S, 0, SHARED), OWNER_TAKEN},
            [PEET_SIM_COPY_M] = {[PEET_SIM_FORWARD_GETS] = OWNER(S, 1, SHARED), OWNER_TAKEN}}},
    [PEET_SIM_DIR_MOESI] = {.name = "moesi",
        .cache = {CACHE_COMMON, CACHE_E, CACHE_O},
        .home = {HOME_INVALID(HOME(.from_memory = 1, TO(E, OWNER, EXCLUSIVE))), HOME_SHARED, HOME_OWNED,
            [PEET_SIM_HOME_EXCLUSIVE] = {EXCLUSIVE_COMMON, [PEET_SIM_PUTE] = HOME(GONE(INVALID, INVALID))}},
        .owner = {[PEET_SIM_COPY_E] = {[PEET_SIM_FORWARD_GETS] = OWNER(S, 0, SHARED), OWNER_TAKEN},
            [PEET_SIM_COPY_M] = {[PEET_SIM_FORWARD_GETS] = OWNER(O, 0, OWNED), OWNER_TAKEN},
            [PEET_SIM_COPY_O] = {[PEET_SIM_FORWARD_GETS] = OWNER(O, 0, OWNED), OWNER_TAKEN}}},
};

const struct peet_sim_dirproto *peet_sim_dirproto(enum peet_sim_dirproto_id id)
{
    return &tables[id];
}
