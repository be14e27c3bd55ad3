/* SPDX-License-Identifier: Apache-2.0 */
/* What an HTTP/1.1 server says. All of it is framed, by length or chunks, but
 * what streams to HTTP/1.0, which knows neither chunks nor what follows. */
#include "http/h1_inner.h"

static const struct {
	int status;
	const char *phrase;
} phrases[] = {
	{ 100, "Continue" },
	{ 200, "OK" },
	{ 202, "Accepted" },
	{ 204, "No Content" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 406, "Not Acceptable" },
	{ 408, "Request Timeout" },
	{ 413, "Content Too Large" },
	{ 414, "URI Too Long" },
	{ 415, "Unsupported Media Type" },
	{ 417, "Expectation Failed" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
	{ 505, "HTTP Version Not Supported" },
};

/* RFC 9112 2.2: a status line may do without its phrase. */
static const char *
phrase_of(int status)
{
	for (size_t i = 0; i < NELEM(phrases); i++)
		if (phrases[i].status == status)
			return phrases[i].phrase;
	return "";
}

/* Text from part to part; NULL is the last. */
static bool
add(struct buf *out, const char *const *parts, struct fault *f)
{
	for (; *parts != NULL; parts++)
		if (buf_add(out, *parts, strlen(*parts), f) != 0)
			return false;
	return true;
}

int
h1_reply(struct buf *out, const struct h1_reply *r, struct fault *f)
{
	bool has_length = !r->streams && r->status != 204;
	char status[21];
	char length[21];
	char seconds[21];
	const char *const parts[] = { "HTTP/1.1 ", status, " ",
		phrase_of(r->status), "\r\n", r->type ? "Content-Type: " : "",
		r->type ? r->type : "", r->type ? "\r\n" : "",
		has_length ? "Content-Length: " : "", has_length ? length : "",
		has_length ? "\r\n" : "",
		r->streams && !r->is_old ? "Transfer-Encoding: chunked\r\n"
					 : "",
		r->closes ? "Connection: close" : "Keep-Alive: timeout=",
		r->closes ? "" : seconds, "\r\n", r->more ? r->more : "",
		"\r\n", NULL };

	(void)num_format((uint64_t)r->status, status);
	(void)num_format(r->body.len, length);
	(void)num_format(H1_KEEP_ALIVE_S, seconds);
	if (!add(out, parts, f))
		return fault_set(f, FAULT_LIMIT, "an answer is too long");
	if (!has_length || r->is_head || r->body.len == 0)
		return 0;
	return buf_add(out, r->body.ptr, r->body.len, f);
}

int
h1_chunk(struct buf *out, struct span piece, struct fault *f)
{
	if (piece.len == 0)
		return 0; /* would be the end */
	if (buf_fmt(out, "%zx\r\n", piece.len) != 0)
		return fault_set(f, FAULT_LIMIT, "an answer is too long");
	if (buf_add(out, piece.ptr, piece.len, f) != 0)
		return -1;
	return buf_add(out, "\r\n", 2, f);
}

int
h1_end(struct buf *out, struct fault *f)
{
	return buf_add(out, "0\r\n\r\n", 5, f);
}

int
h1_go_on(struct buf *out, struct fault *f)
{
	static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";

	return buf_add(out, line, sizeof(line) - 1, f);
}
