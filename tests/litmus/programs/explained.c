/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong values whose reasons are explained: data in allocated memory, of which dtrack knows names and members.  -DCASE_STACK: a lock-free
 * stack whose top is the same again while what lies below is not; -DCASE_RECORD: a sequence lock without barriers, its two values written by
 * one instruction; -DCASE_FREED: a record is read after another thread has freed it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#if defined CASE_STACK
struct node {
    struct node *next;
    int value;
};
static _Atomic(struct node *) top;
static struct node *got[2];

static struct node *pop(void)
{
    struct node *first;

    do
        first = atomic_load(&top);
    while (first && !atomic_compare_exchange_strong(&top, &first, first->next));
    return first;
}

static void *left(void *unused)
{
    (void)unused;
    got[0] = pop();
    return NULL;
}

static void *right(void *unused)
{
    struct node *first = pop();

    (void)unused;
    got[1] = pop();
    if (first) {
        first->next = atomic_load(&top);
        atomic_store(&top, first);
    }
    return NULL;
}

static void *begin(void)
{
    for (int i = 0; i < 3; i++) {
        struct node *node = malloc(sizeof *node);

        node->value = i;
        node->next = top;
        top = node;
    }
    return NULL;
}

static void end(void)
{
    puts(top == got[1] ? "taken twice" : "right");
}

#elif defined CASE_RECORD
struct record {
    volatile unsigned sequence;
    int first, second;
};
static struct record *record;
static const char *text = "none";

static void *left(void *arg)
{
    struct record *it = arg;

    it->sequence++;
    it->first = 1;
    it->second = 1;
    it->sequence++;
    return NULL;
}

static void *right(void *arg)
{
    struct record *it = arg;
    const unsigned before = it->sequence;
    const int first = *(volatile int *)&it->first, second = *(volatile int *)&it->second;

    if (!(before & 1) && it->sequence == before)
        text = first == second ? "whole" : "torn";
    return NULL;
}

static void *begin(void)
{
    record = calloc(1, sizeof *record);
    return record;
}

static void end(void)
{
    puts(text);
}

#else
struct item {
    long key;
    short counts[4];
};
static struct item *items, *volatile current;
static volatile int freed;
static volatile short seen;

static void *left(void *unused)
{
    (void)unused;
    while (!freed)
        ;
    seen = current->counts[2];
    return unused;
}

static void *right(void *unused)
{
    free(current);
    freed = 1;
    return unused;
}

static void *begin(void)
{
    struct item *item = malloc(sizeof *item);

    items = calloc(3, sizeof *items);
    items[1].counts[3] = 4;
    item->counts[2] = 7;
    current = item;
    return items;
}

static void end(void)
{
    puts(items[1].counts[3] == 4 ? "read" : "wrong");
}
#endif

int main(void)
{
    pthread_t threads[2];
    void *arg = begin();

    pthread_create(&threads[0], NULL, left, arg);
    pthread_create(&threads[1], NULL, right, arg);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    end();
    return 0;
}
