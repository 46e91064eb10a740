/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic operations of one thread: add, exchange, compare-and-exchange, bit operations, fences, all sizes. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

static _Atomic uint8_t a8;
static _Atomic uint16_t a16;
static _Atomic uint32_t a32;
static _Atomic uint64_t a64;
static _Atomic(void *) pointer;
static atomic_flag flag = ATOMIC_FLAG_INIT;
static volatile int device[16];

struct node { struct node *next; long value; };
static struct node nodes[256];
static _Atomic(struct node *) head;

__attribute__((noinline)) static void push(struct node *n)
{
    n->next = atomic_load_explicit(&head, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&head, &n->next, n))
        ;
}

__attribute__((noinline)) static struct node *pop(void)
{
    struct node *n = atomic_load(&head);
    while (n && !atomic_compare_exchange_strong(&head, &n, n->next))
        ;
    return n;
}

__attribute__((noinline)) static long operations(int i)
{
    long sum = 0;
    sum += atomic_fetch_add(&a32, (uint32_t)i);
    atomic_fetch_add(&a64, 3);
    atomic_fetch_sub(&a16, 1);
    sum += (long)atomic_fetch_or(&a64, 1ull << (i & 63));
    atomic_fetch_and(&a8, (uint8_t)~i);
    sum += atomic_exchange(&a8, (uint8_t)i);
    sum += (long)atomic_exchange(&a64, (uint64_t)sum);
    sum += atomic_fetch_xor(&a32, 0xff);
    atomic_store(&a16, (uint16_t)i);
    atomic_store_explicit(&a32, (uint32_t)sum, memory_order_relaxed);
    uint32_t expected = (uint32_t)(i & 1 ? sum : 0);
    sum += atomic_compare_exchange_strong(&a32, &expected, 99);
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store_explicit(&a32, atomic_load_explicit(&a32, memory_order_relaxed) + 1, memory_order_relaxed);
    while (atomic_flag_test_and_set(&flag))
        ;
    atomic_flag_clear(&flag);
    atomic_store(&pointer, (void *)&a8);
    device[i & 15] = i;
    (void)device[i & 7];
    return sum + device[3];
}

int main(void)
{
    long sum = 0;
    for (int i = 0; i < 5000; i++)
        sum += operations(i);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 256; i++) {
            nodes[i].value = i * round;
            push(&nodes[i]);
        }
        for (struct node *n; (n = pop());)
            sum = sum * 3 + n->value;
    }
    printf("%ld %u\n", sum, atomic_load(&a32));
    return 0;
}
