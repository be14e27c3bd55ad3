/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: base */
/*
 * wires HOST PORT: many connections at once, led by who is at stdin, so that a
 * client outside can do inside what it likes. HOST is a number. Both ways a
 * message is a letter, a number, a length (4 bytes each, the higher ones first)
 * and that many bytes:
 *
 *   in    o open, as that number    out   d bytes that came
 *         d bytes to send                 e it is closed from the other side
 *         h no more bytes follow          x it was lost, or never was
 *         c close    r close by a reset
 */
#include <sys/socket.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/base.h"

enum {
	WIRES = 256,
	HEAD = 9,
	MOST = 16 << 20, /* bytes that a wire does not take */
	READ = 16384,
};

struct wire {
	int fd;      /* -1: free */
	uint32_t id; /* what the lead calls it */
	bool is_joined;
	bool ends;    /* once out is empty */
	bool is_deaf; /* nothing more comes */
	struct buf out;
};

struct hub {
	struct sockaddr_in at;
	struct wire wires[WIRES];
	struct buf in;
};

static uint32_t
number_at(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | p[3];
}

static void
put_number(uint8_t *p, uint32_t n)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(n >> (24 - 8 * i));
}

static int
say(char what, uint32_t id, struct span bytes, struct fault *f)
{
	uint8_t head[HEAD] = { (uint8_t)what };

	put_number(head + 1, id);
	put_number(head + 5, (uint32_t)bytes.len);
	if (fd_write_all(1, head, sizeof(head), f) < 0)
		return -1;
	return fd_write_all(1, bytes.ptr, bytes.len, f);
}

static void
drop(struct wire *w)
{
	fd_close(&w->fd);
	buf_release(&w->out);
}

static int
lose(struct wire *w, struct fault *f)
{
	drop(w);
	return say('x', w->id, span_of(NULL, 0), f);
}

static struct wire *
find(struct hub *h, uint32_t id)
{
	for (size_t i = 0; i < WIRES; i++)
		if (h->wires[i].fd >= 0 && h->wires[i].id == id)
			return &h->wires[i];
	return NULL;
}

static int
begin(struct hub *h, uint32_t id, struct fault *f)
{
	struct wire *w = h->wires;

	while (w->fd >= 0 && w < h->wires + WIRES - 1)
		w++;
	drop(w); /* if all are taken: the lead knows how many there are */
	*w = (struct wire){ .id = id,
		.fd = socket(AF_INET,
		    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) };
	buf_init(&w->out, MOST);
	if (w->fd < 0 ||
	    (connect(w->fd, (const struct sockaddr *)&h->at, sizeof(h->at)) <
		    0 &&
		errno != EINPROGRESS))
		return lose(w, f);
	return 0;
}

static void
close_hard(struct wire *w)
{
	const struct linger none = { .l_onoff = 1 };

	(void)setsockopt(w->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	drop(w);
}

static int
obey(struct hub *h, char what, uint32_t id, struct span bytes, struct fault *f)
{
	struct wire *w = find(h, id);

	if (what == 'o')
		return begin(h, id, f);
	if (w == NULL)
		return 0;
	if (what == 'd')
		return buf_add(&w->out, bytes.ptr, bytes.len, f);
	if (what == 'h')
		w->ends = true;
	else if (what == 'c')
		drop(w);
	else if (what == 'r')
		close_hard(w);
	return 0;
}

/* False: the end of it. */
static bool
listen_to_lead(struct hub *h, struct fault *f)
{
	uint8_t bytes[READ];
	ssize_t n = read(0, bytes, sizeof(bytes));

	if (n <= 0 || buf_add(&h->in, bytes, (size_t)n, f) < 0)
		return false;
	while (h->in.len >= HEAD) {
		const uint8_t *p = buf_ptr(&h->in);
		size_t len = number_at(p + 5);

		if (len > MOST)
			return false;
		if (h->in.len < HEAD + len)
			break;
		if (obey(h, (char)p[0], number_at(p + 1),
			span_of(p + HEAD, len), f) < 0)
			return false;
		buf_eat(&h->in, HEAD + len);
	}
	return true;
}

static void
send_out(struct wire *w)
{
	w->is_joined = true;
	while (w->out.len > 0) {
		ssize_t n =
		    send(w->fd, buf_ptr(&w->out), w->out.len, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			buf_clear(&w->out); /* what it said may be there yet */
		else
			buf_eat(&w->out, (size_t)n);
	}
	if (w->ends)
		(void)shutdown(w->fd, SHUT_WR);
	w->ends = false;
}

static int
take_in(struct wire *w, struct fault *f)
{
	uint8_t bytes[READ];
	ssize_t n = recv(w->fd, bytes, sizeof(bytes), 0);

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n < 0)
		return lose(w, f);
	w->is_deaf = n == 0;
	return say(n > 0 ? 'd' : 'e', w->id, span_of(bytes, (size_t)n), f);
}

static int
serve(struct wire *w, short events, struct fault *f)
{
	if (events & POLLOUT)
		send_out(w);
	if (!w->is_deaf && (events & (POLLIN | POLLHUP | POLLERR)))
		return take_in(w, f);
	return 0;
}

static short
wanted(const struct wire *w)
{
	short events = w->is_deaf ? 0 : POLLIN;

	if (!w->is_joined || w->out.len > 0 || w->ends)
		events |= POLLOUT;
	return events;
}

static void
run(struct hub *h, struct fault *f)
{
	struct pollfd fds[1 + WIRES];

	for (;;) {
		fds[0] = (struct pollfd){ .fd = 0, .events = POLLIN };
		for (size_t i = 0; i < WIRES; i++)
			fds[1 + i] = (struct pollfd){
				.fd = h->wires[i].fd,
				.events = wanted(&h->wires[i]),
			};
		for (size_t i = 0; i < WIRES; i++)
			if (fds[1 + i].events == 0)
				fds[1 + i].fd = -1;
		if (poll(fds, NELEM(fds), -1) < 0)
			return;
		for (size_t i = 0; i < WIRES; i++)
			if (fds[1 + i].revents != 0 &&
			    serve(&h->wires[i], fds[1 + i].revents, f) < 0)
				return;
		if (fds[0].revents != 0 && !listen_to_lead(h, f))
			return;
	}
}

int
main(int argc, char **argv)
{
	static struct hub hub = { .at.sin_family = AF_INET };
	struct fault f = { 0 };
	uint64_t port = 0;

	if (argc != 3 || !num_parse(span_str(argv[2]), 65535, &port) ||
	    inet_pton(AF_INET, argv[1], &hub.at.sin_addr) != 1)
		return 2;
	hub.at.sin_port = htons((uint16_t)port);
	for (size_t i = 0; i < WIRES; i++)
		hub.wires[i].fd = -1;
	buf_init(&hub.in, MOST + HEAD + READ);
	run(&hub, &f);
	for (size_t i = 0; i < WIRES; i++)
		drop(&hub.wires[i]);
	buf_release(&hub.in);
	return f.code != FAULT_NONE;
}
