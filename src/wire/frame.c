/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC message framing: one byte of flags, four of length, big-endian. */
#include "base/base.h"
#include "wire/wire.h"

int
wire_frame_next(struct span in, size_t max, struct span *message, size_t *used,
    struct fault *f)
{
	size_t n;

	if (in.len < WIRE_FRAME_HEAD)
		return 0;
	if (in.ptr[0] != 0)
		return fault_set(f, FAULT_UNIMPLEMENTED,
		    "compressed messages are not taken");
	n = (size_t)in.ptr[1] << 24 | (size_t)in.ptr[2] << 16 |
	    (size_t)in.ptr[3] << 8 | in.ptr[4];
	if (n > max)
		return fault_set(f, FAULT_LIMIT,
		    "message of %zu bytes is over %zu", n, max);
	if (in.len - WIRE_FRAME_HEAD < n)
		return 0;
	*message = span_of(in.ptr + WIRE_FRAME_HEAD, n);
	*used = WIRE_FRAME_HEAD + n;
	return 1;
}

void
wire_frame_head(uint8_t head[WIRE_FRAME_HEAD], size_t length)
{
	BUG_IF(length > UINT32_MAX);
	head[0] = 0;
	head[1] = (uint8_t)(length >> 24);
	head[2] = (uint8_t)(length >> 16);
	head[3] = (uint8_t)(length >> 8);
	head[4] = (uint8_t)length;
}
