/* SPDX-License-Identifier: Apache-2.0 */
/* Messages into bytes: measured first, so that nothing is half written. */
#include <pb_encode.h>

#include "wire/inner.h"

int
wire_encode(const struct pb_msgdesc_s *fields, const void *in, struct buf *b,
    struct fault *f)
{
	pb_ostream_t out;
	size_t size;
	uint8_t *to;

	if (!pb_get_encoded_size(&size, fields, in))
		return fault_set(f, FAULT_INVALID,
		    "cannot encode a message: text is not UTF-8");
	if (size == 0)
		return 0;
	to = buf_room(b, size);
	if (!to)
		return fault_set(f, FAULT_LIMIT,
		    "message of %zu bytes does not fit in %zu", size,
		    buf_left(b));
	out = pb_ostream_from_buffer(to, size);
	if (!pb_encode(&out, fields, in))
		return fault_set(f, FAULT_INVALID,
		    "cannot encode a message: %s", PB_GET_ERROR(&out));
	buf_grew(b, size);
	return 0;
}
