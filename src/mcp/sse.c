/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event streams (HTML, 9.2): no ids and no retry, since nothing is ever sent
 * again; a blank line behind each event, the last one too.
 */
#include "mcp/inner.h"

static size_t
line_length(struct span s)
{
	size_t feed = span_find(s, '\n');
	size_t back = span_find(span_of(s.ptr, feed), '\r');

	return back < feed ? back : feed;
}

int
mcp_sse_event(struct buf *out, struct span json)
{
	static const char head[] = "event: message\n";
	size_t start = out->len;
	struct fault f = { 0 };
	int rc = buf_add(out, head, sizeof(head) - 1, &f);

	/* Line breaks between tokens, of whoever wrote it, part data lines. */
	do {
		size_t n = line_length(json);

		if (rc == 0)
			rc = buf_add(out, "data: ", 6, &f);
		if (rc == 0)
			rc = buf_add(out, json.ptr, n, &f);
		if (rc == 0)
			rc = buf_add(out, "\n", 1, &f);
		json = span_from(json, n + 1);
	} while (json.len > 0);
	if (rc == 0)
		rc = buf_add(out, "\n", 1, &f);
	if (rc != 0)
		out->len = start;
	return rc;
}

int
mcp_sse_keepalive(struct buf *out)
{
	static const char comment[] = ": keepalive\n\n";
	struct fault f = { 0 };

	return buf_add(out, comment, sizeof(comment) - 1, &f);
}
