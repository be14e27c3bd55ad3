/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: http */
/*
 * One request to an MCP endpoint, many times: load h1|h2 PLACE LANES COUNT WANT,
 * with its fields, an empty line and its body on standard input. PLACE is a
 * socket's path or a port of 127.0.0.1. A lane sends when its last request was
 * answered: with h1 it is a connection, with h2 a stream of one connection. An
 * answer that does not hold WANT is a bad one. Prints
 *
 *	answers, bad ones, microseconds in all, of the median, of the 99th of 100
 *
 * Ends after COUNT answers or a minute; 1 when there were not so many.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "http/http.h"

enum {
	LANES = 128,
	COUNT = 1000000,
	FIELDS = 32,
	REQUEST = 1 << 20,
	ANSWER = 16 << 20,
	TIME_MS = 60000,
};

struct lane {
	int fd;         /* h1 */
	int32_t stream; /* h2 */
	int64_t begun_us;
	struct buf in;
	bool is_busy;
};

static struct load {
	struct h2_header fields[FIELDS];
	size_t fields_n;
	struct span body;
	const char *want;
	struct buf text; /* h1: the request, whole */
	struct lane lanes[LANES];
	size_t lanes_n;
	uint32_t *took_us;
	size_t sent;
	size_t done;
	size_t bad;
	size_t count;
	struct h2 *h2;
	int fd; /* h2 */
} load;

static _Noreturn void
die(const char *what)
{
	perror(what);
	exit(1);
}

static int64_t
now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int
connect_place(const char *place)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr_in in = { .sin_family = AF_INET };
	bool is_path = place[0] == '/';
	uint64_t port = 0;
	int one = 1;
	int fd = socket(is_path ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
	int rc;

	if (is_path) {
		if (!text_copy(un.sun_path, sizeof(un.sun_path),
			span_str(place)))
			die(place);
		rc = connect(fd, (struct sockaddr *)&un, sizeof(un));
	} else {
		(void)num_parse(span_str(place), 65535, &port);
		in.sin_port = htons((uint16_t)port);
		in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		rc = connect(fd, (struct sockaddr *)&in, sizeof(in));
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one,
		    sizeof(one));
	}
	if (rc < 0)
		die(place);
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static void
begin(struct lane *l)
{
	l->begun_us = now_us();
	l->is_busy = true;
	load.sent++;
	buf_clear(&l->in);
}

static void
finish(struct lane *l, bool is_good)
{
	struct span s = buf_span(&l->in);

	l->is_busy = false;
	if (!is_good ||
	    memmem(s.ptr, s.len, load.want, strlen(load.want)) == NULL)
		load.bad++;
	load.took_us[load.done++] = (uint32_t)(now_us() - l->begun_us);
}

/* --- HTTP/1.1 */
static void
h1_write(struct lane *l)
{
	size_t at = 0;

	begin(l);
	while (at < load.text.len) {
		ssize_t n = send(l->fd, buf_ptr(&load.text) + at,
		    load.text.len - at, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			die("send");
		at += n > 0 ? (size_t)n : 0;
	}
}

/* Bytes of the whole answer, 0 when that is not known yet. */
static size_t
answer_length(struct span s)
{
	const char *end = memmem(s.ptr, s.len, "\r\n\r\n", 4);
	const char *at;
	size_t head;

	if (end == NULL)
		return 0;
	head = (size_t)(end - (const char *)s.ptr) + 4;
	for (at = (const char *)s.ptr; at < end;
	     at = (const char *)memchr(at, '\n', head) + 1)
		if (strncasecmp(at, "content-length:", 15) == 0)
			return head + strtoul(at + 15, NULL, 10);
	return s.len >= 5 && memcmp(s.ptr + s.len - 5, "0\r\n\r\n", 5) == 0
	    ? s.len
	    : 0;
}

static void
h1_read(struct lane *l)
{
	static uint8_t bytes[1 << 16];
	ssize_t n = recv(l->fd, bytes, sizeof(bytes), 0);
	struct fault f = { 0 };
	size_t whole;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0 || buf_add(&l->in, bytes, (size_t)n, &f) < 0) {
		(void)fprintf(stderr, "load: the server closed\n");
		exit(1);
	}
	whole = answer_length(buf_span(&l->in));
	if (whole == 0 || l->in.len < whole)
		return;
	finish(l, span_starts(buf_span(&l->in), "HTTP/1.1 200"));
	if (load.sent < load.count)
		h1_write(l);
}

