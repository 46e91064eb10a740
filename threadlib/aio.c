/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POSIX asynchronous input and output: aio_read() and its like, lio_listio().  The C library performs requests in
 * threads that it makes for itself, which nobody would simulate.  Here they are threads of the subject, made of what
 * this library has: one per descriptor with requests, which ends with the last of them.  It has all signals blocked, as
 * the C library's have.
 * What waits for requests waits at a semaphore, since signals interrupt it.
 */
#include "thread.h"
#include "plain/real.h"

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <peet/module.h>
#include "signals/signals.h"

/* The simulated forms: this library's own calls of these functions are the C library's (world/world_table.h). */
ssize_t peet__sim_pread(int, void *, size_t, off_t);
ssize_t peet__sim_pwrite(int, const void *, size_t, off_t);
ssize_t peet__sim_read(int, void *, size_t);
ssize_t peet__sim_write(int, const void *, size_t);
int peet__sim_fsync(int);
int peet__sim_fdatasync(int);
int peet__sim_clock_gettime(clockid_t, struct timespec *);

enum {
    PRIORITY_MAX = 20,
    SYNC = 100,
    DATA_SYNC,
    STACK_BYTES = 64 << 10
}; /* AIO_PRIO_DELTA_MAX; operations beside LIO_* */

/* One call of lio_listio() that does not wait. */
struct list {
    int left;
    struct sigevent event;
    sigset_t mask;
};

struct request {
    struct request *next;
    struct aiocb *block;
    int operation, fd, priority;
    struct list *list;
    struct sigevent event; /* the block's, which may be gone by the time somebody is told */
    sigset_t mask;         /* of who has asked */
};

/* A descriptor with requests; the first is being performed. */
struct queue {
    struct queue *next;
    int fd;
    struct request *first;
};

/* Somebody who waits for @wants of these blocks. */
struct waiter {
    struct waiter *next;
    const struct aiocb *const *blocks;
    int nblocks, wants;
    sem_t enough;
};

struct call {
    void (*function)(union sigval);
    union sigval value;
    sigset_t mask;
};

/* Addresses of what is allocated here lie in registers while handlers and functions of the subject run, and what the
 * subject does is told apart by registers, too: they have to be the same in each run, which the C library's heap does
 * not promise. */
union node {
    union node *next_free;
    struct list list;
    struct request request;
    struct queue queue;
    struct call call;
};
static union node pool[512], *spare;
static unsigned nused;

static void *take(void)
{
    union node *node = spare;
    if (node)
        spare = node->next_free;
    else if (nused < sizeof pool / sizeof *pool)
        node = pool + nused++;
    else
        return peet__own_calloc(1, sizeof *node);
    memset(node, 0, sizeof *node);
    return node;
}

static void give_back(void *p)
{
    union node *node = p;
    if (node < pool || node >= pool + sizeof pool / sizeof *pool) {
        peet__own_free(node);
        return;
    }
    node->next_free = spare;
    spare = node;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct queue *queues;
static struct waiter *waiters;

/* Also for handlers of signals, which may ask for a request's state: no handler finds its own context in here. */
static sigset_t enter(void)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_mutex_lock(&mutex);
    return old;
}

static void leave(const sigset_t *old)
{
    pthread_mutex_unlock(&mutex);
    pthread_sigmask(SIG_SETMASK, old, NULL);
}

static int fails(int err)
{
    errno = err;
    return -1;
}

/* ------------------------------------------------------------------------------------------- notification */

static void *call_function(void *arg)
{
    struct call call = *(struct call *)arg;
    give_back(arg);
    pthread_sigmask(SIG_SETMASK, &call.mask, NULL);
    call.function(call.value);
    return NULL;
}

static void notify_by_thread(const struct sigevent *event, const sigset_t *mask)
{
    struct call *call = take();
    pthread_t thread;
    pthread_attr_t own;
    if (!call)
        return;
    *call = (struct call){event->sigev_notify_function, event->sigev_value, *mask};
    pthread_attr_init(&own);
    pthread_attr_setdetachstate(&own, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, event->sigev_notify_attributes ? event->sigev_notify_attributes : &own, call_function,
            call) != 0)
        give_back(call);
    pthread_attr_destroy(&own);
}

