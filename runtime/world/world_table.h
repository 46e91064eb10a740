/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/*
 * The C library's functions that the runtime stands in front of: those that look at a clock, sleep, block, enter the
 * kernel, or reference ranges of the subject's memory.  For each, world_entry.S defines the exported symbol and
 * __wrap_<name>, and one of world_*.c defines peet__sim_<name>, which is what the symbol leads to under simulation.
 * Read by the assembler, by C, and by the build (which passes --wrap for each): one X(name) after the other.
 */
#ifndef PEET_WORLD_TABLE_H
#define PEET_WORLD_TABLE_H

/* world_memory.c */
#define PEET__WORLD_MEMORY(X) \
    X(memcpy) X(memmove) X(mempcpy) X(__mempcpy) X(memset) X(bzero) X(explicit_bzero) X(bcopy) X(memccpy) \
    X(memcmp) X(bcmp) X(memchr) X(memrchr) X(rawmemchr) X(memmem) \
    X(__memcpy_chk) X(__memmove_chk) X(__mempcpy_chk) X(__memset_chk) X(__explicit_bzero_chk) \
    X(wmemcpy) X(wmemmove) X(wmempcpy) X(wmemset) X(wmemcmp) X(wmemchr)

/* world_string.c */
#define PEET__WORLD_STRING(X) \
    X(strlen) X(strnlen) X(strcpy) X(stpcpy) X(__stpcpy) X(strncpy) X(stpncpy) X(strcat) X(strncat) \
    X(strcmp) X(strncmp) X(strcasecmp) X(strncasecmp) X(strchr) X(index) X(strchrnul) X(strrchr) X(rindex) \
    X(strstr) X(strcasestr) X(strspn) X(strcspn) X(strpbrk) X(strtok) X(strtok_r) X(__strtok_r) X(strsep) \
    X(strdup) X(__strdup) X(strndup) X(__strndup) X(wcslen) X(wcscpy) X(wcsncpy) X(wcscmp) X(wcschr) \
    X(__strcpy_chk) X(__stpcpy_chk) X(__strncpy_chk) X(__stpncpy_chk) X(__strcat_chk) X(__strncat_chk) \
    X(strtol) X(strtoul) X(strtoll) X(strtoull) X(strtod) X(strtof) X(strtold) X(atoi) X(atol) X(atoll) X(atof)

/* world_sort.c */
#define PEET__WORLD_SORT(X) X(qsort) X(qsort_r)

/* world_clock.c */
#define PEET__WORLD_CLOCK(X) \
    X(clock_gettime) X(clock_getres) X(clock_settime) X(gettimeofday) X(time) X(clock) X(times) X(getrusage) X(timespec_get) \
    X(clock_nanosleep) X(nanosleep) X(usleep) X(sleep) X(thrd_sleep)

/* world_file.c */
#define PEET__WORLD_FILE(X) \
    X(read) X(__read_chk) X(pread) X(pread64) X(__pread_chk) X(__pread64_chk) X(readv) X(preadv) X(preadv64) \
    X(write) X(pwrite) X(pwrite64) X(writev) X(pwritev) X(pwritev64) \
    X(open) X(open64) X(__open_2) X(__open64_2) X(openat) X(openat64) X(__openat_2) X(__openat64_2) X(creat) X(creat64) X(close) \
    X(fsync) X(fdatasync) X(lseek) X(lseek64) X(sendfile) X(sendfile64) X(splice) X(copy_file_range) X(eventfd_read) X(eventfd_write) \
    X(pipe) X(pipe2) X(socketpair) X(flock) X(lockf) X(lockf64) X(fcntl) X(fcntl64)

/* world_turns.c */
#define PEET__WORLD_TURNS(X) \
    X(access) X(faccessat) X(eaccess) X(euidaccess) X(stat) X(stat64) X(lstat) X(lstat64) X(fstat) X(fstat64) X(fstatat) \
    X(fstatat64) X(statx) \
    X(unlink) X(unlinkat) X(remove) X(rename) X(renameat) X(renameat2) X(mkdir) X(mkdirat) X(rmdir) X(link) X(linkat) \
    X(symlink) X(symlinkat) X(readlink) X(readlinkat) X(realpath) \
    X(mkfifo) X(mkfifoat) X(mknod) X(mknodat) X(opendir) X(readdir) X(readdir64) X(closedir) X(chdir) X(fchdir) X(getcwd) \
    X(umask) X(chmod) X(fchmod) X(fchmodat) X(chown) X(lchown) X(fchown) X(fchownat) \
    X(truncate) X(truncate64) X(ftruncate) X(ftruncate64) X(fallocate) X(fallocate64) X(utimensat) X(futimens) X(utimes) \
    X(dup) X(dup2) X(dup3) X(ioctl) \
    X(socket) X(bind) X(listen) X(shutdown) X(getsockopt) X(setsockopt) X(epoll_create) X(epoll_create1) X(epoll_ctl) \
    X(eventfd) \
    X(semget) X(semctl) X(msgget) X(msgctl) X(shmget) X(shmctl) X(shmat) X(shmdt) X(shm_open) X(shm_unlink) X(mq_open) \
    X(mq_close) X(mq_unlink) X(mq_getattr) X(mq_setattr) X(mq_notify)