static void
h1_prepare(void)
{
	(void)!buf_fmt(&load.text, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n");
	for (size_t i = 0; i < load.fields_n; i++)
		(void)!buf_fmt(&load.text, "%.*s: %.*s\r\n",
		    (int)load.fields[i].name.len,
		    (const char *)load.fields[i].name.ptr,
		    (int)load.fields[i].value.len,
		    (const char *)load.fields[i].value.ptr);
	(void)!buf_fmt(&load.text, "Content-Length: %zu\r\n\r\n%.*s",
	    load.body.len, (int)load.body.len, (const char *)load.body.ptr);
}

static void
h1_run(const char *place, int64_t until_us)
{
	struct pollfd p[LANES];

	h1_prepare();
	for (size_t i = 0; i < load.lanes_n; i++) {
		load.lanes[i].fd = connect_place(place);
		p[i] = (struct pollfd){ load.lanes[i].fd, POLLIN, 0 };
		h1_write(&load.lanes[i]);
	}
	while (load.done < load.count && now_us() < until_us) {
		(void)poll(p, load.lanes_n, 1000);
		for (size_t i = 0; i < load.lanes_n; i++)
			if (p[i].revents != 0 && load.lanes[i].is_busy)
				h1_read(&load.lanes[i]);
	}
}

/* --- HTTP/2 */
static struct lane *
lane_of(int32_t stream)
{
	for (size_t i = 0; i < load.lanes_n; i++)
		if (load.lanes[i].stream == stream)
			return &load.lanes[i];
	return NULL;
}

static void
on_data(void *owner, int32_t stream, struct span bytes)
{
	struct lane *l = lane_of(stream);
	struct fault f = { 0 };

	(void)owner;
	if (l != NULL)
		(void)!buf_add(&l->in, bytes.ptr, bytes.len, &f);
	h2_consume(load.h2, stream, bytes.len);
}

static void
on_closed(void *owner, int32_t stream, uint32_t error)
{
	struct lane *l = lane_of(stream);

	(void)owner;
	if (l != NULL)
		finish(l, error == H2_NO_ERROR);
}

static const struct h2_events events = {
	.data = on_data,
	.closed = on_closed,
};

static void
h2_ask(struct lane *l)
{
	struct h2_header hs[FIELDS + 4] = {
		{ SPAN_LIT(":method"), SPAN_LIT("POST") },
		{ SPAN_LIT(":scheme"), SPAN_LIT("http") },
		{ SPAN_LIT(":authority"), SPAN_LIT("localhost") },
		{ SPAN_LIT(":path"), SPAN_LIT("/mcp") },
	};
	struct fault f = { 0 };

	begin(l);
	memcpy(hs + 4, load.fields, load.fields_n * sizeof(*hs));
	if (h2_request(load.h2, hs, 4 + load.fields_n, false, &l->stream, &f) <
		0 ||
	    h2_write(load.h2, l->stream, load.body) != load.body.len ||
	    h2_end(load.h2, l->stream, NULL, 0, &f) < 0) {
		(void)fprintf(stderr, "load: %s\n", f.text);
		exit(1);
	}
}

static void
h2_flush(void)
{
	struct span s;

	while ((s = h2_output(load.h2)).len > 0) {
		ssize_t n = send(load.fd, s.ptr, s.len, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			die("send");
		h2_output_sent(load.h2, (size_t)n);
	}
}

static void
h2_run(const char *place, int64_t until_us)
{
	static uint8_t bytes[1 << 16];
	struct fault f = { 0 };

	load.fd = connect_place(place);
	load.h2 = h2_new(H2_CLIENT, &events, NULL, &f);
	while (load.done < load.count && now_us() < until_us) {
		struct pollfd p = { load.fd, POLLIN, 0 };
		ssize_t n;

		for (size_t i = 0; i < load.lanes_n; i++)
			if (!load.lanes[i].is_busy && load.sent < load.count)
				h2_ask(&load.lanes[i]);
		h2_flush();
		(void)poll(&p, 1, 1000);
		n = recv(load.fd, bytes, sizeof(bytes), 0);
		if (n < 0 && errno == EAGAIN)
			continue;
		if (n <= 0 ||
		    h2_receive(load.h2, span_of(bytes, (size_t)n), &f) < 0) {
			(void)fprintf(stderr, "load: the end: %s\n", f.text);
			exit(1);
		}
	}
	h2_free(load.h2);
}

/* --- all */
static void
read_request(struct buf *b)
{
	struct span rest;
	uint8_t bytes[4096];
	struct fault f = { 0 };
	size_t n;

	while ((n = fread(bytes, 1, sizeof(bytes), stdin)) > 0)
		if (buf_add(b, bytes, n, &f) < 0)
			exit(2);
	rest = buf_span(b);
	while (rest.len > 0 && rest.ptr[0] != '\n') {
		size_t end = span_find(rest, '\n');
		size_t colon = span_find(rest, ':');

		if (load.fields_n == FIELDS || colon + 2 > end)
			exit(2);
		load.fields[load.fields_n].name = span_of(rest.ptr, colon);
		load.fields[load.fields_n++].value =
		    span_of(rest.ptr + colon + 2, end - colon - 2);
		rest = span_from(rest, end + 1);
	}
	load.body = span_from(rest, 1);
}

static int
compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint64_t
number(const char *text, uint64_t most)
{
	uint64_t n = 0;

	if (!num_parse(span_str(text), most, &n) || n == 0)
		exit(2);
	return n;
}

int
main(int argc, char **argv)
{
	struct buf request;
	int64_t begun;
	int64_t took;

	if (argc != 6)
		return 2;
	load.lanes_n = (size_t)number(argv[3], LANES);
	load.count = (size_t)number(argv[4], COUNT);
	load.want = argv[5];
	load.took_us = must_alloc(load.count * sizeof(*load.took_us));
	buf_init(&request, REQUEST);
	buf_init(&load.text, 2 * REQUEST);
	for (size_t i = 0; i < load.lanes_n; i++)
		buf_init(&load.lanes[i].in, ANSWER);
	read_request(&request);
	begun = now_us();
	if (strcmp(argv[1], "h2") == 0)
		h2_run(argv[2], begun + TIME_MS * 1000LL);
	else
		h1_run(argv[2], begun + TIME_MS * 1000LL);
	took = now_us() - begun;
	if (load.done == 0)
		return 1;
	qsort(load.took_us, load.done, sizeof(*load.took_us), compare);
	printf("%zu %zu %lld %u %u\n", load.done, load.bad, (long long)took,
	    load.took_us[load.done / 2], load.took_us[load.done * 99 / 100]);
	return load.done < load.count;
}
