/* SPDX-License-Identifier: Apache-2.0 */
/* An interpreter twice: by a switch table and by computed goto. */
#include <stdio.h>

#ifdef SMALL
#define SHARE 4 /* Valgrind is slow */
#else
#define SHARE 1
#endif

enum op { PUSH, ADD, SUB, MUL, DUP, SWAP, OVER, ROT, DROP, JNZ, LOAD, STORE, DEC, XOR, HALT };

static const short program[] = {
    PUSH, 3000, STORE, 0, PUSH, 1, STORE, 1,
    /* 8: */ LOAD, 1, PUSH, 3, MUL, PUSH, 7, ADD, DUP, PUSH, 255, XOR, SWAP, OVER, ROT, SUB, SWAP, DROP, DUP, DROP,
    STORE, 1, LOAD, 0, DEC, DUP, STORE, 0, JNZ, 8, LOAD, 1, HALT};

__attribute__((noinline)) static int by_switch(const short *code, long *steps)
{
    int stack[32], sp = 0, vars[4] = {0}, t;
    for (const short *pc = code;; ++*steps) {
        switch ((enum op)*pc++) {
        case PUSH: stack[sp++] = *pc++; break;
        case ADD: sp--; stack[sp - 1] += stack[sp]; break;
        case SUB: sp--; stack[sp - 1] -= stack[sp]; break;
        case MUL: sp--; stack[sp - 1] = (int)((unsigned)stack[sp - 1] * (unsigned)stack[sp]) & 0xffff; break;
        case DUP: stack[sp] = stack[sp - 1]; sp++; break;
        case SWAP: t = stack[sp - 1]; stack[sp - 1] = stack[sp - 2]; stack[sp - 2] = t; break;
        case OVER: stack[sp] = stack[sp - 2]; sp++; break;
        case ROT: t = stack[sp - 3]; stack[sp - 3] = stack[sp - 2]; stack[sp - 2] = stack[sp - 1]; stack[sp - 1] = t; break;
        case DROP: sp--; break;
        case JNZ: pc = stack[--sp] ? code + *pc : pc + 1; break;
        case LOAD: stack[sp++] = vars[*pc++]; break;
        case STORE: vars[*pc++] = stack[--sp]; break;
        case DEC: stack[sp - 1]--; break;
        case XOR: sp--; stack[sp - 1] ^= stack[sp]; break;
        case HALT: return stack[sp - 1];
        }
    }
}

__attribute__((noinline)) static int by_goto(const short *code, long *steps)
{
    static const void *const go[] = {&&push, &&add, &&sub, &&mul, &&dup, &&swap, &&over, &&rot, &&drop, &&jnz, &&load, &&store, &&dec, &&xor, &&halt};
    int stack[32], sp = 0, vars[4] = {0}, t;
    const short *pc = code;
#define NEXT do { ++*steps; goto *go[*pc++]; } while (0)
    goto *go[*pc++];
push: stack[sp++] = *pc++; NEXT;
add: sp--; stack[sp - 1] += stack[sp]; NEXT;
sub: sp--; stack[sp - 1] -= stack[sp]; NEXT;
mul: sp--; stack[sp - 1] = (int)((unsigned)stack[sp - 1] * (unsigned)stack[sp]) & 0xffff; NEXT;
dup: stack[sp] = stack[sp - 1]; sp++; NEXT;
swap: t = stack[sp - 1]; stack[sp - 1] = stack[sp - 2]; stack[sp - 2] = t; NEXT;
over: stack[sp] = stack[sp - 2]; sp++; NEXT;
rot: t = stack[sp - 3]; stack[sp - 3] = stack[sp - 2]; stack[sp - 2] = stack[sp - 1]; stack[sp - 1] = t; NEXT;
drop: sp--; NEXT;
jnz: pc = stack[--sp] ? code + *pc : pc + 1; NEXT;
load: stack[sp++] = vars[*pc++]; NEXT;
store: vars[*pc++] = stack[--sp]; NEXT;
dec: stack[sp - 1]--; NEXT;
xor: sp--; stack[sp - 1] ^= stack[sp]; NEXT;
halt: return stack[sp - 1];
}

/* Cases far apart: a tree of comparisons rather than a table; and one by values that become a lookup. */
__attribute__((noinline)) static int sparse(int x)
{
    switch (x) {
    case 1: return 10;
    case 100: return 20;
    case 1000: return x / 3;
    case 10000: return 5;
    case 77777: return 9;
    default: return x & 15;
    }
}

int main(void)
{
    long a = 0, b = 0;
    int r = by_switch(program, &a), s = by_goto(program, &b), t = 0;
    for (int i = 0; i < 20000 / SHARE; i++)
        t += sparse(i % 1009 * (i & 1 ? 1 : 10));
    printf("%d %d %ld %ld %d\n", r, s, a, b, t);
    return 0;
}