static void notify(const struct sigevent *event, const sigset_t *mask)
{
    siginfo_t info;
    if (event->sigev_notify == SIGEV_THREAD) {
        notify_by_thread(event, mask);
    } else if (event->sigev_notify == SIGEV_SIGNAL && event->sigev_signo > 0 && event->sigev_signo < NSIG) {
        memset(&info, 0, sizeof info);
        info.si_signo = event->sigev_signo;
        info.si_code = SI_ASYNCIO;
        info.si_pid = getpid();
        info.si_uid = getuid();
        info.si_value = event->sigev_value;
        peet__signal_to_process(event->sigev_signo, &info);
    }
}

/* ---------------------------------------------------------------------------------------- performing */

static ssize_t perform(const struct request *r)
{
    void *bytes = (void *)r->block->aio_buf;
    const size_t n = r->block->aio_nbytes;
    ssize_t result;
    switch (r->operation) {
    case LIO_READ:
        result = peet__sim_pread(r->fd, bytes, n, r->block->aio_offset);
        return result < 0 && errno == ESPIPE ? peet__sim_read(r->fd, bytes, n) : result;
    case LIO_WRITE:
        result = peet__sim_pwrite(r->fd, bytes, n, r->block->aio_offset);
        return result < 0 && errno == ESPIPE ? peet__sim_write(r->fd, bytes, n) : result;
    case SYNC:
        return peet__sim_fsync(r->fd);
    case DATA_SYNC:
        return peet__sim_fdatasync(r->fd);
    default:
        return fails(EINVAL);
    }
}

static int in_list(const struct waiter *w, const struct aiocb *block)
{
    for (int i = 0; i < w->nblocks; i++)
        if (w->blocks[i] == block)
            return 1;
    return 0;
}

/* Inside. */
static void complete(struct request *r, ssize_t result, int err)
{
    r->block->__return_value = result;
    r->block->__error_code = err;
    for (struct waiter *w = waiters; w; w = w->next)
        if (w->wants > 0 && in_list(w, r->block) && --w->wants == 0)
            sem_post(&w->enough);
}

/* Outside, after that. */
static void notify_of(struct request *r)
{
    struct list *list = r->list;
    notify(&r->event, &r->mask);
    if (list && --list->left == 0) {
        notify(&list->event, &list->mask);
        give_back(list);
    }
    give_back(r);
}

static void *serve(void *arg)
{
    struct queue *q = arg, **at = &queues;
    sigset_t mask = enter();
    while (q->first) {
        struct request *r = q->first;
        leave(&mask);
        ssize_t result = perform(r);
        int err = result < 0 ? errno : 0;
        mask = enter();
        q->first = r->next;
        complete(r, result, err);
        leave(&mask);
        notify_of(r);
        mask = enter();
    }
    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    leave(&mask);
    give_back(q);
    return NULL;
}

static struct queue *queue_of(int fd)
{
    struct queue *q = queues;
    while (q && q->fd != fd)
        q = q->next;
    return q;
}

/* Inside.  Returns: 0 or an errno value */
static int begin_queue(struct request *r)
{
    struct queue *q = take();
    struct peet__thread_wish wish;
    sigset_t all;
    if (!q)
        return EAGAIN;
    *q = (struct queue){.next = queues, .fd = r->fd, .first = r};
    queues = q;
    sigfillset(&all);
    peet__thread_wish_init(&wish);
    wish.fn = serve;
    wish.arg = q;
    wish.detached = 1;
    wish.stack_bytes = STACK_BYTES;
    wish.mask = &all;
    if (peet__thread_create(&wish) == 0)
        return 0;
    queues = q->next;
    give_back(q);
    return EAGAIN;
}

static int refused(struct aiocb *block, int err)
{
    block->__error_code = err;
    block->__return_value = -1;
    return err;
}

/* Inside.  Returns: 0 or an errno value */
static int ask(struct aiocb *block, int operation, struct list *list, const sigset_t *mask)
{
    if (operation == SYNC || operation == DATA_SYNC)
        block->aio_reqprio = 0; /* as the C library has it */
    if (block->aio_reqprio < 0 || block->aio_reqprio > PRIORITY_MAX)
        return refused(block, EINVAL);
    struct request *r = take(), **at;
    if (!r)
        return refused(block, EAGAIN);
    *r = (struct request){.block = block,
        .operation = operation,
        .fd = block->aio_fildes,
        .priority = block->aio_reqprio,
        .list = list,
        .event = block->aio_sigevent,
        .mask = *mask};
    block->__error_code = EINPROGRESS;
    block->__return_value = 0;
    struct queue *q = queue_of(r->fd);
    if (q && q->first) {
        for (at = &q->first->next; *at && (*at)->priority <= r->priority;)
            at = &(*at)->next;
        r->next = *at;
        *at = r;
    } else if (q) { /* its thread is about to look */
        q->first = r;
    } else if (begin_queue(r) != 0) {
        give_back(r);
        return refused(block, EAGAIN);
    }
    if (list)
        list->left++;
    return 0;
}