/* world_socket.c */
#define PEET__WORLD_SOCKET(X) \
    X(recv) X(__recv_chk) X(recvfrom) X(__recvfrom_chk) X(recvmsg) X(send) X(sendto) X(sendmsg) \
    X(accept) X(accept4) X(connect)

/* world_poll.c */
#define PEET__WORLD_POLL(X) \
    X(poll) X(__poll_chk) X(ppoll) X(__ppoll_chk) X(select) X(pselect) X(epoll_wait) X(epoll_pwait) X(epoll_pwait2)

/* world_process.c */
#define PEET__WORLD_PROCESS(X) \
    X(wait) X(waitpid) X(wait3) X(wait4) X(waitid) X(semop) X(semtimedop) X(msgsnd) X(msgrcv) \
    X(mq_send) X(mq_timedsend) X(mq_receive) X(mq_timedreceive) \
    X(setuid) X(setgid) X(seteuid) X(setegid) X(setreuid) X(setregid) X(setresuid) X(setresgid) X(setgroups) X(initgroups) \
    X(getrandom) X(getentropy) X(arc4random) X(arc4random_buf) X(arc4random_uniform) \
    X(_ZNSt13random_device9_M_getvalEv) X(_ZNSt3__113random_deviceclEv)

/* world_temporary.c */
#define PEET__WORLD_TEMPORARY(X) \
    X(mkstemp) X(mkstemp64) X(mkostemp) X(mkostemp64) X(mkstemps) X(mkstemps64) X(mkostemps) X(mkostemps64) \
    X(mkdtemp) X(mktemp) X(tmpnam) X(tmpnam_r) X(tempnam)

/* world_stdio.c */
#define PEET__WORLD_STDIO(X) \
    X(flockfile) X(ftrylockfile) X(funlockfile) X(_IO_flockfile) X(_IO_funlockfile) X(_IO_ftrylockfile) \
    X(fread) X(fread_unlocked) X(__fread_chk) X(__fread_unlocked_chk) X(fgets) X(fgets_unlocked) X(__fgets_chk) X(__fgets_unlocked_chk) \
    X(fgetc) X(getc) X(_IO_getc) X(getchar) X(fgetc_unlocked) X(getc_unlocked) X(getchar_unlocked) X(__uflow) X(__underflow) \
    X(getline) X(getdelim) X(__getdelim) \
    X(fwrite) X(fwrite_unlocked) X(fputs) X(fputs_unlocked) X(puts) \
    X(fputc) X(putc) X(_IO_putc) X(putchar) X(fputc_unlocked) X(putc_unlocked) X(putchar_unlocked) X(__overflow) \
    X(fopen) X(fopen64) X(fflush) X(fclose) X(perror)

/* world_format.c */
#define PEET__WORLD_FORMAT(X) \
    X(printf) X(fprintf) X(vprintf) X(vfprintf) X(dprintf) X(vdprintf) X(sprintf) X(snprintf) X(vsprintf) X(vsnprintf) \
    X(asprintf) X(vasprintf) \
    X(__printf_chk) X(__fprintf_chk) X(__vprintf_chk) X(__vfprintf_chk) X(__dprintf_chk) X(__vdprintf_chk) X(__sprintf_chk) \
    X(__snprintf_chk) X(__vsprintf_chk) X(__vsnprintf_chk) X(__asprintf_chk) X(__vasprintf_chk) \
    X(scanf) X(fscanf) X(sscanf) X(vscanf) X(vfscanf) X(vsscanf) \
    X(__isoc99_scanf) X(__isoc99_fscanf) X(__isoc99_sscanf) X(__isoc99_vscanf) X(__isoc99_vfscanf) X(__isoc99_vsscanf)

#define PEET__WORLD(X) \
    PEET__WORLD_MEMORY(X) PEET__WORLD_STRING(X) PEET__WORLD_SORT(X) PEET__WORLD_CLOCK(X) PEET__WORLD_FILE(X) PEET__WORLD_TURNS(X) \
    PEET__WORLD_SOCKET(X) \
    PEET__WORLD_POLL(X) PEET__WORLD_PROCESS(X) PEET__WORLD_TEMPORARY(X) PEET__WORLD_STDIO(X) PEET__WORLD_FORMAT(X)

/* Those that other libraries of ours call as the C library's own, as this one does: what they reference for such a library is
 * not the program's.  The rest is about time and waiting, which is simulated for them, too. */
#define PEET__WORLD_UNSEEN(X) \
    PEET__WORLD_MEMORY(X) PEET__WORLD_STRING(X) PEET__WORLD_SORT(X) PEET__WORLD_STDIO(X) PEET__WORLD_FORMAT(X)

#endif
