/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors, clocks, random bytes, whole files: thin, EINTR-safe. */
#ifndef BASE_SYS_H
#define BASE_SYS_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* A descriptor that closes at the end of its scope; fd_take() moves it out. */
void fd_cleanup(int *fd);
#define with_fd __attribute__((cleanup(fd_cleanup))) int
int fd_take(int *fd);   /* returns *fd and leaves -1 */
void fd_close(int *fd); /* closes if >= 0, leaves -1, keeps errno */
int fd_nonblock(int fd, struct fault *f) MUST_CHECK;
int fd_cloexec(int fd, bool on, struct fault *f) MUST_CHECK;
/* Blocking: all n bytes or a fault (FAULT_LOST at early end of input). */
int fd_read_all(int fd, void *p, size_t n, struct fault *f) MUST_CHECK;
int fd_write_all(int fd, const void *p, size_t n, struct fault *f) MUST_CHECK;
/* Send or take up to 8 descriptors beside n (> 0) bytes; CLOEXEC on arrival. */
int fd_send(int sock, const void *p, size_t n, const int *fds, size_t nfds,
    struct fault *f) MUST_CHECK;
/* *got bytes (0 = end); *nfds in: room, out: taken. FAULT_BUSY on EAGAIN. */
int fd_receive(int sock, void *p, size_t size, size_t *got, int *fds,
    size_t *nfds, struct fault *f) MUST_CHECK;
/*
 * openat2(2) below the folder `dir` with O_CLOEXEC and RESOLVE_* bits. While
 * the kernel cannot tell whether a '..' left the folder beside somebody's
 * rename or mount (EAGAIN), again, 128 times at most. -1 with errno.
 */
int fd_open_under(int dir, const char *path, int flags, uint64_t resolve);
/* Lowest 3 descriptors open (on /dev/null when they were closed). */
void fd_standard(void);

int64_t clock_wall_ms(void); /* CLOCK_REALTIME */
int64_t clock_wall_ns(void);
int64_t clock_mono_ms(void); /* CLOCK_BOOTTIME: counts suspended time too */
int64_t clock_mono_us(void);

/* Kernel random bytes; never fails after boot. */
void random_bytes(void *p, size_t n);

/* Whole file into b (b->max is the cap: past it FAULT_LIMIT). */
int file_read(int dirfd, const char *path, struct buf *b,
    struct fault *f) MUST_CHECK;
/* What was written through fd to the file temp gets its name for good: fsync,
 * rename, fsync of the folder. temp is gone on failure. */
int file_keep(int dirfd, int fd, const char *temp, const char *path,
    struct fault *f) MUST_CHECK;
/* Temp file, write, file_keep(). */
int file_write_atomic(int dirfd, const char *path, struct span s, mode_t mode,
    struct fault *f) MUST_CHECK;
int dir_make(const char *path, mode_t mode, struct fault *f) MUST_CHECK;

#endif
