/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of what a guest prints. It is read at a bounded rate: past it the
 * guest's serial port waits, not the keeper. Nothing is written to a file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine/inner.h"

static void
put(struct console *c, const uint8_t *p, size_t n)
{
	size_t first = CONSOLE_RING - c->at;

	if (first > n)
		first = n;
	memcpy(c->ring + c->at, p, first);
	memcpy(c->ring, p + first, n - first);
	c->at = (c->at + n) % CONSOLE_RING;
	c->used += n;
	if (c->used > CONSOLE_RING) {
		c->dropped += c->used - CONSOLE_RING;
		c->used = CONSOLE_RING;
	}
}

static void
refill(struct console *c, int64_t now)
{
	int64_t more = (now - c->filled_ms) * CONSOLE_RATE / 1000;

	if (more <= 0)
		return;
	c->tokens += more;
	if (c->tokens > CONSOLE_BURST)
		c->tokens = CONSOLE_BURST;
	c->filled_ms = now;
}

/* One read; false at the end or when there is nothing. */
static bool
take(struct console *c)
{
	uint8_t bytes[CONSOLE_STEP];
	ssize_t n = read(c->fd, bytes, sizeof(bytes));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		loop_unwatch(&c->watch);
		return false;
	}
	put(c, bytes, (size_t)n);
	c->tokens -= n;
	return true;
}

static void
ready(struct watch *w, unsigned events)
{
	struct console *c = CONTAINER_OF(w, struct console, watch);

	(void)events;
	refill(c, loop_now_ms(c->loop));
	if (c->tokens > 0) {
		(void)take(c);
		return;
	}
	loop_unwatch(&c->watch);
	loop_timer_set(c->loop, &c->timer,
	    CONSOLE_STEP * 1000LL / CONSOLE_RATE);
}

static void
again(struct timer *t)
{
	struct console *c = CONTAINER_OF(t, struct console, timer);
	struct fault f = { 0 };

	if (c->fd >= 0 &&
	    loop_watch(c->loop, &c->watch, c->fd, LOOP_IN, &f) != 0)
		log_warn(&f, "cannot read the console");
}

int
console_open(struct console *c, struct loop *l, int fd, struct fault *f)
{
	c->loop = l;
	c->fd = fd;
	c->watch.ready = ready;
	c->timer.fire = again;
	c->tokens = CONSOLE_BURST;
	c->filled_ms = clock_mono_ms();
	c->ring = must_alloc(CONSOLE_RING);
	if (fd_nonblock(fd, f) != 0 ||
	    loop_watch(l, &c->watch, fd, LOOP_IN, f) != 0) {
		console_close(c);
		return -1;
	}
	return 0;
}

void
console_drain(struct console *c)
{
	if (c->fd < 0)
		return;
	for (int i = 0; i < CONSOLE_RING / CONSOLE_STEP; i++)
		if (!take(c))
			return;
}

void
console_close(struct console *c)
{
	if (c->fd < 0)
		return;
	loop_unwatch(&c->watch);
	loop_timer_clear(&c->timer);
	fd_close(&c->fd);
}

void
console_release(struct console *c)
{
	console_close(c);
	free(c->ring);
	c->ring = NULL;
}

size_t
console_tail(const struct console *c, uint8_t *out, size_t n)
{
	size_t from;

	if (!c->ring)
		return 0;
	if (n > c->used)
		n = c->used;
	from = (c->at + CONSOLE_RING - n) % CONSOLE_RING;
	for (size_t i = 0; i < n; i++)
		out[i] = c->ring[(from + i) % CONSOLE_RING];
	return n;
}