static int ask_one(struct aiocb *block, int operation)
{
    sigset_t mask = enter();
    int err = ask(block, operation, NULL, &mask);
    leave(&mask);
    return err ? fails(err) : 0;
}

/* ------------------------------------------------------------------------------------------- waiting */

/* Inside; leaves meanwhile.  Returns: 0, or ETIMEDOUT, or EINTR */
static int wait_for(struct waiter *w, const struct timespec *relative, const sigset_t *mask)
{
    struct waiter **at = &waiters;
    struct timespec until;
    int err = 0;
    sem_init(&w->enough, 0, 0);
    w->next = waiters;
    waiters = w;
    leave(mask);
    if (relative) {
        peet__sim_clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += relative->tv_sec;
        until.tv_nsec += relative->tv_nsec;
        if (until.tv_nsec >= 1000000000)
            until.tv_sec++, until.tv_nsec -= 1000000000;
        err = sem_clockwait(&w->enough, CLOCK_MONOTONIC, &until) ? errno : 0;
    } else {
        err = sem_wait(&w->enough) ? errno : 0;
    }
    enter();
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    if (w->wants <= 0)
        err = 0; /* just now */
    sem_destroy(&w->enough);
    return err;
}

/* Inside. */
static int in_progress(const struct aiocb *const *blocks, int n)
{
    int result = 0;
    for (int i = 0; i < n; i++)
        result += blocks[i] && blocks[i]->__error_code == EINPROGRESS;
    return result;
}

static int any(const struct aiocb *const *blocks, int n)
{
    int result = 0;
    for (int i = 0; i < n; i++)
        result += blocks[i] != NULL;
    return result;
}

/* -------------------------------------------------------------------------------------- the functions */

PUBLIC int aio_read(struct aiocb *block)
{
    return peet__simulating() ? ask_one(block, LIO_READ) : PEET__REAL(aio_read)(block);
}

PUBLIC int aio_write(struct aiocb *block)
{
    return peet__simulating() ? ask_one(block, LIO_WRITE) : PEET__REAL(aio_write)(block);
}

