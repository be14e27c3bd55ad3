/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HTTP/1.1 request on a connection of its own, for the MCP endpoint: on a
 * host the gateway's socket, in a guest the door that /etc/hosts names. The
 * answer is read to the end of the connection.
 */
#include <sys/socket.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/http.h"
#include "cli/inner.h"

enum {
	HOSTS = 256 << 10, /* bytes of /etc/hosts */
	READ = 16384,
	DOOR_PORT = 80,
};

#define DOOR "openshell.local"

/* --- where */

/* The address on a line that names the door; false when it does not. */
static bool
line_names_door(struct span line, struct in_addr *at)
{
	char address[64] = "";
	size_t words = 0;

	line.len = span_find(line, '#');
	while (line.len > 0) {
		struct span word = line;
		size_t n = 0;

		while (
		    n < line.len && line.ptr[n] != ' ' && line.ptr[n] != '\t')
			n++;
		word.len = n;
		line = span_from(line, n + 1);
		if (n == 0)
			continue;
		if (words++ == 0)
			(void)text_copy(address, sizeof(address), word);
		else if (span_is(word, DOOR))
			return inet_pton(AF_INET, address, at) == 1;
	}
	return false;
}

/* Not by DNS: outside of a sandbox there is no such name. */
static bool
find_door(struct in_addr *at)
{
	struct fault ignored = { 0 };
	bool found = false;
	struct buf b;

	buf_init(&b, HOSTS);
	if (file_read(AT_FDCWD, "/etc/hosts", &b, &ignored) == 0) {
		struct span rest = buf_span(&b);

		while (rest.len > 0 && !found) {
			size_t n = span_find(rest, '\n');

			found = line_names_door(span_of(rest.ptr, n), at);
			rest = span_from(rest, n + 1);
		}
	}
	buf_release(&b);
	return found;
}

static int
connect_door(const struct in_addr *address, int *fd, struct fault *f)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons(DOOR_PORT),
		.sin_addr = *address,
	};

	*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return fault_sys(f, "cannot make a socket");
	if (connect(*fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return 0;
	(void)fault_sys(f, "cannot reach http://" DOOR);
	fd_close(fd);
	return -1;
}

int
http_connect(const struct cli *c, int *fd, struct fault *f)
{
	struct fault first = { 0 };
	struct in_addr door;
	int flags;

	if (rpc_connect_unix(c->socket, fd, &first) != 0) {
		if (find_door(&door))
			return connect_door(&door, fd, f);
		return fault_set(f, FAULT_NOT_READY,
		    "no gateway answers at '%s', and this is no sandbox",
		    c->socket);
	}
	flags = fcntl(*fd, F_GETFL);
	if (flags < 0 || fcntl(*fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return fault_sys(f, "cannot use the socket");
	return 0;
}

/* --- what comes back */
static bool
next_line(struct span *rest, struct span *line)
{
	size_t n = span_find(*rest, '\n');

	if (n >= rest->len)
		return false;
	*line = span_of(rest->ptr, n);
	if (line->len > 0 && line->ptr[line->len - 1] == '\r')
		line->len--;
	*rest = span_from(*rest, n + 1);
	return true;
}

static bool
value_of(struct span line, const char *name, struct span *value)
{
	size_t n = strlen(name);

	if (line.len <= n || line.ptr[n] != ':' ||
	    strncasecmp((const char *)line.ptr, name, n) != 0)
		return false;
	*value = span_from(line, n + 1);
	while (value->len > 0 && value->ptr[0] == ' ')
		*value = span_from(*value, 1);
	return true;
}

static int
unchunk(struct span rest, struct arena *a, struct span *out, struct fault *f)
{
	uint8_t *to = arena_get(a, rest.len + 1);
	struct span line;
	size_t at = 0;

	if (to == NULL)
		return fault_set(f, FAULT_LIMIT, "the answer is too long");
	while (next_line(&rest, &line)) {
		size_t n = 0;

		for (size_t i = 0; i < line.len && n < rest.len + 1; i++) {
			const char *digits = "0123456789abcdef";
			const char *d = strchr(digits, line.ptr[i] | 0x20);

			if (d == NULL || line.ptr[i] == '\0')
				break;
			n = n * 16 + (size_t)(d - digits);
		}
		if (n == 0) {
			*out = span_of(to, at);
			return 0;
		}
		if (n + 2 > rest.len)
			break;
		memcpy(to + at, rest.ptr, n);
		at += n;
		rest = span_from(rest, n + 2);
	}
	return fault_set(f, FAULT_LOST, "the answer was cut");
}

static int
read_head(struct span *rest, struct http_answer *out, bool *chunked,
    int64_t *length, struct fault *f)
{
	struct span line;
	struct span value;
	uint64_t n;

	if (!next_line(rest, &line) || !span_starts(line, "HTTP/1.1 ") ||
	    line.len < 12 || !num_parse(span_of(line.ptr + 9, 3), 599, &n))
		return fault_set(f, FAULT_LOST, "the gateway gave no answer");
	out->status = (int)n;
	while (next_line(rest, &line) && line.len > 0) {
		if (value_of(line, "content-type", &value))
			out->is_stream =
			    span_starts(value, "text/event-stream");
		else if (value_of(line, "transfer-encoding", &value))
			*chunked = true;
		else if (value_of(line, "content-length", &value) &&
		    num_parse(value, INT32_MAX, &n))
			*length = (int64_t)n;
	}
	return 0;
}

static int
parse(struct span all, struct arena *a, struct http_answer *out,
    struct fault *f)
{
	bool chunked = false;
	int64_t length = -1;

	if (read_head(&all, out, &chunked, &length, f) != 0)
		return -1;
	if (chunked)
		return unchunk(all, a, &out->body, f);
	if (length >= 0 && all.len < (size_t)length)
		return fault_set(f, FAULT_LOST, "the answer was cut");
	out->body = length >= 0 ? span_of(all.ptr, (size_t)length) : all;
	return 0;
}

int
http_exchange(int fd, struct span request, struct arena *a,
    struct http_answer *out, struct fault *f)
{
	struct buf in;
	struct span kept;
	int rc = 0;

	*out = (struct http_answer){ 0 };
	if (fd_write_all(fd, request.ptr, request.len, f) < 0)
		return fault_prefix(f, "cannot send the request");
	buf_init(&in, CLI_OUTPUT);
	for (;;) {
		uint8_t bytes[READ];
		ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = fault_sys(f, "the connection is lost");
		else if (n > 0)
			rc = buf_add(&in, bytes, (size_t)n, f);
		if (n <= 0 || rc < 0)
			break;
	}
	kept = arena_dup(a, buf_span(&in));
	buf_release(&in);
	if (rc < 0)
		return -1;
	return parse(kept, a, out, f);
}
