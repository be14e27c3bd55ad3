/* SPDX-License-Identifier: Apache-2.0 */
/* Peeks until the bytes are told apart; first.h has the contracts. */
#include <sys/socket.h>

#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "gateway/first.h"

enum {
	AGAIN_MS = 20, /* after some of the bytes */
};

enum wanted {
	WANTED_NONE,
	WANTED_BYTES,
	WANTED_TIME, /* readable all the time: look again a little later */
};

static int
take_fd(struct first *f)
{
	int fd = f->fd;

	loop_timer_clear(&f->patience);
	loop_unwatch(&f->watch);
	f->fd = -1;
	return fd;
}

static void
give_up(struct first *f)
{
	int fd = take_fd(f);

	fd_close(&fd);
	f->tell(f, FIRST_GONE, -1);
}

/* What was sent before a reset can be read still. Whom it is handed to would
 * see the reset too, but only after a watch of his own. */
static bool
is_reset(int fd)
{
	int error = 0;
	socklen_t n = sizeof(error);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) != 0 ||
	    error != 0;
}

/* What is to be waited for; none when it has told. */
static enum wanted
look(struct first *f)
{
	static const char preface[] = { 'P', 'R', 'I', ' ' };
	char bytes[sizeof(preface)];
	ssize_t n = is_reset(f->fd)
	    ? 0
	    : recv(f->fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return WANTED_BYTES;
	if (n > 0 && n < (ssize_t)sizeof(preface) &&
	    memcmp(bytes, preface, (size_t)n) == 0)
		return WANTED_TIME;
	if (n <= 0)
		give_up(f);
	else if (memcmp(bytes, preface, (size_t)n) != 0)
		f->tell(f, FIRST_HTTP1, take_fd(f));
	else
		f->tell(f, FIRST_HTTP2, take_fd(f));
	return WANTED_NONE;
}

static void
look_again(struct first *f)
{
	if (look(f) != WANTED_TIME)
		return;
	loop_rewatch(&f->watch, 0);
	loop_timer_set(f->loop, &f->patience, AGAIN_MS);
}

static void
on_ready(struct watch *w, unsigned events)
{
	struct first *f = CONTAINER_OF(w, struct first, watch);

	if (events & LOOP_IN)
		look_again(f);
	else if (events & LOOP_HUP)
		give_up(f);
}

static void
on_patience(struct timer *t)
{
	struct first *f = CONTAINER_OF(t, struct first, patience);
	int64_t left = f->until_ms - loop_now_ms(f->loop);

	if (left <= 0) {
		give_up(f);
		return;
	}
	loop_timer_set(f->loop, t, left);
	look_again(f);
}

void
first_begin(struct first *f, struct loop *l, int fd)
{
	struct fault fault = { 0 };
	enum wanted wanted;

	f->loop = l;
	f->fd = fd;
	f->watch.fd = -1;
	f->watch.ready = on_ready;
	f->patience.fire = on_patience;
	f->until_ms = loop_now_ms(l) + FIRST_MS;
	/* As a rule the first request is there, or the peer has left. */
	wanted = look(f);
	if (wanted == WANTED_NONE)
		return;
	loop_timer_set(l, &f->patience,
	    wanted == WANTED_TIME ? AGAIN_MS : FIRST_MS);
	if (loop_watch(l, &f->watch, fd, wanted == WANTED_TIME ? 0 : LOOP_IN,
		&fault) == 0)
		return;
	log_warn(&fault, "cannot watch a client");
	give_up(f);
}

void
first_drop(struct first *f)
{
	int fd;

	if (f->fd < 0)
		return;
	fd = take_fd(f);
	fd_close(&fd);
}
