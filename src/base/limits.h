/* SPDX-License-Identifier: Apache-2.0 */
/* Every hard limit of the product, with where it comes from. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

/* Of all programs of one build. */
#define NACRE_VERSION "0.1.0"

/* Names and ids. */
#define LIMIT_NAME       19   /* sandbox and image names (wire: DNS label) */
#define LIMIT_ID         36   /* UUID text */
#define LIMIT_PATH       4096 /* PATH_MAX */
#define LIMIT_ARGS       256  /* arguments of a main process */
#define LIMIT_EXEC_ARGS  1024 /* of an exec */
#define LIMIT_ARGS_BYTES (256 << 10)
#define LIMIT_ENV        128 /* environment entries of a create */
#define LIMIT_ENV_VALUE  8192

/* Machines. */
#define LIMIT_CPUS             8
#define LIMIT_MEMORY_MIB       8192
#define LIMIT_MEMORY_LEAST_MIB 64
#define LIMIT_VMS              64 /* keepers one gateway holds */

/* Messages and streams. */
#define LIMIT_MESSAGE           (1 << 20) /* one gRPC message, inbound */
#define LIMIT_HEADERS           16384     /* one header block */
#define LIMIT_STREAMS           1000      /* streams of one HTTP/2 connection */
#define LIMIT_UNREAD            (64 << 20) /* unread bytes a side of one channel */
#define LIMIT_FRAME             16384
#define LIMIT_WRITE             32768 /* one write to the port */
#define LIMIT_WINDOW_CONNECTION (256 << 10)
#define LIMIT_WINDOW_STREAM     (64 << 10)
#define LIMIT_WINDOW_ACTIVE     (256 << 10)
#define LIMIT_ACTIVE_STREAMS    32    /* streams with the raised window */
#define LIMIT_CHUNK             32768 /* bytes of one stdio or file message */

_Static_assert(LIMIT_CHUNK < LIMIT_MESSAGE && LIMIT_MESSAGE < LIMIT_UNREAD,
    "a chunk fits a message, a message fits what may be unread");
#endif
