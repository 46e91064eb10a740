/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files world_*.c share: the way to the C library's functions, range notes, simulated time, waiting for
 * descriptors.  They run on a context of the subject (SUBJECT) and only there do anything of their own: for
 * everybody else (host, plain runs, forked children) a call is the C library's.
 */
#ifndef PEET_WORLD_H
#define PEET_WORLD_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <peet/module.h>
#include "plain/real.h"
#include "views/domain_internal.h"
#include "internal.h"
#include "world/world_table.h"

#define PEET_X(name) PEET__WORLD_##name,
enum { PEET__WORLD(PEET_X) PEET__WORLD_COUNT };
#undef PEET_X

extern void *peet__world_to[], *peet__world_real[];

/** The C library's definition. */
#define REAL(name) ((__typeof__(name) *)peet__world_real[PEET__WORLD_##name])
/** Definition of the simulated form; reached through peet__world_to[]. */
#define SIM(type, name, ...) \
    type peet__sim_##name(__VA_ARGS__); \
    type peet__sim_##name(__VA_ARGS__)
/** Arguments without their parentheses, for macros that make several such functions. */
#define REMOVE(...) __VA_ARGS__
#define SUBJECT __builtin_expect(peet__is_subject(), 1)
/** Memory's and strings' functions are noted in a recording on the computer's own processors, too. */
#define WATCHED (SUBJECT || peet__real_watches(__builtin_return_address(0)))

/** Of the entries' slow way: the address to go to.  @which: twice the number, plus 1 for the C library's whatever the
 * run */
void *peet__world_bind(unsigned which);
/** Its name. */
const char *peet__world_name(unsigned which);
/** The function of this name in the objects behind this library; NULL: none */
void *peet__world_lookup(const char *name);
struct link_map;
/** ... in this object */
void *peet__world_lookup_in(const struct link_map *map, const char *name);

/** Whether ranges are noted at all; if not, functions of the C library that call back are its own. */
extern int peet__ranges;
static inline int peet__ranges_noted(void)
{
    return peet__ranges;
}

/* ---------------------------------------------------------------------------------- world.c: notes */

/* Pieces of long ranges: short enough that no other processor waits long for one. */
enum { PEET__PIECE_BYTES = 4096, PEET__RANGE_WORDS = 5 };

/** What peet_rt_note() would look at: is there room for the records of so many ranges, and will there be? */
static inline int peet__range_room(unsigned records)
{
    const struct peet__rt *rt = &peet__rt;
    return __builtin_expect(rt->simulated && rt->in_subject &&
            peet__ctl->cursor + records * PEET__RANGE_WORDS < rt->limit,
        1);
}
/** Is nothing in the way of so many records of ranges of so many bytes? */
static inline int peet__range_plainly(unsigned records, size_t bytes)
{
    return __builtin_expect(bytes - 1 < PEET__PIECE_BYTES && peet__ranges && !peet__domains_on() &&
            peet__range_room(records),
        1);
}
/** A range's record, where there is room. */
static inline void peet__range_write(unsigned what, uint64_t destination, uint64_t source, uint64_t bytes)
{
    uint64_t *const at = peet__ctl->cursor;
    at[0] = PEET_RAW_ABSTRACT(PEET_ABSTRACT_RANGE, 4);
    at[1] = what, at[2] = destination, at[3] = source, at[4] = bytes;
    peet__ctl->cursor = at + PEET__RANGE_WORDS;
}
/** peet__range() where something is in the way, or the range is long. */
void peet__range_slowly(unsigned what, const void *destination, const void *source, size_t bytes);

/**
 * peet__range() - note the references of a range operation; an empty one is none
 * @what: enum peet_synthetic, with PEET_SYNTHETIC_MORE if it belongs to the call of the range before
 * After the operation itself, so that a bad pointer faults where it always did.
 */
static inline void peet__range(unsigned what, const void *destination, const void *source, size_t bytes)
{
    if (peet__range_plainly(1, bytes))
        peet__range_write(what, (uint64_t)destination, (uint64_t)source, bytes);
    else
        peet__range_slowly(what, destination, source, bytes);
}
/** The same for something that takes part of a call that has another range already. */
#define peet__range_more(what, destination, source, bytes) \
    peet__range((what) | PEET_SYNTHETIC_MORE, destination, source, bytes)
/** A system call has been made that moved so many bytes. */
void peet__syscall_note(long number, size_t bytes);
/** Here a cancellation is acted upon, if the thread library has one. */
void peet__world_cancellation_point(void);

/** Whether other contexts are alive, for whom a blocking call must not stop the process.  An iteration of a marked loop
 *  is recorded as a whole before it is simulated: inside one, nothing can wait. */
static inline int peet__world_concurrent(void)
{
    return *(volatile uint32_t *)(PEET_CONTROL_ADDRESS + PEET_CONTROL_CONCURRENT) != 0 &&
        peet__rt.current->mark_depth == 0;
}

void peet__sample_pause(void); /* fatal.h */

/** The contrary: the call may block as it is.  One that a signal would end (poll() and its like) is left in peace by
 * the samples' timer. */
static inline int peet__world_alone(void)
{
    if (peet__world_concurrent())
        return 0;
    peet__sample_pause();
    return 1;
}

/** Whether memory of the program's can be read: what the kernel would refuse with EFAULT must not be a fault of ours. */
int peet__world_readable(const void *at, size_t bytes);

/** So many bytes may go in several parts: a signal between two of them would leave the call with the first ones alone,
 * also the samples' timer. */
