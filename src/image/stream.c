/* SPDX-License-Identifier: Apache-2.0 */
/* A source read as tar, chunk by chunk; image/inner.h has the contracts. */
#include <stdlib.h>
#include <string.h>

#include "image/inner.h"

int
image_stream_open(struct image_stream *s, const struct image_blob *b,
    const struct image_tools *tools, bool hashing, struct image_budget *budget,
    struct fault *f)
{
	memset(s, 0, sizeof(*s));
	if (image_source_open(&s->source, b, tools, hashing, budget, f) < 0)
		return -1;
	image_tar_init(&s->tar);
	s->chunk = must_alloc(IMAGE_CHUNK);
	return 0;
}

void
image_stream_close(struct image_stream *s)
{
	if (!s->chunk)
		return;
	image_source_close(&s->source);
	image_tar_release(&s->tar);
	free(s->chunk);
	s->chunk = NULL;
}

static int
refill(struct image_stream *s, struct fault *f)
{
	size_t got = 0;

	if (image_source_read(&s->source, s->chunk, IMAGE_CHUNK, &got, f) < 0)
		return -1;
	s->left = span_of(s->chunk, got);
	return 0;
}

/* After the end mark only packing and digest are of interest. */
static int
drain(struct image_stream *s, struct fault *f)
{
	uint64_t tail = s->left.len;

	if (s->source.packing == IMAGE_PLAIN && !s->source.hashing)
		return 0;
	do {
		if (refill(s, f) < 0)
			return -1;
		tail += s->left.len;
	} while (s->left.len > 0 && tail <= IMAGE_TAIL);
	if (tail <= IMAGE_TAIL)
		return 0;
	return fault_set(f, FAULT_LIMIT,
	    "archive goes on for more than %d bytes after its end mark",
	    IMAGE_TAIL);
}

int
image_stream_next(struct image_stream *s, enum image_tar_event *event,
    struct fault *f)
{
	for (;;) {
		size_t used;

		if (image_tar_next(&s->tar, s->left, &used, event, f) < 0)
			return -1;
		s->left = span_from(s->left, used);
		if (*event == IMAGE_TAR_END)
			return drain(s, f);
		if (*event != IMAGE_TAR_MORE)
			return 0;
		if (refill(s, f) < 0)
			return -1;
		if (s->left.len == 0)
			return image_tar_finish(&s->tar, f);
	}
}

void
image_stream_skip(struct image_stream *s)
{
	uint64_t body = image_tar_skippable(&s->tar);
	uint64_t held = body < s->left.len ? body : s->left.len;

	s->left = span_from(s->left, (size_t)held);
	image_tar_skip(&s->tar, held);
	body -= held;
	if (body > 0 && image_source_skip(&s->source, body))
		image_tar_skip(&s->tar, body);
}
