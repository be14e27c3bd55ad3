/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopb's memory: wire_realloc() and wire_free() stand where it would call
 * realloc() and free() (pb.h is built so), and take from the arena of the
 * message that is being decoded. nanopb hands no context through, so that
 * arena is a file variable; it is set only while wire_decode() runs, and a
 * process has one thread. Nothing is freed: the arena goes as a whole.
 *
 * A list grows by one element a call. Room doubles, so that a list costs at
 * most twice its size in arena and linear time.
 */
#include <pb_decode.h>
#include <string.h>

#include "wire/inner.h"

struct head {
	size_t size; /* asked for */
	size_t room; /* there is */
};

static struct arena *decoding;
static bool ran_out;

static struct head *
head_of(void *p)
{
	return (struct head *)p - 1;
}

size_t
wire_size_of(const void *p)
{
	return ((const struct head *)p - 1)->size;
}

void *
wire_realloc(void *p, size_t n)
{
	size_t room = n;
	struct head *new;

	BUG_IF(!decoding);
	if (p && n <= head_of(p)->room) {
		head_of(p)->size = n;
		return p;
	}
	if (p && room < 2 * head_of(p)->room)
		room = 2 * head_of(p)->room;
	new = room < decoding->cap ? arena_get(decoding, sizeof(*new) + room)
				   : NULL;
	if (!new) {
		ran_out = true;
		return NULL;
	}
	new->size = n;
	new->room = room;
	if (p)
		memcpy(new + 1, p, head_of(p)->size);
	return new + 1;
}

void
wire_free(void *p)
{
	(void)p;
}

int
wire_decode(const struct pb_msgdesc_s *fields, void *out, struct span bytes,
    struct arena *a, struct fault *f)
{
	static const uint8_t nothing[1];
	pb_istream_t in =
	    pb_istream_from_buffer(bytes.len ? bytes.ptr : nothing, bytes.len);
	bool done;

	BUG_IF(decoding);
	decoding = a;
	ran_out = false;
	done = pb_decode(&in, fields, out);
	decoding = NULL;
	if (done)
		return wire_check_text(fields, out, f);
	if (ran_out)
		return fault_set(f, FAULT_LIMIT,
		    "message needs more than its %zu bytes of memory", a->cap);
	return fault_set(f, FAULT_INVALID,
	    "message is not well formed at byte %zu: %s",
	    bytes.len - in.bytes_left, PB_GET_ERROR(&in));
}
