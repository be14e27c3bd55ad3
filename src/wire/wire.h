/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf (nanopb) into and out of arenas, gRPC message framing, and the
 * wake frames that cross the port before HTTP/2 begins. Pure.
 */
#ifndef WIRE_WIRE_H
#define WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"

struct pb_msgdesc_s;     /* nanopb's message descriptor */
struct pb_bytes_array_s; /* and its counted bytes */

/*
 * Decode one message. The struct at `out` is filled; variable fields
 * (pointers: strings, bytes, repeated) live in the arena, whose cap bounds
 * them all: past it LIMIT. Trailing bytes, bad UTF-8 and text with a NUL are
 * INVALID. How long one field may be is for the caller to check and name.
 */
int wire_decode(const struct pb_msgdesc_s *fields, void *out, struct span bytes,
    struct arena *a, struct fault *f) MUST_CHECK;
/* Append the encoding of `in` to b. */
int wire_encode(const struct pb_msgdesc_s *fields, const void *in,
    struct buf *b, struct fault *f) MUST_CHECK;
#define WIRE_DECODE(type, out, bytes, a, f) \
 wire_decode(type##_fields, out, bytes, a, f)
#define WIRE_ENCODE(type, in, b, f) wire_encode(type##_fields, in, b, f)

/* nanopb's form of bytes: a copy in the arena (NULL when it is spent), and
 * the way back (NULL is empty). */
struct pb_bytes_array_s *wire_bytes(struct arena *a, struct span s);
struct span wire_span(const struct pb_bytes_array_s *bytes);
/* As a file's name, which is bytes and no text; false when it is too long or
 * has a NUL. */
bool wire_path(const struct pb_bytes_array_s *bytes, char *out,
    size_t size) MUST_CHECK;

/*
 * gRPC framing: 1 byte flag, 4 bytes length, message. wire_frame_next()
 * looks at the front of `in`: 1 = *message is whole and *used bytes belong
 * to it, 0 = more bytes needed, -1 = refused (compressed, too large).
 */
#define WIRE_FRAME_HEAD 5
int wire_frame_next(struct span in, size_t max, struct span *message,
    size_t *used, struct fault *f);
void wire_frame_head(uint8_t head[WIRE_FRAME_HEAD], size_t length);

/*
 * Wake frames: fixed size, on the port before the HTTP/2 preface.
 * Host to guest, 128 bytes: magic, op, time, seed. Guest to host, 32 bytes.
 */
#define WIRE_WAKE_SIZE 128
#define WIRE_WOKE_SIZE 32
#define WIRE_SEED      64

enum wire_wake_op {
	WIRE_WAKE_REHEARSE = 1, /* mount the scrap image, run, unmount, wait */
	WIRE_WAKE_LAUNCH = 2,   /* reseed, set the clock, re-execute, HTTP/2 */
};
enum wire_woke_op {
	WIRE_WOKE_READY = 1,  /* waits; the template is saved here */
	WIRE_WOKE_PARKED = 2, /* rehearsed; waits for LAUNCH */
	WIRE_WOKE_FAILED = 3, /* value is errno, stage a step number */
};
struct wire_wake {
	enum wire_wake_op op;
	int64_t time_ns; /* wall clock of the host */
	uint8_t seed[WIRE_SEED];
};
struct wire_woke {
	enum wire_woke_op op;
	uint32_t stage;
	uint32_t value;
	bool tsc; /* clock source is tsc */
};
void wire_wake_encode(const struct wire_wake *w, uint8_t out[WIRE_WAKE_SIZE]);
int wire_wake_decode(const uint8_t in[WIRE_WAKE_SIZE], struct wire_wake *w,
    struct fault *f) MUST_CHECK;
void wire_woke_encode(const struct wire_woke *w, uint8_t out[WIRE_WOKE_SIZE]);
int wire_woke_decode(const uint8_t in[WIRE_WOKE_SIZE], struct wire_woke *w,
    struct fault *f) MUST_CHECK;

#endif
