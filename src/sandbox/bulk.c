/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of processes and files. Where there is a packet socket the
 * descriptors themselves go over it. Where the link is all there is (another
 * transport) they stay here under their tag until a Bulk call names it, and
 * the bytes go in frames: channel i is the i-th descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/inner.h"

enum {
	CHANNELS = 3,
	HELD_MAX = 512 << 10
};

struct channel {
	struct bulk *bulk;
	struct watch watch;
	int fd;          /* -1 once closed */
	struct buf held; /* came in frames, not yet written */
	size_t owed;     /* frame bytes to give back with it */
	bool reads;      /* bytes come out of it */
	bool writes;
	bool ends; /* close when held is out */
};
struct bulk {
	struct sandbox *sb;
	struct rpc_call *call;
	struct channel channels[CHANNELS];
	size_t n;
};

int
bulk_pass(struct sandbox *sb, uint64_t tag, const int *fds, size_t n,
    struct fault *f)
{
	uint8_t head[8];
	int r = 0;

	for (size_t i = 0; i < sizeof(head); i++)
		head[i] = (uint8_t)(tag >> (56 - 8 * i));
	if (sb->pass >= 0)
		r = fd_send(sb->pass, head, sizeof(head), fds, n, f);
	for (size_t i = 0; i < SANDBOX_TAGS && sb->pass < 0; i++) {
		if (sb->held[i].n > 0)
			continue;
		sb->held[i].tag = tag;
		sb->held[i].n = n;
		memcpy(sb->held[i].fds, fds, n * sizeof(*fds));
		return 0;
	}
	if (sb->pass < 0)
		r = fault_set(f, FAULT_LIMIT, "%d tags wait to be fetched",
		    SANDBOX_TAGS);
	for (size_t i = 0; i < n; i++) {
		int fd = fds[i];

		fd_close(&fd);
	}
	return r;
}

static bool
has_room(struct rpc_call *call)
{
	struct fault f = { 0 };

	if (rpc_room(call) > 0)
		return true;
	/* A message that is refused is what orders the `writable`. */
	return rpc_send(call, span_of(NULL, 0), &f) == 0;
}

static void
channel_close(struct channel *c)
{
	loop_unwatch(&c->watch);
	fd_close(&c->fd);
}

/* Watch for what is wanted now; for nothing by not watching, because a hang-up
 * is told again and again otherwise. */
static void
channel_want(struct channel *c)
{
	struct fault f = { 0 };
	unsigned events = 0;

	if (c->fd < 0)
		return;
	if (c->reads && has_room(c->bulk->call))
		events |= LOOP_IN;
	if (c->held.len)
		events |= LOOP_OUT;
	if (events == 0)
		loop_unwatch(&c->watch);
	else if (loop_is_watched(&c->watch))
		loop_rewatch(&c->watch, events);
	else if (loop_watch(c->bulk->sb->loop, &c->watch, c->fd, events, &f) !=
	    0)
		log_warn(&f, "cannot watch a channel");
}

void
bulk_close(struct bulk *b)
{
	for (size_t i = 0; i < b->n; i++) {
		channel_close(&b->channels[i]);
		buf_release(&b->channels[i].held);
	}
	free(b);
}

static int
send_frame(struct channel *c, struct span s, bool end)
{
	nacre_sandbox_v1_Frame m = nacre_sandbox_v1_Frame_init_zero;
	struct fault f = { 0 };
	struct arena a;
	struct buf b;
	int r = -1;

	arena_init(&a, 2 * LIMIT_CHUNK);
	buf_init(&b, 2 * LIMIT_CHUNK);
	m.channel = (uint32_t)(c - c->bulk->channels);
	m.data = wire_bytes(&a, s);
	m.end = end;
	if (wire_encode(nacre_sandbox_v1_Frame_fields, &m, &b, &f) == 0)
		r = rpc_send(c->bulk->call, buf_span(&b), &f);
	buf_release(&b);
	arena_release(&a);
	return r;
}

static void
finish_when_quiet(struct bulk *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->channels[i].fd >= 0)
			return;
	rpc_finish(b->call, NULL, span_of(NULL, 0));
}