PUBLIC int aio_fsync(int operation, struct aiocb *block)
{
    if (!peet__simulating())
        return PEET__REAL(aio_fsync)(operation, block);
    if (operation != O_SYNC && operation != O_DSYNC)
        return fails(EINVAL);
    int flags = fcntl(block->aio_fildes, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
        return fails(EBADF);
    return ask_one(block, operation == O_SYNC ? SYNC : DATA_SYNC);
}

PUBLIC int aio_error(const struct aiocb *block)
{
    if (!peet__simulating())
        return PEET__REAL(aio_error)(block);
    sigset_t mask = enter();
    int err = block->__error_code;
    leave(&mask);
    return err;
}

PUBLIC ssize_t aio_return(struct aiocb *block)
{
    if (!peet__simulating())
        return PEET__REAL(aio_return)(block);
    sigset_t mask = enter();
    ssize_t result = block->__return_value;
    leave(&mask);
    return result;
}

PUBLIC int aio_suspend(const struct aiocb *const blocks[], int n, const struct timespec *restrict timeout)
{
    if (!peet__simulating())
        return PEET__REAL(aio_suspend)(blocks, n, timeout);
    if (n < 0)
        return fails(EINVAL);
    peet__cancellation_point();
    sigset_t mask = enter();
    struct waiter w = {.blocks = blocks, .nblocks = n, .wants = 1};
    int err = 0;
    if (any(blocks, n) && in_progress(blocks, n) == any(blocks, n))
        err = wait_for(&w, timeout, &mask);
    leave(&mask);
    peet__cancellation_point();
    return err ? fails(err == ETIMEDOUT ? EAGAIN : err) : 0;
}

/* Inside.  Those that are not yet performed leave the queue.  @block: NULL: all.  Returns: AIO_* */
static int cancel(int fd, const struct aiocb *block, struct request **out_canceled)
{
    struct queue *q = queue_of(fd);
    int result = AIO_ALLDONE;
    if (!q || !q->first)
        return result;
    if (!block || q->first->block == block)
        result = AIO_NOTCANCELED;
    for (struct request **at = &q->first->next, *r; (r = *at);) {
        if (block && r->block != block) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        r->next = NULL;
        *out_canceled = r;
        out_canceled = &r->next;
        complete(r, -1, ECANCELED);
        if (result == AIO_ALLDONE)
            result = AIO_CANCELED;
    }
    return result;
}

PUBLIC int aio_cancel(int fd, struct aiocb *block)
{
    struct request *canceled = NULL;
    if (!peet__simulating())
        return PEET__REAL(aio_cancel)(fd, block);
    if (fcntl(fd, F_GETFL) < 0)
        return fails(EBADF);
    if (block && block->aio_fildes != fd)
        return fails(EINVAL);
    sigset_t mask = enter();
    int result = cancel(fd, block, &canceled);
    leave(&mask);
    for (struct request *r = canceled, *next; r; r = next) {
        next = r->next;
        notify_of(r);
    }
    return result;
}

/* Inside, and after that outside. */
static int ask_all(struct aiocb *const *blocks, int n, struct list *list, const sigset_t *mask)
{
    int err = 0;
    for (int i = 0; i < n; i++) {
        int failed = blocks[i] && blocks[i]->aio_lio_opcode != LIO_NOP
            ? ask(blocks[i], blocks[i]->aio_lio_opcode, list, mask)
            : 0;
        err = failed ? failed : err;
    }
    return err;
}

static int listio_and_wait(struct aiocb *const *blocks, int n)
{
    const struct aiocb *const *all = (const struct aiocb *const *)blocks;
    peet__cancellation_point();
    sigset_t mask = enter();
    int err = ask_all(blocks, n, NULL, &mask);
    struct waiter w = {.blocks = all, .nblocks = n, .wants = in_progress(all, n)};
    int waited = w.wants ? wait_for(&w, NULL, &mask) : 0;
    for (int i = 0; !err && !waited && i < n; i++)
        if (blocks[i] && blocks[i]->aio_lio_opcode != LIO_NOP && blocks[i]->__error_code)
            err = EIO;
    leave(&mask);
    peet__cancellation_point();
    return waited || err ? fails(waited ? waited : EIO) : 0;
}

PUBLIC int lio_listio(int mode, struct aiocb *const blocks[restrict], int n, struct sigevent *restrict event)
{
    if (!peet__simulating())
        return PEET__REAL(lio_listio)(mode, blocks, n, event);
    if (mode == LIO_WAIT)
        return listio_and_wait(blocks, n);
    if (mode != LIO_NOWAIT)
        return fails(EINVAL);
    struct list *list = take();
    if (!list)
        return fails(EAGAIN);
    if (event)
        list->event = *event;
    else
        list->event.sigev_notify = SIGEV_NONE;
    sigset_t mask = enter();
    list->mask = mask;
    list->left = 1; /* nobody tells before all have been asked for */
    int err = ask_all(blocks, n, list, &mask);
    int done = --list->left == 0;
    leave(&mask);
    if (done) {
        notify(&list->event, &mask);
        give_back(list);
    }
    return err ? fails(err) : 0;
}

/* How many threads there should be, and the like: not for those that come and go with their descriptors. */
PUBLIC void aio_init(const struct aioinit *how)
{
    if (!peet__simulating())
        PEET__REAL(aio_init)(how);
}

/* The same with another name for the block. */
PUBLIC int aio_read64(struct aiocb64 *block)
{
    return aio_read((struct aiocb *)block);
}

PUBLIC int aio_write64(struct aiocb64 *block)
{
    return aio_write((struct aiocb *)block);
}

PUBLIC int aio_fsync64(int operation, struct aiocb64 *block)
{
    return aio_fsync(operation, (struct aiocb *)block);
}

PUBLIC int aio_error64(const struct aiocb64 *block)
{
    return aio_error((const struct aiocb *)block);
}

PUBLIC ssize_t aio_return64(struct aiocb64 *block)
{
    return aio_return((struct aiocb *)block);
}

PUBLIC int aio_suspend64(const struct aiocb64 *const blocks[], int n, const struct timespec *restrict timeout)
{
    return aio_suspend((const struct aiocb *const *)blocks, n, timeout);
}

PUBLIC int aio_cancel64(int fd, struct aiocb64 *block)
{
    return aio_cancel(fd, (struct aiocb *)block);
}

PUBLIC int lio_listio64(int mode, struct aiocb64 *const blocks[restrict], int n, struct sigevent *restrict event)
{
    return lio_listio(mode, (struct aiocb *const *)blocks, n, event);
}
