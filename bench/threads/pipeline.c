/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipeline THREADS PACKETS: packets of 64 words go from thread to thread through short queues, each with a lock and two
 * conditions; the sixteen rounds of work on a packet are shared out among the threads (producers and consumers).
 */
#include "threads.h"

enum { WORDS = 64, ROUNDS = 16, ROOM = 4 };

struct packet {
    uint64_t word[WORDS];
};

/* Between thread t and t + 1. */
struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    long in, out;
    struct packet ring[ROOM];
};

static long n;
static struct queue *queues;
static uint64_t result;

static void put(struct queue *q, const struct packet *p)
{
    pthread_mutex_lock(&q->lock);
    while (q->in - q->out == ROOM)
        pthread_cond_wait(&q->emptied, &q->lock);
    q->ring[q->in++ % ROOM] = *p;
    pthread_cond_signal(&q->filled);
    pthread_mutex_unlock(&q->lock);
}

static void take(struct queue *q, struct packet *p)
{
    pthread_mutex_lock(&q->lock);
    while (q->in == q->out)
        pthread_cond_wait(&q->filled, &q->lock);
    *p = q->ring[q->out++ % ROOM];
    pthread_cond_signal(&q->emptied);
    pthread_mutex_unlock(&q->lock);
}

static void scramble(struct packet *p, long round)
{
    uint64_t carry = (uint64_t)round;
    for (int w = 0; w < WORDS; w++)
        carry = p->word[w] = bench_mix(p->word[(w * 5 + 1) % WORDS] + carry, p->word[w]);
}

static void work(long me)
{
    struct bench_part rounds = bench_part(ROUNDS, me);
    uint64_t random = 12;
    for (long i = 0; i < n; i++) {
        struct packet p;
        if (me == 0)
            for (int w = 0; w < WORDS; w++)
                p.word[w] = bench_random(&random);
        else
            take(&queues[me - 1], &p);
        for (long r = rounds.begin; r < rounds.end; r++)
            scramble(&p, r);
        if (me < bench_threads - 1)
            put(&queues[me], &p);
        else
            for (int w = 0; w < WORDS; w++)
                result = bench_mix(result, p.word[w]);
    }
}

int main(int argc, char **argv)
{
    bench_threads = bench_arg(argc, argv, 1, 4, 1, BENCH_THREADS_MAX);
    n = bench_arg(argc, argv, 2, 10000, 1, 100000000);
    queues = bench_alloc((size_t)bench_threads, sizeof *queues);
    for (long t = 0; t < bench_threads; t++) {
        pthread_mutex_init(&queues[t].lock, NULL);
        pthread_cond_init(&queues[t].filled, NULL);
        pthread_cond_init(&queues[t].emptied, NULL);
    }
    bench_team(work);
    bench_print("pipeline", result);
    return 0;
}