static void
channel_read(struct channel *c)
{
	NOT_ZEROED uint8_t bytes[LIMIT_CHUNK];
	ssize_t n;

	if (!has_room(c->bulk->call)) {
		channel_want(c);
		return;
	}
	n = read(c->fd, bytes, sizeof(bytes));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		(void)send_frame(c, span_of(bytes, (size_t)n), false);
		return;
	}
	(void)send_frame(c, span_of(NULL, 0), true);
	channel_close(c);
	finish_when_quiet(c->bulk);
}

static void
channel_write(struct channel *c)
{
	while (c->held.len > 0) {
		ssize_t n = write(c->fd, buf_ptr(&c->held), c->held.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			/* Nobody reads: what comes is dropped. */
			buf_clear(&c->held);
			c->ends = true;
			break;
		}
		buf_eat(&c->held, (size_t)n);
	}
	if (c->held.len == 0 && c->owed) {
		rpc_consume(c->bulk->call, c->owed);
		c->owed = 0;
	}
	channel_want(c);
	if (c->held.len == 0 && c->ends) {
		channel_close(c);
		finish_when_quiet(c->bulk);
	}
}

static void
channel_ready(struct watch *w, unsigned events)
{
	struct channel *c = CONTAINER_OF(w, struct channel, watch);

	if ((events & LOOP_OUT) || (!c->reads && (events & LOOP_HUP))) {
		channel_write(c);
		return;
	}
	if (events & (LOOP_IN | LOOP_HUP))
		channel_read(c);
}

void
bulk_writable(struct bulk *b)
{
	for (size_t i = 0; i < b->n; i++)
		channel_want(&b->channels[i]);
}

static int
fetch(struct serving *s, uint64_t tag, struct fault *f)
{
	struct sandbox *sb = s->sb;
	size_t at = 0;
	struct bulk *b;

	while (at < SANDBOX_TAGS &&
	    (sb->held[at].n == 0 || sb->held[at].tag != tag))
		at++;
	if (at == SANDBOX_TAGS)
		return fault_set(f, FAULT_NOT_FOUND, "there is no such tag");
	b = must_alloc(sizeof(*b));
	b->sb = sb;
	b->call = s->call;
	b->n = sb->held[at].n;
	sb->held[at].n = 0;
	s->bulk = b;
	for (size_t i = 0; i < b->n; i++) {
		struct channel *c = &b->channels[i];
		int fd = sb->held[at].fds[i];
		int mode = fcntl(fd, F_GETFL) & O_ACCMODE;

		c->bulk = b;
		c->reads = mode != O_WRONLY;
		c->writes = mode != O_RDONLY;
		buf_init(&c->held, HELD_MAX);
		c->fd = fd;
		c->watch = (struct watch){ .fd = -1, .ready = channel_ready };
		channel_want(c);
	}
	return 0;
}

static int
take_frame(struct bulk *b, const nacre_sandbox_v1_Frame *m, size_t size,
    struct fault *f)
{
	struct span data = wire_span(m->data);
	struct channel *c;

	if (m->channel >= b->n || !b->channels[m->channel].writes)
		return fault_field(f, "channel", "%u takes nothing",
		    m->channel);
	c = &b->channels[m->channel];
	if (c->fd < 0) {
		rpc_consume(b->call, size);
		return 0;
	}
	if (data.len && buf_add(&c->held, data.ptr, data.len, f) != 0)
		return -1;
	c->owed += size;
	c->ends |= m->end;
	channel_write(c);
	return 0;
}

static int
serve_frame(struct serving *s, struct span m, struct arena *a, struct fault *f)
{
	nacre_sandbox_v1_Frame q = nacre_sandbox_v1_Frame_init_zero;

	if (WIRE_DECODE(nacre_sandbox_v1_Frame, &q, m, a, f) != 0)
		return -1;
	return s->bulk ? take_frame(s->bulk, &q, m.len, f) : fetch(s, q.tag, f);
}

void
bulk_serve(struct serving *s, struct span m)
{
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, SANDBOX_ARENA);
	if (serve_frame(s, m, &a, &f) != 0)
		sandbox_refuse(s->call, &f);
	arena_release(&a);
}
