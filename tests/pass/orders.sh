#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# orders.sh PEETCC PEET: the schema tells of each atomic and volatile reference what the source asked for, at
# every level of optimisation.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/peet-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
cat >"$work/orders.c" <<'C'
#include <stdatomic.h>
struct s { long pad; atomic_int n; };
int relaxed(struct s *p) { return atomic_load_explicit(&p->n, memory_order_relaxed) == 3; }
int acquire(short *p, long i) { return __atomic_load_n(&p[i], __ATOMIC_ACQUIRE); }
long seq_cst(atomic_long *p) { return *p; }
void release(atomic_char *p, int v) { atomic_store_explicit(p, v, memory_order_release); }
void exchange(atomic_int *p, int v) { *p = v; }
long add(atomic_long *p) { return atomic_fetch_add_explicit(p, 2, memory_order_relaxed); }
int swap(atomic_int *p, int *e) { return atomic_compare_exchange_strong_explicit(p, e, 3, memory_order_acq_rel, memory_order_acquire); }
int device(volatile short *p) { return *p; }
void set(volatile long *p, long v) { *p = v; }
void unlock(int *p) { __sync_lock_release(p); }
C
cat >"$work/expected" <<'T'
relaxed load 4 atomic relaxed
acquire load 2 atomic acquire
seq_cst load 8 atomic seq_cst
release store 1 atomic release
exchange modify 4 atomic seq_cst
add modify 8 atomic relaxed
swap modify 4 atomic acq_rel
device load 2 volatile
set store 8 volatile
unlock store 4 atomic release
T
for level in -O0 -O1 -O2 -O3 -Os; do
    "$1" $level -fPIC -shared -o "$work/orders.so" "$work/orders.c"
    "$2" schema "$work/orders.so" | awk '
        /^function / { name = $2 }
        / (atomic|volatile)/ && / bytes, value / { out = name " " $1 " " $2; for (i = 6; i <= NF; i++) out = out " " $i; print out }' >"$work/said"
    diff "$work/expected" "$work/said" || { echo "FAIL: at $level"; exit 1; }
done
echo "memory orders as in the source"
