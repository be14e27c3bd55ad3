/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in nanopb's counted form; wire/wire.h has the contract. */
#include <pb.h>
#include <string.h>

#include "base/base.h"
#include "wire/wire.h"

struct pb_bytes_array_s *
wire_bytes(struct arena *a, struct span s)
{
	pb_bytes_array_t *to;

	if (s.len > LIMIT_MESSAGE)
		return NULL;
	to = arena_get(a, PB_BYTES_ARRAY_T_ALLOCSIZE(s.len));
	if (!to)
		return NULL;
	to->size = (pb_size_t)s.len;
	if (s.len)
		memcpy(to->bytes, s.ptr, s.len);
	return to;
}

struct span
wire_span(const struct pb_bytes_array_s *bytes)
{
	return bytes ? span_of(bytes->bytes, bytes->size) : span_of(NULL, 0);
}

bool
wire_path(const struct pb_bytes_array_s *bytes, char *out, size_t size)
{
	struct span s = wire_span(bytes);

	return span_find(s, '\0') == s.len && text_copy(out, size, s);
}
