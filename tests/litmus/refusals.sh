#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What cannot be done is refused with its reason; a model of a user's own, built outside, works.
. "$(dirname "$0")/lib.sh"
must "$litmus" generate "$table" >program.c
compile_for plain plain program.c -O2
compile_for views views program.c -O2

# refused TEXT COMMAND...
refused() {
    local text=$1
    shift
    "$@" >refused.txt 2>&1 && fail "was not refused: $*"
    grep -q -e "$text" refused.txt || fail "not said: '$text' by: $* ($(cat refused.txt))"
}
run=("$peet" run -q --cores 3)
refused "compile it with peetcc -fpeet-domains" "${run[@]}" --consistency consistency -- ./plain MP+sfence
refused "not a consistency model" "${run[@]}" --consistency bus -- ./views MP+sfence
refused "is a consistency model, not a machine" "${run[@]}" --machine consistency -- ./views MP+sfence
refused "model" "${run[@]}" --consistency consistency,model=tao -- ./views MP+sfence
refused "did you mean" "${run[@]}" --consistency consistency,dept=4 -- ./views MP+sfence
refused "from 1 on, all or off" "${run[@]}" --explore none -- ./plain MP+sfence
refused "not a token" "${run[@]}" --replay-token 'c!' -- ./plain MP+sfence
refused "not a token" "${run[@]}" --replay-token zzz -- ./plain MP+sfence
refused "not a token" "${run[@]}" --replay-token cZZZZ -- ./plain iwp2.3.a/amd4
refused "views" "$peet" run -q --cores 64 --consistency consistency -- ./views MP+sfence

cat >atonce.c <<'END'
#include <peet/consistency.h>
static const struct peet_views *views;
static void *create(const struct peet_env *env, const union peet_value *values) { return &views; }
static void destroy(void *self) { }
static int begin(void *self, const struct peet_views *v) { views = v; return 0; }
static void store(void *self, unsigned processor, const struct peet_store *s, uint64_t now)
{
    views->perform(views, (2ull << views->processors) - 1, s->address, s->bytes, s->size_bytes);
}
static void order(void *self, unsigned processor, unsigned ordering, uint64_t now) { }
const struct peet_module peet_module = { .abi = PEET_MODULE_ABI, .struct_size = sizeof(struct peet_module), .name = "atonce",
    .summary = "each store at once", .kind = PEET_CONSISTENCY, .create = create, .destroy = destroy };
const struct peet_consistency peet_consistency = { .abi = PEET_CONSISTENCY_ABI, .struct_size = sizeof(struct peet_consistency),
    .begin = begin, .store = store, .order = order };
END
must "$PEET_PLAIN_CC" -shared -fPIC -O2 -I"$PEET_SOURCE/schema/include" -o atonce.so atonce.c
must "${run[@]}" -d out --consistency ./atonce.so -- ./views MP+sfence >got.txt
grep -q -x -F "$(cat got.txt)" < <("$litmus" allowed sc "$table" MP+sfence | cut -f2) || fail "at once: $(cat got.txt)"
refused "offers no moves" "${run[@]}" --consistency ./atonce.so --explore all -- ./views MP+sfence
grep -q "atonce (model): each store at once" < <("$peet" sims ./atonce.so) || fail "peet sims does not show it"
