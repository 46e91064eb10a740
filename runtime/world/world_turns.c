/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that look at, or change, what contexts share in the kernel: names of files, descriptors, System V objects,
 * queues.  They wait for nobody, but take their turn, so that each finds what those have done that were earlier in
 * simulated time.  Otherwise they are the C library's.  All arguments and results go through registers as they are,
 * those of variadic functions, too: so one function does for all of them.
 */
#include "world/world.h"

#include <sys/syscall.h>
#include <peet/module.h>

/* Those that are not called as the system call that they make, in the end. */
#define SYS_eaccess SYS_faccessat
#define SYS_euidaccess SYS_faccessat
#define SYS_stat64 SYS_stat
#define SYS_lstat64 SYS_lstat
#define SYS_fstat64 SYS_fstat
#define SYS_fstatat SYS_newfstatat
#define SYS_fstatat64 SYS_newfstatat
#define SYS_remove SYS_unlink
#define SYS_realpath SYS_readlink
#define SYS_mkfifo SYS_mknod
#define SYS_mkfifoat SYS_mknodat
#define SYS_opendir SYS_openat
#define SYS_readdir SYS_getdents64
#define SYS_readdir64 SYS_getdents64
#define SYS_closedir SYS_close
#define SYS_truncate64 SYS_truncate
#define SYS_ftruncate64 SYS_ftruncate
#define SYS_fallocate64 SYS_fallocate
#define SYS_futimens SYS_utimensat
#define SYS_shm_open SYS_openat
#define SYS_shm_unlink SYS_unlink
#define SYS_mq_close SYS_close
#define SYS_mq_getattr SYS_mq_getsetattr
#define SYS_mq_setattr SYS_mq_getsetattr

typedef long any(long, long, long, long, long, long);

static long noted(long number, long result)
{
    const int saved_errno = errno;
    peet__syscall_note(number, 0);
    errno = saved_errno;
    return result;
}

#define PEET_X(name) \
    SIM(long, name, long a, long b, long c, long d, long e, long f) \
    { \
        any *const real = (any *)peet__world_real[PEET__WORLD_##name]; \
        if (!SUBJECT) \
            return real(a, b, c, d, e, f); \
        peet__world_order(); \
        return noted(SYS_##name, real(a, b, c, d, e, f)); \
    }
PEET__WORLD_TURNS(PEET_X)
#undef PEET_X

int peet__world_takes_turn(long number)
{
    static const uint16_t numbers[] = {
#define PEET_X(name) SYS_##name,
        PEET__WORLD_TURNS(PEET_X)
#undef PEET_X
    };
    for (unsigned k = 0; k < sizeof numbers / sizeof *numbers; k++)
        if (numbers[k] == number)
            return 1;
    return 0;
}