static inline void peet__world_in_parts(size_t bytes)
{
    enum { AT_ONCE = 4096 }; /* PIPE_BUF */
    if (bytes > AT_ONCE)
        peet__sample_pause();
}

/* ------------------------------------------------------------------------------------ world_clock.c */

/** The cycle at which so many nanoseconds from now will have passed; PEET_NEVER beyond the clock's end. */
uint64_t peet__world_deadline_ns(uint64_t ns);
/** For relative timeouts: 0 for NULL is for the caller to sort out.  Returns: 0, or EINVAL */
int peet__world_deadline(const struct timespec *relative, uint64_t *out_cycles);
/** Cycles to a time. */
void peet__world_timespec(uint64_t cycles, struct timespec *out);
/** Until this cycle.  Returns: 0 or EINTR */
int peet__world_sleep_until(uint64_t cycles);
/** A program that sleeps so long while a child of its runs often gives it time to begin, or to do something.  Children
 * run in the host's time, and get as much of it, up to a patience that is enough for almost all. */
void peet__world_children_run(uint64_t ns);

/* -------------------------------------------------------------------------------------- world_fd.c */

/** If other contexts are alive: go on in simulated-time order. */
void peet__world_order(void);
/** world_turns.c: whether this system call is one that takes its turn and is the kernel's otherwise. */
int peet__world_takes_turn(long number);
/**
 * peet__fd_wait() - in simulated-time order, wait until a descriptor is ready for these poll(2) events
 * Returns at once if no other context is alive and there is no deadline: the call itself may block.  Non-blocking
 * descriptors are not waited for, but take their turn.
 * @deadline: in cycles; PEET_NEVER: none; 0: just look
 * Returns: 0 go on, ETIMEDOUT, or EINTR
 */
int peet__fd_wait(int fd, unsigned events, uint64_t deadline);
/** The same, whatever the descriptor and whoever else is alive. */
int peet__fd_wait_event(int fd, unsigned events, uint64_t deadline);
/** What kind of descriptor it is, as far as waiting goes. */
enum peet__fd_kind { PEET__FD_FILE, PEET__FD_PIPE, PEET__FD_SOCKET, PEET__FD_TERMINAL, PEET__FD_OTHER };
enum peet__fd_kind peet__fd_kind(int fd);
int peet__fd_nonblocking(int fd);
/** It is no longer what the program was started with. */
void peet__fd_closed(int fd);
/** -1, with errno for what peet__fd_wait() has returned. */
ssize_t peet__fd_failed(int error);
/** Something was written or sent, or not (-1 and errno): if the descriptor is a connection that keeps it for a while,
 *  it goes at once (world_push.c), and SIGPIPE is for the context that wrote.  @flags: of send(2).  Returns: @sent; errno
 *  is kept */
ssize_t peet__fd_sent(int fd, int flags, ssize_t sent);
struct sockaddr;
/** A connection was asked for, which may be under way.  Returns: @result; errno is kept */
int peet__fd_connects(int fd, const struct sockaddr *to, int result);
/** Retry something that would block in simulated time, further and further apart: *inout_ns is 0 at first.
 *  Returns: 0 or EINTR */
int peet__world_back_off(uint64_t *inout_ns);
/** The same for calls that go on after handlers that have been installed so (SA_RESTART). */
int peet__world_back_off_restarting(uint64_t *inout_ns);
/** All bytes into a pipe, waiting for room; as write(2). */
ssize_t peet__pipe_write(int fd, const void *bytes, size_t n);

/* -------------------------------------------------------------------------------------- progress.c */

void peet__progress_begin(void); /* with the settings */
/** Is there a terminal that shows the progress line? */
int peet__progress_shown(void);
/** The subject is about to write here: the progress line makes room. */
void peet__progress_yield(int fd);

/* ---------------------------------------------------------------------------------- world_socket.c */

struct msghdr;
/** sendmsg(2) and recvmsg(2) that wait in simulated time. */
ssize_t peet__socket_send(int fd, const struct msghdr *message, int flags);
ssize_t peet__socket_receive(int fd, struct msghdr *message, int flags);

/* ------------------------------------------------------------------------------------ world_file.c */

/** read(2) and write(2) that wait in simulated time; they note neither ranges nor system calls. */
ssize_t peet__fd_read(int fd, void *bytes, size_t n);
ssize_t peet__fd_write(int fd, const void *bytes, size_t n);
/** open(2) of what exists, as the subject's own. */
int peet__fd_open(const char *path, int flags);
/** open(2) in turn, for the subject alone (mode 0600). */
int peet__fd_create(const char *path, int flags);

/* --------------------------------------------------------------------------------- world_process.c */

/** Bytes of the run's random numbers, of the running context's own sequence. */
void peet__world_random(void *bytes, size_t n);
/** Whether this path names what the run has of its own: random numbers, lists of processors, what the kernel would
 * say of threads. */
int peet__world_is_own(const char *path);
/** A descriptor of what such a path names; -1 and errno */
int peet__world_own_file(const char *path);
/** world_tasks.c: the same of files about threads of the subject's alone. */
int peet__world_is_task(const char *path);
int peet__world_task_file(const char *path);
/** Whether it is a descriptor of random numbers that has given all: it begins again with other ones. */
int peet__world_random_more(int fd);

/**
 * peet__domain_changed() - these bytes of a subject's object have been written here, in main memory: all views of
 * memory get them (domain_outside.c)
 * @n: up to 255
 */
void peet__domain_changed(const void *object, size_t n);

#endif
